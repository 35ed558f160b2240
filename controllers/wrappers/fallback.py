"""Fallback: a safe output where the controller inside fails."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import EruginError, ModelError, NotFiniteError, NotFiniteInputError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import read_only_copy, whole
from ..controller import Controller, Observation
from ..status import Status
from .wrapper import Values, Wrapper, is_usage_error, terminal_error, tick_error

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


EMPTY_MEMORY = FallbackMemory(None, 0, None, None)
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

    def reset(self) -> None:
        """Reset the memory of the wrapper and of both laws."""
        super().reset()
        if self._spare is not None:
            self._spare.reset()
            self.remember(FallbackMemory(None, 0, None, self._spare.memory))

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Process a sample, valid or not.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: if the law has failed at more consecutive samples than patience allows, or the law that takes
                over fails as well.
        """
        memory = self.recall() or EMPTY_MEMORY
        inner_p, spare_p = self._split(p)
        error, safe = None, memory.safe
        try:
            self.inner.advance(t, q, v, inner_p)
            observation = self.inner.observe(t, q, v, inner_p)
            error = tick_error(self.inner, observation, float(t), q, v, inner_p)
            safe = read_only_copy(observation.output) if error is None else safe
        except EruginError as raised:
            if is_usage_error(raised):
                raise
            error = raised
        spare, spare_error = memory.spare, None
        if self._spare is not None:
            self._spare.memory = memory.spare
            try:
                self._spare.advance(t, q, v, spare_p)
            except EruginError as raised:
                if is_usage_error(raised):
                    raise
                spare_error = raised
            spare = self._spare.memory
        failures = 0 if error is None else memory.failures + 1
        self.remember(FallbackMemory(safe, failures, error, spare))
        if error is not None and spare_error is not None:
            raise both_failed_error(error, spare_error) from spare_error
        if error is not None and self.patience is not None and failures > self.patience:
            raise terminal_error(
                error, f"the law failed at {failures} consecutive samples, at the last because: {error}"
            ) from error

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """Return the law's output, or its substitute.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: if there is no substitute.
        """
        memory = self.recall() or EMPTY_MEMORY
        inner_p = self._inner_parameters(p)
        error = memory.error
        if error is None:
            try:
                output = self.inner.control(t, q, v, inner_p)
                if np.isfinite(output).all():
                    return output
            except EruginError as raised:
                if is_usage_error(raised):
                    raise
                error = raised
        return self._substitute(memory, error, t, q, v, p)[0]

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """Return the law's observation, or its substitute and the reason.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        memory = self.recall() or EMPTY_MEMORY
        inner_p = self._inner_parameters(p)
        ones, on = np.ones(len(self.rows)), np.ones(len(self.rows) if self.switches else 0)
        error = memory.error
        if error is None:
            try:
                observation = self.inner.observe(t, q, v, inner_p)
                error = tick_error(self.inner, observation, float(t), q, v, inner_p)
                if error is None:
                    return replace(observation, pivots=ones, relative_pivots=ones)
            except EruginError as raised:
                if is_usage_error(raised):
                    raise
                error = raised
        output, message = self._substitute(memory, error, t, q, v, p)
        action = (
            "Another law has taken over"
            if isinstance(self.on_failure, Controller)
            else ACTION_MESSAGES[self.on_failure]
        )
        reason = f"{action}: {error}"
        return Observation(output, ones, ones, on, Status.HELD, " ".join(filter(None, (reason, message))))

    def _inner_parameters(self, p: Values) -> Values:
        """Return the parameters of the law inside.

        Args:
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return self._split(p)[0]

    def _split(self, p: Values) -> tuple[Values, Values]:
        """Split the parameters into those of the law inside, which come first, and those of the other law."""
        if self._spare is None:
            return p, None
        values = self.parameters.values(p)
        return values[: len(self.inner.parameters)], values[self._spare_indices]

    def _substitute(
        self, memory: FallbackMemory, error: EruginError | None, t: float, q: ArrayLike, v: ArrayLike, p: Values
    ) -> tuple[Array, str]:
        """Return the substitute for a missing output, and its message."""
        error = error or NotFiniteError(f"at t = {float(t):g}: the law returned an output that is not finite.")
        if self._spare is not None:
            self._spare.memory, spare_p = memory.spare, self._split(p)[1]
            try:
                observation = self._spare.observe(t, q, v, spare_p)
                spare_error = tick_error(self._spare, observation, float(t), q, v, spare_p)
            except EruginError as raised:
                if is_usage_error(raised):
                    raise
                raise both_failed_error(error, raised) from raised
            if spare_error is not None:
                raise both_failed_error(error, spare_error) from spare_error
            return observation.output, observation.message
        with contextlib.suppress(NotFiniteInputError):
            self.arguments(t, q, v, p)
        if self.on_failure == "zero":
            return np.zeros(self.size), ""
        if memory.safe is None:
            raise terminal_error(
                error,
                f"{str(error).rstrip('.')}. There is no safe output to hold yet: start from a state that the law "
                "accepts, or use on_failure='zero'.",
            )
        return memory.safe.copy(), ""


def both_failed_error(error: EruginError, spare_error: EruginError) -> EruginError:
    """Return the error for the case that the law that takes over fails as well.

    Args:
        error: error of the first law.
        spare_error: error of the law that takes over.
    """
    return terminal_error(
        spare_error, f"{str(error).rstrip('.')}. The law that takes over fails as well: {spare_error}"
    )
