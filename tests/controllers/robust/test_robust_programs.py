"""Program controllers that estimate what their model lacks: bounds, poles, limits, closed loops and wheels."""

from __future__ import annotations

import functools
from typing import Literal

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import (
    Baumgarte,
    BoundedAcceleration,
    Constraint,
    FiniteTime,
    FirstOrder,
    Linear,
    Perturbation,
    PrescribedTime,
    Schedule,
    Sliding,
    holonomic,
    nonholonomic,
    second_order,
)
from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.controllers.robust import AdaptiveProgramController
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import Kernel, ModelError, NotFiniteInputError

from ...support.arms import two_link_arm
from ...support.controller_cases.programs import braking_program
from ...support.controller_cases.robots import robot_case
from ...support.uncertain_plants import pendulum, pushed, sampled_run

Array = NDArray[np.float64]
Kind = Literal["observer", "integral"]
Realization = Literal["ideal", "actuated", "bounded"]
KINDS: tuple[Kind, ...] = ("observer", "integral")
HEAVY = {"m1": 1.3, "m2": 1.3}
START = np.array([-0.5, 1.4])


@functools.cache
def arm() -> Robot:
    return two_link_arm()


def heavy() -> dict[str, float]:
    """All masses 30 % larger than those of the model."""
    return {name: share * arm().nominal[name] for name, share in HEAVY.items()}


def tip_error() -> ca.SX:
    return arm().points["tip"] - ca.DM([0.75, 0.2])


def rows_of_order(order: int, rate: float = 6.0) -> Constraint:
    """Relations by which the tip comes to a point, all with the motion ë + 2 rate ė + rate² e = 0."""
    robot, error = arm(), tip_error()
    velocity = robot.coordinates.rate(error)
    if order == 0:
        return holonomic(error, perturbation=Baumgarte(rate), name="tip")
    if order == 1:
        return nonholonomic(velocity + rate * error, perturbation=FirstOrder(rate), name="tip")
    return second_order(robot.coordinates.rate(velocity) + 2 * rate * velocity + rate**2 * error, name="tip")


@pytest.mark.parametrize("realization", ["ideal", "actuated", "bounded"])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_error_of_the_model_leaves_no_deviation(kind: Kind, order: int, realization: Realization) -> None:
    program = Program(arm(), rows_of_order(order))
    limits = ControlLimits.of(arm(), effort=[80.0, 40.0]) if realization == "bounded" else None
    plain = ProgramController(program, realization=realization, limits=limits)
    law = ProgramController(program, realization=realization, limits=limits, robust=kind, rate=3.0)
    left = []
    for controller in (plain, law):
        motion = simulate(arm(), controller, START, [0.0, 0.0], 8.0, step=1e-2, p=heavy())
        left.append(np.linalg.norm(arm().evaluate(tip_error(), q=motion.q[-1])))
    assert left[0] > 0.03
    assert left[1] < 1e-6


def test_the_estimate_is_the_weight_that_the_model_lacks() -> None:
    law = ProgramController(Program(arm(), rows_of_order(1)), realization="actuated", robust="observer")
    motion = simulate(arm(), law, START, [0.0, 0.0], 8.0, step=1e-2, p=heavy())
    q, v = motion.q[-1], np.zeros(2)
    missing = arm().evaluate(arm().bias, q=q, v=v) - arm().evaluate(arm().bias, q=q, v=v, p=heavy())
    np.testing.assert_allclose(list(law.estimates.values()), missing, atol=1e-5)
    assert np.abs(missing).max() > 3.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_deviation_of_the_velocity_obeys_its_bound(kind: Kind) -> None:
    """|ψ| ≤ |δ̇|/(k L) for ψ′ = −kψ − Lσ + δ, here for forces that make exactly δ = sin w t on a pendulum."""
    robot, k, L, w = pendulum(), 8.0, 4.0, 3.0
    inertia = float(robot.evaluate(robot.mass_matrix, q=[0.0]))
    plant = pushed(robot, inertia * ca.sin(w * robot.t))
    row = nonholonomic(robot.v[0] - 0.5 * ca.cos(robot.t), perturbation=FirstOrder(k), name="row")
    law = ProgramController(Program(robot, row), realization="actuated", robust=kind, rate=L)
    run = sampled_run(plant, law, np.zeros(1), np.array([0.5]), 8.0, 2e-3, lambda t, q, v: v[0] - 0.5 * np.cos(t))
    psi = np.abs(run.recorded[run.t > 4.0]).max()
    # The exact amplitude of iw/((iw + k)(iw + L)), a little below the bound.
    assert psi == pytest.approx(w / np.hypot(w, k) / np.hypot(w, L), rel=1e-4)
    assert psi < w / (k * L)


