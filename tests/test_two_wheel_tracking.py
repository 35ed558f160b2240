"""Programs of first and second order that drive a two-wheel robot through its wheels, beside closed forms."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.special import fresnel

from erugin.constraints import (
    Baumgarte,
    Constraint,
    line,
    on_curve,
    path_curvature,
    speed,
    tangential_acceleration,
)
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import Trajectory

from .two_wheel_tracking import FULL, REDUCED, bend

BOTH = pytest.mark.parametrize("robot", [FULL, REDUCED], ids=["full", "reduced"])


def run(robot: Robot, rows: list[Constraint], q: list[float], w: list[float], T: float, h: float = 2e-3) -> Trajectory:
    """Under the torques of the wheels, from a state of rolling with v and ω."""
    v, omega = w
    state = np.array(w)
    if robot is FULL:
        r, b = robot.nominal["wheel_radius"], robot.nominal["half_track"]
        wheels = (v + b * omega) / r, (v - b * omega) / r
        state = np.array([v * np.cos(q[2]), v * np.sin(q[2]), omega, *wheels])
    controller = ProgramController(Program(robot, rows), realization="actuated")
    motion = simulate(robot, controller, [*q, 0.0, 0.0], state, T, step=h)
    assert motion.ok
    assert motion.u.shape[1] == 2
    return motion


@BOTH
def test_curvature_and_tangential_acceleration_drive_the_nose_round_a_circle(robot: Robot) -> None:
    """κ = 0.8 and w = 0.3 cos t: the angle is κ (s₀ t + 0.3 (1 − cos t)), whatever the robot is made of."""
    nose, kappa, pace = robot.points["nose"], 0.8, 0.7
    rows = [path_curvature(nose, kappa), tangential_acceleration(nose, 0.3 * ca.cos(robot.t))]
    # ẋ_nose = v e + b ω n: with ω = 0 its course is the heading, along x.
    motion = run(robot, rows, [-robot.nominal["half_track"], 0.0, 0.0], [pace, 0.0], 6.0)
    angle = kappa * (pace * motion.t + 0.3 * (1 - np.cos(motion.t)))
    expected = np.column_stack([np.sin(angle), 1 - np.cos(angle)]) / kappa
    np.testing.assert_allclose(motion.evaluate(nose), expected, atol=1e-8)
    assert angle[-1] > 3.0
    assert np.abs(motion.deviation).max() < 1e-9


@BOTH
@pytest.mark.parametrize("place", ["nose", "axle"])
def test_a_growing_curvature_makes_a_clothoid(robot: Robot, place: str) -> None:
    """κ = c s at unit speed: Fresnel's integrals. At the axle the same program is one of first order."""
    point, c = robot.points[place], 0.9
    curved = path_curvature(point, c * robot.t) if place == "nose" else bend(robot, c * robot.t)
    start = -robot.nominal["half_track"] if place == "nose" else 0.0
    motion = run(robot, [curved, tangential_acceleration(point, 0.0)], [start, 0.0, 0.0], [1.0, 0.0], 3.0)
    scale = np.sqrt(np.pi / c)
    S, C = fresnel(motion.t / scale)
    np.testing.assert_allclose(motion.evaluate(point), scale * np.column_stack([C, S]), atol=1e-8)


def test_a_curvature_of_the_place_makes_bernoullis_lemniscate() -> None:
    """κ = 3 r/a² and constant speed: (x² + y²)² = a² (x² − y²) through both lobes, from second derivatives alone."""
    robot, a, pace = REDUCED, 1.5, 0.6
    nose = robot.points["nose"]
    kappa = 3 * ca.sign(nose[0]) * ca.norm_2(nose) / a**2
    rows = [path_curvature(nose, kappa), tangential_acceleration(nose, 0.0)]
    # At (a, 0) the lemniscate goes along y; the nose's course is the robot's heading.
    motion = run(robot, rows, [a, -robot.nominal["half_track"], np.pi / 2], [pace, 0.0], 9.0, 2e-3)
    x, y = motion.evaluate(nose).T
    r2 = x**2 + y**2
    miss = (r2**2 - a**2 * (x**2 - y**2)) / a**4
    first = motion.t < 3.0
    assert np.abs(miss[first]).max() < 1e-8
    assert np.abs(miss).max() < 1e-5
    assert x.min() < -1.4 < 1.4 < x.max()


