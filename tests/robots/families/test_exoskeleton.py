"""The exoskeleton: printed equations, formulations, inputs, conservation laws, the rigid limit, and growth."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import simpson

from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, planar_manipulator
from erugin.robots.formulations import FORMULATIONS, Articulated, Formulation, Recurrent
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import Kernel

from ...support.chains import STATES, Comparison
from ...support.exoskeletons import BODY, CASES, Array, Case, built, label, link_of, random_states
from ...support.references import chigarev_borisov as paper
from ...support.references import telescopic_bodies as truth

PRINTED_STATES = 120
NAMES = ("phi1", "phi2", "l1", "l2")


def random_values(rng: np.random.Generator) -> dict[str, float]:
    """Numbers for everything that the paper's equations hold."""
    values = {f"m{i}": rng.uniform(0.5, 5.0) for i in (1, 2)} | {f"I{i}": rng.uniform(0.01, 0.3) for i in (1, 2)}
    values |= {f"n{i}": rng.uniform(0.1, 0.9) for i in (1, 2)} | {f"k{i}": rng.uniform(10.0, 900.0) for i in (1, 2)}
    values |= {f"l{i}0": rng.uniform(0.3, 1.2) for i in (1, 2)} | {f"M{i}": rng.uniform(-30.0, 30.0) for i in (1, 2)}
    return values | {"g": rng.uniform(1.0, 12.0)}


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
def test_the_printed_equations(formulation: Formulation) -> None:
    """M, h, B u, and (3) to (6) along the acceleration, for random parameters too: one robot serves them all."""
    link = TelescopicLink(mass=1.0, inertia=1.0, center_ratio=0.5, stiffness=1.0, rest_length=1.0)
    robot = exoskeleton([link, link], formulation=formulation)
    assert robot.coordinates.names == NAMES
    assert robot.input_names == ("M1", "M2")
    outputs = {
        "M": robot.mass_matrix,
        "h": robot.bias,
        "Q": robot.input_matrix @ robot.u - robot.bias,
        "a": robot.acceleration,
    }
    symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
    kernel = Kernel("printed", symbols, outputs, compiled=False)
    mass, bias, forces, motion = (Comparison(1.0) for _ in range(4))
    rng = np.random.default_rng(7)
    for _ in range(PRINTED_STATES):
        values = random_values(rng)
        p = robot.parameters.values(
            {**{k: x for k, x in values.items() if k in robot.parameters.names}, **rests(values)}
        )
        q = np.concatenate([rng.uniform(-np.pi, np.pi, 2), rng.uniform(0.2, 1.5, 2)])
        v, u = rng.uniform(-4.0, 4.0, 4), np.array([values["M1"], values["M2"]])
        M, h, Q, a = kernel(0.0, q, v, u, p)
        mass.add(M, paper.mass_matrix(*q, *(values[key] for key in ("m1", "m2", "n1", "n2", "I1", "I2"))))
        bias.add(h, paper.bias(q, v, values))
        # Velocity products are no part of (2).
        forces.add(Q + paper.velocity_forces(q, v, values), paper.generalised_forces(q, values))
        motion.add(M @ a, paper.generalised_forces(q, values) - paper.velocity_forces(q, v, values))
        terms = np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(u).max()
        assert (np.abs(paper.left_side(q, v, a, values)) <= 1e-12 * terms.max()).all()
    for comparison in (mass, bias, forces, motion):
        assert comparison.count >= 100
        comparison.conclude()


def rests(values: dict[str, float]) -> dict[str, float]:
    """The rest lengths by the robot's names for them."""
    return {"L1": values["l10"], "L2": values["l20"]}


BY_CASE = pytest.mark.parametrize("case", CASES, ids=label)


@functools.cache
def expected(case: Case) -> list[tuple[Array, Array, Array, Array]]:
    """q, v, M and h at random states."""
    s = case.structure
    states = random_states(case, seed=1, count=STATES)
    return [(q, v, truth.mass_matrix(s, q), truth.bias(s, q, v)) for q, v in states]


def numbers(robot: Robot, *expressions: ca.SX) -> Kernel:
    """(q, v, u) → the expressions, with nominal parameters."""
    p = ca.SX(ca.DM(robot.parameters.values().tolist()))
    given = [ca.substitute(expression, robot.p, p) for expression in expressions]
    symbols = {"q": robot.q, "v": robot.v, "u": robot.u}
    return Kernel("numbers", symbols, {f"e{i}": e for i, e in enumerate(given)}, compiled=False)


