"""Chunks of lanes in threads: same numbers in any order, failures and shared simulators."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import ProgramController, Status, start_on
from erugin.simulation import RK4, Integral, SimulationInterrupted, Simulator, Trajectories
from erugin.simulation import batch as batch_module
from erugin.simulation import record as record_module
from erugin.simulation.batch import AdvanceLanes
from erugin.simulation.closed_loop import ClosedLoop
from erugin.simulation.integrators.integrator import StepBlock
from erugin.simulation.metrics import MetricTotals
from erugin.simulation.record import Record
from erugin.simulation.sample_window import BLOCK, SampleWindow
from erugin.simulation.termination import TerminationMonitor
from erugin.symbolic.codegen import SymbolicFunction

from ...support.arms import ELBOW, START, disc_program, two_link_arm
from ...support.called_controller import Called
from ...support.motions import assert_same

Array = NDArray[np.float64]
MASSES = {"m2": [1.0, 1.5, 2.0, 3.0]}
Q = np.array([[-0.9, 1.4], [-0.8, 1.3], [-1.0, 1.5], [-0.7, 1.2]])


def free_arm() -> Simulator:
    arm = two_link_arm()
    return Simulator(arm, stop=arm.t - 0.4 * arm.parameters["m2"], metrics={"way": Integral(arm.v[0])})


@pytest.mark.compiled
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize(
    ("owner", "name"),
    [(TerminationMonitor, "find_endings"), (MetricTotals, "add"), (Record, "_store"), (Record, "_end")],
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
    monkeypatch.setattr(Record, "monitor", trouble)
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
    tape = tape.merge_inputs({(0, 2): (0, 0), (0, 3): (0, 1)}) if joined else tape
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
    joined = expressions.tape().merge_inputs({(0, 2): (0, 0), (0, 3): (0, 1)})
    assert joined.operations < expressions.tape().operations


class OneByOne:
    """A runner of lanes that takes the steps of each by the scalar kernel."""

    width = 2

    def __init__(self, loop: ClosedLoop, trouble: Callable[[SampleWindow], None] = lambda window: None) -> None:
        self.start_run, self.trouble, self.seen = RK4().prepare(loop), trouble, set[int]()
        # A kernel's arrays are shared by its calls; each run has its own.
        self.building = threading.Lock()

    def for_run(self, *_: object) -> OneByOne:
        return self

    def start(self, numbers: Array, step: float, t0: float) -> AdvanceLanes:
        with self.building:
            runs = [self.start_run(p, step, t0) for p in numbers]
        self.seen.add(threading.get_ident())

        def advance(window: SampleWindow, x: Array) -> None:
            self.trouble(window)
            for lane, at in itertools.product(window.lanes, range(0, window.n, BLOCK)):
                place = slice(at, at + BLOCK)
                recorded = {key: room[lane, place] for key, room in window.data.items()}
                block = StepBlock(window.first + at, window.last, window.states[lane, place], recorded, x[lane])
                runs[lane](block, x[lane].copy())
                x[lane] = block.after

        return advance


def simulator() -> Simulator:
    program = disc_program()
    robot = program.robot
    stop = robot.q[1] + 0.4 * robot.t - robot.parameters["m2"]
    metrics = {"work": Integral(robot.u[0] * robot.v[0])}
    return Simulator(robot, ProgramController(program, realization="actuated"), stop=stop, metrics=metrics)


def starts(lanes: int) -> dict[str, Any]:
    """Some run on to the end, some are stopped, one diverges."""
    program, rng = disc_program(), np.random.default_rng(5)
    q0 = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])[0]
    v = 0.1 * rng.normal(size=(lanes, 2))
    v[3] = 1e120
    return {
        "q0": q0 + 0.05 * rng.normal(size=(lanes, 2)),
        "v0": v,
        "duration": 0.33,
        "step": 1e-3,
        "p": {"m2": rng.uniform(1.0, 2.0, lanes) + rng.choice([0.0, 3.0], lanes)},
    }


def assert_equal(one: Trajectories, other: Trajectories, order: NDArray[np.intp] | slice = slice(None)) -> None:
    for name in ("t", "q", "v", "u", "deviation", "energy", "pivots", "active", "status", "count", "failure", "p"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name)[order], err_msg=name)
    assert list(one.endings) == list(np.array(other.endings, dtype=object)[order])
    np.testing.assert_array_equal(one.metrics["work"], other.metrics["work"][order])


@pytest.fixture(scope="module")
def reference() -> Trajectories:
    """Lane by lane."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Simulator, "_runner", lambda self, *_: None)
        return simulator().run_batch(**starts(13))


def with_runner(monkeypatch: pytest.MonkeyPatch, runner: Callable[[ClosedLoop], OneByOne] = OneByOne) -> Simulator:
    monkeypatch.setattr(Simulator, "_runner", lambda self, *_: runner(self._loop))
    return simulator()