@pytest.mark.parametrize("kind", KINDS)
def test_the_closed_loop_has_the_poles_of_the_equation_and_of_the_estimate(kind: Kind) -> None:
    """By finite differences of the exact discrete map of one step, at rest under a constant missing weight."""
    robot, rate, L, step = arm(), 6.0, 2.5, 1e-3
    law = ProgramController(Program(robot, rows_of_order(0, rate)), realization="actuated", robust=kind, rate=L)
    expressions = law.sampled_law(step)
    assert expressions is not None
    c, z = robot.coordinates, expressions.z
    motion = simulate(robot, law, START, [0.0, 0.0], 12.0, step=5e-3)
    state, z0 = ca.vertcat(c.q, c.v), _settled(law, motion.q[-1])
    a = ca.substitute(robot.acceleration, robot.u, expressions.output)
    names = {"t": c.t, "state": state, "p": law.parameters.symbols, "z": z}
    f = Kernel("f", names, {"rate": ca.vertcat(c.v, a)}, compiled=False)
    update = Kernel("update", names, {"z": expressions.updated}, compiled=False)
    p = law.parameters.values()

    def step_map(whole: Array) -> Array:
        """One step from just after a sample, at which the memory has the time 0, to just after the next."""
        x, m = whole[:4], whole[4:]
        k1 = f(0.0, x, p, m)[0]
        k2 = f(step / 2, x + step / 2 * k1, p, m)[0]
        k3 = f(step / 2, x + step / 2 * k2, p, m)[0]
        k4 = f(step, x + step * k3, p, m)[0]
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        m = update(step, x, p, m)[0]
        m[1] = 0.0
        return np.concatenate([x, m])

    at = np.concatenate([motion.q[-1], np.zeros(2), z0])
    np.testing.assert_allclose(step_map(at), at, atol=1e-7)
    d = 1e-5
    jacobian = np.column_stack([(step_map(at + d * e) - step_map(at - d * e)) / (2 * d) for e in np.eye(len(at))])
    values = np.linalg.eigvals(jacobian)
    poles = np.log(values[np.abs(values) > 0.9].astype(complex)) / step
    slow = np.sort(poles[np.abs(poles) > 1e-3].real)
    # Double poles of Baumgarte's equation in two rows split by the root of the error of differences.
    np.testing.assert_allclose(slow, [-rate] * 4 + [-L] * 2, rtol=0.03)


