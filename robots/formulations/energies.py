"""Kinetic and potential energy of a tree."""

from __future__ import annotations

import casadi as ca

from ..tree import Tree


def kinetic_energy(tree: Tree) -> ca.SX:
    """T = ½ Σ (m |ċ|² + ωᵀ I ω) [J], with the velocities handed on from node to node."""
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
    """V = −Σ m g · c of gravity [J]."""
    total = ca.SX(0)
    for carried in tree.motion.bodies:
        for body, mover in carried:
            total -= body.mass * ca.dot(tree.gravity, mover.frame.point(body.center))
    return total
