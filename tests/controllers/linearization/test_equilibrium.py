"""Equilibria: what holds a position, and what says that nothing does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from erugin.constraints import holonomic
from erugin.controllers import NoEquilibriumError, equilibrium, linearize
from erugin.robots import Link, assemble, planar_manipulator, with_inputs
from erugin.robots.examples import altmann_heiland_crane, fukao_robot, realaigym_acrobot
from erugin.symbolic import ModelError, ShapeError

from ...support.arms import two_link_arm
from ...support.linearized_robots import free_body, linkage


def test_a_position_with_a_drive_in_every_joint_is_held_where_it_is() -> None:
    """By the moments of the weights: M₁ = g (m₁l₁ + m₂l₁) cos q₁ + M₂ and M₂ = g m₂ l₂ cos(q₁ + q₂)."""
    found = equilibrium(two_link_arm(), [0.3, 0.8])
    elbow = 9.81 * 1.8 * 0.5 * np.cos(1.1)
    np.testing.assert_allclose(found.q, [0.3, 0.8])
    np.testing.assert_allclose(found.u, [9.81 * (2.5 + 1.8) * 0.6 * np.cos(0.3) + elbow, elbow], rtol=1e-13)
    assert found.residual < 1e-11


def test_an_acrobot_is_held_only_where_its_centre_of_mass_is_over_the_joint() -> None:
    robot = realaigym_acrobot()
    p = robot.nominal
    found = equilibrium(robot, [3.0, 0.5], fixed=["q2"])
    assert found.q[1] == 0.5
    whole = found.q.sum()
    moment = (p["m1"] * p["r1"] + p["m2"] * p["l1"]) * np.sin(found.q[0]) + p["m2"] * p["r2"] * np.sin(whole)
    assert abs(moment) < 1e-12
    assert found.u[0] == pytest.approx(p["g"] * p["m2"] * p["r2"] * np.sin(whole), rel=1e-11)
    assert abs(found.u[0]) > 0.1
    # Without torque, it is one of the two upright or hanging positions.
    np.testing.assert_allclose(equilibrium(robot, [3.0, 0.3], [0.0]).q, [np.pi, 0.0], atol=1e-10)


def test_a_posture_that_cannot_be_held_names_the_joint_and_the_missing_torque() -> None:
    robot = realaigym_acrobot()
    with pytest.raises(NoEquilibriumError, match="cannot hold this position: v_q1 lacks") as caught:
        equilibrium(robot, [2.0, 0.5], fixed=["q1", "q2"])
    weight = robot.evaluate(robot.bias, q=[2.0, 0.5], v=[0, 0])[0]
    assert caught.value.missing == {"v_q1": pytest.approx(weight)}
    passive = with_inputs(two_link_arm(), [])
    with pytest.raises(NoEquilibriumError, match=r"v_q1 lacks \S+, v_q2 lacks"):
        equilibrium(passive, [0.3, 0.8], fixed=["q1", "q2"])
    with pytest.raises(NoEquilibriumError, match="the given inputs"):
        equilibrium(two_link_arm(), [0.3, 0.8], [500.0, 0.0])


def test_a_closed_loop_by_virtual_work() -> None:
    """The crank's torque is dV/ds along assembled positions."""
    robot = linkage()
    q = assemble(robot, [0.8, 0.7, 1.5]).q
    found = equilibrium(robot, q, fixed=robot.coordinates.names)
    energy = [
        float(robot.evaluate(robot.potential_energy, q=assemble(robot, [q[0] + d, *q[1:]], fixed=["crank"]).q))
        for d in (1e-5, -1e-5)
    ]
    assert found.u[0] == pytest.approx((energy[0] - energy[1]) / 2e-5, rel=1e-8)
    # The same rest again, from a guess that is not assembled and with no torque: the least energy nearby.
    low = equilibrium(robot, q + np.array([0.2, 0.0, -0.1]), [0.0])
    assert np.abs(robot.evaluate(robot.acceleration, q=low.q, v=np.zeros(3), u=[0.0])).max() < 1e-7


def test_a_crane_hangs_still() -> None:
    found = equilibrium(altmann_heiland_crane(), [0.0, 3.0, 0.05])
    assert abs(found.q[2]) < 1e-10
    np.testing.assert_allclose(found.u, [0.0, -100.0 * 9.81 * 0.1], atol=1e-9)


def test_a_wheeled_robot_stands_anywhere() -> None:
    found = equilibrium(fukao_robot(), [0.3, -1.0, 0.5, 0.1, 0.2])
    np.testing.assert_allclose(found.q, [0.3, -1.0, 0.5, 0.1, 0.2])
    np.testing.assert_allclose(found.u, 0.0, atol=1e-12)


@pytest.mark.slow
def test_a_body_hung_up_by_a_ball_joint_hangs_and_its_quaternion_stays_one() -> None:
    """The nearest way down turns about a level axis only: what it is turned about the vertical stays."""
    body = free_body(0.1, 0.2, 0.25, below=0.5, gravity=9.81)
    robot = dataclasses.replace(body, natural=(holonomic(body.q[:3], name="ball"),))
    tilt, turn = 0.4, 0.6
    # About the vertical, then about the body's x.
    guess = np.array([np.cos(turn / 2) * np.sin(tilt / 2), np.sin(turn / 2) * np.sin(tilt / 2), 0.0, 0.0])
    guess[2:] = np.sin(turn / 2) * np.cos(tilt / 2), np.cos(turn / 2) * np.cos(tilt / 2)
    found = equilibrium(robot, [0.0, 0.0, 0.0, *guess], np.zeros(6))
    assert np.linalg.norm(found.q[3:]) == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(found.q[3:], [0.0, 0.0, np.sin(turn / 2), np.cos(turn / 2)], atol=1e-9)
    assert np.abs(found.reactions).max() == pytest.approx(9.81, rel=1e-12)
    # Swings of a compound pendulum: ω² = m g s / (I + m s²).
    rates = np.sqrt(9.81 * 0.5 / (np.array([0.1, 0.2]) + 0.25))
    poles = linearize(robot, found.q, None, found.u).poles
    np.testing.assert_allclose(np.sort(np.abs(poles))[2:], np.sort([*rates, *rates]), rtol=1e-7)


def test_bad_input_is_refused() -> None:
    robot = planar_manipulator([Link(0.4, 2.0, 0.2, 0.03)])
    with pytest.raises(ModelError, match="unknown coordinate 'q9'"):
        equilibrium(robot, [0.1], fixed=["q9"])
    with pytest.raises(ShapeError, match=r"q must have shape \(1,\)"):
        equilibrium(robot, [0.1, 0.2])
    with pytest.raises(ShapeError, match="finite"):
        equilibrium(robot, [np.nan])
    with pytest.raises(ModelError, match="the natural constraints are missed by"):
        equilibrium(linkage(), [0.8, 0.7, 0.0], fixed=linkage().coordinates.names)
