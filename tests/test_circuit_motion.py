"""Circuits in time: transients, resonance, coupled circuits and filters against textbook formulas and SciPy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal

from erugin.constraints import nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot
from erugin.robots.examples import GROUND, Branch, butterworth_ladder, electric_circuit
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Trajectory

from .constant import Constant

Array = NDArray[np.float64]

TIGHT = DOP853(1e-13, 1e-15)


def switched_on(robot: Robot, voltage: float, duration: float, samples: int) -> Trajectory:
    zero = np.zeros(robot.coordinates.nq)
    return simulate(robot, Constant(robot, voltage), zero, zero, duration, step=duration / samples, integrator=TIGHT)


def test_series_circuit_rings_when_switched_on() -> None:
    """L q̈ + R q̇ + q/C = U: q = C U (1 − e^{−δt}(cos ωt + δ/ω sin ωt)), δ = R/2L, ω² = 1/LC − δ²."""
    L, R, C, U = 0.1, 4.0, 1e-3, 12.0
    robot = electric_circuit({"loop": Branch(GROUND, GROUND, L, R, C, source=True)})
    motion = switched_on(robot, U, 0.5, 200)
    damping = R / (2 * L)
    omega = np.sqrt(1 / (L * C) - damping**2)
    ringing = np.cos(omega * motion.t) + damping / omega * np.sin(omega * motion.t)
    exact = C * U * (1 - np.exp(-damping * motion.t) * ringing)
    np.testing.assert_allclose(motion.q[:, 0], exact, rtol=0, atol=1e-11)
    assert motion.q[:, 0].max() > 1.3 * C * U


def test_coupled_circuits_beat_between_their_two_frequencies() -> None:
    """Equal LC circuits with coupling k = M/L: ω₀/√(1 ± k), so q₁ = ½ Q (cos ω₊t + cos ω₋t)."""
    L, C, k, Q = 2e-3, 5e-6, 0.1, 1e-4
    loops = {name: Branch(GROUND, GROUND, inductance=L, capacitance=C) for name in ("one", "two")}
    robot = electric_circuit(loops, mutual={("one", "two"): k * L})
    own = 1 / np.sqrt(L * C)
    motion = simulate(robot, None, [Q, 0.0], [0.0, 0.0], 100 / own, step=0.2 / own, integrator=DOP853(1e-13, 1e-18))
    waves = [np.cos(own / np.sqrt(1 + sign * k) * motion.t) for sign in (1.0, -1.0)]
    np.testing.assert_allclose(motion.q[:, 0], Q / 2 * (waves[0] + waves[1]), rtol=0, atol=1e-9 * Q)
    np.testing.assert_allclose(motion.q[:, 1], Q / 2 * (waves[0] - waves[1]), rtol=0, atol=1e-9 * Q)
    assert np.ptp(motion.energy) < 1e-10 * motion.energy[0]
    assert np.abs(motion.q[:, 1]).max() > 0.9 * Q


def test_an_ideal_transformer_shows_its_load_by_the_square_of_its_ratio() -> None:
    """The secondary has no inductance: its current is determined by that of the primary alone."""
    R, L, load, turns, U = 2.0, 0.3, 0.5, (100.0, 20.0), 10.0
    robot = electric_circuit(
        {
            "primary": Branch(GROUND, GROUND, inductance=L, resistance=R, source=True),
            "secondary": Branch(GROUND, GROUND, resistance=load),
        },
        transformers={"core": {"primary": turns[0], "secondary": turns[1]}},
    )
    motion = switched_on(robot, U, 0.2, 50)
    seen = R + (turns[0] / turns[1]) ** 2 * load
    exact = U / seen * (1 - np.exp(-seen * motion.t / L))
    np.testing.assert_allclose(motion.v[:, 0], exact, rtol=0, atol=1e-10)
    np.testing.assert_allclose(motion.v[:, 1], -turns[0] / turns[1] * exact, rtol=0, atol=1e-10)
    volts_per_turn = float(robot.evaluate(robot.reactions, q=motion.q[-1], v=motion.v[-1], u=[U]))
    assert volts_per_turn == pytest.approx(load * motion.v[-1, 1] / turns[1], rel=1e-12)


@pytest.mark.parametrize("order", [3, 5, 7])
def test_a_butterworth_ladder_is_maximally_flat(order: int) -> None:
    """|2 v_load/u|² = 1/(1 + (ω/ω_c)^{2n}), Butterworth's formula, from below to far above the cut-off."""
    R, cutoff = 50.0, 2e5
    robot = butterworth_ladder(order, resistance=R, cutoff=cutoff)
    c = robot.coordinates
    parts = [robot.mass_matrix, ca.jacobian(robot.bias, c.v), ca.jacobian(robot.bias, c.q)]
    M, damping, S = (robot.evaluate(part) for part in parts)
    A, B = robot.evaluate(robot.natural_form[0]).reshape(-1, order), robot.evaluate(robot.input_matrix)
    right = np.append(B.ravel(), np.zeros(len(A)))
    for ratio in (0.1, 0.5, 0.9, 1.0, 1.3, 2.0):
        s = 1j * ratio * cutoff
        system = np.block([[s * M + damping + S / s, -A.T], [A, np.zeros((len(A), len(A)))]])
        gain = abs(2 * R * np.linalg.solve(system, right)[order - 1]) ** 2
        assert gain == pytest.approx(1 / (1 + ratio ** (2 * order)), rel=1e-10)


def test_step_response_of_the_ladder_is_that_of_scipys_filter() -> None:
    order, R, cutoff = 5, 1.0, 10.0
    robot = butterworth_ladder(order, resistance=R, cutoff=cutoff)
    motion = switched_on(robot, 2.0, 3.0, 300)
    numerator, denominator = signal.butter(order, cutoff, analog=True)
    _, exact = signal.step((numerator, denominator), T=motion.t)
    np.testing.assert_allclose(R * motion.v[:, -1], exact, rtol=0, atol=1e-11)
    # The multiplier of a node is its potential: that of the capacitor on it.
    for k in (50, 300):
        potentials = robot.evaluate(robot.reactions, q=motion.q[k], v=motion.v[k], u=[2.0])
        charges = [motion.q[k, 1] / robot.nominal["b2.C"], motion.q[k, 3] / robot.nominal["b4.C"]]
        np.testing.assert_allclose(potentials, charges, rtol=0, atol=1e-12)


def test_a_program_makes_the_load_current_a_sine() -> None:
    """The source must supply u = L i̇ + R i; an error of the start decays at the chosen rate."""
    L, R, amplitude, omega, rate = 0.5, 3.0, 2.0, 7.0, 20.0
    robot = electric_circuit({"coil": Branch(GROUND, GROUND, inductance=L, resistance=R, source=True)})
    wanted = amplitude * ca.sin(omega * robot.t)
    program = Program(robot, nonholonomic(robot.v[0] - wanted, name="sine"))
    controller = ProgramController(program, realization="actuated")
    controller_p = {"sine.rate": rate}
    motion = simulate(robot, controller, [0.0], [0.3], 1.0, step=0.01, integrator=TIGHT, controller_p=controller_p)
    current = amplitude * np.sin(omega * motion.t) + 0.3 * np.exp(-rate * motion.t)
    slope = amplitude * omega * np.cos(omega * motion.t) - 0.3 * rate * np.exp(-rate * motion.t)
    np.testing.assert_allclose(motion.v[:, 0], current, rtol=0, atol=1e-10)
    np.testing.assert_allclose(motion.u[:, 0], L * slope + R * current, rtol=0, atol=1e-9)