@pytest.mark.sampled
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
@BY_CASE
def test_agrees_with_d_alembert(case: Case, formulation: Formulation) -> None:
    robot = case.robot(formulation)
    kernel = numbers(robot, robot.mass_matrix, robot.bias)
    mass, bias = Comparison(0.1), Comparison(1.0)
    for q, v, M, h in expected(case):
        actual_mass, actual_bias = kernel(q, v, np.zeros(robot.u.numel()))
        mass.add(actual_mass, M)
        bias.add(actual_bias, h)
    mass.conclude()
    bias.conclude()


@pytest.mark.sampled
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
@pytest.mark.parametrize("case", CASES[1:6], ids=label)
def test_acceleration_satisfies_d_alembert(case: Case, formulation: Formulation) -> None:
    """M a + h = B u with d'Alembert's M and h, to 1e-12 of the largest term, under random inputs."""
    robot = case.robot(formulation)
    kernel = numbers(robot, robot.acceleration, robot.input_matrix @ robot.u)
    rng = np.random.default_rng(3)
    fastest = 0.0
    for q, v, M, h in expected(case):
        a, Q = (np.atleast_1d(e) for e in kernel(q, v, rng.uniform(-20.0, 20.0, robot.u.numel())))
        terms = np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(Q)
        assert np.max(np.abs(M @ a + h - Q)) <= 1e-12 * np.max(terms)
        fastest = max(fastest, float(np.max(np.abs(a))))
    assert fastest > 100.0


def test_the_default_is_the_articulated_recursion() -> None:
    default, named = CASES[2].robot(), CASES[2].robot(Articulated())
    robots = (default, named, CASES[2].robot(Recurrent()))
    counts = [numbers(robot, robot.acceleration).function.n_instructions() for robot in robots]
    assert counts[0] == counts[1] != counts[2]


@BY_CASE
def test_energies_and_points(case: Case) -> None:
    robot, s = built(case), case.structure
    count = len(s.rods)
    names = ["pole", *(f"{what}{i + 1}" for i in range(count) for what in ("joint", "center", "end"))]
    names.append("tip")
    assert set(robot.points) == set(names)
    kernel = numbers(robot, robot.kinetic_energy, robot.potential_energy, *(robot.points[name] for name in names))
    kinetic, potential, places = Comparison(1.0), Comparison(1.0), Comparison(0.3)
    for q, v in random_states(case, seed=5, count=STATES):
        T, V, *points = kernel(q, v, np.zeros(robot.u.numel()))
        kinetic.add(T, truth.energies(s, q, v)[0])
        potential.add(V, truth.energies(s, q, v)[1])
        known = truth.places(s, q)
        known["tip"] = known[f"end{count}"]
        for name, point in zip(names, points, strict=True):
            places.add(point, known[name])
    for comparison in (kinetic, potential, places):
        comparison.conclude()


HINGED_LINK = TelescopicLink(1.0, 0.1, 0.5, 100.0, 1.0, hinge_mass=0.1, damping=2.0)


