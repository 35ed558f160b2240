"""Scenes with Erugin's field, points on its curves, and motion along it.

Properties of the field are computed here by other means: clearances by plain geometry, points on the program curve
by Newton's method.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import EruginField, circle, implicit, line, spline
from erugin.constraints.curves import Curve
from erugin.symbolic import Kernel
from erugin.symbolic.runge_kutta import rk4_step

Array = NDArray[np.float64]

SPEED, KAPPA, MARGIN = 0.5, 2.0, 0.15
LIMIT = 1.5 * SPEED
LENGTH = 12.0

LINE = line((0.0, 0.0), (LENGTH, 0.0), name="path")
WAVE = spline([(0, 0), (3, 0.7), (6, -0.5), (9, 0.4), (LENGTH, 0)], name="path")
RING = circle((3.0, 0.0), 2.0, name="path")
DRIFTING_RING = circle((3.0, 0.0), 2.0, velocity=(0.05, -0.1), name="path")
BOWL = implicit(lambda x, t: x[1] - 0.1 * (x[0] - 3.0 - 0.1 * t) ** 2, 2, length=2.0, name="path")
IN_SPACE = line((0.0, 0.0, 0.0), (LENGTH, 0.0, 0.0), name="path")
LOOP_IN_SPACE = spline([(0, 0, 0), (2, 1, 0.5), (4, 0, 1), (6, -1, 0.5)], name="path")


def discs(count: int, dimension: int = 2) -> list[Curve]:
    """Disjoint drifting discs, or balls, on and beside the way."""
    centers = [(2.0, 0.3, 0.1), (4.0, -0.9, 0.2), (5.0, 1.1, -0.3), (3.2, 1.6, 0.8), (6.3, 0.1, 0.0)]
    drifts = [(0.05, -0.1, 0.0), (-0.1, 0.1, 0.1), (0.0, 0.0, 0.0), (0.15, 0.0, -0.1), (0.0, -0.2, 0.05)]
    return [
        circle(centers[j][:dimension], 0.3 + 0.05 * j, velocity=drifts[j][:dimension], name=f"disc{j}")
        for j in range(count)
    ]


@dataclass(frozen=True, eq=False)
class Scene:
    """A field and its numbers."""

    label: str
    field: EruginField

    @functools.cached_property
    def kernel(self) -> Kernel:
        """All properties of the field at a point and a time."""
        w, (x, t) = self.field, (ca.SX.sym("x", self.field.dimension), ca.SX.sym("t"))
        f, path = w.functions(x, t), w.path.functions(x, t)
        P, S, product = w.structure(x, t)
        outputs = {
            "w": w.velocity(x, t),
            "f": f,
            "f_x": ca.jacobian(f, x),
            "f_t": ca.jacobian(f, t),
            "phi": path,
            "P": P,
            "S": S,
            "product": product,
            "product_x": ca.gradient(product, x),
            "product_t": ca.jacobian(product, t),
            "pressing": w.pressing(x, t),
        }
        return Kernel("scene", {"x": x, "t": t, "p": w.parameters.symbols}, outputs, compiled=False)

    def at(self, x: Array, t: float, values: Mapping[str, float] | None = None) -> dict[str, Array]:
        """Numbers by the names of the kernel's outputs, columns and rows kept."""
        results = self.kernel(x, t, self.field.parameters.values(values))
        pairs = zip(self.kernel.outputs.items(), results, strict=True)
        return {key: value.reshape(shape) if shape[1] > 1 else np.atleast_1d(value) for (key, shape), value in pairs}


Avoidance = Literal["hug", "detour"]
BOTH: tuple[Avoidance, ...] = ("hug", "detour")


def scene(label: str, path: Curve, obstacles: Sequence[Curve], side: int = 1, avoidance: Avoidance = "detour") -> Scene:
    margin = MARGIN if obstacles else None
    return Scene(
        label,
        EruginField(path, obstacles, speed=SPEED, attraction=KAPPA, margin=margin, side=side, avoidance=avoidance),
    )


