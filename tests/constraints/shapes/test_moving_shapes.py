"""Solids that move, grow and bend: the material rate of their functions, their parameters, steady rotation."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from erugin.constraints import box, capsule, circle, ellipse, moving, polygon, time_varying, union
from erugin.constraints.shapes import MovingSolid
from erugin.symbolic import Parameters

from ...support.shapes import STAR, evaluate, extent_of, reference_of


def test_a_point_carried_along_keeps_its_value() -> None:
    """f is the same at all times at a place that moves with the solid, by SciPy's rotations."""
    rng = np.random.default_rng(0)
    still = box((0.3, 0.1, -0.2), (1.0, 0.6, 0.8), orientation=(0.3, 0.2, -1.0))
    spin, drift, pivot = np.array([0.7, -0.4, 1.9]), np.array([0.2, -0.3, 0.1]), np.array([1.0, 0.0, 0.5])
    shape = moving(still, velocity=tuple(drift), angular_velocity=tuple(spin), about=tuple(pivot))
    x = rng.uniform(-1.5, 1.5, (50, 3))
    start = evaluate(still, x, 0.0)[0]
    for t in (-20.0, -1.0, -1e-7, 0.0, 1e-9, 0.3, 0.49, 0.5, 3.0, 100.0):
        carried = pivot + t * drift + Rotation.from_rotvec(t * spin).apply(x - pivot)
        np.testing.assert_allclose(evaluate(shape, carried, t)[0], start, atol=1e-12)


@pytest.mark.parametrize("t", [0.0, 1e-9, 1e-3, 0.4, 2.0])
def test_the_rate_is_that_of_the_convected_boundary(t: float) -> None:
    """f_t = −∇f·(u + ω × (x − a − ut)), and f_tt by the same rule applied twice; exact at t = 0 too."""
    spin, drift, pivot = np.array([0.7, -0.4, 1.9]), np.array([0.2, -0.3, 0.1]), np.array([1.0, 0.0, 0.5])
    still = ellipse((0.3, 0.1, -0.2), (1.0, 0.6, 0.8))
    shape = moving(still, velocity=tuple(drift), angular_velocity=tuple(spin), about=tuple(pivot))
    x = np.random.default_rng(1).uniform(-2.0, 2.0, (50, 3))
    _, gradient, rate, _, rates = evaluate(shape, x, t)
    speed = drift + np.cross(spin, x - pivot - t * drift)
    np.testing.assert_allclose(rate, -(gradient * speed).sum(axis=1), atol=1e-12)
    # d/dt of that at a fixed place: ∇f_t replaces ∇f, and the pivot's motion changes the speed by −ω × u.
    second = -(rates[:, :3] * speed).sum(axis=1) + (gradient * np.cross(spin, drift)).sum(axis=1)
    np.testing.assert_allclose(rates[:, 3], second, atol=1e-10)


def test_parameters_of_motion() -> None:
    shape = moving(polygon(STAR, name="star"), velocity=(1, 2), angular_velocity=3, about=(4, 5), name="throw")
    assert shape.parameters.names[4:] == ("throw.vx", "throw.vy", "throw.turn_rate", "throw.about_x", "throw.about_y")
    assert [shape.parameters.nominal[name] for name in shape.parameters.names[4:]] == [1, 2, 3, 4, 5]
    ball = moving(circle((0, 0, 1), 1, name="ball"), angular_velocity=(1, 2, 3))
    assert ball.parameters.names[7:] == ("ball_motion.wx", "ball_motion.wy", "ball_motion.wz")
    assert moving(circle((0,) * 4, 1), velocity=(1, 2, 3, 4)).parameters.names[-1] == "circle_motion.vx4"


def test_without_about_a_solid_turns_about_its_reference() -> None:
    still = capsule((0.2, 0.1), (1.0, 0.5), 0.2)
    shape = moving(still, angular_velocity=1.3)
    for t in (0.0, 0.7, 5.0):
        np.testing.assert_allclose(reference_of(shape, t), (0.6, 0.3), atol=1e-14)
        assert extent_of(shape, t) == pytest.approx(math.hypot(0.4, 0.2) + 0.2)
        tip = np.array([0.6, 0.3]) + (math.hypot(0.4, 0.2) + 0.2) * np.array(
            [[math.cos(math.atan2(0.2, 0.4) + 1.3 * t), math.sin(math.atan2(0.2, 0.4) + 1.3 * t)]]
        )
        assert abs(evaluate(shape, tip, t)[0][0]) < 1e-12


