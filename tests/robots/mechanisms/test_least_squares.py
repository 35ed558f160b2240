"""Newton's methods by themselves, on equations whose solutions are known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots.least_squares import descend, gauss_newton

Array = NDArray[np.float64]


def test_a_regular_root_is_found_quadratically() -> None:
    """x² = 2, y³ = 3 from nearby: the number of right digits doubles in each step."""
    misses: list[float] = []
    for steps in (1, 2, 3, 4):
        found = gauss_newton(
            lambda x: (np.array([x[0] ** 2 - 2, x[1] ** 3 - 3]), np.diag([2 * x[0], 3 * x[1] ** 2])),
            np.array([1.5, 1.5]),
            iterations=steps,
        )
        misses.append(float(np.abs(found.x - [np.sqrt(2), np.cbrt(3)]).max()))
    assert misses[3] < 1e-15
    assert all(after < 1.5 * before**2 for before, after in itertools.pairwise(misses[:3]))


def test_of_many_roots_the_nearest_is_found() -> None:
    """One equation in three unknowns, a plane: its foot."""
    normal = np.array([1.0, 2.0, -2.0])
    found = gauss_newton(lambda x: (np.array([normal @ x - 9.0]), normal[None, :]), np.zeros(3))
    np.testing.assert_allclose(found.x, normal, atol=1e-14)
    assert found.iterations == 1


def test_dependent_rows_cost_no_speed() -> None:
    """The same circle twice, and once scaled: rank one of three, still quadratic."""

    def circle(x: Array) -> tuple[Array, Array]:
        scale = np.array([1.0, 1.0, -3.0])
        return scale * (x @ x - 1.0), np.outer(scale, 2 * x)

    found = gauss_newton(circle, np.array([3.0, 4.0]))
    np.testing.assert_allclose(found.x, [0.6, 0.8], atol=1e-15)
    assert found.iterations < 9


def test_a_double_root_is_found_to_the_root_of_rounding() -> None:
    found = gauss_newton(lambda x: ((x - 1.0) ** 2, np.diag(2 * (x - 1.0))), np.array([4.0]))
    assert abs(found.x[0] - 1.0) < 1e-7
    assert found.size < 1e-15


def test_steps_are_limited() -> None:
    places: list[float] = []

    def line(x: Array) -> tuple[Array, Array]:
        places.append(float(x[0]))
        return x - 10.0, np.eye(1)

    assert gauss_newton(line, np.zeros(1), step_limit=0.75).x[0] == 10.0
    assert np.abs(np.diff(places)).max() <= 0.75
    assert len(places) > 13


def test_moves_follow_a_curved_space() -> None:
    """A point of the unit circle, moved by turning it."""

    def turn(x: Array, step: Array) -> Array:
        c, s = np.cos(step[0]), np.sin(step[0])
        return np.array([c * x[0] - s * x[1], s * x[0] + c * x[1]])

    found = gauss_newton(lambda x: (np.array([x[1] - 0.5]), np.array([[x[0]]])), np.array([1.0, 0.0]), move=turn)
    np.testing.assert_allclose(found.x, [np.sqrt(0.75), 0.5], atol=1e-15)


def test_a_ridge_is_given_up() -> None:
    """r = 1 + x² has no root: the search ends, and says where."""
    found = gauss_newton(lambda x: (1 + x**2, np.diag(2 * x)), np.array([3.0]), step_limit=0.5)
    assert found.iterations < 100
    assert found.size >= 1.0


def quartic(x: Array) -> tuple[Array, Array, Array]:
    """r = (x² − 1, y, 1): a saddle at 0, two minima at (±1, 0) with f = ½."""
    r = np.array([x[0] ** 2 - 1, x[1], 1.0])
    g = np.array([2 * x[0] * r[0], x[1]])
    return r, g, np.diag([6 * x[0] ** 2 - 2, 1.0])


@pytest.mark.parametrize("start", [[0.0, 0.0], [0.0, 3.0], [1e-9, -2.0], [0.3, 0.1], [-5.0, 5.0]])
def test_saddles_are_left_for_a_minimum(start: list[float]) -> None:
    found = descend(quartic, np.array(start), step_limit=0.5)
    np.testing.assert_allclose(np.abs(found.x), [1.0, 0.0], atol=1e-9)
    assert abs(found.size - 1.0) < 1e-15
    assert found.iterations < 40


def test_negative_curvature_is_descended_with_its_own_size() -> None:
    """For H = −1.46 the first step is g/|H|, with no limit to shorten it."""
    found = descend(quartic, np.array([0.3, 0.0]), iterations=1)
    assert abs(found.x[0] - (0.3 + 2 * 0.3 * 0.91 / 1.46)) < 1e-15


def test_a_minimum_that_does_not_vanish_is_found_quadratically() -> None:
    """r = (x, x² − 3): f' = x + 2x (x² − 3) = 0 at x² = 5/2."""

    def curve(x: Array) -> tuple[Array, Array, Array]:
        r = np.array([x[0], x[0] ** 2 - 3])
        return r, np.array([x[0] + 2 * x[0] * r[1]]), np.array([[1 + 6 * x[0] ** 2 - 6]])

    found = descend(curve, np.array([1.8]))
    # It stops at a slope of 1e-10 of the largest that there could be.
    assert abs(found.x[0] - np.sqrt(2.5)) < 1e-10
    assert found.iterations < 7


def test_what_is_not_finite_ends_the_search() -> None:
    with np.errstate(invalid="ignore"):
        found = gauss_newton(lambda x: (np.sqrt(x), np.diag(0.5 / np.sqrt(x))), np.array([-1.0]))
    assert found.size == np.inf
    assert found.iterations == 0
    nothing = descend(lambda x: (np.array([np.nan]), np.zeros(1), np.zeros((1, 1))), np.array([2.0]))
    assert nothing.iterations == 0
