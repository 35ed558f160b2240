"""Solids that cannot be are refused by name, with the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import (
    box,
    capsule,
    circle,
    complement,
    difference,
    ellipse,
    half_space,
    implicit,
    intersection,
    line,
    moving,
    polygon,
    spline,
    superellipse,
    time_varying,
    tube,
    union,
)
from erugin.symbolic import ModelError, ParameterError

DISC = circle((0, 0), 1, name="disc")
BALL = circle((0, 0, 0), 1, name="ball")
POLE = line((0, 0, 0), (0, 0, 1), name="pole")
WAVE = spline([(0, 0), (1, 0.8), (2, 0.4), (3.2, 0)], name="wave")
BOWL = implicit(lambda x, _: x[1] - x[0] ** 2, 2, length=1.0, name="bowl")
FOREIGN = ca.SX.sym("foreign")
TWO = union(DISC, circle((1, 0), 1, name="other"))

BAD: tuple[tuple[str, Callable[[], object], str], ...] = (
    ("half_space: normal", lambda: half_space((0, 0), (0, 0), name="a"), r"normal of 'a' must not be zero"),
    ("half_space: sizes", lambda: half_space((0, 0), (0, 0, 1), name="a"), r"'a': the point has 2.*normal 3"),
    ("half_space: nan", lambda: half_space((0, math.nan), (0, 1), name="a"), r"point of 'a'\[1\].*nan"),
    ("ellipse: axis", lambda: ellipse((0, 0), (1, 0), name="a"), r"semi_axes of 'a' must be greater than zero, got 0"),
    ("ellipse: negative", lambda: ellipse((0, 0), (1, -2), name="a"), r"semi_axes of 'a'.*got -2"),
    ("ellipse: sizes", lambda: ellipse((0, 0), (1, 1, 1), name="a"), r"'a': the centre has 2 coordinates.*has 3"),
    ("ellipse: three angles", lambda: ellipse((0, 0), (1, 2), orientation=(1, 2, 3), name="a"), r"must be an angle"),
    ("ellipse: one angle", lambda: ellipse((0, 0, 0), (1, 2, 3), orientation=0.1, name="a"), r"yaw, pitch, roll"),
    ("ellipse: angles in 4-D", lambda: ellipse((0,) * 4, (1,) * 4, orientation=[0.1] * 6), r"a rotation matrix"),
    ("ellipse: mirror", lambda: ellipse((0, 0), (1, 2), orientation=((1, 0), (0, -1))), r"no rotation.*det R = -1"),
    ("ellipse: sheared", lambda: ellipse((0, 0), (1, 2), orientation=((1, 0.5), (0, 1))), r"no rotation.*by 0\.5"),
    ("ellipse: matrix", lambda: ellipse((0, 0), (1, 2), orientation=np.eye(3)), r"finite matrix of shape \(2, 2\)"),
    ("ellipse: nan", lambda: ellipse((0, 0), (1, 2), orientation=math.nan), r"orientation of 'ellipse' must be finite"),
    ("ellipse: word", lambda: ellipse((0, 0), (1, 2), orientation=cast(Any, "up")), r"must be numbers, got 'up'"),
    ("superellipse: 1.5", lambda: superellipse((0, 0), (1, 1), 1.5, name="a"), r"exponent of 'a'.*2 and 20, got 1\.5"),
    ("superellipse: 1", lambda: superellipse((0, 0), (1, 1), 1, name="a"), r"exponent of 'a'.*got 1: below 2"),
    ("superellipse: 30", lambda: superellipse((0, 0), (1, 1), 30, name="a"), r"got 30.*box\(\.\.\., rounding"),
    ("superellipse: nan", lambda: superellipse((0, 0), (1, 1), math.nan, name="a"), r"exponent of 'a' must be finite"),
    ("box: size", lambda: box((0, 0), (1, 0), name="a"), r"sizes of 'a' must be greater than zero, got 0"),
    ("box: sizes", lambda: box((0, 0), (1,) * 3, name="a"), r"'a': the centre has 2 coordinates, sizes= has 3"),
    ("box: rounding", lambda: box((0, 0), (1, 2), rounding=0.6, name="a"), r"half of its least size, 0\.5 m, got 0\.6"),
    ("box: negative", lambda: box((0, 0), (1, 2), rounding=-0.1, name="a"), r"rounding of 'a' must not be neg.*-0\.1"),
    ("capsule: point", lambda: capsule((1, 2), (1, 2), 1, name="a"), r"'a': start and end coincide.*use circle"),
    ("capsule: radius", lambda: capsule((1, 2), (1, 3), 0, name="a"), r"radius of 'a' must be greater than zero"),
    ("capsule: sizes", lambda: capsule((1, 2), (1, 3, 4), 1, name="a"), r"'a': the start has 2 coordinates, the end 3"),
    (
        "tube: too thick",
        lambda: tube(WAVE, 0.9, name="a"),
        r"radius of 'a'.*curvature of 'wave', 0\.\d+ m at.*0\.9",
    ),
    ("tube: radius", lambda: tube(WAVE, -0.1, name="a"), r"radius of 'a' must be greater than zero, got -0\.1"),
    ("tube: line", lambda: tube(cast(Any, POLE), 0.1, name="a"), r"'a' needs a path made by spline.*use capsule"),
    ("union: one", lambda: union(DISC, name="a"), r"union 'a' needs at least two solids, got 1"),
    ("union: none", lambda: union(name="a"), r"union 'a' needs at least two solids, got 0"),
    ("union: dimensions", lambda: union(DISC, BALL, name="a"), r"'disc' has dimension 2, 'ball' has 3"),
    ("union: a path", lambda: union(BALL, POLE, name="a"), r"union 'a' needs boundaries.*'pole' has 2"),
    ("union: a number", lambda: union(DISC, cast(Any, 3)), r"needs curves, got 3"),
    (
        "union: a list",
        lambda: union(cast(Any, [DISC, DISC])),
        r"needs curves, got \[.*one by one, as in union\(\*parts",
    ),
    ("union: joint", lambda: union(DISC, BOWL, joint=cast(Any, "R0")), r"must be an R-function.*got 'R0'"),
    ("union: twice", lambda: union(DISC, circle((1, 0), 1, name="disc")), r"two different parameters.*'disc\.x'"),
    ("intersection: one", lambda: intersection(DISC, name="a"), r"intersection 'a' needs at least two solids, got 1"),
    ("difference: nothing", lambda: difference(DISC, name="a"), r"difference 'a' takes nothing away"),
    ("difference: dimensions", lambda: difference(DISC, BALL), r"difference.*'disc' has dimension 2, 'ball' has 3"),
    ("complement: path", lambda: complement(POLE), r"complement.*'pole' has 2"),
    ("moving: at rest", lambda: moving(DISC, name="a"), r"'a' does not move: give velocity="),
    (
        "moving: both",
        lambda: moving(DISC, velocity=(1, 0), displacement=lambda t: ca.vertcat(t, 0)),
        r"give velocity= or displacement=, not both",
    ),
    (
        "moving: both turns",
        lambda: moving(DISC, angular_velocity=1, rotation=lambda _: ca.SX.eye(2)),
        r"angular_velocity= or rotation=",
    ),
    (
        "moving: velocity",
        lambda: moving(DISC, velocity=(1, 0, 0)),
        r"velocity of 'disc_motion' must have 2.*got 3",
    ),
    ("moving: nan", lambda: moving(DISC, velocity=(1, math.nan)), r"velocity of 'disc_motion'\[1\].*nan"),
    ("moving: vector", lambda: moving(DISC, angular_velocity=(0, 0, 1)), r"in the plane must be a number"),
    ("moving: number", lambda: moving(BALL, angular_velocity=1.0), r"must be a sequence"),
    ("moving: 4-D", lambda: moving(circle((0,) * 4, 1), angular_velocity=1.0), r"2 and 3 dimensions, not 4.*rotation="),
    ("moving: no pivot", lambda: moving(BOWL, angular_velocity=1), r"'bowl' has no point.*give about="),
    ("moving: about", lambda: moving(DISC, angular_velocity=1, about=(1, 2, 3)), r"about= .* must have 2 coord.*got 3"),
    (
        "moving: sheared",
        lambda: moving(DISC, rotation=lambda t: ca.SX.eye(2) * (1 + t)),
        r"at t = 0\.37 is none.*RᵀR differs",
    ),
    ("moving: mirror", lambda: moving(DISC, rotation=lambda _: ca.diag(ca.SX([1, -1]))), r"det R = -1"),
    ("moving: infinite", lambda: moving(DISC, displacement=lambda t: ca.vertcat(1 / t, 0)), r"at t = 0 is none"),
    ("moving: shape", lambda: moving(DISC, displacement=lambda t: t), r"SX expression of shape \(2, 1\)"),
    ("moving: floats", lambda: moving(DISC, displacement=cast(Any, lambda _: 1.0)), r"shape \(2, 1\), got 1\.0"),
    (
        "moving: foreign",
        lambda: moving(DISC, displacement=lambda t: ca.vertcat(t * FOREIGN, 0)),
        r"uses foreign: declare them with parameters=",
    ),
    ("moving: path", lambda: moving(POLE, velocity=(0, 0, 1)), r"'pole' has 2"),
    ("changing: nothing", lambda: time_varying(DISC), r"'disc' does not change: give rates= or laws="),
    ("changing: unknown", lambda: time_varying(DISC, rates={"radios": 1}), r"unknown parameter of 'disc' 'radios'"),
    ("changing: ambiguous", lambda: time_varying(TWO, rates={"radius": 1}), r"any of disc\.radius, other\.radius"),
    (
        "changing: nan",
        lambda: time_varying(DISC, rates={"radius": math.nan}),
        r"rate of 'radius' must be finite, got nan",
    ),
    (
        "changing: twice",
        lambda: time_varying(DISC, rates={"radius": 1}, laws={"disc.radius": lambda r, _: r}),
        r"changes in one way only.*disc\.radius",
    ),
    (
        "changing: law",
        lambda: time_varying(DISC, laws={"x": lambda x, t: ca.vertcat(x, t)}),
        r"law of 'disc\.x'.*scalar",
    ),
    ("changing: foreign", lambda: time_varying(DISC, laws={"x": lambda x, _: x + FOREIGN}), r"uses foreign: declare"),
)


@pytest.mark.parametrize(("make", "message"), [pytest.param(m, t, id=label) for label, m, t in BAD])
def test_bad_input_is_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ModelError, ParameterError), match=message):
        make()


@pytest.mark.parametrize(
    ("curve", "name", "value"),
    [
        (ellipse((0, 0), (1, 1)), "ellipse.semi_x", 0.0),
        (box((0, 0), (1, 1)), "box.size_y", -1.0),
        (box((0, 0), (1, 1)), "box.rounding", -0.1),
        (capsule((0, 0), (1, 1), 0.1), "capsule.radius", 0.0),
        (polygon([(0, 0), (1, 0), (0, 1)]), "polygon.scale", 0.0),
        (tube(WAVE, 0.1), "tube.radius", -0.1),
    ],
)
def test_sizes_stay_positive_in_a_study(curve: Any, name: str, value: float) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match=name):
        curve.parameters.values({name: value})


def test_a_size_may_be_any_number_that_fits() -> None:
    assert box((0, 0), (1, 2), rounding=0.5).parameters.nominal["box.rounding"] == 0.5
    assert superellipse((0, 0), (1, 1), 2.0).exponent == 2.0
    assert tube(WAVE, 0.55).parameters.nominal["tube.radius"] == 0.55
