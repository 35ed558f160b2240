"""Solids as obstacles of a field: boundaries are integral curves, and no motion enters one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField, box, capsule, ellipse, line, moving, polygon
from erugin.symbolic import Kernel

from ...support import geometry as plain
from ...support.fields import step_kernel, travel
from ...support.geometry import Array, Level
from ...support.shapes import SOLID, STAR, Solid, boundary, evaluate, extent_of, reference_of, samples

SCENE_SPEED, SCENE_MARGIN, SCENE_LENGTH, SCENES = 1.0, 0.15, 12.0, 12
SMALL = 0.6 * np.array(STAR)
Along = Callable[[Array, Array], Array]
KINDS = ("box", "ellipse", "star", "capsule")


@functools.cache
def scene_field() -> tuple[EruginField, Kernel]:
    """Four solids whose places, courses and rates of turning are parameters, and a step along the field."""
    still = (
        box((5, 5), (0.9, 0.5), name="box"),
        ellipse((5, 5), (0.7, 0.25), name="ellipse"),
        polygon(SMALL, name="star"),
        capsule((4.6, 5), (5.4, 5), 0.2, name="capsule"),
    )
    solids = [moving(one, velocity=(0, 0), angular_velocity=0, name=f"{one.name}_motion") for one in still]
    field = EruginField(line((0, 0), (SCENE_LENGTH, 0), name="path"), solids, speed=SCENE_SPEED, margin=SCENE_MARGIN)
    return field, step_kernel(field)


def level_of(kind: str) -> Level:
    """The solid about the origin."""
    return {
        "box": plain.cuboid((0, 0), (0.9, 0.5), 0.0),
        "ellipse": plain.gauge((0, 0), (0.7, 0.25), 2, np.eye(2)),
        "star": plain.polygon(SMALL - SMALL_CENTER),
        "capsule": plain.capsule((-0.4, 0), (0.4, 0), 0.2),
    }[kind]


SMALL_CENTER = np.array([polygon(SMALL).parameters.nominal[key] for key in ("polygon.x", "polygon.y")])


def random_scenes(seed: int) -> Iterator[tuple[dict[str, float], Mapping[str, Along]]]:
    """Parameters, and the solids by plain geometry, the start clear of all."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < SCENES:
        numbers: dict[str, float] = {}
        levels: dict[str, Along] = {}
        for kind in KINDS:
            x, y, angle = rng.uniform(1, 11.5), rng.uniform(-1.2, 1.2), rng.uniform(0, 2 * np.pi)
            speed, course, rate = rng.uniform(0, 0.4) * SCENE_SPEED, rng.uniform(0, 2 * np.pi), rng.uniform(-0.6, 0.6)
            drift = speed * np.array([np.cos(course), np.sin(course)])
            c, s = 0.4 * np.cos(angle), 0.4 * np.sin(angle)
            own = {"x": x, "y": y, "angle": angle}
            if kind == "capsule":
                own = {"start_x": x - c, "start_y": y - s, "end_x": x + c, "end_y": y + s}
            numbers |= {f"{kind}.{key}": float(value) for key, value in own.items()}
            motion = {"vx": drift[0], "vy": drift[1], "turn_rate": rate}
            numbers |= {f"{kind}_motion.{key}": float(value) for key, value in motion.items()}
            levels[kind] = tumbling(level_of(kind), np.array([x, y]), drift, angle, rate)
        if all(level(np.zeros((1, 2)), np.zeros(1))[0] > 0.1 for level in levels.values()):
            made += 1
            yield numbers, levels


def tumbling(level: Level, place: Array, drift: Array, angle: float, rate: float) -> Along:
    """The level along a motion: in the solid's own axes at each time."""

    def along(x: Array, t: Array) -> Array:
        c, s = np.cos(angle + rate * t), np.sin(angle + rate * t)
        off = x - place - t[:, None] * drift
        return level(np.column_stack([c * off[:, 0] + s * off[:, 1], c * off[:, 1] - s * off[:, 0]]), 0.0)

    return along


@pytest.mark.slow
def test_a_point_among_tumbling_solids() -> None:
    """Only two solids that close on the point may overrun it, for which they must be within a margin of each other."""
    field, kernel = scene_field()
    arrived, fastest, near = 0, 0.0, 0
    for numbers, levels in random_scenes(1):
        reached = False
        for side in (1, -1):
            p = field.parameters.values({**numbers, "field.side": side})
            t, x, w = travel(field, kernel, np.zeros(2), 1.7 * SCENE_LENGTH / SCENE_SPEED, 0.004, p)
            every = np.column_stack([level(x.T, t) for level in levels.values()])
            hit = (every < 0).any(axis=1)
            assert (np.sort(every[hit], axis=1)[:, 1] < 2 * SCENE_MARGIN).all(), "one solid alone was entered"
            near += bool(every.min() < SCENE_MARGIN + 0.1)
            reached = reached or bool(x[0, -1] > SCENE_LENGTH)
            fastest = max(fastest, float(np.linalg.norm(w, axis=0).max()))
        arrived += reached
    print(f"{arrived} of {SCENES} arrive, fastest {fastest:.3f} m/s, {near} of {2 * SCENES} come near a solid")
    assert arrived == SCENES
    assert fastest < 1.5 * SCENE_SPEED * (1 + 1e-9)
    assert near > SCENES


