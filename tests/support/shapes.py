"""Solids of every kind, what they are by plain geometry, and their functions at numbers."""

from __future__ import annotations

import functools
from dataclasses import dataclass

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
    intersection,
    moving,
    polygon,
    spline,
    superellipse,
    time_varying,
    tube,
    union,
)
from erugin.constraints.curves import Curve

from . import geometry as plain
from .geometry import Array, Level

STAR = ((1.2, 0.1), (0.35, 0.3), (0.2, 1.1), (-0.25, 0.35), (-1.0, 0.5), (-0.4, -0.2), (-0.5, -1.0), (0.3, -0.4))
COMB = ((0, 0), (5, 0), (5, 2), (4, 2), (4, 1), (3, 1), (3, 2), (2, 2), (2, 0.5), (1, 0.5), (1, 2), (0, 2))
PENTAGON = ((0.9, 0.0), (0.4, 0.8), (-0.6, 0.6), (-0.8, -0.3), (0.2, -0.7))
WAVE = spline([(0.0, 0.0), (1.0, 0.8), (2.0, 0.4), (3.2, 0.0)], name="wave")
HELIX = spline([(np.cos(0.5 * i), np.sin(0.5 * i), 0.3 * i) for i in range(7)], name="helix")
FIVE = spline([(0, 0, 0, 0, 0), (1.5, 0.3, 0.1, -0.2, 0.1), (3, 0.2, 0.3, 0, 0), (4.5, 0, 0, 0.3, 0.2)], name="five")
TURN5 = np.linalg.qr(np.random.default_rng(5).normal(size=(5, 5)))[0]
TURN5 = TURN5 * np.array([np.linalg.det(TURN5), 1, 1, 1, 1])
TURN3 = plain.rotation((0.4, -0.3, 1.1))


def plane_turn(t: ca.SX, n: int) -> ca.SX:
    """A rotation by sin t in the plane of the first and the last axis."""
    R = ca.SX.eye(n)
    R[0, 0] = R[n - 1, n - 1] = ca.cos(ca.sin(t))
    R[0, n - 1], R[n - 1, 0] = -ca.sin(ca.sin(t)), ca.sin(ca.sin(t))
    return R


def plane_turn_numbers(t: float, n: int) -> Array:
    R = np.eye(n)
    c, s = np.cos(np.sin(t)), np.sin(np.sin(t))
    R[np.ix_([0, n - 1], [0, n - 1])] = [[c, -s], [s, c]]
    return R


@dataclass(frozen=True)
class Solid:
    """A curve, and a number of plain geometry that is negative inside and positive outside."""

    label: str
    curve: Curve
    level: Level
    exact: bool = False
    """Whether the number is the signed distance, and the curve's function outside is meant to be the same."""
    half: float = 3.0
    """Half the width of the cube, about the reference at t = 0, that samples are taken from."""

    @property
    def n(self) -> int:
        return self.curve.dimension


S3 = np.array([1.0, -0.5, 0.3])
C5 = np.array([0.1, -0.2, 0.3, 0.0, 0.5])
DISC_A, DISC_B = circle((0.0, 0.0), 0.8, name="a"), circle((0.9, 0.3), 0.6, velocity=(0.1, -0.1), name="b")
DISC_A_LEVEL = plain.ball((0.0, 0.0), 0.8)
DISC_B_LEVEL = plain.drifting(plain.ball((0.9, 0.3), 0.6), (0.1, -0.1))
BALL, BALL_LEVEL = circle((0.5, 0.2, 0.1), 0.7, name="ball"), plain.ball((0.5, 0.2, 0.1), 0.7)
BRICK = box((0.0, 0.0, 0.0), (1.0, 0.8, 1.4), rounding=0.1, orientation=(0.4, -0.3, 1.1), name="brick")
BRICK_LEVEL = plain.cuboid((0, 0, 0), (1.0, 0.8, 1.4), 0.1, TURN3)
FACES = (
    ((0, 0, -0.5), (0, 0, -1)),
    ((0.5, 0, 0), (1, 0.2, 0.4)),
    ((-0.4, 0.3, 0), (-1, 1, 0.5)),
    ((0, -0.6, 0), (0, -1, 0.6)),
)

