"""Sample and hold: a law computed at ticks and held between them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import EruginError
from ...symbolic.validation import positive, read_only_copy
from ..controller import NOTHING, Controller, Tick
from ..law import Fields, Law, LawMemory, is_finite, select
from ..sample_clock import NEAR, SampleClock, ticks
from ..status import Status
from .wrapper import Wrapper, WrapperMemory, evaluate_inside, input_error, law_inside, memory_inside

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HoldMemory:
    """Memory of :class:`SampleAndHold`.

    Attributes:
        clock: times of the ticks.
        tick: tick of the law at the last tick of the clock.
    """

    clock: SampleClock
    tick: Tick


class SampleAndHold(Wrapper[HoldMemory]):
    """u(t) = law(t_k, q(t_k), v(t_k)) for t_k ≤ t < t_{k+1}, with t_k = t₀ + k T and t₀ the first sample.

    The law inside gets one sample per tick. If no sample of a simulation falls on a tick, the first one after it is
    used: choose a step that divides the period. A step longer than the period raises ModelError. An error of the law at
    a tick remains until the next tick.
    """

    def __init__(self, controller: Controller, period: float) -> None:
        """Sample a law.

        Args:
            controller: the controller inside, computed at ticks.
            period: sampling period T [s].

        Raises:
            ModelError: for a period that is not positive.
        """
        super().__init__(controller)
        self.period = positive("period", period)
        self.reset()

    def sampled_law(self, period: float) -> Law | None:
        """Return the held law as expressions; None if the law inside has none, or samples come less often than ticks.

        Args:
            period: time between samples [s].
        """
        inner = law_inside(self.inner, self.period)
        if inner is None or period > (1.0 + NEAR) * self.period:
            return None
        c = self.robot.coordinates
        held = {"output": inner.output, "pivots": inner.pivots, "relative": inner.relative_pivots}
        held |= {"active": inner.active, "status": inner.status}
        fields = Fields({"count": 1, "start": 1, "time": 1, "index": 1, **{k: e.numel() for k, e in held.items()}})
        z = ca.SX.sym("SampleAndHold_z", len(fields))
        m, finite, shown = fields.split(z), is_finite(ca.vertcat(c.q, c.v)), inner.after_sample()
        start = select(m["count"] > 0, m["start"], c.t)
        index = ca.fmax(m["index"], ca.floor(ticks(c.t - start, self.period)))
        due = ca.logic_or(m["count"] == 0, index > m["index"])
        missing = ca.SX.nan(inner.output.numel(), 1)
        new = {"output": shown.output, "pivots": shown.pivots}
        new |= {"relative": shown.relative_pivots, "active": shown.active, "status": shown.status}
        after = {name: select(due, new[name], m[name]) for name in held}
        after |= {"count": m["count"] + 1, "start": start, "time": c.t, "index": index}
        memory = LawMemory(
            ca.vertcat(z, inner.z),
            np.concatenate([np.zeros(len(fields)), inner.initial]),
            ca.vertcat(fields.join(after), select(due, inner.updated, inner.z)),
            inner.random,
            functools.partial(self._draw, inner),
            functools.partial(self._restore, fields, inner),
        )
        return replace(
            inner,
            output=select(finite, m["output"], missing),
            pivots=m["pivots"],
            relative_pivots=m["relative"],
            active=m["active"],
            status=m["status"],
            memory=memory,
        )

    def _draw(self, inner: Law, times: Array, finite: NDArray[np.bool_]) -> Array:
        """Random numbers of the law inside, which gets the samples at ticks only."""
        drawn = np.zeros((len(times), inner.random.numel()))
        if drawn.size:
            index = np.maximum.accumulate(np.floor(ticks(times - times[0], self.period)))
            due = np.concatenate([[True], index[1:] > index[:-1]])
            drawn[due] = inner.draw(times[due], finite[due])
        return drawn

    def _restore(self, fields: Fields, inner: Law, z: Array) -> WrapperMemory[HoldMemory]:
        m, inside = fields.numbers(z[: len(fields)]), inner.restore(z[len(fields) :])
        if m["count"][0] == 0.0:
            return WrapperMemory(None, inside)
        clock = SampleClock(float(m["start"][0]), float(m["time"][0]), int(m["index"][0]))
        status = Status(int(m["status"][0])) if m["status"].size else Status.OK
        tick = Tick(m["output"].copy(), m["pivots"].copy(), m["relative"].copy(), m["active"].copy(), status)
        return WrapperMemory(HoldMemory(clock, tick), inside)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Return the output of the law at the last tick; the law is evaluated for the memory after a tick only.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: memory of the wrapper and of the law inside.
        """
        parts = self.parts(memory)
        if parts.outer is None:
            tick = Tick(np.full(self.size, np.nan), error=self.no_sample_error())
        else:
            held = parts.outer.tick
            tick = replace(held, output=held.output.copy(), error=held.error or input_error(q, v))
        after = functools.partial(self._after, t, q, v, p, parts)
        return replace(tick, memory=after, deviation=self.true_deviation(t, q, v, p, parts.inner))

    def _after(
        self, t: float, q: Array, v: Array, p: Array, parts: WrapperMemory[HoldMemory]
    ) -> WrapperMemory[HoldMemory]:
        """Return the memory after a sample."""
        outer, owner = parts.outer, type(self).__name__
        clock = SampleClock(t, t) if outer is None else outer.clock.at(t, self.period, owner)
        if outer is not None and clock.index == outer.clock.index:
            return WrapperMemory(replace(outer, clock=clock), parts.inner)
        inner, error = memory_inside(self.inner, t, q, v, p, parts.inner)
        tick = evaluate_inside(self.inner, t, q, v, p, inner)
        failure = error or self.inner.failure(tick, t)
        # Neither functions nor the memory of the law, which is kept beside it.
        held = replace(
            tick,
            output=read_only_copy(tick.output),
            explanation=tick.message,
            deviation=NOTHING,
            memory=None,
            error=error or tick.error,
            check=functools.partial(_error, failure),
        )
        return WrapperMemory(HoldMemory(clock, held), inner)


def _error(error: EruginError | None) -> EruginError | None:
    """Return the error of the last tick."""
    return error
