"""The abstract wrapper, a controller around a controller, and the failures of the controller inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

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
    NotFiniteInputError,
    SingularProgramError,
)
from ..controller import Controller, Tick, Values, memory_after
from ..law import Law
from ..status import Status
from ..traits import Trait

Array = NDArray[np.float64]
TERMINAL_ERRORS: tuple[type[EruginError], ...] = (SingularProgramError, ContradictoryProgramError, NotFiniteError)


def evaluate_inside(controller: Controller, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
    """Evaluate a law at a measured state, which need not be finite; an error that a state can cause is in the tick.

    Args:
        controller: the law.
        t: time [s].
        q: measured coordinates, shape (nq,).
        v: measured velocities, shape (nv,).
        p: parameters of the law, the whole vector.
        memory: its memory.

    Raises:
        EruginError: for an error that is wrong in every state.
    """
    try:
        return controller.evaluate(*controller.arguments(t, q, v, p), memory)
    except EruginError as error:
        if is_usage_error(error):
            raise
        return Tick(np.full(output_size(controller), np.nan), memory=memory, error=error)


def law_inside(controller: Controller, period: float) -> Law | None:
    """Return a law at a measured state as expressions: without an output where it would refuse the state.

    Args:
        controller: the law.
        period: time between samples [s].
    """
    law, c = controller.sampled_law(period), controller.robot.coordinates
    return law if law is None or controller.accepts_any_number else law.where_finite(c.q, c.v)


def memory_inside(
    controller: Controller, t: float, q: Array, v: Array, p: Array, memory: object | None
) -> tuple[object | None, EruginError | None]:
    """Return the memory of a law after a sample, as measured, and the error with which it refused it, if it did.

    Args:
        controller: the law.
        t: time [s].
        q: measured coordinates, shape (nq,).
        v: measured velocities, shape (nv,).
        p: parameters of the law, the whole vector.
        memory: its memory before the sample.

    Raises:
        EruginError: for an error that is wrong in every state.
    """
    try:
        arguments = controller.arguments(t, q, v, p)
        return (None if memory is None else memory_after(controller.evaluate(*arguments, memory))), None
    except EruginError as error:
        if is_usage_error(error):
            raise
        return memory, error


def input_error(q: Array, v: Array) -> NotFiniteInputError | None:
    """Return the error of a measured state that is not finite; None if it is.

    Args:
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
    """
    for name, numbers in (("q", q), ("v", v)):
        if not np.isfinite(numbers).all():
            return NotFiniteInputError(f"{name} must be finite, got {numbers.tolist()}")
    return None


def output_size(controller: Controller) -> int:
    """Return the number of outputs of a law."""
    return controller.robot.coordinates.nv if controller.applies_force else controller.robot.u.numel()


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


def limited_tick(tick: Tick, output: Array, message: Callable[[], str]) -> Tick:
    """Return a tick of the law inside with another output, and the status LIMITED.

    Args:
        tick: tick of the law inside.
        output: output that is applied.
        message: function that returns a sentence on the difference.
    """
    status = Status.HELD if tick.status is Status.HELD else Status.LIMITED
    return replace(
        tick, output=output, status=status, explanation=lambda: " ".join(filter(None, (message(), tick.message)))
    )


MemoryT = TypeVar("MemoryT")
"""The part of the memory that belongs to the wrapper itself."""


@dataclass(frozen=True, eq=False)
class WrapperMemory(Generic[MemoryT]):
    """The memory of a wrapper.

    Attributes:
        outer: the wrapper's part; None before the first sample.
        inner: memory of the controller inside.
        error: error with which the controller inside refused the last sample; None if it accepted it.
    """

    outer: MemoryT | None
    inner: object | None
    error: EruginError | None = None


class Wrapper(Controller, Generic[MemoryT]):
    """Component between a control law and a machine, around any controller, including another wrapper.

    Rows, their deviations and tolerance are those of the law inside, and its parameters come first. The memory contains
    that of the law inside, which is only evaluated, so that one law may serve in several wrappers.

    Attributes:
        inner: the controller inside.
    """

    supports = frozenset(Trait)

    # The law inside refuses a sample that it cannot use.
    accepts_any_number = True

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
        self.applies_force, self.tube = controller.applies_force, controller.tube

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

    @property
    def is_random(self) -> bool:
        """True if it draws random numbers."""
        return False

    @property
    def remembers(self) -> bool:
        """True if it has a memory beside that of the law inside."""
        return True

    @property
    def initial_memory(self) -> object | None:
        """Memory before the first sample, with that of the law inside; None if neither has one."""
        inner = self.inner.initial_memory
        return WrapperMemory[MemoryT](None, inner) if self.remembers or inner is not None else None

    def parts(self, memory: object | None) -> WrapperMemory[MemoryT]:
        """Return a memory in its parts.

        Args:
            memory: memory of this wrapper, or None if it has none.
        """
        return WrapperMemory(None, None) if memory is None else cast("WrapperMemory[MemoryT]", memory)

    def _inner_parameters(self, p: Array) -> Array:
        """Return the parameters of the law inside, which come first.

        Args:
            p: parameters, the whole vector.
        """
        return p[: len(self.inner.parameters)]

    def diagnose(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> tuple[Status, str]:
        """Return status and message of the law inside.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return self.inner.diagnose(t, q, v, self._inner_parameters(self.parameters.values(p)))

    def true_deviation(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Callable[[Array], Array]:
        """Return the deviation of the law inside at the true state, as a function of accelerations.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the law inside, the whole vector.
            memory: memory of the law inside.
        """
        inner = self.inner
        return lambda a: inner.deviation_of(evaluate_inside(inner, t, q, v, p, memory), t, a)

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Process one sample; the law inside shows the memory that it has here.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        super().advance(t, q, v, p)
        self.show_memories()

    def remember(self, memory: object | None) -> None:
        """Set the memory; the law inside shows that which it has here.

        Args:
            memory: the memory.
        """
        super().remember(memory)
        self.show_memories()

    def show_memories(self) -> None:
        """Copy the memory of the law inside into that law, so that its estimates, integrals or plans can be read."""
        self.inner.memory = self.parts(self.memory).inner
        if isinstance(self.inner, Wrapper):
            self.inner.show_memories()

    def reset(self) -> None:
        """Reset the memory of the wrapper and of the law inside."""
        self.inner.reset()
        super().reset()

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
        return output_size(self)
