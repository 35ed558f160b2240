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

    Θ includes the natural rows, and Q = −h. Rows may depend on each other, vanish, or be more than the velocities, and
    M may be singular as long as [M; Θ] has full column rank; then the matrix has too. Θ = C V with orthonormal rows V
    from a repeated Gram–Schmidt process, so that I − Θ⁺Θ = I − VᵀV; in the matrix V a = C⁻¹β replaces Θ a = β, which is
    equivalent for consistent rows. Its pseudo-inverse is computed by reflections of its columns, not by its normal
    equations: no condition number is squared.

    Where rows contradict each other, earlier ones hold, and the others are reported. λ has least norm in the units of
    the rows, as with :class:`LeastNormMultipliers`.

    Attributes:
        tolerance: a row is skipped if its squared remainder outside earlier rows, relative to the longest row of its
            constraint, is not above this. If the remainder is more than rounding, the row must still be satisfied, or
            the status is not OK.
    """

    supports_dependent_rows = True

    def __init__(self, tolerance: float = NEAREST) -> None:
        """Fix the tolerance.

        Args:
            tolerance: relative squared remainder up to which a row is skipped.

        Raises:
            ModelError: if it is not positive.
        """
        self.tolerance = positive("tolerance", tolerance)

    @property
    def supports(self) -> frozenset[Capability]:
        """All capabilities except inputs."""
        return (REGULAR - {Capability.ACTUATED}) | DEPENDENCE | {Capability.PROGRAMMED_INERTIA}

    def motion(self, program: Program, theta: ca.SX, beta: ca.SX) -> DirectMotion:
        """Return the motion by Gram–Schmidt along the rows and reflections along the columns."""
        robot, n = program.robot, program.robot.coordinates.nv
        A, b = robot.natural_form
        k, count = A.size1(), A.size1() + theta.size1()
        S = ca.SX(velocity_units(program))
        rows = ca.vertcat(A, theta) @ ca.diag(S)
        M, force = ca.diag(S) @ robot.mass_matrix @ ca.diag(S), -S * robot.bias
        scale = _scales(program, rows)
        # Natural rows that are redundant by design are dependent only as far as q satisfies them.
        spare = self.tolerance if robot.redundant == "refused" else max(PIVOT_TOLERANCE, self.tolerance)
        V = GramSchmidtRows.of_rows(rows, scale, [spare] * k + [self.tolerance] * theta.size1())

        def free(x: ca.SX) -> ca.SX:
            return x - V.basis.T @ (V.basis @ x)

        whole = ca.vertcat(free(M), V.basis)  # (n + k + m, n)
        desired = ca.vertcat(free(force), V.along(ca.vertcat(b, beta)))
        columns = HouseholderRows.of_rows(whole.T)
        a = columns.weights(columns.turned(desired)[:n, :])
        lengths = ca.sum1(whole**2).T
        for j in range(n):
            # A velocity has neither inertia nor constraint: the result must be NaN.
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
    """Return the square of the longest row of each row's constraint, natural ones first, shape (k + m,)."""
    lengths = ca.sum2(rows**2)
    ends = list(itertools.accumulate(program.robot.natural_sizes, initial=0))
    blocks = [range(first, last) for first, last in itertools.pairwise(ends) for _ in range(first, last)]
    blocks += [range(ends[-1] + block.start, ends[-1] + block.stop) for block in program.blocks]
    scales: list[ca.SX] = []
    for block in blocks:
        longest = lengths[block[0]]
        for j in block[1:]:
            longest = ca.fmax(longest, lengths[j])
        scales.append(longest)
    return ca.vertcat(ca.SX(0, 1), *scales)
