"""One stretch of a motion in phases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import casadi as ca

from ..controllers.controller import Controller
from ..controllers.program_controller import ProgramController
from ..robots.contact import Contact, checked_contacts, contact_rows
from ..robots.robot import Robot
from ..symbolic.arrays import finite
from ..symbolic.errors import ModelError, require_name
from .simulate import Values

Velocities = Literal["keep", "consistent"]


@dataclass(frozen=True, eq=False)
class Phase:
    """One stretch of a motion.

    What the ground does is reported, not enforced: whether it would have to pull, or a foot would slip, is seen in
    :func:`~erugin.robots.contact_force`, which may end the phase by ``until``, and in the motion's ``impacts``.

    Attributes:
        controller: what drives it; None for a free motion.
        until: when it ends: a time [s]; or a scalar expression in the plant's t, q, v, p and the controller's
            parameters, at the instant from which on it is positive; or None, with the motion.
        velocities: ``"keep"``, or ``"consistent"``: an impulse brings them onto the controller's program at its start,
            see :func:`~erugin.controllers.consistent_velocity`.
        name: shown in messages.
        law_p: the controller's parameters: nominal, overridden by name, or the whole vector.
        robot: the plant in this phase, with the coordinates of the motion's, such as one on another foot; the motion's
            own if not given.
        contacts: of that plant, all that are on. A contact that was not on in the phase before is made at the start of
            this one, by an impact without rebound; that of the first phase stand from the beginning. The places where
            they stand are set, for plant and controller, and are not to be passed.

    Raises:
        ModelError: for something that is no controller, an end that is none of these, velocities to be made consistent
            without a program, or contacts that are not on, or twice.
    """

    controller: Controller | None
    until: float | ca.SX | None = None
    velocities: Velocities = "keep"
    name: str = "phase"
    law_p: Values = None
    robot: Robot | None = None
    contacts: tuple[Contact, ...] = ()

    def __post_init__(self) -> None:
        """Check the words, the end and the contacts."""
        require_name("a phase", self.name)
        if self.controller is not None and not isinstance(self.controller, Controller):
            raise ModelError(f"what drives {self.name!r} must be a Controller or None, got {self.controller!r}")
        if self.velocities not in get_args(Velocities):
            words = ", ".join(map(repr, get_args(Velocities)))
            raise ModelError(f"velocities of {self.name!r} must be one of {words}, got {self.velocities!r}")
        if self.velocities == "consistent" and not isinstance(self.controller, ProgramController):
            raise ModelError(
                f"velocities of {self.name!r} can be made consistent with the program of a ProgramController only, got "
                f"{self.controller!r}"
            )
        if isinstance(self.until, ca.SX):
            if self.until.shape != (1, 1):
                raise ModelError(f"until of {self.name!r} must be a scalar expression, got shape {self.until.shape}")
        elif self.until is not None:
            finite(f"until of {self.name!r}", self.until)
        if self.robot is not None and not isinstance(self.robot, Robot):
            raise ModelError(f"the plant of {self.name!r} must be a Robot or None, got {self.robot!r}")
        object.__setattr__(self, "contacts", checked_contacts(self.contacts))
        if len(set(self.contacts)) < len(self.contacts):
            names = ", ".join(repr(contact.name) for contact in self.contacts)
            raise ModelError(f"contacts of {self.name!r} must differ, got {names}")
        if self.contacts and self.robot is None:
            raise ModelError(f"{self.name!r} has contacts, but no robot on which they are on: robot=standing(...)")
        for contact in self.contacts:
            assert self.robot is not None
            contact_rows(self.robot, contact)

    @property
    def law_values(self) -> dict[str, float]:
        """Parameters of its controller that are not nominal, by name."""
        if self.controller is None or self.law_p is None:
            return {}
        if isinstance(self.law_p, Mapping):
            return dict(self.law_p)
        own = self.controller.parameters
        return dict(zip(own.names, own.values(self.law_p), strict=True))

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the parameters that say where its contacts stand."""
        return tuple(name for contact in self.contacts for name in contact.places)

    def plant(self, robot: Robot) -> Robot:
        """The plant in this phase.

        Args:
            robot: the motion's.

        Raises:
            ModelError: if its coordinates are others than the motion's.
        """
        if self.robot is None:
            return robot
        if self.robot.coordinates is not robot.coordinates:
            raise ModelError(
                f"the plant of {self.name!r} must have the coordinates of {robot.name}: make it from that robot, by "
                "standing, with_inputs or dataclasses.replace"
            )
        return self.robot
