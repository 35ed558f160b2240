"""Segments of the body: how they grow with it, and how parts of them are put together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from erugin.robots.examples.anthropometry import Segment, segment
from erugin.symbolic import ModelError


def test_a_thigh_by_hand() -> None:
    """The thigh of a man of 80 kg and 1.8 m, from the row 422.2 mm, 14.16 %, 40.95 %, 32.9, 32.9, 14.9."""
    part = segment("thigh", body_mass=80.0, height=1.8, sex="male")
    length = 0.4222 * 1.8 / 1.741
    assert part.mass == pytest.approx(80.0 * 0.1416, rel=1e-14)
    assert part.length == pytest.approx(length, rel=1e-14)
    assert part.center == pytest.approx(0.4095 * length, rel=1e-14)
    assert part.center_ratio == pytest.approx(0.4095, rel=1e-14)
    across = 11.328 * (0.329 * length) ** 2
    assert part.inertias == pytest.approx((across, across, 11.328 * (0.149 * length) ** 2), rel=1e-14)


def test_masses_and_inertias_grow_with_the_body() -> None:
    one = segment("shank", body_mass=50.0, height=1.6, sex="female")
    two = segment("shank", body_mass=100.0, height=2.0, sex="female")
    assert (two.mass, two.length, two.center) == pytest.approx((2 * one.mass, 1.25 * one.length, 1.25 * one.center))
    assert two.inertias == pytest.approx([2.0 * 1.25**2 * moment for moment in one.inertias])


def test_other_ends() -> None:
    """The trunk is longer from the seventh cervical spine, of the same mass and, to rounding, the same inertia."""
    short = segment("trunk", body_mass=70.0, height=1.75, sex="male")
    long = segment("trunk", body_mass=70.0, height=1.75, sex="male", ends=("CERV", "MIDH"))
    assert (short.mass, short.length) == pytest.approx((long.mass, long.length * 515.5 / 603.3))
    assert short.turned().center == pytest.approx(long.turned().center, rel=2e-4)
    assert short.inertia == pytest.approx(long.inertia, rel=5e-3)


def test_turned_and_extended() -> None:
    part = Segment(2.0, 0.5, 0.2, (0.1, 0.2, 0.3))
    assert part.turned() == Segment(2.0, 0.5, 0.3, (0.1, 0.2, 0.3))
    assert part.turned().turned() == part
    assert part.extended(0.25) == Segment(2.0, 0.75, 0.45, (0.1, 0.2, 0.3))
    assert part.extended(-0.125).center == pytest.approx(0.075)


def test_joined_has_the_inertia_of_both_about_any_point() -> None:
    """About the origin the inertias add: I + m c², for the joined part as for the two."""
    forearm = segment("forearm", body_mass=73.0, height=1.741, sex="male")
    hand = segment("hand", body_mass=73.0, height=1.741, sex="male")
    both = forearm.joined(hand)
    assert both.mass == pytest.approx(73.0 * 0.0223, rel=1e-13)
    assert both.length == pytest.approx(0.2689 + 0.1879, rel=1e-13)
    centers = (forearm.center, forearm.length + hand.center)
    assert both.mass * both.center == pytest.approx(forearm.mass * centers[0] + hand.mass * centers[1], rel=1e-13)
    for axis in (0, 1):
        parts = zip((forearm, hand), centers, strict=True)
        expected = sum(part.inertias[axis] + part.mass * center**2 for part, center in parts)
        assert both.inertias[axis] + both.mass * both.center**2 == pytest.approx(expected, rel=1e-13)
    assert both.inertias[2] == forearm.inertias[2] + hand.inertias[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "tigh"}, r"unknown segment of the body 'tigh'. Did you mean 'thigh'\?"),
        ({"name": 3}, "unknown segment of the body '3'"),
        ({"sex": "m"}, "sex must be 'female' or 'male', the columns of the table, got 'm'"),
        ({"sex": None}, "sex must be 'female' or 'male'"),
        ({"body_mass": 0.0}, r"body_mass \[kg\] must be greater than zero, got 0.0"),
        ({"body_mass": math.nan}, r"body_mass \[kg\] must be finite"),
        ({"height": -1.7}, r"height \[m\] must be greater than zero, got -1.7"),
        ({"height": "tall"}, r"height \[m\] must be a number, got 'tall'"),
        ({"ends": ("KJC", "HJC")}, r"the table knows the thigh from HJC-KJC, got ends=\('KJC', 'HJC'\)"),
        ({"ends": ("HJC",)}, "the table knows the thigh from HJC-KJC"),
    ],
)
def test_bad_arguments(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"name": "thigh", "body_mass": 70.0, "height": 1.7, "sex": "male"} | change
    with pytest.raises(ModelError, match=message):
        segment(**arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0.0, 0.5, 0.2, (0.1, 0.1, 0.1)), r"mass of a segment \[kg\] must be greater than zero"),
        ((1.0, -0.5, 0.2, (0.1, 0.1, 0.1)), r"length of a segment \[m\] must be greater than zero"),
        ((1.0, 0.5, math.inf, (0.1, 0.1, 0.1)), r"center of a segment \[m\] must be finite"),
        ((1.0, 0.5, 0.2, (0.1, -0.1, 0.1)), r"inertia of a segment \[kg m²\] must not be negative"),
    ],
)
def test_bad_segments(numbers: tuple[float, float, float, tuple[float, float, float]], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Segment(*numbers)


def test_segments_are_values() -> None:
    one, two = (segment("head", body_mass=70.0, height=1.7, sex="female") for _ in range(2))
    assert one == two
    assert np.isclose(one.center_ratio, 0.4841)
