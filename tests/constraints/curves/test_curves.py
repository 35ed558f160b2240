"""The contract of all curves, normal frames, implicit curves, and invalid curves by name."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

import erugin.constraints
from erugin.constraints import circle, implicit, line, parametric, spline
from erugin.constraints.curves import Circle, Curve, Implicit, Line, Parametric, Spline
from erugin.constraints.curves.path_geometry import normal_frame, reference_axis
from erugin.symbolic import Kernel, ModelError, ParameterError, ShapeError

from ...support.contracts import require_rows
from ...support.curves import (
    A3,
    ALL,
    ALL_PATHS,
    B3,
    CASES,
    CURVATURE,
    HELIX,
    SAMPLES,
    WAVE,
    Case,
    any_direction,
    course,
    floats,
    functions,
    jacobian,
    kernel,
    parabola,
    places,
    slopes,
    subclasses,
    tangent_of_numbers,
)

FOREIGN = ca.SX.sym("foreign")
BAD: tuple[tuple[str, Callable[[], object], str], ...] = (
    ("line: one point", lambda: line((1, 2), (1, 2), name="a"), r"'a': start and end coincide at \(1\.0, 2\.0\)"),
    ("line: dimensions", lambda: line((1, 2), (1, 2, 3), name="a"), r"'a': the start has 2 coordinates, the end 3"),
    ("line: too short", lambda: line((1,), (2,), name="a"), r"start of 'a' must have at least two coordinates"),
    ("line: nan", lambda: line((1, 2), (1, math.nan), name="a"), r"end of 'a'\[1\] must be finite, got nan"),
    ("line: inf", lambda: line((math.inf, 2), (1, 2), name="a"), r"start of 'a'\[0\] must be finite, got inf"),
    ("line: no points", lambda: line(cast(tuple[float], 1), (1, 2), name="a"), r"start of 'a' must be a sequence"),
    ("circle: radius 0", lambda: circle((0, 0), 0, name="a"), r"radius of 'a' must be greater than zero, got 0"),
    ("circle: negative", lambda: circle((0, 0), -0.5, name="a"), r"radius of 'a' must be greater than zero, got -0\.5"),
    ("circle: nan", lambda: circle((0, 0), math.nan, name="a"), r"radius of 'a' must be finite, got nan"),
    ("circle: centre", lambda: circle((0, math.inf), 1, name="a"), r"center of 'a'\[1\] must be finite, got inf"),
    (
        "circle: velocity",
        lambda: circle((0, 0), 1, velocity=(1, 2, 3), name="a"),
        r"'a': the centre has 2 coordinates, the velocity 3",
    ),
    ("circle: drift nan", lambda: circle((0, 0), 1, velocity=(0, math.nan), name="a"), r"velocity of 'a'\[1\].*nan"),
    ("spline: two points", lambda: spline([(0, 0), (1, 1)], name="a"), r"'a' needs at least 3 points.*\(2, 2\)"),
    ("spline: on a line", lambda: spline([(0,), (1,), (2,)], name="a"), r"'a' needs.*at least 2 coordinates.*\(3, 1\)"),
    ("spline: repeated", lambda: spline([(0, 0), (1, 1), (1, 1)], name="a"), r"'a': points 1 and the next coincide"),
    ("spline: nan", lambda: spline([(0, 0), (1, math.nan), (2, 1)], name="a"), r"'a': every point must be finite.*nan"),
    (
        "implicit: foreign symbol",
        lambda: implicit(lambda x, _: x[0] - FOREIGN, 2, length=1, name="a"),
        r"'a' uses foreign: declare them with parameters=",
    ),
    (
        "implicit: too many rows",
        lambda: implicit(lambda x, _: x, 2, length=1, name="a"),
        r"'a': the equation must return a column of 1 to 1",
    ),
    (
        "implicit: a matrix",
        lambda: implicit(lambda x, _: x.T, 3, length=1, name="a"),
        r"'a': the equation must return a column of 1 to 2",
    ),
    (
        "implicit: a number",
        lambda: implicit(lambda x, t: cast(ca.SX, 1.0), 2, length=1, name="a"),
        r"'a': the equation must return a column.*got 1\.0",
    ),
    ("implicit: length 0", lambda: implicit(lambda x, _: x[0], 2, length=0, name="a"), r"length of 'a'.*got 0"),
    ("implicit: length nan", lambda: implicit(lambda x, _: x[0], 2, length=math.nan, name="a"), r"length of 'a'.*nan"),
    (
        "implicit: in one dimension",
        lambda: implicit(lambda x, _: x[0], 1, length=1, name="a"),
        r"'a' needs a space of at least 2 dimensions, got 1",
    ),
    ("spline: ragged", lambda: spline([(0, 0), (1,), (2, 3)], name="a"), r"'a'"),
    ("spline: words", lambda: spline(cast(list[tuple[float]], [("x", 0), (1, 0), (2, 3)]), name="a"), r"'a'"),
    ("implicit: no dimension", lambda: implicit(lambda x, _: x[0], 0, length=1, name="a"), r"'a'"),
)


@pytest.mark.parametrize(
    ("make", "message"),
    [pytest.param(make, message, id=label) for label, make, message in BAD],
)
def test_bad_input_is_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ModelError, ShapeError), match=message):
        make()


def test_samples_must_follow_the_bends() -> None:
    """From too few of them Newton's method finds the foot of another branch, without a sign of it."""

    def oval(s: ca.SX, t: ca.SX) -> ca.SX:
        return ca.vertcat(ca.cos(s), 0.5 * ca.sin(s))

    with pytest.raises(ModelError, match=r"'egg' turns by .* rad between the samples at s = .* at least samples=\d+"):
        parametric(oval, 0.0, 2.0 * math.pi, samples=6, name="egg")
    with pytest.raises(ModelError, match="round the corner"):
        parametric(lambda s, t: ca.vertcat(s**2, s**3), -1.0, 1.0)
    with pytest.raises(ModelError, match=r"samples of 'parametric' must be a whole number of at least 2, got 2\.5"):
        parametric(oval, 0.0, 1.0, samples=2.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match="the path must be a function"):
        parametric("oval", 0.0, 1.0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_every_curve_is_in_the_table() -> None:
    for module in pkgutil.walk_packages(erugin.constraints.__path__, "erugin.constraints."):
        importlib.import_module(module.name)
    kinds = {c for c in subclasses(Curve) if c.__module__.startswith("erugin.") and not inspect.isabstract(c)}
    kinds -= {
        c for c in kinds if c.__module__.startswith("erugin.constraints.shapes.")
    }  # tests/support/shapes.py lists these
    assert {Circle, Implicit, Line, Parametric, Spline} <= kinds
    require_rows("CASES of tests/support/curves.py", kinds, {type(case.curve) for case in CASES})


@ALL
def test_functions_vanish_on_the_curve_and_only_there(case: Case) -> None:
    rng = np.random.default_rng(1)
    for x, t in places(case):
        assert np.abs(functions(case.curve, x, t)).max() < 1e-12
        normal = jacobian(case.curve, x, t).T @ rng.normal(size=functions(case.curve, x, t).size)
        assert np.linalg.norm(functions(case.curve, x + 0.1 * normal / np.linalg.norm(normal), t)) > 0.05


@ALL
def test_number_of_functions(case: Case) -> None:
    x, t = ca.SX.sym("x", case.curve.dimension), ca.SX.sym("t")
    expected = case.curve.dimension - 1 if case.path else 1
    assert case.curve.functions(x, t).shape == (expected, 1)
    assert case.curve.jacobian(x, t).shape == (expected, case.curve.dimension)


@ALL
def test_functions_grow_like_distances(case: Case) -> None:
    """|∇f_i| = 1 on the curve, by differences of the functions alone."""
    for x, t in places(case):
        gradients = slopes(case.curve, x, t)
        np.testing.assert_allclose(np.linalg.norm(gradients, axis=1), 1.0, atol=1e-9)
        if isinstance(case.curve, Line | Spline):
            np.testing.assert_allclose(gradients @ gradients.T, np.eye(len(gradients)), atol=1e-9)


@ALL
def test_jacobian_on_and_off_the_curve(case: Case) -> None:
    rng = np.random.default_rng(2)
    for x, t in places(case):
        for place in (x, x + 0.1 * any_direction(x.size, float(rng.uniform()))):
            np.testing.assert_allclose(jacobian(case.curve, place, t), slopes(case.curve, place, t), atol=1e-9)


@ALL
def test_functions_use_nothing_but_place_time_and_declared_parameters(case: Case) -> None:
    """As a Kernel with these inputs checks; the names tell whose parameter it is."""
    assert isinstance(kernel(case.curve), Kernel)
    own = set(case.curve.parameters.names) - {"parabola.curvature"}
    assert all(name.startswith(f"{case.curve.name}.") for name in own)
    assert set(case.curve.parameters.nominal) == set(case.curve.parameters.names)


@ALL
def test_functions_can_be_written_at_any_expressions(case: Case) -> None:
    """At the tip of something that moves, not only at a symbol."""
    curve, s = case.curve, ca.SX.sym("s")
    x = ca.vertcat(*(ca.sin((i + 1) * s) / 3 + s for i in range(curve.dimension)))
    inputs = {"s": s, "p": curve.parameters.symbols}
    outputs = {"f": curve.functions(x, s**2), "J": curve.jacobian(x, s**2)}
    f, J = Kernel("written", inputs, outputs, compiled=False)(0.4, curve.parameters.values())
    place = np.array([np.sin((i + 1) * 0.4) / 3 + 0.4 for i in range(curve.dimension)])
    np.testing.assert_allclose(np.atleast_1d(f), functions(curve, place, 0.16), atol=1e-13)
    np.testing.assert_allclose(J.reshape(-1, curve.dimension), jacobian(curve, place, 0.16), atol=1e-13)


@ALL
def test_curves_are_frozen(case: Case) -> None:
    for name in ("name", "dimension", "parameters"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(case.curve, name, 2)


@ALL_PATHS
def test_travel_is_in_the_stated_direction(case: Case) -> None:
    """The tangent of the structure, by the rule and not by the code: ∇f turned by +90°, or ∇f₁ × ∇f₂."""
    for share in np.linspace(0.02, 0.98, SAMPLES):
        ahead = course(lambda s: case.on(s, 0.7), float(share))
        J = jacobian(case.curve, case.on(float(share), 0.7), 0.7)
        tangent = tangent_of_numbers(J)
        if case.curve.dimension == 2:
            np.testing.assert_allclose(tangent, np.array([[0, -1], [1, 0]]) @ J[0], atol=1e-14)
        if case.curve.dimension == 3:
            np.testing.assert_allclose(tangent, np.cross(J[0], J[1]), atol=1e-14)
        np.testing.assert_allclose(
            tangent / np.linalg.norm(tangent), ahead / np.linalg.norm(ahead), atol=1e-8, err_msg=f"at {share}"
        )


@pytest.mark.parametrize("curve", [HELIX, WAVE, line(floats(A3), floats(B3))], ids=lambda curve: curve.name)
def test_a_curve_without_motion_does_not_depend_on_time(curve: Curve) -> None:
    x, t = ca.SX.sym("x", curve.dimension), ca.SX.sym("t")
    assert not ca.depends_on(curve.functions(x, t), t)


def test_a_curve_is_abstract() -> None:
    with pytest.raises(TypeError, match="functions"):
        Curve()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]


Array = NDArray[np.float64]


def ellipse_distance(x: Array) -> float:
    """Signed distance to the ellipse with the semi-axes 2 and 1, by search over the angle."""
    grid = np.linspace(0.0, 2 * np.pi, 721)
    best = grid[int(np.argmin(np.hypot(2 * np.cos(grid) - x[0], np.sin(grid) - x[1])))]
    found = minimize_scalar(
        lambda a: float((2 * np.cos(a) - x[0]) ** 2 + (np.sin(a) - x[1]) ** 2),
        bounds=(best - 0.02, best + 0.02),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return math.copysign(math.sqrt(float(found.fun)), (x[0] / 2) ** 2 + x[1] ** 2 - 1)


def test_an_implicit_curve_agrees_with_the_distance_to_first_order() -> None:
    case = next(case for case in CASES if case.label == "ellipse")
    worst: dict[float, float] = {}
    for size in (0.04, 0.02, 0.01):
        errors: list[float] = []
        for x, _ in places(case):
            normal = np.array([x[0] / 4, x[1]]) / np.hypot(x[0] / 4, x[1])
            for off in (size, -size):
                place = x + off * normal
                assert ellipse_distance(place) == pytest.approx(off, abs=1e-9)
                errors.append(abs(float(functions(case.curve, place)[0]) - off))
        worst[size] = max(errors)
    assert worst[0.04] < 0.1 * 0.04
    assert worst[0.02] / worst[0.01] == pytest.approx(4.0, rel=0.15)
    assert worst[0.04] / worst[0.02] == pytest.approx(4.0, rel=0.15)


def test_an_implicit_curve_is_bounded_far_away_and_finite_where_its_gradient_vanishes() -> None:
    def equation(x: ca.SX, _: ca.SX) -> ca.SX:
        return (x[0] / 2) ** 2 + x[1] ** 2 - 1

    for length in (0.3, 5.0):
        curve = implicit(equation, 2, length=length)
        middle = np.zeros(2)
        assert functions(curve, middle) == pytest.approx([-length])
        assert np.isfinite(jacobian(curve, middle)).all()
        for x in np.random.default_rng(1).uniform(-50.0, 50.0, (SAMPLES, 2)):
            g = (x[0] / 2) ** 2 + x[1] ** 2 - 1
            slope = np.hypot(x[0] / 2, 2 * x[1])
            assert functions(curve, x) == pytest.approx([g / np.hypot(slope, g / length)])
            assert abs(float(functions(curve, x)[0])) < length


def test_an_implicit_curve_lists_its_length_and_what_it_was_given() -> None:
    curve = implicit(parabola(CURVATURE.symbols), 2, length=2.0, parameters=CURVATURE, name="bowl")
    assert curve.parameters.names == ("bowl.length", "parabola.curvature")
    x = np.array([1.0, 0.9])
    assert functions(curve, x)[0] > 0
    steeper = curve.parameters.values({"parabola.curvature": 1.0})
    assert float(kernel(curve)(x, 0.0, steeper)[0]) < 0


@pytest.mark.parametrize("length", [0.0, -1.0])
def test_the_length_of_an_implicit_curve_stays_positive(length: float) -> None:
    curve = implicit(lambda x, _: x[0], 2, length=1.0)
    with pytest.raises(ParameterError, match=r"implicit\.length"):
        curve.parameters.values({"implicit.length": length})


@functools.cache
def frame_kernel(n: int, axis: int) -> Kernel:
    """``normal_frame`` in n dimensions with a given reference axis."""
    tangent = ca.SX.sym("tangent", n)
    return Kernel("frame", {"tangent": tangent}, {"N": normal_frame(tangent, axis)}, compiled=False)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_normal_frames_are_orthonormal_and_oriented(n: int) -> None:
    rng = np.random.default_rng(n)
    for axis in [sign * (i + 1) for i in range(n) for sign in (1, -1)]:
        reference = math.copysign(1.0, axis) * np.eye(n)[abs(axis) - 1]
        checked = 0
        while checked < 8:
            tangent = any_direction(n, float(rng.uniform()))
            if n > 2 and tangent @ reference < -0.9:
                continue
            N = frame_kernel(n, axis)(tangent)[0].reshape(n, n - 1)
            np.testing.assert_allclose(N.T @ N, np.eye(n - 1), atol=1e-12)
            np.testing.assert_allclose(N.T @ tangent, 0.0, atol=1e-12)
            assert np.linalg.det(np.column_stack([N, tangent])) == pytest.approx(1.0)
            # The frame and the generalized cross product agree on what is ahead.
            np.testing.assert_allclose(tangent_of_numbers(N.T), tangent, atol=1e-12)
            checked += 1


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_tangent_of_any_jacobian(n: int) -> None:
    """Orthogonal to every gradient, as long as their volume, and turning over with any one of them."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        J = rng.normal(size=(n - 1, n))
        tangent = tangent_of_numbers(J)
        np.testing.assert_allclose(J @ tangent, 0.0, atol=1e-12 * np.abs(tangent).max())
        assert float(tangent @ tangent) == pytest.approx(float(np.linalg.det(J @ J.T)))
        assert np.linalg.det(np.vstack([J, tangent])) == pytest.approx(float(tangent @ tangent))
        flipped = J * np.where(np.arange(n - 1) == 0, -1.0, 1.0)[:, None]
        np.testing.assert_allclose(tangent_of_numbers(flipped), -tangent, atol=1e-12 * np.abs(tangent).max())


@pytest.mark.parametrize("n", [3, 4, 5])
def test_the_best_axis_is_the_one_farthest_from_opposite(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        # Directions within some 60° of a random one.
        tangents = any_direction(n, float(rng.uniform())) + 0.25 * rng.normal(size=(30, n))
        tangents /= np.linalg.norm(tangents, axis=1)[:, None]
        axis = reference_axis("path", tangents)
        worst = {s * (i + 1): (s * tangents[:, i]).min() for i in range(n) for s in (1, -1)}
        assert worst[axis] == max(worst.values())
        assert worst[axis] > -0.95


def test_no_axis_orients_tangents_in_all_directions() -> None:
    everywhere = np.vstack([np.eye(3), -np.eye(3)])
    with pytest.raises(ModelError, match=r"'loop' turns so far.*split it"):
        reference_axis("loop", everywhere)
    assert reference_axis("loop", everywhere[:-1]) in (3, -3)
    # In the plane every direction has a normal.
    assert reference_axis("loop", np.vstack([np.eye(2), -np.eye(2)])) == 1
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 1), (0, 2, 1), (0, 2, 0), (0, 3, 0), (0, 3, 1)]
    with pytest.raises(ModelError, match="'knot' turns so far"):
        spline([*corners, (-1, 3, 1), (-1, 2, 1), (-1, 2, 0)], name="knot")
