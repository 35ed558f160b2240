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
from .vector_arguments import vector_argument

Values = Mapping[str, float] | ArrayLike | None
TERMINAL_ERRORS: tuple[type[EruginError], ...] = (SingularProgramError, ContradictoryProgramError, NotFiniteError)


def tick_error(
    controller: Controller, told: Observation, t: float, q: ArrayLike, v: ArrayLike, p: Values
) -> EruginError | None:
    """Why an observation is none that can be applied; None if it can.

    Args:
        controller: that told it.
        told: what it told.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        p: parameters: nominal, overridden by name, or the whole vector.
    """
    status = tick_status(bool(np.isfinite(told.output).all()), told.relative_pivots, controller.tolerance)
    if status is Status.OK:
        return None
    if status is Status.SINGULAR:
        found, said = controller.diagnose(t, q, v, p)
        kind = {Status.CONTRADICTORY: ContradictoryProgramError, Status.NOT_CONVERGED: NotConvergedError}.get(found)
        if kind is not None:
            return kind(f"at t = {t:g}: {said}")
    row = describe_dependent_row(controller.rows, told.relative_pivots) if status is Status.SINGULAR else ""
    error = SingularProgramError if status is Status.SINGULAR else NotFiniteError
    return error(" ".join(filter(None, (f"at t = {t:g}:", row, status.sentence))))


def terminal_error(error: EruginError, message: str) -> EruginError:
    """An error that ends a run, of the same kind where there is one.

    Args:
        error: what was raised.
        message: what to say instead.
    """
    kind = next((kind for kind in TERMINAL_ERRORS if isinstance(error, kind)), NotConvergedError)
    return kind(message)


def is_usage_error(error: EruginError) -> bool:
    """Whether an error tells of a call that is wrong in every state, and so of nothing that a machine can suffer.

    Args:
        error: what was raised.
    """
    return isinstance(error, ValueError) and not isinstance(error, NotFiniteError)


Array = NDArray[np.float64]
MemoryT = TypeVar("MemoryT")
"""What a wrapper remembers itself."""


@dataclass(frozen=True, eq=False)
class WrapperMemory(Generic[MemoryT]):
    """The memory of a wrapper.

    Attributes:
        own: its own part.
        inner: memory of the controller inside.
    """

    own: MemoryT | None
    inner: object | None


class Wrapper(Controller, Generic[MemoryT]):
    """Something that lies between a control law and a machine, around any controller, another wrapper too.

    Rows, their deviations, tolerance and parameters are those of the law inside. The memory holds that of the law
    inside, which is put back before the law is asked, so that one law may serve in several wrappers.

    Attributes:
        inner: the controller inside.
    """

    supports = frozenset(Trait)

    is_random: ClassVar[bool] = False
    """Whether it draws random numbers."""

    def __init__(self, controller: Controller) -> None:
        """Take over what the law inside says of itself.

        Args:
            controller: any.

        Raises:
            ModelError: if it is none.
        """
        if not isinstance(controller, Controller):
            raise ModelError(f"{type(self).__name__} goes around a Controller, got {controller!r}")
        self.inner = controller
        self.robot, self.parameters = controller.robot, controller.parameters
        self.applies_force = controller.applies_force

    @property
    def rows(self) -> tuple[str, ...]:
        """Of the law inside."""
        return self.inner.rows

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Of the law inside."""
        return self.inner.constraints

    @property
    def switches(self) -> bool:
        """Of the law inside."""
        return self.inner.switches

    @property
    def tolerance(self) -> float:
        """Of the law inside."""
        return self.inner.tolerance

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """Of the law inside."""
        return self.inner.linearizations

    @property
    def rank_loss_message(self) -> str:
        """Of the law inside."""
        return self.inner.rank_loss_message

    def deviation(self, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike, p: Values = None) -> Array:
        """Of the law inside, at the true state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            a: accelerations, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        self.recall()
        return self.inner.deviation(t, q, v, a, p)

    def diagnose(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> tuple[Status, str]:
        """Of the law inside.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        self.recall()
        return self.inner.diagnose(t, q, v, p)

    def reset(self) -> None:
        """Forget all samples, and let the law inside forget."""
        self.inner.reset()
        self.remember(None)

    def remember(self, own: MemoryT | None) -> None:
        """Replace the memory by this and what the law inside remembers now.

        Args:
            own: the wrapper's part; None before there is any.
        """
        inner = self.inner.memory
        self.memory = None if own is None and inner is None else WrapperMemory(own, inner)

    def recall(self) -> MemoryT | None:
        """The wrapper's part of the memory; the law inside gets its own back."""
        memory = cast("WrapperMemory[MemoryT] | None", self.memory)
        # Nothing to remember is a memory too: that of a law that has seen no sample yet.
        self.inner.memory = None if memory is None else memory.inner
        return None if memory is None else memory.own

    def state(self, t: float, q: ArrayLike, v: ArrayLike) -> tuple[float, Array, Array]:
        """t, q and v, checked.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).

        Raises:
            ShapeError: for a wrong shape; NotFiniteInputError, which is one, for a number that is not finite.
        """
        time, c = finite_time("t", t), self.robot.coordinates
        return time, vector("q", q, c.nq), vector("v", v, c.nv)

    def no_sample_yet(self) -> ModelError:
        """What is raised where an output is asked for before there was a sample."""
        return ModelError(
            f"{type(self).__name__} has taken in no sample yet: call advance(t, q, v) before control(t, q, v), once "
            "per tick, as a simulation does"
        )

    @property
    def depth(self) -> int:
        """How many wrappers inside draw random numbers."""
        inner: Controller | Wrapper[object] = self.inner
        return inner.depth + inner.is_random if isinstance(inner, Wrapper) else 0

    @property
    def outputs(self) -> tuple[str, ...]:
        """What messages call each output."""
        if self.applies_force:
            return tuple(f"force along {name!r}" for name in self.robot.coordinates.names[: self.size])
        return tuple(f"input {name!r}" for name in self.robot.input_names)

    @property
    def size(self) -> int:
        """Number of outputs."""
        return self.robot.coordinates.nv if self.applies_force else self.robot.u.numel()

    def per_output(self, name: str, value: ArrayLike) -> Array:
        """One number for each output, from a number for all or a vector, read-only.

        Args:
            name: of the argument, for messages.
            value: a number, or shape (n,).

        Raises:
            ModelError: for another shape, or a NaN.
        """
        return vector_argument(name, value, self.size, "one for each output")
