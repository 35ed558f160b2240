"""Orthogonal factorization of a sparse matrix of expressions by plane rotations, unrolled into scalar operations."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from .errors import ModelError


@dataclass(frozen=True)
class RotationPlan:
    """Which rows of Aᵀ are rotated against each other, in which order; it follows from the pattern of A alone.

    Rows of A are taken in an order that keeps the fill small, so that the operations grow linearly with the size of a
    matrix of limited bandwidth.

    Attributes:
        steps: for each row of A in turn its number, the pairs of columns (kept, cleared) that are rotated, and the
            column that its pivot ends in.
        free: columns without a pivot.
        operations: about how many scalar operations the factorization and one solution take.
    """

    steps: tuple[tuple[int, tuple[tuple[int, int], ...], int], ...]
    free: tuple[int, ...]
    operations: int

    @classmethod
    def of(cls, rows: list[list[int]], columns: int) -> RotationPlan:
        """The plan for a pattern.

        Args:
            rows: columns of the nonzero elements of each row of A.
            columns: number of columns, no less than that of rows.

        Raises:
            ModelError: if the rows are dependent by their pattern.
        """
        met = [set(row) for row in rows]
        pattern: list[set[int]] = [{i for i, row in enumerate(met) if j in row} for j in range(columns)]
        left, free = set(range(len(rows))), set(range(columns))
        steps: list[tuple[int, tuple[tuple[int, int], ...], int]] = []
        operations = 0

        def fill(number: int) -> tuple[int, int]:
            return len(met[number]) * max((len(pattern[j]) for j in met[number]), default=0), number

        while left:
            row = min(left, key=fill)
            if not met[row]:
                raise ModelError(f"row {row} depends on the others by the pattern of the matrix")
            pivot, *others = sorted(met[row], key=lambda j: (len(pattern[j]), j))
            pairs: list[tuple[int, int]] = []
            for other in others:
                union = pattern[pivot] | pattern[other]
                # The lighter of both gives the row's element up; the other collects it, and is the pivot in the end.
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
            left.discard(row)
            free.discard(pivot)
            steps.append((row, tuple(pairs), pivot))
        return cls(tuple(steps), tuple(sorted(free)), operations)


@dataclass(frozen=True, eq=False)
class Rotations:
    """Aᵀ = Q [R; 0] for A of shape (m, n), m ≤ n, with R upper triangular in the plan's order: factor once, solve many.

    Nothing is chosen by size and nothing grows, so that one straight line of operations serves every A of a pattern. A
    pivot |R_jj| is what is left of a row outside the rows before it; it vanishes where A loses rank.

    Attributes:
        plan: order of the operations.
        columns: n.
        turns: (kept, cleared, cosine, sine) of each rotation.
        upper: R: for each row in the plan's order the elements by row of A.
    """

    plan: RotationPlan
    columns: int
    turns: tuple[tuple[int, int, ca.SX, ca.SX], ...]
    upper: tuple[dict[int, ca.SX], ...]

    @classmethod
    def of(cls, matrix: ca.SX) -> Rotations:
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
                values[kept], values[cleared] = _turned(values[kept], values[cleared], c, s)
                # Zero but for rounding.
                del values[cleared][row]
            upper.append(values[pivot])
        return cls(plan, matrix.size2(), tuple(turns), tuple(upper))

    @staticmethod
    def plan_of(matrix: ca.SX) -> RotationPlan:
        """How ``matrix``, shape (m, n), is factorized.

        Raises:
            ModelError: if it has more rows than columns, or its rows are dependent by their pattern.
        """
        m, n = matrix.shape
        if m > n:
            raise ModelError(f"a matrix with no more rows than columns can be factorized, got shape {matrix.shape}")
        pattern: list[list[int]] = [[] for _ in range(m)]
        for i, j in zip(*ca.sparsify(matrix).sparsity().get_triplet(), strict=True):
            pattern[i].append(j)
        return RotationPlan.of(pattern, n)

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
        """Least-norm x with A x = right, for a right side of shape (m, k)."""
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
            rows[kept], rows[cleared] = _turned(rows[kept], rows[cleared], c, -s)
        result = ca.SX(len(rows), k)
        for j, row in enumerate(rows):
            for i, value in row.items():
                result[j, i] = value
        return result


def _turned(
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
