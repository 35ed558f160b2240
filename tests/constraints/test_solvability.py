"""Ranks, dependences and uniqueness against null spaces by NumPy, and against pencil and paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.constraints import ConstrainedMotion, solvability
from erugin.constraints.solvers import SingularCase
from erugin.symbolic import ModelError, ShapeError

from ..support.singular_systems import PROBLEMS, Singular

Array = NDArray[np.float64]
every_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.label)


@every_problem
def test_ranks_are_those_that_were_built_in(problem: Singular) -> None:
    for seed in range(25):
        equations = problem.equations(seed)
        known = solvability(equations)
        assert known.mass.value == problem.rank_of_mass
        assert known.rows.value == problem.independent
        assert known.together.value == known.together.full == problem.velocities
        assert len(known.dependences) == len(equations.right) - problem.independent
        assert known.solvable
        assert known.acceleration_unique
        assert known.rows.smallest_kept > 1e-3
        assert known.rows.largest_dropped < 1e-13
        assert (known.mass.value < problem.velocities) is (SingularCase.SINGULAR_MASS in problem.cases)


@every_problem
def test_dependences_reproduce_their_rows_and_their_contradictions(problem: Singular) -> None:
    if not problem.dependent:
        assert all(not d.coefficients for d in solvability(problem.equations(3)).dependences)
        return
    for seed in range(25):
        equations = problem.equations(seed, contradiction=-0.125)
        theta, names = equations.rows, list(equations.names)
        found = solvability(equations).dependences
        for dependence in found:
            i = names.index(dependence.row)
            assert all(names.index(name) < i for name in dependence.coefficients)
            rest = theta[i] - sum(
                (c * theta[names.index(name)] for name, c in dependence.coefficients.items()), np.zeros(6)
            )
            assert np.abs(rest).max() <= 1e-11 * max(1e-3, float(np.abs(theta).max()))
            beta = equations.right[i] - sum(
                c * equations.right[names.index(n)] for n, c in dependence.coefficients.items()
            )
            assert dependence.contradiction == pytest.approx(beta, abs=1e-9)
        assert [d.row for d in found if not d.consistent] == [names[-1]]
        assert found[-1].contradiction == pytest.approx(-0.125, abs=1e-7)
        assert not solvability(equations).solvable


@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), m=st.integers(0, 6), rank=st.integers(0, 5))
def test_a_multiplier_is_unique_if_adding_null_vectors_does_not_change_it(seed: int, n: int, m: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    rank = min(rank, n, m)
    theta = rng.integers(-2, 3, (m, rank)).astype(np.float64) @ rng.integers(-2, 3, (rank, n)).astype(np.float64)
    known = solvability(ConstrainedMotion(np.eye(n), np.zeros(n), theta, np.zeros(m)))
    projector = np.eye(m) - theta @ np.linalg.pinv(theta) if m else np.zeros((0, 0))
    assert known.unique == tuple(abs(projector[i, i]) < 1e-9 for i in range(m))
    assert known.rows.value == (np.linalg.matrix_rank(theta) if m else 0)
    assert len(known.dependences) == m - known.rows.value
    assert known.consistent


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 2, 2.1])
def test_a_parallelogram_with_a_third_crank(angle: float) -> None:
    """Reactions of a coupler on three parallel cranks, of which only those across the cranks are unique.

    The coupler's velocities are (ẋ, ẏ, ω) and each crank's is φ̇_i; a pin at s_i along the coupler, of a crank of length
    one, says ẋ = −sin φ φ̇_i and ẏ + s_i ω = cos φ φ̇_i. Forces in the pins that balance by themselves act along the
    cranks: F_i e with Σ F_i = 0, and no moment, Σ s_i F_i sin φ = 0.
    """
    s = np.array([0.0, 0.7, 1.6])
    e, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    rows = np.zeros((6, 6))
    for i in range(3):
        rows[2 * i : 2 * i + 2, :2] = np.eye(2)
        rows[2 * i + 1, 2] = s[i]
        rows[2 * i : 2 * i + 2, 3 + i] = -across
    names = [f"pin{i}{axis}" for i in range(3) for axis in "xy"]
    equations = ConstrainedMotion(np.diag([2.0, 2.0, 0.3, 1.0, 1.1, 1.2]), np.zeros(6), rows, np.zeros(6), names=names)
    known = solvability(equations)
    shares = np.array([s[1] - s[2], s[2] - s[0], s[0] - s[1]])
    if abs(np.sin(angle)) < 1e-12:
        # Flat: the cranks pull along the coupler, and any forces that add up to nothing balance.
        relations = np.kron(np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]), e).T
    else:
        relations = np.kron(shares, e)[:, None]
    np.testing.assert_allclose(rows.T @ relations, 0.0, atol=1e-14)
    expected = tuple(name for name, row in zip(names, relations, strict=True) if np.abs(row).max() < 1e-12)
    assert tuple(name for name, one in zip(names, known.unique, strict=True) if one) == expected
    assert known.rows.value == 6 - relations.shape[1]
    if abs(np.cos(angle)) < 1e-12:
        assert expected == ("pin0x", "pin1x", "pin2x")


def test_rows_of_one_constraint_are_compared_and_those_of_different_ones_are_not() -> None:
    theta, beta = np.array([[1.0, 0.0], [0.0, 1e-12]]), np.array([0.0, 3e-13])
    apart = solvability(ConstrainedMotion(np.eye(2), np.zeros(2), theta, beta))
    together = solvability(ConstrainedMotion(np.eye(2), np.zeros(2), theta, beta, sizes=(2,)))
    assert (apart.rows.value, together.rows.value) == (2, 1)
    assert [d.row for d in together.dependences] == ["row 1"]
    assert together.dependences[0].coefficients == {}
    assert together.dependences[0].remainder == pytest.approx(1e-12)


def test_a_constraint_that_is_usually_longer_vanishes() -> None:
    theta = np.array([[1e-16, 0.0]])
    alone = ConstrainedMotion(np.eye(2), np.zeros(2), theta, np.array([0.01]))
    known = solvability(ConstrainedMotion(np.eye(2), np.zeros(2), theta, np.array([0.01]), lengths=[0.3]))
    assert solvability(alone).consistent
    assert known.rows.value == 0
    assert str(known.dependences[0]) == "'row 0' vanishes: contradictory by 0.01"


def test_what_is_found_does_not_depend_on_units() -> None:
    """Kilometres, grams and milliradians: columns, rows and inertias scaled by up to 1e6."""
    problem = next(one for one in PROBLEMS if one.label == "all at once")
    for seed in range(10):
        one = problem.equations(seed)
        rng = np.random.default_rng(seed)
        c, r = 10.0 ** rng.uniform(-3, 3, 6), 10.0 ** rng.uniform(-3, 3, len(one.right))
        other = ConstrainedMotion(
            c[:, None] * one.mass * c, c * one.force, r[:, None] * one.rows * c, r * one.right, names=one.names
        )
        here, there = solvability(one), solvability(other)
        assert (here.mass.value, here.rows.value, here.unique) == (there.mass.value, there.rows.value, there.unique)
        assert [d.row for d in here.dependences] == [d.row for d in there.dependences]
        assert here.rows.smallest_kept == pytest.approx(there.rows.smallest_kept, rel=1e-6)


def test_forces_must_vanish_where_nothing_moves() -> None:
    M, theta = np.diag([1.0, 0.0, 0.0]), np.array([[0.0, 1.0, 1.0]])
    balanced = ConstrainedMotion(M, np.array([1.0, 2.0, 2.0]), theta, np.array([0.0]))
    pushed = ConstrainedMotion(M, np.array([1.0, 2.0, -2.0]), theta, np.array([0.0]))
    assert solvability(balanced).consistent
    assert solvability(balanced).balanced
    assert not solvability(balanced).acceleration_unique
    assert not solvability(balanced).solvable
    assert solvability(balanced).loose == ("v1", "v2")
    assert not solvability(pushed).balanced
    assert not solvability(pushed).solvable
    assert solvability(pushed).unbalanced == pytest.approx(np.sqrt(2.0))


def test_numbers_are_copied_and_cannot_be_written() -> None:
    M = np.eye(2)
    equations = ConstrainedMotion(M, np.zeros(2), np.ones((1, 2)), np.zeros(1))
    M[0, 0] = 5.0
    assert equations.mass[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        equations.rows[0, 0] = 3.0


def test_bad_numbers() -> None:
    one, row, none = np.eye(2), np.ones((1, 2)), np.zeros(1)
    with pytest.raises(ShapeError, match=r"mass must have shape \(3, 3\) and rows \(1, 3\); got \(2, 2\)"):
        ConstrainedMotion(one, np.zeros(3), np.ones((1, 3)), none)
    with pytest.raises(ShapeError, match=r"rows must be finite, but rows\[0, 1\] is nan"):
        ConstrainedMotion(one, np.zeros(2), np.array([[1.0, np.nan]]), none)
    with pytest.raises(ShapeError, match="force of ConstrainedMotion must be a NumPy array of real numbers"):
        ConstrainedMotion(one, ["a", "b"], row, none)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="right must have 1 axes"):
        ConstrainedMotion(one, np.zeros(2), row, np.zeros((1, 1)))
    with pytest.raises(ModelError, match="must be symmetric, but M − Mᵀ has an entry of 1"):
        ConstrainedMotion(np.array([[1.0, 1.0], [0.0, 1.0]]), np.zeros(2), row, none)
    with pytest.raises(ModelError, match=r"must be positive semidefinite.*eigenvalue -1"):
        ConstrainedMotion(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2), row, none)
    with pytest.raises(ShapeError, match=r"add up to the 1 rows, got \(2,\)"):
        ConstrainedMotion(one, np.zeros(2), row, none, sizes=(2,))
    with pytest.raises(ShapeError, match="names and velocities must have 1 and 2 entries"):
        ConstrainedMotion(one, np.zeros(2), row, none, names=("a", "b"))
    for word in ("tolerance", "consistency"):
        with pytest.raises(ModelError, match=f"{word} must be greater than zero"):
            solvability(ConstrainedMotion(one, np.zeros(2), row, none), **{word: -1.0})


def test_a_small_share_of_a_row_with_a_large_right_side_counts() -> None:
    theta, beta = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 5e-9]]), np.array([1.0, 1e6, 1.0 + 5e-3])
    (found,) = solvability(ConstrainedMotion(np.eye(2), np.zeros(2), theta, beta)).dependences
    assert found.consistent
    assert found.contradiction == pytest.approx(0.0, abs=1e-9)
