"""A point, a joint or any other output that moves as a function of time says."""

from __future__ import annotations

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ..constraint import Constraint, holonomic
from ..perturbations import Perturbation
from .quantity import Column, column


def trajectory(
    output: ca.SX,
    target: Column,
    *,
    perturbation: Perturbation | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "trajectory",
) -> Constraint:
    """Holonomic program y = x(q, t) − r(t) = 0.

    An underactuated robot can follow as many outputs as its inputs reach: choose them, and realise the program with
    ``realization="actuated"``; what the passive joints do then is the internal dynamics of the program, and not judged.

    Args:
        output: x, what must move so: a point, some of its coordinates, joints, shape (m,).
        target: r, expressions in the robot's time ``robot.t`` and ``parameters``, or numbers, shape (m,).
        perturbation: equation of order 0 for the deviation; ``Baumgarte()`` if not given.
        parameters: symbols that are not the robot's.
        name: shown in messages and in the names of its gains.

    Raises:
        ModelError: if the two are not columns of one size.
    """
    x = column(name, "the output", output)
    r = column(name, "the target", target)
    if r.numel() != x.numel():
        raise ModelError(f"constraint {name!r}: the output has {x.numel()} rows, the target {r.numel()}")
    return holonomic(x - r, perturbation=perturbation, parameters=parameters, name=name)
