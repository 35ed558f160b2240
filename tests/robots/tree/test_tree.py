"""Trees of bodies: names, units, order of coordinates, limits, and trees that cannot be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Frame, Limits, tree_system
from erugin.robots.tree import WORLD, Body, Floating, Joint, Node, Planar, Prismatic, Revolute, Tree
from erugin.symbolic import NO_PARAMETERS, ModelError, Parameters

from ...support.references.tree_numpy import NV, BodyData, NodeData, TreeData
from ...support.trees import BODY, GRAVITY, TREES, RandomTree, assert_close, build, constant, states

Array = NDArray[np.float64]


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


def test_coordinates_come_in_the_requested_order() -> None:
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

    def reported(as_share: bool) -> TreeData:
        found: list[NodeData] = []
        for node in base.nodes:
            fixed = node.bodies[0]
            found.append(node._replace(bodies=(fixed._replace(ratio=1.0 if as_share else None), *node.bodies[1:])))
        return base._replace(nodes=tuple(found))

    one, other = build(reported(as_share=True)), build(reported(as_share=False))
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


VALID_INERTIA = np.diag([0.1, 0.2, 0.25])
FOREIGN = ca.SX.sym("foreign")


def body(**changed: Any) -> Body:  # noqa: ANN401
    given: dict[str, Any] = {
        "name": "block",
        "mass": ca.SX(2.0),
        "center": constant(np.array([0.2, 0.1, -0.1])),
        "inertia": constant(VALID_INERTIA),
    }
    return Body(**(given | changed))


def node(name: str, parent: int, joint: Joint, *bodies: Body, **changed: Any) -> Node:  # noqa: ANN401
    given: dict[str, Any] = {"placement": Frame.at(0.3), "bodies": bodies}
    return Node(name=name, parent=parent, joint=joint, **(given | changed))


def pair(**changed: Any) -> Tree:  # noqa: ANN401
    """A hinge and a puck on it."""
    given: dict[str, Any] = {
        "nodes": (node("hinge", WORLD, Revolute(), body()), node("puck", 0, Planar(), body())),
        "gravity": GRAVITY,
    }
    return Tree(**(given | changed))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: pair(nodes=()), "at least one node, got none"),
        (lambda: pair(nodes=(node("hinge", 0, Revolute(), body()),)), "parent of node 'hinge', number 0, .* got 0"),
        (lambda: pair(nodes=(node("hinge", -2, Revolute(), body()),)), "parent of node 'hinge', number 0, .* got -2"),
        (
            lambda: pair(nodes=(node("a", 1, Revolute(), body()), node("b", WORLD, Revolute(), body()))),
            "parent of node 'a', number 0, must be WORLD or the number of an earlier node, got 1",
        ),
        (
            lambda: pair(nodes=(node("a", WORLD, Revolute(), body()), node("a", 0, Prismatic(), body()))),
            "names of joints must differ; given more than once: a",
        ),
        (
            lambda: pair(nodes=(node("a", WORLD, Planar(), body()), node("a.x", 0, Prismatic(), body()))),
            r"given more than once: a\.x",
        ),
        (
            lambda: pair(order=("hinge",)),
            r"order must name each of hinge, puck\.x, puck\.y, puck\.angle once, got hinge",
        ),
        (lambda: pair(order=("hinge", "hinge", "puck.x", "puck.y")), "order must name each"),
        (lambda: pair(order=("puck.x", "hinge", "puck.y", "puck.angle")), "coordinates of joint 'puck' together"),
        (lambda: pair(order=("hinge", "puck.y", "puck.x", "puck.angle")), "'puck' together, in their own order"),
        (lambda: pair(gravity=ca.SX.zeros(2)), r"gravity must have shape \(3,\), got \(2, 1\)"),
        (lambda: pair(gravity=constant(np.array([0.0, np.nan, 0.0]))), "gravity must be finite"),
    ],
)
def test_wrong_trees_are_refused(build: Callable[[], Tree], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build()


@pytest.mark.parametrize(
    "leaf",
    [
        node("leaf", 0, Revolute()),
        node("leaf", 0, Revolute(), body(mass=ca.SX(0.0))),
        node("leaf", 0, Revolute(), body(ratio=ca.SX(0.0))),
    ],
    ids=["no body", "no mass", "no share"],
)
def test_a_joint_that_moves_no_mass_is_named(leaf: Node) -> None:
    with pytest.raises(ModelError, match="joint 'leaf' moves no mass"):
        Tree((node("root", WORLD, Revolute(), body()), leaf), GRAVITY)


def test_a_joint_may_move_the_mass_of_another() -> None:
    """A frame without a body between two joints is no error."""
    tree = Tree((node("root", WORLD, Revolute()), node("leaf", 0, Revolute((1.0, 0.0, 0.0)), body())), GRAVITY)
    robot = tree_system(tree, parameters=NO_PARAMETERS)
    assert np.linalg.eigvalsh(robot.evaluate(robot.mass_matrix, q=[0.3, 0.4]))[0] > 0.0


@pytest.mark.parametrize("joint", [Revolute, Prismatic, Planar])
@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ((0.0, 0.0, 0.0), "must not be zero"),
        ((np.nan, 0.0, 1.0), r"\[0\] must be finite, got nan"),
        ((0.0, np.inf, 1.0), r"\[1\] must be finite, got inf"),
        ((0.0, 1.0), "three components"),
        ((0.0, 1.0, 0.0, 0.0), "three components"),
        (("x", 1.0, 0.0), r"\[0\] must be a number, got 'x'"),
        (None, "must be three numbers, got None"),
    ],
)
def test_invalid_axes_are_refused(joint: Callable[[Any], Joint], axis: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(ModelError, match=message):
        joint(axis)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mass": ca.SX.zeros(2)}, "'block' needs a scalar mass"),
        ({"center": ca.SX.zeros(2)}, r"centre of shape \(3,\)"),
        ({"inertia": ca.SX.zeros(3)}, r"inertia of shape \(3, 3\)"),
        ({"ratio": ca.SX.zeros(2)}, "ratio of body 'block' must be a scalar"),
        ({"mass": ca.SX(-1.0)}, r"mass of body 'block' \[kg\] must not be negative"),
        ({"mass": ca.SX(float("nan"))}, "mass of body 'block'.* must be finite"),
        ({"inertia": constant(np.diag([1.0, 1.0, 3.0]))}, "inertia of body 'block'.*greater than the sum"),
        ({"inertia": constant(np.diag([-1.0, 1.0, 1.0]))}, "none may be negative"),
        ({"inertia": constant(VALID_INERTIA + np.eye(3, k=1) * 0.1)}, "symmetric"),
        ({"inertia": constant(VALID_INERTIA * np.nan)}, "finite"),
        ({"center": constant(np.array([0.0, np.nan, 0.0]))}, "center of body 'block'.*finite"),
        ({"ratio": ca.SX(float("inf"))}, "ratio of body 'block'.*finite"),
    ],
)
def test_bodies_that_cannot_be_are_refused(changed: dict[str, ca.SX], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        body(**changed)


@pytest.mark.parametrize("joint", [Floating(), Planar()])
def test_a_share_of_free_motion_is_refused(joint: Joint) -> None:
    tree = Tree((node("base", WORLD, joint, body(), body(ratio=ca.SX(0.5))),), GRAVITY)
    with pytest.raises(ModelError, match=f"requires a Revolute or a Prismatic joint, got {type(joint).__name__}"):
        _ = tree.motion


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"u": ca.SX.sym("u")}, "u and B must be given together, got only u"),
        ({"B": ca.SX.ones(4)}, "u and B must be given together, got only B"),
        ({"u": ca.SX.sym("u"), "B": ca.SX.ones(3)}, r"input_matrix must have shape \(4, 1\), got \(3, 1\)"),
        ({"u": 2 * ca.SX.sym("u"), "B": ca.SX.ones(4)}, "u must be a column of symbols"),
        ({"u": ca.SX.sym("u", 1, 2), "B": ca.SX.ones(4, 2)}, "u must be a column of symbols"),
        ({"V": ca.SX.zeros(2)}, r"V must be a scalar.* got \(2, 1\)"),
        ({"resistance": ca.SX.zeros(3)}, r"resistance of shape \(4,\), got .*\(3, 1\)"),
        ({"resistance": ca.SX.zeros(1, 4)}, r"resistance of shape \(4,\), got .*\(1, 4\)"),
        ({"limits": Limits.none(4, 4, 3)}, "limits need 4 lower, 4 upper, 4 speed and 4 effort"),
        ({"input_units": ("N",)}, "4 inputs need 4 names and units"),
        ({"V": FOREIGN}, "V uses foreign"),
        ({"resistance": FOREIGN * ca.SX.ones(4)}, "resistance uses foreign"),
        ({"points": {"tip": FOREIGN * ca.SX.ones(2)}}, r"points\['tip'\] uses foreign"),
        ({"frames": {"tip": Frame.at(FOREIGN)}}, r"frames\['tip'\] uses foreign"),
    ],
)
def test_what_does_not_fit_a_tree_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        tree_system(pair(), parameters=NO_PARAMETERS, **given)


@pytest.mark.parametrize("letter", ["v", "a"])
def test_a_potential_that_depends_on_the_motion_is_refused(letter: str) -> None:
    tree = pair()
    symbols = tree.coordinates.v if letter == "v" else tree.coordinates.a
    with pytest.raises(ModelError, match="V must depend on"):
        tree_system(tree, parameters=NO_PARAMETERS, V=ca.sumsqr(symbols))


def test_a_resistance_that_depends_on_the_acceleration_is_refused() -> None:
    tree = pair()
    with pytest.raises(ModelError, match="resistance must not depend on"):
        tree_system(tree, parameters=NO_PARAMETERS, resistance=tree.coordinates.a)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (lambda: pair(gravity=GRAVITY * FOREIGN), "gravity uses foreign"),
        (lambda: Tree((node("a", WORLD, Revolute(), body(mass=FOREIGN)),), GRAVITY), "mass of 'block' uses foreign"),
        (
            lambda: Tree((node("a", WORLD, Revolute(), body(center=FOREIGN * ca.SX.ones(3))),), GRAVITY),
            "center of 'block' uses foreign",
        ),
        (
            lambda: Tree((node("a", WORLD, Revolute(), body(inertia=FOREIGN * ca.SX.eye(3))),), GRAVITY),
            "inertia of 'block' uses foreign",
        ),
        (lambda: Tree((node("a", WORLD, Revolute(), body(ratio=FOREIGN)),), GRAVITY), "ratio of 'block' uses foreign"),
        (
            lambda: Tree((node("a", WORLD, Revolute(), body(), placement=Frame.at(FOREIGN)),), GRAVITY),
            "placement of 'a' uses foreign",
        ),
    ],
)
def test_foreign_symbols_are_named(tree: Callable[[], Tree], message: str) -> None:
    """By the tree that uses them, before anything is derived."""
    with pytest.raises(ModelError, match=message):
        tree_system(tree(), parameters=NO_PARAMETERS)


Column = list[float]


def test_limits_are_read_only_copies() -> None:
    lower = np.array([-1.0, -2.0])
    limits = Limits(lower, np.array([1.0, 2.0]), np.array([3.0, 3.0]), np.array([4.0]))
    lower[0] = 5.0
    assert limits.lower[0] == -1.0
    for array in (limits.lower, limits.upper, limits.speed, limits.effort):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_no_limits_are_infinite() -> None:
    limits = Limits.none(3, 2, 1)
    assert np.array_equal(limits.lower, [-np.inf] * 3)
    assert np.array_equal(limits.upper, [np.inf] * 3)
    assert np.array_equal(limits.speed, [np.inf] * 2)
    assert np.array_equal(limits.effort, [np.inf])


@pytest.mark.parametrize(
    ("lower", "upper", "speed", "effort", "message"),
    [
        ([np.nan], [1.0], [1.0], [1.0], "lower must be a vector without NaN"),
        ([0.0], [1.0], [1.0], [np.nan], "effort must be a vector without NaN"),
        ([[0.0]], [1.0], [1.0], [1.0], "lower must be a vector"),
        ([2.0], [1.0], [1.0], [1.0], "lower must not be above upper"),
        ([0.0, 0.0], [1.0], [1.0], [1.0], "lower must not be above upper"),
        ([0.0], [1.0], [-1.0], [1.0], "speed must not be negative"),
        ([0.0], [1.0], [1.0], [-1.0], "effort must not be negative"),
    ],
)
def test_what_is_no_limit_is_refused(lower: Column, upper: Column, speed: Column, effort: Column, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Limits(np.array(lower), np.array(upper), np.array(speed), np.array(effort))


def test_a_joint_may_be_held_between_equal_limits() -> None:
    limits = Limits(np.array([0.5]), np.array([0.5]), np.array([0.0]), np.array([0.0]))
    assert limits.lower == limits.upper
