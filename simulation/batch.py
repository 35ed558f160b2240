"""Runs side by side: chunks of lanes in threads where the loop is compiled, otherwise one lane after the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..symbolic.compiled_rollout import CompiledRollout, RolloutLoop
from ..symbolic.compiler import vector_width
from ..symbolic.validation import whole
from .integrators.integrator import BLOCK, Advance, StepBlock
from .record import Record
from .sample_window import SampleWindow

Array = NDArray[np.float64]
Progress = Callable[[float], None]
CHUNK = 128
"""Lanes that are advanced and judged at a time: what they write in a block stays in the cache of a core."""
TOGETHER = 2 * CHUNK * BLOCK
"""Samples of all lanes of a chunk in a block."""
BLOCKS = 5
"""Blocks of a run of few lanes that may end early by its stop condition: what was computed behind the end is lost."""
WATCH = 0.05
"""Seconds between looks at how far threads have come."""

AdvanceLanes = Callable[[SampleWindow, Array], None]
"""Writes a window from the states at its first sample, shape (lanes, nx), which become those behind its last one.

A state that is not finite is followed by none that is: blocks of a batch are looked at by their last states first.
"""


class LaneRunner(Protocol):
    """Compiled steps of many lanes of one loop."""

    @property
    def width(self) -> int:
        """Lanes that go side by side in a vector."""
        ...

    def start(self, numbers: Array, step: float, t0: float) -> AdvanceLanes:
        """What advances some lanes; called in the thread that uses it.

        Args:
            numbers: parameters of plant and controller, shape (lanes, np).
            step: h [s].
            t0: time of the first sample [s].
        """
        ...


def thread_count(threads: int | None) -> int:
    """Threads to use: as many as given, or as this process may use.

    Args:
        threads: a number of at least 1, or None.

    Raises:
        ModelError: for any other.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole("threads", threads)


def run_alone(
    record: Record, lane: int, advance: Advance, x: Array, progress: Progress | None = None
) -> BaseException | None:
    """One lane, from start to end.

    Args:
        record: takes the samples.
        lane: which one.
        advance: of this run.
        x: state at the start, shape (nx,).
        progress: called with the share of the run that is done.

    Returns:
        What the controller or the integrator raised, if that is why the run ended.

    Raises:
        KeyboardInterrupt: on Ctrl-C.
    """
    part, alone = record.part(lane, lane + 1), np.zeros(1, dtype=np.intp)
    while not part.ended[0]:
        window = part.window(alone, int(part.count[0]))
        block = StepBlock.of(window)
        advance(block, x)
        part.judge(window.cut(block.filled))
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
    """Samples in a block: more of them for few lanes, so that Python does little in between; all of about one length.

    Args:
        samples: of a full run.
        lanes: of a chunk.
        stops: whether a stop condition may end a run early.
    """
    length = max(BLOCK, min(samples // BLOCKS if stops else samples, TOGETHER // lanes))
    return -(-samples // max(1, round(samples / length)))


def run_together(record: Record, runner: LaneRunner, x: Array, threads: int, progress: Progress | None = None) -> None:
    """All lanes, in chunks.

    Args:
        record: takes the samples.
        runner: compiled steps.
        x: states at the start, shape (lanes, nx).
        threads: that may be used.
        progress: called with the share that is done, in this thread.

    Raises:
        KeyboardInterrupt: on Ctrl-C, when all threads have come to rest.
    """
    lanes, width = len(record), runner.width
    # As many chunks for each thread; the last vector of the last chunk may be a part of one.
    chunks = -(-lanes // (CHUNK * threads)) * threads
    chunk = -(-lanes // (chunks * width)) * width
    # Whoever watches is told often.
    stops = record.run.loop.sizes["stop"] > 0
    block = block_length(record.run.samples, chunk, stops) if progress is None else BLOCK
    bounds = [(first, min(first + chunk, lanes)) for first in range(0, lanes, chunk)]
    done, halt = np.zeros(len(bounds)), threading.Event()

    def tell() -> None:
        if progress is not None:
            progress(min(1.0, float(done.sum()) / (lanes * record.run.samples)))

    def run(i: int, told: Callable[[], None]) -> None:
        first, end = bounds[i]
        part, states = record.part(first, end), np.ascontiguousarray(x[first:end])
        advance = runner.start(np.ascontiguousarray(part.p), record.run.step, record.run.t0)
        going, sample = np.arange(end - first), 0
        while len(going) and not halt.is_set():
            window = part.window(going, sample, block)
            advance(window, states)
            part.judge(window)
            sample += window.n
            going = going[~part.ended[going]]
            # Of a lane that has ended nothing is left to do.
            done[i] = sample * len(going) + record.run.samples * (end - first - len(going))
            told()

    if threads == 1 or len(bounds) == 1:
        for i in range(len(bounds)):
            run(i, tell)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            futures = {pool.submit(run, i, lambda: None) for i in range(len(bounds))}
            left = futures
            while left:
                ready, left = wait(left, WATCH, FIRST_EXCEPTION)
                for future in ready:
                    future.result()
                tell()
        except BaseException:
            halt.set()
            raise


@dataclass(frozen=True, eq=False)
class CompiledRunner:
    """Advances the closed loops of a window.

    Attributes:
        march: the loop over steps, compiled.
    """

    march: CompiledRollout

    @classmethod
    def of(cls, march: RolloutLoop, *, batch: bool) -> CompiledRunner | None:
        """Compile; None if there is no compiler, or it fails.

        Args:
            march: the loop over steps.
            batch: whether there are many loops, to be run as lanes of vector instructions.
        """
        compiled = march.compile(vector_width() if batch else 1)
        return None if isinstance(compiled, str) else cls(compiled)

    @property
    def width(self) -> int:
        """Loops that go side by side."""
        return self.march.lanes

    def start(self, numbers: Array, step: float, t0: float) -> AdvanceLanes:
        """What advances some loops; while it computes it holds no lock of the interpreter.

        Args:
            numbers: parameters of plant and controller, shape (K, np).
            step: h [s].
            t0: time of the first sample [s].
        """

        def advance(window: SampleWindow, x: Array) -> None:
            self.march.run(window.lanes, window.first, t0, step, x, numbers, [window.states, *window.data.values()])

        return advance
