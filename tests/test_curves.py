"""Every curve keeps the promises of its base class, and each kind its own."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import itertools
import math
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

import erugin.constraints
from erugin.constraints import Circle, Curve, Implicit, Line, Spline, circle, implicit, line, spline
from erugin.constraints.curves.normals import best_axis, normal_frame, tangent_of
from erugin.symbolic import Kernel, ModelError, ParameterError, Parameters, ShapeError

Array = NDArray[np.float64]

SAMPLES = 40


@dataclass(frozen=True)
class Case:
    """A curve and, from plain geometry, where it is."""

    label: str
    curve: Curve
    on: Callable[[float, float], Array]
    """A point on the curve for a share in [0, 1] and a time; with growing share a path runs in its direction."""
    path: bool = True


def polar(share: float) -> Array:
    """The unit circle, counter-clockwise."""
    return np.array([math.cos(2 * math.pi * share), math.sin(2 * math.pi * share)])


def along(start: Array, end: Array) -> Callable[[float, float], Array]:
    """Straight from one length before the start to one length behind the end."""
    return lambda share, _: start + (3 * share - 1) * (end - start)


def along_spline(curve: Spline) -> Callable[[float, float], Array]:
    """From 1 m before the first point to 1 m behind the last."""
    return lambda share, _: curve.at((curve.length + 2) * share - 1)


def any_direction(n: int, share: float) -> Array:
    """A unit vector that jumps about with the share."""
    vector = np.random.default_rng(int(1e6 * share)).normal(size=n)
    return vector / np.linalg.norm(vector)


def floats(x: Array) -> tuple[float, ...]:
    """A point as the constructors want it."""
    return tuple(float(value) for value in x)


def parabola(k: ca.SX) -> Callable[[ca.SX, ca.SX], ca.SX]:
    """y = k (x - 0.3 t)², growing upwards and therefore followed to the left."""
    return lambda x, t: x[1] - k * (x[0] - 0.3 * t) ** 2


WAVE = spline([(0.0, 0.0), (1.0, 0.8), (2.0, 0.4), (3.2, 0.0)], name="wave")
HELIX = spline([(math.cos(0.5 * i), math.sin(0.5 * i), 0.3 * i) for i in range(7)], name="helix")
STRANGE = spline([(0, 0, 0, 0), (1, 0.3, 0.1, -0.2), (2, 0.2, 0.5, 0.0), (3, 0, 0, 0.4)], name="strange")
SPLINES = (WAVE, HELIX, STRANGE)
CURVATURE = Parameters.declare({"curvature": 0.4}, "parabola")

A2, B2 = np.array([0.3, -0.5]), np.array([-0.8, 1.1])
A3, B3 = np.array([0.3, -0.5, 0.2]), np.array([-0.8, 1.1, 2.0])
A4, B4 = np.array([0.3, -0.5, 0.2, 0.0]), np.array([-0.8, 1.1, 2.0, -0.7])

CASES: tuple[Case, ...] = (
    Case("line-2", line(floats(A2), floats(B2)), along(A2, B2)),
    Case("line-3", line(floats(A3), floats(B3)), along(A3, B3)),
    Case("line-4", line(floats(A4), floats(B4)), along(A4, B4)),
    Case("spline-2", WAVE, along_spline(WAVE)),
    Case("spline-3", HELIX, along_spline(HELIX)),
    Case("spline-4", STRANGE, along_spline(STRANGE)),
    Case("circle", circle((0.4, -0.2), 0.7), lambda s, _: np.array([0.4, -0.2]) + 0.7 * polar(s)),
    Case(
        "drifting-circle",
        circle((0.4, -0.2), 0.7, velocity=(0.3, -0.1), name="disc"),
        lambda s, t: np.array([0.4 + 0.3 * t, -0.2 - 0.1 * t]) + 0.7 * polar(s),
    ),
    Case(
        "drifting-sphere",
        circle((0.4, -0.2, 1.0), 0.7, velocity=(0.3, -0.1, 0.2), name="ball"),
        lambda s, t: np.array([0.4 + 0.3 * t, -0.2 - 0.1 * t, 1.0 + 0.2 * t]) + 0.7 * any_direction(3, s),
        path=False,
    ),
    Case("sphere-4", circle((0, 0, 0, 1), 0.5), lambda s, _: np.eye(4)[3] + 0.5 * any_direction(4, s), path=False),
    Case(
        "ellipse",
        implicit(lambda x, _: (x[0] / 2) ** 2 + x[1] ** 2 - 1, 2, length=1.0, name="ellipse"),
        lambda s, _: np.array([2.0, 1.0]) * polar(s),
    ),
    Case(
        "drifting-parabola",
        implicit(parabola(CURVATURE.symbols), 2, length=2.0, parameters=CURVATURE, name="bowl"),
        lambda s, t: np.array([1 - 2 * s + 0.3 * t, 0.4 * (1 - 2 * s) ** 2]),
    ),
    Case(
        "ring-in-space",  # ∇f₁ × ∇f₂ runs clockwise here
        implicit(lambda x, _: ca.vertcat(x[0] ** 2 + x[1] ** 2 - 1, x[2]), 3, length=1.0, name="ring"),
        lambda s, _: np.append(polar(-s), 0.0),
    ),
    Case(
        "ellipsoid",
        implicit(lambda x, _: ca.sumsqr(x / ca.DM([2.0, 1.0, 0.5])) - 1, 3, length=1.0, name="ellipsoid"),
        lambda s, _: np.array([2.0, 1.0, 0.5]) * any_direction(3, s),
        path=False,
    ),
)
PATHS = tuple(case for case in CASES if case.path)
ALL = pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
ALL_PATHS = pytest.mark.parametrize("case", PATHS, ids=lambda case: case.label)


@functools.cache
def kernel(curve: Curve) -> Kernel:
    """Functions and Jacobian at numbers."""
    x, t = ca.SX.sym("x", curve.dimension), ca.SX.sym("t")
    outputs = {"f": curve.functions(x, t), "J": curve.jacobian(x, t)}
    return Kernel("curve", {"x": x, "t": t, "p": curve.parameters.symbols}, outputs, compiled=False)


def functions(curve: Curve, x: Array, t: float = 0.0) -> Array:
    """f, shape (k,), with the nominal parameters."""
    return np.atleast_1d(kernel(curve)(x, t, curve.parameters.values())[0])


def jacobian(curve: Curve, x: Array, t: float = 0.0) -> Array:
    """∂f/∂x, shape (k, n), as the curve says."""
    return kernel(curve)(x, t, curve.parameters.values())[1].reshape(-1, curve.dimension)


def difference(f: Callable[[float], Array], h: float = 1e-3) -> Array:
    """f′(0) by central differences of sixth order."""
    sides = [f(i * h) - f(-i * h) for i in (1, 2, 3)]
    return (45 * sides[0] - 9 * sides[1] + sides[2]) / (60 * h)


def slopes(curve: Curve, x: Array, t: float) -> Array:
    """∂f/∂x, shape (k, n), by differences of the functions."""

    def along_axis(axis: Array) -> Array:
        return difference(lambda s: functions(curve, x + s * axis, t))

    return np.column_stack([along_axis(axis) for axis in np.eye(curve.dimension)])


def course(f: Callable[[float], Array], s: float) -> Array:
    """f′(s) by differences."""
    return difference(lambda h: f(s + h))


def places(case: Case) -> Iterator[tuple[Array, float]]:
    """Points on the curve all over it, and times."""
    rng = np.random.default_rng(7)
    for share in (np.arange(SAMPLES) + rng.uniform(0.0, 1.0, SAMPLES)) / SAMPLES:
        t = float(rng.uniform(-2.0, 2.0))
        yield case.on(float(share), t), t


def subclasses(base: type) -> Iterator[type]:
    """All classes below ``base``, however deep."""
    children: list[type] = base.__subclasses__()
    for child in children:
        yield child
        yield from subclasses(child)


# What every curve promises -------------------------------------------------------------------------------------------


def test_every_curve_is_in_the_table() -> None:
    for module in pkgutil.walk_packages(erugin.constraints.__path__, "erugin.constraints."):
        importlib.import_module(module.name)
    kinds = {c for c in subclasses(Curve) if c.__module__.startswith("erugin.") and not inspect.isabstract(c)}
    assert kinds == {type(case.curve) for case in CASES} == {Circle, Implicit, Line, Spline}


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


# Lines ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_line_in_any_direction_runs_from_its_start_to_its_end(n: int) -> None:
    rng = np.random.default_rng(n)
    ends = [(rng.normal(size=n), rng.normal(size=n)) for _ in range(12)]
    ends += [(np.ones(n), np.ones(n) + sign * axis) for axis in np.eye(n) for sign in (1.0, -1.0)]
    for a, b in ends:
        curve = line(floats(a), floats(b))
        ahead = (b - a) / np.linalg.norm(b - a)
        J = jacobian(curve, a)
        np.testing.assert_allclose(tangent_of_numbers(J), ahead, atol=1e-12)
        np.testing.assert_allclose(J @ J.T, np.eye(n - 1), atol=1e-12)
        x = a + rng.normal(size=n)
        along_it = (x - a) @ ahead
        assert progress(curve, x) == pytest.approx(along_it, abs=1e-12)
        assert np.linalg.norm(functions(curve, x)) == pytest.approx(np.linalg.norm(x - a - along_it * ahead))


def test_in_the_plane_the_right_hand_side_of_a_path_is_positive() -> None:
    assert functions(line((0, 0), (1, 0)), np.array([0.5, -0.2])) == pytest.approx([0.2])
    assert functions(line((0, 0), (0, 3)), np.array([0.2, 1.0])) == pytest.approx([0.2])


def test_a_line_obeys_its_parameters() -> None:
    curve = line((0, 0), (1, 0), name="path")
    assert curve.parameters.names == ("path.start_x", "path.start_y", "path.end_x", "path.end_y")
    values = curve.parameters.values({"path.end_x": 0.0, "path.end_y": 2.0})
    assert float(kernel(curve)(np.array([0.2, 1.0]), 0.0, values)[0]) == pytest.approx(0.2)


# Circles -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_circle_is_positive_outside(n: int) -> None:
    rng = np.random.default_rng(n)
    center, velocity = rng.normal(size=n), rng.normal(size=n)
    curve = circle(floats(center), 0.6, velocity=floats(velocity))
    for distance in (0.0, 0.1, 0.5, 0.7, 3.0):
        t = float(rng.uniform(-2.0, 2.0))
        x = center + velocity * t + distance * any_direction(n, float(rng.uniform()))
        assert functions(curve, x, t) == pytest.approx([distance - 0.6], abs=1e-9)
    assert np.isfinite(jacobian(curve, center)).all()


@pytest.mark.parametrize("n", [2, 3])
def test_the_time_derivative_of_a_drifting_circle(n: int) -> None:
    """f_t = -∇f·u at any place."""
    rng = np.random.default_rng(n)
    drift = rng.normal(size=n)
    curve = circle(floats(rng.normal(size=n)), 0.6, velocity=floats(drift))
    x, t = ca.SX.sym("x", n), ca.SX.sym("t")
    rate = ca.jacobian(curve.functions(x, t), t)
    exact = Kernel("rate", {"x": x, "t": t, "p": curve.parameters.symbols}, {"f_t": rate}, compiled=False)
    for _ in range(SAMPLES):
        place, time = rng.normal(size=n) * 2, float(rng.uniform(-1.0, 1.0))
        expected = -jacobian(curve, place, time) @ drift
        np.testing.assert_allclose(
            np.atleast_1d(exact(place, time, curve.parameters.values())[0]), expected, atol=1e-12
        )
        # Near the centre, where f has a tip, differences mean nothing.
        if float(functions(curve, place, time)[0]) > -0.5:
            seen = course(functools.partial(functions, curve, place), time)
            np.testing.assert_allclose(seen, expected, atol=1e-8)


def test_the_parameters_of_a_circle() -> None:
    curve = circle((1, 2, 3), 0.5, velocity=(4, 5, 6), name="ball")
    names = ("ball.x", "ball.y", "ball.z", "ball.radius", "ball.vx", "ball.vy", "ball.vz")
    assert curve.parameters.names == names
    assert list(curve.parameters.nominal.values()) == [1, 2, 3, 0.5, 4, 5, 6]
    assert circle((0,) * 4, 1).parameters.names[:2] == ("circle.x1", "circle.x2")
    with pytest.raises(ParameterError, match=r"'ball.radius' must be greater than zero, got -1"):
        curve.parameters.values({"ball.radius": -1.0})


# Splines -------------------------------------------------------------------------------------------------------------

EACH_SPLINE = pytest.mark.parametrize("curve", SPLINES, ids=lambda curve: curve.name)
POINTS = {
    "wave": np.array([(0.0, 0.0), (1.0, 0.8), (2.0, 0.4), (3.2, 0.0)]),
    "helix": np.array([(math.cos(0.5 * i), math.sin(0.5 * i), 0.3 * i) for i in range(7)]),
    "strange": np.array([(0, 0, 0, 0), (1, 0.3, 0.1, -0.2), (2, 0.2, 0.5, 0.0), (3, 0, 0, 0.4)], dtype=np.float64),
}


@EACH_SPLINE
def test_a_spline_passes_through_its_points_in_order(curve: Spline) -> None:
    points = POINTS[curve.name]
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    breaks = np.concatenate([[0.0], np.cumsum(chords)])
    np.testing.assert_allclose(curve.at(breaks), points, atol=1e-12)
    assert curve.length == pytest.approx(breaks[-1])
    for s, x in zip(breaks, points, strict=True):
        assert np.abs(functions(curve, x)).max() < 1e-12
        assert progress(curve, x) == pytest.approx(s, abs=1e-9)


@EACH_SPLINE
def test_a_spline_is_straight_beyond_its_ends(curve: Spline) -> None:
    points = POINTS[curve.name]
    for end, outward, point in ((0.0, -1.0, points[0]), (curve.length, 1.0, points[-1])):
        direction = (curve.at(end + outward) - curve.at(end)) / outward
        assert 0.5 < np.linalg.norm(direction) < 2.0
        for far in (0.1, 1.0, 50.0):
            np.testing.assert_allclose(curve.at(end + outward * far), point + outward * far * direction, atol=1e-10)
            assert np.abs(functions(curve, curve.at(end + outward * far))).max() < 1e-10
            assert progress(curve, curve.at(end + outward * far)) == pytest.approx(end + outward * far, abs=1e-9)


def piece(curve: Spline, low: float, high: float) -> list[Polynomial]:
    """Each coordinate of one piece as the polynomial of degree 5 through six of its points."""
    nodes = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * (np.arange(6) + 0.5) / 6)
    values = curve.at(nodes)
    return [Polynomial.fit(nodes, values[:, i], 5) for i in range(curve.dimension)]


@EACH_SPLINE
def test_a_spline_is_three_times_continuously_differentiable(curve: Spline) -> None:
    """Also at the ends, where the straight lines begin; its fourth derivative jumps there."""
    points = POINTS[curve.name]
    breaks = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    edges = np.concatenate([[-1.0], breaks, [breaks[-1] + 1.0]])
    pieces = [piece(curve, low, high) for low, high in itertools.pairwise(edges)]
    for s, before, after in zip(breaks, pieces[:-1], pieces[1:], strict=True):
        for left, right in zip(before, after, strict=True):
            assert float(left(s)) == pytest.approx(float(right(s)), abs=1e-12)
            for order in (1, 2, 3):
                jump = float(left.deriv(order)(s) - right.deriv(order)(s))
                assert jump == pytest.approx(0.0, abs=1e-9), f"derivative {order} at {s}"
    jumps = [abs(float(a.deriv(4)(0.0) - b.deriv(4)(0.0))) for a, b in zip(pieces[0], pieces[1], strict=True)]
    assert max(jumps) > 0.1, "a test of continuity that sees no jump where there is one proves nothing"


def nearest(curve: Spline, x: Array) -> tuple[float, float]:
    """Parameter and distance of the nearest point, by search along ``at``."""
    grid = np.linspace(-3.0, curve.length + 3.0, 3001)
    best = float(grid[np.argmin(np.linalg.norm(curve.at(grid) - x, axis=1))])
    width = 2 * float(grid[1] - grid[0])
    found = minimize_scalar(
        lambda s: float(np.sum((curve.at(s) - x) ** 2)),
        bounds=(best - width, best + width),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(found.x), math.sqrt(float(found.fun))


@EACH_SPLINE
def test_the_functions_of_a_spline_are_signed_distances(curve: Spline) -> None:
    """Within half of the least radius of curvature, where the foot of the perpendicular is unique."""
    rng = np.random.default_rng(5)
    tube = 0.25
    for _ in range(80):
        s = float(rng.uniform(-1.0, curve.length + 1.0))
        x = curve.at(s) + rng.uniform(0.05, tube) * any_direction(curve.dimension, float(rng.uniform()))
        foot, distance = nearest(curve, x)
        f = functions(curve, x)
        assert np.linalg.norm(f) == pytest.approx(distance, abs=1e-10)
        assert progress(curve, x) == pytest.approx(foot, abs=1e-6)
        tangent = course(curve.at, foot)
        off = x - curve.at(foot)
        if curve.dimension == 2:
            right = np.array([tangent[1], -tangent[0]]) / np.linalg.norm(tangent)
            assert float(f[0]) == pytest.approx(float(right @ off), abs=1e-9)


@EACH_SPLINE
def test_progress_is_the_foot_of_the_perpendicular(curve: Spline) -> None:
    rng = np.random.default_rng(6)
    for _ in range(SAMPLES):
        x = curve.at(float(rng.uniform(-1.0, curve.length + 1.0))) + rng.uniform(-0.15, 0.15, curve.dimension)
        s = progress(curve, x)
        tangent = course(curve.at, s)
        assert float((x - curve.at(s)) @ tangent) == pytest.approx(0.0, abs=1e-9)


def test_the_foot_is_exact_in_tight_turns_too() -> None:
    """The closed form of the Jacobian is right at the foot only; here the path turns with a radius of 0.31 m."""
    curve = spline([(0, 0), (3, 0), (3.2, 0.8), (0, 1), (-0.2, 1.8), (3, 2)], name="turns")
    rng = np.random.default_rng(8)
    for s in rng.uniform(0.0, curve.length, 600):
        x = curve.at(s) + 0.1 * any_direction(2, float(rng.uniform()))
        np.testing.assert_allclose(jacobian(curve, x), slopes(curve, x, 0.0), atol=1e-8)


def test_a_spline_does_not_change_with_the_points_it_was_made_from() -> None:
    points = np.array([(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)])
    curve = spline(points)
    before = curve.at(0.7)
    points[1] = 9.0
    np.testing.assert_array_equal(curve.at(0.7), before)


@pytest.mark.parametrize("curve", [HELIX, WAVE, line(floats(A3), floats(B3))], ids=lambda curve: curve.name)
def test_a_curve_without_motion_does_not_depend_on_time(curve: Curve) -> None:
    x, t = ca.SX.sym("x", curve.dimension), ca.SX.sym("t")
    assert not ca.depends_on(curve.functions(x, t), t)


# Implicit curves -----------------------------------------------------------------------------------------------------


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


# Normals -------------------------------------------------------------------------------------------------------------


def tangent_of_numbers(J: Array) -> Array:
    """``tangent_of`` of a numeric Jacobian."""
    slot = ca.SX.sym("J", J.shape[0], J.shape[1])
    return Kernel("tangent", {"J": slot}, {"t": tangent_of(slot)}, compiled=False)(
        J if J.shape[0] > 1 else J.reshape(1, -1)
    )[0]


def progress(curve: Line | Spline, x: Array) -> float:
    """``progress`` at a numeric place."""
    return float(progress_kernel(curve)(x, curve.parameters.values())[0])


@functools.cache
def progress_kernel(curve: Line | Spline) -> Kernel:
    """``progress``, compiled once per curve."""
    x = ca.SX.sym("x", curve.dimension)
    return Kernel("progress", {"x": x, "p": curve.parameters.symbols}, {"s": curve.progress(x)}, compiled=False)


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
        axis = best_axis("path", tangents)
        worst = {s * (i + 1): (s * tangents[:, i]).min() for i in range(n) for s in (1, -1)}
        assert worst[axis] == max(worst.values())
        assert worst[axis] > -0.95


def test_no_axis_orients_tangents_in_all_directions() -> None:
    everywhere = np.vstack([np.eye(3), -np.eye(3)])
    with pytest.raises(ModelError, match=r"'loop' turns so far.*split it"):
        best_axis("loop", everywhere)
    assert best_axis("loop", everywhere[:-1]) in (3, -3)
    # In the plane every direction has a normal.
    assert best_axis("loop", np.vstack([np.eye(2), -np.eye(2)])) == 1
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 1), (0, 2, 1), (0, 2, 0), (0, 3, 0), (0, 3, 1)]
    with pytest.raises(ModelError, match="'knot' turns so far"):
        spline([*corners, (-1, 3, 1), (-1, 2, 1), (-1, 2, 0)], name="knot")


# Bad input -----------------------------------------------------------------------------------------------------------

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


def test_a_curve_is_abstract() -> None:
    with pytest.raises(TypeError, match="functions"):
        Curve()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]
