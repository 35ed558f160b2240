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

from ...simulation.closed_loop import SymbolicLoop, Symbols
from ...simulation.initial_conditions import InitialConditions
from ...simulation.natural_rank import NATURAL, natural_pivots
from ...symbolic.compiled_rollout import CompiledRollout, RolloutLoop
from ...symbolic.errors import BridgeError
from .episode_termination import StepSignals
from .rollout import PeriodSteps, Rows, Stepper, checks_natural_rows
from .task import EnvironmentTask

RECORDED = ("output", "pivots", "relative", "active", "natural", "natural_relative", "rate")
"""What is recorded at the start of each step, in this order."""


@dataclass(frozen=True, eq=False)
class StateLayout:
    """Where things are in a lane's state and parameters.

    The state of the compiled loop is (q, v, k, t, w, y, s, d): k counts steps, t = t₀ + k h is the lane's own time, w
    is what of the law is held over a period, y the observation, s the stop condition and d the clearance. All but q, v
    and t rest during a step; the correction behind it sets them.

    Attributes:
        nx: numbers of (q, v).
        sizes: numbers of w, y, s and d.
        told: numbers of each of :data:`RECORDED`.
        parameters: numbers of the plant's and the law's parameters, which h, t₀ and the action follow.
    """

    nx: int
    sizes: tuple[int, int, int, int]
    told: tuple[int, ...]
    parameters: int

    @property
    def count(self) -> int:
        """Place of k in the state."""
        return self.nx

    @property
    def time(self) -> int:
        """Place of t in the state."""
        return self.nx + 1

    @property
    def step(self) -> int:
        """Place of h among the parameters."""
        return self.parameters

    @property
    def origin(self) -> int:
        """Place of t₀ among the parameters."""
        return self.parameters + 1

    @property
    def action(self) -> slice:
        """Places of the action among the parameters."""
        return slice(self.parameters + 2, None)

    @functools.cached_property
    def places(self) -> dict[str, slice]:
        """Where each of :data:`RECORDED` is in what is recorded."""
        ends: list[int] = np.cumsum([0, *self.told]).tolist()
        return {name: slice(*pair) for name, pair in zip(RECORDED, itertools.pairwise(ends), strict=True)}

    def part(self, name: str) -> slice:
        """Place of w, y, s or d in the state.

        Args:
            name: its letter.
        """
        i = "wysd".index(name)
        first = self.nx + 2 + sum(self.sizes[:i])
        return slice(first, first + self.sizes[i])


def build_lane_rollout(task: EnvironmentTask) -> tuple[RolloutLoop, StateLayout] | None:
    """The loop over the steps of a task; None for a law or a method that has no such.

    Args:
        task: what is to be advanced.
    """
    base, robot = task.base, task.setup.robot
    if base is not None and base.law is None:
        return None
    loop = SymbolicLoop(robot, base, None, metrics=ca.SX(0, 1))
    t, x, own = loop.symbols.t, loop.symbols.x, ca.vertcat(robot.p, task.controller_p)
    h, t0, action = ca.SX.sym("h"), ca.SX.sym("t0"), ca.SX.sym("action", len(task.low))
    names = ("output", "pivots", "relative_pivots", "active")
    law: list[ca.SX] = [
        ca.densify(ca.substitute(loop.outputs[name], loop.symbols.p, _loop_parameters(loop, own))) for name in names
    ]
    if base is None:
        law[0] = ca.SX.zeros(action.numel())
    held = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym("held", each.numel()) for each in law)) if task.hold else ca.SX(0, 1)
    ends: list[int] = np.cumsum([0, *(each.numel() for each in law)]).tolist()
    used = ca.vertsplit(held, ends) if task.hold else law
    output = used[0] + action
    force = output if task.forces else robot.input_matrix @ output
    p = ca.vertcat(own, h, t0, action)
    moved = copy.copy(loop)
    # What is held counts as parameters until it has its place in the state.
    moved.symbols = Symbols(t, x, ca.vertcat(p, held))
    moved.rate = ca.vertcat(robot.coordinates.N @ robot.v, robot.acceleration_under(force)[0])
    moved.outputs = {}
    core = task.integrator.march(moved)
    if core is None:
        return None
    natural = natural_pivots(robot, checks_natural_rows(task))
    rate = ca.substitute(task.rate, task.output, output)
    told = [output, *used[1:], *(natural[key] for key in NATURAL), rate]
    lane = _LaneLoop(task, t, x, held, core)
    values = [lane.at_own_time(each) for each in told]
    # What is varied of the plant alone, or of the law alone, differs between the two.
    apart = {name.partition(".")[2] for name in task.draws.randomization if name.startswith(("plant.", "law."))}
    twins = tuple(pair for pair in loop.shared_parameters if robot.parameters.names[pair[0]] not in apart)
    march = RolloutLoop(
        *(core.t, lane.state, p, lane.rate()),
        {"told": ca.vertcat(*map(ca.densify, values))},
        lane.corrected(ca.vertcat(*law), h, t0),
        core.tableau,
        twins,
    )
    sizes = (held.numel(), task.seen.numel(), task.stop.numel(), task.clearance.numel())
    layout = StateLayout(x.numel(), sizes, tuple(each.numel() for each in told), own.numel())
    return march, layout


