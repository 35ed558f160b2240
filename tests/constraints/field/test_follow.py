"""Robots that follow a field: a leg, an arm in space, a two-wheel robot, and starts inside an obstacle."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import (
    Baumgarte,
    Constraint,
    EruginField,
    FirstOrder,
    circle,
    follow,
    holonomic,
    line,
    spline,
    verify,
)
from erugin.controllers import Program, ProgramController, Status, start_on
from erugin.robots import Link, Robot, exoskeleton, planar_manipulator
from erugin.robots.examples import fukao_robot
from erugin.robots.examples.anthropometry import segment, telescopic_links
from erugin.robots.examples.two_wheel import Form
from erugin.scenarios import simulate
from erugin.simulation import Trajectory, move_along
from erugin.symbolic import ContradictoryProgramError, ModelError

from ...support.urdf import load_quietly, real_robots

HEIGHT = -0.76
START, END = (-0.30, HEIGHT), (0.30, HEIGHT)
BALL_CENTER, BALL_DRIFT, BALL_RADIUS, BALL_MARGIN = np.array([0.10, -0.84]), np.array([-0.10, 0.0]), 0.12, 0.03
BENT = (-1.6, -2.3)
LENGTHS = (0.4222, 0.4403)


def swinging_leg(*, rigid: bool) -> Robot:
    """Thigh and shin of a man of 73 kg and 1.741 m by [DeLeva1996], hinged at the hip, a foot of 1 kg at its end."""
    parts = {
        "thigh": segment("thigh", body_mass=73.0, height=1.741, sex="male"),
        "shin": segment("shank", body_mass=73.0, height=1.741, sex="male"),
    }
    links = telescopic_links(parts, stiffness=5e4, damping=400.0, hinge_mass={"shin": 1.0}, added=None)
    assert tuple(link.rest_length for link in links) == pytest.approx(LENGTHS, abs=5e-4)
    return exoskeleton(links, rigid=rigid, axial_drives=not rigid)


def swing_leg(robot: Robot, realization: str, *more: Constraint, still: bool = False) -> Trajectory:
    """The motion of the foot at 0.6 m/s from an exact start, or from rest, to the end of the path."""
    foot, path = robot.points["tip"], line(START, END, name="path")
    ball = circle(tuple(BALL_CENTER), BALL_RADIUS, velocity=tuple(BALL_DRIFT), name="ball")
    # Along the path, which leads to the right, the left is above.
    field = EruginField(path, [ball], speed=0.6, margin=BALL_MARGIN, side=-1, avoidance="detour")
    program = Program(robot, [follow(field, foot, perturbation=FirstOrder(20.0)), *more])
    at = [(foot, START)] if more else [(foot, START), (robot.coordinates.q[2:], LENGTHS)]
    q0, v0 = start_on(program, [*BENT, *LENGTHS], at=at)
    controller = ProgramController(program, realization=realization)  # type: ignore[arg-type]
    stop = path.progress(foot) - (END[0] - START[0])
    return simulate(robot, controller, q0, 0 * v0 if still else v0, 3.0, step=1e-3, stop=stop)


def clearance(trajectory: Trajectory) -> NDArray[np.float64]:
    """Distance of the foot from the ball by plain geometry."""
    foot = trajectory.evaluate(trajectory.robot.points["tip"])
    return np.asarray(np.linalg.norm(foot - BALL_CENTER - trajectory.t[:, None] * BALL_DRIFT, axis=1) - BALL_RADIUS)


def require_the_way_over(trajectory: Trajectory) -> None:
    assert trajectory.ok
    assert np.abs(trajectory.deviation).max() <= 1e-8
    assert BALL_MARGIN - 1e-9 < clearance(trajectory).min() < BALL_MARGIN + 0.01
    foot = trajectory.evaluate(trajectory.robot.points["tip"])
    assert trajectory.t[-1] < 1.5
    assert foot[-1] == pytest.approx(END, abs=2e-3)
    # It was lifted, by what ball and margin ask for.
    top = BALL_CENTER[1] + BALL_RADIUS + BALL_MARGIN
    assert top - 1e-6 < foot[:, 1].max() < top + 0.01
    assert top - HEIGHT > 0.06


@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_the_foot_of_a_leg_of_fixed_lengths_goes_over_the_ball(realization: str) -> None:
    trajectory = swing_leg(swinging_leg(rigid=True), realization)
    require_the_way_over(trajectory)
    assert np.ptp(trajectory.q[:, 2:], axis=0).max() < 1e-12
    if realization == "actuated":
        assert trajectory.u.shape[1] == 2, "hip and knee alone"
        assert 1.0 < np.abs(trajectory.u).max() < 150.0


def test_the_foot_of_a_leg_whose_lengths_change_goes_over_the_ball() -> None:
    """Four drives: the foot follows the field, and the lengths breathe by 3 % at 2 Hz, a program of order 0."""
    robot = swinging_leg(rigid=False)
    c = robot.coordinates
    breath = 1 + 0.03 * ca.sin(4 * ca.pi * c.t)
    lengths = holonomic(c.q[2:] - ca.SX(ca.DM(LENGTHS)) * breath, perturbation=Baumgarte(20.0), name="lengths")
    trajectory = swing_leg(robot, "actuated", lengths)
    require_the_way_over(trajectory)
    expected = np.array(LENGTHS) * (1 + 0.03 * np.sin(4 * np.pi * trajectory.t[:, None]))
    np.testing.assert_allclose(trajectory.q[:, 2:], expected, atol=1e-9)


def test_a_start_at_rest_catches_up_at_the_rate_of_the_perturbation_equation() -> None:
    """ψ̇ = −20 ψ: what the foot lacks in speed at the start is gone like e^(−20 t)."""
    trajectory = swing_leg(swinging_leg(rigid=True), "actuated", still=True)
    size = np.linalg.norm(trajectory.deviation, axis=1)
    assert size[0] > 0.5
    early = trajectory.t < 0.5
    np.testing.assert_allclose(size[early], size[0] * np.exp(-20.0 * trajectory.t[early]), rtol=1e-5)
    assert clearance(trajectory).min() > BALL_MARGIN - 1e-3


POSTURE = np.array([0.3, -1.6, 1.9, -1.8, -1.5, 0.4])
WAY = np.array([-0.15, 0.50, 0.10])
SPACE_MARGIN, SPACE_RADIUS = 0.04, 0.10
SPACE_DRIFT = np.array([-0.02, -0.02, -0.03])


@pytest.mark.slow
def test_the_tool_of_a_ur5_avoids_a_ball() -> None:
    """Three rows for the tool, three that hold the wrist, six torques."""
    robot = load_quietly(real_robots()["ur5_robot"])
    tool, c = robot.points["ee_link"], robot.coordinates
    start = np.asarray(robot.evaluate(tool, q=POSTURE))
    end, center = start + WAY, start + WAY / 2 + np.array([0.06, 0.02, 0.09])
    path = line(tuple(start), tuple(end), name="path")
    ball = circle(tuple(center), SPACE_RADIUS, velocity=tuple(SPACE_DRIFT), name="ball")
    field = EruginField(path, [ball], speed=0.2, margin=SPACE_MARGIN, avoidance="detour")
    low, high = np.minimum(start, end) - 0.2, np.maximum(start, end) + 0.2
    report = verify(field, low=low, high=high, times=[0.0, 1.5, 3.0], start=start, samples=100)
    assert report.ok, str(report)
    wrist = holonomic(c.q[3:] - ca.SX(ca.DM(POSTURE[3:])), perturbation=Baumgarte(8.0), name="wrist")
    program = Program(robot, [follow(field, tool, perturbation=FirstOrder(10.0)), wrist])
    q0, v0 = start_on(program, POSTURE, at=[(tool, start)])
    controller = ProgramController(program, realization="actuated")
    length = float(np.linalg.norm(WAY))
    trajectory = simulate(robot, controller, q0, v0, 5.0, step=2e-3, stop=path.progress(tool) - length)
    assert trajectory.ok
    assert np.abs(trajectory.deviation).max() <= 1e-8
    assert trajectory.t[-1] < 4.0
    place = trajectory.evaluate(tool)
    assert place[-1] == pytest.approx(end, abs=1e-3)
    gap = np.linalg.norm(place - center - trajectory.t[:, None] * SPACE_DRIFT, axis=1) - SPACE_RADIUS
    assert SPACE_MARGIN - 1e-6 < gap.min() < SPACE_MARGIN + 0.01
    # The way round is a way in space: the tool leaves the straight line by more than the ball reaches across it.
    along = WAY / length
    off = (place - start) - ((place - start) @ along)[:, None] * along
    assert np.linalg.norm(off, axis=1).max() > 0.05
    assert np.linalg.norm(off[-1]) < 1e-3
    assert np.abs(trajectory.u).max() < 150.0, "the torque that a UR5's shoulder can give [N m]"


STRAIGHT_PATH = line((0.6, -0.4), (0.6, 0.4))


def field(x: float) -> EruginField:
    disc = circle((x, 0.0), 0.1, velocity=(0.2, 0.0), name="disc")
    return EruginField(STRAIGHT_PATH, [disc], inside=[circle((0.5, 0.0), 0.8, name="room")], speed=0.2, margin=0.03)


def test_a_tip_inside_an_obstacle_is_no_start() -> None:
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.03)] * 2)
    tip = arm.points["tip"]
    at = [(tip, (0.6, 0.0))]
    q, _ = start_on(Program(arm, follow(field(0.3), tip)), [-0.9, 1.8], at=at)
    assert arm.evaluate(tip, q=q) == pytest.approx([0.6, 0.0], abs=1e-10)
    with pytest.raises(ModelError, match=r"the start of 'follow' lies 0\.06 m beyond the boundary of 'disc'"):
        start_on(Program(arm, follow(field(0.64), tip)), [-0.9, 1.8], at=at)
    # The disc drifts onto the place; what counts is where it is at the start.
    with pytest.raises(ModelError, match=r"lies 0\.1 m beyond the boundary of 'disc'"):
        start_on(Program(arm, follow(field(0.3), tip)), [-0.9, 1.8], at=at, t=1.5)
    with pytest.raises(ModelError, match=r"lies 0\.1 m beyond the boundary of 'room'"):
        start_on(Program(arm, follow(field(0.3), tip)), [2.5, 0.5], at=[(tip, (-0.4, 0.0))])


def test_a_point_inside_an_obstacle_is_no_start() -> None:
    with pytest.raises(ModelError, match=r"lies inside 'disc', 0\.06 m deep"):
        move_along(field(0.64), (0.6, 0.0), 1.0, step=0.01)
    assert len(move_along(field(0.3), (0.6, 0.0), 0.1, step=0.01)) == 11


SPEED, MARGIN = 0.8, 0.2
DISC_CENTER, DISC_DRIFT, DISC_RADIUS = np.array([3.4, 0.9]), np.array([-0.1, -0.25]), 0.5
SPLINE_PATH = spline([(0.0, 0.0), (2.0, 0.4), (4.0, -0.3), (6.0, 0.2)], name="path")


def ahead(robot: Robot, distance: float) -> ca.SX:
    """The point on the robot's middle line, that far ahead of the axle."""
    theta = robot.coordinates.q[2]
    return robot.points["axle"] + distance * ca.vertcat(ca.cos(theta), ca.sin(theta))


