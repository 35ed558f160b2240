"""Every solid is what plain geometry says it is, and its function a distance to first order."""

from __future__ import annotations

import inspect

import casadi as ca
import numpy as np
import pytest

from erugin.constraints.curves import Curve
from erugin.symbolic import Kernel

from .shapes import EXACT, SOLID, SOLIDS, Solid, boundary, evaluate, extent_of, reference_of, samples
from .test_curves import subclasses

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
