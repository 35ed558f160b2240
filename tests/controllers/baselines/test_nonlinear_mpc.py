"""Predictive control against discrete LQR, bounded least squares and an independent optimum, and its failures."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.linalg import solve_discrete_are
from scipy.optimize import lsq_linear, minimize

from erugin.controllers import Controller, Reference, Status, traits
from erugin.controllers.baselines import NonlinearMPC
from erugin.controllers.baselines.nonlinear_mpc.multiple_shooting import ShootingGuess
from erugin.controllers.baselines.nonlinear_mpc.objective import terminal_weight
from erugin.controllers.wrappers import Dropout, Fallback
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, NotConvergedError, NotFiniteInputError, Parameters

from ...support.arms import two_link_arm
from ...support.controller_cases.robots import robot_case
from ...support.rail import rail

Array = NDArray[np.float64]
RATE, STEPS, ERROR, EFFORT = 5.0, 10, 0.1, 3.0
H = 4.0 / (RATE * STEPS)
Q = np.diag([ERROR**-2, (RATE * ERROR) ** -2]) * H
R = np.array([[EFFORT**-2]]) * H


def stepped(stiffness: float, damping: float) -> tuple[Array, Array]:
    """One Runge–Kutta step of the rail: the exponential series up to order four."""
    A = np.array([[0.0, 1.0, 0.0], [-stiffness, -damping, 1.0], [0.0, 0.0, 0.0]]) * H
    whole = sum((np.linalg.matrix_power(A, k) / math.factorial(k) for k in range(5)), np.zeros((3, 3)))
    return whole[:2, :2], whole[:2, 2:]


@pytest.mark.parametrize("solver", ["sqp", "ipopt"])
@pytest.mark.parametrize(("stiffness", "damping"), [(0.0, 0.0), (9.0, 0.4)])
def test_without_bounds_it_is_discrete_lqr(stiffness: float, damping: float, solver: str) -> None:
    """With the cost-to-go of the Riccati equation as its last term, from any state."""
    A, B = stepped(stiffness, damping)
    P = solve_discrete_are(A, B, Q, R)
    K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    robot = rail(stiffness, damping)
    controller = NonlinearMPC(
        Reference.at_rest(robot, [0.0]),
        rate=RATE,
        steps=STEPS,
        error=ERROR,
        effort=EFFORT,
        terminal=P,
        substeps=1,
        solver=solver,  # type: ignore[arg-type]
    )
    for x in np.random.default_rng(1).normal(size=(5, 2)):
        controller.reset()
        controller.advance(0.0, x[:1], x[1:])
        np.testing.assert_allclose(controller.control(0.0, x[:1], x[1:]), -K @ x, atol=1e-6)
        plan = controller.plan
        assert plan is not None
        # The whole plan is the optimal motion.
        for k in range(STEPS):
            np.testing.assert_allclose(plan.states[:, k], x, atol=1e-6)
            np.testing.assert_allclose(plan.inputs[:, k], -K @ x, atol=1e-6)
            x = (A - B @ K) @ x


@pytest.mark.parametrize("solver", ["sqp", "ipopt"])
def test_with_bounds_it_is_a_bounded_least_squares_problem(solver: str) -> None:
    """States eliminated by hand, SciPy's bounded-variable least squares: some inputs are at their bounds."""
    A, B = stepped(0.0, 0.0)
    limit, x0 = 3.0, np.array([0.8, -0.3])
    P = np.diag([3.0, 0.5])
    rows, right = list[Array](), list[Array]()
    reach, free = np.zeros((2, STEPS)), x0
    for k in range(STEPS + 1):
        root = np.sqrt(P if k == STEPS else Q)
        rows.append(root @ reach)
        right.append(-root @ free)
        if k < STEPS:
            rows.append(np.sqrt(R) * np.eye(STEPS)[k])
            right.append(np.zeros(1))
            reach = A @ reach
            reach[:, k] += B[:, 0]
            free = A @ free
    expected = lsq_linear(np.vstack(rows), np.concatenate(right), (-limit, limit), method="bvls", tol=1e-14).x
    controller = NonlinearMPC(
        Reference.at_rest(rail(), [0.0]),
        rate=RATE,
        steps=STEPS,
        error=ERROR,
        effort=EFFORT,
        limits=limit,
        terminal=P,
        solver=solver,  # type: ignore[arg-type]
    )
    controller.advance(0.0, x0[:1], x0[1:])
    plan = controller.plan
    assert plan is not None
    np.testing.assert_allclose(plan.inputs[0], expected, atol=1e-6)
    assert 2 <= (np.abs(expected) > limit - 1e-9).sum() <= STEPS - 2
    assert np.abs(plan.inputs).max() <= limit


