"""Joints that are tied to each other, as joints that follow one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ..held import Coupling
from ..solids import SolidTree

ROUNDING = 1e-9


@dataclass(frozen=True)
class Follower:
    """q = ratio q_leader + offset.

    Attributes:
        solid: place in the tree of what follows.
        leader: place of what it follows, which follows nothing itself.
        ratio: of the two.
        offset: where the leader is at zero [rad or m].
    """

    solid: int
    leader: int
    ratio: float
    offset: float


def followers(robot: Robot, tree: SolidTree, couplings: Sequence[Coupling], order: Sequence[int]) -> list[Follower]:
    """Each joint of a group that is tied together follows the first, as Pinocchio's may follow one before them only.

    Args:
        robot: whose message it is.
        tree: its bodies.
        couplings: sums of the joints' coordinates.
        order: number in the model of each solid's joint.

    Raises:
        BridgeError: for a sum that is not one of two hinges or slides, or ties them twice, by name.
    """
    single = {solid.at_v: k for k, solid in enumerate(tree.solids) if solid.kind in ("hinge", "slide")}
    ties: dict[int, list[tuple[int, float, float, str]]] = {}
    for coupling in couplings:
        if len(coupling.shares) != 2 or not all(i in single for i in coupling.shares):
            raise BridgeError(
                f"{robot.name}: the natural constraint {coupling.name!r} ties {len(coupling.shares)} coordinates; "
                "Pinocchio has joints of one coordinate that follow one other"
            )
        (i, a), (j, b) = coupling.shares.items()
        first, second = single[i], single[j]
        ties.setdefault(first, []).append((second, -a / b, -coupling.constant / b, coupling.name))
        ties.setdefault(second, []).append((first, -b / a, -coupling.constant / a, coupling.name))
    found: dict[int, Follower] = {}
    for leader in sorted(ties, key=lambda k: order[k]):
        if leader in found:
            continue
        found[leader] = Follower(leader, leader, 1.0, 0.0)
        waiting = [leader]
        while waiting:
            one = found[waiting.pop()]
            for other, ratio, offset, name in ties[one.solid]:
                own = Follower(other, leader, ratio * one.ratio, ratio * one.offset + offset)
                known = found.setdefault(other, own)
                if known is own:
                    waiting.append(other)
                elif abs(known.ratio - own.ratio) + abs(known.offset - own.offset) > ROUNDING * (1 + abs(own.ratio)):
                    raise BridgeError(
                        f"{robot.name}: {name!r} and other natural constraints tie {tree.solids[other].name!r} in two "
                        "ways, so that it cannot move"
                    )
    # Model by model: what is rebuilt first must not be what others follow.
    return sorted((f for f in found.values() if f.solid != f.leader), key=lambda f: order[f.solid])
