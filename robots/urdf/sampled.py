"""The mass matrix of a tree as numbers: with many joints, expressions of it would take their time."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ..tree import Tree

Array = NDArray[np.float64]


class SampledMassMatrix:
    """M(q) = Σ Jᵀ I J over the nodes of a tree, with the Jacobian J of each node from that of its parent.

    Attributes:
        tree: whose M.
    """

    def __init__(self, tree: Tree, parameters: Parameters) -> None:
        """Prepare.

        Args:
            tree: with all its bodies fixed to the nodes.
            parameters: of the tree, all with nominal values.
        """
        self.tree = tree
        self._p = parameters.values()
        outputs: dict[str, ca.SX] = {}
        for k, (mover, (inertia, _)) in enumerate(zip(tree.motion.nodes, tree.motion.inertias, strict=True)):
            parts = (mover.arm.reach, mover.subspace.angular, mover.subspace.linear)
            outputs[f"n{k}"] = ca.horzcat(*parts, inertia.rotational, inertia.coupling, inertia.mass)
        inputs = {"q": tree.coordinates.q, "p": parameters.symbols}
        self._kernel = Kernel("nodes", inputs, outputs, compiled=False)

    def __call__(self, q: ArrayLike) -> Array:
        """M, shape (nv, nv).

        Args:
            q: coordinates, shape (nq,).
        """
        nv = self.tree.coordinates.nv
        M = np.zeros((nv, nv))
        jacobians: list[Array] = []
        for node, place, data in zip(self.tree.nodes, self.tree.places, self._kernel(q, self._p), strict=True):
            n, own = len(place), list(place)
            # (angular velocity; velocity of the origin) per velocity.
            J = np.zeros((6, nv)) if node.parent < 0 else jacobians[node.parent].copy()
            J[3:] -= np.cross(data[:, 0], J[:3], axisb=0, axisc=0)
            J[:3, own] = data[:, 1 : 1 + n]
            J[3:, own] = data[:, 1 + n : 1 + 2 * n]
            jacobians.append(J)
            rotational, coupling, mass = np.split(data[:, 1 + 2 * n :], 3, axis=1)
            M += J.T @ np.block([[rotational, coupling], [coupling.T, mass]]) @ J
        return M
