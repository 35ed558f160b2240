"""One lane advanced by calls from Python: any law, any integrator."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...scenarios.close_loop import close_loop
from ...scenarios.integrators.integrator import Advance, Block
from ...scenarios.natural_rank import NATURAL
from ...scenarios.starts import Starts
from ...symbolic.errors import BridgeError
from ...symbolic.kernel import Kernel
from ..law_memory import LawMemory, lent
from .acting import Acting
from .engine import Engine, Period, Rows, natural_judged
from .judge import Told
from .task import Task

Array = NDArray[np.float64]
Kept = tuple[Array, float, int, object]
"""State, the time from which steps are counted, their number, and what the law remembers."""


class CalledLane(Engine):
    """A single lane; an integrator with a memory of its own keeps it over an episode.

    What the law remembers is the lane's, and is lent to it for a period: others may drive with the same law.
    """

    def __init__(self, task: Task) -> None:
        """Join plant, law and action.

        Args:
            task: whose lane it is.
        """
        self.task = task
        every = task.substeps if task.hold else 0
        self._acting = Acting(
            task.setup.robot, task.base, forces=task.forces, parameters=task.law_parameters, every=every
        )
        self._loop = close_loop(task.setup.robot, self._acting, None, judged=natural_judged(task))
        self.rows = self._acting.rows if self._loop.sizes["relative_pivots"] else ()
        self._start = task.integrator.prepare(self._loop)
        c, robot = task.setup.robot.coordinates, task.setup.robot
        symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": ca.vertcat(robot.p, task.law_p)}
        ends = {"seen": task.seen, "stop": task.stop, "clearance": task.clearance}
        self._ends = Kernel("environment_seen", symbols, ends)
        self._rate = Kernel(
            "environment_paid", {**symbols, "applied": task.output}, {"rate": task.rate}, compiled=False
        )
        self._advance: Advance | None = None
        self._law = None if task.base is None else LawMemory(task.base)
        self._memory: object | None = None
        self._largest = np.zeros(0)
        self._x, self._p, self._t0, self._count, self._begun = np.zeros(self._loop.nx), np.zeros(0), 0.0, 0, False

    def begin(self, rows: Rows, starts: Starts, t0: float) -> Period:
        """A new run."""
        with lent(self._law):
            self._acting.reset()
            self._memory = self._acting.memory
        self._x, self._p, self._begun = starts.x[0].copy(), starts.numbers[0].copy(), True
        self._settle(t0)
        sizes = self._loop.sizes
        still = {key: np.ones((1, 1, sizes[key])) for key in sizes}
        return self._period(self._told(still), np.zeros(1), [(t0, self._x)], None)

    def go(self, rows: Rows, actions: Array) -> Period:
        """A block of steps."""
        return self._regular(actions[0], self.task.substeps)

    def steps(self, row: Rows, action: Array, n: int) -> Period:
        """A block of them."""
        return self._regular(action, n)

    def part(self, row: Rows, action: Array, length: float) -> Period:
        """A block of one; behind it the integrator begins anew."""
        t = self.time(row)
        period = self._steps(self._start(self._p, length, t), action, (t, length), 0, 1)
        self._settle(t + length)
        return period

    def first_positive(self, row: Rows, n: int) -> int:
        """By the values at their ends."""
        return int(np.count_nonzero(~(self._largest[: n - 1] > 0.0)))

    def begin_period(self, row: Rows) -> None:
        """The law's output is asked for before the next step, if it is held."""
        with lent(self._law):
            self._acting.memory = self._memory
            self._acting.begin_period()
            self._memory = self._acting.memory

    def keep(self, rows: Rows) -> Kept:
        """The state, and what the law remembers."""
        return self._x.copy(), self._t0, self._count, self._memory

    def put_back(self, row: Rows, kept: Kept, place: int) -> None:
        """The integrator begins anew."""
        self._x, self._t0, self._count, self._memory = kept
        self._advance = None

    def time(self, row: Rows) -> float:
        """As integrators reckon it."""
        return self._t0 + self._count * self.task.h

    def state(self, row: Rows) -> Array:
        """As it was left."""
        return self._x.copy()

    def halt(self, rows: Rows, states: Array) -> None:
        """The run is over."""
        self._x, self._begun = states[0].copy(), False

    def _settle(self, t: float) -> None:
        """Count steps from a time."""
        self._t0, self._count, self._advance = t, 0, None

    def _regular(self, action: Array, n: int) -> Period:
        if not self._begun:
            raise BridgeError("an episode begins with reset(): call it before step()")
        h = self.task.h
        if self._advance is None:
            self._advance = self._start(self._p, h, self._t0)
        period = self._steps(self._advance, action, (self._t0, h), self._count, n)
        self._count += n
        return period

    def _steps(self, advance: Advance, action: Array, clock: tuple[float, float], first: int, n: int) -> Period:
        """Some steps from the state as it is, on a clock (t₀, h) that counts from ``first``."""
        t0, h = clock
        recorded = {key: np.full((n, size), np.nan) for key, size in self._loop.sizes.items()}
        block = Block(first, False, np.full((n, self._loop.nx), np.nan), recorded, self._x)
        with lent(self._law):
            self._acting.memory = self._memory
            self._acting.action = np.array(action)
            advance(block, self._x)
            self._memory = self._acting.memory
        if isinstance(block.error, KeyboardInterrupt):
            raise block.error
        filled, error = block.filled, block.error
        if filled == 0 and error is None:
            raise BridgeError(f"{type(self.task.integrator).__name__} took no step at t = {t0 + first * h:g} s")
        after = np.full(self._loop.nx, np.nan) if error is not None or filled < n else block.after
        self._x = np.array(after)
        paid = 0.0
        if self.task.rate.numel():
            for i in range(filled):
                t, output = t0 + (first + i) * h, recorded["output"][i]
                paid += float(self._rate(t, block.states[i], self._p, output)[0])
        states = [*block.states[1:filled], after]
        ends = [(t0 + (first + 1 + i) * h, x) for i, x in enumerate(states)]
        told = self._told({key: room[None, : max(filled, 1)] for key, room in recorded.items()})
        return self._period(told, np.array([paid * h]), ends, error)

    def _told(self, recorded: dict[str, Array]) -> Told:
        keys = ("output", "pivots", "relative_pivots", "active", *NATURAL)
        return Told(*(recorded[key] for key in keys))

    def _period(self, told: Told, paid: Array, ends: list[tuple[float, Array]], error: BaseException | None) -> Period:
        stop, clearance = -np.inf, np.inf
        self._largest = np.zeros(len(ends))
        seen = np.full(self.task.seen.numel(), np.nan)
        for i, (t, x) in enumerate(ends):
            if np.isfinite(x).all():
                seen, stops, gaps = (np.atleast_1d(each) for each in self._ends(t, x, self._p))
                # As the compiled loop does: what is no number is passed over.
                stop, clearance = np.fmax.reduce([stop, *stops]), np.fmin.reduce([clearance, *gaps])
            else:
                seen = np.full(self.task.seen.numel(), np.nan)
            self._largest[i] = stop
        extremes = np.array([float(stop)]), np.array([float(clearance)])
        return Period(told, paid, ends[-1][1][None].copy(), seen[None], *extremes, error)
