"""Arms of 2, 5 and 10 links and an arm of seven joints in space follow their programs through their joint torques."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, tracking
from erugin.controllers import Program, ProgramController, analyse
from erugin.robots import Link, Robot, planar_manipulator, with_inputs
from erugin.scenarios import simulate
from erugin.symbolic import ModelError

from .viviani import OFF, drawing

Array = NDArray[np.float64]
RATE = 6.0


def chain(n: int) -> Robot:
    """Rods of 1.2 m together."""
    length, mass = 1.2 / n, 6.0 / n
    return planar_manipulator([Link(length, mass, length / 2, mass * length**2 / 12)] * n)


def circling(robot: Robot, center: Array, radius: float) -> ca.SX:
    """Once round in 2 s."""
    angle = np.pi * robot.t
    return ca.vertcat(ca.cos(angle), ca.sin(angle)) * radius + ca.SX(ca.DM(center))


def critically_damped(y0: Array, rate0: Array, t: Array) -> Array:
    """y of ÿ + 2 ω ẏ + ω² y = 0, shape (N, m)."""
    return np.asarray((y0 + (rate0 + RATE * y0) * t[:, None]) * np.exp(-RATE * t[:, None]), dtype=np.float64)


@pytest.mark.parametrize("links", [2, 5, 10])
def test_the_tip_of_a_chain_comes_onto_its_circle_as_the_perturbation_equation_says(links: int) -> None:
    """From a start 5 cm and 0.5 m/s off; a redundant chain takes the least torques in the metric of its motion."""
    robot = chain(links)
    tip = robot.points["tip"]
    q0 = np.full(links, 1.6 / links)
    q0[0] = -0.5
    at = np.asarray(robot.evaluate(tip, q=q0))
    off = np.array([0.03, -0.04])
    program = Program(
        robot, tracking(tip, circling(robot, at - off - [0.12, 0.0], 0.12), perturbation=Baumgarte(RATE), name="tip")
    )
    controller = ProgramController(program, realization="actuated")
    motion = simulate(robot, controller, q0, np.zeros(links), 3.0, step=1e-3)
    assert motion.ok
    rate0 = -np.array([0.0, 0.12 * np.pi])
    expected = critically_damped(off, rate0, motion.t)
    np.testing.assert_allclose(motion.deviation, expected, atol=2e-8)
    assert np.abs(motion.deviation[-1]).max() < 1e-6
    # The joints end in motion, and their torques move them: this is no kinematics.
    assert np.abs(motion.u).max() > 1.0


def test_a_redundant_chain_takes_the_least_effort_in_the_metric_of_its_inputs() -> None:
    """Any other torques with the same tip acceleration cost more uᵀWu, W = Bᵀ M⁻¹ B, by dense linear algebra."""
    robot = chain(5)
    tip = robot.points["tip"]
    program = Program(robot, tracking(tip, [0.6, 0.5], perturbation=Baumgarte(RATE), name="tip"))
    controller = ProgramController(program, realization="actuated")
    q, v = np.array([-0.4, 0.5, 0.3, 0.6, -0.2]), np.array([0.3, -0.2, 0.5, 0.1, -0.4])
    u = controller.control(0.0, q, v)
    M, h = robot.evaluate(robot.mass_matrix, q=q, v=v), robot.evaluate(robot.bias, q=q, v=v)
    J = robot.evaluate(ca.jacobian(tip, robot.q), q=q)
    W = np.linalg.inv(M)
    rows = controller.solve(0.0, q, v)
    np.testing.assert_allclose(np.linalg.solve(M, u - h), rows.acceleration, rtol=1e-10)
    assert rows.program_residual < 1e-10
    # Stationarity of the Lagrangian: W u lies in the row space of J M⁻¹.
    G = J @ W
    rest = W @ u - G.T @ np.linalg.lstsq(G.T, W @ u, rcond=None)[0]
    assert np.abs(rest).max() < 1e-10 * np.abs(W @ u).max()


@pytest.mark.slow
def test_seven_joints_draw_on_a_sphere_and_keep_the_hand_upright() -> None:
    """Viviani's curve with the tool, its orientation and the elbow held, from a start 2 cm off."""
    robot, hand, _, motion = drawing()
    assert motion.ok
    expected = critically_damped(-OFF, np.zeros(3), motion.t)
    np.testing.assert_allclose(motion.deviation[:, :3], expected, atol=1e-8)
    assert np.abs(motion.deviation[:, 3:]).max() < 1e-8
    assert np.ptp(motion.evaluate(hand), axis=0).min() > 0.04
    effort = robot.limits.effort
    assert np.isfinite(effort).all()
    assert (np.abs(motion.u) < effort).all()


def test_a_wrong_model_leaves_a_deviation_that_faster_gains_make_smaller() -> None:
    """Masses 10 % too large in the controller's model: the law is no longer exact, and does not pretend to be."""
    robot = chain(2)
    tip = robot.points["tip"]
    path = circling(robot, np.array([0.75, 0.2]), 0.15)
    worst: list[float] = []
    for rate in (5.0, 20.0):
        program = Program(robot, tracking(tip, path, perturbation=Baumgarte(rate), name="tip"))
        controller = ProgramController(program, realization="actuated")
        wrong = {name: 1.1 * value for name, value in robot.nominal.items() if name.startswith("m")}
        motion = simulate(robot, controller, [-0.35, 1.35], [0.0, 0.0], 4.0, step=1e-3, controller_p=wrong)
        worst.append(float(np.abs(motion.deviation[len(motion) // 2 :]).max()))
    # Nothing is exact any more; a stiffness ω² divides what gravity leaves over.
    assert worst[0] > 1e-3
    assert worst[1] == pytest.approx(worst[0] / 16.0, rel=0.3)


def test_a_passive_joint_is_said_not_to_be_realisable_by_both() -> None:
    """Two rows, one drive: analyse says so, the controller refuses, and the ideal force shows what is missing."""
    robot = with_inputs(chain(2), ["M1"])
    program = Program(robot, tracking(robot.points["tip"], [0.7, 0.3], perturbation=Baumgarte(RATE), name="tip"))
    report = analyse(program, t=0.0, q=[0.2, 0.9], v=[0.1, -0.3])
    assert not report.realizable
    with pytest.raises(ModelError, match=r"has 2 rows .* has only 1 input"):
        ProgramController(program, realization="actuated")
    ideal = ProgramController(program).solve(0.0, [0.2, 0.9], [0.1, -0.3])
    assert abs(ideal.force[1]) > 1e-3
