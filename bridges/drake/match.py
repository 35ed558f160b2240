"""Comparison of a MultibodyPlant with a robot."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import not_negative
from ..common.model_comparison import TOLERANCE, Match, compare_dynamics
from ..common.subtree_inertia import subtree_differences
from ..common.unit_mismatch import range_unit_mismatch
from .multibody_plant import ModelInstanceIndex, MultibodyPlant, match_states, moving_joints, subtree_masses

Array = NDArray[np.float64]


def match(
    robot: Robot,
    model: MultibodyPlant,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    names: Mapping[str, str] | None = None,
    model_instance: ModelInstanceIndex | None = None,
    tolerance: float = TOLERANCE,
) -> Match:
    """Compare names, M and h at random states, and the bodies on each joint.

    h contains gravity, joint damping and the plant's other force elements; geometry takes no part.

    Args:
        robot: the robot.
        model: the plant, finalized.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        names: joint of the robot → joint of the plant, for those that differ.
        model_instance: model instance of the joints; all if not given.
        tolerance: relative difference of M and h above which bodies are compared.

    Raises:
        BridgeError: if joints are missing from the plant or are of another kind.
        MissingPackageError: if Drake is not installed.
    """
    multibody = import_optional("pydrake.multibody.tree", "drake")
    tolerance = not_negative("tolerance", tolerance)
    states, found = match_states(robot, model, names=names, model_instance=model_instance)
    context = model.CreateDefaultContext()
    joints, own = moving_joints(model, model_instance), np.zeros(states.nq, dtype=np.bool_)
    for joint in joints:
        if joint.name() in found.values():
            own[joint.position_start() : joint.position_start() + joint.num_positions()] = True
    # Other joints stay at their defaults: zero is not a valid quaternion of a floating body.
    defaults = np.array(model.GetPositions(context))

    def dynamics(q: Array, v: Array) -> tuple[Array, Array]:
        model.SetPositions(context, np.where(own, q, defaults))
        model.SetVelocities(context, v)
        forces = multibody.MultibodyForces(model)
        model.CalcForceElementsContribution(context, forces)
        h = model.CalcBiasTerm(context) - model.CalcGeneralizedForces(context, forces)
        return model.CalcMassMatrix(context), h

    instances = {joint.model_instance() for joint in joints if joint.name() in found.values()}
    notes: list[str] = []
    for joint in joints:
        if joint.name() not in found.values():
            note = f"joint {joint.name()!r} moves in the plant and is missing in the robot"
            if joint.model_instance() not in instances:
                instance = model.GetModelInstanceName(joint.model_instance())
                note += f"; it belongs to the model instance {instance!r}: select the robot's own by model_instance="
            notes.append(note)
    if model.num_constraints():
        notes.append(f"the plant has {model.num_constraints()} constraint(s)")
    notes += [text] if (text := range_unit_mismatch(robot, _ranges(model, found, model_instance))) else []
    result = compare_dynamics(robot, dynamics, states, names=found, p=p, notes=tuple(notes))
    if result.difference(tolerance):
        bodies = subtree_differences(robot, subtree_masses(model, found, model_instance), p)
        result = dataclasses.replace(result, bodies=bodies)
    return result


def _ranges(
    model: MultibodyPlant, names: Mapping[str, str], model_instance: ModelInstanceIndex | None
) -> dict[str, tuple[float, float]]:
    """Least and greatest value of joints with one coordinate, by the robot's name."""
    theirs = {joint.name(): joint for joint in moving_joints(model, model_instance) if joint.num_positions() == 1}
    return {
        own: (float(theirs[other].position_lower_limits()[0]), float(theirs[other].position_upper_limits()[0]))
        for own, other in names.items()
        if other in theirs
    }
