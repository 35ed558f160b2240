"""A law with an estimate among its parameters, and the estimator that is fed with what the law applies."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.pickling import Picklable
from ..controller import Controller, Tick, memory_after
from ..law import Law, LawMemory, is_regular, select
from .disturbance_estimator import DisturbanceEstimator

Array = NDArray[np.float64]
ControllerT = TypeVar("ControllerT", bound=Controller)
"""The law inside."""


@dataclass(frozen=True, eq=False)
class EstimateMemory:
    """Memory of a law with an estimate.

    Attributes:
        numbers: memory of the estimator.
        inner: memory of the law inside.
    """

    numbers: Array
    inner: object | None


class Compensation(Picklable, Generic[ControllerT]):
    """A law that compensates for an estimate, with the estimator.

    Attributes:
        inner: the law, with the estimate among its parameters; its output is what is applied.
        estimator: the estimator.
        symbols: the estimate among the parameters of the law, shape (n,).
    """

    def __init__(
        self, inner: ControllerT, symbols: ca.SX, estimator: DisturbanceEstimator, *, after_sample: bool = False
    ) -> None:
        """Join law and estimator.

        Args:
            inner: the law.
            symbols: the estimate among the parameters of the law, shape (n,).
            estimator: the estimator.
            after_sample: True if the output at a sample requires the memory of the law after it, as with a delay.
        """
        self.inner, self.estimator, self.symbols, self._after_sample = inner, estimator, symbols, after_sample
        self._count = symbols.numel()
        self._place = inner.parameters.names.index(symbols[0].name()) if self._count else 0

    @property
    def initial_memory(self) -> EstimateMemory:
        """An estimate of zero, which starts at the first sample."""
        return EstimateMemory(self.estimator.initial, self.inner.initial_memory)

    def estimates(self, memory: object | None) -> Mapping[str, float]:
        """Return the estimate at the last sample, by name.

        Args:
            memory: the memory.
        """
        names = self.inner.parameters.names[self._place : self._place + self._count]
        return dict(zip(names, self.estimator.values(self.parts(memory).numbers).tolist(), strict=True))

    def sampled_law(self, inner: Law | None) -> Law | None:
        """Return the law as expressions; None if the law inside has none.

        A sample at which the law has no output, or rows depend on each other, is not recorded.

        Args:
            inner: the law inside as expressions.
        """
        if inner is None:
            return None
        estimator, c = self.estimator, self.inner.robot.coordinates
        z = ca.SX.sym("estimator_z", len(estimator.fields))
        m = estimator.fields.split(z)
        present = estimator.estimate(m)
        law = inner.at(self.symbols, present)
        sampled = law.after_sample() if self._after_sample and inner.memory is not None else law
        column = estimator.recorded(m, sampled.output)
        numbers = ca.vertcat(c.q, c.v, sampled.output, column)
        accepted = is_regular(numbers, sampled.relative_pivots, sampled.tolerance)
        update = select(accepted, column, z)
        if inner.memory is not None:
            estimate = select(accepted, estimator.fields.split(column)["estimate"], present)
            update = ca.vertcat(update, inner.at(self.symbols, estimate).updated)
        memory = LawMemory(
            ca.vertcat(z, inner.z),
            np.concatenate([np.zeros(len(estimator.fields)), inner.initial]),
            ca.densify(update),
            inner.random,
            inner.draw,
            functools.partial(self._restore, inner),
        )
        return replace(law, memory=memory)

    def _restore(self, inner: Law, z: Array) -> EstimateMemory:
        count = len(self.estimator.fields)
        inside = self.inner.initial_memory if inner.memory is None else inner.restore(z[count:])
        return EstimateMemory(z[:count].copy(), inside)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the law with the estimate at this state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector without the estimate.
            memory: memory of the last sample.
        """
        inside = self.whole(t, q, v, p, memory)
        tick = self.inner.evaluate(t, q, v, inside, self.parts(memory).inner)
        return replace(tick, memory=functools.partial(self._after, (t, q, v, p), inside, tick, self.parts(memory)))

    def _after(
        self, known: tuple[float, Array, Array, Array], inside: Array, tick: Tick, memory: EstimateMemory
    ) -> EstimateMemory:
        t, q, v, p = known
        inner, before = self.inner, memory.inner
        if self._after_sample and before is not None:
            tick = inner.evaluate(t, q, v, inside, memory_after(tick))
        numbers = None
        if tick.error is None and (tick.relative_pivots > inner.tolerance).all():
            numbers = self.estimator.advanced(*known, memory.numbers, tick.output)
        if before is not None:
            if numbers is not None:
                inside = self._with(p, self.estimator.values(numbers))
            before = memory_after(inner.evaluate(t, q, v, inside, before))
        return EstimateMemory(memory.numbers if numbers is None else numbers, before)

    def whole(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Array:
        """Return the parameters of the law inside at a state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector without the estimate.
            memory: memory of the last sample.
        """
        return self._with(p, self.estimator.present(t, q, v, p, self.parts(memory).numbers))

    def _with(self, p: Array, estimate: Array) -> Array:
        place, end = self._place, len(self.inner.parameters) - self._count
        return np.concatenate([p[:place], estimate, p[place:end]])

    @staticmethod
    def parts(memory: object | None) -> EstimateMemory:
        """Return the memory as its parts.

        Args:
            memory: the memory.
        """
        assert isinstance(memory, EstimateMemory)
        return memory
