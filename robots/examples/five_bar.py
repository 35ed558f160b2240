"""Five-bar linkages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..mechanism import Closure, mechanism, with_inputs
from ..planar_linkage import Bar, Point, planar_linkage
from ..planar_manipulator import Link
from ..robot import Robot


def five_bar(
    left_crank: Link,
    left_rod: Link,
    right_crank: Link,
    right_rod: Link,
    *,
    ground: Point,
    inputs: Sequence[str] = ("left_crank", "right_crank"),
    gravity: float = 9.81,
) -> Robot:
    """Two arms of two links whose tips are joined at a pin: a parallel robot with two degrees of freedom.

    q = (left_crank, left_rod, right_crank, right_rod), absolute angles from x. The natural constraint ``tip pin`` holds
    ``left_rod.end``, also called ``tip``, on ``right_rod.end``; its reaction is the force [N] of the right rod on the
    left. Both motors stand on the ground. Where the rods lie in one line the cranks do not hold the tip.

    Args:
        left_crank: from the origin.
        left_rod: from the left crank's end.
        right_crank: from the pivot at ``ground``.
        right_rod: from the right crank's end.
        ground: the right crank's pivot (x, y) [m].
        inputs: which drives there are.
        gravity: g along −y [m/s²]; zero for a robot that lies flat.

    Raises:
        ModelError: for numbers out of their ranges, or an unknown input.
    """
    members = {
        "left_crank": Bar(left_crank, (0.0, 0.0)),
        "left_rod": Bar(left_rod, "left_crank.end"),
        "right_crank": Bar(right_crank, ground),
        "right_rod": Bar(right_rod, "right_crank.end"),
    }
    chain = ("left_crank.base", "left_crank.end", "left_rod.end", "right_crank.end", "right_crank.base")
    bars = planar_linkage(members, gravity=gravity, chain=chain, name="five-bar linkage")
    bars = dataclasses.replace(bars, points={**bars.points, "tip": bars.points["left_rod.end"]})
    pin = Closure("left_rod.end", "right_rod.end", "tip pin")
    return with_inputs(mechanism(bars, [pin], name=bars.name), inputs)
