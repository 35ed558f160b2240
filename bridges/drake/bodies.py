"""Masses and principal moments of bodies that a robot and a MultibodyPlant both have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ..extras import require
from .foreign import MultibodyPlant, RigidBody

Array = NDArray[np.float64]
TOLERANCE = 1e-9


def body_differences(
    robot: Robot, plant: MultibodyPlant, p: Mapping[str, float] | ArrayLike | None = None
) -> dict[str, str]:
    """Name → what differs, of bodies with the same name.

    Args:
        robot: here.
        plant: there.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
    """
    found: dict[str, str] = {}
    bodies = [] if robot.tree is None else [body for node in robot.tree.nodes for body in node.bodies]
    for body in bodies:
        theirs = [other for other in all_bodies(plant) if other.name() == body.name]
        if len(theirs) != 1:
            continue
        mass, _, inertia = mass_of(theirs[0])
        own = float(robot.evaluate(body.mass, p=p))
        own_moments = np.linalg.eigvalsh(robot.evaluate(body.inertia, p=p))
        moments = np.linalg.eigvalsh(inertia)
        said: list[str] = []
        if abs(own - mass) > TOLERANCE * max(own, mass):
            said.append(f"mass {own:.9g} kg here and {mass:.9g} kg there")
        if np.abs(own_moments - moments).max() > TOLERANCE * max(own_moments[-1], moments[-1], 1e-300):
            here, there = (", ".join(f"{x:.6g}" for x in values) for values in (own_moments, moments))
            said.append(f"principal moments ({here}) kg m² here and ({there}) kg m² there")
        if said:
            found[body.name] = f"body {body.name!r}: {'; '.join(said)}"
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
    spatial = body.default_spatial_inertia()
    mass, center = float(spatial.get_mass()), np.array(spatial.get_com())
    about_origin = np.array(spatial.CalcRotationalInertia().CopyToFullMatrix3())
    inertia = about_origin - mass * ((center @ center) * np.eye(3) - np.outer(center, center))
    values, axes = np.linalg.eigh((inertia + inertia.T) / 2)
    # What is left of a difference of large numbers is rounding.
    values[np.abs(values) < 1e-14 * np.abs(about_origin).max()] = 0.0
    return mass, center, (axes * values) @ axes.T
