"""The body of eleven links: its numbers, its posture, and its equations against d'Alembert's."""

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
from erugin.symbolic import Kernel

from .chains import STATES, Comparison
from .exoskeletons import BODY
from .references import telescopic_bodies as truth

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
