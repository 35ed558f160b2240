"""Points of bodies, with velocities and accelerations from the kinematics of the bodies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ...symbolic.pickling import Picklable
from ..frame import Frame
from ..spatial import cross
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
