"""Rivals by one tuning rule: a rate ω for all, here as functions of the motion that they are to follow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from erugin.controllers import Controller, NominalMotion, Reference, linearize
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
from erugin.scenarios.setup import Setup
from erugin.simulation.trajectory import Trajectory

Array = NDArray[np.float64]
PERIOD = 0.02
"""Of the predictive law [s]: one tick of it takes milliseconds."""
ERROR = 0.05
"""Allowed error of a coordinate or place, for Bryson's rule [rad or m]."""


def own_motion(setup: Setup) -> Trajectory:
    """How the setup's own law moves the plant that it knows.

    Args:
        setup: with a controller.
    """
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    return motion


def regulator_along(
    setup: Setup, rate: float, every: int = 10, independent: Sequence[str] | None = None, free: Sequence[str] = ()
) -> Controller:
    """A time-varying LQR along that motion, whose allowances have the rate ω.

    Args:
        setup: with a controller.
        rate: ω [1/s].
        every: of so many samples one is a knot.
        independent: coordinates and velocities that are regulated, where natural constraints tie them.
        free: those of them whose errors do not matter.
    """
    motion, robot = own_motion(setup), setup.robot
    kept = np.unique(np.append(np.arange(0, len(motion), every), len(motion) - 1))
    nominal = NominalMotion(robot, motion.t[kept], motion.q[kept], motion.v[kept], motion.u[kept])
    rule = weights(robot, motion.q[0], motion.v[0], rate, free)
    n = len(linearize(robot, motion.q[0], motion.v[0]).states) if independent is None else len(independent)
    return TimeVaryingLqr(robot, nominal, weights=rule, final=np.zeros((n, n)), independent=independent)


def weights(robot: Robot, q: Array, v: Array, rate: float, free: Sequence[str] = ()) -> BrysonWeights:
    """An error e of places, ω e of speeds, and the largest input that ω² e of any one coordinate needs.

    Args:
        robot: the model.
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        rate: ω [1/s].
        free: coordinates whose errors do not matter.
    """
    needed = np.linalg.pinv(robot.evaluate(robot.input_matrix, q=q)) @ robot.evaluate(robot.mass_matrix, q=q)
    speeds = [name for name in linearize(robot, q, v).states if name not in robot.coordinates.names]
    errors = dict.fromkeys(speeds, rate * ERROR) | dict.fromkeys(free, 1e4 * ERROR)
    return BrysonWeights(errors, otherwise=ERROR, effort=float(np.abs(needed).max()) * rate**2 * ERROR)


def predictive(aim: Reference | MpcObjective, rate: float) -> Controller:
    """Nonlinear MPC, computed at 50 Hz and held.

    Args:
        aim: what it follows.
        rate: ω; its horizon is 4/ω [1/s].
    """
    return SampleAndHold(NonlinearMPC(aim, rate=rate, steps=10, error=ERROR), PERIOD)


def slotine_li(setup: Setup, reference: Reference, rate: float) -> Controller:
    """Slotine and Li's law without adaptation.

    Args:
        setup: with the model.
        reference: q_d(t).
        rate: ω [1/s].
    """
    return SlotineLi(setup.robot, reference, rate=rate)


def sliding_mode(setup: Setup, reference: Reference, rate: float, uncertain: dict[str, float]) -> Controller:
    """Sliding mode with a layer, told how wrong the masses may be.

    Args:
        setup: with the model.
        reference: q_d(t).
        rate: ω [1/s].
        uncertain: largest errors of parameters, by name.
    """
    return SlidingMode(setup.robot, reference, rate=rate, uncertain=uncertain, products=True)
