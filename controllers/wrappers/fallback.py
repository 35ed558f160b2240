"""Fallback: a safe output in place of one that the controller inside refuses."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import EruginError, ModelError, NotFiniteError, NotFiniteInputError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import whole
from ..controller import Controller, Observation
from ..status import Status
from .vector_arguments import read_only_copy
from .wrapper import Values, Wrapper, is_usage_error, terminal_error, tick_error

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FallbackMemory:
    """What is remembered.

    Attributes:
        safe: the last output that the law did give, shape (n,); None before there is any.
        failures: samples in a row that it refused.
        error: why it refused the last one; None if it did not.
        spare: memory of the law that takes over.
    """

    safe: Array | None
    failures: int
    error: EruginError | None
    spare: object | None


EMPTY_MEMORY = FallbackMemory(None, 0, None, None)
ACTION_MESSAGES = {"hold": "The last safe output is held", "zero": "The output is zero"}


class Fallback(Wrapper[FallbackMemory]):
    """u = law(t, q, v), and where the law refuses, the last safe output, zero, or the output of another law.

    A law refuses by an EruginError, such as dependent rows or NaN from a sensor, or by an output that is not finite.
    The status is then HELD and the message tells the reason, until the law has accepted a sample again. A mistake in
    the call (a wrong shape, an unknown parameter) is not bridged. Between samples, where an integrator tries states
    that the motion may never reach, a refusal is bridged too, and told if it is still there at the next sample.

    No row ends a run any more: pivots are told as 1. Where nothing can take the law's place, because nothing safe has
    been applied yet or the other law refuses as well, the refusal is raised; another Fallback around this one can
    hold what this one gave.
    """

    def __init__(
        self,
        controller: Controller,
        on_failure: Literal["hold", "zero"] | Controller = "hold",
        *,
        patience: int | None = None,
    ) -> None:
        """Watch a law.

        Args:
            controller: what is watched.
            on_failure: ``"hold"``, the last safe output; ``"zero"``; or a law that takes over, for the same robot. Its
                parameters follow those of the first.
            patience: how many samples in a row may be bridged; any number if not given.

        Raises:
            ModelError: for something else, a law of another kind, or a patience that is not a whole number.
        """
        super().__init__(controller)
        if isinstance(on_failure, Controller):
            other = on_failure
            if other.robot is not self.robot or other.applies_force is not self.applies_force:
                gives = {True: "forces", False: "inputs"}
                raise ModelError(
                    f"the law that takes over must be made for {self.robot.name} and give {gives[self.applies_force]} "
                    f"as well, got one for {other.robot.name} that gives {gives[other.applies_force]}"
                )
            if other is self.inner:
                raise ModelError("the law that takes over must be another one than the law that is watched")
            self.parameters = Parameters.collect([self.parameters, other.parameters])
        elif on_failure not in ("hold", "zero"):
            raise ModelError(f"on_failure must be 'hold', 'zero' or a Controller, got {on_failure!r}")
        if patience is not None:
            patience = whole("patience", patience, 0)
        self.on_failure: Literal["hold", "zero"] | Controller = on_failure
        self.patience = patience
        self._spare = on_failure if isinstance(on_failure, Controller) else None
        names = () if self._spare is None else self._spare.parameters.names
        self._theirs = np.array([self.parameters.names.index(name) for name in names], dtype=np.intp)
        self.reset()

    def reset(self) -> None:
        """Forget all samples, and let both laws forget."""
        super().reset()
        if self._spare is not None:
            self._spare.reset()
            self.remember(FallbackMemory(None, 0, None, self._spare.memory))

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Take in a sample, whatever it is.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: if the law has refused more samples in a row than patience allows, or the law that takes over
                refuses as well.
        """
        own = self.recall() or EMPTY_MEMORY
        mine, others = self._split(p)
        error, safe = None, own.safe
        try:
            self.inner.advance(t, q, v, mine)
            told = self.inner.observe(t, q, v, mine)
            error = tick_error(self.inner, told, float(t), q, v, mine)
            safe = read_only_copy(told.output) if error is None else safe
        except EruginError as raised:
            if is_usage_error(raised):
                raise
            error = raised
        spare, lost = own.spare, None
        if self._spare is not None:
            self._spare.memory = own.spare
            try:
                self._spare.advance(t, q, v, others)
            except EruginError as raised:
                if is_usage_error(raised):
                    raise
                lost = raised
            spare = self._spare.memory
        failures = 0 if error is None else own.failures + 1
        self.remember(FallbackMemory(safe, failures, error, spare))
        if error is not None and lost is not None:
            raise both_failed_error(error, lost) from lost
        if error is not None and self.patience is not None and failures > self.patience:
            raise terminal_error(
                error, f"{failures} samples in a row were refused, the last because: {error}"
            ) from error

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """The law's output, or what takes its place.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: if there is nothing to take its place.
        """
        own = self.recall() or EMPTY_MEMORY
        mine = self._split(p)[0]
        error = own.error
        if error is None:
            try:
                output = self.inner.control(t, q, v, mine)
                if np.isfinite(output).all():
                    return output
            except EruginError as raised:
                if is_usage_error(raised):
                    raise
                error = raised
        return self._instead(own, error, t, q, v, p)[0]

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """What the law tells, or what takes its place and why.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        own = self.recall() or EMPTY_MEMORY
        mine = self._split(p)[0]
        ones, on = np.ones(len(self.rows)), np.ones(len(self.rows) if self.switches else 0)
        error = own.error
        if error is None:
            try:
                told = self.inner.observe(t, q, v, mine)
                error = tick_error(self.inner, told, float(t), q, v, mine)
                if error is None:
                    return replace(told, pivots=ones, relative_pivots=ones)
            except EruginError as raised:
                if is_usage_error(raised):
                    raise
                error = raised
        output, said = self._instead(own, error, t, q, v, p)
        does = (
            "Another law has taken over"
            if isinstance(self.on_failure, Controller)
            else ACTION_MESSAGES[self.on_failure]
        )
        message = f"{does}: {error}"
        return Observation(output, ones, ones, on, Status.HELD, " ".join(filter(None, (message, said))))

    def deviation(self, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike, p: Values = None) -> Array:
        """Of the law that is watched, at the true state, whichever law acts.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            a: accelerations, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return super().deviation(t, q, v, a, self._split(p)[0])

    def diagnose(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> tuple[Status, str]:
        """Of the law that is watched.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return super().diagnose(t, q, v, self._split(p)[0])

    def _split(self, p: Values) -> tuple[Values, Values]:
        """Parameters of the law, which come first, and of the other."""
        if self._spare is None:
            return p, None
        values = self.parameters.values(p)
        return values[: len(self.inner.parameters)], values[self._theirs]

    def _instead(
        self, own: FallbackMemory, error: EruginError | None, t: float, q: ArrayLike, v: ArrayLike, p: Values
    ) -> tuple[Array, str]:
        """What takes the place of an output that there is not, and what there is to say of it."""
        error = error or NotFiniteError(f"at t = {float(t):g}: the law gave an output that is not finite.")
        if self._spare is not None:
            self._spare.memory, others = own.spare, self._split(p)[1]
            try:
                told = self._spare.observe(t, q, v, others)
                lost = tick_error(self._spare, told, float(t), q, v, others)
            except EruginError as raised:
                if is_usage_error(raised):
                    raise
                raise both_failed_error(error, raised) from raised
            if lost is not None:
                raise both_failed_error(error, lost) from lost
            return told.output, told.message
        with contextlib.suppress(NotFiniteInputError):
            self.arguments(t, q, v, p)
        if self.on_failure == "zero":
            return np.zeros(self.size), ""
        if own.safe is None:
            raise terminal_error(
                error,
                f"{str(error).rstrip('.')}. There is no safe output to hold yet: start from a state that the law "
                "accepts, or take on_failure='zero'.",
            )
        return own.safe.copy(), ""


def both_failed_error(error: EruginError, lost: EruginError) -> EruginError:
    """What is raised where the law that takes over refuses as well.

    Args:
        error: why the first law refused.
        lost: why the other did.
    """
    return terminal_error(lost, f"{str(error).rstrip('.')}. The law that takes over refuses as well: {lost}")
