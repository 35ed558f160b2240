"""Operations of the recurrence, counted number by number."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import null_space
from erugin.constraints.null_space import recurrent_operations

Array = NDArray[np.float64]


class Counted:
    """A number that counts the multiplications and divisions it takes part in."""

    count = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def __mul__(self, other: Counted) -> Counted:
        Counted.count += 1
        return Counted(self.value * other.value)

    def __truediv__(self, other: Counted) -> Counted:
        Counted.count += 1
        return Counted(self.value / other.value)

    def __add__(self, other: Counted) -> Counted:
        return Counted(self.value + other.value)

    def __sub__(self, other: Counted) -> Counted:
        return Counted(self.value - other.value)


def dot(x: list[Counted], y: list[Counted]) -> Counted:
    return sum((a * b for a, b in zip(x[1:], y[1:], strict=True)), start=x[0] * y[0])


def by_scalars(theta: Array) -> Array:
    """The recurrence for independent rows, written out number by number."""
    m, n = theta.shape
    rest = [[Counted(float(x)) for x in row] for row in theta]
    for i, row in enumerate(rest):
        length = Counted(float(np.sqrt(dot(row, row).value)))
        rest[i] = [x / length for x in row]
    factors: list[tuple[list[Counted], list[Counted]]] = []
    for i in range(m):
        row = rest[i]
        length = Counted(float(np.copysign(np.sqrt(dot(row, row).value), row[0].value)))
        g = [x / length for x in row]
        g[0] = g[0] + Counted(1.0)
        scaled = [x / g[0] for x in g]
        for j in range(i + 1, m):
            along = dot(rest[j], g)
            rest[j] = [x - along * y for x, y in zip(rest[j], scaled, strict=True)][1:]
        factors.append((g, scaled))
    columns = [[Counted(float(i == j)) for i in range(n)] for j in range(m, n)]
    for i in reversed(range(m)):
        g, _ = factors[i]
        scaled = [x / g[0] for x in g]
        for column in columns:
            along = dot(g, column[i:])
            column[i:] = [x - along * y for x, y in zip(column[i:], scaled, strict=True)]
    return np.array([[x.value for x in column] for column in columns]).T


@pytest.mark.parametrize(("m", "n"), [(1, 2), (1, 7), (3, 7), (6, 7)])
def test_operations_are_counted_as_they_are_made(m: int, n: int) -> None:
    theta = np.random.default_rng(8).normal(size=(m, n))
    Counted.count = 0
    V2 = by_scalars(theta)
    np.testing.assert_allclose(V2, null_space(theta, "recurrent"), atol=1e-14)
    assert recurrent_operations(m, n, m) == Counted.count
