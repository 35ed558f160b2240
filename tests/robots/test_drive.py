"""Drives that a robot did not have: their power is that of the angle or length along which they act."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, tracking
from erugin.controllers import Program, ProgramController
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator, with_drive, with_inputs
from erugin.robots.examples import turtlebot3_burger
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError

from ..support.called_controller import Called

Array = NDArray[np.float64]
RODS = [Link(0.6, 2.0, 0.3, 0.06), Link(0.5, 1.5, 0.2, 0.03), Link(0.4, 1.0, 0.2, 0.02)]
ANCHOR = np.array([0.3, 1.4])


@functools.cache
def arm(angles: str = "relative") -> Robot:
    return planar_manipulator(RODS, angles="absolute" if angles == "absolute" else "relative")


def cable(robot: Robot) -> ca.SX:
    """From the tip to a point on the ceiling."""
    return ca.norm_2(robot.points["tip"] - ca.DM(ANCHOR))


def along() -> dict[str, tuple[Robot, ca.SX]]:
    """Expressions along which drives may act."""
    relative, absolute = arm(), arm("absolute")
    wheels = turtlebot3_burger(form="reduced")
    return {
        "angle of a link": (relative, ca.sum1(relative.q[:2])),
        "angle between links": (absolute, absolute.q[2] - absolute.q[0]),
        "cable": (absolute, cable(absolute)),
        "cable by a parameter": (relative, relative.p[0] * ca.sin(relative.q[0])),
        "wheels against each other": (wheels, wheels.q[3] - 2.0 * wheels.q[4]),
        "place of the axle": (wheels, wheels.q[0] * wheels.q[1]),
    }


@pytest.mark.parametrize("name", list(along()))
def test_power_is_that_of_the_length_along_which_it_acts(name: str) -> None:
    """u ẋ, with ẋ from differences of x along q̇ = N v, of second order."""
    robot, x = along()[name]
    c = robot.coordinates
    driven = with_drive(robot, "drive", x, effort=3.0, unit="N")
    rng = np.random.default_rng(7)
    for _ in range(5):
        q, v, u = rng.uniform(-1.0, 1.0, c.nq), rng.uniform(-1.0, 1.0, c.nv), 2.5
        moved = robot.evaluate(c.N @ c.v, q=q, v=v)
        h = 1e-6
        rate = (robot.evaluate(x, q=q + h * moved) - robot.evaluate(x, q=q - h * moved)) / (2 * h)
        B = driven.evaluate(driven.input_matrix, q=q)
        assert float(v @ B[:, -1]) * u == pytest.approx(float(rate) * u, abs=1e-8)
        np.testing.assert_array_equal(B[:, :-1], robot.evaluate(robot.input_matrix, q=q))
    assert driven.input_names == (*robot.input_names, "drive")
    assert driven.input_units == (*robot.input_units, "N")
    np.testing.assert_array_equal(driven.limits.effort, [*robot.limits.effort, 3.0])
    assert driven.coordinates is robot.coordinates
    assert driven.parameters is robot.parameters
    assert robot.u.numel() == driven.u.numel() - 1


def test_a_drive_along_a_wheel_is_the_input_that_the_robot_has() -> None:
    """In quasi-velocities too: the same column, and the same accelerations."""
    robot = turtlebot3_burger(form="reduced")
    second = with_drive(robot, "again", robot.q[3])
    q, v = np.array([0.3, -0.2, 0.7, 0.1, 0.4]), np.array([0.2, -0.5])
    B = second.evaluate(second.input_matrix, q=q)
    np.testing.assert_allclose(B[:, 2], B[:, 0], atol=1e-15)
    one = robot.evaluate(robot.acceleration, q=q, v=v, u=[0.02, -0.01])
    other = second.evaluate(second.acceleration, q=q, v=v, u=[0.0, -0.01, 0.02])
    np.testing.assert_allclose(other, one, rtol=1e-12)


def test_a_cable_carries_a_mass_by_the_forces_along_it() -> None:
    """m r̈ = m g + F (r − r₀)/|r − r₀|, where the drive pushes with F along the cable."""
    q, v = ca.SX.sym("r", 2), ca.SX.sym("w", 2)
    mass = lagrangian_system(q=q, v=v, T=3.0 * ca.sumsqr(v) / 2, V=3.0 * 9.81 * q[1])
    hung = with_drive(mass, "winch", ca.norm_2(q - ca.DM(ANCHOR)), unit="N")
    r, force = np.array([0.5, 0.2]), -40.0
    found = hung.evaluate(hung.acceleration, q=r, v=[0.0, 0.0], u=[force])
    away = (r - ANCHOR) / np.linalg.norm(r - ANCHOR)
    np.testing.assert_allclose(found, np.array([0.0, -9.81]) + force * away / 3.0, rtol=1e-14)


def test_drives_on_the_ground_and_between_links_are_the_torques_of_a_manipulator() -> None:
    """An arm of absolute angles with new drives has the columns that its own torques have, Q_i = M_i − M_{i+1}."""
    own = arm("absolute")
    bare = with_inputs(own, [])
    driven = with_drive(bare, "M1", own.q[0])
    for i in (1, 2):
        driven = with_drive(driven, f"M{i + 1}", own.q[i] - own.q[i - 1])
    np.testing.assert_array_equal(driven.evaluate(driven.input_matrix), own.evaluate(own.input_matrix))
    assert driven.input_names == own.input_names


@pytest.mark.parametrize("called", [False, True])
def test_a_tip_hung_on_two_cables_is_moved_by_them_alone(called: bool) -> None:
    """The arm itself is passive; what the winches work is what the energy gains, by Simpson's rule."""
    bare = with_inputs(arm(), [])
    tip = bare.points["tip"]
    other = ca.norm_2(tip - ca.DM([1.6, 1.2]))
    pulled = with_drive(with_drive(bare, "first", cable(bare), unit="N"), "second", other, unit="N")
    q0 = np.array([-0.4, 0.5, 0.6])
    at = np.asarray(bare.evaluate(tip, q=q0))
    path = ca.SX(ca.DM(at)) + 0.1 * ca.vertcat(1.0 - ca.cos(2 * bare.t), 2 * bare.t - ca.sin(2 * bare.t)) / 2
    law = ProgramController(
        Program(pulled, tracking(tip, path, perturbation=Baumgarte(10.0), name="tip")), realization="actuated"
    )
    controller = Called(law) if called else law
    motion = simulate(pulled, controller, q0, np.zeros(3), 0.4, step=2e-3, integrator=DOP853())
    assert motion.ok
    miss = motion.evaluate(tip - path)
    assert np.abs(miss).max() < 1e-9
    lengths = motion.evaluate(ca.vertcat(cable(bare), other))
    rates = motion.evaluate(bare.coordinates.rate(ca.vertcat(cable(bare), other)))
    h = motion.t[1] - motion.t[0]
    np.testing.assert_allclose((lengths[2:] - lengths[:-2]) / (2 * h), rates[1:-1], atol=1e-5)
    power = np.sum(motion.u * rates, axis=1)
    work = h / 3 * (power[:-2:2] + 4 * power[1:-1:2] + power[2::2]).sum()
    assert work == pytest.approx(motion.energy[-1] - motion.energy[0], rel=1e-7)
    assert abs(work) > 0.5