def test_the_last_term_is_what_an_error_costs_that_decays_at_the_rate() -> None:
    """½ ∫ |y/ē|² + |ẏ/(ω ē)|² dt from the horizon on, with y = exp(−ω t)."""
    error = np.array([0.3, RATE * 0.3])
    P = terminal_weight(None, error, RATE)
    e = np.array([1.0, -RATE])
    cost, _ = quad(lambda t: 0.5 * float(((np.exp(-RATE * t) * e / error) ** 2).sum()), 0.0, 10.0)
    assert 0.5 * e @ P @ e == pytest.approx(cost, rel=1e-9)


def test_a_guess_is_shifted_by_intervals_and_its_end_repeated() -> None:
    states, inputs = np.arange(8.0).reshape(2, 4), np.array([[10.0, 11.0, 12.0]])
    bounds, gaps = np.arange(11.0), np.arange(8.0)
    later = ShootingGuess(states, inputs, bounds, gaps).shifted(2)
    np.testing.assert_array_equal(later.states, [[2.0, 3.0, 3.0, 3.0], [6.0, 7.0, 7.0, 7.0]])
    np.testing.assert_array_equal(later.inputs, [[12.0, 12.0, 12.0]])
    np.testing.assert_array_equal(later.bounds, [6.0, 7.0, 8.0, 6.0, 7.0, 8.0, 6.0, 7.0, 8.0, 9.0, 10.0])
    np.testing.assert_array_equal(later.gaps, [4.0, 5.0, 6.0, 7.0, 6.0, 7.0, 6.0, 7.0])


def test_one_rate_is_the_rate_of_the_loop_whatever_error_is_allowed() -> None:
    """As the intervals get short, the gains of a unit mass go to ω² and √3 ω: poles of modulus ω, damped by √3/2."""
    robot = rail()
    at_rest = Reference.at_rest(robot, [0.0])
    gains: list[Array] = []
    for error in (0.1, 2.0):
        controller = NonlinearMPC(at_rest, rate=RATE, steps=100, error=error)
        assert controller.effort[0] == pytest.approx(RATE**2 * error)
        found = list[float]()
        for x in ([0.01, 0.0], [0.0, 0.01]):
            controller.reset()
            controller.advance(0.0, x[:1], x[1:])
            found.append(-float(controller.control(0.0, x[:1], x[1:])[0]) / 0.01)
        gains.append(np.array(found))
    np.testing.assert_allclose(gains[0], gains[1], rtol=1e-9)
    np.testing.assert_allclose(gains[0], [RATE**2, np.sqrt(3.0) * RATE], rtol=0.06)


def circle(robot: Robot) -> ca.SX:
    """A circle of radius 8 cm around a place that the arm reaches, once in 2 s."""
    turn = np.pi * robot.t
    return ca.vertcat(0.7 + 0.08 * ca.cos(turn), 0.1 + 0.08 * ca.sin(turn))


@functools.cache
def reaching() -> NonlinearMPC:
    robot = two_link_arm()
    return NonlinearMPC.reaching(robot, robot.points["tip"], circle(robot))


def test_the_tip_of_an_arm_runs_round_a_circle() -> None:
    controller = reaching()
    robot = controller.robot
    assert controller.period == pytest.approx(0.02)
    motion = simulate(robot, controller, [-0.9, 1.4], [0.0, 0.0], 3.0, step=4e-3)
    assert motion.ok
    miss = np.linalg.norm(motion.evaluate(robot.points["tip"] - circle(robot)), axis=1)
    assert miss[0] > 0.1
    assert miss[motion.t > 1.0].max() < 3e-3
    # Deviations are those of the given outputs, and the input changes at ticks only.
    np.testing.assert_allclose(np.linalg.norm(motion.deviation[:, :2], axis=1), miss, atol=1e-12)
    assert motion.rows[0] == "error 0"
    changes = np.flatnonzero(np.abs(np.diff(motion.u, axis=0)).max(axis=1) > 0.0) + 1
    assert set((changes % 5).tolist()) == {0}


