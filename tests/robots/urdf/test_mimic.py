"""Joints that follow others: natural constraints, joints that are held, and what has no inertia of its own."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Robot, load_urdf
from erugin.robots.urdf import UrdfError
from erugin.robots.urdf.loader import SampledMassMatrix
from erugin.symbolic import ModelError

from ...support.urdf import (
    body,
    in_pinocchio,
    joint,
    load_quietly,
    real_robots,
    require_close,
    require_equal,
    without_dissipation,
    write,
)

Array = NDArray[np.float64]

SIDE = '<axis xyz="0 1 0"/>'


def follow(name: str, multiplier: float = 1.0, offset: float = 0.0) -> str:
    return f'<mimic joint="{name}" multiplier="{multiplier}" offset="{offset}"/>'


def gears(tmp_path: Path, *, tip: str | None = None) -> Path:
    """A lift that a finger follows, which a second finger follows in turn; and an arm that is free."""
    return write(
        tmp_path,
        *(body(f"l{i}", mass=1.0 + i, center=f"0.{i + 1} 0.2 -0.1") for i in range(4)),
        tip or body("l4"),
        joint("finger", "revolute", "l1", "l2", SIDE + follow("lift", -1.5, 0.2)),
        joint("lift", "prismatic", "l0", "l1", '<axis xyz="0 0.6 0.8"/>'),
        joint("nail", "continuous", "l2", "l3", SIDE + follow("finger", 0.5, -0.1)),
        joint("arm", "continuous", "l2", "l4", '<origin xyz="0 0 0.3"/><axis xyz="1 0 0"/>'),
    )


def eliminated(robot: Robot, path: Path, G: Array, offsets: Array, q: Array, v: Array, u: Array) -> Array:
    """Accelerations from Pinocchio's M and h with the followers left out: q = G w + c, so Gᵀ M G ẇ = Gᵀ (B u − h)."""
    other = in_pinocchio(robot, path)
    np.testing.assert_allclose(q, G @ np.linalg.lstsq(G, q - offsets, rcond=None)[0] + offsets, atol=1e-12)
    M, h = other.mass_matrix(q), other.bias(q, v)
    B = robot.evaluate(robot.input_matrix).reshape(len(v), -1)
    found: Array = G @ np.linalg.solve(G.T @ M @ G, G.T @ (B @ u - h))
    return found


def test_a_gear_is_a_natural_constraint(tmp_path: Path) -> None:
    path = gears(tmp_path)
    robot = load_urdf(path)
    assert robot.coordinates.names == ("lift", "finger", "nail", "arm")
    assert [constraint.name for constraint in robot.natural] == ["finger.mimic", "nail.mimic"]
    assert robot.input_names == ("u_lift", "u_arm")
    A, b = (robot.evaluate(x, q=np.ones(4), v=np.ones(4)) for x in robot.natural_form)
    np.testing.assert_allclose(A, [[1.5, 1, 0, 0], [0, -0.5, 1, 0]])
    assert b.shape == (2,)
    # finger = 0.2 − 1.5 lift, nail = 0.5 finger − 0.1 = −0.75 lift: the constraints hold on this line and its product.
    G = np.array([[1.0, 0.0], [-1.5, 0.0], [-0.75, 0.0], [0.0, 1.0]])
    offsets = np.array([0.0, 0.2, 0.0, 0.0])
    rng = np.random.default_rng(2)
    for _ in range(3):
        w, rates, u = rng.uniform(-1.0, 1.0, (3, 2))
        q, v = G @ w + offsets, G @ rates
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        require_close(a, eliminated(robot, path, G, offsets, q, v, u))
        mu = robot.evaluate(robot.reactions, q=q, v=v, u=u)
        M, h = robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v)
        B = robot.evaluate(robot.input_matrix)
        require_close(M @ a + h, B @ u + A.T @ mu)
        assert abs(mu @ A @ v) < 1e-12  # An ideal gear does no work.
    require_equal(robot, path, "fixed", ["l3", "l4"])


def test_a_real_gripper() -> None:
    """Panda: the second finger slides as the first does."""
    path = real_robots()["panda"]
    robot = load_quietly(path)
    assert robot.u.numel() == 8
    places = {name: i for i, name in enumerate(robot.coordinates.names)}
    first, second = places["panda_finger_joint1"], places["panda_finger_joint2"]
    G = np.delete(np.eye(9), second, axis=1)
    G[second, first] = 1.0
    rng = np.random.default_rng(9)
    w, rates, u = rng.uniform(-1.0, 1.0, (3, 8))
    q, v = G @ w, G @ rates
    p = without_dissipation(robot)
    a = robot.evaluate(robot.acceleration, q=q, v=v, u=u, p=p)
    require_close(a, eliminated(robot, path, G, np.zeros(9), q, v, u))


