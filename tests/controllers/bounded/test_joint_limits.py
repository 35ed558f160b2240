"""Limits of power, rate, position and speed, and their priority over the program."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from erugin.constraints import Baumgarte, FirstOrder, holonomic, nonholonomic
from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.controllers.bounded import ConicSolver, QpSolution, QpSolver, QuadraticProgram
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import Trajectory

from ...support.arms import two_link_arm
from ...support.bounded_cases import cone_miss, numbers, panda_tip, posture_case

Array = NDArray[np.float64]


def swing(arm: Robot, rate: float = 12.0) -> Program:
    """Both joints go far and fast."""
    return Program(arm, holonomic(arm.q - ca.DM([1.0, 1.5]), perturbation=Baumgarte(rate), name="pose"))


def run(limits: ControlLimits, *, duration: float = 1.0, step: float = 2e-3) -> Trajectory:
    arm = two_link_arm()
    controller = ProgramController(swing(arm), realization="bounded", limits=limits)
    return simulate(arm, controller, [-1.2, 0.4], [0.0, 0.0], duration, step=step)


def test_power_of_each_input_and_of_all_stays_within_its_limit() -> None:
    arm = two_link_arm()
    without = run(ControlLimits.of(arm, effort=100.0))
    limits = ControlLimits.of(arm, effort=100.0, power=[60.0, 20.0], total_power=65.0)
    motion = run(limits, duration=2.0)
    assert (np.abs(without.u * without.v).max(axis=0) > [120.0, 40.0]).all()
    power = motion.u * motion.v
    assert (np.abs(power) <= np.array([60.0, 20.0]) * (1 + 1e-9)).all()
    assert power.sum(axis=1).max() <= 65.0 * (1 + 1e-9)
    assert power.sum(axis=1).max() > 64.9
    assert (motion.status == Status.LIMITED).any()
    assert np.abs(motion.deviation[-1]).max() < 1e-2


def test_inputs_change_no_faster_than_their_rate() -> None:
    arm = two_link_arm()
    limits = ControlLimits.of(arm, effort=100.0, rate=[400.0, 150.0])
    motion, step = run(limits), 2e-3
    change = np.abs(np.diff(motion.u, axis=0))
    assert (change <= np.array([400.0, 150.0]) * step * (1 + 1e-9)).all()
    assert change.max() > 400.0 * step * (1 - 1e-9)
    assert np.abs(np.diff(run(ControlLimits.of(arm, effort=100.0)).u, axis=0)).max() > 2.0 * 400.0 * step


def test_between_samples_the_rate_counts_from_the_last_one() -> None:
    arm = two_link_arm()
    controller = ProgramController(
        swing(arm), realization="bounded", limits=ControlLimits.of(arm, effort=100.0, rate=100.0)
    )
    controller.advance(0.0, [-1.2, 0.4], [0.0, 0.0])
    memory = controller.memory
    first = controller.control(0.0, [-1.2, 0.4], [0.0, 0.0])
    for later in (1e-3, 4e-3):
        u = controller.control(later, [-0.4, 1.4], [3.0, 2.0])
        assert np.abs(u - first).max() == pytest.approx(100.0 * later, rel=1e-12)
    # Only a sample changes the memory.
    assert controller.memory is memory
    np.testing.assert_array_equal(controller.control(0.0, [-1.2, 0.4], [0.0, 0.0]), first)


@pytest.mark.sampled
@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_a_joint_never_passes_its_limit_of_place(step: float) -> None:
    arm = two_link_arm()
    limits = ControlLimits.of(arm, effort=300.0, joint_upper=[0.3, 1.0], approach=20.0)
    motion = run(limits, step=step)
    assert run(ControlLimits.of(arm, effort=300.0), step=step).q.max(axis=0) == pytest.approx([1.0, 1.5], abs=0.05)
    assert (motion.q <= np.array([0.3, 1.0]) + 1e-9).all()
    np.testing.assert_allclose(motion.q[-1], [0.3, 1.0], atol=1e-3)
    controller = motion.controller
    assert controller is not None
    expected_message = controller.observe(motion.t[-1], motion.q[-1], motion.v[-1]).message
    assert f"At their limit: {arm.coordinates.names[0]!r} (limit of position)" in expected_message


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_a_held_acceleration_keeps_a_joint_within_its_limit(share: float) -> None:
    """The condition k·step ≤ 0.5: the barrier's double integrator under sample and hold, from every allowed start."""
    k, h = 20.0, share / 20.0
    for ahead in (0.0, 0.2, 0.7, 1.0):
        d, rate = 1.0, -k * ahead
        for _ in range(400):
            a = -2.0 * k * rate - k**2 * d
            d, rate = d + h * rate + h**2 * a / 2.0, rate + h * a
            assert d > -1e-12


