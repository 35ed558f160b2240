"""Near ψ = ±π/2, where φ loses its meaning: a point mass on a spring, whose motion is known without angles."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.robots import TelescopicLink, spatial_exoskeleton
from erugin.scenarios import simulate
from erugin.simulation import DOP853, SimulationError

Array = NDArray[np.float64]

MASS, STIFFNESS, REST = 2.0, 200.0, 0.8
LINK = TelescopicLink(mass=MASS, inertia=0.0, center_ratio=1.0, stiffness=STIFFNESS, rest_length=REST)
ROBOT = spatial_exoskeleton([LINK])
WEIGHT = np.array([0.0, 0.0, 9.81])


def state(place: Array, velocity: Array) -> tuple[Array, Array]:
    """(φ, ψ, l) and their rates."""
    length = float(np.linalg.norm(place))
    d = place / length
    phi, psi = np.arctan2(d[2], d[0]), np.arcsin(d[1])
    across = np.array([-np.sin(phi), 0.0, np.cos(phi)])
    tilt = np.array([-np.sin(psi) * np.cos(phi), np.cos(psi), -np.sin(psi) * np.sin(phi)])
    rates = [velocity @ across / (length * np.cos(psi)), velocity @ tilt / length, velocity @ d]
    return np.array([phi, psi, length]), np.array(rates)


def pulled(place: Array) -> Array:
    """Acceleration of the mass."""
    length = np.linalg.norm(place)
    return np.asarray(-STIFFNESS / MASS * (length - REST) / length * place - WEIGHT)


@pytest.mark.parametrize("distance", [0.1, 1e-3])
def test_passing_the_side_at_a_distance(distance: float) -> None:
    """φ turns by nearly π in an instant, and the mass does not feel it."""
    place, velocity = np.array([distance, 0.8, -0.3]), np.array([0.0, 0.0, 4.0])
    integrator = DOP853(relative_tolerance=1e-13, absolute_tolerance=1e-13)
    motion = simulate(ROBOT, None, *state(place, velocity), 0.2, step=0.1, integrator=integrator)
    known = solve_ivp(
        lambda _, x: np.concatenate([x[3:], pulled(x[:3])]),
        (0.0, 0.2),
        np.concatenate([place, velocity]),
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
    )
    np.testing.assert_allclose(motion.evaluate(ROBOT.points["tip"])[-1], known.y[:3, -1], rtol=0.0, atol=1e-10)
    assert abs(motion.q[-1, 0] - motion.q[0, 0]) > 2.0


def test_falling_over_the_side_in_a_plane() -> None:
    """With φ at rest in the plane y, z, ψ passes π/2 and goes on: an ordinary angle."""
    integrator = DOP853(relative_tolerance=1e-13, absolute_tolerance=1e-13)
    place, velocity = np.array([0.0, 0.6, 0.5]), np.zeros(3)
    q, v = state(place, velocity)
    motion = simulate(ROBOT, None, q, v, 0.6, step=0.1, integrator=integrator)
    known = solve_ivp(
        lambda _, x: np.concatenate([x[3:], pulled(x[:3])]),
        (0.0, 0.6),
        np.concatenate([place, velocity]),
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
    )
    assert motion.q[0, 1] < np.pi / 2.0 < motion.q[-1, 1]
    np.testing.assert_allclose(motion.evaluate(ROBOT.points["tip"])[-1], known.y[:3, -1], rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_accelerations_grow_but_stay_right(gap: float) -> None:
    """φ'' goes as 1/cos ψ; put together, the acceleration of the mass is what it must be."""
    q, v = np.array([0.3, np.pi / 2.0 - gap, 0.9]), np.array([0.5, 0.3, -0.2])
    (phi, psi, length), (w, s, stretching) = q, v
    wa, sa, la = ROBOT.evaluate(ROBOT.acceleration, q=q, v=v, u=[0.0, 0.0])
    c, e = np.cos(psi), np.sin(psi)
    level, across = np.array([np.cos(phi), 0.0, np.sin(phi)]), np.array([-np.sin(phi), 0.0, np.cos(phi)])
    out = np.array([0.0, 1.0, 0.0])
    d = c * level + e * out
    rate = -s * e * level + w * c * across + s * c * out
    second = (-sa * e - s**2 * c - w**2 * c) * level + (wa * c - 2 * w * s * e) * across + (sa * c - s**2 * e) * out
    found = la * d + 2.0 * stretching * rate + length * second
    np.testing.assert_allclose(found, pulled(length * d), rtol=0.0, atol=1e-15 / gap**2 + 1e-12)
    assert abs(wa) > 0.1 / gap


def test_exactly_sideways_with_a_turn_ends_with_an_error() -> None:
    """No number is returned in silence: the run stops where numbers mean nothing, and says so."""
    with pytest.raises(SimulationError, match=r"not finite: phi1.*mass matrix is singular|phi1 = .* exceeds the bound"):
        simulate(ROBOT, None, [0.3, np.pi / 2.0, 0.8], [1.0, 0.3, 0.0], 0.1, step=0.01)
