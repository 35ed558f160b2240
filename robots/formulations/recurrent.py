"""The recurrent method: a model of n − 1 bodies is extended to n bodies by matrices written by formula."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ..spatial import Twist
from ..tree.body import Body
from ..tree.kinematics import MovingFrame, world_inertia
from ..tree.tree import Tree
from .formulation import Formulation
from .recursive_algorithms import gyroscopic


class Recurrent(Formulation):
    """M_n = M_{n−1} + Jᵀ I J and h_n = h_{n−1} + Jᵀ (I (J̇v − g) + ω × I ω), J the Jacobian of the body that is added.

    Nothing is differentiated: J follows from the parent's along the arm between them, with the columns of one more
    joint, and J̇v is the acceleration at a = 0. This is the recurrent method that [ChigarevBorisov2015]_ compares with,
    for any tree.
    """

    name = "recurrent method"
    differentiates = "–"
    eliminates = "–"

    def mass_matrix(self, tree: Tree) -> ca.SX:
        """Derive M, body by body."""
        M = ca.SX(ca.DM.zeros(tree.coordinates.nv, tree.coordinates.nv))
        for body, mover, jacobian in _jacobians(tree):
            inertia = world_inertia(body, mover)
            M[jacobian.indices, jacobian.indices] += jacobian.columns.dot(inertia @ jacobian.columns)
        return ca.tril2symm(ca.tril(M))

    def bias(self, tree: Tree) -> ca.SX:
        """Derive the vector h, body by body."""
        h = ca.SX(ca.DM.zeros(tree.coordinates.nv))
        lift = Twist(ca.SX(ca.DM.zeros(3)), -tree.gravity)
        for body, mover, jacobian in _jacobians(tree):
            inertia = world_inertia(body, mover)
            spin = tree.motion.velocity(jacobian.node, mover).angular
            needed = inertia @ (tree.motion.bias_acceleration(jacobian.node, mover) + lift) + gyroscopic(inertia, spin)
            h[jacobian.indices] += jacobian.columns.dot(needed)
        return h


@dataclass(frozen=True, eq=False)
class _Jacobian:
    """Twist of a frame per unit of the velocities that move it."""

    node: int
    columns: Twist
    indices: list[int]


def _jacobians(tree: Tree) -> list[tuple[Body, MovingFrame, _Jacobian]]:
    """Return each body with its Jacobian, parents first."""
    nodes: list[_Jacobian] = []
    jacobians: list[tuple[Body, MovingFrame, _Jacobian]] = []
    for k, node in enumerate(tree.nodes):
        before = None if node.parent < 0 else nodes[node.parent]
        own = _extended(before, tree.motion.nodes[k], k, tree.velocity_indices[k])
        nodes.append(own)
        for body, mover in tree.motion.bodies[k]:
            fixed = mover is tree.motion.nodes[k]
            jacobians.append((body, mover, own if fixed else _extended(before, mover, k, tree.velocity_indices[k])))
    return jacobians


def _extended(before: _Jacobian | None, mover: MovingFrame, k: int, indices: list[int]) -> _Jacobian:
    own = mover.subspace
    if before is None:
        return _Jacobian(k, own, indices)
    return _Jacobian(k, mover.arm.outward(before.columns).beside(own), before.indices + indices)
