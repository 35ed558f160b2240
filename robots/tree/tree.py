"""Trees of bodies: the model that a formulation turns into equations of motion."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError
from .body import WORLD, Node
from .body_points import BodyPoints
from .kinematics import TreeKinematics
from .sweep import Sweep


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in an order in which parents come before their children, under uniform gravity.

    Attributes:
        nodes: at least one.
        gravity: acceleration of free fall in world axes, shape (3,) [m/s²].
        order: names of all coordinates (node name and joint suffix) in the order that q is to have; that of the nodes
            if not given. The velocities follow.
        symbols: of the coordinates, where a robot has them already, in that order; made if not given.

    Raises:
        ModelError: for a wrong order, doubled names, or a joint with no mass beyond it.
    """

    nodes: tuple[Node, ...]
    gravity: ca.SX
    order: tuple[str, ...] | None = None
    symbols: Coordinates | None = None

    def __post_init__(self) -> None:
        """Check the order and that every joint has something to move."""
        if not len(self.nodes):
            raise ModelError("a tree needs at least one node, got none")
        if self.gravity.shape != (3, 1):
            raise ModelError(f"gravity must have shape (3,), got {self.gravity.shape}")
        carries = [any(body.has_inertia for body in node.bodies) for node in self.nodes]
        if self.gravity.is_constant() and not self.gravity.is_regular():
            raise ModelError(f"gravity must be finite, got {self.gravity}")
        for k in reversed(range(len(self.nodes))):
            node = self.nodes[k]
            if not WORLD <= node.parent < k:
                raise ModelError(
                    f"node {node.name!r} at place {k} cannot have parent {node.parent}: parents come first"
                )
            if not carries[k]:
                raise ModelError(
                    f"joint {node.name!r} moves no mass: give a mass to its link, or fix the joint, or its equation of "
                    "motion has no solution"
                )
            if node.parent != WORLD:
                carries[node.parent] = True
        for node, places in zip(self.nodes, self._places_q, strict=True):
            if places != list(range(places[0], places[0] + len(places))):
                raise ModelError(f"order must keep the coordinates of joint {node.name!r} together, in their own order")

    @functools.cached_property
    def coordinates(self) -> Coordinates:
        """Symbols of all joints, node by node; q̇ = N v with one block of N per joint."""
        names = self._names if self.order is None else self.order
        if self.symbols is not None:
            if self.symbols.names != names:
                raise ModelError(f"the coordinates of a tree must be {names}, got {self.symbols.names}")
            return self.symbols
        units = dict(zip(self._names, (unit for node in self.nodes for unit in node.joint.units), strict=True))
        q = ca.vertcat(*(ca.SX.sym(name) for name in names))
        rates = [""] * sum(node.joint.nv for node in self.nodes)
        N = ca.SX(len(names), len(rates))
        for node, at_q, at_v in zip(self.nodes, self._places_q, self.places, strict=True):
            for i, place in enumerate(at_v):
                rates[place] = names[at_q[i]] if len(at_q) == len(at_v) else f"{node.name}.{i + 1}"
            N[at_q, at_v] = node.joint.kinematics(ca.vertcat(*(q[i] for i in at_q)))
        v = ca.vertcat(*(ca.SX.sym(f"v_{name}") for name in rates))
        a = ca.vertcat(*(ca.SX.sym(f"a_{name}") for name in rates))
        measured = tuple(units[name] for name in names)
        return Coordinates(ca.SX.sym("t"), q, v, a, N, names, measured, lambda part: self.points.rate(part))

    @property
    def parts(self) -> dict[str, ca.SX]:
        """All that the tree was made of, by what it is: expressions in parameters alone."""
        found: dict[str, ca.SX] = {"gravity": self.gravity}
        for node in self.nodes:
            found[f"placement of {node.name!r}"] = ca.horzcat(node.placement.rotation, node.placement.position)
            for body in node.bodies:
                found[f"mass of {body.name!r}"] = body.mass
                found[f"center of {body.name!r}"] = body.center
                found[f"inertia of {body.name!r}"] = body.inertia
                if body.ratio is not None:
                    found[f"ratio of {body.name!r}"] = body.ratio
        return found

    @functools.cached_property
    def motion(self) -> TreeKinematics:
        """Poses, velocities and accelerations of all nodes and bodies, as expressions."""
        c = self.coordinates
        return TreeKinematics(self.nodes, self.split_q(c.q), self.split_v(c.v))

    @functools.cached_property
    def is_planar(self) -> bool:
        """Whether all joints turn about the z axis and move in the plane across it."""
        return self.motion.is_planar

    @functools.cached_property
    def points(self) -> BodyPoints:
        """Points of the bodies, whose rates are known."""
        # No lambda: robots are pickled.
        return BodyPoints(self.motion, functools.partial(getattr, self, "sweep"), self.coordinates, self.places)

    @functools.cached_property
    def sweep(self) -> Sweep:
        """The same bodies as sweeps inward and outward see them."""
        return Sweep(self.motion, self.gravity)

    def split_q(self, q: ca.SX) -> list[ca.SX]:
        """The coordinates of each node.

        Args:
            q: all coordinates, shape (nq,).
        """
        return [ca.vertcat(*(q[i] for i in places)) for places in self._places_q]

    def split_v(self, v: ca.SX) -> list[ca.SX]:
        """The rows, one per velocity, of each node.

        Args:
            v: velocities, or anything with a row for each, shape (nv, k).
        """
        return [ca.vertcat(*(v[i, :] for i in places)) for places in self.places]

    def join_v(self, rows: Sequence[ca.SX]) -> ca.SX:
        """The rows of each node put together in the order of the velocities.

        Args:
            rows: for each node, shape (its nv, k).
        """
        found: list[ca.SX] = [ca.SX()] * sum(len(places) for places in self.places)
        for part, places in zip(rows, self.places, strict=True):
            for i, place in enumerate(places):
                found[place] = part[i, :]
        return ca.vertcat(*found)

    @functools.cached_property
    def places(self) -> list[list[int]]:
        """Places of each node's velocities in v."""
        ordered: list[tuple[int, int, int]] = []
        for k, (node, at_q) in enumerate(zip(self.nodes, self._places_q, strict=True)):
            for i in range(node.joint.nv):
                ordered.append((at_q[min(i, len(at_q) - 1)], k, i))
        places: list[list[int]] = [[] for _ in self.nodes]
        for place, (_, k, _) in enumerate(sorted(ordered)):
            places[k].append(place)
        return places

    @functools.cached_property
    def _places_q(self) -> list[list[int]]:
        made = self._names
        names = made if self.order is None else self.order
        at = {name: i for i, name in enumerate(names)}
        return [[at[f"{node.name}{suffix}"] for suffix in node.joint.suffixes] for node in self.nodes]

    @functools.cached_property
    def _names(self) -> tuple[str, ...]:
        names = tuple(f"{node.name}{suffix}" for node in self.nodes for suffix in node.joint.suffixes)
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ModelError(f"joints must have different names; given more than once: {', '.join(doubled)}")
        if self.order is not None and sorted(self.order) != sorted(names):
            raise ModelError(f"order must name each of {', '.join(names)} once, got {', '.join(self.order)}")
        return names
