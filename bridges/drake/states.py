"""Joints of a robot among those of a MultibodyPlant, by name."""

from __future__ import annotations

from collections.abc import Mapping

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ..names import places
from ..state_map import DRAKE, StateMap
from .foreign import DrakeJoint, ModelInstanceIndex, MultibodyPlant

WHERE = "the MultibodyPlant"
KINDS = {1: "revolute or prismatic", 3: "planar", 7: "quaternion_floating"}
"""Number of coordinates of a joint here → the joint there."""


def moving_joints(plant: MultibodyPlant, model_instance: ModelInstanceIndex | None = None) -> list[DrakeJoint]:
    """Joints that let something move, in Drake's order.

    Args:
        plant: finalized.
        model_instance: only its joints; those of all if not given.

    Raises:
        BridgeError: for what is no plant, or one that is not finalized.
    """
    if not hasattr(plant, "is_finalized"):
        raise BridgeError(f"a MultibodyPlant is needed, got {plant!r}; a file is made one by pydrake's Parser")
    if not plant.is_finalized():
        raise BridgeError("the MultibodyPlant is not finalized: call plant.Finalize() first")
    if model_instance is not None and type(model_instance).__name__ != "ModelInstanceIndex":
        raise BridgeError(f"model_instance must be a ModelInstanceIndex, got {model_instance!r}")
    indices = plant.GetJointIndices() if model_instance is None else plant.GetJointIndices(model_instance)
    joints = [plant.get_joint(index) for index in indices]
    return [joint for joint in joints if joint.num_positions() > 0]


def states_of(
    robot: Robot,
    plant: MultibodyPlant,
    *,
    names: Mapping[str, str] | None = None,
    model_instance: ModelInstanceIndex | None = None,
) -> tuple[StateMap, dict[str, str]]:
    """How a robot's state is written in a plant's.

    Args:
        robot: here.
        plant: there, finalized.
        names: joint here → joint there, for those that differ.
        model_instance: in which the joints are looked for; all if not given.

    Returns:
        The map, and joint here → joint there.

    Raises:
        BridgeError: if a joint is not there, or is of another kind.
    """
    ours = joint_names(robot)
    theirs = moving_joints(plant, model_instance)
    labels = [joint.name() for joint in theirs]
    where = WHERE if len(set(labels)) == len(labels) else f"{WHERE} (model_instance= picks one of its models)"
    at = places(list(ours), labels, where=where, names=names)
    slots: dict[str, tuple[int, int]] = {}
    for (name, coordinates), place in zip(ours.items(), at, strict=True):
        joint = theirs[place]
        kind = KINDS[len(coordinates)]
        if joint.num_positions() != len(coordinates) or (len(coordinates) > 1 and joint.type_name() != kind):
            raise BridgeError(
                f"joint {name!r} of {robot.name} has {len(coordinates)} coordinate(s), a {kind} joint in Drake, but "
                f"{joint.name()!r} of the plant is a {joint.type_name()} joint with {joint.num_positions()}"
            )
        q, v = joint.position_start(), joint.velocity_start()
        if len(coordinates) == 7:
            slots[name] = (q, v)
        else:
            slots |= {coordinate: (q + i, v + i) for i, coordinate in enumerate(coordinates)}
    states = StateMap(robot, DRAKE, slots, (plant.num_positions(), plant.num_velocities()))
    return states, {name: theirs[place].name() for name, place in zip(ours, at, strict=True)}


def joint_names(robot: Robot) -> dict[str, tuple[str, ...]]:
    """Name of each joint and of its coordinates; a robot without a tree has a joint for each coordinate.

    Args:
        robot: any.
    """
    if robot.tree is None:
        return {name: (name,) for name in robot.coordinates.names}
    return {node.name: tuple(f"{node.name}{end}" for end in node.joint.suffixes) for node in robot.tree.nodes}
