"""A state, a velocity and a force mean the same on both sides of a bridge."""

from __future__ import annotations

import importlib
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erugin.bridges.common.name_matching import match_names
from erugin.bridges.common.state_conversion import (
    DRAKE,
    MUJOCO,
    PINOCCHIO,
    PYBULLET,
    FloatingBaseConvention,
    MimicCoordinate,
    StateConversion,
)
from erugin.bridges.pinocchio import export, match
from erugin.robots import Frame, Link, Robot, planar_manipulator, tree_system
from erugin.robots.tree import Body, Floating, Node, Revolute, Tree
from erugin.symbolic import NO_PARAMETERS, BridgeError

LINK = Link(0.5, 1.0, 0.25, 0.02)
Triple = tuple[float, float, float]


def floating() -> Robot:
    """A body that floats, with an arm of one joint."""
    inertia = ca.SX(ca.DM(np.diag([0.3, 0.2, 0.1])))
    base = Node(
        name="base",
        parent=-1,
        placement=Frame.at(),
        joint=Floating(),
        bodies=(Body(name="box", mass=ca.SX(2.0), center=ca.SX(ca.DM([0.1, 0.0, 0.2])), inertia=inertia),),
    )
    arm = Node(
        name="arm",
        parent=0,
        placement=Frame.at(0.3),
        joint=Revolute((0.0, 1.0, 0.0)),
        bodies=(Body(name="bar", mass=ca.SX(1.0), center=ca.SX(ca.DM([0.2, 0.0, 0.0])), inertia=inertia),),
    )
    return tree_system(Tree((base, arm), ca.SX(ca.DM([0.0, 0.0, -9.81]))), parameters=NO_PARAMETERS)


def mapped(robot: Robot, convention: FloatingBaseConvention) -> StateConversion:
    """The arm first on the other side, then the body that floats."""
    return StateConversion(robot, convention, {"arm": (0, 0), "base": (1, 1)}, (8, 7))


CONVENTIONS = pytest.mark.parametrize("convention", [MUJOCO, PINOCCHIO, DRAKE, PYBULLET], ids=lambda c: c.program)


@CONVENTIONS
@given(seed=st.integers(0, 10_000))
def test_there_and_back_is_where_it_was(convention: FloatingBaseConvention, seed: int) -> None:
    robot = floating()
    states, rng = mapped(robot, convention), np.random.default_rng(seed)
    q, v = rng.normal(size=8), rng.normal(size=7)
    q[3:7] /= np.linalg.norm(q[3:7])
    back = states.from_model(*states.to_model(q, v))
    np.testing.assert_allclose(back[0], q, atol=1e-14)
    np.testing.assert_allclose(back[1], v, atol=1e-14)
    R = rng.normal(size=7)
    np.testing.assert_allclose(states.force_to_model(q, R) @ states.to_model(q, v)[1], R @ v, rtol=1e-12)
    np.testing.assert_allclose(states.force_from_model(q, states.force_to_model(q, R)), R, atol=1e-13)
    np.testing.assert_allclose(states.velocity_jacobian(q) @ v, states.to_model(q, v)[1], atol=1e-14)


@CONVENTIONS
def test_the_drift_is_the_rate_of_the_velocities_there(convention: FloatingBaseConvention) -> None:
    robot = floating()
    states, rng = mapped(robot, convention), np.random.default_rng(3)
    q, v = rng.normal(size=8), rng.normal(size=7)
    rate = robot.evaluate(robot.coordinates.N @ robot.v, q=q, v=v)
    step = 1e-6
    moved = (states.velocity_jacobian(q + step * rate) - states.velocity_jacobian(q - step * rate)) @ v / (2 * step)
    np.testing.assert_allclose(states.velocity_bias(q, v), moved, atol=1e-8)


def test_a_floating_body_moves_as_pinocchio_moves_it() -> None:
    states, rng = mapped(floating(), PINOCCHIO), np.random.default_rng(4)
    q, v = rng.normal(size=8), rng.normal(size=7)
    q[3:7] /= np.linalg.norm(q[3:7])
    pin: Any = importlib.import_module("pinocchio")  # has no type information
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    data = model.createData()
    there, rates = states.to_model(q, v)
    pin.forwardKinematics(model, data, there[1:], rates[1:])
    robot = floating()
    assert robot.tree is not None
    place = robot.tree.motion.nodes[0].frame
    np.testing.assert_allclose(robot.evaluate(place.position, q=q), data.oMi[1].translation, atol=1e-14)
    np.testing.assert_allclose(robot.evaluate(place.rotation, q=q), data.oMi[1].rotation, atol=1e-13)
    np.testing.assert_allclose(np.concatenate([data.v[1].linear, data.v[1].angular]), v[:6], atol=1e-14)


def test_angles_from_the_world_become_angles_between_links() -> None:
    absolute, relative = (planar_manipulator([LINK] * 3, angles=kind) for kind in ("absolute", "relative"))
    slots = {f"q{i + 1}": (i, i) for i in range(3)}
    states = StateConversion(absolute, PINOCCHIO, slots, (3, 3))
    q, v = np.array([0.3, -0.7, 1.1]), np.array([0.2, 0.5, -0.4])
    there, rates = states.to_model(q, v)
    np.testing.assert_allclose(there, [0.3, -1.0, 1.8], atol=1e-15)
    for name in ("tip", "joint2"):
        np.testing.assert_allclose(
            relative.evaluate(relative.points[name], q=there), absolute.evaluate(absolute.points[name], q=q), atol=1e-14
        )
    # Torques of the motors are the same on both sides.
    u = np.array([1.0, 2.0, -3.0])
    R = absolute.evaluate(absolute.input_matrix) @ u
    np.testing.assert_allclose(states.force_to_model(q, R), u, atol=1e-14)
    np.testing.assert_allclose(rates, [0.2, 0.3, -0.9], atol=1e-15)


