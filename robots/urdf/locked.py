"""Joints that are held at a position, and those that are held with them because they follow."""

from __future__ import annotations

from collections.abc import Mapping

from ...symbolic.arrays import finite
from ...symbolic.errors import unknown_name
from .elements import Description, Joint
from .errors import UrdfError
from .structure import order_followers

_SAME = 1e-9


def held_positions(description: Description, locked: Mapping[str, float]) -> dict[str, float]:
    """Position of each joint that moves neither by itself nor by the joint it follows.

    A joint that follows a held or a fixed one is held too, at multiplier · position + offset; a fixed joint is at zero.

    Args:
        description: checked links and joints.
        locked: positions asked for, by the name of the joint.

    Raises:
        UrdfError: if a locked joint does not exist, has several coordinates, or would have to leave its position
            because it follows another.
    """
    for name in locked:
        joint = description.joints.get(name)
        if joint is None:
            raise UrdfError(f"{description.file}: locked: {unknown_name('joint', name, description.joints)}")
        if joint.type in ("planar", "floating"):
            raise _error(description, joint, f"a {joint.type} joint has several coordinates and cannot be locked")
    held = {joint.name: 0.0 for joint in description.joints.values() if joint.type == "fixed"}
    held |= {name: finite(f"locked[{name!r}]", value) for name, value in locked.items() if name not in held}
    for joint in order_followers(description.file, description.joints):
        mimic = joint.mimic
        if mimic is None:
            continue
        if mimic.joint in held:
            position = mimic.multiplier * held[mimic.joint] + mimic.offset
            if abs(held.setdefault(joint.name, position) - position) > _SAME:
                message = f"it cannot be at {held[joint.name]:g}, because it follows {mimic.joint!r} to {position:g}"
                raise _error(description, joint, message)
        elif joint.name in locked:
            raise _error(description, joint, f"it follows {mimic.joint!r}: lock that joint instead")
    return {name: value for name, value in held.items() if description.joints[name].type != "fixed"}


def _error(description: Description, joint: Joint, message: str) -> UrdfError:
    return UrdfError(f"{description.file}, line {joint.line}, <joint name={joint.name!r}>: locked: {message}")
