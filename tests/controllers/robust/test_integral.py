"""Integral action on deviations: offset, Routh's condition, anti-windup."""

from __future__ import annotations

import functools
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.optimize import root

from erugin.constraints import (
    Baumgarte,
    BoundedAcceleration,
    Exact,
    FiniteTime,
    FirstOrder,
    Linear,
    Nonlinear,
    Perturbation,
    PrescribedTime,
    Schedule,
    Sliding,
    holonomic,
    nonholonomic,
    second_order,
)
from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.controllers.robust import IntegralMemory, IntegralProgramController
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, NotFiniteError, NotFiniteInputError, Parameters

from ...support.arms import two_link_arm
from ...support.uncertain_plants import pushed, sampled_run

Array = NDArray[np.float64]
START = np.array([-0.9, 1.4])
ALPHA = 6.0


@functools.cache
def arm() -> Robot:
    return two_link_arm()


def held(perturbation: Perturbation | None = None) -> Program:
    """The tip stays where it is at the start."""
    robot = arm()
    place = ca.DM(robot.evaluate(robot.points["tip"], q=START))
    equation = Baumgarte(ALPHA) if perturbation is None else perturbation
    return Program(robot, holonomic(robot.points["tip"] - place, perturbation=equation, name="hold"))


def cart(perturbation: Perturbation) -> Program:
    """A body on a line of 2 kg, at rest in one place or at one speed."""
    x, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("u")
    robot = lagrangian_system(q=x, v=v, T=v**2, Q=u, u=u, name="cart")
    if perturbation.order == 0:
        return Program(robot, holonomic(x, perturbation=perturbation, name="place"))
    return Program(robot, nonholonomic(v - 1.0, perturbation=perturbation, name="speed"))


@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_a_constant_force_leaves_what_is_predicted_without_integral_and_nothing_with_it(realization: str) -> None:
    """Without: β² y = Θ M⁻¹ d where the arm comes to rest, solved for q by SciPy. With: zero."""
    program, force = held(), np.array([4.0, -2.5])
    robot = arm()
    plant = pushed(robot, force)
    plain = ProgramController(program, realization=realization)  # type: ignore[arg-type]
    motion = simulate(plant, plain, START, [0.0, 0.0], 6.0, step=5e-3)

    def imbalance(q: Array) -> Array:
        y, theta, M = (robot.evaluate(e, q=q) for e in (program.deviation, program.theta, robot.mass_matrix))
        return np.asarray(ALPHA**2 * y - theta @ np.linalg.solve(M, force))

    rest = root(imbalance, START, tol=1e-12).x
    predicted = robot.evaluate(program.deviation, q=rest)
    assert np.linalg.norm(predicted) > 0.02
    np.testing.assert_allclose(motion.deviation[-1], predicted, atol=1e-6)
    whole = IntegralProgramController(program, realization=realization)
    motion = simulate(plant, whole, START, [0.0, 0.0], 12.0, step=1e-2)
    assert np.abs(motion.deviation[-1]).max() < 1e-6
    assert motion.ok
    # What the integral has come to is the disturbance itself.
    theta, M = (robot.evaluate(e, q=motion.q[-1]) for e in (program.theta, robot.mass_matrix))
    gain = whole.parameters.nominal["hold.integral"]
    integrals = np.array([whole.integrals[row] for row in program.rows])
    np.testing.assert_allclose(gain * integrals, theta @ np.linalg.solve(M, force), atol=1e-4)


def test_an_unknown_payload_leaves_no_deviation() -> None:
    motions = [
        simulate(arm(), controller, START, [0.0, 0.0], 12.0, step=1e-2, p={"m2": 1.5 * arm().nominal["m2"]})
        for controller in (
            ProgramController(held(), realization="actuated"),
            IntegralProgramController(held(), realization="actuated"),
        )
    ]
    assert np.abs(motions[0].deviation[-1]).max() > 1e-2
    assert np.abs(motions[1].deviation[-1]).max() < 1e-6


