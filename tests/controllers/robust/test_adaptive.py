"""Adaptive program control: Lyapunov function, unknown payloads, closed loops and rolling wheels."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, Schedule, holonomic, nonholonomic, second_order
from erugin.controllers import Program, ProgramController, Status
from erugin.controllers.robust import AdaptiveProgramController, ParameterEstimate
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, NotFiniteInputError, ParameterError, Parameters, SingularProgramError

from ...support.arms import two_link_arm
from ...support.controller_cases.programs import braking_program
from ...support.controller_cases.robots import acrobot, robot_case
from ...support.uncertain_plants import Run, sampled_run
from ...support.urdf import seven_joint_arm

Array = NDArray[np.float64]
START = np.array([-0.5, 1.4])


@functools.cache
def arm() -> Robot:
    return two_link_arm()


def moving(robot: Robot, second: float = 0.05) -> Program:
    """The tip moves on a circle, with a second frequency on it."""
    path = ca.vertcat(0.6 + 0.15 * ca.cos(2 * robot.t) + second * ca.cos(5 * robot.t), 0.2 + 0.15 * ca.sin(2 * robot.t))
    return Program(robot, holonomic(robot.points["tip"] - path, perturbation=Baumgarte(5.0), name="tip"))


def lyapunov(controller: AdaptiveProgramController, run: Run, p: dict[str, float]) -> Array:
    """V = ½ sᵀMs + ½ π̃ᵀΓ⁻¹π̃ at the samples of a run that tells s and the estimates, with the plant's M and π."""
    robot, n = controller.robot, controller.robot.coordinates.nv
    values = controller.parameters.nominal
    widths = controller.bounds[:, 1] - controller.bounds[:, 0]
    rates = values["adaptive.adaptation"] * widths**2
    truth = np.array([product.value({**robot.nominal, **p}) for product in controller.regressor.products])
    V: list[float] = []
    for q, reported in zip(run.q, run.recorded, strict=True):
        s, error = reported[:n], reported[n : n + truth.size] - truth
        V.append(float(s @ robot.evaluate(robot.mass_matrix, q=q, p=p) @ s / 2 + error @ (error / rates) / 2))
    return np.array(V)


def followed(controller: AdaptiveProgramController, p: dict[str, float], duration: float, step: float) -> Run:
    return sampled_run(
        controller.robot,
        controller,
        START,
        np.zeros(2),
        duration,
        step,
        lambda t, q, v: np.concatenate([controller.sliding(t, q, v), list(controller.estimates.values())]),
        p,
    )


@pytest.mark.parametrize(
    ("payload", "bounds"),
    [(1.2, (0.1, 9.0)), (2.7, (0.1, 9.0)), pytest.param(3.5, (0.5, 4.0), id="estimate stopped at its bound")],
)
def test_the_function_of_lyapunov_falls_as_it_must(payload: float, bounds: tuple[float, float]) -> None:
    """V(t) = V(0) − κ ∫ sᵀM₀s dt, with the plant's own masses in V; where a bound stops an estimate, V is less."""
    robot, step = arm(), 2.5e-3
    controller = AdaptiveProgramController(moving(robot), {"m2": bounds}, rate=5.0)
    run = followed(controller, {"m2": payload}, 1.5, step)
    V = lyapunov(controller, run, {"m2": payload})
    s = run.recorded[:, :2]
    M = np.array([robot.evaluate(robot.mass_matrix, q=q) for q in run.q])
    power = 5.0 * np.einsum("ki,kij,kj->k", s, M, s)
    balance = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2) * step])
    stopped = bool(run.recorded[:, 2].max() == bounds[1])
    assert stopped is bool(payload == 3.5)
    if stopped:
        assert (V - V[0] + balance).max() < 2e-4 * V[0]
        assert V[-1] < V[0] - balance[-1] - 0.01 * V[0]
    else:
        np.testing.assert_allclose(V, V[0] - balance, atol=2e-4 * V[0])
        assert balance[-1] > 0.9 * V[0]
    assert np.diff(V).max() < 1e-5 * V[0]


