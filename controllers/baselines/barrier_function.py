"""Barrier functions of the state, which must not become negative."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...constraints.curves.curve import Curve
from ...constraints.relations.operands import column
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range
from ...symbolic.validation import not_negative


@dataclass(frozen=True, eq=False)
class BarrierFunction:
    """h(t, q, v) ≥ 0.

    Attributes:
        name: name of the barrier, for messages.
        value: h, a scalar expression in the robot's symbols and ``parameters``.
        parameters: parameters of h other than the robot's.
        swirl: generalized force along the boundary per newton of the barrier's force, shape (nv,); None without swirl.
    """

    name: str
    value: ca.SX
    parameters: Parameters = NO_PARAMETERS
    swirl: ca.SX | None = None

    def __post_init__(self) -> None:
        """Raise ModelError unless the value is a scalar expression."""
        if not isinstance(self.value, ca.SX) or self.value.shape != (1, 1):
            raise ModelError(f"barrier {self.name!r} must be a scalar SX expression, got {self.value!r}")

    @classmethod
    def outside(
        cls,
        robot: Robot,
        point: ca.SX,
        shape: Curve,
        *,
        margin: float = 0.0,
        swirl: float = 0.0,
        side: int = 1,
        name: str | None = None,
    ) -> BarrierFunction:
        """Return the barrier of a point outside a shape, which may move: h = f(x(q), t) − margin.

        Without swirl, the motion stops where the nominal law pulls straight towards an obstacle [Reis2021]_. With a
        swirl σ > 0 a share σ of the barrier's force is added along the boundary: to the left of the normal for side +1,
        to its right for side −1; in space about the vertical axis.

        Args:
            robot: the robot that the point belongs to.
            point: x, shape (n,) [m].
            shape: a boundary with one function f, positive outside.
            margin: additional distance [m].
            swirl: share σ, at least zero.
            side: side of the swirl, +1 or −1.
            name: prefix of the parameters ``name.margin``, ``name.swirl``, ``name.side``; by default the shape's name
                with ``_barrier``.

        Raises:
            ModelError: for a shape of another dimension or of several functions, or numbers out of range.
        """
        if not isinstance(shape, Curve):
            raise ModelError(f"shape must be a Curve such as circle(...), got {shape!r}")
        label = f"{shape.name}_barrier" if name is None else name
        x = column(label, "the point", point)
        n = x.numel()
        if shape.dimension != n:
            raise ModelError(f"barrier {label!r}: {shape.name!r} has {shape.dimension} dimensions, the point {n}")
        f = shape.functions(x, robot.t)
        if f.shape != (1, 1):
            raise ModelError(f"barrier {label!r}: a boundary must have one function, {shape.name!r} has {f.numel()}")
        if side not in (1, -1):
            raise ModelError(f"barrier {label!r}: side must be +1 or -1, got {side!r}")
        values = {"margin": not_negative(f"margin of {label!r}", margin)}
        ranges = {"margin": Range.NOT_NEGATIVE}
        turning = not_negative(f"swirl of {label!r}", swirl) > 0.0
        if turning:
            if n not in (2, 3):
                raise ModelError(f"barrier {label!r}: a swirl requires 2 or 3 dimensions, got {n}")
            values |= {"swirl": float(swirl), "side": float(side)}
            ranges |= {"swirl": Range.NOT_NEGATIVE, "side": Range.SIGN}
        own = Parameters.declare(values, label, ranges=ranges)
        along = None
        if turning:
            normal = ca.vec(shape.jacobian(x, robot.t))
            tangent = ca.vertcat(-normal[1], normal[0], *(ca.SX(0),) * (n - 2))
            J = ca.jacobian(x, robot.q) @ robot.coordinates.N
            along = ca.densify(own[f"{label}.swirl"] * own[f"{label}.side"] * (J.T @ tangent))
        return cls(label, f - own[f"{label}.margin"], Parameters.collect([shape.parameters, own]), along)

    @classmethod
    def joint_limits(cls, robot: Robot, *, margin: float = 0.0) -> tuple[BarrierFunction, ...]:
        """Return the barriers of the robot's limits: q_i − lower_i − margin and upper_i − margin − q_i.

        Args:
            robot: robot with finite limits of some coordinates.
            margin: distance to each limit, at least zero, in the unit of the coordinate.

        Raises:
            ModelError: if no limit is finite, the margin is negative, or margins exceed the range of a coordinate.
        """
        kept, found = not_negative("margin", margin), list[BarrierFunction]()
        for i, name in enumerate(robot.coordinates.names):
            lower, upper = float(robot.limits.lower[i]), float(robot.limits.upper[i])
            if lower + kept >= upper - kept:
                raise ModelError(f"limits {lower:g} and {upper:g} of {name!r} leave no range with a margin of {kept:g}")
            if np.isfinite(lower):
                found.append(cls(f"{name} above {lower:g}", robot.q[i] - (lower + kept)))
            if np.isfinite(upper):
                found.append(cls(f"{name} below {upper:g}", (upper - kept) - robot.q[i]))
        if not found:
            raise ModelError(
                f"{robot.name} has no finite limits of its coordinates: declare them by "
                "erugin.robots.with_limits(robot, lower=…, upper=…)"
            )
        return tuple(found)
