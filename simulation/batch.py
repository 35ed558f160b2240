"""Parallel runs: chunks of lanes in threads if the loop is compiled, otherwise one lane after the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..symbolic.compiled_rollout import CompiledRollout, RolloutLoop
from ..symbolic.compiler import vector_width
from ..symbolic.validation import whole
from .closed_loop import ClosedLoop
from .integrators.integrator import Advance, StepBlock
from .record import Record
from .sample_window import BLOCK, SampleWindow

Array = NDArray[np.float64]
Progress = Callable[[float], None]
CHUNK = 128
"""Lanes that are advanced and checked at a time, so that a block of their samples fits into a core's cache."""
TOGETHER = 2 * CHUNK * BLOCK
"""Samples of all lanes of a chunk in a block."""
MEMORIES = 2**21
"""Numbers of the controllers' memories in a block: what is remembered may be much more than what is recorded."""
BLOCKS = 5
"""Blocks of a run of few lanes that may end early by its stop condition: samples after the end are wasted."""
WATCH = 0.05
"""Seconds between checks of the threads' progress."""

AdvanceLanes = Callable[[SampleWindow, Array], None]
"""Function that writes a window from the states at its first sample and updates them, shape (lanes, nx).

A non-finite state is never followed by a finite one: blocks of a batch are first checked by their last states.
"""


class LaneRunner(Protocol):
    """Compiled steps of many lanes of one loop."""

    @property
    def width(self) -> int:
        """Number of lanes in a vector."""
        ...

    def start(self, numbers: Array, step: float, t0: float) -> AdvanceLanes:
        """Return a function that advances some lanes; called in the thread that uses it.

        Args:
            numbers: parameters of plant and controller, shape (lanes, np).
            step: h [s].
            t0: time of the first sample [s].
        """
        ...


