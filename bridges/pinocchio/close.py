"""Constraint models of Pinocchio → closed loops."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints.perturbations import Baumgarte, Perturbation
from ...robots.frame import Frame
from ...robots.mechanism import Closure, mechanism
from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, BridgeWarning, caller_level
from ...symbolic.extras import require
from ..solids import own_tree
from .pieces import Piece

Array = NDArray[np.float64]


def close(robot: Robot, model: Any, parts: Sequence[Piece], constraints: Sequence[Any]) -> Robot:  # noqa: ANN401
    """The robot with its loops closed; reactions are of least norm, as rows may depend on each other.

    Args:
        robot: of the model's tree.
        model: of Pinocchio.
        parts: its joints.
        constraints: ``RigidConstraintModel`` s, or point and frame anchors.

    Raises:
        BridgeError: for another kind of constraint, one with compliance or with a joint that the model does not have.
    """
    pin: Any = require("pinocchio", "pinocchio")
    last, soft = {part.index: k for k, part in enumerate(parts)}, list[str]()
    taken = {constraint.name for constraint in robot.natural}
    for number, given in enumerate(constraints, 1):
        held = _rigid(pin, model, given, number)
        name = str(held.name) or f"loop {number}"
        while name in taken:
            name = f"{name} again"
        taken.add(name)
        sides = [
            _side(robot, last, int(joint), place, name)
            for joint, place in ((held.joint1_id, held.joint1_placement), (held.joint2_id, held.joint2_placement))
        ]
        equation = _equation(held.m_baumgarte_parameters, name, soft)
        closures = [Closure(sides[0].position, sides[1].position, name)]
        if held.type == pin.ContactType.CONTACT_6D:
            a, b = sides[0].rotation, sides[1].rotation
            turned = ca.vertcat(*(ca.dot(a[:, i], b[:, j]) for i, j in ((1, 2), (2, 0), (0, 1))))
            closures.append(Closure(turned, ca.SX(ca.DM.zeros(3)), f"{name}.turn"))
        robot = mechanism(robot, closures, name=robot.name, perturbation=equation, redundant="least-norm")
    if soft:
        warnings.warn(
            BridgeWarning(
                f"the constraints {', '.join(soft)} of Pinocchio have no gains against drift; here they have those of "
                f"{Baumgarte()}, which change nothing where the loops are closed"
            ),
            stacklevel=caller_level(),
        )
    return robot


def _rigid(pin: Any, model: Any, given: Any, number: int) -> Any:  # noqa: ANN401 - has no type information
    """A rigid constraint, made of an anchor where it is one."""
    if isinstance(given, pin.PointAnchorConstraintModel | pin.FrameAnchorConstraintModel):
        given = pin.convertToRigidConstraintModel(model, given)
    if not isinstance(given, pin.RigidConstraintModel):
        raise BridgeError(
            f"constraint {number} is a {type(given).__name__}, which has no counterpart here; there are "
            "RigidConstraintModel, PointAnchorConstraintModel and FrameAnchorConstraintModel"
        )
    label = str(given.name) or number
    moved = [given.desired_contact_velocity.vector, given.desired_contact_acceleration.vector]
    placed = given.desired_contact_placement
    if any(np.any(np.array(x)) for x in moved) or not placed.isIdentity(0.0):
        raise BridgeError(f"constraint {label!r} wants its two frames apart or moving, which has no counterpart here")
    if max(int(given.joint1_id), int(given.joint2_id)) >= int(model.njoints):
        raise BridgeError(f"constraint {label!r} has a joint that the model does not have: it is of another model")
    return given


def _side(robot: Robot, last: dict[int, int], joint: int, place: Any, name: str) -> Frame:  # noqa: ANN401
    turn, position = (np.array(x, dtype=np.float64) for x in (place.rotation, place.translation))
    frame = Frame(ca.SX(ca.DM(turn)), ca.SX(ca.DM(position)))
    if joint == 0:
        return frame
    if joint not in last:
        raise BridgeError(f"constraint {name!r} has joint {joint}, which the model does not have")
    return own_tree(robot).points.carried(last[joint], frame)


def _equation(gains: Any, name: str, soft: list[str]) -> Perturbation:  # noqa: ANN401 - has no type information
    stiff, damped = float(gains.Kp), float(gains.Kd)
    if stiff == 0.0 and damped == 0.0:
        soft.append(name)
        return Baumgarte()
    if not (stiff > 0.0 and damped > 0.0):
        raise BridgeError(
            f"the gains Kp = {stiff:g} and Kd = {damped:g} of constraint {name!r} do not make deviations decay: "
            "give it two positive ones, or none"
        )
    return Baumgarte(damped / 2.0, math.sqrt(stiff))
