"""The chain in redundant coordinates against Newton's laws and normal modes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Link, Robot, planar_manipulator
from erugin.robots.examples import redundant_chain, torn_oscillator
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import Kernel, ModelError

from ...support.references import planar_newton_euler as reference

Array = NDArray[np.float64]

STATES = 20
CHAINS = {
    "one": [Link(0.7, 1.3, 0.3, 0.05)],
    "three": [Link(0.5, 2.0, 0.2, 0.03), Link(0.4, 1.5, 0.25, 0.02), Link(0.3, 1.0, 0.1, 0.01)],
    "five": [Link(0.5 - 0.05 * i, 2.0 - 0.3 * i, 0.2, 0.02) for i in range(5)],
    "point masses": [Link.point_mass(0.6, 1.5), Link.point_mass(0.5, 1.0)],
    "offset": [Link(0.5, 2.0, -0.2, 0.03), Link(0.4, 1.0, 0.6, 0.0)],
}
chains = pytest.mark.parametrize("links", CHAINS.values(), ids=CHAINS.keys())


@dataclass(frozen=True, eq=False)
class State:
    """A state in absolute angles and what Newton and Euler make of it, by hand."""

    links: list[Link]
    phi: Array
    rate: Array
    torques: Array

    def turned(self, per_radian: Array, squared: Array, length: Array) -> Array:
        """Sums along the chain of length·(per_radian·e⊥ − squared·e), the derivatives of joints."""
        e = np.column_stack([np.cos(self.phi), np.sin(self.phi)])
        across = np.column_stack([-e[:, 1], e[:, 0]])
        terms = per_radian[:, None] * across - squared[:, None] * e
        full = np.array([link.length for link in self.links])[:, None] * terms
        return np.asarray(np.cumsum(full, axis=0) - full + length[:, None] * terms, dtype=np.float64)

    @property
    def alpha(self) -> Array:
        links = [reference.LinkData(one.length, one.mass, one.center, one.inertia) for one in self.links]
        return reference.acceleration(links, "absolute", "horizontal", 9.81, self.phi, self.rate, self.torques)

    @property
    def centers(self) -> Array:
        return np.array([link.center for link in self.links])

    def coordinates(self) -> tuple[Array, Array, Array]:
        """q, v and a of the redundant chain, each of shape (4n,)."""
        c, s, zero = np.cos(self.phi), np.sin(self.phi), np.zeros(len(self.phi))
        place = self.turned(zero, -np.ones(len(self.phi)), self.centers)
        velocity = self.turned(self.rate, zero, self.centers)
        acceleration = self.turned(self.alpha, self.rate**2, self.centers)
        q = np.column_stack([place, c, s])
        v = np.column_stack([velocity, -s * self.rate, c * self.rate])
        a = np.column_stack([acceleration, -s * self.alpha - c * self.rate**2, c * self.alpha - s * self.rate**2])
        return q.ravel(), v.ravel(), a.ravel()


def states(links: list[Link]) -> list[State]:
    rng = np.random.default_rng(17)
    n = len(links)
    return [
        State(links, rng.uniform(-np.pi, np.pi, n), rng.uniform(-2.0, 2.0, n), rng.uniform(-3.0, 3.0, n))
        for _ in range(STATES)
    ]


@chains
def test_accelerations_are_those_of_newton_and_euler_in_angles(links: list[Link]) -> None:
    robot = redundant_chain(links)
    for state in states(links):
        q, v, a = state.coordinates()
        found = robot.evaluate(robot.acceleration, q=q, v=v, u=state.torques)
        np.testing.assert_allclose(found, a, rtol=0, atol=1e-10 * max(1.0, float(np.abs(a).max())))


@chains
def test_the_tip_moves_as_that_of_the_manipulator(links: list[Link]) -> None:
    """Position, velocity, acceleration and energies of two robots that share no coordinates."""
    robot, arm = redundant_chain(links), planar_manipulator(links, angles="absolute")
    values: list[list[Array]] = []
    for one in (robot, arm):
        c, tip = one.coordinates, one.points["tip"]
        velocity = c.rate(tip)
        acceleration = ca.substitute(c.rate(velocity), c.a, one.acceleration)
        every = ca.vertcat(tip, velocity, acceleration, one.kinetic_energy, one.potential_energy)
        kernel = Kernel("tip", {"q": c.q, "v": c.v, "u": one.u, "p": one.p}, {"every": every}, compiled=False)
        rows: list[Array] = []
        for state in states(links):
            q, v, _ = state.coordinates() if one is robot else (state.phi, state.rate, 0.0)
            rows.append(kernel(q, v, state.torques, one.parameters.values())[0])
        values.append(rows)
    for here, there in zip(*values, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-10, atol=1e-10)


@chains
def test_reactions_are_the_forces_in_the_joints(links: list[Link]) -> None:
    """F_i = Σ_{k≥i} m_k (c̈_k + g ŷ), and along e_i: 2 μ_unit = e_i·(c_i F_i + (l_i − c_i) F_{i+1}) − 2 I_i ω_i²."""
    robot = redundant_chain(links)
    for state in states(links):
        q, v, a = state.coordinates()
        found = robot.evaluate(robot.reactions, q=q, v=v, u=state.torques).reshape(-1, 3)
        weights = np.array([link.mass for link in links])[:, None] * (a.reshape(-1, 4)[:, :2] + [0.0, 9.81])
        forces = np.cumsum(weights[::-1], axis=0)[::-1]
        scale = float(np.abs(forces).max())
        np.testing.assert_allclose(found[:, 1:], forces, rtol=0, atol=1e-10 * scale)
        after = np.vstack([forces[1:], np.zeros((1, 2))])
        for i, link in enumerate(links):
            pull = link.center * forces[i] + (link.length - link.center) * after[i]
            along = pull @ np.array([np.cos(state.phi[i]), np.sin(state.phi[i])])
            unit = along / 2.0 - link.inertia * state.rate[i] ** 2
            assert found[i, 0] == pytest.approx(unit, abs=1e-10 * scale)


@chains
def test_constraints_make_up_for_a_singular_mass_matrix(links: list[Link]) -> None:
    """M has rank 3n, less one for each point mass; [M; A] has rank 4n."""
    robot, n = redundant_chain(links), len(links)
    q, _, _ = states(links)[0].coordinates()
    M = robot.evaluate(robot.mass_matrix, q=q)
    A = robot.evaluate(robot.natural_form[0], q=q).reshape(-1, 4 * n)
    assert np.linalg.matrix_rank(M) == 3 * n - sum(link.inertia == 0.0 for link in links)
    assert np.linalg.matrix_rank(np.vstack([M, A])) == 4 * n
    assert bool((robot.augmentation.full() > 0.0).all())


@pytest.mark.parametrize("name", ["three", "point masses"])
def test_ten_seconds_of_motion_agree_with_the_manipulator(name: str) -> None:
    links = CHAINS[name]
    n = len(links)
    robot, arm = redundant_chain(links), planar_manipulator(links, angles="absolute")
    phi = -np.pi / 2 + np.linspace(0.5, 0.8, n)
    q, v, _ = State(links, phi, np.zeros(n), np.zeros(n)).coordinates()
    tight = DOP853(1e-13, 1e-13)
    here = simulate(robot, None, q, v, 10.0, step=0.02, integrator=tight)
    there = simulate(arm, None, phi, np.zeros(n), 10.0, step=0.02, integrator=tight)
    tips = [motion.evaluate(motion.robot.points["tip"]) for motion in (here, there)]
    np.testing.assert_allclose(tips[0], tips[1], rtol=0, atol=1e-10)
    assert np.ptp(tips[0], axis=0).max() > 0.5
    assert np.ptp(here.energy) < 1e-10 * float(here.evaluate(robot.kinetic_energy).max())


def test_what_is_left_undetermined_is_named() -> None:
    robot = redundant_chain(CHAINS["three"])
    loose = dataclasses.replace(robot, natural=tuple(c for c in robot.natural if c.name not in {"unit3", "joint3"}))
    with pytest.raises(ModelError, match=r"singular, and .* can change with neither inertia nor a natural constraint"):
        loose.evaluate(loose.acceleration, q=np.ones(12), v=np.ones(12), u=np.ones(3))


def test_bad_links() -> None:
    with pytest.raises(ModelError, match="at least one link, got none"):
        redundant_chain([])
    with pytest.raises(ModelError, match="must be Link objects, got 3"):
        redundant_chain([3])  # type: ignore[list-item]
    with pytest.raises(ModelError, match="its rotation is not determined"):
        redundant_chain([Link(0.5, 1.0, 0.2, 0.1), Link(0.5, 1.0, 0.0, 0.0)])
    with pytest.raises(ModelError, match="gravity must be finite"):
        redundant_chain(CHAINS["one"], gravity=np.nan)


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
    with pytest.raises(ModelError, match=r"masses must be two numbers, got \(1\.0,\)"):
        torn_oscillator((1.0,), (1.0, 1.0), (0.0, 0.0), width=0.0)  # type: ignore[arg-type]