SOLIDS: tuple[Solid, ...] = (
    Solid("half-plane", half_space((0.3, -0.2), (1.0, 2.0)), plain.half_space((0.3, -0.2), (1, 2)), True),
    Solid("half-space-5", half_space(tuple(C5), (1, 0, 2, -1, 1)), plain.half_space(C5, (1, 0, 2, -1, 1)), True),
    Solid("disc", circle((0.3, 0.2), 0.7), plain.ball((0.3, 0.2), 0.7), True),
    Solid(
        "growing-disc",
        time_varying(circle((0.3, 0.2), 0.7, velocity=(0.2, -0.1), name="disc"), rates={"radius": 0.15}),
        lambda x, t: plain.ball((0.3 + 0.2 * t, 0.2 - 0.1 * t), 0.7 + 0.15 * t)(x, t),
        True,
    ),
    Solid(
        "ellipse",
        ellipse((0.2, -0.1), (1.3, 0.4), orientation=0.5),
        plain.gauge((0.2, -0.1), (1.3, 0.4), 2, plain.rotation(0.5)),
    ),
    Solid(
        "ellipsoid",
        ellipse(tuple(S3), (0.5, 1.2, 0.8), orientation=(0.4, -0.3, 1.1)),
        plain.gauge(S3, (0.5, 1.2, 0.8), 2, TURN3),
    ),
    Solid(
        "ellipsoid-5",
        ellipse(tuple(C5), (0.8, 1.2, 1.0, 1.5, 0.9), orientation=TURN5),
        plain.gauge(C5, (0.8, 1.2, 1.0, 1.5, 0.9), 2, TURN5),
        half=2.0,
    ),
    Solid("superellipse-4", superellipse((0, 0.1), (1.2, 0.6), 4), plain.gauge((0, 0.1), (1.2, 0.6), 4, np.eye(2))),
    Solid(
        "superellipse-2.5",
        superellipse((0, 0.1), (1.2, 0.6), 2.5, orientation=-2.0),
        plain.gauge((0, 0.1), (1.2, 0.6), 2.5, plain.rotation(-2.0)),
    ),
    Solid(
        "superellipsoid-20",
        superellipse(tuple(S3), (0.6, 1.0, 0.8), 20, orientation=TURN3),
        plain.gauge(S3, (0.6, 1.0, 0.8), 20, TURN3),
    ),
    Solid(
        "sharp-box",
        box((0.5, -0.5), (1.4, 0.8), orientation=0.7),
        plain.cuboid((0.5, -0.5), (1.4, 0.8), 0.0, plain.rotation(0.7)),
        True,
    ),
    Solid("rounded-box", box((0.5, 0), (1.4, 0.8), rounding=0.25), plain.cuboid((0.5, 0), (1.4, 0.8), 0.25), True),
    Solid("brick", BRICK, BRICK_LEVEL, True, half=1.5),
    Solid(
        "box-5",
        box(tuple(C5), (2, 2, 1.5, 2.4, 1.8), orientation=TURN5),
        plain.cuboid(C5, (2, 2, 1.5, 2.4, 1.8), 0.0, TURN5),
        True,
        half=2.0,
    ),
    Solid("capsule", capsule((-0.5, 0.2), (1.0, 0.6), 0.3), plain.capsule((-0.5, 0.2), (1.0, 0.6), 0.3), True),
    Solid(
        "capsule-3", capsule((-0.5, 0.2, 0), (1, 0.6, 1), 0.5), plain.capsule((-0.5, 0.2, 0), (1, 0.6, 1), 0.5), True
    ),
    Solid(
        "capsule-5",
        capsule((0, 0, 0, 0, 0), tuple(2 * C5), 0.9),
        plain.capsule((0, 0, 0, 0, 0), 2 * C5, 0.9),
        True,
        half=1.6,
    ),
    Solid("pentagon", polygon(PENTAGON), plain.polygon(PENTAGON), True),
    Solid("star", polygon(STAR), plain.polygon(STAR)),
    Solid("comb", polygon(COMB[::-1]), plain.polygon(COMB)),
    Solid("tube", tube(WAVE, 0.25), plain.tube(WAVE, 0.25), True),
    Solid("tube-3", tube(HELIX, 0.3), plain.tube(HELIX, 0.3), True, half=1.5),
    Solid("tube-5", tube(FIVE, 1.2), plain.tube(FIVE, 1.2), True, half=2.0),
    Solid("union", union(DISC_A, DISC_B), plain.least(DISC_A_LEVEL, DISC_B_LEVEL)),
    Solid("union-3", union(BRICK, BALL), plain.least(BRICK_LEVEL, BALL_LEVEL), half=1.5),
    Solid("lens", intersection(DISC_A, DISC_B), plain.largest(DISC_A_LEVEL, DISC_B_LEVEL), half=1.5),
    Solid(
        "tetrahedron",
        intersection(*(half_space(a, b, name=f"face{i}") for i, (a, b) in enumerate(FACES))),
        plain.largest(*(plain.half_space(a, b) for a, b in FACES)),
        half=1.5,
    ),
    Solid(
        "crescent", difference(DISC_A, DISC_B), plain.largest(DISC_A_LEVEL, plain.other_side(DISC_B_LEVEL)), half=1.5
    ),
    Solid(
        "room",
        complement(ellipse((0.0, 0.0), (2.0, 1.2), name="wall")),
        plain.other_side(plain.gauge((0, 0), (2.0, 1.2), 2, np.eye(2))),
    ),
    Solid(
        "thrown-star",
        moving(polygon(STAR), velocity=(0.3, -0.2), angular_velocity=0.8, about=(1.0, 0.5)),
        plain.carried(
            plain.polygon(STAR), (1.0, 0.5), lambda t: np.array([0.3, -0.2]) * t, lambda t: plain.rotation(0.8 * t)
        ),
    ),
    Solid(
        "tumbling-brick",
        moving(BRICK, velocity=(0.1, 0.2, -0.1), angular_velocity=(0.5, -0.8, 0.3)),
        plain.carried(
            BRICK_LEVEL,
            (0, 0, 0),
            lambda t: np.array([0.1, 0.2, -0.1]) * t,
            lambda t: plain.turned((0.5 * t, -0.8 * t, 0.3 * t)),
        ),
        True,
        half=1.5,
    ),
    Solid(
        "swinging-5",
        moving(
            ellipse(tuple(C5), (0.8, 1.2, 1.0, 1.5, 0.9)),
            displacement=lambda t: ca.vertcat(ca.sin(t), 0, 0, t**2 / 10, 0),
            rotation=lambda t: plane_turn(t, 5),
        ),
        plain.carried(
            plain.gauge(C5, (0.8, 1.2, 1.0, 1.5, 0.9), 2, np.eye(5)),
            C5,
            lambda t: np.array([np.sin(t), 0, 0, t**2 / 10, 0]),
            lambda t: plane_turn_numbers(t, 5),
        ),
        half=2.0,
    ),
    Solid(
        "breathing-ellipse",
        time_varying(
            ellipse((0.0, 0.0), (1.0, 0.5)),
            rates={"angle": 0.4, "ellipse.x": 0.2},
            laws={"semi_y": lambda a, t: a * (1 + 0.3 * ca.sin(2 * t))},
        ),
        lambda x, t: plain.gauge((0.2 * t, 0), (1.0, 0.5 * (1 + 0.3 * np.sin(2 * t))), 2, plain.rotation(0.4 * t))(
            x, t
        ),
    ),
    Solid(
        "moving-union",
        moving(union(DISC_A, capsule((0, 0), (0, 1.5), 0.2)), velocity=(0, 0.3), angular_velocity=-0.5, about=(0, 0)),
        plain.carried(
            plain.least(DISC_A_LEVEL, plain.capsule((0, 0), (0, 1.5), 0.2)),
            (0, 0),
            lambda t: np.array([0, 0.3]) * t,
            lambda t: plain.rotation(-0.5 * t),
        ),
    ),
)
SOLID = pytest.mark.parametrize("solid", SOLIDS, ids=lambda s: s.label)
EXACT = pytest.mark.parametrize("solid", [s for s in SOLIDS if s.exact], ids=lambda s: s.label)


