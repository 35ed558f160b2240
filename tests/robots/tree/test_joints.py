"""Joints: poses, subspaces and their rates hang together, and are what SciPy and Pinocchio take them for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from erugin.robots.tree import Floating, Joint, Planar, Prismatic, Revolute
from erugin.symbolic import ModelError

from ...support.contracts import concrete
from ...support.trees import SLANTED, Array, assert_close, constant, number

JOINTS: dict[str, Joint] = {
    "revolute": Revolute(),
    "revolute-slanted": Revolute(SLANTED),
    "prismatic": Prismatic(),
    "prismatic-slanted": Prismatic(SLANTED),
    "planar": Planar(),
    "planar-slanted": Planar(SLANTED),
    "planar-down": Planar((0.0, 0.0, -1.0)),
    "floating": Floating(),
}
BY_JOINT = pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS.keys())
STATES = 5
STEP = 1e-2
# Central differences of eighth order.
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def states(joint: Joint, seed: int = 1) -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(seed)
    found: list[tuple[Array, Array]] = []
    for _ in range(STATES):
        q = rng.uniform(-2.0, 2.0, joint.nq)
        if isinstance(joint, Floating):
            q[3:] /= np.linalg.norm(q[3:])
        found.append((q, rng.uniform(-2.0, 2.0, joint.nv)))
    return found


def pose(joint: Joint, q: Array) -> tuple[Array, Array]:
    frame = joint.pose(constant(q))
    return number(frame.rotation), number(frame.position)[:, 0]


def twist(joint: Joint, q: Array, v: Array) -> Array:
    """(ω; velocity of B's origin) in the axes of A."""
    moved = joint.subspace(constant(q)) @ constant(v)
    return np.vstack([number(moved.angular), number(moved.linear)])[:, 0]


def along(joint: Joint, q: Array, v: Array, s: float) -> Array:
    """Coordinates a little further: exact for all but the curvature of a quaternion's path."""
    return q + s * number(joint.kinematics(constant(q))) @ v


def derivative(f: Callable[[float], Array]) -> Array:
    """df/ds at s = 0."""
    return np.asarray(sum((w * (f(s * STEP) - f(-s * STEP)) for s, w in STENCIL.items()), 0.0 * f(0.0)) / STEP)


@pytest.mark.foreign
def test_every_joint_is_in_the_table() -> None:
    assert {type(joint) for joint in JOINTS.values()} == set(concrete(Joint))


@BY_JOINT
def test_sizes_and_units(joint: Joint) -> None:
    q = constant(states(joint)[0][0])
    S = joint.subspace(q)
    assert joint.nq == len(joint.units) == len(joint.suffixes) == len(set(joint.suffixes)) == len(joint.neutral())
    assert joint.nv == len(joint.input_units) == len(joint.velocity_units)
    assert S.angular.shape == S.linear.shape == (3, joint.nv)
    assert joint.kinematics(q).shape == (joint.nq, joint.nv)
    assert {"m": "N", "rad": "N m"}[joint.velocity_units[0]] == joint.input_units[0]
    # A force goes with what displaces, a torque with what turns.
    for i, unit in enumerate(joint.input_units):
        assert (np.abs(number(S.angular[:, i])).max() > 0.0) == (unit == "N m")


@BY_JOINT
def test_the_neutral_position_is_no_displacement(joint: Joint) -> None:
    R, p = pose(joint, np.array(joint.neutral()))
    assert np.array_equal(R, np.eye(3))
    assert np.array_equal(p, np.zeros(3))


@BY_JOINT
def test_poses_are_rigid(joint: Joint) -> None:
    for q, _ in states(joint):
        R, _ = pose(joint, q)
        assert_close(R @ R.T, np.eye(3), 1e-14)
        assert_close(np.linalg.det(R), 1.0, 1e-14)


@BY_JOINT
def test_subspace_is_the_rate_of_the_pose(joint: Joint) -> None:
    for q, v in states(joint):
        R, _ = pose(joint, q)
        turning = derivative(lambda s: pose(joint, along(joint, q, v, s))[0]) @ R.T  # noqa: B023
        velocity = derivative(lambda s: pose(joint, along(joint, q, v, s))[1])  # noqa: B023
        spin = [turning[2, 1], turning[0, 2], turning[1, 0]]
        assert np.abs(turning + turning.T).max() <= 1e-11
        assert_close(twist(joint, q, v), np.append(spin, velocity), 1e-11)


@BY_JOINT
def test_subspace_rate_is_the_rate_of_the_twist(joint: Joint) -> None:
    for q, v in states(joint):
        rate = joint.subspace_rate(constant(q), constant(v))
        found = np.vstack([number(rate.angular), number(rate.linear)])[:, 0]
        expected = derivative(lambda s: twist(joint, along(joint, q, v, s), v))  # noqa: B023
        assert np.abs(found - expected).max() <= 1e-11


@BY_JOINT
def test_a_share_of_one_is_the_whole_and_of_a_half_the_way_there(joint: Joint) -> None:
    (q, v), *_ = states(joint)
    if joint.nv > 1:
        with pytest.raises(ModelError, match=f"got {type(joint).__name__}"):
            joint.fraction(ca.SX(0.5), constant(q))
        return
    for ratio in (1.0, 0.5, -0.3):
        frame, subspace = joint.fraction(ca.SX(ratio), constant(q))
        R, p = pose(joint, ratio * q)
        assert_close(number(frame.rotation), R, 1e-15)
        assert np.abs(number(frame.position)[:, 0] - p).max() <= 1e-15
        moved = subspace @ constant(v)
        found = np.vstack([number(moved.angular), number(moved.linear)])[:, 0]
        assert_close(found, ratio * twist(joint, q, v), 1e-15)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), SLANTED, (2.0, -1.0, 0.5), (1e200, 0.0, 1e200), (0.0, 1e-200, 0.0)])