def test_speed_stays_within_its_limit() -> None:
    arm = two_link_arm()
    motion = run(ControlLimits.of(arm, effort=300.0, speed=[1.5, 0.8]))
    assert (np.abs(motion.v) <= np.array([1.5, 0.8]) + 1e-6).all()
    assert (np.abs(motion.v).max(axis=0) > np.array([1.49, 0.79])).all()
    assert np.abs(run(ControlLimits.of(arm, effort=300.0)).v).max() > 3.0


def test_drives_too_weak_for_a_limit_come_as_near_as_they_can() -> None:
    """A joint that falls into its limit: bounds first, then the least excess, which a linear programme tells."""
    arm = two_link_arm()
    limits = ControlLimits.of(arm, effort=2.0, joint_lower=[-0.1, -1.0])
    controller = ProgramController(swing(arm), realization="bounded", limits=limits)
    q, v = np.array([0.0, 0.0]), np.array([-1.5, -0.5])
    reported = controller.observe(0.0, q, v)
    assert reported.status is Status.LIMITED
    assert "too weak" in reported.message
    assert repr(arm.coordinates.names[0]) in reported.message
    M, h = arm.evaluate(arm.mass_matrix, q=q), arm.evaluate(arm.bias, q=q, v=v)
    wanted = -20.0 * v + 100.0 * (np.array([-0.1, -1.0]) - q)
    reach, free = np.linalg.inv(M), -np.linalg.solve(M, h)
    # Whether both limits could be kept at all: no, says linprog; with torques without bounds: yes.
    for bound, status in ((2.0, 2), (1e4, 0)):
        found = linprog(np.zeros(2), A_ub=-reach, b_ub=free - wanted, bounds=[(-bound, bound)] * 2)
        assert found.status == status
    T = 1.0 / np.sqrt(np.diag(reach))
    grid = np.linspace(-2.0, 2.0, 201)
    pairs = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    excess = T * np.maximum(wanted - free - pairs @ reach.T, 0.0)
    mine = T * np.maximum(wanted - free - reach @ reported.output, 0.0)
    assert np.linalg.norm(mine) <= np.linalg.norm(excess, axis=1).min() * (1.0 + 1e-8)
    assert (np.abs(reported.output) <= 2.0).all()


def test_limits_of_place_hold_for_velocities_that_are_not_rates() -> None:
    """A sledge whose velocities are along and around its own axes: the wall is a limit of a coordinate."""
    x, turn = ca.SX.sym("x"), ca.SX.sym("turn")
    v, u = ca.SX.sym("v", 2), ca.SX.sym("u", 2)
    plain = lagrangian_system(q=ca.vertcat(x, turn), v=v, T=ca.sumsqr(v) / 2, Q=u, u=u)
    c = plain.coordinates
    # v₁ = 2 ẋ
    halved = dataclasses.replace(c, N=ca.diag(ca.SX(ca.DM([0.5, 1.0]))))
    sledge = dataclasses.replace(plain, coordinates=halved)
    program = Program(sledge, nonholonomic(sledge.v - ca.DM([2.0, 1.0]), perturbation=FirstOrder(5.0), name="drive"))
    limits = ControlLimits.of(sledge, effort=50.0, joint_upper=[1.0, np.inf])
    controller = ProgramController(program, realization="bounded", limits=limits)
    motion = simulate(sledge, controller, [0.0, 0.0], [0.0, 0.0], 3.0, step=5e-3)
    assert motion.q[:, 0].max() <= 1.0 + 1e-9
    assert motion.q[-1, 0] > 0.99
    assert motion.v[-1, 1] == pytest.approx(1.0, abs=1e-3)


