"""Trees of bodies in Pinocchio: relative joints, each of its own axis, and free-flyers in any place.

A planar joint is two slides and a hinge. Pinocchio wants every branch to be followed to its end before the next, so
joints are added in that order, and coordinates are put where the tree wants them.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .tree_numpy import NQ, NV, Array, NodeData, TreeData, plane_of


class PinocchioTree:
    """A ``pinocchio.Model`` of a tree without absolute orientations and without bodies carried by a share."""

    def __init__(self, tree: TreeData) -> None:
        pin: Any = importlib.import_module("pinocchio")  # has no type information
        model: Any = pin.Model()
        model.gravity.linear = tree.gravity
        self._pin, self._model = pin, model
        self._joints: dict[int, int] = {}
        at_q: dict[int, list[int]] = {}
        at_v: dict[int, list[int]] = {}
        waiting = [k for k in reversed(range(len(tree.nodes))) if tree.nodes[k].parent < 0]
        while waiting:
            k = waiting.pop()
            node = tree.nodes[k]
            assert not node.absolute
            added = self._add(node, 0 if node.parent < 0 else self._joints[node.parent])
            at_q[k] = [place for j in added for place in _places(model.joints[j], "q")]
            at_v[k] = [place for j in added for place in _places(model.joints[j], "v")]
            self._joints[k] = added[-1]
            waiting += [j for j in reversed(range(len(tree.nodes))) if tree.nodes[j].parent == k]
        self._data: Any = model.createData()
        self._q, self._v = np.zeros(tree.nq, dtype=int), np.zeros(tree.nv, dtype=int)
        for k, (own_q, own_v) in enumerate(zip(tree.places(NQ), tree.places(NV), strict=True)):
            self._q[at_q[k]] = range(own_q.start, own_q.stop)
            self._v[at_v[k]] = range(own_v.start, own_v.stop)
        assert sorted(self._q) == list(range(model.nq))
        assert sorted(self._v) == list(range(model.nv))

    def mass_matrix(self, q: Array) -> Array:
        """M by the composite-rigid-body algorithm, shape (nv, nv)."""
        upper = np.triu(np.array(self._pin.crba(self._model, self._data, q[self._q])))
        return self._back(self._back(upper + np.triu(upper, 1).T).T)

    def bias(self, q: Array, v: Array) -> Array:
        """The vector h by recursive Newton-Euler, shape (nv,)."""
        return self._back(np.array(self._pin.nonLinearEffects(self._model, self._data, q[self._q], v[self._v])))

    def acceleration(self, q: Array, v: Array, force: Array) -> Array:
        """Accelerations by the articulated-body algorithm, shape (nv,)."""
        return self._back(np.array(self._pin.aba(self._model, self._data, q[self._q], v[self._v], force[self._v])))

    def energies(self, q: Array, v: Array) -> tuple[float, float]:
        """T and V [J]."""
        T = self._pin.computeKineticEnergy(self._model, self._data, q[self._q], v[self._v])
        return float(T), float(self._pin.computePotentialEnergy(self._model, self._data, q[self._q]))

    def frame(self, q: Array, k: int) -> tuple[Array, Array]:
        """Rotation, shape (3, 3), and position, shape (3,), of node k."""
        self._pin.forwardKinematics(self._model, self._data, q[self._q])
        pose: Any = self._data.oMi[self._joints[k]]
        return np.array(pose.rotation), np.array(pose.translation)

    def frame_jacobian(self, q: Array, k: int) -> Array:
        """(velocity of the origin; angular velocity) of node k in world axes per velocity, shape (6, nv)."""
        self._pin.computeJointJacobians(self._model, self._data, q[self._q])
        world = self._pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        found = np.array(self._pin.getJointJacobian(self._model, self._data, self._joints[k], world))
        return self._back(found.T).T

    def _back(self, rows: Array) -> Array:
        """The rows of Pinocchio in the order of the tree."""
        found = np.zeros_like(rows)
        found[self._v] = rows
        return found

    def _add(self, node: NodeData, parent: int) -> list[int]:
        pin = self._pin
        joints: list[Any] = []
        match node.kind:
            case "revolute":
                joints = [pin.JointModelRevoluteUnaligned(node.axis)]
            case "prismatic":
                joints = [pin.JointModelPrismaticUnaligned(node.axis)]
            case "planar":
                joints = [pin.JointModelPrismaticUnaligned(direction) for direction in plane_of(node.axis)]
                joints.append(pin.JointModelRevoluteUnaligned(node.axis))
            case "floating":
                joints = [pin.JointModelFreeFlyer()]
        placement = pin.SE3(node.rotation, node.offset)
        added: list[int] = []
        for i, joint in enumerate(joints):
            parent = int(self._model.addJoint(parent, joint, placement, f"{node.name}-{i}"))
            placement = pin.SE3.Identity()
            added.append(parent)
        for body in node.bodies:
            assert body.ratio is None
            self._model.appendBodyToJoint(parent, pin.Inertia(body.mass, body.center, body.inertia), pin.SE3.Identity())
        return added


def _places(joint: Any, letter: str) -> list[int]:  # noqa: ANN401 - Pinocchio has no types
    start, count = int(getattr(joint, f"idx_{letter}")), int(getattr(joint, f"n{letter}"))
    return list(range(start, start + count))