def test_hinges_turn_as_in_scipy(axis: tuple[float, float, float]) -> None:
    """About the unit vector of whatever length the axis is given in."""
    unit = np.array(axis) / max(map(abs, axis))
    unit /= np.linalg.norm(unit)
    for angle in (-2.0, 0.0, 0.7, 3.0):
        R, _ = pose(Revolute(axis), np.array([angle]))
        assert_close(R, Rotation.from_rotvec(angle * unit).as_matrix(), 1e-15)
        _, p = pose(Prismatic(axis), np.array([angle]))
        assert np.abs(p - angle * unit).max() <= 1e-15


@pytest.mark.parametrize("tilt", [0.0, 1e-200, 1e-12, 1e-8, 1.2e-6, 1e-5, 1e-3, 0.5])
@pytest.mark.parametrize("up", [1.0, -1.0])
def test_planar_axes_are_orthonormal_however_near_to_the_vertical(tilt: float, up: float) -> None:
    joint = Planar((tilt, tilt / 2.0, up))
    S = joint.subspace(ca.SX(ca.DM.zeros(3)))
    axes = np.column_stack([number(S.linear[:, :2]), number(S.angular[:, 2])])
    assert np.abs(axes.T @ axes - np.eye(3)).max() <= 1e-15
    assert_close(np.linalg.det(axes), 1.0, 1e-14)
    # The shortest rotation of z to the axis leaves the vector across both alone.
    across = np.array([-1.0, 2.0, 0.0]) / np.sqrt(5.0)
    if tilt > 0.0:
        assert np.abs(axes @ across - across).max() <= 1e-15


@pytest.mark.foreign
def test_floating_motion_is_pinocchios() -> None:
    """Poses by SE3 and rates of the coordinates by its integration along a constant twist."""
    pin: Any = importlib.import_module("pinocchio")
    model: Any = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    joint, data = Floating(), model.createData()
    for q, v in states(joint):
        pin.forwardKinematics(model, data, q, v)
        R, p = pose(joint, q)
        assert_close(R, np.array(data.oMi[1].rotation), 1e-14)
        assert np.array_equal(p, np.array(data.oMi[1].translation))
        rate = derivative(lambda s: np.array(pin.integrate(model, q, s * v)))  # noqa: B023
        assert_close(number(joint.kinematics(constant(q))) @ v, rate, 1e-11)


def test_quaternions_keep_their_length_to_first_order() -> None:
    joint = Floating()
    for q, v in states(joint):
        assert abs(q[3:] @ (number(joint.kinematics(constant(q))) @ v)[3:]) <= 1e-15
