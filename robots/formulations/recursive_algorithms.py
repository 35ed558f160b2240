"""Recursions over a tree: kinetic and potential energy, bias forces, composite inertias."""

from __future__ import annotations

import casadi as ca

from ..spatial import SpatialInertia, Twist, cross
from ..tree.tree import Tree


def kinetic_energy(tree: Tree) -> ca.SX:
    """Return T = ½ Σ (m |ċ|² + ωᵀ I ω) [J], with recursive velocities."""
    total = ca.SX(0)
    for k, carried in enumerate(tree.motion.bodies):
        for body, mover in carried:
            velocity = tree.motion.velocity(k, mover)
            R = mover.frame.rotation
            speed = velocity.linear + ca.cross(velocity.angular, R @ body.center)
            spin = R.T @ velocity.angular
            total += (body.mass * ca.sumsqr(speed) + ca.dot(spin, body.inertia @ spin)) / 2
    return total


def potential_energy(tree: Tree) -> ca.SX:
    """Return V = −Σ m g · c of gravity [J]."""
    total = ca.SX(0)
    for carried in tree.motion.bodies:
        for body, mover in carried:
            total -= body.mass * ca.dot(tree.gravity, mover.frame.point(body.center))
    return total


def bias_forces(tree: Tree) -> ca.SX:
    """Return the forces h that keep a = 0 under gravity, outward then inward, [Featherstone2008]_ table 5.1; O(n)."""
    sweep, nodes = tree.sweep, tree.nodes
    forces = list(sweep.forces)
    rows: list[ca.SX] = []
    for k in reversed(range(len(nodes))):
        step, parent = sweep.nodes[k], nodes[k].parent
        force, passed = step.subspace.dot(forces[k]), step.inward(forces[k]) if parent >= 0 else forces[k]
        for other, needed in zip(sweep.shared[k], sweep.shared_forces(k), strict=True):
            force = force + other.subspace.dot(needed)
            passed = passed + other.inward(needed) if parent >= 0 else passed
        if parent >= 0:
            forces[parent] = forces[parent] + passed
        rows.insert(0, force)
    return tree.join_v(rows)


def gyroscopic(inertia: SpatialInertia, spin: ca.SX) -> Twist:
    """Return the velocity-product force of a rigid body, (ω × J ω; ω × (ω × m c))."""
    return Twist(cross(spin, inertia.rotational @ spin), cross(spin, inertia.coupling.T @ spin))


def composite_mass_matrix(tree: Tree) -> ca.SX:
    """Return M from composite inertias, [Featherstone2008]_ table 6.2; O(n times depth)."""
    motion, nodes, indices = tree.motion, tree.nodes, tree.velocity_indices
    nv = tree.coordinates.nv
    M = ca.SX(ca.DM.zeros(nv, nv))
    composite = [SpatialInertia.zero() for _ in nodes]
    # Forces at a node's origin for unit accelerations of the joints beyond it, and velocity indices of those joints.
    forces = [Twist.zero(0) for _ in nodes]
    beyond: list[list[int]] = [[] for _ in nodes]
    for k in reversed(range(len(nodes))):
        own, shared = motion.inertias[k]
        composite[k] = composite[k] + own
        j = nodes[k].parent
        mover = motion.nodes[k]
        if beyond[k]:
            block = mover.subspace.dot(forces[k])
            M[indices[k], beyond[k]], M[beyond[k], indices[k]] = block, block.T
        passed = mover.arm.inward(forces[k]) if j >= 0 else forces[k]
        carried = Twist.zero(nodes[k].joint.nv)
        block = ca.SX(ca.DM.zeros(nodes[k].joint.nv, nodes[k].joint.nv))
        for moved, inertia in [(mover, composite[k]), *shared]:
            force = inertia @ moved.subspace
            block = block + moved.subspace.dot(force)
            if j >= 0:
                composite[j] = composite[j] + inertia.inward(moved.arm)
                carried = carried + moved.arm.inward(force)
        M[indices[k], indices[k]] = ca.tril2symm(ca.tril(block))
        if j >= 0:
            forces[j] = forces[j].beside(passed).beside(carried)
            beyond[j] = beyond[j] + beyond[k] + indices[k]
    return M
