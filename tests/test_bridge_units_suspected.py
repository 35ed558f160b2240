"""Units are suspected where they explain all of M, and nowhere else."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.bridges.common.body_tree import MassProperties
from erugin.bridges.common.model_comparison import Match, compare_dynamics
from erugin.bridges.common.state_conversion import PINOCCHIO, StateConversion
from erugin.bridges.common.subtree_inertia import subtree_differences, subtree_unit_mismatch
from erugin.bridges.common.unit_mismatch import range_unit_mismatch
from erugin.robots import Frame, Limits, Robot, tree_system
from erugin.robots.tree import Body, Node, Prismatic, Revolute, Tree
from erugin.symbolic import Parameters

Array = NDArray[np.float64]
DEGREES, EYE = 180.0 / np.pi, np.eye(3)
MASSES = {"": 1.0, "masses in g": 1e3, "masses in t": 1e-3}
LENGTHS = {"": 1.0, "lengths in mm": 1e3, "lengths in cm": 1e2, "lengths in km": 1e-3}
ANGLES = {"": 1.0, "angles in degrees": DEGREES}
GRAVITIES = {"": None, "gravity absent, or not set": 0.0, "gravity of the other sign": -1.0}
MOMENTS = {"": None, "moments of inertia in kg mm²": 1e6, "moments of inertia in g mm²": 1e9}
VALUES = {"cart": 2.0, "load": 1.5, "rod": 0.4, "moment": 0.1, "end": 0.7, "reach": 0.5, "tip": 0.05, "g": 9.81}


@functools.cache
def crane() -> Robot:
    """A cart that carries a rod of which another slides out, all of whose numbers are parameters."""
    p = Parameters.declare(VALUES)
    one = ca.SX(ca.DM.eye(3))
    nodes = (
        Node(name="x", parent=-1, placement=Frame.at(), joint=Prismatic((1.0, 0.0, 0.0)),
             bodies=(Body(name="cart", mass=p["cart"], center=ca.SX(ca.DM.zeros(3)), inertia=one),)),
        Node(name="swing", parent=0, placement=Frame.at(), joint=Revolute((0.0, 1.0, 0.0)),
             bodies=(Body(name="rod", mass=p["load"], center=Frame.at(p["rod"]).position, inertia=p["moment"] * one),)),
        Node(name="end", parent=1, placement=Frame.at(p["reach"]), joint=Prismatic((1.0, 0.0, 0.0)),
             bodies=(Body(name="tip", mass=p["end"], center=Frame.at(p["rod"]).position, inertia=p["tip"] * one),)),
    )  # fmt: skip
    return tree_system(Tree(nodes, ca.vertcat(0, 0, -p["g"])), parameters=p, name="crane")


def matched(p: Mapping[str, float], *, angle: float = 1.0, noise: float = 0.0) -> Match:
    """The crane beside one with other numbers, and with angles in other units; entries of M rounded at random."""
    robot, rng = crane(), np.random.default_rng(1)
    slots = {name: (i, i) for i, name in enumerate(robot.coordinates.names)}
    states, back = StateConversion(robot, PINOCCHIO, slots, (3, 3)), np.array([1.0, angle, 1.0])

    def there(q: Array, v: Array) -> tuple[Array, Array]:
        M = robot.evaluate(robot.mass_matrix, q=q / back, p=p) / np.outer(back, back)
        rounded = 1.0 + noise * rng.uniform(-1.0, 1.0, M.shape)
        return M * (rounded + rounded.T) / 2.0, robot.evaluate(robot.bias, q=q / back, v=v / back, p=p) / back

    return compare_dynamics(robot, there, states, names={name: name for name in slots})


def rewritten(
    mass: float, length: float, moment: float | None = None, gravity: float | None = None
) -> dict[str, float]:
    """All numbers of the crane in other units."""
    own = {"cart": mass, "load": mass, "end": mass, "rod": length, "reach": length, "g": length}
    turned = mass * length**2 if moment is None else moment
    found = {name: value * own.get(name, turned) for name, value in VALUES.items()}
    return found if gravity is None else found | {"g": gravity * found["g"]}


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(MASSES)),
    st.sampled_from(sorted(LENGTHS)),
    st.sampled_from(sorted(ANGLES)),
    st.sampled_from(sorted(GRAVITIES)),
    st.sampled_from([0.0, 1e-4]),
)
def test_all_units_that_are_odd_are_named_and_no_others(
    mass: str, length: str, angle: str, gravity: str, noise: float
) -> None:
    p = rewritten(MASSES[mass], LENGTHS[length], gravity=GRAVITIES[gravity])
    found = matched(p, angle=ANGLES[angle], noise=noise)
    odd = [word for word in (length, mass, angle, gravity) if word]
    if not odd:
        assert found.units == ""
        return
    assert not found.same
    assert found.units.partition("? ")[0].rpartition(": ")[2] == ", ".join(odd)
    assert found.units in str(found)


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(sorted(MASSES)), st.sampled_from(["", "lengths in cm"]), st.sampled_from(sorted(MOMENTS)[1:]))
def test_moments_of_inertia_in_a_unit_of_their_own_are_named(mass: str, length: str, moment: str) -> None:
    value = MOMENTS[moment]
    assert value is not None
    assume(value != MASSES[mass] * LENGTHS[length] ** 2)
    found = matched(rewritten(MASSES[mass], LENGTHS[length], moment=value))
    odd = [word for word in (length, mass, moment) if word]
    assert found.units.partition("? ")[0].rpartition(": ")[2] == ", ".join(odd)


factors = st.floats(-6.0, 6.0).map(lambda exponent: 10.0**exponent)


@settings(deadline=None, max_examples=60)
@given(st.fixed_dictionaries(dict.fromkeys(("cart", "load", "rod", "moment", "end", "reach", "tip"), factors)))
def test_numbers_at_random_are_no_units(scales: dict[str, float]) -> None:
    """Whatever the masses and lengths are: of two masses in one unit neither is twice as large as it was."""
    assume(abs(np.log(scales["load"] / scales["end"])) > 0.7)
    assume(abs(np.log(scales["rod"] / scales["reach"])) > 0.7)
    found = matched({name: value * scales.get(name, 1.0) for name, value in VALUES.items()})
    assert not found.same
    assert found.units == ""


@settings(deadline=None, max_examples=25)
@given(st.floats(0.3, 3.0), st.floats(0.3, 3.0))
def test_another_gravity_or_mass_is_no_unit(gravity: float, mass: float) -> None:
    assume(abs(gravity - 1.0) > 0.01)
    found = matched({**VALUES, "g": gravity * 9.81, "cart": mass * 2.0})
    assert not found.same
    assert found.units == ""


def test_a_model_that_is_not_a_number_has_no_units() -> None:
    robot = crane()
    slots = {name: (i, i) for i, name in enumerate(robot.coordinates.names)}
    states = StateConversion(robot, PINOCCHIO, slots, (3, 3))
    found = compare_dynamics(robot, lambda q, v: (np.full((3, 3), np.nan), np.zeros(3)), states, names={})
    assert found.units == ""
    assert not found.same


def test_masses_that_are_not_numbers_are_told() -> None:
    theirs = {
        "swing": MassProperties(np.nan, np.zeros(3), np.full((3, 3), np.nan)),
        "end": MassProperties(0.7, np.zeros(3), 0.05 * EYE),
    }
    assert subtree_differences(crane(), theirs) == {
        "swing": "what the joint 'swing' carries ('rod') has 1.5 kg here and nan kg there; principal moments "
        "(0.1, 0.1, 0.1) kg m² here and (nan, nan, nan) kg m² there"
    }
    assert subtree_unit_mismatch(crane(), theirs) == ""


def test_ranges_that_differ_otherwise_are_no_degrees() -> None:
    bounds = np.array([-np.inf, -1.0, 0.0]), np.array([2.0, 1.5, np.inf])
    limits = Limits(*bounds, speed=np.full(3, np.inf), effort=np.full(3, np.inf))
    robot = dataclasses.replace(crane(), limits=limits)
    there = {"x": (-np.inf, 2.0), "swing": (-DEGREES, 1.5 * DEGREES), "end": (0.0, 3.0)}
    assert "57.3 × those here: angles in degrees" in range_unit_mismatch(robot, there)
    assert "lengths in mm" in range_unit_mismatch(robot, {**there, "x": (-np.inf, 2000.0)})
    assert range_unit_mismatch(robot, {**there, "swing": (-1.0, 1.5)}) == ""
    assert range_unit_mismatch(robot, {**there, "swing": (-DEGREES, 1.5)}) == ""
    assert range_unit_mismatch(robot, {}) == ""


@pytest.mark.parametrize("g", [0.0, 9.81])
@pytest.mark.parametrize("share", [0.0, -1.0, 1e3])
def test_forces_of_springs_are_no_gravity(share: float, g: float) -> None:
    """A spring that is absent, of the other sign or stiffer there is no other gravity; gravity beside one is told."""
    robot = crane()
    assert robot.tree is not None
    sprung = tree_system(robot.tree, parameters=robot.parameters, V=15.0 * robot.q[2] ** 2, name="sprung")
    slots = {name: (i, i) for i, name in enumerate(robot.coordinates.names)}
    states = StateConversion(sprung, PINOCCHIO, slots, (3, 3))

    def beside(stiffness: float, gravity: float) -> str:
        def there(q: Array, v: Array) -> tuple[Array, Array]:
            p = VALUES | {"g": gravity}
            h = robot.evaluate(robot.bias, q=q, v=v, p=p) + np.array([0.0, 0.0, 30.0 * stiffness * q[2]])
            return robot.evaluate(robot.mass_matrix, q=q, p=p), h

        return compare_dynamics(sprung, there, states, names={}, p={"g": g}).units

    assert beside(share, g) == ""
    assert beside(1.0, g) == ""
    assert ("gravity there is" in beside(1.0, share * g)) == (g > 0.0)