def test_power_that_the_rate_limit_keeps_too_high_is_reported() -> None:
    arm = two_link_arm()
    limits = ControlLimits.of(arm, effort=100.0, rate=10.0, power=5.0)
    controller = ProgramController(swing(arm), realization="bounded", limits=limits)
    controller.advance(0.0, [-1.2, 0.4], [0.0, 0.0])
    before = controller.control(0.0, [-1.2, 0.4], [0.0, 0.0])
    reported = controller.observe(1e-3, [-1.2, 0.4], [2.0, 2.0])
    assert reported.status is Status.LIMITED
    expected = abs(before[0] - 0.01 * np.sign(before[0])) * 2.0 - 5.0
    assert f"power of {arm.input_names[0]} by {expected:.6g} W" in reported.message
    np.testing.assert_allclose(np.abs(reported.output - before), 0.01, rtol=1e-9)


TIP, POSTURE = range(3), range(3, 6)
ORDERS: dict[str, tuple[list[str] | None, tuple[Sequence[int], ...]]] = {
    "all equal": (None, (range(6),)),
    "tip first": (["tip"], (TIP, POSTURE)),
}


def limits(effort: float) -> ControlLimits:
    """Joints that start near their limits of place and speed."""
    case = posture_case()
    return ControlLimits.of(
        case.program.robot, effort=effort, joint_lower=case.q - 0.2, joint_upper=case.q + 0.2, speed=0.8
    )


class Joints(NamedTuple):
    """least ≤ rows · u ≤ most, in the unit in which what is missed of them counts."""

    rows: Array
    least: Array
    most: Array


def joints(program: Program, given: ControlLimits, q: Array, v: Array) -> Joints:
    """From the equations in the docstring of ControlLimits, where place comes before speed."""
    robot = program.robot
    M, h = robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v)
    mobility, drift = np.linalg.inv(M), -np.linalg.solve(M, h)
    k, hurry = given.approach, given.speed_approach
    least, most = (-2.0 * k * v + k**2 * (bound - q) for bound in (given.joint_lower, given.joint_upper))
    slow, fast = (np.clip(hurry * (sign * given.speed - v), least, most) for sign in (-1.0, 1.0))
    unit = 1.0 / np.sqrt(np.diag(mobility))
    return Joints(unit[:, None] * mobility, unit * (slow - drift), unit * (fast - drift))


def states(count: int) -> Iterator[tuple[Array, Array]]:
    rng, case = np.random.default_rng(11), posture_case()
    for _ in range(count):
        yield case.q + rng.uniform(-0.25, 0.25, 7), 0.6 * rng.normal(size=7)


@functools.cache
def controller(order: str, effort: float) -> ProgramController:
    return ProgramController(
        posture_case().program, realization="bounded", limits=limits(effort), priorities=ORDERS[order][0]
    )


@pytest.mark.foreign
@pytest.mark.parametrize("effort", [12.0, 40.0, 200.0])
@pytest.mark.parametrize("order", ORDERS)
def test_limits_come_first_then_the_groups_then_effort(order: str, effort: float) -> None:
    """At each level the slope is balanced by bounds, by limit rows and by the levels before, and by nothing else."""
    program, low, high = posture_case().program, np.full(7, -effort), np.full(7, effort)
    given, pressed = limits(effort), 0
    for q, v in states(25):
        reported = controller(order, effort).observe(0.0, q, v)
        assert reported.status in (Status.OK, Status.LIMITED)
        assert "solver failed on" not in reported.message
        u = reported.output
        rows, least, most = joints(program, given, q, v)
        over, under = rows @ u - most, least - rows @ u
        size = 1.0 + np.abs(rows) @ np.abs(u)
        beyond = np.where(over > 1e-8 * size, over, np.where(under > 1e-8 * size, -under, 0.0))
        outward = [rows[i] for i in np.flatnonzero(np.abs(over) <= 1e-8 * size)]
        outward += [-rows[i] for i in np.flatnonzero(np.abs(under) <= 1e-8 * size)]
        pressed += bool(outward) or bool(beyond.any())
        reached = np.zeros((0, 7))
        assert cone_miss(rows.T @ beyond, reached, u, low, high, outward) < 1e-8
        reached = rows[beyond != 0.0]
        assert ("too weak" in reported.message) == bool(beyond.any())
        G, r, H = numbers(program, 0.0, q, v)
        for group in ORDERS[order][1]:
            gain, right = G[list(group)], r[list(group)]
            slope = gain.T @ (gain @ u - right)
            if np.linalg.norm(slope) > 1e-8 * np.linalg.norm(gain.T @ right):
                assert cone_miss(slope, reached, u, low, high, outward) < 1e-8
            reached = np.vstack([reached, gain])
        assert cone_miss(H @ u, reached, u, low, high, outward) < 1e-8
    assert pressed >= 20


