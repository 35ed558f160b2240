"""Baseline laws, tuned by one rule (one rate ω for all), as functions of the motion that they follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from erugin.controllers import Controller, NominalMotion, Program, ProgramController, Reference, linearize
from erugin.controllers.baselines import (
    BrysonWeights,
    MpcObjective,
    NonlinearMPC,
    SlidingMode,
    SlotineLi,
    TimeVaryingLqr,
)
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Robot
from erugin.scenarios.setup import MakeController, Setup
from erugin.simulation.trajectory import Trajectory

Array = NDArray[np.float64]
PERIOD = 0.02
"""Control interval of the predictive law [s], one tick of which takes milliseconds."""
ERROR = 0.05
"""Allowed error of a coordinate or position in Bryson's rule [rad or m]."""


VARIANTS: Mapping[str, Literal["integral", "adaptive"] | None] = {
    "program control without observer": None,
    "program control with integral": "integral",
    "program control with adapted masses": "adaptive",
}
"""How the variants of program control compensate for a model that is not exact."""


def program_control(
    _: Setup, program: Program, robust: Literal["observer", "integral", "adaptive"] | None = "observer"
) -> Controller:
    """Build program control.

    Args:
        program: the program.
        robust: how it compensates for a model that is not exact.
    """
    return ProgramController(program, realization="actuated", robust=robust)


def program_variants(program: Program) -> dict[str, MakeController]:
    """Return functions that build the variants of program control, by name.

    Args:
        program: the program.
    """
    return {name: partial(program_control, program=program, robust=robust) for name, robust in VARIANTS.items()}


def own_motion(setup: Setup) -> Trajectory:
    """Motion of the nominal plant under the setup's own law.

    Args:
        setup: setup with a controller.
    """
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    return motion


def regulator_along(
    setup: Setup, rate: float, every: int = 10, independent: Sequence[str] | None = None, free: Sequence[str] = ()
) -> Controller:
    """Build a time-varying LQR along that motion, with Bryson weights for the rate ω.

    Args:
        setup: setup with a controller.
        rate: ω [1/s].
        every: number of samples between two knots.
        independent: regulated coordinates and velocities of a robot with natural constraints; None for all.
        free: those whose errors have almost no weight.
    """
    motion, robot = own_motion(setup), setup.robot
    knots = np.unique(np.append(np.arange(0, len(motion), every), len(motion) - 1))
    nominal = NominalMotion(robot, motion.t[knots], motion.q[knots], motion.v[knots], motion.u[knots])
    rule = weights(robot, motion.q[0], motion.v[0], rate, free)
    n = len(linearize(robot, motion.q[0], motion.v[0]).states) if independent is None else len(independent)
    return TimeVaryingLqr(robot, nominal, weights=rule, final=np.zeros((n, n)), independent=independent)


def weights(robot: Robot, q: Array, v: Array, rate: float, free: Sequence[str] = ()) -> BrysonWeights:
    """Bryson weights: errors e of positions, ω e of speeds, and of each input the most that ω² e of a coordinate needs.

    Args:
        robot: model of the plant.
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        rate: ω [1/s].
        free: coordinates whose errors have almost no weight.
    """
    needed = np.linalg.pinv(robot.evaluate(robot.input_matrix, q=q)) @ robot.evaluate(robot.mass_matrix, q=q)
    speeds = [name for name in linearize(robot, q, v).states if name not in robot.coordinates.names]
    errors = dict.fromkeys(speeds, rate * ERROR) | dict.fromkeys(free, 1e4 * ERROR)
    efforts = np.abs(needed).max(axis=1) * rate**2 * ERROR
    return BrysonWeights(errors, dict(zip(robot.input_names, efforts.tolist(), strict=True)), otherwise=ERROR)


def predictive(objective: Reference | MpcObjective, rate: float) -> Controller:
    """Build a nonlinear MPC that is computed at 50 Hz, with the input held constant in between.

    Args:
        objective: reference to follow, or objective to minimize.
        rate: ω [1/s]; the horizon is 4/ω.
    """
    return SampleAndHold(NonlinearMPC(objective, rate=rate, steps=10, error=ERROR), PERIOD)


def slotine_li(setup: Setup, reference: Reference, rate: float) -> Controller:
    """Build Slotine and Li's law without adaptation.

    Args:
        setup: setup with the model of the plant.
        reference: desired motion q_d(t).
        rate: ω [1/s].
    """
    return SlotineLi(setup.robot, reference, rate=rate)


def sliding_mode(setup: Setup, reference: Reference, rate: float, uncertain: dict[str, float]) -> Controller:
    """Build a sliding-mode law with a boundary layer and bounds on the errors of the masses.

    Args:
        setup: setup with the model of the plant.
        reference: desired motion q_d(t).
        rate: ω [1/s].
        uncertain: largest errors of parameters, by name.
    """
    return SlidingMode(setup.robot, reference, rate=rate, uncertain=uncertain, products=True)
