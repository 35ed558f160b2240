"""Fields where a boundary is not smooth, and in the middle of solids."""

from __future__ import annotations

import itertools
import math

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import (
    EruginField,
    FirstOrder,
    box,
    capsule,
    circle,
    difference,
    ellipse,
    follow,
    half_space,
    intersection,
    line,
    moving,
    polygon,
    superellipse,
    time_varying,
    tube,
    union,
)
from erugin.constraints.curves import Curve, Spline
from erugin.constraints.shapes import RAlpha, RNorm, RPower
from erugin.controllers import Program, ProgramController, start_on
from erugin.robots import Link, planar_manipulator
from erugin.scenarios import simulate
from erugin.symbolic import ModelError

from ...support.geometry import Array
from ...support.shapes import FACES, HELIX, STAR, WAVE, evaluate, extent_of, reference_of

LEFT, RIGHT = circle((-0.6, 0.0), 1.0, name="left"), circle((0.6, 0.0), 1.0, name="right")
CROSSING = np.array([[0.0, 0.8], [0.0, -0.8]])
SHARP, STARRY = box((0.5, -0.5), (1.4, 0.8)), polygon(STAR, name="star")
CORNERS = np.array([[0.5 + 0.7 * i, -0.5 + 0.4 * j] for i, j in itertools.product((1, -1), repeat=2)])
CUBE = box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), name="cube")
EDGES = np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.0], [-0.5, 0.0, 0.5], [0.5, -0.5, -0.5]])
PLANES = [half_space(a, b, name=f"face{i}") for i, (a, b) in enumerate(FACES)]
NORMALS = np.array([b for _, b in FACES], dtype=np.float64)
TIPS = np.array(
    [
        np.linalg.solve(NORMALS[list(k)], [NORMALS[i] @ np.array(FACES[i][0]) for i in k])
        for k in itertools.combinations(range(4), 3)
    ],
    dtype=np.float64,
)

AT: tuple[tuple[str, Curve, Array], ...] = (
    ("union", union(LEFT, RIGHT), CROSSING),
    ("union R₀", union(LEFT, RIGHT, joint=RAlpha()), CROSSING),
    ("union R_p", union(LEFT, RIGHT, joint=RPower(4)), CROSSING),
    ("union 2", union(LEFT, RIGHT, joint=RNorm(2)), CROSSING),
    ("lens", intersection(LEFT, RIGHT), CROSSING),
    ("crescent", difference(LEFT, RIGHT), CROSSING),
    ("box", SHARP, CORNERS),
    ("cube", CUBE, EDGES),
    ("star", STARRY, np.array(STAR)),
    ("tetrahedron", intersection(*PLANES), TIPS),
)


@pytest.mark.parametrize(("curve", "places"), [pytest.param(c, x, id=label) for label, c, x in AT])
def test_at_a_corner_the_function_vanishes_and_its_slope_is_finite(curve: Curve, places: Array) -> None:
    for near in (places, places + 1e-12, places - 1e-9):
        f, gradient, rate, *_ = evaluate(curve, near, 0.0)
        assert np.abs(f).max() < 1e-8
        assert np.isfinite(gradient).all()
        assert np.linalg.norm(gradient, axis=1).max() < 4
        assert np.isfinite(rate).all()
    f = evaluate(curve, places, 0.0)[0]
    assert np.abs(f).max() < 1e-14


@pytest.mark.parametrize(("curve", "places"), [pytest.param(c, x, id=label) for label, c, x in AT])
def test_at_a_corner_a_field_is_finite_and_within_its_limit(curve: Curve, places: Array) -> None:
    n = curve.dimension
    field = EruginField(line((-3.0,) * n, (3.0,) * n, name="path"), [curve], speed=1.0, margin=0.1, limit=1.5)
    x, t, p = ca.SX.sym("x", n), ca.SX.sym("t"), field.parameters
    f = ca.Function("w", [x, t, p.symbols], [field.velocity(x, t)])
    for place in (*places, *(places + 1e-13)):
        w = f.call([place, 0.0, p.values()])[0].full()
        assert np.isfinite(w).all()
        assert np.linalg.norm(w) <= 1.5 * (1 + 1e-9)


