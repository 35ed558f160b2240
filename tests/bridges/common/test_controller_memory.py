"""A law has a separate memory for each model that it drives, besides its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges import python_control
from erugin.bridges.common.controller_memory import ControllerMemory
from erugin.constraints import holonomic
from erugin.controllers import Controller, Program, ProgramController, Tick
from erugin.controllers.robust import AdaptiveProgramController
from erugin.controllers.wrappers import Delay, Fallback, MeasurementNoise, MotorLag, Noise, SampleAndHold
from erugin.robots import Robot

from ...support.bridges import DT, ROWS, parameters
from ...support.simulator_cases import chain, tracking

Array = NDArray[np.float64]
Sample = tuple[Array, Array]
COUNT = 8


def estimating(robot: Robot) -> AdaptiveProgramController:
    rows = [holonomic(robot.q[i] - 0.3 * ca.sin(robot.t), name=f"row{i}") for i in range(2)]
    return AdaptiveProgramController(Program(robot, rows), {"m2": (0.5, 5.0)}, rate=4.0)


LAWS: dict[str, Callable[[Robot], Controller]] = {
    "held": lambda robot: SampleAndHold(tracking(robot), 2 * DT),
    "delayed": lambda robot: Delay(tracking(robot), 2 * DT),
    "noisy": lambda robot: Noise(tracking(robot), q=0.01, v=0.02, seed=3),
    "through a lag": lambda robot: MotorLag(tracking(robot), 0.03),
    "estimating": estimating,
    "estimating, measured with errors": lambda robot: MeasurementNoise(estimating(robot), q=0.01, seed=5),
    "estimating, delayed": lambda robot: Delay(estimating(robot), DT),
    "integrating": lambda robot: ProgramController(tracking(robot).program, realization="actuated", robust="integral"),
}


def samples(seed: int) -> list[Sample]:
    """States at random, one for each tick."""
    rng = np.random.default_rng(seed)
    return [(rng.uniform(0.2, 0.8, 2), rng.uniform(-1.0, 1.0, 2)) for _ in range(COUNT)]


def answers(law: Controller, states: list[Sample]) -> list[Array]:
    """Outputs of the law at samples, with no other caller."""
    law.reset()
    found: list[Array] = []
    for k, (q, v) in enumerate(states):
        law.advance(DT * k, q, v)
        found.append(law.control(DT * k, q, v))
    return found


@pytest.mark.parametrize("bridge", parameters(*(name for name, row in ROWS.items() if callable(row.memory))))
@pytest.mark.parametrize("make", LAWS.values(), ids=LAWS)
def test_two_runs_of_one_controller_and_its_own_do_not_disturb_each_other(
    make: Callable[[Robot], Controller], bridge: str
) -> None:
    robot, drive = chain(), ROWS[bridge].memory
    assert callable(drive)
    runs = [samples(seed) for seed in (1, 2, 3)]
    expected = [answers(make(robot), run) for run in runs]
    assert max(np.abs(a - b).max() for a, b in zip(expected[0], expected[1], strict=True)) > 0.1
    law = make(robot)
    law.reset()
    own: list[Array] = []
    with ExitStack() as stack:
        # One begins, and the other is made, while the law itself is in the middle of a run.
        driven = [stack.enter_context(drive(law))]
        found: list[list[Array]] = [[], []]
        for k in range(COUNT):
            if k == 1:
                driven.append(stack.enter_context(drive(law)))
            before = law.memory
            for one, outputs, run in zip(driven, found, runs, strict=False):
                at = len(outputs)
                outputs.append(one(at, *run[at]))
            assert law.memory is before
            q, v = runs[2][k]
            law.advance(DT * k, q, v)
            own.append(law.control(DT * k, q, v))
    assert [len(outputs) for outputs in found] == [COUNT, COUNT - 1]
    for outputs, right in zip([*found, own], expected, strict=True):
        np.testing.assert_allclose(outputs, right[: len(outputs)], rtol=1e-9, atol=1e-9)


def test_a_law_that_another_one_holds_keeps_its_memory_too() -> None:
    inner = estimating(chain())
    spare = ProgramController(inner.program, realization="actuated", robust="integral")
    law = Fallback(Delay(inner, DT), spare)
    for one in (inner, spare):
        one.reset()
        one.advance(0.0, [0.3, 0.4], [0.5, 0.6])
    before = inner.memory, spare.memory, law.memory
    memory = ControllerMemory(law)
    assert law.has_memory
    with memory.in_use() as lent:
        assert lent is law
        lent.advance(0.0, [0.1, 0.2], [0.3, 0.4])
        lent.control(0.0, [0.1, 0.2], [0.3, 0.4])
    assert (inner.memory, spare.memory, law.memory) == before
    taken_in = memory.value
    with memory.in_use():
        assert law.memory is taken_in is not None
    memory.reset()
    assert memory.value is not taken_in
    assert (inner.memory, spare.memory, law.memory) == before


def test_a_memory_is_kept_where_the_law_raises() -> None:
    robot = chain()
    law = Delay(ProgramController(tracking(robot).program, realization="actuated"), DT)
    memory = ControllerMemory(law)
    with memory.in_use():
        law.advance(0.0, [0.1, 0.2], [0.0, 0.0])
    kept = law.memory
    with pytest.raises(ValueError, match="finite"), memory.in_use():
        law.control(0.0, [np.nan, 0.2], [0.0, 0.0])
    assert law.memory is kept
    with memory.in_use():
        assert law.control(0.0, [0.1, 0.2], [0.0, 0.0]).shape == (2,)


@pytest.mark.parametrize("make", LAWS.values(), ids=LAWS)
def test_a_copy_of_a_system_has_a_separate_memory(make: Callable[[Robot], Controller]) -> None:
    """As ``interconnect`` takes one for a system that is named twice."""
    robot = chain()
    expected = [answers(make(robot), samples(seed)) for seed in (1, 2)]
    system: Any = python_control.drive(make(robot), dt=DT)
    first = [system]
    found: list[list[Array]] = [[], []]
    for k in range(COUNT):
        if k == 1:
            first.append(system.copy())
        for one, outputs, seed in zip(first, found, (1, 2), strict=False):
            at = len(outputs)
            count, x = np.array([float(at)]), np.concatenate(samples(seed)[at])
            one.dynamics(DT * at, count, x)
            outputs.append(np.asarray(one.output(DT * at, count, x), dtype=np.float64))
    for outputs, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(outputs, right[: len(outputs)], rtol=1e-9, atol=1e-9)


def test_a_law_inspected_while_it_runs_shows_what_it_records() -> None:
    law = estimating(chain())
    own, (one, other) = law.memory, (ControllerMemory(law), ControllerMemory(law))
    runs = [samples(seed) for seed in (1, 2)]
    estimates: list[list[float]] = [[], []]
    with one.in_use() as looked_at:
        for k in range(COUNT):
            for memory, run, found in zip((one, other), runs, estimates, strict=True):
                with memory.in_use() as asked:
                    asked.advance(DT * k, *run[k])
                    found.append(law.estimates["m2"])
                assert looked_at.memory is one.value
            with other.in_use(), one.in_use():
                assert law.estimates["m2"] == estimates[0][-1]
    assert law.memory is own
    for memory, run, found in zip((one, other), runs, estimates, strict=True):
        right = estimating(chain())
        right.reset()
        for k, (q, v) in enumerate(run):
            right.advance(DT * k, q, v)
            assert right.estimates["m2"] == found[k]
        with memory.in_use():
            assert law.estimates["m2"] == found[-1]
    with one.in_use():
        one.reset()
        assert law.estimates["m2"] != estimates[0][-1]


@dataclasses.dataclass
class Sum(Controller):
    """Observations of several laws; unhashable, and compared by its fields, like most dataclasses."""

    robot: Robot
    parts: tuple[Controller, ...]
    offset: Array

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """The sum."""
        return Tick(np.asarray(sum((part.control(t, q, v) for part in self.parts), self.offset)))


def test_a_law_that_is_a_dataclass_can_be_used_with_a_memory_too() -> None:
    robot, zero = chain(), np.zeros(2)
    tracked = tracking(robot)
    parts = tuple(Sum(robot, (tracked,), zero) for _ in range(2))
    law = Sum(robot, (*parts, parts[0], estimating(robot)), zero)
    with ControllerMemory(law).in_use() as lent:
        torque = lent.control(0.0, [0.1, 0.2], [0.3, 0.4])
    alone = tracked.control(0.0, [0.1, 0.2], [0.3, 0.4])
    np.testing.assert_allclose(torque, 3 * alone + estimating(robot).control(0.0, [0.1, 0.2], [0.3, 0.4]), rtol=1e-12)
    assert not parts[0].has_memory
