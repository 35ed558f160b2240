"""Closing loops: what a mechanism is made of, and that everything else of the robot is kept."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte
from erugin.robots import (
    Closure,
    Link,
    Robot,
    assemble,
    lagrangian_system,
    mechanism,
    planar_manipulator,
    with_inputs,
    without_rows,
)
from erugin.robots.mechanisms.mechanism import ClosurePoint
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import Parameters, StartWarning

from .mechanisms import crank_rocker

Array = NDArray[np.float64]


def arm(n: int = 3) -> Robot:
    return planar_manipulator([Link(1.0 - 0.1 * i, 1.0 + i, 0.4, 0.1) for i in range(n)], angles="absolute")


def test_a_closure_is_a_natural_constraint_and_all_else_is_kept() -> None:
    robot = arm()
    closed = mechanism(robot, [("tip", (1.2, 0.3))])
    assert [c.name for c in closed.natural] == ["closure tip-ground"]
    assert closed.natural[0].order == 0
    assert closed.nominal == {**robot.nominal, "closure tip-ground.x": 1.2, "closure tip-ground.y": 0.3}
    for name in ("mass_matrix", "bias", "input_matrix", "kinetic_energy", "potential_energy", "q", "v", "u"):
        assert ca.is_equal(getattr(closed, name), getattr(robot, name), 3)
    assert dict(closed.points) == dict(robot.points)
    assert (closed.chain, closed.input_names, closed.coordinates) == (robot.chain, robot.input_names, robot.coordinates)
    assert closed.name == f"{robot.name} with 1 closed loop"
    assert mechanism(robot, [("tip", (1.2, 0.3))], name="four-bar").name == "four-bar"


def test_closures_by_name_by_expression_and_by_numbers_are_the_same() -> None:
    robot, q = arm(), np.array([0.3, -0.4, 1.9])
    tip, elbow = robot.points["tip"], robot.points["joint2"]
    pairs: list[tuple[ClosurePoint, ClosurePoint]] = [("tip", "joint2"), (tip, elbow), (tip, "joint2"), ("tip", elbow)]
    for pair in pairs:
        closed = mechanism(robot, [pair])
        assert closed.natural[0].name == "closure tip-joint2"
        value = closed.evaluate(closed.natural[0].residual(closed.coordinates), q=q)
        np.testing.assert_allclose(value, robot.evaluate(tip - elbow, q=q), atol=1e-15)
    for numbers in ((0.5, -0.2), [0.5, -0.2], np.array([0.5, -0.2])):
        closed = mechanism(robot, [(numbers, "tip")])
        value = closed.evaluate(closed.natural[0].residual(closed.coordinates), q=q)
        np.testing.assert_allclose(value, np.array([0.5, -0.2]) - robot.evaluate(tip, q=q), atol=1e-15)


def test_rows_choose_what_is_held() -> None:
    """A tip on a line: as one row of two, and as a pair of scalars."""
    robot, q = arm(2), np.array([0.7, -0.2])
    by_row = mechanism(robot, [Closure("tip", (0.0, 0.25), rows=(1,))])
    by_scalar = mechanism(robot, [(robot.points["tip"][1], 0.25)])
    assert by_row.nominal["closure tip-ground.y"] == 0.25
    assert "closure tip-ground.x" not in by_row.nominal
    assert by_scalar.natural[0].name == "closure 1"
    assert by_scalar.nominal["closure 1.value"] == 0.25
    for closed in (by_row, by_scalar):
        value = closed.evaluate(closed.natural[0].residual(closed.coordinates), q=q)
        assert value == robot.evaluate(robot.points["tip"], q=q)[1] - 0.25


def test_several_loops_at_once_or_one_after_another() -> None:
    robot = arm(4)
    both = mechanism(robot, [("joint3", (1.0, 0.5)), ("tip", (0.5, 0.5))])
    after = mechanism(mechanism(robot, [("joint3", (1.0, 0.5))]), [("tip", (0.5, 0.5))])
    assert [c.name for c in both.natural] == ["closure joint3-ground", "closure tip-ground"]
    assert [c.name for c in after.natural] == [c.name for c in both.natural]
    assert both.nominal == after.nominal
    q, v = np.array([0.3, 0.2, 1.9, 2.5]), np.array([1.0, -1.0, 0.5, 0.2])
    for expressions in zip(both.natural_form, after.natural_form, strict=True):
        one, other = (r.evaluate(e, q=q, v=v) for r, e in zip((both, after), expressions, strict=True))
        np.testing.assert_array_equal(one, other)
    # Two closures of the same points have different names.
    twice = mechanism(robot, [Closure("tip", (0.5, 0.0), rows=(0,)), Closure("tip", (0.0, 0.5), rows=(1,))])
    assert [c.name for c in twice.natural] == ["closure tip-ground", "closure tip-ground 2"]
    named = mechanism(robot, [Closure("tip", (0.5, 0.0), name="left foot")])
    assert named.natural[0].name == "left foot"
    assert named.nominal["left foot.x"] == 0.5


def test_a_fixed_place_moves_with_its_parameters() -> None:
    robot = crank_rocker()
    near, far = (assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"], p={"rocker.x": x}).q for x in (1.0, 1.2))
    for q, x in ((near, 1.0), (far, 1.2)):
        gap = robot.points["coupler.end"] - robot.points["rocker.end"]
        np.testing.assert_allclose(robot.evaluate(gap, q=q, p={"rocker.x": x}), 0.0, atol=1e-12)
    assert np.abs(near - far).max() > 0.05


def test_gains_of_a_closure_pull_it_together() -> None:
    """A pendulum of two bars on a line that it starts off: the deviation falls as its equation says."""
    gain = 7.0
    robot = mechanism(arm(2), [Closure("tip", (0.0, -0.4), rows=(1,))], perturbation=Baumgarte(gain))
    assert robot.natural[0].perturbation == Baumgarte(gain)
    with pytest.warns(StartWarning, match="which is .* and not 0; it is pulled together"):
        motion = simulate(robot, None, [-0.3, -0.1], [0.0, 0.0], 1.0, step=0.05, integrator=DOP853(1e-12, 1e-12))
    deviation = motion.evaluate(robot.natural[0].residual(robot.coordinates))
    assert abs(deviation[0]) > 0.01
    expected = deviation[0] * (1 + gain * motion.t) * np.exp(-gain * motion.t)
    np.testing.assert_allclose(deviation, expected, atol=1e-9)


def test_a_place_may_move_in_time() -> None:
    """A tip led round a circle: the velocities of the loop follow from it."""
    robot = arm(2)
    target = ca.vertcat(0.9 + 0.1 * ca.cos(robot.t), 0.2 + 0.1 * ca.sin(robot.t))
    led = mechanism(robot, [("tip", target)])
    q = assemble(led, [0.9, -0.6], t=0.7).q
    np.testing.assert_allclose(
        robot.evaluate(robot.points["tip"], q=q), [0.9 + 0.1 * np.cos(0.7), 0.2 + 0.1 * np.sin(0.7)], atol=1e-12
    )


def test_points_in_space_are_held_together() -> None:
    """A crank about z, a ball joint, a rod of two angles, a rocker about x: the closed form of the RSSR linkage."""
    q, v = ca.vertcat(*map(ca.SX.sym, "abcd")), ca.vertcat(*map(ca.SX.sym, "efgh"))
    p = Parameters.declare({"crank": 0.3, "rod": 1.0, "rocker": 0.7})
    crank = p["crank"] * ca.vertcat(ca.cos(q[0]), ca.sin(q[0]), 0)
    rod = p["rod"] * ca.vertcat(ca.cos(q[1]) * ca.cos(q[2]), ca.sin(q[1]) * ca.cos(q[2]), ca.sin(q[2]))
    rocker = ca.vertcat(0.6, 0.5, 0) + p["rocker"] * ca.vertcat(0, ca.cos(q[3]), ca.sin(q[3]))
    middle = ca.jtimes(crank + rod / 2, q, v)
    T = ca.sumsqr(middle) / 2 + ca.sumsqr(ca.jtimes(rocker, q, v)) / 2 + ca.sumsqr(v) / 10
    space = lagrangian_system(q=q, v=v, p=p, T=T, points={"rod": crank + rod, "rocker": rocker})
    linkage = mechanism(space, [("rod", "rocker")])
    for angle in (0.2, 1.5, 3.0):
        found = assemble(linkage, [angle, 0.5, 0.5, 1.0], fixed=["a"])
        assert (found.rank, found.degrees_of_freedom) == (3, 1)
        # |rocker − crank|² = rod², with the rocker's pivot at w from the crank's end.
        w = np.array([0.6 - 0.3 * np.cos(angle), 0.5 - 0.3 * np.sin(angle)])
        assert abs(np.cos(found.q[3]) - (1.0 - 0.7**2 - w @ w) / (2 * 0.7 * w[1])) < 1e-11


def test_inputs_that_go_are_zero() -> None:
    robot = crank_rocker()
    q = assemble(robot, [0.5, 0.5, 1.5]).q
    v = np.zeros(3)
    for names in (("rocker", "crank"), ("coupler",), ()):
        fewer = with_inputs(robot, names)
        u = np.arange(1.0, 1.0 + len(names))
        whole = np.array([dict(zip(names, u, strict=True)).get(name, 0.0) for name in robot.input_names])
        assert fewer.input_names == names
        np.testing.assert_allclose(
            fewer.evaluate(fewer.acceleration, q=q, v=v, u=u),
            robot.evaluate(robot.acceleration, q=q, v=v, u=whole),
            rtol=1e-13,
        )
    assert with_inputs(robot, "crank").input_names == ("crank",)
    assert with_inputs(robot, ("crank",)).limits.effort.shape == (1,)


def test_rows_that_go_leave_the_others() -> None:
    robot = mechanism(arm(4), [("joint3", (1.0, 0.5)), ("tip", (0.5, 0.5))])
    fewer = without_rows(robot, ["closure joint3-ground[0]", "closure tip-ground[0]", "closure tip-ground[1]"])
    assert [c.name for c in fewer.natural] == ["closure joint3-ground"]
    q = np.array([0.3, 0.2, 1.9, 2.5])
    value = fewer.evaluate(fewer.natural[0].residual(fewer.coordinates), q=q)
    assert value == robot.evaluate(robot.points["joint3"], q=q)[1] - 0.5
    assert without_rows(robot, ()).natural == robot.natural