@pytest.mark.parametrize("joint", [RAlpha(), RAlpha(0.5), RPower(4), RPower(8), RNorm(2), RNorm(8)], ids=repr)
def test_every_joint_has_the_same_boundary_and_slope_one_on_it(joint: RAlpha | RPower | RNorm) -> None:
    """Two discs that cross, a third disc cut out: points on the arcs by geometry."""
    hole = circle((0.0, 0.9), 0.5, name="hole")
    shape = difference(union(LEFT, RIGHT, joint=joint), hole, joint=joint)
    circles = ((-0.6, 0.0, 1.0), (0.6, 0.0, 1.0), (0.0, 0.9, 0.5))
    angles = np.linspace(0.0, 2 * np.pi, 400)
    count = 0
    for k, (x, y, r) in enumerate(circles):
        on = np.column_stack([x + r * np.cos(angles), y + r * np.sin(angles)])
        gaps = np.array([np.hypot(on[:, 0] - a, on[:, 1] - b) - c for a, b, c in circles])
        clear = (np.abs(np.delete(gaps, k, axis=0)) > 0.02).all(axis=0)
        outer = np.delete(gaps, k, axis=0)
        arc = (outer[0] > 0) & (outer[1] > 0) if k < 2 else (outer < 0).any(axis=0)
        f, gradient, *_ = evaluate(shape, on[arc & clear], 0.0)
        assert np.abs(f).max() < 1e-13
        np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, atol=1e-9)
        off = evaluate(shape, on[~arc & clear], 0.0)[0]
        assert np.abs(off).min() > 1e-3, "what is not on the boundary of the whole is not a zero"
        count += int((arc & clear).sum())
    assert count > 300


@pytest.mark.parametrize(
    "curve",
    [
        ellipse((0.2, -0.1), (1.3, 0.2), orientation=0.5),
        superellipse((0, 0, 0), (0.6, 1.0, 0.8), 20),
        superellipse((0, 0), (0.6, 1.0), 2.5),
    ],
    ids=["ellipse", "superellipsoid-20", "superellipse-2.5"],
)
def test_inside_an_ellipse_the_function_falls_to_its_centre(curve: Curve) -> None:
    """Along every ray, down to minus the extent, without a jump at the centre."""
    center, extent = reference_of(curve, 0.0), extent_of(curve, 0.0)
    assert extent is not None
    ways = np.random.default_rng(0).normal(size=(40, curve.dimension))
    for way in ways / np.linalg.norm(ways, axis=1)[:, None]:
        sizes = np.concatenate([[0.0, 1e-12, 1e-7], np.geomspace(1e-4, 3.0, 200)])
        f = evaluate(curve, center + sizes[:, None] * way, 0.0)[0]
        assert (np.diff(f) > -1e-7).all()
        assert f[0] == pytest.approx(-extent, rel=1e-6)
        assert abs(f[2] - f[0]) < 1e-4, "a slope below a thousand at 1e-7 from the centre"
        assert f[-1] > 0


def test_a_rounding_makes_the_normal_turn_continuously() -> None:
    """Round a corner the normal turns by a right angle, at once or over the length of the arc."""
    walk = np.linspace(0.0, 0.1, 2001)
    for rounding, largest in ((0.0, math.pi / 2), (0.05, 1.2 * (walk[1] - walk[0]) / 0.05 * math.sqrt(2))):
        curve = box((0, 0), (1, 1), rounding=rounding)
        x = np.column_stack([0.45 + walk, 0.55 - walk])
        f, gradient, *_ = evaluate(curve, x, 0.0)
        for _ in range(6):  # to the boundary
            x = x - f[:, None] * gradient
            f, gradient, *_ = evaluate(curve, x, 0.0)
        gradient = evaluate(curve, x + 1e-9 * gradient, 0.0)[1]
        turns = np.abs(np.diff(np.unwrap(np.arctan2(gradient[:, 1], gradient[:, 0]))))
        assert turns.sum() == pytest.approx(math.pi / 2, abs=1e-6)
        assert turns.max() < largest + 1e-9
        assert rounding > 0 or turns.max() > 0.5