def _loop_parameters(loop: SymbolicLoop, own: ca.SX) -> ca.SX:
    """As many of the parameters as the loop has: without a law in it, the plant's."""
    return own[: loop.symbols.p.numel()]


class _LaneLoop:
    """The state of a lane and what becomes of it."""

    def __init__(self, task: EnvironmentTask, t: ca.SX, x: ca.SX, held: ca.SX, core: RolloutLoop) -> None:
        self._task, self._t, self._x, self._held, self._core = task, t, x, held, core
        self._k, self._time = ca.SX.sym("k"), ca.SX.sym("time")
        y, s, d = (ca.SX.sym(*each) for each in (("y", task.seen.numel()), ("s", task.stop.numel()),
                                                ("d", task.clearance.numel())))  # fmt: skip
        self._s, self._d = s, d
        self.state = ca.vertcat(x, self._k, self._time, held, y, s, d)

    def at_own_time(self, expression: ca.SX, time: ca.SX | None = None) -> ca.SX:
        return ca.substitute(expression, self._t, self._time if time is None else time)

    def rate(self) -> ca.SX:
        moving = self.at_own_time(self._core.rate)
        rest = self.state.numel() - self._x.numel() - 2
        return ca.vertcat(moving, 0.0, 1.0, ca.SX.zeros(rest))

    def corrected(self, law: ca.SX, h: ca.SX, t0: ca.SX) -> ca.SX:
        """What follows a step; ``law`` is what is held, at the state behind the step."""
        task, x = self._task, self._x
        k = self._k + 1.0
        time = t0 + k * h
        after = x if self._core.correction is None else self.at_own_time(self._core.correction, time)

        def there(expression: ca.SX) -> ca.SX:
            moved = self.at_own_time(expression, time)
            return moved if self._core.correction is None else ca.substitute(moved, x, after)

        held = self._held
        if held.numel():
            tick = ca.fmod(k, float(task.substeps)) == 0.0 if task.substeps > 1 else ca.SX(1)
            held = ca.if_else(tick, there(law), held)
        s, d = ca.fmax(self._s, there(task.stop)), ca.fmin(self._d, there(task.clearance))
        return ca.densify(ca.vertcat(after, k, time, held, there(task.seen), s, d))


Array = NDArray[np.float64]


class CompiledLanes(Stepper):
    """Lanes in vector instructions; one lane alone has the same bits."""

    def __init__(
        self,
        task: EnvironmentTask,
        march: RolloutLoop,
        layout: StateLayout,
        compiled: CompiledRollout,
        lanes: int,
        threads: int,
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
    def of(cls, task: EnvironmentTask, lanes: int, width: int, threads: int = 1) -> CompiledLanes | str:
        """Compile; or why that cannot be, as a clause.

        Args:
            task: whose lanes they are.
            lanes: how many.
            width: lanes of a vector: 1, or as many as the processor has.
            threads: that may be used.
        """
        built = build_lane_rollout(task)
        if built is None:
            law = task.base is not None and task.base.law is None
            who = f"{type(task.base).__name__} has no symbolic law" if law else (
                f"{type(task.integrator).__name__} has no compiled loop for this robot")  # fmt: skip
            return who
        march, layout = built
        compiled = march.compile(width)
        return compiled if isinstance(compiled, str) else cls(task, march, layout, compiled, lanes, threads)

    def begin(self, rows: Rows, starts: InitialConditions, t0: float) -> PeriodSteps:
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

    def go(self, rows: Rows, actions: Array) -> PeriodSteps:
        """As many steps as a period has."""
        self._p[rows, self._layout.action] = actions
        self._run(rows, self.task.h, [self._states, self._told])
        return self._period(rows, self.task.substeps, self.task.h)

    def steps(self, row: Rows, action: Array, n: int) -> PeriodSteps:
        """As in a whole period."""
        self._p[row, self._layout.action] = action
        self._run(row, self.task.h, [self._states[:, :n], self._told[:, :n]])
        return self._period(row, n, self.task.h)

    def part(self, row: Rows, action: Array, length: float) -> PeriodSteps:
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

    def restore(self, row: Rows, kept: tuple[Array, Array], place: int) -> None:
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
        pairs = self._march.shared_parameters
        # By their bits: 0.0 and -0.0 are equal, and quotients of them are not.
        equal = tuple(pair for pair in pairs if numbers[:, pair[0]].tobytes() == numbers[:, pair[1]].tobytes())
        if equal != pairs:
            self._march = replace(self._march, shared_parameters=equal)
            compiled = self._march.compile(self._compiled.lanes)
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

    def _period(self, rows: Rows, n: int, h: float) -> PeriodSteps:
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
        return PeriodSteps(
            StepSignals(*(told[name] for name in RECORDED[:-1])),
            paid * h,
            x[:, : layout.nx].copy(),
            x[:, layout.part("y")].copy(),
            s[:, 0].copy() if s.shape[1] else np.full(len(rows), -np.inf),
            d[:, 0].copy() if d.shape[1] else np.full(len(rows), np.inf),
        )
