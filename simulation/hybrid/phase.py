"""A phase of a motion and its start: positions of its contacts, the impact that makes them, consistent velocities."""

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
from ..simulator import Values

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
        controller_p: the controller's parameters: nominal, overridden by name, or the whole vector.
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
    controller_p: Values = None
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
        object.__setattr__(self, "contacts", contact_tuple(self.contacts))
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
        if self.controller is None or self.controller_p is None:
            return {}
        if isinstance(self.controller_p, Mapping):
            return dict(self.controller_p)
        own = self.controller.parameters
        return dict(zip(own.names, own.values(self.controller_p), strict=True))

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the parameters that say where its contacts stand."""
        return tuple(name for contact in self.contacts for name in contact.position_names)

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


Array = NDArray[np.float64]
ContactPositions = Mapping[Contact, Mapping[str, float]]
"""The contacts that are on, each with its place."""


def require_free_contact_parameters(phases: Iterable[Phase], p: Values) -> None:
    """Refuse parameters among which the places of contacts cannot be put, or are already.

    Args:
        phases: in order.
        p: the plant's parameters.

    Raises:
        ModelError: for a whole vector where contacts bring parameters of their own, or a place that is passed.
    """
    for phase in phases:
        found = list(phase.places)
        law = [] if phase.controller is None else [x for x in found if x in phase.controller.parameters.names]
        for word, given, own in (("p", p, found), (f"controller_p of {phase.name!r}", phase.controller_p, law)):
            if not own or given is None:
                continue
            if not isinstance(given, Mapping):
                raise ModelError(
                    f"{word} must be given by name: the contacts of phase {phase.name!r} bring the parameters "
                    f"{', '.join(own)}; got a vector"
                )
            passed = [name for name in own if name in given]
            if passed:
                raise ModelError(
                    f"{word} must be without {', '.join(passed)}: where the contacts of phase {phase.name!r} stand, "
                    "the motion tells"
                )


def make_contacts(
    robot: Robot, phase: Phase, t: float, q: Array, v: Array, p: Values, before: ContactPositions | None
) -> tuple[ContactPositions, Impact | None]:
    """Where the contacts of a phase stand, and the blow by which those were made that did not stand before.

    Args:
        robot: the motion's.
        phase: which begins.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities before, shape (nv,).
        p: the plant's parameters without places.
        before: what stood in the phase before; None at the start of the motion, when nothing is made by a blow.

    Returns:
        The contacts that are on from now on; and the impact, None if none was made.

    Raises:
        ModelError: if the rows contradict each other in the impact.
    """
    if not phase.contacts:
        return {}, None
    plant, known = phase.plant(robot), dict(p) if isinstance(p, Mapping) else {}
    old = {contact: place for contact, place in (before or {}).items() if contact in phase.contacts}
    made = [contact for contact in phase.contacts if contact not in old]
    stands = {**old, **{contact: contact_positions(plant, [contact], q, t=t, p=known) for contact in made}}
    if before is None or not made:
        return stands, None
    return stands, impact(plant, q, v, made, t=t, p=known | contact_parameters(stands))


def contact_parameters(stands: ContactPositions) -> dict[str, float]:
    """The places of all contacts that are on, by the names of their parameters.

    Args:
        stands: the contacts.
    """
    return {name: value for place in stands.values() for name, value in place.items()}


def with_contact_parameters(
    phase: Phase, p: Values, controller_p: Values, found: Mapping[str, float]
) -> tuple[Values, Values]:
    """Parameters of plant and controller with the places of contacts among them.

    Args:
        phase: whose controller it is.
        p: the plant's.
        controller_p: the controller's.
        found: the places by name; the controller gets those that it has.
    """
    if not found:
        return p, controller_p
    names = () if phase.controller is None else phase.controller.parameters.names
    law = {name: value for name, value in found.items() if name in names}
    plant_p = {**(p if isinstance(p, Mapping) else {}), **found}
    return plant_p, {**controller_p, **law} if isinstance(controller_p, Mapping) else (law or controller_p)


class NoVelocityError(Exception):
    """No velocities are consistent with a program, or with contacts that are made."""


@dataclass(frozen=True, eq=False)
class PhaseStart:
    """A phase at its start.

    Attributes:
        v: velocities behind blow and jump, shape (nv,).
        p: the plant's parameters with the places of contacts.
        controller_p: the controller's parameters, likewise.
        stands: the contacts that are on.
        impact: the blow by which contacts were made, or None.
        jump: what brought the velocities onto the program, or None.
    """

    v: Array
    p: Values
    controller_p: Values
    stands: ContactPositions
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
    """Begin a phase.

    Args:
        robot: the motion's.
        phase: which one.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities before, shape (nv,).
        p: parameters of the phase's plant, without places of contacts.
        controller_p: parameters of its controller, likewise.
        before: the contacts that were on in the phase before; None at the start of the motion.

    Raises:
        NoVelocityError: if contacts contradict each other in the impact, or the program allows no velocities near.
    """
    try:
        stands, blow = make_contacts(robot, phase, t, q, v, p, before)
        v = v if blow is None else blow.velocity
        plant_p, controller_p = with_contact_parameters(phase, p, controller_p, contact_parameters(stands))
        jump = None
        if phase.velocities == "consistent":
            jump = _jump(phase.plant(robot), phase, t, q, v, plant_p, controller_p)
            v = jump.velocity
    except EruginError as error:
        raise NoVelocityError(str(error)) from error
    return PhaseStart(v, plant_p, controller_p, stands, blow, jump)


def _jump(
    robot: Robot, phase: Phase, t: float, q: Array, v: Array, p: Values, controller_p: Values
) -> ConsistentVelocity:
    """The impulse acts on the plant: what it shares with the model has the plant's values."""
    assert isinstance(phase.controller, ProgramController)
    parameters = phase.controller.parameters
    numbers = dict(zip(parameters.names, parameters.values(controller_p), strict=True))
    plant: Mapping[str, float] = dict(zip(robot.parameters.names, robot.parameters.values(p), strict=True))
    numbers |= {name: value for name, value in plant.items() if name in numbers}
    return consistent_velocity(phase.controller.program, t, q, v, numbers)
