"""What a tree is made into: names, units and order of its coordinates; the same bodies told in other ways."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Frame, Limits, tree_system
from erugin.robots.tree import WORLD, Body, Floating, Node, Planar, Prismatic, Revolute, Tree
from erugin.symbolic import NO_PARAMETERS, Parameters

from .references.tree_numpy import NV, BodyData, NodeData, TreeData
from .test_joints import constant
from .trees import TREES, RandomTree, assert_close, build, states

Array = NDArray[np.float64]

CENTER, INERTIA = np.array([0.2, 0.1, -0.1]), np.diag([0.1, 0.2, 0.25])
BODY = Body(name="block", mass=ca.SX(2.0), center=constant(CENTER), inertia=constant(INERTIA))
GRAVITY = constant(np.array([0.0, 0.0, -9.81]))


def nodes() -> tuple[Node, ...]:
    """One of each joint, one after the other."""
    joints = {"base": Floating(), "arm": Revolute(), "slide": Prismatic(), "puck": Planar()}
    return tuple(
        Node(name=name, parent=k - 1, placement=Frame.at(0.3), joint=joint, bodies=(BODY,))
        for k, (name, joint) in enumerate(joints.items())
    )


def test_coordinates_have_names_and_units() -> None:
    robot = tree_system(Tree(nodes(), GRAVITY), parameters=NO_PARAMETERS)
    c = robot.coordinates
    base = tuple(f"base.{letter}" for letter in ("x", "y", "z", "qx", "qy", "qz", "qw"))
    assert c.names == (*base, "arm", "slide", "puck.x", "puck.y", "puck.angle")
    assert c.units == ("m", "m", "m", "", "", "", "", "rad", "m", "m", "m", "rad")
    rates = (*(f"base.{i}" for i in range(1, 7)), "arm", "slide", "puck.x", "puck.y", "puck.angle")
    assert tuple(c.v[i].name() for i in range(c.nv)) == tuple(f"v_{rate}" for rate in rates)
    assert tuple(c.a[i].name() for i in range(c.nv)) == tuple(f"a_{rate}" for rate in rates)
    assert robot.input_names == tuple(f"u_{rate}" for rate in rates)
    assert robot.input_units == ("N", "N", "N", "N m", "N m", "N m", "N m", "N", "N", "N", "N m")
    assert Tree(nodes(), GRAVITY).nodes[0].parent == WORLD


def test_coordinates_come_in_the_order_that_is_asked_for() -> None:
    """Units and inputs with them; the velocities of a floating joint stay where its coordinates are."""
    order = ("slide", "puck.x", "puck.y", "puck.angle", *(f"base{s}" for s in Floating.suffixes), "arm")
    robot = tree_system(Tree(nodes(), GRAVITY, order), parameters=NO_PARAMETERS)
    assert robot.coordinates.names == order
    assert robot.coordinates.units == ("m", "m", "m", "rad", "m", "m", "m", "", "", "", "", "rad")
    rates = ("slide", "puck.x", "puck.y", "puck.angle", *(f"base.{i}" for i in range(1, 7)), "arm")
    assert robot.input_names == tuple(f"u_{rate}" for rate in rates)
    assert robot.input_units == ("N", "N", "N", "N m", "N", "N", "N", "N m", "N m", "N m", "N m")


def test_the_order_is_only_an_order() -> None:
    """M and h of the same tree in two orders are the same rows and columns."""
    data = TREES["everything"].data
    plain = data._replace(order=tuple(range(len(data.nodes))))
    one, other = build(data), build(plain)
    at_v = np.concatenate([np.arange(place.stop)[place] for place in data.places(NV)])
    at_q = [one.coordinates.names.index(name) for name in other.coordinates.names]
    for q, v, u in states(data, seed=41, count=2):
        M = one.evaluate(one.mass_matrix, q=q)
        assert_close(other.evaluate(other.mass_matrix, q=q[at_q]), M[np.ix_(at_v, at_v)], 1e-13)
        a = one.evaluate(one.acceleration, q=q, v=v, u=u)
        assert_close(other.evaluate(other.acceleration, q=q[at_q], v=v[at_v], u=u[at_v]), a[at_v], 1e-12)


def test_absolute_angles_are_sums_of_relative_ones() -> None:
    """In a plane, φ = L θ with a triangle L of ones: M_θ = Lᵀ M_φ L, h_θ = Lᵀ h_φ."""
    n = 4
    absolute = dataclasses.replace(TREES["absolute hinges"], seed=50).data
    # The absolute axis and placement of each, as its parent sees them when both angles are zero.
    turned: list[NodeData] = []
    for node in absolute.nodes:
        before = absolute.nodes[node.parent].rotation if node.parent >= 0 else np.eye(3)
        up = node._replace(axis=np.array([0.0, 0.0, 1.0]))
        turned.append(up._replace(absolute=False, rotation=before.T @ node.rotation))
    absolute = absolute._replace(nodes=tuple(x._replace(axis=np.array([0.0, 0.0, 1.0])) for x in absolute.nodes))
    one, other = build(absolute), build(absolute._replace(nodes=tuple(turned)))
    L = np.tril(np.ones((n, n)))
    for theta, rate, _ in states(absolute, seed=42, count=3):
        M = one.evaluate(one.mass_matrix, q=L @ theta)
        assert_close(other.evaluate(other.mass_matrix, q=theta), L.T @ M @ L, 1e-13)
        h = one.evaluate(one.bias, q=L @ theta, v=L @ rate)
        assert_close(other.evaluate(other.bias, q=theta, v=rate), L.T @ h, 1e-12)


def test_bodies_of_a_node_are_one_body() -> None:
    """With the common centre of mass and the moments about it."""
    data = RandomTree(43, ("revolute", "floating", "prismatic")).data
    merged = data._replace(nodes=tuple(node._replace(bodies=(union(node.bodies),)) for node in data.nodes))
    assert max(len(node.bodies) for node in data.nodes) == 2
    one, other = build(data), build(merged)
    for q, v, u in states(data, seed=43, count=3):
        for expression, same in ((one.mass_matrix, other.mass_matrix), (one.bias, other.bias)):
            assert_close(other.evaluate(same, q=q, v=v), one.evaluate(expression, q=q, v=v), 1e-13)
        a = one.evaluate(one.acceleration, q=q, v=v, u=u)
        assert_close(other.evaluate(other.acceleration, q=q, v=v, u=u), a, 1e-12)


def union(bodies: tuple[BodyData, ...]) -> BodyData:
    mass = sum(body.mass for body in bodies)
    center = sum((body.mass * body.center for body in bodies), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for body in bodies:
        r = body.center - center
        inertia += body.inertia + body.mass * (r @ r * np.eye(3) - np.outer(r, r))
    return BodyData(mass, center, inertia)


@pytest.mark.parametrize("absolute", [False, True])
def test_a_share_of_one_moves_with_the_node(absolute: bool) -> None:
    base = TREES["absolute shares" if absolute else "shares in space"].data

    def told(as_share: bool) -> TreeData:
        found: list[NodeData] = []
        for node in base.nodes:
            fixed = node.bodies[0]
            found.append(node._replace(bodies=(fixed._replace(ratio=1.0 if as_share else None), *node.bodies[1:])))
        return base._replace(nodes=tuple(found))

    one, other = build(told(as_share=True)), build(told(as_share=False))
    for q, v, u in states(base, seed=44, count=3):
        for name in ("mass_matrix", "bias", "acceleration", "kinetic_energy", "potential_energy"):
            expected = other.evaluate(getattr(other, name), q=q, v=v, u=u)
            assert_close(one.evaluate(getattr(one, name), q=q, v=v, u=u), expected, 1e-12)


def test_springs_and_resistances_add_to_the_bias() -> None:
    """V of a spring on a point of a floating body pulls by Jᵀ k (x - x₀), whatever the coordinates."""
    data = TREES["floating base"].data
    bare = build(data)
    tree = bare.tree
    assert tree is not None
    k = Parameters.declare({"k": 70.0, "d": 3.0})
    frame = tree.motion.nodes[2].frame
    rest = np.array([0.3, -0.2, 0.5])
    spring = k["k"] * ca.sumsqr(frame.position - ca.DM(rest)) / 2
    robot = tree_system(
        tree,
        parameters=Parameters.collect([bare.parameters, k]),
        V=spring,
        resistance=k["d"] * tree.coordinates.v,
        frames={"end": frame},
    )
    for q, v, _ in states(data, seed=46, count=3):
        J = robot.evaluate(robot.frame_jacobian("end"), q=q)[:3]
        stretch = robot.evaluate(frame.position, q=q) - rest
        pull = J.T @ (70.0 * stretch)
        h = bare.evaluate(bare.bias, q=q, v=v) + pull + 3.0 * v
        assert_close(robot.evaluate(robot.bias, q=q, v=v), h, 1e-13)
        V = bare.evaluate(bare.potential_energy, q=q) + 35.0 * stretch @ stretch
        assert_close(robot.evaluate(robot.potential_energy, q=q), V, 1e-13)


def test_a_tree_system_has_the_inputs_that_it_is_given() -> None:
    tree = Tree((dataclasses.replace(nodes()[1], parent=WORLD),), GRAVITY)
    u = ca.vertcat(ca.SX.sym("left"), ca.SX.sym("right"))
    limits = Limits.none(1, 1, 2)
    robot = tree_system(
        tree, parameters=NO_PARAMETERS, u=u, B=ca.SX(ca.DM([[1.0, -1.0]])), input_units=("A", "V"), limits=limits
    )
    assert robot.input_names == ("left", "right")
    assert robot.input_units == ("A", "V")
    assert robot.limits is limits
    assert robot.tree is tree
    same = tree_system(tree, parameters=NO_PARAMETERS)
    pushed = robot.evaluate(robot.acceleration, q=[0.4], v=[1.0], u=[3.0, 1.0])
    assert_close(pushed, same.evaluate(same.acceleration, q=[0.4], v=[1.0], u=[2.0]), 1e-14)