def program(form: Form, distance: float) -> Program:
    """A cart comes down across the path; it is passed on the left, behind it."""
    robot = fukao_robot(form=form)
    cart = circle(tuple(DISC_CENTER), DISC_RADIUS, velocity=tuple(DISC_DRIFT), name="cart")
    field = EruginField(SPLINE_PATH, [cart], speed=SPEED, margin=MARGIN, attraction=2.0, side=-1)
    return Program(robot, follow(field, ahead(robot, distance), perturbation=FirstOrder(10.0)))


@functools.cache
def drive_robot(form: Form, distance: float) -> Trajectory:
    own = program(form, distance)
    point = ahead(own.robot, distance)
    q0, v0 = start_on(own, [-distance, 0.0, 0.2, 0.0, 0.0], at=[(point, SPLINE_PATH.at(0.0))])
    controller = ProgramController(own, realization="actuated")
    stop = SPLINE_PATH.progress(point) - SPLINE_PATH.length
    return simulate(own.robot, controller, q0, v0, 15.0, step=1e-3, stop=stop)


CASES = pytest.mark.parametrize(("form", "distance"), [("full", 0.3), ("reduced", 0.3), ("reduced", 0.1)])


@pytest.mark.slow
@CASES
def test_the_point_follows_and_passes_the_cart(form: Form, distance: float) -> None:
    trajectory = drive_robot(form, distance)
    robot = trajectory.robot
    assert trajectory.ok
    assert trajectory.u.shape[1] == 2
    assert np.abs(trajectory.deviation).max() <= 1e-8
    point = trajectory.evaluate(ahead(robot, distance))
    assert trajectory.t[-1] < 12.0
    assert point[-1] == pytest.approx(SPLINE_PATH.at(SPLINE_PATH.length), abs=0.01)
    gap = np.linalg.norm(point - DISC_CENTER - trajectory.t[:, None] * DISC_DRIFT, axis=1) - DISC_RADIUS
    assert MARGIN - 1e-6 < gap.min() < MARGIN + 0.1
    for constraint in robot.natural:
        assert np.abs(trajectory.evaluate(constraint.residual(robot.coordinates))).max() < 1e-8


