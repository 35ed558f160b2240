"""The abstract wrapper, a controller around a controller, and the failures of the controller inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import Constraint
from ...symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    ModelError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from ...symbolic.validation import finite_time, vector
from ..controller import Controller, Observation
from ..status import Status, describe_dependent_row, tick_status
from ..traits import Trait

Values = Mapping[str, float] | ArrayLike | None
TERMINAL_ERRORS: tuple[type[EruginError], ...] = (SingularProgramError, ContradictoryProgramError, NotFiniteError)


def tick_error(
    controller: Controller, observation: Observation, t: float, q: ArrayLike, v: ArrayLike, p: Values
) -> EruginError | None:
    """Return the error of an observation whose output cannot be applied; None if it can.

    Args:
        controller: the controller that made the observation.
        observation: the observation.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        p: parameters: nominal, overridden by name, or the whole vector.
    """
    status = tick_status(bool(np.isfinite(observation.output).all()), observation.relative_pivots, controller.tolerance)
    if status is Status.OK:
        return None
    if status is Status.SINGULAR:
        found, message = controller.diagnose(t, q, v, p)
        kind = {Status.CONTRADICTORY: ContradictoryProgramError, Status.NOT_CONVERGED: NotConvergedError}.get(found)
        if kind is not None:
            return kind(f"at t = {t:g}: {message}")
    row = describe_dependent_row(controller.rows, observation.relative_pivots) if status is Status.SINGULAR else ""
    error = SingularProgramError if status is Status.SINGULAR else NotFiniteError
    return error(" ".join(filter(None, (f"at t = {t:g}:", row, status.sentence))))


def terminal_error(error: EruginError, message: str) -> EruginError:
    """Return an error that ends a run, of the same kind if that kind ends runs.

    Args:
        error: the error that was raised.
        message: message of the new error.
    """
    kind = next((kind for kind in TERMINAL_ERRORS if isinstance(error, kind)), NotConvergedError)
    return kind(message)


def is_usage_error(error: EruginError) -> bool:
    """True if an error means that the call is wrong in every state, so that no state of a machine can cause it.

    Args:
        error: the error that was raised.
    """
    return isinstance(error, ValueError) and not isinstance(error, NotFiniteError)


Array = NDArray[np.float64]
MemoryT = TypeVar("MemoryT")
"""The part of the memory that belongs to the wrapper itself."""


@dataclass(frozen=True, eq=False)
class WrapperMemory(Generic[MemoryT]):
    """The memory of a wrapper.

    Attributes:
        outer: the wrapper's part.
        inner: memory of the controller inside.
    """

    outer: MemoryT | None
    inner: object | None


class Wrapper(Controller, Generic[MemoryT]):
    """Component between a control law and a machine, around any controller, including another wrapper.

    Rows, their deviations, tolerance and parameters are those of the law inside. The memory contains that of the law
    inside, which is restored before the law is called, so that one law may serve in several wrappers.

    Attributes:
        inner: the controller inside.
    """

    supports = frozenset(Trait)

    is_random: ClassVar[bool] = False
    """True if it draws random numbers."""

    def __init__(self, controller: Controller) -> None:
        """Wrap a law.

        Args:
            controller: the controller inside.

        Raises:
            ModelError: if it is not a controller.
        """
        if not isinstance(controller, Controller):
            raise ModelError(f"{type(self).__name__} wraps a Controller, got {controller!r}")
        self.inner = controller
        self.robot, self.parameters = controller.robot, controller.parameters
        self.applies_force = controller.applies_force

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows of the law inside."""
        return self.inner.rows

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Program constraints of the law inside."""
        return self.inner.constraints

    @property
    def switches(self) -> bool:
        """True if some rows of the law inside are on only at times."""
        return self.inner.switches

    @property
    def tolerance(self) -> float:
        """Relative pivot of the law inside, up to which a row is dependent."""
        return self.inner.tolerance

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """State matrices of the perturbation equations of the law inside, by name of the constraint."""
        return self.inner.linearizations

    @property
    def rank_loss_message(self) -> str:
        """Message of the law inside for a row that becomes dependent or vanishes."""
        return self.inner.rank_loss_message

    def deviation(self, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike, p: Values = None) -> Array:
        """Return the deviation of the law inside, at the true state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            a: accelerations, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        self.recall()
        return self.inner.deviation(t, q, v, a, self._inner_parameters(p))

    def diagnose(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> tuple[Status, str]:
        """Return status and message of the law inside.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        self.recall()
        return self.inner.diagnose(t, q, v, self._inner_parameters(p))

    def _inner_parameters(self, p: Values) -> Values:
        """Return the parameters of the law inside: all, unless the wrapper adds its own.

        Args:
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return p

    def reset(self) -> None:
        """Reset the memory of the wrapper and of the law inside."""
        self.inner.reset()
        self.remember(None)

    def remember(self, outer: MemoryT | None) -> None:
        """Replace the memory by the wrapper's part and the present memory of the law inside.

        Args:
            outer: the wrapper's part; None before the first sample.
        """
        inner = self.inner.memory
        self.memory = None if outer is None and inner is None else WrapperMemory(outer, inner)

    def recall(self) -> MemoryT | None:
        """Restore the memory of the law inside and return the wrapper's part."""
        memory = cast("WrapperMemory[MemoryT] | None", self.memory)
        # None is a memory too: that of a law before the first sample.
        self.inner.memory = None if memory is None else memory.inner
        return None if memory is None else memory.outer

    def state(self, t: float, q: ArrayLike, v: ArrayLike) -> tuple[float, Array, Array]:
        """Check t, q and v and return them.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).

        Raises:
            ShapeError: for a wrong shape, or its subclass NotFiniteInputError for a number that is not finite.
        """
        time, c = finite_time("t", t), self.robot.coordinates
        return time, vector("q", q, c.nq), vector("v", v, c.nv)

    def no_sample_error(self) -> ModelError:
        """Return the error for an output requested before the first sample."""
        return ModelError(
            f"{type(self).__name__} has no sample yet: call advance(t, q, v) before control(t, q, v), once per tick, "
            "as a simulation does"
        )

    @property
    def depth(self) -> int:
        """Number of wrappers inside that draw random numbers."""
        inner: Controller | Wrapper[object] = self.inner
        return inner.depth + inner.is_random if isinstance(inner, Wrapper) else 0

    @property
    def outputs(self) -> tuple[str, ...]:
        """Label of each output, for messages."""
        if self.applies_force:
            return tuple(f"force along {name!r}" for name in self.robot.coordinates.names[: self.size])
        return tuple(f"input {name!r}" for name in self.robot.input_names)

    @property
    def size(self) -> int:
        """Number of outputs."""
        return self.robot.coordinates.nv if self.applies_force else self.robot.u.numel()
