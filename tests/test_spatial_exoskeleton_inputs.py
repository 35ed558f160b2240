"""The inputs in space: couples in universal joints that act on both neighbours, and forces along the links."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import TelescopicLink, exoskeleton, spatial_exoskeleton

from .chains import STATES
from .exoskeletons import Case, label
from .references import spatial_telescopic as truth
from .spatial_exoskeletons import CASES, Array, built, numbers, states

LINK = TelescopicLink(mass=1.0, inertia=0.1, center_ratio=0.5, stiffness=100.0, rest_length=0.5)


def by_link(names: tuple[str, ...], u: Array, letter: str, count: int) -> Array:
    """The inputs of one letter by link; zero where there is none."""
    found = np.zeros(count)
    for name, value in zip(names, u, strict=True):
        if name[0] == letter:
            found[int(name[1:]) - 1] = value
    return found


def test_names_and_units() -> None:
    chain = spatial_exoskeleton([LINK, LINK], axial_drives=True)
    assert chain.input_names == ("M1", "W1", "M2", "W2", "F1", "F2")
    assert chain.input_units == ("N m",) * 4 + ("N",) * 2
    flying = spatial_exoskeleton([LINK] * 3, parents=(0, 0, 1), base="floating", pole_mass=0.5)
    assert flying.input_names == ("M3", "W3")


def test_two_links_by_hand() -> None:
    """The couple on link 2, M₂ (−y + tan ψ₂ n) + W₂ z₂ with n = (cos φ₂, 0, sin φ₂), and its reaction on link 1."""
    robot = spatial_exoskeleton([LINK, LINK])
    phi, psi = np.array([0.4, 1.1]), np.array([-0.3, 0.7])
    tilt = np.column_stack([-np.sin(phi), np.zeros(2), np.cos(phi)])
    normal = np.array([np.cos(phi[1]), 0.0, np.sin(phi[1])])
    M, W = 3.0, -5.0
    couple = M * (np.array([0.0, -1.0, 0.0]) + np.tan(psi[1]) * normal) + W * tilt[1]
    link_2 = np.array([np.cos(psi[1]) * np.cos(phi[1]), np.sin(psi[1]), np.cos(psi[1]) * np.sin(phi[1])])
    assert abs(couple @ link_2) < 1e-15
    expected = [couple[1], M, -couple @ tilt[0], W, 0.0, 0.0]
    q = np.concatenate([phi, psi, [0.5, 0.5]])
    forces = robot.evaluate(robot.input_matrix @ robot.u, q=q, u=[0.0, 0.0, M, W])
    np.testing.assert_allclose(forces, expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("case", CASES, ids=label)
def test_inputs_do_work_on_what_they_connect(case: Case) -> None:
    """uᵀBᵀv = Σ C_i·(ω_i − ω of the link before) + Σ F_i l̇_i, however links spin about their own axes.

    Only at a floating pole do they spin as the universal joint lets them.
    """
    robot, s = built(case), case.structure
    n, start = len(s.rods), 3 * s.floating
    kernel = numbers(robot, robot.input_matrix @ robot.u)
    rng = np.random.default_rng(5)
    largest = 0.0
    for q, v in states(case, seed=6, count=STATES):
        u = rng.uniform(-9.0, 9.0, robot.u.numel())
        M, W, F = (by_link(robot.input_names, u, letter, n) for letter in "MWF")
        joints = truth.couples(s, q, M, W)
        turning = np.array([truth.turning(s, q, v, i) for i in range(n)])
        for i, parent in enumerate(s.parents):
            if parent or not s.floating:
                turning[i] += rng.uniform(-5.0, 5.0) * truth.frame(s, q, i)[:, 0]
        power = float(np.sum(truth.net_couples(s, joints) * turning) + F @ v[start + 2 * n :])
        assert abs(float(v @ np.atleast_1d(kernel(q, v, u)[0])) - power) <= 1e-11 * max(1.0, np.abs(joints).max())
        largest = max(largest, abs(power))
    assert largest > 10.0 or robot.u.numel() == 0


@pytest.mark.parametrize("case", [case for case in CASES if not case.floating], ids=label)
def test_the_ground_feels_the_couple_in_its_joint_alone(case: Case) -> None:
    """Rate of the angular momentum about the pole = moment of gravity + couples in the joints at the pole."""
    robot, s = built(case), case.structure
    n = len(s.rods)
    kernel = numbers(robot, robot.acceleration)
    rng = np.random.default_rng(7)
    for q, v in states(case, seed=8, count=STATES):
        u = rng.uniform(-20.0, 20.0, robot.u.numel())
        a = kernel(q, v, u)[0]
        found = truth.momenta(s, q, v, a)
        M, W = (by_link(robot.input_names, u, letter, n) for letter in "MW")
        joints = truth.couples(s, q, M, W)
        ground = sum((joints[i] for i in range(n) if s.parents[i] == 0), np.zeros(3))
        rate = found.torque + np.cross(found.center, found.force)
        moment = np.cross(found.center, -found.mass * truth.WEIGHT) + ground
        scale = found.mass * max(1.0, float(np.abs(a).max())) + float(np.abs(joints).max())
        assert np.max(np.abs(rate - moment)) <= 1e-12 * scale


@pytest.mark.parametrize("case", [case for case in CASES if case.floating], ids=label)
def test_in_flight_torques_move_no_center_and_turn_little(case: Case) -> None:
    """The centre falls; the spin changes only by what keeps links at the pole from turning about their own axes."""
    robot, s = built(case), case.structure
    n = len(s.rods)
    kernel = numbers(robot, robot.acceleration)
    rng = np.random.default_rng(9)
    turned = 0.0
    for q, v in states(case, seed=10, count=STATES):
        u = rng.uniform(-20.0, 20.0, robot.u.numel())
        a = kernel(q, v, u)[0]
        found = truth.momenta(s, q, v, a)
        M, W = (by_link(robot.input_names, u, letter, n) for letter in "MW")
        joints = truth.couples(s, q, M, W)
        net = truth.net_couples(s, joints)
        outside = np.zeros(3)
        for i in range(n):
            if s.parents[i] == 0:
                across = np.array([np.cos(q[3 + i]), 0.0, np.sin(q[3 + i])])
                along = truth.frame(s, q, i)[:, 0]
                outside -= across * (along @ net[i]) / (along @ across)
        scale = found.mass * max(1.0, float(np.abs(a).max())) + float(np.abs(joints).max())
        assert np.max(np.abs(found.force + found.mass * truth.WEIGHT)) <= 1e-12 * scale
        assert np.max(np.abs(found.torque - outside)) <= 1e-12 * scale
        turned = max(turned, float(np.abs(outside).max()))
    assert (turned > 1.0) == any(name[0] in "MW" for name in robot.input_names)


def test_without_tilt_the_torques_are_those_of_the_plane() -> None:
    """Q_φ = M_i − Σ M_j as in the plane, and M does not tilt links that are in the plane of walking."""
    parents = (0, 1, 1, 2)
    space, plane = spatial_exoskeleton([LINK] * 4, parents=parents), exoskeleton([LINK] * 4, parents=parents)
    q = np.concatenate([[0.3, 1.0, -0.5, 2.0], np.zeros(4), np.full(4, 0.5)])
    M = np.array([2.0, 3.0, 5.0, 7.0])
    forces = space.evaluate(space.input_matrix @ space.u, q=q, u=np.column_stack([M, np.zeros(4)]).ravel())
    expected = plane.evaluate(plane.input_matrix @ plane.u, u=M)
    np.testing.assert_allclose(forces[:4], expected[:4], atol=1e-14)
    np.testing.assert_allclose(forces[4:], 0.0, atol=1e-14)
