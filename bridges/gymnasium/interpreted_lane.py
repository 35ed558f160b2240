"""One lane advanced by calls from Python: any controller with an action added, any integrator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import NOTHING, Controller, Tick, memory_after
from ...controllers.traits import Trait
from ...robots.robot import Robot
from ...simulation.closed_loop import close_loop
from ...simulation.initial_conditions import InitialConditions
from ...simulation.integrators.integrator import Advance, StepBlock
from ...simulation.natural_rank import NATURAL
from ...symbolic.errors import BridgeError, ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ..common.controller_memory import ControllerMemory, with_memory
from .episode_termination import StepSignals
from .rollout import PeriodSteps, Rows, Stepper
from .task import EnvironmentTask

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None


@dataclass(frozen=True, eq=False)
class ActionMemory:
    """Memory of a law with an action.

    Attributes:
        action: action that is added.
        count: number of samples so far, from −1.
        held: tick of the law at the start of the period, if its output is held.
        inner: memory of the law.
    """

    action: Array
    count: int
    held: Tick | None
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
        """Copy the model and the parameters of the law.

        Args:
            robot: the plant, which is the model if there is no law.
            law: law to whose output the action is added, or None.
            forces: True if the output is a generalized force R, shape (nv,), as the law's must be; False for inputs u,
                shape (nu,).
            parameters: parameters of the controller if there is no law.
            every: number of samples over which the law's output is held; 0 to evaluate it every time.
        """
        self._law, self._every = law, every
        self.robot = robot if law is None else law.robot
        self.parameters = parameters if law is None else law.parameters
        self.applies_force = forces
        self.action = np.zeros(robot.v.numel() if forces else robot.u.numel())
        self._count = -1
        self._held: Tick | None = None
        self._inner = None if law is None else law.initial_memory

    @property
    def memory(self) -> object | None:
        """The action and the memory of the law; as with any memory, no step may cross a sample."""
        return ActionMemory(self.action.copy(), self._count, self._held, self._inner)

    @memory.setter
    def memory(self, value: object | None) -> None:
        if not isinstance(value, ActionMemory):
            raise ModelError(f"memory must be a value that this controller's memory had before, got {value!r}")
        self.action, self._count, self._held = value.action.copy(), value.count, value.held
        self._inner = value.inner

    @property
    def initial_memory(self) -> ActionMemory:
        """No action and no sample yet."""
        return ActionMemory(
            np.zeros(len(self.action)), -1, None, None if self._law is None else self._law.initial_memory
        )

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the law's rows."""
        return () if self._law is None else self._law.rows

    @property
    def switches(self) -> bool:
        """True if the law switches rows."""
        return self._law is not None and self._law.switches

    @property
    def tolerance(self) -> float:
        """Tolerance of the law's relative pivots."""
        return 0.0 if self._law is None else self._law.tolerance

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Return the sum of the law's output, evaluated or held, and the action.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the law, the whole vector.
            memory: the action, the held output and the memory of the law.
        """
        assert isinstance(memory, ActionMemory)

        def after() -> ActionMemory:
            return self._after(t, q, v, p, memory)

        law = self._law
        if law is None:
            return Tick(memory.action.copy(), memory=after)
        tick = law.evaluate(t, q, v, p, memory.inner)
        if memory.held is not None:
            tick = replace(memory.held, deviation=tick.deviation)
        return replace(tick, output=tick.output + memory.action, memory=after)

    def _after(self, t: float, q: Array, v: Array, p: Array, memory: ActionMemory) -> ActionMemory:
        """Return the memory after a sample; at the start of a period the law's output is held, if it is to be."""
        law, count, held, inner = self._law, memory.count + 1, memory.held, memory.inner
        if law is not None and inner is not None:
            inner = memory_after(law.evaluate(t, q, v, p, inner))
        if law is not None and self._every and count % self._every == 0:
            tick = law.evaluate(t, q, v, p, inner)
            error = tick.error if tick.status.is_safe else law.failure(tick, t)
            held = replace(tick, explanation=tick.message, deviation=NOTHING, memory=None, error=error, check=None)
        return ActionMemory(memory.action, count, held, inner)

    def begin_period(self) -> None:
        """Make the next sample the first of a period."""
        self._count = -1

    def reset(self) -> None:
        """Forget the past, for a new episode."""
        if self._law is not None:
            self._law.reset()
        super().reset()