class Counting(QpSolver):
    """Number of programmes that are solved."""

    def __init__(self) -> None:
        self.count, self._solver = 0, ConicSolver()

    def solve(self, program: QuadraticProgram, start: QpSolution | None = None) -> QpSolution:
        self.count += 1
        return self._solver.solve(program, start)


@pytest.mark.foreign
@pytest.mark.parametrize(
    "given",
    [
        {"effort": 8.0},
        {"effort": 8.0, "speed": 0.3},
        {"effort": 8.0, "rate": 100.0},
        {"effort": 12.0, "rate": 100.0, "power": 1.0, "total_power": 2.0, "speed": 0.3},
    ],
    ids=["effort", "speed", "rate", "power"],
)
def test_no_input_is_held_along_a_run_that_presses(given: dict[str, Any]) -> None:
    """Limits that contradict each other most of the time; and what was found before saves most of the programmes."""
    case, solver = panda_tip(), Counting()
    program, robot = case.program, case.program.robot
    bounded = ProgramController(program, realization="bounded", limits=ControlLimits.of(robot, **given), solver=solver)
    motion = simulate(robot, bounded, case.q, case.v, 0.1, step=2e-3)
    assert set(motion.status.tolist()) <= {Status.OK, Status.LIMITED}
    assert (motion.status == Status.LIMITED).sum() > 25
    assert (np.abs(motion.u) <= given["effort"]).all()
    assert not any("solver failed on" in message for _, message in motion.notes)
    # Four stages a step, and at each of them two programmes and more without a start.
    assert solver.count < 4 * 50


@pytest.mark.foreign
@pytest.mark.parametrize(("effort", "conflicts"), [(12.0, 4), (25.0, 0)])
def test_a_start_that_gave_limits_up_changes_nothing(effort: float, conflicts: int) -> None:
    """Along a random walk, on which limits come to contradict the weaker bounds and cease to."""
    order = "tip first"
    warm, cold, case = controller(order, effort), controller(order, effort), posture_case()
    warm.reset()
    rng, q, v = np.random.default_rng(2), case.q - 0.1, case.v.copy()
    weak: list[bool] = []
    for k in range(120):
        q, v = q + 0.01 * rng.normal(size=7), 0.98 * v + 0.08 * rng.normal(size=7)
        warm.advance(1e-3 * k, q, v)
        found = warm.observe(1e-3 * k, q, v)
        memory = warm.memory
        cold.reset()
        expected = cold.control(1e-3 * k, q, v)
        warm.memory = memory
        np.testing.assert_allclose(found.output, expected, rtol=0.0, atol=1e-9 * effort)
        weak.append("too weak" in found.message)
    assert np.count_nonzero(np.diff(weak)) >= conflicts


@pytest.mark.foreign
def test_total_power_out_of_reach_is_the_corner_of_the_bounds() -> None:
    """The least sum that the rate leaves: every input goes the way that its velocity tells."""
    case = posture_case()
    robot = case.program.robot
    free = np.full(7, np.inf)
    given = ControlLimits.of(
        robot, effort=50.0, rate=500.0, total_power=0.5, joint_lower=-free, joint_upper=free, speed=free
    )
    bounded = ProgramController(case.program, realization="bounded", limits=given)
    bounded.advance(0.0, case.q, np.zeros(7))
    before = bounded.control(0.0, case.q, np.zeros(7))
    v = np.sign(before) * np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.0])
    reported = bounded.observe(2e-3, case.q, v)
    expected = np.clip(before - np.sign(v), -50.0, 50.0)
    moving = v != 0.0
    np.testing.assert_allclose(reported.output[moving], expected[moving], rtol=1e-12)
    short = float((expected * v).sum()) - 0.5
    assert short > 0.0
    assert f"total power by {short:.6g} W" in reported.message
    assert reported.status is Status.LIMITED
