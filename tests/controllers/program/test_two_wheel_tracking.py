"""Programs of a two-wheel robot through its wheels, and which ones the wheels can realize."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.special import fresnel

from erugin.constraints import (
    Baumgarte,
    Constraint,
    EruginField,
    circle,
    follow,
    line,
    on_curve,
    orientation,
    path_curvature,
    second_order,
    speed,
    speed_along,
    tangential_acceleration,
    tracking,
)
from erugin.controllers import Program, ProgramController, Status, analyse
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import Trajectory
from erugin.symbolic import ModelError, SingularProgramError

from ...support.two_wheel import rolling_states
from ...support.two_wheel_tracking import FULL, HEAVY, REDUCED, Array, bend

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


def test_the_deviation_from_a_first_order_program_decays_as_documented() -> None:
    """At the axle: speed and bend both off by what exp(−10 t) leaves."""
    rows = [bend(REDUCED, 0.6), speed(REDUCED.points["axle"], 0.5)]
    motion = run(REDUCED, rows, [0.0, 0.0, 0.3], [0.9, -0.4], 2.0)
    expected = motion.deviation[0] * np.exp(-10 * motion.t)[:, None]
    np.testing.assert_allclose(motion.deviation, expected, atol=1e-8)
    np.testing.assert_allclose(motion.deviation[0], [-0.4 - 0.6 * 0.9, 0.4], atol=1e-12)


REALIZATIONS = ("ideal", "actuated")


def turned(robot: Robot, angle: ca.SX) -> Constraint:
    """The heading as a function of time."""
    c, s = ca.cos, ca.sin

    def rotation(a: ca.SX) -> ca.SX:
        return ca.vertcat(ca.horzcat(c(a), -s(a)), ca.horzcat(s(a), c(a)))

    return orientation(rotation(robot.q[2]), rotation(angle))


def across(robot: Robot, value: float) -> Constraint:
    """The acceleration of the axle to its left, n·ẍ = v ω: known from the velocities, and no second derivative."""
    c = robot.coordinates
    a = c.rate(c.rate(robot.points["axle"]))
    return second_order(ca.cos(robot.q[2]) * a[1] - ca.sin(robot.q[2]) * a[0] - value, name="across")


PATH = circle((0.4, -0.3), 1.2)
FIELD = EruginField(PATH, speed=0.5)
Make = Callable[[Robot], list[Constraint]]

REACHED: dict[str, Make] = {
    "nose: field": lambda r: [follow(FIELD, r.points["nose"])],
    "nose: place in time": lambda r: [tracking(r.points["nose"], ca.vertcat(0.4 * r.t, ca.sin(r.t)))],
    "nose: path and pace": lambda r: [
        on_curve(PATH, r.points["nose"]),
        speed_along(PATH, r.points["nose"], 0.5),
    ],
    "nose: path and tangential acceleration": lambda r: [
        on_curve(PATH, r.points["nose"]),
        tangential_acceleration(r.points["nose"], 0.1 * ca.cos(r.t)),
    ],
    "nose: curvature and speed": lambda r: [path_curvature(r.points["nose"], 0.7), speed(r.points["nose"], 0.5)],
    "nose: curvature and tangential acceleration": lambda r: [
        path_curvature(r.points["nose"], 0.7 + 0.2 * r.t),
        tangential_acceleration(r.points["nose"], 0.1 * ca.cos(r.t)),
    ],
    "axle: bend and speed": lambda r: [bend(r, 0.7 + 0.2 * r.t), speed(r.points["axle"], 0.5)],
    "axle: bend and tangential acceleration": lambda r: [
        bend(r, 0.7),
        tangential_acceleration(r.points["axle"], 0.1 * ca.cos(r.t)),
    ],
    "axle: heading in time, and speed": lambda r: [turned(r, 0.3 * r.t**2), speed(r.points["axle"], 0.5)],
}
UNREACHED: dict[str, Make] = {
    "axle: curvature and tangential acceleration": lambda r: [
        path_curvature(r.points["axle"], 0.7),
        tangential_acceleration(r.points["axle"], 0.1),
    ],
    "axle: field": lambda r: [follow(FIELD, r.points["axle"])],
    "axle: place in time": lambda r: [tracking(r.points["axle"], ca.vertcat(0.4 * r.t, ca.sin(r.t)))],
    "axle: path and tangential acceleration": lambda r: [
        on_curve(PATH, r.points["axle"]),
        tangential_acceleration(r.points["axle"], 0.1),
    ],
    "axle: acceleration across": lambda r: [across(r, 0.2), tangential_acceleration(r.points["axle"], 0.1)],
    "three rows": lambda r: [tracking(r.points["nose"], ca.vertcat(r.t, 0)), speed(r.points["axle"], 0.5)],
}
NEVER = {
    "axle: acceleration across": "no input of .* acts on 'across'",
    "three rows": "the program has 3 rows",
}
"""Programs that no state makes realisable, and what the controller says when it is built."""


def states(robot: Robot, count: int = 6) -> list[tuple[Array, Array]]:
    """Rolling states at random, none of them slow."""
    found = [(s.q, s.v if robot is FULL else s.w) for s in rolling_states(HEAVY, 11, count=3 * count) if s.w[0] > 0.3]
    return found[:count]


@BOTH
@pytest.mark.parametrize("name", REACHED)
def test_what_the_wheels_reach_moves_as_under_the_ideal_force(robot: Robot, name: str) -> None:
    """Residuals of program and motion, and the accelerations: the same to 1e-9, from torques alone."""
    program = Program(robot, REACHED[name](robot))
    ideal, actuated = (ProgramController(program, realization=one) for one in REALIZATIONS)  # type: ignore[arg-type]
    for q, v in states(robot):
        report = analyse(program, t=0.4, q=q, v=v)
        assert report.realizable, str(report)
        assert report.rank == 2
        one, two = ideal.solve(0.4, q, v), actuated.solve(0.4, q, v)
        assert one.status is two.status is Status.OK
        scale = max(1.0, float(np.abs(one.acceleration).max()))
        assert abs(two.program_residual - one.program_residual) < 1e-9 * scale
        assert max(one.program_residual, two.program_residual) < 1e-9 * scale
        assert two.motion_residual < 1e-9 * max(1.0, float(np.abs(two.input).max()))
        np.testing.assert_allclose(two.acceleration, one.acceleration, atol=1e-9 * scale)
        np.testing.assert_allclose(report.acceleration, two.acceleration, atol=1e-8 * scale)


@BOTH
@pytest.mark.parametrize("name", UNREACHED)
def test_both_report_what_the_wheels_cannot_reach(robot: Robot, name: str) -> None:
    """The axle moves along the heading only: across it there is no second derivative to command."""
    program = Program(robot, UNREACHED[name](robot))
    # On the path, along it: the row of the path is across the heading, where no torque acts.
    beside = np.array([0.4 + 1.2, -0.3, np.pi / 2, 0.0, 0.0])
    w = np.array([0.5, 0.3])
    q, v = beside, w
    if robot is FULL:
        r, b = robot.nominal["wheel_radius"], robot.nominal["half_track"]
        v = np.array([0.0, 0.5, 0.3, (0.5 + b * 0.3) / r, (0.5 - b * 0.3) / r])
    report = analyse(program, t=0.4, q=q, v=v)
    assert not report.realizable
    assert "not realizable by the inputs" in str(report)
    if name in NEVER:
        with pytest.raises(ModelError, match=NEVER[name]):
            ProgramController(program, realization="actuated")
        return
    controller = ProgramController(program, realization="actuated")
    assert controller.solve(0.4, q, v).status is Status.SINGULAR
    with pytest.raises(SingularProgramError, match="Row"):
        controller.control(0.4, q, v)
