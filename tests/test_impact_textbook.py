"""Impacts whose outcome is printed in books: falling rods, struts, rimless wheels and walkers."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from erugin.constraints import holonomic
from erugin.robots import Contact, Frame, Robot, TelescopicLink, exoskeleton, impact, tree_system, with_contacts
from erugin.robots.tree import Body, Floating, Node, Tree
from erugin.symbolic import Parameters

Array = NDArray[np.float64]

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
    """With a spring in the leg only the foot stops: h₀ v²/2 is lost, and the mass above goes on falling."""
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