def forward_dynamics(robot: Robot) -> Kernel:
    """The acceleration as a function for the virtual machine."""
    symbols = {"q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
    return Kernel("forward", symbols, {"a": robot.acceleration}, compiled=False)


def instructions(n: int, formulation: Formulation | None = None) -> int:
    """Operations in the forward dynamics of a chain of n links."""
    robot = exoskeleton([HINGED_LINK] * n, axial_drives=True, formulation=formulation)
    return forward_dynamics(robot).function.n_instructions()


@pytest.mark.sampled
@pytest.mark.parametrize("branched", [False, True])
def test_forward_dynamics_grow_linearly(branched: bool) -> None:
    """From 10 to 20 links as much is added as from 20 to 30, and from 10 to 40 within 2 % of three times that."""
    counts: list[int] = []
    for n in (10, 20, 30, 40):
        # Two links at each joint, as in a binary tree.
        parents = [i // 2 for i in range(n)] if branched else None
        robot = exoskeleton([HINGED_LINK] * n, parents=parents, axial_drives=True)
        counts.append(forward_dynamics(robot).function.n_instructions())
    step = counts[1] - counts[0]
    assert 0 < step < 3000
    assert abs(counts[2] - counts[1] - step) <= 0.02 * step
    assert abs(counts[3] - counts[0] - 3 * step) <= 0.02 * 3 * step


def test_other_formulations_do_not_grow_linearly() -> None:
    """Errors that the test above would detect."""
    small, middle, large = (instructions(n, Recurrent()) for n in (3, 6, 9))
    assert large - middle > 1.5 * (middle - small)


def test_eleven_links_are_ready_without_a_compiler() -> None:
    """22 coordinates: less than 2500 operations for the acceleration, in the virtual machine, and they are right."""
    case = Case(tuple(range(11)), hinges=True, damped=True)
    robot = case.robot()
    kernel = forward_dynamics(robot)
    assert not kernel.compiled
    assert robot.coordinates.nq == 22
    assert kernel.function.n_instructions() < 2500
    for q, v in random_states(case, seed=51, count=5):
        (a,) = kernel(q, v, np.zeros(11), robot.parameters.values())
        M, h = truth.mass_matrix(case.structure, q), truth.bias(case.structure, q, v)
        assert np.max(np.abs(M @ a + h)) <= 1e-12 * np.max(np.abs(M) @ np.abs(a) + np.abs(h))


PLAIN_LINK = TelescopicLink(mass=1.0, inertia=0.1, center_ratio=0.5, stiffness=100.0, rest_length=0.5)


def input_matrix(robot: Robot) -> Array:
    """B, shape (nv, nu)."""
    q = np.ones(robot.coordinates.nq)
    return robot.evaluate(robot.input_matrix, q=q).reshape(robot.coordinates.nv, robot.u.numel())


def test_torques_and_forces_of_two_links() -> None:
    """Q = (M₁ − M₂, M₂, F₁, F₂), as in (2)."""
    robot = exoskeleton([PLAIN_LINK, PLAIN_LINK], axial_drives=True)
    assert robot.input_names == ("M1", "M2", "F1", "F2")
    assert robot.input_units == ("N m", "N m", "N", "N")
    forces = robot.evaluate(robot.input_matrix @ robot.u, u=[2.0, 7.0, 11.0, 13.0])
    np.testing.assert_array_equal(forces, [2.0 - 7.0, 7.0, 11.0, 13.0])


def test_no_forces_along_the_links_without_request() -> None:
    robot = exoskeleton([PLAIN_LINK, PLAIN_LINK])
    assert robot.input_names == ("M1", "M2")
    np.testing.assert_array_equal(input_matrix(robot), [[1.0, -1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])


def test_a_joint_that_several_links_share() -> None:
    """Q_φi = M_i − Σ M_j over the links that begin at the end of link i: the trunk of a body carries three."""
    robot = exoskeleton([PLAIN_LINK] * 11, parents=BODY)
    torques = np.array([2.0**k for k in range(11)])
    forces = robot.evaluate(robot.input_matrix @ robot.u, q=np.ones(22), u=torques)
    M = dict(enumerate(torques, 1))
    expected = [M[1] - M[2], M[2] - M[3] - M[9], M[3] - M[4] - M[5] - M[7], M[4], M[5] - M[6], M[6], M[7] - M[8], M[8]]
    expected += [M[9] - M[10], M[10] - M[11], M[11]]
    np.testing.assert_array_equal(forces, np.concatenate([expected, np.zeros(11)]))


@pytest.mark.parametrize("case", CASES, ids=label)
def test_inputs_do_work_on_what_they_connect(case: Case) -> None:
    """Power = Σ M_i (φ̇_i − φ̇ of the link before) + Σ F_i l̇_i; nothing acts between a floating pole and the ground."""
    robot, n = built(case), len(case.parents)
    B, start = input_matrix(robot), 2 * case.floating
    rng = np.random.default_rng(5)
    names = [f"M{i}" for i, parent in enumerate(case.parents, 1) if parent or not case.floating]
    assert list(robot.input_names) == names + ([f"F{i}" for i in range(1, n + 1)] if case.drives else [])
    for _ in range(20):
        v, u = rng.uniform(-3.0, 3.0, robot.coordinates.nv), rng.uniform(-9.0, 9.0, robot.u.numel())
        turning, stretching = v[start : start + n], v[start + n :]
        power = 0.0
        for name, value in zip(robot.input_names, u, strict=True):
            i = int(name[1:]) - 1
            before = turning[case.parents[i] - 1] if case.parents[i] else 0.0
            power += value * (turning[i] - before if name[0] == "M" else stretching[i])
        assert abs(float(v @ B @ u) - power) <= 1e-12 * max(1.0, abs(power))


TIGHT = DOP853(relative_tolerance=3e-14, absolute_tolerance=1e-14)
FREE = (
    Case((0, 1), hinges=True),
    Case((0, 1, 2), hinges=True, stretched=True),
    Case((0, 0, 1, 1, 2), floating=True, hinges=True),
)
DAMPED = Case((0, 1, 1), hinges=True, damped=True)
FLYING = tuple(case for case in CASES if case.floating)


def start(case: Case) -> tuple[Array, Array]:
    """Links at rest length, some of them turning and stretching."""
    s = case.structure
    n = len(s.rods)
    pole = [0.0] * 2 * case.floating
    q = np.array([*pole, *np.linspace(-1.2, 0.4, n), *(rod.rest for rod in s.rods)])
    v = np.array([*pole, *np.linspace(0.8, -1.0, n), *np.linspace(-0.3, 0.4, n)])
    return q, v


@pytest.mark.parametrize("case", FREE, ids=label)
def test_energy_is_kept_for_ten_seconds(case: Case) -> None:
    q0, v0 = start(case)
    motion = simulate(built(case), None, q0, v0, 10.0, step=0.05, integrator=TIGHT)
    parts = [truth.energies(case.structure, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    energy = np.array([T + V for T, V in parts])
    largest = max(abs(x) for pair in parts for x in pair)
    assert motion.t[-1] == pytest.approx(10.0)
    assert np.max(np.abs(energy - energy[0])) <= 1e-10 * largest
    # There is something to keep: kinetic energy comes and goes.
    assert np.ptp([T for T, _ in parts]) > 1.0
    np.testing.assert_allclose(motion.energy, energy, rtol=0.0, atol=1e-12 * largest)


def test_dampers_take_all_the_energy_that_is_lost() -> None:
    """E falls from each sample to the next, in all by the integral of Σ d_i l̇_i²."""
    q0, v0 = start(DAMPED)
    motion = simulate(built(DAMPED), None, q0, v0, 3.0, step=0.001, integrator=TIGHT)
    s = DAMPED.structure
    energy = np.array([sum(truth.energies(s, q, v)) for q, v in zip(motion.q, motion.v, strict=True)])
    damping = np.array([rod.damping for rod in s.rods])
    power = (motion.v[:, 3:] ** 2) @ damping
    lost = float(simpson(power, x=motion.t))
    assert np.all(np.diff(energy) < 0.0)
    assert lost > 5.0
    assert abs(energy[0] - energy[-1] - lost) <= 1e-9 * lost


@pytest.mark.parametrize("case", FLYING, ids=label)
def test_in_flight_only_gravity_moves_the_center(case: Case) -> None:
    """Under any inputs the centre of mass falls with g, and the angular momentum about it does not change."""
    robot, s = built(case), case.structure
    rng = np.random.default_rng(41)
    strongest = 0.0
    for q, v in random_states(case, seed=42, count=STATES):
        u = rng.uniform(-50.0, 50.0, robot.u.numel())
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        found = truth.momenta(s, q, v, a)
        # What cancels is of the size of the masses times the accelerations.
        size = found.mass * max(1.0, float(np.max(np.abs(a))))
        assert np.max(np.abs(found.force - np.array([0.0, -9.81]) * found.mass)) <= 1e-12 * size
        assert abs(found.torque) <= 1e-12 * size
        strongest = max(strongest, float(np.max(np.abs(a))))
    assert strongest > 100.0


def test_flight_of_ten_seconds() -> None:
    """The centre's path is a parabola and the spin stays, after ten seconds of tumbling."""
    case = FREE[2]
    q0, v0 = start(case)
    v0[:2] = 0.7, 2.0
    motion = simulate(built(case), None, q0, v0, 10.0, step=0.1, integrator=TIGHT)
    none = np.zeros(case.structure.nv)
    found = [truth.momenta(case.structure, q, v, none) for q, v in zip(motion.q, motion.v, strict=True)]
    speed = found[0].momentum / found[0].mass
    for t, now in zip(motion.t, found, strict=True):
        expected = found[0].center + speed * t + np.array([0.0, -9.81 / 2.0]) * t**2
        assert np.max(np.abs(now.center - expected)) <= 1e-10 * max(1.0, float(np.max(np.abs(expected))))
        assert abs(now.spin - found[0].spin) <= 1e-10 * abs(found[0].spin)
    assert abs(found[0].spin) > 0.1


GRAVITY = 9.81
RIGID_STATES = 50


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
    for _ in range(RIGID_STATES):
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
    for _ in range(RIGID_STATES):
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
