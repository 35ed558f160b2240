"""Chunks of lanes in threads: the same numbers whatever the chunks, the threads and the order of the lanes."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import ProgramController, Status, start_on
from erugin.simulation import RK4, Integral, SimulationInterrupted, Simulator, Trajectories
from erugin.simulation import batch as batch_module
from erugin.simulation import record as record_module
from erugin.simulation.batch import AdvanceLanes
from erugin.simulation.closed_loop import ClosedLoop
from erugin.simulation.integrators.integrator import BLOCK, StepBlock
from erugin.simulation.sample_window import SampleWindow

from .arms import ELBOW, START, disc_program

Array = NDArray[np.float64]


class OneByOne:
    """A runner of lanes that takes the steps of each by the scalar kernel."""

    width = 2

    def __init__(self, loop: ClosedLoop, trouble: Callable[[SampleWindow], None] = lambda window: None) -> None:
        self.start_run, self.trouble, self.seen = RK4().prepare(loop), trouble, set[int]()
        # A kernel's arrays are shared by its calls; each run has its own.
        self.building = threading.Lock()

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
        patch.setattr(Simulator, "_runner", lambda self, batch, exact: None)
        return simulator().run_batch(**starts(13))


def with_runner(monkeypatch: pytest.MonkeyPatch, runner: Callable[[ClosedLoop], OneByOne] = OneByOne) -> Simulator:
    monkeypatch.setattr(Simulator, "_runner", lambda self, batch, exact: runner(self._loop))
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
