"""Servo laws against formulas from the literature, and the integrators before their inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController, Status
from erugin.controllers.servo import ServoController
from erugin.controllers.servo.servo_controller import IntegratorMemory
from erugin.robots import Link, Robot, lagrangian_system
from erugin.robots.examples import flexible_joint_arm, fukao_robot
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, NotConvergedError, NotFiniteInputError, ParameterError

from ...support.arms import two_link_arm
from ...support.controller_cases.robots import acrobot
from ...support.servo_models import cascade, spatial_crane

Array = NDArray[np.float64]
Extension = Literal["quasi-static", "integrators"]
BOTH: tuple[Extension, ...] = ("quasi-static", "integrators")
RATE = 3.0


@functools.cache
def elastic_joint() -> Robot:
    return flexible_joint_arm([Link(0.8, 2.0, 0.5, 0.3)], stiffness=[120.0], rotor_inertia=[0.07])


def test_an_elastic_joint_is_driven_as_by_spong() -> None:
    """[Spong1987]: u = k (φ − θ) + (J/k) (I v + k θ̈ − m g c (sin θ θ̈ + cos θ θ̇²)), v the fourth derivative wanted."""
    robot = elastic_joint()
    law = ServoController(Program(robot, holonomic(robot.q[0] - 0.3, name="link")), near=[0.3, 0.4], rates=RATE)
    I, J, k, w = 0.3 + 2.0 * 0.5**2, 0.07, 120.0, 2.0 * 9.81 * 0.5
    rng = np.random.default_rng(1)
    for _ in range(10):
        (th, phi), (vth, vphi) = rng.uniform(-1.0, 1.0, (2, 2))
        a = (k * (phi - th) - w * np.cos(th)) / I
        jerk = (k * (vphi - vth) + w * np.sin(th) * vth) / I
        wanted = -(4 * RATE * jerk + 6 * RATE**2 * a + 4 * RATE**3 * vth + RATE**4 * (th - 0.3))
        u = k * (phi - th) + J / k * (I * wanted + k * a - w * (np.sin(th) * a + np.cos(th) * vth**2))
        np.testing.assert_allclose(law.control(0.0, [th, phi], [vth, vphi]), [u], rtol=1e-12)


@pytest.mark.parametrize("joint", [0, 1], ids=["non-collocated", "collocated"])
def test_an_acrobot_is_linearized_as_by_spong(joint: int) -> None:
    """[Spong1994]: the other equation gives the other acceleration, and the driven one the torque."""
    robot = acrobot()
    law = ServoController(Program(robot, holonomic(robot.q[joint], name="joint")), near=[0.0, 0.0], rates=RATE)
    rng = np.random.default_rng(2)
    for _ in range(10):
        q, v = rng.uniform(-1.0, 1.0, (2, 2))
        M, h = (robot.evaluate(e, q=q, v=v) for e in (robot.mass_matrix, robot.bias))
        wanted = -2 * RATE * v[joint] - RATE**2 * q[joint]
        other = 1 - joint
        # M₁₁ a₁ + M₁₂ a₂ + h₁ = 0 for the passive joint.
        passive = -(M[0, joint] * wanted + h[0]) / M[0, other]
        torque = M[1, joint] * wanted + M[1, other] * passive + h[1]
        np.testing.assert_allclose(law.control(0.0, q, v), [torque], rtol=1e-12, atol=1e-12)


def test_of_degree_2_it_is_the_actuated_program_controller() -> None:
    robot = two_link_arm()
    tip = robot.points["tip"] - ca.vertcat(0.6 + 0.1 * ca.sin(robot.t), 0.2)
    program = Program(robot, holonomic(tip, perturbation=Baumgarte(RATE), name="tip"))
    servo = ServoController(program, near=[-0.9, 1.4], rates=RATE)
    usual = ProgramController(program, realization="actuated")
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v = rng.uniform(0.4, 1.2, 2), rng.uniform(-1.0, 1.0, 2)
        np.testing.assert_allclose(servo.control(0.7, q, v), usual.control(0.7, q, v), rtol=1e-10)


def test_more_inputs_than_rows_share_the_work() -> None:
    """One row, two drives: of all inputs that do it, the least ones, in the scale in which each acts."""
    robot = two_link_arm()
    law = ServoController(
        Program(robot, holonomic(robot.points["tip"][1], name="height")), near=[-0.9, 1.4], allow_unstable_internal=True
    )
    q, v = np.array([-0.8, 1.3]), np.array([0.1, 0.2])
    u = law.control(0.0, q, v)
    a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
    height = robot.points["tip"][1]
    rate = robot.coordinates.rate(robot.coordinates.rate(height))
    f = ca.Function(
        "f", [robot.q, robot.v, robot.coordinates.a, robot.p], [height, robot.coordinates.rate(height), rate]
    )
    y, dy, ddy = (float(e) for e in f.call([q, v, a, robot.parameters.values()]))
    assert ddy == pytest.approx(-4.0 * dy - 4.0 * y, rel=1e-10)


def circling(extension: Extension) -> tuple[Robot, ServoController]:
    robot = fukao_robot(form="reduced")
    circle = ca.vertcat(2.0 * ca.sin(robot.t / 2), 2.0 - 2.0 * ca.cos(robot.t / 2))
    program = Program(robot, holonomic(robot.q[:2] - circle, name="place"))
    law = ServoController(
        program,
        near=np.zeros(5),
        near_velocity=[1.0, 0.5],
        rates=RATE,
        extension=extension,
        allow_unstable_internal=True,
    )
    return robot, law


START = ([0.1, -0.1, 0.0, 0.0, 0.0], [1.0, 0.5])


def test_a_two_wheel_robot_follows_a_circle_with_an_integrator_before_its_thrust() -> None:
    """[Oriolo2002]: all around, at every heading."""
    robot, law = circling("integrators")
    assert law.orders == (3, 3)
    motion = simulate(robot, law, *START, 14.0, step=5e-3)
    assert np.ptp(motion.q[:, 2]) > 2 * np.pi
    assert np.abs(motion.deviation[motion.t > 7.0]).max() < 1e-6


def test_without_integrators_a_row_is_ruled_that_loses_its_degree_across_the_heading() -> None:
    """The place along the first heading obeys an equation of order 2 exactly, until the robot heads across it."""
    robot, law = circling("quasi-static")
    assert law.orders == (2, 3)
    with pytest.raises(SimulationError, match=r"Row 'place\[1\]' depends on 'place\[0\]'") as caught:
        simulate(robot, law, *START, 5.0, step=5e-3)
    motion = caught.value.trajectory
    assert caught.value.status is Status.SINGULAR
    assert motion.q[-1, 2] == pytest.approx(np.pi / 2, abs=0.05)
    # From rest beside the circle in the first row: y = 0.1 (1 + r t) exp(−r t).
    expected = 0.1 * (1 + RATE * motion.t) * np.exp(-RATE * motion.t)
    early = motion.t < 2.5
    np.testing.assert_allclose(motion.deviation[early, 0], expected[early], atol=1e-7)


@pytest.mark.parametrize("extension", BOTH)
def test_rows_that_wait_for_each_other_all_obey(extension: Extension) -> None:
    """x = (t², t⁴, t²) takes x₄ = 6 t², x₅ = 1/6 and u = (2, 12, 0)."""
    robot = cascade()
    t = robot.t
    program = Program(robot, holonomic(robot.q[:3] - ca.vertcat(t**2, t**4, t**2), name="x"))
    law = ServoController(program, near=[0.0, 0.0, 0.0, 0.0, 0.2], rates=RATE, extension=extension)
    reported = law.feedforward(0.5, [0.2, 0.0, 0.2, 1.4, 0.2])
    np.testing.assert_allclose(reported.q, [0.25, 0.0625, 0.25, 1.5, 1.0 / 6.0], atol=1e-9)
    np.testing.assert_allclose(reported.input, [2.0, 12.0, 0.0], atol=1e-8)
    motion = simulate(robot, law, [0.1, 0.0, -0.1, 0.0, 0.18], np.zeros(5), 4.0, step=2e-3)
    assert np.abs(motion.deviation[-1, [0, 2]]).max() < 1e-3
    assert np.abs(motion.deviation[-1, 1]) < 0.1 * np.abs(motion.deviation[:, 1]).max()
    if extension == "quasi-static":
        assert law.orders == (2, 6, 2)
        for i, offset in ((0, 0.1), (2, -0.1)):
            expected = offset * (1 + RATE * motion.t) * np.exp(-RATE * motion.t)
            np.testing.assert_allclose(motion.deviation[:, i], expected, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("extension", BOTH)
def test_a_crane_in_space_carries_its_load_along_a_line(extension: Extension) -> None:
    robot = spatial_crane()
    target = ca.vertcat(0.3 * ca.sin(robot.t), 0.2 * robot.t, -4.0 + 0.3 * ca.cos(robot.t))
    program = Program(robot, holonomic(robot.points["load"] - target, name="load"))
    law = ServoController(program, near=[0.0, 0.0, 4.0, 0.0, 0.0], rates=RATE, extension=extension)
    start = law.feedforward(0.0)
    motion = simulate(robot, law, start.q, start.v, 3.0, step=4e-3)
    assert np.abs(motion.deviation).max() < 1e-7
    # Independent of the law: the rope lies along the load's acceleration less gravity.
    a = np.array([[-0.3 * np.sin(t), 0.0, 9.81 - 0.3 * np.cos(t)] for t in motion.t])
    rope = np.array([[-np.sin(x) * np.cos(y), -np.sin(y), np.cos(x) * np.cos(y)] for x, y in motion.q[:, 3:]])
    np.testing.assert_allclose(rope, a / np.linalg.norm(a, axis=1)[:, None], atol=1e-6)


def test_rates_are_parameters_of_one_compiled_law() -> None:
    robot = elastic_joint()
    law = ServoController(Program(robot, holonomic(robot.q[0], name="link")), near=[0.0, 0.0], rates=RATE)
    assert law.parameters.nominal["link.rate"] == RATE
    state = ([0.1, 0.3], [0.2, -0.1])
    fast = ServoController(Program(robot, holonomic(robot.q[0], name="link")), near=[0.0, 0.0], rates=5.0)
    np.testing.assert_allclose(law.control(0.0, *state, {"link.rate": 5.0}), fast.control(0.0, *state), rtol=1e-12)
    poles = ServoController(
        Program(robot, holonomic(robot.q[0], name="link")), near=[0.0, 0.0], poles=[[-5.0, -5.0, -5.0, -5.0]]
    )
    np.testing.assert_allclose(poles.control(0.0, *state), fast.control(0.0, *state), rtol=1e-9)
    with pytest.raises(ParameterError, match=r"'link.rate' must be greater than zero"):
        law.control(0.0, *state, {"link.rate": -1.0})
    with pytest.raises(ModelError, match="a step of 2 s is too long for the perturbation equation of 'link'"):
        simulate(robot, law, [0.0, 0.0], [0.0, 0.0], 4.0, step=2.0)


def test_complex_poles_are_the_closed_loops_eigenvalues() -> None:
    robot = elastic_joint()
    poles = [-2.0 + 3.0j, -2.0 - 3.0j, -4.0, -6.0]
    law = ServoController(Program(robot, holonomic(robot.q[0] - 0.3, name="link")), near=[0.3, 0.4], poles=[poles])
    x = law.motion.rest(0.0, law.motion.start, law.motion.parameters.values())
    assert x is not None
    slope = law.motion.field(0.0, x, law.motion.parameters.values())[1]
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(slope)), np.sort_complex(np.array(poles)), rtol=1e-9)


def test_bad_gains_and_programs_are_refused() -> None:
    robot = elastic_joint()
    program = Program(robot, holonomic(robot.q[0], name="link"))
    near = [0.0, 0.0]
    with pytest.raises(ModelError, match=r"the rate of 'link' \[1/s\] must be greater than zero, got -1"):
        ServoController(program, near=near, rates=-1.0)
    with pytest.raises(ModelError, match="rates must be one number, or one for each of 'link'"):
        ServoController(program, near=near, rates=[1.0, 2.0])
    with pytest.raises(ModelError, match="row 'link' has order 4 and requires 4 poles, got 2"):
        ServoController(program, near=near, poles=[[-1.0, -2.0]])
    with pytest.raises(ModelError, match="must come in conjugate pairs"):
        ServoController(program, near=near, poles=[[-1.0, -2.0, -1.0 + 1.0j, -2.0]])
    with pytest.raises(ModelError, match="must have a negative real part"):
        ServoController(program, near=near, poles=[[-1.0, -2.0, 1.0, -2.0]])
    for bad in ([], -3.0, "fast", [[-1.0] * 4, [-1.0] * 4]):
        with pytest.raises(ModelError, match="poles must be a list with the poles of each of 'link'"):
            ServoController(program, near=near, poles=bad)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="the poles of row 'link' must be numbers"):
        ServoController(program, near=near, poles=["fast"])  # type: ignore[list-item]
    with pytest.raises(ModelError, match="give either rates or poles, not both"):
        ServoController(program, near=near, rates=1.0, poles=[[-1.0] * 4])
    with pytest.raises(ModelError, match="extension must be one of 'quasi-static', 'integrators', got 'dynamic'"):
        ServoController(program, near=near, extension="dynamic")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="requires a Program, got Robot"):
        ServoController(robot, near=near)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"stiffness must be a list of 1 values, one for each link, got 1"):
        flexible_joint_arm([Link(0.8, 2.0, 0.5, 0.3)], stiffness=120.0, rotor_inertia=[0.07])  # type: ignore[arg-type]
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    free = lagrangian_system(q=q, v=v, T=v**2 / 2, name="stone")
    with pytest.raises(ModelError, match="ServoController cannot drive stone: it has no inputs"):
        ServoController(Program(free, holonomic(q)), near=[0.0])


def test_a_program_out_of_reach_is_reported() -> None:
    robot = acrobot()
    far = Program(robot, holonomic(robot.points["tip"][0] - 10.0, name="far"))
    law = ServoController(far, near=[0.0, 0.0], allow_unstable_internal=True)
    assert law.internal is None
    with pytest.raises(NotConvergedError, match=r"no state on the program was found at t = 0 s.*out of reach"):
        law.feedforward(0.0)


@pytest.mark.slow
@pytest.mark.parametrize("make", [cascade, spatial_crane, lambda: fukao_robot(form="reduced")], ids=["a", "b", "c"])
def test_integrators_leave_as_much_inside_as_the_law_without_them(make: Callable[[], Robot]) -> None:
    """The dimension of the zero dynamics is the program's: state and integrators less the orders of all rows."""
    robot = make()
    rows, near = {
        "cascade": (robot.q[:3], np.array([0.0, 0.0, 0.0, 0.5, 0.2])),
        "spatial crane": (robot.points.get("load", robot.q), np.array([0.0, 0.0, 4.0, 0.0, 0.0])),
    }.get(robot.name, (robot.q[:2], np.zeros(5)))
    v = np.array([1.0, 0.5]) if robot.v.numel() == 2 else np.zeros(robot.v.numel())
    law = ServoController(
        Program(robot, holonomic(rows, name="y")),
        near=near,
        near_velocity=v,
        extension="integrators",
        allow_unstable_internal=True,
    )
    memory, found = law.memory, law.relative_degree
    assert isinstance(memory, IntegratorMemory)
    assert memory.held.size > 0
    assert found.state_dimension + memory.held.size - sum(law.orders) == found.internal_dimension