def joint_circle(robot: Robot) -> Reference:
    return Reference.of(robot, ca.vertcat(-0.9 + 0.3 * ca.cos(3 * robot.t), 1.4 + 0.3 * ca.sin(3 * robot.t)))


def test_a_real_time_iteration_is_nearly_the_optimum_and_limits_hold() -> None:
    """Against IPOPT at every tick, from a start off the reference, with drives that the start makes use of fully."""
    robot = two_link_arm()
    limits = np.array([29.0, 11.0])
    runs = [
        simulate(
            robot,
            NonlinearMPC(joint_circle(robot), limits=limits, solver=solver, iterations=cut),  # type: ignore[arg-type]
            [-0.4, 1.2],
            [0.0, 0.0],
            1.0,
            step=5e-3,
        )
        for solver, cut in (("ipopt", None), ("sqp", None), ("sqp", 1))
    ]
    best, full, cut = (run.q for run in runs)
    np.testing.assert_allclose(full, best, atol=1e-5)
    assert 1e-6 < np.abs(cut - best).max() < 5e-3
    for run in runs:
        assert run.ok
        assert (np.abs(run.u) <= limits).all()
        assert (np.abs(run.u).max(axis=0) > limits * (1 - 1e-6)).any()
        assert np.abs(run.deviation[-1, :2]).max() < 2e-3


def test_the_memory_is_all_that_a_plan_depends_on() -> None:
    controller = reaching()
    q, v = np.array([-0.9, 1.4]), np.zeros(2)
    controller.reset()
    controller.advance(0.0, q, v)
    before = controller.memory
    controller.advance(0.02, q + 0.01, v)
    first = controller.control(0.02, q + 0.01, v)
    controller.advance(0.04, q - 0.1, v)
    controller.memory = before
    controller.advance(0.02, q + 0.01, v)
    np.testing.assert_array_equal(controller.control(0.02, q + 0.01, v), first)
    assert controller.plan is not None
    assert not controller.plan.inputs.flags.writeable
    # Between ticks nothing changes.
    controller.advance(0.03, q + 0.2, v)
    np.testing.assert_array_equal(controller.control(0.03, q + 0.2, v), first)


def test_parameters_reach_the_plan() -> None:
    """A target that is a parameter, and a mass that is not the nominal one."""
    robot = two_link_arm()
    goal = Parameters.declare({"x": 0.7, "y": 0.1}, "goal")
    controller = NonlinearMPC.reaching(robot, robot.points["tip"], goal.symbols, goal)
    q, v = [-0.5, 1.2], [0.0, 0.0]
    outputs = list[Array]()
    heavier = {robot.parameters.names[0]: 1.1 * robot.parameters.values()[0]}
    for p in (None, {"goal.x": 0.75}, heavier):
        controller.reset()
        controller.advance(0.0, q, v, p)
        outputs.append(controller.control(0.0, q, v, p))
    assert np.abs(outputs[1] - outputs[0]).max() > 0.1
    assert np.abs(outputs[2] - outputs[0]).max() > 0.01


def test_the_steps_within_an_interval_are_short_enough_for_springs() -> None:
    """ω = 300/s in an interval of 0.05 s: one Runge–Kutta step would multiply it by 2·10³."""
    stiff = rail(300.0**2, 10.0)
    controller = NonlinearMPC(Reference.at_rest(stiff, [0.0]), rate=20.0, steps=4)
    controller.advance(0.0, [1e-3], [0.0])
    plan = controller.plan
    assert plan is not None
    assert np.abs(plan.states[0]).max() <= 1.001e-3


def test_a_crane_is_brought_to_rest_although_its_load_has_no_drive() -> None:
    """Fewer inputs than degrees of freedom: the trolley swings the load out."""
    case = robot_case("crane")
    assert traits(case.robot)
    goal = Reference.at_rest(case.robot, [1.0, 3.0, 0.0])
    controller = NonlinearMPC(goal, rate=1.0, steps=20, error=0.2, effort=[60.0, 20.0])
    motion = simulate(case.robot, controller, case.q0, case.v0, 12.0, step=0.05)
    assert motion.ok
    np.testing.assert_allclose(motion.q[-1], [1.0, 3.0, 0.0], atol=0.03)
    np.testing.assert_allclose(motion.v[-1], 0.0, atol=0.03)


