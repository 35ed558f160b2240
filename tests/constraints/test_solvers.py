"""One table of what each way handles drives the tests: one motion wherever it is unique, and refusals elsewhere."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import ConstrainedMotion
from erugin.constraints import solvers as ways
from erugin.constraints.solvers import (
    Augmented,
    ConstrainedSolver,
    LeastNorm,
    Proximal,
    SaddlePoint,
    SchurComplement,
    SingularCase,
    SolveOutcome,
    UdwadiaPhohomsiri,
)
from erugin.symbolic import ModelError

from ..support.singular_systems import PROBLEMS, Singular, whole_system

Array = NDArray[np.float64]

ROWS = frozenset({SingularCase.DEPENDENT_ROWS, SingularCase.VANISHING_ROWS, SingularCase.MORE_ROWS})
HANDLED: dict[ConstrainedSolver, frozenset[SingularCase]] = {
    SchurComplement(): frozenset(),
    SaddlePoint(): frozenset({SingularCase.SINGULAR_MASS}),
    LeastNorm(): ROWS,
    Proximal(): frozenset(SingularCase),
    Augmented(): frozenset(SingularCase),
    UdwadiaPhohomsiri(): frozenset(SingularCase),
}
SEEDS = range(25)
every_way = pytest.mark.parametrize("way", HANDLED, ids=lambda way: type(way).__name__)
every_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.label)


def test_no_way_is_left_out_of_the_table() -> None:
    found = [value for value in vars(ways).values() if inspect.isclass(value) and issubclass(value, ConstrainedSolver)]
    assert set(found) == {type(way) for way in HANDLED} | {ConstrainedSolver}
    for way, handled in HANDLED.items():
        assert way.supported_cases == handled


@every_way
@every_problem
def test_the_motion_is_that_of_the_whole_system(way: ConstrainedSolver, problem: Singular) -> None:
    for seed in SEEDS:
        equations = problem.equations(seed)
        solution = way.solve(equations)
        if not problem.cases <= HANDLED[way]:
            assert solution.outcome is SolveOutcome.NOT_HANDLED
            assert np.isnan(solution.acceleration).all()
            for case in problem.cases - HANDLED[way]:
                assert case.value in solution.message
            continue
        a, lam = whole_system(equations)
        assert solution.outcome is SolveOutcome.SOLVED, solution.message
        # In the units of each velocity: a of 1e-10 beside one of 1e3 is not compared with it.
        size = np.sqrt(np.maximum(np.diag(equations.mass), 1e-300)) if equations.mass.any() else np.ones(len(a))
        scaled = float(np.abs(size * a).max())
        np.testing.assert_allclose(size * solution.acceleration, size * a, rtol=0, atol=1e-10 * max(1.0, scaled))
        R, expected = equations.rows.T @ lam / size, solution.force / size
        np.testing.assert_allclose(expected, R, rtol=0, atol=1e-10 * max(1.0, float(np.abs(R).max())))
        M, Q, theta, beta = equations.mass, equations.force, equations.rows, equations.right
        balance = M @ solution.acceleration - Q - theta.T @ solution.multipliers
        assert solution.motion_residual == pytest.approx(float(np.abs(balance).max()), abs=1e-14)
        missed = theta @ solution.acceleration - beta
        assert solution.rows_residual == pytest.approx(float(np.abs(missed).max()), abs=1e-14)


@every_way
def test_multipliers_are_of_least_norm_in_the_rows_own_units(way: ConstrainedSolver) -> None:
    """Against the pseudo-inverse of Θᵀ itself, for rows whose units are near each other."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        G, rows = rng.normal(size=(5, 5)), rng.normal(size=(3, 5))
        theta = np.vstack([rows, 2.0 * rows[0] - rows[1], np.zeros(5)])
        if not {SingularCase.DEPENDENT_ROWS, SingularCase.VANISHING_ROWS} <= HANDLED[way]:
            theta = rows
        equations = ConstrainedMotion(G @ G.T + np.eye(5), rng.normal(size=5), theta, theta @ rng.normal(size=5))
        solution = way.solve(equations)
        R = equations.mass @ solution.acceleration - equations.force
        np.testing.assert_allclose(solution.multipliers, np.linalg.pinv(theta.T) @ R, atol=1e-10)


@every_way
@pytest.mark.parametrize("label", ["dependent rows", "vanishing row", "more rows", "all at once"])
def test_a_contradiction_is_named_with_its_size_and_no_number_is_returned(way: ConstrainedSolver, label: str) -> None:
    problem = next(one for one in PROBLEMS if one.label == label)
    for seed in SEEDS:
        equations = problem.equations(seed, contradiction=0.25)
        solution = way.solve(equations)
        assert solution.outcome is SolveOutcome.CONTRADICTORY
        assert f"{equations.names[-1]!r}" in solution.message
        assert "contradictory by 0.25" in solution.message
        assert np.isnan(solution.acceleration).all()
        assert np.isnan(solution.multipliers).all()
        assert np.isnan(solution.rows_residual)


@every_way
def test_velocities_without_inertia_or_constraint_are_named(way: ConstrainedSolver) -> None:
    M, theta = np.diag([2.0, 0.0, 1.0]), np.array([[1.0, 0.0, 1.0]])
    names = ("x", "ghost", "z")
    free = ConstrainedMotion(M, np.array([1.0, 0.0, 1.0]), theta, np.array([0.5]), velocities=names)
    pushed = ConstrainedMotion(M, np.array([1.0, 3.0, 1.0]), theta, np.array([0.5]), velocities=names)
    assert way.solve(free).outcome is SolveOutcome.UNDETERMINED
    assert "The velocities are ghost." in way.solve(free).message
    assert way.solve(pushed).outcome is SolveOutcome.UNBALANCED
    assert "along ghost" in way.solve(pushed).message


