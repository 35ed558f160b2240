"""Adaptation on robots that are no arms: closed loops, rolling wheels, friction; and where the rows are singular."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import holonomic, nonholonomic
from erugin.controllers import Program
from erugin.controllers.robust import AdaptiveProgramController, ParameterEstimate
from erugin.robots import lagrangian_system
from erugin.scenarios import simulate
from erugin.symbolic import Parameters, SingularProgramError

from .controller_cases.programs import braking_program
from .controller_cases.robots import robot_case
from .robust import sampled_run
from .test_robust_adaptive import START, arm, lyapunov, moving


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
    V, s = lyapunov(controller, run, plant), run.told[:, :n]
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


def test_where_the_inputs_do_not_reach_what_is_free_it_is_said() -> None:
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
