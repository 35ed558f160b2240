"""Joints, actuators and bodies of a MultibodyPlant, by name.

Drake's types are Any here, because its stubs type array arguments wrongly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ...symbolic.optional_dependencies import import_optional
from ..common.body_tree import MassProperties
from ..common.name_matching import match_names
from ..common.state_conversion import DRAKE, StateConversion

MultibodyPlant = Any
ModelInstanceIndex = Any
RigidBody = Any
DrakeJoint = Any
Simulator = Any
Context = Any
State = Any
BasicVector = Any
OutputPort = Any
Diagram = Any
DrakeFrame = Any
RigidTransform = Any
SpatialInertia = Any


PLANT = "the MultibodyPlant"
KINDS = {1: "revolute or prismatic", 3: "planar", 7: "quaternion_floating"}
"""Number of coordinates of a joint of the robot → type of the joint in Drake."""


def moving_joints(plant: MultibodyPlant, model_instance: ModelInstanceIndex | None = None) -> list[DrakeJoint]:
    """Joints with at least one coordinate, in Drake's order.

    Args:
        plant: the plant, finalized.
        model_instance: model instance of the joints; all if not given.

    Raises:
        BridgeError: for an object that is not a finalized plant, or a model instance that the plant does not have.
    """
    if not hasattr(plant, "is_finalized"):
        raise BridgeError(f"expected a MultibodyPlant, got {plant!r}; pydrake's Parser reads one from a file")
    if not plant.is_finalized():
        raise BridgeError("the MultibodyPlant is not finalized: call plant.Finalize() first")
    if model_instance is not None:
        kind = import_optional("pydrake.multibody.tree", "drake").ModelInstanceIndex
        if not isinstance(model_instance, kind) or not 0 <= int(model_instance) < plant.num_model_instances():
            raise BridgeError(
                "model_instance must be one that the plant has, such as plant.GetModelInstanceByName(name), got "
                f"{model_instance!r}"
            )
    indices = plant.GetJointIndices() if model_instance is None else plant.GetJointIndices(model_instance)
    joints = [plant.get_joint(index) for index in indices]
    return [joint for joint in joints if joint.num_positions() > 0]


def match_states(
    robot: Robot,
    plant: MultibodyPlant,
    *,
    names: Mapping[str, str] | None = None,
    model_instance: ModelInstanceIndex | None = None,
) -> tuple[StateConversion, dict[str, str]]:
    """Match the joints of a robot and of a plant by name.

    Args:
        robot: the robot.
        plant: the plant, finalized.
        names: joint of the robot → joint of the plant, for those that differ.
        model_instance: model instance of the joints; all if not given.

    Returns:
        The conversion of states, and a dict: joint of the robot → joint of the plant.

    Raises:
        BridgeError: if a joint is missing from the plant or is of another kind.
    """
    ours = joint_names(robot)
    theirs = moving_joints(plant, model_instance)
    labels = [joint.name() for joint in theirs]
    where = PLANT if len(set(labels)) == len(labels) else f"{PLANT} (model_instance= selects one of its models)"
    at = match_names(list(ours), labels, where=where, names=names)
    slots: dict[str, tuple[int, int]] = {}
    for (name, coordinates), index in zip(ours.items(), at, strict=True):
        joint = theirs[index]
        kind = KINDS[len(coordinates)]
        if joint.num_positions() != len(coordinates) or (len(coordinates) > 1 and joint.type_name() != kind):
            raise BridgeError(
                f"joint {name!r} of {robot.name} has {len(coordinates)} coordinate(s) and must be a {kind} joint in "
                f"Drake, but {joint.name()!r} of the plant is a {joint.type_name()} joint with {joint.num_positions()}"
            )
        q, v = joint.position_start(), joint.velocity_start()
        if len(coordinates) == 7:
            slots[name] = (q, v)
        else:
            slots |= {coordinate: (q + i, v + i) for i, coordinate in enumerate(coordinates)}
    states = StateConversion(robot, DRAKE, slots, (plant.num_positions(), plant.num_velocities()))
    return states, {name: theirs[index].name() for name, index in zip(ours, at, strict=True)}


def joint_names(robot: Robot) -> dict[str, tuple[str, ...]]:
    """Name of each joint → names of its coordinates; without a tree each coordinate is a joint.

    Args:
        robot: the robot.
    """
    if robot.tree is None:
        return {name: (name,) for name in robot.coordinates.names}
    return {node.name: tuple(f"{node.name}{end}" for end in node.joint.suffixes) for node in robot.tree.nodes}


@dataclass(frozen=True)
class JointActuators:
    """Joint actuators of a plant, and the joints without one.

    Attributes:
        indices: name of each actuator → index of its joint's velocity, in the order of the plant's actuation.
        free: index of each velocity without an actuator → name of its joint.
        instances: name of each model instance in which the controller has joints with actuators → indices of the
            velocities of all actuators in it, in the order of the instance's actuation.
    """

    indices: Mapping[str, int]
    free: Mapping[int, str]
    instances: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(
        cls,
        plant: MultibodyPlant,
        joints: Collection[str] | None = None,
        model_instance: ModelInstanceIndex | None = None,
    ) -> JointActuators:
        """Find the joint actuators of a plant.

        Args:
            plant: the plant, finalized.
            joints: names of the joints that the controller drives; all if not given.
            model_instance: model instance of these joints; any if not given.

        Raises:
            BridgeError: if several actuators drive one joint of the controller.
        """
        indices: dict[str, int] = {}
        instances: dict[str, list[int]] = {}
        driven: dict[int, str] = {}
        served: set[str] = set()
        # Actuation vectors of the plant and of instances are in the order of actuator indices.
        for index in plant.GetJointActuatorIndices():
            actuator = plant.get_joint_actuator(index)
            name, joint = actuator.name(), actuator.joint()
            instance, at = plant.GetModelInstanceName(joint.model_instance()), joint.velocity_start()
            indices[name if name not in indices else f"{name} {int(index)}"] = at
            instances.setdefault(instance, []).append(at)
            inside = model_instance is None or joint.model_instance() == model_instance
            if not inside or (joints is not None and joint.name() not in joints):
                continue
            if at in driven:
                raise BridgeError(
                    f"joint {joint.name()!r} of the plant has the actuators {driven[at]!r} and {name!r}, but a "
                    "controller has one torque or force for it. Remove one before Finalize()"
                )
            driven[at] = name
            served.add(instance)
        free = {
            joint.velocity_start() + i: joint.name()
            for joint in moving_joints(plant)
            for i in range(joint.num_velocities())
            if joint.velocity_start() not in indices.values()
        }
        return cls(indices, free, {name: tuple(at) for name, at in instances.items() if name in served})


Array = NDArray[np.float64]


def subtree_masses(
    plant: MultibodyPlant, names: Mapping[str, str], model_instance: ModelInstanceIndex | None = None
) -> dict[str, MassProperties]:
    """Joint of the robot → mass properties of the body on it in the plant, including bodies welded to it.

    Args:
        plant: the plant.
        names: joint of the robot → joint of the plant.
        model_instance: model instance of the joints; all if not given.
    """
    theirs = {joint.name(): joint for joint in moving_joints(plant, model_instance)}
    context, found = plant.CreateDefaultContext(), dict[str, MassProperties]()
    for own, other in names.items():
        body = theirs[other].child_body()
        welded = [part.index() for part in plant.GetBodiesWeldedTo(body)]
        found[own] = MassProperties(*_mass_center_inertia(plant.CalcSpatialInertia(context, body.body_frame(), welded)))
    return found


def all_bodies(plant: MultibodyPlant) -> list[RigidBody]:
    """Bodies of a plant, without the world.

    Args:
        plant: the plant.
    """
    index = import_optional("pydrake.multibody.tree", "drake").BodyIndex
    return [plant.get_body(index(i)) for i in range(1, plant.num_bodies())]


def mass_properties(body: RigidBody) -> tuple[float, Array, Array]:
    """Mass [kg], centre of mass [m] and inertia about it [kg m²] in the body's frame, shapes (), (3,) and (3, 3).

    Args:
        body: a body of a plant.
    """
    return _mass_center_inertia(body.default_spatial_inertia())


def _mass_center_inertia(spatial: SpatialInertia) -> tuple[float, Array, Array]:
    mass, center = float(spatial.get_mass()), np.array(spatial.get_com())
    about_origin = np.array(spatial.CalcRotationalInertia().CopyToFullMatrix3())
    inertia = about_origin - mass * ((center @ center) * np.eye(3) - np.outer(center, center))
    values, axes = np.linalg.eigh((inertia + inertia.T) / 2)
    # Rounding errors of the difference of large numbers.
    values[np.abs(values) < 1e-14 * np.abs(about_origin).max()] = 0.0
    return mass, center, (axes * values) @ axes.T