def test_rows_of_order_1_reach_their_speed_against_friction() -> None:
    """ẏ′ + k y′ = d/m leaves d/(m k)."""
    program = cart(FirstOrder(3.0))
    plant = pushed(program.robot, np.array([-1.2]))
    motion = simulate(plant, ProgramController(program), [0.0], [0.0], 8.0, step=1e-2)
    assert motion.deviation[-1, 0] == pytest.approx(-1.2 / (2.0 * 3.0), abs=1e-6)
    motion = simulate(plant, IntegralProgramController(program), [0.0], [0.0], 16.0, step=1e-2)
    assert abs(motion.deviation[-1, 0]) < 1e-6


@pytest.mark.parametrize(
    ("equation", "gain"), [(Baumgarte(4.0), None), (Baumgarte(2.0, 5.0), 30.0), (FirstOrder(4.0), None)]
)
def test_the_deviation_obeys_the_equation_with_the_integral(equation: Perturbation, gain: float | None) -> None:
    """Against the exponential of its matrix; samples make an error of the second order in their interval."""
    program = cart(equation)
    k = {4.0: 4.0 * 4.0**3 / 27.0}.get(equation.gains.get("alpha", 0.0), gain) if equation.order == 0 else 4.0
    assert k is not None
    if equation.order == 0:
        a, b = equation.gains["alpha"], equation.gains["beta"]
        A = np.array([[0.0, 1.0, 0.0], [-(b**2), -2 * a, -k], [1.0, 0.0, 0.0]])
        x0, q0, v0 = np.array([0.3, -0.2, 0.0]), [0.3], [-0.2]
    else:
        A = np.array([[-4.0, -k], [1.0, 0.0]])
        x0, q0, v0 = np.array([0.3, 0.0]), [0.0], [1.3]
    exact = (expm(1.5 * A) @ x0)[0]
    controller = IntegralProgramController(program, gain=gain)
    misses = [
        simulate(program.robot, controller, q0, v0, 1.5, step=h).deviation[-1, 0] - exact for h in (0.02, 0.01, 0.005)
    ]
    assert np.log2(abs(misses[0] / misses[1])) == pytest.approx(2.0, abs=0.1)
    assert np.log2(abs(misses[1] / misses[2])) == pytest.approx(2.0, abs=0.1)
    assert abs(misses[2]) < 1e-5
    assert abs((expm(1.5 * A[:-1, :-1]) @ x0[:-1])[0] - exact) > 5e-3


@given(st.floats(0.2, 20.0), st.floats(0.2, 20.0), st.floats(0.05, 3.0))
def test_gains_are_refused_beyond_the_condition_of_routh_and_nowhere_else(a: float, b: float, share: float) -> None:
    gain = share * 2.0 * a * b**2
    roots = np.roots([1.0, 2.0 * a, b**2, gain])
    if abs(share - 1.0) < 1e-6:
        return
    if (roots.real < 0.0).all():
        IntegralProgramController(cart(Baumgarte(a, b)), gain=gain)
        assert share < 1.0
    else:
        assert share > 1.0
        with pytest.raises(ModelError, match=r"integral action on 'place' is unstable: .* 0 < k_i < .* \(Routh\)"):
            IntegralProgramController(cart(Baumgarte(a, b)), gain=gain)


def test_below_the_bound_of_routh_a_swing_decays_and_above_a_run_is_refused() -> None:
    """At 90 % of 2αβ² at the rate of the slowest root; at 103 %, by a parameter of the run, not at all."""
    program = cart(Baumgarte(2.0))
    controller = IntegralProgramController(program, gain=0.9 * 16.0)
    motion = simulate(program.robot, controller, [0.1], [0.0], 9.0, step=5e-3)
    slowest = np.roots([1.0, 4.0, 4.0, 0.9 * 16.0]).real.max()
    period = 2.0 * np.pi / np.abs(np.roots([1.0, 4.0, 4.0, 0.9 * 16.0]).imag).max()
    sizes = [np.abs(motion.deviation[(motion.t >= s) & (motion.t <= s + period)]).max() for s in (2.0, 2.0 + period)]
    assert np.log(sizes[1] / sizes[0]) / period == pytest.approx(slowest, rel=0.02)
    with pytest.raises(ModelError, match="'place' is unstable with these parameters"):
        simulate(program.robot, controller, [0.1], [0.0], 1.0, step=2e-3, controller_p={"place.integral": 1.03 * 16.0})


