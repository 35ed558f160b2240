"""How a phase of a motion begins: where its contacts stand, by which blow they are made, from which velocities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..controllers.consistent_velocity import ConsistentVelocity, consistent_velocity
from ..controllers.program_controller import ProgramController
from ..robots.impact import Impact
from ..robots.robot import Robot
from ..symbolic.errors import EruginError
from .phase import Phase
from .simulate import Values
from .stands import Stands, merged, touch, with_places

Array = NDArray[np.float64]


class NoVelocityError(Exception):
    """No velocities are consistent with a program, or with contacts that are made."""


@dataclass(frozen=True, eq=False)
class PhaseStart:
    """A phase at its start.

    Attributes:
        v: velocities behind blow and jump, shape (nv,).
        p: the plant's parameters with the places of contacts.
        law_p: the controller's parameters, likewise.
        stands: the contacts that are on.
        impact: the blow by which contacts were made, or None.
        jump: what brought the velocities onto the program, or None.
    """

    v: Array
    p: Values
    law_p: Values
    stands: Stands
    impact: Impact | None
    jump: ConsistentVelocity | None


def start_phase(
    robot: Robot, phase: Phase, t: float, q: Array, v: Array, p: Values, law_p: Values, before: Stands | None
) -> PhaseStart:
    """Begin a phase.

    Args:
        robot: the motion's.
        phase: which one.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities before, shape (nv,).
        p: parameters of the phase's plant, without places of contacts.
        law_p: parameters of its controller, likewise.
        before: the contacts that were on in the phase before; None at the start of the motion.

    Raises:
        NoVelocityError: if contacts contradict each other in the impact, or the program allows no velocities near.
    """
    try:
        stands, blow = touch(robot, phase, t, q, v, p, before)
        v = v if blow is None else blow.velocity
        plant_p, law_p = with_places(phase, p, law_p, merged(stands))
        jump = None
        if phase.velocities == "consistent":
            jump = _jump(phase.plant(robot), phase, t, q, v, plant_p, law_p)
            v = jump.velocity
    except EruginError as error:
        raise NoVelocityError(str(error)) from error
    return PhaseStart(v, plant_p, law_p, stands, blow, jump)


def _jump(robot: Robot, phase: Phase, t: float, q: Array, v: Array, p: Values, law_p: Values) -> ConsistentVelocity:
    """The impulse acts on the plant: what it shares with the model has the plant's values."""
    assert isinstance(phase.controller, ProgramController)
    parameters = phase.controller.parameters
    numbers = dict(zip(parameters.names, parameters.values(law_p), strict=True))
    plant: Mapping[str, float] = dict(zip(robot.parameters.names, robot.parameters.values(p), strict=True))
    numbers |= {name: value for name, value in plant.items() if name in numbers}
    return consistent_velocity(phase.controller.program, t, q, v, numbers)
