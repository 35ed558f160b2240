"""Outputs that track a function of time, or each other."""

from __future__ import annotations

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite
from ..constraint import Constraint
from ..perturbations.perturbation import Perturbation
from .expression import holonomic
from .operands import Column, Quantity, column


def synchronized(
    first: ca.SX,
    second: ca.SX,
    *,
    offset: Column | None = None,
    ratio: Quantity = 1.0,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "synchronized",
) -> Constraint:
    """Holonomic program y = x₁ − r x₂ − d = 0.

    For two robots, :func:`~erugin.robots.combine` makes one of them. The force is shared between both by Gauss's
    principle: the lighter one gives way more.

    Args:
        first: x₁, points or joints, shape (m,).
        second: x₂, of the same size.
        offset: d, shape (m,), expressions or numbers; zero if not given.
        ratio: r, as of a gear; a number other than zero, or a scalar expression.
        perturbation: equation of order 0 for the deviation; ``Baumgarte()`` if not given.
        parameters: symbols in the expressions that are not the robot's.
        name: name in messages and prefix of its gains.

    Raises:
        ModelError: if the sizes differ, or the ratio is zero.
    """
    x, y = column(name, "the first output", first), column(name, "the second output", second)
    d = ca.SX.zeros(x.numel()) if offset is None else column(name, "the offset", offset)
    if not x.numel() == y.numel() == d.numel():
        raise ModelError(
            f"constraint {name!r}: the outputs and the offset must have the same size, got {x.numel()}, {y.numel()} "
            f"and {d.numel()} rows"
        )
    r = ratio if isinstance(ratio, ca.SX) else ca.SX(finite(f"ratio of {name!r}", ratio))
    if r.shape != (1, 1):
        raise ModelError(f"ratio of {name!r} must be a scalar, got shape {r.shape}")
    if r.is_zero():
        raise ModelError(f"constraint {name!r}: the ratio must not be zero, got {ratio!r}")
    return holonomic(x - r * y - d, perturbation=perturbation, parameters=parameters, name=name)


def tracking(
    output: ca.SX,
    target: Column,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "trajectory",
) -> Constraint:
    """Holonomic program y = x(q, t) − r(t) = 0.

    An underactuated robot can follow as many outputs as it has inputs that act on them: choose them, and realise the
    program with ``realization="actuated"``; the motion of the passive joints is then the internal dynamics of the
    program, whose stability is not checked.

    Args:
        output: x, the quantities that must move so: a point, some of its coordinates, joints, shape (m,).
        target: r, expressions in the robot's time ``robot.t`` and ``parameters``, or numbers, shape (m,).
        perturbation: equation of order 0 for the deviation; ``Baumgarte()`` if not given.
        parameters: symbols that are not the robot's.
        name: name in messages and prefix of its gains.

    Raises:
        ModelError: if the two are not columns of the same size.
    """
    x = column(name, "the output", output)
    r = column(name, "the target", target)
    if r.numel() != x.numel():
        raise ModelError(f"constraint {name!r}: the output has {x.numel()} rows, the target {r.numel()}")
    return holonomic(x - r, perturbation=perturbation, parameters=parameters, name=name)
