"""Every solid against plain geometry, and invalid solids by name."""

from __future__ import annotations

import inspect
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
from erugin.constraints.curves import Curve
from erugin.symbolic import Kernel, ModelError, ParameterError

from ...support.curves import subclasses
from ...support.shapes import EXACT, SOLID, SOLIDS, Solid, boundary, evaluate, extent_of, reference_of, samples

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
    (
        "ellipse: mirror",
        lambda: ellipse((0, 0), (1, 2), orientation=((1, 0), (0, -1))),
        r"not a rotation matrix.*det R = -1",
    ),
    (
        "ellipse: sheared",
        lambda: ellipse((0, 0), (1, 2), orientation=((1, 0.5), (0, 1))),
        r"not a rotation matrix.*by 0\.5",
    ),
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
    ("difference: nothing", lambda: difference(DISC, name="a"), r"difference 'a' removes nothing"),
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
    ("moving: 4-D", lambda: moving(circle((0,) * 4, 1), angular_velocity=1.0), r"2 or 3 dimensions, got 4.*rotation="),
    ("moving: no pivot", lambda: moving(BOWL, angular_velocity=1), r"'bowl' has no reference point.*give about="),
    ("moving: about", lambda: moving(DISC, angular_velocity=1, about=(1, 2, 3)), r"about= .* must have 2 coord.*got 3"),
    (
        "moving: sheared",
        lambda: moving(DISC, rotation=lambda t: ca.SX.eye(2) * (1 + t)),
        r"a rotation matrix, but at t = 0\.37 .*RᵀR differs",
    ),
    ("moving: mirror", lambda: moving(DISC, rotation=lambda _: ca.diag(ca.SX([1, -1]))), r"det R = -1"),
    (
        "moving: infinite",
        lambda: moving(DISC, displacement=lambda t: ca.vertcat(1 / t, 0)),
        r"finite displacement .* at t = 0 ",
    ),
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
        r"can have one rate or law.*disc\.radius",
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


BOUNDED = pytest.mark.parametrize(
    "solid", [s for s in SOLIDS if extent_of(s.curve, 0.0) is not None], ids=lambda s: s.label
)


def test_every_shape_is_in_the_table() -> None:
    kinds = {c for c in subclasses(Curve) if c.__module__.startswith("erugin.constraints.shapes.")}
    assert {type(s.curve) for s in SOLIDS} - {type(SOLIDS[2].curve)} == {c for c in kinds if not inspect.isabstract(c)}
    assert {s.n for s in SOLIDS} == {2, 3, 5}


@SOLID
def test_the_sign_at_thousands_of_places(solid: Solid) -> None:
    for seed in range(3):
        x, t = samples(solid, 1500, seed)
        level, f = solid.level(x, t), evaluate(solid.curve, x, t)[0]
        assert (level < 0).any()
        assert (level > 0).any()
        clear = np.abs(level) > 1e-8
        np.testing.assert_array_equal(f[clear] > 0, level[clear] > 0)


@SOLID
def test_the_function_vanishes_on_the_boundary_and_changes_sign_across_it(solid: Solid) -> None:
    for x, t in boundary(solid):
        f, gradient, *_ = evaluate(solid.curve, x, t)
        accuracy = 1e-8 if "tube" in solid.label else 1e-13
        assert np.abs(f).max() < accuracy
        for off in (1e-6, -1e-6):
            beside = evaluate(solid.curve, x + off * gradient, t)[0]
            np.testing.assert_allclose(beside, off, atol=accuracy + 1e-10)
            level = solid.level(x + off * gradient, t)
            np.testing.assert_array_equal(level > 0, off > 0)


@SOLID
def test_the_gradient_on_the_boundary_has_length_one(solid: Solid) -> None:
    for x, t in boundary(solid):
        gradient = evaluate(solid.curve, x, t)[1]
        np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, atol=1e-7)


@SOLID
def test_derivatives_against_differences(solid: Solid) -> None:
    """First ones on the boundary and all around it, second ones outside, where they exist almost everywhere."""
    n = solid.n
    places = [*boundary(solid, each=20, seeds=(7, 8)), *(samples(solid, 60, 40 + i) for i in range(3))]
    for x, t in places:
        f, gradient, rate, hessian, rates = evaluate(solid.curve, x, t)
        outside = f > 1e-3
        for i in range(n + 1):
            step = 1e-5 * np.eye(n + 1)[i]
            ahead, behind = (evaluate(solid.curve, x + s * step[:n], t + s * step[n]) for s in (1.0, -1.0))
            seen, bent = ((ahead[k] - behind[k]) / 2e-5 for k in ((0, 1) if i < n else (0, 2)))
            first = gradient[:, i] if i < n else rate
            second = hessian.reshape(len(x), n, n)[:, i, :] if i < n else rates[:, n]
            np.testing.assert_allclose(first, seen, atol=1e-7)
            np.testing.assert_allclose(second[outside], bent[outside], rtol=1e-5, atol=1e-5)


