"""Where the actuators of a MultibodyPlant push."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ...symbolic.errors import BridgeError
from .foreign import ModelInstanceIndex, MultibodyPlant
from .states import moving_joints


@dataclass(frozen=True)
class Actuators:
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
    ) -> Actuators:
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
