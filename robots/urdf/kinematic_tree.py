"""Checks that links and joints of a URDF file form one tree; positions of locked joints and their followers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from ...symbolic.errors import unknown_name
from ...symbolic.validation import finite
from .description import Description, UrdfJoint, UrdfLink
from .document import UrdfError, quote

_NAMED = 5
_PATH = 20


def find_root(file: str, links: Mapping[str, UrdfLink], joints: Mapping[str, UrdfJoint]) -> str:
    """Return the name of the root of the tree.

    Args:
        file: path of the file, for messages.
        links: links by name.
        joints: joints by name.

    Raises:
        UrdfError: if there is no link, a joint names an unknown link or joins one to itself, a link has two parents,
            links form a loop, or there are several roots.
    """
    if not links:
        raise UrdfError(f"{file}: the robot has no links")
    above: dict[str, UrdfJoint] = {}
    for joint in joints.values():
        location = _location(file, joint)
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise UrdfError(f"{location}: there is no link {quote(name)}, its {role}.{_nearest(name, links)}")
        if joint.parent == joint.child:
            raise UrdfError(f"{location}: the link {quote(joint.child)} is its own parent")
        other = above.setdefault(joint.child, joint)
        if other is not joint:
            raise UrdfError(
                f"{location}: the link {quote(joint.child)} has two parents, {quote(other.parent)} by the joint "
                f"{quote(other.name)} (line {other.line}) and {quote(joint.parent)}. URDF describes a tree: leave one "
                "joint out and close the loop with erugin.robots.mechanism"
            )
    _refuse_loops(file, above)
    roots = [link for link in links.values() if link.name not in above]
    if len(roots) > 1:
        listing = ", ".join(f"{quote(link.name)} (line {link.line})" for link in roots[:_NAMED])
        more = f" and {len(roots) - _NAMED} more" if len(roots) > _NAMED else ""
        raise UrdfError(
            f"{file}: the links must form one tree, but {len(roots)} of them have no parent: {listing}{more}; join them"
        )
    return roots[0].name


def order_followers(file: str, joints: Mapping[str, UrdfJoint]) -> list[UrdfJoint]:
    """Return all joints, each after the one that it follows.

    Args:
        file: path of the file, for messages.
        joints: joints by name.

    Raises:
        UrdfError: if a joint follows one that does not exist, has several coordinates, or follows it in turn.
    """
    order: dict[str, UrdfJoint] = {}
    for joint in joints.values():
        path: dict[str, UrdfJoint] = {}
        following = joint
        while following.name not in order:
            if following.name in path:
                names = list(path)
                loop = _path([*names[names.index(following.name) :], following.name])
                raise UrdfError(f"{_mimic_location(file, following)}: joints follow each other in a circle: {loop}")
            path[following.name] = following
            if following.mimic is None:
                break
            name = following.mimic.joint
            if name not in joints:
                raise UrdfError(
                    f"{_mimic_location(file, following)}: there is no joint {quote(name)}.{_nearest(name, joints)}"
                )
            if joints[name].type in ("planar", "floating"):
                raise UrdfError(
                    f"{_mimic_location(file, following)}: the joint {quote(name)} is {joints[name].type} and has no "
                    "single coordinate to follow"
                )
            following = joints[name]
        order |= reversed(path.items())
    return list(order.values())


def _refuse_loops(file: str, above: Mapping[str, UrdfJoint]) -> None:
    grounded: set[str] = set()
    for start in above:
        path: dict[str, None] = {}
        name = start
        while name in above and name not in grounded:
            if name in path:
                names = list(path)
                loop = [name, *reversed(names[names.index(name) :])]
                joints = _path([above[step].name for step in loop[1:]])
                raise UrdfError(
                    f"{_location(file, above[loop[1]])}: the links form a loop: {_path(loop)}, by the joints {joints}. "
                    "URDF describes a tree: leave one joint out and close the loop with erugin.robots.mechanism"
                )
            path[name] = None
            name = above[name].parent
        grounded |= path.keys()


def _path(names: list[str]) -> str:
    shown = names if len(names) <= _PATH else [*names[: _PATH // 2], "…", *names[-_PATH // 2 :]]
    return " → ".join(quote(name) for name in shown)


def _mimic_location(file: str, joint: UrdfJoint) -> str:
    line = joint.line if joint.mimic is None else joint.mimic.line
    return f"{file}, line {line}, <joint name={quote(joint.name)}>, <mimic>"


def _location(file: str, joint: UrdfJoint) -> str:
    return f"{file}, line {joint.line}, <joint name={quote(joint.name)}>"


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name[:80], list(known)[:1000], n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(map(quote, near))}?" if near else ""


_SAME = 1e-9


def locked_positions(description: Description, locked: Mapping[str, float]) -> dict[str, float]:
    """Return the position of each locked joint and of those that follow it.

    A joint that follows a locked or a fixed one is locked too, at multiplier · position + offset; a fixed joint is at
    zero.

    Args:
        description: checked links and joints.
        locked: requested positions, by the name of the joint.

    Raises:
        UrdfError: if a locked joint does not exist, has several coordinates, or follows another joint to a different
            position.
    """
    for name in locked:
        joint = description.joints.get(name)
        if joint is None:
            raise UrdfError(f"{description.file}: locked: {unknown_name('joint', name, description.joints)}")
        if joint.type in ("planar", "floating"):
            raise _error(description, joint, f"a {joint.type} joint has several coordinates and cannot be locked")
    positions = {joint.name: 0.0 for joint in description.joints.values() if joint.type == "fixed"}
    positions |= {name: finite(f"locked[{name!r}]", value) for name, value in locked.items() if name not in positions}
    for joint in order_followers(description.file, description.joints):
        mimic = joint.mimic
        if mimic is None:
            continue
        if mimic.joint in positions:
            position = mimic.multiplier * positions[mimic.joint] + mimic.offset
            locked_at = positions.setdefault(joint.name, position)
            if abs(locked_at - position) > _SAME:
                message = f"it cannot be at {locked_at:g}, because it follows {mimic.joint!r} to {position:g}"
                raise _error(description, joint, message)
        elif joint.name in locked:
            raise _error(description, joint, f"it follows {mimic.joint!r}: lock that joint instead")
    return {name: value for name, value in positions.items() if description.joints[name].type != "fixed"}


def _error(description: Description, joint: UrdfJoint, message: str) -> UrdfError:
    return UrdfError(f"{description.file}, line {joint.line}, <joint name={joint.name!r}>: locked: {message}")
