"""Every formulation gives the same M, h and accelerations, equal to Pinocchio's, with linear growth where promised."""

from __future__ import annotations

import functools
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, planar_manipulator
from erugin.robots.formulations import FORMULATIONS, Articulated, Formulation

from ...support.contracts import concrete
from ...support.probes import Probe
from ...support.references import tree_numpy
from ...support.references.pinocchio_planar import PinocchioChain
from ...support.references.planar_newton_euler import LinkData
from ...support.references.tree_pinocchio import PinocchioTree
from ...support.tree_families import BUILDERS, FAMILIES, random_states, with_formulation
from ...support.trees import HINGE, SINGLE, TREES, RandomTree, assert_close, only, states

Array = NDArray[np.float64]

STATES = 3


def name(formulation: Formulation) -> str:
    return type(formulation).__name__


def equations(robot: Robot) -> list[dict[str, Array]]:
    """Values at random states."""
    probe = Probe(robot)
    return [probe(state) for state in random_states(robot, 1, STATES)]


@functools.cache
def first(family: str) -> list[dict[str, Array]]:
    """Result of the first formulation of the table."""
    return equations(FAMILIES[family](FORMULATIONS[0]))


@pytest.mark.foreign
def test_every_formulation_is_in_the_table() -> None:
    assert {type(formulation) for formulation in FORMULATIONS} == set(concrete(Formulation))
    assert len(FORMULATIONS) == len({formulation.name for formulation in FORMULATIONS}) == 5


def repr_of(family: object) -> str:
    """The name of a builder, which a package gives out with its arguments checked."""
    return str(getattr(family, "__qualname__", family))


def test_every_family_is_in_the_table() -> None:
    assert set(map(repr_of, with_formulation())) == set(map(repr_of, BUILDERS))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("formulation", FORMULATIONS[1:], ids=name)
def test_all_formulations_agree(formulation: Formulation, family: str) -> None:
    found = equations(FAMILIES[family](formulation))
    assert len(found) == STATES
    for actual, expected in zip(found, first(family), strict=True):
        for quantity in ("M", "h", "a", "mu"):
            assert_close(actual[quantity], expected[quantity])


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=name)
def test_each_formulation_has_a_factor_of_its_mass_matrix(formulation: Formulation) -> None:
    """M (M⁻¹ F) = F for several right sides at once, of which one is zero."""
    robot = FAMILIES["tree-everything"](formulation)
    c = robot.coordinates
    right = np.column_stack([np.random.default_rng(3).normal(size=(c.nv, 3)), np.zeros(c.nv)])
    probe = Probe(robot, {"M": robot.mass_matrix, "X": robot.factor.solve(ca.SX(ca.DM(right)))})
    for state in random_states(robot, 4, STATES):
        found = probe(state)
        assert_close(found["M"] @ found["X"], right, 1e-12)


def test_the_default_is_the_articulated_recursion() -> None:
    """The same expressions, node for node."""
    family = FAMILIES["manipulator-3-relative-down"]
    found = str(family(None).acceleration)
    assert found == str(family(Articulated()).acceleration)
    assert found != str(family(FORMULATIONS[0]).acceleration)


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


GROWING_FAMILIES: list[Callable[[int], Robot]] = [arm, absolute_arm, telescopes, bush, comb, spatial_chain]
UNIFORM = GROWING_FAMILIES[:3]


def instructions(robot: Robot, expression: ca.SX) -> int:
    """Operations of one evaluation, each common subexpression as the formulation shares it."""
    inputs = [robot.t, robot.q, robot.v, robot.u, robot.p]
    return ca.Function("count", inputs, [expression]).n_instructions()


@pytest.mark.sampled
@pytest.mark.parametrize("family", GROWING_FAMILIES, ids=lambda family: family.__name__)
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


@pytest.mark.parametrize("family", GROWING_FAMILIES, ids=lambda family: family.__name__)
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


@functools.cache
def probe_of(tree: str) -> Probe:
    return Probe(TREES[tree].robot())


def test_the_trees_cover_every_joint_in_every_role() -> None:
    """Each kind of joint at the root, inside and as a leaf, and measured from the world."""
    roles: set[tuple[str, str, str]] = set()
    for tree in TREES.values():
        parents = {node.parent for node in tree.data.nodes}
        for k, node in enumerate(tree.data.nodes):
            place = "root" if node.parent < 0 else "inside" if k in parents else "leaf"
            roles.add(("absolute" if node.absolute else "relative", node.kind, place))
    for kind in tree_numpy.NQ:
        assert {("relative", kind, place) for place in ("root", "inside", "leaf")} <= roles, kind
        assert any(role[:2] == ("absolute", kind) for role in roles), kind
    assert len(only(TREES, relative=True)) >= 10
    assert len(only(TREES, relative=False)) >= 5


@pytest.mark.parametrize("name", TREES)
def test_equations_of_motion_follow_from_the_positions(name: str) -> None:
    data, probe = TREES[name].data, probe_of(name)
    for state in states(data, seed=1):
        q, v, u = state
        found = probe(state)
        M, h = tree_numpy.mass_matrix(data, q), tree_numpy.bias(data, q, v)
        assert_close(found["M"], M)
        assert_close(found["h"], h)
        assert_close(found["a"], np.linalg.solve(M, u - h))
        T, V = tree_numpy.energies(data, q, v)
        assert_close(found["kinetic"], T, 1e-13)
        assert_close(found["potential"], V, 1e-12)
        assert_close(found["N"], tree_numpy.kinematics(data, q), 1e-15)


@pytest.mark.foreign
@pytest.mark.parametrize("name", only(TREES, relative=True))
def test_equations_of_motion_are_pinocchios(name: str) -> None:
    probe, pinocchio = probe_of(name), PinocchioTree(TREES[name].data)
    for state in states(TREES[name].data, seed=4):
        q, v, u = state
        found = probe(state)
        assert_close(found["M"], pinocchio.mass_matrix(q))
        assert_close(found["h"], pinocchio.bias(q, v))
        assert_close(found["a"], pinocchio.acceleration(q, v, u))
        T, V = pinocchio.energies(q, v)
        assert_close(found["kinetic"], T)
        assert_close(found["potential"], V)


@pytest.mark.foreign
@pytest.mark.parametrize("name", only(TREES, relative=True))
def test_the_two_references_agree(name: str) -> None:
    """So that the one that models everything is right where the other cannot say."""
    data = TREES[name].data
    pinocchio = PinocchioTree(data)
    for q, v, _ in states(data, seed=5, count=2):
        assert_close(tree_numpy.mass_matrix(data, q), pinocchio.mass_matrix(q), 1e-13)
        assert_close(tree_numpy.bias(data, q, v), pinocchio.bias(q, v), 1e-11)


def test_a_quaternion_of_another_length_changes_nothing() -> None:
    """The rotation is that of the direction of (qx, qy, qz, qw)."""
    data, probe = TREES["floating base"].data, probe_of("floating base")
    place = data.places(tree_numpy.NQ)[0]
    for state in states(data, seed=6):
        longer = state.q.copy()
        longer[place.start + 3 : place.stop] *= 1.7
        found, expected = probe(state._replace(q=longer)), probe(state)
        for quantity in ("M", "h", "a", "kinetic", "potential"):
            assert_close(found[quantity], expected[quantity], 1e-13)
