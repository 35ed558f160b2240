"""Path following: a point that stays on a curve, moves along it at a given speed, or follows a field."""

from __future__ import annotations

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range
from ..constraint import Constraint, Schedule
from ..curves.curve import Curve
from ..curves.path_geometry import path_tangent
from ..field.erugin_field import EruginField
from ..perturbations.baumgarte import Baumgarte
from ..perturbations.first_order import FirstOrder
from ..perturbations.perturbation import Perturbation
from .operands import Quantity, column, quantity, smooth_norm


def follow(
    field: EruginField,
    point: ca.SX,
    *,
    perturbation: Perturbation | None = None,
    clock: float | None = None,
    name: str = "follow",
    when: ca.SX | Schedule | None = None,
) -> Constraint:
    """Nonholonomic program constraints ψ(q, v, t) = d/dt x(q, t) − w(x(q, t), t) = 0, one per coordinate of the point.

    Args:
        field: field of the velocity w that the point must have.
        point: the point x, such as ``robot.points["tip"]``, shape (n,) [m].
        perturbation: equation of order 1 for the deviation ψ [m/s]; ``FirstOrder()`` if not given.
        clock: rate [1/s] at which delays are made good, see :meth:`EruginField.punctual`; None to move at the cruise
            speed, however late.
        name: name in messages and prefix of its gains.
        when: condition under which it is on, see :meth:`Constraint.switched`; always on if not given.

    Returns:
        A constraint of order 1 with n rows.

    Raises:
        ModelError: if the point is not a position in the field's space.
    """
    if not isinstance(point, ca.SX) or point.shape != (field.dimension, 1):
        raise ModelError(
            f"constraint {name!r}: the field has {field.dimension} dimensions, so the point must be a column of "
            f"{field.dimension} CasADi SX expressions, got {point!r}"
        )

    field = field if clock is None else field.punctual(clock)

    def clearances(coordinates: Coordinates) -> dict[str, ca.SX]:
        every = ca.vertsplit(field.functions(point, coordinates.t))
        names = [barrier.name for barrier in field.barriers]
        return dict(zip(names, every[len(every) - len(names) :], strict=True))

    constraint = Constraint(
        1,
        lambda coordinates: coordinates.rate(point) - field.velocity(point, coordinates.t),
        FirstOrder() if perturbation is None else perturbation,
        field.parameters,
        name,
        clearances=clearances,
        followed=(field, point),
    )
    return constraint if when is None else constraint.switched(when)


def on_curve(
    curve: Curve, point: ca.SX, *, perturbation: Perturbation | None = None, name: str = "on_curve"
) -> Constraint:
    """Holonomic program y = f(x(q, t), t) = 0: path following without a law of motion along the path.

    The curve may be straight, a spline, given by an implicit equation or by a parametrisation (:func:`parametric`), and
    may move. It leaves the motion along it free; add :func:`speed_along`, or use a field.

    Args:
        curve: curve of k functions that vanish on it [m].
        point: x, such as ``robot.points["tip"]``, shape (n,) [m].
        perturbation: equation of order 0 for the deviation; ``Baumgarte()`` if not given.
        name: name in messages and prefix of its gains.

    Returns:
        A constraint of order 0 with k rows [m].

    Raises:
        ModelError: if the point is not a position in the curve's space.
    """
    x = require_point(curve, point, name)
    return Constraint(
        0,
        lambda c: curve.functions(x, c.t),
        Baumgarte() if perturbation is None else perturbation,
        curve.parameters,
        name,
    )


def require_point(curve: Curve, point: ca.SX, name: str) -> ca.SX:
    """Return the point; raise ModelError unless it is a position in the curve's space.

    Args:
        curve: the curve.
        point: the position.
        name: name of the constraint.
    """
    if not isinstance(curve, Curve):
        raise ModelError(f"constraint {name!r} needs a curve, got {curve!r}")
    if not isinstance(point, ca.SX) or point.shape != (curve.dimension, 1):
        raise ModelError(
            f"constraint {name!r}: {curve.name!r} lies in {curve.dimension} dimensions, so the point must be a column "
            f"of {curve.dimension} CasADi SX expressions, got {point!r}"
        )
    return point


def speed(
    point: ca.SX,
    value: Quantity,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "speed",
) -> Constraint:
    """Nonholonomic program, nonlinear in the velocities: y′ = |ẋ| − s = 0.

    The row vanishes at rest, where the motion has no direction; start in motion.

    Args:
        point: x, shape (n,) [m].
        value: s [m/s], a number of at least zero (then the parameter ``name.value``) or an expression.
        perturbation: equation of order 1 for the deviation; ``FirstOrder()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: name in messages and prefix of its gains.

    Raises:
        ModelError: if the number is negative, or the point is not a column.
    """
    x = column(name, "the point", point)
    s, own = quantity(name, "value", value, parameters, Range.NOT_NEGATIVE)
    equation = FirstOrder() if perturbation is None else perturbation
    return Constraint(1, lambda c: smooth_norm(c.rate(x)) - s, equation, own, name)


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

    Together with :func:`on_curve` it fixes the motion of the point; s = 0 stops it.

    Args:
        curve: a path, n − 1 functions in n dimensions.
        point: x, shape (n,) [m].
        value: s [m/s], a number (then the parameter ``name.value``) or an expression.
        perturbation: equation of order 1 for the deviation; ``FirstOrder()`` if not given.
        parameters: symbols in the expressions that are neither the robot's nor the curve's.
        name: name in messages and prefix of its gains.

    Raises:
        ModelError: if the point is not a position in the curve's space, or the curve is a surface.
    """
    x = require_point(curve, point, name)
    s, own = quantity(name, "value", value, parameters)
    y, t = ca.SX.sym("x", curve.dimension), ca.SX.sym("t")
    rows = curve.functions(y, t).numel()
    if rows != curve.dimension - 1:
        raise ModelError(
            f"constraint {name!r}: a path in {curve.dimension} dimensions has {curve.dimension - 1} functions, "
            f"{curve.name!r} has {rows}, so it has no direction of travel"
        )
    tangent = path_tangent(curve.jacobian(y, t))
    direction = tangent / ca.norm_2(tangent)

    def residual(c: Coordinates) -> ca.SX:
        along = ca.substitute(direction, ca.vertcat(y, t), ca.vertcat(x, c.t))
        return ca.dot(along, c.rate(x)) - s

    equation = FirstOrder() if perturbation is None else perturbation
    return Constraint(1, residual, equation, Parameters.collect([own, curve.parameters]), name)
