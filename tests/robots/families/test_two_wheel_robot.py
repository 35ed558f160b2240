"""The two-wheel robot: free, rolling and reduced, against Pinocchio, Newton-Euler and the literature."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField, FirstOrder, circle, follow, line
from erugin.controllers import Program, ProgramController
from erugin.robots import two_wheel_robot
from erugin.robots.examples import fukao_robot, maxon_re40, turtlebot3_burger
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import StartWarning

from ...support.chains import Comparison
from ...support.references.two_wheel import Numbers, PinocchioTwoWheel, fukao_acceleration, newton_euler
from ...support.two_wheel import BY_NUMBERS, ROBOTS, Array, OpenLoop, arguments, build, rolling_states

NUMBERS = ROBOTS["offset ahead"]


def test_coordinates_inputs_and_constraints_have_the_agreed_order() -> None:
    robot = build(NUMBERS)
    assert robot.coordinates.names == ("x", "y", "theta", "phi_r", "phi_l")
    assert robot.coordinates.units == ("m", "m", "rad", "rad", "rad")
    assert (robot.input_names, robot.input_units) == (("tau_r", "tau_l"), ("N m", "N m"))
    assert [(c.name, c.order) for c in robot.natural] == [("side slip", 1), ("right wheel", 1), ("left wheel", 1)]
    assert robot.reactions.shape == (3, 1)
    assert set(robot.chain) <= set(robot.points) == {"axle", "center", "right wheel", "left wheel", "nose"}
    assert dict(robot.nominal) == arguments(NUMBERS)


@pytest.mark.foreign
@BY_NUMBERS
def test_agrees_with_pinocchio(numbers: Numbers) -> None:
    """Wherever the wheels slip: a whole-tensor model in space knows nothing of rolling."""
    robot, other = build(numbers), PinocchioTwoWheel(numbers)
    mass, bias, energy = Comparison(0.1), Comparison(0.1 * (numbers.d != 0.0)), Comparison(0.1)
    rng = np.random.default_rng(1)
    for _ in range(50):
        q, v = rng.uniform(-3.0, 3.0, (2, 5))
        expected = other.mass_matrix(q)
        mass.add(robot.evaluate(robot.mass_matrix, q=q), expected)
        bias.add(robot.evaluate(robot.bias, q=q, v=v), other.bias(q, v))
        energy.add(robot.evaluate(robot.kinetic_energy, q=q, v=v), 0.5 * v @ expected @ v)
    for comparison in (mass, bias, energy):
        comparison.conclude()


def test_points_at_a_hand_computed_posture() -> None:
    """Facing +y from (2, 1): the right wheel is at larger x."""
    robot = build(NUMBERS)
    places = {"axle": (2, 1), "center": (2, 1.3), "right wheel": (2.75, 1), "left wheel": (1.25, 1), "nose": (2, 1.75)}
    for name, place in places.items():
        actual = robot.evaluate(robot.points[name], q=[2.0, 1.0, np.pi / 2, 0.4, -0.7])
        np.testing.assert_allclose(actual, place, rtol=0.0, atol=1e-15)


@BY_NUMBERS
def test_rolling_is_what_leaves_the_ground_under_each_wheel_at_rest(numbers: Numbers) -> None:
    """Each wheel's lowest point moves with its hub, less r times its spin along the heading."""
    robot = build(numbers)
    c = robot.coordinates
    heading = ca.vertcat(ca.cos(robot.q[2]), ca.sin(robot.q[2]))
    rims = [
        ca.jtimes(robot.points[f"{side} wheel"], robot.q, robot.v) - numbers.r * robot.v[i] * heading
        for side, i in (("right", 3), ("left", 4))
    ]
    rim, residual = ca.vertcat(*rims), ca.vertcat(*(constraint.residual(c) for constraint in robot.natural))
    rng = np.random.default_rng(3)
    for q, _, v, _, _ in rolling_states(numbers, seed=2):
        assert np.abs(robot.evaluate(residual, q=q, v=v)).max() < 1e-13
        assert np.abs(robot.evaluate(rim, q=q, v=v)).max() < 1e-13
        slipping = v + rng.uniform(-1.0, 1.0, 5)
        slips = robot.evaluate(rim, q=q, v=slipping)
        # Both hubs share one sideways velocity.
        along = np.array([np.cos(q[2]), np.sin(q[2])])
        left = np.array([-along[1], along[0]])
        expected = [slips[:2] @ left, slips[:2] @ along, slips[2:] @ along]
        np.testing.assert_allclose(robot.evaluate(residual, q=q, v=slipping), expected, rtol=0.0, atol=1e-13)
        assert slips[:2] @ left == pytest.approx(slips[2:] @ left, abs=1e-13)


def test_parameters_are_symbols() -> None:
    """A robot with the parameters of another one is that other one, constraints included."""
    one, other = build(NUMBERS), ROBOTS["offset behind, heavy wheels"]
    p = arguments(other)
    acceleration, reactions = Comparison(1.0), Comparison(1.0)
    for q, _, v, _, u in rolling_states(other, seed=4):
        twin = build(other)
        acceleration.add(
            one.evaluate(one.acceleration, q=q, v=v, u=u, p=p), twin.evaluate(twin.acceleration, q=q, v=v, u=u)
        )
        reactions.add(one.evaluate(one.reactions, q=q, v=v, u=u, p=p), twin.evaluate(twin.reactions, q=q, v=v, u=u))
    acceleration.conclude()
    reactions.conclude()


@pytest.mark.parametrize("rate", [None, 3.0])
def test_slip_decays_at_the_rate_of_the_perturbation_equation(rate: float | None) -> None:
    """exp(-k t), with k = 10 1/s by default."""
    options: dict[str, Any] = arguments(NUMBERS)
    robot = two_wheel_robot(**options, perturbation=None if rate is None else FirstOrder(rate))
    q0, v0 = [0.1, 0.2, 0.5, 0.0, 0.0], [0.7, -0.4, 0.9, 2.0, -3.0]
    with pytest.warns(StartWarning, match="violates its natural constraint"):
        motion = simulate(robot, None, q0, v0, 0.5, step=0.05, integrator=DOP853())
    slip = ca.vertcat(*(c.residual(robot.coordinates) for c in robot.natural))
    start = robot.evaluate(slip, q=q0, v=v0)
    assert np.abs(start).min() > 0.1
    for t, q, v in zip(motion.t, motion.q, motion.v, strict=True):
        np.testing.assert_allclose(robot.evaluate(slip, q=q, v=v), start * np.exp(-(rate or 10.0) * t), atol=1e-9)


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


def test_a_program_requires_the_same_torques_in_both_forms() -> None:
    """The nose led along a line round a disc."""
    full, reduced = build(NUMBERS), build(NUMBERS, "reduced")
    field = EruginField(
        line((0.0, 0.0), (4.0, 0.0), name="path"),
        [circle((2.0, 0.1), 0.5, name="disc")],
        speed=0.5,
        margin=0.2,
        avoidance="detour",
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
