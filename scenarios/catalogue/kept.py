"""Measures of what a motion is to keep: its energy, and its natural constraints; and with which numbers it was run."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ..setup import Measure
from ..trajectory import Trajectory


def energy_kept(most: float) -> Measure:
    """Largest |E − E₀| along a motion without drives and losses.

    Args:
        most: that is expected [J].
    """
    return Measure(lambda motion: np.abs(motion.energy - motion.energy[0]).max(), "J", (0.0, most))


def work_found(most: float) -> Measure:
    """Largest |E − E₀ − u (q₁ − q₁(0))| along a motion whose only input drives the first coordinate, and never changes.

    Args:
        most: that is expected [J].
    """

    def worst(motion: Trajectory) -> float:
        work = motion.u[0, 0] * (motion.q[:, 0] - motion.q[0, 0])
        return float(np.abs(motion.energy - motion.energy[0] - work).max())

    return Measure(worst, "J", (0.0, most))


def loops_closed(most: float, *, unit: str = "m") -> Measure:
    """Largest component of the natural constraints of order 0 along a motion.

    Args:
        most: that is expected, in the unit of the constraints.
        unit: of the constraints.
    """

    def worst(motion: Trajectory) -> float:
        c = motion.robot.coordinates
        rows = [constraint.residual(c) for constraint in motion.robot.natural if constraint.order == 0]
        return float(np.abs(motion.evaluate(ca.vertcat(*rows))).max())

    return Measure(worst, unit, (0.0, most))


def known(motion: Trajectory, name: str) -> float:
    """Value of a parameter of the plant along a motion.

    Args:
        motion: that was run with it.
        name: of the parameter.
    """
    return float(motion.p[motion.robot.parameters.names.index(name)])