def thread_count(threads: int | None) -> int:
    """Return the number of threads: the given one, or as many as this process may use.

    Args:
        threads: a number of at least 1, or None.

    Raises:
        ModelError: for any other value.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole("threads", threads)


def run_alone(
    record: Record, lane: int, advance: Advance, x: Array, progress: Progress | None = None
) -> BaseException | None:
    """Run one lane from start to end.

    Args:
        record: record of the samples.
        lane: index of the lane.
        advance: function that advances this run.
        x: state at the start, shape (nx,).
        progress: called with the fraction of the run that is done.

    Returns:
        The error of the controller or the integrator that ended the run, or None.

    Raises:
        KeyboardInterrupt: on Ctrl-C.
    """
    part, alone = record.part(lane, lane + 1), np.zeros(1, dtype=np.intp)
    while not part.ended[0]:
        window = part.window(alone, int(part.count[0]))
        block = StepBlock.of(window)
        advance(block, x)
        part.monitor(window.cut(block.filled))
        if isinstance(block.error, KeyboardInterrupt):
            raise block.error
        if block.error is not None and not part.ended[0]:
            part.fail(0, block.error)
            return block.error
        x = block.after
        if progress is not None:
            progress(min(1.0, int(part.count[0]) / record.run.samples))
    return None


def block_length(samples: int, lanes: int, stops: bool) -> int:
    """Return the number of samples in a block: more for few lanes, to reduce overhead, and nearly equal in all blocks.

    Args:
        samples: number of samples of a full run.
        lanes: number of lanes of a chunk.
        stops: True if a stop condition may end a run early.
    """
    length = max(BLOCK, min(samples // BLOCKS if stops else samples, TOGETHER // lanes))
    return -(-samples // max(1, round(samples / length)))


def run_together(record: Record, runner: LaneRunner, x: Array, threads: int, progress: Progress | None = None) -> None:
    """Run all lanes, in chunks.

    Args:
        record: record of the samples.
        runner: compiled steps.
        x: states at the start, shape (lanes, nx).
        threads: largest number of threads.
        progress: called in this thread with the fraction that is done.

    Raises:
        KeyboardInterrupt: on Ctrl-C, when all threads have finished.
    """
    lanes, width = len(record), runner.width
    # The same number of chunks for each thread; the last vector of the last chunk may be incomplete.
    chunks = -(-lanes // (CHUNK * threads)) * threads
    chunk = -(-lanes // (chunks * width)) * width
    # With a progress function the blocks are short, so that it is called often.
    stops = record.run.loop.sizes["stop"] > 0
    block = block_length(record.run.samples, chunk, stops) if progress is None else BLOCK
    if numbers := record.run.loop.sizes.get("memory", 0):
        block = min(block, max(BLOCK, MEMORIES // (chunk * numbers)))
    bounds = [(first, min(first + chunk, lanes)) for first in range(0, lanes, chunk)]
    done, halt = np.zeros(len(bounds)), threading.Event()

    def report_progress() -> None:
        if progress is not None:
            progress(min(1.0, float(done.sum()) / (lanes * record.run.samples)))

    def run(i: int, report: Callable[[], None]) -> None:
        first, end = bounds[i]
        part, states = record.part(first, end), np.ascontiguousarray(x[first:end])
        advance = runner.start(np.ascontiguousarray(part.p), record.run.step, record.run.t0)
        running, sample = np.arange(end - first), 0
        while len(running) and not halt.is_set():
            window = part.window(running, sample, block)
            advance(window, states)
            part.monitor(window)
            sample += window.n
            running = running[~part.ended[running]]
            # Nothing remains to be done for a lane that has ended.
            done[i] = sample * len(running) + record.run.samples * (end - first - len(running))
            report()

    if threads == 1 or len(bounds) == 1:
        for i in range(len(bounds)):
            run(i, report_progress)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            futures = {pool.submit(run, i, lambda: None) for i in range(len(bounds))}
            pending = futures
            while pending:
                ready, pending = wait(pending, WATCH, FIRST_EXCEPTION)
                for future in ready:
                    future.result()
                report_progress()
        except BaseException:
            halt.set()
            raise


@dataclass(frozen=True, eq=False)
class CompiledRunner:
    """Advances the closed loops of a window.

    Attributes:
        rollout: the loop over steps, compiled.
        initial: memory of the controller before the first sample, shape (nz,).
        drawn: random numbers of all samples of a run, shape (samples, nw).
    """

    rollout: CompiledRollout
    initial: Array = field(default_factory=lambda: np.zeros(0))
    drawn: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(cls, loop: RolloutLoop, *, batch: bool) -> CompiledRunner | None:
        """Compile the loop, or return None if there is no compiler or it fails.

        Args:
            loop: the loop over steps.
            batch: True for many loops, to be run as lanes of vector instructions.
        """
        compiled = loop.compile(vector_width() if batch else 1)
        return None if isinstance(compiled, str) else cls(compiled)

    def for_run(self, loop: ClosedLoop, samples: int, step: float, t0: float) -> CompiledRunner:
        """Return the runner with the memory and the random numbers of a run from its start.

        Args:
            loop: the closed loop.
            samples: number of samples of a full run.
            step: h [s].
            t0: time of the first sample [s].
        """
        symbolic = loop.symbolic()
        if symbolic is None or symbolic.law is None or symbolic.law.memory is None:
            return self
        law, times = symbolic.law, t0 + np.arange(samples, dtype=np.float64) * step
        drawn = np.ascontiguousarray(law.draw(times, np.ones(samples, dtype=np.bool_)))
        return replace(self, initial=law.initial, drawn=drawn)

    @property
    def width(self) -> int:
        """Number of loops in a vector."""
        return self.rollout.lanes

    def start(self, numbers: Array, step: float, t0: float) -> AdvanceLanes:
        """Return a function that advances some loops without holding the interpreter's lock.

        Args:
            numbers: parameters of plant and controller, shape (K, np).
            step: h [s].
            t0: time of the first sample [s].
        """
        z = np.tile(self.initial, (len(numbers), 1))

        def advance(window: SampleWindow, x: Array) -> None:
            outputs = [window.states, *window.data.values()]
            self.rollout.run(window.lanes, window.first, t0, step, x, numbers, outputs, z, self.drawn)

        return advance
