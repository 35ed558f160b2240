"""Feet held by the ground: pinned robots, double support, friction in closed form, and bad contacts."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import FirstOrder
from erugin.robots import (
    Contact,
    Link,
    Robot,
    TelescopicLink,
    contact_force,
    contact_positions,
    exoskeleton,
    planar_manipulator,
    required_friction,
    spatial_exoskeleton,
    with_contacts,
    without_rows,
)
from erugin.symbolic import ModelError, ParameterError

from ...support.contacts import exoskeleton_of
from ...support.exoskeletons import BODY, Array, Case, built, label, link_of, random_states
from ...support.references import impact_numpy as known
from ...support.references import spatial_telescopic as space
from ...support.references import telescopic_bodies as truth
from ...support.spatial_exoskeletons import CASES as IN_SPACE
from ...support.spatial_exoskeletons import built as built_in_space
from ...support.spatial_exoskeletons import states as states_in_space

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


LINK = TelescopicLink(2.0, 0.1, 0.4, 100.0, 0.9)
ROBOT = exoskeleton([LINK, LINK], base="floating", pole_mass=0.5)
POLE = Contact("pole", UP)
Q = [0.0, 0.0, 1.0, 2.0, 0.9, 0.9]


@pytest.mark.parametrize(
    ("normal", "message"),
    [
        ((0.0, 0.0), r"normal of a contact must not be zero, got \(0.0, 0.0\)"),
        ((0.0, np.nan), r"normal of a contact\[1\] must be finite, got nan"),
        ((0.0, np.inf), r"normal of a contact\[1\] must be finite, got inf"),
        ((1.0,), "at least two coordinates"),
        (("up", 1.0), r"normal of a contact\[0\] must be a number, got 'up'"),
        (1.0, "must be a sequence"),
    ],
)
def test_bad_normals(normal: Any, message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=message):
        Contact("pole", normal)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200, 4e307])
def test_the_normal_is_a_direction(size: float) -> None:
    """Of any length that a float can have."""
    assert Contact("pole", (3.0 * size, -4.0 * size)).normal == pytest.approx((0.6, -0.8), rel=1e-15)


@pytest.mark.parametrize(
    ("contacts", "message"),
    [
        ([], "at least one contact must be given, got none"),
        (POLE, "contacts must be a list of Contact, got Contact"),
        (["pole"], r"contacts must be a list of Contact, got \['pole'\]"),
        ([Contact("foot", UP)], "unknown point .*'foot'.*Known: .*end1, .*pole, tip"),
        ([Contact("pole", (0.0, 0.0, 1.0))], "normal of 'pole' must have 2 components"),
        ([POLE, POLE], "'pole' is already active"),
    ],
)
def test_bad_contacts(contacts: Any, message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=message):
        with_contacts(ROBOT, contacts)


def test_a_point_that_does_not_move() -> None:
    arm = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)])
    with pytest.raises(ModelError, match="'joint1' does not move along x, y"):
        with_contacts(arm, [Contact("joint1", UP)])


def test_a_contact_that_is_on_already() -> None:
    with pytest.raises(ModelError, match="'pole' is already active"):
        with_contacts(with_contacts(ROBOT, [POLE]), [POLE])


def test_a_perturbation_of_another_order() -> None:
    with pytest.raises(ModelError, match="order"):
        with_contacts(ROBOT, [POLE], perturbation=FirstOrder())


def test_a_force_that_is_not_there() -> None:
    for ask in (contact_force, required_friction):
        with pytest.raises(ModelError, match="'pole' is not active; the robot's natural constraints: none"):
            ask(ROBOT, POLE)
    robot = with_contacts(ROBOT, [POLE])
    with pytest.raises(ModelError, match="has 1 inputs, but u has shape"):
        contact_force(robot, POLE, u=ca.SX.zeros(2))
    with pytest.raises(
        ModelError, match="the normal of 'pole' has 2 components, but its natural constraint has 1 rows"
    ):
        contact_force(without_rows(robot, ["pole[0]"]), POLE)


def test_a_contact_position_that_was_not_given() -> None:
    """There is no nominal place: what is not given is not guessed."""
    robot = with_contacts(ROBOT, [POLE])
    with pytest.raises(ParameterError, match=r"no value for pole\.x, pole\.y"):
        robot.evaluate(robot.acceleration, q=Q, v=np.zeros(6), u=[0.0])


def test_places_of_what_is_not_there() -> None:
    with pytest.raises(ModelError, match=r"unknown point .*'foot'"):
        contact_positions(ROBOT, [Contact("foot", UP)], Q)
    with pytest.raises(ModelError, match="must have 2 components"):
        contact_positions(ROBOT, [Contact("pole", (1.0, 0.0, 0.0))], Q)


def test_old_places_are_replaced_and_other_parameters_kept() -> None:
    """Values of p before a step are those after it, except for the foot that has moved."""
    both = [POLE, Contact("end2", UP)]
    robot = with_contacts(ROBOT, both)
    first = contact_positions(robot, both, Q)
    assert list(first) == ["pole.x", "pole.y", "end2.x", "end2.y"]
    moved = contact_positions(robot, both[1:], [1.0, 0.0, *Q[2:]], p=first | {"L1": 0.8})
    assert moved == pytest.approx({"end2.x": first["end2.x"] + 1.0, "end2.y": first["end2.y"]})
    # The robot in flight has no such parameters, and need not have them.
    assert contact_positions(ROBOT, both, Q, p=first | {"L1": 0.8}) == first
    with pytest.raises(ParameterError, match=r"unknown parameter 'pole\.z'"):
        contact_positions(robot, both, Q, p={"pole.z": 0.0})


MASS, LENGTH, GRAVITY = 3.0, 1.4, 9.81
INERTIA = MASS * LENGTH**2 / 12.0


def rod() -> Robot:
    """A rigid uniform rod that stands on its end."""
    link = TelescopicLink(MASS, INERTIA, 0.5, 100.0, LENGTH)
    return with_contacts(exoskeleton([link], base="floating", rigid=True), [POLE])


def needed(robot: Robot, contact: Contact, q: list[float], v: list[float]) -> float:
    p = contact_positions(robot, [contact], q)
    return float(robot.evaluate(required_friction(robot, contact), q=q, v=v, p=p))


@pytest.mark.parametrize("angle", [0.2, 0.8, np.pi / 2.0, 2.0, 3.0])
def test_a_leaning_rod_let_go(angle: float) -> None:
    """φ̈ = −(3g/2L) cos φ, so R_x = ¾ m g sin φ cos φ and R_y = m g (1 − ¾ cos² φ)."""
    robot = rod()
    q, v = [0.0, 0.0, angle, LENGTH], [0.0] * 4
    sine, cosine = np.sin(angle), np.cos(angle)
    force = robot.evaluate(contact_force(robot, POLE), q=q, v=v, p=contact_positions(robot, [POLE], q))
    expected = MASS * GRAVITY * np.array([0.75 * sine * cosine, 1.0 - 0.75 * cosine**2])
    np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-12)
    assert needed(robot, POLE, q, v) == pytest.approx(0.75 * abs(sine * cosine) / (1.0 - 0.75 * cosine**2), abs=1e-13)


def test_a_rod_that_swings_over_leaves_the_ground() -> None:
    """Upright with ω the ground gives m g − m ω² L/2; above ω² = 2g/L it would have to pull: no friction is enough."""
    robot = rod()
    q, limit = [0.0, 0.0, np.pi / 2.0, LENGTH], np.sqrt(2.0 * GRAVITY / LENGTH)
    assert needed(robot, POLE, q, [0.0, 0.0, 0.99 * limit, 0.0]) < 1e-12
    assert needed(robot, POLE, q, [0.0, 0.0, 1.01 * limit, 0.0]) == np.inf
    leaning = [0.0, 0.0, 1.2, LENGTH]
    omega = 1.3
    acceleration = -1.5 * GRAVITY / LENGTH * np.cos(1.2)
    along, across = np.array([np.cos(1.2), np.sin(1.2)]), np.array([-np.sin(1.2), np.cos(1.2)])
    force = MASS * (LENGTH / 2.0 * (acceleration * across - omega**2 * along) + np.array([0.0, GRAVITY]))
    assert needed(robot, POLE, leaning, [0.0, 0.0, omega, 0.0]) == pytest.approx(abs(force[0]) / force[1], rel=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.3, -0.8])
def test_on_a_slope_the_tangent_of_its_angle(slope: float) -> None:
    """A rod in balance over its foot presses straight down: μ ≥ tan α, the oldest rule of all."""
    normal = Contact("pole", (-np.sin(slope), np.cos(slope)))
    link = TelescopicLink(MASS, INERTIA, 0.5, 100.0, LENGTH)
    robot = with_contacts(exoskeleton([link], base="floating", rigid=True), [normal])
    assert needed(robot, normal, [0.0, 0.0, np.pi / 2.0, LENGTH], [0.0] * 4) == pytest.approx(
        abs(np.tan(slope)), abs=1e-14
    )


def test_on_a_slope_in_space() -> None:
    """The normal out of every coordinate plane: tan of the angle between it and the vertical."""
    direction = np.array([0.3, -0.4, 2.0])
    ground = Contact("pole", (0.3, -0.4, 2.0))
    link = TelescopicLink(MASS, INERTIA, 0.5, 100.0, LENGTH)
    robot = with_contacts(spatial_exoskeleton([link], base="floating", rigid=True), [ground])
    found = needed(robot, ground, [0.1, 0.2, 0.3, np.pi / 2.0, 0.0, LENGTH], [0.0] * 6)
    assert found == pytest.approx(np.hypot(0.3, 0.4) / 2.0, rel=1e-13)
    assert np.linalg.norm(ground.normal) == pytest.approx(1.0, rel=1e-15)
    np.testing.assert_allclose(ground.normal, direction / np.linalg.norm(direction), rtol=1e-15)


@pytest.mark.parametrize(("angle", "length"), [(1.1, 1.3), (0.7, 1.5), (1.4, 1.38)])
def test_a_ladder_between_floor_and_wall(angle: float, length: float) -> None:
    """Telescopic, so that its spring says what a rigid ladder leaves open: the force along it.

    The end at the wall takes n m g cos φ across the ladder and k (l − l₀) + n m g sin φ along it, the foot the rest.
    """
    stiffness, ratio = 400.0, 0.35
    link = TelescopicLink(MASS, INERTIA, ratio, stiffness, LENGTH)
    foot, top = Contact("pole", UP), Contact("end1", (-1.0, 0.0), name="wall")
    robot = with_contacts(exoskeleton([link], base="floating", pole_mass=0.2), [foot, top])
    q, v = [0.0, 0.0, angle, length], [0.0] * 4
    p = contact_positions(robot, [foot, top], q)
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    weight = ratio * MASS * GRAVITY
    above = weight * np.cos(angle) * across + (stiffness * (length - LENGTH) + weight * np.sin(angle)) * along
    below = np.array([0.0, (MASS + 0.2) * GRAVITY]) - above
    for contact, force in ((top, above), (foot, below)):
        np.testing.assert_allclose(robot.evaluate(contact_force(robot, contact), q=q, v=v, p=p), force, atol=1e-11)
        pushing = np.array(contact.normal) @ force
        slide = abs(force[1] if contact is top else force[0])
        expected = slide / pushing if pushing > 0.0 else np.inf
        assert float(robot.evaluate(required_friction(robot, contact), q=q, v=v, p=p)) == pytest.approx(
            expected, rel=1e-11
        )


def test_under_inputs_that_something_else_gives() -> None:
    """With u= the inputs become an expression, here that of a damped ankle; the same as with these numbers."""
    link = TelescopicLink(MASS, INERTIA, 0.5, 100.0, LENGTH)
    robot = with_contacts(exoskeleton([link] * 2, base="floating", pole_mass=0.2), [POLE])
    law = -3.0 * robot.v[3] + 0.5 * robot.q[2]
    q, v = [0.0, 0.0, 1.3, 1.8, 1.5, 1.3], [0.0, 0.0, 0.3, -0.4, 0.1, 0.2]
    u = [-3.0 * -0.4 + 0.5 * 1.3]
    p = contact_positions(robot, [POLE], q)
    for given, plain in (
        (contact_force(robot, POLE, u=law), contact_force(robot, POLE)),
        (required_friction(robot, POLE, u=law), required_friction(robot, POLE)),
    ):
        np.testing.assert_allclose(
            robot.evaluate(given, q=q, v=v, p=p), robot.evaluate(plain, q=q, v=v, u=u, p=p), rtol=1e-13
        )
