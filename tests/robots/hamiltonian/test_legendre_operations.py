"""Operation counts of Legendre solvers, and which solver wins as a chain grows."""

from __future__ import annotations

import functools

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
    LegendreRow,
    MinimalResiduals,
    OperationCount,
    PlanarChain,
    StructuredElimination,
    compare_legendre,
    fewest_multiplications,
)
from erugin.symbolic import ModelError

ROD = Link(0.5, 1.0, 0.25, 1 / 48)
CHAIN_LENGTHS = (1, 2, 3, 4, 6, 12, 24)
EPSILON = 1e-3


@functools.cache
def rows() -> tuple[LegendreRow, ...]:
    return compare_legendre(
        CHAIN_LENGTHS, link=ROD, step=1e-3, steps=15, tolerance=EPSILON, angle=np.pi / 2, limit=4000
    )


def of(solver: str) -> dict[int, LegendreRow]:
    return {row.n: row for row in rows() if row.solver == solver}


@pytest.mark.slow
def test_every_solver_has_a_row_for_every_length() -> None:
    solvers = {row.solver for row in rows()}
    assert solvers == {
        "Cholesky",
        "Factored",
        "ConjugateDirections",
        "MinimalResiduals, residual",
        "MinimalResiduals, step",
    }
    assert len(rows()) == 5 * len(CHAIN_LENGTHS)
    assert all(row.converged == 1.0 and row.seconds > 0.0 for row in rows())


@pytest.mark.slow
def test_the_residual_condition_keeps_the_error_within_the_tolerance() -> None:
    for solver in ("ConjugateDirections", "MinimalResiduals, residual"):
        assert all(row.accurate for row in of(solver).values())
    for solver in ("Cholesky", "Factored"):
        assert all(row.error < 1e-12 for row in of(solver).values())


def test_the_condition_number_grows_with_the_square_of_the_length() -> None:
    condition = {n: row.condition for n, row in of("Cholesky").items()}
    assert condition[24] / condition[12] == pytest.approx(4.0, rel=0.1)
    assert condition[24] / 24**2 == pytest.approx(4.9, rel=0.05)


def test_minimal_residuals_need_as_many_steps_as_the_condition_number_grows() -> None:
    """So that they lose to conjugate directions at every length above two, by a factor that grows with n."""
    residuals, directions = of("MinimalResiduals, residual"), of("ConjugateDirections")
    assert residuals[24].iterations / residuals[12].iterations > 3.5
    assert directions[24].iterations / directions[12].iterations < 2.1
    ratios = [residuals[n].multiplications / directions[n].multiplications for n in CHAIN_LENGTHS[2:]]
    assert ratios[0] > 1.0
    assert ratios == sorted(ratios)
    assert ratios[-1] > 20.0


def test_the_claim_holds_only_where_the_last_step_is_taken_for_the_error() -> None:
    """By ‖ξ_{m+1} − ξ_m‖ ≤ ε minimal residuals take fewer multiplications on long chains, and miss by far."""
    by_step, directions = of("MinimalResiduals, step"), of("ConjugateDirections")
    ratios = [by_step[n].multiplications / directions[n].multiplications for n in (6, 12, 24)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] < 1.0
    assert by_step[24].error > 50 * EPSILON


def test_a_direct_method_wins_everywhere() -> None:
    winners = fewest_multiplications(rows())
    assert winners == {n: "Cholesky" if n < 6 else "Factored" for n in CHAIN_LENGTHS}


def test_elimination_along_the_chain_is_linear_in_its_length() -> None:
    taken = {n: row.multiplications for n, row in of("Factored").items()}
    assert all(taken[n] == 25 * n for n in CHAIN_LENGTHS)
    whole = {n: row.multiplications for n, row in of("Cholesky").items()}
    assert whole[24] / whole[12] > 5.0


def test_the_printed_formulas_are_given_beside_the_counts() -> None:
    directions, residuals = of("ConjugateDirections")[12], of("MinimalResiduals, residual")[12]
    assert directions.printed == 6 * 12**2 + 13 * 12
    assert residuals.printed == 12 * 12 + 16 * 12 * residuals.iterations
    assert residuals.printed is not None
    # 16 n N is an upper bound of what is counted; 6 n² is less than what conjugate directions take in n steps.
    assert 0.8 * residuals.printed < residuals.multiplications < residuals.printed
    assert directions.multiplications / directions.iterations > 14 * 12
    assert of("Cholesky")[12].printed is None


def test_extrapolation_spares_iterations_but_does_not_change_the_winner() -> None:
    line = compare_legendre([12], link=ROD, step=1e-3, steps=30, tolerance=1e-3, angle=np.pi / 2, start="extrapolated")
    last = of("MinimalResiduals, residual")[12]
    row = next(row for row in line if row.solver == last.solver)
    assert row.accurate
    assert row.iterations < 0.5 * last.iterations
    assert fewest_multiplications(line) == {12: "Factored"}


def test_bad_input_is_named() -> None:
    kwargs = {"link": ROD, "step": 1e-3, "steps": 2, "tolerance": 1e-3, "angle": 0.1}
    for change, message in (
        ({"steps": 0}, "at least one step, got 0"),
        ({"tolerance": 0.0}, "tolerance must be greater than zero"),
        ({"step": -1.0}, "step must be greater than zero"),
        ({"start": "cold"}, "start must be one of 'last', 'extrapolated', got 'cold'"),
        ({"angle": np.nan}, "angle must be finite"),
        ({"link": Link.point_mass(1.0, 1.0)}, "inertia of the link must be greater than zero"),
    ):
        with pytest.raises(ModelError, match=message):
            compare_legendre([2], **{**kwargs, **change})  # type: ignore[arg-type]


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
