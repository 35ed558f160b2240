"""Two masses on springs, torn apart and tied by a constraint: against the solution in normal modes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Robot
from erugin.robots.examples import torn_oscillator
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError

Array = NDArray[np.float64]

M1, M2, K1, K2, L1, L2, D = 2.0, 0.7, 30.0, 11.0, 0.5, 0.4, 0.1


def oscillator() -> Robot:
    return torn_oscillator((M1, M2), (K1, K2), (L1, L2), width=D)


def test_accelerations_in_closed_form() -> None:
    """ẍ₁ = (−k₁s₁ + k₂s₂)/m₁ and ẍ₂ = k₁s₁/m₁ − k₂s₂(m₁ + m₂)/(m₁m₂), s_i = x_i − l_i0, by eliminating q₁ by hand."""
    robot, rng = oscillator(), np.random.default_rng(3)
    M = robot.evaluate(robot.mass_matrix)
    np.testing.assert_array_equal(M, [[M1, 0.0, 0.0], [0.0, M2, M2], [0.0, M2, M2]])
    for _ in range(20):
        x1, x2 = rng.uniform(-1.0, 1.0, 2)
        v1, v2 = rng.uniform(-1.0, 1.0, 2)
        f1, f2 = K1 * (x1 - L1), K2 * (x2 - L2)
        first = (f2 - f1) / M1
        a = robot.evaluate(robot.acceleration, q=[x1, x1 + D, x2], v=[v1, v1, v2])
        expected = [first, first, f1 / M1 - f2 * (M1 + M2) / (M1 * M2)]
        np.testing.assert_allclose(a, expected, rtol=0, atol=1e-12)
        tie = float(robot.evaluate(robot.reactions, q=[x1, x1 + D, x2], v=[v1, v1, v2]))
        assert tie == pytest.approx(-f2, abs=1e-12)


def test_motion_in_normal_modes() -> None:
    """Absolute places y = (x₁, q₁ + x₂) obey M ÿ + K (y − y₀) = 0, solved by its eigenvectors."""
    robot = oscillator()
    x0, v0 = np.array([0.7, 0.2]), np.array([0.3, -0.4])
    motion = simulate(
        robot,
        None,
        [x0[0], x0[0] + D, x0[1]],
        [v0[0], v0[0], v0[1]],
        10.0,
        step=0.05,
        integrator=DOP853(1e-13, 1e-13),
    )
    root = 1.0 / np.sqrt([M1, M2])
    stiffness = np.array([[K1 + K2, -K2], [-K2, K2]])
    squares, modes = np.linalg.eigh(root[:, None] * stiffness * root)
    omega = np.sqrt(squares)
    rest = np.array([L1, L1 + D + L2])
    start = modes.T @ ((np.array([x0[0], x0[0] + D + x0[1]]) - rest) / root)
    pace = modes.T @ (np.array([v0[0], v0[0] + v0[1]]) / root)
    phase = np.outer(motion.t, omega)
    exact = rest + root * ((start * np.cos(phase) + pace / omega * np.sin(phase)) @ modes.T)
    found = np.column_stack([motion.q[:, 0], motion.q[:, 1] + motion.q[:, 2]])
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10)
    np.testing.assert_allclose(motion.q[:, 1] - motion.q[:, 0], D, rtol=0, atol=1e-12)
    assert np.ptp(motion.energy) < 1e-10 * motion.energy[0]


def test_bad_numbers() -> None:
    with pytest.raises(ModelError, match=r"mass 2 .* must be greater than zero"):
        torn_oscillator((1.0, 0.0), (1.0, 1.0), (0.0, 0.0), width=0.0)
    with pytest.raises(ModelError, match=r"stiffness 1 .* must be greater than zero"):
        torn_oscillator((1.0, 1.0), (-1.0, 1.0), (0.0, 0.0), width=0.0)
    with pytest.raises(ModelError, match=r"two masses, got \(1\.0,\)"):
        torn_oscillator((1.0,), (1.0, 1.0), (0.0, 0.0), width=0.0)  # type: ignore[arg-type]
