"""A polygon as a tree of intersections and unions in which the half-plane of every edge stands once."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

THIN = 1e-9


@dataclass(frozen=True)
class Node:
    """The half-planes of some edges and smaller nodes, intersected or united; the children of one are the other.

    Attributes:
        edges: numbers of edges, from vertex i to the next; of several on one line only the first.
        nodes: the smaller nodes.
        corners: numbers of the vertices on the convex hull of its edges, in order; no last one on the whole outline.
        union: whether they are united.
    """

    edges: tuple[int, ...]
    nodes: tuple[Node, ...]
    corners: tuple[int, ...]
    union: bool


def half_plane_tree(outline: Array) -> Node:
    """The tree of a polygon, by convex hulls [Rvachev1982]_.

    The polygon is the intersection of the half-planes of those edges that lie on its convex hull, and of one region for
    each chain of edges between two neighbouring corners of the hull. That region is again the union of the half-planes
    of the edges on the hull of the chain, and of regions for the chains between those, and so on. The chords that
    close the chains occur nowhere, so that the zero set is the outline and nothing else.

    Args:
        outline: vertices counter-clockwise, without crossings, shape (k, 2) [m].
    """
    count = len(outline)
    first = int(np.lexsort((outline[:, 1], outline[:, 0]))[0])
    ring = [(first + i) % count for i in range(count)]
    return _node(outline, [*ring, first], union=False)


def _node(outline: Array, chain: list[int], *, union: bool) -> Node:
    corners = _on_hull(outline, chain)
    edges: list[int] = []
    nodes: list[Node] = []
    for start, end in itertools.pairwise(corners):
        if end == start + 1:
            if not any(_same_line(outline, chain[start], other) for other in edges):
                edges.append(chain[start])
        else:
            nodes.append(_node(outline, chain[start : end + 1], union=not union))
    around = [chain[i] for i in (corners[:-1] if chain[0] == chain[-1] else corners)]
    return Node(tuple(edges), tuple(nodes), tuple(around), union)


def _on_hull(outline: Array, chain: list[int]) -> list[int]:
    """Places in the chain, ascending from the first to the last, of the vertices on its convex hull.

    Those on a side of the hull count as well, except on the chord from the last to the first.
    """
    points = outline[chain]
    size = float(np.ptp(outline, axis=0).max())
    closed = chain[0] == chain[-1]
    last = len(chain) - 1
    # Monotone chains; equal points (the repeated first vertex) are one.
    order = sorted(range(last if closed else last + 1), key=lambda i: (points[i][0], points[i][1]))
    sides: list[tuple[int, int]] = []
    for run in (order, order[::-1]):
        hull: list[int] = []
        for i in run:
            while len(hull) > 1 and _turn(points[hull[-2]], points[hull[-1]], points[i]) <= 0.0:
                hull.pop()
            hull.append(i)
        sides += itertools.pairwise(hull)
    found = {i for side in sides for i in side}
    for a, b in sides:
        if closed or {a, b} != {0, last}:
            length = float(np.linalg.norm(points[b] - points[a]))
            found |= {i for i in order if abs(_turn(points[a], points[b], points[i])) <= THIN * size * length}
    return sorted(found | {0, last})


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _same_line(outline: Array, one: int, two: int) -> bool:
    a, b, c, d = (outline[i % len(outline)] for i in (one, one + 1, two, two + 1))
    size = float(np.ptp(outline, axis=0).max())
    length = float(np.linalg.norm(b - a))
    near = max(abs(_turn(a, b, c)), abs(_turn(a, b, d))) <= THIN * size * length
    return near and float((b - a) @ (d - c)) > 0
