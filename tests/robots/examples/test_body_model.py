"""The body of eleven links: numbers, arguments, d'Alembert's equations, and free motion."""

from __future__ import annotations

import functools
import math
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Robot
from erugin.robots.examples import body_model, body_posture
from erugin.robots.examples.anthropometry import STATURE, Sex
from erugin.robots.examples.body_model import ANKLE_HEIGHT, LINKS, PARENTS, body_segments
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import Kernel, ModelError

from ...support.chains import STATES, Comparison
from ...support.exoskeletons import BODY
from ...support.references import telescopic_bodies as truth

Array = NDArray[np.float64]
Base = Literal["pinned", "floating"]
MASS = 73.0
BY_SEX = pytest.mark.parametrize("sex", ["female", "male"])
BY_BASE = pytest.mark.parametrize("base", ["pinned", "floating"])


@functools.cache
def body(sex: Sex = "male", base: Base = "pinned") -> Robot:
    """A mean body in a machine of equal springs and dampers."""
    return body_model(body_mass=MASS, height=STATURE[sex], sex=sex, stiffness=5e4, damping=300.0, base=base)


def structure_of(robot: Robot, base: Base) -> truth.Structure:
    """The numbers of the robot's parameters."""
    p = robot.nominal
    rods = [
        truth.Rod(p[f"m{i}"], p[f"I{i}"], p[f"n{i}"], p[f"k{i}"], p[f"L{i}"], p.get(f"h{i}", 0.0), p.get(f"d{i}", 0.0))
        for i in range(1, 12)
    ]
    return truth.Structure(tuple(rods), BODY, base == "floating", p.get("h0", 0.0), gravity=p["g"])


def test_links_and_coordinates() -> None:
    assert tuple(PARENTS.values()) == BODY
    assert LINKS[2] == "trunk"
    assert LINKS[10] == "swing foot"
    pinned, floating = body(), body(base="floating")
    assert pinned.coordinates.nq == 22
    assert pinned.input_names == tuple(f"M{i}" for i in range(1, 12))
    assert floating.coordinates.names[:3] == ("x", "y", "phi1")
    assert floating.input_names == tuple(f"M{i}" for i in range(2, 12))


@BY_SEX
def test_masses_add_up_to_the_body(sex: Sex) -> None:
    """In flight all of it; on the ground all but the foot that rests."""
    floating, pinned = body(sex, "floating").nominal, body(sex).nominal
    moving = sum(pinned[f"m{i}"] for i in range(1, 12))
    assert sum(floating[f"m{i}"] for i in range(1, 12)) + floating["h0"] == pytest.approx(MASS, rel=1e-14)
    assert floating["h0"] == floating["m11"] == pinned["m11"]
    assert moving + pinned["m11"] == pytest.approx(MASS, rel=1e-14)
    assert "h0" not in pinned


def test_numbers_of_the_mean_man_by_hand() -> None:
    """From the rows of the table, in metres: lengths, and how high each centre of mass is above the ankle."""
    p = body().nominal
    lengths = [0.4403, 0.4222, 0.5155, 0.2429 + 0.6033 - 0.5155, 0.2817, 0.2689 + 0.1879]
    assert [p[f"L{i}"] for i in (1, 2, 3, 4, 5, 6)] == pytest.approx(lengths, rel=1e-12)
    assert [p[f"L{i}"] for i in (7, 8, 9, 10)] == pytest.approx([0.2817, 0.4568, 0.4222, 0.4403], rel=1e-12)
    # The ankle is 48.77 mm before the heel's end and 41.95 mm above the sole in a body of 1.8 m.
    scale = 1.741 / 1.8
    ahead, up = 0.2581 - 0.04877 * scale, 0.04195 * scale
    assert p["L11"] == pytest.approx(math.hypot(ahead, up), rel=1e-12)
    assert p["n11"] == pytest.approx((0.4415 * 0.2581 - 0.04877 * scale) / ahead, rel=1e-12)
    hip = 0.4403 + 0.4222
    heights = {
        1: 0.4403 * (1.0 - 0.4395),
        2: 0.4403 + 0.4222 * (1.0 - 0.4095),
        3: hip + 0.5155 * (1.0 - 0.4310),
        4: hip + 0.6033 + 0.2429 * (1.0 - 0.5002),
        5: hip + 0.5155 - 0.2817 * 0.5772,
        6: hip + 0.5155 - 0.2817 - (1.62 * 0.2689 * 0.4574 + 0.61 * (0.2689 + 0.1879 * 0.3624)) / 2.23,
        9: hip - 0.4222 * 0.4095,
        10: hip - 0.4222 - 0.4403 * 0.4395,
    }
    q = body_posture(height=1.741, sex="male")
    for i, height in heights.items():
        assert body().evaluate(body().points[f"center{i}"], q=q)[1] == pytest.approx(height, rel=1e-12)


