"""Unions, intersections, differences and complements of solids of any kind."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from ..curves.curve import Curve
from .r_functions import RFunction, RNorm, column_maximum
from .solid_checks import require_solid, require_solids

JOINT = RNorm(4)


@dataclass(frozen=True, eq=False)
class Union(Curve):
    """f = f₁ ∧ f₂ ∧ …, zero on the boundary of the union and nowhere else; use :func:`union` to make one.

    Attributes:
        parts: at least two solids.
        joint: the R-function.
    """

    name: str
    dimension: int
    parts: tuple[Curve, ...]
    joint: RFunction
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Function of the union, shape (1,): positive outside; on the boundary |∇f| = 1 as in the parts."""
        return self.joint.all_of([part.functions(x, t) for part in self.parts])

    @property
    def smoothness(self) -> float:
        """0: where two boundaries cross there is a notch."""
        return 0.0

    def reference(self, t: ca.SX) -> ca.SX | None:
        """Mean of the parts' references, shape (n,) [m]; None if one of them has none."""
        points = [part.reference(t) for part in self.parts]
        known = [point for point in points if point is not None]
        return sum(known[1:], known[0]) / len(known) if len(known) == len(points) else None

    def extent(self, t: ca.SX) -> ca.SX | None:
        """Radius of a ball about the mean that contains the balls of all parts [m]; None if one of them has none."""
        middle = self.reference(t)
        radii: list[ca.SX] = []
        for part in self.parts:
            point, radius = part.reference(t), part.extent(t)
            if middle is None or point is None or radius is None:
                return None
            radii.append(ca.sqrt(ca.sumsqr(point - middle) + 1e-300) + radius)
        return column_maximum(ca.vertcat(*radii))


@dataclass(frozen=True, eq=False)
class Intersection(Curve):
    """f = f₁ ∨ f₂ ∨ …, zero on the boundary of the common part; use :func:`intersection` to make one.

    Attributes:
        parts: at least two solids.
        joint: the R-function.
    """

    name: str
    dimension: int
    parts: tuple[Curve, ...]
    joint: RFunction
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Function of the intersection, shape (1,): negative inside; on the boundary |∇f| = 1 as in the parts."""
        return self.joint.any_of([part.functions(x, t) for part in self.parts])

    @property
    def smoothness(self) -> float:
        """0: where two boundaries cross there is an edge."""
        return 0.0

    def reference(self, t: ca.SX) -> ca.SX | None:
        """Reference of the first part with an extent, else with a reference, shape (n,) [m]; None if none has one."""
        return self._representative(t)[0]

    def extent(self, t: ca.SX) -> ca.SX | None:
        """Extent of the first part that has one [m]; None if none has one."""
        return self._representative(t)[1]

    def _representative(self, t: ca.SX) -> tuple[ca.SX | None, ca.SX | None]:
        known = [(part.reference(t), part.extent(t)) for part in self.parts]
        bounded = [pair for pair in known if pair[0] is not None and pair[1] is not None]
        placed = [(point, None) for point, _ in known if point is not None]
        return (*bounded, *placed, (None, None))[0]


@dataclass(frozen=True, eq=False)
class Complement(Curve):
    """f = −f₁: solid where the part is free; use :func:`complement` to make one.

    Attributes:
        part: the solid.
    """

    name: str
    dimension: int
    part: Curve
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Function of the complement, shape (1,): positive inside of the part."""
        return -self.part.functions(x, t)

    @property
    def smoothness(self) -> float:
        """Smoothness of the part."""
        return self.part.smoothness

    def reference(self, t: ca.SX) -> ca.SX | None:
        """Reference of the part, shape (n,) [m]; the extent is None."""
        return self.part.reference(t)


def union(*parts: Curve, joint: RFunction = JOINT, name: str = "union") -> Union:
    """Union of solids: all that belongs to at least one of them.

    Where two boundaries cross, the union has a notch; its boundary is exact, and outside f is smooth up to it. With the
    default joint f is a lower bound of the distance if those of the parts are. A field turns in a notch within the
    distance from the boundary, so that it needs steps shorter than that there; if the solids are given to the field one
    by one, it follows the boundaries exactly in the notches between them too.

    Args:
        parts: boundaries with one function each, positive outside, at least two; their parameters are those of the
            union.
        joint: R-function that combines their functions.
        name: name in messages.

    Raises:
        ModelError: if there are fewer than two parts, a part is not a solid, or dimensions differ.
    """
    solids = _require_several("union", name, parts, joint)
    return Union(name, solids[0].dimension, solids, joint, Parameters.collect([s.parameters for s in solids]))


def intersection(*parts: Curve, joint: RFunction = JOINT, name: str = "intersection") -> Intersection:
    """Intersection of solids: all that belongs to each of them.

    Where two boundaries cross, the intersection has an edge, at which the normal jumps. If the k parts have lower
    bounds of the distance, f is at most k^(1/4) times the distance to the boundary with the default joint. If the parts
    have nothing in common, f is positive everywhere.

    Args:
        parts: boundaries with one function each, positive outside, at least two; their parameters are those of the
            intersection.
        joint: R-function that combines their functions.
        name: name in messages.

    Raises:
        ModelError: if there are fewer than two parts, a part is not a solid, or dimensions differ.
    """
    solids = _require_several("intersection", name, parts, joint)
    return Intersection(name, solids[0].dimension, solids, joint, Parameters.collect([s.parameters for s in solids]))


def difference(base: Curve, *removed: Curve, joint: RFunction = JOINT, name: str = "difference") -> Intersection:
    """Difference of solids: one without the others, its intersection with their complements.

    Args:
        base: boundary of the solid, one function, positive outside.
        removed: boundaries of the solids that are removed, at least one.
        joint: R-function that combines their functions.
        name: name in messages.

    Raises:
        ModelError: if nothing is removed, something is not a solid, or dimensions differ.
    """
    kind = f"difference {name!r}"
    if not removed:
        raise ModelError(f"{kind} removes nothing: give one or more solids after the first")
    solids = require_solids(kind, (base, *removed))
    complements = (complement(one, name=f"complement of {one.name}") for one in solids[1:])
    return intersection(solids[0], *complements, joint=joint, name=name)


def complement(part: Curve, *, name: str = "complement") -> Complement:
    """Complement of a solid: all that does not belong to it.

    As an obstacle of a field it keeps a point within the part, as the part itself does among ``inside=``.

    Args:
        part: boundary of the solid, one function, positive outside.
        name: name in messages.

    Raises:
        ModelError: if it is not a solid.
    """
    solid = require_solid(f"complement {name!r}", part)
    return Complement(name, solid.dimension, solid, solid.parameters)


def _require_several(kind: str, name: str, parts: tuple[Curve, ...], joint: RFunction) -> tuple[Curve, ...]:
    if not isinstance(joint, RFunction):
        raise ModelError(f"joint of {kind} {name!r} must be an R-function such as RNorm(4), got {joint!r}")
    solids = require_solids(f"{kind} {name!r}", parts)
    if len(solids) < 2:
        raise ModelError(f"{kind} {name!r} needs at least two solids, got {len(solids)}")
    return solids