ARM = arm()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: with_drive(ARM, "M2", ARM.q[0]), "already has an input 'M2'; its inputs are M1, M2, M3"),
        (lambda: with_drive(ARM, "d", ARM.q), "along must be a scalar SX expression, got"),
        (lambda: with_drive(ARM, "d", cast("ca.SX", 3.25)), r"along must be a scalar SX expression, got 3\.25"),
        (lambda: with_drive(ARM, "d", ARM.v[0]), "'d' must act along an expression in coordinates and parameters"),
        (lambda: with_drive(ARM, "d", ARM.q[0] * ARM.t), "'d' must act along an expression in coordinates"),
        (lambda: with_drive(ARM, "d", ARM.q[0] + ARM.u[0]), "'d' must act along an expression in coordinates"),
        (lambda: with_drive(ARM, "d", ARM.coordinates.a[0]), "'d' must act along an expression in coordinates"),
        (lambda: with_drive(ARM, "d", ARM.p[0]), "'d' must act along an expression in coordinates"),
        (
            lambda: with_drive(ARM, "d", ARM.q[0] + ca.SX.sym("stranger")),
            "expression that drive 'd' acts along uses stranger",
        ),
        (lambda: with_drive(ARM, "d", ARM.q[0], effort=-1.0), "effort must not be negative"),
        (lambda: with_drive(ARM, "d", ARM.q[0], effort=np.nan), "effort must be a vector without NaN"),
        (lambda: with_drive(ARM, cast("str", 5), ARM.q[0]), "name of a drive must be text, got 5"),
        (lambda: with_drive(ARM, "", ARM.q[0]), "name of a drive must be text, got ''"),
    ],
)
def test_what_is_no_drive_is_refused(make: Callable[[], Robot], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()
