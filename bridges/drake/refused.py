"""What a MultibodyPlant can have and a robot here cannot."""

from __future__ import annotations

import warnings

from ...symbolic.errors import BridgeError, BridgeWarning, caller_level
from ...symbolic.extras import require
from .bodies import all_bodies
from .foreign import MultibodyPlant

WORDS = ("rotors", "constraints", "forces", "controllers")


def refuse(plant: MultibodyPlant, name: str, ignore: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Look for what has no counterpart.

    Args:
        plant: finalized.
        name: of the model, for messages.
        ignore: what is told in place of refused.

    Returns:
        Springs of joints, which have one: name → stiffness and rest.

    Raises:
        BridgeError: for what is not to be ignored, by name, or a word that does not exist.
    """
    unknown = [word for word in ignore if word not in WORDS]
    if unknown:
        raise BridgeError(f"ignore knows {', '.join(WORDS)}, got {', '.join(map(repr, unknown))}")
    springs, forces = _forces(plant)
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    rotors = [a for a in actuators if a.default_reflected_inertia()]
    found = {
        "rotors": [f"actuator {a.name()!r} reflects {a.default_reflected_inertia():g} (kg m² or kg)" for a in rotors],
        "constraints": [f"{plant.num_constraints()} constraint(s)"] if plant.num_constraints() else [],
        "forces": forces,
        "controllers": [f"actuator {a.name()!r} has a PD controller" for a in actuators if a.has_controller()],
    }
    left = [text for word in WORDS if word not in ignore for text in found[word]]
    if left:
        words = [word for word in WORDS if found[word] and word not in ignore]
        raise BridgeError(
            f"{name} has what has no counterpart here: {'; '.join(left)}. Remove it from the plant, or pass "
            f"ignore={tuple(words)!r} to load the rest"
        )
    told = [text for word in ignore for text in found[word]]
    if plant.num_collision_geometries():
        told.append(f"{plant.num_collision_geometries()} geometries that could collide")
    if told:
        warnings.warn(f"left out of {name}: {'; '.join(told)}", BridgeWarning, stacklevel=caller_level())
    return springs


def _forces(plant: MultibodyPlant) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Springs of joints, and force elements that are neither these nor gravity."""
    tree = require("pydrake.multibody.tree", "drake")
    springs: dict[str, tuple[float, float]] = {}
    others: list[str] = []
    for i in range(plant.num_force_elements()):
        element = plant.get_force_element(tree.ForceElementIndex(i))
        if isinstance(element, tree.RevoluteSpring):
            springs[element.joint().name()] = (
                float(element.default_stiffness()),
                float(element.default_nominal_angle()),
            )
        elif isinstance(element, tree.PrismaticSpring):
            springs[element.joint().name()] = (float(element.stiffness()), float(element.nominal_position()))
        elif type(element).__name__ not in ("UniformGravityFieldElement", "GravityForceField"):
            others.append(f"the force element {type(element).__name__} number {i}")
    gravity_off = [
        str(plant.GetModelInstanceName(body.model_instance()))
        for body in all_bodies(plant)
        if not plant.is_gravity_enabled(body.model_instance())
    ]
    others += [f"gravity switched off for {name!r}" for name in dict.fromkeys(gravity_off)]
    return springs, others
