"""Deviations under bounded disturbances: the ball of the sliding-mode-like equation, the sharp bound of linear ones."""

from __future__ import annotations

import functools
import itertools

import casadi as ca
import control
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import (
    Baumgarte,
    BoundedAcceleration,
    Exact,
    FirstOrder,
    Linear,
    Perturbation,
    Sliding,
    holonomic,
)
from erugin.controllers import Program, ProgramController
from erugin.controllers.robust import row_disturbance, ultimate_bound
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, NotFiniteError, ShapeError

from ...support.arms import two_link_arm
from ...support.controller_cases.robots import robot_case
from ...support.perturbations import flow
from ...support.uncertain_plants import pushed

Array = NDArray[np.float64]
START = np.array([-0.9, 1.4])


@functools.cache
def arm() -> Robot:
    return two_link_arm()


def tip_program(perturbation: Perturbation) -> Program:
    robot = arm()
    place = ca.DM(robot.evaluate(robot.points["tip"], q=START)) + 0.1 * ca.vertcat(ca.sin(robot.t), ca.cos(robot.t) - 1)
    return Program(robot, holonomic(robot.points["tip"] - place, perturbation=perturbation, name="tip"))


def worst(equation: Sliding, disturbance: float, start: Array, duration: float) -> tuple[Array, Array, Array]:
    """t, y and s of one row under the δ that pushes away from s = 0 as hard as it may."""
    derivative, c = flow(equation), equation.gains.get("rate", 0.0)

    def pushed_row(t: float, x: Array) -> Array:
        s = x[-1] + c * x[0] if equation.order == 0 else x[0]
        change = derivative(t, x)
        change[-1] += disturbance * (1.0 if s >= 0 else -1.0)
        return change

    times = np.linspace(0.0, duration, 2001)
    found = solve_ivp(pushed_row, (0.0, duration), start, t_eval=times, rtol=1e-9, atol=1e-11, max_step=1e-2)
    y = found.y[0]
    return times, y, found.y[1] + c * y if equation.order == 0 else y


@pytest.mark.parametrize(
    ("equation", "start"),
    [
        (Sliding(6.0, 0.3, 4.0), np.array([0.8, 2.0])),
        (Sliding(6.0, 0.3, 4.0), np.array([-0.5, -1.0])),
        (Sliding(5.0, 0.2, order=1), np.array([1.5])),
    ],
)
def test_the_layer_is_reached_in_time_and_the_ball_is_where_it_ends(equation: Sliding, start: Array) -> None:
    D = 3.5
    t, y, s = worst(equation, D, start, 6.0)
    latest = equation.reaching_time(float(s[0]), D)
    assert latest > 0.3
    assert (np.abs(s)[t >= latest] <= equation.layer + 1e-7).all()
    # The bound on the time is reached, so that no shorter one holds.
    assert (np.abs(s)[t < 0.95 * latest] > equation.layer).all()
    value, rate = equation.ultimate_bound(D)
    late = t > 5.0
    assert np.abs(y[late]).max() <= value * (1 + 1e-4)
    assert np.abs(y[late]).max() >= value * (1 - 1e-2)
    assert np.abs(np.gradient(y, t)[late]).max() <= rate


@pytest.mark.parametrize("equation", [Sliding(30.0, 0.1, 6.0), Sliding(5.0, 0.2, order=1)])
def test_the_bound_of_the_rate_is_nearly_reached(equation: Sliding) -> None:
    """By δ that turns from −D to D where it has long held: with poles c ≪ a the rate comes to 2 D (c/a)^(c/(a−c))/a."""
    D, derivative = 3.0, flow(equation)
    rest = np.zeros(2 - equation.order)
    rest[0] = -equation.ultimate_bound(D)[0]

    def turned(t: float, x: Array) -> Array:
        change = derivative(t, x)
        change[-1] += D
        return change

    found = solve_ivp(turned, (0.0, 0.5), rest, rtol=1e-9, atol=1e-12, max_step=1e-4)
    rates = found.y[1] if equation.order == 0 else np.array([turned(0.0, x)[0] for x in found.y.T])
    a, c = 300.0, 6.0
    expected = 2.0 * D * (c / a) ** (c / (a - c)) / a if equation.order == 0 else 2.0 * D
    assert rates.max() == pytest.approx(expected, rel=1e-3)
    assert 0.9 * equation.ultimate_bound(D)[1] < rates.max() <= equation.ultimate_bound(D)[1] * (1 + 1e-9)


