"""The abstract realisation: how the control force R comes about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca

from ..multipliers import MultiplierMethod
from ..multipliers.multipliers import verdicts
from ..multipliers.row_basis import RowBasis
from ..program import Program


@dataclass(frozen=True, eq=False)
class Realized:
    """A program's force and the motion under it, as expressions.

    Attributes:
        multipliers: λ, shape (m,).
        force: R, shape (nv,).
        input: u, shape (nu,); empty, shape (0,), when the force does not come from the inputs.
        acceleration: a, shape (nv,).
        reactions: μ of the natural constraints.
        pivots: of K, shape (m,), in the squared unit of each row per mass.
        relative_pivots: each divided by the largest K_jj of the rows of its constraint, as it would be without natural
            constraints, shape (m,), in [0, 1]. From a
            method that handles dependent rows both are those of
            :func:`~erugin.controllers.multipliers.multipliers.verdicts`: 1 for a row that holds, and not above 0 for
            others.
        misses: β − Θ a of each row that does not hold, else 0, shape (m,); empty from a method for independent rows.
        left: what is left of each row outside those before it, natural ones included, as a share of it, shape (m,);
            zero where it is passed over and −1 where it is off. Empty likewise.
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
    """Way in which R becomes real."""

    name: Literal["ideal", "actuated", "bounded"]
    """The word by which a user chooses it."""

    applies_force: bool
    """True if the controller hands out R, False if inputs u."""

    @abstractmethod
    def build(self, program: Program, method: MultiplierMethod) -> Realized:
        """Force and motion of a program.

        Args:
            program: what must hold.
            method: how the multipliers are found.

        Raises:
            ModelError: if this realisation cannot serve this program, whatever the state.
        """


def active_rows(program: Program, values: ca.SX) -> ca.SX:
    """The rows of an expression where they are on, zero where they are off, in its shape (m, n).

    Args:
        program: tells which rows are on.
        values: one row for each of the program's; what it is where the row is off, NaN even, does not matter.
    """
    zeros = ca.SX.zeros(1, values.size2())
    rows = [
        ca.if_else(program.active[i], values[i, :], zeros) if switched else values[i, :]
        for i, switched in enumerate(program.switched)
    ]
    return ca.vertcat(ca.SX(0, values.size2()), *rows)


def decoupled(program: Program, matrix: ca.SX) -> ca.SX:
    """K with a 1 on the diagonal for every row that is off: its multiplier is zero and its pivot 1.

    Args:
        program: tells which rows are on.
        matrix: K of :func:`active_rows`, in which rows and columns that are off are zero.
    """
    diagonal = [
        # A condition that is no number must not pass for a row that is on.
        ca.if_else(program.active[i] == 1, 0, ca.if_else(program.active[i] == 0, 1, float("nan")))
        if switched
        else ca.SX(0)
        for i, switched in enumerate(program.switched)
    ]
    return matrix + ca.diag(ca.vertcat(ca.SX(0, 1), *diagonal))


def steady_rows(program: Program) -> list[str]:
    """Names of the rows that are always on.

    Args:
        program: whose rows.
    """
    return [name for name, switched in zip(program.rows, program.switched, strict=True) if not switched]


def turned(program: Program, free: ca.SX) -> ca.SX:
    """By how much the rows of Θ change from a₀ to a, to first order, shape (m, nv); zero where they are affine in a.

    Args:
        program: whose rows.
        free: a₀, shape (nv,).
    """
    a, transposed = program.robot.coordinates.a, program.theta.T
    return ca.reshape(ca.jtimes(ca.vec(transposed), a, a - free), *transposed.shape).T


@dataclass(frozen=True, eq=False)
class Solved:
    """Multipliers and the verdict on the rows; all but ``values`` as in :class:`Realized`."""

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
) -> Solved:
    """Solve K λ = r.

    Args:
        program: tells which rows belong together, and which are on.
        method: how the multipliers are found.
        matrix: K of the rows that are on, shape (m, m); see :func:`decoupled`.
        right: r, shape (m,).
        rooted: builds H with K = H Hᵀ, shape (m, n); asked for where rows may depend on each other.
        moved: from λ to a, shape (nv,), likewise.
        whole: as for :func:`relative_pivots`; required where rows may depend on each other.
        turning: as for :func:`relative_pivots`.
    """
    if not method.handles_dependence:
        found = method.solve(matrix, right)
        relative = relative_pivots(program, matrix, found.pivots, turning, whole)
        nothing = ca.SX(0, 1)
        return Solved(found.values, found.pivots, relative, nothing, nothing)
    assert whole is not None
    scale, m = row_scales(program, whole), right.numel()
    # A condition that is no number must not pass for a row that is off.
    off = [program.active[i] == 0 if switched else ca.SX(0) for i, switched in enumerate(program.switched)]
    on = [ca.if_else(off[i], 1, ca.if_else(program.active[i] == 1, 1, float("nan"))) for i in range(m)]
    rows = ca.diag(ca.vertcat(ca.SX(0, 1), *on)) @ rooted()
    basis = RowBasis.of_rows(rows, scale, method.tolerance)
    lam = method.solve_rows(basis, matrix, right, scale).values
    theta, beta, a = active_rows(program, program.theta), active_rows(program, program.beta), moved(lam)
    lengths, made = ca.sqrt(ca.diag(whole)), ca.fabs(theta)
    size = ca.fabs(beta) + made @ ca.fabs(a)
    pivots, misses = verdicts(basis, beta - theta @ a, size, lengths, scale, ca.sum2(made))
    share = [ca.if_else(lengths[i] > 0, basis.kept[i] * basis.left[i] / lengths[i], 0) for i in range(m)]
    left = ca.vertcat(ca.SX(0, 1), *(ca.if_else(off[i], -1, share[i]) for i in range(m)))
    return Solved(lam, pivots, pivots, misses, left)


def row_scales(program: Program, matrix: ca.SX) -> ca.SX:
    """The largest K_jj of the rows of each row's constraint, which share a unit, shape (m,).

    Args:
        program: tells which rows belong together.
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
    """Pivots relative to the largest row of the same constraint, shape (m,); zero if all rows of it vanish.

    A row that is not affine in a is also compared with what it changes by along the way from the motion without it: it
    vanishes where it is small beside that, even if it is the only one of its constraint.

    Rows of one constraint share a unit, so that a row is small beside them or it is not; rows of different constraints
    cannot be compared.

    Args:
        program: tells which rows belong together.
        matrix: K, shape (m, m).
        pivots: D, shape (m,).
        turning: by how much the row changes along the way, squared in the metric of K, shape (m,); zero if not given.
        whole: K of the rows before natural constraints and inputs leave their part of it, shape (m, m): what they leave
            is compared with it. The K above if not given.
    """
    size = [matrix[i, i] if whole is None else ca.fmax(matrix[i, i], whole[i, i]) for i in range(matrix.size1())]
    if turning is not None:
        size = [one + turning[i] for i, one in enumerate(size)]
    relative: list[ca.SX] = []
    for i, block in enumerate(program.blocks):
        largest = size[block[0]]
        for j in block[1:]:
            largest = ca.fmax(largest, size[j])
        # A number that is none must stay one: it is not the rows' fault.
        vanished = ca.if_else(largest <= 0, 0, float("nan"))
        relative.append(ca.if_else(largest > 0, pivots[i] / largest, vanished))
    return ca.vertcat(*relative)
