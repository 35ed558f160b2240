"""Lines run from their start to their end, and circles are positive outside and may drift."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import circle, line
from erugin.symbolic import Kernel, ParameterError

from .curves import SAMPLES, any_direction, course, floats, functions, jacobian, kernel, progress, tangent_of_numbers

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
