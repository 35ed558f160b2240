"""The ready-made robots have the numbers of their sources."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots.examples import fukao_robot, maxon_re40, turtlebot3_burger

from .references.two_wheel import Numbers, fukao_acceleration


def test_fukao_robot_accelerates_as_published() -> None:
    """Numbers from the table of the paper, equations from its text."""
    numbers = Numbers(0.15, 0.75, 0.3, 30.0, 15.625, 1.0, 0.005, 0.0025)
    robot = fukao_robot(form="reduced")
    wheels, torques = np.array([4.0, -1.0]), np.array([3.0, 1.0])
    v = [0.15 * 1.5, 0.15 * 5.0 / 1.5]
    right, left = fukao_acceleration(numbers, wheels, torques)
    actual = robot.evaluate(robot.acceleration, v=v, u=torques)
    np.testing.assert_allclose(actual, [0.075 * (right + left), 0.1 * (right - left)], rtol=1e-13)


def test_turtlebot_weighs_what_its_bodies_do() -> None:
    """Sums over the URDF's bodies: base, scanner 32 mm and caster 81 mm behind the axle, and two wheels."""
    robot = turtlebot3_burger(form="reduced")
    total = 0.82573504 + 0.114 + 0.005 + 2 * 0.02849894
    about_axle = 2.0064271e-3 + (1e-3 + 0.114 * 0.032**2) + (1e-3 + 0.005 * 0.081**2)
    about_axle += 2.0 * ((1.1175580e-5 + 1.1192413e-5) / 2.0 + 0.02849894 * 0.08**2)
    rolling = 2.0 * 2.0712558e-5 / 0.033**2
    mass = robot.evaluate(robot.mass_matrix)
    np.testing.assert_allclose(mass, np.diag([total + rolling, about_axle + rolling * 0.08**2]), rtol=1e-13)
    # m_p d: what couples the two equations.
    bias = robot.evaluate(robot.bias, v=[0.0, 1.0])
    np.testing.assert_allclose(bias, [0.114 * 0.032 + 0.005 * 0.081, 0.0], rtol=1e-13, atol=1e-18)
    assert robot.nominal["com_offset"] == pytest.approx(-0.0042901, rel=1e-4)


def test_motor_of_the_catalogue_with_a_gear() -> None:
    motor = maxon_re40(gear_ratio=43.0)
    assert motor.gear_ratio == 43.0
    robot = fukao_robot(motors=motor)
    assert robot.input_names == ("voltage_r", "voltage_l")
    reflected = 43.0**2 * 142e-7
    mass = robot.evaluate(robot.mass_matrix, q=np.zeros(7))
    assert mass[3, 3] == pytest.approx(0.005 + reflected, rel=1e-14)
