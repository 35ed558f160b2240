"""One lane advanced by calls from Python: any controller with an action added, any integrator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller, Observation
from ...controllers.traits import Trait
from ...robots.robot import Robot
from ...simulation.initial_conditions import InitialConditions
from ...simulation.integrators.integrator import Advance, StepBlock
from ...simulation.natural_rank import NATURAL
from ...simulation.numeric_loop import close_loop
from ...symbolic.errors import BridgeError, ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ..common.controller_memory import ControllerMemory, with_memory
from .episode_termination import StepSignals
from .rollout import PeriodSteps, Rows, Stepper, checks_natural_rows
from .task import EnvironmentTask

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None


@dataclass(frozen=True, eq=False)
class ActionMemory:
    """The memory of a law with an action.

    Attributes:
        action: that is added.
        count: of the samples taken in.
        held: what the law said at the start of the period, if that is held.
        inner: memory of the law.
    """

    action: Array
    count: int
    held: Observation | None
    inner: object | None


class ActionController(Controller):
    """u = law + action, or the action alone; the law's output may be held over a control period."""

    supports = frozenset(Trait)

    def __init__(
        self,
        robot: Robot,
        law: Controller | None,
        *,
        forces: bool,
        parameters: Parameters = NO_PARAMETERS,
        every: int = 0,
    ) -> None:
        """Take over what the law says of itself.

        Args:
            robot: the plant, which is the model of an action alone.
            law: to whose output the action is added, or None.
            forces: whether the output is a generalized force R, shape (nv,), as the law's must be; else u, shape (nu,).
            parameters: the law's own, or those that are kept where there is none.
            every: number of samples over which the law's output is held; 0 for not at all.
        """
        self._law, self._every = law, every
        self.robot = robot if law is None else law.robot
        self.parameters = parameters if law is None else law.parameters
        self.applies_force = forces
        self.action = np.zeros(robot.v.numel() if forces else robot.u.numel())
        self._count = -1
        self._held: Observation | None = None

    @property
    def memory(self) -> object | None:
        """The action, besides what the law remembers: no step may go across a sample."""
        inner = None if self._law is None else self._law.memory
        return ActionMemory(self.action.copy(), self._count, self._held, inner)

    @memory.setter
    def memory(self, value: object | None) -> None:
        if not isinstance(value, ActionMemory):
            raise ModelError(f"only what was remembered can be put back, got {value!r}")
        self.action, self._count, self._held = value.action.copy(), value.count, value.held
        if self._law is not None:
            self._law.memory = value.inner

    @property
    def rows(self) -> tuple[str, ...]:
        """Of the law."""
        return () if self._law is None else self._law.rows

    @property
    def switches(self) -> bool:
        """Of the law."""
        return self._law is not None and self._law.switches

    @property
    def tolerance(self) -> float:
        """Of the law."""
        return 0.0 if self._law is None else self._law.tolerance

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """The law's output, or what is held of it, and the action.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the law.
        """
        if self._law is None:
            return self.action.copy()
        if self._held is not None:
            return np.asarray(self._held.output + self.action, dtype=np.float64)
        return np.asarray(self._law.control(t, q, v, p) + self.action, dtype=np.float64)

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """The same with the law's pivots."""
        if self._law is None:
            nothing = np.zeros(0)
            return Observation(self.action.copy(), nothing, nothing, nothing)
        if self._held is not None:
            # What is not asked for is looked at all the same: a broken state ends the run.
            self.arguments(t, q, v, p)
        told = self._held or self._law.observe(t, q, v, p)
        return replace(told, output=told.output + self.action)

    def deviation(self, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike, p: Values = None) -> Array:
        """Of the law."""
        return np.zeros(0) if self._law is None else self._law.deviation(t, q, v, a, p)

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Let the law take in the sample; at the start of a period its output is asked for, if it is held.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the law.
        """
        self._count += 1
        if self._law is None:
            return
        self._law.advance(t, q, v, p)
        if self._every and self._count % self._every == 0:
            self._held = self._law.observe(t, q, v, p)

    def begin_period(self) -> None:
        """The next sample is the first of a period, whatever came before."""
        self._count = -1

    def reset(self) -> None:
        """A new episode."""
        self._count, self._held = -1, None
        self.action[:] = 0.0
        if self._law is not None:
            self._law.reset()


LaneSnapshot = tuple[Array, float, int, object]
"""State, the time from which steps are counted, their number, and what the law remembers."""


class InterpretedLane(Stepper):
    """A single lane; an integrator with a memory of its own keeps it over an episode.

    What the law remembers is the lane's, and is lent to it for a period: others may drive with the same law.
    """

    def __init__(self, task: EnvironmentTask) -> None:
        """Join plant, law and action.

        Args:
            task: whose lane it is.
        """
        self.task = task
        every = task.substeps if task.hold else 0
        self._acting = ActionController(
            task.setup.robot, task.base, forces=task.forces, parameters=task.controller_parameters, every=every
        )
        self._loop = close_loop(task.setup.robot, self._acting, None, monitor_rank=checks_natural_rows(task))
        self.rows = self._acting.rows if self._loop.sizes["relative_pivots"] else ()
        self._start = task.integrator.prepare(self._loop)
        c, robot = task.setup.robot.coordinates, task.setup.robot
        symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": ca.vertcat(robot.p, task.controller_p)}
        ends = {"seen": task.seen, "stop": task.stop, "clearance": task.clearance}
        self._ends = Kernel("environment_seen", symbols, ends)
        self._rate = Kernel(
            "environment_paid", {**symbols, "applied": task.output}, {"rate": task.rate}, compiled=False
        )
        self._advance: Advance | None = None
        self._law = None if task.base is None else ControllerMemory(task.base)
        self._memory: object | None = None
        self._largest = np.zeros(0)
        self._x, self._p, self._t0, self._count, self._begun = np.zeros(self._loop.nx), np.zeros(0), 0.0, 0, False

    def begin(self, rows: Rows, starts: InitialConditions, t0: float) -> PeriodSteps:
        """A new run."""
        with with_memory(self._law):
            self._acting.reset()
            self._memory = self._acting.memory
        self._x, self._p, self._begun = starts.x[0].copy(), starts.numbers[0].copy(), True
        self._settle(t0)
        sizes = self._loop.sizes
        still = {key: np.ones((1, 1, sizes[key])) for key in sizes}
        return self._period(self._told(still), np.zeros(1), [(t0, self._x)], None)

    def go(self, rows: Rows, actions: Array) -> PeriodSteps:
        """A block of steps."""
        return self._regular(actions[0], self.task.substeps)

    def steps(self, row: Rows, action: Array, n: int) -> PeriodSteps:
        """A block of them."""
        return self._regular(action, n)

    def part(self, row: Rows, action: Array, length: float) -> PeriodSteps:
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
        with with_memory(self._law):
            self._acting.memory = self._memory
            self._acting.begin_period()
            self._memory = self._acting.memory

    def keep(self, rows: Rows) -> LaneSnapshot:
        """The state, and what the law remembers."""
        return self._x.copy(), self._t0, self._count, self._memory

    def restore(self, row: Rows, kept: LaneSnapshot, place: int) -> None:
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

    def _regular(self, action: Array, n: int) -> PeriodSteps:
        if not self._begun:
            raise BridgeError("an episode begins with reset(): call it before step()")
        h = self.task.h
        if self._advance is None:
            self._advance = self._start(self._p, h, self._t0)
        period = self._steps(self._advance, action, (self._t0, h), self._count, n)
        self._count += n
        return period

    def _steps(self, advance: Advance, action: Array, clock: tuple[float, float], first: int, n: int) -> PeriodSteps:
        """Some steps from the state as it is, on a clock (t₀, h) that counts from ``first``."""
        t0, h = clock
        recorded = {key: np.full((n, size), np.nan) for key, size in self._loop.sizes.items()}
        block = StepBlock(first, False, np.full((n, self._loop.nx), np.nan), recorded, self._x)
        with with_memory(self._law):
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

    def _told(self, recorded: dict[str, Array]) -> StepSignals:
        keys = ("output", "pivots", "relative_pivots", "active", *NATURAL)
        return StepSignals(*(recorded[key] for key in keys))

    def _period(
        self, told: StepSignals, paid: Array, ends: list[tuple[float, Array]], error: BaseException | None
    ) -> PeriodSteps:
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
        return PeriodSteps(told, paid, ends[-1][1][None].copy(), seen[None], *extremes, error)
