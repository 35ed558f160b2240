"""Numerical rigid-body tree of a robot: mass properties, placements and joints, each between two bodies."""

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
from ...robots.tree.body import Body, impossible_moments
from ...robots.tree.joints import Node
from ...robots.tree.tree import Tree
from ...symbolic.errors import BridgeError
from ...symbolic.validation import constant_values
from .relative_angles import RelativeAngles

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass properties of all that is fixed to a frame.

    Attributes:
        mass: total mass [kg].
        center: centre of mass in the frame, shape (3,) [m].
        inertia: inertia about the centre of mass in the frame's axes, shape (3, 3) [kg m²].
    """

    mass: float
    center: Array
    inertia: Array


class TreeEvaluation:
    """Placements, masses and ratios of a tree, evaluated at once.

    Attributes:
        gravity: acceleration of free fall, shape (3,) [m/s²].
    """

    def __init__(self, robot: Robot, p: Array, tree: Tree) -> None:
        """Evaluate the tree.

        Args:
            robot: the robot of the tree.
            p: the robot's parameters, shape (np,).
            tree: tree of expressions in the parameters.
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
            k: index of the node.
        """
        at = self._at[k, -1]
        return self._parts[at].reshape(3, 3, order="F"), self._parts[at + 1]

    def mass(self, k: int, i: int) -> MassProperties:
        """Mass properties of a body, in the frame to which it is fixed.

        Args:
            k: index of the node.
            i: index of the body in the node.
        """
        at = self._at[k, i]
        inertia = self._parts[at + 2].reshape(3, 3)
        return MassProperties(float(self._parts[at][0]), self._parts[at + 1], (inertia + inertia.T) / 2)

    def ratio(self, k: int, i: int) -> float:
        """Fraction of the joint's displacement by which a body moves.

        Args:
            k: index of the node.
            i: index of the body in the node.
        """
        return float(self._parts[self._at[k, i] + 3][0])


def combined_mass(parts: Sequence[MassProperties]) -> MassProperties | None:
    """Mass properties of several bodies that are fixed to each other; None if there are no bodies.

    Args:
        parts: mass properties of the bodies, all in one frame.
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
    """A body that moves by a fraction of a joint's displacement.

    Attributes:
        name: name, unique among bodies.
        ratio: the fraction.
        mass: mass properties of the body, in its own frame.
    """

    name: str
    ratio: float
    mass: MassProperties


@dataclass(frozen=True, eq=False)
class TreeBody:
    """A frame that moves by one joint relative to its parent, and the mass fixed to it.

    Attributes:
        name: name of the joint and of the body.
        parent: index of the parent in the tree, or −1 for the world.
        rotation: rotation of the joint's frame in the parent's, shape (3, 3).
        position: position of the joint's frame in the parent's, shape (3,) [m].
        kind: kind of the joint.
        axes: unit vectors in the joint's frame: the axis; or for a planar joint the two directions and the normal.
        mass: mass properties of the body; None if it has no mass.
        proportional_bodies: bodies that move by a fraction of the joint's displacement.
        names: names of the joint's coordinates in the robot.
        at_q: index of its first coordinate in q.
        at_v: index of its first velocity in v.
        is_relative: True if the joint's coordinate is that of the robot, not a difference of two.
    """

    name: str
    parent: int
    rotation: Array
    position: Array
    kind: JointKind
    axes: tuple[Array, ...]
    mass: MassProperties | None
    proportional_bodies: tuple[ProportionalBody, ...]
    names: tuple[str, ...]
    at_q: int
    at_v: int
    is_relative: bool


