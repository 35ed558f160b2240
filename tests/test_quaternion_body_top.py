"""A body with a fixed point: steady precession, a top in Euler's angles, and the free body pinned."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from erugin.constraints import holonomic
from erugin.robots import Robot
from erugin.robots.examples import heavy_top
from erugin.scenarios import simulate
from erugin.simulation import DOP853

from .quaternions import (
    CENTER,
    GRAVITY,
    MASS,
    body,
    body_rate,
    quaternion,
    quaternion_rate,
    random_orientation,
    rotation,
    top,
)

Array = NDArray[np.float64]

TIGHT = DOP853(1e-13, 1e-13)
M, L, ACROSS, AXIAL = 0.5, 0.1, 2e-3, 8e-4
"""Mass, distance of its centre from the point, and moments of a symmetric top about its centre."""
PIVOT = ACROSS + M * L**2


def symmetric_top() -> Robot:
    return heavy_top(M, np.diag([ACROSS, ACROSS, AXIAL]), center=(0.0, 0.0, L))


def turned(phi: Array, theta: Array, psi: Array) -> Array:
    """Rotations by Euler's angles: precession about z, nutation about x, spin about z."""
    return np.asarray(Rotation.from_euler("ZXZ", np.column_stack([phi, theta, psi])).as_matrix(), dtype=np.float64)


def start(theta: float, rates: Array) -> tuple[Array, Array]:
    """e and ė at φ = ψ = 0 for the rates of precession, nutation and spin."""
    e = quaternion(Rotation.from_euler("ZXZ", [0.0, theta, 0.0]))
    omega = np.array([rates[1], rates[0] * np.sin(theta), rates[2] + rates[0] * np.cos(theta)])
    return e, quaternion_rate(e, omega)


@pytest.mark.parametrize("branch", [-1.0, 1.0], ids=["slow", "fast"])
def test_steady_precession(branch: float) -> None:
    """I₁ Ω² cos θ − I₃ ω₃ Ω + m g l = 0 has two roots; with either the axis goes round a circle for ten seconds."""
    theta, spin = 0.7, 200.0
    b, c = AXIAL * spin, M * GRAVITY * L
    precession = (b + branch * np.sqrt(b**2 - 4 * PIVOT * np.cos(theta) * c)) / (2 * PIVOT * np.cos(theta))
    own = spin - precession * np.cos(theta)
    robot = symmetric_top()
    e, rate = start(theta, np.array([precession, 0.0, own]))
    motion = simulate(robot, None, e, rate, 10.0, step=0.02, integrator=TIGHT)
    expected = turned(precession * motion.t, np.full(len(motion), theta), own * motion.t)
    found = np.array([rotation(q) for q in motion.q])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    assert np.ptp(motion.energy) < 1e-10 * float(motion.evaluate(robot.kinetic_energy).max())
    assert abs(precession) > 1.0


def test_a_nutating_top_against_eulers_angles() -> None:
    """Lagrange's top reduced to θ by its two conserved momenta, integrated by SciPy."""
    theta, rates = 0.6, np.array([0.0, 0.0, 80.0])
    e, rate = start(theta, rates)
    motion = simulate(symmetric_top(), None, e, rate, 5.0, step=0.02, integrator=TIGHT)
    axial = AXIAL * (rates[2] + rates[0] * np.cos(theta))
    vertical = PIVOT * rates[0] * np.sin(theta) ** 2 + axial * np.cos(theta)

    def lagrange(_: float, x: Array) -> Array:
        phi_rate = (vertical - axial * np.cos(x[1])) / (PIVOT * np.sin(x[1]) ** 2)
        force = PIVOT * phi_rate**2 * np.sin(x[1]) * np.cos(x[1]) - axial * phi_rate * np.sin(x[1])
        return np.array(
            [
                phi_rate,
                x[3],
                axial / AXIAL - phi_rate * np.cos(x[1]),
                (force + M * GRAVITY * L * np.sin(x[1])) / PIVOT,
            ]
        )

    there = solve_ivp(
        lagrange, (0.0, 5.0), [0.0, theta, 0.0, 0.0], method="DOP853", t_eval=motion.t, rtol=1e-13, atol=1e-13
    ).y
    found = np.array([rotation(q) for q in motion.q])
    np.testing.assert_allclose(found, turned(there[0], there[1], there[2]), rtol=0, atol=1e-8)
    assert np.ptp(there[1]) > 0.1


def test_a_free_body_pinned_at_its_origin_is_the_top() -> None:
    """The pin is a second natural constraint; its multiplier is the force that carries the accelerated weight."""
    free, fixed = body(), top()
    pinned = dataclasses.replace(free, natural=(*free.natural, holonomic(free.q[:3], name="pin")))
    rng = np.random.default_rng(9)
    for _ in range(30):
        e, rate, omega = random_orientation(rng)
        q, v, u = np.append(np.zeros(3), e), np.append(np.zeros(3), rate), np.append(np.zeros(3), rng.normal(size=3))
        a = pinned.evaluate(pinned.acceleration, q=q, v=v, u=u)
        np.testing.assert_allclose(a[:3], 0.0, atol=1e-11)
        np.testing.assert_allclose(a[3:], fixed.evaluate(fixed.acceleration, q=e, v=rate, u=u[3:]), rtol=0, atol=1e-11)
        alpha = body_rate(e, a[3:])
        center = rotation(e) @ (np.cross(alpha, CENTER) + np.cross(omega, np.cross(omega, CENTER)))
        force = pinned.evaluate(pinned.reactions, q=q, v=v, u=u)[1:]
        np.testing.assert_allclose(force, MASS * center + np.array([0.0, 0.0, MASS * GRAVITY]), rtol=0, atol=1e-10)
