"""Realizations of the control force R: by ideal forces, by inputs, or by inputs within limits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca
import numpy as np

from ..symbolic.errors import ModelError
from ..symbolic.linear_algebra import Ldl
from ..symbolic.sampling import sample_values
from .multipliers.forward_dynamics import ForwardDynamics
from .multipliers.method import DirectMethod, MultiplierMethod, check_rows
from .multipliers.row_orthogonalization import GramSchmidtRows
from .program.program import Program


@dataclass(frozen=True, eq=False)
class RealizedMotion:
    """A program's force and the motion under it, as expressions.

    Attributes:
        multipliers: λ, shape (m,).
        force: R, shape (nv,).
        input: u, shape (nu,); empty, shape (0,), when the force does not come from the inputs.
        acceleration: a, shape (nv,).
        reactions: μ of the natural constraints.
        pivots: pivots of K, shape (m,), in the squared unit of each row per mass.
        relative_pivots: pivots divided by the largest K_jj of the rows of their constraint, without natural
            constraints, shape (m,), in [0, 1]. From a method that supports dependent rows both are those of
            :func:`~erugin.controllers.multipliers.method.check_rows`: 1 for a row that holds, and not above 0 for
            others.
        misses: β − Θ a of each row that does not hold, else 0, shape (m,); empty from a method for independent rows.
        left: remainder of each row outside earlier ones, natural ones included, as a share of the row, shape (m,);
            zero where the row is skipped and −1 where it is off; empty from a method for independent rows.
    """

    multipliers: ca.SX
    force: ca.SX
    input: ca.SX
    acceleration: ca.SX
    reactions: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX
    misses: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    left: ca.SX = field(default_factory=lambda: ca.SX(0, 1))


class Realization(ABC):
    """Realisation of the force R."""

    name: Literal["ideal", "actuated", "bounded"]
    """Name of the realisation, as given to a ProgramController."""

    applies_force: bool
    """True if the controller returns R, False if inputs u."""

    @abstractmethod
    def build(self, program: Program, method: MultiplierMethod) -> RealizedMotion:
        """Build force and motion of a program.

        Args:
            program: the program to realise.
            method: method that solves for the multipliers.

        Raises:
            ModelError: if this realisation does not support the program in any state.
        """


def active_rows(program: Program, values: ca.SX) -> ca.SX:
    """Return the rows of an expression where they are on and zero where they are off, shape (m, n).

    Args:
        program: the program, which defines the rows that are on.
        values: one row for each of the program's; its value where the row is off does not matter, even if it is NaN.
    """
    zeros = ca.SX.zeros(1, values.size2())
    rows = [
        ca.if_else(program.active[i], values[i, :], zeros) if switched else values[i, :]
        for i, switched in enumerate(program.switched)
    ]
    return ca.vertcat(ca.SX(0, values.size2()), *rows)


def decouple_inactive_rows(program: Program, matrix: ca.SX) -> ca.SX:
    """Return K with a 1 on the diagonal for every row that is off: its multiplier is zero and its pivot 1.

    Args:
        program: the program, which defines the rows that are on.
        matrix: K of :func:`active_rows`, with zero rows and columns where rows are off.
    """
    diagonal = [
        # A condition that is NaN must not count as a row that is on.
        ca.if_else(program.active[i] == 1, 0, ca.if_else(program.active[i] == 0, 1, float("nan")))
        if switched
        else ca.SX(0)
        for i, switched in enumerate(program.switched)
    ]
    return matrix + ca.diag(ca.vertcat(ca.SX(0, 1), *diagonal))


def always_active_rows(program: Program) -> list[str]:
    """Return the names of the rows that are always on.

    Args:
        program: the program.
    """
    return [name for name, switched in zip(program.rows, program.switched, strict=True) if not switched]


def row_changes(program: Program, free: ca.SX) -> ca.SX:
    """Return the change of the rows of Θ from a₀ to a, to first order, shape (m, nv); zero where they are affine in a.

    Args:
        program: the program.
        free: a₀, shape (nv,).
    """
    a, transposed = program.robot.coordinates.a, program.theta.T
    return ca.reshape(ca.jtimes(ca.vec(transposed), a, a - free), *transposed.shape).T


@dataclass(frozen=True, eq=False)
class RowSolution:
    """Multipliers ``values`` and diagnosis of the rows; the other fields as in :class:`RealizedMotion`."""

    values: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX
    misses: ca.SX
    left: ca.SX


def solve(
    program: Program,
    method: MultiplierMethod,
    matrix: ca.SX,
    right: ca.SX,
    rooted: Callable[[], ca.SX],
    moved: Callable[[ca.SX], ca.SX],
    whole: ca.SX | None,
    turning: ca.SX | None = None,
) -> RowSolution:
    """Solve K λ = r.

    Args:
        program: the program, which defines the rows that are on and those that share a constraint.
        method: method that solves for the multipliers.
        matrix: K of the rows that are on, shape (m, m); see :func:`decouple_inactive_rows`.
        right: r, shape (m,).
        rooted: function that builds H with K = H Hᵀ, shape (m, n); called if rows may depend on each other.
        moved: function from λ to a, shape (nv,); called if rows may depend on each other.
        whole: K as for :func:`relative_pivots`; required if rows may depend on each other.
        turning: change of the rows as for :func:`relative_pivots`.
    """
    if not method.supports_dependent_rows:
        found = method.solve(matrix, right)
        relative = relative_pivots(program, matrix, found.pivots, turning, whole)
        nothing = ca.SX(0, 1)
        return RowSolution(found.values, found.pivots, relative, nothing, nothing)
    assert whole is not None
    scale, m = row_scales(program, whole), right.numel()
    # A condition that is NaN must not count as a row that is off.
    off = [program.active[i] == 0 if switched else ca.SX(0) for i, switched in enumerate(program.switched)]
    on = [ca.if_else(off[i], 1, ca.if_else(program.active[i] == 1, 1, float("nan"))) for i in range(m)]
    rows = ca.diag(ca.vertcat(ca.SX(0, 1), *on)) @ rooted()
    basis = GramSchmidtRows.of_rows(rows, scale, method.tolerance)
    lam = method.solve_rows(basis, matrix, right, scale).values
    theta, beta, a = active_rows(program, program.theta), active_rows(program, program.beta), moved(lam)
    lengths, made = ca.sqrt(ca.diag(whole)), ca.fabs(theta)
    size = ca.fabs(beta) + made @ ca.fabs(a)
    pivots, misses = check_rows(basis, beta - theta @ a, size, lengths, scale, ca.sum2(made))
    share = [ca.if_else(lengths[i] > 0, basis.kept[i] * basis.left[i] / lengths[i], 0) for i in range(m)]
    left = ca.vertcat(ca.SX(0, 1), *(ca.if_else(off[i], -1, share[i]) for i in range(m)))
    return RowSolution(lam, pivots, pivots, misses, left)


def row_scales(program: Program, matrix: ca.SX) -> ca.SX:
    """Return the largest K_jj of the rows of each row's constraint, which share a unit, shape (m,).

    Args:
        program: the program, which defines the rows that share a constraint.
        matrix: K, shape (m, m).
    """
    scales: list[ca.SX] = []
    for block in program.blocks:
        largest = matrix[block[0], block[0]]
        for j in block[1:]:
            largest = ca.fmax(largest, matrix[j, j])
        scales.append(largest)
    return ca.vertcat(ca.SX(0, 1), *scales)


def relative_pivots(
    program: Program, matrix: ca.SX, pivots: ca.SX, turning: ca.SX | None = None, whole: ca.SX | None = None
) -> ca.SX:
    """Return pivots relative to the largest row of the same constraint, shape (m,); zero if all its rows vanish.

    A row that is not affine in a is also compared with its change between the motion without it and with it: it
    vanishes where it is small relative to that, even if it is the only one of its constraint.

    Rows of one constraint share a unit and are compared with each other; rows of different constraints cannot be
    compared.

    Args:
        program: the program, which defines the rows that share a constraint.
        matrix: K, shape (m, m).
        pivots: D, shape (m,).
        turning: squared change of each row in the metric of K, shape (m,); zero if not given.
        whole: K of the rows without the reduction by natural constraints and inputs, shape (m, m), that K is compared
            with; K if not given.
    """
    size = [matrix[i, i] if whole is None else ca.fmax(matrix[i, i], whole[i, i]) for i in range(matrix.size1())]
    if turning is not None:
        size = [one + turning[i] for i, one in enumerate(size)]
    relative: list[ca.SX] = []
    for i, block in enumerate(program.blocks):
        largest = size[block[0]]
        for j in block[1:]:
            largest = ca.fmax(largest, size[j])
        # NaN must remain NaN: it is not caused by the rows.
        vanished = ca.if_else(largest <= 0, 0, float("nan"))
        relative.append(ca.if_else(largest > 0, pivots[i] / largest, vanished))
    return ca.vertcat(*relative)


DEPENDENT = 1e-11
"""Share of its terms below which a number counts as rounding."""


class ActuatedRealization(Realization):
    """R = B u with Θ M̂ B u = β − Θ a₀: the inputs produce exactly the accelerations that the program requires.

    With more inputs than rows, u is the one nearest to the ideal force: least uᵀWu with W = Bᵀ M̂ B, so that B u = Θᵀλ
    wherever the inputs can produce it. Where W is singular in every position (more inputs than degrees of freedom, a
    drive along a link of fixed length), u has least |u|²: the rows hold as well, but the motion that the program leaves
    free then differs from that under the ideal force and depends on the units of the inputs. M̂ contains the natural
    constraints, whose reactions cost no actuator.
    """

    name = "actuated"
    applies_force = False

    def build(self, program: Program, method: MultiplierMethod) -> RealizedMotion:
        """Build inputs, force and motion of a program."""
        robot, theta, B = program.robot, active_rows(program, program.theta), program.robot.input_matrix
        steady = always_active_rows(program)
        m, nu = len(steady), B.size2()
        if m > nu and not method.supports_dependent_rows:
            raise ModelError(
                f"the program has {m} rows ({', '.join(steady)}), but {robot.name} has only {nu} "
                f"input{'s' * (nu != 1)}{' (' if nu else ''}{', '.join(robot.input_names)}{')' if nu else ''}: drop "
                f"{m - nu} row{'s' * (m - nu != 1)}, or use realization='ideal' to see the force that would be needed"
            )
        moved = method.forward_dynamics(program, theta, active_rows(program, program.beta))
        free, reactions = moved.unforced_acceleration
        reach, pull = moved.mobility(B)
        gain, weight = theta @ reach, B.T @ reach
        idle = self._inputs_are_dependent(program, program.theta @ reach, weight, method, moved)
        factor = None if idle else Ldl.of(weight)
        back = gain.T if factor is None else factor.solve(gain.T)
        K = decouple_inactive_rows(program, gain @ back)
        whole = None
        if method.supports_dependent_rows or robot.natural:
            # Size of a row before cancellation: natural constraints leave only rounding of a row that they imply.
            factors = ca.fabs(theta) @ ca.fabs(reach)
            whole = factors @ factors.T if factor is None else theta @ moved.factor.solve(theta.T)
        turning = None
        if not program.is_affine:
            change = active_rows(program, row_changes(program, free) @ reach)
            turning = ca.diag(change @ (change.T if factor is None else factor.solve(change.T)))

        def rooted() -> ca.SX:
            return gain if factor is None else factor.rooted(factor.forward(gain.T)).T

        right = active_rows(program, program.beta - program.theta @ free)
        found = solve(program, method, K, right, rooted, lambda lam: free + reach @ (back @ lam), whole, turning)
        u = back @ found.values
        return RealizedMotion(
            multipliers=found.values,
            force=B @ u,
            input=ca.densify(u),
            acceleration=free + reach @ u,
            reactions=reactions + pull @ u,
            pivots=found.pivots,
            relative_pivots=found.relative_pivots,
            misses=found.misses,
            left=found.left,
        )

    def _inputs_are_dependent(
        self, program: Program, gain: ca.SX, weight: ca.SX, method: MultiplierMethod, moved: ForwardDynamics
    ) -> bool:
        """True if W is singular at all sampled states; raise ModelError for a row that no input reaches at any."""
        robot, c = program.robot, program.robot.coordinates
        states = {"t": c.t, "q": c.q, "v": c.v, "a": c.a}
        singular, silent = True, np.ones(gain.size1(), dtype=np.bool_)
        B = robot.input_matrix
        # The effect of each input without natural constraints is the scale for its effect with them.
        free = ca.diag(B.T @ moved.factor.solve(B))
        looked_at = {"W": weight, "gain": gain, "theta": program.theta, "reach": moved.mobility(B)[0], "free": free}
        for W, rows, theta, reach, free_alone in sample_values(looked_at, states, program.parameters):
            if not all(np.isfinite(matrix).all() for matrix in (W, rows, theta, reach, free_alone)):
                return False
            scale = np.sqrt(np.abs(free_alone[:, 0]))
            scale = np.where(scale > 0.0, scale, 1.0)
            values = np.linalg.eigvalsh(W / np.outer(scale, scale)) if W.size else np.ones(1)
            singular = singular and bool(values[0] <= DEPENDENT)
            # Rounding in Θ M̂ B is of the size of its factors.
            silent &= np.abs(rows).max(axis=1, initial=0.0) <= DEPENDENT * (np.abs(theta) @ np.abs(reach)).max(axis=1)
        if silent.any() and not method.supports_dependent_rows:
            names = ", ".join(repr(name) for name, zero in zip(program.rows, silent, strict=True) if zero)
            raise ModelError(
                f"no input of {robot.name} ({', '.join(robot.input_names)}) acts on {names}: the accelerations in "
                "these rows do not depend on the inputs. Inputs may act only on higher derivatives, as a voltage does "
                "through its current, or not at all"
            )
        return singular


class IdealRealization(Realization):
    """R = Θᵀλ with Θ M̂ Θᵀ λ = β − Θ a₀, Matukhina eq. (6) and (15).

    a₀ is the acceleration without control and M̂ the mobility, M⁻¹ where there are no natural constraints. Of all forces
    that realise the program it is the least in Gauss's sense: it changes the free motion least, in the metric M.
    """

    name = "ideal"
    applies_force = True

    def build(self, program: Program, method: MultiplierMethod) -> RealizedMotion:
        """Build force and motion of a program."""
        robot, theta = program.robot, active_rows(program, program.theta)
        steady = always_active_rows(program)
        if len(steady) > robot.coordinates.nv and not method.supports_dependent_rows:
            raise ModelError(
                f"the program has {len(steady)} rows ({', '.join(steady)}), more than the "
                f"{robot.coordinates.nv} velocities of {robot.name}: no force can satisfy all of them"
            )
        beta = active_rows(program, program.beta)
        if isinstance(method, DirectMethod):
            motion = method.motion(program, theta, beta)
            return RealizedMotion(
                multipliers=motion.multipliers,
                force=theta.T @ motion.multipliers,
                input=ca.SX(0, 1),
                acceleration=motion.acceleration,
                reactions=motion.reactions,
                pivots=motion.pivots,
                relative_pivots=motion.relative_pivots,
                misses=motion.misses,
                left=motion.left,
            )
        moved = method.forward_dynamics(program, theta, beta)
        rows = moved.rows(theta)
        K = decouple_inactive_rows(program, rows.matrix)
        # Size of a row without natural constraints, which leave only rounding of a row that they imply.
        needs_whole = method.supports_dependent_rows or bool(robot.natural)
        whole = rows.whole if needs_whole else None
        turning = self._turning(program, moved)
        found = solve(
            program, method, K, beta - rows.free, rows.rooted, lambda lam: rows.motion(lam)[0], whole, turning
        )
        lam = found.values
        acceleration, reactions = rows.motion(lam)
        return RealizedMotion(
            multipliers=lam,
            force=theta.T @ lam,
            input=ca.SX(0, 1),
            acceleration=acceleration,
            reactions=reactions,
            pivots=found.pivots,
            relative_pivots=found.relative_pivots,
            misses=found.misses,
            left=found.left,
        )

    def _turning(self, program: Program, moved: ForwardDynamics) -> ca.SX | None:
        """Squared change of each row along a − a₀ in the metric M̂; None if all are affine in a."""
        if program.is_affine:
            return None
        change = active_rows(program, row_changes(program, moved.unforced_acceleration[0]))
        return ca.diag(change @ moved.mobility(change.T)[0])