def traced(curve: Curve, angles: Array) -> Array:
    """Places on a star-shaped boundary about the origin, by bisection along rays."""
    rays = np.column_stack([np.cos(angles), np.sin(angles)])
    low, high = np.zeros_like(angles), np.full_like(angles, 2.0)
    for _ in range(60):
        middle = (low + high) / 2
        beyond = evaluate(curve, middle[:, None] * rays, 0.0)[0] > 0
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.asarray(high[:, None] * rays)


def curvatures(curve: Curve, x: Array) -> Array:
    """τᵀ ∇∇f τ on the boundary, where |∇f| = 1."""
    _, gradient, _, hessian, _ = evaluate(curve, x, 0.0)
    tangent = np.column_stack([-gradient[:, 1], gradient[:, 0]])
    return np.asarray(np.einsum("Ni,Nij,Nj->N", tangent, hessian.reshape(-1, 2, 2), tangent))


@pytest.mark.slow
def test_smooth_corners_have_a_continuous_curvature_and_arcs_have_not() -> None:
    for corner, count in (("arc", 4001), ("smooth", 4001), ("smooth", 16001)):
        shape = box((0, 0), (0.6, 0.5), rounding=0.1, corner=corner)  # type: ignore[arg-type]
        x = traced(shape, np.linspace(0.2, 1.2, count))
        k = curvatures(shape, x)
        steps = np.linalg.norm(np.diff(x, axis=0), axis=1)
        assert k.min() > -1e-9, "convex"
        if corner == "arc":
            assert np.abs(np.diff(k)).max() == pytest.approx(10.0, rel=1e-6)
        else:
            # Lipschitz continuous: changes shrink with the steps.
            assert (np.abs(np.diff(k)) / steps).max() < 1500.0
            assert k.max() == pytest.approx(17.8, rel=0.01)
        angles = np.arctan2(*x.T)
        turned = np.trapezoid(k, np.concatenate([[0.0], np.cumsum(steps)]))
        assert turned == pytest.approx(np.pi / 2, rel=2e-3), angles


@pytest.mark.parametrize("n", [2, 3])
def test_a_smooth_box_is_nearly_a_distance(n: int) -> None:
    """At most the distance, at least 0.9 of it, with a slope of one on the boundary and of nearly one outside."""
    sizes = (0.6, 0.5, 0.8)[:n]
    shape = box((0.0,) * n, sizes, rounding=0.2, corner="smooth")
    sharp = box((0.0,) * n, sizes)
    x = np.random.default_rng(3).uniform(-1.5, 1.5, (4000, n))
    f, gradient, _, hessian, _ = evaluate(shape, x, 0.0)
    outer, inner = (
        evaluate(sharp, x, 0.0)[0],
        evaluate(box((0.0,) * n, [size - 0.4 for size in sizes], name="core"), x, 0.0)[0],
    )
    # Between the sharp box and the one rounded by balls, both of which have exact distances outside.
    round_box = inner - 0.2
    assert np.isfinite(np.column_stack([f, gradient, hessian])).all()
    away = f > 1e-6
    assert (f[away] >= outer[away] - 1e-12).all()
    assert (f[away] <= round_box[away] + 1e-12).all()
    slopes = np.linalg.norm(gradient, axis=1)
    assert slopes[away].min() > 0.9
    assert slopes[away].max() < 1.0 + 1e-9
    assert slopes[~away].min() > 0.5
    for _ in range(30):
        f, gradient, *_ = evaluate(shape, x, 0.0)
        x = x - (f / np.maximum((gradient**2).sum(axis=1), 0.25))[:, None] * gradient
    f, gradient, *_ = evaluate(shape, x, 0.0)
    assert np.abs(f).max() < 1e-12
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, atol=1e-9)
    extent = extent_of(shape, 0.0)
    assert extent is not None
    assert np.linalg.norm(x, axis=1).max() <= extent