PLANE = tuple(
    scene(f"{name}-{count}{'+' if side > 0 else '-'}", path, discs(count), side)
    for name, path in (("line", LINE), ("spline", WAVE), ("circle", RING), ("drifting-circle", DRIFTING_RING))
    for count, side in ((0, 1), (1, -1), (3, 1), (5, -1))
)
SPACE = tuple(
    scene(f"{name}-{count}", path, discs(count, 3), side)
    for name, path in (("line-3d", IN_SPACE), ("spline-3d", LOOP_IN_SPACE))
    for count, side in ((0, 1), (1, -1), (3, 1))
)
DETOURS = (*PLANE, scene("implicit-2", BOWL, discs(2)), *SPACE)
HUGS = tuple(
    scene(f"hug-{name}-{count}{'+' if side > 0 else '-'}", path, discs(count, path.dimension), side, "hug")
    for name, path, count, side in (
        ("line", LINE, 1, -1),
        ("spline", WAVE, 3, 1),
        ("spline", WAVE, 5, -1),
        ("circle", RING, 3, 1),
        ("drifting-circle", DRIFTING_RING, 5, -1),
        ("implicit", BOWL, 2, 1),
        ("line-3d", IN_SPACE, 1, -1),
        ("spline-3d", LOOP_IN_SPACE, 3, 1),
    )
)
ALL = (*DETOURS, *HUGS)
SCENES = pytest.mark.parametrize("scene", ALL, ids=lambda s: s.label)
OBSTRUCTED = pytest.mark.parametrize("scene", [s for s in ALL if s.field.obstacles], ids=lambda s: s.label)


def random_places(scene: Scene, count: int, seed: int = 1) -> Iterator[tuple[Array, float]]:
    """Places around the beginning of the path, and times."""
    rng = np.random.default_rng(seed)
    n = scene.field.dimension
    for _ in range(count):
        yield np.append(rng.uniform(0.0, 7.0), rng.uniform(-1.5, 1.5, n - 1)), float(rng.uniform(-1.0, 2.0))


def on_program_curve(scene: Scene, x: Array, t: float) -> Array | None:
    """A point with F = 0 near x by Newton steps of least norm, if they arrive at one."""
    k = scene.field.dimension - 1
    for _ in range(40):
        numbers = scene.at(x, t)
        step = np.linalg.lstsq(numbers["f_x"][:k], numbers["f"][:k], rcond=None)[0]
        x = x - step * min(1.0, 0.3 / max(1e-300, float(np.linalg.norm(step))))
        if np.abs(step).max() < 1e-15:
            break
    return x if np.abs(scene.at(x, t)["f"][:k]).max() < 1e-13 else None


def held(scene: Scene, x: Array, t: float, room: float = 0.0) -> bool:
    """True where F = 0 is to be an integral curve: beyond the margin of all barriers, and slow enough to follow.

    No barrier may press, neither there nor ``room`` away along an axis.
    """
    k, p, numbers = scene.field.dimension - 1, scene.field.parameters.nominal, scene.at(x, t)
    follow = np.linalg.lstsq(numbers["f_x"][:k], numbers["f_t"][:k], rcond=None)[0]
    clear = numbers["f"][k:].min(initial=np.inf) >= p.get("field.margin", 0.0) + room
    around = room * np.vstack([np.zeros(k + 1), np.eye(k + 1), -np.eye(k + 1)])
    free = not any((scene.at(x + d, t)["pressing"] > 0.0).any() for d in (around if scene.field.barriers else ()))
    return bool(clear and free and np.linalg.norm(follow) <= 0.8 * p.get("field.limit", np.inf))


def yields(scene: Scene, t: float) -> bool:
    """True if an obstacle has left the path, to the side on which it is to be passed, so far that it fades out."""
    p, axes = scene.field.parameters.nominal, "xyz"[: scene.field.dimension]
    for obstacle in scene.field.obstacles:
        center = np.array([p[f"{obstacle.name}.{a}"] + t * p[f"{obstacle.name}.v{a}"] for a in axes])
        side = (p["field.side"] or 1.0) * (p[f"field.side_{obstacle.name}"] or 1.0)
        if side * scene.at(center, t)["phi"][0] > 0.5 * (p[f"{obstacle.name}.radius"] + p["field.margin"]):
            return True
    return False


@functools.cache
def program_points(scene: Scene) -> list[tuple[Array, float]]:
    """Points on the program curve, away from its own critical points."""
    found: list[tuple[Array, float]] = []
    wanted = 25
    k = scene.field.dimension - 1
    for x, t in random_places(scene, 6 * wanted, seed=2):
        place = on_program_curve(scene, x, t)
        if place is not None and np.linalg.svd(scene.at(place, t)["f_x"][:k], compute_uv=False).min() > 0.05:
            found.append((place, t))
        if len(found) == wanted:
            break
    assert len(found) >= wanted // 2, "Newton's method found too few points to prove anything"
    return found


