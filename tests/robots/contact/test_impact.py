"""Impacts against impulse equations in NumPy and against textbook results."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from erugin.constraints import holonomic
from erugin.robots import Contact, Frame, Impact, Robot, TelescopicLink, exoskeleton, impact, tree_system, with_contacts
from erugin.robots.tree import Body, Floating, Node, Tree
from erugin.symbolic import Parameters

from ...support.contacts import exoskeleton_of
from ...support.exoskeletons import BODY, Case, label, random_states
from ...support.references import impact_numpy as known
from ...support.references import telescopic_bodies as truth

Array = NDArray[np.float64]

CASES = (
    Case((0, 1), floating=True, hinges=True),
    Case((0, 1, 2), hinges=True, stretched=True),
    Case((0, 1, 1), floating=True, hinges=True, damped=True, stretched=True),
    Case(BODY, floating=True, hinges=True),
)
STATES = 20


def struck(case: Case, rigid: tuple[int, ...], feet: tuple[int, ...]) -> tuple[Robot, list[Contact]]:
    """The robot with contacts at ends of links, 0 being the pole, in all directions, one of them up."""
    contacts = [Contact(f"end{i}" if i else "pole", (0.0, 1.0)) for i in feet]
    return with_contacts(exoskeleton_of(case, rigid), contacts), contacts


def rows(case: Case, q: Array, rigid: tuple[int, ...], feet: tuple[int, ...]) -> Array:
    """A by hand."""
    s = case.structure
    none = np.zeros(s.nv)
    return np.vstack([known.lengths(s, rigid), *(known.foot(s, q, none, i).jacobian for i in feet)])


def close(actual: Array, expected: Array, tolerance: float = 1e-10) -> bool:
    return bool(np.max(np.abs(actual - expected)) <= tolerance * max(1.0, float(np.max(np.abs(expected)))))


TABLE = [
    pytest.param(CASES[0], (), (0,), id="first foot"),
    pytest.param(CASES[0], (1, 2), (0,), id="first foot, rigid links"),
    pytest.param(CASES[0], (1, 2), (2,), id="second foot, rigid links"),
    pytest.param(CASES[0], (), (0, 2), id="both feet"),
    pytest.param(CASES[1], (2,), (3,), id="pinned, tip"),
    pytest.param(CASES[2], (1,), (2, 3), id="two branches"),
    pytest.param(CASES[3], tuple(range(1, 12)), (0, 11), id="body on both feet"),
]


@pytest.mark.parametrize(("case", "rigid", "feet"), TABLE)
def test_velocities_and_impulses(case: Case, rigid: tuple[int, ...], feet: tuple[int, ...]) -> None:
    """v⁺ and Λ to 1e-10, energies, and Carnot's theorem: T⁻ − T⁺ = ½ (v⁻ − v⁺)ᵀ M (v⁻ − v⁺)."""
    robot, contacts = struck(case, rigid, feet)
    s = case.structure
    largest = 0.0
    for q, v in random_states(case, seed=1, count=STATES):
        found = impact(robot, q, v, contacts)
        M, A = truth.mass_matrix(s, q), rows(case, q, rigid, feet)
        after, impulses = known.struck(M, A, v)
        assert close(found.velocity, after)
        assert close(found.impulses, impulses, 1e-9)
        assert found.rank == len(A)
        lost = v - after
        assert found.energy_before == pytest.approx(v @ M @ v / 2, rel=1e-12)
        assert found.energy_after == pytest.approx(after @ M @ after / 2, rel=1e-9)
        assert found.energy_loss == pytest.approx(lost @ M @ lost / 2, rel=1e-9)
        largest = max(largest, float(np.abs(impulses).max()))
    assert largest > 1.0


@pytest.mark.parametrize("case", CASES[:3], ids=label)
def test_impulses_are_those_of_the_momenta(case: Case) -> None:
    """Newton and Euler for all bodies at once: Σ Λ = change of momentum, Σ r × Λ = change of the moment of momentum."""
    s = case.structure
    feet = (2, 3) if len(s.rods) == 3 else (0, 2)
    robot, contacts = struck(case, (), feet)
    none = np.zeros(s.nv)
    for q, v in random_states(case, seed=2, count=STATES):
        found = impact(robot, q, v, contacts)
        before, after = (truth.momenta(s, q, x, none) for x in (v, found.velocity))
        forces = [found.by_constraint[contact.name] for contact in contacts]
        places = [known.foot(s, q, v, i).place for i in feet]
        change = after.momentum - before.momentum
        scale = max(1.0, float(np.abs(forces).max()))
        if s.floating:
            assert np.max(np.abs(change - np.sum(forces, axis=0))) <= 1e-11 * scale
        # About the pole, so that what a hinge on the ground adds has no moment.
        pole = q[:2] if s.floating else np.zeros(2)
        arms = [(place - pole, force) for place, force in zip(places, forces, strict=True)]
        moment = sum(float(r[0] * f[1] - r[1] * f[0]) for r, f in arms)
        r = before.center - pole
        spin = after.spin - before.spin + float(r[0] * change[1] - r[1] * change[0])
        assert abs(spin - moment) <= 1e-10 * scale