SPEED, MARGIN, LIMIT = 2.0, 0.15, 4.0


@functools.cache
def field_about(solid: Solid) -> tuple[EruginField, Array]:
    """A field whose path runs straight through the solid, and a place on the path well before it."""
    center, extent = reference_of(solid.curve, 0.0), extent_of(solid.curve, 0.0)
    if solid.label == "room":
        start, ahead = center, np.eye(solid.n)[0]
    elif extent is None:
        ahead = -evaluate(solid.curve, center[None], 0.0)[1][0]
        start = center - 1.5 * ahead
    else:
        ahead = np.eye(solid.n)[0]
        start = center - (extent + 1.0) * ahead
    path = line(tuple(map(float, start)), tuple(map(float, start + 6.0 * ahead)), name="path")
    return EruginField(path, [solid.curve], speed=SPEED, margin=MARGIN, limit=LIMIT), start


@SOLID
def test_the_boundary_of_every_solid_is_an_integral_curve(solid: Solid) -> None:
    """∇f·w + f_t = 0 on it, with f's derivatives by the shape and w by the field, at places found by geometry."""
    field, _ = field_about(solid)
    x, t = ca.SX.sym("x", solid.n), ca.SX.sym("t")
    kernel = Kernel("w", {"x": x, "t": t, "p": field.parameters.symbols}, {"w": field.velocity(x, t)}, compiled=False)
    checked = 0
    fastest = 0.0
    for places, time in boundary(solid, each=10):
        _, gradient, rate, *_ = evaluate(solid.curve, places, time)
        for place, slope, drift in zip(places, gradient, rate, strict=True):
            if abs(drift) < 0.9 * LIMIT:
                (w,) = kernel(place, time, field.parameters.values())
                accuracy = 1e-6 if "tube" in solid.label else 1e-9  # the places are on tubes to 1e-10 m only
                assert abs(slope @ w + drift) < accuracy
                assert np.linalg.norm(w) < LIMIT * (1 + 1e-9)
                fastest = max(fastest, float(np.linalg.norm(w)))
                checked += 1
    assert checked >= 20
    assert fastest > 0.2 * SPEED


@pytest.mark.slow
@SOLID
def test_the_acceleration_along_the_field_is_finite(solid: Solid) -> None:
    """Following a field needs ∂w/∂x and ∂w/∂t, third derivatives of solids: on boundaries and everywhere else."""
    field, start = field_about(solid)
    x, t, p = ca.SX.sym("x", solid.n), ca.SX.sym("t"), field.parameters
    f = ca.Function("J", [x, t, p.symbols], [ca.jacobian(field.velocity(x, t), ca.vertcat(x, t))], {"cse": True})
    places, time = boundary(solid, each=10)[0]
    random, other = samples(solid, 50, 9)
    for x_at, t_at in ((places, time), (random, other), (start[None], 0.0), (1e4 * random, 0.0)):
        count = len(x_at)
        values = np.tile(p.values()[:, None], (1, count))
        assert np.isfinite(f.call([x_at.T, np.full((1, count), t_at), values])[0].full()).all()


def lowest(solid: Solid, first: Array, duration: float, step: float) -> float:
    """The least f on the way from a place; that f > 0 is outside is checked by plain geometry."""
    field, _ = field_about(solid)
    t, x, w = travel(field, stepper(solid), first, duration, step, field.parameters.values())
    assert np.isfinite(x).all()
    assert np.isfinite(w).all()
    each = range(0, len(t), 5)
    f = np.array([evaluate(solid.curve, x[:, [i]].T, float(t[i]))[0][0] for i in each])
    level = np.array([solid.level(x[:, [i]].T, float(t[i]))[0] for i in each])
    np.testing.assert_array_equal(level[np.abs(f) > 1e-6] > 0, f[np.abs(f) > 1e-6] > 0)
    return float(f.min())


@functools.cache
def stepper(solid: Solid) -> Kernel:
    return step_kernel(field_about(solid)[0])


@pytest.mark.slow
@SOLID
def test_nothing_that_follows_the_path_enters(solid: Solid) -> None:
    least = lowest(solid, field_about(solid)[1], 5.0, 0.002)
    assert least > 0
    assert least < MARGIN + 0.1, "the solid must be in the way"


@pytest.mark.slow
@SOLID
def test_nothing_near_the_boundary_enters(solid: Solid) -> None:
    """From 10 mm before it. In a notch the step must be short beside that distance: here it makes 2 mm at most."""
    x, _ = boundary(solid, each=10)[0]
    for _ in range(20):
        f, gradient, *_ = evaluate(solid.curve, x, 0.0)
        x = x - ((f - 0.01) / (gradient**2).sum(axis=1))[:, None] * gradient
    starts = x[np.abs(evaluate(solid.curve, x, 0.0)[0] - 0.01) < 1e-9]
    assert len(starts) >= 5
    for first in starts[:5]:
        assert lowest(solid, first, 0.5, 0.001) > 0
