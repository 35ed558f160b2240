"""Limits of inputs, power and joints as bounds and rows on the inputs, in expressions."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from ...robots.robot import Robot
from .limits import ControlLimits

INF = ca.SX(np.inf)


class LimitRows:
    """low ≤ u ≤ high and least ≤ matrix · u ≤ most.

    Attributes:
        low: least input that the given bounds and the power of each input allow, shape (nu,); where these or the total
            power leave nothing, the one of the given bounds that comes nearest to the power.
        high: the greatest, shape (nu,).
        short: by how much power is exceeded at least, shape (nu + 1,): that of each input, then their sum [W].
        names: of the rows, l of them.
        hard: so many of them, the first ones, can always be kept within low and high.
        matrix: shape (l, nu).
        least: shape (l,).
        most: shape (l,).
        scale: one over the unit of each row, shape (l,).
    """

    def __init__(
        self,
        robot: Robot,
        limits: ControlLimits,
        free: ca.SX,
        reach: ca.SX,
        mobility: Callable[[ca.SX], tuple[ca.SX, ca.SX]],
        given: tuple[ca.SX, ca.SX],
    ) -> None:
        """Write them down.

        Args:
            robot: the model.
            limits: of it.
            free: accelerations without inputs, shape (nv,).
            reach: what inputs add to them, shape (nv, nu).
            mobility: what generalized forces add to accelerations and reactions.
            given: least and greatest inputs that torque and rate allow, shape (nu,) each.
        """
        self.names: tuple[str, ...] = ()
        self.hard = 0
        self._matrix: list[ca.SX] = []
        self._least: list[ca.SX] = []
        self._most: list[ca.SX] = []
        self._scale: list[ca.SX] = []
        self._bound_power(robot, limits, given)
        self._bound_joints(robot, limits, free, reach, mobility)
        nu = robot.u.numel()
        self.matrix = ca.densify(ca.vertcat(ca.SX(0, nu), *self._matrix))
        self.least, self.most, self.scale = (
            ca.vertcat(ca.SX(0, 1), *values) for values in (self._least, self._most, self._scale)
        )

    def beyond(self, u: ca.SX) -> ca.SX:
        """By how much an input is beyond each row, as a share of what it is made of, shape (l,).

        Args:
            u: shape (nu,).
        """
        value, size = self.matrix @ u, 1 / self.scale + ca.fabs(self.matrix) @ ca.fabs(u)
        return ca.vertcat(
            ca.SX(0, 1),
            *(ca.fmax(self.least[i] - value[i], value[i] - self.most[i]) / size[i] for i in range(len(self.names))),
        )

    def _bound_power(self, robot: Robot, limits: ControlLimits, given: tuple[ca.SX, ca.SX]) -> None:
        speed = robot.input_matrix.T @ robot.v
        low: list[ca.SX] = []
        high: list[ca.SX] = []
        short: list[ca.SX] = []
        for i, power in enumerate(limits.power):
            least, most = given[0][i], given[1][i]
            if np.isfinite(power):
                w = ca.fabs(speed[i])
                bound = ca.if_else(w > 0, float(power) / w, INF)
                least, most = _clipped(-bound, least, most), _clipped(bound, least, most)
                # Where the given bounds leave no room, least and most are the end of them that is nearest.
                nearest = ca.fmax(ca.fmax(least, -most), 0)
                short.append(ca.if_else(w > 0, ca.fmax(nearest * w - float(power) * (1 + 1e-12), 0), 0))
            else:
                short.append(ca.SX(0))
            low.append(least)
            high.append(most)
        total = ca.SX(0)
        if np.isfinite(limits.total_power):
            speeds, allowed, fastest = ca.vertsplit(speed), float(limits.total_power), ca.SX(0)
            for w, least, most in zip(speeds, low, high, strict=True):
                total = total + ca.if_else(w > 0, w * least, ca.if_else(w < 0, w * most, 0))
                fastest = ca.fmax(fastest, ca.fabs(w))
            beyond = total > allowed
            for i, (w, least, most) in enumerate(zip(speeds, low, high, strict=True)):
                # The corner that is left, without the rounding of a row through it.
                low[i] = ca.if_else(ca.logic_and(beyond, w < 0), most, least)
                high[i] = ca.if_else(ca.logic_and(beyond, w > 0), least, most)
            self.hard = 1
            scale = ca.if_else(fastest > 0, 1 / fastest, 1)
            self._add("total power", speed.T, -INF, ca.if_else(beyond, INF, allowed), scale)
            total = ca.fmax(total - allowed, 0)
        self.low, self.high = ca.vertcat(ca.SX(0, 1), *low), ca.vertcat(ca.SX(0, 1), *high)
        self.short = ca.vertcat(*short, total)

    def _bound_joints(
        self,
        robot: Robot,
        limits: ControlLimits,
        free: ca.SX,
        reach: ca.SX,
        mobility: Callable[[ca.SX], tuple[ca.SX, ca.SX]],
    ) -> None:
        c, k, hurry = robot.coordinates, limits.approach, limits.speed_approach
        rate = c.N @ c.v
        N, rest = c.affine_in_acceleration(c.rate(rate))
        bounded = np.isfinite(limits.joint_lower) | np.isfinite(limits.joint_upper)
        fast = np.isfinite(limits.speed)
        ease, matrix, drift = ca.diag(N @ mobility(N.T)[0]), N @ reach, N @ free + rest
        for i in np.flatnonzero(bounded).tolist():
            least, most = (
                -2 * k * rate[i] + k**2 * (float(bound) - c.q[i]) if np.isfinite(bound) else none
                for bound, none in ((limits.joint_lower[i], -INF), (limits.joint_upper[i], INF))
            )
            if c.are_rates and fast[i]:
                # The same row: what the place asks for is kept where the speed asks for the contrary.
                slow = float(limits.speed[i])
                least, most = (
                    _clipped(hurry * (-slow - c.v[i]), least, most),
                    _clipped(hurry * (slow - c.v[i]), least, most),
                )
            unit = "limit of place and speed" if c.are_rates and fast[i] else "limit of place"
            self._add_joint(f"{c.names[i]!r} ({unit})", matrix[i, :], drift[i], (least, most), ease[i])
        ease = ca.diag(mobility(ca.SX.eye(c.nv))[0])
        for i in np.flatnonzero(fast & ~bounded if c.are_rates else fast).tolist():
            slow = float(limits.speed[i])
            bounds = (hurry * (-slow - c.v[i]), hurry * (slow - c.v[i]))
            name = repr(c.names[i]) if c.are_rates else f"velocity {i}"
            self._add_joint(f"{name} (limit of speed)", reach[i, :], free[i], bounds, ease[i])

    def _add_joint(self, name: str, row: ca.SX, drift: ca.SX, bounds: tuple[ca.SX, ca.SX], ease: ca.SX) -> None:
        scale = ca.if_else(ease > 0, 1 / ca.sqrt(ease), 1)
        self._add(name, row, bounds[0] - drift, bounds[1] - drift, scale)

    def _add(self, name: str, row: ca.SX, least: ca.SX, most: ca.SX, scale: ca.SX) -> None:
        self.names = (*self.names, name)
        self._matrix.append(row)
        self._least.append(least)
        self._most.append(most)
        self._scale.append(scale)


def _clipped(value: ca.SX, least: ca.SX, most: ca.SX) -> ca.SX:
    return ca.fmin(ca.fmax(value, least), most)