def test_what_stood_stays() -> None:
    """The pole has stood before; the tip strikes; both are at rest afterwards, and both have impulses."""
    case = CASES[0]
    robot, (first, second) = struck(case, (), (0, 2))
    s = case.structure
    for q, v in random_states(case, seed=3, count=STATES):
        v[:2] = 0.0
        found = impact(robot, q, v, [second], p={"pole.x": q[0], "pole.y": q[1]})
        after, impulses = known.struck(truth.mass_matrix(s, q), rows(case, q, (), (0, 2)), v)
        assert close(found.velocity, after)
        np.testing.assert_allclose(found.velocity[:2], 0.0, atol=1e-12)
        assert list(found.friction) == ["end2"]
        assert found.required_friction(first) == pytest.approx(ratio(impulses[:2]), rel=1e-7)


def test_friction_of_the_impulse() -> None:
    """|Λ_t| / Λ_n of each foot, infinite where the ground would have to pull."""
    case = CASES[0]
    robot, contacts = struck(case, (), (0, 2))
    pulled = 0
    for q, v in random_states(case, seed=4, count=STATES):
        found = impact(robot, q, v, contacts)
        for contact, span in zip(contacts, (slice(0, 2), slice(2, 4)), strict=True):
            expected = ratio(found.impulses[span])
            assert (
                found.friction[contact.name] == found.required_friction(contact) == pytest.approx(expected, rel=1e-12)
            )
            pulled += expected == np.inf
    assert 0 < pulled < 2 * STATES


def ratio(impulse: Array) -> float:
    return abs(impulse[0]) / impulse[1] if impulse[1] > 0.0 else np.inf


@pytest.mark.parametrize("slope", [0.4, -1.2, 3.0])
def test_a_tilted_ground(slope: float) -> None:
    """The ground's direction changes nothing but what counts as friction."""
    case = CASES[0]
    level, feet = struck(case, (), (0, 2))
    normal, along = np.array([-np.sin(slope), np.cos(slope)]), np.array([np.cos(slope), np.sin(slope)])
    tilted = [Contact(foot.point, (2.0 * normal[0], 2.0 * normal[1])) for foot in feet]
    robot = with_contacts(exoskeleton_of(case), tilted)
    for q, v in random_states(case, seed=7, count=STATES):
        found, expected = impact(robot, q, v, tilted), impact(level, q, v, feet)
        assert close(found.velocity, expected.velocity, 1e-13)
        for contact in tilted:
            impulse = expected.by_constraint[contact.name]
            pushing = normal @ impulse
            needed = abs(along @ impulse) / pushing if pushing > 0.0 else np.inf
            assert found.friction[contact.name] == pytest.approx(needed, rel=1e-9)


def test_nothing_strikes() -> None:
    """A foot that is at rest already feels no impulse and needs no friction."""
    case = CASES[0]
    robot, contacts = struck(case, (), (0,))
    q, v = next(random_states(case, seed=5, count=1))
    v[:2] = 0.0
    found: Impact = impact(robot, q, v, contacts)
    np.testing.assert_array_equal(found.impulses, 0.0)
    np.testing.assert_allclose(found.velocity, v, rtol=0.0, atol=1e-14)
    assert found.friction == {"pole": 0.0}
    assert found.energy_loss == pytest.approx(0.0, abs=1e-12)


def test_what_is_only_rounding_needs_no_friction() -> None:
    """A foot that is at rest but for the last digit is not struck: no ratio of two rounding errors."""
    case = CASES[0]
    robot, (contact,) = struck(case, (), (2,))
    for q, v in random_states(case, seed=8, count=STATES):
        J = known.foot(case.structure, q, v, 2).jacobian
        v -= np.linalg.lstsq(J, J @ v, rcond=None)[0]
        found = impact(robot, q, v, [contact])
        np.testing.assert_array_equal(found.impulses, 0.0)
        assert found.friction["end2"] == found.required_friction(contact) == 0.0


