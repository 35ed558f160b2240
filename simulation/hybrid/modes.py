"""Modes of a hybrid motion, and the events that end them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import casadi as ca

from ...controllers.controller import Controller
from ...robots.contact.contact import Contact
from ...robots.robot import Robot
from ...symbolic.errors import ModelError, require_name
from ..simulator import Values
from .jumps import Jump
from .phase import Phase, Velocities

Direction = Literal["rising", "falling"]


@dataclass(frozen=True, eq=False)
class Event:
    """A scalar expression passes through zero.

    It happens where the expression, seen in its direction, becomes positive. One that is positive already where its
    mode begins happens at once, unless it is falling there: then it is on its way back, and happens only if it turns
    round before it has been at zero. So does a ball that has just bounced, an instant late and therefore a hair inside
    the floor. One that has just happened, and still rises after its jump, must come back to zero before it can happen
    again, even if others that lead back to the same mode happen meanwhile.

    Attributes:
        when: in the plant's t, q, v, p and the parameters of the mode's controller.
        to: name of the mode that follows, which may be the same; None to end the motion.
        direction: ``"rising"``, or ``"falling"`` for the negative expression.
        jump: what happens to coordinates and velocities; None if nothing does.
        name: told in the motion.
        zeno: name of the mode that takes over where infinitely many of these events come together, as of a ball that
            comes to rest; None to end the motion there.

    Raises:
        ModelError: for no scalar expression, no name, another direction, a jump that is none, or that of an event that
            ends the motion.
    """

    when: ca.SX
    to: str | None
    direction: Direction = "rising"
    jump: Jump | None = None
    name: str = "event"
    zeno: str | None = None

    def __post_init__(self) -> None:
        """Check the parts."""
        require_name("an event", self.name)
        if not isinstance(self.when, ca.SX) or self.when.shape != (1, 1):
            told = f"shape {self.when.shape}" if isinstance(self.when, ca.SX) else repr(self.when)
            raise ModelError(f"event {self.name!r} needs a scalar expression that passes through zero, got {told}")
        if self.direction not in get_args(Direction):
            words = ", ".join(map(repr, get_args(Direction)))
            raise ModelError(f"direction of event {self.name!r} must be one of {words}, got {self.direction!r}")
        if self.jump is not None and not isinstance(self.jump, Jump):
            raise ModelError(f"event {self.name!r} needs a Jump, such as Rebound(gap, 0.8), or None, got {self.jump!r}")
        for word, mode in (("to", self.to), ("zeno", self.zeno)):
            if mode is not None and not (isinstance(mode, str) and mode):
                raise ModelError(f"{word} of event {self.name!r} must be the name of a mode or None, got {mode!r}")
        if self.to is None and not (self.jump is None and self.zeno is None):
            raise ModelError(f"event {self.name!r} ends the motion (to=None), so it can have neither jump nor zeno")

    @property
    def rising(self) -> ca.SX:
        """The expression, or its negative: what becomes positive."""
        return self.when if self.direction == "rising" else -self.when


@dataclass(frozen=True, eq=False)
class Mode:
    """What may happen any number of times in a motion, in any order.

    Attributes:
        controller: what drives it; None for a free motion.
        events: that may end it; of two at the same instant the first happens. Without any it lasts to the end.
        velocities: ``"keep"``, or ``"consistent"``: an impulse brings them onto the controller's program at its start.
        controller_p: the controller's parameters: nominal, overridden by name, or the whole vector.
        robot: the plant in this mode, with the coordinates of the motion's; the motion's own if not given.
        contacts: of that plant, all that are on. One that was not on in the mode before is made at the start of this
            one, by an impact without rebound, after the event's jump.

    Raises:
        ModelError: for what is no event, or no mode could have, as :class:`Phase` says.
    """

    controller: Controller | None = None
    events: tuple[Event, ...] = ()
    velocities: Velocities = "keep"
    controller_p: Values = None
    robot: Robot | None = None
    contacts: tuple[Contact, ...] = ()

    def __post_init__(self) -> None:
        """Check the events, and the rest as that of a phase."""
        if not isinstance(self.events, Event | Iterable):
            raise ModelError(f"events of a mode must be an Event or a list of them, got {self.events!r}")
        object.__setattr__(self, "events", (self.events,) if isinstance(self.events, Event) else tuple(self.events))
        for event in self.events:
            if not isinstance(event, Event):
                raise ModelError(f"what ends a mode must be an Event, got {event!r}")
        self.phase("mode")

    def phase(self, name: str) -> Phase:
        """The mode as a stretch without an end.

        Args:
            name: of the mode.
        """
        return Phase(self.controller, None, self.velocities, name, self.controller_p, self.robot, self.contacts)
