"""Solvers of the Legendre transform against NumPy, and their errors."""

from __future__ import annotations

import functools
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.robots.hamiltonian import (
    Cholesky,
    ConjugateDirections,
    DenseForm,
    FactoredForm,
    LegendreSolver,
    LegendreTransform,
    MinimalResiduals,
    NotPositiveDefiniteError,
    OperationCount,
    PlanarChain,
    ProductForm,
    QuadraticForm,
    StructuredElimination,
    canonical_form,
)
from erugin.symbolic import EruginError, ModelError, NotConvergedError, ShapeError

Array = NDArray[np.float64]
LINKS = [Link(0.6, 1.4, 0.25, 0.05), Link(0.4, 0.9, 0.2, 0.03), Link(0.5, 0.7, -0.1, 0.04), Link(0.3, 0.5, 0.35, 0.06)]
PLACE = np.array([0.3, -0.8, 2.1, 1.0])
BOUND = 1.0 / 0.03
"""1/λ_min is at most the inverse of the least moment of inertia."""
DIRECT: list[LegendreSolver] = [Cholesky(), StructuredElimination()]
ITERATIVE: list[LegendreSolver] = [ConjugateDirections(1e-13), MinimalResiduals(1e-11, BOUND)]


@functools.cache
def robot() -> Robot:
    return planar_manipulator(LINKS, angles="absolute", zero="down")


def matrix() -> Array:
    return robot().evaluate(robot().mass_matrix, q=PLACE)


@functools.cache
def form(kind: str) -> QuadraticForm:
    """The same kinetic energy in five ways."""
    A, p = matrix(), robot().parameters.values()
    if kind == "dense":
        return DenseForm(A)
    if kind == "product":
        return ProductForm(4, lambda z: np.asarray(A @ z), OperationCount.of_matrix_product(4))
    if kind == "chain":
        return PlanarChain(LINKS, 9.81).form(PLACE)
    return LegendreTransform(canonical_form(robot()), matrix_free=kind == "matrix-free").form(0.0, PLACE, p)


KINDS = ("dense", "product", "chain", "robot", "matrix-free")


PAIRS = [
    (solver, kind)
    for solver in DIRECT + ITERATIVE
    for kind in KINDS
    if kind not in ("dense", "product") or not isinstance(solver, StructuredElimination)
]


