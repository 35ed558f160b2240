"""A point that moves with Erugin's field through random scenes: collisions, arrivals, length of the way, speed.

Straight path of 12 m, cruise speed 1 m/s, 1, 2, 3 or 5 discs of radius 0.2 to 0.7 m, drifting at up to 0.4 m/s, none
covering the start. Both sides are tried; the table gives the side of ``choose_side``, and how many would arrive on the
better one.

    python benchmarks/bench_field.py [scenes]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import EruginField, choose_side, circle, line
from erugin.symbolic import Kernel
from erugin.symbolic.runge_kutta import rk4_step

Array = NDArray[np.float64]
LENGTH, STEP, SPAN = 12.0, 0.01, 40.0
Scene = dict[str, float]


def build(discs: int) -> EruginField:
    shapes = [circle((0.0, 9.0), 0.5, velocity=(0.0, 0.0), name=f"disc{j}") for j in range(discs)]
    return EruginField(line((0.0, 0.0), (LENGTH, 0.0)), shapes, speed=1.0, attraction=3.0, margin=0.1)


def random_scene(rng: np.random.Generator, discs: int) -> Scene:
    scene: Scene = {}
    for j in range(discs):
        radius = rng.uniform(0.2, 0.7)
        x, y = rng.uniform(1.5, LENGTH - 1.5), rng.uniform(-2.0, 2.0)
        speed, course = rng.uniform(0.0, 0.4), rng.uniform(0.0, 2.0 * np.pi)
        values = {"x": x, "y": y, "radius": radius, "vx": speed * np.cos(course), "vy": speed * np.sin(course)}
        scene |= {f"disc{j}.{key}": float(value) for key, value in values.items()}
    return scene


def mover(field: EruginField) -> Callable[[Scene], Array]:
    """A function from a scene to (arrival time or NaN, least clearance, length of the way, largest speed)."""
    x, t, h, p = ca.SX.sym("x", 2), ca.SX.sym("t"), ca.SX.sym("h"), field.parameters.symbols
    w = ca.Function("w", [t, x, p], [field.velocity(x, t)], {"cse": True})
    after = rk4_step(lambda time, place: w(time, place, p), t, x, h)
    symbols = {"t": t, "x": x, "h": h, "p": p}
    kernel = Kernel("move", symbols, {"t": t + h, "x": after, "f": field.functions(x, t)})
    count, rows = round(SPAN / STEP), kernel.outputs["f"][0]
    steps = np.full((1, count), STEP, order="F")

    def move(scene: Scene) -> Array:
        numbers = np.asfortranarray(np.tile(field.parameters.values(scene)[:, None], (1, count)))
        places, f = np.zeros((2, count), order="F"), np.zeros((rows, count), order="F")
        kernel.loop(
            count, 2, [np.zeros(1), np.zeros(2), steps, numbers], [np.zeros((1, count), order="F"), places, f]
        )()
        arrived = np.flatnonzero(places[0] > LENGTH)
        n = int(arrived[0]) if arrived.size else count
        pace = np.linalg.norm(np.diff(places[:, :n], axis=1), axis=0)
        return np.array([n * STEP if arrived.size else np.nan, f[1:, :n].min(), pace.sum(), pace.max() / STEP])

    return move


def main() -> None:
    scenes = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"{scenes} scenes each; lengths of those that arrive, straight line {LENGTH:g} m")
    print(f"{'discs':>5}{'collisions':>12}{'arrive':>8}{'better side':>13}{'clearance [m]':>15}", end="")
    print(f"{'median [m]':>12}{'99 % [m]':>10}{'speed [m/s]':>13}")
    for discs in (1, 2, 3, 5):
        field, rng = build(discs), np.random.default_rng(discs)
        move = mover(field)
        chosen: list[Array] = []
        collisions, better = 0, 0
        for _ in range(scenes):
            scene = random_scene(rng, discs)
            ways = {side: move(scene | {"field.side": float(side)}) for side in (1, -1)}
            chosen.append(ways[choose_side(field, (0.0, 0.0), 14.0, step=0.02, p=scene)])
            collisions += sum(bool(way[1] <= 0.0) for way in ways.values())
            better += any(np.isfinite(way[0]) for way in ways.values())
        table = np.array(chosen)
        arrived = np.isfinite(table[:, 0])
        middle, long = np.percentile(table[arrived, 2], [50, 99])
        print(f"{discs:5}{collisions:12}{arrived.sum():8}{better:13}{table[:, 1].min():15.4f}", end="")
        print(f"{middle:12.3f}{long:10.3f}{table[:, 3].max():13.3f}")


if __name__ == "__main__":
    main()
