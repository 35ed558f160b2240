"""Constraints and programs that cannot be are refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import casadi as ca
import pytest

from erugin.constraints import (
    Baumgarte,
    Constraint,
    EruginField,
    Exact,
    FirstOrder,
    Perturbation,
    follow,
    holonomic,
    line,
    nonholonomic,
    second_order,
)
from erugin.controllers import Program
from erugin.robots import Link, planar_manipulator
from erugin.symbolic import ModelError

from .forms import field, joint
from .systems import ELBOW, ROBOT, TIP, A

STRANGER = planar_manipulator([Link(0.5, 2.0, 0.2, 0.03), Link(0.4, 1.5, 0.2, 0.03)])
LOOSE = ca.SX.sym("loose")

IN_SPACE = EruginField(line((0, 0, 0), (1, 0, 0)), speed=1.0)

BAD: tuple[tuple[str, Callable[[], object], str], ...] = (
    (
        "holonomic with velocities",
        lambda: holonomic(ROBOT.q[0] + ROBOT.v[0], name="N"),
        r"constraint 'N' has order 0 but depends on velocities; use nonholonomic",
    ),
    (
        "holonomic with accelerations",
        lambda: holonomic(ROBOT.q[0] + A[0], name="N"),
        r"constraint 'N' has order 0 but depends on accelerations; use second_order",
    ),
    (
        "nonholonomic without velocities",
        lambda: nonholonomic(ROBOT.q[0] - ROBOT.t, name="N"),
        r"constraint 'N' has order 1 but does not depend on velocities; use holonomic",
    ),
    (
        "nonholonomic with accelerations",
        lambda: nonholonomic(ROBOT.v[0] + A[0], name="N"),
        r"constraint 'N' has order 1 but depends on accelerations; use second_order",
    ),
    (
        "second order with velocities only",
        lambda: second_order(ROBOT.v[0], name="N"),
        r"constraint 'N' has order 2 but does not depend on accelerations; use nonholonomic",
    ),
    (
        "second order with coordinates only",
        lambda: second_order(ROBOT.q[0], name="N"),
        r"constraint 'N' has order 2 but does not depend on accelerations; use holonomic",
    ),
    (
        "another robot's coordinates",
        lambda: holonomic(STRANGER.q[0] - ROBOT.q[0], name="N"),
        r"constraint 'N' uses q1, which .*does not have.*another robot",
    ),
    (
        "another robot's velocities only",
        lambda: nonholonomic(STRANGER.v[1], name="N"),
        r"constraint 'N' uses v_q2",
    ),
    (
        "another robot's point",
        lambda: follow(field("line", 0), STRANGER.points["tip"], name="N"),
        r"constraint 'N' uses .*q1",
    ),
    (
        "an undeclared parameter",
        lambda: holonomic(ROBOT.q[0] - LOOSE, name="N"),
        r"constraint 'N' uses loose.*parameters must be declared with parameters=",
    ),
    (
        "a matrix",
        lambda: holonomic(ca.horzcat(TIP, ELBOW), name="N"),
        r"constraint 'N' must be a column of expressions, got shape \(2, 2\)",
    ),
    ("a row", lambda: holonomic(TIP.T, name="N"), r"constraint 'N' must be a column of expressions, got.*\(1, 2\)"),
    ("no rows", lambda: holonomic(ca.SX(0, 1), name="N"), r"constraint 'N' must be a column.*got shape \(0, 1\)"),
    (
        "following in another dimension",
        lambda: follow(IN_SPACE, TIP, name="N"),
        r"constraint 'N': the field lives in 3 dimensions, so the point must be a column of 3",
    ),
    (
        "following a fixed point",
        lambda: follow(field("line", 0), ca.SX(ca.DM([0.0, 1.0])), name="N"),
        r"constraint 'N\[0\]' has order 1 but does not depend on velocities; nothing in it moves",
    ),
    (
        "following a velocity",
        lambda: follow(field("line", 0), TIP + ROBOT.v, name="N"),
        r"constraint 'N\[0\]' has order 1 but depends on accelerations",
    ),
    (
        "a perturbation of order 1 for order 0",
        lambda: holonomic(ROBOT.q[0], perturbation=FirstOrder(3.5), name="N"),
        r"constraint 'N' has order 0, but FirstOrder\(rate=3\.5\) is an equation for order 1",
    ),
    (
        "a perturbation of order 0 for order 1",
        lambda: nonholonomic(ROBOT.v[0], perturbation=Baumgarte(2.5), name="N"),
        r"constraint 'N' has order 1, but Baumgarte\(alpha=2\.5, beta=None\) is an equation for order 0",
    ),
    (
        "a perturbation of order 2 for following",
        lambda: follow(field("line", 0), TIP, perturbation=Exact(), name="N"),
        r"constraint 'N' has order 1, but Exact\(\) is an equation for order 2",
    ),
    ("a negative gain", lambda: holonomic(ROBOT.q[0], perturbation=Baumgarte(-1.5)), r"alpha=-1\.5.*1\.5"),
    ("a zero gain", lambda: nonholonomic(ROBOT.v[0], perturbation=FirstOrder(0.0)), r"rate=0\.0.*\[-?0\."),
    ("a gain that is no number", lambda: holonomic(ROBOT.q[0], perturbation=Baumgarte(math.nan)), r"alpha.*got nan"),
    (
        "an input of the robot",
        lambda: holonomic(ROBOT.q[0] - ROBOT.u[0], name="N"),
        r"constraint 'N' depends on the inputs",
    ),
    ("no constraints", lambda: Program(ROBOT, []), r"at least one constraint, got none"),
    (
        "an expression for a constraint",
        lambda: Program(ROBOT, [joint(ROBOT), cast(Constraint, 3.25)]),
        r"made of constraints, got 3\.25",
    ),
    ("a constant", lambda: holonomic(ca.SX(5), name="N"), r"'N'"),
    ("only time", lambda: holonomic(ROBOT.t - 1, name="N"), r"'N'"),
    ("one row without coordinates", lambda: holonomic(ca.vertcat(ROBOT.q[0], ROBOT.t), name="N"), r"'N\[1\]'"),
    ("one row of a lower order", lambda: nonholonomic(ca.vertcat(ROBOT.v[0], ROBOT.q[1]), name="N"), r"'N\[1\]'"),
    ("one row without accelerations", lambda: second_order(ca.vertcat(A[0], ROBOT.v[1]), name="N"), r"'N\[1\]'"),
    ("a number", lambda: holonomic(cast(ca.SX, 5.0), name="N"), r"'N'.*5\.0"),
    ("words", lambda: holonomic(cast(ca.SX, "q1"), name="N"), r"'N'.*q1"),
    (
        "a gain for a perturbation",
        lambda: holonomic(ROBOT.q[0], perturbation=cast(Perturbation, 3.25), name="N"),
        r"'N'.*3\.25",
    ),
    ("a number of constraints", lambda: Program(ROBOT, cast(Constraint, 3.25)), r"3\.25"),
    ("following in another dimension, by name", lambda: follow(IN_SPACE, TIP, name="N"), r"'N'"),
)


@pytest.mark.parametrize(
    ("make", "message"),
    [pytest.param(make, message, id=label) for label, make, message in BAD],
)
def test_bad_input_is_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        # A constraint meets the symbols of a robot, and with them most of its errors, in a program.
        Program(ROBOT, cast(Constraint, make()))