def test_torques_along_smooth_corners_do_not_jump() -> None:
    """Round an arc's beginning they do, however short the step; along smooth corners a jump shrinks with the step."""
    jumps: dict[tuple[str, float], float] = {}
    arm = planar_manipulator([Link(0.6, 3.0, 0.3, 0.1), Link(0.55, 2.5, 0.25, 0.08)])
    tip = arm.points["tip"]
    for corner in ("arc", "smooth"):
        around = box((0.6, 0.1), (0.4, 0.3), rounding=0.08, corner=corner)
        program = Program(arm, follow(EruginField(around, speed=0.5), tip, perturbation=FirstOrder(10.0)))
        q0, v0 = start_on(program, [-0.9, 1.8], at=[(tip, (0.8, 0.1))])
        law = ProgramController(program, realization="actuated")
        for step in (2e-3, 5e-4):
            motion = simulate(arm, law, q0, v0, 2.2, step=step)
            assert motion.ok
            jumps[corner, step] = float(np.abs(np.diff(motion.u, axis=0)).max())
    assert jumps["arc", 5e-4] > 1.0
    assert jumps["arc", 5e-4] == pytest.approx(jumps["arc", 2e-3], rel=0.1)
    assert jumps["smooth", 5e-4] < 0.3 * jumps["smooth", 2e-3] < 0.3


def test_every_shape_declares_its_smoothness() -> None:
    arc, smooth = (box((0, 0), (1, 1), rounding=0.2, corner=c) for c in ("arc", "smooth"))
    reported = {
        "sharp": SHARP.smoothness,
        "arc": arc.smoothness,
        "smooth": smooth.smoothness,
        "capsule": capsule((0, 0), (1, 0), 0.2).smoothness,
        "tube": tube(WAVE, 0.1).smoothness,
        "wave": WAVE.smoothness,
        "star": STARRY.smoothness,
        "union": union(LEFT, RIGHT).smoothness,
        "lens": intersection(LEFT, RIGHT).smoothness,
        "moving arc": moving(arc, velocity=(1.0, 0.0)).smoothness,
        "growing arc": time_varying(arc, rates={"size_x": 0.1}).smoothness,
        "disc": LEFT.smoothness,
        "ellipse": ellipse((0, 0), (1, 2)).smoothness,
        "2.5": superellipse((0, 0), (1, 2), 2.5).smoothness,
        "3": superellipse((0, 0), (1, 2), 3.0).smoothness,
    }
    endless = math.inf
    assert reported == {
        "sharp": 0,
        "arc": 1,
        "smooth": 2,
        "capsule": 1,
        "tube": 1,
        "wave": 3,
        "star": 0,
        "union": 0,
        "lens": 0,
        "moving arc": 1,
        "growing arc": 1,
        "disc": endless,
        "ellipse": endless,
        "2.5": 2,
        "3": 2,
    }


def test_smooth_corners_need_a_length_and_a_known_name() -> None:
    with pytest.raises(ModelError, match="smooth corners of 'box' require rounding= above zero"):
        box((0, 0), (1, 1), corner="smooth")
    with pytest.raises(ModelError, match="corner of 'box' must be 'arc' or 'smooth', got 'round'"):
        box((0, 0), (1, 1), rounding=0.1, corner="round")  # type: ignore[arg-type]


@pytest.mark.parametrize("path", [WAVE, HELIX], ids=lambda path: path.name)
def test_on_its_middle_line_a_tube_is_finite(path: Spline) -> None:
    """Its depth there is the radius, at the ends too."""
    x = path.at(np.linspace(0.0, path.length, 30))
    f, gradient, *_ = evaluate(tube(path, 0.2), x, 0.0)
    np.testing.assert_allclose(f, -0.2, atol=1e-7)
    assert np.isfinite(gradient).all()
    assert np.linalg.norm(gradient, axis=1).max() < 1 + 1e-9


def test_the_ball_of_a_union_and_of_what_is_cut_out_of_it() -> None:
    """By hand: two discs, and an intersection that takes the first ball there is."""
    pair = union(LEFT, circle((0.6, 0.3), 0.5, name="small"))
    np.testing.assert_allclose(reference_of(pair, 0.0), (0.0, 0.15), atol=1e-15)
    assert extent_of(pair, 0.0) == pytest.approx(math.hypot(0.6, 0.15) + 1.0)
    cut = intersection(PLANES[0], CUBE, circle((1.0, 0.0, 0.0), 0.2, name="tip"))
    np.testing.assert_allclose(reference_of(cut, 0.0), 0.0, atol=1e-15)
    assert extent_of(cut, 0.0) == pytest.approx(math.sqrt(0.75))
    assert extent_of(union(LEFT, half_space((0, 0), (0, 1))), 0.0) is None
