"""Bounded inputs: the decision at each tick of ``realization="bounded"``, its memory and its messages."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints.solvability import REMAINDER, row_remainders
from ...symbolic.codegen.lexicographic import LexicographicInfo
from ...symbolic.errors import ModelError, NotConvergedError, NotFiniteError
from ...symbolic.validation import finite_time, read_only_copy
from ..law import Fields, Law, LawMemory, select
from ..multipliers.method import ACCURATE, MultiplierMethod
from ..program.program import Program
from ..status import Status
from .compiled_decision import CompiledDecision, Decision
from .control_limits import ControlLimits
from .lexicographic import BoundedProblemData, LexicographicSolution, LexicographicSolver, priority_groups
from .problem import BoundedProblem
from .quadratic_program import ConicSolver, QpSolver
from .static_holding import RestEquilibria, StaticHolding

Array = NDArray[np.float64]


class BoundedOutcome(NamedTuple):
    """The decision of one tick.

    Attributes:
        input: u, shape (nu,).
        status: OK, LIMITED or HELD.
        missed: residual of the program, Θ a − β, in the unit of each row, 0 for rounding, shape (m,).
        beyond: excess of each limit row, in its unit, shape (l,); that of |p̈| over its bound at one row of a point.
        short: excess of the power of each input, and of their sum, shape (nu + 1,) [W].
        failed: level at which the solver failed, and its message; empty if it did not fail.
        pressing: True for each limit row that prevents a better solution of the program, shape (l,); None if no
            programme was needed.
        found: solution that the next tick may start from, of a solver that uses one.
    """

    input: Array
    status: Status
    missed: Array
    beyond: Array
    short: Array
    failed: str = ""
    pressing: NDArray[np.bool_] | None = None
    found: LexicographicSolution | None = None


@dataclass(frozen=True, eq=False)
class BoundedSample:
    """A sample of the motion, and the decision at it.

    Attributes:
        t: time [s].
        input: u that was decided, shape (nu,).
        place: q, v and p; None if only time and input are known.
        outcome: decision of the tick, if the place is known.
    """

    t: float
    input: Array
    place: tuple[Array, Array, Array] | None = None
    outcome: BoundedOutcome | None = None

    def known(self, t: float, q: Array, v: Array, p: Array) -> BoundedOutcome | None:
        """Return the decision if the sample is at this time, state and parameters.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
        """
        if t != self.t or self.place is None:
            return None
        return self.outcome if all((a == b).all() for a, b in zip(self.place, (q, v, p), strict=True)) else None


@dataclass(frozen=True, eq=False)
class BoundedMemory:
    """The last two samples: at the last one, rate limits start from the input of the one before.

    Attributes:
        before: the sample before the last, if there is one.
        last: the last sample, if there is one.
    """

    before: BoundedSample | None = None
    last: BoundedSample | None = None

    def anchor(self, t: float) -> BoundedSample | None:
        """Return the sample from whose input rate limits start at a time.

        Args:
            t: time [s].
        """
        t = finite_time("t", t)
        return self.last if self.last is not None and t > self.last.t else self.before

    @classmethod
    def layout(cls, inputs: int) -> Fields:
        """Return the parts of the memory as a column.

        Args:
            inputs: number of inputs.
        """
        return Fields({f"{which}_{part}": inputs if part == "input" else 1 for which in SAMPLES for part in PARTS})

    @classmethod
    def restore(cls, numbers: Mapping[str, Array]) -> BoundedMemory:
        """Return the memory of the parts of a column.

        Args:
            numbers: the parts.
        """
        return cls(
            *(
                BoundedSample(float(numbers[f"{which}_time"][0]), read_only_copy(numbers[f"{which}_input"]))
                if numbers[f"{which}_known"][0]
                else None
                for which in SAMPLES
            )
        )


SAMPLES, PARTS = ("before", "last"), ("input", "time", "known")
REACHED = 1e-9
"""Share of a bound within which an input counts as at the bound."""


def describe_limits(
    program: Program, limits: ControlLimits, rows: tuple[str, ...], accelerations: int, outcome: BoundedOutcome
) -> str:
    """Return a text on the rows that are missed, by how much, and the inputs at their bounds.

    Args:
        program: the program.
        limits: the limits.
        rows: names of the limit rows.
        accelerations: index of the first limit row that bounds an acceleration.
        outcome: decision of the tick.
    """
    robot = program.robot
    parts: list[str] = []
    if outcome.status is Status.HELD:
        parts.append(f"The solver failed on {outcome.failed}: the last input is held, within its bounds.")
    elif outcome.failed:
        parts.append(f"The solver failed on {outcome.failed}: the input satisfies the earlier levels only.")
    named = [
        f"{row!r} by {missed:.6g}"
        for row, missed in zip(program.rows, outcome.missed.tolist(), strict=True)
        if missed != 0.0
    ]
    if named:
        parts.append(f"Rows of the program are missed: {', '.join(named)}.")
    excess = [
        f"{name} by {value:.6g}" if value != 0.0 else ""
        for name, value in zip(rows, outcome.beyond.tolist(), strict=True)
    ]
    if beyond := list(filter(None, excess[:accelerations])):
        parts.append(
            f"The inputs are too weak to keep these limits, which are exceeded in acceleration: {', '.join(beyond)}."
        )
    if beyond := list(filter(None, excess[accelerations:])):
        parts.append(
            f"Bounds of inputs, positions and speeds come first and require more: {', '.join(beyond)}. A lower "
            "approach=, lower speeds or a slower motion prevent it."
        )
    names = (*(f"power of {name}" for name in robot.input_names), "total power")
    short = [f"{name} by {w:.6g} W" for name, w in zip(names, outcome.short.tolist(), strict=True) if w != 0.0]
    if short:
        parts.append(f"Rate and bounds of the inputs prevent power from falling in time: {', '.join(short)}.")
    pressing = []
    if outcome.pressing is not None:
        pressing = np.flatnonzero(outcome.pressing & (outcome.beyond == 0.0)).tolist()
    if pressing:
        parts.append(f"At their limit: {', '.join(dict.fromkeys(rows[i] for i in pressing))}.")
    full = np.where(outcome.input < 0.0, limits.lower, limits.upper)
    at_bound = [
        f"{name} ({value:.6g} {unit})".replace(" )", ")")
        for name, value, bound, unit in zip(
            robot.input_names, outcome.input.tolist(), full.tolist(), robot.input_units, strict=True
        )
        if np.isfinite(bound) and abs(value - bound) <= REACHED * abs(bound)
    ]
    if at_bound:
        parts.append(f"At their bound: {', '.join(at_bound)}.")
    return " ".join(parts)


EXACT = 1e-9
"""Relative residual up to which the input without limits counts as satisfying a row."""
MISSED = 1e-7
"""A row is reported as missed from this share of its terms,"""
ROUNDING = 1e-8
"""and from this residual, in m/s² or rad/s²."""


class BoundedInputs:
    """Solver for the inputs at each tick, under limits.

    With a C compiler, and unless another solver is given, a tick is one call of machine code
    (:class:`~erugin.controllers.bounded.compiled_decision.CompiledDecision`); otherwise the levels of the programme are
    solved one by one, in Python, with the same results.

    Attributes:
        program: the program that is realised.
        limits: the limits.
    """

    def __init__(
        self,
        program: Program,
        method: MultiplierMethod,
        limits: ControlLimits | None,
        priorities: Iterable[str | Iterable[str]] | None,
        solver: QpSolver | None,
    ) -> None:
        """Check the arguments and build the problem.

        Args:
            program: the program to realise.
            method: method that solves for the multipliers where no limit is reached.
            limits: limits of inputs, power and joints; those of the robot if not given.
            priorities: groups of names of constraints, the highest first; all are equal if not given.
            solver: solver of the quadratic programmes of the levels, in place of the compiled programme.

        Raises:
            ModelError: for invalid limits, priorities or solver, a robot without inputs, or rows nonlinear in the
                accelerations.
        """
        robot = program.robot
        if not program.is_affine:
            rows = ", ".join(repr(row) for row, ok in zip(program.rows, program.affine, strict=True) if not ok)
            raise ModelError(
                f"realization='bounded' requires rows affine in the accelerations, which {rows} is not: use "
                "'actuated', or write the row with its accelerations linear"
            )
        if robot.u.numel() == 0:
            raise ModelError(f"{robot.name} has no inputs to bound: use realization='ideal'")
        if limits is not None and not isinstance(limits, ControlLimits):
            raise ModelError(f"limits must be ControlLimits such as ControlLimits.of(robot, effort=…), got {limits!r}")
        if solver is not None and not isinstance(solver, QpSolver):
            raise ModelError(f"solver must be a QpSolver such as ConicSolver(), got {solver!r}")
        self.program, self.limits = program, limits or ControlLimits.of(robot)
        self.limits.require_sizes(robot)
        self._at_rest = RestEquilibria(robot, program.parameters, self.limits)
        groups = priority_groups(program, priorities)
        self._is_own, self._solver = solver is not None, solver or ConicSolver()
        self._problem = BoundedProblem(program, method, self.limits)
        self._levels = LexicographicSolver(self._solver, groups, self._problem.levels)
        self._sizes = self._problem.sizes(groups)
        self._none_to_hold = read_only_copy(np.full(robot.u.numel(), math.nan))
        self._none_missed = read_only_copy(np.zeros(len(program.rows)))
        self._none_beyond = read_only_copy(np.zeros(len(self._problem.rows)))
        self._none_short = read_only_copy(np.zeros(robot.u.numel() + 1))
        self._rates = np.flatnonzero(np.isfinite(self.limits.rate))
        self._programme = self._problem.programme(groups)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without machine code, which is made again where a pickle is read."""
        return {key: value for key, value in self.__dict__.items() if key != "_compiled"}

    def sampled_law(self, law: Law) -> Law | None:
        """Return a law with these inputs and their memory as expressions, or None if they are decided in Python.

        Where the programme fails and there is no input to hold, the output is NaN and the memory stays.

        Args:
            law: rows of the program.
        """
        if self._is_own or isinstance(self._programme.load(), str):
            return None
        t, nu, limits = self.program.robot.coordinates.t, self.program.robot.u.numel(), self.limits
        fields = BoundedMemory.layout(nu)
        z = ca.SX.sym("bounded", len(fields))
        m = fields.split(z)
        later = ca.logic_and(m["last_known"], t > m["last_time"])
        u, since, known = (select(later, m[f"last_{part}"], m[f"before_{part}"]) for part in PARTS)
        low, high = ca.SX(limits.lower), ca.SX(limits.upper)
        for i in self._rates.tolist():
            change = float(limits.rate[i]) * ca.fmax(t - since, 0)
            low[i] = select(known, ca.fmax(low[i], u[i] - change), low[i])
            high[i] = select(known, ca.fmin(high[i], u[i] + change), high[i])
        hold = select(known, u, ca.SX(np.full(nu, math.nan)))
        found = self._problem.decision(self._programme, low, high, hold)
        status = found["info"][LexicographicInfo._fields.index("status")]
        after = dict(zip(fields.sizes, (u, since, known, found["u"], t, ca.SX(1)), strict=True))
        memory = LawMemory(
            z,
            np.zeros(len(fields)),
            fields.join(after),
            restore=lambda numbers: BoundedMemory.restore(fields.numbers(numbers)),
        )
        return replace(law, output=found["u"], status=status, memory=memory).where_safe()

    def advanced(self, memory: object, t: float, q: Array, v: Array, p: Array) -> BoundedMemory:
        """Return the memory after one more sample.

        Args:
            memory: memory before the sample.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, whole vector.
        """
        before = _samples(memory).anchor(t)
        outcome = self._decide(t, q, v, p, before)
        return BoundedMemory(before, BoundedSample(t, outcome.input, (q, v, p), outcome))

    def decide(self, memory: object, t: float, q: Array, v: Array, p: Array) -> BoundedOutcome:
        """Return the inputs at one tick; a pure function of its arguments.

        Args:
            memory: memory of the samples so far.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, whole vector.

        Raises:
            NotFiniteError: if a number of the model is not finite.
            NotConvergedError: if the solver fails and no input has been applied before.
        """
        samples = _samples(memory)
        known = None if samples.last is None else samples.last.known(t, q, v, p)
        return self._decide(t, q, v, p, samples.anchor(t)) if known is None else known

    def message(self, outcome: BoundedOutcome, t: float, q: Array, v: Array, p: Array) -> str:
        """Return what was missed at a tick, by how much, and what to try.

        Args:
            outcome: decision of the tick.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, whole vector.
        """
        if outcome.status is Status.OK:
            return outcome.status.sentence
        holding = self.holding(t, q, p)
        problem = self._problem
        limits = describe_limits(self.program, self.limits, problem.rows, problem.accelerations, outcome)
        return " ".join(filter(None, (limits, "" if holding.possible else holding.message, outcome.status.sentence)))

    def holding(self, t: float, q: Array, p: Array) -> StaticHolding:
        """Check if the inputs can hold the robot at rest.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            p: parameters, whole vector.
        """
        return self._at_rest.holding(t, q, p)

    def _decide(self, t: float, q: Array, v: Array, p: Array, before: BoundedSample | None) -> BoundedOutcome:
        low, high = self.limits.lower, self.limits.upper
        if before is not None and self._rates.size:
            i, low, high = self._rates, low.copy(), high.copy()
            change = self.limits.rate[i] * max(t - before.t, 0.0)
            low[i] = np.maximum(low[i], before.input[i] - change)
            high[i] = np.minimum(high[i], before.input[i] + change)
        if self._compiled is not None:
            hold = self._none_to_hold if before is None else before.input
            return self._outcome(t, self._compiled(t, q, v, p, low, high, hold))
        u, fit = self._problem.quick(t, q, v, p, low, high)
        if fit[0] <= 0.0 and fit[1] <= EXACT and fit[2] <= EXACT and fit[3] <= 0.0 and np.isfinite(u).all():
            return BoundedOutcome(read_only_copy(u), Status.OK, self._none_missed, self._none_beyond, self._none_short)
        tick = self._problem.whole(t, q, v, p, low, high)
        if not math.isfinite(tick.total[0]):
            raise NotFiniteError(f"at t = {t:g}: {Status.NOT_FINITE.sentence}")
        earlier = None if before is None or before.outcome is None else before.outcome.found
        found = self._levels.solve(tick, earlier)
        if found.x is None:
            return self._held(t, tick, before, found.failed)
        u = np.minimum(np.maximum(tick.scale * found.x, tick.low), tick.high)
        failed = f"{found.failed} ({self._word})" if found.failed else ""
        # Rows that nearly depend on others are satisfied to a solver's tolerance by many inputs.
        missed = self._none_missed if found.reached and fit[2] < math.inf else self._missed(tick, u)
        beyond = self._beyond(tick, u) if found.relaxed else self._none_beyond
        reached = missed is self._none_missed or not missed.any()
        if reached and not found.reached:
            found = replace(found, reached=True)
        fine = reached and not failed and not (found.relaxed and beyond.any()) and fit[3] <= 0.0
        status = Status.OK if fine else Status.LIMITED
        short = read_only_copy(tick.short)
        return BoundedOutcome(read_only_copy(u), status, missed, beyond, short, failed, found.pressing, found)

    @functools.cached_property
    def _compiled(self) -> CompiledDecision | None:
        if self._is_own or isinstance(self._programme.load(), str):
            return None
        return self._problem.compiled_decision(self._programme)

    def _outcome(self, t: float, found: Decision) -> BoundedOutcome:
        """Return the outcome of a compiled decision, with words for what went wrong."""
        info = found.info
        if not info.used:
            return BoundedOutcome(found.u, Status.OK, self._none_missed, self._none_beyond, self._none_short)
        status = Status(int(info.status))
        if status is Status.NOT_FINITE:
            raise NotFiniteError(f"at t = {t:g}: {Status.NOT_FINITE.sentence}")
        failed = ""
        if info.failed >= 0:
            failed = f"{self._sizes.level(int(info.failed))} ({info.reason})"
        if status is Status.NOT_CONVERGED:
            raise NotConvergedError(_nothing_to_hold(t, failed))
        pressing = None if status is Status.HELD else found.pressing != 0.0
        return BoundedOutcome(found.u, status, found.missed, found.beyond, found.short, failed, pressing)

    def _held(self, t: float, tick: BoundedProblemData, before: BoundedSample | None, failed: str) -> BoundedOutcome:
        what = f"{failed} ({self._word})"
        if before is None:
            raise NotConvergedError(_nothing_to_hold(t, what))
        u = np.clip(before.input, tick.low, tick.high)
        missed, beyond = self._missed(tick, u), self._beyond(tick, u)
        return BoundedOutcome(read_only_copy(u), Status.HELD, missed, beyond, read_only_copy(tick.short), what)

    @property
    def _word(self) -> str:
        return self._solver.word or "the solver's answer does not satisfy the conditions of optimality"

    def _missed(self, tick: BoundedProblemData, u: Array) -> Array:
        """Return the residual of the program, in its units; 0 for rounding."""
        x = u / tick.scale
        rest = tick.gain @ x - tick.right
        size = np.abs(tick.gain) @ np.abs(x) + np.abs(tick.right)
        large = np.abs(rest) > MISSED * size + ROUNDING * tick.gain_scale
        # The remainder of a row beside satisfied ones must be satisfied to a share of itself, or the motion differs.
        beside, left = row_remainders(tick.gain * ~large[:, None], rest * ~large)
        near = np.abs(beside) > left * (ACCURATE * size + ROUNDING * tick.gain_scale)
        return read_only_copy(np.where(large | (near & (left > REMAINDER)), rest / tick.gain_scale, 0.0))

    def _beyond(self, tick: BoundedProblemData, u: Array) -> Array:
        """Return the excess of the limit rows, in their units; 0 for rounding."""
        x = u / tick.scale
        value = tick.rows @ x
        over = np.maximum(np.maximum(tick.least - value, value - tick.most), 0.0) / tick.row_scale
        size = (np.abs(tick.rows) @ np.abs(x)) / tick.row_scale
        over = np.where(over > MISSED * size + ROUNDING, over, 0.0)
        for point in self._problem.points:
            # The sphere counts, not the polyhedron inside it.
            rows = point.rows
            along = (value[rows] - 0.5 * (tick.least[rows] + tick.most[rows])) / tick.row_scale[rows]
            excess = float(np.linalg.norm(np.linalg.lstsq(point.normals, along)[0])) - point.bound
            worst = rows[np.argmax(over[rows])]
            found = excess if over[worst] > 0.0 and excess > MISSED * size[rows].max() + ROUNDING else 0.0
            over[rows] = 0.0
            over[worst] = found
        return read_only_copy(over)


def _nothing_to_hold(t: float, what: str) -> str:
    return (
        f"at t = {t:g}: no input was found for {what}, and there is no earlier input to hold: start from a "
        "state that the limits allow, or use another solver, such as ConicSolver('qrqp')"
    )


def _samples(memory: object) -> BoundedMemory:
    return memory if isinstance(memory, BoundedMemory) else BoundedMemory()
