"""Factorizations of matrices of expressions, unrolled into scalar operations: LDLᵀ, LU and Givens rotations."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from .errors import ModelError


@dataclass(frozen=True, eq=False)
class Lu:
    """A = L U with unit lower triangular L and no exchange of rows: factor once, solve many.

    An expression cannot choose its pivots. It need not if the absolute elements of each row of A − E sum to less
    than one half: A is then diagonally dominant, no pivot falls below one half, and no element grows beyond twice the
    largest.

    Attributes:
        factors: L below the diagonal and U on and above it, shape (n, n).
    """

    factors: ca.SX

    @classmethod
    def of(cls, matrix: ca.SX) -> Lu:
        """Factorize ``matrix``, shape (n, n).

        Raises:
            ModelError: if it is not square.
        """
        n = matrix.size1()
        if matrix.size2() != n:
            raise ModelError(f"the matrix must be square, got shape {matrix.shape}")
        rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
        for k in range(n):
            for i in range(k + 1, n):
                rows[i][k] = rows[i][k] / rows[k][k]
                for j in range(k + 1, n):
                    rows[i][j] = rows[i][j] - rows[i][k] * rows[k][j]
        return cls(ca.vertcat(ca.SX(0, n), *(ca.horzcat(*row) for row in rows)))

    def solve(self, right: ca.SX) -> ca.SX:
        """Solve A x = right, for a right side of shape (n, k)."""
        n = self.factors.size1()
        rows = [right[i, :] for i in range(n)]
        for i in range(n):
            for k in range(i):
                rows[i] = rows[i] - self.factors[i, k] * rows[k]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                rows[i] = rows[i] - self.factors[i, k] * rows[k]
            rows[i] = rows[i] / self.factors[i, i]
        return ca.vertcat(ca.SX(0, right.size2()), *rows)


LDL_ROUNDING = 1e-15
"""Error of a pivot by rounding, as a share of A_jj, before small pivots amplify it."""


@dataclass(frozen=True, eq=False)
class Ldl:
    """A = L D Lᵀ with unit lower triangular L: factor once, solve many.

    Attributes:
        lower: L, shape (n, n).
        diagonal: the pivots D, shape (n,).
        relative_pivots: D_i / A_ii, shape (n,), each in [0, 1]. When A = Θ M⁻¹ Θᵀ it is the squared sine of the angle
            (in the metric M⁻¹) between row i of Θ and the span of the rows before it: zero where row i depends on them.
            Zero as well where A_ii is zero: there row i itself vanishes.
    """

    lower: ca.SX
    diagonal: ca.SX
    relative_pivots: ca.SX

    @classmethod
    def of(cls, matrix: ca.SX) -> Ldl:
        """Factorize ``matrix``, shape (n, n); only its lower triangle is read."""
        n = matrix.size1()
        if matrix.size2() != n:
            raise ModelError(f"the matrix must be square, got shape {matrix.shape}")
        lower = ca.SX.eye(n)
        pivots: list[ca.SX] = []
        products = ca.SX.zeros(n, n)  # L D, below the diagonal
        for j in range(n):
            pivot = matrix[j, j]
            for k in range(j):
                pivot = pivot - lower[j, k] * products[j, k]
            pivots.append(pivot)
            for i in range(j + 1, n):
                entry = matrix[i, j]
                for k in range(j):
                    entry = entry - lower[i, k] * products[j, k]
                products[i, j] = entry
                lower[i, j] = entry / pivot
        empty = ca.SX(0, 1)
        relative = [ca.if_else(matrix[i, i] > 0, pivots[i] / matrix[i, i], 0) for i in range(n)]
        return cls(lower, ca.vertcat(empty, *pivots), ca.vertcat(empty, *relative))

    def certain_pivots(self, matrix: ca.SX) -> ca.SX:
        """D with zero for each pivot that may be only rounding, shape (n,).

        A small pivot D_k passes its rounding on to later ones, L_jk² times.

        Args:
            matrix: A, shape (n, n).
        """
        pivots: list[ca.SX] = []
        noise: list[ca.SX] = []
        for j in range(self.diagonal.numel()):
            pivot = self.diagonal[j]
            # Below the first pivot nothing is larger than in the matrix.
            passed = [self.lower[j, k] ** 2 * noise[k] for k in range(1, j)]
            noise.append(LDL_ROUNDING * matrix[j, j] + sum(passed, ca.SX(0)))
            if passed:
                pivot = ca.if_else(pivot > noise[j], pivot, ca.if_else(pivot <= noise[j], 0, float("nan")))
            pivots.append(pivot)
        return ca.vertcat(ca.SX(0, 1), *pivots)

    def solve(self, right: ca.SX) -> ca.SX:
        """Solve A x = right, for a right side of shape (n, k)."""
        return self.backward(self.weighted(self.forward(right)))

    def forward(self, right: ca.SX) -> ca.SX:
        """y = L⁻¹ right: the first half of a solution, and enough for products, right₁ᵀ A⁻¹ right₂ = y₁ᵀ D⁻¹ y₂.

        Args:
            right: shape (n, k).
        """
        rows = [right[i, :] for i in range(right.size1())]
        for i in range(len(rows)):
            for k in range(i):
                rows[i] = rows[i] - self.lower[i, k] * rows[k]
        return ca.vertcat(ca.SX(0, right.size2()), *rows)

    def weighted(self, half: ca.SX) -> ca.SX:
        """D⁻¹ y.

        Args:
            half: y, shape (n, k).
        """
        rows = [half[i, :] / self.diagonal[i] for i in range(half.size1())]
        return ca.vertcat(ca.SX(0, half.size2()), *rows)

    def rooted(self, half: ca.SX) -> ca.SX:
        """D^(−½) y: a vector whose length is that of the right side in the metric A⁻¹, without squaring.

        Args:
            half: y, shape (n, k).
        """
        rows = [half[i, :] / ca.sqrt(self.diagonal[i]) for i in range(half.size1())]
        return ca.vertcat(ca.SX(0, half.size2()), *rows)

    def backward(self, half: ca.SX) -> ca.SX:
        """x = L⁻ᵀ y.

        Args:
            half: y, shape (n, k).
        """
        n = half.size1()
        rows = [half[i, :] for i in range(n)]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                rows[i] = rows[i] - self.lower[k, i] * rows[k]
        return ca.vertcat(ca.SX(0, half.size2()), *rows)


@dataclass(frozen=True)
class GivensPlan:
    """Order in which rows of Aᵀ are rotated against each other; it follows from the pattern of A alone.

    Rows of A are taken in an order that keeps the fill small, so that the operations grow linearly with the size of a
    matrix of limited bandwidth.

    Attributes:
        steps: for each row of A in turn its index, the pairs of columns (kept, cleared) that are rotated, and the
            column of its pivot.
        free: columns without a pivot.
        operations: approximate number of scalar operations of the factorization and one solution.
    """

    steps: tuple[tuple[int, tuple[tuple[int, int], ...], int], ...]
    free: tuple[int, ...]
    operations: int

    @classmethod
    def of(cls, rows: list[list[int]], columns: int) -> GivensPlan:
        """Build the plan for a pattern.

        Args:
            rows: columns of the nonzero elements of each row of A.
            columns: number of columns, at least the number of rows.

        Raises:
            ModelError: if the rows are dependent by their pattern.
        """
        met = [set(row) for row in rows]
        pattern: list[set[int]] = [{i for i, row in enumerate(met) if j in row} for j in range(columns)]
        remaining, free = set(range(len(rows))), set(range(columns))
        steps: list[tuple[int, tuple[tuple[int, int], ...], int]] = []
        operations = 0

        def fill(number: int) -> tuple[int, int]:
            return len(met[number]) * max((len(pattern[j]) for j in met[number]), default=0), number

        while remaining:
            row = min(remaining, key=fill)
            if not met[row]:
                raise ModelError(f"row {row} depends on the others by the pattern of the matrix")
            pivot, *others = sorted(met[row], key=lambda j: (len(pattern[j]), j))
            pairs: list[tuple[int, int]] = []
            for other in others:
                union = pattern[pivot] | pattern[other]
                # The lighter of both gives up the row's element; the other collects it and is the pivot in the end.
                pairs.append((other, pivot))
                operations += 6 + 12 * len(union)
                for i in union:
                    met[i] |= {pivot, other}
                met[row].discard(pivot)
                pattern[pivot], pattern[other] = union - {row}, union
                pivot = other
            operations += 2 * len(pattern[pivot])
            for i in pattern[pivot]:
                met[i].discard(pivot)
            remaining.discard(row)
            free.discard(pivot)
            steps.append((row, tuple(pairs), pivot))
        return cls(tuple(steps), tuple(sorted(free)), operations)


@dataclass(frozen=True, eq=False)
class GivensQr:
    """Aᵀ = Q [R; 0] for A of shape (m, n), m ≤ n, with R upper triangular in the plan's order: factor once, solve many.

    Nothing is chosen by size and nothing grows, so that one straight line of operations serves every A of a pattern. A
    pivot |R_jj| is the part of a row outside the span of the rows before it; it vanishes where A loses rank.

    Attributes:
        plan: order of the operations.
        columns: n.
        turns: (kept, cleared, cosine, sine) of each rotation.
        upper: R: for each row in the plan's order the elements by row of A.
    """

    plan: GivensPlan
    columns: int
    turns: tuple[tuple[int, int, ca.SX, ca.SX], ...]
    upper: tuple[dict[int, ca.SX], ...]

    @classmethod
    def of(cls, matrix: ca.SX) -> GivensQr:
        """Factorize ``matrix``, shape (m, n), of full rank; elements that are zero by structure cost nothing.

        Raises:
            ModelError: if it has more rows than columns, or its rows are dependent by their pattern.
        """
        plan, sparse = cls.plan_of(matrix), ca.sparsify(matrix)
        values: list[dict[int, ca.SX]] = [{} for _ in range(matrix.size2())]
        for i, j, value in zip(*sparse.sparsity().get_triplet(), sparse.nonzeros(), strict=True):
            values[j][i] = value
        turns: list[tuple[int, int, ca.SX, ca.SX]] = []
        upper: list[dict[int, ca.SX]] = []
        for row, pairs, pivot in plan.steps:
            for kept, cleared in pairs:
                a, b = values[kept][row], values[cleared][row]
                square = a * a + b * b
                nothing = square == 0
                length = ca.sqrt(square) + nothing
                c, s = (a + nothing) / length, b / length
                turns.append((kept, cleared, c, s))
                values[kept], values[cleared] = _rotate_rows(values[kept], values[cleared], c, s)
                # Zero except for rounding.
                del values[cleared][row]
            upper.append(values[pivot])
        return cls(plan, matrix.size2(), tuple(turns), tuple(upper))

    @staticmethod
    def plan_of(matrix: ca.SX) -> GivensPlan:
        """Plan of the factorization of ``matrix``, shape (m, n).

        Raises:
            ModelError: if it has more rows than columns, or its rows are dependent by their pattern.
        """
        m, n = matrix.shape
        if m > n:
            raise ModelError(f"the matrix must not have more rows than columns, got shape {matrix.shape}")
        pattern: list[list[int]] = [[] for _ in range(m)]
        for i, j in zip(*ca.sparsify(matrix).sparsity().get_triplet(), strict=True):
            pattern[i].append(j)
        return GivensPlan.of(pattern, n)

    @property
    def pivots(self) -> ca.SX:
        """|R_jj| in the order of the rows of A, shape (m,)."""
        found = {row: upper[row] for (row, _, _), upper in zip(self.plan.steps, self.upper, strict=True)}
        return ca.fabs(ca.vertcat(ca.SX(0, 1), *(found[row] for row in sorted(found))))

    def null_space(self) -> ca.SX:
        """Orthonormal Z with A Z = 0, shape (n, n − m)."""
        basis: list[dict[int, ca.SX]] = [{} for _ in range(self.columns)]
        for k, j in enumerate(self.plan.free):
            basis[j] = {k: ca.SX(1)}
        return self._back(basis, len(self.plan.free))

    def solve(self, right: ca.SX) -> ca.SX:
        """Solve for the least-norm x with A x = right, for a right side of shape (m, k)."""
        k = right.size2()
        found: list[dict[int, ca.SX]] = [{} for _ in range(self.columns)]
        rows = [{i: right[j, i] for i in range(k)} for j in range(right.size1())]
        for (row, _, pivot), upper in zip(self.plan.steps, self.upper, strict=True):
            found[pivot] = {i: value / upper[row] for i, value in rows[row].items()}
            for other, factor in upper.items():
                if other != row:
                    for i, value in found[pivot].items():
                        rows[other][i] = rows[other][i] - factor * value
        return self._back(found, k)

    def _back(self, rows: list[dict[int, ca.SX]], k: int) -> ca.SX:
        """Q times a matrix that is given by its rows, shape (n, k)."""
        for kept, cleared, c, s in reversed(self.turns):
            rows[kept], rows[cleared] = _rotate_rows(rows[kept], rows[cleared], c, -s)
        result = ca.SX(len(rows), k)
        for j, row in enumerate(rows):
            for i, value in row.items():
                result[j, i] = value
        return result


def _rotate_rows(
    first: dict[int, ca.SX], second: dict[int, ca.SX], c: ca.SX, s: ca.SX
) -> tuple[dict[int, ca.SX], dict[int, ca.SX]]:
    """Rows c a + s b and c b − s a."""
    one, other = dict[int, ca.SX](), dict[int, ca.SX]()
    for i in sorted(first.keys() | second.keys()):
        if i not in second:
            one[i], other[i] = c * first[i], -s * first[i]
        elif i not in first:
            one[i], other[i] = s * second[i], c * second[i]
        else:
            one[i], other[i] = c * first[i] + s * second[i], c * second[i] - s * first[i]
    return one, other


PIVOT_TOLERANCE = 1e-10
"""Share of its scale below which a pivot counts as zero: the square of an angle of 1e-5."""

SEMIDEFINITE_ROUNDING = 2e-14
"""Hundred units of rounding: error of a pivot, as a share of its scale, before small pivots amplify it."""


@dataclass(frozen=True, eq=False)
class SemidefiniteLdl:
    """A = L D Lᵀ of rank r with n − r zero columns in L, and from it the least-norm solution of A x = b.

    A row that depends on the rows before it has a zero pivot; its column and its own equation are left out, so that
    A = L D Lᵀ still holds. The solution with zeros for those rows, projected onto the range of L, is A⁺b for every b in
    the range of A: x = L (LᵀL)⁻¹ Lᵀ x₀. For other b, the independent rows hold exactly, and the residual of those
    that were left out is the contradiction.

    All operations are straight-line: no row is exchanged, and no loop depends on numbers.

    Attributes:
        lower: L, shape (n, n), with ones on the diagonal of the columns of independent rows.
        pivots: pivots before any was left out, shape (n,).
        independent: 1 if a row is independent of those before it, 0 if it is left out, shape (n,).
    """

    lower: ca.SX
    pivots: ca.SX
    independent: ca.SX

    @classmethod
    def of(cls, matrix: ca.SX, scale: ca.SX | None = None, *, tolerance: float = PIVOT_TOLERANCE) -> SemidefiniteLdl:
        """Factorize.

        Args:
            matrix: A, shape (n, n), positive semidefinite; only its lower triangle is read.
            scale: scale of each pivot, shape (n,); the diagonal of A if not given.
            tolerance: a pivot of at most this share of its scale is left out, as is one that small pivots before it may
                have made of rounding.

        Raises:
            ModelError: if the matrix is not square, or the scale has another length.
        """
        n = matrix.size1()
        if matrix.size2() != n:
            raise ModelError(f"the matrix must be square, got shape {matrix.shape}")
        if scale is not None and scale.shape != (n, 1):
            raise ModelError(f"scale must have shape ({n},), one entry for each pivot, got shape {scale.shape}")
        lower = ca.SX.zeros(n, n)
        pivots: list[ca.SX] = []
        independent: list[ca.SX] = []
        noise: list[ca.SX] = []
        for j in range(n):
            pivot = matrix[j, j]
            for k in range(j):
                pivot = pivot - lower[j, k] ** 2 * pivots[k]
            size = matrix[j, j] if scale is None else scale[j]
            # A small pivot that is kept passes its rounding on to later ones, L_jk² times.
            noise.append(SEMIDEFINITE_ROUNDING * size + sum((lower[j, k] ** 2 * noise[k] for k in range(j)), ca.SX(0)))
            least = ca.fmax(tolerance * size, noise[j])
            # NaN satisfies neither comparison: it stays NaN, and is not taken for a zero pivot.
            is_independent = ca.if_else(pivot > least, 1, ca.if_else(pivot <= least, 0, float("nan")))
            divisor = ca.if_else(pivot > least, pivot, 1)
            pivots.append(pivot)
            independent.append(is_independent)
            lower[j, j] = is_independent
            for i in range(j + 1, n):
                entry = matrix[i, j]
                for k in range(j):
                    entry = entry - lower[i, k] * lower[j, k] * pivots[k]
                lower[i, j] = is_independent * (entry / divisor)
        return cls(lower, ca.vertcat(ca.SX(0, 1), *pivots), ca.vertcat(ca.SX(0, 1), *independent))

    def solve(self, right: ca.SX) -> ca.SX:
        """Solve for the least-norm x with A x = b.

        Args:
            right: b, shape (n, k).
        """
        if self.pivots.numel() == 0:
            return right
        L = self.lower
        x = L @ Ldl.of(L.T @ L + ca.diag(1 - self.independent)).solve(L.T @ self.basic(right))
        # LᵀL squares the ratio of the rows' units, so that the residual is solved for once more.
        return x + self.basic(right - L @ (ca.diag(self.independent * self.pivots) @ (L.T @ x)))

    def basic(self, right: ca.SX) -> ca.SX:
        """Solve for the x with A x = b that is zero in the rows that were left out.

        Args:
            right: b, shape (n, k).
        """
        n = self.pivots.numel()
        rows = [right[i, :] for i in range(n)]
        for i in range(n):
            for k in range(i):
                rows[i] = rows[i] - self.lower[i, k] * rows[k]
            # Below a column of zeros nothing is subtracted, but the row's own number must not be passed on either.
            rows[i] = self.independent[i] * rows[i]
        rows = [rows[i] / ca.if_else(self.independent[i] == 0, 1, self.pivots[i]) for i in range(n)]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                rows[i] = rows[i] - self.lower[k, i] * rows[k]
            rows[i] = self.independent[i] * rows[i]
        return ca.vertcat(ca.SX(0, right.size2()), *rows)
