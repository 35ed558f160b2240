"""A polygon, convex or not, with its outline as exact zero set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.parameters import Parameters, Range
from ..curves.curve import Curve
from .greatest import greatest
from .half_plane_tree import Node, half_plane_tree
from .outline import centroid, read_outline
from .pose import center_of, to_local
from .r_functions import RNorm

Array = NDArray[np.float64]

JOINT = RNorm(4)


@dataclass(frozen=True, eq=False)
class Polygon(Curve):
    """f(x) = s F(Rᵀ(x − c)/s), F for the outline about its centroid; use :func:`polygon` to make one.

    Attributes:
        outline: vertices counter-clockwise from the centroid, shape (k, 2) [m].
        hull: those of its convex hull, shape (h, 2) [m].
        tree: how the half-planes of its edges are combined.
    """

    name: str
    dimension: int
    outline: Array = field(repr=False)
    hull: Array = field(repr=False)
    tree: Node = field(repr=False)
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Positive outside, shape (1,), of a place x at any time t.

        A convex polygon has its signed distance, whose gradient outside has length 1 and is Lipschitz continuous except
        at the corners themselves. For any other |∇f| = 1 on the outline, and outside the gradient is Lipschitz
        continuous, again except at the corners. Inside, it may jump.
        """
        scale = self._scale()
        y = to_local(self.parameters, x) / scale
        # Of a disjunction that is positive, negative parts are no part: so the hull may take the place of its edges.
        pockets = [self._region(node, y) for node in self.tree.nodes]
        return scale * JOINT.any_of([_convex_distance(self.hull, y), *pockets])

    @property
    def smoothness(self) -> float:
        """Zero: it has corners."""
        return 0.0

    def reference(self, t: ca.SX) -> ca.SX:
        """The centroid, shape (2,) [m]."""
        return center_of(self.parameters, 2)

    def extent(self, t: ca.SX) -> ca.SX:
        """Distance of the farthest vertex from the centroid [m]."""
        return self._scale() * float(np.linalg.norm(self.outline, axis=1).max())

    def _region(self, node: Node, y: ca.SX) -> ca.SX:
        parts = [_outside_of_edge(self.outline, i, y)[0] for i in node.edges]
        parts += [self._region(one, y) for one in node.nodes]
        return JOINT.all_of(parts) if node.union else JOINT.any_of(parts)

    def _scale(self) -> ca.SX:
        return self.parameters.symbols[3]


def polygon(points: Sequence[Sequence[float]] | Array, *, name: str = "polygon") -> Polygon:
    """The polygon with given vertices in the plane.

    Its parameters are its centroid ``name.x``, ``name.y``, the ``name.angle`` [rad] by which it is turned about it,
    zero as given, and the factor ``name.scale``, one as given. For a polygon that is not convex f is made of the
    half-planes of its edges by R-functions [Rvachev1982]_; far away it may exceed the distance, by the fourth root of
    one more than the number of its pockets that face the place.

    Args:
        points: vertices in order, in either sense of rotation, shape (k, 2) [m]; it closes by itself.
        name: prefix of its parameters.

    Raises:
        ModelError: for fewer than three different vertices, repeated or superfluous ones, edges that touch or cross, or
            no area.
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
    deepest = greatest(ca.vertcat(*(height for height, _ in edges)))
    square = -greatest(ca.vertcat(*(-(height**2) - beyond**2 for height, beyond in edges)))
    distance = ca.sqrt(ca.if_else(square > 0, square, 1))
    return ca.if_else(ca.logic_and(deepest > 0, square > 0), distance, deepest)


def _outside_of_edge(outline: Array, i: int, y: ca.SX) -> tuple[ca.SX, ca.SX]:
    """How far y is to the right of edge i, and how far beyond its ends along it."""
    start, end = outline[i], outline[(i + 1) % len(outline)]
    length = float(np.linalg.norm(end - start))
    along = (end - start) / length
    x, z = y[0] - float(start[0]), y[1] - float(start[1])
    height = float(along[1]) * x - float(along[0]) * z
    share = float(along[0]) * x + float(along[1]) * z
    return height, ca.if_else(share < 0, -share, ca.if_else(share > length, share - length, 0))