def pair_law() -> tuple[Robot, ServoController]:
    robot = cascade_pair()
    program = Program(robot, holonomic(robot.q[:2], name="x"))
    return robot, ServoController(program, near=[0.0, 0.0, 1.0], rates=RATE, extension="integrators")


@functools.cache
def cascade_pair() -> Robot:
    """ẍ₁ = u₁ + 1, ẍ₂ = x₃ (u₁ + 1), ẍ₃ = u₂."""
    q, v, u = (ca.SX.sym(name, n) for name, n in (("q", 3), ("v", 3), ("u", 2)))
    Q = ca.vertcat(u[0] + 1.0, q[2] * (u[0] + 1.0), u[1])
    return lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, Q=Q, u=u, name="pair")


def test_only_a_sample_changes_what_the_integrators_hold() -> None:
    _, law = pair_law()
    assert law.law is None
    state = ([0.1, 0.2, 0.9], [0.0, 0.1, 0.0])
    before = law.memory
    first = law.control(0.0, *state)
    np.testing.assert_array_equal(law.control(0.0, *state), first)
    assert law.memory is before
    law.advance(0.0, *state)
    after = law.memory
    assert after is not before
    np.testing.assert_allclose(law.control(0.0, *state), first, rtol=1e-12)
    law.control(0.005, *state)
    assert law.memory is after
    with pytest.raises(NotFiniteInputError):
        law.advance(0.01, [np.nan, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert law.memory is after
    law.advance(0.01, *state)
    assert law.memory is not after
    after = law.memory
    with pytest.raises(ModelError, match=r"got a sample at t = 0 s after one at t = 0.01 s.*reset\(\)"):
        law.advance(0.0, *state)
    assert law.memory is after
    law.reset()
    assert law.memory is before
    np.testing.assert_allclose(law.control(0.0, *state), first, rtol=1e-12)


def test_integrators_are_exact_for_rates_in_a_straight_line() -> None:
    """Contents whose rate is 1 + 2 t, against the integral; and the order of the rule where it is what is held."""
    memory = IntegratorMemory.empty(1).advanced(0.0, lambda _: np.array([1.0]), np.array([-1.0]))
    for time in (0.1, 0.3, 0.35, 1.0):
        memory = memory.advanced(time, lambda _, time=time: np.array([1.0 + 2.0 * time]), None)  # type: ignore[misc]
        np.testing.assert_allclose(memory.held, [-1.0 + time + time**2], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(memory.slope, [2.0], rtol=1e-9)
    np.testing.assert_allclose(memory.at(1.5), [-1.0 + 1.5 + 1.5**2], rtol=1e-9)
    misses: list[float] = []
    for count in (100, 200):
        times = np.linspace(0.0, 1.0, count + 1)
        memory = IntegratorMemory.empty(1).advanced(0.0, lambda x: x, np.ones(1))
        for time in times[1:]:
            memory = memory.advanced(float(time), lambda x: x, None)
        misses.append(abs(float(memory.held[0]) - np.e))
    assert np.log2(misses[0] / misses[1]) == pytest.approx(3.0, abs=0.15)
