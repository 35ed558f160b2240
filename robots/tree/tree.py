"""Trees of bodies, from which a formulation derives equations of motion, and points of the bodies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError
from ...symbolic.pickling import Picklable
from ..frame import Frame
from ..spatial import cross
from .joints import WORLD, Node
from .kinematics import TreeKinematics
from .sweep import Sweep, acceleration_tensor

Rate = Callable[[], ca.SX]
KnownPoint = tuple[ca.SX, Rate, Rate]


class PointRates(Picklable):
    """Registered points, by the coordinates of their positions and velocities."""

    def __init__(self) -> None:
        """Start without points."""
        # All points are stored, because the hash of a deleted expression may be reused.
        self._known: list[KnownPoint] = []
        self._positions: dict[int, tuple[KnownPoint, int]] = {}
        self._velocities: dict[int, tuple[KnownPoint, int]] = {}

    def __getstate__(self) -> dict[str, object]:
        """Return the points without hashes, which are valid in one process only."""
        return {key: value for key, value in super().__getstate__().items() if key == "_known"}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Compute the hashes again."""
        self._positions, self._velocities = {}, {}
        super().__setstate__(state)
        for known in self._known:
            self._index(known)

    def add(self, position: ca.SX, velocity: Rate, acceleration: Rate) -> None:
        """Register a point.

        Args:
            position: position of the point, shape (n,) [m].
            velocity: function that derives its velocity, shape (n,) [m/s]; called on first use.
            acceleration: function that derives its acceleration, shape (n,) [m/s²]; called on first use.
        """
        known = position, velocity, acceleration
        self._known.append(known)
        self._index(known)

    def _index(self, known: KnownPoint) -> None:
        for i, x in enumerate(ca.vertsplit(known[0])):
            # Numbers and symbols have ordinary derivatives.
            if not (x.is_constant() or x.is_symbolic()):
                self._positions.setdefault(x.element_hash(), (known, i))

    def rate(self, element: ca.SX) -> ca.SX | None:
        """Return the rate of a coordinate of a registered point, or of its velocity; None for anything else.

        Args:
            element: a scalar expression.
        """
        key = element.element_hash()
        if key in self._positions:
            known, i = self._positions[key]
            velocity = known[1]()
            for j in range(velocity.numel()):
                self._velocities.setdefault(velocity[j].element_hash(), (known, j))
            return velocity[i]
        if key in self._velocities:
            known, i = self._velocities[key]
            return known[2]()[i]
        return None


class BodyPoint:
    """A point fixed in a node of a tree.

    Attributes:
        position: in world axes, shape (3,) [m].
    """

    def __init__(self, owner: BodyPoints, k: int, offset: ca.SX) -> None:
        """Place the point.

        Args:
            owner: the points of the tree.
            k: index of the node in the tree.
            offset: the point in the node's axes, shape (3,) [m].
        """
        self._owner, self._k, self._offset = owner, k, offset
        self.position = ca.SX(owner.motion.nodes[k].frame.point(offset))

    @functools.cached_property
    def jacobian(self) -> ca.SX:
        """J of ṗ = J v, shape (3, nv), from the arm between each joint of the chain and the point."""
        owner, k = self._owner, self._k
        nodes = owner.motion.nodes
        J = ca.SX(ca.DM.zeros(3, owner.coordinates.nv))
        reach = nodes[k].frame.rotation @ self._offset
        while k >= 0:
            mover = nodes[k]
            # ω × r, with −r× applied to each column of the angular part.
            J[:, owner.columns[k]] = mover.subspace.linear - cross(reach, mover.subspace.angular)
            reach = mover.arm.reach + reach if mover.arm.turns else mover.arm.reach
            k = owner.motion.joints[k].parent
        return J

    @functools.cached_property
    def velocity(self) -> ca.SX:
        """ṗ, shape (3,) [m/s]."""
        return self.jacobian @ self._owner.coordinates.v

    @functools.cached_property
    def acceleration(self) -> ca.SX:
        """p̈ = J a + J̇ v, with J̇ v from the accelerations that the equations of motion have at a = 0, shape (3,)."""
        owner, sweep = self._owner, self._owner.sweep()
        R, bias = owner.motion.nodes[self._k].frame.rotation, sweep.bias_accelerations[self._k]
        own = acceleration_tensor(sweep.spins[self._k], bias.angular)
        axes, offset = (ca.SX(ca.DM.eye(3)), R @ self._offset) if sweep.in_world else (R, self._offset)
        at_zero_a = axes @ (bias.linear + own @ offset)
        return self.jacobian @ owner.coordinates.a + (at_zero_a + sweep.gravity)


class BodyPoints:
    """The registered points of a tree.

    Attributes:
        motion: kinematics of the tree in world axes.
        sweep: function that derives the recursive kinematics on first use.
        coordinates: coordinates of the tree.
        columns: indices of each node's velocities in v.
    """

    def __init__(
        self, motion: TreeKinematics, sweep: Callable[[], Sweep], coordinates: Coordinates, columns: Sequence[list[int]]
    ) -> None:
        """Register the origins of all nodes.

        Args:
            motion: kinematics of the tree in world axes.
            sweep: function that derives the recursive kinematics on first use.
            coordinates: coordinates of the tree.
            columns: indices of each node's velocities in v.
        """
        self.motion, self.sweep, self.coordinates, self.columns = motion, sweep, coordinates, columns
        self._known = PointRates()
        for k in range(len(motion.joints)):
            _add(self._known, BodyPoint(self, k, ca.SX(ca.DM.zeros(3))))

    def attach(self, k: int, frame: Frame) -> Frame:
        """Register the origin of a frame fixed in a node, and return the pose of the frame in the world.

        Args:
            k: index of the node in the tree.
            frame: pose in the node's frame.
        """
        point = BodyPoint(self, k, frame.position)
        _add(self._known, point)
        return Frame(self.motion.nodes[k].frame.rotation @ frame.rotation, point.position)

    def rate(self, element: ca.SX) -> ca.SX | None:
        """Return the rate of a coordinate of a registered point, or of its velocity; None for anything else.

        Args:
            element: a scalar expression.
        """
        return self._known.rate(element)


def _add(known: PointRates, point: BodyPoint) -> None:
    known.add(point.position, lambda: point.velocity, lambda: point.acceleration)


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