@functools.lru_cache(maxsize=64)
def _function(curve: Curve) -> ca.Function:
    x, t = ca.SX.sym("x", curve.dimension), ca.SX.sym("t")
    f = curve.functions(x, t)
    hessian, gradient = ca.hessian(f, x)
    both = ca.vertcat(x, t)
    outputs = [f, gradient, ca.jacobian(f, t), ca.vec(hessian), ca.gradient(ca.jacobian(f, t), both)]
    return ca.Function("f", [x, t, curve.parameters.symbols], outputs, {"cse": True})


def evaluate(curve: Curve, x: Array, t: float, p: Array | None = None) -> list[Array]:
    """f (N,), ∇f (N, n), f_t (N,), ∇∇f (N, n²) and ∇f_t with f_tt (N, n + 1) at places of shape (N, n)."""
    values = curve.parameters.values(p)
    numbers = np.tile(values[:, None], (1, len(x)))
    f, gradient, rate, hessian, rates = (
        o.full() for o in _function(curve).call([x.T, np.full((1, len(x)), t), numbers])
    )
    return [f[0], gradient.T, rate[0], hessian.T, rates.T]


def reference_of(curve: Curve, t: float) -> Array:
    """The reference, shape (n,), at numbers."""
    s = ca.SX.sym("t")
    value = curve.reference(s)
    assert value is not None
    return ca.Function("f", [s, curve.parameters.symbols], [value]).call([t, curve.parameters.values()])[0].full()[:, 0]


