"""A foot that is held by the ground: pinned exoskeletons, double support, and a manipulator at a wall."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import (
    Contact,
    Link,
    Robot,
    TelescopicLink,
    contact_force,
    contact_positions,
    exoskeleton,
    planar_manipulator,
    spatial_exoskeleton,
    with_contacts,
)

from .contacts import exoskeleton_of
from .exoskeletons import BODY, Array, Case, built, label, link_of, random_states
from .references import impact_numpy as known
from .references import spatial_telescopic as space
from .references import telescopic_bodies as truth
from .spatial_exoskeletons import CASES as IN_SPACE
from .spatial_exoskeletons import built as built_in_space
from .spatial_exoskeletons import states as states_in_space

STATES = 25
FLOATING = (
    Case((0,), floating=True, hinges=True),
    Case((0, 1), floating=True, hinges=True, damped=True, drives=True),
    Case((0, 1, 1), floating=True, hinges=True, stretched=True),
    Case(BODY, floating=True, hinges=True, damped=True),
)
UP = (0.0, 1.0)


def close(actual: Array, expected: Array, tolerance: float) -> bool:
    return bool(np.max(np.abs(actual - expected)) <= tolerance * max(1.0, float(np.max(np.abs(expected)))))


def pinned(case: Case) -> Robot:
    """The same links on a hinge on the ground."""
    s = case.structure
    return exoskeleton(
        [link_of(rod) for rod in s.rods],
        parents=s.parents,
        axial_drives=case.drives,
        inertia_law="stretched" if s.stretched else "constant",
    )


def shared_inputs(pinned_robot: Robot, floating: Robot, u: Array) -> Array:
    """The floating robot's inputs among those of the pinned one, whose torques at the ground are zero."""
    full = np.zeros(pinned_robot.u.numel())
    full[[pinned_robot.input_names.index(name) for name in floating.input_names]] = u
    return full


@pytest.mark.parametrize("case", FLOATING, ids=label)
def test_a_pole_that_stands_is_a_hinge(case: Case) -> None:
    """The pinned exoskeleton's accelerations to 1e-9, and the force of the ground Σ m c̈ − Σ m g, about any place."""
    pole = Contact("pole", UP)
    floating, hinged, s = built(case), pinned(case), case.structure
    robot = with_contacts(floating, [pole])
    force = contact_force(robot, pole)
    rng = np.random.default_rng(1)
    strongest = 0.0
    for q, v in random_states(case, seed=2, count=STATES):
        v[:2] = 0.0
        u = rng.uniform(-20.0, 20.0, floating.u.numel())
        p = contact_positions(floating, [pole], q)
        assert p == {"pole.x": q[0], "pole.y": q[1]}
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u, p=p)
        expected = hinged.evaluate(hinged.acceleration, q=q[2:], v=v[2:], u=shared_inputs(hinged, floating, u))
        assert close(a[2:], expected, 1e-9)
        assert close(a[:2], np.zeros(2), 1e-9)
        found = truth.momenta(s, q, v, np.concatenate([np.zeros(2), expected]))
        ground = found.force + np.array([0.0, 9.81]) * found.mass
        assert close(robot.evaluate(force, q=q, v=v, u=u, p=p), ground, 1e-9)
        strongest = max(strongest, float(np.abs(ground).max()))
    assert strongest > 20.0


def test_a_pole_without_mass() -> None:
    """The mass matrix in flight is singular where only a rigid link carries the pole; standing, it is a hinge."""
    link = TelescopicLink(2.0, 0.1, 0.4, 100.0, 0.9)
    pole = Contact("pole", UP)
    floating = exoskeleton([link], base="floating", rigid=True)
    hinged, robot = exoskeleton([link], rigid=True), with_contacts(floating, [pole])
    q, v = np.array([0.3, -0.2, 1.1, 0.9]), np.array([0.0, 0.0, 1.7, 0.0])
    M = floating.evaluate(floating.mass_matrix, q=q)
    assert np.linalg.svd(M, compute_uv=False)[-1] < 1e-15
    p = contact_positions(floating, [pole], q)
    a = robot.evaluate(robot.acceleration, q=q, v=v, p=p)
    expected = hinged.evaluate(hinged.acceleration, q=q[2:], v=v[2:], u=[0.0])
    assert close(a, np.concatenate([np.zeros(2), expected]), 1e-9)
    # The centre of mass goes round the pole with ω² n l towards it and φ'' n l across.
    along, across = np.array([np.cos(1.1), np.sin(1.1)]), np.array([-np.sin(1.1), np.cos(1.1)])
    ground = 2.0 * (0.36 * (expected[0] * across - 1.7**2 * along) + np.array([0.0, 9.81]))
    assert close(robot.evaluate(contact_force(robot, pole), q=q, v=v, p=p), ground, 1e-9)


@pytest.mark.parametrize("case", [case for case in IN_SPACE if case.floating], ids=label)
def test_the_same_in_space(case: Case) -> None:
    """The universal joint on the ground gives what keeps links from turning about themselves; a contact the force."""
    pole = Contact("pole", (0.0, 0.0, 1.0))
    floating, s = built_in_space(case), case.structure
    hinged = spatial_exoskeleton(
        [link_of(rod) for rod in s.rods],
        parents=s.parents,
        axial_drives=case.drives,
        inertia_law="stretched" if s.stretched else "constant",
    )
    robot = with_contacts(floating, [pole])
    force = contact_force(robot, pole)
    rng = np.random.default_rng(3)
    for q, v in states_in_space(case, seed=4, count=STATES):
        v[:3] = 0.0
        u = rng.uniform(-20.0, 20.0, floating.u.numel())
        p = contact_positions(floating, [pole], q)
        assert list(p) == ["pole.x", "pole.y", "pole.z"]
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u, p=p)
        expected = hinged.evaluate(hinged.acceleration, q=q[3:], v=v[3:], u=shared_inputs(hinged, floating, u))
        assert close(a[3:], expected, 1e-9)
        assert close(a[:3], np.zeros(3), 1e-9)
        found = space.momenta(s, q, v, np.concatenate([np.zeros(3), expected]))
        ground = found.force + found.mass * space.WEIGHT
        assert close(robot.evaluate(force, q=q, v=v, u=u, p=p), ground, 1e-9)


