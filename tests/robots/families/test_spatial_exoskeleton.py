"""Exoskeletons in space: d'Alembert's principle for particles, inputs, conservation laws, and bad arguments."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson

from erugin.robots import Link, TelescopicLink, exoskeleton, spatial_exoskeleton
from erugin.robots.formulations import FORMULATIONS, Articulated, Formulation
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError, ParameterError, ShapeError

from ...support.chains import STATES, Comparison
from ...support.exoskeletons import Case, label
from ...support.references import spatial_telescopic as truth
from ...support.spatial_exoskeletons import CASES, Array, built, in_space, numbers, states

BY_CASE = pytest.mark.parametrize("case", CASES, ids=label)


@functools.cache
def expected(case: Case) -> list[tuple[Array, Array, Array, Array]]:
    """q, v, M and h at random states."""
    s = case.structure
    return [(q, v, truth.mass_matrix(s, q), truth.bias(s, q, v)) for q, v in states(case, seed=1, count=STATES)]


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
@BY_CASE
def test_agrees_with_d_alembert(case: Case, formulation: Formulation) -> None:
    robot = in_space(case, formulation)
    kernel = numbers(robot, robot.mass_matrix, robot.bias)
    mass, bias = Comparison(0.1), Comparison(1.0)
    for q, v, M, h in expected(case):
        actual = kernel(q, v, np.zeros(robot.u.numel()))
        mass.add(actual[0], M)
        bias.add(actual[1], h)
    mass.conclude()
    bias.conclude()


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
@pytest.mark.parametrize("case", CASES[1:5], ids=label)
def test_accelerations_obey_d_alembert(case: Case, formulation: Formulation) -> None:
    """M a + h = B u with the M and h of the particles, to 1e-12 of the largest term, under random inputs."""
    robot = in_space(case, formulation)
    kernel = numbers(robot, robot.acceleration, robot.input_matrix @ robot.u)
    rng = np.random.default_rng(3)
    fastest = 0.0
    for q, v, M, h in expected(case):
        a, Q = kernel(q, v, rng.uniform(-20.0, 20.0, robot.u.numel()))
        terms = np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(Q)
        assert np.max(np.abs(M @ a + h - Q)) <= 1e-12 * np.max(terms)
        fastest = max(fastest, float(np.max(np.abs(a))))
    assert fastest > 100.0


@BY_CASE
def test_energies_points_and_frames(case: Case) -> None:
    """Points by hand; a frame's axes are the link's, and its columns turn as the universal joint lets them."""
    robot, s = built(case), case.structure
    count = len(s.rods)
    where = {"pole": (-1, 0.0)}
    for i, rod in enumerate(s.rods):
        before = s.parents[i] - 1
        where |= {f"joint{i + 1}": (before, 1.0), f"center{i + 1}": (i, rod.ratio), f"end{i + 1}": (i, 1.0)}
    where["tip"] = where[f"end{count}"]
    assert set(robot.points) == set(robot.frames) == set(where)
    names = list(where)
    axes = [robot.frames[f"end{i + 1}"].rotation for i in range(count)]
    energies = (robot.kinetic_energy, robot.potential_energy)
    kernel = numbers(robot, *energies, *axes, *(robot.points[name] for name in names))
    kinetic, potential, places, turned = Comparison(1.0), Comparison(1.0), Comparison(0.3), Comparison(0.5)
    for q, v in states(case, seed=5, count=STATES):
        T, V, *rest = kernel(q, v, np.zeros(robot.u.numel()))
        known = truth.energies(s, q, v)
        kinetic.add(T, known[0])
        potential.add(V, known[1])
        for i, R in enumerate(rest[:count]):
            turned.add(R, truth.frame(s, q, i))
        for name, point in zip(names, rest[count:], strict=True):
            places.add(point, truth.place(s, q, *where[name]))
    for comparison in (kinetic, potential, places, turned):
        comparison.conclude()


def test_names() -> None:
    robot = in_space(CASES[4])
    assert robot.coordinates.names == ("x", "y", "z", *(f"{a}{i}" for a in ("phi", "psi", "l") for i in (1, 2, 3)))
    assert robot.coordinates.units == ("m",) * 3 + ("rad",) * 6 + ("m",) * 3
    assert robot.name == "spatial exoskeleton with 3 links"
    assert in_space(CASES[0]).name == "spatial exoskeleton with 1 link"
    assert robot.chain == ("pole", "end1", "end2", "end1", "end3")


def test_the_default_is_the_articulated_recursion() -> None:
    counts = [
        numbers(robot, robot.acceleration).function.n_instructions()
        for robot in (built(CASES[3]), in_space(CASES[3], Articulated()), in_space(CASES[3], FORMULATIONS[1]))
    ]
    assert counts[0] == counts[1] != counts[2]


LINK = TelescopicLink(mass=1.0, inertia=0.1, center_ratio=0.5, stiffness=100.0, rest_length=0.5)


@pytest.mark.parametrize(
    ("links", "options", "message"),
    [
        ([], {}, "at least one link, got none"),
        ([Link(1.0, 1.0, 0.5, 0.1)], {}, "must be TelescopicLink objects, got Link"),
        (5.0, {}, "must be TelescopicLink objects, got 5.0"),
        ([LINK], {"base": "free"}, "base must be one of 'pinned', 'floating', got 'free'"),
        ([LINK], {"inertia_law": "elastic"}, "inertia_law must be one of 'constant', 'stretched', got 'elastic'"),
        ([LINK] * 2, {"parents": (0,)}, "2 links need 2 parents, got 1"),
        ([LINK] * 2, {"parents": (0, 2)}, "parent of link 2 must be 0, the pole"),
        ([LINK] * 2, {"parents": (-1, 0)}, "parent of link 1 must be"),
        ([LINK] * 2, {"rigid": [3]}, "rigid must list links from 1 to 2, got 3"),
        ([LINK], {"gravity": np.nan}, "gravity must be finite, got nan"),
        ([LINK], {"gravity": "down"}, "gravity must be a number, got 'down'"),
        ([LINK], {"base": "floating", "pole_mass": -1.0}, r"pole_mass \[kg\] must not be negative, got -1.0"),
    ],
)
def test_bad_arguments(links: Any, options: dict[str, Any], message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=message):
        spatial_exoskeleton(links, **options)


def test_parameters_keep_their_ranges() -> None:
    robot = spatial_exoskeleton([LINK])
    with pytest.raises(ParameterError, match="'m1' must be greater than zero"):
        robot.evaluate(robot.mass_matrix, q=[0.0, 0.0, 0.5], p={"m1": 0.0})
    with pytest.raises(ShapeError, match=r"q must have shape \(3,\)"):
        robot.evaluate(robot.mass_matrix, q=[0.0, 0.5])


def test_a_pole_without_mass_cannot_fly() -> None:
    """The only mass stays while pole and length change: the pole, or the far end, needs a mass of its own."""
    with pytest.raises(ModelError, match="can move without moving any mass"):
        spatial_exoskeleton([LINK], base="floating")
    heavy = spatial_exoskeleton([LINK], base="floating", pole_mass=0.1)
    motion = simulate(heavy, None, np.array([0.0, 0.0, 0.0, 0.3, 0.2, 0.5]), np.zeros(6), 0.1, step=0.01)
    assert motion.ok


def by_link(names: tuple[str, ...], u: Array, letter: str, count: int) -> Array:
    """The inputs of one letter by link; zero where the link has no such input."""
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


TIGHT = DOP853(relative_tolerance=3e-14, absolute_tolerance=1e-14)
FREE = (
    Case((0, 1), hinges=True),
    Case((0, 1, 1), hinges=True, stretched=True),
    Case((0, 0, 1), floating=True, hinges=True),
)
DAMPED = Case((0, 1), hinges=True, damped=True)


def start(case: Case) -> tuple[Array, Array]:
    """Links at rest length, out of every vertical plane, turning and stretching."""
    s = case.structure
    n = len(s.rods)
    pole = np.zeros(3 * case.floating)
    q = np.concatenate([pole, np.linspace(-1.2, -1.0, n), np.linspace(-0.3, 0.2, n), [rod.rest for rod in s.rods]])
    v = np.concatenate([pole, np.linspace(0.8, 0.3, n), np.linspace(0.3, -0.2, n), np.linspace(-0.3, 0.4, n)])
    return q, v


@pytest.mark.parametrize("case", FREE[:2], ids=label)
def test_energy_is_kept(case: Case) -> None:
    """10 s of swinging in space, to 1e-10 of the energies that come and go."""
    q0, v0 = start(case)
    motion = simulate(built(case), None, q0, v0, 10.0, step=0.1, integrator=TIGHT)
    parts = [truth.energies(case.structure, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    energy = np.array([T + V for T, V in parts])
    largest = max(abs(x) for pair in parts for x in pair)
    n = len(case.parents)
    assert motion.t[-1] == pytest.approx(10.0)
    assert np.max(np.abs(energy - energy[0])) <= 1e-10 * largest
    assert np.ptp([T for T, _ in parts]) > 1.0
    assert np.abs(motion.q[:, n : 2 * n]).max() > 0.3
    np.testing.assert_allclose(motion.energy, energy, rtol=0.0, atol=1e-12 * largest)


def test_angular_momentum_about_the_vertical_is_kept() -> None:
    """Gravity has no moment about it, and slender links without torques need no couple from the universal joint."""
    case = FREE[0]
    q0, v0 = start(case)
    motion = simulate(built(case), None, q0, v0, 5.0, step=0.25, integrator=TIGHT)
    spins = np.array([spin_about_pole(case, q, v)[2] for q, v in zip(motion.q, motion.v, strict=True)])
    levels = np.array([spin_about_pole(case, q, v)[0] for q, v in zip(motion.q, motion.v, strict=True)])
    assert np.max(np.abs(spins - spins[0])) <= 1e-10 * np.abs(levels).max()
    assert np.ptp(levels) > 0.1
    assert abs(spins[0]) > 0.01


def spin_about_pole(case: Case, q: Array, v: Array) -> Array:
    found = truth.momenta(case.structure, q, v, np.zeros(q.size))
    return np.asarray(found.spin + np.cross(found.center, found.momentum))


def test_dampers_take_all_the_energy_that_is_lost() -> None:
    q0, v0 = start(DAMPED)
    motion = simulate(built(DAMPED), None, q0, v0, 2.0, step=0.001, integrator=TIGHT)
    s = DAMPED.structure
    damping = np.array([rod.damping for rod in s.rods])
    lost = float(simpson((motion.v[:, 4:] ** 2) @ damping, x=motion.t))
    ends = [sum(truth.energies(s, motion.q[k], motion.v[k])) for k in (0, -1)]
    assert lost > 0.5
    assert abs(ends[0] - ends[1] - lost) <= 1e-9 * lost


def test_flight() -> None:
    """The centre's path is a parabola and the angular momentum stays, all three of its components."""
    case = FREE[2]
    q0, v0 = start(case)
    v0[:3] = 0.7, -0.4, 2.0
    motion = simulate(built(case), None, q0, v0, 5.0, step=0.25, integrator=TIGHT)
    none = np.zeros(q0.size)
    found = [truth.momenta(case.structure, q, v, none) for q, v in zip(motion.q, motion.v, strict=True)]
    speed = found[0].momentum / found[0].mass
    for t, now in zip(motion.t, found, strict=True):
        expected = found[0].center + speed * t - truth.WEIGHT / 2.0 * t**2
        assert np.max(np.abs(now.center - expected)) <= 1e-10 * max(1.0, float(np.max(np.abs(expected))))
        assert np.max(np.abs(now.spin - found[0].spin)) <= 1e-10 * np.abs(found[0].spin).max()
    assert np.abs(found[0].spin).min() > 0.01
