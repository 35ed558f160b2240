"""Frames of robots and their Jacobians, against Pinocchio and complex steps; how frames are put together."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from erugin.robots import Frame
from erugin.robots.examples import fukao_robot, pinocchio_four_bar
from erugin.symbolic import ModelError

from ...support.probes import Probe
from ...support.references import tree_numpy
from ...support.references.tree_pinocchio import PinocchioTree
from ...support.tree_families import FAMILIES, default, random_states
from ...support.trees import TREES, assert_close, constant, number, only, states

Array = NDArray[np.float64]


@functools.cache
def probe_of(tree: str) -> Probe:
    robot = TREES[tree].robot()
    expressions: dict[str, ca.SX] = {}
    for name, frame in robot.frames.items():
        expressions |= {
            f"R {name}": frame.rotation,
            f"p {name}": frame.position,
            f"J {name}": robot.frame_jacobian(name),
        }
    return Probe(robot, expressions)


@pytest.mark.parametrize("name", TREES)
def test_frames_of_a_tree_follow_from_the_coordinates(name: str) -> None:
    """Their Jacobians from complex steps."""
    data, probe = TREES[name].data, probe_of(name)
    for state in states(data, seed=31, count=3):
        found = probe(state)
        poses, _ = tree_numpy.poses(data, state.q)
        for k, (node, pose) in enumerate(zip(data.nodes, poses, strict=True)):
            assert_close(found[f"R {node.name}"], pose.rotation, 1e-14)
            assert_close(found[f"p {node.name}"], pose.position, 1e-14)
            assert_close(found[f"J {node.name}"], tree_numpy.frame_jacobian(data, state.q, k), 1e-13)


@pytest.mark.foreign
@pytest.mark.parametrize("name", only(TREES, relative=True))
def test_frames_and_jacobians_are_pinocchios(name: str) -> None:
    """The velocity of the origin first, both in the axes of the world: its LOCAL_WORLD_ALIGNED."""
    data, probe = TREES[name].data, probe_of(name)
    pinocchio = PinocchioTree(data)
    for state in states(data, seed=33, count=3):
        found = probe(state)
        for k, node in enumerate(data.nodes):
            rotation, position = pinocchio.frame(state.q, k)
            assert_close(found[f"R {node.name}"], rotation)
            assert_close(found[f"p {node.name}"], position)
            assert_close(found[f"J {node.name}"], pinocchio.frame_jacobian(state.q, k))


@pytest.mark.parametrize("name", [name for name in FAMILIES if not name.startswith("tree-")])
def test_points_lie_in_the_frames_of_the_same_name(name: str) -> None:
    """And each frame's Jacobian gives the rates of its pose."""
    robot = default(name)
    c = robot.coordinates
    shared = sorted(set(robot.frames) & set(robot.points))[:4]
    assert shared
    for label in shared:
        frame, point = robot.frames[label], robot.points[label]
        assert ca.is_equal(frame.position[: point.numel()], point, 100)
        pose = ca.horzcat(frame.rotation, frame.position)
        rate = ca.reshape(ca.jtimes(ca.vec(pose), c.q, c.N @ c.v), 3, 4)
        probe = Probe(robot, {"J": robot.frame_jacobian(label), "R": frame.rotation, "Rate": rate})
        state = next(random_states(robot, 34, 1))
        found = probe(state)
        turning = found["Rate"][:, :3] @ found["R"].T
        expected = np.array([*found["Rate"][:, 3], turning[2, 1], turning[0, 2], turning[1, 0]])
        assert np.abs(found["J"] @ state.v - expected).max() <= 1e-13 * max(1.0, np.abs(expected).max())


def test_the_tip_of_an_arm_is_turned_by_the_sum_of_its_angles() -> None:
    robot = default("manipulator-3-relative-down")
    for q, _, _ in random_states(robot, 35, 3):
        turned = Rotation.from_rotvec([0.0, 0.0, q.sum() - np.pi / 2.0]).as_matrix()
        assert_close(robot.evaluate(robot.frames["tip"].rotation, q=q), turned, 1e-14)
        J = robot.evaluate(robot.frame_jacobian("tip"), q=q)
        assert np.array_equal(J[2:], np.vstack([np.zeros((3, 3)), np.ones(3)]))


def test_an_unknown_frame_is_named() -> None:
    with pytest.raises(ModelError, match=r"'tipp'.*Did you mean 'tip'"):
        default("manipulator-3-relative-down").frame_jacobian("tipp")


def random_frame(rng: np.random.Generator) -> Frame:
    rotation = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
    return Frame(constant(rotation), constant(rng.normal(size=3)))


def homogeneous(frame: Frame) -> Array:
    return np.block([[number(frame.rotation), number(frame.position)], [np.zeros((1, 3)), np.ones((1, 1))]])


def test_frames_are_put_together_like_homogeneous_matrices() -> None:
    rng = np.random.default_rng(36)
    a, b = random_frame(rng), random_frame(rng)
    x = rng.normal(size=3)
    assert_close(homogeneous(a @ b), homogeneous(a) @ homogeneous(b), 1e-14)
    assert_close(number(a.point(constant(x))).ravel(), (homogeneous(a) @ np.append(x, 1.0))[:3], 1e-14)
    assert np.array_equal(homogeneous(Frame.at(1.0, 2.0, 3.0))[:3, 3], [1.0, 2.0, 3.0])
    assert np.array_equal(homogeneous(Frame.at()), np.eye(4))


@pytest.mark.parametrize(
    ("rotation", "position", "message"),
    [
        (np.eye(2), np.zeros(3), r"shape \(3, 3\)"),
        (np.eye(3), np.zeros(2), r"shape \(3,\)"),
        (2.0 * np.eye(3), np.zeros(3), "orthogonal"),
        (np.diag([1.0, 1.0, -1.0]), np.zeros(3), "determinant 1"),
        (np.full((3, 3), np.nan), np.zeros(3), "orthogonal"),
        (np.eye(3), np.array([0.0, np.nan, 0.0]), "finite"),
    ],
)
def test_what_is_no_frame_is_refused(rotation: Array, position: Array, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Frame(constant(rotation), constant(position))


def test_planar_families_have_frames_that_turn_with_their_bodies() -> None:
    linkage, cart = pinocchio_four_bar(), fukao_robot()
    rng = np.random.default_rng(5)
    for robot, name, turning in ((linkage, linkage.coordinates.names[1], 1), (cart, "platform", 2)):
        c = robot.coordinates
        q = rng.uniform(-1.0, 1.0, c.nq)
        J = robot.evaluate(robot.frame_jacobian(name), q=q)
        expected = np.zeros(c.nv)
        expected[turning] = 1.0
        np.testing.assert_allclose(J[5], expected, atol=1e-15)
        assert not J[2:5].any()
        R = robot.evaluate(robot.frames[name].rotation, q=q)
        np.testing.assert_allclose(R[:2, 0], [np.cos(q[turning]), np.sin(q[turning])], atol=1e-15)
        slope = robot.evaluate(ca.jacobian(robot.frames[name].position[:2], robot.q), q=q)
        np.testing.assert_allclose(J[:2], slope, atol=1e-15)
