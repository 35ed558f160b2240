"""A four-bar that turns for ten seconds, projected after every step, against the same motion in one coordinate."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import Link, assemble, assemble_velocities
from erugin.robots.examples import four_bar
from erugin.scenarios import simulate
from erugin.simulation import Projected, Trajectory

from .mechanisms import turned
from .references.four_bar_by_crank import FourBarByCrank

BARS = Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7)
GROUND = (2.0, 0.0)


def run(step: float) -> Trajectory:
    robot = four_bar(*BARS, ground=GROUND, inputs=())
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    v = assemble_velocities(robot, q, [9.0, 0.0, 0.0])
    return simulate(robot, None, q, v, 10.0, step=step, integrator=Projected())


def test_ten_seconds() -> None:
    """13 turns: the loop stays closed to rounding errors, and the rest is RK4's error in the phase, of order 4."""
    plain = FourBarByCrank(*BARS, GROUND, side=1.0)
    errors: list[float] = []
    for step in (1e-3, 5e-4):
        motion = run(step)
        robot, turning = motion.robot, np.abs(motion.v).max()
        phi = robot.natural[0].residual(robot.coordinates)
        assert np.abs(motion.evaluate(phi)).max() < 2e-14
        assert np.abs(motion.evaluate(robot.coordinates.rate(phi))).max() < 2e-15 * turning
        assert np.ptp(motion.energy) < 2e-7 * np.ptp(motion.evaluate(robot.kinetic_energy))

        np.testing.assert_allclose(plain.angles(float(motion.q[0, 0])), motion.q[0], atol=1e-14)
        every = round(0.1 / step)
        q, v, t = motion.q[::every], motion.v[::every], motion.t[::every]
        crank, rate = plain.motion(float(q[0, 0]), float(v[0, 0]), t)
        assert crank[-1] - crank[0] > 26.0 * np.pi
        phi_there = np.array([plain.angles(angle) for angle in crank])
        rates = np.array([x * plain.rates(angles) for x, angles in zip(rate, phi_there, strict=True)])
        assert np.abs(turned(q - phi_there)).max() < 3e-6
        assert np.abs(v - rates).max() < 3e-5
        errors.append(float(np.abs(q[:, 0] - crank).max()))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.4)
