"""A point that stays on a curve or surface."""

from __future__ import annotations

import casadi as ca

from ...symbolic.errors import ModelError
from ..constraint import Constraint
from ..curves import Curve
from ..perturbations import Baumgarte, Perturbation


def on_curve(
    curve: Curve, point: ca.SX, *, perturbation: Perturbation | None = None, name: str = "on_curve"
) -> Constraint:
    """Holonomic program y = f(x(q, t), t) = 0: path following without a law of motion along the path.

    The curve may be straight, a spline, given by its equation or by any parametrisation (:func:`parametric`), and
    move. It leaves the motion along it free; add :func:`speed_along`, or use a field.

    Args:
        curve: k functions that vanish on it [m].
        point: x, such as ``robot.points["tip"]``, shape (n,) [m].
        perturbation: equation of order 0 for the deviation; ``Baumgarte()`` if not given.
        name: shown in messages and in the names of its gains.

    Returns:
        A constraint of order 0 with k rows [m].

    Raises:
        ModelError: if the point is not a place in the curve's space.
    """
    place = on_curve_place(curve, point, name)
    return Constraint(
        0,
        lambda c: curve.functions(place, c.t),
        Baumgarte() if perturbation is None else perturbation,
        curve.parameters,
        name,
    )


def on_curve_place(curve: Curve, point: ca.SX, name: str) -> ca.SX:
    """The point, if it is a place in the curve's space; raises ModelError otherwise.

    Args:
        curve: the curve.
        point: the place.
        name: of the constraint.
    """
    if not isinstance(curve, Curve):
        raise ModelError(f"constraint {name!r} needs a curve, got {curve!r}")
    if not isinstance(point, ca.SX) or point.shape != (curve.dimension, 1):
        raise ModelError(
            f"constraint {name!r}: {curve.name!r} lies in {curve.dimension} dimensions, so the point must be a column "
            f"of {curve.dimension} CasADi SX expressions, got {point!r}"
        )
    return point
