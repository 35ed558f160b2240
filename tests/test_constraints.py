"""Every constraint in the acceleration form agrees with finite differences along motions."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import (
    Baumgarte,
    follow,
    holonomic,
)
from erugin.controllers import Program
from erugin.symbolic import Coordinates, Kernel

from .forms import ALPHA, BETA, FIELD_STEP, FORMS, P0, P1, PATHS, STEP, TOLERANCE, compare, field, task
from .systems import BY_SYSTEM, FIRST, MOTIONS, STENCIL, SYSTEMS, System, motions, travel

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
