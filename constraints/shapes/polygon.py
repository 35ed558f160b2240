"""A polygon, convex or not, with its outline as exact zero set.

The outline is checked to be a closed line without crossings that encloses an area, and made into a tree of
intersections and unions in which the half-plane of every edge occurs once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import reals
from ..curves.curve import Curve
from .pose import center_of, to_local
from .r_functions import RNorm, column_maximum

Array = NDArray[np.float64]

THIN = 1e-9


@dataclass(frozen=True)
class HalfPlaneNode:
    """Intersection or union of the half-planes of some edges and of smaller nodes; its children are the opposite kind.

    Attributes:
        edges: indices of edges, from vertex i to the next; of several on one line only the first.
        nodes: the smaller nodes.
        corners: indices of the vertices on the convex hull of its edges, in order; without the last one for the whole
            outline.
        union: True for a union, False for an intersection.
    """

    edges: tuple[int, ...]
    nodes: tuple[HalfPlaneNode, ...]
    corners: tuple[int, ...]
    union: bool


def half_plane_tree(outline: Array) -> HalfPlaneNode:
    """Build the tree of a polygon, by convex hulls [Rvachev1982]_.

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


def _node(outline: Array, chain: list[int], *, union: bool) -> HalfPlaneNode:
    corners = _on_hull(outline, chain)
    edges: list[int] = []
    nodes: list[HalfPlaneNode] = []
    for start, end in itertools.pairwise(corners):
        if end == start + 1:
            if not any(_same_line(outline, chain[start], other) for other in edges):
                edges.append(chain[start])
        else:
            nodes.append(_node(outline, chain[start : end + 1], union=not union))
    around = [chain[i] for i in (corners[:-1] if chain[0] == chain[-1] else corners)]
    return HalfPlaneNode(tuple(edges), tuple(nodes), tuple(around), union)


def _on_hull(outline: Array, chain: list[int]) -> list[int]:
    """Indices in the chain, ascending from the first to the last, of the vertices on its convex hull.

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


def read_outline(name: str, points: Sequence[Sequence[float]] | Array) -> Array:
    """Return the vertices counter-clockwise, shape (k, 2) [m], each a true corner.

    A last vertex that repeats the first is left out, because the outline closes by itself.

    Args:
        name: name of the polygon, for messages.
        points: vertices in either sense of rotation, shape (k, 2) [m].

    Raises:
        ModelError: if there are fewer than three vertices, repeated or superfluous ones, edges that touch or cross, or
            no area.
    """
    try:
        array = reals("points", points)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name!r}: vertices must be rows of two numbers, got {points!r}") from error
    if array.ndim != 2 or array.shape[1] != 2:
        raise ModelError(f"{name!r}: vertices must have shape (k, 2), got {array.shape}: a polygon lies in the plane")
    if not np.isfinite(array).all():
        raise ModelError(f"{name!r}: every vertex must be finite, got {array[~np.isfinite(array).all(axis=1)][0]}")
    if len(array) > 1 and (array[0] == array[-1]).all():
        array = array[:-1]
    if len(array) < 3:
        raise ModelError(f"{name!r} must have at least 3 different vertices, got {len(array)}")
    _require_simple(name, array)
    area = signed_area(array)
    size = float(np.ptp(array, axis=0).max())
    if abs(area) <= THIN * size**2:
        raise ModelError(f"{name!r} encloses no area: {abs(area):.3g} m² with an extent of {size:.3g} m")
    outline = array if area > 0 else array[::-1]
    for i, (before, corner, after) in enumerate(zip(np.roll(array, 1, 0), array, np.roll(array, -1, 0), strict=True)):
        if abs(_sine(corner - before, after - corner)) <= THIN:
            raise ModelError(f"{name!r}: vertex {i}, {corner}, is on the line between its neighbours; leave it out")
    return outline


def signed_area(outline: Array) -> float:
    """Area [m²] of an ``outline`` of shape (k, 2), positive if it runs counter-clockwise."""
    x, y = (outline - outline[0]).T
    return float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2


def centroid(outline: Array) -> Array:
    """Centre of the area, shape (2,) [m], of an ``outline`` of shape (k, 2)."""
    shifted = outline - outline[0]
    after = np.roll(shifted, -1, 0)
    weights = shifted[:, 0] * after[:, 1] - shifted[:, 1] * after[:, 0]
    center: Array = outline[0] + ((shifted + after) * weights[:, None]).sum(axis=0) / (3 * weights.sum())
    return center


def _require_simple(name: str, array: Array) -> None:
    count = len(array)
    size = float(np.ptp(array, axis=0).max())
    ends = np.roll(array, -1, 0)
    for i in range(count):
        if np.linalg.norm(ends[i] - array[i]) <= THIN * size:
            raise ModelError(f"{name!r}: vertices {i} and {(i + 1) % count} coincide at {array[i]}")
    for i, j in itertools.combinations(range(count), 2):
        if j == i + 1 or (i == 0 and j == count - 1):
            corner = (array[i], array[j], ends[j]) if j == i + 1 else (array[j], array[i], ends[i])
            back, on = corner[0] - corner[1], corner[2] - corner[1]
            if abs(_sine(back, on)) <= THIN and float(back @ on) > 0:
                raise ModelError(f"{name!r} turns back on itself at vertex {j if j == i + 1 else i}, {corner[1]}")
        elif _gap(array[i], ends[i], array[j], ends[j]) <= THIN * size:
            raise ModelError(
                f"{name!r} crosses or touches itself: the edge from vertex {i} to {(i + 1) % count} and the one from "
                f"{j} to {(j + 1) % count}"
            )


def _sine(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0]) / float(np.linalg.norm(a) * np.linalg.norm(b))


def _gap(a: Array, b: Array, c: Array, d: Array) -> float:
    """Distance between the segments ab and cd, zero if they cross."""

    def side(p: Array, q: Array, r: Array) -> float:
        return float((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    if side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0:
        return 0.0
    return min(_distance(a, c, d), _distance(b, c, d), _distance(c, a, b), _distance(d, a, b))


def _distance(x: Array, a: Array, b: Array) -> float:
    share = float(np.clip((x - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0))
    return float(np.linalg.norm(x - a - share * (b - a)))


JOINT = RNorm(4)


@dataclass(frozen=True, eq=False)
class Polygon(Curve):
    """f(x) = s F(Rᵀ(x − c)/s), F for the outline about its centroid; use :func:`polygon` to make one.

    Attributes:
        outline: vertices counter-clockwise from the centroid, shape (k, 2) [m].
        hull: vertices of its convex hull, shape (h, 2) [m].
        tree: combination of the half-planes of its edges.
    """

    name: str
    dimension: int
    outline: Array = field(repr=False)
    hull: Array = field(repr=False)
    tree: HalfPlaneNode = field(repr=False)
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Function of the polygon, shape (1,), positive outside, of a position x at any time t.

        A convex polygon has its signed distance, whose gradient outside has length 1 and is Lipschitz continuous except
        at the corners themselves. For any other |∇f| = 1 on the outline, and outside the gradient is Lipschitz
        continuous, again except at the corners. Inside, it may jump.
        """
        scale = self._scale()
        y = to_local(self.parameters, x) / scale
        # Negative arguments do not contribute to a positive disjunction, so that the hull may replace its edges.
        pockets = [self._region(node, y) for node in self.tree.nodes]
        return scale * JOINT.any_of([_convex_distance(self.hull, y), *pockets])

    @property
    def smoothness(self) -> float:
        """0: it has corners."""
        return 0.0

    def reference(self, t: ca.SX) -> ca.SX:
        """The centroid, shape (2,) [m]."""
        return center_of(self.parameters, 2)

    def extent(self, t: ca.SX) -> ca.SX:
        """Distance of the farthest vertex from the centroid [m]."""
        return self._scale() * float(np.linalg.norm(self.outline, axis=1).max())

    def _region(self, node: HalfPlaneNode, y: ca.SX) -> ca.SX:
        parts = [_outside_of_edge(self.outline, i, y)[0] for i in node.edges]
        parts += [self._region(one, y) for one in node.nodes]
        return JOINT.all_of(parts) if node.union else JOINT.any_of(parts)

    def _scale(self) -> ca.SX:
        return self.parameters.symbols[3]


