"""Two points at a given distance."""

from __future__ import annotations

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range
from ..constraint import Constraint
from ..perturbations.perturbation import Perturbation
from .expression import holonomic
from .operands import Column, Quantity, column, quantity, smooth_norm


def distance(
    first: ca.SX,
    second: Column,
    length: Quantity,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "distance",
) -> Constraint:
    """Holonomic program or natural constraint y = |x₁ − x₂| − ℓ = 0, as of a massless rod.

    The row vanishes where the points meet; to join two points use
    :func:`~erugin.constraints.synchronized`, or :func:`~erugin.robots.mechanism` for a joint.

    Args:
        first: x₁, shape (n,) [m].
        second: x₂, shape (n,) [m]; expressions or numbers.
        length: ℓ [m], a number greater than zero (then the parameter ``name.length``) or an expression. A natural
            constraint has no parameters but its robot's: give one of those, or ``ca.SX(1.0)``.
        perturbation: equation of order 0 for the deviation; ``Baumgarte()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: name in messages and prefix of its gains.

    Raises:
        ModelError: if the points are of different dimensions, or the length is not positive.
    """
    x = column(name, "the first point", first)
    y = column(name, "the second point", second)
    if x.numel() != y.numel():
        raise ModelError(f"constraint {name!r}: the points have {x.numel()} and {y.numel()} coordinates")
    size, own = quantity(name, "length", length, parameters, Range.POSITIVE)
    return holonomic(smooth_norm(x - y) - size, perturbation=perturbation, parameters=own, name=name)
