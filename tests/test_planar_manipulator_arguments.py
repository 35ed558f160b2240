"""What a planar manipulator is made from becomes parameters with defaults, or is refused by name."""

import math
import re
from typing import Any

import numpy as np
import pytest

from erugin.robots import Link, planar_manipulator

from .chains import ANGLES, ZEROS, Chain, Comparison, build_robot, random_states
from .references import planar_newton_euler as newton_euler
from .references.planar_newton_euler import Angles, Zero


@pytest.mark.parametrize("angles", ANGLES)
@pytest.mark.parametrize("zero", ZEROS)
def test_parameters_are_symbols(angles: Angles, zero: Zero) -> None:
    """A robot with the parameters of another one is that other one: nothing of the links or of gravity is baked in."""
    others = Chain(5, angles, zero).links[2:]
    robot = build_robot(Chain(3, angles, zero))
    other = planar_manipulator([Link(*link) for link in others], angles=angles, zero=zero, gravity=1.62)
    assert list(robot.nominal) == list(other.nominal)
    assert len(robot.nominal) == robot.p.numel()
    assert not set(robot.nominal.values()) & set(other.nominal.values()) - {0.0}
    p = np.array(list(other.nominal.values()))
    bias, mass, tip = Comparison(1.0), Comparison(0.1), Comparison(0.3)
    for q, v, _ in random_states(3, seed=14):
        bias.add(robot.evaluate(robot.bias, q=q, v=v, p=p), newton_euler.bias(others, angles, zero, 1.62, q, v))
        mass.add(robot.evaluate(robot.mass_matrix, q=q, p=p), newton_euler.mass_matrix(others, angles, zero, q))
        tip.add(
            robot.evaluate(robot.points["tip"], q=q, p=p), newton_euler.joint_positions(others, angles, zero, q)[-1]
        )
    for comparison in (bias, mass, tip):
        comparison.conclude()


def test_defaults_are_relative_angles_from_the_horizontal_on_earth() -> None:
    links = Chain(3, "relative", "horizontal").links
    robot = planar_manipulator([Link(*link) for link in links])
    comparison = Comparison(magnitude=1.0)
    for q, v, _ in random_states(3, seed=15):
        expected = newton_euler.bias(links, "relative", "horizontal", 9.81, q, v)
        comparison.add(robot.evaluate(robot.bias, q=q, v=v), expected)
    comparison.conclude()


BAD_LINKS = [
    *(("length", value) for value in (-1.25, 0.0, math.nan, math.inf)),
    *(("mass", value) for value in (-2.5, 0.0, math.nan, math.inf)),
    *(("center", value) for value in (math.nan, math.inf, -math.inf)),
    *(("inertia", value) for value in (-0.75, math.nan, math.inf)),
]


@pytest.mark.parametrize(("field", "value"), BAD_LINKS)
def test_link_refuses_impossible_numbers(field: str, value: float) -> None:
    """The message names the field and shows the value."""
    data = {"length": 1.0, "mass": 3.0, "center": 5.0, "inertia": 7.0} | {field: value}
    shown = re.escape(f"{value:g}")
    with pytest.raises(ValueError, match=rf"(?s)(?=.*\b{field}\b)(?=.*(?<![\w.+-]){shown}(?![1-9]))"):
        Link(**data)


@pytest.mark.parametrize(
    "data",
    [
        {"length": 1.0, "mass": 1.0, "center": -0.3, "inertia": 0.0},
        {"length": 1.0, "mass": 1.0, "center": 1.7, "inertia": 0.0},
    ],
)
def test_link_allows_counterweights_and_point_masses(data: dict[str, float]) -> None:
    link = Link(**data)
    assert {field: getattr(link, field) for field in data} == data


def test_link_is_immutable() -> None:
    link = Link(1.0, 1.0, 0.5, 0.1)
    with pytest.raises(AttributeError):
        setattr(link, "mass", 2.0)  # noqa: B010
    assert link.mass == 1.0


@pytest.mark.parametrize(
    ("keyword", "allowed"), [("angles", ("relative", "absolute")), ("zero", ("horizontal", "down"))]
)
def test_unknown_conventions_are_refused(keyword: str, allowed: tuple[str, str]) -> None:
    """The message shows the word that was given and lists those that exist."""
    options: dict[str, Any] = {keyword: "sideways"}
    with pytest.raises(ValueError, match="sideways") as caught:
        planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)], **options)
    assert all(word in str(caught.value) for word in allowed)


def test_no_links_are_refused() -> None:
    with pytest.raises(ValueError, match="link"):
        planar_manipulator([])


@pytest.mark.parametrize("gravity", [math.nan, math.inf])
def test_gravity_must_be_finite(gravity: float) -> None:
    with pytest.raises(ValueError, match=rf"(?s)(?=.*gravity)(?=.*{gravity:g})"):
        planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)], gravity=gravity)


def test_misspelt_keyword_is_refused() -> None:
    options: dict[str, Any] = {"angels": "absolute"}
    with pytest.raises(TypeError, match="angels"):
        planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)], **options)
