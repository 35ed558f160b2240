"""The factorization that passes over zero pivots, against NumPy's pseudo-inverse."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.symbolic import Kernel, ModelError
from erugin.symbolic.linear_algebra import SemidefiniteLdl

Array = NDArray[np.float64]
N = 5


def factorize(n: int = N, *, scaled: bool = False) -> Kernel:
    """A, b, scale → L D Lᵀ, pivots, kept, least-norm and basic solution."""
    A, b, scale = ca.SX.sym("A", n, n), ca.SX.sym("b", n, 2), ca.SX.sym("scale", n)
    factor = SemidefiniteLdl.of(A, scale if scaled else None)
    outputs = {
        "product": factor.lower @ ca.diag(factor.pivots * factor.kept) @ factor.lower.T,
        "pivots": factor.pivots,
        "kept": factor.kept,
        "x": factor.solve(b),
        "basic": factor.basic(b),
    }
    return Kernel("semidefinite", {"A": A, "b": b, "scale": scale}, outputs, compiled=False)


KERNEL = factorize()


def rows_of_rank(seed: int, rank: int) -> Array:
    """N rows of which the last ones depend on the first ones, in a random order, one of them zero if there is room."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(rank, 7))
    rest = rng.normal(size=(N - rank, rank)) @ rows
    if len(rest):
        rest[0] = 0.0
    return np.asarray(np.vstack([rows, rest])[rng.permutation(N)], dtype=np.float64)


@settings(max_examples=60, deadline=None)
@example(seed=667, rank=3)  # Two rows at an angle of 1.6e-3: what is left of the third is their rounding, 1e-9 of it.
@given(seed=st.integers(0, 10**6), rank=st.integers(0, N))
def test_least_norm_solution_is_that_of_the_pseudo_inverse(seed: int, rank: int) -> None:
    F = rows_of_rank(seed, rank)
    A = F @ F.T
    values = np.linalg.svd(F, compute_uv=False)
    if rank and values[rank - 1] < 0.05:
        return
    b = A @ np.random.default_rng(seed + 1).normal(size=(N, 2))
    product, pivots, kept, x, basic = KERNEL(A, b, np.ones(N))
    size = max(1.0, float(np.abs(A).max()))
    # Nothing is missing but the pivots that were left out, and they are rounding.
    left_out = float(np.abs(pivots[kept == 0.0]).max(initial=0.0))
    assert left_out <= 1e-7 * size
    np.testing.assert_allclose(product, A, rtol=0, atol=1e-12 * size + left_out)
    assert kept.sum() == rank
    expected = np.linalg.pinv(A, rcond=1e-10, hermitian=True) @ b
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-8 * max(1.0, float(np.abs(expected).max())))
    np.testing.assert_allclose(A @ basic, b, rtol=0, atol=1e-9 * size * max(1.0, float(np.abs(basic).max())))
    assert not basic[kept == 0.0].any()


def test_rows_that_are_left_out_depend_on_those_before_them() -> None:
    rows = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 1.0], [3.0, 7.0, 1.0]])
    _, pivots, kept, _, _ = KERNEL(rows @ rows.T, np.zeros((N, 2)), np.ones(N))
    np.testing.assert_array_equal(kept, [1.0, 0.0, 0.0, 1.0, 0.0])
    np.testing.assert_allclose(pivots, [5.0, 0.0, 0.0, 2.0 - 4.0 / 5.0, 0.0], atol=1e-14)


def test_a_contradiction_is_left_to_the_rows_that_were_left_out() -> None:
    rows = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 0.0, 5.0], [2.0, 4.0, 0.0]])
    A, b = rows @ rows.T, np.zeros((N, 2))
    b[:, 0] = A @ [1.0, -1.0, 0.5, 2.0, 0.3]
    b[4, 0] += 0.7
    x = KERNEL(A, b, np.ones(N))[3]
    np.testing.assert_allclose(b[:, 0] - A @ x[:, 0], [0.0, 0.0, 0.0, 0.0, 0.7], atol=1e-12)


def test_a_pivot_is_compared_with_its_scale() -> None:
    """A row of 1e-7 is independent by itself, and nothing beside one of length one in the same unit."""
    A = np.diag([1.0, 1e-14, 1.0, 1.0, 1.0])
    b = np.column_stack([np.diag(A), np.zeros(N)])
    kernel = factorize(scaled=True)
    assert kernel(A, b, np.diag(A))[2][1] == 1.0
    assert kernel(A, b, np.ones(N))[2][1] == 0.0


@pytest.mark.parametrize("place", [(0, 0), (2, 1), (3, 3)])
def test_a_number_that_is_none_is_not_taken_for_a_zero_pivot(place: tuple[int, int]) -> None:
    A = np.eye(N)
    A[place] = np.nan
    assert np.isnan(KERNEL(A, np.ones((N, 2)), np.ones(N))[3]).any()


def test_what_cannot_be_factorized() -> None:
    with pytest.raises(ModelError, match=r"only a square matrix can be factorized, got shape \(2, 3\)"):
        SemidefiniteLdl.of(ca.SX.sym("A", 2, 3))
    with pytest.raises(ModelError, match=r"each of 2 pivots needs a scale, got shape \(3, 1\)"):
        SemidefiniteLdl.of(ca.SX.sym("A", 2, 2), ca.SX.sym("s", 3))
    assert SemidefiniteLdl.of(ca.SX(0, 0)).solve(ca.SX(0, 3)).shape == (0, 3)


def test_rows_in_units_a_million_apart_hold_nevertheless() -> None:
    """Two rows and a multiple of their sum, in units of 1e-3, 1e3 and 1: A x = b in the unit of each row."""
    units = np.array([1e-3, 1e3, 1.0])
    rows = units[:, None] * np.array([[1.0, 0.3, -0.2], [0.4, 1.0, 0.7], [2.8, 2.6, 1.0]])
    matrix = rows @ rows.T
    right = matrix @ np.array([0.7 / units[0], -1.3 / units[1], 0.4])
    found = SemidefiniteLdl.of(ca.SX(ca.DM(matrix))).solve(ca.SX(ca.DM(right)))
    x = np.array(ca.Function("x", [], [found]).call([])[0].full())[:, 0]
    np.testing.assert_allclose((matrix @ x) / units, right / units, rtol=1e-11)
