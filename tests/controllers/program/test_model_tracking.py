"""A reference model that plans by a program of second order, and a control model that tracks it through the wheels."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.special import fresnel

from erugin.constraints import Baumgarte, FirstOrder, path_curvature, second_order, tangential_acceleration
from erugin.controllers import ModelTracking, Program, ProgramController, ReferenceModel, Status
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, ShapeError, SingularProgramError

from ...support.multiplier_cases import numbers, problem
from ...support.two_wheel_tracking import FULL, REDUCED, Array

SHARPNESS, PACE, RATE = 0.9, 0.6, 4.0
BOTH = pytest.mark.parametrize("robot", [FULL, REDUCED], ids=["full", "reduced"])


def program(robot: Robot) -> Program:
    """The nose goes along a clothoid at constant speed, given by its second derivatives."""
    nose = robot.points["nose"]
    curved = path_curvature(nose, SHARPNESS * PACE * robot.t)
    return Program(robot, [curved, tangential_acceleration(nose, 0.0)])


def rolling(robot: Robot, q: Array, speed: float, turning: float) -> Array:
    """Velocities of a robot that rolls with v and ω."""
    if robot is REDUCED:
        return np.array([speed, turning])
    r, b = robot.nominal["wheel_radius"], robot.nominal["half_track"]
    wheels = (speed + b * turning) / r, (speed - b * turning) / r
    return np.array([speed * np.cos(q[2]), speed * np.sin(q[2]), turning, *wheels])


def start(robot: Robot, ahead: float = 0.0, left: float = 0.0, turned: float = 0.0) -> tuple[Array, Array]:
    """The nose at the origin, or beside it, with the pace of the plan."""
    b = robot.nominal["half_track"]
    q = np.array([ahead - b * np.cos(turned), left - b * np.sin(turned), turned, 0.0, 0.0])
    return q, rolling(robot, q, PACE, 0.0)


def planned(t: Array) -> Array:
    """The clothoid by Fresnel's integrals."""
    scale = np.sqrt(np.pi / SHARPNESS)
    S, C = fresnel(PACE * t / scale)
    return np.asarray(scale * np.column_stack([C, S]))


def tracking(robot: Robot, rate: float = RATE) -> ModelTracking:
    reference = ReferenceModel(program(robot), *start(robot))
    return ModelTracking(reference, robot.points["nose"], perturbation=Baumgarte(rate))


@BOTH
def test_the_reference_model_is_the_ideal_motion(robot: Robot) -> None:
    """Step by step it is what a simulation of the ideal program gives, and that is the clothoid."""
    model, h = ReferenceModel(program(robot), *start(robot)), 0.1
    fine = simulate(robot, ProgramController(program(robot)), *start(robot), 2.0, step=5e-3)
    motion = simulate(robot, ProgramController(program(robot)), *start(robot), 2.0, step=h)
    x, p = np.concatenate(model.start), model.program.parameters.values()
    for k in range(len(motion) - 1):
        x = model.after(float(motion.t[k]), x, h, p)
    np.testing.assert_allclose(x, np.concatenate([motion.q[-1], motion.v[-1]]), atol=1e-12)
    np.testing.assert_allclose(fine.evaluate(robot.points["nose"]), planned(fine.t), atol=1e-7)


@BOTH
def test_the_robot_reaches_the_planned_position_as_documented(robot: Robot) -> None:
    """From 0.3 m beside it and turned: e = (e₀ + (ė₀ + ω e₀) t) exp(−ω t), and the nose is on the clothoid."""
    q, v = start(robot, ahead=-0.2, left=0.25, turned=0.4)
    motion = simulate(robot, tracking(robot), q, v, 4.0, step=5e-3)
    e0 = np.array([-0.2, 0.25])
    de0 = PACE * np.array([np.cos(0.4) - 1.0, np.sin(0.4)])
    expected = (e0 + np.outer(motion.t, de0 + RATE * e0)) * np.exp(-RATE * motion.t)[:, None]
    np.testing.assert_allclose(motion.deviation, expected, atol=1e-7)
    np.testing.assert_allclose(motion.evaluate(robot.points["nose"]) - planned(motion.t), expected, atol=1e-7)
    assert np.abs(motion.evaluate(robot.points["nose"])[-1] - planned(motion.t)[-1]).max() < 1e-5
    assert motion.rows == ("tracking[0]", "tracking[1]")


def test_the_program_alone_stays_where_it_was_put() -> None:
    """Purpose of the reference model: the program of second order does not see that it is 0.3 m beside its plan."""
    q, v = start(REDUCED, left=0.3)
    alone = ProgramController(program(REDUCED), realization="actuated")
    motion = simulate(REDUCED, alone, q, v, 3.0, step=5e-3)
    miss = motion.evaluate(REDUCED.points["nose"]) - planned(motion.t)
    np.testing.assert_allclose(miss, np.tile([0.0, 0.3], (len(motion), 1)), atol=1e-7)


def test_a_model_with_wrong_masses_misses_the_less_the_faster_the_equation() -> None:
    """A third more platform than the model knows: the miss is bounded and falls as 1/ω², as of a spring."""
    worst = []
    heavier = {"platform_mass": 1.3 * REDUCED.nominal["platform_mass"]}
    for rate in (6.0, 12.0):
        motion = simulate(REDUCED, tracking(REDUCED, rate), *start(REDUCED), 3.0, step=5e-3, p=heavier)
        assert motion.ok
        worst.append(float(np.hypot(*motion.deviation[motion.t > 1.5].T).max()))
    assert 1e-4 < worst[1] < worst[0] < 0.05
    assert worst[0] / worst[1] == pytest.approx(4.0, rel=0.2)


