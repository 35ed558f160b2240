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
from .acting import Acting
from .engine import Engine, Period, Rows, natural_judged
from .judge import Told
from .task import Task

Array = NDArray[np.float64]


class CalledLane(Engine):
    """A single lane; an integrator with a memory of its own keeps it over an episode."""

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
        self._x, self._p, self._count = np.zeros(self._loop.nx), np.zeros(0), 0

    def begin(self, rows: Rows, starts: Starts) -> Period:
        """A new run."""
        self._acting.reset()
        self._x, self._p, self._count = starts.x[0].copy(), starts.numbers[0].copy(), 0
        self._advance = self._start(self._p, self.task.h, 0.0)
        sizes = self._loop.sizes
        still = {key: np.ones((1, 1, sizes[key])) for key in sizes}
        paid = np.zeros(1)
        return self._period(self._told(still), paid, [(0.0, self._x)], None)

    def go(self, rows: Rows, actions: Array) -> Period:
        """A block of steps."""
        if self._advance is None:
            raise BridgeError("an episode begins with reset(): call it before step()")
        h, n, first = self.task.h, self.task.substeps, self._count
        self._acting.action = np.array(actions[0])
        recorded = {key: np.full((n, size), np.nan) for key, size in self._loop.sizes.items()}
        block = Block(first, False, np.full((n, self._loop.nx), np.nan), recorded, self._x)
        self._advance(block, self._x)
        if isinstance(block.error, KeyboardInterrupt):
            raise block.error
        filled, error = block.filled, block.error
        if filled == 0 and error is None:
            raise BridgeError(f"{type(self.task.integrator).__name__} took no step at t = {first * h:g} s")
        after = np.full(self._loop.nx, np.nan) if error is not None or filled < n else block.after
        self._x, self._count = np.array(after), first + n
        paid = 0.0
        if self.task.rate.numel():
            for i in range(filled):
                t, output = (first + i) * h, recorded["output"][i]
                paid += float(self._rate(t, block.states[i], self._p, output)[0])
        states = [*block.states[1:filled], after]
        ends = [((first + 1 + i) * h, x) for i, x in enumerate(states)]
        told = self._told({key: room[None, : max(filled, 1)] for key, room in recorded.items()})
        return self._period(told, np.array([paid * h]), ends, error)

    def halt(self, rows: Rows, states: Array) -> None:
        """The run is over."""
        self._x, self._advance = states[0].copy(), None

    def _told(self, recorded: dict[str, Array]) -> Told:
        keys = ("output", "pivots", "relative_pivots", "active", *NATURAL)
        return Told(*(recorded[key] for key in keys))

    def _period(self, told: Told, paid: Array, ends: list[tuple[float, Array]], error: BaseException | None) -> Period:
        stop, clearance = -np.inf, np.inf
        seen = np.full(self.task.seen.numel(), np.nan)
        for t, x in ends:
            if np.isfinite(x).all():
                seen, stops, gaps = (np.atleast_1d(each) for each in self._ends(t, x, self._p))
                # As the compiled loop does: what is no number is passed over.
                stop, clearance = np.fmax.reduce([stop, *stops]), np.fmin.reduce([clearance, *gaps])
            else:
                seen = np.full(self.task.seen.numel(), np.nan)
        extremes = np.array([float(stop)]), np.array([float(clearance)])
        return Period(told, paid, ends[-1][1][None].copy(), seen[None], *extremes, error)
