"""Lines, circles and splines against plain geometry."""

from __future__ import annotations

import functools
import itertools
import math

import casadi as ca
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from erugin.constraints import circle, line, spline
from erugin.constraints.curves import Spline
from erugin.symbolic import Kernel, ParameterError

from ...support.curves import (
    SAMPLES,
    SPLINES,
    any_direction,
    course,
    floats,
    functions,
    jacobian,
    kernel,
    progress,
    slopes,
    tangent_of_numbers,
)

# Lines ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_line_in_any_direction_runs_from_its_start_to_its_end(n: int) -> None:
    rng = np.random.default_rng(n)
    ends = [(rng.normal(size=n), rng.normal(size=n)) for _ in range(12)]
    ends += [(np.ones(n), np.ones(n) + sign * axis) for axis in np.eye(n) for sign in (1.0, -1.0)]
    for a, b in ends:
        curve = line(floats(a), floats(b))
        ahead = (b - a) / np.linalg.norm(b - a)
        J = jacobian(curve, a)
        np.testing.assert_allclose(tangent_of_numbers(J), ahead, atol=1e-12)
        np.testing.assert_allclose(J @ J.T, np.eye(n - 1), atol=1e-12)
        x = a + rng.normal(size=n)
        along_it = (x - a) @ ahead
        assert progress(curve, x) == pytest.approx(along_it, abs=1e-12)
        assert np.linalg.norm(functions(curve, x)) == pytest.approx(np.linalg.norm(x - a - along_it * ahead))


def test_in_the_plane_the_right_hand_side_of_a_path_is_positive() -> None:
    assert functions(line((0, 0), (1, 0)), np.array([0.5, -0.2])) == pytest.approx([0.2])
    assert functions(line((0, 0), (0, 3)), np.array([0.2, 1.0])) == pytest.approx([0.2])


def test_a_line_obeys_its_parameters() -> None:
    curve = line((0, 0), (1, 0), name="path")
    assert curve.parameters.names == ("path.start_x", "path.start_y", "path.end_x", "path.end_y")
    values = curve.parameters.values({"path.end_x": 0.0, "path.end_y": 2.0})
    assert float(kernel(curve)(np.array([0.2, 1.0]), 0.0, values)[0]) == pytest.approx(0.2)


# Circles -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_circle_is_positive_outside(n: int) -> None:
    rng = np.random.default_rng(n)
    center, velocity = rng.normal(size=n), rng.normal(size=n)
    curve = circle(floats(center), 0.6, velocity=floats(velocity))
    for distance in (0.0, 0.1, 0.5, 0.7, 3.0):
        t = float(rng.uniform(-2.0, 2.0))
        x = center + velocity * t + distance * any_direction(n, float(rng.uniform()))
        assert functions(curve, x, t) == pytest.approx([distance - 0.6], abs=1e-9)
    assert np.isfinite(jacobian(curve, center)).all()


@pytest.mark.parametrize("n", [2, 3])
def test_the_time_derivative_of_a_drifting_circle(n: int) -> None:
    """f_t = -∇f·u at any place."""
    rng = np.random.default_rng(n)
    drift = rng.normal(size=n)
    curve = circle(floats(rng.normal(size=n)), 0.6, velocity=floats(drift))
    x, t = ca.SX.sym("x", n), ca.SX.sym("t")
    rate = ca.jacobian(curve.functions(x, t), t)
    exact = Kernel("rate", {"x": x, "t": t, "p": curve.parameters.symbols}, {"f_t": rate}, compiled=False)
    for _ in range(SAMPLES):
        place, time = rng.normal(size=n) * 2, float(rng.uniform(-1.0, 1.0))
        expected = -jacobian(curve, place, time) @ drift
        np.testing.assert_allclose(
            np.atleast_1d(exact(place, time, curve.parameters.values())[0]), expected, atol=1e-12
        )
        # Near the centre, where f has a tip, differences mean nothing.
        if float(functions(curve, place, time)[0]) > -0.5:
            seen = course(functools.partial(functions, curve, place), time)
            np.testing.assert_allclose(seen, expected, atol=1e-8)


def test_the_parameters_of_a_circle() -> None:
    curve = circle((1, 2, 3), 0.5, velocity=(4, 5, 6), name="ball")
    names = ("ball.x", "ball.y", "ball.z", "ball.radius", "ball.vx", "ball.vy", "ball.vz")
    assert curve.parameters.names == names
    assert list(curve.parameters.nominal.values()) == [1, 2, 3, 0.5, 4, 5, 6]
    assert circle((0,) * 4, 1).parameters.names[:2] == ("circle.x1", "circle.x2")
    with pytest.raises(ParameterError, match=r"'ball.radius' must be greater than zero, got -1"):
        curve.parameters.values({"ball.radius": -1.0})


Array = NDArray[np.float64]

EACH_SPLINE = pytest.mark.parametrize("curve", SPLINES, ids=lambda curve: curve.name)
POINTS = {
    "wave": np.array([(0.0, 0.0), (1.0, 0.8), (2.0, 0.4), (3.2, 0.0)]),
    "helix": np.array([(math.cos(0.5 * i), math.sin(0.5 * i), 0.3 * i) for i in range(7)]),
    "strange": np.array([(0, 0, 0, 0), (1, 0.3, 0.1, -0.2), (2, 0.2, 0.5, 0.0), (3, 0, 0, 0.4)], dtype=np.float64),
}


