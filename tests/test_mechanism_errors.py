"""Closures, inputs and rows that make no sense: each is refused, and the message names it."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import FirstOrder
from erugin.robots import Closure, Link, mechanism, planar_manipulator, with_inputs, without_rows
from erugin.robots.examples import iftomm_four_bars
from erugin.symbolic import ModelError

ROBOT = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)] * 2)
TIP, OTHER = ROBOT.points["tip"], ca.SX.sym("other")


@pytest.mark.parametrize(
    ("closures", "message"),
    [
        ([], "at least one closure, got none"),
        ([("tip", "hand")], r"unknown point 'hand'.*joint1, joint2, tip"),
        ([("tip", "joint1"), ("tipp", "joint1")], "closure tipp-joint1: unknown point 'tipp'. Did you mean 'tip'"),
        ([(TIP, (1.0, 2.0, 3.0))], r"closure tip-ground: .* got shapes \(2, 1\) and \(3, 1\)"),
        ([(TIP.T, (1.0, 2.0))], r"columns of equal length, got shapes \(1, 2\)"),
        ([(ROBOT.mass_matrix, ROBOT.mass_matrix)], r"closure 1: .* got shapes \(2, 2\)"),
        ([((0.0, 0.0), (1.0, 1.0))], "closure ground-ground: both places are fixed, so there is nothing to close"),
        ([("joint1", (0.0, 0.0))], "closure joint1-ground has nothing to close in x, y"),
        ([("tip", "tip")], "closure tip-tip has nothing to close in x, y"),
        ([(ca.vertcat(TIP[0], 1.0), (0.5, 0.5))], "closure 1 has nothing to close in y"),
        ([(OTHER, TIP[0])], "closure 1 uses other, which planar manipulator with 2 links does not have"),
        ([(TIP + ROBOT.v, (0.0, 0.0))], "closure 1 depends on velocities"),
        ([(TIP + ROBOT.u, (0.0, 0.0))], "closure 1 depends on inputs"),
        ([(TIP + ROBOT.coordinates.a, (0.0, 0.0))], "closure 1 depends on accelerations"),
        ([("tip", (0.0, np.nan))], "closure tip-ground: .*must be finite, got nan"),
        ([("tip", ("a", "b"))], "closure tip-ground: .*must be a number, got 'a'"),
        ([("tip", None)], "a place is an expression, a point's name, or numbers; got None"),
        ([("tip", ())], r"got shapes \(2, 1\) and \(0, 1\)"),
        ([("tip",)], "closure 1 must be a pair"),
        (["tip"], "closure 1 must be a pair"),
        ([5.0], "closure 1 must be a pair"),
        ("tip", "a list of pairs"),
        (Closure("tip", (0.0, 1.0)), "a list of pairs"),
        ([Closure("tip", (0.0, 1.0), rows=(2,))], r"rows must be different numbers from 0 to 1, got \(2,\)"),
        ([Closure("tip", (0.0, 1.0), rows=(0, 0))], "rows must be different"),
        ([Closure("tip", (0.0, 1.0), rows=())], "rows must be different"),
        ([Closure("tip", (0.0, 1.0), "foot"), Closure("tip", (0.0, 1.0), "foot")], r"already has .*'foot'"),
    ],
)
def test_bad_closures(closures: Any, message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=message):
        mechanism(ROBOT, closures)


def test_symbols_of_another_robot_are_foreign_although_they_look_alike() -> None:
    twin = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)] * 2)
    with pytest.raises(ModelError, match="closure 1 uses l1, l2, q1, q2"):
        mechanism(ROBOT, [("tip", twin.points["tip"])])


def test_a_perturbation_equation_must_fit_places() -> None:
    with pytest.raises(ModelError, match="'closure tip-ground' has order 0"):
        mechanism(ROBOT, [("tip", (1.0, 0.5))], perturbation=FirstOrder())


def test_unknown_inputs_and_rows() -> None:
    with pytest.raises(ModelError, match=r"unknown input 'M3'.*Known: M1, M2"):
        with_inputs(ROBOT, ["M3"])
    with pytest.raises(ModelError, match="inputs must differ"):
        with_inputs(ROBOT, ["M1", "M1"])
    closed = mechanism(ROBOT, [("tip", (1.0, 0.5))])
    with pytest.raises(ModelError, match=r"unknown row of a natural constraint 'closure tip-ground'.*\[0\]"):
        without_rows(closed, ["closure tip-ground"])


@pytest.mark.parametrize("windows", [0, -1, 1.5])
def test_number_of_windows(windows: Any) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=f"windows must be a whole number of at least 1, got {windows}"):
        iftomm_four_bars(windows)
