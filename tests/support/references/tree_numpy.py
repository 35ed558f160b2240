"""Trees of bodies in NumPy: equations of motion from the positions alone, as functions of the coordinates.

Nothing is carried from body to body but poses. With c(q) and R(q) of every body, Jacobians by complex steps give the
metric T = q'ᵀ W(q) q' / 2 in all coordinates (a quaternion's four too); the Christoffel symbols of W by central
differences of eighth order, and the gradient of V by complex steps, give E(q, q') of W q'' + E = 0. With q' = N v,

    M = Nᵀ W N,    h = Nᵀ (E + W dN/dt v).

A revolute joint turns about its axis, a prismatic one slides along it; a planar one has (x, y, angle) in the plane
across its axis, x and y being those of its placement brought there by the shortest rotation of z to the axis; a
floating one has (x, y, z, qx, qy, qz, qw) and the velocities (linear, angular) in the axes of what it moves.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[Any]
Kind = Literal["revolute", "prismatic", "planar", "floating"]

NQ = {"revolute": 1, "prismatic": 1, "planar": 3, "floating": 7}
NV = NQ | {"floating": 6}
TINY = 1e-30
STEP = 1e-2
# Central differences of eighth order: an error of about 1e-16 for what turns by radians.
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


class BodyData(NamedTuple):
    """Mass [kg], centre of mass [m], inertia about it in the axes of the node [kg m²], share of the joint or None."""

    mass: float
    center: Array
    inertia: Array
    ratio: float | None = None


class NodeData(NamedTuple):
    """A joint with its placement (rotation and offset) on the parent, or on the world for -1, and what it carries."""

    name: str
    parent: int
    kind: Kind
    axis: Array
    rotation: Array
    offset: Array
    bodies: tuple[BodyData, ...] = ()
    absolute: bool = False


class TreeData(NamedTuple):
    """Nodes, gravity [m/s²] in world axes, and the places of the nodes in the order in which their coordinates come."""

    nodes: tuple[NodeData, ...]
    gravity: Array
    order: tuple[int, ...]

    def places(self, sizes: dict[str, int]) -> list[slice]:
        """Slices of each node's coordinates (``NQ``) or velocities (``NV``)."""
        found: dict[int, slice] = {}
        start = 0
        for k in self.order:
            size = sizes[self.nodes[k].kind]
            found[k] = slice(start, start + size)
            start += size
        return [found[k] for k in range(len(self.nodes))]

    @property
    def nq(self) -> int:
        return sum(NQ[node.kind] for node in self.nodes)

    @property
    def nv(self) -> int:
        return sum(NV[node.kind] for node in self.nodes)


class Pose(NamedTuple):
    """R, shape (…, 3, 3), and p, shape (…, 3)."""

    rotation: Numbers
    position: Numbers

    def then(self, rotation: Numbers, position: Numbers) -> Pose:
        return Pose(self.rotation @ rotation, self.position + (self.rotation @ position[..., None])[..., 0])


def by_quaternion(e: Numbers) -> Numbers:
    """Rotation of e = (x, y, z, w) of any length: y ↦ y + 2 (w u × y + u × (u × y)) / |e|², analytic in e."""
    u, w = e[..., :3], e[..., 3:, None]
    zero = np.zeros_like(u[..., 0])
    across = np.stack(
        [zero, -u[..., 2], u[..., 1], u[..., 2], zero, -u[..., 0], -u[..., 1], u[..., 0], zero], axis=-1
    ).reshape(*u.shape[:-1], 3, 3)
    R: Numbers = np.eye(3) + 2.0 * (w * across + across @ across) / np.sum(e * e, axis=-1)[..., None, None]
    return R


def about(axis: Array, angle: Numbers) -> Numbers:
    """Rotation about a unit axis."""
    half = angle[..., None] / 2.0
    return by_quaternion(np.concatenate([axis * np.sin(half), np.cos(half)], axis=-1))


def plane_of(axis: Array) -> tuple[Array, Array]:
    """Images of x and y under the shortest rotation of z to the axis."""
    x, y, z = np.eye(3)
    e = np.append(np.cross(z, axis), 1.0 + axis[2]) if axis[2] > -1.0 else np.array([1.0, 0.0, 0.0, 0.0])
    return by_quaternion(e) @ x, by_quaternion(e) @ y


def displacement(node: NodeData, q: Numbers, share: float = 1.0) -> tuple[Numbers, Numbers]:
    """Rotation and position that a joint gives, for a share of its displacement."""
    still = np.broadcast_to(np.eye(3), (*q.shape[:-1], 3, 3))
    match node.kind:
        case "revolute":
            return about(node.axis, share * q[..., 0]), np.zeros((*q.shape[:-1], 3))
        case "prismatic":
            return still, share * q * node.axis
        case "planar":
            first, second = plane_of(node.axis)
            return about(node.axis, q[..., 2]), q[..., 0:1] * first + q[..., 1:2] * second
        case "floating":
            return by_quaternion(q[..., 3:]), q[..., :3]