@pytest.mark.slow
@CASES
def test_the_platform_turns_as_a_trailer(form: Form, distance: float) -> None:
    """b θ̇ = w·n, the field's part across the robot, and v = w·e, the part along it: kinematics, not control."""
    trajectory = drive_robot(form, distance)
    robot = trajectory.robot
    theta = trajectory.q[:, 2]
    point = trajectory.evaluate(ahead(robot, distance))
    w = np.gradient(point, trajectory.t, axis=0)
    across = -w[:, 0] * np.sin(theta) + w[:, 1] * np.cos(theta)
    turning = np.gradient(theta, trajectory.t)
    inner = slice(2, -2)
    np.testing.assert_allclose(distance * turning[inner], across[inner], atol=2e-3)
    assert np.abs(across[inner]).max() > 0.1


@pytest.mark.slow
def test_both_forms_move_alike() -> None:
    full, reduced = drive_robot("full", 0.3), drive_robot("reduced", 0.3)
    assert len(full) == len(reduced)
    np.testing.assert_allclose(full.q, reduced.q, atol=1e-7)
    np.testing.assert_allclose(full.u, reduced.u, atol=1e-5)


@pytest.mark.slow
def test_the_nearer_the_point_to_the_axle_the_harder_it_is() -> None:
    """The turning rate that the same sideways speed takes is in inverse proportion to b, the pivot to b²."""
    near, far = drive_robot("reduced", 0.1), drive_robot("reduced", 0.3)
    turning = [np.abs(np.diff(one.q[:, 2])).max() / 2e-3 for one in (near, far)]
    assert turning[0] > 1.3 * turning[1]
    pivots = []
    for distance in (0.3, 0.03, 0.003):
        own = program("reduced", distance)
        solution = ProgramController(own, realization="actuated").solve(0.0, np.zeros(5), [0.5, 0.1])
        assert solution.status is Status.OK
        pivots.append(float(np.min(solution.pivots)))
    assert pivots[1] / pivots[2] == pytest.approx(100.0, rel=0.05)
    assert pivots[0] > pivots[1]


@pytest.mark.parametrize("form", ["full", "reduced"])
def test_a_point_on_the_axle_cannot_follow(form: Form) -> None:
    """It moves along the heading only: one of the two rows is dependent, and that is reported."""
    own = program(form, 0.0)
    velocities = [0.5, 0.0, 0.0, 0.5 / 0.15, 0.5 / 0.15] if form == "full" else [0.5, 0.0]
    solution = ProgramController(own, realization="actuated").solve(0.0, np.zeros(5), velocities)
    assert solution.status is Status.SINGULAR
    with pytest.raises(ContradictoryProgramError, match="no velocities satisfy the program"):
        start_on(own, [0.0, 0.0, -0.5, 0.0, 0.0], at=[(ahead(own.robot, 0.0), SPLINE_PATH.at(0.0))])