def boundary_points(scene: Scene, each: int = 12) -> Iterator[tuple[int, Array, float]]:
    """Number of an obstacle, a point on its boundary and a time, by geometry; only points outside of the others."""
    rng = np.random.default_rng(3)
    numbers = scene.field.parameters.nominal
    axes = "xyz"[: scene.field.dimension]
    for j in range(len(scene.field.obstacles)):
        made = 0
        while made < each:
            t = float(rng.uniform(-1.0, 2.0))
            direction = rng.normal(size=len(axes))
            center = np.array([numbers[f"disc{j}.{a}"] + t * numbers[f"disc{j}.v{a}"] for a in axes])
            x = center + numbers[f"disc{j}.radius"] * direction / np.linalg.norm(direction)
            others = np.delete(scene.at(x, t)["f"][scene.field.dimension - 1 :], j)
            if (others > 1e-3).all():
                made += 1
                yield j, x, t


@functools.cache
def stepper(count: int, path: str = "line", avoidance: Avoidance = "detour") -> tuple[EruginField, Kernel]:
    """A field with ``count`` discs and an RK4 step along it, with the velocity."""
    obstacles = [circle((5.0, 5.0), 0.3, velocity=(0.0, 0.0), name=f"disc{j}") for j in range(count)]
    margin = MARGIN if count else None
    w = EruginField({"line": LINE, "spline": WAVE}[path], obstacles, speed=SPEED, margin=margin, avoidance=avoidance)
    return w, step_kernel(w)


def step_kernel(w: EruginField) -> Kernel:
    """An RK4 step along a field: t and x after it, and the velocity before it."""
    x, t, h = ca.SX.sym("x", w.dimension), ca.SX.sym("t"), ca.SX.sym("h")
    p = w.parameters.symbols
    f = ca.Function("w", [t, x, p], [w.velocity(x, t)], {"cse": True})

    def rate(time: ca.SX, place: ca.SX) -> ca.SX:
        return cast(ca.SX, f(time, place, p))

    outputs = {"t": t + h, "x": rk4_step(rate, t, x, h), "w": rate(t, x)}
    return Kernel("step", {"t": t, "x": x, "h": h, "p": p}, outputs, compiled=False)


def travel(w: EruginField, kernel: Kernel, start: Array, duration: float, step: float, p: Array) -> tuple[Array, ...]:
    """Times (N,), places (n, N) and velocities (n, N) after each step from t = 0."""
    count, n = round(duration / step), w.dimension
    times, places, velocities = (np.zeros((rows, count), order="F") for rows in (1, n, n))
    arguments = [
        np.zeros(1),
        start.copy(),
        np.full((1, count), step, order="F"),
        np.asfortranarray(np.tile(p[:, None], (1, count))),
    ]
    kernel.loop(count, 2, arguments, [times, places, velocities])()
    return times[0], places, velocities


def clearance(p: Mapping[str, float], count: int, t: Array, x: Array) -> Array:
    """Distance from the nearest disc at each time, by geometry."""
    axes = "xyz"[: len(x)]
    gaps = [
        np.sqrt(sum((x[i] - p[f"disc{j}.{a}"] - p[f"disc{j}.v{a}"] * t) ** 2 for i, a in enumerate(axes)))
        - p[f"disc{j}.radius"]
        for j in range(count)
    ]
    return np.asarray(np.min(gaps, axis=0))


def random_discs(count: int, scenes: int, seed: int) -> Iterator[dict[str, float]]:
    """Scenes of discs across 12 m of path, drifting at up to 0.4 of the cruise speed, the start clear of them."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < scenes:
        scene: dict[str, float] = {}
        for j in range(count):
            speed, course = rng.uniform(0.0, 0.4) * SPEED, rng.uniform(0.0, 2 * np.pi)
            values = {
                "x": rng.uniform(0.8, 11.5),
                "y": rng.uniform(-1.2, 1.2),
                "radius": rng.uniform(0.2, 0.7),
                "vx": speed * np.cos(course),
                "vy": speed * np.sin(course),
            }
            scene |= {f"disc{j}.{key}": float(value) for key, value in values.items()}
        if clearance(scene, count, np.zeros(1), np.zeros((2, 1)))[0] > 0.02:
            made += 1
            yield scene
