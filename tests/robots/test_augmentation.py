"""Singular mass matrices: natural constraints take the place of inertia, and what neither holds is named."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, second_order
from erugin.robots import Dynamics, Frame, Link, Robot, lagrangian_system, planar_manipulator, tree_system
from erugin.robots.tree import WORLD, Node, Planar, Prismatic, Tree
from erugin.scenarios import simulate
from erugin.symbolic import NO_PARAMETERS, Coordinates, ModelError

from ..support.trees import BODY, GRAVITY, assert_close

Array = NDArray[np.float64]


def system(M: Array, A: Array, b: Array, h: Array | None = None) -> Robot:
    """M a + h = Aᵀμ and A a = b, with constant matrices; coordinates are called x0, x1 …"""
    n = len(M)
    q = ca.vertcat(*(ca.SX.sym(f"x{i}") for i in range(n)))
    v = ca.vertcat(*(ca.SX.sym(f"v_x{i}") for i in range(n)))
    c = Coordinates.of(q, v)
    mass, rows = ca.SX(ca.DM(M)), ca.SX(ca.DM(A))
    natural = (second_order(rows @ c.a - ca.DM(b), name="held"),) if len(A) else ()
    return Robot(
        name="system",
        coordinates=c,
        parameters=NO_PARAMETERS,
        u=ca.SX(0, 1),
        dynamics=Dynamics.given(
            mass_matrix=mass,
            bias=ca.SX(ca.DM(np.zeros(n) if h is None else h)),
            kinetic_energy=ca.dot(v, mass @ v) / 2,
            potential_energy=ca.SX(0),
        ),
        input_matrix=ca.SX(n, 0),
        natural=natural,
    )


def random_system(seed: int, stretch: float) -> tuple[Array, Array, Array, Array]:
    """M of rank 3 for 5 coordinates and 3 rows that hold the rest, in units ``stretch`` apart."""
    rng = np.random.default_rng(seed)
    units = np.diag(stretch ** rng.uniform(-1.0, 1.0, 5))
    half = rng.normal(size=(3, 5)) @ units
    return half.T @ half, rng.normal(size=(3, 5)) @ units, rng.normal(size=3), units @ rng.normal(size=5)


def whole(M: Array, A: Array, b: Array, h: Array) -> tuple[Array, Array]:
    """a and μ from (M, -Aᵀ; A, 0) (a; μ) = (-h; b), in units in which nothing is large or small."""
    k = len(A)
    matrix = np.block([[M, -A.T], [A, np.zeros((k, k))]])
    scale = 1.0 / np.sqrt(np.abs(matrix).max(axis=0))
    found = scale * np.linalg.solve(scale[:, None] * matrix * scale, scale * np.append(-h, b))
    return found[:-k], found[-k:]


@pytest.mark.parametrize("stretch", [1.0, 30.0])
@pytest.mark.parametrize("seed", range(5))
def test_motion_and_reactions_are_those_of_the_whole_system(seed: int, stretch: float) -> None:
    M, A, b, h = random_system(seed, stretch)
    robot = system(M, A, b, h)
    assert float(ca.mmin(robot.augmentation)) > 0.0
    a, mu = whole(M, A, b, h)
    units = np.sqrt(np.diag(M))
    found = robot.evaluate(robot.acceleration, q=np.zeros(5), v=np.zeros(5))
    assert_close(units * found, units * a)
    assert_close(robot.evaluate(robot.reactions, q=np.zeros(5), v=np.zeros(5)), mu)


@pytest.mark.parametrize("weights", [(1e-2, 1e-2, 1e-2), (100.0, 100.0, 100.0), (0.1, 1.0, 30.0)])
def test_the_choice_of_the_added_matrix_changes_nothing(weights: tuple[float, ...]) -> None:
    """Any positive diagonal will do: neither a nor μ knows of it."""
    M, A, b, h = random_system(7, 1.0)
    robot, other = system(M, A, b, h), system(M, A, b, h)
    vars(other)["augmentation"] = robot.augmentation * ca.DM(weights)
    q = v = np.zeros(5)
    mu = robot.evaluate(robot.reactions, q=q, v=v)
    assert_close(other.evaluate(other.acceleration, q=q, v=v), robot.evaluate(robot.acceleration, q=q, v=v))
    assert_close(other.evaluate(other.reactions, q=q, v=v), mu)
    assert np.abs(mu).max() > 0.1


def slack() -> Robot:
    """A particle in the plane, and a spring on s = x², a coordinate without mass."""
    x, y, s = (ca.SX.sym(name) for name in "xys")
    v = ca.vertcat(*(ca.SX.sym(f"v_{name}") for name in "xys"))
    V = 9.81 * 2.0 * y + 5.0 * s**2 / 2
    natural = (holonomic(s - x**2, name="slack"),)
    return lagrangian_system(q=ca.vertcat(x, y, s), v=v, T=2.0 * (v[0] ** 2 + v[1] ** 2) / 2, V=V, natural=natural)


def test_a_coordinate_without_mass_follows_its_constraint() -> None:
    """Eliminated by hand: 2 x'' = -10 x³, y'' = -g, s = x², and the reaction is the spring's force."""
    robot = slack()
    x, rate = 0.7, -1.3
    q, v = [x, 0.4, x**2], [rate, 0.2, 2.0 * x * rate]
    ax = -5.0 * x**3
    a = robot.evaluate(robot.acceleration, q=q, v=v)
    assert_close(a, np.array([ax, -9.81, 2.0 * rate**2 + 2.0 * x * ax]), 1e-13)
    assert_close(robot.evaluate(robot.reactions, q=q, v=v), 5.0 * x**2, 1e-13)
    motion = simulate(robot, None, q, v, 2.0, step=1e-3)
    assert np.abs(motion.q[:, 2] - motion.q[:, 0] ** 2).max() < 1e-9
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-8