def test_what_samples_add_to_the_function_of_lyapunov_is_of_the_second_order() -> None:
    """Against a run with an eighth of the interval: half the interval, a quarter of the difference."""
    plant = {"m2": 2.7}
    controller = AdaptiveProgramController(moving(arm()), {"m2": (0.1, 9.0)}, rate=5.0)
    ends: list[float] = []
    for step in (1e-2, 5e-3, 1.25e-3):
        run = followed(controller, plant, 0.4, step)
        ends.append(float(lyapunov(controller, run, plant)[-1]))
    assert (ends[0] - ends[2]) / (ends[1] - ends[2]) == pytest.approx(4.2, abs=0.8)


@pytest.mark.parametrize("payload", [1.0, 2.7])
def test_an_unknown_payload_leaves_no_deviation_and_is_found(payload: float) -> None:
    plant = {"m2": payload}
    controller = AdaptiveProgramController(moving(arm()), {"m2": (0.5, 5.0)}, rate=5.0)
    motion = simulate(arm(), controller, START, np.zeros(2), 8.0, step=5e-3, p=plant)
    late = motion.t > 7.0
    assert np.abs(motion.deviation[late]).max() < 2e-6
    assert controller.estimates["m2"] == pytest.approx(payload, rel=1e-5)
    assert motion.ok
    plain = ProgramController(moving(arm()), realization="actuated")
    motion = simulate(arm(), plain, START, np.zeros(2), 8.0, step=5e-3, p=plant)
    assert np.abs(motion.deviation[late]).max() > 0.05


@pytest.mark.foreign
def test_a_seven_joint_arm_finds_the_mass_in_its_hand() -> None:
    robot = seven_joint_arm()
    tool = robot.points["panda_hand_tcp"]
    q0 = np.array([0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7])
    swing = 0.08 * ca.vertcat(ca.cos(2 * robot.t) - 1, ca.sin(2 * robot.t), 0.3 * ca.sin(3 * robot.t))
    program = Program(robot, holonomic(tool - ca.DM(robot.evaluate(tool, q=q0)) - swing, name="tool"))
    load = "panda_hand_tcp.mass"
    controller = AdaptiveProgramController(program, {load: (0.0, 4.0)}, rate=8.0, adaptation=0.1)
    motion = simulate(robot, controller, q0, np.zeros(7), 4.0, step=5e-3, p={load: 2.0})
    late = np.abs(motion.deviation[motion.t > 3.5]).max()
    assert controller.estimates[load] == pytest.approx(2.0, abs=2e-3)
    still = AdaptiveProgramController(program, {load: (0.0, 4.0)}, rate=8.0, adaptation=1e-9)
    motion = simulate(robot, still, q0, np.zeros(7), 4.0, step=5e-3, p={load: 2.0})
    assert still.estimates[load] < 1e-3
    assert late < 1e-3 < 0.1 * np.abs(motion.deviation[motion.t > 3.5]).max()


def test_estimates_come_true_if_the_motion_excites_them_and_need_not_if_it_does_not() -> None:
    """At rest an inertia makes no force: its estimate stays wrong, and the deviation vanishes all the same."""
    unknown = {"m2": (0.5, 5.0), "I1": (0.0, 2.0)}
    plant = {"m2": 3.0, "I1": 1.6}
    robot = arm()
    place = ca.DM(robot.evaluate(robot.points["tip"], q=START + 0.2))
    rest = Program(robot, holonomic(robot.points["tip"] - place, name="rest"))
    ends: dict[str, tuple[float, dict[str, float]]] = {}
    for name, program, gain in (("rest", rest, 0.3), ("moving", moving(robot, 0.1), 6.0)):
        controller = AdaptiveProgramController(program, unknown, rate=6.0, adaptation=gain)
        motion = simulate(robot, controller, START, np.zeros(2), 16.0, step=8e-3, p=plant)
        ends[name] = float(np.abs(motion.deviation[motion.t > 15.0]).max()), dict(controller.estimates)
    assert ends["rest"][0] < 1e-6
    assert ends["rest"][1]["m2"] == pytest.approx(3.0, abs=1e-4)
    assert abs(ends["rest"][1]["I1"] - 1.6) > 0.1
    assert ends["moving"][0] < 1e-4
    assert ends["moving"][1] == pytest.approx(plant, abs=0.01)