def _settled(law: ProgramController, q: Array) -> Array:
    """The memory of a law that has been at rest for long."""
    expressions = law.sampled_law(1e-3)
    assert expressions is not None
    c = law.robot.coordinates
    names = {"t": c.t, "q": c.q, "v": c.v, "p": law.parameters.symbols, "z": expressions.z}
    update = Kernel("update", names, {"z": expressions.updated}, compiled=False)
    z = expressions.initial
    for t in (-1e-3, 0.0):
        z = update(t, q, np.zeros(2), law.parameters.values(), z)[0]
    return z


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_do_not_wind_up_where_limits_bind(kind: Kind) -> None:
    """A target out of reach of the first drive for a while: the estimate stays what the model lacks."""
    robot = arm()
    far = holonomic(robot.q - ca.if_else(robot.t < 4, ca.DM([1.2, 0.4]), ca.DM([-1.2, 0.4])), name="joints")
    law = ProgramController(
        Program(robot, far), realization="bounded", limits=ControlLimits.of(robot, effort=[18.0, 15.0]), robust=kind
    )
    motion = simulate(robot, law, [-1.2, 0.4], [0.0, 0.0], 7.0, step=1e-2)
    limited = np.asarray(motion.status) == int(Status.LIMITED)
    assert limited[motion.t < 4].mean() > 0.5
    # The model is exact: whatever limits do, nothing is missing.
    assert max(map(abs, law.estimates.values())) < 1e-2
    assert np.abs(motion.q[-1] - [-1.2, 0.4]).max() < 1e-2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    [
        "four-bar linkage",
        "two-wheel robot",
        "reduced two-wheel robot",
        "four links, absolute angles",
        "seven-joint arm",
    ],
)
def test_a_force_on_loops_wheels_and_chains_leaves_no_velocity(name: str, kind: Kind) -> None:
    """Bᵀ v comes to rest under a generalized force that the model does not contain."""
    case = robot_case(name)
    plant = pushed(case.robot, np.resize([0.3, -0.2, 0.1], case.robot.coordinates.nv))
    left = []
    for robust in (None, kind):
        law = ProgramController(braking_program(case), realization="actuated", robust=robust)
        motion = simulate(plant, law, case.q0, case.v0, 8.0, step=case.step)
        left.append(np.abs(motion.deviation[-1]).max())
    assert left[0] > 1e-2
    assert left[1] < 0.05 * left[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_of_the_estimate_is_of_second_order_in_the_interval(kind: Kind) -> None:
    robot, L, w = pendulum(), 4.0, 5.0
    plant = pushed(robot, ca.sin(w * robot.t))
    row = nonholonomic(robot.v[0] - 0.5 * ca.cos(3 * robot.t), perturbation=FirstOrder(8.0), name="row")
    errors = []
    for step in (2e-2, 1e-2, 5e-3):
        law = ProgramController(Program(robot, row), realization="actuated", robust=kind, rate=L)
        run = sampled_run(plant, law, np.zeros(1), np.array([0.5]), 4.0, step, lambda t, q, v: 0.0)
        errors.append(next(iter(law.estimates.values())))
        assert run.t[-1] == pytest.approx(4.0)
    assert errors[0] - errors[1] == pytest.approx(4.0 * (errors[1] - errors[2]), rel=0.15)


def test_rows_that_are_off_lack_nothing() -> None:
    robot = arm()
    rows = [
        holonomic(robot.q[0] + 0.5, perturbation=Baumgarte(6.0), name="first"),
        holonomic(robot.q[1] - 1.4, perturbation=Baumgarte(6.0), name="second", when=Schedule(((1.0, 3.0),))),
    ]
    law = ProgramController(Program(robot, rows), realization="actuated", robust="integral")
    motion = simulate(robot, law, START, [0.0, 0.0], 2.9, step=1e-2, p=heavy())
    assert abs(law.estimates["second.missing"]) > 0.1
    simulate(robot, law, motion.q[-1], motion.v[-1], 0.2, step=1e-2, p=heavy(), t0=2.95)
    assert law.estimates["second.missing"] == 0.0
    assert law.estimates["first.missing"] != 0.0


EQUATIONS: list[Perturbation] = [
    Linear([[30.0, 6.0], [-6.0, 20.0]], [[8.0, 0.0], [1.0, 9.0]]),
    Sliding(),
    FiniteTime(),
    BoundedAcceleration(),
    PrescribedTime(),
    Sliding(order=1),
]


@pytest.mark.parametrize("equation", EQUATIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_any_perturbation_equation_is_obeyed_under_a_constant_force(kind: Kind, equation: Perturbation) -> None:
    robot = arm()
    if equation.order == 0:
        row = holonomic(robot.q - ca.DM([-0.4, 1.3]), perturbation=equation, name="row")
    else:
        row = nonholonomic(robot.v, perturbation=equation, name="row")
    plant = pushed(robot, np.array([0.4, -0.3]))
    law = ProgramController(Program(robot, row), realization="actuated", robust=kind, rate=4.0)
    motion = simulate(plant, law, START, [0.0, 0.0], 4.0, step=2e-3)
    assert np.abs(motion.deviation[-1]).max() < 1e-3
    if kind == "observer":
        np.testing.assert_allclose(list(law.estimates.values()), [0.4, -0.3], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_only_samples_change_an_estimate(kind: Kind) -> None:
    law = ProgramController(Program(arm(), rows_of_order(0)), realization="actuated", robust=kind)
    state = (START + 0.1, np.zeros(2))
    law.advance(0.0, *state)
    before = law.control(0.0, *state)
    law.control(0.005, START, np.ones(2))
    np.testing.assert_array_equal(law.control(0.0, *state), before)
    law.advance(0.01, *state)
    after = law.control(0.01, *state)
    assert np.abs(after - before).max() > 1e-3
    kept = dict(law.estimates)
    # An impact: a sample at the same time with another velocity.
    law.advance(0.01, state[0], np.ones(2))
    assert dict(law.estimates) == kept
    with pytest.raises(NotFiniteInputError):
        law.advance(0.02, [np.nan, 0.0], [0.0, 0.0])
    assert dict(law.estimates) == kept
    law.advance(0.01, *state)
    solution = law.solve(0.01, *state)
    assert solution.status is Status.OK
    np.testing.assert_allclose(solution.input, law.control(0.01, *state), rtol=1e-12)
    law.reset()
    assert not any(law.estimates.values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_singular_position_ends_the_run_and_is_named(kind: Kind) -> None:
    robot = arm()
    away = holonomic(robot.points["tip"] - ca.vertcat(1.3 - 0.2 * ca.exp(-robot.t), 0.0), name="away")
    law = ProgramController(Program(robot, away), robust=kind)
    with pytest.raises(SimulationError, match="'away") as caught:
        simulate(robot, law, [-0.5, 1.0], [0.0, 0.0], 5.0, step=1e-2)
    # Which of the two comes first depends on rounding: accelerations grow without bound towards the position.
    assert caught.value.status in {Status.SINGULAR, Status.NOT_CONVERGED}


def test_rows_nonlinear_in_the_accelerations_get_a_force() -> None:
    robot = arm()
    q, v, a = robot.q, robot.v, robot.coordinates.a
    wanted = -36.0 * (q - ca.DM([-0.4, 1.3])) - 12.0 * v
    rows = second_order(a + 0.1 * a**3 / (1 + a**2) - wanted, name="rows")
    left = []
    program = Program(robot, rows)
    for law in (
        ProgramController(program, realization="actuated", newton_steps=8),
        ProgramController(program, realization="actuated", newton_steps=8, robust="observer", rate=3.0),
        ProgramController(program, realization="actuated", robust="observer", rate=3.0),
    ):
        motion = simulate(robot, law, START, [0.0, 0.0], 5.0, step=1e-2, p=heavy())
        left.append(np.abs(motion.q[-1] - [-0.4, 1.3]).max())
    assert left[0] > 0.02
    assert max(left[1:]) < 1e-5


def test_adaptation_finds_the_masses_as_the_law_behind_it_does() -> None:
    robot = arm()
    path = ca.vertcat(0.6 + 0.15 * ca.cos(2 * robot.t), 0.2 + 0.15 * ca.sin(2 * robot.t))
    program = Program(robot, holonomic(robot.points["tip"] - path, perturbation=Baumgarte(6.0), name="tip"))
    law = ProgramController(program, realization="actuated", robust="adaptive")
    bounds = {name: (0.5 * robot.nominal[name], 2.0 * robot.nominal[name]) for name in ("m1", "m2")}
    behind = AdaptiveProgramController(program, bounds, rate=6.0)
    motions = [simulate(robot, one, START, [0.0, 0.0], 12.0, step=5e-3, p=heavy()) for one in (law, behind)]
    np.testing.assert_array_equal(motions[0].q, motions[1].q)
    assert dict(law.estimates) == dict(behind.estimates)
    assert law.estimates["m2"] == pytest.approx(heavy()["m2"], rel=1e-2)
    assert np.abs(motions[0].deviation[-1]).max() < 1e-3
    with pytest.raises(ModelError, match=r"use control\(\)"):
        law.solve(0.0, START, [0.0, 0.0])


def test_what_is_not_possible_is_refused_by_name() -> None:
    program = Program(arm(), rows_of_order(2))
    with pytest.raises(ModelError, match="rate= is required"):
        ProgramController(program, robust="observer")
    with pytest.raises(ModelError, match="rate requires robust="):
        ProgramController(program, rate=2.0)
    with pytest.raises(ModelError, match="requires realization='actuated', got 'ideal'"):
        ProgramController(program, robust="adaptive")
    wheels = braking_program(robot_case("two-wheel robot"))
    with pytest.raises(ModelError, match="declares none: name the unknown"):
        ProgramController(wheels, realization="actuated", robust="adaptive")
    with pytest.raises(ModelError, match="robust must be 'observer'"):
        ProgramController(program, robust="integrator")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="rate must be"):
        ProgramController(program, robust="observer", rate=-1.0)
    a = arm().coordinates.a
    implicit = Program(arm(), second_order(a[0] + 0.1 * a[0] ** 3 - ca.sin(arm().t), name="cubic"))
    with pytest.raises(ModelError, match="'cubic' is not"):
        ProgramController(implicit, robust="integral", rate=2.0)
