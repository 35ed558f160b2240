"""Every formulation gives the same M, h and accelerations, on every family of robots that is made of a tree."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Robot
from erugin.robots.formulations import FORMULATIONS, Articulated, Formulation

from .probes import Probe
from .test_contracts import concrete
from .tree_families import BUILDERS, FAMILIES, random_states, with_formulation
from .trees import assert_close

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
    """What the first formulation of the table gives."""
    return equations(FAMILIES[family](FORMULATIONS[0]))


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