def test_a_follower_without_mass_moves_with_what_it_follows(tmp_path: Path) -> None:
    """M alone is singular; the gear determines what inertia does not."""
    parts = (
        body("l0"),
        body("l1", mass=2.0),
        '<link name="pad"/>',
        joint("lead", "continuous", "l0", "l1", SIDE),
        joint("soft", "continuous", "l1", "pad", SIDE + follow("lead", 2.0)),
    )
    path = write(tmp_path, *parts)
    robot = load_urdf(path)
    q, v, u = np.array([0.4, 0.8]), np.array([0.3, 0.6]), np.array([0.7])
    assert np.linalg.matrix_rank(robot.evaluate(robot.mass_matrix, q=q)) == 1
    assert np.abs(robot.augmentation.full()).max() > 0.0
    alone = load_urdf(write(tmp_path, *parts[:2], parts[3]))
    lead = alone.evaluate(alone.acceleration, q=q[:1], v=v[:1], u=u)
    np.testing.assert_allclose(robot.evaluate(robot.acceleration, q=q, v=v, u=u), lead * [1.0, 2.0], rtol=1e-10)
    assert robot.nominal["pad.mass"] == 0.0
    # A mass on the pad is a payload; nothing has to be built again.
    M = robot.evaluate(robot.mass_matrix, q=q, p={"pad.mass": 3.0, "pad.cx": 0.5})
    assert M[1, 1] == pytest.approx(0.75)


def test_a_dial_without_mass_that_turns_an_arm(tmp_path: Path) -> None:
    """A torque u on the dial is u / k on the arm that follows it k times as fast."""
    dial = joint("dial", "continuous", "l0", "knob", SIDE)
    arm = joint("arm", "continuous", "l0", "l1", SIDE + follow("dial", 3.0))
    path = write(tmp_path, body("l0"), '<link name="knob"/>', body("l1", mass=2.0), dial, arm)
    robot = load_urdf(path)
    alone = load_urdf(write(tmp_path, body("l0"), body("l1", mass=2.0), arm.replace(follow("dial", 3.0), "")))
    q, v, u = np.array([0.2, 0.6]), np.array([0.5, 1.5]), np.array([0.9])
    moved = alone.evaluate(alone.acceleration, q=q[1:], v=v[1:], u=u / 3.0)
    np.testing.assert_allclose(robot.evaluate(robot.acceleration, q=q, v=v, u=u), moved / [3.0, 1.0], rtol=1e-10)


@pytest.mark.parametrize("name", ["icub", "tiago_dual"])
def test_the_mass_matrix_that_is_looked_at(name: str) -> None:
    path = real_robots()[name]
    robot = load_quietly(path, base="floating")
    assert robot.tree is not None
    other = in_pinocchio(robot, path, base="floating")
    q, _ = other.random_state(np.random.default_rng(8))
    require_close(SampledMassMatrix(robot.tree, robot.parameters)(q), other.mass_matrix(q))


@pytest.mark.parametrize(
    ("link", "names"),
    [
        ('<link name="l1"/>', "'turn' (line 4)"),
        (
            body("l1", mass=0.0).replace(
                body("l1").split("<inertia ")[1], 'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
            ),
            "'turn' (line 4)",
        ),
        # A mass on the axis, without inertia of its own, resists no turn.
        (
            '<link name="l1"><inertial><origin xyz="0 0.4 0"/><mass value="2"/>'
            '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>',
            "'turn' (line 4)",
        ),
    ],
)
def test_a_joint_that_moves_nothing(tmp_path: Path, link: str, names: str) -> None:
    path = write(tmp_path, body("l0"), link, joint("turn", "continuous", "l0", "l1", SIDE))
    with pytest.raises(UrdfError) as caught:
        load_urdf(path)
    assert str(caught.value).startswith(f"{path}: the mass matrix is singular: no inertia is moved by {names}")
    assert "locked" in str(caught.value)


def test_two_hinges_on_one_axis_without_anything_between(tmp_path: Path) -> None:
    parts = [body("l0"), '<link name="l1"/>', body("l2"), joint("one", "continuous", "l0", "l1", SIDE)]
    with pytest.raises(UrdfError, match=r"is moved by 'one' \(line 5\), 'two' \(line 6\)\. Add"):
        load_urdf(write(tmp_path, *parts, joint("two", "continuous", "l1", "l2", SIDE)))
    # With the second axis across the first the same link is that of a universal joint.
    crossed = write(tmp_path, *parts, joint("two", "continuous", "l1", "l2", '<axis xyz="1 0 0"/>'))
    require_equal(load_urdf(crossed), crossed, "fixed", ["l1", "l2"])


