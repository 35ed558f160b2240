"""Random scenes as in the benchmark, in the plane and in space: no collision, every end reached, bounded speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import EruginField, choose_sides, circle, line

from .fields import clearance, step_kernel, travel

Array = NDArray[np.float64]
LENGTH, FASTEST, MARGIN = 12.0, 1.5, 0.1


def scenes(n: int, count: int, number: int, seed: int) -> Iterator[Mapping[str, float]]:
    """Discs or balls of 0.2 to 0.7 m on 12 m of path, drifting at up to 0.4 of the cruise speed of 1 m/s."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        scene: dict[str, float] = {}
        for j in range(count):
            drift = rng.normal(size=n)
            drift *= rng.uniform(0.0, 0.4) / np.linalg.norm(drift)
            center = [rng.uniform(1.5, LENGTH - 1.5), *rng.uniform(-2.0 / (n - 1), 2.0 / (n - 1), n - 1)]
            for i, axis in enumerate("xyz"[:n]):
                scene |= {f"disc{j}.{axis}": float(center[i]), f"disc{j}.v{axis}": float(drift[i])}
            scene[f"disc{j}.radius"] = float(rng.uniform(0.2, 0.7))
        yield scene


@pytest.mark.slow
@pytest.mark.parametrize(("n", "count"), [(2, 1), (2, 3), (2, 5), (3, 2), (3, 5)])
def test_every_scene_is_passed(n: int, count: int) -> None:
    """Also the bare path hits something in many of them, and the way is little longer than it."""
    zero, number = (0.0,) * n, 40
    shapes = [circle((0.0, 9.0, 0.0)[:n], 0.5, velocity=zero, name=f"disc{j}") for j in range(count)]
    w = EruginField(line(zero, (LENGTH, *zero[1:])), shapes, speed=1.0, attraction=3.0, margin=MARGIN)
    kernel, start = step_kernel(w), np.zeros(n)
    ways: list[float] = []
    least, fastest, hits = np.inf, 0.0, 0
    for numbers in scenes(n, count, number, seed=1000 * n + count):
        sides = choose_sides(w, start, 14.0, step=0.02, p=numbers)
        t, x, v = travel(w, kernel, start, 25.0, 0.01, w.parameters.values({**numbers, **sides}))
        end = int(np.argmax(x[0] > LENGTH))
        assert x[0, end] > LENGTH, "the end is reached"
        least = min(least, float(clearance(numbers, count, t[:end], x[:, :end]).min()))
        fastest = max(fastest, float(np.linalg.norm(v[:, :end], axis=0).max()))
        ways.append(float(np.linalg.norm(np.diff(x[:, :end], axis=1), axis=0).sum()))
        bare = np.vstack([t, np.zeros((n - 1, t.size))])
        hits += bool(clearance(numbers, count, t[:1200], bare[:, :1200]).min() < 0.0)
    print(
        f"{n}-D, {count}: least clearance {least:.4f}, fastest {fastest:.3f}, longest {max(ways):.2f}, {hits} hit bare"
    )
    assert least > 0.0
    assert fastest <= FASTEST * (1 + 1e-12)
    assert max(ways) < 1.25 * LENGTH
    assert hits > 0.2 * number
