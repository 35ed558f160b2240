"""Factorizations of expressions against NumPy: elimination near the identity, and rotations of sparse rows."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.symbolic import Kernel, ModelError
from erugin.symbolic.linear_algebra import GivensQr, Lu


@pytest.mark.parametrize("n", [1, 2, 5, 9])
@pytest.mark.parametrize("k", [1, 3])
def test_solutions_are_those_of_numpy(n: int, k: int) -> None:
    """Rows of A − E that sum to one half in absolute value, the limit of what is promised."""
    A, B = ca.SX.sym("A", n, n), ca.SX.sym("B", n, k)
    factors = Lu.of(A)
    kernel = Kernel("eliminated", {"A": A, "B": B}, {"X": factors.solve(B), "F": factors.factors}, compiled=False)
    rng = np.random.default_rng(n)
    for _ in range(20):
        away = rng.normal(size=(n, n))
        matrix = np.eye(n) + away * (0.5 / np.abs(away).sum(axis=1))[:, None]
        right = rng.normal(size=(n, k))
        X, F = kernel(matrix if n > 1 else matrix[0, 0], right[:, 0] if k == 1 else right)
        np.testing.assert_allclose(X.reshape(n, k), np.linalg.solve(matrix, right), rtol=1e-12, atol=1e-13)
        F = F.reshape(n, n)
        np.testing.assert_allclose((np.tril(F, -1) + np.eye(n)) @ np.triu(F), matrix, atol=1e-14)
        assert np.abs(np.diag(F)).min() >= 0.5 - 1e-12
        assert np.abs(np.triu(F)).max() <= 2.0 * np.abs(matrix).max()


def test_nothing_is_solved_by_nothing_and_bad_shapes_are_named() -> None:
    assert Lu.of(ca.SX(0, 0)).solve(ca.SX(0, 2)).shape == (0, 2)
    with pytest.raises(ModelError, match=r"square matrix can be factorized, got shape \(2, 3\)"):
        Lu.of(ca.SX.sym("A", 2, 3))


@pytest.mark.parametrize(("m", "n", "share"), [(1, 1, 1.0), (3, 5, 1.0), (6, 6, 1.0), (8, 11, 0.35), (20, 24, 0.15)])
def test_rotations_solve_with_least_norm_and_span_the_null_space(m: int, n: int, share: float) -> None:
    rng, checked = np.random.default_rng(m), 0
    for _ in range(5):
        pattern = np.zeros((m, n), dtype=bool)
        while np.linalg.matrix_rank(rng.normal(size=(m, n)) * pattern) < m:
            pattern = rng.random((m, n)) < share
        symbols, right = ca.SX.sym("A", m, n), ca.SX.sym("b", m, 2)
        factors = GivensQr.of(ca.SX(ca.DM(pattern.astype(float))) * symbols)
        outputs = {"x": factors.solve(right), "pivots": factors.pivots}
        if m < n:
            outputs["Z"] = factors.null_space()
        function = ca.Function("f", [symbols, right], [ca.densify(e) for e in outputs.values()])
        A, b = rng.normal(size=(m, n)) * pattern, rng.normal(size=(m, 2))
        # A row out of scale, and an element that happens to vanish: no pivot is chosen by size.
        A[0] *= 1e-6
        A[-1, np.flatnonzero(pattern[-1])[-1]] *= 0.0 if pattern[-1].sum() > 1 else 1.0
        lengths = np.linalg.norm(A, axis=1)
        unit = A / lengths[:, None]
        if np.linalg.cond(unit) > 1e4:
            continue
        checked += 1
        x, pivots, *Z = (value.full() for value in function.call([A, b]))
        exact = np.linalg.pinv(unit) @ (b / lengths[:, None])
        np.testing.assert_allclose(x, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())
        # The product of the pivots is the volume that the rows span.
        volume = np.sqrt(np.linalg.det(unit @ unit.T))
        np.testing.assert_allclose(np.prod(pivots.ravel() / lengths), volume, rtol=1e-7)
        for basis in Z:
            np.testing.assert_allclose(A @ basis, 0.0, atol=1e-14 * np.abs(A).max() * n)
            np.testing.assert_allclose(basis.T @ basis, np.eye(n - m), atol=1e-14 * n)
    assert checked >= 3


def test_rotations_of_a_band_grow_with_its_length_alone() -> None:
    def operations(n: int) -> int:
        near = np.abs(np.subtract.outer(np.arange(n), np.arange(n + 1) - 0.5)) < 2.0
        return GivensQr.plan_of(ca.SX(ca.DM(near.astype(float)))).operations

    # From 40 to 160 rows four times as many, where a full matrix takes 64 times.
    assert operations(160) < 4.2 * operations(40)


def test_rows_that_no_rotation_factorizes_are_named() -> None:
    assert GivensQr.of(ca.SX(0, 3)).solve(ca.SX(0, 2)).shape == (3, 2)
    with pytest.raises(ModelError, match=r"no more rows than columns can be factorized, got shape \(3, 2\)"):
        GivensQr.of(ca.SX.sym("A", 3, 2))
    dependent = ca.SX.sym("A", 2, 3)
    dependent[:, 1:] = 0
    with pytest.raises(ModelError, match="depends on the others by the pattern"):
        GivensQr.of(dependent)
