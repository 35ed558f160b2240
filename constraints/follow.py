"""A point that moves along a field: a first-order program constraint."""

from __future__ import annotations

import casadi as ca

from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError
from .constraint import Constraint
from .field import EruginField
from .perturbations import FirstOrder, Perturbation
from .schedule import Schedule


def follow(
    field: EruginField,
    point: ca.SX,
    *,
    perturbation: Perturbation | None = None,
    name: str = "follow",
    when: ca.SX | Schedule | None = None,
) -> Constraint:
    """Nonholonomic program constraints ψ(q, v, t) = d/dt x(q, t) − w(x(q, t), t) = 0, one per coordinate of the point.

    Args:
        field: the velocity w that the point must have.
        point: the point x, such as ``robot.points["tip"]``, shape (n,) [m].
        perturbation: equation of order 1 for the deviation ψ [m/s]; ``FirstOrder()`` if not given.
        name: shown in messages and in the names of its gains.
        when: the condition on which it is on, see :meth:`Constraint.switched`; always if not given.

    Returns:
        A constraint of order 1 with n rows.

    Raises:
        ModelError: if the point is not a place in the field's space.
    """
    if not isinstance(point, ca.SX) or point.shape != (field.dimension, 1):
        raise ModelError(
            f"constraint {name!r}: the field lives in {field.dimension} dimensions, so the point must be a column of "
            f"{field.dimension} CasADi SX expressions, got {point!r}"
        )

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
