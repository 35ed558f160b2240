"""The planar manipulator's mass matrix is positive definite, and its energy grows by the power of the torques."""

import math

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from .chains import CHAINS, GRAVITY, TOLERANCE, Chain, name, random_states
from .references import planar_newton_euler as newton_euler

Array = NDArray[np.float64]


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_mass_matrix_is_symmetric_and_positive_definite(chain: Chain) -> None:
    robot = chain.robot
    coupling = 0.0
    for q, v, _ in random_states(chain.n, seed=11):
        mass = robot.evaluate(robot.mass_matrix, q=q).reshape(chain.n, chain.n)
        assert np.max(np.abs(mass - mass.T)) <= 1e-14 * np.max(np.abs(mass))
        assert np.linalg.eigvalsh(mass)[0] > 1e-3
        assert math.isclose(0.5 * v @ mass @ v, float(robot.evaluate(robot.kinetic_energy, q=q, v=v)), rel_tol=1e-13)
        coupling = max(coupling, float(np.max(np.abs(mass - np.diag(np.diag(mass))))))
    assert (coupling > 0.1) == (chain.n > 1)


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_velocity_forces_do_no_work(chain: Chain) -> None:
    """v.(M' v - 2 (h - dV/dq)) = 0, the skewness of M' - 2C along v; halving the velocity forces breaks it."""
    robot = chain.robot
    momentum = robot.mass_matrix @ robot.v
    growth = ca.dot(robot.v, ca.jtimes(momentum, robot.q, robot.v))
    work = ca.dot(robot.v, robot.bias - ca.jacobian(robot.potential_energy, robot.q).T)
    largest, broken = 0.0, 0.0
    for q, v, _ in random_states(chain.n, seed=12):
        rate, power = (float(robot.evaluate(expression, q=q, v=v)) for expression in (growth, work))
        assert abs(rate - 2.0 * power) <= TOLERANCE * max(1.0, abs(rate), _scale(chain, q, v))
        largest, broken = max(largest, abs(rate)), max(broken, abs(rate - power))
    assert (largest > 1.0) == (chain.n > 1)  # a single link has a constant mass matrix
    assert (broken > 0.5) == (chain.n > 1)


@pytest.mark.parametrize("chain", CHAINS, ids=name)
def test_energy_grows_by_the_power_of_the_torques(chain: Chain) -> None:
    """d(T + V)/dt along the acceleration is the sum of torque times joint rate; without bias it is not."""
    robot = chain.robot
    energy = robot.kinetic_energy + robot.potential_energy
    state = ca.vertcat(robot.q, robot.v)
    growth = ca.jtimes(energy, state, ca.vertcat(robot.v, robot.acceleration))
    careless = ca.solve(robot.mass_matrix, robot.input_matrix @ robot.u)
    broken_growth = ca.jtimes(energy, state, ca.vertcat(robot.v, careless))
    largest, broken = 0.0, 0.0
    for q, v, u in random_states(chain.n, seed=13):
        joint_rates = v if chain.angles == "relative" else np.diff(v, prepend=0.0)
        power = float(u @ joint_rates)
        actual = float(robot.evaluate(growth, q=q, v=v, u=u))
        assert abs(actual - power) <= TOLERANCE * max(1.0, abs(power), _scale(chain, q, v))
        largest = max(largest, abs(power))
        broken = max(broken, abs(float(robot.evaluate(broken_growth, q=q, v=v, u=u)) - power))
    assert largest > 10.0
    assert broken > 1.0


def _scale(chain: Chain, q: Array, v: Array) -> float:
    """Size of the powers that cancel in a power balance [W]."""
    return float(np.abs(newton_euler.bias(chain.links, chain.angles, chain.zero, GRAVITY, q, v)) @ np.abs(v))