def test_outputs_may_be_velocities() -> None:
    """v and ω of the reduced robot follow those planned: both differences fall as exp(−ω t)."""
    law = ModelTracking(ReferenceModel(program(REDUCED), *start(REDUCED)), REDUCED.v, perturbation=FirstOrder(3.0))
    motion = simulate(REDUCED, law, start(REDUCED)[0], [0.8, -0.3], 2.0, step=5e-3)
    np.testing.assert_allclose(motion.deviation, np.outer(np.exp(-3 * motion.t), [0.2, -0.3]), atol=1e-7)


def test_only_a_sample_moves_the_reference_model() -> None:
    law = tracking(REDUCED)
    q, v = start(REDUCED, left=0.1)
    first = law.control(0.3, q, v)
    law.advance(0.3, q, v)
    np.testing.assert_array_equal(law.control(0.3, q, v), first)
    memory = law.memory
    later = law.control(0.35, q, v)
    assert law.memory is memory
    law.advance(0.35, q, v)
    np.testing.assert_allclose(law.control(0.35, q, v), later, rtol=1e-14)
    assert not law.planned[0].flags.writeable
    law.reset()
    np.testing.assert_array_equal(law.planned[0], start(REDUCED)[0])
    np.testing.assert_array_equal(law.control(0.3, q, v), first)


def test_parameters_are_those_of_both_models() -> None:
    law = tracking(REDUCED)
    own = [name for name in law.parameters.names if name not in REDUCED.parameters.names]
    assert own == ["tangential_acceleration.value", "tracking.alpha", "tracking.beta"]
    q, v = start(REDUCED, left=0.1)
    moved = law.control(0.0, q, v, {"tracking.beta": 9.0})
    assert np.abs(moved - law.control(0.0, q, v)).max() > 0.1
    # The program's own reach the plan: with another tangential acceleration it is elsewhere at the next sample.
    places = []
    for value in (0.0, 0.4):
        law.reset()
        for t in (0.0, 0.5):
            law.advance(t, q, v, {"tangential_acceleration.value": value})
        places.append(law.planned[0][0])
    assert places[1] - places[0] == pytest.approx(0.4 * 0.5**2 / 2, rel=0.05)


def test_what_cannot_be_tracked_is_refused() -> None:
    reference = ReferenceModel(program(REDUCED), *start(REDUCED))
    slip = ca.cos(FULL.q[2]) * FULL.v[1] - ca.sin(FULL.q[2]) * FULL.v[0]
    slipping = ReferenceModel(program(FULL), *start(FULL))
    with pytest.raises(ModelError, match="no input of"):
        ModelTracking(slipping, slip)
    with pytest.raises(ModelError, match="not in time, accelerations or inputs"):
        ModelTracking(reference, REDUCED.points["nose"] * REDUCED.t)
    with pytest.raises(ModelError, match="column of SX"):
        ModelTracking(reference, ca.SX.zeros(1, 2))
    with pytest.raises(ModelError, match="affine in the accelerations"):
        ReferenceModel(Program(REDUCED, second_order(ca.sumsqr(REDUCED.coordinates.a) - 1.0)), *start(REDUCED))
    with pytest.raises(ShapeError):
        ReferenceModel(program(REDUCED), np.zeros(4), np.zeros(2))


def test_a_reference_model_that_comes_to_rest_is_reported() -> None:
    """At rest a path has no curvature: the plan, and with it the run, ends with a sentence."""
    robot = REDUCED
    q, _ = start(robot)
    model = ReferenceModel(program(robot), q, np.zeros(2))
    with pytest.raises(SingularProgramError, match=r"^reference model at t = 0: Row 'path_curvature' vanishes"):
        model.rate(0.0, np.concatenate(model.start), model.program.parameters.values())
    law = ModelTracking(model, robot.points["nose"])
    with pytest.raises(SimulationError, match="reference model") as error:
        simulate(robot, law, q, [0.3, 0.0], 1.0, step=1e-2)
    assert error.value.status is Status.SINGULAR


def test_a_program_may_stand_in_for_inertia_in_the_reference_model() -> None:
    """The length of a quaternion has no inertia and is the program's matter: M has no inverse to divide by."""
    case = problem("programmed inertia")
    model = ReferenceModel(case.program, case.q, case.v)
    rate = model.rate(0.3, np.concatenate(model.start), model.program.parameters.values())
    a, _ = numbers(case.program, 0.3, case.q, case.v).motion()
    np.testing.assert_allclose(rate, np.concatenate([case.v, a]), rtol=0, atol=1e-10 * np.abs(a).max())


def test_what_is_no_program_or_no_model_is_refused() -> None:
    with pytest.raises(ModelError, match="ReferenceModel requires a Program, got Robot"):
        ReferenceModel(REDUCED, *start(REDUCED))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="ModelTracking follows a ReferenceModel, got Program"):
        ModelTracking(program(REDUCED), REDUCED.points["nose"])  # type: ignore[arg-type]
