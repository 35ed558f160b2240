"""The LDLᵀ factorization against NumPy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.symbolic import Kernel, Ldl, ModelError

Array = NDArray[np.float64]

SIZES = list(range(1, 9))


def random_spd(rng: np.random.Generator, n: int) -> Array:
    """A symmetric positive definite matrix with a condition of at most a thousand."""
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = Q @ np.diag(10.0 ** rng.uniform(-1.5, 1.5, n)) @ Q.T
    return np.array(0.5 * (A + A.T))


def factorize(n: int, k: int = 3) -> Kernel:
    """A, b → L, D, relative pivots and x with A x = b, shape (n, k)."""
    A, b = ca.SX.sym("A", n, n), ca.SX.sym("b", n, k)
    ldl = Ldl.of(A)
    outputs = {"lower": ldl.lower, "diagonal": ldl.diagonal, "relative": ldl.relative_pivots, "x": ldl.solve(b)}
    return Kernel("ldl", {"A": A, "b": b}, outputs, compiled=False)


def full(array: Array, *shape: int) -> Array:
    """The array with the axes that a kernel leaves out for single columns."""
    return array.reshape(shape, order="F")


@pytest.mark.parametrize("n", SIZES)
def test_factors_and_solution(n: int) -> None:
    kernel, rng = factorize(n), np.random.default_rng(n)
    for _ in range(20):
        A, b = random_spd(rng, n), rng.normal(size=(n, 3))
        lower, diagonal, _, x = kernel(A, b)
        L, D = full(lower, n, n), full(diagonal, n)
        np.testing.assert_allclose(L @ np.diag(D) @ L.T, A, rtol=0.0, atol=1e-12 * np.abs(A).max())
        np.testing.assert_array_equal(np.triu(L, 1), np.zeros((n, n)))
        np.testing.assert_array_equal(np.diag(L), np.ones(n))
        assert (D > 0.0).all()
        # The pivots are the ratios of leading minors.
        minors = [1.0, *(float(np.linalg.det(A[:i, :i])) for i in range(1, n + 1))]
        np.testing.assert_allclose(D, np.divide(minors[1:], minors[:-1]), rtol=1e-9)
        expected = np.linalg.solve(A, b)
        np.testing.assert_allclose(full(x, n, 3), expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


def test_only_the_lower_triangle_is_read() -> None:
    kernel, rng = factorize(4), np.random.default_rng(0)
    A, b = random_spd(rng, 4), rng.normal(size=(4, 3))
    for clean, dirty in zip(kernel(A, b), kernel(np.tril(A) + np.triu(rng.normal(size=(4, 4)), 1), b), strict=True):
        np.testing.assert_array_equal(clean, dirty)
    assert not np.array_equal(kernel(A, b)[3], kernel(A + np.tril(rng.normal(size=(4, 4)), -1), b)[3])


@pytest.mark.parametrize("k", [0, 1, 2])
def test_any_number_of_right_sides(k: int) -> None:
    A = random_spd(np.random.default_rng(1), 3)
    b = np.arange(3.0 * k).reshape(3, k) + 1.0
    x = full(factorize(3, k)(A, b[:, 0] if k == 1 else b)[3], 3, k)
    np.testing.assert_allclose(A @ x, b, rtol=1e-11)


def test_no_rows_at_all() -> None:
    ldl = Ldl.of(ca.SX(0, 0))
    assert ldl.diagonal.shape == ldl.relative_pivots.shape == (0, 1)
    assert ldl.solve(ca.SX(0, 1)).shape == (0, 1)
    assert ldl.solve(ca.SX(0, 4)).shape == (0, 4)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (3, 1), (0, 1)])
def test_only_square_matrices(shape: tuple[int, int]) -> None:
    with pytest.raises(ModelError, match=rf"got shape \({shape[0]}, {shape[1]}\)"):
        Ldl.of(ca.SX.sym("A", *shape))


# Pivots as angles ----------------------------------------------------------------------------------------------------


def squared_sines(theta: Array, M: Array) -> Array:
    """Of the angles between each row and the span of those before it, in the metric M⁻¹, by projection."""
    # With M = C Cᵀ the rows of Θ C⁻ᵀ have the ordinary scalar products Θ M⁻¹ Θᵀ.
    rows = np.linalg.solve(np.linalg.cholesky(M), theta.T).T
    sines = [1.0]
    for i in range(1, len(rows)):
        Q = np.linalg.qr(rows[:i].T)[0]
        sines.append(float(np.sum((rows[i] - Q @ (Q.T @ rows[i])) ** 2) / np.sum(rows[i] ** 2)))
    return np.array(sines)


def relative_pivots(theta: Array, M: Array) -> Array:
    """Those of K = Θ M⁻¹ Θᵀ."""
    m = len(theta)
    return full(factorize(m)(theta @ np.linalg.solve(M, theta.T), np.zeros((m, 3)))[2], m)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 4), (2, 2), (2, 5), (3, 4), (5, 6), (6, 6)])
def test_relative_pivots_are_squared_sines(m: int, n: int) -> None:
    rng = np.random.default_rng(100 * m + n)
    for _ in range(30):
        theta, M = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-2, 2, (m, 1)), random_spd(rng, n)
        pivots = relative_pivots(theta, M)
        np.testing.assert_allclose(pivots, squared_sines(theta, M), rtol=0.0, atol=1e-10)
        assert pivots[0] == 1.0
        assert (pivots >= -1e-14).all()
        assert (pivots <= 1.0 + 1e-14).all()
        if m > 1:
            # In another metric the angles are others.
            assert np.abs(pivots - squared_sines(theta, np.eye(n))).max() > 1e-6


@pytest.mark.parametrize("angle", [1e-3, 0.1, 0.5, 1.0, np.pi / 2])
def test_relative_pivot_of_a_known_angle(angle: float) -> None:
    theta = np.array([[3.0, 0.0, 0.0], [np.cos(angle), np.sin(angle), 0.0]])
    np.testing.assert_allclose(relative_pivots(theta, np.eye(3)), [1.0, np.sin(angle) ** 2], rtol=1e-9)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_dependent_rows_have_no_pivot(m: int) -> None:
    rng = np.random.default_rng(m)
    for _ in range(20):
        theta, M = rng.normal(size=(m, m + 1)), random_spd(rng, m + 1)
        assert relative_pivots(theta, M)[-1] > 1e-8
        theta[-1] = -3.0 * theta[0]
        assert abs(relative_pivots(theta, M)[-1]) < 1e-12
        theta[-1] = rng.normal(size=m - 1) @ theta[:-1]
        assert abs(relative_pivots(theta, M)[-1]) < 1e-12


@pytest.mark.parametrize("row", [0, 1, 2])
def test_row_that_vanishes_has_no_pivot(row: int) -> None:
    theta = np.random.default_rng(row).normal(size=(3, 4))
    theta[row] = 0.0
    pivots = relative_pivots(theta, np.eye(4))
    assert pivots[row] == 0.0
    assert (pivots[:row] > 1e-8).all()
