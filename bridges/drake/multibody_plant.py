"""Joints, actuators and bodies of a MultibodyPlant, by name.

Types of Drake are left open here: its own stubs take arrays for something that no array is.
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
"""Number of coordinates of a joint here → the joint there."""


def moving_joints(plant: MultibodyPlant, model_instance: ModelInstanceIndex | None = None) -> list[DrakeJoint]:
    """Joints that let something move, in Drake's order.

    Args:
        plant: finalized.
        model_instance: only its joints; those of all if not given.

    Raises:
        BridgeError: for what is no plant, one that is not finalized, or a model instance that it does not have.
    """
    if not hasattr(plant, "is_finalized"):
        raise BridgeError(f"a MultibodyPlant is needed, got {plant!r}; a file is made one by pydrake's Parser")
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
    where = PLANT if len(set(labels)) == len(labels) else f"{PLANT} (model_instance= picks one of its models)"
    at = match_names(list(ours), labels, where=where, names=names)
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
    states = StateConversion(robot, DRAKE, slots, (plant.num_positions(), plant.num_velocities()))
    return states, {name: theirs[place].name() for name, place in zip(ours, at, strict=True)}


def joint_names(robot: Robot) -> dict[str, tuple[str, ...]]:
    """Name of each joint and of its coordinates; a robot without a tree has a joint for each coordinate.

    Args:
        robot: any.
    """
    if robot.tree is None:
        return {name: (name,) for name in robot.coordinates.names}
    return {node.name: tuple(f"{node.name}{end}" for end in node.joint.suffixes) for node in robot.tree.nodes}


@dataclass(frozen=True)
class JointActuators:
    """Joint actuators of a plant, and the joints without one.

    Attributes:
        places: name of each actuator → place of its joint's velocity, in the order of the plant's actuation.
        free: place of each velocity that no actuator drives → name of its joint.
        instances: name of each model instance in which a law has joints with actuators → places of the velocities of
            all actuators in it, in the order of the instance's actuation.
    """

    places: Mapping[str, int]
    free: Mapping[int, str]
    instances: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(
        cls,
        plant: MultibodyPlant,
        joints: Collection[str] | None = None,
        model_instance: ModelInstanceIndex | None = None,
    ) -> JointActuators:
        """Look at a plant.

        Args:
            plant: finalized.
            joints: names of those that a law drives; all if not given.
            model_instance: in which they are; any if not given.

        Raises:
            BridgeError: if several actuators drive one joint of the law.
        """
        places: dict[str, int] = {}
        instances: dict[str, list[int]] = {}
        driven: dict[int, str] = {}
        served: set[str] = set()
        # Actuators of the plant, and of each instance, count in the order of their indices.
        for index in plant.GetJointActuatorIndices():
            actuator = plant.get_joint_actuator(index)
            name, joint = actuator.name(), actuator.joint()
            instance, place = plant.GetModelInstanceName(joint.model_instance()), joint.velocity_start()
            places[name if name not in places else f"{name} {int(index)}"] = place
            instances.setdefault(instance, []).append(place)
            inside = model_instance is None or joint.model_instance() == model_instance
            if not inside or (joints is not None and joint.name() not in joints):
                continue
            if place in driven:
                raise BridgeError(
                    f"joint {joint.name()!r} of the plant has the actuators {driven[place]!r} and {name!r}: a law says "
                    "one torque or force for it. Remove one before Finalize()"
                )
            driven[place] = name
            served.add(instance)
        free = {
            joint.velocity_start() + i: joint.name()
            for joint in moving_joints(plant)
            for i in range(joint.num_velocities())
            if joint.velocity_start() not in places.values()
        }
        return cls(places, free, {name: tuple(at) for name, at in instances.items() if name in served})


Array = NDArray[np.float64]


def subtree_masses(
    plant: MultibodyPlant, names: Mapping[str, str], model_instance: ModelInstanceIndex | None = None
) -> dict[str, MassProperties]:
    """Joint here → all that moves with it there, bodies that are welded to each other as one.

    Args:
        plant: there.
        names: joint here → joint there.
        model_instance: in which the joints are looked for; all if not given.
    """
    theirs = {joint.name(): joint for joint in moving_joints(plant, model_instance)}
    context, found = plant.CreateDefaultContext(), dict[str, MassProperties]()
    for here, there in names.items():
        body = theirs[there].child_body()
        welded = [other.index() for other in plant.GetBodiesWeldedTo(body)]
        found[here] = MassProperties(
            *_mass_center_inertia(plant.CalcSpatialInertia(context, body.body_frame(), welded))
        )
    return found


def all_bodies(plant: MultibodyPlant) -> list[RigidBody]:
    """Bodies of a plant but the world.

    Args:
        plant: there.
    """
    index = import_optional("pydrake.multibody.tree", "drake").BodyIndex
    return [plant.get_body(index(i)) for i in range(1, plant.num_bodies())]


def mass_properties(body: RigidBody) -> tuple[float, Array, Array]:
    """Mass [kg], centre of mass [m] and inertia about it [kg m²] in the body's frame, shapes (), (3,) and (3, 3).

    Args:
        body: of a plant.
    """
    return _mass_center_inertia(body.default_spatial_inertia())


def _mass_center_inertia(spatial: SpatialInertia) -> tuple[float, Array, Array]:
    mass, center = float(spatial.get_mass()), np.array(spatial.get_com())
    about_origin = np.array(spatial.CalcRotationalInertia().CopyToFullMatrix3())
    inertia = about_origin - mass * ((center @ center) * np.eye(3) - np.outer(center, center))
    values, axes = np.linalg.eigh((inertia + inertia.T) / 2)
    # What is left of a difference of large numbers is rounding.
    values[np.abs(values) < 1e-14 * np.abs(about_origin).max()] = 0.0
    return mass, center, (axes * values) @ axes.T
