"""Rigid-body tree of a robot in numbers: mass properties, placements and joints, each between two bodies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...robots.tree import Floating, Planar, Prismatic, Revolute
from ...robots.tree.body import Body, Node, impossible_moments
from ...robots.tree.tree import Tree
from ...symbolic.errors import BridgeError
from ...symbolic.validation import constant_values
from .relative_angles import RelativeAngles

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MassProperties:
    """What a frame carries.

    Attributes:
        mass: [kg].
        center: centre of mass in the frame, shape (3,) [m].
        inertia: about the centre of mass in the frame's axes, shape (3, 3) [kg m²].
    """

    mass: float
    center: Array
    inertia: Array


class TreeEvaluation:
    """Placements, masses and ratios, evaluated at once.

    Attributes:
        gravity: acceleration of free fall, shape (3,) [m/s²].
    """

    def __init__(self, robot: Robot, p: Array, tree: Tree) -> None:
        """Evaluate them.

        Args:
            robot: that the tree is of.
            p: all its parameters, shape (np,).
            tree: of expressions in these.
        """
        parts: list[ca.SX] = [tree.gravity]
        self._at: dict[tuple[int, int], int] = {}
        for k, node in enumerate(tree.nodes):
            self._at[k, -1] = len(parts)
            parts += [ca.vec(node.placement.rotation), node.placement.position]
            for i, body in enumerate(node.bodies):
                self._at[k, i] = len(parts)
                parts += _body_expressions(body)
        values = robot.evaluate(ca.densify(ca.vertcat(*parts)), p=p)
        ends = np.cumsum([0, *(part.numel() for part in parts)])
        self._parts = [values[start:end] for start, end in itertools.pairwise(ends.tolist())]
        self.gravity = self._parts[0]

    def placement(self, k: int) -> tuple[Array, Array]:
        """Rotation, shape (3, 3), and position, shape (3,) [m], of a node's joint in the parent.

        Args:
            k: place of the node.
        """
        at = self._at[k, -1]
        return self._parts[at].reshape(3, 3, order="F"), self._parts[at + 1]

    def mass(self, k: int, i: int) -> MassProperties:
        """Of a body, in the frame that carries it.

        Args:
            k: place of the node.
            i: place of the body in it.
        """
        at = self._at[k, i]
        inertia = self._parts[at + 2].reshape(3, 3)
        return MassProperties(float(self._parts[at][0]), self._parts[at + 1], (inertia + inertia.T) / 2)

    def ratio(self, k: int, i: int) -> float:
        """Share of the joint's displacement that carries a body.

        Args:
            k: place of the node.
            i: place of the body in it.
        """
        return float(self._parts[self._at[k, i] + 3][0])


def combined_mass(parts: Sequence[MassProperties]) -> MassProperties | None:
    """Several bodies that are fixed to each other as one; None of none.

    Args:
        parts: in one frame.
    """
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    total = sum(part.mass for part in parts)
    center = sum((part.mass * part.center for part in parts), np.zeros(3)) / total if total else np.zeros(3)
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.center - center
        inertia += part.inertia + part.mass * ((d @ d) * np.eye(3) - np.outer(d, d))
    return MassProperties(total, center, inertia)


def _body_expressions(body: Body) -> list[ca.SX]:
    return [body.mass, body.center, ca.vec(body.inertia), ca.SX(1.0) if body.ratio is None else body.ratio]


JointKind = Literal["hinge", "slide", "planar", "free"]


@dataclass(frozen=True, eq=False)
class ProportionalBody:
    """A body that a share of a joint's displacement carries.

    Attributes:
        name: unique among bodies.
        ratio: the share.
        mass: of the body, in its own frame.
    """

    name: str
    ratio: float
    mass: MassProperties


@dataclass(frozen=True, eq=False)
class TreeBody:
    """A frame that moves by one joint in its parent's frame, and what it carries.

    Attributes:
        name: of the joint and of the body.
        parent: place in the tree, or −1 for the world.
        rotation: of the joint's frame in the parent's, shape (3, 3).
        position: of the joint's frame in the parent's, shape (3,) [m].
        kind: what the joint lets move.
        axes: unit vectors in the joint's frame: the axis; or for a planar joint the two directions and the normal.
        mass: what moves with the frame; None for nothing.
        shares: what a share of the joint's displacement carries.
        names: of the joint's coordinates here.
        at_q: place of its first coordinate in q.
        at_v: place of its first velocity in v.
        is_relative: whether the joint's coordinate is that of the robot, and no difference of two.
    """

    name: str
    parent: int
    rotation: Array
    position: Array
    kind: JointKind
    axes: tuple[Array, ...]
    mass: MassProperties | None
    shares: tuple[ProportionalBody, ...]
    names: tuple[str, ...]
    at_q: int
    at_v: int
    is_relative: bool


@dataclass(frozen=True, eq=False)
class BodyTree:
    """The tree with numbers.

    Attributes:
        solids: parents before their children.
        gravity: acceleration of free fall, shape (3,) [m/s²].
        between: S of q' = S q and v' = S v, where coordinates are rates: angles measured from the world's axes become
            angles between bodies, shape (nv, nv), in the places of v.
        p: the robot's parameters, shape (np,).
    """

    solids: tuple[TreeBody, ...]
    gravity: Array
    between: Array
    p: Array

    @classmethod
    def of(cls, robot: Robot, p: Mapping[str, float] | ArrayLike | None = None) -> BodyTree:
        """The tree of a robot.

        Args:
            robot: made of a tree.
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            BridgeError: for a robot without a tree, a joint that has no counterpart between two bodies, or a mass
                or an inertia that no body has.
        """
        tree = require_tree(robot)
        numbers = robot.parameters.values(p)
        values = TreeEvaluation(robot, numbers, tree)
        kinds = [_joint(robot, node) for node in tree.nodes]
        between = RelativeAngles.of(robot.name, tree, [values.placement(k)[0] for k in range(len(tree.nodes))])
        solids: list[TreeBody] = []
        known: set[str] = {node.name for node in tree.nodes}
        for k, node in enumerate(tree.nodes):
            R, (kind, axes), turns = between.rotations[k], kinds[k], between.turnings[k]
            names = tuple(f"{node.name}{suffix}" for suffix in node.joint.suffixes)
            whole = [values.mass(k, i) for i, body in enumerate(node.bodies) if body.ratio is None]
            axis = None if turns is None else turns.own_axis
            shares: list[ProportionalBody] = []
            for i, body in enumerate(node.bodies):
                if body.ratio is not None and not body.mass.is_zero():
                    label = _unique_name(f"{node.name}.{body.name}", known)
                    own = _physical_mass(robot, body.name, values.mass(k, i), axis)
                    shares.append(ProportionalBody(label, values.ratio(k, i), own))
            fixed = combined_mass(whole)
            mass = None if fixed is None else _physical_mass(robot, node.name, fixed, axis)
            places = robot.coordinates.names.index(names[0]), tree.velocity_indices[k][0]
            carried = mass, tuple(shares)
            x, is_relative = values.placement(k)[1], between.are_relative[k]
            solids.append(TreeBody(node.name, node.parent, R, x, kind, axes, *carried, names, *places, is_relative))
        return cls(tuple(solids), values.gravity, between.matrix, numbers)

    @property
    def labels(self) -> dict[str, str]:
        """Name of each body, solids and shares, where the world itself is a body that is called ``world``."""
        known = {name for solid in self.solids for name in (solid.name, *(share.name for share in solid.shares))}
        return {name: _unique_name("world_body", {*known}) if name == "world" else name for name in known}

    def carries(self, k: int) -> bool:
        """Whether the frame of a solid has mass of its own or beyond it.

        Args:
            k: place of the solid.
        """
        own = self.solids[k].mass
        if own is not None and own.mass > 0.0:
            return True
        after = [j for j, solid in enumerate(self.solids) if solid.parent == k]
        return any(self.carries(j) or any(share.mass.mass > 0.0 for share in self.solids[j].shares) for j in after)


def require_tree(robot: Robot) -> Tree:
    """The tree of bodies that the robot's coordinates move.

    Args:
        robot: any.

    Raises:
        BridgeError: if there is none, or it is no robot.
    """
    if not isinstance(robot, Robot):
        raise BridgeError(f"a Robot is handed on as bodies, got {robot!r}; of a law or a loop it is its .robot")
    if robot.tree is None:
        raise BridgeError(
            f"{robot.name} has no tree of bodies: its equations come from energies or expressions, of which no bodies "
            "and joints can be told. Build it by planar_manipulator, planar_linkage, exoskeleton, load_urdf or "
            "tree_system, or hand its law or its closed loop on instead"
        )
    c, own = robot.coordinates, robot.tree.coordinates
    if own.names != c.names or not ca.is_equal(own.q, c.q) or not ca.is_equal(own.v, c.v):
        raise BridgeError(
            f"{robot.name} has other coordinates ({', '.join(c.names)}) than its tree of bodies "
            f"({', '.join(own.names)}): only a robot in the coordinates of its joints can be handed on as bodies"
        )
    return robot.tree


def _joint(robot: Robot, node: Node) -> tuple[JointKind, tuple[Array, ...]]:
    match node.joint:
        case Revolute():
            return "hinge", (np.array(node.joint.axis),)
        case Prismatic():
            return "slide", (np.array(node.joint.axis),)
        case Planar():
            directions = constant_values(node.joint.subspace(ca.SX.zeros(3)).linear)
            assert directions is not None
            return "planar", (directions[:, 0], directions[:, 1], np.array(node.joint.axis))
        case Floating():
            return "free", ()
        case _:
            raise BridgeError(
                f"{robot.name}: joint {node.name!r} is a {type(node.joint).__name__}, which other programs do not "
                "have; they have Revolute, Prismatic, Planar and Floating joints"
            )


def _physical_mass(robot: Robot, name: str, mass: MassProperties, axis: Array | None) -> MassProperties:
    """The same mass with an inertia that a body can have: about axes about which it never turns, any will do."""
    if mass.mass < 0.0:
        raise BridgeError(f"{robot.name}: body {name!r} has a mass of {mass.mass:g} kg, which no body has")
    if not mass.inertia.any() or impossible_moments(mass.inertia) is None:
        return mass
    if axis is None:
        raise BridgeError(
            f"{robot.name}: body {name!r}: {impossible_moments(mass.inertia)}, and it turns about several axes; give "
            "it the inertia of a body in space"
        )
    moment = float(axis @ mass.inertia @ axis)
    return MassProperties(mass.mass, mass.center, moment * np.eye(3))


def _unique_name(label: str, known: set[str]) -> str:
    count = 1
    found = label
    while found in known:
        count += 1
        found = f"{label} {count}"
    known.add(found)
    return found
