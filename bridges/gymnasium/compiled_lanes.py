"""Lanes advanced side by side in machine code, each at its own time in its own episode."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.law import NOTHING, Law, LawMemory, select
from ...simulation.closed_loop import SymbolicLoop, Symbols, close_loop
from ...simulation.initial_conditions import InitialConditions
from ...simulation.natural_rank import NATURAL, natural_pivots
from ...symbolic.compiled_rollout import CompiledRollout, RolloutLoop
from ...symbolic.errors import BridgeError
from .episode_termination import StepSignals
from .rollout import PeriodSteps, Rows, Stepper
from .task import EnvironmentTask

Array = NDArray[np.float64]
RECORDED = ("output", "pivots", "relative", "active", "status", "natural", "natural_relative", "rate")
"""Signals that are recorded at the start of each step, in this order."""


@dataclass(frozen=True, eq=False)
class StateLayout:
    """Layout of a lane's state and parameters.

    The state of the compiled loop is (q, v, k, t, y, s, d): k counts steps, t = t₀ + k h is the time of the lane, y the
    observation, s the stop condition and d the clearance. All but q, v and t are constant during a step; the correction
    after it sets them. Its memory is that of the law, and, where the law's output is held over a period, the law's
    signals and the number of samples since the period began, by which the next period is known.

    Attributes:
        nx: size of (q, v).
        sizes: sizes of y, s and d.
        signal_sizes: size of each of :data:`RECORDED`.
        parameters: number of parameters of plant and law; h, t₀ and the action follow them.
        initial: memory before the first sample, shape (nz,).
        holds: True if signals are held over a period.
    """

    nx: int
    sizes: tuple[int, int, int]
    signal_sizes: tuple[int, ...]
    parameters: int
    initial: Array
    holds: bool

    @property
    def count(self) -> int:
        """Index of k in the state."""
        return self.nx

    @property
    def time(self) -> int:
        """Index of t in the state."""
        return self.nx + 1

    @property
    def step(self) -> int:
        """Index of h among the parameters."""
        return self.parameters

    @property
    def origin(self) -> int:
        """Index of t₀ among the parameters."""
        return self.parameters + 1

    @property
    def action(self) -> slice:
        """Slice of the action among the parameters."""
        return slice(self.parameters + 2, None)

    @functools.cached_property
    def slices(self) -> dict[str, slice]:
        """Slice of each of :data:`RECORDED` among the recorded signals."""
        ends: list[int] = np.cumsum([0, *self.signal_sizes]).tolist()
        return {name: slice(*pair) for name, pair in zip(RECORDED, itertools.pairwise(ends), strict=True)}

    def block(self, name: str) -> slice:
        """Slice of y, s or d in the state.

        Args:
            name: ``"y"``, ``"s"`` or ``"d"``.
        """
        i = "ysd".index(name)
        first = self.nx + 2 + sum(self.sizes[:i])
        return slice(first, first + self.sizes[i])


def build_lane_rollout(task: EnvironmentTask) -> tuple[RolloutLoop, StateLayout] | None:
    """Build the loop over the steps of a task; None if the law or the integrator does not support it.

    Args:
        task: task of the lanes.
    """
    base, robot = task.base, task.setup.robot
    expressed = None if base is None else base.sampled_law(task.h)
    if base is not None and (expressed is None or expressed.random.numel()):
        return None
    loop = close_loop(robot, base, None, law=expressed).symbolic()
    assert loop is not None
    t, x, own = loop.symbols.t, loop.symbols.x, ca.vertcat(robot.p, task.controller_p)
    h, t0, action = ca.SX.sym("h"), ca.SX.sym("t0"), ca.SX.sym("action", len(task.low))
    names, memory = ("output", "pivots", "relative_pivots", "active", "status"), loop.symbols.z
    parts = [*(ca.densify(loop.outputs[name]) for name in names), NOTHING if loop.law is None else loop.law.updated]
    *law, updated = ca.substitute(parts, [loop.symbols.p], [_loop_parameters(loop, own)])
    if base is None:
        law[0] = ca.SX.zeros(action.numel())
    z, sampled, initial, used = memory, updated, np.zeros(0) if expressed is None else expressed.initial, law
    if task.hold:
        held, count = ca.SX.sym("held", sum(each.numel() for each in law)), ca.SX.sym("count")
        ends: list[int] = np.cumsum([0, *(each.numel() for each in law)]).tolist()
        used = ca.vertsplit(held, ends)
        now = ca.substitute(ca.vertcat(*law), memory, updated)
        z = ca.vertcat(memory, held, count)
        sampled = ca.vertcat(updated, select(count == 0.0, now, held), ca.fmod(count + 1.0, float(task.substeps)))
        initial = np.concatenate([initial, np.zeros(held.numel() + 1)])
    output = used[0] + action
    force = output if task.forces else robot.input_matrix @ output
    p = ca.vertcat(own, h, t0, action)
    moved = copy.copy(loop)
    moved.symbols = Symbols(t, x, p, z)
    moved.law = Law(NOTHING, memory=LawMemory(z, initial, sampled))
    moved.rate = ca.vertcat(robot.coordinates.N @ robot.v, robot.acceleration_under(force)[0])
    moved.outputs = {}
    core = task.integrator.rollout_loop(moved)
    if core is None:
        return None
    natural = natural_pivots(robot, task.monitors_natural_rows)
    rate = ca.substitute(task.rate, task.output, output)
    signals = [output, *used[1:], *(natural[key] for key in NATURAL), rate]
    lane = _LaneLoop(task, t, x, core)
    values = [lane.at_own_time(each) for each in signals]
    # A parameter that varies in the plant alone, or in the law alone, is not shared by them.
    separate = {name.partition(".")[2] for name in task.sampler.randomization if name.startswith(("plant.", "law."))}
    twins = tuple(pair for pair in loop.shared_parameters if robot.parameters.names[pair[0]] not in separate)
    rollout_loop = RolloutLoop(
        *(core.t, lane.state, p, lane.rate()),
        {"signals": ca.vertcat(*map(ca.densify, values))},
        lane.corrected(h, t0),
        core.tableau,
        twins,
        z,
        lane.at_own_time(sampled),
    )
    sizes = (task.observation.numel(), task.stop.numel(), task.clearance.numel())
    counts = tuple(each.numel() for each in signals)
    return rollout_loop, StateLayout(x.numel(), sizes, counts, own.numel(), initial, task.hold)


def _loop_parameters(loop: SymbolicLoop, own: ca.SX) -> ca.SX:
    """Return the leading parameters that the loop has: without a law, only the plant's."""
    return own[: loop.symbols.p.numel()]


