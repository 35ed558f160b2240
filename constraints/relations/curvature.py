"""The curvature of the path of a point: a program of second order."""

from __future__ import annotations

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ..constraint import Constraint
from ..perturbations import Exact, Perturbation
from .quantity import Quantity, column, length_of, quantity


def path_curvature(
    point: ca.SX,
    value: Quantity,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "path_curvature",
) -> Constraint:
    """Second-order nonholonomic program: the point's path in the plane has the curvature κ [Jarzebowska2005]_.

    (ẋ₁ẍ₂ − ẋ₂ẍ₁)/|ẋ| − κ|ẋ|² = 0 [m/s²]: the acceleration across the motion is that of a circle of radius 1/|κ|, to the
    left for κ > 0. It is affine in the accelerations, and says nothing at rest, where it is zero whatever they are.

    Args:
        point: x, shape (2,) [m].
        value: κ [1/m], a number (then the parameter ``name.value``) or an expression in time, place and velocity.
        perturbation: equation of order 2; ``Exact()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: shown in messages.
    """
    x = column(name, "the point", point, (2,))
    kappa, own = quantity(name, "value", value, parameters)

    def residual(c: Coordinates) -> ca.SX:
        v = ca.densify(c.rate(x))
        a = ca.densify(c.rate(v))
        return (v[0] * a[1] - v[1] * a[0]) / length_of(v) - kappa * ca.sumsqr(v)

    return Constraint(2, residual, Exact() if perturbation is None else perturbation, own, name)