def test_a_gain_that_the_disturbance_exceeds_holds_nothing() -> None:
    equation = Sliding(3.0, 0.3, 4.0)
    for asked in (lambda: equation.ultimate_bound(3.0), lambda: equation.reaching_time(1.0, 3.5)):
        with pytest.raises(ModelError, match="the gain must exceed it"):
            asked()
    _, y, _ = worst(equation, 3.5, np.array([0.2, 0.0]), 8.0)
    assert abs(y[-1]) > 5.0 * Sliding(7.0, 0.3, 4.0).ultimate_bound(3.5)[0]
    assert np.abs(np.diff(y)[-500:]).min() > 1e-4
    with pytest.raises(ModelError, match="disturbance must not be negative"):
        equation.ultimate_bound(-1.0)


def test_a_start_within_the_layer_needs_no_time() -> None:
    assert Sliding(4.0, 0.5, 3.0).reaching_time(-0.4, 1.0) == 0.0
    assert Sliding(4.0, 0.5, 3.0).reaching_time(-2.0, 1.0) == pytest.approx(1.5 / 3.0)
    for value in (np.nan, -np.inf, "far"):
        with pytest.raises(ModelError, match="value must be"):
            Sliding(4.0, 0.5, 3.0).reaching_time(value, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gain": 0.0}, "gain of Sliding"),
        ({"layer": -1.0}, "not asymptotically stable|layer of Sliding"),
        ({"rate": 0.0}, "not asymptotically stable|rate of Sliding"),
        ({"order": 2}, "order 0 or 1"),
        ({"order": 1, "rate": 2.0}, "no rate"),
    ],
)
def test_bad_gains_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Sliding(**arguments)  # type: ignore[arg-type]


@settings(max_examples=10)
@given(st.floats(0.5, 8.0), st.floats(0.5, 8.0))
def test_the_bound_of_a_linear_equation_is_the_norm_of_its_impulse_response(a: float, b: float) -> None:
    """D ∫|g| dt, the sharp bound, with g by python-control."""
    system = control.tf([1.0], [1.0, 2.0 * a, b**2])
    slowest = -float(np.roots([1.0, 2.0 * a, b**2]).real.max())
    t = np.linspace(0.0, 30.0 / slowest, 8001)
    g = np.asarray(control.impulse_response(system, t).outputs)
    expected = 2.5 * np.trapezoid(np.abs(g), t)
    assert ultimate_bound(Baumgarte(a, b), 2.5) == pytest.approx(expected, rel=1e-3)


def test_the_worst_disturbance_of_an_underdamped_equation_reaches_its_bound() -> None:
    """±D with the sign of the impulse response, run backwards: more than D/β², which a constant leaves."""
    equation, D = Baumgarte(1.0, 4.0), 2.0
    frequency, duration = np.sqrt(15.0), 8.0

    def disturbed_row(t: float, x: Array) -> Array:
        delta = D * np.sign(np.sin(frequency * (duration - t)))
        return np.array([x[1], -2.0 * x[1] - 16.0 * x[0] + delta])

    end = solve_ivp(disturbed_row, (0.0, duration), [0.0, 0.0], rtol=1e-8, atol=1e-10, max_step=5e-3).y[0, -1]
    bound = ultimate_bound(equation, D)
    assert end == pytest.approx(bound, rel=2e-3)
    assert bound > 1.5 * D / 16.0


def test_equations_of_order_1_and_overdamped_ones_are_bounded_by_their_gain() -> None:
    assert ultimate_bound(FirstOrder(4.0), 2.0) == 0.5
    assert ultimate_bound(Linear(5.0, 9.0), 2.0) == pytest.approx(0.4)
    for equation in (BoundedAcceleration(), Exact(), Linear([[6.0, 1.5], [-0.7, 4.0]]), Sliding()):
        with pytest.raises(ModelError, match=r"linear with constant|requires an equation of order 0 or 1"):
            ultimate_bound(equation, 1.0)
    with pytest.raises(ModelError, match="requires a perturbation equation, got float"):
        ultimate_bound(4.0, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["two-link arm", "four-bar linkage"])