@pytest.mark.parametrize("offset", [(0.3, -0.2, 0.0), (0.0, 0.4, 0.7)])
def test_rows_of_second_order_do_not_see_where_the_robot_is(offset: tuple[float, float, float]) -> None:
    """From a start beside the plan the path is the planned one, moved and turned: z stays 0, and the miss stays too."""
    robot, (dx, dy, turn) = REDUCED, offset
    nose, back = robot.points["nose"], -robot.nominal["half_track"]
    rows = [path_curvature(nose, 0.5 * robot.t), tangential_acceleration(nose, 0.2)]
    planned = run(robot, rows, [back, 0.0, 0.0], [0.6, 0.0], 3.0)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    start = rotation @ [back, 0.0] + [dx, dy]
    beside = run(robot, rows, [*start, turn], [0.6, 0.0], 3.0)
    moved = planned.evaluate(nose) @ rotation.T + [dx, dy]
    np.testing.assert_allclose(beside.evaluate(nose), moved, atol=1e-9)
    assert np.abs(beside.deviation).max() < 1e-9
    assert np.hypot(*(beside.evaluate(nose) - planned.evaluate(nose))[-1]) > 0.3


def test_nor_how_fast_it_is() -> None:
    """A tangential acceleration keeps a wrong speed as wrong as it was; a program for the speed removes it."""
    nose = REDUCED.points["nose"]
    back, t = -REDUCED.nominal["half_track"], REDUCED.t
    start = [back, 0.0, 0.0], [0.6, 0.0]
    blind = run(REDUCED, [path_curvature(nose, 0.4), tangential_acceleration(nose, 0.1)], *start, 3.0)
    seeing = run(REDUCED, [path_curvature(nose, 0.4), speed(nose, 0.5 + 0.1 * t)], *start, 3.0)
    c = REDUCED.coordinates
    paces = [m.evaluate(ca.norm_2(c.rate(nose))) - (0.5 + 0.1 * m.t) for m in (blind, seeing)]
    np.testing.assert_allclose(paces[0], 0.1, atol=1e-9)
    np.testing.assert_allclose(paces[1], 0.1 * np.exp(-10 * seeing.t), atol=1e-8)


@pytest.mark.parametrize("place", ["nose", "axle"])
def test_curvature_with_feedback_returns_to_the_line(place: str) -> None:
    """κ = −(2 k sin ψ + k² y)/cos ψ, ψ the course: y'' + 2 k y' + k² y = 0 along the arc, critically damped."""
    robot, k, pace = REDUCED, 1.4, 0.8
    point, c = robot.points[place], robot.coordinates
    rate = c.rate(point)
    course = ca.atan2(rate[1], rate[0]) if place == "nose" else robot.q[2]
    kappa = -(2 * k * ca.sin(course) + k**2 * point[1]) / ca.cos(course)
    y0, angle = 0.3, 0.2
    ahead = robot.nominal["half_track"] if place == "nose" else 0.0
    q = [-ahead * np.cos(angle), y0 - ahead * np.sin(angle), angle]
    bent = -(2 * k * np.sin(angle) + k**2 * y0) / np.cos(angle)
    curved = path_curvature(point, kappa) if place == "nose" else bend(robot, kappa)
    # On the axle the row is of first order, and its start is on it.
    motion = run(robot, [curved, tangential_acceleration(point, 0.0)], q, [pace, 0.0 if ahead else bent * pace], 6.0)
    s = pace * motion.t
    expected = (y0 + (np.sin(angle) + k * y0) * s) * np.exp(-k * s)
    np.testing.assert_allclose(motion.evaluate(point)[:, 1], expected, atol=1e-8)
    assert abs(expected[-1]) < 0.02


def test_a_path_beside_a_second_order_row_brings_the_nose_back() -> None:
    """Order 0 sees the place, order 2 gives the pace: y = (y₀ + (ẏ₀ + ω y₀) t) exp(−ω t) from 0.3 m off the line."""
    robot, omega = REDUCED, 2.5
    nose, b = robot.points["nose"], robot.nominal["half_track"]
    rows = [
        on_curve(line((0.0, 0.0), (1.0, 0.0)), nose, perturbation=Baumgarte(omega)),
        tangential_acceleration(nose, 0.0),
    ]
    motion = run(robot, rows, [-b, 0.3, 0.0], [0.8, 0.5], 4.0)
    slope = b * 0.5
    expected = (0.3 + (slope + omega * 0.3) * motion.t) * np.exp(-omega * motion.t)
    place = motion.evaluate(nose)
    np.testing.assert_allclose(place[:, 1], expected, atol=1e-8)
    c = robot.coordinates
    np.testing.assert_allclose(motion.evaluate(ca.norm_2(c.rate(nose))), np.hypot(0.8, slope), atol=1e-8)


def test_a_start_off_a_first_order_program_falls_as_said() -> None:
    """At the axle: speed and bend both off by what exp(−10 t) leaves."""
    rows = [bend(REDUCED, 0.6), speed(REDUCED.points["axle"], 0.5)]
    motion = run(REDUCED, rows, [0.0, 0.0, 0.3], [0.9, -0.4], 2.0)
    expected = motion.deviation[0] * np.exp(-10 * motion.t)[:, None]
    np.testing.assert_allclose(motion.deviation, expected, atol=1e-8)
    np.testing.assert_allclose(motion.deviation[0], [-0.4 - 0.6 * 0.9, 0.4], atol=1e-12)
