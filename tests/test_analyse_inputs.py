"""What an analysis says of actuators, against the rank of Θ M̂ B and least squares by NumPy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic, second_order
from erugin.controllers import Program, ProgramController, Status, analyse
from erugin.robots import Robot, lagrangian_system, with_inputs

from .arms import disc_program, three_link_arm, two_link_arm
from .mechanisms import crank_rocker
from .test_program_controller import cart_with_pendulum

Array = NDArray[np.float64]


def test_inputs_on_every_joint_give_the_ideal_force() -> None:
    program = disc_program(three_link_arm())
    report = analyse(program, t=0.3, q=[0.3, 0.8, -0.4], v=[0.2, -0.1, 0.3])
    assert report.realizable
    assert report.actuation.unreached == ()
    np.testing.assert_allclose(report.actuation.missing_force, 0.0, atol=1e-10)
    B = program.robot.evaluate(program.robot.input_matrix)
    np.testing.assert_allclose(B @ report.actuation.best, report.force, atol=1e-9)
    np.testing.assert_allclose(report.actuation.missing_rows, 0.0, atol=1e-10)


@pytest.mark.parametrize(("inputs", "realizable"), [(["M1", "M2"], True), (["M1"], False), ([], False)])
def test_an_arm_with_fewer_drives(inputs: list[str], realizable: bool) -> None:
    """What one drive leaves of two rows, by least squares in units in which each row of the constraint counts alike."""
    robot = with_inputs(two_link_arm(), inputs)
    program = Program(robot, holonomic(robot.points["tip"] - ca.vertcat(0.4, 0.5), name="tip"))
    q, v = np.array([0.3, 0.8]), np.array([0.4, -0.7])
    report = analyse(program, t=0.0, q=q, v=v)
    f = ca.Function(
        "f",
        [robot.q, robot.v, program.p],
        [robot.mass_matrix, robot.bias, robot.input_matrix, program.theta, program.beta],
    )
    M, h, B, theta, beta = (np.array(x.full()) for x in f.call([q, v, ca.DM(list(program.nominal.values()))]))
    gain, wanted = theta @ np.linalg.solve(M, B), (beta + theta @ np.linalg.solve(M, h))[:, 0]
    u = np.linalg.lstsq(gain, wanted, rcond=None)[0] if inputs else np.zeros(0)
    missed = gain @ u - wanted
    assert report.realizable is realizable
    assert report.solvable
    assert report.actuation.reach.value == len(inputs)
    np.testing.assert_allclose(report.actuation.missing_rows, missed, atol=1e-10)
    # The ideal force, and the nearest to it in the metric M⁻¹.
    R = theta.T @ np.linalg.solve(theta @ np.linalg.solve(M, theta.T), wanted)
    root = np.linalg.inv(np.linalg.cholesky(M))
    best = np.linalg.lstsq(root @ B, root @ R, rcond=None)[0] if inputs else np.zeros(0)
    np.testing.assert_allclose(report.actuation.best, best, atol=1e-9)
    np.testing.assert_allclose(report.actuation.missing_force, R - B @ best, atol=1e-9)
    assert bool(np.abs(report.actuation.missing_force).max() < 1e-9) is realizable
    if not realizable:
        assert "not realizable by the inputs" in str(report)
        assert "the rows miss by [" in str(report)


def test_reactions_help_the_actuators() -> None:
    """One drive on a crank moves every bar of a four-bar; a force against the pin costs no drive."""
    robot = crank_rocker()
    for name in robot.input_names:
        one = with_inputs(robot, [name])
        program = Program(one, second_order(one.coordinates.a[2] - 1.5, name="rocker"))
        report = analyse(program, t=0.0, q=[0.7, 0.6, 1.4], v=np.zeros(3))
        assert report.realizable
        assert report.actuation.unreached == ()
        np.testing.assert_allclose(report.actuation.missing_force, 0.0, atol=1e-9)
        solution = ProgramController(program, realization="actuated").solve(0.0, [0.7, 0.6, 1.4], np.zeros(3))
        assert solution.status is Status.OK
        np.testing.assert_allclose(solution.acceleration, report.acceleration, atol=1e-9)


def test_a_realisable_program_whose_ideal_force_is_out_of_reach() -> None:
    """A force on the cart alone can give the bob a horizontal acceleration, in another way than a force on the bob."""
    robot = with_inputs(cart_with_pendulum(), ["F"])
    program = Program(robot, nonholonomic(robot.v[1] - 0.3, name="bob"))
    report = analyse(program, t=0.0, q=[0.1, 0.4, -0.4], v=[0.1, 0.2, 0.15])
    assert report.realizable
    assert np.abs(report.actuation.missing_force).max() > 1e-2
    assert (
        ProgramController(program, realization="actuated")
        .solve(0.0, [0.1, 0.4, -0.4], [0.1, 0.2, 0.15])
        .program_residual
        < 1e-10
    )


def test_a_row_that_no_input_reaches_is_named() -> None:
    q, v, u = ca.SX.sym("x", 2), ca.SX.sym("vx", 2), ca.SX.sym("F")
    made = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=2 * q[1] ** 2, Q=ca.vertcat(u, 0), u=u)

    def rows(robot: Robot, goal: float) -> Program:
        free = second_order(robot.coordinates.a[1] - goal, name="free")
        return Program(robot, [second_order(robot.coordinates.a[0] - 1.0, name="driven"), free])

    report = analyse(rows(made, 1.0), t=0.0, q=[0.0, 0.5], v=[0.0, 0.0])
    assert report.actuation.unreached == ("free",)
    assert not report.realizable
    np.testing.assert_allclose(report.actuation.missing_rows, [0.0, -3.0], atol=1e-12)
    # It does what is asked by itself: nothing has to reach it here, and that is luck.
    lucky = analyse(rows(made, -2.0), t=0.0, q=[0.0, 0.5], v=[0.0, 0.0])
    assert lucky.realizable
    assert not lucky.conditions["actuators, whatever β"].holds
    assert lucky.actuation.unreached == ("free",)


def test_more_inputs_than_freedom() -> None:
    q, v, u = ca.SX.sym("x"), ca.SX.sym("vx"), ca.SX.sym("u", 3)
    robot = lagrangian_system(q=q, v=v, T=v**2, Q=u[0] + 2 * u[1] - u[2], u=ca.vertcat(*ca.vertsplit(u)))
    report = analyse(Program(robot, second_order(robot.coordinates.a - 3.0)), t=0.0, q=[0.0], v=[0.0])
    assert report.realizable
    assert np.array([1.0, 2.0, -1.0]) @ report.actuation.best == pytest.approx(6.0)


def test_contradictory_rows_cannot_be_realised() -> None:
    robot = two_link_arm()
    rows = [second_order(robot.coordinates.a[0] - g, name=f"to {g}") for g in (1.0, 2.0)]
    report = analyse(Program(robot, rows), t=0.0, q=[0.3, 0.8], v=[0.0, 0.0])
    assert not report.realizable
    assert report.contradictions == pytest.approx({"to 2.0": 1.0})
    # At best both are missed by a half.
    np.testing.assert_allclose(np.abs(report.actuation.missing_rows), [0.5, 0.5], atol=1e-10)
    assert np.isnan(report.actuation.best).all()
