"""Joints of a MultibodyPlant in the order of the tree, with the poses that belong to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...robots.joints import Floating, Joint, Planar, Prismatic, Revolute
from ...symbolic.errors import BridgeError
from .foreign import DrakeJoint, MultibodyPlant, RigidTransform

Array = NDArray[np.float64]
KNOWN = ("revolute", "prismatic", "planar", "quaternion_floating", "weld")


@dataclass(frozen=True, eq=False)
class LoadedJoint:
    """A joint or a weld, and the body beyond it.

    Attributes:
        name: of the joint; with that of its model where two have the same.
        index: of the joint in Drake.
        body: index of the body beyond it.
        joint: ours; None for a weld.
        carrier: the moving joint whose frame carries the body: this one, or the one before a weld; None for the world.
        above: the moving joint before this one; None for the world.
        start_rotation: of the joint's frame in the frame of ``above``, shape (3, 3).
        start_position: likewise, shape (3,) [m].
        rotation: of the body in the frame of ``carrier``, shape (3, 3).
        position: likewise, shape (3,) [m].
        damping: shape (nv,).
        lower: least coordinates, shape (nq,).
        upper: greatest coordinates, shape (nq,).
        speed: greatest |v|, shape (nv,).
    """

    name: str
    index: int
    body: int
    joint: Joint | None
    carrier: LoadedJoint | None
    above: LoadedJoint | None
    start_rotation: Array
    start_position: Array
    rotation: Array
    position: Array
    damping: Array
    lower: Array
    upper: Array
    speed: Array

    @property
    def needed(self) -> Joint:
        """The joint, of one that is known to move."""
        assert self.joint is not None
        return self.joint


def loaded_joints(plant: MultibodyPlant) -> list[LoadedJoint]:
    """All joints, parents before their children, each behind what carries it.

    Args:
        plant: finalized.

    Raises:
        BridgeError: for a kind of joint that does not exist here, a body that two joints hold, a joint whose child is
            the world, or a floating joint that is damped.
    """
    joints = [plant.get_joint(index) for index in plant.GetJointIndices()]
    names = [joint.name() for joint in joints]
    odd = [f"{joint.name()!r} ({joint.type_name()})" for joint in joints if joint.type_name() not in KNOWN]
    if odd:
        raise BridgeError(
            f"joints of kinds that have no counterpart here: {', '.join(odd)}. Known are {', '.join(KNOWN)}: replace a "
            "ball or universal joint by revolute joints one behind the other, rpy_floating by quaternion_floating"
        )
    beyond: dict[int, list[DrakeJoint]] = {}
    held: dict[int, str] = {}
    for joint in joints:
        child = int(joint.child_body().index())
        if child in held:
            raise BridgeError(
                f"body {joint.child_body().name()!r} hangs on two joints, {held[child]!r} and {joint.name()!r}: only "
                "trees can be loaded; close loops by mechanism() on the robot of the open tree"
            )
        if child == 0:
            raise BridgeError(f"joint {joint.name()!r} has the world as its child: exchange parent and child")
        held[child] = joint.name()
        beyond.setdefault(int(joint.parent_body().index()), []).append(joint)
    found: list[LoadedJoint] = []
    world = (None, np.eye(3), np.zeros(3))
    pending: list[tuple[DrakeJoint, tuple[LoadedJoint | None, Array, Array]]] = []
    pending += [(joint, world) for joint in reversed(beyond.get(0, []))]
    while pending:
        joint, place = pending.pop()
        label = joint.name() if names.count(joint.name()) == 1 else _scoped(plant, joint)
        loaded = _loaded(joint, label, *place)
        found.append(loaded)
        here = (loaded.carrier, loaded.rotation, loaded.position)
        pending += [(after, here) for after in reversed(beyond.get(loaded.body, []))]
    return found


def _scoped(plant: MultibodyPlant, joint: DrakeJoint) -> str:
    return f"{plant.GetModelInstanceName(joint.model_instance())}::{joint.name()}"


def _loaded(joint: DrakeJoint, name: str, above: LoadedJoint | None, rotation: Array, position: Array) -> LoadedJoint:
    """One joint on a body that lies so in the frame of ``above``."""
    before, after = _pose(joint.frame_on_parent().GetFixedPoseInBodyFrame()), joint.frame_on_child()
    start = _product((rotation, position), before)
    R, x = _pose(after.GetFixedPoseInBodyFrame())
    back = R.T, -R.T @ x
    kind = _joint(joint)
    if kind is None:
        turned = _product(start, _pose(joint.X_FM()))
        body, carrier = _product(turned, back), above
    else:
        body, carrier = back, None
    damping = np.zeros(0) if kind is None else np.array(joint.default_damping_vector())
    if isinstance(kind, Floating) and damping.any():
        raise BridgeError(f"the floating joint {name!r} is damped, for which there is no counterpart: set it to zero")
    loaded = LoadedJoint(
        *(name, int(joint.index()), int(joint.child_body().index()), kind, carrier, above),
        *(*start, *body, damping),
        lower=np.array(joint.position_lower_limits()),
        upper=np.array(joint.position_upper_limits()),
        speed=_speed(joint),
    )
    if kind is not None:
        # A joint carries what is beyond it.
        object.__setattr__(loaded, "carrier", loaded)
    return loaded


def _joint(joint: DrakeJoint) -> Joint | None:
    axes: Mapping[str, str] = {"revolute": "revolute_axis", "prismatic": "translation_axis"}
    kind = joint.type_name()
    if kind in axes:
        axis = tuple(float(x) for x in getattr(joint, axes[kind])())
        return Revolute(axis) if kind == "revolute" else Prismatic(axis)
    if kind == "planar":
        return Planar()
    return Floating() if kind == "quaternion_floating" else None


def _speed(joint: DrakeJoint) -> Array:
    bounds = np.abs(np.array([joint.velocity_lower_limits(), joint.velocity_upper_limits()]))
    return np.asarray(bounds.min(axis=0))


def _pose(X: RigidTransform) -> tuple[Array, Array]:
    rotation, translation = X.rotation().matrix(), X.translation()
    return np.array(rotation), np.array(translation)


def _product(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array]:
    return first[0] @ second[0], first[0] @ second[1] + first[1]