def test_products_are_separate_unknowns() -> None:
    """Mass, place and inertia of the second link, of which the forces hold m, m c and m c² + I."""
    unknown = {"m2": (0.5, 4.0), "c2": (0.1, 0.6)}
    controller = AdaptiveProgramController(moving(arm()), unknown, rate=5.0, adaptation=1.0, products=True)
    assert list(controller.estimates) == ["m2", "m2*c2", "m2*c2^2"]
    np.testing.assert_allclose(controller.bounds, [[0.5, 4.0], [0.05, 2.4], [0.005, 1.44]])
    plant = {"m2": 2.6, "c2": 0.35}
    motion = simulate(arm(), controller, START, np.zeros(2), 10.0, step=5e-3, p=plant)
    assert np.abs(motion.deviation[motion.t > 9.0]).max() < 1e-3
    within = np.array(list(controller.estimates.values()))
    assert (controller.bounds[:, 0] <= within).all()
    assert (within <= controller.bounds[:, 1]).all()


def test_estimates_stay_within_their_bounds() -> None:
    """A plant heavier than they allow: the estimate goes to its bound and stays."""
    controller = AdaptiveProgramController(moving(arm()), {"m2": (1.0, 2.0)}, rate=5.0, adaptation=5.0)
    run = followed(controller, {"m2": 4.0}, 1.5, 5e-3)
    estimates = run.recorded[:, 2]
    assert estimates.max() == 2.0
    assert estimates.min() >= 1.0


def test_a_rest_velocity_moves_what_the_program_leaves_free() -> None:
    """Three joints, two rows: z = −2 (q − q₀) brings what is free towards q₀, without a mark on the program."""
    robot = robot_case("four links, absolute angles").robot
    q0 = robot_case("four links, absolute angles").q0
    place = ca.DM(robot.evaluate(robot.points["tip"], q=q0))
    program = Program(robot, holonomic(robot.points["tip"] - place, name="tip"))
    still = q0 + np.array([0.4, -0.2, 0.1, 0.0])
    ends: list[float] = []
    for null in (None, -2.0 * (robot.q - ca.DM(still))):
        controller = AdaptiveProgramController(program, {"g": (5.0, 15.0)}, rate=6.0, null_velocity=null)
        motion = simulate(robot, controller, q0, np.zeros(4), 3.0, step=5e-3)
        assert np.abs(motion.deviation).max() < (1e-9 if null is None else 1e-2)
        assert np.abs(motion.deviation[-1]).max() < 1e-3
        ends.append(float(np.linalg.norm(motion.q[-1] - still)))
    assert ends[1] < 0.9 * ends[0]


def test_only_samples_change_what_is_remembered() -> None:
    controller = AdaptiveProgramController(moving(arm()), {"m2": (0.5, 5.0)}, rate=5.0)
    controller.advance(0.0, START, [0.1, 0.2])
    u = controller.control(0.0, START, [0.1, 0.2])
    controller.control(0.01, START + 0.3, [1.0, 0.0])
    np.testing.assert_array_equal(controller.control(0.0, START, [0.1, 0.2]), u)
    assert controller.estimates["m2"] == 1.8
    controller.advance(0.01, START, [0.1, 0.2])
    assert controller.estimates["m2"] != 1.8
    with pytest.raises(NotFiniteInputError):
        controller.advance(0.02, START, [np.nan, 0.0])
    controller.reset()
    assert controller.estimates["m2"] == 1.8
    np.testing.assert_array_equal(controller.control(0.0, START, [0.1, 0.2]), u)


def test_a_run_may_start_from_another_estimate_within_the_bounds() -> None:
    controller = AdaptiveProgramController(moving(arm()), {"m2": (0.5, 5.0)}, rate=5.0)
    controller.advance(0.0, START, [0.0, 0.0], {"m2": 3.0})
    assert controller.estimates["m2"] == 3.0
    controller.reset()
    with pytest.raises(ParameterError, match="'m2' must start within its bounds"):
        controller.advance(0.0, START, [0.0, 0.0], {"m2": 6.0})


