"""Trees that cannot be, or that nothing could move, are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.robots import Frame, Limits, tree_system
from erugin.robots.tree import WORLD, Body, Floating, Joint, Node, Planar, Prismatic, Revolute, Tree
from erugin.symbolic import NO_PARAMETERS, ModelError

from .test_joints import constant

INERTIA = np.diag([0.1, 0.2, 0.25])
GRAVITY = constant(np.array([0.0, 0.0, -9.81]))
FOREIGN = ca.SX.sym("foreign")


def body(**changed: Any) -> Body:  # noqa: ANN401
    given: dict[str, Any] = {
        "name": "block",
        "mass": ca.SX(2.0),
        "center": constant(np.array([0.2, 0.1, -0.1])),
        "inertia": constant(INERTIA),
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
        (lambda: pair(nodes=(node("hinge", 0, Revolute(), body()),)), "'hinge' at place 0 cannot have parent 0"),
        (lambda: pair(nodes=(node("hinge", -2, Revolute(), body()),)), "'hinge' at place 0 cannot have parent -2"),
        (
            lambda: pair(nodes=(node("a", 1, Revolute(), body()), node("b", WORLD, Revolute(), body()))),
            "'a' at place 0 cannot have parent 1: parents come first",
        ),
        (
            lambda: pair(nodes=(node("a", WORLD, Revolute(), body()), node("a", 0, Prismatic(), body()))),
            "different names; given more than once: a",
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
def test_axes_that_are_none_are_refused(joint: Callable[[Any], Joint], axis: Any, message: str) -> None:  # noqa: ANN401
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
        ({"inertia": constant(np.diag([1.0, 1.0, 3.0]))}, "inertia of body 'block'.*no body has one"),
        ({"inertia": constant(np.diag([-1.0, 1.0, 1.0]))}, "no body has a negative one"),
        ({"inertia": constant(INERTIA + np.eye(3, k=1) * 0.1)}, "symmetric"),
        ({"inertia": constant(INERTIA * np.nan)}, "finite"),
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
    with pytest.raises(ModelError, match=f"share of {type(joint).__name__}: use a Revolute or a Prismatic"):
        _ = tree.motion


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"u": ca.SX.sym("u")}, "u and B belong together; got only u"),
        ({"B": ca.SX.ones(4)}, "u and B belong together; got only B"),
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
    """Where the tree uses them, before anything is derived."""
    with pytest.raises(ModelError, match=message):
        tree_system(tree(), parameters=NO_PARAMETERS)