def test_values_cannot_be_changed() -> None:
    case = CASES[0]
    robot, contacts = struck(case, (), (0,))
    q, v = next(random_states(case, seed=6, count=1))
    found = impact(robot, q, v, contacts)
    for array in (found.velocity, found.impulses, found.by_constraint["pole"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


UP = (0.0, 1.0)
POLE = Contact("pole", UP)
MASS, LENGTH = 3.0, 1.4
ROD = TelescopicLink(MASS, MASS * LENGTH**2 / 12.0, 0.5, 100.0, LENGTH)


def rod() -> Robot:
    """A uniform rod with the contact at its end on."""
    return with_contacts(exoskeleton([ROD], base="floating", rigid=True), [POLE])


def locked(robot: Robot, angles: Array) -> Robot:
    """All links held together at these angles between each and the first."""
    phi = [robot.q[2 + i] for i in range(angles.size + 1)]
    locks = [holonomic(phi[i + 1] - phi[0] - float(x), name=f"lock {i + 1}") for i, x in enumerate(angles)]
    return dataclasses.replace(robot, natural=(*robot.natural, *locks))


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.2, -0.7])
def test_a_falling_rod_strikes_with_one_end(angle: float) -> None:
    """Moment of momentum about the end: m v (L/2) cos φ = ⅓ m L² ω. Lying flat, an eighth of m v² is lost."""
    speed = 2.0
    found = impact(rod(), [0.0, 0.0, angle, LENGTH], [0.0, -speed, 0.0, 0.0], [POLE])
    omega = -1.5 * speed * np.cos(angle) / LENGTH
    np.testing.assert_allclose(found.velocity, [0.0, 0.0, omega, 0.0], rtol=0.0, atol=1e-13)
    assert found.energy_before == pytest.approx(MASS * speed**2 / 2.0, rel=1e-13)
    assert found.energy_loss == pytest.approx(MASS * speed**2 * (0.5 - 0.375 * np.cos(angle) ** 2), rel=1e-13)
    # Momentum of the centre of mass after less before.
    impulse = MASS * (omega * LENGTH / 2.0 * np.array([-np.sin(angle), np.cos(angle)]) + np.array([0.0, speed]))
    np.testing.assert_allclose(found.by_constraint["pole"], impulse, rtol=0.0, atol=1e-12)
    needed = 0.75 * abs(np.sin(angle)) * np.cos(angle) / (1.0 - 0.75 * np.cos(angle) ** 2)
    assert found.friction["pole"] == pytest.approx(needed, abs=1e-13)


def test_the_center_of_percussion_feels_nothing_at_the_other_end() -> None:
    """A hinged rod caught at two thirds of its length: its hinge feels no impulse, and it comes to rest."""
    robot = rod()
    caught = (robot.points["pole"] + 2.0 * robot.points["tip"]) / 3.0
    robot = dataclasses.replace(robot, points={**robot.points, "caught": caught})
    contact = Contact("caught", (1.0, 0.0))
    q, v = [0.0, 0.0, np.pi / 2.0, LENGTH], [0.0, 0.0, 2.0, 0.0]
    found = impact(with_contacts(robot, [contact]), q, v, [contact], p={"pole.x": 0.0, "pole.y": 0.0})
    np.testing.assert_allclose(found.velocity, 0.0, atol=1e-13)
    np.testing.assert_allclose(found.by_constraint["pole"], 0.0, atol=1e-12)
    # ⅓ m L² ω is taken by an impulse with the arm ⅔ L.
    assert found.by_constraint["caught"][0] == pytest.approx(MASS * LENGTH * 2.0 / 2.0, rel=1e-13)


