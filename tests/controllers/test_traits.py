"""Traits of robots that a law must support, and refusal of robots with others."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest

from erugin.controllers import Law, SymbolicController, Trait, traits
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator, with_inputs
from erugin.robots.examples import butterworth_ladder, five_bar
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, NotFiniteError, NotFiniteInputError, Parameters, ShapeError

from ..support.arms import three_link_arm, two_link_arm
from ..support.controller_cases.robots import CASES, robot_case

EXPECTED = {
    "two-link arm": set[Trait](),
    "four links, absolute angles": set[Trait](),
    "seven-joint arm": set[Trait](),
    "four-bar linkage": {Trait.CLOSED_LOOPS},
    "two-wheel robot": {Trait.NONHOLONOMIC},
    "reduced two-wheel robot": {Trait.QUASI_VELOCITIES},
    "exoskeleton": {Trait.UNDERACTUATED},
    "acrobot": {Trait.UNDERACTUATED},
    "crane": {Trait.UNDERACTUATED},
}


@pytest.mark.parametrize("name", CASES)
def test_traits_of_the_robots_of_the_contract(name: str) -> None:
    assert traits(robot_case(name).robot) == EXPECTED[name]


def test_inputs_count_by_what_they_do_to_the_free_motions() -> None:
    """A drive more than degrees of freedom is one too many; two that do the same are one."""
    rods = [Link(0.5, 1.0, 0.25, 0.02)] * 4
    cranks = five_bar(*rods, ground=(0.6, 0.0))
    assert traits(cranks) == {Trait.CLOSED_LOOPS}
    every = five_bar(*rods, ground=(0.6, 0.0), inputs=["left_crank", "left_rod", "right_crank", "right_rod"])
    assert traits(every) == {Trait.CLOSED_LOOPS, Trait.OVERACTUATED}
    x, u, v = ca.SX.sym("x", 2), ca.SX.sym("u", 2), ca.SX.sym("v", 2)
    same = lagrangian_system(q=x, v=v, T=ca.sumsqr(v), u=u, Q=ca.vertcat(u[0] + u[1], 2 * (u[0] + u[1])))
    assert traits(same) == {Trait.UNDERACTUATED}
    assert traits(with_inputs(three_link_arm(), ["M1", "M3"])) == {Trait.UNDERACTUATED}


def test_coordinates_without_inertia_are_reported() -> None:
    ladder = butterworth_ladder(3, resistance=50.0, cutoff=1e3)
    assert Trait.SINGULAR_INERTIA in traits(ladder)


class Damping(SymbolicController):
    """u = −d v."""

    def __init__(self, robot: Robot, damping: float = 2.0) -> None:
        self.check_supported(robot)
        self.robot = robot
        own = Parameters.declare({"damping": damping}, "law")
        self.parameters = Parameters.collect([robot.parameters, own])
        self._damping = own["law.damping"]

    def build_law(self) -> Law:
        names = tuple(f"rate of {name}" for name in self.robot.coordinates.names)
        return Law.of_errors(-self._damping * self.robot.v / self.robot.q[0], self.robot.v, names)


def test_a_law_refuses_a_robot_that_it_is_not_made_for() -> None:
    assert Damping.unsupported_reason(two_link_arm()) == ""
    reason = "the robot has fewer independent inputs than degrees of freedom, which this law does not support"
    passive = with_inputs(planar_manipulator([Link.point_mass(0.6, 2.5)] * 2), ["M1"])
    assert Damping.unsupported_reason(passive) == reason
    with pytest.raises(ModelError, match=re.escape(f"Damping cannot drive {passive.name}: {reason}")):
        Damping(passive)
    with pytest.raises(ModelError, match="Damping requires a Robot as its model, got str"):
        Damping("arm")  # type: ignore[arg-type]


def test_a_law_is_evaluated_recorded_and_varied() -> None:
    arm = two_link_arm()
    law = Damping(arm)
    np.testing.assert_allclose(law.control(0.0, [0.5, 1.0], [1.0, -3.0]), [-4.0, 12.0])
    np.testing.assert_allclose(law.control(0.0, [0.5, 1.0], [1.0, -3.0], {"law.damping": 1.0}), [-2.0, 6.0])
    motion = simulate(arm, law, [0.5, 1.0], [1.0, -3.0], 0.05, step=1e-3, controller_p={"law.damping": 0.1})
    assert motion.rows == ("rate of q1", "rate of q2")
    np.testing.assert_array_equal(motion.deviation, motion.v)
    np.testing.assert_allclose(motion.u, -0.1 * motion.v / motion.q[:, :1])
    assert (motion.pivots == 1.0).all()


@pytest.mark.parametrize(
    ("q", "v", "error"),
    [
        ([np.nan, 1.0], [0.0, 0.0], NotFiniteInputError),
        ([1.0, 1.0], [0.0, np.inf], NotFiniteInputError),
        ([1.0], [0.0, 0.0], ShapeError),
        ([0.0, 1.0], [1.0, 0.0], NotFiniteError),
    ],
)
def test_a_law_never_hands_out_what_is_no_number(q: list[float], v: list[float], error: type[Exception]) -> None:
    with pytest.raises(error):
        Damping(two_link_arm()).control(0.0, q, v)
    assert issubclass(NotFiniteInputError, ShapeError)


@pytest.mark.parametrize(
    ("t", "error"), [("noon", ShapeError), (np.nan, NotFiniteInputError), ([0.0, 1.0], ShapeError)]
)
def test_a_time_is_one_number(t: float, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^t must be"):
        Damping(two_link_arm()).control(t, [0.5, 1.0], [1.0, -3.0])