def test_a_plan_that_cannot_be_renewed_continues_to_its_end() -> None:
    """A target that is a number up to t = 1.5 s only: from 1.1 s on the solver sees NaN and gives up."""
    robot = rail()
    target = 0.1 * ca.sqrt(1.5 - robot.t)
    controller = NonlinearMPC.reaching(robot, robot.q, target, rate=10.0)
    with pytest.raises(SimulationError, match=r"the last plan ended 20 ticks ago") as caught:
        simulate(robot, controller, [0.0], [0.0], 3.0, step=0.01)
    kept = caught.value.trajectory
    assert caught.value.status is Status.NOT_CONVERGED
    held = kept.t[kept.status == Status.HELD]
    assert held[0] == pytest.approx(1.12, abs=0.021)
    assert held[-1] == pytest.approx(1.48, abs=0.03)
    time, message = kept.notes[0]
    assert time == held[0]
    assert "of 1 tick ago continues: the solver found no new one (" in message
    assert np.isfinite(kept.u).all()
    # The plan's own inputs continue; the last one is not repeated.
    assert len(set(kept.u[kept.t > 1.2, 0].tolist())) > 10


def test_a_start_from_which_there_is_no_plan_is_refused_with_the_solvers_word() -> None:
    robot = rail()
    controller = NonlinearMPC.reaching(robot, robot.q, ca.sqrt(-1.0 - robot.t))
    controller.advance(0.0, [0.0], [0.0])
    with pytest.raises(NotConvergedError, match=r"found no plan \(.*\), and there is no earlier plan. Try"):
        controller.control(0.0, [0.0], [0.0])


def test_a_broken_sensor_is_refused_and_can_be_bridged() -> None:
    robot = rail()
    controller = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0, steps=10)
    controller.advance(0.0, [1.0], [0.0])
    controller.advance(0.08, [np.nan], [0.0])
    with pytest.raises(NotFiniteInputError):
        controller.control(0.08, [np.nan], [0.0])
    bridged = Dropout(Fallback(controller), 0.2, seed=3)
    motion = simulate(robot, bridged, [1.0], [0.0], 3.0, step=0.04)
    assert Status.HELD in motion.status
    assert abs(motion.q[-1, 0]) < 0.02


def test_a_tick_whose_sample_is_refused_is_made_up_for_at_the_next() -> None:
    """The plan from the late sample is that of a controller that ticks there; meanwhile the old one is no excuse."""
    robot = rail()
    controller = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0, steps=10)
    controller.advance(0.0, [1.0], [0.0])
    controller.advance(0.08, [np.nan], [0.0])
    expected_message = controller.observe(0.08, [1.0], [0.0])
    assert expected_message.status is Status.HELD
    assert expected_message.message == "The plan of 1 tick ago continues: the sample of this tick could not be used."
    controller.advance(0.1, [0.9], [-0.5])
    late = controller.observe(0.1, [0.9], [-0.5])
    assert late.status is Status.OK
    fresh = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0, steps=10)
    fresh.advance(0.0, [0.9], [-0.5])
    np.testing.assert_allclose(late.output, fresh.control(0.0, [0.9], [-0.5]), rtol=1e-6)
    # And no other plan before the next tick.
    controller.advance(0.14, [0.1], [0.0])
    np.testing.assert_array_equal(controller.control(0.14, [0.1], [0.0]), late.output)


def test_a_target_may_be_numbers() -> None:
    robot = rail()
    outputs = list[float]()
    for target in (0.3, [0.3], ca.SX(0.3)):
        controller = NonlinearMPC.reaching(robot, robot.q, target)
        controller.advance(0.0, [0.0], [0.0])
        outputs.append(float(controller.control(0.0, [0.0], [0.0])[0]))
    assert outputs[0] == outputs[1] == outputs[2] != 0.0


