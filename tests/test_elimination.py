"""Elimination without exchange of rows, near the identity, against NumPy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.symbolic import Kernel, ModelError
from erugin.symbolic.elimination import Elimination


@pytest.mark.parametrize("n", [1, 2, 5, 9])
@pytest.mark.parametrize("k", [1, 3])
def test_solutions_are_those_of_numpy(n: int, k: int) -> None:
    """Rows of A − E that sum to one half in absolute value, the limit of what is promised."""
    A, B = ca.SX.sym("A", n, n), ca.SX.sym("B", n, k)
    factors = Elimination.of(A)
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
    assert Elimination.of(ca.SX(0, 0)).solve(ca.SX(0, 2)).shape == (0, 2)
    with pytest.raises(ModelError, match=r"square matrix can be factorized, got shape \(2, 3\)"):
        Elimination.of(ca.SX.sym("A", 2, 3))
