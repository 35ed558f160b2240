"""A point ahead of a two-wheel robot's axle follows a field by its wheels' torques alone; one on the axle cannot."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField, FirstOrder, circle, follow, spline
from erugin.controllers import Program, ProgramController, Status, start_on
from erugin.robots import Robot
from erugin.robots.examples import fukao_robot
from erugin.robots.examples.two_wheel import Form
from erugin.scenarios import simulate
from erugin.simulation import Trajectory
from erugin.symbolic import ContradictoryProgramError

SPEED, MARGIN = 0.8, 0.2
CENTER, DRIFT, RADIUS = np.array([3.4, 0.9]), np.array([-0.1, -0.25]), 0.5
PATH = spline([(0.0, 0.0), (2.0, 0.4), (4.0, -0.3), (6.0, 0.2)], name="path")


def ahead(robot: Robot, distance: float) -> ca.SX:
    """The point on the robot's middle line, that far ahead of the axle."""
    theta = robot.coordinates.q[2]
    return robot.points["axle"] + distance * ca.vertcat(ca.cos(theta), ca.sin(theta))


def program(form: Form, distance: float) -> Program:
    """A cart comes down across the path; it is passed on the left, behind it."""
    robot = fukao_robot(form=form)
    cart = circle(tuple(CENTER), RADIUS, velocity=tuple(DRIFT), name="cart")
    field = EruginField(PATH, [cart], speed=SPEED, margin=MARGIN, side=-1)
    return Program(robot, follow(field, ahead(robot, distance), perturbation=FirstOrder(10.0)))


@functools.cache
def run(form: Form, distance: float) -> Trajectory:
    own = program(form, distance)
    point = ahead(own.robot, distance)
    q0, v0 = start_on(own, [-distance, 0.0, 0.2, 0.0, 0.0], at=[(point, PATH.at(0.0))])
    controller = ProgramController(own, realization="actuated")
    stop = PATH.progress(point) - PATH.length
    return simulate(own.robot, controller, q0, v0, 15.0, step=2e-3, stop=stop)


CASES = pytest.mark.parametrize(("form", "distance"), [("full", 0.3), ("reduced", 0.3), ("reduced", 0.1)])


@pytest.mark.slow
@CASES
def test_the_point_follows_and_passes_the_cart(form: Form, distance: float) -> None:
    trajectory = run(form, distance)
    robot = trajectory.robot
    assert trajectory.ok
    assert trajectory.u.shape[1] == 2
    assert np.abs(trajectory.deviation).max() <= 1e-8
    point = trajectory.evaluate(ahead(robot, distance))
    assert trajectory.t[-1] < 12.0
    assert point[-1] == pytest.approx(PATH.at(PATH.length), abs=0.01)
    gap = np.linalg.norm(point - CENTER - trajectory.t[:, None] * DRIFT, axis=1) - RADIUS
    assert MARGIN - 1e-6 < gap.min() < MARGIN + 0.1
    for constraint in robot.natural:
        assert np.abs(trajectory.evaluate(constraint.residual(robot.coordinates))).max() < 1e-8


@pytest.mark.slow
@CASES
def test_the_platform_turns_as_a_trailer(form: Form, distance: float) -> None:
    """b θ̇ = w·n, the field's part across the robot, and v = w·e, the part along it: kinematics, not control."""
    trajectory = run(form, distance)
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
    full, reduced = run("full", 0.3), run("reduced", 0.3)
    assert len(full) == len(reduced)
    np.testing.assert_allclose(full.q, reduced.q, atol=1e-7)
    np.testing.assert_allclose(full.u, reduced.u, atol=1e-5)


@pytest.mark.slow
def test_the_nearer_the_point_to_the_axle_the_harder_it_is() -> None:
    """The turning rate that the same sideways speed takes is in inverse proportion to b, the pivot to b²."""
    near, far = run("reduced", 0.1), run("reduced", 0.3)
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
    """It moves along the heading only: one of the two rows is dependent, and that is said."""
    own = program(form, 0.0)
    velocities = [0.5, 0.0, 0.0, 0.5 / 0.15, 0.5 / 0.15] if form == "full" else [0.5, 0.0]
    solution = ProgramController(own, realization="actuated").solve(0.0, np.zeros(5), velocities)
    assert solution.status is Status.SINGULAR
    with pytest.raises(ContradictoryProgramError, match="no velocities satisfy the program"):
        start_on(own, [0.0, 0.0, -0.5, 0.0, 0.0], at=[(ahead(own.robot, 0.0), PATH.at(0.0))])
