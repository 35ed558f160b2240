"""Multipliers from the explicit equation of Udwadia and Phohomsiri, for any rows and singular mass matrices."""

from __future__ import annotations

import itertools

import casadi as ca

from ...symbolic.linear_algebra import PIVOT_TOLERANCE
from ...symbolic.validation import positive
from ..program.program import Program
from .method import DEPENDENCE, REGULAR, Capability, DirectMethod, DirectMotion, check_rows
from .row_orthogonalization import NEAREST, GramSchmidtRows, HouseholderRows
from .velocity_units import FULL, velocity_units


class UdwadiaPhohomsiriMultipliers(DirectMethod):
    """a = [(I − Θ⁺Θ) M; Θ]⁺ [(I − Θ⁺Θ) Q; β], [UdwadiaPhohomsiri2006]_, then the least-norm λ with Θᵀλ = M a − Q.

    Θ holds the natural rows too, and Q = −h. Rows may depend on each other, vanish, or be more than the velocities, and
    M may be singular as long as [M; Θ] has full column rank, which is when the matrix has. Θ = C V with orthonormal
    rows V, found by Gram and Schmidt twice over, so that I − Θ⁺Θ = I − VᵀV; in the matrix V a = C⁻¹β stands for
    Θ a = β, which is the same of rows that agree. Its pseudo-inverse is taken by reflections of its columns, not by its
    normal equations: no condition number is squared.

    Where rows contradict each other those that come first hold, and the others are named. λ is that of least norm in
    the rows' own units, as with :class:`LeastNormMultipliers`.

    Attributes:
        tolerance: a row is passed over if the square of what is left of it outside the rows before it, relative to the
            longest row of its constraint, is not above this. If that is more than rounding, it must be met
            nevertheless, or its status is not OK.
    """

    supports_dependent_rows = True

    def __init__(self, tolerance: float = NEAREST) -> None:
        """Fix the tolerance.

        Args:
            tolerance: share of the square of a length.

        Raises:
            ModelError: if it is not positive.
        """
        self.tolerance = positive("tolerance", tolerance)

    @property
    def supports(self) -> frozenset[Capability]:
        """All but inputs."""
        return (REGULAR - {Capability.ACTUATED}) | DEPENDENCE | {Capability.PROGRAMMED_INERTIA}

    def motion(self, program: Program, theta: ca.SX, beta: ca.SX) -> DirectMotion:
        """By Gram and Schmidt along the rows and reflections along the columns."""
        robot, n = program.robot, program.robot.coordinates.nv
        A, b = robot.natural_form
        k, count = A.size1(), A.size1() + theta.size1()
        S = ca.SX(velocity_units(program))
        rows = ca.vertcat(A, theta) @ ca.diag(S)
        M, force = ca.diag(S) @ robot.mass_matrix @ ca.diag(S), -S * robot.bias
        scale = _scales(program, rows)
        # Natural rows that are redundant by design are so as far as q is on them.
        spare = self.tolerance if robot.redundant == "refused" else max(PIVOT_TOLERANCE, self.tolerance)
        V = GramSchmidtRows.of_rows(rows, scale, [spare] * k + [self.tolerance] * theta.size1())

        def free(x: ca.SX) -> ca.SX:
            return x - V.basis.T @ (V.basis @ x)

        whole = ca.vertcat(free(M), V.basis)  # (n + k + m, n)
        wanted = ca.vertcat(free(force), V.along(ca.vertcat(b, beta)))
        columns = HouseholderRows.of_rows(whole.T)
        a = columns.weights(columns.turned(wanted)[:n, :])
        lengths = ca.sum1(whole**2).T
        for j in range(n):
            # Something here has neither inertia nor constraint: no number may come of it.
            a = ca.if_else(columns.remainders[j] > FULL**2 * lengths[j], a, float("nan") * a)
        along = V.basis @ (M @ a - force)
        lam = V.weights(along[k:, :], k, count)
        mu = V.weights(along[:k, :] - V.lower[k:, :k].T @ lam, 0, k)
        acceleration = S * a
        every, right = ca.vertcat(A, theta), ca.vertcat(b, beta)
        lengths, made = ca.sqrt(ca.sum2(rows**2)), ca.fabs(every)
        size = ca.fabs(right) + made @ ca.fabs(acceleration)
        pivots, misses = check_rows(V, right - every @ acceleration, size, lengths, scale, ca.sum2(made), k)
        share = [ca.if_else(lengths[i] > 0, V.kept[i] * V.left[i] / lengths[i], 0) for i in range(k, count)]
        off = [program.active[i] == 0 if switched else ca.SX(0) for i, switched in enumerate(program.switched)]
        left = ca.vertcat(ca.SX(0, 1), *(ca.if_else(o, -1, s) for o, s in zip(off, share, strict=True)))
        return DirectMotion(acceleration, lam, mu, pivots, pivots, misses, left)


def _scales(program: Program, rows: ca.SX) -> ca.SX:
    """Square of the longest row of each row's constraint, natural ones first, shape (k + m,)."""
    lengths = ca.sum2(rows**2)
    robot = program.robot
    sizes = [constraint.residual(robot.coordinates).numel() for constraint in robot.natural]
    ends = list(itertools.accumulate(sizes, initial=0))
    blocks = [range(first, last) for first, last in itertools.pairwise(ends) for _ in range(first, last)]
    blocks += [range(ends[-1] + block.start, ends[-1] + block.stop) for block in program.blocks]
    scales: list[ca.SX] = []
    for block in blocks:
        longest = lengths[block[0]]
        for j in block[1:]:
            longest = ca.fmax(longest, lengths[j])
        scales.append(longest)
    return ca.vertcat(ca.SX(0, 1), *scales)