@dataclass(frozen=True, eq=False)
class BodyTree:
    """Numerical tree of bodies.

    Attributes:
        solids: the bodies, parents before their children.
        gravity: acceleration of free fall, shape (3,) [m/s²].
        relative_angles: S of v' = S v, and of q' = S q for joints whose velocities are rates: angles measured from the
            world's axes become angles between bodies, shape (nv, nv), in the order of v.
        p: the robot's parameters, shape (np,).
    """

    solids: tuple[TreeBody, ...]
    gravity: Array
    relative_angles: Array
    p: Array

    @classmethod
    def of(cls, robot: Robot, p: Mapping[str, float] | ArrayLike | None = None) -> BodyTree:
        """Evaluate the tree of a robot.

        Args:
            robot: robot with a tree of bodies.
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            BridgeError: for a robot without a tree, a joint that cannot be expressed between two bodies, or an
                impossible mass or inertia.
        """
        tree = require_tree(robot)
        numbers = robot.parameters.values(p)
        values = TreeEvaluation(robot, numbers, tree)
        kinds = [_joint(robot, node) for node in tree.nodes]
        angles = RelativeAngles.of(robot.name, tree, [values.placement(k)[0] for k in range(len(tree.nodes))])
        solids: list[TreeBody] = []
        known: set[str] = {node.name for node in tree.nodes}
        for k, node in enumerate(tree.nodes):
            R, (kind, axes), turns = angles.rotations[k], kinds[k], angles.turnings[k]
            names = tuple(f"{node.name}{suffix}" for suffix in node.joint.suffixes)
            whole = [values.mass(k, i) for i, body in enumerate(node.bodies) if body.ratio is None]
            axis = None if turns is None else turns.own_axis
            proportional: list[ProportionalBody] = []
            for i, body in enumerate(node.bodies):
                if body.ratio is not None and not body.mass.is_zero():
                    label = _unique_name(f"{node.name}.{body.name}", known)
                    own = _physical_mass(robot, body.name, values.mass(k, i), axis)
                    proportional.append(ProportionalBody(label, values.ratio(k, i), own))
            fixed = combined_mass(whole)
            mass = None if fixed is None else _physical_mass(robot, node.name, fixed, axis)
            indices = robot.coordinates.names.index(names[0]), tree.velocity_indices[k][0]
            bodies = mass, tuple(proportional)
            x, is_relative = values.placement(k)[1], angles.are_relative[k]
            solids.append(TreeBody(node.name, node.parent, R, x, kind, axes, *bodies, names, *indices, is_relative))
        return cls(tuple(solids), values.gravity, angles.matrix, numbers)

    @property
    def labels(self) -> dict[str, str]:
        """Body name → name for a format in which ``world`` is the world itself."""
        known = {solid.name for solid in self.solids}
        known |= {body.name for solid in self.solids for body in solid.proportional_bodies}
        return {name: _unique_name("world_body", {*known}) if name == "world" else name for name in known}

    def carries(self, k: int) -> bool:
        """True if a body, or any body that it carries, has mass.

        Args:
            k: index of the body.
        """
        own = self.solids[k].mass
        if own is not None and own.mass > 0.0:
            return True
        children = [j for j, solid in enumerate(self.solids) if solid.parent == k]
        return any(
            self.carries(j) or any(body.mass.mass > 0.0 for body in self.solids[j].proportional_bodies)
            for j in children
        )


def require_tree(robot: Robot) -> Tree:
    """Return the robot's tree of bodies.

    Args:
        robot: the robot.

    Raises:
        BridgeError: if the robot has no tree in its own coordinates, or is not a Robot.
    """
    if not isinstance(robot, Robot):
        raise BridgeError(f"expected a Robot, got {robot!r}; pass the .robot of a controller or of a closed loop")
    if robot.tree is None:
        raise BridgeError(
            f"{robot.name} has no tree of bodies: its equations come from energies or expressions, which contain no "
            "bodies and joints. Build it by planar_manipulator, planar_linkage, exoskeleton, load_urdf or tree_system, "
            "or export its controller or its closed loop instead"
        )
    c, own = robot.coordinates, robot.tree.coordinates
    if own.names != c.names or not ca.is_equal(own.q, c.q) or not ca.is_equal(own.v, c.v):
        raise BridgeError(
            f"{robot.name} has the coordinates {', '.join(c.names)}, but its tree of bodies has "
            f"{', '.join(own.names)}: only a robot in the coordinates of its joints can be exported as bodies"
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
                f"{robot.name}: joint {node.name!r} is a {type(node.joint).__name__}; only Revolute, Prismatic, "
                "Planar and Floating joints can be exported"
            )


def _physical_mass(robot: Robot, name: str, mass: MassProperties, axis: Array | None) -> MassProperties:
    """The same mass with a possible inertia: moments about axes about which the body never turns are free."""
    if mass.mass < 0.0:
        raise BridgeError(f"{robot.name}: the mass of body {name!r} must not be negative, got {mass.mass:g} kg")
    if not mass.inertia.any() or impossible_moments(mass.inertia) is None:
        return mass
    if axis is None:
        raise BridgeError(
            f"{robot.name}: body {name!r}: {impossible_moments(mass.inertia)}, and it turns about several axes; set "
            "all components of its inertia"
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
