"""Electrical and mechanical coordinates in one Lagrangian: the motors' equations, their power, and a data sheet."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

from erugin.robots import lagrangian_system
from erugin.robots.examples import fukao_robot, maxon_re40
from erugin.scenarios import simulate
from erugin.simulation import DOP853

from ...support.chains import Comparison
from ...support.references.two_wheel import Numbers, PinocchioTwoWheel, newton_euler
from ...support.two_wheel import BY_NUMBERS, MOTORS, ROBOTS, Array, Form, OpenLoop, build, rolling_states

NUMBERS = ROBOTS["offset behind, heavy wheels"]
RPM = 2.0 * np.pi / 60.0
RE40 = maxon_re40(gear_ratio=1.0)


def motor_torques(currents: Array, spins: Array) -> Array:
    """Torque on each wheel but for the rotor's inertia [N m]."""
    pairs = zip(MOTORS, currents, spins, strict=True)
    return np.array([m.gear_ratio * (m.torque_constant * i - m.damping * m.gear_ratio * w) for m, i, w in pairs])


def current_rates(currents: Array, spins: Array, voltages: Array) -> Array:
    """Kirchhoff's law for each armature [A/s]."""
    parts = zip(MOTORS, currents, spins, voltages, strict=True)
    return np.array(
        [(u - m.resistance * i - m.torque_constant * m.gear_ratio * w) / m.inductance for m, i, w, u in parts]
    )


@pytest.mark.parametrize("form", ["full", "reduced"])
def test_charges_follow_the_coordinates(form: Form) -> None:
    robot = build(NUMBERS, form, driven=True)
    assert robot.coordinates.names[5:] == ("charge_r", "charge_l")
    assert robot.coordinates.units[5:] == ("C", "C")
    assert (robot.input_names, robot.input_units) == (("voltage_r", "voltage_l"), ("V", "V"))
    for side, motor in zip(("right", "left"), MOTORS, strict=True):
        for key, value in dataclasses.asdict(motor).items():
            assert robot.nominal[f"{side} motor.{key}"] == value


@BY_NUMBERS
def test_equations_of_robot_and_motors(numbers: Numbers) -> None:
    """Newton-Euler with the motors' torques and the rotors' inertia on the wheels, and Kirchhoff."""
    full, reduced = build(numbers, driven=True), build(numbers, "reduced", driven=True)
    spin_inertia = (
        numbers.axle_inertia + MOTORS[0].gear_ratio ** 2 * MOTORS[0].rotor_inertia,
        numbers.axle_inertia + MOTORS[1].gear_ratio ** 2 * MOTORS[1].rotor_inertia,
    )
    accelerations, forces, currents = Comparison(1.0), Comparison(10.0), Comparison(100.0)
    for q, w, v, _, u in rolling_states(numbers, seed=1, driven=True):
        rolling = newton_euler(numbers, w[0], w[1], motor_torques(v[5:], v[3:5]), spin_inertia)
        actual = reduced.evaluate(reduced.acceleration, v=w, u=u)
        accelerations.add(actual[:2], np.array([rolling.speed_rate, rolling.turning_acceleration]))
        currents.add(actual[2:], current_rates(v[5:], v[3:5], u))
        reactions = full.evaluate(full.reactions, q=q, v=v, u=u)
        forces.add(reactions, np.array([rolling.side, rolling.right, rolling.left]))
    for comparison in (accelerations, forces, currents):
        comparison.conclude()


@pytest.mark.foreign
def test_rotors_turn_with_the_wheels_as_in_pinocchio() -> None:
    rotors = tuple((motor.rotor_inertia, motor.gear_ratio) for motor in MOTORS)
    robot, other = build(NUMBERS, driven=True), PinocchioTwoWheel(NUMBERS, rotors=rotors)
    mass = Comparison(0.1)
    for q, _, _, _, _ in rolling_states(NUMBERS, seed=2, driven=True):
        mass.add(robot.evaluate(robot.mass_matrix, q=q)[:5, :5], other.mass_matrix(q[:5]))
    mass.conclude()


@pytest.mark.parametrize("form", ["full", "reduced"])
@BY_NUMBERS
def test_electrical_power_becomes_heat_and_energy(numbers: Numbers, form: Form) -> None:
    """U.i = R i^2 + b (n w)^2 + dT/dt; the coupling takes from one side what it gives the other."""
    robot = build(numbers, form, driven=True)
    c = robot.coordinates
    growth = ca.jtimes(
        robot.kinetic_energy, ca.vertcat(robot.q, robot.v), ca.vertcat(c.N @ robot.v, robot.acceleration)
    )
    powers, converted = Comparison(10.0), 0.0
    for q, w, v, _, u in rolling_states(numbers, seed=3, driven=True):
        spins, currents = v[3:5], v[5:]
        heat = sum(
            m.resistance * i**2 + m.damping * (m.gear_ratio * s) ** 2
            for m, i, s in zip(MOTORS, currents, spins, strict=True)
        )
        grown = robot.evaluate(growth, q=q, v=v if form == "full" else w, u=u)
        powers.add(grown, float(u @ currents) - float(heat))
        converted = max(converted, float(np.abs(motor_torques(currents, spins) * spins).max()))
    powers.conclude()
    assert converted > 10.0


