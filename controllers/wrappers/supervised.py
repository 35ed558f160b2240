"""What happens when a law refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import EruginError, ModelError
from ...symbolic.parameters import Parameters
from ..controller import Controller, Observation
from ..status import Status
from .entries import frozen
from .refusals import as_end, is_callers_mistake, refused
from .wrapper import Values, Wrapper

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Watched:
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


class Supervised(Wrapper[Watched]):
    """u = law(t, q, v), and where the law refuses, the last safe output, zero, or the output of another law.

    A law refuses by an EruginError, such as dependent rows or NaN from a sensor, or by an output that is not finite.
    The status is then HELD and the message tells the reason, until the law has accepted a sample again. A mistake in
    the call (a wrong shape, an unknown parameter) is not bridged. Between samples, where an integrator tries states
    that the motion may never reach, a refusal is bridged too, and told if it is still there at the next sample.

    No row ends a run any more: pivots are told as 1.
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
            self.parameters = Parameters.collect([self.parameters, other.parameters])
        elif on_failure not in ("hold", "zero"):
            raise ModelError(f"on_failure must be 'hold', 'zero' or a Controller, got {on_failure!r}")
        if patience is not None and (isinstance(patience, bool) or not isinstance(patience, int) or patience < 0):
            raise ModelError(f"patience must be a whole number of samples, or None, got {patience!r}")
        self.on_failure: Literal["hold", "zero"] | Controller = on_failure
        self.patience = patience
        self.reset()

    def reset(self) -> None:
        """Forget all samples, and let both laws forget."""
        super().reset()
        if isinstance(self.on_failure, Controller):
            self.on_failure.reset()
            self.remember(Watched(None, 0, None, self.on_failure.memory))

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Take in a sample, whatever it is.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: if the law has refused more samples in a row than patience allows.
        """
        own = self._own()
        mine, others = self._split(p)
        error, safe = None, own.safe
        try:
            self.inner.advance(t, q, v, mine)
            told = self.inner.observe(t, q, v, mine)
            error = refused(self.inner, told, float(t), q, v, mine)
            safe = frozen(told.output) if error is None else safe
        except EruginError as raised:
            if is_callers_mistake(raised):
                raise
            error = raised
        if isinstance(self.on_failure, Controller):
            try:
                self.on_failure.advance(t, q, v, others)
            except EruginError as raised:
                if is_callers_mistake(raised) or error is not None:
                    raise
            own = replace(own, spare=self.on_failure.memory)
        failures = 0 if error is None else own.failures + 1
        self.remember(replace(own, safe=safe, failures=failures, error=error))
        if error is not None and self.patience is not None and failures > self.patience:
            raise as_end(error, f"{failures} samples in a row were refused, the last because: {error}") from error

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
        own = self._own()
        mine, others = self._split(p)
        error = own.error
        if error is None:
            try:
                output = self.inner.control(t, q, v, mine)
                if np.isfinite(output).all():
                    return output
            except EruginError as raised:
                if is_callers_mistake(raised):
                    raise
                error = raised
        return self._instead(own, error, t, q, v, others)

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """What the law tells, or what takes its place and why.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        own = self._own()
        mine, others = self._split(p)
        ones, on = np.ones(len(self.rows)), np.ones(len(self.rows) if self.switches else 0)
        error = own.error
        if error is None:
            try:
                told = self.inner.observe(t, q, v, mine)
                error = refused(self.inner, told, float(t), q, v, mine)
                if error is None:
                    return replace(told, pivots=ones, relative_pivots=ones)
            except EruginError as raised:
                if is_callers_mistake(raised):
                    raise
                error = raised
        output = self._instead(own, error, t, q, v, others)
        what = {"hold": "The last safe output is held", "zero": "The output is zero"}
        does = "Another law has taken over" if isinstance(self.on_failure, Controller) else what[self.on_failure]
        return Observation(output, ones, ones, on, Status.HELD, f"{does}: {error}")

    def _own(self) -> Watched:
        own = self.recall() or Watched(None, 0, None, None)
        if isinstance(self.on_failure, Controller) and own.spare is not None:
            self.on_failure.memory = own.spare
        return own

    def _split(self, p: Values) -> tuple[Values, Values]:
        """Parameters of the law and of the other."""
        if not isinstance(self.on_failure, Controller):
            return p, None
        values = dict(zip(self.parameters.names, self.parameters.values(p).tolist(), strict=True))
        theirs = np.array([values[name] for name in self.on_failure.parameters.names])
        return np.array([values[name] for name in self.inner.parameters.names]), theirs

    def _instead(
        self, own: Watched, error: EruginError | None, t: float, q: ArrayLike, v: ArrayLike, p: Values
    ) -> Array:
        if isinstance(self.on_failure, Controller):
            return self.on_failure.control(t, q, v, p)
        if self.on_failure == "zero":
            return np.zeros(self.size)
        if own.safe is None:
            raise as_end(
                error or ModelError("the law gave an output that is not finite"),
                f"{str(error).rstrip('.')}. There is no safe output to hold yet: start from a state that the law "
                "accepts, or take on_failure='zero'.",
            )
        return own.safe.copy()