@pytest.mark.parametrize(("chunk", "threads"), [(128, 1), (4, 1), (4, 2), (2, 3), (5, 2), (128, 4), (128, 99)])
def test_chunks_and_threads_make_no_difference(
    monkeypatch: pytest.MonkeyPatch, reference: Trajectories, chunk: int, threads: int
) -> None:
    monkeypatch.setattr(batch_module, "CHUNK", chunk)
    motions = with_runner(monkeypatch).run_batch(**starts(13), threads=threads)
    assert_equal(motions, reference)
    assert {Status.OK, Status.NOT_FINITE} <= set(motions.failure.tolist())
    assert len(set(motions.count.tolist())) > 3


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_compiled_for_all_lanes_gives_the_same_motions(
    monkeypatch: pytest.MonkeyPatch, reference: Trajectories, threads: int
) -> None:
    monkeypatch.setattr(batch_module, "CHUNK", 4)
    motions = simulator().run_batch(**starts(13), threads=threads)
    assert motions.count.tolist() == reference.count.tolist()
    assert motions.endings == reference.endings
    for name in ("t", "q", "v", "u", "energy"):
        one, other = (getattr(motion, name)[reference.ok] for motion in (motions, reference))
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(motions.metrics["work"], reference.metrics["work"], rtol=1e-10)


def test_the_order_of_lanes_makes_no_difference(monkeypatch: pytest.MonkeyPatch, reference: Trajectories) -> None:
    order = np.random.default_rng(1).permutation(13)
    given = starts(13)
    given |= {"q0": given["q0"][order], "v0": given["v0"][order], "p": {"m2": given["p"]["m2"][order]}}
    assert_equal(with_runner(monkeypatch).run_batch(**given, threads=2), reference, order)


def test_what_memory_held_before_makes_no_difference(monkeypatch: pytest.MonkeyPatch, reference: Trajectories) -> None:
    def held(shape: tuple[int, ...]) -> Array:
        return np.full(shape, 0x7FF0000000000001, dtype=np.uint64).view(np.float64)

    np.testing.assert_array_equal(np.isnan(held((2, 3))), True)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        _ = held((1,)) * 2.0
    monkeypatch.setattr(record_module, "np", SimpleNamespace(**(vars(np) | {"empty": held})))
    assert_equal(with_runner(monkeypatch).run_batch(**starts(13), threads=1), reference)


def test_every_sample_or_some_of_them(monkeypatch: pytest.MonkeyPatch, reference: Trajectories) -> None:
    motions = with_runner(monkeypatch).run_batch(**starts(13), threads=2, every=7)
    for some, whole in zip(motions, reference, strict=True):
        places = sorted({*range(0, len(whole), 7), len(whole) - 1})
        np.testing.assert_array_equal(some.q, whole.q[places])
        np.testing.assert_array_equal(some.u, whole.u[places])


def test_one_motion_is_a_batch_of_one(monkeypatch: pytest.MonkeyPatch, reference: Trajectories) -> None:
    given, shares = starts(13), list[float]()
    first = dict[str, Any](q0=given["q0"][0], v0=given["v0"][0], p={"m2": given["p"]["m2"][0]})
    motion = with_runner(monkeypatch).run(**given | first, progress=shares.append)
    np.testing.assert_array_equal(motion.q, reference[0].q)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_ends_all_threads_and_keeps_their_samples(
    monkeypatch: pytest.MonkeyPatch, reference: Trajectories, threads: int
) -> None:
    def interrupt(share: float) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    monkeypatch.setattr(batch_module, "CHUNK", 4)
    monkeypatch.setattr(batch_module, "WATCH", 1e-4)
    before = threading.active_count()
    with pytest.raises(SimulationInterrupted, match="of 13 lanes") as caught:
        with_runner(monkeypatch).run_batch(**starts(13), threads=threads, progress=interrupt)
    assert threading.active_count() == before
    kept: Any = caught.value.trajectory
    assert 0 < kept.count.sum() < reference.count.sum()
    for some, whole in zip(kept, reference, strict=True):
        np.testing.assert_array_equal(some.q, whole.q[: len(some)])
        assert some.ending == (whole.ending if len(some) == len(whole) else "interrupted")


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_thread_raises_is_not_lost(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    def trouble(window: SampleWindow) -> None:
        if window.first:
            raise ZeroDivisionError("in a thread")

    monkeypatch.setattr(batch_module, "CHUNK", 4)
    given = starts(13)
    with pytest.raises(ZeroDivisionError, match="in a thread"):
        with_runner(monkeypatch, lambda loop: OneByOne(loop, trouble)).run_batch(**given, threads=threads)
