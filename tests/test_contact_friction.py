"""The friction that a contact needs: slopes, ladders and falling rods, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import (
    Contact,
    Robot,
    TelescopicLink,
    contact_force,
    contact_positions,
    exoskeleton,
    required_friction,
    spatial_exoskeleton,
    with_contacts,
)

MASS, LENGTH, GRAVITY = 3.0, 1.4, 9.81
INERTIA = MASS * LENGTH**2 / 12.0
UP = (0.0, 1.0)
POLE = Contact("pole", UP)


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
