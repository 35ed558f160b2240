"""Arguments of the exoskeleton: names, and what it rejects."""

from __future__ import annotations

import math

import numpy as np
import pytest

from erugin.robots import Robot, TelescopicLink, exoskeleton
from erugin.symbolic import ModelError, ParameterError

from ...support.exoskeletons import BODY

LINK = TelescopicLink(mass=1.0, inertia=0.1, center_ratio=0.5, stiffness=100.0, rest_length=0.5)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mass", 0.0, r"mass of a telescopic link \[kg\] must be greater than zero, got 0.0"),
        ("mass", -1.0, r"mass of a telescopic link \[kg\] must be greater than zero, got -1.0"),
        ("mass", math.nan, r"mass of a telescopic link \[kg\] must be finite, got nan"),
        ("mass", None, r"mass of a telescopic link \[kg\] must be a number, got None"),
        ("inertia", -0.1, r"inertia of a telescopic link \[kg m²\] must not be negative, got -0.1"),
        ("center_ratio", 0.0, "center_ratio of a telescopic link must be greater than zero, got 0.0"),
        ("center_ratio", 1.01, "center_ratio of a telescopic link must not be above 1, got 1.01"),
        ("stiffness", -5.0, r"stiffness of a telescopic link \[N/m\] must not be negative, got -5.0"),
        ("stiffness", "stiff", r"stiffness of a telescopic link \[N/m\] must be a number, got 'stiff'"),
        ("rest_length", 0.0, r"rest_length of a telescopic link \[m\] must be greater than zero, got 0.0"),
        ("rest_length", math.inf, r"rest_length of a telescopic link \[m\] must be finite, got inf"),
        ("hinge_mass", -0.1, r"hinge_mass of a telescopic link \[kg\] must not be negative, got -0.1"),
        ("damping", -2.0, r"damping of a telescopic link \[N s/m\] must not be negative, got -2.0"),
    ],
)
def test_bad_numbers_of_a_link(name: str, value: object, message: str) -> None:
    numbers: dict[str, object] = {
        "mass": 1.0, "inertia": 0.1, "center_ratio": 0.5, "stiffness": 100.0, "rest_length": 0.5
    }  # fmt: skip
    with pytest.raises(ModelError, match=message):
        TelescopicLink(**numbers | {name: value})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_nothing_about_a_link_has_a_silent_default() -> None:
    with pytest.raises(TypeError, match="stiffness"):
        TelescopicLink(mass=1.0, inertia=0.1, center_ratio=0.5, rest_length=0.5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"links": []}, "an exoskeleton needs at least one link, got none"),
        ({"links": [LINK, 3.0]}, "must be TelescopicLink objects, got 3.0"),
        ({"links": None}, "must be TelescopicLink objects, got None"),
        ({"parents": [0]}, "2 links need 2 parents, got 1"),
        ({"parents": [0, 2]}, "parent of link 2 must be 0, the pole, .* got 2"),
        ({"parents": [1, 1]}, "parent of link 1 must be 0, the pole, .* got 1"),
        ({"parents": [0, -1]}, "parent of link 2 must be 0, the pole, .* got -1"),
        ({"gravity": math.nan}, "gravity must be finite, got nan"),
        ({"gravity": None}, "gravity must be a number, got None"),
        ({"base": "flying"}, "base must be one of 'pinned', 'floating', got 'flying'"),
        ({"base": None}, "base must be one of 'pinned', 'floating', got None"),
        ({"inertia_law": "rod"}, "inertia_law must be one of 'constant', 'stretched', got 'rod'"),
        ({"pole_mass": -1.0, "base": "floating"}, r"pole_mass \[kg\] must not be negative, got -1.0"),
        ({"rigid": [3]}, "rigid must list links from 1 to 2, got 3"),
        ({"rigid": [0]}, "rigid must list links from 1 to 2, got 0"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        exoskeleton(**{"links": [LINK, LINK]} | arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_names_and_units() -> None:
    whole = TelescopicLink(1.0, 0.1, 0.5, 100.0, 0.5, hinge_mass=0.2, damping=3.0)
    robot = exoskeleton([whole, LINK], base="floating", pole_mass=0.4, axial_drives=True)
    c = robot.coordinates
    assert c.names == ("x", "y", "phi1", "phi2", "l1", "l2")
    assert c.units == ("m", "m", "rad", "rad", "m", "m")
    assert [c.v[i].name() for i in range(6)] == ["v_x", "v_y", "v_phi1", "v_phi2", "v_l1", "v_l2"]
    assert robot.input_names == ("M2", "F1", "F2")
    assert robot.input_units == ("N m", "N", "N")
    expected = {"m1": 1.0, "I1": 0.1, "n1": 0.5, "k1": 100.0, "L1": 0.5, "h1": 0.2, "d1": 3.0}
    expected |= {"m2": 1.0, "I2": 0.1, "n2": 0.5, "k2": 100.0, "L2": 0.5, "h0": 0.4, "g": 9.81}
    assert dict(robot.nominal) == expected
    assert robot.name == "exoskeleton with 2 links"
    assert exoskeleton([LINK]).name == "exoskeleton with 1 link"
    assert exoskeleton([LINK], name="arm").name == "arm"
    assert set(robot.frames) == {"pole", "joint1", "center1", "end1", "joint2", "center2", "end2", "tip"}


def test_parameters_stay_in_their_ranges() -> None:
    robot = exoskeleton([LINK])
    for name, value in (("m1", 0.0), ("L1", -0.1), ("n1", 0.0), ("k1", -1.0), ("I1", -1.0)):
        with pytest.raises(ParameterError, match=f"parameter '{name}' must be"):
            robot.evaluate(robot.mass_matrix, q=[0.1, 0.5], p={name: value})


def test_one_link_need_not_be_a_list() -> None:
    one, listed = exoskeleton(LINK), exoskeleton([LINK])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    q = [0.3, 0.6]
    np.testing.assert_array_equal(one.evaluate(one.mass_matrix, q=q), listed.evaluate(listed.mass_matrix, q=q))


@pytest.mark.parametrize("parents", [(0,), (0, 1, 2), (0, 0, 1), BODY, (0, 0, 0), (0, 1, 1, 1)])
def test_a_pen_draws_every_link(parents: tuple[int, ...]) -> None:
    """Along ``chain`` each step is a link, there or back, and every link is drawn."""
    robot: Robot = exoskeleton([LINK] * len(parents), parents=parents)
    before = {f"end{i}": f"end{parent}" if parent else "pole" for i, parent in enumerate(parents, 1)}
    drawn: set[str] = set()
    for a, b in zip(robot.chain, robot.chain[1:], strict=False):
        assert before.get(a) == b or before.get(b) == a
        drawn.add(b if before.get(b) == a else a)
    assert drawn == set(before)
    assert robot.chain[0] == "pole"
    assert set(robot.chain) <= set(robot.points)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parents": ["a", 1]}, "parents must be integers, got 'a'"),
        ({"parents": [0, 0.5]}, "parents must be integers, got 0.5"),
        ({"parents": [None, 1]}, "parents must be integers, got None"),
        ({"parents": [False, True]}, r"parents of exoskeleton must be .*whole number.*, got \[False, True\]"),
        ({"parents": 3}, "parents must be numbers of links, got 3"),
        ({"rigid": [1.0]}, "rigid must be integers, got 1.0"),
        ({"rigid": [True]}, r"rigid of exoskeleton must be .*whole number.*, got \[True\]"),
        ({"rigid": "all"}, r"rigid of exoskeleton must be .*whole number.*, got 'all'"),
        ({"rigid": 1}, "rigid must be numbers of links, got 1"),
        ({"rigid": [1, 1]}, r"rigid must list each link once, got \(1, 1\)"),
    ],
)
def test_numbers_of_links(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        exoskeleton([LINK, LINK], **arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_numpy_integers_are_numbers() -> None:
    robot = exoskeleton([LINK, LINK], parents=np.array([0, 1]).tolist(), rigid=[np.int64(2)])  # type: ignore[list-item]
    assert len(robot.natural) == 1


@pytest.mark.parametrize("n", [1, 3])
def test_a_floating_pole_without_mass(n: int) -> None:
    """In line, the links can change their lengths and the pole its place so that no centre of mass moves."""
    with pytest.raises(ModelError, match="pass pole_mass=, hinge_mass= of a link, or inertia_law='stretched'"):
        exoskeleton([LINK] * n, base="floating")
    hinged = TelescopicLink(1.0, 0.1, 0.5, 100.0, 0.5, hinge_mass=0.1)
    for robot in (
        exoskeleton([LINK] * n, base="floating", pole_mass=0.1),
        exoskeleton([LINK] * (n - 1) + [hinged], base="floating"),
        exoskeleton([LINK] * n, base="floating", inertia_law="stretched"),
    ):
        q = np.concatenate([[0.0, 0.0], np.full(n, 0.7), np.full(n, 0.5)])
        assert np.linalg.eigvalsh(robot.evaluate(robot.mass_matrix, q=q))[0] > 1e-4
