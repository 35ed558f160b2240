"""The speed of a point, in any direction or along a path."""

from __future__ import annotations

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range
from ..constraint import Constraint
from ..curves import Curve
from ..curves.normals import tangent_of
from ..perturbations import FirstOrder, Perturbation
from .on_curve import on_curve_place
from .quantity import Quantity, column, length_of, quantity


def speed(
    point: ca.SX,
    value: Quantity,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "speed",
) -> Constraint:
    """Nonholonomic program, nonlinear in the velocities: y′ = |ẋ| − s = 0.

    The row vanishes at rest, where the motion has no direction yet; start it moving.

    Args:
        point: x, shape (n,) [m].
        value: s [m/s], a number not below zero (then the parameter ``name.value``) or an expression.
        perturbation: equation of order 1 for the deviation; ``FirstOrder()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: shown in messages and in the names of its gains.

    Raises:
        ModelError: for a negative number, or a point that is no column.
    """
    x = column(name, "the point", point)
    s, own = quantity(name, "value", value, parameters, Range.NOT_NEGATIVE)
    equation = FirstOrder() if perturbation is None else perturbation
    return Constraint(1, lambda c: length_of(c.rate(x)) - s, equation, own, name)


def speed_along(
    curve: Curve,
    point: ca.SX,
    value: Quantity,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "speed_along",
) -> Constraint:
    """Nonholonomic program y′ = τ(x, t)·ẋ − s = 0, τ the unit tangent of the curve in its direction of travel.

    Together with :func:`on_curve` it fixes the motion of the point; s = 0 holds it in its place.

    Args:
        curve: a path, n − 1 functions in n dimensions.
        point: x, shape (n,) [m].
        value: s [m/s], a number (then the parameter ``name.value``) or an expression.
        perturbation: equation of order 1 for the deviation; ``FirstOrder()`` if not given.
        parameters: symbols in the expressions that are neither the robot's nor the curve's.
        name: shown in messages and in the names of its gains.

    Raises:
        ModelError: if the point is not a place in the curve's space, or the curve is a surface.
    """
    place = on_curve_place(curve, point, name)
    s, own = quantity(name, "value", value, parameters)
    y, t = ca.SX.sym("x", curve.dimension), ca.SX.sym("t")
    rows = curve.functions(y, t).numel()
    if rows != curve.dimension - 1:
        raise ModelError(
            f"constraint {name!r}: a path in {curve.dimension} dimensions has {curve.dimension - 1} functions, "
            f"{curve.name!r} has {rows}, so it has no direction of travel"
        )
    tangent = tangent_of(curve.jacobian(y, t))
    direction = tangent / ca.norm_2(tangent)

    def residual(c: Coordinates) -> ca.SX:
        along = ca.substitute(direction, ca.vertcat(y, t), ca.vertcat(place, c.t))
        return ca.dot(along, c.rate(place)) - s

    equation = FirstOrder() if perturbation is None else perturbation
    return Constraint(1, residual, equation, Parameters.collect([own, curve.parameters]), name)