def polygon(points: Sequence[Sequence[float]] | Array, *, name: str = "polygon") -> Polygon:
    """The polygon with given vertices in the plane.

    Its parameters are its centroid ``name.x``, ``name.y``, the rotation ``name.angle`` [rad] about it, zero as given,
    and the factor ``name.scale``, one as given. For a polygon that is not convex f is built from the half-planes of its
    edges by R-functions [Rvachev1982]_; far away it may exceed the distance, by the fourth root of one more than the
    number of its pockets that face the position.

    Args:
        points: vertices in order, in either sense of rotation, shape (k, 2) [m]; the outline is closed automatically.
        name: prefix of its parameters.

    Raises:
        ModelError: if there are fewer than three different vertices, repeated or superfluous ones, edges that touch or
            cross, or no area.
    """
    outline = read_outline(name, points)
    center = centroid(outline)
    outline = outline - center
    tree = half_plane_tree(outline)
    values = {"x": float(center[0]), "y": float(center[1]), "angle": 0.0, "scale": 1.0}
    parameters = Parameters.declare(values, name, ranges={"scale": Range.POSITIVE})
    return Polygon(name, 2, outline, outline[list(tree.corners)], tree, parameters)


def _convex_distance(outline: Array, y: ca.SX) -> ca.SX:
    """Signed distance to a convex polygon, counter-clockwise."""
    edges = [_outside_of_edge(outline, i, y) for i in range(len(outline))]
    deepest = column_maximum(ca.vertcat(*(height for height, _ in edges)))
    square = -column_maximum(ca.vertcat(*(-(height**2) - beyond**2 for height, beyond in edges)))
    distance = ca.sqrt(ca.if_else(square > 0, square, 1))
    return ca.if_else(ca.logic_and(deepest > 0, square > 0), distance, deepest)


def _outside_of_edge(outline: Array, i: int, y: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Distance of y to the right of edge i, and its distance beyond the ends along the edge."""
    start, end = outline[i], outline[(i + 1) % len(outline)]
    length = float(np.linalg.norm(end - start))
    along = (end - start) / length
    x, z = y[0] - float(start[0]), y[1] - float(start[1])
    height = float(along[1]) * x - float(along[0]) * z
    share = float(along[0]) * x + float(along[1]) * z
    return height, ca.if_else(share < 0, -share, ca.if_else(share > length, share - length, 0))