def test_a_base_without_mass_cannot_float_alone(tmp_path: Path) -> None:
    path = write(tmp_path, '<link name="l0"/>')
    with pytest.raises(UrdfError, match="is moved by 'l0' \\(the base\\)"):
        load_urdf(path, base="floating")


def test_a_held_joint_is_a_fixed_one(tmp_path: Path) -> None:
    """Against the same robot with that position in the origin of a fixed joint."""
    moving = joint("mid", "continuous", "l1", "l2", '<origin xyz="0.1 0.2 0.3" rpy="0.5 0 0"/><axis xyz="1 0 0"/>')
    welded = joint("mid", "fixed", "l1", "l2", '<origin xyz="0.1 0.2 0.3" rpy="1.2 0 0"/>')
    around = [body("l0"), body("l1"), body("l2", mass=2.0), body("l3", mass=3.0)]
    ends = [joint("first", "continuous", "l0", "l1", SIDE), joint("last", "prismatic", "l2", "l3", SIDE)]
    robot = load_urdf(write(tmp_path, *around, *ends, moving), locked={"mid": 0.7})
    assert robot.coordinates.names == ("first", "last")
    require_equal(robot, write(tmp_path, *around, *ends, welded), "fixed", ["l2", "l3"])


def test_what_follows_a_held_joint_is_held(tmp_path: Path) -> None:
    robot = load_urdf(gears(tmp_path), locked={"lift": 0.4})
    assert robot.coordinates.names == ("arm",)
    assert robot.natural == ()
    whole = load_urdf(gears(tmp_path))
    lift, finger = 0.4, 0.2 - 1.5 * 0.4
    q = [lift, finger, 0.5 * finger - 0.1, 0.9]
    for name in ("l3", "l4"):
        frame, other = robot.frames[name], whole.frames[name]
        found = robot.evaluate(ca.horzcat(frame.rotation, frame.position), q=[0.9])
        require_close(found, whole.evaluate(ca.horzcat(other.rotation, other.position), q=q))


def test_what_follows_a_fixed_joint_is_held(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        *(body(f"l{i}") for i in range(4)),
        joint("weld", "fixed", "l0", "l1"),
        joint("stuck", "continuous", "l1", "l2", SIDE + follow("weld", 3.0, 0.5)),
        joint("free", "continuous", "l2", "l3", SIDE),
    )
    robot = load_urdf(path)
    assert robot.coordinates.names == ("free",)
    turned = robot.evaluate(robot.frames["l2"].rotation)
    np.testing.assert_allclose(turned[:, 0], [np.cos(0.5), 0.0, -np.sin(0.5)], rtol=0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("locked", "message"),
    [
        ({"arms": 0.0}, "locked: unknown joint 'arms'. Did you mean 'arm'"),
        ({"finger": 0.0}, "<joint name='finger'>: locked: it follows 'lift': lock that joint instead"),
        ({"lift": 0.0, "finger": 0.3}, "it cannot be at 0.3, because it follows 'lift' to 0.2"),
        ({"lift": 0.0, "arm": 0.0}, "this robot has no moving joint"),
    ],
)
def test_what_cannot_be_held(tmp_path: Path, locked: dict[str, float], message: str) -> None:
    with pytest.raises(UrdfError) as caught:
        load_urdf(gears(tmp_path), locked=locked)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_a_joint_of_several_coordinates_cannot_be_held(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, body("l0"), body("l1"), joint("many", kind, "l0", "l1"))
    with pytest.raises(UrdfError, match=rf"line 4, <joint name='many'>: locked: a {kind} joint has several"):
        load_urdf(path, locked={"many": 0.0})


def test_a_position_must_be_a_number(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"locked\['arm'\] must be finite"):
        load_urdf(gears(tmp_path), locked={"arm": float("nan")})


def test_a_humanoid_with_its_hands_held() -> None:
    path = real_robots()["romeo"]
    with pytest.raises(UrdfError, match="no inertia is moved by 'LHand'"):
        load_quietly(path)
    robot = load_urdf(path, locked={"LHand": 0.1, "RHand": 0.1})
    # A hand and the eleven joints of its fingers that follow it.
    assert robot.coordinates.nv == 55 - 2 * 12