@BY_SEX
@BY_BASE
def test_standing(sex: Sex, base: Base) -> None:
    """Upright, on both feet; the vertex within 2 % of the height: the table's lengths do not add up to it exactly."""
    robot, height = body(sex, base), STATURE[sex]
    pole = None if base == "pinned" else (0.3, ANKLE_HEIGHT * height)
    q = body_posture(height=height, sex=sex, pole=pole)
    ankle = np.array(pole or (0.0, 0.0))
    sole = ankle[1] - ANKLE_HEIGHT * height
    places = {name: robot.evaluate(point, q=q) for name, point in robot.points.items()}
    for i in (*range(1, 11),):
        assert places[f"end{i}"][0] == pytest.approx(ankle[0], abs=1e-12)
    np.testing.assert_allclose(places["pole"], ankle, atol=1e-15)
    np.testing.assert_allclose(places["end10"], ankle, atol=1e-14)
    assert places["tip"][1] == pytest.approx(sole, abs=1e-14)
    assert places["tip"][0] > ankle[0] + 0.1
    assert places["end4"][1] - sole == pytest.approx(height, rel=0.02)
    # Both hands hang between hip and knee.
    assert places["end1"][1] < places["end6"][1] == places["end8"][1] < places["end2"][1]
    masses = np.array([robot.nominal[f"m{i}"] for i in range(1, 12)])
    center = masses @ [places[f"center{i}"][1] for i in range(1, 12)] / masses.sum()
    assert 0.54 * height < center - sole < 0.58 * height


def test_posture_with_other_angles() -> None:
    q = body_posture(height=1.7, sex="female", angles={"right forearm": 0.0, "trunk": 1.4})
    upright = body_posture(height=1.7, sex="female")
    assert q.shape == (22,)
    assert set(np.flatnonzero(q != upright)) == {2, 7}
    assert (q[2], q[7]) == (1.4, 0.0)
    assert body_posture(height=1.7, sex="female", pole=(1.0, 2.0))[:2] == pytest.approx([1.0, 2.0])


@BY_SEX
@BY_BASE
def test_equations_are_d_alembert_s(sex: Sex, base: Base) -> None:
    robot = body(sex, base)
    s = structure_of(robot, base)
    symbols = {"q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
    outputs = {"M": robot.mass_matrix, "h": robot.bias, "a": robot.acceleration}
    kernel, p = Kernel("body", symbols, outputs, compiled=False), robot.parameters.values()
    B = robot.evaluate(robot.input_matrix, q=np.zeros(s.nv))
    rng = np.random.default_rng(61)
    standing = body_posture(height=STATURE[sex], sex=sex, pole=(0.0, 0.0) if base == "floating" else None)
    mass, bias = Comparison(1.0), Comparison(10.0)
    for _ in range(STATES):
        q = standing + rng.uniform(-1.5, 1.5, s.nv)
        q[-11:] = standing[-11:] * rng.uniform(0.8, 1.2, 11)
        v, u = rng.uniform(-2.0, 2.0, s.nv), rng.uniform(-50.0, 50.0, robot.u.numel())
        M, h, a = kernel(q, v, u, p)
        expected = truth.mass_matrix(s, q), truth.bias(s, q, v)
        mass.add(M, expected[0])
        bias.add(h, expected[1])
        terms = np.abs(expected[0]) @ np.abs(a) + np.abs(expected[1]) + np.abs(B @ u)
        assert np.max(np.abs(expected[0] @ a + expected[1] - B @ u)) <= 1e-12 * np.max(terms)
    mass.conclude()
    bias.conclude()


def test_torque_of_the_trunk_on_the_swing_thigh() -> None:
    """M₉ = τ with M₃ = −τ turns the thigh and, the other way, the trunk, and nothing else."""
    robot = body()
    u = np.zeros(11)
    u[8], u[2] = 30.0, -30.0
    forces = robot.evaluate(robot.input_matrix @ robot.u, q=np.zeros(22), u=u)
    expected = np.zeros(22)
    expected[8], expected[2] = 30.0, -30.0
    np.testing.assert_array_equal(forces, expected)


def test_a_pen_draws_all_links() -> None:
    drawn = {frozenset(pair) for pair in zip(body().chain, body().chain[1:], strict=False)}
    ends = {f"end{i}": f"end{parent}" if parent else "pole" for i, parent in enumerate(BODY, 1)}
    assert drawn == {frozenset(pair) for pair in ends.items()}


def test_parts_are_the_links_numbers() -> None:
    parts = body_segments(body_mass=MASS, height=1.741, sex="male")
    assert tuple(parts) == LINKS
    for i, part in enumerate(parts.values(), 1):
        p = body().nominal
        assert (p[f"m{i}"], p[f"I{i}"], p[f"L{i}"]) == (part.mass, part.inertia, part.length)


GIVEN: dict[str, object] = {"body_mass": 70.0, "height": 1.75, "sex": "female", "stiffness": 4e4, "damping": None}


def built(**change: object) -> Robot:
    """A body with some arguments changed."""
    return body_model(**GIVEN | change)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["body_mass", "height", "sex", "stiffness", "damping"])