@SOLID
def test_everything_is_finite_everywhere(solid: Solid) -> None:
    """At random places, at the centre, on the axes through it, far away."""
    center = reference_of(solid.curve, 0.3)
    axes = np.vstack([np.zeros(solid.n), np.eye(solid.n), -np.eye(solid.n), 1e-12 * np.eye(solid.n)])
    random = samples(solid, 200, 5)[0]
    for x in (center + axes, center + 1e3 * axes, center + 1e6 * random, random):
        for values in evaluate(solid.curve, x, 0.3):
            assert np.isfinite(values).all()


@EXACT
def test_an_exact_function_is_the_distance_outside(solid: Solid) -> None:
    for seed in range(3):
        x, t = samples(solid, 400, 20 + seed)
        level, (f, gradient, *_) = solid.level(x, t), evaluate(solid.curve, x, t)
        outside = level > 0
        np.testing.assert_allclose(f[outside], level[outside], atol=1e-7 if "tube" in solid.label else 1e-12)
        np.testing.assert_allclose(np.linalg.norm(gradient[outside], axis=1), 1.0, atol=1e-7)


@BOUNDED
def test_far_away_the_function_grows_like_a_distance(solid: Solid) -> None:
    """It neither vanishes nor explodes beside the distance, and doubles with it."""
    rng = np.random.default_rng(3)
    ways = rng.normal(size=(300, solid.n))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    center = reference_of(solid.curve, 0.2)
    near, far = (evaluate(solid.curve, center + size * ways, 0.2)[0] / size for size in (200.0, 400.0))
    assert far.min() > 0.5
    assert far.max() < 1.3
    np.testing.assert_allclose(near, far, atol=0.01)


def test_the_unbounded_have_no_extent() -> None:
    unbounded = [s.label for s in SOLIDS if extent_of(s.curve, 0.0) is None]
    assert unbounded == ["half-plane", "half-space-5", "tetrahedron", "room"]


@BOUNDED
def test_the_ball_about_the_reference_contains_the_solid_and_moves_with_it(solid: Solid) -> None:
    for seed in range(4):
        x, t = samples(solid, 4000, 60 + seed)
        center, radius = reference_of(solid.curve, t), extent_of(solid.curve, t)
        assert radius is not None
        farthest = np.linalg.norm(x[solid.level(x, t) < 0] - center, axis=1).max()
        assert farthest <= radius
        tight = 0.45 if solid.n < 5 else 0.3
        assert farthest > (0.2 if solid.label in ("lens", "tube-5") else tight) * radius


@SOLID
def test_nothing_but_declared_parameters_is_used(solid: Solid) -> None:
    """As a Kernel checks; every parameter has a nominal value, and all but a tube's reference depend on them."""
    curve = solid.curve
    x, t = ca.SX.sym("x", solid.n), ca.SX.sym("t")
    center = curve.reference(t)
    assert center is not None
    outputs = {"f": curve.functions(x, t), "reference": center}
    radius = curve.extent(t)
    if radius is not None:
        outputs["extent"] = radius
    assert center.shape == (solid.n, 1)
    assert curve.functions(x, t).shape == (1, 1)
    Kernel("shape", {"x": x, "t": t, "p": curve.parameters.symbols}, outputs, compiled=False)
    assert set(curve.parameters.nominal) == set(curve.parameters.names)
    for name, symbol in curve.parameters:
        assert ca.depends_on(curve.functions(x, t), symbol), name


@pytest.mark.parametrize("power", [20, 40])
def test_an_ellipse_never_exceeds_the_distance(power: int) -> None:
    """Against the nearest of very many places on the boundary; the stated lower bound holds far away."""
    solid = next(s for s in SOLIDS if s.label == "ellipse")
    angles = np.linspace(0, 2 * np.pi, 100_001)
    c, s = np.cos(0.5), np.sin(0.5)
    rim = np.column_stack([1.3 * np.cos(angles), 0.4 * np.sin(angles)]) @ np.array([[c, s], [-s, c]]) + [0.2, -0.1]
    x = np.random.default_rng(power).uniform(-power / 10, power / 10, (150, 2))
    x = x[solid.level(x, 0.0) > 0]
    f = evaluate(solid.curve, x, 0.0)[0]
    distance = np.array([np.linalg.norm(rim - place, axis=1).min() for place in x])
    assert (f <= distance + 1e-9).all()
    ratio = 1.3 / 0.4
    away = 1e4 * x / np.linalg.norm(x, axis=1)[:, None]
    share = evaluate(solid.curve, away, 0.0)[0] / 1e4
    assert (share >= 2 * ratio / (1 + ratio**2) - 1e-3).all()
    assert share.min() < 2 * ratio / (1 + ratio**2) + 0.05
