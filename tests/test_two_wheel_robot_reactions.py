"""Accelerations and reactions of the rolling robot against Newton-Euler, and the work that reactions do not do."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.scenarios import simulate
from erugin.simulation import DOP853

from .chains import Comparison
from .references.two_wheel import Numbers, newton_euler
from .two_wheel import BY_NUMBERS, ROBOTS, build, rolling_states

NUMBERS = ROBOTS["offset ahead"]


@BY_NUMBERS
def test_reactions_are_the_forces_of_the_ground(numbers: Numbers) -> None:
    """Side force, then the traction of the right and of the left wheel, from the momentum of each body."""
    robot = build(numbers)
    forces = Comparison(10.0)
    for q, w, v, _, u in rolling_states(numbers, seed=1):
        expected = newton_euler(numbers, w[0], w[1], u)
        actual = robot.evaluate(robot.reactions, q=q, v=v, u=u)
        forces.add(actual, np.array([expected.side, expected.right, expected.left]))
    forces.conclude()


@BY_NUMBERS
def test_accelerations_agree_with_newton_euler(numbers: Numbers) -> None:
    robot = build(numbers)
    accelerations = Comparison(1.0)
    for q, w, v, drift, u in rolling_states(numbers, seed=2):
        rates = newton_euler(numbers, w[0], w[1], u)
        c, s = np.cos(q[2]), np.sin(q[2])
        dv, dw = rates.speed_rate, rates.turning_acceleration
        wheels = [(dv + numbers.b * dw) / numbers.r, (dv - numbers.b * dw) / numbers.r]
        expected = np.array([dv * c, dv * s, dw, *wheels]) + drift
        accelerations.add(robot.evaluate(robot.acceleration, q=q, v=v, u=u), expected)
    accelerations.conclude()


def test_traction_of_a_start_from_rest_on_paper() -> None:
    """Equal torques tau: a = 2 tau / r / (m + 2 I_a / r^2), and each wheel pulls half of m a."""
    robot = build(NUMBERS)
    tau = 1.5
    a = 2.0 * tau / 0.15 / (32.0 + 2.0 * 0.005 / 0.15**2)
    q, v, u = [1.0, 2.0, np.pi, 0.0, 0.0], np.zeros(5), [tau, tau]
    acceleration = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
    np.testing.assert_allclose(acceleration, [-a, 0.0, 0.0, a / 0.15, a / 0.15], rtol=1e-14, atol=1e-14)
    reactions = robot.evaluate(robot.reactions, q=q, v=v, u=u)
    np.testing.assert_allclose(reactions, [0.0, 16.0 * a, 16.0 * a], rtol=1e-14, atol=1e-13)


@BY_NUMBERS
def test_reactions_do_no_work_while_the_wheels_roll(numbers: Numbers) -> None:
    """v . A'mu = 0, though each reaction has power of its own: friction pulls the hub and brakes the spin."""
    robot = build(numbers)
    A, _ = robot.natural_form
    power = ca.dot(robot.v, A.T @ robot.reactions)
    shares = (A @ robot.v) * robot.reactions
    rng = np.random.default_rng(3)
    force_power, broken = 0.0, 0.0
    for q, _, v, _, u in rolling_states(numbers, seed=4):
        mu = robot.evaluate(robot.reactions, q=q, v=v, u=u)
        scale = float(np.abs(mu).max() * np.abs(v[:2]).max())
        assert abs(float(robot.evaluate(power, q=q, v=v, u=u))) < 1e-13 * max(1.0, scale)
        assert np.abs(robot.evaluate(shares, q=q, v=v, u=u)).max() < 1e-13 * max(1.0, scale)
        force_power = max(force_power, scale)
        slipping = v + rng.uniform(-0.5, 0.5, 5)
        broken = max(broken, abs(float(robot.evaluate(power, q=q, v=slipping, u=u))))
    assert force_power > 5.0
    assert broken > 1.0


@BY_NUMBERS
def test_energy_grows_by_the_power_of_the_torques(numbers: Numbers) -> None:
    robot = build(numbers)
    growth = ca.jtimes(robot.kinetic_energy, ca.vertcat(robot.q, robot.v), ca.vertcat(robot.v, robot.acceleration))
    powers = Comparison(10.0)
    for q, _, v, _, u in rolling_states(numbers, seed=5):
        powers.add(robot.evaluate(growth, q=q, v=v, u=u), u @ v[3:])
    powers.conclude()


def test_free_motion_keeps_its_energy_and_never_slips() -> None:
    """Ten seconds, in which nearly all energy of turning becomes that of running."""
    robot = build(NUMBERS)
    theta, speed, turning = 0.4, 0.3, 2.0
    wheels = [(speed + 0.75 * turning) / 0.15, (speed - 0.75 * turning) / 0.15]
    v0 = [speed * np.cos(theta), speed * np.sin(theta), turning, *wheels]
    motion = simulate(robot, None, [0.0, 0.0, theta, 0.0, 0.0], v0, 10.0, step=0.1, integrator=DOP853(1e-12, 1e-13))
    np.testing.assert_allclose(motion.energy, motion.energy[0], rtol=1e-10)
    slip = ca.vertcat(*(c.residual(robot.coordinates) for c in robot.natural))
    worst = max(float(np.abs(robot.evaluate(slip, q=q, v=v)).max()) for q, v in zip(motion.q, motion.v, strict=True))
    assert worst < 1e-10
    assert motion.v[0, 2] == pytest.approx(2.0)
    assert abs(motion.v[-1, 2]) < 0.1
    assert np.hypot(*motion.v[-1, :2]) > 1.5
