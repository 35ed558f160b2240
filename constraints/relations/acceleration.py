"""Programs of second order on the acceleration of a point: curvature of its path, acceleration along it."""

from __future__ import annotations

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range
from ..constraint import Constraint
from ..perturbations.exact import Exact
from ..perturbations.perturbation import Perturbation
from .operands import Quantity, column, quantity, smooth_norm


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
    left for κ > 0. It is affine in the accelerations, and imposes nothing at rest, where it is zero for all of them.

    Args:
        point: x, shape (2,) [m].
        value: κ [1/m], a number (then the parameter ``name.value``) or an expression in time, position and velocity.
        perturbation: equation of order 2; ``Exact()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: name in messages.
    """
    x = column(name, "the point", point, (2,))
    kappa, own = quantity(name, "value", value, parameters)

    def residual(c: Coordinates) -> ca.SX:
        v = ca.densify(c.rate(x))
        a = ca.densify(c.rate(v))
        return (v[0] * a[1] - v[1] * a[0]) / smooth_norm(v) - kappa * ca.sumsqr(v)

    return Constraint(2, residual, Exact() if perturbation is None else perturbation, own, name)


def tangential_acceleration(
    point: ca.SX,
    value: Quantity,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "tangential_acceleration",
) -> Constraint:
    """Second-order nonholonomic program ẋ·ẍ/|ẋ| − w = 0 [m/s²].

    At rest the row vanishes: there is no direction of motion.

    Args:
        point: x, shape (n,) [m].
        value: w [m/s²], a number (then the parameter ``name.value``) or an expression.
        perturbation: equation of order 2; ``Exact()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: name in messages.
    """
    x = column(name, "the point", point)
    w, own = quantity(name, "value", value, parameters)
    equation = Exact() if perturbation is None else perturbation
    return Constraint(2, lambda c: _along_motion(c, x) - w, equation, own, name)


def bounded_tangential_acceleration(
    point: ca.SX,
    speed: Quantity,
    bound: Quantity,
    *,
    rate: float = 5.0,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "bounded_tangential_acceleration",
) -> Constraint:
    """A speed reached under a bound on the tangential acceleration, as an equality program of second order.

    ẋ·ẍ/|ẋ| − w̄ tanh(k (s − |ẋ|)/w̄) = 0: |ẋ| → s, at first with nearly the acceleration w̄ and never more, finally
    like exp(−k t). For constant s, sinh(k (s − |ẋ|)/w̄) falls exactly as exp(−k t).

    Args:
        point: x, shape (n,) [m].
        speed: s [m/s], a number of at least zero (then the parameter ``name.speed``) or an expression.
        bound: w̄ [m/s²], a number greater than zero (then the parameter ``name.bound``) or an expression.
        rate: k [1/s], the parameter ``name.rate``.
        perturbation: equation of order 2; ``Exact()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: name in messages.
    """
    x = column(name, "the point", point)
    s, own = quantity(name, "speed", speed, parameters, Range.NOT_NEGATIVE)
    limit, own = quantity(name, "bound", bound, own, Range.POSITIVE)
    k, own = quantity(name, "rate", rate, own, Range.POSITIVE)
    equation = Exact() if perturbation is None else perturbation

    def residual(c: Coordinates) -> ca.SX:
        return _along_motion(c, x) - limit * ca.tanh(k * (s - smooth_norm(c.rate(x))) / limit)

    return Constraint(2, residual, equation, own, name)


def _along_motion(c: Coordinates, x: ca.SX) -> ca.SX:
    v = c.rate(x)
    return ca.dot(v, c.rate(v)) / smooth_norm(v)
