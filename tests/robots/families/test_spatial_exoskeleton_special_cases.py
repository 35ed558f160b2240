"""Exoskeletons in space in a vertical plane, near the pole of their angles, and against Pinocchio."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.robots import TelescopicLink, spatial_exoskeleton
from erugin.scenarios import simulate
from erugin.simulation import DOP853, SimulationError

from ...support.chains import STATES, Comparison
from ...support.exoskeletons import Case, label, random_states
from ...support.exoskeletons import built as in_plane
from ...support.references.pinocchio_spatial import PinocchioStar
from ...support.spatial_exoskeletons import built, numbers, states

STARS = (
    Case((0,), hinges=True, damped=True),
    Case((0,), floating=True, hinges=True, stretched=True),
    Case((0, 0, 0), floating=True, hinges=True, damped=True),
    Case((0, 0, 0), stretched=True),
)


@pytest.mark.foreign
@pytest.mark.parametrize("case", STARS, ids=label)
def test_mass_matrix_and_bias(case: Case) -> None:
    robot, known = built(case), PinocchioStar(case.structure)
    kernel = numbers(robot, robot.mass_matrix, robot.bias)
    mass, bias = Comparison(0.1), Comparison(1.0)
    for q, v in states(case, seed=21, count=STATES):
        M, h = kernel(q, v, np.zeros(robot.u.numel()))
        mass.add(M, known.mass_matrix(q))
        bias.add(h, known.bias(q, v))
    mass.conclude()
    bias.conclude()


Array = NDArray[np.float64]

BOTH = (
    Case((0,)),
    Case((0, 1, 2), stretched=True, hinges=True, damped=True, drives=True),
    Case((0, 1, 1), floating=True, hinges=True, damped=True),
)


@functools.cache
def places(case: Case) -> tuple[list[int], list[int]]:
    """Indices of the plane robot's coordinates among those in space, and of the others."""
    n = len(case.parents)
    first = 3 * case.floating
    same = [*([0, 2] if case.floating else []), *range(first, first + n), *range(first + 2 * n, first + 3 * n)]
    return same, [k for k in range(first + 3 * n) if k not in same]


def lifted(case: Case, x: Array) -> Array:
    """The same state in space."""
    same, others = places(case)
    full = np.zeros(len(same) + len(others))
    full[same] = x
    return full


@pytest.mark.parametrize("case", BOTH, ids=label)
def test_the_motion_is_that_of_the_plane(case: Case) -> None:
    """M, h and the accelerations under the same inputs; nothing leaves the plane."""
    space, plane = built(case), in_plane(case)
    same, others = places(case)
    chosen = [space.input_names.index(name) for name in plane.input_names]
    of_space = numbers(space, space.mass_matrix, space.bias, space.acceleration)
    of_plane = numbers(plane, plane.mass_matrix, plane.bias, plane.acceleration)
    rng = np.random.default_rng(11)
    mass, bias, moving = Comparison(0.1), Comparison(1.0), Comparison(10.0)
    for q, v in random_states(case, seed=12, count=STATES):
        u, full_u = rng.uniform(-9.0, 9.0, plane.u.numel()), np.zeros(space.u.numel())
        full_u[chosen] = u
        M, h, a = of_space(lifted(case, q), lifted(case, v), full_u)
        expected = of_plane(q, v, u)
        mass.add(M[np.ix_(same, same)], expected[0])
        bias.add(h[same], expected[1])
        moving.add(a[same], expected[2])
        scale = max(1.0, float(np.abs(expected[2]).max()))
        assert np.abs(M[np.ix_(same, others)]).max() <= 1e-13
        assert np.abs(h[others]).max() <= 1e-12 * scale
        assert np.abs(a[others]).max() <= 1e-12 * scale
    for comparison in (mass, bias, moving):
        comparison.conclude()


@pytest.mark.parametrize("heading", [0.3, 1.0, -0.8])
def test_another_vertical_plane(heading: float) -> None:
    """The motion of a chain turned about the vertical: d, d' and d'' of all links are those of the plane robot."""
    case = BOTH[1]
    space, plane = built(case), in_plane(case)
    n = len(case.parents)
    level = np.array([np.cos(heading), np.sin(heading), 0.0])
    upward = np.array([0.0, 0.0, 1.0])
    rng = np.random.default_rng(13)
    for q, v in random_states(case, seed=14, count=20):
        angle, turning = q[:n], v[:n]
        d = np.outer(np.cos(angle), level) + np.outer(np.sin(angle), upward)
        rate = turning[:, None] * (np.outer(-np.sin(angle), level) + np.outer(np.cos(angle), upward))
        full_q, full_v = from_directions(d, rate)
        drives = rng.uniform(-9.0, 9.0, n)
        u = np.zeros(plane.u.numel())
        u[n:] = drives
        full_u = np.zeros(space.u.numel())
        full_u[[space.input_names.index(f"F{i + 1}") for i in range(n)]] = drives
        flat = plane.evaluate(plane.acceleration, q=q, v=v, u=u)
        q_space, v_space = np.concatenate([full_q, q[n:]]), np.concatenate([full_v, v[n:]])
        a = space.evaluate(space.acceleration, q=q_space, v=v_space, u=full_u)
        expected = flat[:n, None] * (np.outer(-np.sin(angle), level) + np.outer(np.cos(angle), upward))
        expected -= (turning**2)[:, None] * d
        scale = max(1.0, float(np.abs(flat).max()), float(np.abs(a).max()))
        assert np.max(np.abs(second(q_space, v_space, a, n) - expected)) <= 1e-11 * scale
        assert np.max(np.abs(a[2 * n :] - flat[n:])) <= 1e-11 * scale


def from_directions(d: Array, rate: Array) -> tuple[Array, Array]:
    """Angles φ, ψ of unit vectors, and their rates."""
    phi, psi = np.arctan2(d[:, 2], d[:, 0]), np.arcsin(d[:, 1])
    across = np.column_stack([-np.sin(phi), np.zeros(len(d)), np.cos(phi)])
    return np.concatenate([phi, psi]), np.concatenate(
        [np.sum(rate * across, axis=1) / np.cos(psi), rate[:, 1] / np.cos(psi)]
    )


def second(q: Array, v: Array, a: Array, n: int) -> Array:
    """d'' of each link by hand, shape (n, 3)."""
    (phi, psi), (w, s), (wa, sa) = (x[: 2 * n].reshape(2, n) for x in (q, v, a))
    c, e = np.cos(psi), np.sin(psi)
    level = np.column_stack([np.cos(phi), np.zeros(n), np.sin(phi)])
    across = np.column_stack([-np.sin(phi), np.zeros(n), np.cos(phi)])
    out = np.tile([0.0, 1.0, 0.0], (n, 1))
    return np.asarray(
        (-sa * e - s**2 * c - w**2 * c)[:, None] * level
        + (wa * c - 2.0 * w * s * e)[:, None] * across
        + (sa * c - s**2 * e)[:, None] * out
    )


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
    """With φ at rest in the plane y, z, ψ passes π/2 like any other angle."""
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
    """No meaningless number is returned silently: the run stops and reports it."""
    with pytest.raises(SimulationError, match=r"not finite: phi1.*mass matrix is singular|phi1 = .* exceeds the bound"):
        simulate(ROBOT, None, [0.3, np.pi / 2.0, 0.8], [1.0, 0.3, 0.0], 0.1, step=0.01)
