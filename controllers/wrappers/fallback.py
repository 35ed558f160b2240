"""Fallback: a safe output where the controller inside fails."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import EruginError, ModelError, NotConvergedError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import read_only_copy, whole
from ..controller import Controller, Tick
from ..law import NOTHING, Fields, Law, LawMemory, select
from ..status import Status
from .wrapper import Wrapper, WrapperMemory, evaluate_inside, law_inside, memory_inside, terminal_error

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FallbackMemory:
    """Memory of :class:`Fallback`.

    Attributes:
        safe: last valid output of the law, shape (n,); None before the first.
        failures: number of consecutive samples at which the law failed.
        error: error of the law at the last sample; None without an error.
        spare: memory of the law that takes over.
    """

    safe: Array | None
    failures: int
    error: EruginError | None
    spare: object | None


ACTION_MESSAGES = {"hold": "The last safe output is held", "zero": "The output is zero"}


class Fallback(Wrapper[FallbackMemory]):
    """u = law(t, q, v), and where the law fails, the last safe output, zero, or the output of another law.

    A law fails by raising an EruginError, for dependent rows or NaN from a sensor for example, or by an output that is
    not finite. The status is then HELD and the message gives the reason, until the law accepts a sample again. A
    mistake in the call (a wrong shape, an unknown parameter) is raised in any case. Between samples, where an
    integrator tries states that the motion may never reach, a failure is bridged too, and reported if it persists at
    the next sample.

    Dependent rows no longer end a run: pivots are reported as 1. If there is no substitute, because no safe output has
    been applied yet or the other law fails as well, the error is raised; another Fallback around this one can hold the
    last output of this one.
    """

    def __init__(
        self,
        controller: Controller,
        on_failure: Literal["hold", "zero"] | Controller = "hold",
        *,
        patience: int | None = None,
    ) -> None:
        """Add a fallback to a law.

        Args:
            controller: the controller inside, whose failures are bridged.
            on_failure: ``"hold"``, the last safe output; ``"zero"``; or a law that takes over, for the same robot. Its
                parameters follow those of the first.
            patience: largest number of consecutive samples to bridge; unlimited if not given.

        Raises:
            ModelError: for something else, a law of another kind, or a patience that is not a whole number.
        """
        super().__init__(controller)
        if isinstance(on_failure, Controller):
            other = on_failure
            if other.robot is not self.robot or other.applies_force is not self.applies_force:
                output = {True: "forces", False: "inputs"}
                raise ModelError(
                    f"the law that takes over must be built for the same robot {self.robot.name} and return "
                    f"{output[self.applies_force]}, got one for {other.robot.name} that returns "
                    f"{output[other.applies_force]}"
                )
            if other is self.inner:
                raise ModelError("on_failure must be another law than the one that it replaces")
            self.parameters = Parameters.collect([self.parameters, other.parameters])
        elif on_failure not in ("hold", "zero"):
            raise ModelError(f"on_failure must be 'hold', 'zero' or a Controller, got {on_failure!r}")
        if patience is not None:
            patience = whole("patience", patience, 0)
        self.on_failure: Literal["hold", "zero"] | Controller = on_failure
        self.patience = patience
        self._spare = on_failure if isinstance(on_failure, Controller) else None
        names = () if self._spare is None else self._spare.parameters.names
        self._spare_indices = np.array([self.parameters.names.index(name) for name in names], dtype=np.intp)
        self.reset()

    @property
    def initial_memory(self) -> object | None:
        """Memory before the first sample, with those of both laws."""
        spare = None if self._spare is None else self._spare.initial_memory
        return WrapperMemory(FallbackMemory(None, 0, None, spare), self.inner.initial_memory)

    def reset(self) -> None:
        """Reset the memory of the wrapper and of both laws."""
        super().reset()
        if self._spare is not None:
            self._spare.reset()

    def show_memories(self) -> None:
        """Copy the memories of both laws into them."""
        super().show_memories()
        outer = self.parts(self.memory).outer
        if self._spare is not None and outer is not None:
            self._spare.memory = outer.spare

    def sampled_law(self, period: float) -> Law | None:
        """Return the law with its substitute as expressions; None if one of the laws has none.

        Args:
            period: time between samples [s].
        """
        inner = law_inside(self.inner, period)
        spare = Law(NOTHING) if self._spare is None else law_inside(self._spare, period)
        if inner is None or spare is None:
            return None
        c, n = self.robot.coordinates, self.size
        state = c.t, c.q, c.v
        fields = Fields({"count": 1, "safe": n, "is_safe": 1, "failures": 1, "ended": 1})
        z = ca.SX.sym("Fallback_z", len(fields))
        m, missing = fields.split(z), ca.SX.nan(n, 1)
        shown = inner.after_sample()
        regular = shown.is_regular(*state)
        failures = select(regular, ca.SX(0), m["failures"] + 1)
        after = {
            "count": m["count"] + 1,
            "safe": select(regular, shown.output, m["safe"]),
            "is_safe": ca.fmax(m["is_safe"], regular),
            "failures": failures,
            "ended": ca.SX(0) if self.patience is None else failures > self.patience,
        }
        accepted = ca.logic_and(m["failures"] == 0, inner.is_regular(*state))
        if self._spare is not None:
            substitute = select(spare.is_regular(*state), spare.output, missing)
        elif self.on_failure == "zero":
            substitute = ca.SX.zeros(n)
        else:
            substitute = select(m["is_safe"] > 0, m["safe"], missing)
        output = select(m["ended"] > 0, missing, select(accepted, inner.output, substitute))
        ones = ca.SX.ones(len(self.rows), 1)
        memory = LawMemory(
            ca.vertcat(z, inner.z, spare.z),
            np.concatenate([np.zeros(len(fields)), inner.initial, spare.initial]),
            ca.vertcat(fields.join(after), inner.updated, spare.updated),
            ca.vertcat(inner.random, spare.random),
            lambda times, finite: np.concatenate([inner.draw(times, finite), spare.draw(times, finite)], axis=1),
            functools.partial(self._restore, fields, inner, spare),
        )
        status = inner.status if inner.status.numel() else ca.SX(int(Status.OK))
        return replace(
            inner,
            output=output,
            pivots=ones,
            relative_pivots=ones,
            active=select(accepted, inner.active, ca.SX.ones(inner.active.numel(), 1)),
            status=select(accepted, status, ca.SX(int(Status.HELD))),
            memory=memory,
        )

    def _restore(self, fields: Fields, inner: Law, spare: Law, z: Array) -> WrapperMemory[FallbackMemory]:
        m, rest = fields.numbers(z[: len(fields)]), z[len(fields) :]
        size = inner.z.numel()
        safe = read_only_copy(m["safe"]) if m["is_safe"][0] > 0.0 else None
        failed = NotConvergedError("the law failed at the last sample") if m["failures"][0] > 0.0 else None
        memory = FallbackMemory(safe, int(m["failures"][0]), failed, spare.restore(rest[size:]))
        return WrapperMemory(memory, inner.restore(rest[:size]), failed if m["ended"][0] > 0.0 else None)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the law inside, or its substitute.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: memory of the wrapper and of both laws.
        """
        parts, inner_p = self.parts(memory), self._inner_parameters(p)
        after = functools.partial(self._after, t, q, v, p, parts)
        deviation = self.true_deviation(t, q, v, inner_p, parts.inner)
        outer = self._outer(parts)
        if parts.error is not None:
            return Tick(np.full(self.size, np.nan), memory=after, error=parts.error)
        ones, on = np.ones(len(self.rows)), np.ones(len(self.rows) if self.switches else 0)
        error = outer.error
        if error is None:
            tick, error = self._checked(self.inner, t, q, v, inner_p, parts.inner)
            if error is None:
                return replace(tick, pivots=ones, relative_pivots=ones, memory=after, deviation=deviation, check=None)
        output, message, failed = self._substitute(outer, error, t, q, v, p)
        if failed is not None:
            return Tick(np.full(self.size, np.nan), memory=after, error=failed)
        action = (
            "Another law has taken over"
            if isinstance(self.on_failure, Controller)
            else ACTION_MESSAGES[self.on_failure]
        )
        text = " ".join(filter(None, (f"{action}: {error}", message)))
        return Tick(output, ones, ones, on, Status.HELD, text, deviation, after)

    def _outer(self, parts: WrapperMemory[FallbackMemory]) -> FallbackMemory:
        return parts.outer or FallbackMemory(None, 0, None, None)

    def _checked(
        self, law: Controller, t: float, q: Array, v: Array, p: Array, memory: object | None
    ) -> tuple[Tick, EruginError | None]:
        """Return the tick of a law, and the error if its output cannot be applied."""
        tick = evaluate_inside(law, t, q, v, p, memory)
        return tick, law.failure(tick, t)

    def _after(
        self, t: float, q: Array, v: Array, p: Array, parts: WrapperMemory[FallbackMemory]
    ) -> WrapperMemory[FallbackMemory]:
        """Return the memory after a sample, valid or not."""
        outer, inner_p = self._outer(parts), self._inner_parameters(p)
        inner, error = memory_inside(self.inner, t, q, v, inner_p, parts.inner)
        safe = outer.safe
        if error is None:
            tick, error = self._checked(self.inner, t, q, v, inner_p, inner)
            safe = read_only_copy(tick.output) if error is None else safe
        spare, spare_error = outer.spare, None
        if self._spare is not None:
            spare, spare_error = memory_inside(self._spare, t, q, v, self._spare_parameters(p), outer.spare)
        failures = 0 if error is None else outer.failures + 1
        terminal = None
        if error is not None and spare_error is not None:
            terminal = both_failed_error(error, spare_error)
        elif error is not None and self.patience is not None and failures > self.patience:
            terminal = terminal_error(
                error, f"the law failed at {failures} consecutive samples, at the last because: {error}"
            )
        return WrapperMemory(FallbackMemory(safe, failures, error, spare), inner, terminal)

    def _spare_parameters(self, p: Array) -> Array:
        """Return the parameters of the law that takes over."""
        return np.asarray(p[self._spare_indices], dtype=np.float64)

    def _substitute(
        self, memory: FallbackMemory, error: EruginError, t: float, q: Array, v: Array, p: Array
    ) -> tuple[Array, str, EruginError | None]:
        """Return the substitute for a missing output, its message, and the error if there is none."""
        if self._spare is not None:
            tick, spare_error = self._checked(self._spare, t, q, v, self._spare_parameters(p), memory.spare)
            failed = None if spare_error is None else both_failed_error(error, spare_error)
            return tick.output, tick.message, failed
        if self.on_failure == "zero":
            return np.zeros(self.size), "", None
        if memory.safe is None:
            failed = terminal_error(
                error,
                f"{str(error).rstrip('.')}. There is no safe output to hold yet: start from a state that the law "
                "accepts, or use on_failure='zero'.",
            )
            return np.zeros(self.size), "", failed
        return memory.safe.copy(), "", None


def both_failed_error(error: EruginError, spare_error: EruginError) -> EruginError:
    """Return the error for the case that the law that takes over fails as well.

    Args:
        error: error of the first law.
        spare_error: error of the law that takes over.
    """
    return terminal_error(
        spare_error, f"{str(error).rstrip('.')}. The law that takes over fails as well: {spare_error}"
    )
