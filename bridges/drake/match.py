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
    """Compare names, M and h at states at random, and what each joint carries.

    h holds gravity, joint damping and the plant's other force elements; geometry takes no part.

    Args:
        robot: here.
        model: the plant there, finalized.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        names: joint here → joint there, for those that differ.
        model_instance: in which the joints are looked for; all if not given.
        tolerance: relative difference of M and h above which it is looked for what causes it.

    Raises:
        BridgeError: if joints are missing there, or are of another kind.
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
    # What else there is stays where it is: zero is no place of a body that floats.
    still = np.array(model.GetPositions(context))

    def dynamics(q: Array, v: Array) -> tuple[Array, Array]:
        model.SetPositions(context, np.where(own, q, still))
        model.SetVelocities(context, v)
        forces = multibody.MultibodyForces(model)
        model.CalcForceElementsContribution(context, forces)
        h = model.CalcBiasTerm(context) - model.CalcGeneralizedForces(context, forces)
        return model.CalcMassMatrix(context), h

    instances = {joint.model_instance() for joint in joints if joint.name() in found.values()}
    notes: list[str] = []
    for joint in joints:
        if joint.name() not in found.values():
            told = f"joint {joint.name()!r} moves there and not here"
            if joint.model_instance() not in instances:
                instance = model.GetModelInstanceName(joint.model_instance())
                told += f", in the model instance {instance!r}: model_instance= picks the robot's own"
            notes.append(told)
    if model.num_constraints():
        notes.append(f"the plant has {model.num_constraints()} constraint(s)")
    notes += [said] if (said := range_unit_mismatch(robot, _ranges(model, found, model_instance))) else []
    result = compare_dynamics(robot, dynamics, states, names=found, p=p, notes=tuple(notes))
    if result.difference(tolerance):
        bodies = subtree_differences(robot, subtree_masses(model, found, model_instance), p)
        result = dataclasses.replace(result, bodies=bodies)
    return result


def _ranges(
    model: MultibodyPlant, names: Mapping[str, str], model_instance: ModelInstanceIndex | None
) -> dict[str, tuple[float, float]]:
    """Least and greatest value of the joints that have one coordinate."""
    theirs = {joint.name(): joint for joint in moving_joints(model, model_instance) if joint.num_positions() == 1}
    return {
        here: (float(theirs[there].position_lower_limits()[0]), float(theirs[there].position_upper_limits()[0]))
        for here, there in names.items()
        if there in theirs
    }