class _LaneLoop:
    """Symbols of a lane's state, its rate, and its value after a step."""

    def __init__(self, task: EnvironmentTask, t: ca.SX, x: ca.SX, core: RolloutLoop) -> None:
        self._task, self._t, self._x, self._core = task, t, x, core
        self._k, self._time = ca.SX.sym("k"), ca.SX.sym("time")
        y, s, d = (ca.SX.sym(*each) for each in (("y", task.observation.numel()), ("s", task.stop.numel()),
                                                ("d", task.clearance.numel())))  # fmt: skip
        self._s, self._d = s, d
        self.state = ca.vertcat(x, self._k, self._time, y, s, d)

    def at_own_time(self, expression: ca.SX, time: ca.SX | None = None) -> ca.SX:
        return ca.substitute(expression, self._t, self._time if time is None else time)

    def rate(self) -> ca.SX:
        moving = self.at_own_time(self._core.rate)
        rest = self.state.numel() - self._x.numel() - 2
        return ca.vertcat(moving, 0.0, 1.0, ca.SX.zeros(rest))

    def corrected(self, h: ca.SX, t0: ca.SX) -> ca.SX:
        """Return the state after a step."""
        task, x = self._task, self._x
        k = self._k + 1.0
        time = t0 + k * h
        after = x if self._core.correction is None else self.at_own_time(self._core.correction, time)

        def at_end(expression: ca.SX) -> ca.SX:
            moved = self.at_own_time(expression, time)
            return moved if self._core.correction is None else ca.substitute(moved, x, after)

        s, d = ca.fmax(self._s, at_end(task.stop)), ca.fmin(self._d, at_end(task.clearance))
        return ca.densify(ca.vertcat(after, k, time, at_end(task.observation), s, d))


