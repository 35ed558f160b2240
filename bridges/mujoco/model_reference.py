"""Where a model of MuJoCo that is made of a robot is set up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ..passive import Passive
from ..solids import SolidTree

Array = NDArray[np.float64]

LENGTH = 1.0
"""Of a telescopic link whose length at rest is not known [m]."""


def reference(robot: Robot, tree: SolidTree, forces: Passive) -> Array:
    """Coordinates at which a model is set up, shape (nq,): neutral, with telescopic links as long as at rest.

    Args:
        robot: made of a tree.
        tree: its bodies.
        forces: of its joints.
    """
    q = np.zeros(robot.coordinates.nq)
    for solid in tree.solids:
        if solid.kind == "free":
            q[solid.at_q + 6] = 1.0
        elif solid.shares and solid.kind == "slide":
            # Of no length its inertia about the joint before would vanish.
            rest = next((spring.rest for spring in forces.springs if set(spring.shares) == {solid.at_v}), 0.0)
            q[solid.at_q] = rest if rest > 0.0 else LENGTH
    return q


def require_quaternions(robot: Robot, tree: SolidTree, q0: Array) -> None:
    """Raise BridgeError for a body that floats with a quaternion that is none.

    Args:
        robot: made of a tree.
        tree: its bodies.
        q0: coordinates, shape (nq,).
    """
    for solid in tree.solids:
        if solid.kind == "free" and not 0.5 < np.linalg.norm(q0[solid.at_q + 3 : solid.at_q + 7]) < 2.0:
            raise BridgeError(
                f"{robot.name}: in q0 the quaternion (x, y, z, w) of {solid.name!r} must have length 1, got "
                f"{q0[solid.at_q + 3 : solid.at_q + 7].tolist()}"
            )