def extent_of(curve: Curve, t: float) -> float | None:
    """The extent at numbers, if there is one."""
    s = ca.SX.sym("t")
    value = curve.extent(s)
    if value is None:
        return None
    return float(ca.Function("f", [s, curve.parameters.symbols], [value]).call([t, curve.parameters.values()])[0])


def samples(solid: Solid, count: int, seed: int) -> tuple[Array, float]:
    """Places in the cube about the solid and a time."""
    rng = np.random.default_rng(seed)
    return reference_of(solid.curve, 0.0) + rng.uniform(-solid.half, solid.half, (count, solid.n)), float(
        rng.uniform(-1.5, 1.5)
    )


@functools.cache
def boundary(solid: Solid, each: int = 40, seeds: tuple[int, ...] = (0, 1, 2, 3)) -> list[tuple[Array, float]]:
    """Places on the boundary at some times, by bisection between places inside and outside."""
    found: list[tuple[Array, float]] = []
    for seed in seeds:
        x, t = samples(solid, 4000, 100 + seed)
        level = solid.level(x, t)
        inner, outer = x[level < 0][:each], x[level > 0][:each]
        assert min(len(inner), len(outer)) >= each // 2, f"{solid.label}: {len(inner)} places inside"
        count = min(len(inner), len(outer))
        inner, outer = inner[:count], outer[:count]
        for _ in range(70):
            middle = (inner + outer) / 2
            within = (solid.level(middle, t) < 0)[:, None]
            inner, outer = np.where(within, middle, inner), np.where(within, outer, middle)
        found.append(((inner + outer) / 2, t))
    return found