def test_a_step_longer_than_an_interval_is_refused() -> None:
    robot = rail()
    controller = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0, steps=10)
    with pytest.raises(ModelError, match=r"NonlinearMPC ticks every 0.08 s, but samples are 0.1 s apart"):
        simulate(robot, controller, [1.0], [0.0], 1.0, step=0.1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda r: NonlinearMPC(r), "must be a Reference or an MpcObjective"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), rate=-1.0), "rate must be greater than zero"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), steps=0), "steps must be a whole number"),
        (
            lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), iterations=1.5),  # type: ignore[arg-type]
            "iterations must be a whole number",
        ),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), iterations=0), "iterations must be a whole number"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), substeps=0), "substeps must be a whole number"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), terminal="x"), "terminal must be a symmetric"),
        (
            lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), solver="best"),  # type: ignore[arg-type]
            "solver must be one of 'sqp', 'ipopt'",
        ),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), error=[1.0, 2.0]), "error must be a number or 1 of them"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), error=0.0), "error must be greater than zero"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), effort=-2.0), "effort must be greater than zero"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), limits=-2.0), "limits must not be negative"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), terminal=np.eye(3)), "terminal must be a symmetric"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), terminal=-np.eye(2)), "terminal must be a symmetric"),
        (lambda r: NonlinearMPC.reaching(r, r.q, ca.vertcat(r.t, 1.0)), "must have the same length, got 1 and 2"),
        (lambda r: NonlinearMPC.reaching(r, r.v, r.t), "point must depend on coordinates"),
        (lambda r: NonlinearMPC.reaching(r, r.q, ca.SX.sym("z")), "target"),
        (lambda r: NonlinearMPC.reaching(r, r.q, "there"), "the target must be a column"),
        (
            lambda r: NonlinearMPC.reaching("rail", r.q, 0.0),  # type: ignore[arg-type]
            "MpcObjective.reach requires a Robot, got str",
        ),
    ],
)
def test_bad_settings_are_refused(build: Callable[[Robot], Controller], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build(rail())


def test_an_output_before_the_first_sample_is_refused() -> None:
    controller = NonlinearMPC(Reference.at_rest(rail(), [0.0]))
    with pytest.raises(ModelError, match="no sample yet"):
        controller.control(0.0, [0.0], [0.0])


def test_a_plan_for_a_pendulum_is_the_optimum_of_scipy() -> None:
    """Single shooting written by hand: another start time, a moving reference, its own input, bounds that are hit."""
    q, v, u = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("u")
    pendulum = lagrangian_system(q=q, v=v, T=v**2 / 2, V=-9.81 * ca.cos(q), D=0.05 * v**2, Q=u, u=u)
    rate, steps, error, effort, limit, t0, x0 = 4.0, 8, 0.2, 3.0, 6.0, 0.3, np.array([0.9, -1.0])
    controller = NonlinearMPC(
        Reference.of(pendulum, ca.sin(2 * pendulum.t)),
        rate=rate,
        steps=steps,
        error=error,
        effort=effort,
        limits=limit,
        substeps=2,
    )
    h = 4.0 / (rate * steps)

    def slope(x: Array, push: float) -> Array:
        return np.array([x[1], push - 9.81 * np.sin(x[0]) - 0.1 * x[1]])

    def moved(x: Array, push: float) -> Array:
        for _ in range(2):
            first = slope(x, push)
            second = slope(x + h / 4 * first, push)
            third = slope(x + h / 4 * second, push)
            x = x + h / 12 * (first + 2 * second + 2 * third + slope(x + h / 2 * third, push))
        return x

    def cost(pushes: Array) -> float:
        x, total = x0, 0.0
        for k in range(steps + 1):
            s, c = np.sin(2 * (t0 + k * h)), np.cos(2 * (t0 + k * h))
            missed = ((x[0] - s) / error) ** 2 + ((x[1] - 2 * c) / (rate * error)) ** 2
            if k == steps:
                total += float(missed) / (4 * rate)
                break
            own = -4 * s + 9.81 * np.sin(s) + 0.1 * 2 * c
            total += float(h / 2 * (missed + ((pushes[k] - own) / effort) ** 2))
            x = moved(x, float(pushes[k]))
        return total

    best = np.array(minimize(cost, np.zeros(steps), bounds=[(-limit, limit)] * steps, tol=1e-15).x)
    controller.advance(t0, x0[:1], x0[1:])
    plan = controller.plan
    assert plan is not None
    np.testing.assert_allclose(plan.inputs[0], best, atol=1e-5)
    assert 2 <= (best == limit).sum() <= steps - 2