@pytest.mark.parametrize("e", [0.0, 0.7])
def test_a_body_in_space_falls_on_a_corner(e: float) -> None:
    """Λ = −(1/m − r× J⁻¹ r×)⁻¹ v of the corner, in body axes; velocities of a floating joint, quaternions as q."""
    mass, inertia, r = 2.0, np.diag([0.3, 0.5, 0.6]), np.array([0.4, -0.3, -0.2])
    body = Body(name="box", mass=ca.SX(mass), center=ca.SX(3, 1), inertia=ca.SX(ca.DM(inertia)))
    node = Node(name="box", parent=-1, placement=Frame.at(), joint=Floating(), bodies=(body,))
    tree = Tree((node,), ca.SX(ca.DM([0.0, 0.0, -9.81])))
    corner = tree.motion.nodes[0].frame.point(ca.SX(ca.DM(r)))
    box = tree_system(tree, parameters=Parameters.declare({}), points={"corner": corner})
    contact = Contact("corner", (0.2, -0.1, 1.0))
    quaternion = np.array([0.2, -0.4, 0.1, 0.8])
    quaternion /= np.linalg.norm(quaternion)
    rotation = Rotation.from_quat(quaternion).as_matrix()
    velocity, turning = rotation.T @ np.array([0.3, 0.2, -2.0]), np.array([0.5, -0.8, 0.3])
    found = impact(
        with_contacts(box, [contact]),
        np.concatenate([[1.0, 2.0, 3.0], quaternion]),
        np.concatenate([velocity, turning]),
        [contact],
        restitution=e,
    )
    cross = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    response = np.eye(3) / mass - cross @ np.linalg.solve(inertia, cross)
    impulse = -np.linalg.solve(response, velocity + np.cross(turning, r))
    # The normal part comes back with what keeps the corner from sliding then.
    normal = rotation.T @ np.array(contact.normal)
    across = np.linalg.svd(normal[None])[2][1:].T
    back = e * (normal @ impulse) * normal
    back -= across @ np.linalg.solve(across.T @ response @ across, across.T @ response @ back)
    impulse = impulse + back
    expected = [*(velocity + impulse / mass), *(turning + np.linalg.solve(inertia, np.cross(r, impulse)))]
    np.testing.assert_allclose(found.velocity, expected, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(found.impulses, rotation @ impulse, rtol=0.0, atol=1e-12)
    assert found.energy_loss > 0.0


def test_a_strut_carries_the_momentum_above_it() -> None:
    """Masses h₀, m at n l and h₁ fall upright: (h₀ + m + h₁) v at the foot, (n m + h₁) v along the rigid link."""
    h0, m, n, h1, speed = 0.4, 3.0, 0.3, 1.7, 2.5
    link = TelescopicLink(m, 0.2, n, 50.0, LENGTH, hinge_mass=h1)
    robot = with_contacts(exoskeleton([link], base="floating", rigid=True, pole_mass=h0), [POLE])
    found = impact(robot, [0.0, 0.0, np.pi / 2.0, LENGTH], [0.0, -speed, 0.0, 0.0], [POLE])
    np.testing.assert_allclose(found.velocity, 0.0, atol=1e-13)
    np.testing.assert_allclose(found.by_constraint["pole"], [0.0, (h0 + m + h1) * speed], atol=1e-12)
    np.testing.assert_allclose(found.by_constraint["rigid link 1"], [(n * m + h1) * speed], rtol=1e-13)
    assert found.energy_after == pytest.approx(0.0, abs=1e-24)


def test_a_spring_keeps_the_impact_from_what_it_carries() -> None:
    """With a spring in the leg only the foot stops: h₀ v²/2 is lost, and the mass above continues to fall."""
    h0, m, speed = 0.4, 3.0, 2.5
    link = TelescopicLink(m, 0.0, 1.0, 5000.0, LENGTH)
    robot = with_contacts(exoskeleton([link], base="floating", pole_mass=h0), [POLE])
    found = impact(robot, [0.0, 0.0, np.pi / 2.0, LENGTH], [0.0, -speed, 0.0, 0.0], [POLE])
    np.testing.assert_allclose(found.velocity, [0.0, 0.0, 0.0, -speed], atol=1e-13)
    assert found.energy_loss == pytest.approx(h0 * speed**2 / 2.0, rel=1e-13)


def wheel(spokes: int, hub: float) -> tuple[Robot, float, float]:
    """A rimless wheel as an exoskeleton of spokes that begin at the hub; its mass and inertia about the hub."""
    link = TelescopicLink(0.7, 0.05, 0.6, 10.0, LENGTH, hinge_mass=0.2)
    star = exoskeleton([link] * spokes, parents=(0,) * spokes, base="floating", pole_mass=hub, rigid=True)
    between = 2.0 * np.pi / spokes
    robot = locked(star, np.array([k * between for k in range(1, spokes)]))
    mass = hub + spokes * (link.mass + 0.2)
    inertia = spokes * (link.inertia + link.mass * (0.6 * LENGTH) ** 2 + 0.2 * LENGTH**2)
    return robot, mass, inertia


@pytest.mark.parametrize(("spokes", "hub"), [(6, 2.0), (8, 0.5), (5, 30.0)])
def test_a_rimless_wheel(spokes: int, hub: float) -> None:
    """McGeer (1990): ω⁺ / ω⁻ = (cos 2α + r²) / (1 + r²) with r² = J / (m l²), J about the hub, α half the angle."""
    free, mass, inertia = wheel(spokes, hub)
    half = np.pi / spokes
    # The wheel rolls to the right, clockwise: the first spoke has stood, the second strikes.
    angles = -np.pi / 2.0 - half + 2.0 * half * np.arange(spokes)
    omega = -1.3
    q = np.concatenate([[0.0, LENGTH * np.cos(half)], angles, np.full(spokes, LENGTH)])
    arm = q[:2] - (q[:2] + LENGTH * np.array([np.cos(angles[0]), np.sin(angles[0])]))
    v = np.concatenate([omega * np.array([-arm[1], arm[0]]), np.full(spokes, omega), np.zeros(spokes)])
    first, second = Contact("end1", UP), Contact("end2", UP)
    found = impact(with_contacts(free, [second]), q, v, [second])
    ratio = inertia / (mass * LENGTH**2)
    expected = omega * (np.cos(2.0 * half) + ratio) / (1.0 + ratio)
    np.testing.assert_allclose(found.velocity[2 : 2 + spokes], expected, rtol=1e-12)
    # The foot behind is lifted by it; held to the ground it would have to be pulled, and the wheel would stop.
    rise = free.evaluate(free.coordinates.rate(free.points["end1"]), q=q, v=found.velocity)
    assert rise[1] > 0.1
    both = impact(with_contacts(free, [first, second]), q, v, [second], p={"end1.x": 0.0, "end1.y": 0.0})
    np.testing.assert_allclose(both.velocity, 0.0, atol=1e-12)
    assert both.required_friction(first) == np.inf


def test_a_point_mass_on_two_legs_without_mass() -> None:
    """ω⁺ = ω⁻ cos 2α. The legs have no mass and no inertia: M is singular, and the contacts take the place of both."""
    light = TelescopicLink(1e-300, 0.0, 1.0, 0.0, LENGTH)
    heavy = TelescopicLink(4.0, 0.0, 1.0, 0.0, LENGTH)
    alpha, omega = 0.35, -1.1
    legs = exoskeleton([heavy, light], base="floating", rigid=True)
    turn = -np.pi + 2.0 * alpha
    second = Contact("end2", UP)
    robot = with_contacts(locked(legs, np.array([turn])), [second])
    stance = np.pi / 2.0 - alpha
    q = [0.0, 0.0, stance, stance + turn, LENGTH, LENGTH]
    found = impact(robot, q, [0.0, 0.0, omega, omega, 0.0, 0.0], [second])
    np.testing.assert_allclose(found.velocity[2:4], omega * np.cos(2.0 * alpha), rtol=1e-12)
    assert found.energy_loss == pytest.approx(2.0 * (LENGTH * omega * np.sin(2.0 * alpha)) ** 2, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_compass_walker(seed: int) -> None:
    """Goswami, Espiau and Keramane (1996): Q⁺ θ̇⁺ = Q⁻ θ̇⁻ for point masses m on the legs and m_H at the hip.

    Legs l = a + b, m at b from the hip; θ from the vertical; the legs change their names in the impact.
    """
    rng = np.random.default_rng(seed)
    m, hip, a, b, alpha = rng.uniform(0.3, 2.0, 5) * np.array([5.0, 10.0, 0.5, 0.5, 0.3])
    l = a + b
    swing, stance = rng.uniform(-2.0, 2.0, 2)
    cos = np.cos(2.0 * alpha)
    before = np.array([[-m * a * b, -m * a * b + (hip * l**2 + 2.0 * m * a * l) * cos], [0.0, -m * a * b]])
    after = np.array(
        [
            [m * b * (b - l * cos), m * l * (l - b * cos) + m * a**2 + hip * l**2],
            [m * b**2, -m * b * l * cos],
        ]
    )
    expected = np.linalg.solve(after, before @ [swing, stance])
    legs = [
        TelescopicLink(m, 0.0, a / l, 10.0, l, hinge_mass=hip),
        TelescopicLink(m, 0.0, b / l, 10.0, l),
    ]
    second = Contact("end2", UP)
    robot = with_contacts(exoskeleton(legs, base="floating", rigid=True), [second])
    # θ counts from the vertical, counter-clockwise, for the line from foot to hip.
    angles = [np.pi / 2.0 - alpha, -np.pi / 2.0 + alpha]
    found = impact(robot, [0.0, 0.0, *angles, l, l], [0.0, 0.0, stance, swing, 0.0, 0.0], [second])
    # Now the leg that stood swings, and the one that swung stands.
    np.testing.assert_allclose(found.velocity[2:4], expected, rtol=1e-11, atol=1e-12)
