"""The moving joints of a URDF file, and the frames of all links that are fixed to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from ..frame import Frame
from ..tree.body import WORLD
from ..tree.joints import Floating, Joint, Planar, Prismatic, Revolute
from . import description as elements
from .description import Description, Pose


@dataclass(frozen=True, eq=False)
class MovingJoint:
    """A joint that is left in the tree.

    Attributes:
        name: of the joint, or of the floating base.
        parent: place of the node that it hangs on, or ``WORLD``.
        placement: pose of the joint in that node.
        joint: how its child moves.
        source: what the file says; None for a floating base.
    """

    name: str
    parent: int
    placement: Frame
    joint: Joint
    source: elements.UrdfJoint | None

    @property
    def driven(self) -> bool:
        """Whether it has inputs: a joint that floats or follows another has none."""
        return self.source is not None and self.source.type != "floating" and self.source.mimic is None


@dataclass(frozen=True, eq=False)
class ReducedTree:
    """Where everything is.

    Attributes:
        moving: joints that are left, parents first, depth first, children in the order of the file.
        places: for each link, the node that it is fixed to (or ``WORLD``) and its pose there.
    """

    moving: tuple[MovingJoint, ...]
    places: Mapping[str, tuple[int, Frame]]


def reduce_tree(description: Description, *, floating: bool, held: Mapping[str, float]) -> ReducedTree:
    """Walk from the root to the leaves; what does not move becomes part of what carries it.

    Args:
        description: checked links and joints.
        floating: whether the root moves freely.
        held: positions of joints that are held there.
    """
    children: dict[str, list[elements.UrdfJoint]] = {}
    for source in description.joints.values():
        children.setdefault(source.parent, []).append(source)
    moving: list[MovingJoint] = []
    places: dict[str, tuple[int, Frame]] = {description.root: (WORLD, Frame.at())}
    if floating:
        name = description.root if description.root not in description.joints else f"{description.root}.base"
        moving.append(MovingJoint(name, WORLD, Frame.at(), Floating(), None))
        places[description.root] = (0, Frame.at())
    waiting = list(reversed(children.get(description.root, [])))
    while waiting:
        source = waiting.pop()
        node, pose = places[source.parent]
        placement, joint = pose @ frame_of(source.origin), _tree_joint(source)
        if joint is None:
            places[source.child] = (node, placement)
        elif source.name in held:
            places[source.child] = (node, placement @ joint.pose(ca.SX(held[source.name])))
        else:
            places[source.child] = (len(moving), Frame.at())
            moving.append(MovingJoint(source.name, node, placement, joint, source))
        waiting.extend(reversed(children.get(source.child, [])))
    return ReducedTree(tuple(moving), places)


def frame_of(pose: Pose) -> Frame:
    """A pose as constants of CasADi."""
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
