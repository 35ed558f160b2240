"""Lines that represent a robot in pictures: along its chain of points, or along the joints of its tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np

from ..robots.robot import Robot
from ..robots.tree.joints import WORLD
from ..robots.tree.tree import Tree
from ..symbolic.errors import ModelError, unknown_name

Kind = Literal["link", "wheel"]
TRACED = ("tip", "axle")
"""Points whose path is drawn, if a robot has them; otherwise that of the last of its points that moves."""
TRIADS = 3
"""Largest number of frames that are all drawn; otherwise only that of the traced point is."""
DRAWS, SEED = 4, 7
"""Number of random coordinates, and their seed, for finding out which points are fixed in which body."""
FIXED = 1e-9
"""Largest movement of a point in the body in which it is fixed, relative to the size of the robot."""


@dataclass(frozen=True)
class SkeletonLine:
    """A line through some of the positions.

    Attributes:
        places: indices of the positions, in drawing order.
        kind: kind of the line.
    """

    places: tuple[int, ...]
    kind: Kind = "link"


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Positions, lines and frames drawn for a robot.

    Attributes:
        places: expressions of the positions in the robot's t, q, v and p, shape (dimension, number of them) [m].
        lines: lines through the positions.
        triads: rotations of the drawn frames, side by side, shape (3, 3 · number of them).
        origins: index of the origin of each of these frames among the positions.
        still: indices of positions that do not move with the robot.
        traced: index of the position whose path is drawn; None if nothing moves.
        name: name of that position.
    """

    places: ca.SX
    lines: tuple[SkeletonLine, ...]
    triads: ca.SX
    origins: tuple[int, ...]
    still: tuple[int, ...]
    traced: int | None
    name: str

    @property
    def dimension(self) -> int:
        """Dimension of the space, 2 or 3."""
        return self.places.size1()

    @classmethod
    def of(cls, robot: Robot, traced: str = "") -> Skeleton | None:
        """Build lines along the robot's ``chain``, or its tree, or its points alone; None for a robot without points.

        Args:
            robot: the robot.
            traced: name of the point whose path is drawn; chosen automatically by default.

        Raises:
            ModelError: if the robot has no such point.
        """
        if traced and traced not in robot.points:
            raise ModelError(unknown_name("point", traced, list(robot.points)))
        first = (traced, *TRACED) if traced else TRACED
        if robot.chain:
            return _drawn(robot, *_along_chain(robot), first)
        if robot.tree is not None:
            # For a floating body the body itself is traced, for an arm what is fixed to its last joint.
            floats: list[str] = [
                f"joint {node.name}" for node in robot.tree.nodes if node.parent == WORLD and node.joint.nq > 1
            ]
            return _drawn(
                robot, *_along_tree(robot, robot.tree), (*first[:-2], *floats, *first, *reversed(list(robot.points)))
            )
        if robot.points:
            named = {name: _in_space(point, _dimension(robot)) for name, point in robot.points.items()}
            return _drawn(robot, named, [], first)
        return None


def _dimension(robot: Robot) -> int:
    """Return 2 if all points of the robot are plane, otherwise 3."""
    return 3 if any(point.numel() > 2 for point in robot.points.values()) else 2


def _in_space(point: ca.SX, dimension: int) -> ca.SX:
    """Return a point padded with zeros to the given dimension."""
    return ca.vertcat(ca.vec(point), ca.SX.zeros(dimension - point.numel()))


def _along_chain(robot: Robot) -> tuple[dict[str, ca.SX], list[tuple[str, ...]]]:
    dimension = _dimension(robot)
    named = {name: _in_space(robot.points[name], dimension) for name in dict.fromkeys(robot.chain)}
    for name in TRACED:
        if name in robot.points:
            named[name] = _in_space(robot.points[name], dimension)
    return named, [robot.chain]


def _along_tree(robot: Robot, tree: Tree) -> tuple[dict[str, ca.SX], list[tuple[str, ...]]]:
    """Lines from the origin of each body to those of its children, to points fixed in it, or to its centre of mass."""
    dimension = 2 if tree.is_planar and _dimension(robot) == 2 else 3
    frames = [carried.frame for carried in tree.motion.nodes]
    named: dict[str, ca.SX] = {}
    lines: list[tuple[str, ...]] = []
    for node, frame in zip(tree.nodes, frames, strict=True):
        named[f"joint {node.name}"] = frame.position[:dimension]
        if node.parent == WORLD and node.joint.nq > 1:
            continue
        base = node.placement.position if node.parent == WORLD else frames[node.parent].point(node.placement.position)
        named[f"base {node.name}"] = base[:dimension]
        start = () if node.parent == WORLD else (f"joint {tree.nodes[node.parent].name}",)
        lines.append((*start, f"base {node.name}", f"joint {node.name}"))
    for name, k in _carriers(robot, tree).items():
        named[name] = _in_space(robot.points[name], 3)[:dimension]
        if k == WORLD:
            lines += [(name, f"base {node.name}") for node in tree.nodes if node.parent == WORLD and node.joint.nq == 1]
        else:
            lines.append((f"joint {tree.nodes[k].name}", name))
    for k, node in enumerate(tree.nodes):
        if not any(f"joint {node.name}" in line[:1] for line in lines):
            for body in node.bodies:
                named[f"body {body.name}"] = frames[k].point(body.center)[:dimension]
                lines.append((f"joint {node.name}", f"body {body.name}"))
    return named, lines


