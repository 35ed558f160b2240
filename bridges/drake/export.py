"""Export of a robot to a MultibodyPlant."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import not_negative
from ..common.body_tree import BodyTree, require_tree
from ..urdf.export import friction_joints, mimic_joints
from .log_capture import drake_errors, log_as_warning
from .multi_dof_joints import add_multi_dof_joint, extract_multi_dof_joints
from .multibody_plant import MultibodyPlant


def export(
    robot: Robot,
    path: str | os.PathLike[str] | None = None,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    time_step: float = 0.0,
) -> MultibodyPlant:
    """Build a finalized plant with the robot's bodies, joints, dampers, limits, actuators and gravity, through URDF.

    Each input that is the torque or force of one joint becomes a JointActuator of the same name. Coordinate limits act
    in a discrete plant only, as stiff springs; a continuous plant does not limit efforts.

    Args:
        robot: robot with a tree of bodies and without natural constraints.
        path: path of a file to which the URDF is written too; no file if not given.
        p: parameters: nominal, overridden by name, or the whole vector.
        time_step: 0 for a continuous plant, otherwise the step of a discrete one [s].

    Raises:
        BridgeError: for a robot with natural constraints or without a tree, or with features that URDF cannot
            represent or Drake rejects.
        ModelError: for a negative time step.
        MissingPackageError: if Drake is not installed.

    Warns:
        BridgeWarning: for features that Drake's parser omits, such as dry friction, and inputs on several joints.
    """
    plant, without_actuator = build_plant(robot, path, p, time_step)
    if without_actuator:
        warnings.warn(
            f"{robot.name}: the plant has no JointActuator for {', '.join(without_actuator)}, because only the torque "
            "or force of a single joint becomes one: connect the controller's port 'generalized_force' instead of "
            "'actuation'",
            BridgeWarning,
            stacklevel=caller_stacklevel(),
        )
    return plant


def build_plant(
    robot: Robot,
    path: str | os.PathLike[str] | None,
    p: Mapping[str, float] | ArrayLike | None,
    time_step: float,
) -> tuple[MultibodyPlant, list[str]]:
    """Build the plant of :func:`export`, and the names of inputs for which it has no actuator.

    Args:
        robot: robot with a tree of bodies and without natural constraints.
        path: path of a file for the URDF; no file if None.
        p: parameters of the robot.
        time_step: step of a discrete plant [s]; 0 for a continuous one.
    """
    from ..urdf import export as urdf

    tree, period = require_tree(robot), not_negative("time_step", time_step)
    multibody, parsing = (
        import_optional("pydrake.multibody.plant", "drake"),
        import_optional("pydrake.multibody.parsing", "drake"),
    )
    if robot.natural:
        names = ", ".join(constraint.name for constraint in robot.natural)
        raise BridgeError(
            f"{robot.name} has natural constraints ({names}), which a continuous MultibodyPlant cannot represent, and "
            "the constraints of a discrete one are not rigid. Use erugin.scenarios, or MuJoCo for loops"
        )
    if any(node.name == "world" for node in tree.nodes):
        raise BridgeError(f"{robot.name} has a joint 'world', a name that Drake reserves for the world body: rename it")
    whole = urdf(robot, path, p=p)
    if following := mimic_joints(whole):
        raise BridgeError(
            f"{robot.name}: bodies that move by a fraction of a joint's displacement ({', '.join(following)}) need "
            "mimic joints, which Drake supports in discrete time only, as soft constraints. Use erugin.scenarios or "
            "MuJoCo"
        )
    if rubbing := friction_joints(whole):
        warnings.warn(
            f"{robot.name}: Drake has no dry friction in joints, so that of {', '.join(rubbing)} is left out",
            BridgeWarning,
            stacklevel=caller_stacklevel(),
        )
    text, joints = extract_multi_dof_joints(whole)
    gravity = robot.evaluate(tree.gravity, p=p)
    with drake_errors(f"the bodies of {robot.name}"):
        plant: MultibodyPlant = multibody.MultibodyPlant(period)
        with log_as_warning(robot.name):
            parsing.Parser(plant).AddModelsFromString(text, "urdf")
        for joint in joints:
            add_multi_dof_joint(plant, joint)
        plant.mutable_gravity_field().set_gravity_vector(gravity)
        without_actuator = _add_actuators(robot, plant, p)
        plant.Finalize()
    return plant, without_actuator


def _add_actuators(robot: Robot, plant: MultibodyPlant, p: Mapping[str, float] | ArrayLike | None) -> list[str]:
    """Add an actuator with its limit for each input on one joint; return the names of the other inputs."""
    if plant.num_actuators() or not robot.input_names:
        return []
    others: list[str] = []
    joints = _single_joints(robot, p)
    for name, joint, effort in zip(robot.input_names, joints, robot.limits.effort.tolist(), strict=True):
        if joint is None:
            others.append(name)
        else:
            # Drake rejects a limit of zero, which files without a limit contain.
            plant.AddJointActuator(name, plant.GetJointByName(joint), effort if effort > 0.0 else np.inf)
    return others


def _single_joints(robot: Robot, p: Mapping[str, float] | ArrayLike | None) -> list[str | None]:
    """For each input the joint whose torque or force it is, or None."""
    tree, c = require_tree(robot), robot.coordinates
    owner = {
        i: node.name for node, at in zip(tree.nodes, tree.velocity_indices, strict=True) for i in at if len(at) == 1
    }
    if ca.depends_on(robot.input_matrix, ca.vertcat(c.t, c.q, c.v)):
        return [None] * len(robot.input_names)
    S = BodyTree.of(robot, p).relative_angles
    B = robot.evaluate(robot.input_matrix, p=p).reshape(c.nv, -1)
    columns = np.linalg.solve(S.T, B).T
    found: list[str | None] = []
    for column in columns:
        at = np.flatnonzero(np.abs(column) > 1e-12)
        found.append(owner.get(int(at[0])) if len(at) == 1 and abs(column[at[0]] - 1.0) < 1e-12 else None)
    return found
