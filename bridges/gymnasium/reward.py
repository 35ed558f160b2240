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

    The sum goes over the integrator's steps of a control period and takes each at its start, so that the rewards of an
    episode add up to an integral over time that does not depend on the period. u is what is applied, that of a law
    included; ū_i is the robot's effort limit, where it has none the bound of the action, and 1 where that has none. A
    setup without an error or a clearance has no such term.

    Attributes:
        error: w_e, per unit of the error and second.
        effort: w_u [1/s].
        clearance: w_d, per unit of the clearance and second.
        margin: d₀, in the unit of the clearance.
        arrival: added once when the stop condition of the setup holds.
        collision: taken off once when the clearance is negative, or the motion or the law cannot go on.

    Raises:
        ModelError: for a negative number, or one that is not finite.
    """

    error: float = 1.0
    effort: float = 0.01
    clearance: float = 1.0
    margin: float = 0.0
    arrival: float = 0.0
    collision: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for each in fields(self):
            check = finite if each.name == "margin" else not_negative
            object.__setattr__(self, each.name, check(each.name, getattr(self, each.name)))

    def rate(self, error: ca.SX | None, clearance: ca.SX | None, output: ca.SX, scale: Array) -> ca.SX:
        """What is paid per second.

        Args:
            error: of the setup, or None.
            clearance: of the setup, or None.
            output: what is applied: u, shape (nu,), or R, shape (nv,).
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
    """What a reward function of one's own is told of a control period, one row per lane; a single environment has one.

    Attributes:
        before: what was seen at its start by name of the part, shape (lanes, n) each.
        after: the same at its end.
        action: as it was applied, shape (lanes, n).
        arrived: whether the stop condition held, shape (lanes,).
        collided: whether the clearance was negative, shape (lanes,).
        failed: whether the motion or the law could not go on, shape (lanes,); ``after`` is then ``before``.
        duration: of the period [s].
    """

    before: dict[str, Array]
    after: dict[str, Array]
    action: Array
    arrived: Flags
    collided: Flags
    failed: Flags
    duration: float


RewardFunction = Callable[[Transition], Array]