def test_followers_move_with_their_leader_and_take_no_force() -> None:
    robot = planar_manipulator([LINK])
    states = StateConversion(robot, MUJOCO, {"q1": (0, 0)}, (2, 2), [MimicCoordinate("q1", 0.25, 1, 1)])
    there, rates = states.to_model([0.8], [2.0])
    np.testing.assert_array_equal(there, [0.8, 0.2])
    np.testing.assert_array_equal(rates, [2.0, 0.5])
    np.testing.assert_array_equal(states.force_to_model([0.8], [3.0]), [3.0, 0.0])
    np.testing.assert_array_equal(states.force_from_model([0.8], [3.0, 4.0]), [4.0])


@pytest.mark.parametrize(
    ("axes", "turn", "expected"),
    [
        (((0.0, 0.0, 1.0), (0.0, 0.0, 1.0)), (1.0, -1.0, -1.0), [[1, 0], [1, 1]]),
        (((0.0, 0.6, 0.8), (0.0, 0.6, 0.8)), (1.0, 1.0, 1.0), [[1, 0], [-1, 1]]),
        (((0.0, 0.6, 0.8), (0.0, -0.6, 0.8)), (-1.0, -1.0, 1.0), [[1, 0], [-1, 1]]),
        (((0.0, 0.6, 0.8), (0.0, -0.6, -0.8)), (1.0, 1.0, 1.0), [[1, 0], [1, 1]]),
    ],
    ids=["placed upside down", "slanted", "placed so that it is parallel", "against each other"],
)
def test_angles_from_the_world_are_recognized_by_the_positions_of_the_joints(
    axes: tuple[Triple, Triple], turn: Triple, expected: list[list[int]]
) -> None:
    """Beside Pinocchio, which has the joints between the bodies."""
    inertia = ca.SX(ca.DM(np.diag([0.03, 0.02, 0.025])))
    body = Body(name="bar", mass=ca.SX(1.0), center=ca.SX(ca.DM([0.2, 0.1, 0.0])), inertia=inertia)
    placed = Frame(ca.SX(ca.DM(np.diag(turn))), ca.SX(ca.DM([0.4, 0.1, 0.2])))
    first = Node(name="a", parent=-1, placement=Frame.at(), joint=Revolute(axes[0]), bodies=(body,))
    second = Node(name="b", parent=0, placement=placed, joint=Revolute(axes[1]), bodies=(body,), absolute=True)
    robot = tree_system(Tree((first, second), ca.SX(ca.DM([1.0, -9.0, 2.0]))), parameters=NO_PARAMETERS)
    np.testing.assert_array_equal(
        StateConversion(robot, DRAKE, {"a": (0, 0), "b": (1, 1)}, (2, 2)).relative_angles, expected
    )
    assert match(robot, export(robot)).same


def test_a_direction_held_while_its_carrier_turns_about_another_axis_is_refused() -> None:
    bar = (Body.planar("bar", ca.SX(1.0), ca.SX(0.1), ca.SX(0.1)),)
    first = Node(name="a", parent=-1, placement=Frame.at(), joint=Revolute((1.0, 0.0, 0.0)), bodies=bar)
    second = Node(name="b", parent=0, placement=Frame.at(1.0), joint=Revolute(), bodies=bar, absolute=True)
    robot = tree_system(Tree((first, second), ca.SX(ca.DM([0.0, -9.81, 0.0]))), parameters=NO_PARAMETERS)
    with pytest.raises(BridgeError, match="'b' is measured from the world's axes while its parent turns"):
        StateConversion(robot, MUJOCO, {"a": (0, 0), "b": (1, 1)}, (2, 2))


def test_a_coordinate_without_a_place_is_named() -> None:
    with pytest.raises(BridgeError, match=r"tree: the Drake model has no joint for arm, base"):
        StateConversion(floating(), DRAKE, {}, (8, 7))


def test_names_that_do_not_match_are_listed_on_both_sides() -> None:
    assert match_names(["b", "a"], ["a", "c", "b"]) == [2, 0]
    assert match_names(["b", "a"], ["a", "c", "left_b"], names={"b": "left_b"}) == [2, 0]
    with pytest.raises(BridgeError) as raised:
        match_names(["shoulder", "elbow"], ["Shoulder_joint", "wrist"], where="arm.xml")
    text = str(raised.value)
    assert "missing: shoulder, elbow" in text
    assert "The robot's: shoulder, elbow" in text
    assert "those of arm.xml: Shoulder_joint, wrist" in text
    assert "names={'shoulder': 'Shoulder_joint'" in text
    with pytest.raises(BridgeError, match="named more than once: a"):
        match_names(["a"], ["a", "a"])
    with pytest.raises(BridgeError, match="names= renames 'c', which the robot does not have"):
        match_names(["a"], ["a"], names={"c": "a"})
