"""Sweeps over trees: rotations of inertias, axes that are chosen, halves of solutions, and what a tick costs."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from erugin.constraints import holonomic
from erugin.controllers import Program
from erugin.controllers.multipliers import default_method
from erugin.controllers.realization import IdealRealization
from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, mechanism, planar_manipulator
from erugin.robots.dynamics import Factor
from erugin.robots.formulations import Articulated, Recurrent
from erugin.robots.spatial import BodyRotation, SpatialInertia, Twist

from ...support.trees import HINGE, TREES, RandomTree
from ...support.urdf import seven_joint_arm

Array = NDArray[np.float64]

TELESCOPE = TelescopicLink(1.4, 0.06, 0.45, 700.0, 0.8, hinge_mass=0.2, damping=1.0)


# Rotations -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.48, -0.6, 0.64)])
def test_a_hinge_turns_vectors_and_inertias_as_its_matrix_does(axis: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(3)
    angle = ca.SX.sym("angle")
    fixed = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
    turn = BodyRotation.hinge(axis, angle).after(ca.SX(ca.DM(fixed)))
    J, H, M = rng.normal(size=(3, 3, 3))
    J, M = J + J.T, M + M.T
    turned = turn.inertia(SpatialInertia(*(ca.SX(ca.DM(x)) for x in (J, H, M))))
    x = rng.normal(size=(3, 2))
    columns = Twist(ca.SX(ca.DM(x)), ca.SX(ca.DM(2.0 * x)))
    inward, outward = turn.inward(columns), turn.outward(columns)
    values = [turned.rotational, turned.coupling, turned.mass, inward.angular, inward.linear, outward.linear]
    function = ca.Function("turn", [angle], values)
    for number in rng.uniform(-3.0, 3.0, 5):
        R = fixed @ Rotation.from_rotvec(number * np.array(axis)).as_matrix()
        expected = [R @ J @ R.T, R @ H @ R.T, R @ M @ R.T, R @ x, 2.0 * R @ x, 2.0 * R.T @ x]
        for found, truth in zip(function(number), expected, strict=True):
            np.testing.assert_allclose(np.array(found), truth, rtol=0, atol=1e-14 * np.abs(truth).max())


@pytest.mark.foreign
def test_bodies_have_their_own_axes_where_their_joints_stand_along_them() -> None:
    arm = seven_joint_arm().tree
    slanted, plane = RandomTree(1, HINGE * 5).robot().tree, planar_manipulator([Link(0.5, 1.0, 0.2, 0.1)] * 3).tree
    assert arm is not None
    assert slanted is not None
    assert plane is not None
    assert [tree.sweep.in_world for tree in (arm, slanted, plane)] == [False, True, True]


# Halves --------------------------------------------------------------------------------------------------------------


def numbers(robot: Robot, expressions: list[ca.SX], seed: int) -> list[Array]:
    """Values of expressions at a state at random."""
    c, rng = robot.coordinates, np.random.default_rng(seed)
    function = ca.Function("numbers", [c.q, c.v, robot.p], expressions)
    q, v = rng.uniform(0.2, 1.0, c.nq), rng.uniform(-1.0, 1.0, c.nv)
    return [np.array(x) for x in function.call([ca.DM(q), ca.DM(v), ca.DM([*robot.nominal.values()])])]


@pytest.mark.parametrize("name", TREES)
def test_products_with_the_inverse_of_the_mass_matrix_need_the_first_half_only(name: str) -> None:
    for formulation in (Articulated(), Recurrent()):
        robot = TREES[name].robot(formulation)
        factor: Factor = robot.dynamics.factor
        right = np.random.default_rng(4).normal(size=(robot.coordinates.nv, 3))
        half = factor.forward(ca.SX(ca.DM(right)))
        weighted = factor.weighted(half)
        M, product, whole = numbers(robot, [robot.mass_matrix, half.T @ weighted, factor.backward(weighted)], 8)
        expected = np.linalg.solve(M, right)
        np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
        truth = right.T @ expected
        np.testing.assert_allclose(product, truth, rtol=0, atol=1e-11 * np.abs(truth).max())
        assert np.linalg.eigvalsh(product)[0] > 0.0


@pytest.mark.parametrize("name", TREES)
def test_velocity_products_and_gravity_join_the_sweep_of_the_forces(name: str) -> None:
    """One sweep for force − h, against h by the recurrent method and M by NumPy."""
    robot, other = TREES[name].robot(), TREES[name].robot(Recurrent())
    nv = robot.coordinates.nv
    force = np.random.default_rng(5).normal(size=nv)
    a, _ = robot.acceleration_under(ca.SX(ca.DM(force)))
    (found,) = numbers(robot, [a], 9)
    M, h = numbers(other, [other.mass_matrix, other.bias], 9)
    expected = np.linalg.solve(M, force - h[:, 0])
    np.testing.assert_allclose(found[:, 0], expected, rtol=0, atol=1e-10 * np.abs(expected).max())


# Operations ----------------------------------------------------------------------------------------------------------


def operations(program: Program) -> int:
    """Scalar operations for λ, R and a of a tick, with everything that they need; inputs and outputs not counted."""
    robot = program.robot
    found = IdealRealization().build(program, default_method(program))
    symbols = [robot.t, robot.q, robot.v, program.p]
    function = ca.Function("f", symbols, [found.multipliers, found.force, found.acceleration], {"cse": True})
    moved = (ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST)
    return sum(function.instruction_id(i) not in moved for i in range(function.n_instructions()))


def held(robot: Robot, point: str = "tip") -> Program:
    """Its tip held at a point, which is at rest."""
    place = robot.points[point]
    return Program(robot, holonomic(place - ca.DM([0.4, 0.3, 0.2][: place.numel()]), name="held"))


def chain(n: int) -> Program:
    return held(planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * n))


def telescopes(n: int) -> Program:
    return held(exoskeleton([TELESCOPE] * n))


def closed_telescopes(n: int) -> Program:
    """The foot on the ground by nature, and the first knee moved by the program."""
    robot = exoskeleton([TELESCOPE] * n)
    return held(mechanism(robot, [(robot.points["tip"], [0.7, 0.4])]), "end1")


def fork(n: int) -> Program:
    """Two arms of n links each on a trunk of n, the end of one of them held."""
    parents = [*range(n), *range(n, 2 * n), n, *range(2 * n + 1, 3 * n)]
    return held(exoskeleton([TELESCOPE] * (3 * n), parents=parents))


@pytest.mark.parametrize(
    ("build", "most"),
    [(chain, 113), (telescopes, 246), (closed_telescopes, 240), (fork, 658)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_tick_costs_the_same_for_every_further_link(build: Callable[[int], Program], most: int) -> None:
    """Operations are a n + b to the last one; ``most`` is a."""
    counts = np.array([operations(build(n)) for n in (4, 8, 12, 16)])
    np.testing.assert_array_equal(np.diff(counts), counts[1] - counts[0])
    assert counts[1] - counts[0] <= 4 * most


@pytest.mark.foreign
def test_ticks_cost_the_documented_operations() -> None:
    """Chains of 7 and 100 links, an arm of seven joints and eleven links of variable length."""
    assert operations(chain(7)) <= 720
    assert operations(chain(100)) <= 11_230
    assert operations(held(seven_joint_arm(), "panda_hand")) <= 2900
    assert operations(held(exoskeleton([TelescopicLink(1.0, 0.05, 0.5, 200.0, 0.5)] * 11))) <= 2500
