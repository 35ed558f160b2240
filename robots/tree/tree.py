"""Trees of bodies, from which a formulation derives equations of motion."""

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
    """Nodes under uniform gravity, parents before their children.

    Attributes:
        nodes: at least one.
        gravity: acceleration of free fall in world axes, shape (3,) [m/s²].
        order: names of all coordinates (node name and joint suffix) in the order of q; that of the nodes if not given.
            The velocities have the same order.
        symbols: existing symbols of the coordinates, in that order; created if not given.

    Raises:
        ModelError: for a wrong order, repeated names, or a joint with no mass beyond it.
    """

    nodes: tuple[Node, ...]
    gravity: ca.SX
    order: tuple[str, ...] | None = None
    symbols: Coordinates | None = None

    def __post_init__(self) -> None:
        """Check the order, and that every joint moves a mass."""
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
                    f"the parent of node {node.name!r}, number {k}, must be WORLD or the number of an earlier node, "
                    f"got {node.parent}"
                )
            if not carries[k]:
                raise ModelError(
                    f"joint {node.name!r} moves no mass, so its equation of motion has no solution: add a mass to its "
                    "link, or fix the joint"
                )
            if node.parent != WORLD:
                carries[node.parent] = True
        for node, indices in zip(self.nodes, self._coordinate_indices, strict=True):
            if indices != list(range(indices[0], indices[0] + len(indices))):
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
        for node, at_q, at_v in zip(self.nodes, self._coordinate_indices, self.velocity_indices, strict=True):
            for i, k in enumerate(at_v):
                rates[k] = names[at_q[i]] if len(at_q) == len(at_v) else f"{node.name}.{i + 1}"
            N[at_q, at_v] = node.joint.kinematics(ca.vertcat(*(q[i] for i in at_q)))
        v = ca.vertcat(*(ca.SX.sym(f"v_{name}") for name in rates))
        a = ca.vertcat(*(ca.SX.sym(f"a_{name}") for name in rates))
        measured = tuple(units[name] for name in names)
        return Coordinates(ca.SX.sym("t"), q, v, a, N, names, measured, lambda part: self.points.rate(part))

    @property
    def parts(self) -> dict[str, ca.SX]:
        """All expressions of the tree, in parameters only, by their names in messages."""
        parts: dict[str, ca.SX] = {"gravity": self.gravity}
        for node in self.nodes:
            parts[f"placement of {node.name!r}"] = ca.horzcat(node.placement.rotation, node.placement.position)
            for body in node.bodies:
                parts[f"mass of {body.name!r}"] = body.mass
                parts[f"center of {body.name!r}"] = body.center
                parts[f"inertia of {body.name!r}"] = body.inertia
                if body.ratio is not None:
                    parts[f"ratio of {body.name!r}"] = body.ratio
        return parts

    @functools.cached_property
    def motion(self) -> TreeKinematics:
        """Poses, velocities and accelerations of all nodes and bodies, as expressions."""
        c = self.coordinates
        return TreeKinematics(self.nodes, self.split_q(c.q), self.split_v(c.v))

    @functools.cached_property
    def is_planar(self) -> bool:
        """True if all joints rotate about the z axis or slide in the plane normal to it."""
        return self.motion.is_planar

    @functools.cached_property
    def points(self) -> BodyPoints:
        """Points of the bodies, with their velocities and accelerations."""
        # No lambda: robots are pickled.
        return BodyPoints(
            self.motion, functools.partial(getattr, self, "sweep"), self.coordinates, self.velocity_indices
        )

    @functools.cached_property
    def sweep(self) -> Sweep:
        """The same tree for inward and outward recursions."""
        return Sweep(self.motion, self.gravity)

    def split_q(self, q: ca.SX) -> list[ca.SX]:
        """Split the coordinates by node.

        Args:
            q: all coordinates, shape (nq,).
        """
        return [ca.vertcat(*(q[i] for i in indices)) for indices in self._coordinate_indices]

    def split_v(self, v: ca.SX) -> list[ca.SX]:
        """Split rows, one per velocity, by node.

        Args:
            v: velocities, or any matrix with a row for each, shape (nv, k).
        """
        return [ca.vertcat(*(v[i, :] for i in indices)) for indices in self.velocity_indices]

    def join_v(self, rows: Sequence[ca.SX]) -> ca.SX:
        """Join the rows of each node in the order of the velocities.

        Args:
            rows: for each node, shape (its nv, k).
        """
        joined: list[ca.SX] = [ca.SX()] * sum(len(indices) for indices in self.velocity_indices)
        for part, indices in zip(rows, self.velocity_indices, strict=True):
            for i, k in enumerate(indices):
                joined[k] = part[i, :]
        return ca.vertcat(*joined)

    @functools.cached_property
    def velocity_indices(self) -> list[list[int]]:
        """Indices of each node's velocities in v."""
        ordered: list[tuple[int, int, int]] = []
        for k, (node, at_q) in enumerate(zip(self.nodes, self._coordinate_indices, strict=True)):
            for i in range(node.joint.nv):
                ordered.append((at_q[min(i, len(at_q) - 1)], k, i))
        indices: list[list[int]] = [[] for _ in self.nodes]
        for index, (_, k, _) in enumerate(sorted(ordered)):
            indices[k].append(index)
        return indices

    @functools.cached_property
    def _coordinate_indices(self) -> list[list[int]]:
        made = self._names
        names = made if self.order is None else self.order
        at = {name: i for i, name in enumerate(names)}
        return [[at[f"{node.name}{suffix}"] for suffix in node.joint.suffixes] for node in self.nodes]

    @functools.cached_property
    def _names(self) -> tuple[str, ...]:
        names = tuple(f"{node.name}{suffix}" for node in self.nodes for suffix in node.joint.suffixes)
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ModelError(f"names of joints must differ; given more than once: {', '.join(doubled)}")
        if self.order is not None and sorted(self.order) != sorted(names):
            raise ModelError(f"order must name each of {', '.join(names)} once, got {', '.join(self.order)}")
        return names