def test_kinetic_energy_is_the_sum_of_real_energies() -> None:
    """Bodies, rotors and magnetic fields; the Lagrangian's coupling, which grows with the angle, is not an energy."""
    robot, undriven = build(NUMBERS, driven=True), build(NUMBERS)
    energies = Comparison(1.0)
    for q, _, v, _, _ in rolling_states(NUMBERS, seed=4, driven=True):
        motors = sum(
            m.inductance * i**2 / 2.0 + m.rotor_inertia * (m.gear_ratio * s) ** 2 / 2.0
            for m, i, s in zip(MOTORS, v[5:], v[3:5], strict=True)
        )
        bodies = undriven.evaluate(undriven.kinetic_energy, q=q[:5], v=v[:5])
        energies.add(robot.evaluate(robot.kinetic_energy, q=q, v=v), float(bodies) + float(motors))
    energies.conclude()


def test_one_motor_alone_against_the_matrix_exponential() -> None:
    """The circuit is not tied to this robot: a fan with drag, switched on, whose equations are linear."""
    motor, inertia, drag = MOTORS[0], 0.02, 0.01
    phi, omega = ca.SX.sym("phi"), ca.SX.sym("omega")
    circuit = motor.circuit("fan", angle=phi, rate=omega)
    robot = lagrangian_system(
        q=ca.vertcat(phi, circuit.charge),
        v=ca.vertcat(omega, circuit.current),
        p=circuit.parameters,
        T=inertia * omega**2 / 2 + circuit.energy + circuit.coupling,
        D=drag * omega**2 / 2 + circuit.dissipation,
        Q=ca.vertcat(0, circuit.voltage),
        u=circuit.voltage,
    )
    n, k, voltage = motor.gear_ratio, motor.torque_constant, 6.0
    total = inertia + n**2 * motor.rotor_inertia
    A = np.array(
        [
            [-(drag + n**2 * motor.damping) / total, n * k / total],
            [-n * k / motor.inductance, -motor.resistance / motor.inductance],
        ]
    )
    settled = np.linalg.solve(A, [0.0, -voltage / motor.inductance])
    loop = OpenLoop(robot, lambda _: np.array([voltage]))
    motion = simulate(robot, loop, [0.0, 0.0], [0.0, 0.0], 0.5, step=0.01, integrator=DOP853(1e-12, 1e-13))
    for t, v in zip(motion.t, motion.v, strict=True):
        np.testing.assert_allclose(v, settled - expm(A * t) @ settled, rtol=0.0, atol=1e-9)
    assert motion.v[-1, 0] > 1.0


def test_data_sheet_of_the_re40() -> None:
    """Printed for 24 V: idle 7580 rpm and 137 mA, stalled 80.2 A and 2.42 N m, time constant 4.67 ms."""
    k, R, b, J = RE40.torque_constant, RE40.resistance, RE40.damping, RE40.rotor_inertia
    idle = 24.0 * k / (k**2 + R * b)
    assert idle / RPM == pytest.approx(7580.0, rel=1e-3)
    assert b * idle / k == pytest.approx(0.137, rel=1e-3)
    stalled = 24.0 / R
    assert stalled == pytest.approx(80.2, rel=2e-3)
    assert k * stalled == pytest.approx(2.42, rel=2e-3)
    assert R * J / k**2 == pytest.approx(4.67e-3, rel=5e-3)


def test_robot_settles_at_the_idle_speed_of_its_motors() -> None:
    """On the plane nothing brakes it but the motors' own friction: r times the idle speed behind the gear."""
    robot = fukao_robot(form="reduced", motors=maxon_re40(gear_ratio=43.0))
    loop = OpenLoop(robot, lambda _: np.array([24.0, 24.0]))
    motion = simulate(robot, loop, np.zeros(7), np.zeros(4), 10.0, step=0.1, integrator=DOP853())
    speed, turning, right, left = motion.v[-1]
    assert speed == pytest.approx(0.15 * 7580.0 * RPM / 43.0, rel=1e-3)
    assert right == pytest.approx(0.137, rel=1e-2)
    assert right == pytest.approx(left, rel=1e-12)
    assert turning == 0.0
    assert motion.v[:, 2].max() > 5.0
