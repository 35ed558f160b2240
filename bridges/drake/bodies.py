"""Masses of the bodies of a MultibodyPlant."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...symbolic.extras import require
from ..tree_values import Mass
from .foreign import ModelInstanceIndex, MultibodyPlant, RigidBody, SpatialInertia
from .states import moving_joints

Array = NDArray[np.float64]


def carried(
    plant: MultibodyPlant, names: Mapping[str, str], model_instance: ModelInstanceIndex | None = None
) -> dict[str, Mass]:
    """Joint here → all that moves with it there, bodies that are welded to each other as one.

    Args:
        plant: there.
        names: joint here → joint there.
        model_instance: in which the joints are looked for; all if not given.
    """
    theirs = {joint.name(): joint for joint in moving_joints(plant, model_instance)}
    context, found = plant.CreateDefaultContext(), dict[str, Mass]()
    for here, there in names.items():
        body = theirs[there].child_body()
        welded = [other.index() for other in plant.GetBodiesWeldedTo(body)]
        found[here] = Mass(*_parts(plant.CalcSpatialInertia(context, body.body_frame(), welded)))
    return found


def all_bodies(plant: MultibodyPlant) -> list[RigidBody]:
    """Bodies of a plant but the world.

    Args:
        plant: there.
    """
    index = require("pydrake.multibody.tree", "drake").BodyIndex
    return [plant.get_body(index(i)) for i in range(1, plant.num_bodies())]


def mass_of(body: RigidBody) -> tuple[float, Array, Array]:
    """Mass [kg], centre of mass [m] and inertia about it [kg m²] in the body's frame, shapes (), (3,) and (3, 3).

    Args:
        body: of a plant.
    """
    return _parts(body.default_spatial_inertia())


def _parts(spatial: SpatialInertia) -> tuple[float, Array, Array]:
    mass, center = float(spatial.get_mass()), np.array(spatial.get_com())
    about_origin = np.array(spatial.CalcRotationalInertia().CopyToFullMatrix3())
    inertia = about_origin - mass * ((center @ center) * np.eye(3) - np.outer(center, center))
    values, axes = np.linalg.eigh((inertia + inertia.T) / 2)
    # What is left of a difference of large numbers is rounding.
    values[np.abs(values) < 1e-14 * np.abs(about_origin).max()] = 0.0
    return mass, center, (axes * values) @ axes.T
