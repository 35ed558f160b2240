"""Polygons of any form: their sign is that of even–odd counting, and every half-plane stands in the tree once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from erugin.constraints import polygon
from erugin.constraints.shapes.polygon import HalfPlaneNode
from erugin.symbolic import ModelError

from ...support import geometry as plain
from ...support.geometry import Array
from ...support.shapes import COMB, PENTAGON, STAR, evaluate

# Simpler examples are not looked for: each costs a compilation.
PLAIN = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.explicit, Phase.reuse, Phase.generate]
)


def untangled(points: Array) -> Array:
    """The points in an order without crossings: crossing edges are swapped while there are any."""
    points, count = points.copy(), len(points)

    def side(a: Array, b: Array, c: Array) -> float:
        return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    changed = True
    while changed:
        changed = False
        for i, j in itertools.combinations(range(count), 2):
            a, b, c, d = points[i], points[i + 1], points[j], points[(j + 1) % count]
            if side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0:
                points[i + 1 : j + 1] = points[i + 1 : j + 1][::-1].copy()
                changed = True
    return points


def spiral(turns: float, count: int) -> Array:
    """A band that winds round itself, with pockets in pockets."""
    angles = np.linspace(0.0, 2 * np.pi * turns, count)
    ways = np.column_stack([np.cos(angles), np.sin(angles)])
    inner, outer = ways * (0.3 + angles / 6)[:, None], ways * (0.6 + angles / 6)[:, None]
    return np.vstack([outer, inner[::-1]])


def keyhole() -> Array:
    """A ring that is almost closed: the mouth of its pocket is much narrower than the pocket."""
    angles = np.linspace(0.1, 2 * np.pi - 0.1, 24)
    ways = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([ways, 0.7 * ways[::-1]])


def cells(seed: int, count: int) -> Array:
    """The outline of random squares of a grid that hang together without a hole: many edges lie on one line."""
    rng = np.random.default_rng(seed)
    around = ((1, 0), (0, 1), (-1, 0), (0, -1))
    while True:
        taken = {(0, 0)}
        while len(taken) < count:
            x, y = sorted(taken)[rng.integers(len(taken))]
            dx, dy = around[rng.integers(4)]
            taken.add((x + dx, y + dy))
        edges: dict[tuple[int, int], tuple[int, int]] = {}
        total = 0
        for x, y in taken:
            corners = ((x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1))
            beyond = ((x, y - 1), (x + 1, y), (x, y + 1), (x - 1, y))
            for other, a, b in zip(beyond, corners, corners[1:] + corners[:1], strict=True):
                if other not in taken:
                    edges[a] = b
                    total += 1
        if len(edges) < total:
            continue  # two cells meet at a corner only
        loop = [min(edges)]
        while (after := edges[loop[-1]]) != loop[0]:
            loop.append(after)
        if len(loop) == total:  # no hole
            ring = np.array(loop, dtype=np.float64)
            steps = np.roll(ring, -1, axis=0) - ring
            return np.asarray(ring[(steps != np.roll(steps, 1, axis=0)).any(axis=1)])


def check(points: Array, seed: int) -> None:
    """Signs near and far, zero and slope on the edges, finite at the vertices, and never below the stated bounds."""
    shape, level = polygon(points), plain.polygon(points)
    rng = np.random.default_rng(seed)
    size = float(np.ptp(points, axis=0).max())
    middle = points.mean(axis=0)
    x = middle + np.vstack([rng.uniform(-1, 1, (400, 2)), rng.uniform(-8, 8, (200, 2))]) * size
    distance, (f, gradient, *_) = level(x, 0.0), evaluate(shape, x, 0.0)[:2]
    clear = np.abs(distance) > 1e-9 * size
    np.testing.assert_array_equal(f[clear] > 0, distance[clear] > 0)
    assert np.isfinite(gradient).all()
    outside = clear & (distance > 0)
    assert (f[outside] < 1.6 * distance[outside]).all()
    ends = np.roll(points, -1, axis=0)
    share = rng.uniform(0.02, 0.98, (len(points), 5, 1))
    on = (points[:, None] + share * (ends - points)[:, None]).reshape(-1, 2)
    f, gradient, *_ = evaluate(shape, on, 0.0)
    assert np.abs(f).max() < 1e-12 * size
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, atol=1e-6)
    for values in evaluate(shape, points, 0.0)[:2]:
        assert np.isfinite(values).all()
        assert np.abs(values).max() < 5


@settings(PLAIN, max_examples=15)
@given(st.integers(4, 14), st.integers(0, 10**6))
def test_random_polygons(count: int, seed: int) -> None:
    check(untangled(np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 2))), seed)


@settings(PLAIN, max_examples=10)
@given(st.integers(0, 10**6), st.integers(3, 16), st.floats(0.0, 6.0))
def test_polygons_with_many_edges_on_one_line(seed: int, count: int, angle: float) -> None:
    check(cells(seed, count) @ plain.rotation(angle).T, seed)


@pytest.mark.parametrize("points", [spiral(1.6, 24), keyhole(), np.array(COMB), np.array(STAR)[::-1]])
def test_pockets_in_pockets_and_narrow_mouths(points: Array) -> None:
    check(points, 3)


@pytest.mark.parametrize("size", [1e-7, 1e-4, 1e-2])
def test_a_convex_polygon_has_its_distance_beside_its_corners(size: float) -> None:
    """All round every corner; outside with the unit vector from the nearest place of the outline as gradient."""
    angles = np.linspace(0.0, 2 * np.pi, 41)
    ring = size * np.column_stack([np.cos(angles), np.sin(angles)])
    for corner in np.array(PENTAGON):
        distance = plain.polygon(PENTAGON)(corner + ring, 0.0)
        f, gradient, *_ = evaluate(polygon(PENTAGON), corner + ring, 0.0)
        np.testing.assert_allclose(f, distance, atol=1e-15 + 1e-7 * size)
        nearest = distance > (1 - 1e-6) * size
        assert 5 < nearest.sum() < 30
        np.testing.assert_allclose(gradient[nearest], ring[nearest] / size, atol=1e-6)


def test_every_half_plane_stands_in_the_tree_once() -> None:
    def edges(node: HalfPlaneNode, union: bool) -> list[int]:
        assert node.union is union
        return [*node.edges, *(i for one in node.nodes for i in edges(one, not union))]

    for points in (spiral(1.6, 24), keyhole(), np.array(STAR)):
        assert sorted(edges(polygon(points).tree, False)) == list(range(len(points)))
    assert polygon(PENTAGON).tree.nodes == ()
    # The three tips of the comb lie on one line, which stands once; so do the bottoms of its gaps in their nodes.
    assert len(edges(polygon(COMB).tree, False)) == len(COMB) - 2


def test_parameters_of_a_polygon() -> None:
    shape = polygon(STAR, name="star")
    assert shape.parameters.names == ("star.x", "star.y", "star.angle", "star.scale")
    center = np.array([shape.parameters.nominal["star.x"], shape.parameters.nominal["star.y"]])
    x = np.random.default_rng(1).uniform(-1.5, 1.5, (200_000, 2))
    inside = x[plain.polygon(STAR)(x, 0.0) < 0]
    np.testing.assert_allclose(center, inside.mean(axis=0), atol=0.01)
    values = {"star.x": 2.0, "star.y": -1.0, "star.angle": 0.7, "star.scale": 1.5}
    level = plain.polygon((np.array(STAR) - center) @ plain.rotation(0.7).T * 1.5 + [2.0, -1.0])
    x = np.array([2.0, -1.0]) + np.random.default_rng(2).uniform(-3.0, 3.0, (2000, 2))
    f = evaluate(shape, x, 0.0, shape.parameters.values(values))[0]
    np.testing.assert_array_equal(f > 0, level(x, 0.0) > 0)
    before = center + (x - [2.0, -1.0]) @ plain.rotation(0.7) / 1.5
    np.testing.assert_allclose(f, 1.5 * evaluate(shape, before, 0.0)[0], atol=1e-13)


def test_both_senses_and_a_repeated_first_vertex_give_the_same() -> None:
    x = np.random.default_rng(3).uniform(-2.0, 2.0, (300, 2))
    f = evaluate(polygon(STAR), x, 0.0)[0]
    for points in (STAR[::-1], (*STAR, STAR[0]), STAR[3:] + STAR[:3]):
        np.testing.assert_allclose(evaluate(polygon(points), x, 0.0)[0], f, atol=1e-13)


BAD: tuple[tuple[str, object, str], ...] = (
    ("two points", [(0, 0), (1, 0)], r"'p' must have at least 3 different vertices, got 2"),
    ("one point", [(0, 0)], r"'p' must have at least 3 different vertices, got 1"),
    ("none", np.zeros((0, 2)), r"'p' must have at least 3 different vertices, got 0"),
    ("there and back", [(0, 0), (1, 0), (0, 0)], r"'p' must have at least 3 different vertices, got 2"),
    ("on a line", [(0, 0), (1, 0), (2, 0)], r"'p' turns back on itself at vertex"),
    ("on a line, back", [(0, 0), (2, 0), (1, 0)], r"'p' turns back on itself at vertex"),
    ("spike", [(0, 0), (2, 0), (2, 2), (2, 1), (0, 1)], r"'p' turns back on itself at vertex 2, \[2\. 2\.\]"),
    ("bow", [(0, 0), (1, 1), (1, 0), (0, 1)], r"'p' crosses or touches itself: the edge from vertex 0 to 1.*2 to 3"),
    ("star of five", [(np.cos(0.8 * np.pi * i), np.sin(0.8 * np.pi * i)) for i in range(5)], r"'p' crosses or touches"),
    ("touching", [(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)], r"'p' crosses or touches itself"),
    ("repeated", [(0, 0), (1, 0), (1, 0), (0, 1)], r"'p': vertices 1 and 2 coincide at \[1\. 0\.\]"),
    ("straight", [(0, 0), (1, 0), (2, 0), (1, 1)], r"'p': vertex 1, \[1\. 0\.\], is on the line.*leave it out"),
    ("nan", [(0, 0), (1, np.nan), (0, 1)], r"'p': every vertex must be finite, got \[ 1\. nan\]"),
    ("in space", [(0, 0, 0), (1, 0, 0), (0, 1, 0)], r"'p': vertices must have shape \(k, 2\), got \(3, 3\)"),
    ("words", [("a", 0), (1, 0), (0, 1)], r"'p': vertices must be rows of two numbers"),
    ("ragged", [(0,), (1, 0), (0, 1)], r"'p': vertices must be rows of two numbers"),
    ("flat", [(0, 0), (1, 1e-11), (2, 0), (1, -1e-11)], r"'p'"),
)


@pytest.mark.parametrize(("points", "message"), [pytest.param(p, m, id=label) for label, p, m in BAD])
def test_what_encloses_no_area_once_is_refused(points: object, message: str) -> None:
    make = cast(Callable[..., object], polygon)
    with pytest.raises(ModelError, match=message):
        make(points, name="p")