def test_coupled_rows_are_judged_by_the_eigenvalues_of_all() -> None:
    K, C = [[30.0, 6.0], [-6.0, 20.0]], [[8.0, 0.0], [1.0, 9.0]]
    controller = IntegralProgramController(held(Linear(K, C)))
    ((label, matrix),) = controller.linearizations
    values = {name: controller.parameters.nominal[name] for name in controller.parameters.names}
    symbols = controller.parameters.symbols
    A = ca.Function("A", [symbols], [matrix]).call([list(values.values())])[0].full()
    gain = values["hold.integral"]
    expected = np.block(
        [
            [np.zeros((2, 2)), np.eye(2), np.zeros((2, 2))],
            [-np.array(K), -np.array(C), -gain * np.eye(2)],
            [np.eye(2), np.zeros((2, 4))],
        ]
    )
    np.testing.assert_allclose(A, expected)
    assert label == "hold"
    with pytest.raises(ModelError, match="every real part must be negative"):
        IntegralProgramController(held(Linear(K, C)), gain=1e3)


def test_only_samples_change_what_is_remembered() -> None:
    controller = IntegralProgramController(held())
    controller.reset()
    state = (START + 0.1, np.zeros(2))
    controller.advance(0.0, *state)
    before = controller.control(0.0, *state)
    controller.control(0.005, START, np.ones(2))
    np.testing.assert_array_equal(controller.control(0.0, *state), before)
    controller.advance(0.01, *state)
    after = controller.control(0.01, *state)
    assert np.abs(after - before).max() > 1e-3
    kept = dict(controller.integrals)
    controller.advance(0.01, *state)
    assert dict(controller.integrals) == kept
    with pytest.raises(NotFiniteInputError):
        controller.advance(0.02, [np.nan, 0.0], [0.0, 0.0])
    assert controller.solve(0.01, *state).status is Status.OK
    np.testing.assert_allclose(controller.solve(0.01, *state).force, after)
    controller.reset()
    np.testing.assert_array_equal(controller.control(0.0, *state), before)


def test_without_gain_it_is_the_program_controller() -> None:
    program = held()
    whole, plain = IntegralProgramController(program, gain=0.0), ProgramController(program)
    whole.advance(0.0, START + 0.2, [0.3, 0.1])
    whole.advance(1.0, START + 0.2, [0.3, 0.1])
    np.testing.assert_allclose(whole.control(1.0, START, [0.3, 0.1]), plain.control(1.0, START, [0.3, 0.1]), rtol=1e-13)


def test_a_singular_position_ends_the_run_and_is_named() -> None:
    robot = arm()
    away = holonomic(robot.points["tip"] - ca.vertcat(1.3 - 0.2 * ca.exp(-robot.t), 0.0), name="away")
    with pytest.raises(SimulationError, match="'away") as caught:
        simulate(robot, IntegralProgramController(Program(robot, away)), [-0.5, 1.0], [0.0, 0.0], 5.0, step=1e-2)
    assert caught.value.status is Status.SINGULAR


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gain": {"hodl": 1.0}}, r"unknown constraint 'hodl'\. Did you mean 'hold'"),
        ({"gain": -1.0}, "gain must not be negative"),
        ({"bound": 0.0}, "bound must be greater"),
    ],
)
def test_bad_numbers_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        IntegralProgramController(held(), **arguments)


