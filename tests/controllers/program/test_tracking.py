"""Arms and closed chains that follow programs through their drives wherever `analyse` says realizable."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq

from erugin.constraints import Baumgarte, FirstOrder, nonholonomic, tracking
from erugin.controllers import Program, ProgramController, Status, analyse
from erugin.controllers.multipliers import LeastNormMultipliers
from erugin.robots import Link, Robot, assemble, planar_manipulator, with_inputs
from erugin.robots.examples import five_bar, flores_slider_crank, four_bar
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, Parameters

from ...support.controller_cases.robots import CASES, robot_case
from ...support.viviani import OFF, drawing

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
def test_the_tip_of_a_chain_converges_to_its_circle_by_the_perturbation_equation(links: int) -> None:
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


def test_both_report_that_a_passive_joint_cannot_realise_the_program() -> None:
    """Two rows, one drive: analyse says so, the controller refuses, and the ideal force shows what is missing."""
    robot = with_inputs(chain(2), ["M1"])
    program = Program(robot, tracking(robot.points["tip"], [0.7, 0.3], perturbation=Baumgarte(RATE), name="tip"))
    report = analyse(program, t=0.0, q=[0.2, 0.9], v=[0.1, -0.3])
    assert not report.realizable
    with pytest.raises(ModelError, match=r"has 2 rows .* has only 1 input"):
        ProgramController(program, realization="actuated")
    ideal = ProgramController(program).solve(0.0, [0.2, 0.9], [0.1, -0.3])
    assert abs(ideal.force[1]) > 1e-3


CRANK, ROD, SLIDER = 0.153, 0.306, 0.076


def test_a_crank_moves_its_slider_as_prescribed_by_the_torque_of_virtual_work() -> None:
    """The slider goes to and fro as a cosine; τ from the reduced equation J(φ) φ̈ + J′ φ̇²/2 + V′ = τ of one angle.

    Its inertia comes from the positions alone, by differences of them.
    """
    robot = flores_slider_crank()
    x = robot.q[2]
    middle, reach, turning = 0.38, 0.05, 6.0
    program = Program(
        robot, tracking(x, [middle + reach * ca.cos(turning * robot.t)], perturbation=Baumgarte(20.0), name="slider")
    )
    angle = brentq(lambda f: _slider(f) - middle - reach, 0.1, 2.0)
    q0 = np.array([angle, -np.arcsin(CRANK * np.sin(angle) / ROD), middle + reach])
    controller = ProgramController(program, realization="actuated")
    motion = simulate(robot, controller, q0, np.zeros(3), 1.2, step=5e-4)
    assert motion.ok
    assert np.abs(motion.deviation).max() < 1e-9
    for i in (100, 700, 1500, 2300):
        t = float(motion.t[i])
        f = brentq(lambda f, t=t: _slider(f) - middle - reach * np.cos(turning * t), 0.05, 2.0)
        assert motion.q[i, 0] == pytest.approx(f, abs=1e-8)
        assert motion.u[i, 0] == pytest.approx(_torque(f, t, reach, turning), rel=2e-5)


def _slider(f: float) -> float:
    return float(CRANK * np.cos(f) + np.sqrt(ROD**2 - (CRANK * np.sin(f)) ** 2))


def _torque(f: float, t: float, reach: float, turning: float) -> float:
    """By differences of step 1e-4 rad, of error 1e-8 relative and rounding 1e-8 in second derivatives."""
    d = 1e-4
    slope, bend = (_slider(f + d) - _slider(f - d)) / (2 * d), (_slider(f + d) - 2 * _slider(f) + _slider(f - d)) / d**2
    rate = -reach * turning * np.sin(turning * t) / slope
    acceleration = (-reach * turning**2 * np.cos(turning * t) - bend * rate**2) / slope

    def height(f: float) -> float:
        """Potential energy."""
        return float(9.81 * (0.038 + 0.038) * CRANK * np.sin(f) / 2)

    def inertia(f: float) -> float:
        """Twice the kinetic energy at unit rate."""
        rod = (-np.arcsin(CRANK * np.sin(f + d) / ROD) + np.arcsin(CRANK * np.sin(f - d) / ROD)) / (2 * d)
        center = CRANK * np.array([-np.sin(f), np.cos(f)]) + ROD / 2 * rod * np.array(
            [CRANK * np.sin(f) / ROD, np.sqrt(1 - (CRANK * np.sin(f) / ROD) ** 2)]
        )
        moved = (_slider(f + d) - _slider(f - d)) / (2 * d)
        crank = 7.4e-5 + 0.038 * (CRANK / 2) ** 2
        return float(crank + 0.038 * center @ center + 5.9e-4 * rod**2 + 0.076 * moved**2)

    e = 1e-3
    turn = (inertia(f + e) - inertia(f - e)) / (2 * e)
    lift = (height(f + e) - height(f - e)) / (2 * e)
    return float(inertia(f) * acceleration + turn * rate**2 / 2 + lift)


def linkage() -> Robot:
    """A crank-rocker with a point of its coupler."""
    bars = Link(0.2, 1.0, 0.1, 0.004), Link(0.5, 2.0, 0.25, 0.05), Link(0.4, 1.5, 0.2, 0.02)
    return four_bar(*bars, ground=(0.5, 0.0), coupler_point=(0.25, 0.15))


def test_a_coupler_point_keeps_its_speed_along_its_curve_by_one_drive() -> None:
    """One drive, one row: from rest to 0.4 m/s, the power of the drive is what the energy gains."""
    robot = linkage()
    point = robot.points["coupler.point"]
    c = robot.coordinates
    moving = c.rate(point)
    speed = nonholonomic(ca.norm_2(moving) - 0.4, perturbation=FirstOrder(10.0), name="speed")
    program = Program(robot, speed)
    q0 = assemble(robot, [0.8, 0.6, 1.6]).q
    A = robot.evaluate(robot.natural_form[0], q=q0)
    v0 = np.linalg.svd(A)[2][-1]
    v0 *= np.sign(v0[0]) * 0.2 / np.linalg.norm(robot.evaluate(moving, q=q0, v=v0))
    report = analyse(program, t=0.0, q=q0, v=v0)
    assert report.realizable
    motion = simulate(robot, ProgramController(program, realization="actuated"), q0, v0, 2.0, step=5e-4)
    assert motion.ok
    np.testing.assert_allclose(motion.deviation[:, 0], -0.2 * np.exp(-10.0 * motion.t), atol=1e-9)
    power = motion.u[:, 0] * motion.v[:, 0]
    h = motion.t[1]
    work = np.concatenate([[0.0], np.cumsum(_simpson(power, h))])
    np.testing.assert_allclose(work, motion.energy[::2] - motion.energy[0], atol=1e-8)
    assert np.ptp(motion.q[:, 0]) > 1.5


def _simpson(values: Array, h: float) -> Array:
    return np.asarray(h / 3 * (values[:-2:2] + 4 * values[1:-1:2] + values[2::2]), dtype=np.float64)


def test_a_five_bar_draws_a_circle_by_two_drives() -> None:
    """From a start 1 cm off; the joint between the rods is passive."""
    rods = Link(0.25, 1.0, 0.125, 0.006), Link(0.4, 0.8, 0.2, 0.012)
    robot = five_bar(*rods, *rods, ground=(0.2, 0.0))
    tip = robot.points["tip"]
    q0 = assemble(robot, [2.2, 0.9, 0.9, 2.2]).q
    at = robot.evaluate(tip, q=q0)
    turned = ca.vertcat(ca.cos(3 * robot.t) - 1.0, ca.sin(3 * robot.t)) * 0.06
    path = turned + ca.SX(ca.DM(at + np.array([0.0, 0.01])))
    program = Program(robot, tracking(tip, path, perturbation=Baumgarte(10.0), name="tip"))
    motion = simulate(robot, ProgramController(program, realization="actuated"), q0, np.zeros(4), 2.5, step=5e-4)
    assert motion.ok
    y0, rate0, t = np.array([0.0, -0.01]), np.array([0.0, -0.18]), motion.t[:, None]
    np.testing.assert_allclose(motion.deviation, (y0 + (rate0 + 10.0 * y0) * t) * np.exp(-10.0 * t), atol=1e-9)
    assert np.abs(motion.deviation[-1]).max() < 1e-8
    gap = motion.evaluate(robot.points["left_rod.end"] - robot.points["right_rod.end"])
    assert np.abs(gap).max() < 1e-9


def test_a_drive_that_cannot_act_is_named() -> None:
    """The slider passes its dead centre, where no torque of the crank moves it: the run ends and says which row."""
    robot = flores_slider_crank()
    program = Program(robot, nonholonomic(robot.v[2] + 0.5, perturbation=FirstOrder(20.0), name="slider speed"))
    angle = np.pi - 0.4
    q0 = np.array([angle, -np.arcsin(CRANK * np.sin(angle) / ROD), _slider(angle)])
    A = robot.evaluate(robot.natural_form[0], q=q0)
    v0 = np.linalg.svd(A)[2][-1]
    v0 *= -0.5 / v0[2]
    controller = ProgramController(program, realization="actuated")
    with pytest.raises(SimulationError, match="'slider speed' vanishes") as caught:
        simulate(robot, controller, q0, v0, 1.0, step=1e-4)
    assert abs(caught.value.trajectory.q[-1, 0] - np.pi) < 0.05
    dead = np.array([np.pi, 0.0, ROD - CRANK])
    assert not analyse(program, t=0.0, q=dead, v=np.zeros(3)).realizable


ROBOTS = [name for name in CASES if name != "seven-joint arm"]


@functools.cache
def controllers(name: str, size: int) -> tuple[ProgramController, ProgramController, ProgramController | None]:
    """Ideal, through the inputs, and through the inputs by a method for independent rows if that serves the program.

    Rows are C v + c = 0 with their numbers as parameters, built once for all of them.
    """
    robot = robot_case(name).robot
    nv = robot.coordinates.nv
    numbers = Parameters.declare({f"c{i}": 0.3 + 0.1 * (i % 7) for i in range(size * (nv + 1))}, "rows")
    C = ca.reshape(numbers.symbols, size, nv + 1)
    rows = nonholonomic(C[:, :nv] @ robot.v + C[:, nv], perturbation=FirstOrder(3.0), parameters=numbers, name="rows")
    program = Program(robot, rows)
    ideal = ProgramController(program, method=LeastNormMultipliers())
    least = ProgramController(program, realization="actuated", method=LeastNormMultipliers())
    if size > robot.u.numel():
        with pytest.raises(ModelError, match="only"):
            ProgramController(program, realization="actuated")
        return ideal, least, None
    return ideal, least, ProgramController(program, realization="actuated")


@pytest.mark.parametrize("name", ROBOTS)
@given(seed=st.integers(0, 10_000), more=st.booleans())
def test_inputs_keep_a_realisable_program_as_the_ideal_force_does(name: str, seed: int, more: bool) -> None:
    """As many rows as inputs or one more, at random; small integers in half of the cases, which inputs may miss."""
    case = robot_case(name)
    robot = case.robot
    rng = np.random.default_rng(seed)
    nv, size = robot.coordinates.nv, robot.u.numel() + int(more)
    C = rng.uniform(-1.0, 1.0, (size, nv + 1))
    if seed % 2:
        C[:, :nv] = rng.integers(-2, 3, (size, nv))
    ideal, least, strict = controllers(name, size)
    p = {f"rows.c{i}": float(value) for i, value in enumerate(C.ravel(order="F"))}
    q, v = case.q0, case.v0
    if not robot.natural:
        q, v = q + rng.uniform(-0.05, 0.05, q.size), rng.uniform(-0.5, 0.5, nv)
    report = analyse(ideal.program, t=0.0, q=q, v=v, p=p)
    wanted, found = ideal.solve(0.0, q, v, p), least.solve(0.0, q, v, p)
    if report.realizable:
        scale = max(1.0, float(np.abs(found.acceleration).max()))
        assert wanted.status is Status.OK
        assert found.status is Status.OK
        assert wanted.program_residual <= 1e-9 * scale
        assert found.program_residual <= 1e-9 * scale
        assert found.motion_residual <= 1e-9 * max(1.0, float(np.abs(found.input).max()))
    else:
        assert found.status is not Status.OK
        assert "rows" in found.message
        if strict is not None:
            assert strict.solve(0.0, q, v, p).status is not Status.OK
