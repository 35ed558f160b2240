"""Factorizations against NumPy: LDLᵀ, semidefinite LDLᵀ, and elimination of expressions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.symbolic import Kernel, Ldl, ModelError
from erugin.symbolic.linear_algebra import GivensQr, Lu, SemidefiniteLdl


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
    with pytest.raises(ModelError, match=r"the matrix must be square, got shape \(2, 3\)"):
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
    with pytest.raises(ModelError, match=r"must not have more rows than columns, got shape \(3, 2\)"):
        GivensQr.of(ca.SX.sym("A", 3, 2))
    dependent = ca.SX.sym("A", 2, 3)
    dependent[:, 1:] = 0
    with pytest.raises(ModelError, match="depends on the others by the pattern"):
        GivensQr.of(dependent)


Array = NDArray[np.float64]

SIZES = list(range(1, 9))


def random_spd(rng: np.random.Generator, n: int) -> Array:
    """A symmetric positive definite matrix with a condition of at most a thousand."""
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = Q @ np.diag(10.0 ** rng.uniform(-1.5, 1.5, n)) @ Q.T
    return np.array(0.5 * (A + A.T))


def factorize_ldl(n: int, k: int = 3) -> Kernel:
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
    kernel, rng = factorize_ldl(n), np.random.default_rng(n)
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
    kernel, rng = factorize_ldl(4), np.random.default_rng(0)
    A, b = random_spd(rng, 4), rng.normal(size=(4, 3))
    for clean, dirty in zip(kernel(A, b), kernel(np.tril(A) + np.triu(rng.normal(size=(4, 4)), 1), b), strict=True):
        np.testing.assert_array_equal(clean, dirty)
    assert not np.array_equal(kernel(A, b)[3], kernel(A + np.tril(rng.normal(size=(4, 4)), -1), b)[3])


@pytest.mark.parametrize("k", [0, 1, 2])
def test_any_number_of_right_sides(k: int) -> None:
    A = random_spd(np.random.default_rng(1), 3)
    b = np.arange(3.0 * k).reshape(3, k) + 1.0
    x = full(factorize_ldl(3, k)(A, b[:, 0] if k == 1 else b)[3], 3, k)
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
    return full(factorize_ldl(m)(theta @ np.linalg.solve(M, theta.T), np.zeros((m, 3)))[2], m)


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


N = 5


def factorize_semidefinite(n: int = N, *, scaled: bool = False) -> Kernel:
    """A, b, scale → L D Lᵀ, pivots, kept, least-norm and basic solution."""
    A, b, scale = ca.SX.sym("A", n, n), ca.SX.sym("b", n, 2), ca.SX.sym("scale", n)
    factor = SemidefiniteLdl.of(A, scale if scaled else None)
    outputs = {
        "product": factor.lower @ ca.diag(factor.pivots * factor.independent) @ factor.lower.T,
        "pivots": factor.pivots,
        "kept": factor.independent,
        "x": factor.solve(b),
        "basic": factor.basic(b),
    }
    return Kernel("semidefinite", {"A": A, "b": b, "scale": scale}, outputs, compiled=False)


KERNEL = factorize_semidefinite()


def rows_of_rank(seed: int, rank: int) -> Array:
    """N rows of which the last ones depend on the first ones, in a random order, one of them zero if there is room."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(rank, 7))
    rest = rng.normal(size=(N - rank, rank)) @ rows
    if len(rest):
        rest[0] = 0.0
    return np.asarray(np.vstack([rows, rest])[rng.permutation(N)], dtype=np.float64)


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
    kernel = factorize_semidefinite(scaled=True)
    assert kernel(A, b, np.diag(A))[2][1] == 1.0
    assert kernel(A, b, np.ones(N))[2][1] == 0.0


@pytest.mark.parametrize("place", [(0, 0), (2, 1), (3, 3)])
def test_nan_is_not_taken_for_a_zero_pivot(place: tuple[int, int]) -> None:
    A = np.eye(N)
    A[place] = np.nan
    assert np.isnan(KERNEL(A, np.ones((N, 2)), np.ones(N))[3]).any()


def test_what_cannot_be_factorized() -> None:
    with pytest.raises(ModelError, match=r"the matrix must be square, got shape \(2, 3\)"):
        SemidefiniteLdl.of(ca.SX.sym("A", 2, 3))
    with pytest.raises(ModelError, match=r"scale must have shape \(2,\), one entry for each pivot, got shape \(3, 1\)"):
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
