"""Lanes advanced side by side in machine code, each at its own time in its own episode."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...scenarios.starts import Starts
from ...symbolic.errors import BridgeError
from ...symbolic.march import CompiledMarch, March
from .engine import Engine, Period, Rows
from .judge import Told
from .lane_march import TOLD, Layout, build_march
from .task import Task

Array = NDArray[np.float64]


class CompiledLanes(Engine):
    """Lanes in vector instructions; one lane alone has the same bits."""

    def __init__(
        self, task: Task, march: March, layout: Layout, compiled: CompiledMarch, lanes: int, threads: int
    ) -> None:
        """Make room.

        Args:
            task: whose lanes they are.
            march: the loop over steps.
            layout: of its state and parameters.
            compiled: the same as machine code.
            lanes: how many.
            threads: that may be used.
        """
        self.task, self._layout, self._threads = task, layout, threads
        self._march, self._compiled = march, compiled
        self.rows = () if task.base is None else tuple(task.base.rows) if layout.told[1] else ()
        self._x = np.zeros((lanes, march.x.numel()))
        self._p = np.zeros((lanes, march.p.numel()))
        n = task.substeps
        self._states = np.zeros((lanes, n, march.x.numel()))
        self._told = np.zeros((lanes, n, sum(layout.told)))
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    @classmethod
    def of(cls, task: Task, lanes: int, width: int, threads: int = 1) -> CompiledLanes | str:
        """Compile; or why that cannot be, as a clause.

        Args:
            task: whose lanes they are.
            lanes: how many.
            width: lanes of a vector: 1, or as many as the processor has.
            threads: that may be used.
        """
        built = build_march(task)
        if built is None:
            law = task.base is not None and task.base.law is None
            who = f"{type(task.base).__name__} has no symbolic law" if law else (
                f"{type(task.integrator).__name__} has no compiled loop for this robot")  # fmt: skip
            return who
        march, layout = built
        compiled = march.with_lanes(width)
        return compiled if isinstance(compiled, str) else cls(task, march, layout, compiled, lanes, threads)

    def begin(self, rows: Rows, starts: Starts, t0: float) -> Period:
        """One step of no length, whose correction sees the start."""
        layout = self._layout
        self._keep_equal(starts.numbers)
        self._x[rows] = 0.0
        self._x[rows, : layout.nx], self._x[rows, layout.time] = starts.x, t0
        self._p[rows, : layout.parameters], self._p[rows, layout.action] = starts.numbers, 0.0
        self.begin_period(rows)
        if layout.sizes[0]:
            # What is held is known behind the step only.
            self._told[rows, 0, : layout.sizes[0]] = self._x[rows, layout.part("w")]
        return self._period(rows, 1, 0.0)

    def go(self, rows: Rows, actions: Array) -> Period:
        """As many steps as a period has."""
        self._p[rows, self._layout.action] = actions
        self._run(rows, self.task.h, [self._states, self._told])
        return self._period(rows, self.task.substeps, self.task.h)

    def steps(self, row: Rows, action: Array, n: int) -> Period:
        """As in a whole period."""
        self._p[row, self._layout.action] = action
        self._run(row, self.task.h, [self._states[:, :n], self._told[:, :n]])
        return self._period(row, n, self.task.h)

    def part(self, row: Rows, action: Array, length: float) -> Period:
        """Behind it the steps are counted anew."""
        self._p[row, self._layout.action] = action
        self._settle(row, 0.0, length)
        self._run(row, length, [self._states[:, :1], self._told[:, :1]])
        self._settle(row, 0.0, self.task.h)
        return self._period(row, 1, length)

    def first_positive(self, row: Rows, n: int) -> int:
        """By the largest value so far, as the state at the start of the following step holds it."""
        largest = self._states[row[0], 1:n, self._layout.part("s")]
        return int(np.count_nonzero(~(largest > 0.0)))

    def begin_period(self, row: Rows) -> None:
        """One step of no length, whose correction finds what is held."""
        layout = self._layout
        before = self._x[row, : layout.nx]
        self._settle(row, -1.0, self.task.h)
        self._run(row, 0.0, [self._states[:, :1], self._told[:, :1]])
        # A correction would have moved it.
        self._x[row, : layout.nx] = np.where(np.isfinite(self._x[row, : layout.nx]), before, np.nan)

    def keep(self, rows: Rows) -> tuple[Array, Array]:
        """State and parameters."""
        # Indices by number copy.
        return self._x[rows], self._p[rows]

    def put_back(self, row: Rows, kept: tuple[Array, Array], place: int) -> None:
        """State and parameters."""
        self._x[row], self._p[row] = (each[place] for each in kept)

    def time(self, row: Rows) -> float:
        """As the loop has reckoned it."""
        return float(self._x[row[0], self._layout.time])

    def state(self, row: Rows) -> Array:
        """Without what else a lane's state holds."""
        return self._x[row[0], : self._layout.nx].copy()

    def halt(self, rows: Rows, states: Array) -> None:
        """Only the state: the lane begins anew before it goes on."""
        self._x[rows, : self._layout.nx] = states

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _settle(self, rows: Rows, count: float, h: float) -> None:
        """Count steps of a length from the time that it is."""
        layout = self._layout
        self._x[rows, layout.count] = count
        self._p[rows, layout.step], self._p[rows, layout.origin] = h, self._x[rows, layout.time]

    def _keep_equal(self, numbers: Array) -> None:
        """Compile again without those twins among the parameters that are no longer equal."""
        pairs = self._march.twins
        # By their bits: 0.0 and -0.0 are equal, and quotients of them are not.
        equal = tuple(pair for pair in pairs if numbers[:, pair[0]].tobytes() == numbers[:, pair[1]].tobytes())
        if equal != pairs:
            self._march = replace(self._march, twins=equal)
            compiled = self._march.with_lanes(self._compiled.lanes)
            if isinstance(compiled, str):
                raise BridgeError(f"the loop cannot be compiled for these parameters: {compiled}")
            self._compiled = compiled

    def _run(self, rows: Rows, h: float, room: Sequence[Array]) -> None:
        for name, value in (("s", -np.inf), ("d", np.inf)):
            self._x[rows, self._layout.part(name)] = value
        lanes = self._compiled.lanes

        def run(some: Rows) -> None:
            self._compiled.run(some, 0, 0.0, h, self._x, self._p, room)

        if self._pool is None or len(rows) < 2 * lanes * self._threads:
            run(rows)
            return
        share = -(-len(rows) // (lanes * self._threads)) * lanes
        list(self._pool.map(run, [rows[i : i + share] for i in range(0, len(rows), share)]))

    def _period(self, rows: Rows, n: int, h: float) -> Period:
        # All lanes are a slice, which copies nothing.
        layout, at = self._layout, slice(None) if len(rows) == len(self._x) else rows
        x, recorded = self._x[at], self._told[at, :n]
        told = {name: recorded[:, :, place] for name, place in layout.places.items()}
        # One after the other, so that the sum does not depend on how many lanes there are.
        paid = np.zeros(len(rows))
        if told["rate"].shape[2]:
            for i in range(n):
                paid += told["rate"][:, i, 0]
        s, d = x[:, layout.part("s")], x[:, layout.part("d")]
        return Period(
            Told(*(told[name] for name in TOLD[:-1])),
            paid * h,
            x[:, : layout.nx].copy(),
            x[:, layout.part("y")].copy(),
            s[:, 0].copy() if s.shape[1] else np.full(len(rows), -np.inf),
            d[:, 0].copy() if d.shape[1] else np.full(len(rows), np.inf),
        )
