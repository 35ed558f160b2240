"""Points of the bodies of a tree, whose velocities and accelerations come from its kinematics."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import casadi as ca

from .frame import Frame
from .known_places import KnownPlaces
from .spatial import cross
from .sweep import change

if TYPE_CHECKING:
    from .tree import Tree


class Place:
    """A point fixed in a node of a tree.

    Attributes:
        position: in world axes, shape (3,) [m].
    """

    def __init__(self, tree: Tree, k: int, offset: ca.SX) -> None:
        """Place the point.

        Args:
            tree: what moves.
            k: place of the node in the tree.
            offset: the point in the node's axes, shape (3,) [m].
        """
        self._tree, self._k, self._offset = tree, k, offset
        self.position = ca.SX(tree.motion.nodes[k].frame.point(offset))

    @functools.cached_property
    def jacobian(self) -> ca.SX:
        """J of ṗ = J v, shape (3, nv): for each joint on the way the arm from it to the point."""
        tree, k = self._tree, self._k
        J = ca.SX(ca.DM.zeros(3, tree.coordinates.nv))
        reach = tree.motion.nodes[k].frame.rotation @ self._offset
        while k >= 0:
            mover = tree.motion.nodes[k]
            # ω × r, with −r× applied to each column of the angular part.
            J[:, tree.places[k]] = mover.subspace.linear - cross(reach, mover.subspace.angular)
            reach = mover.arm.reach + reach if mover.arm.turns else mover.arm.reach
            k = tree.nodes[k].parent
        return J

    @functools.cached_property
    def velocity(self) -> ca.SX:
        """ṗ, shape (3,) [m/s]."""
        return self.jacobian @ self._tree.coordinates.v

    @functools.cached_property
    def acceleration(self) -> ca.SX:
        """p̈ = J a + J̇ v, with J̇ v from the accelerations that the equations of motion have at a = 0, shape (3,)."""
        tree, sweep = self._tree, self._tree.sweep
        R, drift = tree.motion.nodes[self._k].frame.rotation, sweep.drifts[self._k]
        own = change(sweep.spins[self._k], drift.angular)
        axes, offset = (ca.SX(ca.DM.eye(3)), R @ self._offset) if sweep.in_world else (R, self._offset)
        found = axes @ (drift.linear + own @ offset)
        return self.jacobian @ tree.coordinates.a + (found + tree.gravity)


class Places:
    """The points of a tree that are known."""

    def __init__(self, tree: Tree) -> None:
        """Know the origins of all nodes.

        Args:
            tree: what moves.
        """
        self._known = KnownPlaces()
        self._tree = tree
        for k in range(len(tree.nodes)):
            _learn(self._known, Place(tree, k, ca.SX(ca.DM.zeros(3))))

    def carried(self, k: int, frame: Frame) -> Frame:
        """Pose in the world of a frame that is fixed in a node, whose origin is known from then on.

        Args:
            k: place of the node in the tree.
            frame: pose in the node's frame.
        """
        place = Place(self._tree, k, frame.position)
        _learn(self._known, place)
        return Frame(self._tree.motion.nodes[k].frame.rotation @ frame.rotation, place.position)

    def rate(self, element: ca.SX) -> ca.SX | None:
        """The rate of a coordinate of a known point, or of its velocity; None for anything else.

        Args:
            element: a scalar expression.
        """
        return self._known.rate(element)


def _learn(known: KnownPlaces, place: Place) -> None:
    known.learn(place.position, lambda: place.velocity, lambda: place.acceleration)
