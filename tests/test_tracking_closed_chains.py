"""Closed chains follow their programs through few drives: the reactions of the loops carry what the drives do not."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

from erugin.constraints import Baumgarte, FirstOrder, nonholonomic, tracking
from erugin.controllers import Program, ProgramController, analyse
from erugin.robots import Link, Robot, assemble
from erugin.robots.examples import five_bar, flores_slider_crank, four_bar
from erugin.scenarios import simulate
from erugin.simulation import SimulationError

Array = NDArray[np.float64]
CRANK, ROD, SLIDER = 0.153, 0.306, 0.076


def test_a_crank_moves_its_slider_as_asked_by_the_torque_of_virtual_work() -> None:
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
