"""A phase of a motion and its start: positions of its contacts, the impact that closes them, consistent velocities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...controllers.program.consistent_velocity import ConsistentVelocity, consistent_velocity
from ...controllers.program.program_controller import ProgramController
from ...robots.contact.contact import Contact, contact_positions, contact_rows, contact_tuple
from ...robots.contact.impact import Impact, impact
from ...robots.robot import Robot
from ...symbolic.errors import EruginError, ModelError, require_name
from ...symbolic.validation import finite
from ..initial_conditions import Values

Velocities = Literal["keep", "consistent"]


@dataclass(frozen=True, eq=False)
class Phase:
    """One phase of a motion.

    Unilateral contact is reported, not enforced: :func:`~erugin.robots.contact_force`, which may end the phase by
    ``until``, and the motion's ``impacts`` show whether the ground would have to pull, or a foot would slip.

    Attributes:
        controller: the controller; None for free motion.
        until: end of the phase: a time [s]; or a scalar expression in the plant's t, q, v, p and the controller's
            parameters, which ends it when it becomes positive; or None, to end with the motion.
        velocities: ``"keep"``, or ``"consistent"``: at its start an impulse makes them satisfy the controller's
            program, see :func:`~erugin.controllers.consistent_velocity`.
        name: name of the phase in messages.
        controller_p: the controller's parameters: a mapping from names that overrides nominal values, or the whole
            vector.
        robot: the plant in this phase, with the same coordinates as the motion's plant, which is the default; for
            example one that stands on another foot.
        contacts: all contacts of that plant that are on. A contact that was not on in the previous phase is closed at
            the start of this one, by an impact without rebound; those of the first phase are closed from the start.
            Their positions are set automatically, for plant and controller, and must not be passed.

    Raises:
        ModelError: for a controller that is not a Controller, an unsupported ``until``, consistent velocities without a
            program, or contacts that are not on, or repeated.
    """

    controller: Controller | None
    until: float | ca.SX | None = None
    velocities: Velocities = "keep"
    name: str = "phase"
    controller_p: Values = None
    robot: Robot | None = None
    contacts: tuple[Contact, ...] = ()

    def __post_init__(self) -> None:
        """Check the fields."""
        require_name("a phase", self.name)
        if self.controller is not None and not isinstance(self.controller, Controller):
            raise ModelError(f"controller of {self.name!r} must be a Controller or None, got {self.controller!r}")
        if self.velocities not in get_args(Velocities):
            words = ", ".join(map(repr, get_args(Velocities)))
            raise ModelError(f"velocities of {self.name!r} must be one of {words}, got {self.velocities!r}")
        if self.velocities == "consistent" and not isinstance(self.controller, ProgramController):
            raise ModelError(
                f"velocities='consistent' of {self.name!r} requires a ProgramController, got {self.controller!r}"
            )
        if isinstance(self.until, ca.SX):
            if self.until.shape != (1, 1):
                raise ModelError(f"until of {self.name!r} must be a scalar expression, got shape {self.until.shape}")
        elif self.until is not None:
            finite(f"until of {self.name!r}", self.until)
        if self.robot is not None and not isinstance(self.robot, Robot):
            raise ModelError(f"the plant of {self.name!r} must be a Robot or None, got {self.robot!r}")
        object.__setattr__(self, "contacts", contact_tuple(self.contacts))
        if len(set(self.contacts)) < len(self.contacts):
            names = ", ".join(repr(contact.name) for contact in self.contacts)
            raise ModelError(f"contacts of {self.name!r} must differ, got {names}")
        if self.contacts and self.robot is None:
            raise ModelError(f"contacts of {self.name!r} require a robot with these contacts on: robot=standing(...)")
        for contact in self.contacts:
            assert self.robot is not None
            contact_rows(self.robot, contact)

    @property
    def controller_values(self) -> dict[str, float]:
        """Values of its controller's parameters that are not nominal, by name."""
        if self.controller is None or self.controller_p is None:
            return {}
        if isinstance(self.controller_p, Mapping):
            return dict(self.controller_p)
        own = self.controller.parameters
        return dict(zip(own.names, own.values(self.controller_p), strict=True))

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the parameters for the positions of its contacts."""
        return tuple(name for contact in self.contacts for name in contact.position_names)

    def plant(self, robot: Robot) -> Robot:
        """Return the plant in this phase.

        Args:
            robot: the motion's plant.

        Raises:
            ModelError: if its coordinates differ from the motion's.
        """
        if self.robot is None:
            return robot
        if self.robot.coordinates is not robot.coordinates:
            raise ModelError(
                f"the plant of {self.name!r} must have the coordinates of {robot.name}: build it from that robot, by "
                "standing, with_inputs or dataclasses.replace"
            )
        return self.robot


Array = NDArray[np.float64]
ContactPositions = Mapping[Contact, Mapping[str, float]]
"""Contacts that are on, each with its position."""


def require_free_contact_parameters(phases: Iterable[Phase], p: Values) -> None:
    """Raise ModelError for parameters that conflict with the positions of contacts.

    Args:
        phases: the phases, in order.
        p: the plant's parameters.

    Raises:
        ModelError: for a whole vector if contacts add parameters, or for a position of a contact.
    """
    for phase in phases:
        found = list(phase.places)
        law = [] if phase.controller is None else [x for x in found if x in phase.controller.parameters.names]
        for word, given, own in (("p", p, found), (f"controller_p of {phase.name!r}", phase.controller_p, law)):
            if not own or given is None:
                continue
            if not isinstance(given, Mapping):
                raise ModelError(
                    f"{word} must be a mapping from names: the contacts of phase {phase.name!r} add the parameters "
                    f"{', '.join(own)}; got a vector"
                )
            passed = [name for name in own if name in given]
            if passed:
                raise ModelError(
                    f"{word} must not contain {', '.join(passed)}: the motion sets the positions of the contacts of "
                    f"phase {phase.name!r}"
                )


def make_contacts(
    robot: Robot, phase: Phase, t: float, q: Array, v: Array, p: Values, before: ContactPositions | None
) -> tuple[ContactPositions, Impact | None]:
    """Return the positions of a phase's contacts, and the impact that closed those that were not on before.

    Args:
        robot: the motion's plant.
        phase: the phase that starts.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities before, shape (nv,).
        p: the plant's parameters, without positions of contacts.
        before: contacts that were on in the previous phase; None at the start of the motion, where no impact occurs.

    Returns:
        The contacts that are on from now on; and the impact, or None.

    Raises:
        ModelError: if the rows contradict each other in the impact.
    """
    if not phase.contacts:
        return {}, None
    plant, known = phase.plant(robot), dict(p) if isinstance(p, Mapping) else {}
    old = {contact: place for contact, place in (before or {}).items() if contact in phase.contacts}
    made = [contact for contact in phase.contacts if contact not in old]
    contacts = {**old, **{contact: contact_positions(plant, [contact], q, t=t, p=known) for contact in made}}
    if before is None or not made:
        return contacts, None
    return contacts, impact(plant, q, v, made, t=t, p=known | contact_parameters(contacts))


def contact_parameters(contacts: ContactPositions) -> dict[str, float]:
    """Return the positions of all contacts that are on, by the names of their parameters.

    Args:
        contacts: the contacts.
    """
    return {name: value for place in contacts.values() for name, value in place.items()}


def with_contact_parameters(
    phase: Phase, p: Values, controller_p: Values, found: Mapping[str, float]
) -> tuple[Values, Values]:
    """Return the parameters of plant and controller with the positions of contacts among them.

    Args:
        phase: the phase with the controller.
        p: the plant's parameters.
        controller_p: the controller's parameters.
        found: the positions by name; the controller gets those that it has.
    """
    if not found:
        return p, controller_p
    names = () if phase.controller is None else phase.controller.parameters.names
    law = {name: value for name, value in found.items() if name in names}
    plant_p = {**(p if isinstance(p, Mapping) else {}), **found}
    return plant_p, {**controller_p, **law} if isinstance(controller_p, Mapping) else (law or controller_p)


class NoVelocityError(Exception):
    """No velocities are consistent with a program, or with closing contacts."""


@dataclass(frozen=True, eq=False)
class PhaseStart:
    """Start of a phase.

    Attributes:
        v: velocities after impact and jump, shape (nv,).
        p: the plant's parameters with the positions of contacts.
        controller_p: the controller's parameters with the positions of contacts.
        contacts: contacts that are on.
        impact: impact that closed contacts, or None.
        jump: jump that made the velocities satisfy the program, or None.
    """

    v: Array
    p: Values
    controller_p: Values
    contacts: ContactPositions
    impact: Impact | None
    jump: ConsistentVelocity | None


def start_phase(
    robot: Robot,
    phase: Phase,
    t: float,
    q: Array,
    v: Array,
    p: Values,
    controller_p: Values,
    before: ContactPositions | None,
) -> PhaseStart:
    """Start a phase.

    Args:
        robot: the motion's plant.
        phase: the phase.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities before, shape (nv,).
        p: parameters of the phase's plant, without positions of contacts.
        controller_p: parameters of its controller, without positions of contacts.
        before: contacts that were on in the previous phase; None at the start of the motion.

    Raises:
        NoVelocityError: if contacts contradict each other in the impact, or no velocities near satisfy the program.
    """
    try:
        contacts, closing = make_contacts(robot, phase, t, q, v, p, before)
        v = v if closing is None else closing.velocity
        plant_p, controller_p = with_contact_parameters(phase, p, controller_p, contact_parameters(contacts))
        jump = None
        if phase.velocities == "consistent":
            jump = _jump(phase.plant(robot), phase, t, q, v, plant_p, controller_p)
            v = jump.velocity
    except EruginError as error:
        raise NoVelocityError(str(error)) from error
    return PhaseStart(v, plant_p, controller_p, contacts, closing, jump)


def _jump(
    robot: Robot, phase: Phase, t: float, q: Array, v: Array, p: Values, controller_p: Values
) -> ConsistentVelocity:
    """Consistent velocities of the plant: shared parameters take the plant's values."""
    assert isinstance(phase.controller, ProgramController)
    parameters, program = phase.controller.parameters, phase.controller.program
    numbers = dict(zip(parameters.names, parameters.values(controller_p), strict=True))
    numbers = {name: numbers[name] for name in program.parameters.names}
    plant: Mapping[str, float] = dict(zip(robot.parameters.names, robot.parameters.values(p), strict=True))
    numbers |= {name: value for name, value in plant.items() if name in numbers}
    return consistent_velocity(program, t, q, v, numbers)
