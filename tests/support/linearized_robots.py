"""Robots of which linearizations and their regulators are known."""

from __future__ import annotations

import dataclasses
import functools

import casadi as ca
import numpy as np

from erugin.robots import Frame, Limits, Link, Robot, lagrangian_system, tree_system
from erugin.robots.examples import four_bar
from erugin.robots.tree import Body, Floating, Node, Tree
from erugin.symbolic import Parameters


@functools.cache
def cart_pole() -> Robot:
    """A cart of 2 kg with a point mass of 0.5 kg on a rod of 0.8 m; the angle from straight up."""
    x, angle, u = ca.SX.sym("x"), ca.SX.sym("angle"), ca.SX.sym("force")
    v = ca.SX.sym("v", 2)
    speed = ca.vertcat(v[0] + 0.8 * ca.cos(angle) * v[1], -0.8 * ca.sin(angle) * v[1])
    T = 2.0 * v[0] ** 2 / 2 + 0.5 * ca.sumsqr(speed) / 2
    V = 0.5 * 9.81 * 0.8 * ca.cos(angle)
    return lagrangian_system(q=ca.vertcat(x, angle), v=v, T=T, V=V, Q=ca.vertcat(u, 0), u=u, name="cart-pole")


@functools.cache
def linkage() -> Robot:
    links = (Link(0.3, 1.0, 0.12, 0.01), Link(0.9, 2.0, 0.5, 0.15), Link(0.7, 1.5, 0.3, 0.07))
    return four_bar(*links, ground=(0.8, 0.1))


def free_body(A: float, B: float, C: float, *, below: float = 0.0, gravity: float = 0.0) -> Robot:
    """One kilogram on a floating joint, driven in all six directions, its centre of mass below the joint."""
    body = Body(
        name="body",
        mass=ca.SX(1.0),
        center=ca.SX(ca.DM([0.0, 0.0, -below])),
        inertia=ca.SX(ca.DM(np.diag([A, B, C]))),
    )
    node = Node(name="body", parent=-1, placement=Frame.at(), joint=Floating(), bodies=(body,))
    return tree_system(
        Tree((node,), ca.SX(ca.DM([0.0, 0.0, -gravity]))),
        parameters=Parameters.declare({}),
        u=ca.SX.sym("u", 6),
        B=ca.SX.eye(6),
        points={},
        frames={},
        name="body",
    )


def limited(robot: Robot, *effort: float) -> Robot:
    """With limits of the inputs and no others."""
    none = Limits.none(robot.q.numel(), robot.v.numel(), robot.u.numel())
    return dataclasses.replace(robot, limits=dataclasses.replace(none, effort=np.array(effort)))


def mass_on_a_line(stiffness: float = 0.0) -> Robot:
    """One kilogram, q̈ = −stiffness q + u."""
    q, v, u = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("u")
    return lagrangian_system(q=q, v=v, T=v**2 / 2, V=stiffness * q**2 / 2, Q=u, u=u, name="mass")
