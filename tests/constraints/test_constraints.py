"""Acceleration forms against finite differences along motions, and invalid constraints by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

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
from erugin.symbolic import Coordinates, Kernel, ModelError

from ..support.constraint_forms import (
    ALPHA,
    BETA,
    FIELD_STEP,
    FORMS,
    P0,
    P1,
    PATHS,
    STEP,
    TOLERANCE,
    compare,
    field,
    joint,
    task,
)
from ..support.systems import BY_SYSTEM, ELBOW, FIRST, MOTIONS, ROBOT, STENCIL, SYSTEMS, TIP, A, System, motions, travel

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
        r"constraint 'N': the field has 3 dimensions, so the point must be a column of 3",
    ),
    (
        "following a fixed point",
        lambda: follow(field("line", 0), ca.SX(ca.DM([0.0, 1.0])), name="N"),
        r"constraint 'N\[0\]' has order 1 but does not depend on velocities; it depends on none of q, v and a",
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
        r"constraint 'N' must not depend on the inputs",
    ),
    ("no constraints", lambda: Program(ROBOT, []), r"at least one constraint, got none"),
    (
        "an expression for a constraint",
        lambda: Program(ROBOT, [joint(ROBOT), cast(Constraint, 3.25)]),
        r"a Program requires constraints, got 3\.25",
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


Array = NDArray[np.float64]


@pytest.mark.parametrize("form", FORMS)
@BY_SYSTEM
def test_the_acceleration_form_agrees_with_differences(system: System, form: str) -> None:
    order, make = FORMS[form]
    constraint = make(system.robot)
    assert constraint.order == order
    outcome = compare(system, constraint)
    assert outcome.mismatch.max() < TOLERANCE
    assert (np.abs(outcome.left).max(axis=0) > 0.1).all(), "every row must have something to compare"


@BY_SYSTEM
def test_theta_is_the_jacobian_of_the_task(system: System) -> None:
    """Θ = J(q) N for a point, J by differences; near stretched arms its rows become dependent, and it stays right."""
    robot = system.robot
    theta = Program(robot, task(robot)).theta
    for motion in motions(system, STEP[0]):
        q, nv = motion.q[4], robot.coordinates.nv

        def along(w: Array, q: Array = q) -> Array:
            h = 1e-3
            at = [
                robot.evaluate(robot.points["tip"], q=travel(system.q_rate, lambda _: w, 0.0, q, k * h))
                for k in STENCIL
            ]
            return np.asarray(FIRST @ np.array(at) / h)

        expected = np.column_stack([along(w) for w in np.eye(nv)])
        np.testing.assert_allclose(robot.evaluate(theta, q=q), expected, atol=1e-10)


@pytest.mark.parametrize("discs", [0, 1, 2, 3])
@pytest.mark.parametrize("path", PATHS)
@BY_SYSTEM
def test_following_a_field_agrees_with_differences(system: System, path: str, discs: int) -> None:
    robot, w = system.robot, field(path, discs)
    tip = robot.points["tip"]
    constraint = follow(w, tip, perturbation=P1)
    outcome = compare(system, constraint, step=FIELD_STEP)
    # The field has kinks inside the discs, where the point must never be.
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    functions = Kernel("f", {"x": x, "t": t, "p": w.parameters.symbols}, {"f": w.functions(x, t)}, compiled=False)
    outside: list[bool] = []
    for motion in motions(system, FIELD_STEP):
        f = np.atleast_1d(functions(robot.evaluate(tip, q=motion.q[4]), motion.t[4], w.parameters.values())[0])
        outside.append(bool((f[1:] > 0.01).all()))
    assert sum(outside) >= MOTIONS // 2
    assert outcome.mismatch[outside].max() < TOLERANCE
    assert (np.abs(outcome.left).max(axis=0) > 0.1).all()


@BY_SYSTEM
def test_the_deviation_of_following_is_velocity_minus_field(system: System) -> None:
    """ψ = dx/dt − w, with dx/dt from differences of the place and w from the field itself."""
    robot, w = system.robot, field("spline", 2)
    program = Program(robot, follow(w, robot.points["tip"]))
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    velocity = Kernel("w", {"x": x, "t": t, "p": w.parameters.symbols}, {"w": w.velocity(x, t)}, compiled=False)
    c = robot.coordinates
    inputs = {"t": c.t, "q": c.q, "v": c.v, "p": program.p}
    deviation = Kernel("psi", inputs, {"psi": program.deviation}, compiled=False)
    for motion in motions(system, STEP[1]):
        places: Array = np.array([robot.evaluate(robot.points["tip"], q=q) for q in motion.q])
        field_there = velocity(places[4], motion.t[4], w.parameters.values())[0]
        expected = FIRST @ places / motion.step - field_there
        actual = deviation(motion.t[4], motion.q[4], motion.v[4], program.parameters.values())[0]
        np.testing.assert_allclose(actual, expected, atol=1e-9)
        assert np.linalg.norm(field_there) > 0.05


# The tests above can fail --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS[:4], ids=lambda system: system.label)
def test_the_jacobian_at_the_velocities_is_not_its_rate(system: System) -> None:
    """J(q̇)q̇ instead of J̇q̇ (a slip in print): the same comparison finds it on every bent motion."""
    robot = system.robot
    constraint = holonomic(robot.points["tip"] - ca.DM([0.5, 0.2]), perturbation=P0)
    J = ca.jacobian(robot.points["tip"], robot.q)

    def with_rate(program: Program, rate: ca.SX) -> ca.SX:
        alpha, beta = program.parameters["holonomic.alpha"], program.parameters["holonomic.beta"]
        return -2 * alpha * J @ robot.v - beta**2 * program.deviation - rate

    def right(program: Program) -> ca.SX:
        return with_rate(program, ca.jtimes(J @ robot.v, robot.q, robot.v))

    def slip(program: Program) -> ca.SX:
        return with_rate(program, ca.substitute(J, robot.q, robot.v) @ robot.v)

    assert compare(system, constraint, beta=right).mismatch.max() < TOLERANCE
    assert compare(system, constraint, beta=slip).mismatch.min() > 1e-3


def without_n(self: Coordinates, expression: ca.SX) -> ca.SX:
    """Forgets N: takes the first velocities for the rates of the coordinates."""
    q_rate = ca.vertcat(self.v, ca.SX.zeros(self.nq - self.nv))
    return ca.jtimes(expression, ca.vertcat(self.q, self.v, self.t), ca.vertcat(q_rate, self.a, ca.SX(1)))


def without_time(self: Coordinates, expression: ca.SX) -> ca.SX:
    """Forgets that expressions depend on time."""
    return ca.jtimes(expression, ca.vertcat(self.q, self.v), ca.vertcat(self.N @ self.v, self.a))


def with_frozen_jacobian(self: Coordinates, expression: ca.SX) -> ca.SX:
    """Forgets the terms quadratic in the velocities: takes the Jacobians for constant."""
    on_v = ca.jacobian(expression, self.v)
    if ca.depends_on(expression, self.v):
        return on_v @ self.a + ca.jacobian(expression, self.t)
    return ca.jacobian(expression, self.q) @ self.N @ self.v + ca.jacobian(expression, self.t)


@pytest.mark.parametrize("form", ["task", "linear", "nonlinear"])
@pytest.mark.parametrize("broken", [without_n, without_time, with_frozen_jacobian])
def test_a_broken_total_derivative_is_noticed(
    form: str, broken: Callable[[Coordinates, ca.SX], ca.SX], monkeypatch: pytest.MonkeyPatch
) -> None:
    for system in SYSTEMS:
        if broken is without_n and system.robot.coordinates.N.is_eye():
            continue
        constraint = FORMS[form][1](system.robot)
        with monkeypatch.context() as patch:
            patch.setattr(Coordinates, "rate", broken)
            patch.setattr(Coordinates, "compact_rate", broken)
            mismatch = compare(system, constraint).mismatch
        assert mismatch.max() > 1e-2, system.label
        assert compare(system, constraint).mismatch.max() < TOLERANCE


def test_gains_of_another_perturbation_are_noticed() -> None:
    system = SYSTEMS[0]
    wrong = holonomic(system.robot.points["tip"], perturbation=Baumgarte(ALPHA, BETA + 0.1))
    assert compare(system, wrong).mismatch.max() > 1e-3
