"""Runs that are cut off between any two lines, fail in one of their threads, or share a simulator with others."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import ProgramController
from erugin.simulation import Integral, SimulationInterrupted, Simulator
from erugin.simulation import batch as batch_module
from erugin.simulation.metrics import MetricTotals
from erugin.simulation.record import Record
from erugin.simulation.sample_window import SampleWindow
from erugin.simulation.termination import TerminationMonitor
from erugin.symbolic.codegen import SymbolicFunction

from .arms import disc_program, two_link_arm
from .called import Called
from .test_batch import assert_same

Array = NDArray[np.float64]
MASSES = {"m2": [1.0, 1.5, 2.0, 3.0]}
Q = np.array([[-0.9, 1.4], [-0.8, 1.3], [-1.0, 1.5], [-0.7, 1.2]])


def free_arm() -> Simulator:
    arm = two_link_arm()
    return Simulator(arm, stop=arm.t - 0.4 * arm.parameters["m2"], metrics={"way": Integral(arm.v[0])})


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize(
    ("owner", "name"), [(TerminationMonitor, "look"), (MetricTotals, "add"), (Record, "_keep"), (Record, "_end")]
)
@pytest.mark.parametrize("behind", [False, True])
def test_an_interrupt_within_bookkeeping_leaves_no_end_that_was_not_reached(
    monkeypatch: pytest.MonkeyPatch, owner: type[Any], name: str, behind: bool, every: int
) -> None:
    simulator, inner, calls = free_arm(), getattr(owner, name), [0]
    whole = simulator.run_batch(Q, [0.0, 0.0], 1.0, step=1e-3, p=MASSES, threads=1)
    assert len(set(whole.count.tolist())) > 1

    def interrupted(*arguments: Any) -> Any:  # noqa: ANN401 - passed on
        calls[0] += 1
        last = calls[0] == (1 if name == "_end" else 5)
        if last and not behind:
            raise KeyboardInterrupt
        result = inner(*arguments)
        if last:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(SimulationInterrupted) as caught:
        simulator.run_batch(Q, [0.0, 0.0], 1.0, step=1e-3, p=MASSES, threads=1, every=every)
    motions: Any = caught.value.trajectory
    for some, full in zip(motions, whole, strict=True):
        places = np.rint(some.t / 1e-3).astype(np.int64)
        assert len(places) > 0
        assert (np.diff(places[:-1]) == every).all()
        np.testing.assert_array_equal(some.q, full.q[places])
        if some.ending == full.ending:
            assert places[-1] == len(full) - 1


def test_a_failure_in_one_thread_ends_the_others_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []

    def trouble(self: Record, window: SampleWindow) -> None:
        judged.append(window.first)
        if len(judged) == 1:
            raise MemoryError("no room")
        time.sleep(0.01)
        # No lane ends by itself.
        self.ended[:] = len(judged) > 300

    monkeypatch.setattr(batch_module, "CHUNK", 2)
    monkeypatch.setattr(Record, "judge", trouble)
    before = threading.active_count()
    with pytest.raises(MemoryError, match="no room"):
        free_arm().run_batch(np.tile(Q, (16, 1)), [0.0, 0.0], 1.0, step=1e-3, threads=2)
    assert threading.active_count() == before
    assert len(judged) < 200


@pytest.mark.parametrize("called", [False, True])
def test_threads_may_share_a_simulator(called: bool) -> None:
    program = disc_program()
    inner = ProgramController(program, realization="actuated")
    simulator = Simulator(program.robot, Called(inner) if called else inner)
    alone = [simulator.run(q, [0.0, 0.0], 0.1, step=1e-3) for q in Q]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            together = list(pool.map(lambda q: simulator.run(q, [0.0, 0.0], 0.1, step=1e-3), Q))
            for one, other in zip(together, alone, strict=True):
                assert_same(one, other)


def values(expressions: SymbolicFunction, joined: bool, numbers: Array) -> list[float]:
    """A tape run by hand."""
    tape = expressions.tape()
    tape = tape.joined({(0, 2): (0, 0), (0, 3): (0, 1)}) if joined else tape
    rules: dict[int, Any] = {
        ca.OP_ADD: np.add,
        ca.OP_MUL: np.multiply,
        ca.OP_SUB: np.subtract,
        ca.OP_INV: lambda a, b: 1.0 / a,
        ca.OP_SQ: lambda a, b: a * a,
        ca.OP_TWICE: lambda a, b: a + a,
    }
    known: list[np.float64] = []
    for operation, a, b in tape.entries:
        if operation == ca.OP_INPUT:
            known.append(numbers[b])
        elif operation == ca.OP_CONST:
            known.append(np.float64(a))
        else:
            known.append(rules[operation](known[int(a)], known[b]))
    return [float(known[place]) for place in tape.outputs[0]]


def test_equal_inputs_are_joined_without_a_change_of_the_last_bit() -> None:
    x = ca.SX.sym("x", 4)
    twice = [(x[0] * x[1]) / x[2], x[0] / x[2] - x[1], x[0] * x[3] + x[2] * x[1], (x[0] + x[1]) / (x[3] + x[2])]
    expressions = SymbolicFunction("twins", {"x": x}, {"y": ca.vertcat(*twice)})
    rng, differs = np.random.default_rng(0), 0
    simplified = ca.Function("f", [x], [ca.substitute(ca.vertcat(*twice), x[2:], x[:2])])
    for _ in range(200):
        pair: Array = rng.normal(size=2)
        numbers = np.tile(pair, 2)
        assert values(expressions, True, numbers) == values(expressions, False, numbers)
        differs += simplified.call([numbers])[0].full()[:, 0].tolist() != values(expressions, False, numbers)
    assert differs > 0
    joined = expressions.tape().joined({(0, 2): (0, 0), (0, 3): (0, 1)})
    assert joined.operations < expressions.tape().operations
