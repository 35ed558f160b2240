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
        for node, place, data in zip(
            self.tree.nodes, self.tree.velocity_indices, self._kernel(q, self._p), strict=True
        ):
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


SAMPLES = 3
"""Random positions that are looked at: what holds at all of them holds almost everywhere."""
TOLERANCE = 1e-10
"""An eigenvalue of M is zero below this share of the largest, in units in which its diagonal is 1."""

_SHOWN = 10


def require_moving_inertia(
    tree: Tree, parameters: Parameters, description: Description, growth: ReducedTree, inertials: Mapping[str, Inertial]
) -> None:
    """Raise UrdfError if some motion that the constraints leave free has no inertia.

    With v = G w, in which joints that follow others have no w of their own, that is where Gᵀ M G is singular. M is
    regular, and is not looked at, if every node carries a link with mass and three moments of inertia.

    Args:
        tree: bodies and joints.
        parameters: of the tree.
        description: what the file says.
        growth: joints that move.
        inertials: of the links that move.
    """
    bodies: list[list[Inertial]] = [[] for _ in growth.moving]
    for name, inertial in inertials.items():
        bodies[growth.places[name][0]].append(inertial)
    if all(_has_full_inertia(found) for found in bodies):
        return
    G = _independent(description, growth, tree.velocity_indices)
    mass_matrix = SampledMassMatrix(tree, parameters)
    rng = np.random.default_rng(1952)
    free = np.zeros(len(G))
    for _ in range(SAMPLES):
        unfelt = _null_motions(G.T @ mass_matrix(rng.uniform(0.3, 1.3, tree.coordinates.nq)) @ G)
        if unfelt is None:
            return
        free = np.maximum(free, np.abs(G @ unfelt).max(axis=1))
    names = [
        m.name for m, place in zip(growth.moving, tree.velocity_indices, strict=True) if free[list(place)].max() > 0.1
    ]
    lines = {m.name: f"line {m.source.line}" for m in growth.moving if m.source is not None}
    listing = ", ".join(f"{name!r} ({lines.get(name, 'the base')})" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise UrdfError(
        f"{description.file}: the mass matrix is singular: nothing that has inertia is moved by {listing}{more}. Give "
        "mass and inertia to a link beyond, or hold the joint with locked={...}"
    )


def _has_full_inertia(found: list[Inertial]) -> bool:
    """Whether bodies that are fixed to each other resist every motion: all are possible, and one has all moments."""
    resists = False
    for inertial in found:
        low, _, high = np.linalg.eigvalsh(inertial.matrix).tolist()
        if low < 0.0:
            return False
        resists |= inertial.mass > 0.0 and low > 1e-6 * high
    return resists


def _independent(description: Description, growth: ReducedTree, places: Sequence[Sequence[int]]) -> Array:
    """G of v = G w, shape (nv, number of w)."""
    rows = {moving.name: list(place) for moving, place in zip(growth.moving, places, strict=True)}
    G = np.eye(sum(len(place) for place in places))
    kept = np.ones(len(G), dtype=bool)
    for joint in order_followers(description.file, description.joints):
        if joint.mimic is not None and joint.name in rows:
            G[rows[joint.name]] = joint.mimic.multiplier * G[rows[joint.mimic.joint]]
            kept[rows[joint.name]] = False
    return np.asarray(G[:, kept])


def _null_motions(matrix: Array) -> Array | None:
    """Motions that a matrix does not feel, in columns, their largest entry 1; None if it is positive definite."""
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    if values[0] > TOLERANCE * values[-1]:
        return None
    unfelt = vectors[:, values <= TOLERANCE * values[-1]] / size[:, np.newaxis]
    return np.asarray(unfelt / np.abs(unfelt).max(axis=0))