def _carriers(robot: Robot, tree: Tree) -> dict[str, int]:
    """Return the body in which each named point is fixed, WORLD for a fixed point; other points are omitted.

    It is determined from the position of the point in each body's frame, at random coordinates.
    """
    if not robot.points:
        return {}
    points = ca.horzcat(*(_in_space(point, 3) for point in robot.points.values()))
    poses = [ca.horzcat(carried.frame.rotation, carried.frame.position) for carried in tree.motion.nodes]
    every = ca.densify(ca.horzcat(points, *poses))
    random = np.random.default_rng(SEED)
    drawn = [random.normal(size=robot.coordinates.nq) for _ in range(DRAWS)]
    if ca.depends_on(every, ca.vertcat(robot.t, robot.v)):
        return {}
    # Parameters without a nominal value, such as the position of a foot, do not affect the structure.
    p = [robot.nominal.get(name, 1.0) for name in robot.parameters.names]
    seen = np.stack([robot.evaluate(every, q=q, p=p) for q in drawn])
    count = points.size2()
    places, found = seen[:, :, :count], dict[str, int]()
    size = max(1.0, float(np.abs(seen).max()))
    frames = [(seen[:, :, at : at + 3], seen[:, :, at + 3 : at + 4]) for at in range(count, seen.shape[2], 4)]
    for i, name in enumerate(robot.points):
        if np.ptp(places[:, :, i], axis=0).max() <= FIXED * size:
            found[name] = WORLD
            continue
        for k, (rotation, origin) in enumerate(frames):
            own = np.linalg.solve(rotation, places[:, :, i : i + 1] - origin)
            if np.ptp(own, axis=0).max() <= FIXED * size:
                if np.abs(own).max() > FIXED * size:
                    found[name] = k
                break
    return found


def _drawn(
    robot: Robot, named: dict[str, ca.SX], lines: Sequence[Sequence[str]], traced_first: Sequence[str]
) -> Skeleton:
    """Return the skeleton of named positions and lines through them, with wheels and frames."""
    dimension = next(iter(named.values())).numel()
    for name in traced_first[:1]:
        if name in robot.points and name not in named:
            named[name] = _in_space(robot.points[name], 3)[:dimension]
    pens = [SkeletonLine(tuple(list(named).index(name) for name in line)) for line in lines]
    places = list(named.values())
    moving = ca.vertcat(robot.t, robot.q, robot.v)
    still = tuple(i for i, place in enumerate(places) if not ca.depends_on(place, moving))
    order = [list(named).index(name) for name in traced_first if name in named]
    order += reversed([i for pen in pens for i in pen.places] or range(len(places)))
    traced = next((i for i in order if i not in still), None)
    name = "" if traced is None else list(named)[traced]
    for ends in _wheels(robot, dimension):
        pens.append(SkeletonLine((len(places), len(places) + 1), "wheel"))
        places += ends
    origins: list[int] = []
    triads: list[ca.SX] = []
    if dimension == 3:
        for key, frame in robot.frames.items():
            if len(robot.frames) <= TRIADS or key == name:
                origins.append(len(places))
                places.append(frame.position)
                triads.append(frame.rotation)
    return Skeleton(
        places=ca.horzcat(*places),
        lines=tuple(pens),
        triads=ca.horzcat(ca.SX(3, 0), *triads),
        origins=tuple(origins),
        still=still,
        traced=traced,
        name=name.removeprefix("joint ").removeprefix("body "),
    )


def _wheels(robot: Robot, dimension: int) -> list[list[ca.SX]]:
    """Return the ends of the wheels of a wheeled robot, seen from above."""
    names = [name for name in robot.points if name.endswith("wheel")]
    if dimension != 2 or "wheel_radius" not in robot.parameters.names or "platform" not in robot.frames:
        return []
    along = robot.frames["platform"].rotation[:2, 0] * robot.parameters["wheel_radius"]
    return [[robot.points[name] - along, robot.points[name] + along] for name in names]