def test_motions_nest() -> None:
    """A solid that spins on one that turns: a planet on its way."""
    planet = moving(box((2.0, 0.0), (0.4, 0.2)), angular_velocity=5.0, name="spin")
    shape = moving(planet, angular_velocity=0.5, about=(0.0, 0.0), name="orbit")
    for t in (0.0, 0.4, 3.0):
        center = 2.0 * np.array([math.cos(0.5 * t), math.sin(0.5 * t)])
        np.testing.assert_allclose(reference_of(shape, t), center, atol=1e-12)
        corner = center + math.hypot(0.2, 0.1) * np.array(
            [math.cos(5.5 * t + math.atan2(0.1, 0.2)), math.sin(5.5 * t + math.atan2(0.1, 0.2))]
        )
        assert abs(evaluate(shape, corner[None], t)[0][0]) < 1e-12


def test_laws_with_separate_parameters() -> None:
    swing = Parameters.declare({"amplitude": 0.3, "pulse": 2.0}, "swing")
    shape = moving(
        circle((0, 0), 0.5),
        displacement=lambda t: ca.vertcat(swing["swing.amplitude"] * ca.sin(swing["swing.pulse"] * t), 0),
        parameters=swing,
    )
    assert isinstance(shape, MovingSolid)
    assert shape.parameters.names[-2:] == ("swing.amplitude", "swing.pulse")
    x = np.array([[1.0, 0.0]])
    for amplitude in (0.3, 0.1):
        p = shape.parameters.values({"swing.amplitude": amplitude})
        f, _, rate, *_ = evaluate(shape, x, 0.4, p)
        assert f[0] == pytest.approx(0.5 - amplitude * math.sin(0.8))
        assert rate[0] == pytest.approx(-2.0 * amplitude * math.cos(0.8))


def test_a_disc_grows_and_shrinks_to_nearly_nothing() -> None:
    shape = time_varying(circle((0, 0), 0.5, name="disc"), rates={"disc.radius": -0.1})
    assert shape.parameters.names[-1] == "disc.radius_rate"
    x = np.array([[2.0, 0.0], [0.0, 0.1]])
    for t, radius in ((0.0, 0.5), (2.0, 0.3), (4.9, 0.01), (5.0, 0.0005), (50.0, 0.0005)):
        f, _, rate, *_ = evaluate(shape, x, t)
        np.testing.assert_allclose(f, [2.0 - radius, 0.1 - radius], atol=1e-12)
        np.testing.assert_allclose(rate, 0.1 if t < 4.99 else 0.0, atol=1e-12)
        assert extent_of(shape, t) == pytest.approx(radius, abs=1e-15)
    faster = evaluate(shape, x, 1.0, shape.parameters.values({"disc.radius_rate": 0.2}))[0]
    np.testing.assert_allclose(faster, [1.3, -0.6], atol=1e-12)


def test_rounding_may_shrink_to_nothing() -> None:
    shape = time_varying(box((0, 0), (1, 1), rounding=0.2), rates={"rounding": -0.1})
    corner = np.array([[0.5, 0.5]])
    assert evaluate(shape, corner, 0.0)[0][0] == pytest.approx(0.2 * (math.sqrt(2) - 1))
    assert evaluate(shape, corner, 3.0)[0][0] == pytest.approx(0.0, abs=1e-15)


def test_parts_of_a_union_change_independently() -> None:
    pair = union(circle((-1, 0), 0.4, name="left"), circle((1, 0), 0.4, name="right"))
    shape = time_varying(pair, rates={"left.radius": 0.1}, laws={"right.x": lambda x, t: x + ca.sin(t)})
    x = np.array([[-1.0, 0.5], [1.0 + math.sin(1.0), 0.4]])
    f = evaluate(shape, x, 1.0)[0]
    np.testing.assert_allclose(f, 0.0, atol=1e-14)
    assert shape.parameters.names[-1] == "left.radius_rate"


def test_changes_and_motions_nest_in_either_order() -> None:
    slow = moving(time_varying(circle((1, 0), 0.5), rates={"radius": 0.1}), velocity=(0.2, 0.0))
    other = time_varying(moving(circle((1, 0), 0.5), velocity=(0.2, 0.0)), rates={"radius": 0.1})
    x = np.random.default_rng(4).uniform(-2, 2, (20, 2))
    for one, two in zip(evaluate(slow, x, 0.7)[:3], evaluate(other, x, 0.7)[:3], strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)
    np.testing.assert_allclose(evaluate(slow, x, 0.7)[0], np.linalg.norm(x - [1.14, 0], axis=1) - 0.57, atol=1e-12)