def test_nothing_has_a_silent_default(name: str) -> None:
    arguments = {key: value for key, value in GIVEN.items() if key != name}
    with pytest.raises(TypeError, match=name):
        body_model(**arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_numbers_for_each_link() -> None:
    springs = {name: 1e4 * (i + 1) for i, name in enumerate(LINKS)}
    robot = built(
        stiffness=springs, damping={"trunk": 50.0}, hinge_mass={"support shin": 1.2}, added={"swing shin": 0.5}
    )
    plain = built()
    p = robot.nominal
    assert [p[f"k{i}"] for i in range(1, 12)] == [1e4 * i for i in range(1, 12)]
    assert {name for name in p if name[0] in "dh"} == {"d3", "h1"}
    assert (p["d3"], p["h1"]) == (50.0, 1.2)
    assert p["m10"] == pytest.approx(1.5 * plain.nominal["m10"], rel=1e-15)
    assert p["I10"] == pytest.approx(1.5 * plain.nominal["I10"], rel=1e-15)
    assert p["n10"] == plain.nominal["n10"]
    assert p["m1"] == plain.nominal["m1"]


def test_one_number_for_all_links() -> None:
    p = built(damping=20.0, hinge_mass=0.5, added=0.1).nominal
    plain = built().nominal
    for i in range(1, 12):
        assert (p[f"k{i}"], p[f"d{i}"], p[f"h{i}"]) == (4e4, 20.0, 0.5)
        assert p[f"m{i}"] == pytest.approx(1.1 * plain[f"m{i}"], rel=1e-15)


def test_other_arguments_are_passed_to_the_exoskeleton() -> None:
    robot = built(gravity=1.62, axial_drives=True, rigid=["trunk", "head"], inertia_law="stretched")
    assert robot.nominal["g"] == 1.62
    assert robot.input_names[11:] == tuple(f"F{i}" for i in range(1, 12))
    assert [constraint.name for constraint in robot.natural] == ["rigid link 3", "rigid link 4"]
    assert len(built(rigid=True).natural) == 11
    q = np.concatenate([np.full(11, 0.3), np.full(11, 0.6)])
    other = built(gravity=1.62)
    assert np.ptp(robot.evaluate(robot.mass_matrix, q=q) - other.evaluate(other.mass_matrix, q=q)) > 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"stiffness": {"trunk": 1e4}},
            r"stiffness \[N/m\] must be given for every link; it is missing for support shin",
        ),
        ({"stiffness": {"trunck": 1e4}}, r"stiffness \[N/m\]: unknown link 'trunck'. Did you mean 'trunk'\?"),
        ({"stiffness": -1.0}, r"stiffness \[N/m\] must not be negative, got -1.0"),
        ({"stiffness": None}, r"stiffness \[N/m\] must be given for every link"),
        ({"damping": {"head": -1.0}}, r"damping \[N s/m\] of the head must not be negative, got -1.0"),
        ({"damping": "much"}, r"damping \[N s/m\] must be a number, got 'much'"),
        ({"hinge_mass": {"foot": 1.0}}, r"hinge_mass \[kg\]: unknown link 'foot'. Did you mean 'swing foot'"),
        ({"added": -0.2}, "added mass, a share must not be negative, got -0.2"),
        ({"rigid": ["tail"]}, "rigid: unknown link 'tail'"),
        ({"sex": "both"}, "sex must be 'female' or 'male'"),
        ({"body_mass": -70.0}, r"body_mass \[kg\] must be greater than zero"),
        ({"height": 0.0}, r"height \[m\] must be greater than zero"),
        ({"base": "air"}, "base must be one of 'pinned', 'floating', got 'air'"),
        ({"inertia_law": "none"}, "inertia_law must be one of"),
    ],
)
def test_bad_arguments(change: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        built(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"angles": {"tail": 1.0}}, r"angle \[rad\]: unknown link 'tail'"),
        ({"angles": {"head": np.nan}}, r"angle \[rad\] of the head must be finite, got nan"),
        ({"pole": (np.inf, 0.0)}, r"pole x \[m\] must be finite"),
        ({"sex": "x"}, "sex must be 'female' or 'male'"),
    ],
)
def test_bad_postures(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"height": 1.7, "sex": "male"} | change
    with pytest.raises(ModelError, match=message):
        body_posture(**arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


TIGHT = DOP853(relative_tolerance=1e-13, absolute_tolerance=1e-13)
ANGLES = {"swing thigh": -1.2, "left forearm": -0.8}


@pytest.mark.slow
def test_energy_of_a_fall() -> None:
    """With springs and no dampers the energy is kept to 1e-10 of the largest part while it tumbles."""
    robot = body_model(body_mass=73.0, height=1.741, sex="male", stiffness=2e4, damping=None)
    q0 = body_posture(height=1.741, sex="male", angles=ANGLES)
    v0 = np.concatenate([np.linspace(-1.0, 1.0, 11), np.zeros(11)])
    motion = simulate(robot, None, q0, v0, 10.0, step=0.1, integrator=TIGHT)
    kinetic, potential = motion.evaluate(robot.kinetic_energy), motion.evaluate(robot.potential_energy)
    largest = max(float(np.max(kinetic)), float(np.max(np.abs(potential))))
    assert np.max(np.abs(motion.energy - motion.energy[0])) <= 1e-10 * largest
    assert np.max(kinetic) > 500.0


@pytest.mark.slow
def test_momenta_of_a_drift() -> None:
    """Without gravity and ground nothing changes the path of the centre of mass and the spin, nor the energy."""
    robot = body_model(
        body_mass=61.9, height=1.735, sex="female", stiffness=2e4, damping=None, gravity=0.0, base="floating"
    )
    p = robot.nominal
    rods = tuple(truth.Rod(p[f"m{i}"], p[f"I{i}"], p[f"n{i}"], p[f"k{i}"], p[f"L{i}"]) for i in range(1, 12))
    s = truth.Structure(rods, BODY, floating=True, pole_mass=p["h0"], gravity=0.0)
    q0 = body_posture(height=1.735, sex="female", angles=ANGLES, pole=(0.0, 0.0))
    v0 = np.concatenate([[0.4, 0.1], np.linspace(-2.0, 3.0, 11), np.linspace(-0.5, 0.5, 11)])
    motion = simulate(robot, None, q0, v0, 10.0, step=0.1, integrator=TIGHT)
    found = [truth.momenta(s, q, v, np.zeros(24)) for q, v in zip(motion.q, motion.v, strict=True)]
    speed = found[0].momentum / found[0].mass
    for t, now in zip(motion.t, found, strict=True):
        assert np.max(np.abs(now.center - found[0].center - speed * t)) <= 1e-10
        assert abs(now.spin - found[0].spin) <= 1e-10 * abs(found[0].spin)
    energy = [sum(truth.energies(s, q, v)) for q, v in zip(motion.q, motion.v, strict=True)]
    assert np.ptp(energy) <= 1e-10 * energy[0]
    assert abs(found[0].spin) > 1.0
    assert np.ptp(motion.evaluate(robot.kinetic_energy)) > 1.0
