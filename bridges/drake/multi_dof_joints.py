"""Floating and planar joints, added to a MultibodyPlant outside its URDF parser."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.tree import Planar
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import constant_values
from .multibody_plant import MultibodyPlant, RigidBody

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MultiDofJoint:
    """A floating or planar joint.

    Attributes:
        name: name of the joint.
        kind: ``"floating"`` or ``"planar"``.
        parent: name of the parent link.
        child: name of the child link.
        position: position of the joint in the parent, shape (3,) [m].
        angles: roll, pitch and yaw of the joint in the parent, shape (3,) [rad].
        axis: normal of a planar joint, shape (3,).
        damping: damping of each velocity of a planar joint.
    """

    name: str
    kind: str
    parent: str
    child: str
    position: Array
    angles: Array
    axis: Array
    damping: float


def extract_multi_dof_joints(text: str) -> tuple[str, list[MultiDofJoint]]:
    """Split a URDF into one without floating and planar joints, and these joints.

    Drake would turn floating joints into free bodies without a name. Dry friction, which Drake's parser ignores with a
    warning, is removed too.

    Args:
        text: the URDF.
    """
    robot = ET.fromstring(text)
    found: list[MultiDofJoint] = []
    for joint in robot.findall("joint"):
        kind = joint.get("type", "")
        if kind in ("floating", "planar"):
            parent, child = (_attribute(joint, tag, "link") for tag in ("parent", "child"))
            position, angles, axis = (
                np.array([float(x) for x in (_attribute(joint, tag, key) or default).split()])
                for tag, key, default in (
                    ("origin", "xyz", "0 0 0"),
                    ("origin", "rpy", "0 0 0"),
                    ("axis", "xyz", "1 0 0"),
                )
            )
            damping = float(_attribute(joint, "dynamics", "damping") or 0.0)
            found.append(MultiDofJoint(joint.get("name", ""), kind, parent, child, position, angles, axis, damping))
            robot.remove(joint)
        for dynamics in joint.findall("dynamics"):
            dynamics.attrib.pop("friction", None)
    return ET.tostring(robot, encoding="unicode"), found


def add_multi_dof_joint(plant: MultibodyPlant, joint: MultiDofJoint) -> None:
    """Add a floating or planar joint to a plant that has its bodies.

    Args:
        plant: the plant, not yet finalized.
        joint: the joint.
    """
    tree, maths = import_optional("pydrake.multibody.tree", "drake"), import_optional("pydrake.math", "drake")
    pose = maths.RigidTransform(maths.RollPitchYaw(joint.angles), joint.position)
    parent, child = _body(plant, joint.parent), _body(plant, joint.child)
    turned = maths.RigidTransform()
    if joint.kind == "planar":
        moved = constant_values(Planar(joint.axis.tolist()).subspace(ca.SX.zeros(3)).linear)
        assert moved is not None
        x, y = moved[:, 0], moved[:, 1]
        # Drake's planar joint moves in the xy plane of its frames.
        turned = maths.RigidTransform(maths.RotationMatrix(np.column_stack([x, y, np.cross(x, y)])))
    on_parent = plant.AddFrame(tree.FixedOffsetFrame(f"{joint.name} on its parent", parent, pose @ turned))
    on_child = plant.AddFrame(tree.FixedOffsetFrame(f"{joint.name} on its child", child, turned))
    if joint.kind == "planar":
        plant.AddJoint(tree.PlanarJoint(joint.name, on_parent, on_child, [joint.damping] * 3))
    else:
        plant.AddJoint(tree.QuaternionFloatingJoint(joint.name, on_parent, on_child))


def _body(plant: MultibodyPlant, link: str) -> RigidBody:
    return plant.world_body() if link == "world" else plant.GetBodyByName(link)


def _attribute(element: ET.Element, tag: str, key: str) -> str:
    found = element.find(tag)
    return "" if found is None else found.get(key, "")