def test_a_singular_position_is_named() -> None:
    robot = arm()
    program = Program(robot, holonomic(robot.points["tip"] - ca.vertcat(1.0 + 0.2 * robot.t, 0.0), name="away"))
    controller = AdaptiveProgramController(program, {"m2": (0.5, 5.0)}, rate=5.0)
    with pytest.raises(SimulationError, match="'away") as caught:
        simulate(robot, controller, [-0.4, 0.85], np.zeros(2), 3.0, step=5e-3)
    assert caught.value.status is Status.SINGULAR
    assert np.isfinite(caught.value.trajectory.u).all()


@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        ({"c2": (0.1, 0.6)}, "not linear in 'c2'"),
        ({"m2": (5.0, 0.5)}, "smaller and a larger number"),
        ({"m2": (2.0, 5.0)}, "'m2', at which the estimate starts, is 1.8, outside its bounds"),
        ({"m2": (0.0, np.inf)}, "bound of 'm2' must be finite"),
        ({"m2": 3.0}, "its least and its greatest value"),
        ({}, "at least one unknown"),
        (["m2"], "name of each parameter to its least and greatest value, such as"),
    ],
)
def test_bad_unknowns_are_refused(unknown: dict[str, tuple[float, float]], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        AdaptiveProgramController(moving(arm()), unknown)


def test_bad_programs_and_gains_are_refused() -> None:
    robot, unknown = arm(), {"m2": (0.5, 5.0)}
    tip, v = robot.points["tip"], robot.v
    for constraint, message in (
        (second_order(robot.coordinates.a[0]), "has order 2"),
        (nonholonomic(v[0] ** 2 - 1.0), "must be linear in the velocities"),
        (holonomic(tip[0] - 0.5, when=Schedule(((0.0, 1.0),))), "on only at times"),
    ):
        with pytest.raises(ModelError, match=message):
            AdaptiveProgramController(Program(robot, constraint), unknown)
    for keyword in ("rate", "damping", "adaptation", "tolerance"):
        with pytest.raises(ModelError, match=f"{keyword} must be greater than zero"):
            AdaptiveProgramController(moving(robot), unknown, **{keyword: -1.0})  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="null_velocity must be a column of 2"):
        AdaptiveProgramController(moving(robot), unknown, null_velocity=ca.SX(0))
    with pytest.raises(ModelError, match="in time, coordinates and parameters only"):
        AdaptiveProgramController(moving(robot), unknown, null_velocity=robot.v)
    passive = acrobot()
    elbow = Program(passive, holonomic(passive.q[1]))
    with pytest.raises(ModelError, match="fewer independent inputs"):
        AdaptiveProgramController(elbow, {"m2": (0.1, 1.0)})
    with pytest.raises(ModelError, match="requires a Program"):
        AdaptiveProgramController(robot, unknown)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "unknown", "fall"),
    [
        ("four-bar linkage", "crank.mass", 0.05),
        ("two-wheel robot", "platform_mass", 0.5),
        ("reduced two-wheel robot", "platform_mass", 0.5),
        ("four links, absolute angles", "m4", 0.1),
    ],
)
def test_the_function_of_lyapunov_falls_with_loops_wheels_and_quasi_velocities(
    name: str, unknown: str, fall: float
) -> None:
    """V(t) = V(0) − κ ∫ sᵀM₀s dt once more: natural reactions do no work on s, and no mass matrix is inverted."""
    case, step, kappa = robot_case(name), 4e-3, 3.0
    robot, n = case.robot, case.robot.coordinates.nv
    value = robot.nominal[unknown]
    controller = AdaptiveProgramController(braking_program(case), {unknown: (0.2 * value, 4.0 * value)}, rate=kappa)
    plant = {unknown: 2.5 * value}
    v0 = case.v0 if case.v0.any() or robot.natural else case.v0 + 0.5
    run = sampled_run(
        robot,
        controller,
        case.q0,
        v0,
        0.4,
        step,
        lambda t, q, v: np.concatenate([controller.sliding(t, q, v), list(controller.estimates.values())]),
        plant,
    )
    V, s = lyapunov(controller, run, plant), run.recorded[:, :n]
    power = [kappa * x @ robot.evaluate(robot.mass_matrix, q=q) @ x for x, q in zip(s, run.q, strict=True)]
    balance = np.concatenate([[0.0], np.cumsum(np.add(power[1:], power[:-1]) / 2) * step])
    np.testing.assert_allclose(V, V[0] - balance, atol=2e-4 * V[0])
    assert balance[-1] > fall * V[0]