@pytest.mark.parametrize(
    ("case", "rigid", "second"),
    [
        pytest.param(FLOATING[1], (), 2, id="two telescopic links"),
        pytest.param(FLOATING[2], (1,), 3, id="branches, one link rigid"),
        pytest.param(FLOATING[3], tuple(range(1, 12)), 11, id="body, all links rigid"),
    ],
)
def test_double_support(case: Case, rigid: tuple[int, ...], second: int) -> None:
    """Both feet on the ground close a loop: accelerations and both forces from one KKT matrix in NumPy."""
    s = case.structure
    feet = [Contact("pole", UP), Contact(f"end{second}", UP)]
    free = exoskeleton_of(case, rigid)
    robot = with_contacts(free, feet)
    both = [contact_force(robot, foot) for foot in feet]
    rng = np.random.default_rng(5)
    for q, v in random_states(case, seed=6, count=STATES):
        start = 2 + len(s.rods)
        for i in rigid:
            q[start + i - 1] = s.rods[i - 1].rest
        none = np.zeros(s.nv)
        A = np.vstack([known.lengths(s, rigid), *(known.foot(s, q, none, i).jacobian for i in (0, second))])
        v = v - np.linalg.lstsq(A, A @ v, rcond=None)[0]
        drift = np.concatenate([np.zeros(len(rigid)), np.zeros(2), known.foot(s, q, v, second).drift])
        u = rng.uniform(-20.0, 20.0, free.u.numel())
        drive = free.evaluate(free.input_matrix @ free.u, u=u, q=q)
        a, mu = known.together(truth.mass_matrix(s, q), A, drive - truth.bias(s, q, v), -drift)
        p = contact_positions(free, feet, q)
        found = robot.evaluate(robot.acceleration, q=q, v=v, u=u, p=p)
        assert close(found, a, 1e-9)
        for foot, expected in zip(both, (mu[-4:-2], mu[-2:]), strict=True):
            assert np.max(np.abs(robot.evaluate(foot, q=q, v=v, u=u, p=p) - expected)) <= 1e-9 * np.abs(mu).max()
        moved = truth.momenta(s, q, v, found)
        ground = moved.force + np.array([0.0, 9.81]) * moved.mass
        total = sum(robot.evaluate(foot, q=q, v=v, u=u, p=p) for foot in both)
        assert np.max(np.abs(total - ground)) <= 1e-9 * np.abs(mu).max()


def test_a_manipulator_that_holds_its_tip_at_a_wall() -> None:
    """Any robot with points: three links, the tip at a wall; the force by virtual work, the tip at rest."""
    lengths = np.array([0.8, 0.7, 0.5])
    arm = planar_manipulator([Link(l, 2.0, l / 2.0, 0.1) for l in lengths], angles="absolute")
    wall = Contact("tip", (-1.0, 0.0), name="wall")
    robot = with_contacts(arm, [wall])
    assert robot.parameters.names[-2:] == ("wall.x", "wall.y")
    rng = np.random.default_rng(7)
    for _ in range(STATES):
        q, u = rng.uniform(-np.pi, np.pi, 3), rng.uniform(-20.0, 20.0, 3)
        J = np.array([-lengths * np.sin(q), lengths * np.cos(q)])
        v = rng.uniform(-3.0, 3.0, 3)
        v -= np.linalg.lstsq(J, J @ v, rcond=None)[0]
        p = contact_positions(arm, [wall], q)
        np.testing.assert_allclose([p["wall.x"], p["wall.y"]], [lengths @ np.cos(q), lengths @ np.sin(q)], atol=1e-14)
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u, p=p)
        force = robot.evaluate(contact_force(robot, wall), q=q, v=v, u=u, p=p)
        drift = -np.array([lengths * np.cos(q), lengths * np.sin(q)]) @ v**2
        scale = max(1.0, float(np.abs(a).max()), float(np.abs(force).max()))
        assert np.max(np.abs(J @ a + drift)) <= 1e-10 * scale
        M, h, B = (arm.evaluate(x, q=q, v=v).reshape(3, -1) for x in (arm.mass_matrix, arm.bias, arm.input_matrix))
        assert np.max(np.abs(M @ a + h[:, 0] - B @ u - J.T @ force)) <= 1e-10 * scale


def test_the_robot_without_contacts_is_what_it_was() -> None:
    """Switching on makes another robot, and leaves this one, its parameters and its constraints alone."""
    robot = built(FLOATING[1])
    names, natural = robot.parameters.names, robot.natural
    on = with_contacts(robot, [Contact("pole", UP)])
    assert (robot.parameters.names, robot.natural) == (names, natural)
    assert on.parameters.names == (*names, "pole.x", "pole.y")
    assert [constraint.name for constraint in on.natural] == ["pole"]
    assert on.coordinates is robot.coordinates
    again = with_contacts(on, [Contact("end2", UP)])
    assert [constraint.name for constraint in again.natural] == ["pole", "end2"]
