"""Links held at their rest length: the planar manipulator, and the forces along the links as reactions."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, planar_manipulator

from .exoskeletons import CASES, Array, Case, link_of
from .references import telescopic_bodies as truth

GRAVITY = 9.81
STATES = 50


def as_rigid_link(rod: truth.Rod) -> Link:
    """Rod and joint at its end as one body."""
    own, joint = rod.mass, rod.hinge
    center = rod.rest * (own * rod.ratio + joint) / (own + joint)
    inertia = rod.inertia + own * (rod.ratio * rod.rest - center) ** 2 + joint * (rod.rest - center) ** 2
    return Link(rod.rest, own + joint, center, inertia)


@pytest.mark.parametrize("law", ["constant", "stretched"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_all_links_rigid_are_the_planar_manipulator(n: int, law: str) -> None:
    """Accelerations to 1e-9 and points, in absolute angles; the lengths do not accelerate."""
    s = Case(tuple(range(n)), hinges=True, stretched=law == "stretched").structure
    robot = exoskeleton(
        [link_of(rod) for rod in s.rods], rigid=True, inertia_law="constant" if law == "constant" else "stretched"
    )
    arm = planar_manipulator([as_rigid_link(rod) for rod in s.rods], angles="absolute", gravity=GRAVITY)
    assert len(robot.natural) == n
    rest = np.array([rod.rest for rod in s.rods])
    rng = np.random.default_rng(31)
    fastest = 0.0
    for _ in range(STATES):
        phi, omega, u = rng.uniform(-np.pi, np.pi, n), rng.uniform(-3.0, 3.0, n), rng.uniform(-20.0, 20.0, n)
        q, v = np.concatenate([phi, rest]), np.concatenate([omega, np.zeros(n)])
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        expected = np.atleast_1d(arm.evaluate(arm.acceleration, q=phi, v=omega, u=u))
        scale = max(1.0, float(np.max(np.abs(expected))))
        assert np.max(np.abs(a[:n] - expected)) <= 1e-9 * scale
        assert np.max(np.abs(a[n:])) <= 1e-9 * scale
        tip = robot.evaluate(robot.points["tip"], q=q)
        np.testing.assert_allclose(tip, arm.evaluate(arm.points["tip"], q=phi), rtol=0.0, atol=1e-14)
        fastest = max(fastest, scale)
    assert fastest > 10.0


def static_reactions(robot: Robot, angle: float) -> Array:
    """Multipliers of the rigid links at rest, all at the same angle, held there by torques."""
    n = robot.coordinates.nq // 2
    q = np.concatenate([np.full(n, angle), [robot.nominal[f"L{i}"] for i in range(1, n + 1)]])
    return np.atleast_1d(robot.evaluate(robot.reactions, q=q, v=np.zeros(2 * n), u=np.zeros(n)))


@pytest.mark.parametrize(("angle", "sign"), [(np.pi / 2, 1.0), (-np.pi / 2, -1.0)])
def test_reactions_are_the_weights_above_or_below(angle: float, sign: float) -> None:
    """Upright links are pressed by what they carry, hanging ones drawn: ±g (m_i n_i + h_i + all that follows)."""
    links = [
        TelescopicLink(2.0, 0.1, 0.4, 100.0, 0.5, hinge_mass=0.3),
        TelescopicLink(3.0, 0.2, 0.6, 100.0, 0.7),
        TelescopicLink(1.0, 0.1, 0.5, 100.0, 0.6, hinge_mass=0.2),
    ]
    weights = np.array([2.0 * 0.4 + 0.3 + 3.0 + 1.0 + 0.2, 3.0 * 0.6 + 1.0 + 0.2, 1.0 * 0.5 + 0.2])
    mu = static_reactions(exoskeleton(links, rigid=True), angle)
    np.testing.assert_allclose(mu, sign * GRAVITY * weights, rtol=1e-12)


def test_reaction_of_a_turning_link_is_centripetal() -> None:
    """Without gravity a hinge mass h on a turning link of mass m is held by −(m n² + h) l ω²."""
    robot = exoskeleton([TelescopicLink(2.0, 0.1, 0.4, 100.0, 0.5, hinge_mass=0.3)], rigid=True, gravity=0.0)
    mu = float(robot.evaluate(robot.reactions, q=[0.3, 0.5], v=[4.0, 0.0], u=[0.0]))
    assert mu == pytest.approx(-(2.0 * 0.4**2 + 0.3) * 0.5 * 16.0, rel=1e-13)


def test_some_links_rigid() -> None:
    """With links 1 and 3 of three held, the others obey d'Alembert's equations without those two rows."""
    s = CASES[3].structure
    robot = exoskeleton([link_of(rod) for rod in s.rods], rigid=[1, 3], inertia_law="stretched")
    assert [constraint.name for constraint in robot.natural] == ["rigid link 1", "rigid link 3"]
    free, held = [0, 1, 2, 4], [3, 5]
    rng = np.random.default_rng(37)
    for _ in range(STATES):
        q = np.concatenate([rng.uniform(-np.pi, np.pi, 3), [s.rods[0].rest, rng.uniform(0.3, 1.2), s.rods[2].rest]])
        v = rng.uniform(-3.0, 3.0, 6)
        v[held] = 0.0
        M, h = truth.mass_matrix(s, q), truth.bias(s, q, v)
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=np.zeros(3))
        expected = np.zeros(6)
        expected[free] = np.linalg.solve(M[np.ix_(free, free)], -h[free])
        assert np.max(np.abs(a - expected)) <= 1e-9 * max(1.0, float(np.max(np.abs(expected))))
        mu = robot.evaluate(robot.reactions, q=q, v=v, u=np.zeros(3))
        # What holds them is what d'Alembert's forces lack.
        missing = truth.inverse_dynamics(s, q, v, expected)[held]
        assert np.max(np.abs(mu - missing)) <= 1e-9 * max(1.0, float(np.max(np.abs(missing))))


def test_a_rigid_link_that_is_too_long_returns() -> None:
    """The constraint is the world's: a length that misses l_i0 accelerates back, by Baumgarte's ÿ = −2α ẏ − α² y."""
    robot = exoskeleton([TelescopicLink(2.0, 0.1, 0.4, 100.0, 0.5)], rigid=True)
    a = robot.evaluate(robot.acceleration, q=[0.3, 0.52], v=[1.0, 0.1], u=[0.0])
    assert float(a[1]) == pytest.approx(-2.0 * 10.0 * 0.1 - 100.0 * 0.02, rel=1e-12)
