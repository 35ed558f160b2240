"""Magnetic levitation from its Lagrangian: against force and induction by hand, and held by a program."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot
from erugin.robots.examples import khalil_suspension, magnetic_levitation
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError

from ...support.constant_controller import Constant

Array = NDArray[np.float64]

M, K, A, L0, L1, R, G = 0.1, 0.001, 0.05, 0.01, 0.02, 1.0, 9.81
GAP = 0.05
HOLDING = np.sqrt(2 * M * G * (A + GAP) ** 2 / (L0 * A))
"""The current whose pull carries the ball at the gap."""


def linearized() -> Array:
    """d(δy, δẏ, δi)/dt about the equilibrium, by hand."""
    inductance = L1 + L0 / (1 + GAP / A)
    coupling = L0 * A * HOLDING / (A + GAP) ** 2
    return np.array(
        [
            [0.0, 1.0, 0.0],
            [L0 * A * HOLDING**2 / (M * (A + GAP) ** 3), -K / M, -coupling / M],
            [0.0, coupling / inductance, -R / inductance],
        ]
    )


def test_force_and_induction_by_hand() -> None:
    """m ÿ = m g − k ẏ − ½ L₀a i²/(a + y)² and L i̇ = u − R i + L₀a ẏ i/(a + y)², as Khalil writes them."""
    robot, rng = khalil_suspension(), np.random.default_rng(6)
    for _ in range(30):
        y, charge = rng.uniform(0.01, 0.1), rng.normal()
        rate, i, u = rng.normal(size=3)
        a = robot.evaluate(robot.acceleration, q=[y, charge], v=[rate, i], u=[u])
        slope = L0 * A / (A + y) ** 2
        fall = G - K / M * rate - slope * i**2 / (2 * M)
        change = (u - R * i + slope * rate * i) / (L1 + L0 * A / (A + y))
        np.testing.assert_allclose(a, [fall, change], rtol=0, atol=1e-11)


def test_the_ball_hangs_still_at_the_current_of_the_formula() -> None:
    robot = khalil_suspension()
    assert pytest.approx(6.264, abs=1e-3) == HOLDING
    a = robot.evaluate(robot.acceleration, q=[GAP, 0.0], v=[0.0, HOLDING], u=[R * HOLDING])
    np.testing.assert_allclose(a, 0.0, atol=1e-13)


def test_eigenvalues_about_the_equilibrium_are_those_of_the_matrix_by_hand() -> None:
    """One more than by hand: the charge itself, which nothing depends on."""
    robot = khalil_suspension()
    c = robot.coordinates
    x = ca.vertcat(c.q, c.v)
    matrix = robot.evaluate(
        ca.jacobian(ca.vertcat(c.v, robot.acceleration), x), q=[GAP, 0.0], v=[0.0, HOLDING], u=[R * HOLDING]
    )
    found = np.sort_complex(np.linalg.eigvals(matrix).astype(np.complex128))
    expected = np.sort_complex(np.append(np.linalg.eigvals(linearized()), 0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert np.real(found).max() > 5.0


def test_the_ball_leaves_its_place_at_the_rate_of_the_unstable_eigenvalue() -> None:
    """Under a constant voltage, from a start on the unstable eigenvector."""
    values, vectors = np.linalg.eig(linearized())
    unstable = int(np.argmax(np.real(values)))
    y, rate, i = np.real(vectors[:, unstable] / vectors[0, unstable]) * 1e-7
    robot = khalil_suspension()
    battery = Constant(robot, R * HOLDING)
    start = ([GAP + y, 0.0], [rate, HOLDING + i])
    motion = simulate(robot, battery, *start, 0.4, step=0.01, integrator=DOP853(1e-13, 1e-15))
    grown = np.log((motion.q[:, 0] - GAP) / 1e-7)
    np.testing.assert_allclose(grown, np.real(values[unstable]) * motion.t, rtol=0, atol=1e-3)
    assert grown[-1] > 2.0


def test_power_of_the_source_is_stored_or_lost() -> None:
    """d(T + V)/dt = u i − R i² − k ẏ²; what the moving ball takes from the field stays in the sum."""
    robot, rng = khalil_suspension(), np.random.default_rng(2)
    c = robot.coordinates
    stored = ca.substitute(c.rate(robot.kinetic_energy + robot.potential_energy), c.a, robot.acceleration)
    for _ in range(20):
        q, v, u = rng.uniform(0.01, 0.1, 2), rng.normal(size=2), rng.normal(size=1)
        power = float(robot.evaluate(stored, q=q, v=v, u=u))
        assert power == pytest.approx(u[0] * v[1] - R * v[1] ** 2 - K * v[0] ** 2, abs=1e-12)


def test_a_program_for_the_current_makes_the_gap_obey_an_equation_of_choice() -> None:
    """ψ = g − (k/m)ẏ − L₀a i²/2m(a + y)² + 2wẏ + w²(y − y₀) = 0 leaves ÿ + 2wẏ + w²(y − y₀) = 0: the ball is held.

    The voltage that does it comes from Θᵀλ; the solution of the equation is known.
    """
    robot, w = khalil_suspension(), 8.0
    (y, _), (rate, i) = ca.vertsplit(robot.q), ca.vertsplit(robot.v)
    pull = L0 * A * i**2 / (2 * M * (A + y) ** 2)
    wanted = G - K / M * rate - pull + 2 * w * rate + w**2 * (y - GAP)
    program = Program(robot, nonholonomic(wanted, name="pull"))
    controller = ProgramController(program, realization="actuated")
    start, speed = 0.07, -0.1
    need = G - K / M * speed + 2 * w * speed + w**2 * (start - GAP)
    current = np.sqrt(2 * M * (A + start) ** 2 * need / (L0 * A))
    tight = DOP853(1e-12, 1e-14)
    motion = simulate(robot, controller, [start, 0.0], [speed, current], 2.0, step=0.01, integrator=tight)
    offset = start - GAP
    exact = GAP + np.exp(-w * motion.t) * (offset + (speed + w * offset) * motion.t)
    np.testing.assert_allclose(motion.q[:, 0], exact, rtol=0, atol=1e-10)
    assert abs(motion.v[-1, 1] - HOLDING) < 1e-4
    assert abs(motion.u[-1, 0] - R * HOLDING) < 1e-3


def test_a_voltage_cannot_prescribe_the_acceleration_of_the_ball() -> None:
    """It changes the current first: a program for the gap itself has no row in what the input reaches."""
    robot = khalil_suspension()
    program = Program(robot, holonomic(robot.q[0] - GAP, name="gap"))
    with pytest.raises(ModelError, match=r"no input of magnetic levitation \(u\) acts on 'gap'.*higher derivatives"):
        ProgramController(program, realization="actuated")


def test_numbers_out_of_range() -> None:
    numbers = {
        "mass": M,
        "friction": K,
        "coil_inductance": L1,
        "ball_inductance": L0,
        "gap_scale": A,
        "resistance": R,
    }

    def make(**changed: float) -> Robot:
        return magnetic_levitation(**(numbers | changed))

    assert dict(make().nominal) == dict(khalil_suspension().nominal)
    for name in ("mass", "coil_inductance", "ball_inductance", "gap_scale"):
        with pytest.raises(ModelError, match=f"{name} .* must be greater than zero, got 0"):
            make(**{name: 0.0})
    for name in ("friction", "resistance"):
        assert make(**{name: 0.0}).coordinates.nq == 2
        with pytest.raises(ModelError, match=f"{name} .* must not be negative, got -1"):
            make(**{name: -1.0})
    with pytest.raises(ModelError, match="gravity must be finite"):
        khalil_suspension(gravity=np.inf)