LaneSnapshot = tuple[Array, float, int, object]
"""State, time from which steps are counted, number of steps, and memory of the law."""


class InterpretedLane(Stepper):
    """A single lane; an integrator that keeps a history keeps it over an episode.

    The lane owns the law's memory and installs it only while it steps: other lanes may use the same law.
    """

    def __init__(self, task: EnvironmentTask) -> None:
        """Close the loop of plant, law and action.

        Args:
            task: task of the lane.
        """
        self.task = task
        every = task.substeps if task.hold else 0
        self._controller = ActionController(
            task.setup.robot, task.base, forces=task.forces, parameters=task.controller_parameters, every=every
        )
        self._loop = close_loop(task.setup.robot, self._controller, None, monitor_rank=task.monitors_natural_rows)
        self.rows = self._controller.rows if self._loop.sizes["relative_pivots"] else ()
        self._start = task.integrator.prepare(self._loop)
        c, robot = task.setup.robot.coordinates, task.setup.robot
        symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": ca.vertcat(robot.p, task.controller_p)}
        ends = {"seen": task.observation, "stop": task.stop, "clearance": task.clearance}
        self._ends = Kernel("environment_seen", symbols, ends)
        self._rate = Kernel(
            "environment_paid", {**symbols, "applied": task.output}, {"rate": task.rate}, compiled=False
        )
        self._advance: Advance | None = None
        self._law = None if task.base is None else ControllerMemory(task.base)
        self._memory: object | None = None
        self._largest = np.zeros(0)
        self._x, self._p, self._t0, self._count, self._started = np.zeros(self._loop.nx), np.zeros(0), 0.0, 0, False

    def begin(self, rows: Rows, starts: InitialConditions, t0: float) -> PeriodSteps:
        """Start a new run."""
        with with_memory(self._law):
            self._controller.reset()
            self._memory = self._controller.memory
        self._x, self._p, self._started = starts.x[0].copy(), starts.numbers[0].copy(), True
        self._restart_clock(t0)
        sizes = self._loop.sizes
        still = {key: np.ones((1, 1, sizes[key])) for key in sizes} | {"status": np.zeros((1, 1, sizes["status"]))}
        return self._period(self._signals(still), np.zeros(1), [(t0, self._x)], None)

    def step_period(self, rows: Rows, actions: Array) -> PeriodSteps:
        """Take the steps of a period as a block."""
        return self._take_regular_steps(actions[0], self.task.substeps)

    def take_steps(self, row: Rows, action: Array, n: int) -> PeriodSteps:
        """Take n steps as a block."""
        return self._take_regular_steps(action, n)

    def take_partial_step(self, row: Rows, action: Array, length: float) -> PeriodSteps:
        """Take one step as a block; the integrator restarts after it."""
        t = self.time(row)
        period = self._advance_steps(self._start(self._p, length, t), action, (t, length), 0, 1)
        self._restart_clock(t + length)
        return period

    def first_positive(self, row: Rows, n: int) -> int:
        """Count steps by the values of the stop condition at their ends."""
        return int(np.count_nonzero(~(self._largest[: n - 1] > 0.0)))

    def begin_period(self, row: Rows) -> None:
        """Have the law evaluated before the next step, if its output is held."""
        with with_memory(self._law):
            self._controller.memory = self._memory
            self._controller.begin_period()
            self._memory = self._controller.memory

    def snapshot(self, rows: Rows) -> LaneSnapshot:
        """Return the state and the memory of the law."""
        return self._x.copy(), self._t0, self._count, self._memory

    def restore(self, row: Rows, snapshot: LaneSnapshot, index: int) -> None:
        """Put the lane back; the integrator restarts."""
        self._x, self._t0, self._count, self._memory = snapshot
        self._advance = None

    def time(self, row: Rows) -> float:
        """Return t₀ + k h, as integrators compute it [s]."""
        return self._t0 + self._count * self.task.h

    def state(self, row: Rows) -> Array:
        """Return (q, v) after the last step."""
        return self._x.copy()

    def halt(self, rows: Rows, states: Array) -> None:
        """End the run."""
        self._x, self._started = states[0].copy(), False

    def _restart_clock(self, t: float) -> None:
        """Count steps from a time."""
        self._t0, self._count, self._advance = t, 0, None

    def _take_regular_steps(self, action: Array, n: int) -> PeriodSteps:
        if not self._started:
            raise BridgeError("call reset() before step(): an episode starts with it")
        h = self.task.h
        if self._advance is None:
            self._advance = self._start(self._p, h, self._t0)
        period = self._advance_steps(self._advance, action, (self._t0, h), self._count, n)
        self._count += n
        return period

    def _advance_steps(
        self, advance: Advance, action: Array, clock: tuple[float, float], first: int, n: int
    ) -> PeriodSteps:
        """Take n steps from the current state, on a clock (t₀, h) that counts from ``first``."""
        t0, h = clock
        recorded = {key: np.full((n, size), np.nan) for key, size in self._loop.sizes.items()}
        block = StepBlock(first, False, np.full((n, self._loop.nx), np.nan), recorded, self._x)
        with with_memory(self._law):
            self._controller.memory = self._memory
            self._controller.action = np.array(action)
            advance(block, self._x)
            self._memory = self._controller.memory
        if isinstance(block.error, KeyboardInterrupt):
            raise block.error
        filled, error = block.filled, block.error
        if filled == 0 and error is None:
            raise BridgeError(f"{type(self.task.integrator).__name__} took no step at t = {t0 + first * h:g} s")
        after = np.full(self._loop.nx, np.nan) if error is not None or filled < n else block.after
        self._x = np.array(after)
        reward = 0.0
        if self.task.rate.numel():
            for i in range(filled):
                t, output = t0 + (first + i) * h, recorded["output"][i]
                reward += float(self._rate(t, block.states[i], self._p, output)[0])
        states = [*block.states[1:filled], after]
        ends = [(t0 + (first + 1 + i) * h, x) for i, x in enumerate(states)]
        signals = self._signals({key: room[None, : max(filled, 1)] for key, room in recorded.items()})
        return self._period(signals, np.array([reward * h]), ends, error)

    def _signals(self, recorded: dict[str, Array]) -> StepSignals:
        keys = ("output", "pivots", "relative_pivots", "active", "status", *NATURAL)
        return StepSignals(*(recorded[key] for key in keys))

    def _period(
        self, signals: StepSignals, reward: Array, ends: list[tuple[float, Array]], error: BaseException | None
    ) -> PeriodSteps:
        stop, clearance = -np.inf, np.inf
        self._largest = np.zeros(len(ends))
        observation = np.full(self.task.observation.numel(), np.nan)
        for i, (t, x) in enumerate(ends):
            if np.isfinite(x).all():
                observation, stops, gaps = (np.atleast_1d(each) for each in self._ends(t, x, self._p))
                # NaN is ignored, as in the compiled loop.
                stop, clearance = np.fmax.reduce([stop, *stops]), np.fmin.reduce([clearance, *gaps])
            else:
                observation = np.full(self.task.observation.numel(), np.nan)
            self._largest[i] = stop
        extremes = np.array([float(stop)]), np.array([float(clearance)])
        return PeriodSteps(signals, reward, ends[-1][1][None].copy(), observation[None], *extremes, error)