@every_way
def test_no_rows_at_all(way: ConstrainedSolver) -> None:
    equations = ConstrainedMotion(np.diag([2.0, 4.0]), np.array([1.0, 1.0]), np.zeros((0, 2)), np.zeros(0))
    solution = way.solve(equations)
    np.testing.assert_allclose(solution.acceleration, [0.5, 0.25], rtol=1e-14)
    assert solution.multipliers.shape == (0,)
    assert solution.outcome is SolveOutcome.SOLVED


def test_too_few_proximal_steps_are_reported() -> None:
    """Rows at an angle of 1e-3: what is missing along the small eigenvalue shrinks by a half only."""
    theta = np.array([[1.0, 0.0, 0.0], [1.0, 1e-3, 0.0]])
    equations = ConstrainedMotion(np.eye(3), np.zeros(3), theta, np.array([0.0, 1.0]))
    hasty, patient = Proximal(epsilon=1e-6, steps=1).solve(equations), Proximal(epsilon=1e-6).solve(equations)
    assert hasty.outcome is SolveOutcome.INACCURATE
    assert "residual" in hasty.message
    assert patient.outcome is SolveOutcome.SOLVED
    np.testing.assert_allclose(patient.acceleration, [0.0, 1000.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("weight", [1e-4, 1e-2, 1.0, 1e2, 1e4])
def test_any_weight_of_the_augmentation_gives_the_same_motion(weight: float) -> None:
    problem = next(one for one in PROBLEMS if one.label == "all at once")
    for seed in SEEDS:
        equations = problem.equations(seed)
        one, other = Augmented(weight).solve(equations), UdwadiaPhohomsiri().solve(equations)
        size = float(np.abs(other.acceleration).max())
        np.testing.assert_allclose(one.acceleration, other.acceleration, rtol=0, atol=1e-9 * size)


def test_bad_settings() -> None:
    with pytest.raises(ModelError, match="weight must be greater than zero"):
        Augmented(0.0)
    with pytest.raises(ModelError, match="epsilon must be greater than zero"):
        Proximal(-1.0)
    with pytest.raises(ModelError, match="steps must be a whole number of at least 1, got 0"):
        Proximal(steps=0)
    with pytest.raises(ModelError, match="tolerance must be greater than zero"):
        LeastNorm().solve(PROBLEMS[0].equations(0), tolerance=0.0)


@pytest.mark.parametrize("way", [way for way, handled in HANDLED.items() if SingularCase.SINGULAR_MASS in handled])
def test_a_wheel_that_rolls_down_a_slope(way: ConstrainedSolver) -> None:
    """Its whole energy written in ẏ, ½ (m + I/r²) ẏ², leaves the turning θ without inertia; ẏ = r θ̇ holds it.

    ÿ = m g sin α/(m + I/r²), two thirds of a slide's for a disc; the row carries no force, because θ has no inertia.
    """
    m, I, r, g, slope = 3.0, 0.5 * 3.0 * 0.4**2, 0.4, 9.81, 0.3
    names = ("y", "theta")
    rows = (
        np.array([[1.0, -r], [2.0, -2.0 * r]]) if SingularCase.DEPENDENT_ROWS in HANDLED[way] else np.array([[1.0, -r]])
    )
    force = np.array([m * g * np.sin(slope), 0.0])
    equations = ConstrainedMotion(np.diag([m + I / r**2, 0.0]), force, rows, np.zeros(len(rows)), velocities=names)
    solution = way.solve(equations)
    along = 2.0 / 3.0 * g * np.sin(slope)
    np.testing.assert_allclose(solution.acceleration, [along, along / r], rtol=1e-12)
    np.testing.assert_allclose(solution.force, 0.0, atol=1e-12)


@every_way
def test_rows_at_the_edge_of_the_tolerance_raise_nothing(way: ConstrainedSolver) -> None:
    """Independent by their singular values, 4e-9, and dependent where these are squared on the way."""
    for angle in (5e-9, 3e-9):
        theta = np.array([[1.0, 0.0], [1.0, angle]])
        found = way.solve(ConstrainedMotion(np.eye(2), np.array([1.0, 2.0]), theta, np.array([1.0, 1.0 + angle])))
        assert found.outcome in (SolveOutcome.SOLVED, SolveOutcome.INACCURATE)
        assert np.isfinite(found.acceleration).all() or "A factorization failed" in found.message


@every_way
@pytest.mark.parametrize("inertia", [1e-300, 1e-20, 1e-17, 1e-14, 1e-10])
def test_a_missed_row_with_almost_no_inertia_is_reported(way: ConstrainedSolver, inertia: float) -> None:
    """a₁ + a₂ = 1 with forces 1 and 2 on inertias 1 and ε: a = (−1, 2) for ε → 0."""
    M, theta = np.diag([1.0, inertia]), np.array([[1.0, 1.0]])
    found = way.solve(ConstrainedMotion(M, np.array([1.0, 2.0]), theta, np.array([1.0])))
    if found.outcome is SolveOutcome.SOLVED:
        np.testing.assert_allclose(found.acceleration, [-1.0, 2.0], atol=1e-5)
    else:
        assert (found.outcome is SolveOutcome.NOT_HANDLED) == (inertia == 1e-300)
        assert inertia == 1e-300 or "residual of 'row 0'" in found.message
