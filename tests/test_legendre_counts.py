"""The operations that solvers report, against numbers that count themselves."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Link
from erugin.robots.hamiltonian import (
    ChainForm,
    Cholesky,
    ConjugateDirections,
    DenseForm,
    MinimalResiduals,
    OperationCount,
    PlanarChain,
    StructuredElimination,
)

Array = NDArray[np.float64]


class Counted:
    """A number that counts what is done with it."""

    multiplications = 0
    additions = 0

    def __init__(self, value: float) -> None:
        self.value = value

    @classmethod
    def reset(cls) -> None:
        cls.multiplications = cls.additions = 0

    @classmethod
    def vector(cls, values: Array) -> NDArray[np.object_]:
        return np.array([cls(float(x)) for x in values], dtype=object)

    def __float__(self) -> float:
        return self.value

    def __mul__(self, other: Counted | float) -> Counted:
        Counted.multiplications += 1
        return Counted(self.value * float(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Counted | float) -> Counted:
        Counted.multiplications += 1
        return Counted(self.value / float(other))

    def __add__(self, other: Counted | float) -> Counted:
        # Adding to the zero that a sum begins with is no operation.
        Counted.additions += bool(float(other) != 0.0 or isinstance(other, Counted))
        return Counted(self.value + float(other))

    __radd__ = __add__

    def __sub__(self, other: Counted | float) -> Counted:
        Counted.additions += 1
        return Counted(self.value - float(other))

    def __neg__(self) -> Counted:
        return Counted(-self.value)

    def __gt__(self, other: Counted | float) -> bool:
        return self.value > float(other)

    def root(self) -> Counted:
        Counted.multiplications += 1
        return Counted(self.value**0.5)


Numbers = list[Counted]


def dot(x: Numbers, y: Numbers) -> Counted:
    total = x[0] * y[0]
    for a, b in zip(x[1:], y[1:], strict=True):
        total = total + a * b
    return total


def times(A: list[Numbers], x: Numbers) -> Numbers:
    return [dot(row, x) for row in A]


def moved(x: Numbers, factor: Counted, y: Numbers) -> Numbers:
    return [a + factor * b for a, b in zip(x, y, strict=True)]


def minimal_residuals(A: list[Numbers], b: Numbers, z: Numbers, target: Counted) -> tuple[Numbers, int]:
    """[DunskayaPyatnitsky1996]_ eq. (3.3), with (3.4), as a scalar program; the residual by its recurrence."""
    y = [p - q for p, q in zip(times(A, z), b, strict=True)]
    goal, square, count = target * target, dot(y, y), 0
    while square > goal:
        Ay = times(A, y)
        gamma = dot(Ay, y) / dot(Ay, Ay)
        z, y = moved(z, -gamma, y), moved(y, -gamma, Ay)
        square, count = dot(y, y), count + 1
    return z, count


def conjugate_directions(A: list[Numbers], b: Numbers, z: Numbers, target: Counted) -> tuple[Numbers, int]:
    """Hestenes and Stiefel, as a scalar program."""
    y = [p - q for p, q in zip(times(A, z), b, strict=True)]
    d = [-x for x in y]
    goal, square, count = target * target, dot(y, y), 0
    while square > goal:
        Ad = times(A, d)
        alpha = square / dot(d, Ad)
        z, y = moved(z, alpha, d), moved(y, alpha, Ad)
        before, square = square, dot(y, y)
        d = moved([-x for x in y], square / before, d)
        count += 1
    return z, count


def cholesky(A: list[Numbers], b: Numbers) -> Numbers:
    """A = L Lᵀ by rows, and two triangular systems, as a scalar program."""
    n = len(b)
    L: list[Numbers] = []
    for i in range(n):
        row: Numbers = []
        for j in range(i + 1):
            rest = A[i][j]
            for k in range(j):
                rest = rest - row[k] * (L[j][k] if j < i else row[k])
            row.append(rest / L[j][j] if j < i else rest.root())
        L.append(row)
    x = list(b)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[i][k] * x[k]
        x[i] = x[i] / L[i][i]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k][i] * x[k]
        x[i] = x[i] / L[i][i]
    return x


def counted() -> tuple[int, int]:
    return Counted.multiplications, Counted.additions


def problem(n: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = Q @ np.diag(rng.uniform(1.0, 6.0, n)) @ Q.T
    return (A + A.T) / 2, rng.normal(size=n), rng.normal(size=n)


SIZES = pytest.mark.parametrize("n", [1, 2, 3, 6])


@SIZES
def test_cholesky_counts(n: int) -> None:
    A, b, _ = problem(n)
    Counted.reset()
    z = cholesky([list(Counted.vector(row)) for row in A], list(Counted.vector(b)))
    solution = Cholesky().solve(DenseForm(A), b)
    np.testing.assert_allclose([float(x) for x in z], solution.z, rtol=1e-12)
    assert (solution.operations.multiplications, solution.operations.additions) == counted()


@SIZES
def test_counts_of_the_iterative_methods(n: int) -> None:
    A, b, start = problem(n)
    rows, target = [list(Counted.vector(row)) for row in A], 1e-7
    vectors = list(Counted.vector(b)), list(Counted.vector(start))
    Counted.reset()
    z, iterations = minimal_residuals(rows, *vectors, Counted(1e-7))
    solution = MinimalResiduals(target, 1.0).solve(DenseForm(A), b, start)
    np.testing.assert_allclose([float(x) for x in z], solution.z, rtol=1e-9)
    assert solution.iterations == iterations > 0
    # One division more, for ε/γ̄.
    assert (solution.operations.multiplications - 1, solution.operations.additions) == counted()

    Counted.reset()
    z, iterations = conjugate_directions(rows, *vectors, Counted(1e-7))
    relative = target / float(np.linalg.norm(b))
    solution = ConjugateDirections(relative).solve(DenseForm(A), b, start)
    np.testing.assert_allclose([float(x) for x in z], solution.z, rtol=1e-6)
    assert solution.iterations == iterations > 0
    # The norm of b and its share.
    own = solution.operations.multiplications - (n + 2), solution.operations.additions - (n - 1)
    assert own == counted()


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_product_and_the_elimination_of_a_chain(n: int) -> None:
    """The code itself, run on counting numbers: 9 n and 21 n multiplications beside what depends on q alone."""
    rng = np.random.default_rng(n)
    links = [
        Link(rng.uniform(0.2, 1), rng.uniform(0.5, 2), rng.uniform(0.1, 0.9), rng.uniform(0.01, 0.1)) for _ in range(n)
    ]
    plain = PlanarChain(links, 9.81).form(rng.uniform(-3, 3, n))
    chain = PlanarChain(links, 9.81)
    form = ChainForm(chain, plain.directions)
    object.__setattr__(chain, "inertias", Counted.vector(chain.inertias))
    for name, factor in (("_lengths", chain.lengths), ("_moments", chain.moments)):
        object.__setattr__(form, name, np.array([Counted.vector(row) for row in factor * plain.directions]))
    z = rng.uniform(-1, 1, n)
    Counted.reset()
    np.testing.assert_allclose(form.product(Counted.vector(z)), plain.product(z), rtol=1e-13)  # type: ignore[arg-type]
    cost = plain.product_cost
    assert (cost.multiplications, cost.additions) == counted()
    assert cost.multiplications == 9 * n

    Counted.reset()
    np.testing.assert_allclose(form.eliminate(Counted.vector(z)), plain.eliminate(z), rtol=1e-11)  # type: ignore[arg-type]
    # Seven running sums begin at a zero that these numbers do not count.
    assert counted() == (21 * n, 17 * n - 7)
    assert plain.eliminate_cost == plain.product_setup + OperationCount(21 * n, 17 * n)
    assert StructuredElimination().solve(plain, z).operations == plain.eliminate_cost


def test_minimal_residuals_take_14_n_multiplications_a_step_where_the_paper_has_16_n() -> None:
    n = 25
    form = PlanarChain([Link(0.5, 1.0, 0.25, 0.05)] * n, 9.81).form(np.linspace(0, 2, n))
    b = np.linspace(-1, 1, n)
    one, two = (MinimalResiduals(1e-9, 20.0, limit).attempt(form, b) for limit in (10, 11))
    step = two.operations.multiplications - one.operations.multiplications
    assert step == 14 * n + 1
    assert step < 16 * n


def test_expressions_are_counted_as_they_are_evaluated() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    e = ca.vertcat(x * y + ca.sin(x * y) / y, -(x**2) - ca.sqrt(y))
    # x y once, / y, x², √; +, −; sin.
    assert OperationCount.of_expression({"x": x, "y": y}, e) == OperationCount(4, 2, 1)
    assert 3 * OperationCount(1, 2, 3) + OperationCount(1, 1, 1) == OperationCount(4, 7, 10)
