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
from ..initial_conditions import Values
from .jumps import Jump
from .phase import Phase, Velocities

Direction = Literal["rising", "falling"]


@dataclass(frozen=True, eq=False)
class Event:
    """Passage of a scalar expression through zero.

    It happens where the expression becomes positive; with ``direction="falling"`` its negative. If that is already
    positive where its mode starts, the event happens at once, unless the expression is falling there: then it is
    returning, and happens only if it turns round before it reaches zero. An example is a ball that has just bounced,
    detected slightly late and therefore slightly inside the floor. An event that has just happened, and still rises
    after its jump, must return to zero before it can happen again, even if other events that lead back to the same mode
    happen meanwhile.

    Attributes:
        when: scalar in the plant's t, q, v, p and the parameters of the mode's controller.
        to: name of the next mode, which may be the same; None to end the motion.
        direction: ``"rising"``, or ``"falling"`` for the negative expression.
        jump: jump of coordinates and velocities; None for no jump.
        name: name of the event in the motion and in messages.
        zeno: name of the mode that follows where infinitely many of these events accumulate, as for a ball that comes
            to rest; None to end the motion there.

    Raises:
        ModelError: for an expression that is not a scalar, an empty name, an unknown direction, a jump that is not a
            Jump, or a jump of an event that ends the motion.
    """

    when: ca.SX
    to: str | None
    direction: Direction = "rising"
    jump: Jump | None = None
    name: str = "event"
    zeno: str | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        require_name("an event", self.name)
        if not isinstance(self.when, ca.SX) or self.when.shape != (1, 1):
            given = f"shape {self.when.shape}" if isinstance(self.when, ca.SX) else repr(self.when)
            raise ModelError(f"when of event {self.name!r} must be a scalar expression, got {given}")
        if self.direction not in get_args(Direction):
            words = ", ".join(map(repr, get_args(Direction)))
            raise ModelError(f"direction of event {self.name!r} must be one of {words}, got {self.direction!r}")
        if self.jump is not None and not isinstance(self.jump, Jump):
            raise ModelError(
                f"jump of event {self.name!r} must be a Jump, such as Rebound(gap, 0.8), or None, got {self.jump!r}"
            )
        for word, mode in (("to", self.to), ("zeno", self.zeno)):
            if mode is not None and not (isinstance(mode, str) and mode):
                raise ModelError(f"{word} of event {self.name!r} must be the name of a mode or None, got {mode!r}")
        if self.to is None and not (self.jump is None and self.zeno is None):
            raise ModelError(f"event {self.name!r} ends the motion (to=None), so it must have neither jump nor zeno")

    @property
    def rising(self) -> ca.SX:
        """The expression, or its negative, which becomes positive at the event."""
        return self.when if self.direction == "rising" else -self.when


@dataclass(frozen=True, eq=False)
class Mode:
    """A controller, its plant and the events that end it; a motion may enter it any number of times.

    Attributes:
        controller: the controller; None for free motion.
        events: events that may end it; the first wins if two happen at the same instant. Without any it never ends.
        velocities: ``"keep"``, or ``"consistent"``: at its start an impulse makes them satisfy the controller's
            program.
        controller_p: the controller's parameters: a mapping from names that overrides nominal values, or the whole
            vector.
        robot: the plant in this mode, with the same coordinates as the motion's plant, which is the default.
        contacts: all contacts of that plant that are on. A contact that was not on in the previous mode is closed at
            the start of this one, by an impact without rebound, after the event's jump.

    Raises:
        ModelError: for an event that is not an Event, and as for :class:`Phase`.
    """

    controller: Controller | None = None
    events: tuple[Event, ...] = ()
    velocities: Velocities = "keep"
    controller_p: Values = None
    robot: Robot | None = None
    contacts: tuple[Contact, ...] = ()

    def __post_init__(self) -> None:
        """Check the events, and the other fields as those of a phase."""
        if not isinstance(self.events, Event | Iterable):
            raise ModelError(f"events of a mode must be an Event or a list of them, got {self.events!r}")
        object.__setattr__(self, "events", (self.events,) if isinstance(self.events, Event) else tuple(self.events))
        for event in self.events:
            if not isinstance(event, Event):
                raise ModelError(f"events of a mode must be Event objects, got {event!r}")
        self.phase("mode")

    def phase(self, name: str) -> Phase:
        """Return the mode as a phase without an end.

        Args:
            name: name of the mode.
        """
        return Phase(self.controller, None, self.velocities, name, self.controller_p, self.robot, self.contacts)
