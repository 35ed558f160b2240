"""The abstract wrappers of signals: changes of the measured state, of the output, or of both, as expressions."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.kernel import Kernel
from ...symbolic.validation import read_only_copy
from ..controller import Tick
from ..law import NOTHING, Fields, Law, LawMemory, is_finite, select
from ..sample_clock import elapsed
from ..status import Status
from .wrapper import Wrapper, WrapperMemory, evaluate_inside, law_inside, limited_tick, memory_inside

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Memory = dict[str, ca.SX]
"""Parts of a wrapper's memory, as expressions by name."""


class SignalWrapper(Wrapper[Array]):
    """u(t) = applied_output(t, c), c = law(t, measured_state(t, q, v)).

    A sample is first recorded, then processed by the law; then the command of the law just before and just after the
    sample is recorded. A sample that the law refuses still counts: clocks advance, and noise is drawn. One that is not
    finite is passed to the law and changes nothing here.

    A wrapper is written as expressions: around a symbolic law it is one, :meth:`sampled_law`; around a law that is
    called from Python its expressions are evaluated before and after each call.

    A wrapper that changes only one of the two signals is a
    :class:`~erugin.controllers.wrappers.signal_wrapper.SensorWrapper` or an
    :class:`~erugin.controllers.wrappers.signal_wrapper.ActuatorWrapper`.
    """

    needs_commands: ClassVar[bool] = False
    """True if the applied output depends on the commands of the law at samples."""

    random_numbers: int = 0
    """Size of the random numbers w of a sample."""

    def layout(self, capacity: int) -> Mapping[str, int]:
        """Return the size of each part of the memory, by name, beside ``count``, the number of samples.

        Args:
            capacity: number of past samples that the memory holds, if it holds any.
        """
        return {}

    def first(self, t: ca.SX, q: ca.SX, v: ca.SX) -> Mapping[str, ca.SX]:
        """Return the parts of the memory just before the first sample; zero if not given.

        Args:
            t: time of the first sample [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return {}

    def record_sample(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX, w: ca.SX) -> Mapping[str, ca.SX]:
        """Return the parts of the memory that a sample changes.

        Args:
            m: memory before it.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            w: random numbers of the sample, shape (r,).
        """
        return {}

    @abstractmethod
    def measured_state(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the state that the law measures, (q, v).

        Args:
            m: memory.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """

    def record_command(self, m: Memory, t: ca.SX, before: ca.SX, after: ca.SX) -> Mapping[str, ca.SX]:
        """Return the parts of the memory that change when the law has processed a sample.

        Args:
            m: memory.
            t: time [s].
            before: command of the law just before the sample, shape (n,).
            after: command of the law just after the sample, shape (n,).
        """
        return {}

    @abstractmethod
    def applied_output(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return the output that is applied, shape (n,).

        Args:
            m: memory.
            t: time [s].
            command: output of the law, shape (n,).
        """

    def limited(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return, for each output, what is not zero while it is limited; empty for a wrapper without limits.

        Args:
            m: memory.
            t: time [s].
            command: output of the law, shape (n,).
        """
        return NOTHING

    def limit_message(self, m: Mapping[str, Array], command: Array, output: Array, limited: Flags) -> str:
        """Return the sentence about outputs that are limited.

        Args:
            m: memory.
            command: output of the law, shape (n,).
            output: output that is applied, shape (n,).
            limited: True for those that are limited, shape (n,).
        """
        return ""

    def draw(self, index: int) -> Array:
        """Return the random numbers of a sample, shape (r,), a function of its index, so that a run can return to it.

        Args:
            index: number of samples before it that this wrapper has recorded.
        """
        return np.zeros(0)

    def passes_on(self, drawn: Array) -> Flags:
        """True for samples that reach the law as finite numbers, shape (n,).

        Args:
            drawn: random numbers of each sample, shape (n, r).
        """
        return np.ones(len(drawn), dtype=np.bool_)

    def capacity(self, period: float) -> int:
        """Return the number of past samples that the memory must hold.

        Args:
            period: time between samples [s].
        """
        return 0

    @property
    def depends_on_time(self) -> bool:
        """True if the times of the samples, of which the memory keeps the last as ``time``, must be in order."""
        return "time" in self.layout(1)

    @property
    def remembers(self) -> bool:
        """True if it has a memory beside that of the law inside."""
        return bool(self.layout(1)) or self.random_numbers > 0

    @property
    def is_random(self) -> bool:
        """True if it draws random numbers."""
        return self.random_numbers > 0

    def fields(self, capacity: int) -> Fields:
        """Return the layout of the memory as a column.

        Args:
            capacity: number of past samples that it holds.
        """
        return Fields({"count": 1, **self.layout(capacity)} if self.remembers else {})

    # As expressions.

    def sampled_law(self, period: float) -> Law | None:
        """Return the law with this wrapper as expressions; None if the law inside has none.

        Args:
            period: time between samples [s].
        """
        inner = law_inside(self.inner, period)
        return None if inner is None else self._around(inner, self.capacity(period))

    def _around(self, inner: Law, capacity: int) -> Law:
        fields, c = self.fields(capacity), self.robot.coordinates
        z, w = (ca.SX.sym(f"{type(self).__name__}_{n}", k) for n, k in (("z", len(fields)), ("w", self.random_numbers)))
        t, m, symbols = c.t, fields.split(z), ca.vertcat(c.q, c.v)
        shown = inner.at(symbols, self._seen(m), deviation=False)
        update = self._updated(fields, m, w, inner)
        finite = is_finite(shown.output)
        output = select(finite, self.applied_output(m, t, shown.output), ca.SX.nan(shown.output.numel(), 1))
        status, over = shown.status, self.limited(m, t, shown.output)
        if over.numel():
            own = int(Status.LIMITED) * ca.logic_and(finite, ca.sum1(over != 0) > 0)
            # The larger number is the more severe of OK, LIMITED and HELD.
            status = ca.fmax(own, status) if status.numel() else own
        memory = None
        if len(fields) or inner.memory is not None:
            memory = LawMemory(
                ca.vertcat(z, inner.z),
                np.concatenate([np.zeros(len(fields)), inner.initial]),
                ca.densify(update),
                ca.vertcat(w, inner.random),
                functools.partial(self._draw, inner),
                functools.partial(_restore, len(fields), inner),
            )
        return replace(shown, output=output, status=status, memory=memory)

    def _updated(self, fields: Fields, m: Memory, w: ca.SX, inner: Law) -> ca.SX:
        """Return the memory after a sample, that of the law inside included."""
        c = self.robot.coordinates
        t, symbols = c.t, ca.vertcat(c.q, c.v)
        finite, recorded = is_finite(symbols), self._recorded(fields, m, w)
        state = self._seen(recorded)
        inner_z, inside = inner.z, inner.updated
        if inner_z.numel():
            inside = inner.at(symbols, state).updated
        if self.needs_commands:
            old, new = ca.vertcat(symbols, inner_z), ca.vertcat(state, inside)
            after = ca.substitute(inner.output, old, new)
            before = after
            if inner_z.numel():
                just_before = ca.substitute(inner.output, symbols, self._seen(m))
                before = select(ca.logic_and(m["count"] > 0, is_finite(just_before)), just_before, after)
            commanded = recorded | dict(self.record_command(recorded, t, before, after))
            column = select(is_finite(after), fields.join(commanded), fields.join(recorded))
        else:
            column = fields.join(recorded)
        return ca.vertcat(select(finite, column, fields.join(m)), inside)

    def _seen(self, m: Memory) -> ca.SX:
        """Return the state that the law measures; one that is not finite reaches it as it is."""
        c = self.robot.coordinates
        state, measured = ca.vertcat(c.q, c.v), ca.vertcat(*self.measured_state(m, c.t, c.q, c.v))
        return measured if ca.is_equal(measured, state, 1) else select(is_finite(state), measured, state)

    def _recorded(self, fields: Fields, m: Memory, w: ca.SX) -> Memory:
        """Return the memory after a finite sample has been recorded."""
        if not len(fields):
            return m
        c = self.robot.coordinates
        started, first = m["count"] > 0, self.first(c.t, c.q, c.v)
        known = {
            name: select(started, part, ca.repmat(start := first.get(name, ca.SX(0)), part.numel() // start.numel(), 1))
            for name, part in m.items()
        }
        return known | dict(self.record_sample(known, c.t, c.q, c.v, w)) | {"count": m["count"] + 1}

    def _draw(self, inner: Law, times: Array, finite: Flags) -> Array:
        """Random numbers of this wrapper and of the law inside at all samples."""
        own = np.zeros((len(times), self.random_numbers))
        if self.random_numbers:
            own[finite] = [self.draw(index) for index in range(np.count_nonzero(finite))]
        return np.concatenate([own, inner.draw(times, finite & self.passes_on(own))], axis=1)

    # Around a law that is called from Python.

    @property
    def initial_memory(self) -> object | None:
        """Memory before the first sample, with that of the law inside; None if neither has one."""
        inner = self.inner.initial_memory
        if not self.remembers and inner is None:
            return None
        return WrapperMemory(np.zeros(len(self.fields(self.capacity(np.inf)))), inner)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the law inside at the measured state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: memory of the wrapper and of the law inside.
        """
        parts, inner_p = self.parts(memory), self._inner_parameters(p)
        after = None if memory is None else functools.partial(self._after, t, q, v, inner_p, parts)
        deviation = self.true_deviation(t, q, v, inner_p, parts.inner)
        z = np.zeros(0) if parts.outer is None else parts.outer
        if z.size and z[0] == 0.0:
            tick = Tick(np.full(self.size, np.nan), error=self.no_sample_error())
            return replace(tick, memory=after, deviation=deviation)
        known = bool(np.isfinite(q).all() and np.isfinite(v).all())
        state = self._measured(t, q, v, z) if known else (q, v)
        tick = evaluate_inside(self.inner, t, *state, inner_p, parts.inner)
        if parts.error is not None:
            tick = replace(tick, error=parts.error)
        if tick.error is None and np.isfinite(tick.output).all():
            tick = self._applied(tick, t, z)
        return replace(tick, memory=after, deviation=deviation)

    def _applied(self, tick: Tick, t: float, z: Array) -> Tick:
        """Return a tick of the law inside with the output that is applied, and the status LIMITED if it is limited."""
        self._check_order(t, z)
        output, over = map(np.atleast_1d, self._kernel("applied", len(z))(t, tick.output, z))
        limited = np.flatnonzero(over)
        if not limited.size:
            return replace(tick, output=output)

        def message() -> str:
            return self.limit_message(self.memory_layout(len(z)).numbers(z), tick.output, output, over != 0.0)

        return limited_tick(tick, output, message)

    def _after(self, t: float, q: Array, v: Array, p: Array, parts: WrapperMemory[Array]) -> WrapperMemory[Array]:
        """Return the memory after a sample."""
        z = np.zeros(0) if parts.outer is None else parts.outer
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            inner, error = memory_inside(self.inner, t, q, v, p, parts.inner)
            return WrapperMemory(z, inner, error)
        self._check_order(t, z)
        before = self._before(t, q, v, p, z, parts)
        if z.size:
            z = self.with_room(z, t)
            z = read_only_copy(np.atleast_1d(self._kernel("record", len(z))(t, q, v, z, self.draw(int(z[0])))[0]))
        state = self._measured(t, q, v, z)
        inner, error = memory_inside(self.inner, t, *state, p, parts.inner)
        if error is None and self.needs_commands:
            tick = evaluate_inside(self.inner, t, *state, p, inner)
            error = tick.error
            if error is None and np.isfinite(tick.output).all():
                command = tick.output if before is None else before
                z = read_only_copy(np.atleast_1d(self._kernel("command", len(z))(t, command, tick.output, z)[0]))
        return WrapperMemory(z, inner, error)

    def with_room(self, z: Array, t: float) -> Array:
        """Return the memory, with room for one more sample.

        Args:
            z: memory.
            t: time of the sample [s].
        """
        return z

    def _before(self, t: float, q: Array, v: Array, p: Array, z: Array, parts: WrapperMemory[Array]) -> Array | None:
        """Command of the law just before a sample; None if it is the same just after, or unknown."""
        if not self.needs_commands or not z.size or z[0] == 0.0 or parts.inner is None:
            return None
        # The law may have refused the previous sample, and must still process this one.
        tick = evaluate_inside(self.inner, t, *self._measured(t, q, v, z), p, parts.inner)
        return tick.output if tick.error is None and np.isfinite(tick.output).all() else None

    def _check_order(self, t: float, z: Array) -> None:
        """Raise ModelError for a time before the last sample, if that matters."""
        if self.depends_on_time and z.size and z[0] > 0.0:
            elapsed(type(self).__name__, float(self.memory_layout(len(z)).numbers(z)["time"][0]), t)

    def _measured(self, t: float, q: Array, v: Array, z: Array) -> tuple[Array, Array]:
        of_q, of_v = map(np.atleast_1d, self._kernel("measured", len(z))(t, q, v, z))
        return of_q, of_v

    def memory_layout(self, size: int) -> Fields:
        """Return the layout of a memory of a given size.

        Args:
            size: number of entries.
        """
        capacity = 0
        while len(fields := self.fields(capacity)) < size:
            capacity += 1
        return fields

    @functools.cached_property
    def _kernels(self) -> dict[tuple[str, int], Kernel]:
        return {}

    def _kernel(self, name: str, size: int) -> Kernel:
        """Kernel of one of the expressions, for memories of a given size."""
        key = name, size
        if key not in self._kernels:
            self._kernels[key] = self._build(name, self.memory_layout(size))
        return self._kernels[key]

    def _build(self, name: str, fields: Fields) -> Kernel:
        c, n = self.robot.coordinates, self.size
        z, w = ca.SX.sym("z", len(fields)), ca.SX.sym("w", self.random_numbers)
        before, after = ca.SX.sym("before", n), ca.SX.sym("after", n)
        m, state = fields.split(z), {"t": c.t, "q": c.q, "v": c.v, "z": z}
        if name == "measured":
            q, v = self.measured_state(m, c.t, c.q, c.v)
            return Kernel(name, state, {"q": q, "v": v}, compiled=False)
        if name == "record":
            return Kernel(name, {**state, "w": w}, {"z": fields.join(self._recorded(fields, m, w))}, compiled=False)
        if name == "applied":
            outputs = {"output": self.applied_output(m, c.t, after), "limited": self.limited(m, c.t, after)}
            return Kernel(name, {"t": c.t, "command": after, "z": z}, outputs, compiled=False)
        commanded = fields.join(m | dict(self.record_command(m, c.t, before, after)))
        inputs = {"t": c.t, "before": before, "after": after, "z": z}
        return Kernel(name, inputs, {"z": commanded}, compiled=False)


def _restore(size: int, inner: Law, z: Array) -> WrapperMemory[Array]:
    """Return the memory of a wrapper, which comes first, and of the law inside."""
    return WrapperMemory(read_only_copy(z[:size]), inner.restore(z[size:]))


class ActuatorWrapper(SignalWrapper):
    """u(t) = applied_output(t, law(t, q, v))."""

    def measured_state(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the true state.

        Args:
            m: memory.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return q, v

    def _measured(self, t: float, q: Array, v: Array, z: Array) -> tuple[Array, Array]:
        return q, v


class SensorWrapper(SignalWrapper):
    """u(t) = law(t, measured_state(t, q, v))."""

    def applied_output(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return the output of the law.

        Args:
            m: memory.
            t: time [s].
            command: output of the law, shape (n,).
        """
        return command

    def _applied(self, tick: Tick, t: float, z: Array) -> Tick:
        return tick
