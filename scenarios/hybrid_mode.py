"""One mode of a hybrid motion: what drives it, what stands on the ground, and which events may end it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..controllers.controller import Controller
from ..robots.contact import Contact
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from .events import Event
from .phase import Phase, Velocities
from .simulator import Values


@dataclass(frozen=True, eq=False)
class Mode:
    """What may happen any number of times in a motion, in any order.

    Attributes:
        controller: what drives it; None for a free motion.
        events: that may end it; of two at the same instant the first happens. Without any it lasts to the end.
        velocities: ``"keep"``, or ``"consistent"``: an impulse brings them onto the controller's program at its start.
        law_p: the controller's parameters: nominal, overridden by name, or the whole vector.
        robot: the plant in this mode, with the coordinates of the motion's; the motion's own if not given.
        contacts: of that plant, all that are on. One that was not on in the mode before is made at the start of this
            one, by an impact without rebound, after the event's jump.

    Raises:
        ModelError: for what is no event, or no mode could have, as :class:`Phase` says.
    """

    controller: Controller | None = None
    events: tuple[Event, ...] = ()
    velocities: Velocities = "keep"
    law_p: Values = None
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
        return Phase(self.controller, None, self.velocities, name, self.law_p, self.robot, self.contacts)
