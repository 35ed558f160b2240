"""Constraints given by expressions: holonomic, nonholonomic and of second order."""

from __future__ import annotations

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ..constraint import Constraint, Schedule
from ..perturbations.baumgarte import Baumgarte
from ..perturbations.exact import Exact
from ..perturbations.first_order import FirstOrder
from ..perturbations.perturbation import Perturbation


def _from_expression(
    order: int,
    expression: ca.SX,
    perturbation: Perturbation,
    parameters: Parameters,
    name: str,
    when: ca.SX | Schedule | None,
) -> Constraint:
    if not isinstance(expression, ca.SX):
        raise ModelError(f"constraint {name!r} must be a CasADi SX expression, got {expression!r}")
    constraint = Constraint(order, lambda _: expression, perturbation, parameters, name)
    return constraint if when is None else constraint.switched(when)


def holonomic(
    expression: ca.SX,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "holonomic",
    when: ca.SX | Schedule | None = None,
) -> Constraint:
    """Constraint of order 0, φ(q, t) = 0.

    Args:
        expression: φ in the robot's symbols and ``parameters``, shape (m,).
        perturbation: equation of order 0 for its deviation; ``Baumgarte()`` if not given.
        parameters: symbols in the expression that are not the robot's.
        name: name in messages and prefix of its gains.
        when: condition under which it is on, see :meth:`Constraint.switched`; always on if not given.
    """
    return _from_expression(
        0, expression, Baumgarte() if perturbation is None else perturbation, parameters, name, when
    )


def nonholonomic(
    expression: ca.SX,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "nonholonomic",
    when: ca.SX | Schedule | None = None,
) -> Constraint:
    """Constraint of order 1, ψ(q, v, t) = 0, linear in v or not.

    Args:
        expression: ψ in the robot's symbols and ``parameters``, shape (m,).
        perturbation: equation of order 1 for its deviation; ``FirstOrder()`` if not given.
        parameters: symbols in the expression that are not the robot's.
        name: name in messages and prefix of its gains.
        when: condition under which it is on, see :meth:`Constraint.switched`; always on if not given.
    """
    return _from_expression(
        1, expression, FirstOrder() if perturbation is None else perturbation, parameters, name, when
    )


def second_order(
    expression: ca.SX,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "second_order",
    when: ca.SX | Schedule | None = None,
) -> Constraint:
    """Constraint of order 2, χ(q, v, a, t) = 0, in the accelerations ``robot.coordinates.a``.

    If χ is affine in a, it is solved directly. If it is not, as |a|² = A², a
    :class:`~erugin.controllers.ProgramController` solves it by Newton's method and follows one branch of its roots.

    Args:
        expression: χ in the robot's symbols, its accelerations and ``parameters``, shape (m,).
        perturbation: equation of order 2; ``Exact()`` if not given.
        parameters: symbols in the expression that are not the robot's.
        name: name in messages and prefix of its gains.
        when: condition under which it is on, see :meth:`Constraint.switched`; always on if not given.
    """
    return _from_expression(2, expression, Exact() if perturbation is None else perturbation, parameters, name, when)
