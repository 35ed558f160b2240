"""Null-space multipliers: accelerations in Larin's generalized velocities, which the rows leave free."""

from __future__ import annotations

import functools

import casadi as ca

from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.linear_algebra import Ldl
from ..program.program import Program
from .forward_dynamics import nan_where_singular
from .method import REGULAR, Capability, DirectMethod, DirectMotion
from .row_orthogonalization import HouseholderRows
from .velocity_units import FULL, velocity_units


class NullSpaceMultipliers(DirectMethod):
    """a = Θ⁺β + V₂ ẇ with V₂ᵀ M V₂ ẇ = V₂ᵀ (Q − M Θ⁺β), then Θᵀλ = M a − Q, [Larin1993]_ eqs. (2.4) and (3.1).

    Θ includes the natural rows, and Q = −h. V = [V₁ V₂] is the product of one-row reflections, Θ = L V₁ᵀ: Θ⁺β =
    V₁ L⁻¹β and λ = L⁻ᵀ V₁ᵀ (M a − Q), so that condition numbers are not squared as in (ΘΘᵀ)λ = Θ (M a − Q). Only
    V₂ᵀ M V₂ is factorized, which is regular if and only if [M; Θ] has full column rank: M itself may be singular. With
    few degrees of freedom and many rows it is small.

    Angles between velocities are measured in units in which each has about unit inertia. Where natural rows depend on
    each other the result is NaN.
    """

    @property
    def supports(self) -> frozenset[Capability]:
        """Capabilities for independent rows that are always on, without inputs."""
        missing = {
            Capability.REDUNDANT_NATURAL_ROWS,
            Capability.SWITCHED_ROWS,
            Capability.NONLINEAR_ROWS,
            Capability.ACTUATED,
        }
        return (REGULAR - missing) | {Capability.PROGRAMMED_INERTIA}

    def motion(self, program: Program, theta: ca.SX, beta: ca.SX) -> DirectMotion:
        """Return the motion by reflections and one factorization of the size of the degrees of freedom."""
        robot, n, m = program.robot, program.robot.coordinates.nv, theta.size1()
        A, b = robot.natural_form
        k = A.size1()
        _require_independent(program, k + m)
        S = ca.SX(velocity_units(program))
        rows = ca.vertcat(A, theta) @ ca.diag(S)
        M, force = ca.diag(S) @ robot.mass_matrix @ ca.diag(S), -S * robot.bias
        V = HouseholderRows.of_rows(rows)
        along = V.along(ca.vertcat(b, beta))
        turned, pushed = V.turned(V.turned(M).T).T, V.turned(force)
        free = ca.SX(0, 1)
        if k + m < n:
            reduced = Ldl.of(turned[k + m :, k + m :])
            free = nan_where_singular(reduced, reduced.solve(pushed[k + m :, :] - turned[k + m :, : k + m] @ along))
        motion = ca.vertcat(along, free) * _whole(robot, V.remainders[:k, :], rows[:k, :])
        weights = V.weights((turned @ motion - pushed)[: k + m, :])
        lengths = ca.sum2(rows**2)
        longest = [ca.SX(lengths[k + block[0]]) for block in program.blocks]
        for i, block in enumerate(program.blocks):
            for j in block[1:]:
                longest[i] = ca.fmax(longest[i], lengths[k + j])
        left = V.remainders[k:, :]
        # Neither comparison holds for NaN, which must not count as a row that vanishes.
        none = float("nan")
        shares = [ca.if_else(x > 0, left[i] / x, ca.if_else(x <= 0, 0, none)) for i, x in enumerate(longest)]
        return DirectMotion(
            acceleration=S * V.back(motion),
            multipliers=weights[k:, :],
            reactions=weights[:k, :],
            pivots=left,
            relative_pivots=ca.vertcat(ca.SX(0, 1), *shares),
        )


def _whole(robot: Robot, left: ca.SX, rows: ca.SX) -> ca.SX:
    """Return 1, or NaN where natural rows depend on each other: rounding in one would constrain a degree of freedom."""
    lengths, whole, first = ca.sum2(rows**2), ca.SX(1), 0
    for size in robot.natural_sizes:
        block = range(first, first + size)
        longest = functools.reduce(ca.fmax, [lengths[i] for i in block])
        for i in block:
            whole = ca.if_else(left[i] > FULL**2 * longest, whole, float("nan"))
        first = block.stop
    return whole


def _require_independent(program: Program, count: int) -> None:
    robot = program.robot
    switched = [repr(name) for name, off in zip(program.rows, program.switched, strict=True) if off]
    if switched:
        reason = f"rows {', '.join(switched)} are on only at times, so the number of degrees of freedom changes"
    elif not program.is_affine:
        curved = [repr(name) for name, affine in zip(program.rows, program.affine, strict=True) if not affine]
        reason = f"rows {', '.join(curved)} are not affine in the accelerations"
    elif robot.redundant != "refused":
        reason = "natural rows may depend on each other"
    elif count > robot.coordinates.nv:
        reason = f"there are {count} rows, natural ones included, for {robot.coordinates.nv} velocities"
    else:
        return
    raise ModelError(
        f"NullSpaceMultipliers requires a fixed number of independent rows, but in this program of {robot.name} "
        f"{reason}: use UdwadiaPhohomsiriMultipliers or LeastNormMultipliers"
    )
