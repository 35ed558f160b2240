"""Bricard's mechanism: six hinges in one loop that should not move, and does."""

from __future__ import annotations

import casadi as ca

from ...symbolic.arrays import finite, positive
from ...symbolic.parameters import Parameters, Range
from ..frame import Frame
from ..joints import Revolute
from ..mechanism import Closure, mechanism
from ..robot import Robot
from ..tree import WORLD, Body, Node, Tree
from ..tree_system import tree_system

LINKS = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
"""Directions of the rods at q = 0, along the edges of a cube."""
AXES = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
"""Axes of the hinges at which the rods begin; the sixth, at the end of the last one, is along x."""


def bricard_mechanism(*, length: float = 1.0, mass: float = 1.0, width: float = 0.1, gravity: float = 9.81) -> Robot:
    """The IFToMM benchmark A04: five rods of square section and six hinges between the ground and the ground.

    q = (hinge1, …, hinge5), zero where the rods lie along the edges of a cube, from the origin to (0, 0, l). There the
    sixth hinge holds the last rod: the natural constraint ``pin`` holds its end, three rows in metres, and ``axis``
    keeps its own x axis along that of the ground, two rows. Five rows for five hinges leave no freedom by Grübler's
    count; one of them depends on the others wherever the loop is closed, and leaves one [Gonzalez2006]_. Its reactions
    are of least norm. The benchmark starts from q = 0 at rest, and asks that the energy stays what it is for 10 s.

    Points are ``joint1`` … ``joint5`` and ``tip``, the end of the last rod. Inputs are the torques in the five hinges.

    Args:
        length: l of each rod [m].
        mass: m of each rod [kg].
        width: of the section [m].
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for a length, mass or width that is not positive, or a gravity that is not finite.
    """
    values = {"l": positive("length [m]", length), "m": positive("mass [kg]", mass), "w": positive("width [m]", width)}
    ranges = dict.fromkeys(values, Range.POSITIVE)
    p = Parameters.declare(values | {"g": finite("gravity", gravity)}, ranges=ranges)
    around, across = p["m"] * p["w"] ** 2 / 6, p["m"] * (p["l"] ** 2 + p["w"] ** 2) / 12
    nodes: list[Node] = []
    for k, (link, axis) in enumerate(zip(LINKS, AXES, strict=True)):
        direction = ca.DM(link)
        before = ca.SX(ca.DM(LINKS[k - 1])) * p["l"] if k else ca.SX(ca.DM.zeros(3))
        along = ca.SX(direction @ direction.T)
        bar = Body(
            name=f"rod {k + 1}",
            mass=p["m"],
            center=ca.SX(direction) * p["l"] / 2,
            inertia=ca.densify(across * ca.SX.eye(3) + (around - across) * along),
        )
        placement = Frame(ca.SX(ca.DM.eye(3)), before)
        name = f"hinge{k + 1}"
        nodes.append(
            Node(name=name, parent=k - 1 if k else WORLD, placement=placement, joint=Revolute(axis), bodies=(bar,))
        )
    tree = Tree(tuple(nodes), ca.vertcat(0, -p["g"], 0))
    frames = [moved.frame for moved in tree.motion.nodes]
    tip = frames[-1].point(ca.SX(ca.DM(LINKS[-1])) * p["l"])
    points = {f"joint{k + 1}": frame.position for k, frame in enumerate(frames)} | {"tip": tip}
    chain = tree_system(tree, parameters=p, points=points, chain=tuple(points), name="Bricard's mechanism")
    own_axis = frames[-1].rotation[:, 0]
    closures = [
        Closure(tip, ca.vertcat(0, 0, p["l"]), "pin"),
        Closure(ca.vertcat(own_axis[1], own_axis[2]), (0.0, 0.0), "axis"),
    ]
    return mechanism(chain, closures, name="Bricard's mechanism", redundant="least-norm")