@pytest.mark.parametrize(
    "equation",
    [BoundedAcceleration(), FiniteTime(), Sliding(), Sliding(order=1), FiniteTime(order=1)],
    ids=lambda e: f"{e}",
)
def test_an_equation_that_is_not_linear_needs_a_gain_and_a_bound(equation: Perturbation) -> None:
    """Near zero 4r³/27 is stable after Sliding too; from 1 m away, where its pull is saturated, it would diverge."""
    for arguments in ({}, {"gain": 1.0}, {"bound": 1.0}):
        with pytest.raises(ModelError, match="is not linear, so eigenvalues prove stability near zero only: give"):
            IntegralProgramController(cart(equation), **arguments)
    IntegralProgramController(cart(equation), gain=0.0)


def test_a_bounded_integral_takes_the_offset_of_a_sliding_equation_away_from_afar() -> None:
    """Its pull is below ρ − |δ|, so that the layer is reached whatever the integral; there all is linear."""
    program = cart(Sliding(10.0, 1.0, 5.0))
    plant = pushed(program.robot, np.array([4.0]))
    controller = IntegralProgramController(program, gain=100.0, bound=3.0)
    motion = simulate(plant, controller, [5.0], [0.0], 12.0, step=1e-2)
    assert abs(motion.deviation[-1, 0]) < 1e-6
    plain = simulate(plant, ProgramController(program), [5.0], [0.0], 12.0, step=1e-2)
    assert plain.deviation[-1, 0] == pytest.approx(4.0 / 2.0 / (10.0 * 5.0), rel=1e-6)


@pytest.mark.parametrize("equation", [PrescribedTime(), PrescribedTime(order=1)])
def test_an_equation_that_changes_with_time_is_refused(equation: Perturbation) -> None:
    with pytest.raises(ModelError, match="depends on time, so its stability with an integral cannot"):
        IntegralProgramController(cart(equation), gain=1.0, bound=1.0)


def test_a_deviation_that_is_no_number_is_not_integrated() -> None:
    """One sample at √−1 m ends nothing: the next one finds the integral as it was, plus half an interval."""
    robot = cart(Baumgarte(3.0)).robot
    controller = IntegralProgramController(Program(robot, holonomic(ca.sqrt(robot.q + 1.0) - 1.0, name="root")))
    controller.advance(0.0, [0.44], [0.0])
    controller.advance(0.1, [-2.0], [0.0])
    with pytest.raises(NotFiniteError):
        controller.control(0.1, [-2.0], [0.0])
    controller.advance(0.2, [0.44], [0.0])
    assert controller.integrals["root"] == pytest.approx(0.2 * 0.1, rel=1e-12)
    assert np.isfinite(controller.control(0.2, [0.44], [0.0])).all()


def test_what_it_cannot_serve_is_refused() -> None:
    robot = arm()
    with pytest.raises(ModelError, match="'second_order' has order 2"):
        IntegralProgramController(Program(robot, second_order(robot.coordinates.a[0], perturbation=Exact())))
    with pytest.raises(ModelError, match="requires a Program"):
        IntegralProgramController(robot)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="realisation"):
        IntegralProgramController(held(), realisation="actuated")
    cubic = Nonlinear(lambda y, _, g: -g["c"] * y**3, {"c": 2.0}, order=1, lyapunov=lambda y, _, g: ca.dot(y, y) / 2)
    with pytest.raises(ModelError, match="is unstable with k_i = 2:"):
        IntegralProgramController(cart(cubic), gain=2.0, bound=1.0)
    assert Parameters.collect([IntegralProgramController(held()).parameters]).nominal["hold.integral"] > 0.0