@EACH_SPLINE
def test_a_spline_passes_through_its_points_in_order(curve: Spline) -> None:
    points = POINTS[curve.name]
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    breaks = np.concatenate([[0.0], np.cumsum(chords)])
    np.testing.assert_allclose(curve.at(breaks), points, atol=1e-12)
    assert curve.length == pytest.approx(breaks[-1])
    for s, x in zip(breaks, points, strict=True):
        assert np.abs(functions(curve, x)).max() < 1e-12
        assert progress(curve, x) == pytest.approx(s, abs=1e-9)


@EACH_SPLINE
def test_a_spline_is_straight_beyond_its_ends(curve: Spline) -> None:
    points = POINTS[curve.name]
    for end, outward, point in ((0.0, -1.0, points[0]), (curve.length, 1.0, points[-1])):
        direction = (curve.at(end + outward) - curve.at(end)) / outward
        assert 0.5 < np.linalg.norm(direction) < 2.0
        for far in (0.1, 1.0, 50.0):
            np.testing.assert_allclose(curve.at(end + outward * far), point + outward * far * direction, atol=1e-10)
            assert np.abs(functions(curve, curve.at(end + outward * far))).max() < 1e-10
            assert progress(curve, curve.at(end + outward * far)) == pytest.approx(end + outward * far, abs=1e-9)


def piece(curve: Spline, low: float, high: float) -> list[Polynomial]:
    """Each coordinate of one piece as the polynomial of degree 5 through six of its points."""
    nodes = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * (np.arange(6) + 0.5) / 6)
    values = curve.at(nodes)
    return [Polynomial.fit(nodes, values[:, i], 5) for i in range(curve.dimension)]


@EACH_SPLINE
def test_a_spline_is_three_times_continuously_differentiable(curve: Spline) -> None:
    """Also at the ends, where the straight lines begin; its fourth derivative jumps there."""
    points = POINTS[curve.name]
    breaks = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    edges = np.concatenate([[-1.0], breaks, [breaks[-1] + 1.0]])
    pieces = [piece(curve, low, high) for low, high in itertools.pairwise(edges)]
    for s, before, after in zip(breaks, pieces[:-1], pieces[1:], strict=True):
        for left, right in zip(before, after, strict=True):
            assert float(left(s)) == pytest.approx(float(right(s)), abs=1e-12)
            for order in (1, 2, 3):
                jump = float(left.deriv(order)(s) - right.deriv(order)(s))
                assert jump == pytest.approx(0.0, abs=1e-9), f"derivative {order} at {s}"
    jumps = [abs(float(a.deriv(4)(0.0) - b.deriv(4)(0.0))) for a, b in zip(pieces[0], pieces[1], strict=True)]
    assert max(jumps) > 0.1, "a test of continuity that sees no jump where there is one proves nothing"


def nearest(curve: Spline, x: Array) -> tuple[float, float]:
    """Parameter and distance of the nearest point, by search along ``at``."""
    grid = np.linspace(-3.0, curve.length + 3.0, 3001)
    best = float(grid[np.argmin(np.linalg.norm(curve.at(grid) - x, axis=1))])
    width = 2 * float(grid[1] - grid[0])
    found = minimize_scalar(
        lambda s: float(np.sum((curve.at(s) - x) ** 2)),
        bounds=(best - width, best + width),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(found.x), math.sqrt(float(found.fun))


@EACH_SPLINE
def test_the_functions_of_a_spline_are_signed_distances(curve: Spline) -> None:
    """Within half of the least radius of curvature, where the foot of the perpendicular is unique."""
    rng = np.random.default_rng(5)
    tube = 0.25
    for _ in range(80):
        s = float(rng.uniform(-1.0, curve.length + 1.0))
        x = curve.at(s) + rng.uniform(0.05, tube) * any_direction(curve.dimension, float(rng.uniform()))
        foot, distance = nearest(curve, x)
        f = functions(curve, x)
        assert np.linalg.norm(f) == pytest.approx(distance, abs=1e-10)
        assert progress(curve, x) == pytest.approx(foot, abs=1e-6)
        tangent = course(curve.at, foot)
        off = x - curve.at(foot)
        if curve.dimension == 2:
            right = np.array([tangent[1], -tangent[0]]) / np.linalg.norm(tangent)
            assert float(f[0]) == pytest.approx(float(right @ off), abs=1e-9)


@EACH_SPLINE
def test_progress_is_the_foot_of_the_perpendicular(curve: Spline) -> None:
    rng = np.random.default_rng(6)
    for _ in range(SAMPLES):
        x = curve.at(float(rng.uniform(-1.0, curve.length + 1.0))) + rng.uniform(-0.15, 0.15, curve.dimension)
        s = progress(curve, x)
        tangent = course(curve.at, s)
        assert float((x - curve.at(s)) @ tangent) == pytest.approx(0.0, abs=1e-9)


def test_the_foot_is_exact_in_tight_turns_too() -> None:
    """The closed form of the Jacobian is right at the foot only; here the path turns with a radius of 0.31 m."""
    curve = spline([(0, 0), (3, 0), (3.2, 0.8), (0, 1), (-0.2, 1.8), (3, 2)], name="turns")
    rng = np.random.default_rng(8)
    for s in rng.uniform(0.0, curve.length, 600):
        x = curve.at(s) + 0.1 * any_direction(2, float(rng.uniform()))
        np.testing.assert_allclose(jacobian(curve, x), slopes(curve, x, 0.0), atol=1e-8)


def test_a_spline_does_not_change_with_the_points_it_was_made_from() -> None:
    points = np.array([(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)])
    curve = spline(points)
    before = curve.at(0.7)
    points[1] = 9.0
    np.testing.assert_array_equal(curve.at(0.7), before)
