"""A drive that a robot did not have: along any angle or length that can be written in its coordinates."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np

from ..symbolic.errors import ModelError, require_name
from .robot import Robot


def with_drive(robot: Robot, name: str, along: ca.SX, *, effort: float = np.inf, unit: str = "N m") -> Robot:
    """The robot with one more input, whose power is u dx/dt: Q = u (∂x/∂q N)ᵀ.

    A drive between two links acts along the angle between them, one between a link and the ground along the link's own
    angle; a cable or a cylinder along the distance of its ends.

    Args:
        robot: as it is without the drive.
        name: of the input.
        along: x, a scalar expression in coordinates and parameters [rad or m].
        effort: greatest |u|; no limit if not given.
        unit: of u.

    Raises:
        ModelError: for no name, or one that is taken, no scalar, an expression that does not depend on coordinates, or
            one in time, velocities or foreign symbols.
    """
    require_name("a drive", name)
    if name in robot.input_names:
        raise ModelError(f"{robot.name} has an input {name!r} already: {', '.join(robot.input_names)}")
    if not isinstance(along, ca.SX) or along.shape != (1, 1):
        raise ModelError(f"a drive acts along a scalar SX expression, got {along!r}")
    c = robot.coordinates
    robot.require_own_symbols(f"what drive {name!r} acts along", along)
    if ca.depends_on(along, ca.vertcat(c.t, c.v, c.a, robot.u)) or not ca.depends_on(along, c.q):
        raise ModelError(f"drive {name!r} must act along an expression in coordinates and parameters alone")
    limits = dataclasses.replace(robot.limits, effort=np.append(robot.limits.effort, effort))
    return dataclasses.replace(
        robot,
        u=ca.vertcat(robot.u, ca.SX.sym(name)),
        input_matrix=ca.horzcat(robot.input_matrix, ca.densify((ca.jacobian(along, c.q) @ c.N).T)),
        input_names=(*robot.input_names, name),
        input_units=(*robot.input_units, unit),
        limits=limits,
    )