def test_the_worst_force_is_at_a_corner_of_its_bounds(name: str) -> None:
    """Against the accelerations of the robot under every choice of signs, natural constraints obeyed."""
    case = robot_case(name)
    robot, n = case.robot, case.robot.coordinates.nv
    program = Program(robot, holonomic(ca.vertcat(robot.q[0], ca.sin(robot.q[1]) + robot.q[0])))
    bound = np.linspace(1.0, 2.0, n)
    force = ca.SX.sym("force", n)
    moved = ca.Function("moved", [force, robot.q, robot.p], [program.theta @ robot.mobility(force)[0]])
    effects = [
        np.abs(moved.call([np.array(signs) * bound, case.q0, robot.parameters.values()])[0].full()[:, 0])
        for signs in itertools.product((-1.0, 1.0), repeat=n)
    ]
    np.testing.assert_allclose(row_disturbance(program, bound, q=case.q0), np.max(effects, axis=0), rtol=1e-9)
    with pytest.raises(ModelError, match="not negative"):
        row_disturbance(program, -bound, q=case.q0)
    with pytest.raises(ShapeError, match="force must have shape"):
        row_disturbance(program, bound[:1], q=case.q0)


def test_what_is_not_finite_or_no_program_is_refused() -> None:
    x, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("u")
    weightless = lagrangian_system(q=x, v=v, T=x**2 * v**2, Q=u, u=u)
    program = Program(weightless, holonomic(x))
    np.testing.assert_allclose(row_disturbance(program, [3.0], q=[0.5]), [3.0 / (2.0 * 0.5**2)])
    with pytest.raises(NotFiniteError, match="the mass matrix is singular there"):
        row_disturbance(program, [3.0], q=[0.0])
    with pytest.raises(ModelError, match="requires a Program, got Robot"):
        row_disturbance(weightless, [3.0], q=[0.5])  # type: ignore[arg-type]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["constant", "sinusoidal", "worst"])
def test_an_arm_under_bounded_forces_stays_in_the_ball(kind: str) -> None:
    """The gain from the largest |Θ M⁻¹ d| along the motion; the same forces leave Baumgarte's equation far outside."""
    robot, bound = arm(), np.array([3.0, 1.5])
    calm = simulate(robot, ProgramController(tip_program(Baumgarte(5.0))), START, [0.0, 0.0], 4.0, step=2e-2)
    places = [
        row_disturbance(tip_program(Baumgarte(5.0)), bound, q=q, v=v) for q, v in zip(calm.q, calm.v, strict=True)
    ]
    D = 1.1 * float(np.max(places))
    equation = Sliding(1.5 * D, 0.05, 5.0)
    program = tip_program(equation)
    s = robot.coordinates.rate(program.deviation) + 5.0 * program.deviation
    forces = {
        "constant": ca.SX(ca.DM(bound)),
        "sinusoidal": ca.DM(bound) * ca.vertcat(ca.sin(7 * robot.t), ca.cos(3 * robot.t)),
        "worst": ca.DM(bound) * ca.sign(robot.mobility(program.theta.T)[0] @ ca.vertcat(s[0], 0)),
    }
    plant = pushed(robot, forces[kind])
    motion = simulate(plant, ProgramController(program), START, [0.0, 0.0], 4.0, step=1e-3)
    value, rate = equation.ultimate_bound(D)
    late = motion.t > 2.0
    assert np.abs(motion.deviation[late]).max() <= value
    assert np.abs(motion.evaluate(robot.coordinates.rate(program.deviation))[late]).max() <= rate
    plain = simulate(plant, ProgramController(tip_program(Baumgarte(5.0))), START, [0.0, 0.0], 4.0, step=2e-3)
    assert np.abs(plain.deviation[plain.t > 2.0]).max() > 3.0 * value
