"""The moving joints of a URDF file, and the frames of all links that are fixed to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from ..frame import Frame
from ..tree.joints import WORLD, Floating, Joint, Planar, Prismatic, Revolute
from . import description as elements
from .description import Description, Pose


@dataclass(frozen=True, eq=False)
class MovingJoint:
    """A moving joint.

    Attributes:
        name: name of the joint, or of the floating base.
        parent: index of the parent node, or ``WORLD``.
        placement: pose of the joint in that node.
        joint: joint model.
        source: joint of the file; None for a floating base.
    """

    name: str
    parent: int
    placement: Frame
    joint: Joint
    source: elements.UrdfJoint | None

    @property
    def driven(self) -> bool:
        """True if it has inputs; floating joints and those that follow another have none."""
        return self.source is not None and self.source.type != "floating" and self.source.mimic is None


@dataclass(frozen=True, eq=False)
class ReducedTree:
    """The moving joints, and the poses of all links.

    Attributes:
        moving: moving joints, parents first, depth first, children in the order of the file.
        placements: for each link, the node that it is fixed to (or ``WORLD``) and its pose in it.
    """

    moving: tuple[MovingJoint, ...]
    placements: Mapping[str, tuple[int, Frame]]


def reduce_tree(description: Description, *, floating: bool, locked: Mapping[str, float]) -> ReducedTree:
    """Walk from the root to the leaves, and attach links on fixed and locked joints to the nodes that carry them.

    Args:
        description: checked links and joints.
        floating: True if the root moves freely.
        locked: positions of locked joints by name.
    """
    children: dict[str, list[elements.UrdfJoint]] = {}
    for source in description.joints.values():
        children.setdefault(source.parent, []).append(source)
    moving: list[MovingJoint] = []
    placements: dict[str, tuple[int, Frame]] = {description.root: (WORLD, Frame.at())}
    if floating:
        name = description.root if description.root not in description.joints else f"{description.root}.base"
        moving.append(MovingJoint(name, WORLD, Frame.at(), Floating(), None))
        placements[description.root] = (0, Frame.at())
    waiting = list(reversed(children.get(description.root, [])))
    while waiting:
        source = waiting.pop()
        node, pose = placements[source.parent]
        placement, joint = pose @ to_frame(source.origin), _tree_joint(source)
        if joint is None:
            placements[source.child] = (node, placement)
        elif source.name in locked:
            placements[source.child] = (node, placement @ joint.pose(ca.SX(locked[source.name])))
        else:
            placements[source.child] = (len(moving), Frame.at())
            moving.append(MovingJoint(source.name, node, placement, joint, source))
        waiting.extend(reversed(children.get(source.child, [])))
    return ReducedTree(tuple(moving), placements)


def to_frame(pose: Pose) -> Frame:
    """Convert a pose to constants of CasADi."""
    return Frame(ca.SX(ca.DM(pose.matrix)), ca.SX(ca.DM(list(pose.position))))


def _tree_joint(source: elements.UrdfJoint) -> Joint | None:
    match source.type:
        case "fixed":
            return None
        case "revolute" | "continuous":
            return Revolute(source.axis)
        case "prismatic":
            return Prismatic(source.axis)
        case "planar":
            return Planar(source.axis)
        case "floating":
            return Floating()
