"""Forms that have no maximum, iterations that run out, and bad input: each a named error."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from erugin.robots import Link, lagrangian_system
from erugin.robots.hamiltonian import (
    Cholesky,
    ConjugateDirections,
    DenseForm,
    LegendreSolver,
    LegendreTransform,
    MinimalResiduals,
    NotPositiveDefiniteError,
    PlanarChain,
    StructuredElimination,
    canonical_form,
)
from erugin.symbolic import EruginError, ModelError, NotConvergedError, ShapeError

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
    with pytest.raises(NotConvergedError, match=rf"after {flagged.iterations} iterations where .* was asked for"):
        solver.solve(form, b)


def test_a_step_bound_that_is_none_is_refused() -> None:
    with pytest.raises(NotConvergedError, match=r"step_bound must bound every γ from above, but is 1 where γ = "):
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
            "DenseForm has no factorization of its own",
        ),
        (lambda: MinimalResiduals(0.0, None), "tolerance must be greater than zero"),
        (lambda: MinimalResiduals(1e-3, -1.0), "step_bound must be greater than zero"),
        (lambda: MinimalResiduals(1e-3, None, 0), "limit must be at least 1, got 0"),
        (lambda: ConjugateDirections(relative=-1.0), "relative must not be negative"),
        (lambda: ConjugateDirections(cycles=0), "cycles must be at least 1, got 0"),
        (lambda: PlanarChain([], 9.81), "made of at least one link"),
        (lambda: CHAIN.form([0.0]), r"q must have shape \(20,\)"),
    ],
)
def test_bad_input_is_named(build: Callable[[], object], message: str) -> None:
    with pytest.raises((ShapeError, ModelError), match=message) as caught:
        build()
    assert isinstance(caught.value, EruginError)
