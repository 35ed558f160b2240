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
    """A finalized plant with the robot's bodies, joints, dampers, limits, drives and gravity, by way of URDF.

    A JointActuator with the name of the input stands for each input that is the torque or force of one joint. Limits of
    coordinates act in a discrete plant only, there as stiff springs; efforts are not limited by a continuous one.

    Args:
        robot: made of a tree of bodies, without natural constraints.
        path: of a file into which the URDF is written as well.
        p: parameters: nominal, overridden by name, or the whole vector.
        time_step: 0 for a continuous plant, otherwise the step of a discrete one [s].

    Raises:
        BridgeError: for a robot with natural constraints, without a tree, or with what URDF cannot say or Drake
            refuses.
        ModelError: for a negative time step.
        MissingPackageError: if Drake is not installed.

    Warns:
        BridgeWarning: of what Drake's parser leaves out, such as dry friction, and of inputs on several joints.
    """
    plant, left = build_plant(robot, path, p, time_step)
    if left:
        warnings.warn(
            f"{robot.name}: no JointActuator stands for {', '.join(left)}, which are not the torque or force of one "
            "joint each: connect the law's port 'generalized_force' in place of 'actuation'",
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
    """What :func:`export` returns, and the inputs for which it has no actuator.

    Args:
        robot: as for ``export``, like all of them.
        path: of a file for the URDF.
        p: parameters.
        time_step: of a discrete plant [s].
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
            f"{robot.name} has natural constraints ({names}), and a continuous MultibodyPlant has none; the "
            "constraints that Drake gives a discrete one are not those of a rigid robot. Use erugin.scenarios, or "
            "MuJoCo for loops"
        )
    if any(node.name == "world" for node in tree.nodes):
        raise BridgeError(f"{robot.name} has a joint 'world', which is the name of Drake's own body: rename it")
    whole = urdf(robot, path, p=p)
    if following := mimic_joints(whole):
        raise BridgeError(
            f"{robot.name}: bodies that a share of a joint carries ({', '.join(following)}) need joints that follow "
            "others, which Drake has in discrete time only, and soft. Use erugin.scenarios or MuJoCo"
        )
    if rubbing := friction_joints(whole):
        warnings.warn(
            f"{robot.name}: Drake has no dry friction in joints and leaves out that of {', '.join(rubbing)}",
            BridgeWarning,
            stacklevel=caller_stacklevel(),
        )
    text, taken = extract_multi_dof_joints(whole)
    gravity = robot.evaluate(tree.gravity, p=p)
    with drake_errors(f"the bodies of {robot.name}"):
        plant: MultibodyPlant = multibody.MultibodyPlant(period)
        with log_as_warning(robot.name):
            parsing.Parser(plant).AddModelsFromString(text, "urdf")
        for joint in taken:
            add_multi_dof_joint(plant, joint)
        plant.mutable_gravity_field().set_gravity_vector(gravity)
        left = _add_actuators(robot, plant, p)
        plant.Finalize()
    return plant, left


def _add_actuators(robot: Robot, plant: MultibodyPlant, p: Mapping[str, float] | ArrayLike | None) -> list[str]:
    """One for each input that acts on one joint alone, with its limit; the names of the others."""
    if plant.num_actuators() or not robot.input_names:
        return []
    left: list[str] = []
    joints = _single_joints(robot, p)
    for name, joint, effort in zip(robot.input_names, joints, robot.limits.effort.tolist(), strict=True):
        if joint is None:
            left.append(name)
        else:
            # Drake refuses a limit of zero, which is what files say that leave it out.
            plant.AddJointActuator(name, plant.GetJointByName(joint), effort if effort > 0.0 else np.inf)
    return left


def _single_joints(robot: Robot, p: Mapping[str, float] | ArrayLike | None) -> list[str | None]:
    """For each input the joint between two bodies whose torque or force it is, if it is that."""
    tree, c = require_tree(robot), robot.coordinates
    owner = {place: node.name for node, at in zip(tree.nodes, tree.places, strict=True) for place in at if len(at) == 1}
    if ca.depends_on(robot.input_matrix, ca.vertcat(c.t, c.q, c.v)):
        return [None] * len(robot.input_names)
    between = BodyTree.of(robot, p).relative_angles
    B = robot.evaluate(robot.input_matrix, p=p).reshape(c.nv, -1)
    columns = np.linalg.solve(between.T, B).T
    found: list[str | None] = []
    for column in columns:
        at = np.flatnonzero(np.abs(column) > 1e-12)
        found.append(owner.get(int(at[0])) if len(at) == 1 and abs(column[at[0]] - 1.0) < 1e-12 else None)
    return found
