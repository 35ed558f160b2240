"""The two-wheel robot in speed and turning rate: the same robot, and the equations of the literature."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField, FirstOrder, circle, follow, line
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.simulation import DOP853

from .chains import Comparison
from .references.two_wheel import Numbers, fukao_acceleration, newton_euler
from .two_wheel import BY_NUMBERS, ROBOTS, Array, OpenLoop, build, rolling_states

NUMBERS = ROBOTS["offset ahead"]
BOTH = pytest.mark.parametrize("driven", [False, True], ids=["torques", "motors"])


def test_coordinates_velocities_and_inputs_have_the_agreed_order() -> None:
    robot = build(NUMBERS, "reduced")
    assert robot.coordinates.names == ("x", "y", "theta", "phi_r", "phi_l")
    assert (robot.coordinates.nq, robot.coordinates.nv) == (5, 2)
    assert robot.natural == ()
    assert robot.reactions.shape == (0, 1)
    assert robot.input_names == ("tau_r", "tau_l")
    assert set(robot.points) == set(build(NUMBERS).points)


@BOTH
@BY_NUMBERS
def test_velocities_obey_the_constraints(numbers: Numbers, driven: bool) -> None:
    """dq/dt = N w by hand, and A N = 0."""
    full, reduced = build(numbers, driven=driven), build(numbers, "reduced", driven=driven)
    rates = Comparison(1.0)
    for q, w, v, _, _ in rolling_states(numbers, seed=1, driven=driven):
        N = reduced.evaluate(reduced.coordinates.N, q=q)
        rates.add(N @ w, v)
        assert np.abs(full.evaluate(full.natural_form[0], q=q) @ N).max() < 1e-13
    rates.conclude()


@BOTH
@BY_NUMBERS
def test_equations_are_the_full_ones_projected(numbers: Numbers, driven: bool) -> None:
    """N'MN, N'(M N' w + h), N'B and T with numbers, N and its rate by hand, at any heading."""
    full, reduced = build(numbers, driven=driven), build(numbers, "reduced", driven=driven)
    mass, bias, inputs, energy = (
        Comparison(0.001),
        Comparison(0.1 * (numbers.d != 0.0)),
        Comparison(0.1),
        Comparison(0.1),
    )
    for q, w, v, drift, _ in rolling_states(numbers, seed=2, driven=driven):
        c, s = np.cos(q[2]), np.sin(q[2])
        N = np.zeros((v.size, w.size))
        N[:5, :2] = [
            [c, 0],
            [s, 0],
            [0, 1],
            [1 / numbers.r, numbers.b / numbers.r],
            [1 / numbers.r, -numbers.b / numbers.r],
        ]
        N[5:, 2:] = np.eye(v.size - 5)
        M = full.evaluate(full.mass_matrix, q=q)
        mass.add(reduced.evaluate(reduced.mass_matrix), N.T @ M @ N)
        bias.add(reduced.evaluate(reduced.bias, v=w), N.T @ (M @ drift + full.evaluate(full.bias, q=q, v=v)))
        inputs.add(reduced.evaluate(reduced.input_matrix), N.T @ full.evaluate(full.input_matrix))
        energy.add(reduced.evaluate(reduced.kinetic_energy, v=w), full.evaluate(full.kinetic_energy, q=q, v=v))
    for comparison in (mass, bias, inputs, energy):
        comparison.conclude()


@BOTH
@BY_NUMBERS
def test_both_forms_have_the_same_accelerations(numbers: Numbers, driven: bool) -> None:
    full, reduced = build(numbers, driven=driven), build(numbers, "reduced", driven=driven)
    accelerations = Comparison(1.0)
    for q, w, v, drift, u in rolling_states(numbers, seed=3, driven=driven):
        a = reduced.evaluate(reduced.acceleration, v=w, u=u)
        expected = reduced.evaluate(reduced.coordinates.N, q=q) @ a + drift
        accelerations.add(full.evaluate(full.acceleration, q=q, v=v, u=u), expected)
    accelerations.conclude()


@BY_NUMBERS
def test_equations_of_the_literature(numbers: Numbers) -> None:
    """(m + 2 I_a/r^2) v' - m_p d w^2 = (tau_r + tau_l)/r, (I + 2 b^2 I_a/r^2) w' + m_p d v w = (tau_r - tau_l) b/r."""
    robot, n = build(numbers, "reduced"), numbers
    m = n.platform_mass + 2.0 * n.wheel_mass + 2.0 * n.axle_inertia / n.r**2
    inertia = n.platform_inertia + n.platform_mass * n.d**2 + 2.0 * (n.wheel_mass * n.b**2 + n.diameter_inertia)
    inertia += 2.0 * n.b**2 * n.axle_inertia / n.r**2
    accelerations, bodies = Comparison(1.0), Comparison(1.0)
    for _, (speed, turning), _, _, u in rolling_states(numbers, seed=4):
        actual = robot.evaluate(robot.acceleration, v=[speed, turning], u=u)
        expected = [
            ((u[0] + u[1]) / n.r + n.platform_mass * n.d * turning**2) / m,
            ((u[0] - u[1]) * n.b / n.r - n.platform_mass * n.d * speed * turning) / inertia,
        ]
        accelerations.add(actual, np.array(expected))
        rolling = newton_euler(numbers, speed, turning, u)
        bodies.add(actual, np.array([rolling.speed_rate, rolling.turning_acceleration]))
    accelerations.conclude()
    bodies.conclude()


@BY_NUMBERS
def test_equations_of_fukao_in_wheel_speeds(numbers: Numbers) -> None:
    """[Fukao2000]_ writes them in the speeds of the wheels."""
    robot, n = build(numbers, "reduced"), numbers
    accelerations = Comparison(1.0)
    for _, w, v, _, u in rolling_states(numbers, seed=5):
        right, left = fukao_acceleration(numbers, v[3:], u)
        expected = np.array([n.r * (right + left) / 2.0, n.r * (right - left) / (2.0 * n.b)])
        accelerations.add(robot.evaluate(robot.acceleration, v=w, u=u), expected)
    accelerations.conclude()


def test_nothing_depends_on_place_or_heading() -> None:
    for driven in (False, True):
        robot = build(NUMBERS, "reduced", driven=driven)
        parts = (robot.mass_matrix, robot.bias, robot.input_matrix, robot.kinetic_energy)
        assert not any(ca.depends_on(part, robot.q) for part in parts)


def test_free_motion_in_closed_form() -> None:
    """v = V tanh s, w = W sech s with m* V^2 = I* W^2: the robot runs straight in the end, centre of mass ahead.

    From v' = (m_p d/m*) w^2 and w' = -(m_p d/I*) v w, with s' = m_p d V/I*.
    """
    robot, n = build(NUMBERS, "reduced"), NUMBERS
    m = 32.0 + 2.0 * n.axle_inertia / n.r**2
    inertia = 15.625 + 30.0 * 0.3**2 + 2.0 * (0.75**2 + 0.0025) + 2.0 * 0.75**2 * n.axle_inertia / n.r**2
    V, s0 = 1.4, -1.2
    W, rate = V * np.sqrt(m / inertia), 30.0 * 0.3 * V / inertia
    start = [V * np.tanh(s0), W / np.cosh(s0)]
    motion = simulate(robot, None, np.zeros(5), start, 8.0, step=0.1, integrator=DOP853(1e-12, 1e-13))
    s = s0 + rate * motion.t
    np.testing.assert_allclose(motion.v, np.column_stack([V * np.tanh(s), W / np.cosh(s)]), rtol=0.0, atol=1e-10)
    turned = W / rate * 2.0 * (np.arctan(np.tanh(s / 2.0)) - np.arctan(np.tanh(s0 / 2.0)))
    np.testing.assert_allclose(motion.q[:, 2], turned, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(motion.energy, 0.5 * m * V**2, rtol=1e-10)
    assert start[0] < -1.0
    assert motion.v[-1, 0] > 1.3


def test_both_forms_have_the_same_trajectories() -> None:
    """Under torques that turn it both ways; the full form keeps rolling within its stabilisation."""
    full, reduced = build(NUMBERS), build(NUMBERS, "reduced")

    def torques(t: float) -> Array:
        return np.array([2.0 * np.cos(1.3 * t), 1.5 * np.sin(0.7 * t) + 0.4])

    theta, speed, turning = -0.6, 0.5, 0.8
    q0 = [0.3, -0.2, theta, 1.0, 2.0]
    wheels = [(speed + 0.75 * turning) / 0.15, (speed - 0.75 * turning) / 0.15]
    v0 = [speed * np.cos(theta), speed * np.sin(theta), turning, *wheels]
    accurate = DOP853(1e-12, 1e-13)
    one = simulate(full, OpenLoop(full, torques), q0, v0, 6.0, step=0.05, integrator=accurate)
    two = simulate(reduced, OpenLoop(reduced, torques), q0, [speed, turning], 6.0, step=0.05, integrator=accurate)
    np.testing.assert_allclose(one.q, two.q, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(one.energy, two.energy, rtol=1e-9)
    assert np.ptp(one.q[:, 2]) > 1.0
    assert np.abs(np.diff(one.energy)).sum() > 10.0


def test_a_program_asks_for_the_same_torques_in_both_forms() -> None:
    """The nose led along a line round a disc."""
    full, reduced = build(NUMBERS), build(NUMBERS, "reduced")
    field = EruginField(
        line((0.0, 0.0), (4.0, 0.0), name="path"), [circle((2.0, 0.1), 0.5, name="disc")], speed=0.5, margin=0.2
    )
    one, two = (
        ProgramController(
            Program(robot, follow(field, robot.points["nose"], perturbation=FirstOrder(4.0))), realization="actuated"
        )
        for robot in (full, reduced)
    )
    compared = Comparison(1.0)
    for q, w, v, _, _ in rolling_states(NUMBERS, seed=6):
        compared.add(one.control(0.0, q, v), two.control(0.0, q, w))
    compared.conclude()
    motion = simulate(reduced, two, [-0.75, 0.3, 0.0, 0.0, 0.0], [0.0, 0.0], 8.0, step=0.01)
    assert np.abs(motion.deviation[-1]).max() < 1e-6
    nose = np.array([reduced.evaluate(reduced.points["nose"], q=q) for q in motion.q])
    assert nose[-1, 0] > 3.0
    assert np.hypot(nose[:, 0] - 2.0, nose[:, 1] - 0.1).min() > 0.5
