"""The check that every joint of a URDF file moves some inertia, by its mass matrix at random positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ..tree.tree import Tree
from .description import Description, Inertial
from .document import UrdfError
from .kinematic_tree import order_followers
from .reduced_tree import ReducedTree

Array = NDArray[np.float64]


class SampledMassMatrix:
    """M(q) = Σ Jᵀ I J over the nodes of a tree, with the Jacobian J of each node from that of its parent.

    Attributes:
        tree: tree whose M is evaluated.
    """

    def __init__(self, tree: Tree, parameters: Parameters) -> None:
        """Build the kernel.

        Args:
            tree: tree with all its bodies fixed to the nodes.
            parameters: parameters of the tree, all with nominal values.
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
        """Return M, shape (nv, nv).

        Args:
            q: coordinates, shape (nq,).
        """
        nv = self.tree.coordinates.nv
        M = np.zeros((nv, nv))
        jacobians: list[Array] = []
        for node, indices, data in zip(
            self.tree.nodes, self.tree.velocity_indices, self._kernel(q, self._p), strict=True
        ):
            n, own = len(indices), list(indices)
            # (angular velocity; velocity of the origin) per velocity.
            J = np.zeros((6, nv)) if node.parent < 0 else jacobians[node.parent].copy()
            J[3:] -= np.cross(data[:, 0], J[:3], axisb=0, axisc=0)
            J[:3, own] = data[:, 1 : 1 + n]
            J[3:, own] = data[:, 1 + n : 1 + 2 * n]
            jacobians.append(J)
            rotational, coupling, mass = np.split(data[:, 1 + 2 * n :], 3, axis=1)
            M += J.T @ np.block([[rotational, coupling], [coupling.T, mass]]) @ J
        return M


SAMPLES = 3
"""Number of random positions: M singular at all of them is singular almost everywhere."""
TOLERANCE = 1e-10
"""Relative eigenvalue of M below which it is zero, with M scaled to a unit diagonal."""

_SHOWN = 10


def require_moving_inertia(
    tree: Tree,
    parameters: Parameters,
    description: Description,
    reduced: ReducedTree,
    inertials: Mapping[str, Inertial],
) -> None:
    """Raise UrdfError if some motion that the constraints leave free has no inertia.

    With v = G w, where w excludes joints that follow others, Gᵀ M G is then singular. M is regular, and not evaluated,
    if every node carries a link with mass and three moments of inertia.

    Args:
        tree: bodies and joints.
        parameters: parameters of the tree.
        description: content of the file.
        reduced: moving joints.
        inertials: inertias of the moving links.
    """
    bodies: list[list[Inertial]] = [[] for _ in reduced.moving]
    for name, inertial in inertials.items():
        bodies[reduced.placements[name][0]].append(inertial)
    if all(_has_full_inertia(found) for found in bodies):
        return
    G = _independent(description, reduced, tree.velocity_indices)
    mass_matrix = SampledMassMatrix(tree, parameters)
    rng = np.random.default_rng(1952)
    free = np.zeros(len(G))
    for _ in range(SAMPLES):
        unfelt = _null_motions(G.T @ mass_matrix(rng.uniform(0.3, 1.3, tree.coordinates.nq)) @ G)
        if unfelt is None:
            return
        free = np.maximum(free, np.abs(G @ unfelt).max(axis=1))
    names = [
        m.name
        for m, indices in zip(reduced.moving, tree.velocity_indices, strict=True)
        if free[list(indices)].max() > 0.1
    ]
    lines = {m.name: f"line {m.source.line}" for m in reduced.moving if m.source is not None}
    listing = ", ".join(f"{name!r} ({lines.get(name, 'the base')})" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise UrdfError(
        f"{description.file}: the mass matrix is singular: no inertia is moved by {listing}{more}. Add mass and "
        "inertia to a link beyond, or lock the joint with locked={...}"
    )


def _has_full_inertia(found: list[Inertial]) -> bool:
    """True if all bodies of a node are physically possible, and one has mass and all moments of inertia."""
    resists = False
    for inertial in found:
        low, _, high = np.linalg.eigvalsh(inertial.matrix).tolist()
        if low < 0.0:
            return False
        resists |= inertial.mass > 0.0 and low > 1e-6 * high
    return resists


def _independent(description: Description, reduced: ReducedTree, velocity_indices: Sequence[Sequence[int]]) -> Array:
    """Return G of v = G w, shape (nv, number of w)."""
    rows = {moving.name: list(indices) for moving, indices in zip(reduced.moving, velocity_indices, strict=True)}
    G = np.eye(sum(len(indices) for indices in velocity_indices))
    independent = np.ones(len(G), dtype=bool)
    for joint in order_followers(description.file, description.joints):
        if joint.mimic is not None and joint.name in rows:
            G[rows[joint.name]] = joint.mimic.multiplier * G[rows[joint.mimic.joint]]
            independent[rows[joint.name]] = False
    return np.asarray(G[:, independent])


def _null_motions(matrix: Array) -> Array | None:
    """Return the null vectors of a matrix in columns, with largest entry 1; None if it is positive definite."""
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    if values[0] > TOLERANCE * values[-1]:
        return None
    unfelt = vectors[:, values <= TOLERANCE * values[-1]] / size[:, np.newaxis]
    return np.asarray(unfelt / np.abs(unfelt).max(axis=0))
