"""Shared models of the tests of motions in phases and modes."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np

from erugin.robots import Robot, lagrangian_system
from erugin.simulation import PhasedTrajectory


@functools.cache
def clock() -> Robot:
    """Something that does not move, so that only time matters."""
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    return lagrangian_system(q=x, v=v, T=v**2 / 2, name="clock")


def require_same(motion: PhasedTrajectory, expected: PhasedTrajectory) -> None:
    """Segment by segment, bit for bit.

    Args:
        motion: one.
        expected: the other.
    """
    for one, other in zip(motion.segments, expected.segments, strict=True):
        for name in ("t", "q", "v", "u", "deviation", "energy", "status"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