@pytest.mark.parametrize(("solver", "kind"), PAIRS, ids=lambda x: x if isinstance(x, str) else type(x).__name__)
def test_every_solver_serves_every_form(solver: LegendreSolver, kind: str) -> None:
    kinetic = form(kind)
    assert isinstance(kinetic, FactoredForm) is (kind not in ("dense", "product"))
    rng = np.random.default_rng(6)
    for _ in range(5):
        b = rng.uniform(-5, 5, 4)
        truth = np.linalg.solve(matrix(), b)
        solution = solver.solve(kinetic, b)
        np.testing.assert_allclose(solution.z, truth, rtol=0.0, atol=1e-10 * np.abs(truth).max())
        assert solution.converged
        assert solution.residual == pytest.approx(float(np.linalg.norm(matrix() @ solution.z - b)), abs=1e-13)
        assert solution.operations.multiplications > 0
        assert (solution.iterations > 0) is (solver in ITERATIVE)


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_is_the_same_matrix(kind: str) -> None:
    kinetic = form(kind)
    np.testing.assert_allclose(kinetic.matrix(), matrix(), rtol=1e-13, atol=1e-14)
    z = np.array([0.3, -1.0, 2.0, 0.7])
    np.testing.assert_allclose(kinetic.product(z), matrix() @ z, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("solver", ITERATIVE, ids=lambda s: type(s).__name__)
def test_a_start_near_the_solution_saves_iterations(solver: LegendreSolver) -> None:
    kinetic, b = form("chain"), np.array([1.0, -2.0, 0.5, 0.2])
    cold = solver.solve(kinetic, b)
    near = solver.solve(kinetic, b, start=cold.z)
    assert near.iterations == 0
    np.testing.assert_array_equal(near.z, cold.z)
    if isinstance(solver, MinimalResiduals):
        assert solver.solve(kinetic, b, start=cold.z + 1e-9).iterations < cold.iterations / 2


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_conjugate_directions_need_at_most_n_steps_of_a_well_conditioned_form(n: int) -> None:
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    spread = DenseForm(Q @ np.diag(np.linspace(1.0, 4.0, n)) @ Q.T)
    assert ConjugateDirections(1e-12).solve(spread, rng.normal(size=n)).iterations <= n
    # As many steps as there are different eigenvalues.
    two = DenseForm(Q @ np.diag(np.where(np.arange(n) < n / 2, 1.0, 3.0)) @ Q.T)
    assert ConjugateDirections(1e-12).solve(two, rng.normal(size=n)).iterations <= 2


def test_minimal_residuals_take_the_step_that_makes_the_residual_least() -> None:
    """One step, by hand: γ = (A y, y)/(A y, A y), and no other length does better."""
    A, b = matrix(), np.array([1.0, -2.0, 0.5, 0.2])
    solution = MinimalResiduals(1e-12, None, limit=1).attempt(DenseForm(A), b)
    y = -b
    gamma = (A @ y) @ y / ((A @ y) @ (A @ y))
    np.testing.assert_allclose(solution.z, -gamma * y, rtol=1e-14)
    assert not solution.converged
    for other in np.linspace(0.5, 1.5, 11) * gamma:
        assert np.linalg.norm(A @ (-other * y) - b) >= solution.residual * (1 - 1e-12)


def test_the_residual_bounds_the_error_and_the_step_does_not() -> None:
    """(3.4) with γ̄ = 1/λ_min keeps ‖z − z*‖ ≤ ε; the condition on the last step does not."""
    chain = PlanarChain([Link(0.5, 1.0, 0.25, 1 / 48)] * 12, 9.81)
    kinetic = chain.form(np.full(12, 0.4))
    rng = np.random.default_rng(8)
    missed = 0
    for epsilon in (1e-2, 1e-3, 1e-4):
        b = rng.normal(size=12)
        truth = np.linalg.solve(kinetic.matrix(), b)
        by_residual = MinimalResiduals(epsilon, 1.0 / chain.eigenvalue_bound).solve(kinetic, b)
        by_step = MinimalResiduals(epsilon, None).solve(kinetic, b)
        assert np.linalg.norm(by_residual.z - truth) <= epsilon
        assert by_step.iterations < by_residual.iterations
        missed += bool(np.linalg.norm(by_step.z - truth) > 10 * epsilon)
    assert missed == 3


def test_the_least_inertia_bounds_the_eigenvalues_from_below() -> None:
    chain = PlanarChain(LINKS, 9.81)
    rng = np.random.default_rng(12)
    for _ in range(50):
        assert np.linalg.eigvalsh(chain.form(rng.uniform(-3, 3, 4)).matrix())[0] >= chain.eigenvalue_bound
    assert chain.eigenvalue_bound == 0.03


@pytest.mark.parametrize("solver", DIRECT + ITERATIVE, ids=lambda s: type(s).__name__)
def test_a_momentum_of_zero_is_a_velocity_of_zero(solver: LegendreSolver) -> None:
    assert not solver.solve(form("chain"), np.zeros(4)).z.any()


@pytest.mark.parametrize("n", [1, 2, 40])
def test_long_and_short_chains_are_eliminated_alike(n: int) -> None:
    rng = np.random.default_rng(n)
    links = [
        Link(rng.uniform(0.2, 1), rng.uniform(0.5, 2), rng.uniform(-0.1, 0.9), rng.uniform(0.01, 0.1)) for _ in range(n)
    ]
    kinetic = PlanarChain(links, 9.81).form(rng.uniform(-3, 3, n))
    z = rng.uniform(-1, 1, n)
    A = kinetic.matrix()
    np.testing.assert_allclose(kinetic.product(z), A @ z, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(
        StructuredElimination().solve(kinetic, A @ z).z, z, rtol=0.0, atol=1e-15 * np.linalg.cond(A)
    )


ALL: list[LegendreSolver] = [Cholesky(), ConjugateDirections(), MinimalResiduals(1e-8, None)]
CHAIN = PlanarChain([Link(0.5, 1.0, 0.25, 1 / 48)] * 20, 9.81)


@pytest.mark.parametrize("solver", ALL, ids=lambda s: type(s).__name__)
def test_indefinite_forms_have_no_maximum(solver: LegendreSolver) -> None:
    form = DenseForm(np.diag([2.0, -1.0]))
    with pytest.raises(NotPositiveDefiniteError, match="not a positive definite form of the velocities"):
        solver.solve(form, [0.5, 1.0])


@pytest.mark.parametrize("solver", ALL, ids=lambda s: type(s).__name__)
def test_singular_forms_have_no_maximum(solver: LegendreSolver) -> None:
    with pytest.raises((NotPositiveDefiniteError, NotConvergedError)):
        solver.solve(DenseForm(np.ones((3, 3))), [0.5, 1.0, 0.0])
    with pytest.raises(NotPositiveDefiniteError):
        solver.solve(DenseForm(np.zeros((1, 1))), [1.0])


def test_a_nearly_singular_form_is_refused_by_its_pivot() -> None:
    with pytest.raises(NotPositiveDefiniteError, match=r"relative pivot of velocity 1 is [0-9.]+e-1"):
        Cholesky().solve(DenseForm(np.array([[1.0, 1.0], [1.0, 1.0 + 4e-15]])), [1.0, 1.0])


def test_a_robot_that_becomes_singular_is_refused_by_its_own_factorization() -> None:
    """Polar coordinates at r = 0; and a mass that a parameter makes negative."""
    q, v, m = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("m")
    robot = lagrangian_system(q=q, v=v, p=m, nominal={"m": 2.0}, T=m * (v[0] ** 2 + q[0] ** 2 * v[1] ** 2) / 2)
    transform = LegendreTransform(canonical_form(robot))
    for solver in (StructuredElimination(), Cholesky()):
        good = transform.solve(solver, 0.0, np.array([0.5, 1.0]), np.array([1.0, 1.0]), np.array([2.0]))
        np.testing.assert_allclose(good.z, [0.5, 2.0], rtol=1e-14)
        for place, mass in ((0.0, 2.0), (0.5, -1.0)):
            with pytest.raises(NotPositiveDefiniteError):
                transform.solve(solver, 0.0, np.array([place, 1.0]), np.array([1.0, 1.0]), np.array([mass]))


def test_a_chain_with_a_link_that_has_no_inertia_at_all_is_refused() -> None:
    """A point mass at its own joint: the last link turns freely and moves nothing."""
    chain = PlanarChain([Link(0.5, 1.0, 0.2, 0.1), Link(0.5, 1.0, 0.0, 0.0)], 9.81)
    with pytest.raises(NotPositiveDefiniteError, match="the pivot of link 2"):
        StructuredElimination().solve(chain.form([0.1, 0.2]), [1.0, 0.0])


@pytest.mark.parametrize(
    "solver", [ConjugateDirections(cycles=1, relative=1e-15), MinimalResiduals(1e-9, 48.0, limit=5)]
)
def test_iterations_that_run_out_are_not_silent(solver: LegendreSolver) -> None:
    form = CHAIN.form(np.linspace(0, 1, 20))
    b = np.linspace(-1, 1, 20)
    flagged = solver.attempt(form, b)
    assert not flagged.converged
    assert flagged.residual > flagged.target
    with pytest.raises(NotConvergedError, match=rf"after {flagged.iterations} iterations, but the target is"):
        solver.solve(form, b)


def test_an_invalid_step_bound_is_refused() -> None:
    with pytest.raises(NotConvergedError, match=r"step_bound must be an upper bound of every γ, got 1, but γ = "):
        MinimalResiduals(1e-6, 1.0).solve(DenseForm(np.diag([0.1, 0.2])), [1.0, 1.0])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DenseForm(np.ones((2, 3))), r"must be square, got shape \(2, 3\)"),
        (lambda: DenseForm(np.array([[1.0, 2.0], [0.0, 1.0]])), r"symmetric, but \|A − Aᵀ\| reaches 2"),
        (lambda: DenseForm(np.array([[np.nan]])), "must be finite"),
        (lambda: Cholesky().solve(DenseForm(np.eye(2)), [1.0]), r"right must have shape \(2,\)"),
        (lambda: ConjugateDirections().solve(DenseForm(np.eye(2)), [1.0, 2.0], start=[0.0]), "start must have shape"),
        (lambda: Cholesky().solve(DenseForm(np.eye(1)), [np.inf]), r"right\[0\] is inf"),
        (
            lambda: StructuredElimination().solve(DenseForm(np.eye(1)), [1.0]),
            "requires a FactoredForm, got DenseForm",
        ),
        (lambda: MinimalResiduals(0.0, None), "tolerance must be greater than zero"),
        (lambda: MinimalResiduals(1e-3, -1.0), "step_bound must be greater than zero"),
        (lambda: MinimalResiduals(1e-3, None, 0), "limit must be at least 1, got 0"),
        (lambda: ConjugateDirections(relative=-1.0), "relative must not be negative"),
        (lambda: ConjugateDirections(cycles=0), "cycles must be at least 1, got 0"),
        (lambda: PlanarChain([], 9.81), "links must be one or more Link objects"),
        (lambda: CHAIN.form([0.0]), r"q must have shape \(20,\)"),
    ],
)
def test_bad_input_is_named(build: Callable[[], object], message: str) -> None:
    with pytest.raises((ShapeError, ModelError), match=message) as caught:
        build()
    assert isinstance(caught.value, EruginError)
