"""Limits of joints among what presses: they come before the program, and what they leave is found, not held."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.controllers.bounded import ConicSolver, QpSolution, QpSolver, QuadraticProgram
from erugin.scenarios import simulate

from .bounded_cases import cone_miss, numbers, panda_tip, posture_case

Array = NDArray[np.float64]
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


@pytest.mark.parametrize("effort", [12.0, 40.0, 200.0])
@pytest.mark.parametrize("order", ORDERS)
def test_limits_come_first_then_the_groups_then_effort(order: str, effort: float) -> None:
    """At each level the slope is balanced by bounds, by limit rows and by the levels before, and by nothing else."""
    program, low, high = posture_case().program, np.full(7, -effort), np.full(7, effort)
    given, pressed = limits(effort), 0
    for q, v in states(25):
        told = controller(order, effort).observe(0.0, q, v)
        assert told.status in (Status.OK, Status.LIMITED)
        assert "no answer" not in told.message
        u = told.output
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
        assert ("too weak" in told.message) == bool(beyond.any())
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
    """How many programmes are solved."""

    def __init__(self) -> None:
        self.count, self._solver = 0, ConicSolver()

    def solve(self, program: QuadraticProgram, start: QpSolution | None = None) -> QpSolution:
        self.count += 1
        return self._solver.solve(program, start)


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
def test_no_input_is_held_along_a_run_that_presses(given: dict[str, float]) -> None:
    """Limits that contradict each other most of the time; and what was found before saves most of the programmes."""
    case, solver = panda_tip(), Counting()
    program, robot = case.program, case.program.robot
    bounded = ProgramController(program, realization="bounded", limits=ControlLimits.of(robot, **given), solver=solver)
    motion = simulate(robot, bounded, case.q, case.v, 0.1, step=2e-3)
    assert set(motion.status.tolist()) <= {Status.OK, Status.LIMITED}
    assert (motion.status == Status.LIMITED).sum() > 25
    assert (np.abs(motion.u) <= given["effort"]).all()
    assert not any("no answer" in said for _, said in motion.notes)
    # Four stages a step, and at each of them two programmes and more without a start.
    assert solver.count < 4 * 50


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
    told = bounded.observe(2e-3, case.q, v)
    expected = np.clip(before - np.sign(v), -50.0, 50.0)
    moving = v != 0.0
    np.testing.assert_allclose(told.output[moving], expected[moving], rtol=1e-12)
    short = float((expected * v).sum()) - 0.5
    assert short > 0.0
    assert f"total power by {short:.6g} W" in told.message
    assert told.status is Status.LIMITED
