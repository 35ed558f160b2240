"""A point among tumbling boxes, ellipses, stars and capsules: it enters none, by plain geometry, and arrives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from erugin.constraints import EruginField, box, capsule, ellipse, line, moving, polygon
from erugin.symbolic import Kernel

from . import geometry as plain
from .fields import step_kernel, travel
from .geometry import Array, Level
from .shapes import STAR

SPEED, MARGIN, LENGTH, SCENES = 1.0, 0.15, 12.0, 12
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
    field = EruginField(line((0, 0), (LENGTH, 0), name="path"), solids, speed=SPEED, margin=MARGIN)
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
            speed, course, rate = rng.uniform(0, 0.4) * SPEED, rng.uniform(0, 2 * np.pi), rng.uniform(-0.6, 0.6)
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
            t, x, w = travel(field, kernel, np.zeros(2), 1.7 * LENGTH / SPEED, 0.004, p)
            every = np.column_stack([level(x.T, t) for level in levels.values()])
            hit = (every < 0).any(axis=1)
            assert (np.sort(every[hit], axis=1)[:, 1] < 2 * MARGIN).all(), "one solid alone was entered"
            near += bool(every.min() < MARGIN + 0.1)
            reached = reached or bool(x[0, -1] > LENGTH)
            fastest = max(fastest, float(np.linalg.norm(w, axis=0).max()))
        arrived += reached
    print(f"{arrived} of {SCENES} arrive, fastest {fastest:.3f} m/s, {near} of {2 * SCENES} come near a solid")
    assert arrived == SCENES
    assert fastest < 1.5 * SPEED * (1 + 1e-9)
    assert near > SCENES