def test_the_integral_stops_at_its_bound_and_comes_back_sooner() -> None:
    """A push beyond the bound for 6 s, and then none."""
    program = cart(Baumgarte(3.0))
    robot = program.robot
    plant = pushed(robot, ca.if_else(robot.t < 6.0, 40.0, 0.0))
    overshoot: list[float] = []
    for bound in (None, 5.0):
        controller = IntegralProgramController(program, bound=bound)
        gain = controller.parameters.nominal["place.integral"]
        run = sampled_run(
            plant,
            controller,
            np.zeros(1),
            np.zeros(1),
            12.0,
            1e-2,
            lambda t, q, v, c=controller, k=gain: k * c.integrals["place"],  # type: ignore[misc]
        )
        largest = np.abs(run.recorded).max()
        assert largest == pytest.approx(5.0) if bound else largest > 15.0
        overshoot.append(float(-run.q[run.t > 6.0].min()))
    assert 0.0 < overshoot[1] < 0.5 * overshoot[0]


def test_limits_freeze_the_integral_but_let_it_fall() -> None:
    """The cart with 5 N against a push of 8 N for 1 s: there is no room, and nothing to wind up for."""
    program = cart(Baumgarte(3.0))
    robot = program.robot
    limits = ControlLimits.of(robot, upper=[5.0], lower=[-5.0])
    plant = pushed(robot, ca.if_else(robot.t < 1.0, -8.0, 0.0))
    controller = IntegralProgramController(program, realization="bounded", limits=limits)
    run = sampled_run(
        plant, controller, np.zeros(1), np.zeros(1), 7.0, 1e-2, lambda t, q, v: controller.integrals["place"]
    )
    assert np.abs(run.u).max() <= 5.0
    pressed = (run.t > 0.4) & (run.t < 1.0)
    np.testing.assert_allclose(run.u[pressed], 5.0, atol=1e-6)
    free = sampled_run(
        plant,
        IntegralProgramController(program, realization="actuated"),
        np.zeros(1),
        np.zeros(1),
        0.5,
        1e-2,
        lambda t, q, v: 0.0,
    )
    assert np.abs(free.u).max() > 5.0
    # Frozen while pressed, although the deviation continues to grow; it falls once there is room again.
    assert np.ptp(run.recorded[pressed]) == 0.0
    assert np.ptp(run.q[pressed]) > 0.3
    assert abs(run.q[-1, 0]) < 0.05 * np.abs(run.q).max()
    motion = simulate(plant, controller, [0.0], [0.0], 0.8, step=1e-2)
    assert Status(int(motion.status[-1])) is Status.LIMITED


def test_without_room_the_integral_falls_to_zero_at_most_and_does_not_grow() -> None:
    """5 N for 2 kg at ÿ = −6 ẏ − 9 y: at 0.1 m there is room, at 2 m none."""
    program = cart(Baumgarte(3.0))
    limits = ControlLimits.of(program.robot, upper=[5.0], lower=[-5.0])
    controller = IntegralProgramController(program, realization="bounded", limits=limits)
    kept: list[tuple[float, float]] = []
    for t, y in ((0.0, 0.1), (1.0, 0.1), (1.1, 2.0), (1.2, 2.0), (1.3, -2.0), (1.31, -2.0), (1.4, -2.0)):
        controller.advance(t, [y], [0.0])
        assert isinstance(controller.memory, IntegralMemory)
        kept.append((float(controller.memory.values[0]), float(controller.memory.slope[0])))
    expected = [(0.0, 0.1), (0.1, 0.1), (0.1, 0.0), (0.1, 0.0), (0.1, -2.0), (0.08, -2.0), (0.0, 0.0)]
    np.testing.assert_allclose(kept, expected, atol=1e-12)


def test_a_row_that_is_off_is_not_integrated() -> None:
    robot = cart(Baumgarte(3.0)).robot
    constraint = holonomic(robot.q, perturbation=Baumgarte(3.0), name="place", when=Schedule(((1.0, 2.0),)))
    controller = IntegralProgramController(Program(robot, constraint))
    past: list[float] = []
    for t in (0.0, 0.5, 0.9, 1.1, 1.5, 2.1, 3.0):
        controller.advance(t, [0.1], [0.0])
        past.append(controller.integrals["place"])
    np.testing.assert_allclose(past, [0.0, 0.0, 0.0, 0.01, 0.05, 0.08, 0.08], atol=1e-12)
