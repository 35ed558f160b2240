"""The articulated recursion needs work in proportion to the number of links; no times are measured."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, planar_manipulator
from erugin.robots.formulations import FORMULATIONS, Articulated, Formulation

from .references.pinocchio_planar import PinocchioChain
from .references.planar_newton_euler import LinkData
from .trees import HINGE, SINGLE, RandomTree, assert_close

LINK = LinkData(0.5, 1.2, 0.2, 0.03)
TELESCOPE = TelescopicLink(1.4, 0.06, 0.45, 700.0, 0.8, hinge_mass=0.2, damping=1.0)


def arm(n: int) -> Robot:
    return planar_manipulator([Link(*LINK)] * n)


def absolute_arm(n: int) -> Robot:
    return planar_manipulator([Link(*LINK)] * n, angles="absolute")


def telescopes(n: int) -> Robot:
    return exoskeleton([TELESCOPE] * n)


def bush(n: int) -> Robot:
    """Every node carries two more, down to the leaves, in the plane."""
    parents = tuple((k - 1) // 2 if k else -1 for k in range(n))
    return RandomTree(30, HINGE * n, parents, plane=True).robot()


def comb(n: int) -> Robot:
    """A back of hinges in space, with a slide as a tooth on each."""
    parents = tuple(k - 1 if k % 2 else max(k - 2, -1) if k else -1 for k in range(n))
    return RandomTree(31, (SINGLE * n)[:n], parents).robot()


def spatial_chain(n: int) -> Robot:
    return RandomTree(32, HINGE * n).robot()


FAMILIES: list[Callable[[int], Robot]] = [arm, absolute_arm, telescopes, bush, comb, spatial_chain]
UNIFORM = FAMILIES[:3]


def instructions(robot: Robot, expression: ca.SX) -> int:
    """Operations of one evaluation, each common subexpression as the formulation shares it."""
    inputs = [robot.t, robot.q, robot.v, robot.u, robot.p]
    return ca.Function("count", inputs, [expression]).n_instructions()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_forward_dynamics_grow_linearly(family: Callable[[int], Robot]) -> None:
    """From 10 to 100 links a link becomes at most 25 % dearer."""
    short, long = family(10), family(100)
    for what in ("acceleration", "bias", "kinetic_energy", "potential_energy"):
        few, many = (instructions(robot, getattr(robot, what)) for robot in (short, long))
        assert 9.0 * few < many <= 1.25 * 10.0 * few, what
    assert 9.0 < ca.n_nodes(long.acceleration) / ca.n_nodes(short.acceleration) <= 12.5


@pytest.mark.parametrize("family", UNIFORM, ids=lambda family: family.__name__)
def test_every_further_link_costs_the_same(family: Callable[[int], Robot]) -> None:
    counts = {n: instructions(robot, robot.acceleration) for n in (10, 20, 40) for robot in (family(n),)}
    assert counts[40] - counts[20] == 2 * (counts[20] - counts[10])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_accelerations_do_not_derive_the_mass_matrix(family: Callable[[int], Robot]) -> None:
    robot = family(10)
    assert robot.acceleration.numel() == robot.coordinates.nv
    assert "mass_matrix" not in vars(robot.dynamics)
    assert robot.mass_matrix.shape == (robot.coordinates.nv,) * 2
    assert "mass_matrix" in vars(robot.dynamics)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda formulation: type(formulation).__name__)
def test_only_the_articulated_recursion_is_linear(formulation: Formulation) -> None:
    """The measure tells the difference: what factorizes M grows like n³."""
    costs = [
        instructions(robot, robot.acceleration) / n
        for n in (4, 16)
        for robot in (planar_manipulator([Link(*LINK)] * n, formulation=formulation),)
    ]
    assert (costs[1] < 1.5 * costs[0]) == isinstance(formulation, Articulated)


@pytest.mark.foreign
def test_a_hundred_links_move_as_in_pinocchio() -> None:
    """Rounding does not build up along the recursion more than in other people's."""
    robot, other = arm(100), PinocchioChain([LINK] * 100, "horizontal", 9.81)
    rng = np.random.default_rng(100)
    for _ in range(3):
        q, v, u = rng.uniform(-1.0, 1.0, 100), rng.uniform(-0.3, 0.3, 100), rng.uniform(-5.0, 5.0, 100)
        assert_close(robot.evaluate(robot.bias, q=q, v=v), other.nonlinear_effects(q, v))
        assert_close(robot.evaluate(robot.acceleration, q=q, v=v, u=u), other.acceleration(q, v, u))
