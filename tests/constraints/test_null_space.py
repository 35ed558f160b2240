"""Null spaces by three methods: orthonormal, complete, of the right rank, continuous, with counted operations."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import linalg

from erugin.constraints import NullSpace, NullSpaceMethod, align_basis, null_space
from erugin.constraints.curves.path_geometry import normal_frame
from erugin.constraints.null_space import Reflections, recurrent_operations
from erugin.symbolic import Kernel, ModelError, ShapeError

Array = NDArray[np.float64]


def test_it_is_the_nearest_basis() -> None:
    rng = np.random.default_rng(10)
    for _ in range(20):
        old, new = null_space(rng.normal(size=(2, 6))), null_space(rng.normal(size=(2, 6)))
        rotation, _ = linalg.orthogonal_procrustes(new, old)
        np.testing.assert_allclose(align_basis(new, old), new @ rotation, atol=1e-13)


def test_a_turning_row_gives_no_jump_and_the_transported_basis() -> None:
    """A cone of rows with opening angle β: over one turn the basis comes back turned by the solid angle.

    Parallel transport on the sphere, 2π(1 − cos β): truth from the Gauss–Bonnet theorem.
    """
    opening, steps = 1.9, 4000
    turn = np.linspace(0.0, 2.0 * np.pi, steps + 1)
    rows = np.column_stack(
        [np.full(steps + 1, np.cos(opening)), np.sin(opening) * np.cos(turn), np.sin(opening) * np.sin(turn)]
    )
    first = basis = null_space(rows[:1], "recurrent")
    jumps, raw = list[float](), list[Array]()
    for row in rows[1:]:
        plain = null_space([row], "recurrent")
        raw.append(plain)
        after = align_basis(plain, basis)
        jumps.append(float(np.abs(after - basis).max()))
        basis = after
    assert max(jumps) < 2.0 * np.pi / steps
    holonomy = first.T @ basis
    angle = np.arctan2(holonomy[1, 0], holonomy[0, 0])
    expected = 2.0 * np.pi * (1.0 - np.cos(opening))
    assert (
        abs((angle - expected + np.pi) % (2.0 * np.pi) - np.pi) < 1e-5
        or abs((angle + expected + np.pi) % (2.0 * np.pi) - np.pi) < 1e-5
    )


def test_a_flip_of_sign_is_taken_out() -> None:
    """At a change of the sign of γ₀ the recurrent basis jumps, its projector does not."""
    before, after = null_space([[1e-9, 1.0, 0.5]], "recurrent"), null_space([[-1e-9, 1.0, 0.5]], "recurrent")
    assert np.abs(after - before).max() > 0.5
    np.testing.assert_allclose(align_basis(after, before), before, atol=1e-8)


def test_bad_bases_are_named() -> None:
    with pytest.raises(ShapeError, match=r"one shape \(n, k\), got \(3, 1\) and \(3, 2\)"):
        align_basis(np.eye(3)[:, :1], np.eye(3)[:, :2])
    with pytest.raises(ModelError, match="turned by 90 degrees"):
        align_basis(np.eye(3)[:, :1], np.eye(3)[:, 1:2])
    with pytest.raises(ShapeError, match="must be finite"):
        align_basis(np.eye(3)[:, :1], np.full((3, 1), np.nan))
    assert align_basis(np.zeros((2, 0)), np.zeros((2, 0))).shape == (2, 0)


METHODS: tuple[NullSpaceMethod, ...] = ("svd", "recurrent", "qr")
BY_METHOD = pytest.mark.parametrize("method", METHODS)


def larin(gamma: Array) -> Array:
    """[−γ*ᵀ; E − γ*γ*ᵀ/(1 + γ₀)], eq. (3.2) with its slip corrected, of a unit row."""
    rest = gamma[1:]
    return np.vstack([-rest, np.eye(len(rest)) - np.outer(rest, rest) / (1.0 + gamma[0])])


def normal_frame_of_numbers(tangent: Array) -> Array:
    symbol = ca.SX.sym("tangent", len(tangent))
    kernel = Kernel("frame", {"tangent": symbol}, {"N": normal_frame(symbol, 1)}, compiled=False)
    return kernel(tangent)[0]


def unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x))


@BY_METHOD
def test_bases_are_orthonormal_and_complete(method: NullSpaceMethod) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 15))
        rank = int(rng.integers(0, n + 1))
        m = rank + int(rng.integers(0, 6))
        theta = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)) * 10.0 ** rng.uniform(-5, 5, (m, 1))
        V2 = null_space(theta, method)
        assert V2.shape == (n, n - rank)
        np.testing.assert_allclose(V2.T @ V2, np.eye(n - rank), atol=1e-14)
        lengths = np.linalg.norm(theta, axis=1, keepdims=True)
        np.testing.assert_allclose(theta @ V2 / np.where(lengths > 0.0, lengths, 1.0), 0.0, atol=2e-14 if rank else 0.0)
        # Against SciPy, up to a rotation: the projectors are equal.
        there = linalg.null_space(theta / np.where(lengths > 0.0, lengths, 1.0), rcond=1e-10)
        np.testing.assert_allclose(V2 @ V2.T, there @ there.T, atol=1e-11)


@BY_METHOD
def test_normal_completes_the_basis(method: NullSpaceMethod) -> None:
    theta = np.random.default_rng(2).normal(size=(3, 7))
    split = NullSpace.of(np.vstack([theta, theta[0] - 2.0 * theta[2]]), method)
    V = np.column_stack([split.normal, split.basis])
    np.testing.assert_allclose(V.T @ V, np.eye(7), atol=1e-14)
    assert split.rank == 3
    assert split.dependent_rows == (3,)
    assert (split.method, len(split.singular_values)) == (method, 4 if method == "svd" else 0)


def test_one_row_is_the_printed_form() -> None:
    rng = np.random.default_rng(3)
    for n in range(1, 9):
        for _ in range(20):
            row = rng.normal(size=n)
            gamma = unit(row) if row[0] >= 0.0 else -unit(row)
            np.testing.assert_allclose(null_space([row], "recurrent"), larin(gamma), atol=1e-15)


def test_several_rows_are_the_printed_product() -> None:
    """V₂₁ V₂₂ V₂₃ multiplied out, with the rows that are left taken from the reduced matrix each time."""
    theta = np.random.default_rng(4).normal(size=(3, 6))
    product, rest = np.eye(6), theta
    for _ in range(3):
        row = unit(rest[0])
        factor = larin(row if row[0] >= 0.0 else -row)
        product, rest = product @ factor, rest[1:] @ factor
    np.testing.assert_allclose(null_space(theta, "recurrent"), product, atol=1e-15)


def test_normals_of_curves_are_the_same_form() -> None:
    """The normal frame of a tangent is its V₂, up to the sign of one column that orients it."""
    rng = np.random.default_rng(5)
    for n in (3, 4, 5):
        for _ in range(10):
            tangent = unit(rng.normal(size=n))
            tangent[0] = abs(tangent[0])
            frame = normal_frame_of_numbers(tangent)
            V2 = null_space([tangent], "recurrent")
            np.testing.assert_allclose(np.abs(frame.T @ V2), np.eye(n - 1), atol=1e-14)
            np.testing.assert_allclose(frame[:, 1:], V2[:, 1:], atol=1e-14)


@pytest.mark.parametrize("distance", [0.0, 1e-16, 1e-12, 1e-8, 1e-4])
def test_the_hanging_pendulum_is_no_exception(distance: float) -> None:
    """γ₀ = −1 and near: the printed form loses orthogonality there, like 6e-16/(1 + γ₀)."""
    gamma = np.array([-1.0, np.sqrt(2.0 * distance), 0.0])
    gamma /= np.linalg.norm(gamma)
    for row in (gamma, -gamma):
        V2 = null_space([row], "recurrent")
        np.testing.assert_allclose(V2.T @ V2, np.eye(2), atol=1e-15)
        np.testing.assert_allclose(row @ V2, 0.0, atol=1e-15)
    if 0.0 < 1.0 + gamma[0] < 1e-7:
        printed = larin(gamma)
        assert np.abs(printed.T @ printed - np.eye(2)).max() > 1e-9


@BY_METHOD
def test_a_dependent_row_is_found_and_costs_no_freedom(method: NullSpaceMethod) -> None:
    rng = np.random.default_rng(6)
    independent = rng.normal(size=(3, 8))
    rows = np.vstack([independent[:2], 3.0 * independent[0] - independent[1], np.zeros(8), independent[2:]])
    split = NullSpace.of(rows, method)
    assert split.dependent_rows == (2, 3)
    assert split.basis.shape == (8, 5)
    assert split.remainders[0] == pytest.approx(1.0, abs=1e-15)
    assert split.remainders[2] < 1e-15
    assert split.remainders[3] == 0.0
    assert split.remainders[4] > 0.1
    np.testing.assert_allclose(
        split.basis @ split.basis.T, np.eye(8) - linalg.orth(rows.T) @ linalg.orth(rows.T).T, atol=1e-14
    )


@BY_METHOD
def test_tolerance_decides_what_is_dependent(method: NullSpaceMethod) -> None:
    rows = np.array([[1.0, 0.0, 0.0], [1.0, 1e-6, 0.0]])
    assert null_space(rows, method).shape == (3, 1)
    assert null_space(rows, method, tolerance=1e-4).shape == (3, 2)


@BY_METHOD
def test_units_of_rows_do_not_matter(method: NullSpaceMethod) -> None:
    theta = np.random.default_rng(7).normal(size=(3, 5))
    scaled = theta * np.array([[1e-3], [1.0], [1e4]])
    np.testing.assert_allclose(null_space(scaled, method), null_space(theta, method), atol=1e-13)
    for extreme in (1e-300, 1e300):
        np.testing.assert_allclose(null_space(extreme * theta, method), null_space(theta, method), atol=1e-13)
    # Rounding beside a row of length one is no row.
    assert null_space([[1.0, 0.0, 0.0], [0.0, 1e-17, 0.0]], method).shape == (3, 2)


@BY_METHOD
@pytest.mark.parametrize(
    ("theta", "shape"),
    [
        (np.zeros((0, 3)), (3, 3)),
        (np.zeros((2, 3)), (3, 3)),
        (np.eye(3), (3, 0)),
        (np.vstack([np.eye(3), np.ones((4, 3))]), (3, 0)),
        ([[2.0]], (1, 0)),
        ([[0.0]], (1, 1)),
        ([[-2.0], [1.0]], (1, 0)),
        ([[-1.0, 0.0]], (2, 1)),
    ],
)
def test_limiting_sizes(method: NullSpaceMethod, theta: Array, shape: tuple[int, int]) -> None:
    split = NullSpace.of(theta, method)
    assert split.basis.shape == shape
    assert len(split.dependent_rows) == len(np.asarray(theta)) - split.rank
    np.testing.assert_allclose(split.basis.T @ split.basis, np.eye(shape[1]), atol=1e-15)


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(st.integers(-4, 4), min_size=n, max_size=n), max_size=7)))
def test_ranks_and_dependent_rows_are_those_of_exact_arithmetic(rows: list[list[int]]) -> None:
    if not rows:
        return
    theta = np.array(rows, dtype=np.float64)
    ranks = [0, *(int(sympy.Matrix(rows[: i + 1]).rank()) for i in range(len(rows)))]
    dependent = tuple(i for i in range(len(rows)) if ranks[i + 1] == ranks[i])
    projectors: list[Array] = []
    for method in METHODS:
        split = NullSpace.of(theta, method)
        assert split.rank == ranks[-1]
        assert split.dependent_rows == dependent
        np.testing.assert_allclose(split.basis.T @ split.basis, np.eye(theta.shape[1] - split.rank), atol=1e-14)
        projectors.append(split.basis @ split.basis.T)
    np.testing.assert_allclose(projectors[1], projectors[0], atol=1e-12)
    np.testing.assert_allclose(projectors[2], projectors[0], atol=1e-12)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (1, 7), (3, 7), (6, 7), (5, 5)])
def test_the_product_of_reflections_is_the_triangularization_that_lapack_does(m: int, n: int) -> None:
    rows = np.random.default_rng(11).normal(size=(m, n))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    reflections = Reflections.of_rows(rows, 1e-10)
    np.testing.assert_allclose(null_space(rows, "recurrent"), reflections.columns(m, n), atol=1e-14)


@BY_METHOD
def test_many_more_rows_than_columns(method: NullSpaceMethod) -> None:
    """20,000 rows of rank 2 in three columns; a square matrix of that size would need 3 GB."""
    rng = np.random.default_rng(12)
    theta = rng.normal(size=(20_000, 2)) @ np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    split = NullSpace.of(theta, method)
    np.testing.assert_allclose(np.abs(split.basis[:, 0]), np.array([2.0, 1.0, 1.0]) / np.sqrt(6.0), atol=1e-14)
    assert split.dependent_rows[:2] == (2, 3)
    assert split.rank == 2


def test_whole_numbers_are_rows_as_well() -> None:
    whole = np.array([[3, 4, 0], [0, 2, 1]])
    np.testing.assert_array_equal(null_space(whole), null_space(whole.astype(np.float64)))


def test_results_are_read_only_and_inputs_untouched() -> None:
    theta = np.array([[3.0, 4.0, 0.0]])
    V2 = null_space(theta, "recurrent")
    with pytest.raises(ValueError, match="read-only"):
        V2[0, 0] = 1.0
    np.testing.assert_array_equal(theta, [[3.0, 4.0, 0.0]])


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([1.0, 2.0], r"shape \(m, n\).*got shape \(2,\)"),
        (np.zeros((2, 0)), r"n at least 1, got shape \(2, 0\)"),
        ([[1.0, np.nan]], r"theta\[0, 1\] is nan"),
        ([["a"]], "matrix of numbers"),
        ([[1.0, 2.0], [3.0]], "matrix of numbers"),
    ],
)
def test_bad_matrices_are_named(theta: object, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        null_space(theta)  # type: ignore[arg-type]


def test_bad_options_are_named() -> None:
    with pytest.raises(ModelError, match=r"unknown method of null_space 'svq'\. Did you mean 'svd'"):
        null_space(np.eye(2), "svq")  # type: ignore[arg-type]
    for tolerance in (0.0, -1e-3, np.inf, 1.0, 3.0):
        with pytest.raises(ModelError, match="tolerance"):
            null_space(np.eye(2), tolerance=tolerance)


def test_reflections_hold_the_whole_orthogonal_matrix() -> None:
    rows = np.linalg.qr(np.random.default_rng(9).normal(size=(6, 4))).Q.T
    reflections = Reflections.of_rows(rows, 1e-10)
    V = reflections.columns(0, 6)
    np.testing.assert_allclose(V.T @ V, np.eye(6), atol=1e-15)
    # The rows were orthonormal already, so that V₁ is theirs up to signs.
    np.testing.assert_allclose(np.abs(rows @ V), np.eye(4, 6), atol=1e-15)


class Counted:
    """A number that counts the multiplications and divisions it takes part in."""

    count = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def __mul__(self, other: Counted) -> Counted:
        Counted.count += 1
        return Counted(self.value * other.value)

    def __truediv__(self, other: Counted) -> Counted:
        Counted.count += 1
        return Counted(self.value / other.value)

    def __add__(self, other: Counted) -> Counted:
        return Counted(self.value + other.value)

    def __sub__(self, other: Counted) -> Counted:
        return Counted(self.value - other.value)


def dot(x: list[Counted], y: list[Counted]) -> Counted:
    return sum((a * b for a, b in zip(x[1:], y[1:], strict=True)), start=x[0] * y[0])


def by_scalars(theta: Array) -> Array:
    """The recurrence for independent rows, written out number by number."""
    m, n = theta.shape
    rest = [[Counted(float(x)) for x in row] for row in theta]
    for i, row in enumerate(rest):
        length = Counted(float(np.sqrt(dot(row, row).value)))
        rest[i] = [x / length for x in row]
    factors: list[tuple[list[Counted], list[Counted]]] = []
    for i in range(m):
        row = rest[i]
        length = Counted(float(np.copysign(np.sqrt(dot(row, row).value), row[0].value)))
        g = [x / length for x in row]
        g[0] = g[0] + Counted(1.0)
        scaled = [x / g[0] for x in g]
        for j in range(i + 1, m):
            along = dot(rest[j], g)
            rest[j] = [x - along * y for x, y in zip(rest[j], scaled, strict=True)][1:]
        factors.append((g, scaled))
    columns = [[Counted(float(i == j)) for i in range(n)] for j in range(m, n)]
    for i in reversed(range(m)):
        g, _ = factors[i]
        scaled = [x / g[0] for x in g]
        for column in columns:
            along = dot(g, column[i:])
            column[i:] = [x - along * y for x, y in zip(column[i:], scaled, strict=True)]
    return np.array([[x.value for x in column] for column in columns]).T


@pytest.mark.parametrize(("m", "n"), [(1, 2), (1, 7), (3, 7), (6, 7)])
def test_operations_are_counted_as_they_are_made(m: int, n: int) -> None:
    theta = np.random.default_rng(8).normal(size=(m, n))
    Counted.count = 0
    V2 = by_scalars(theta)
    np.testing.assert_allclose(V2, null_space(theta, "recurrent"), atol=1e-14)
    assert recurrent_operations(m, n, m) == Counted.count
