"""Reward of an agent: a rate per second along the motion, and terms at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.validation import finite, not_negative, vector

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Reward:
    """r = −h Σ_s [w_e e + w_u mean_i (u_i/ū_i)² + w_d max(0, d₀ − d)], + arrival − collision at the end of an episode.

    The sum is over the integrator's steps in a control period, each evaluated at its start, so that the rewards of an
    episode add up to an integral over time that does not depend on the period. u is the applied input, including that
    of a law; ū_i is the robot's effort limit, without one the bound of the action, and without both 1. A setup without
    an error or a clearance has no such term.

    Attributes:
        error: w_e, per unit of the error and second.
        effort: w_u [1/s].
        clearance: w_d, per unit of the clearance and second.
        margin: d₀, in the unit of the clearance.
        arrival: bonus added once when the stop condition of the setup holds.
        collision: penalty subtracted once when the clearance is negative, or when the motion or the law fails.

    Raises:
        ModelError: if a number is negative (except the margin) or not finite.
    """

    error: float = 1.0
    effort: float = 0.01
    clearance: float = 1.0
    margin: float = 0.0
    arrival: float = 0.0
    collision: float = 1.0

    def __post_init__(self) -> None:
        """Validate the numbers."""
        for each in fields(self):
            check = finite if each.name == "margin" else not_negative
            object.__setattr__(self, each.name, check(each.name, getattr(self, each.name)))

    def rate(self, error: ca.SX | None, clearance: ca.SX | None, output: ca.SX, scale: Array) -> ca.SX:
        """Return the reward per second, an expression.

        Args:
            error: error of the setup, or None.
            clearance: clearance of the setup, or None.
            output: applied input u, shape (nu,), or force R, shape (nv,).
            scale: ū, of the same shape.
        """
        cost = self.effort * ca.sumsqr(output / ca.DM(vector("scale", scale, output.numel()))) / max(1, output.numel())
        if error is not None:
            cost += self.error * error
        if clearance is not None:
            cost += self.clearance * ca.fmax(0.0, self.margin - clearance)
        return -cost


@dataclass(frozen=True, eq=False)
class Transition:
    """Argument of a custom reward function: a control period, one row per lane; a single environment has one lane.

    Attributes:
        before: observation at its start by name of the part, shape (lanes, n) each.
        after: observation at its end, likewise.
        action: action as applied, shape (lanes, n).
        arrived: True where the stop condition held, shape (lanes,).
        collided: True where the clearance was negative, shape (lanes,).
        failed: True where the motion or the law failed, shape (lanes,); ``after`` is then ``before``.
        duration: duration of the period [s].
    """

    before: dict[str, Array]
    after: dict[str, Array]
    action: Array
    arrived: Flags
    collided: Flags
    failed: Flags
    duration: float


RewardFunction = Callable[[Transition], Array]