def test_rows_of_order_1_on_the_wheels_of_a_robot_of_twice_the_mass() -> None:
    case = robot_case("two-wheel robot")
    robot, value = case.robot, case.robot.nominal["platform_mass"]
    speeds = robot.v[3:5] - ca.vertcat(2.0 + 0.5 * ca.sin(robot.t), 1.5)
    program = Program(robot, nonholonomic(speeds, name="wheels"))
    controller = AdaptiveProgramController(
        program, {"platform_mass": (0.2 * value, 3.0 * value)}, rate=5.0, adaptation=300.0
    )
    motion = simulate(robot, controller, case.q0, case.v0, 4.0, step=5e-3, p={"platform_mass": 2.0 * value})
    assert np.abs(motion.deviation[0]).max() > 0.4
    assert np.abs(motion.deviation[motion.t > 3.0]).max() < 5e-3


def test_mass_viscous_and_dry_friction_are_found_together() -> None:
    x, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("u")
    p = Parameters.declare({"m": 2.0, "viscous": 0.5, "dry": 1.0})
    dry = p["dry"] * ca.tanh(v / 0.1)
    slide = lagrangian_system(
        q=x, v=v, p=p, T=p["m"] * v**2 / 2, D=p["viscous"] * v**2 / 2, Q=u - dry, u=u, name="slide"
    )
    path = ca.sin(2 * slide.t) + 0.3 * ca.sin(5 * slide.t)
    program = Program(slide, holonomic(x - path, name="place"))
    unknown = {"m": (0.5, 6.0), "viscous": (0.0, 3.0), "dry": (0.0, 4.0)}
    controller = AdaptiveProgramController(program, unknown, rate=4.0, adaptation=4.0)
    plant = {"m": 3.0, "viscous": 1.5, "dry": 2.0}
    motion = simulate(slide, controller, [0.2], [0.0], 14.0, step=1e-2, p=plant)
    assert np.abs(motion.deviation[motion.t > 12.0]).max() < 1e-4
    assert dict(controller.estimates) == pytest.approx(plant, rel=2e-3)


def test_at_a_singular_place_nothing_is_learnt() -> None:
    controller = AdaptiveProgramController(moving(arm()), {"m2": (0.5, 5.0)}, rate=5.0)
    for t, q in ((0.0, START), (0.1, [0.3, 0.0]), (0.2, START)):
        controller.advance(t, q, [0.2, 0.1])
        assert isinstance(controller.memory, ParameterEstimate)
        assert np.isfinite(controller.memory.values).all()
        assert bool(controller.memory.slope.any()) is (t != 0.1)


def test_free_motion_that_the_inputs_cannot_affect_is_reported() -> None:
    """A bead on a circle that is pushed along x: at (1, 0) no push moves it, although the row is independent."""
    q, v, u = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("u")
    p = Parameters.declare({"m": 2.0})
    ring = holonomic(ca.sumsqr(q) - 1.0, name="ring")
    bead = lagrangian_system(
        q=q, v=v, p=p, T=p["m"] * ca.sumsqr(v) / 2, Q=ca.vertcat(u, 0), u=u, natural=(ring,), name="bead"
    )
    program = Program(bead, holonomic(q[1] - 0.3 * bead.t, name="height"))
    controller = AdaptiveProgramController(program, {"m": (1.0, 4.0)}, rate=3.0)
    assert np.isfinite(controller.control(0.0, [0.8, 0.6], [-0.3, 0.4])).all()
    with pytest.raises(SingularProgramError, match="'height'"):
        controller.control(0.0, [1.0, 0.0], [0.0, 0.5])