def poses(tree: TreeData, q: Numbers) -> tuple[list[Pose], list[tuple[BodyData, Pose]]]:
    """Pose of each node, and of each body: its centre of mass and the axes of its inertia."""
    nodes: list[Pose] = []
    bodies: list[tuple[BodyData, Pose]] = []
    for node, place in zip(tree.nodes, tree.places(NQ), strict=True):
        carrier = nodes[node.parent] if node.parent >= 0 else Pose(np.eye(3), np.zeros(3))
        base = carrier.then(node.rotation, node.offset)
        if node.absolute:
            base = Pose(node.rotation, base.position)
        nodes.append(base.then(*displacement(node, q[..., place])))
        for body in node.bodies:
            share = 1.0 if body.ratio is None else body.ratio
            bodies.append((body, base.then(*displacement(node, q[..., place], share)).then(np.eye(3), body.center)))
    return nodes, bodies


def kinematics(tree: TreeData, q: Numbers) -> Numbers:
    """N of q' = N v, shape (nq, nv); of a floating joint x' = R v and e' = e ∘ (ω, 0) / 2."""
    N = np.zeros((tree.nq, tree.nv), dtype=q.dtype)
    for node, at_q, at_v in zip(tree.nodes, tree.places(NQ), tree.places(NV), strict=True):
        if node.kind != "floating":
            N[at_q, at_v] = np.eye(NV[node.kind])
            continue
        e = q[at_q][3:]
        block = np.zeros((7, 6), dtype=q.dtype)
        block[:3, :3] = by_quaternion(e)
        for i, unit in enumerate(np.eye(3)):
            block[3:6, 3 + i] = (e[3] * unit + np.cross(e[:3], unit)) / 2.0
            block[6, 3 + i] = -(e[:3] @ unit) / 2.0
        N[at_q, at_v] = block
    return N


def swept(q: Array) -> Numbers:
    """One complex step along each coordinate: shape (…, nq, nq)."""
    return q[..., None, :] + 1j * TINY * np.eye(q.shape[-1])


def rates(pose: Pose) -> tuple[Array, Array]:
    """Velocity of the origin and angular velocity in world axes, for each complex step: shapes (…, nq, 3)."""
    turning = (np.imag(pose.rotation) / TINY) @ np.swapaxes(np.real(pose.rotation), -1, -2)
    spin = np.stack([turning[..., 2, 1], turning[..., 0, 2], turning[..., 1, 0]], axis=-1)
    return np.imag(pose.position) / TINY, np.broadcast_to(spin, pose.position.shape)


def metric(tree: TreeData, q: Array) -> Array:
    """W(q), shape (…, nq, nq), for q of shape (…, nq)."""
    total = np.zeros((*q.shape, q.shape[-1]))
    for body, pose in poses(tree, swept(q))[1]:
        velocity, spin = rates(pose)
        R = np.real(pose.rotation)
        seen = spin[..., None, :] @ R  # in the body's axes
        seen = seen[..., 0, :]
        total += body.mass * velocity @ np.swapaxes(velocity, -1, -2) + seen @ body.inertia @ np.swapaxes(seen, -1, -2)
    return total


def metric_slope(tree: TreeData, q: Array) -> Array:
    """∂W_ij/∂q_k at [k, i, j]."""
    steps = STEP * np.eye(tree.nq)
    slopes = [w * (metric(tree, q + s * steps) - metric(tree, q - s * steps)) for s, w in STENCIL.items()]
    return np.asarray(sum(slopes, np.zeros((tree.nq,) * 3)) / STEP)


def potential_gradient(tree: TreeData, q: Array) -> Array:
    """∂V/∂q, shape (nq,)."""
    bodies = poses(tree, swept(q))[1]
    return -sum((body.mass * rates(pose)[0] @ tree.gravity for body, pose in bodies), np.zeros(tree.nq))


def mass_matrix(tree: TreeData, q: Array) -> Array:
    """M(q), shape (nv, nv)."""
    N = kinematics(tree, q)
    return np.asarray(N.T @ metric(tree, q) @ N)


def bias(tree: TreeData, q: Array, v: Array) -> Array:
    """Velocity products and gravity: h(q, v), shape (nv,)."""
    N = kinematics(tree, q)
    rate = N @ v
    drift = np.imag(kinematics(tree, q + 1j * TINY * rate)) / TINY @ v
    slope = metric_slope(tree, q)
    christoffel = np.einsum("kij,k,j->i", slope, rate, rate) - np.einsum("ijk,j,k->i", slope, rate, rate) / 2.0
    return np.asarray(N.T @ (christoffel + potential_gradient(tree, q) + metric(tree, q) @ drift))


def energies(tree: TreeData, q: Array, v: Array) -> tuple[float, float]:
    """T and V [J]."""
    potential = -sum(float(body.mass * tree.gravity @ pose.position) for body, pose in poses(tree, q)[1])
    return float(v @ mass_matrix(tree, q) @ v) / 2.0, potential


def frame_jacobian(tree: TreeData, q: Array, k: int) -> Array:
    """(velocity of the origin; angular velocity) of node k in world axes per velocity, shape (6, nv)."""
    velocity, spin = rates(poses(tree, swept(q))[0][k])
    return np.asarray(np.vstack([velocity.T, spin.T]) @ kinematics(tree, q))