def test_nothing_is_added_to_a_regular_mass_matrix() -> None:
    arm = planar_manipulator([Link(0.5, 1.0, 0.2, 0.03)] * 2)
    assert arm.augmentation.shape == (0, 1)
    held = holonomic(arm.points["tip"][1] - 0.3, name="held")
    robot = dataclasses.replace(arm, natural=(held,))
    assert robot.augmentation.shape == (1, 1)
    assert robot.augmentation.is_zero()
    assert robot.factor is robot.dynamics.factor


@pytest.mark.parametrize("masses", [(1.0, 1e-9), (1e6, 1e-6), (1e-12, 1e-12)])
def test_small_masses_are_masses(masses: tuple[float, float]) -> None:
    """Kilograms and milligrams in one robot make no singular matrix."""
    assert system(np.diag(masses), np.ones((1, 2)), np.ones(1)).augmentation.is_zero()


ROW = np.array([[1.0, 10.0]])
"""M = ROWᵀ ROW does not feel the direction (10, -1)."""


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_constraints_that_hold_what_has_no_inertia_are_enough(size: float) -> None:
    """Though in other units the constraint would look parallel to what M feels."""
    M, h, b = ROW.T @ ROW * size, np.array([0.3, -0.2]) * size, np.array([0.7])
    for rows in ([[1.0, 1.0]], [[1.0, -10.0]], [[0.0, 1.0]]):
        A = np.array(rows)
        robot = system(M, A, b, h)
        a, mu = whole(M, A, b, h)
        assert_close(robot.evaluate(robot.acceleration, q=[0.0, 0.0], v=[0.0, 0.0]), a)
        assert_close(robot.evaluate(robot.reactions, q=[0.0, 0.0], v=[0.0, 0.0]), mu[0])


def test_what_has_neither_inertia_nor_constraint_is_named() -> None:
    with pytest.raises(ModelError, match="v_x0, v_x1 can change with neither inertia"):
        _ = system(ROW.T @ ROW, ROW, np.zeros(1)).acceleration
    M = np.diag([1.0, 0.0, 2.0, 0.0])
    with pytest.raises(ModelError, match="v_x3 can change with neither inertia nor a natural constraint"):
        _ = system(M, np.array([[1.0, 1.0, 0.0, 0.0]]), np.zeros(1)).augmentation


def test_motion_with_a_singular_mass_matrix_and_no_constraint_is_refused() -> None:
    """A body in the plane that could slide in three directions where there are two."""
    nodes = (
        Node(name="slide", parent=WORLD, placement=Frame.at(), joint=Prismatic()),
        Node(name="puck", parent=0, placement=Frame.at(), joint=Planar(), bodies=(BODY,)),
    )
    robot = tree_system(Tree(nodes, GRAVITY), parameters=NO_PARAMETERS)
    with pytest.raises(ModelError, match=r"singular in every position: v_slide, v_puck\.x can change without inertia"):
        simulate(robot, None, np.zeros(4), np.zeros(4), 0.1, step=0.01)