class CompiledLanes(Stepper):
    """Lanes in vector instructions, with the same bits as a lane by itself."""

    def __init__(
        self,
        task: EnvironmentTask,
        rollout_loop: RolloutLoop,
        layout: StateLayout,
        compiled: CompiledRollout,
        lanes: int,
        threads: int,
    ) -> None:
        """Allocate states, parameters and signals.

        Args:
            task: task of the lanes.
            rollout_loop: the loop over steps.
            layout: layout of its state and parameters.
            compiled: the loop as machine code.
            lanes: number of lanes.
            threads: number of threads.
        """
        self.task, self._layout, self._threads = task, layout, threads
        self._rollout_loop, self._compiled = rollout_loop, compiled
        self.rows = () if task.base is None else tuple(task.base.rows) if layout.signal_sizes[1] else ()
        self._x = np.zeros((lanes, rollout_loop.x.numel()))
        self._p = np.zeros((lanes, rollout_loop.p.numel()))
        self._z = np.zeros((lanes, rollout_loop.z.numel()))
        n = task.substeps
        self._states = np.zeros((lanes, n, rollout_loop.x.numel()))
        self._recorded = np.zeros((lanes, n, sum(layout.signal_sizes)))
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    @classmethod
    def of(cls, task: EnvironmentTask, lanes: int, width: int, threads: int = 1) -> CompiledLanes | str:
        """Return compiled lanes, or a clause that says why there are none.

        Args:
            task: task of the lanes.
            lanes: number of lanes.
            width: lanes per vector instruction: 1, or the width of the processor.
            threads: number of threads.
        """
        built = build_lane_rollout(task)
        if built is None:
            law = None if task.base is None else task.base.sampled_law(task.h)
            if task.base is not None and law is None:
                return f"{type(task.base).__name__} has no symbolic law"
            if law is not None and law.random.numel():
                return f"{type(task.base).__name__} draws random numbers"
            return f"{type(task.integrator).__name__} has no compiled loop for this robot"
        rollout_loop, layout = built
        compiled = rollout_loop.compile(width)
        return compiled if isinstance(compiled, str) else cls(task, rollout_loop, layout, compiled, lanes, threads)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the task and the state; the loop is built and compiled again where the pickle is read."""
        lanes = self._compiled.lanes
        made = self.task, self._rollout_loop.shared_parameters, lanes, len(self._x), self._threads
        return _rebuilt_lanes, made, {"_x": self._x, "_p": self._p, "_z": self._z}

    def begin(self, rows: Rows, starts: InitialConditions, t0: float) -> PeriodSteps:
        """Put some lanes at the starts of new runs; a step of zero length evaluates the start."""
        layout = self._layout
        self._recompile_if_unequal(starts.numbers)
        self._x[rows] = 0.0
        self._x[rows, : layout.nx], self._x[rows, layout.time] = starts.x, t0
        self._p[rows, : layout.parameters], self._p[rows, layout.action] = starts.numbers, 0.0
        before = self._x[rows, : layout.nx]
        self._z[rows] = layout.initial
        self._restart_clock(rows, -1.0, self.task.h)
        self._run(rows, 0.0, [self._states[:, :1], self._recorded[:, :1]])
        # The start is the first sample of the first step; the correction may have moved q and v.
        self._z[rows] = layout.initial
        self._x[rows, : layout.nx] = np.where(np.isfinite(self._x[rows, : layout.nx]), before, np.nan)
        return self._period(rows, 1, 0.0)

    def step_period(self, rows: Rows, actions: Array) -> PeriodSteps:
        """Take the steps of a period."""
        self._p[rows, self._layout.action] = actions
        self._run(rows, self.task.h, [self._states, self._recorded])
        return self._period(rows, self.task.substeps, self.task.h)

    def take_steps(self, row: Rows, action: Array, n: int) -> PeriodSteps:
        """Take n steps of a period."""
        self._p[row, self._layout.action] = action
        self._run(row, self.task.h, [self._states[:, :n], self._recorded[:, :n]])
        return self._period(row, n, self.task.h)

    def take_partial_step(self, row: Rows, action: Array, length: float) -> PeriodSteps:
        """Take one step of another length; the count of steps restarts after it."""
        self._p[row, self._layout.action] = action
        self._restart_clock(row, 0.0, length)
        self._run(row, length, [self._states[:, :1], self._recorded[:, :1]])
        self._restart_clock(row, 0.0, self.task.h)
        return self._period(row, 1, length)

    def first_positive(self, row: Rows, n: int) -> int:
        """Count steps by the largest value so far, which the state at the start of the next step contains."""
        largest = self._states[row[0], 1:n, self._layout.block("s")]
        return int(np.count_nonzero(~(largest > 0.0)))

    def begin_period(self, row: Rows) -> None:
        """Make the next sample the first of a period, at which signals are held."""
        self._restart_clock(row, 0.0, self.task.h)
        if self._layout.holds:
            self._z[row, -1] = 0.0

    def snapshot(self, rows: Rows) -> tuple[Array, Array, Array]:
        """Return state, parameters and memory."""
        # Indexing by integer arrays copies.
        return self._x[rows], self._p[rows], self._z[rows]

    def restore(self, row: Rows, snapshot: tuple[Array, Array, Array], index: int) -> None:
        """Restore state, parameters and memory."""
        self._x[row], self._p[row], self._z[row] = (each[index] for each in snapshot)

    def time(self, row: Rows) -> float:
        """Return the time as the loop computed it [s]."""
        return float(self._x[row[0], self._layout.time])

    def state(self, row: Rows) -> Array:
        """Return (q, v) of the lane's state."""
        return self._x[row[0], : self._layout.nx].copy()

    def halt(self, rows: Rows, states: Array) -> None:
        """Set (q, v) only: the lane restarts before its next step."""
        self._x[rows, : self._layout.nx] = states

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _restart_clock(self, rows: Rows, count: float, h: float) -> None:
        """Count steps of length h from the current time."""
        layout = self._layout
        self._x[rows, layout.count] = count
        self._p[rows, layout.step], self._p[rows, layout.origin] = h, self._x[rows, layout.time]

    def _recompile_if_unequal(self, numbers: Array) -> None:
        """Compile again without those shared parameters whose values are no longer equal."""
        pairs = self._rollout_loop.shared_parameters
        # By their bits: 0.0 and -0.0 are equal, and quotients of them are not.
        equal = tuple(pair for pair in pairs if numbers[:, pair[0]].tobytes() == numbers[:, pair[1]].tobytes())
        if equal != pairs:
            self._rollout_loop = replace(self._rollout_loop, shared_parameters=equal)
            compiled = self._rollout_loop.compile(self._compiled.lanes)
            if isinstance(compiled, str):
                raise BridgeError(f"the loop cannot be compiled for these parameters: {compiled}")
            self._compiled = compiled

    def _run(self, rows: Rows, h: float, room: Sequence[Array]) -> None:
        for name, value in (("s", -np.inf), ("d", np.inf)):
            self._x[rows, self._layout.block(name)] = value
        lanes = self._compiled.lanes

        def run(some: Rows) -> None:
            self._compiled.run(some, 0, 0.0, h, self._x, self._p, room, self._z)

        if self._pool is None or len(rows) < 2 * lanes * self._threads:
            run(rows)
            return
        share = -(-len(rows) // (lanes * self._threads)) * lanes
        list(self._pool.map(run, [rows[i : i + share] for i in range(0, len(rows), share)]))

    def _period(self, rows: Rows, n: int, h: float) -> PeriodSteps:
        # A slice for all lanes avoids a copy.
        layout, at = self._layout, slice(None) if len(rows) == len(self._x) else rows
        x, recorded = self._x[at], self._recorded[at, :n]
        signals = {name: recorded[:, :, index] for name, index in layout.slices.items()}
        # Step by step, so that the sum does not depend on the number of lanes.
        reward = np.zeros(len(rows))
        if signals["rate"].shape[2]:
            for i in range(n):
                reward += signals["rate"][:, i, 0]
        s, d = x[:, layout.block("s")], x[:, layout.block("d")]
        return PeriodSteps(
            StepSignals(*(signals[name] for name in RECORDED[:-1])),
            reward * h,
            x[:, : layout.nx].copy(),
            x[:, layout.block("y")].copy(),
            s[:, 0].copy() if s.shape[1] else np.full(len(rows), -np.inf),
            d[:, 0].copy() if d.shape[1] else np.full(len(rows), np.inf),
        )


def _rebuilt_lanes(
    task: EnvironmentTask, shared: tuple[tuple[int, int], ...], width: int, lanes: int, threads: int
) -> CompiledLanes:
    built = build_lane_rollout(task)
    assert built is not None
    rollout_loop = replace(built[0], shared_parameters=shared)
    compiled = rollout_loop.compile(width)
    if isinstance(compiled, str):
        raise BridgeError(f"the environment of a pickle cannot be compiled here: {compiled}")
    return CompiledLanes(task, rollout_loop, built[1], compiled, lanes, threads)
