"""Controllers: the abstract control law, and the abstract law that is a set of expressions."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints.constraint import Constraint
from ..robots.robot import Robot
from ..symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    ModelError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from ..symbolic.kernel import Kernel, WorkspacePool
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from ..symbolic.pickling import Picklable
from ..symbolic.validation import all_finite, finite_time, positive, read_only_copy, vector
from .law import Law, is_regular
from .status import Status, describe_dependent_row, tick_status
from .traits import Trait, traits

if TYPE_CHECKING:
    from .robust.tube import Tube

Array = NDArray[np.float64]
_DOUBLE = np.dtype(np.float64)

ERRORS: Mapping[Status, type[EruginError]] = {
    Status.SINGULAR: SingularProgramError,
    Status.CONTRADICTORY: ContradictoryProgramError,
    Status.NOT_FINITE: NotFiniteError,
    Status.NOT_CONVERGED: NotConvergedError,
}


NOTHING: Array = np.zeros(0)
NOTHING.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Tick:
    """Result of a law at one state; arrays that do not apply are empty.

    Attributes:
        output: u, shape (nu,), or R, shape (nv,).
        pivots: pivots of the rows as in :class:`Law`, shape (m,).
        relative_pivots: relative pivots as in :class:`Law`, shape (m,).
        active: 1 for rows that are on, 0 for others, as in :class:`Law`, shape (m,) or empty.
        status: OK, LIMITED or HELD; or the reason why the output cannot be applied, if numbers do not show it.
        explanation: if the status is not OK, what happened, which row or input, by how much, and what to try; or a
            function without arguments that returns it.
        deviation: deviation of the rows, shape (m,), or as a function of the plant's accelerations, shape (nv,).
        memory: the memory after this state, if it is a sample; or a function without arguments that returns it.
        error: the error of a law that has no output here; None if it has one.
        check: function that returns the error of an output that cannot be applied, or None; None if numbers show it.
    """

    output: Array
    pivots: Array = field(default_factory=lambda: NOTHING)
    relative_pivots: Array = field(default_factory=lambda: NOTHING)
    active: Array = field(default_factory=lambda: NOTHING)
    status: Status = Status.OK
    explanation: str | Callable[[], str] = ""
    deviation: Array | Callable[[Array], Array] = field(default_factory=lambda: NOTHING)
    memory: object | Callable[[], object] | None = None
    error: EruginError | None = None
    check: Callable[[], EruginError | None] | None = None

    @property
    def message(self) -> str:
        """The explanation as a text."""
        return self.explanation() if callable(self.explanation) else self.explanation


Values = Mapping[str, float] | ArrayLike | None
"""Parameters: nominal, overridden by name, or the whole vector."""


_Area = tuple[Array, Array, Array, Array, Array, memoryview, Callable[[], None], list[object]]
"""Arrays of t, q, v, p and of the output, the verdict, the evaluation, and what the array of p contains."""


class RegularTick:
    """The output of a law at the usual call: arrays for q and v, and numbers about which nothing need be said.

    The kernel itself decides if the output may be applied, so that nothing is checked in Python. Any number of threads
    may call it.
    """

    def __init__(self, kernel: Kernel, parameters: Parameters) -> None:
        """Use a kernel.

        Args:
            kernel: function of t, q, v and p whose outputs are that of the law, and 1 where it may be applied.
            parameters: the parameters; where one has no nominal value, there is no nominal output.
        """
        self._kernel, self._parameters = kernel, parameters
        self._nominal = np.array([parameters.nominal.get(name, np.nan) for name in parameters.names])
        self._shapes = tuple((rows,) for rows, _ in kernel.inputs.values())
        self._areas = WorkspacePool(self._area)

    def __reduce__(self) -> tuple[object, ...]:
        """Copy without arrays."""
        return RegularTick, (self._kernel, self._parameters)

    def __call__(self, t: float, q: ArrayLike, v: ArrayLike, p: Array | None) -> Array | None:
        """Return the output; None if the arguments are of other types, or the output may not be applied.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: checked parameters, the whole vector; None for the nominal ones.
        """
        shapes = self._shapes
        if not (
            type(t) is float
            and type(q) is np.ndarray
            and q.shape == shapes[1]
            and q.dtype is _DOUBLE
            and type(v) is np.ndarray
            and v.shape == shapes[2]
            and v.dtype is _DOUBLE
        ):
            return None
        area = self._areas.acquire()
        time, place, rate, parameters, output, regular, evaluate, holds = area
        time[0] = t
        place[...] = q
        rate[...] = v
        if p is not holds[0]:
            parameters[...] = self._nominal if p is None else p
            # Another vector may be written into the same array between two calls.
            holds[0] = None if p is None else holds
        evaluate()
        found = output.copy() if regular[0] else None
        self._areas.release(area)
        return found

    def _area(self) -> _Area:
        time, place, rate, parameters = (np.zeros(shape) for shape in self._shapes)
        parameters[...] = self._nominal
        output, regular = np.zeros(self._kernel.outputs["output"][0]), np.zeros(1)
        evaluate = self._kernel.bind([time, place, rate, parameters], [output, regular])
        return time, place, rate, parameters, output, regular.data, evaluate, [None]


def memory_after(tick: Tick) -> object | None:
    """Return the memory after a sample.

    Args:
        tick: the tick of the sample, evaluated with the memory before it.
    """
    return tick.memory() if callable(tick.memory) else tick.memory


class Controller(Picklable, ABC):
    """A control law: robot model and state in, inputs or forces out."""

    robot: Robot
    """The controller's own model; the plant may differ."""

    parameters: Parameters = NO_PARAMETERS
    """Parameters that may vary without rebuilding the controller; the p of ``control``."""

    applies_force: bool = False
    """True if the output is a generalized force R, shape (nv,); False for inputs u, shape (nu,)."""

    supports: ClassVar[frozenset[Trait]] = frozenset()
    """Traits of a robot, beyond an arm with a drive in every joint, that this law supports."""

    accepts_any_number: bool = False
    """True for a law that has an output even where a sensor measures NaN or infinity."""

    memory: object | None = None
    """Everything that :meth:`advance` changes, as one value that is replaced and never modified, so that it can be
    saved and restored; None for a law without memory."""

    tube: Tube | None = None
    """Bounds of the deviations of the rows; a run notes where it leaves them."""

    @property
    def law(self) -> Law | None:
        """The law as expressions, so that a simulation runs as one compiled kernel; None if it has none."""
        return None

    def sampled_law(self, period: float) -> Law | None:
        """Return the law as expressions, with those of its memory; None if it has none.

        Args:
            period: time between samples [s]; a memory of past samples has room for as many as it needs.
        """
        positive("period", period)
        return self.law

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows that the law, or else :meth:`observe` and :meth:`deviation`, report."""
        return () if self._described is None else self._described.rows

    @property
    def switches(self) -> bool:
        """True if some rows are on only at times."""
        return self._described is not None and self._described.active.numel() > 0

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The program constraints that the law is to enforce; none for a law without a program."""
        return ()

    @property
    def tolerance(self) -> float:
        """A row is dependent if its relative pivot is not above this."""
        return 0.0 if self._described is None else self._described.tolerance

    @property
    def rank_loss_message(self) -> str:
        """Message of a run when a row becomes dependent or vanishes: the cause and what to try."""
        return Status.SINGULAR.sentence

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """Name of each constraint and the state matrix of its perturbation equation, in the parameters."""
        return () if self._described is None else self._described.linearizations

    @property
    def _described(self) -> Law | None:
        """The expressions that describe rows and their equations."""
        return self.law

    @abstractmethod
    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the law; a pure function of its arguments, from which all other methods are derived.

        Args:
            t: time [s].
            q: coordinates, shape (nq,), finite.
            v: velocities, shape (nv,), finite.
            p: parameters, the whole vector.
            memory: memory at this time: after this state, if it is a sample, to compute the output; before it, to
                compute the memory after it.

        Raises:
            EruginError: for a state in which the law has no output.
        """

    @property
    def initial_memory(self) -> object | None:
        """Memory before the first sample; None for a law without memory."""
        return None

    @property
    def has_memory(self) -> bool:
        """True if samples change what the law does."""
        return self.initial_memory is not None

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """Return the output at one tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Returns:
            u, shape (nu,), or R, shape (nv,).

        Raises:
            ShapeError: for a wrong shape, or its subclass NotFiniteInputError for a number that is not finite.
            SingularProgramError: if rows of the law are dependent at this state; the message names them and quantifies
                it.
            NotFiniteError: if the output is not finite although the rows are independent.
            EruginError: if the law has no output for another reason.
        """
        regular, numbers = self._regular, None if p is None else self.parameters.values(p)
        if regular is not None and (output := regular(t, q, v, numbers)) is not None:
            return output
        arguments = self.arguments(t, q, v, numbers)
        if regular is not None and (output := regular(*arguments)) is not None:
            return output
        tick = self.evaluate(*arguments, self.memory)
        if (error := self.failure(tick, arguments[0])) is not None:
            raise error
        return tick.output

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Tick:
        """Return the whole tick; dependent rows are reported by their pivots and raise nothing.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: if the law has no output.
        """
        arguments = self.arguments(t, q, v, p)
        tick = self.evaluate(*arguments, self.memory)
        if (tick.error is not None or not tick.status.is_safe) and (error := self.failure(tick, arguments[0])):
            raise error
        return tick

    def deviation(self, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike, p: Values = None) -> Array:
        """Return the deviation of the rows under the true accelerations of a plant, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            a: accelerations, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            NotFiniteError: if it overflows.
        """
        arguments = self.arguments(t, q, v, p)
        return self.deviation_of(self.evaluate(*arguments, self.memory), arguments[0], a)

    def deviation_of(self, tick: Tick, t: float, a: ArrayLike) -> Array:
        """Return the deviation of the rows of a tick under the true accelerations of a plant, shape (m,).

        Args:
            tick: the tick.
            t: its time [s].
            a: accelerations, shape (nv,).

        Raises:
            NotFiniteError: if it overflows.
        """
        if tick.error is not None and tick.deviation is NOTHING:
            raise tick.error
        numbers = vector("a", a, self.robot.coordinates.nv)
        found = tick.deviation(numbers) if callable(tick.deviation) else tick.deviation
        if not all_finite(found):
            raise NotFiniteError(f"at t = {t:g}: the deviation is not finite, {found.tolist()}")
        return found

    def failure(self, tick: Tick, t: float) -> EruginError | None:
        """Return the error of a tick whose output cannot be applied; None if it can.

        Args:
            tick: the tick.
            t: its time [s].
        """
        if tick.error is not None:
            return tick.error
        if tick.check is not None:
            return tick.check()
        status, message = tick.status, ""
        if status.is_safe:
            status = tick_status(all_finite(tick.output), tick.relative_pivots, self.tolerance)
            if status is Status.OK:
                return None
        else:
            message = tick.message
        if not message and status is Status.SINGULAR:
            message = f"{describe_dependent_row(self.rows, tick.relative_pivots)} {self.rank_loss_message}"
        return ERRORS.get(status, NotConvergedError)(f"at t = {t:g}: {message or status.sentence}")

    def diagnose(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> tuple[Status, str]:
        """Return the status at one state, from residuals, and its message; OK and "" if nothing is wrong or known.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return Status.OK, ""

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Process one sample of the motion, before ``control`` is called for it: the tick of a digital controller.

        Only this method changes the :attr:`memory`. ``control`` may then be called any number of times, at that state
        and at the stages that an integrator tries between it and the next sample, and changes nothing. A simulation
        calls it once per sample, in the order of time. Each thread needs a separate law: ``copy.deepcopy(law)``.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        if self.memory is not None:
            self.memory = memory_after(self.evaluate(*self.arguments(t, q, v, p), self.memory))

    def reset(self) -> None:
        """Reset the memory before a new run."""
        self.memory = self.initial_memory

    def remember(self, memory: object | None) -> None:
        """Set the memory, as after the samples of a run.

        Args:
            memory: a memory that this law had.

        Raises:
            ModelError: for a value of another kind.
        """
        first: object = self.initial_memory
        kind = type(first)
        fits = isinstance(memory, kind)
        if fits and kind is np.ndarray:
            fits = np.shape(cast("Array", memory)) == np.shape(cast("Array", first))
        if not fits:
            raise ModelError(f"memory must be a memory of {type(self).__name__}, {kind.__name__}, got {memory!r}")
        self.memory = memory

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Return the reason why this law cannot drive a robot, as the end of a sentence; empty if it can.

        Args:
            robot: the model.
        """
        missing = sorted(trait.value for trait in traits(robot) - cls.supports)
        return f"the robot has {', '.join(missing)}, which this law does not support" if missing else ""

    @classmethod
    def check_supported(cls, robot: Robot) -> None:
        """Raise ModelError with the :meth:`unsupported_reason` if there is one.

        Args:
            robot: the model.
        """
        if not isinstance(robot, Robot):
            raise ModelError(f"{cls.__name__} requires a Robot as its model, got {type(robot).__name__}")
        if reason := cls.unsupported_reason(robot):
            raise ModelError(f"{cls.__name__} cannot drive {robot.name}: {reason}")

    def arguments(self, t: float, q: ArrayLike, v: ArrayLike, p: Values) -> tuple[float, Array, Array, Array]:
        """Check the arguments of ``control`` and return t, q, v and the whole vector p.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape, or its subclass NotFiniteInputError for a number that is not finite.
            ParameterError: for an unknown or missing parameter.
        """
        nq, nv = self._sizes
        numbers = self._nominal if p is None else self.parameters.values(p)
        finite = not self.accepts_any_number
        return finite_time("t", t), vector("q", q, nq, finite=finite), vector("v", v, nv, finite=finite), numbers

    @functools.cached_property
    def _regular(self) -> RegularTick | None:
        """The output where nothing need be explained; None for a law that must be checked at every state."""
        law = self.law
        if law is None:
            return None
        robot = self.robot
        inputs = {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols}
        numbers = ca.vertcat(robot.t, robot.q, robot.v, law.output)
        regular = is_regular(numbers, law.relative_pivots, law.tolerance)
        return RegularTick(Kernel("regular_tick", inputs, {"output": law.output, "regular": regular}), self.parameters)

    @functools.cached_property
    def _sizes(self) -> tuple[int, int]:
        return self.robot.coordinates.nq, self.robot.coordinates.nv

    @functools.cached_property
    def _nominal(self) -> Array:
        return self.parameters.values()


class SymbolicController(Controller):
    """A controller given by expressions; a simulation with it runs as one compiled kernel.

    Its memory, if :meth:`build_law` gives it one, is z as an array; it draws no random numbers.
    """

    @abstractmethod
    def build_law(self) -> Law:
        """Build the law in the symbols of ``robot`` and ``parameters``; called once."""

    @property
    def law(self) -> Law | None:
        """The law as expressions; None if it has a memory."""
        return self._law if self._law.memory is None else None

    def sampled_law(self, period: float) -> Law:
        """Return the law as expressions, with those of its memory, which serve any period.

        Args:
            period: time between samples [s].
        """
        positive("period", period)
        return self._law.renewed()

    @property
    def _described(self) -> Law:
        return self._law

    @property
    def initial_memory(self) -> object | None:
        """z before the first sample, shape (k,); None without a memory."""
        return None if self._law.memory is None else read_only_copy(self._law.initial)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the expressions.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: z, shape (k,); None without a memory.
        """
        known = t, q, v, p, NOTHING if memory is None else np.asarray(memory)
        output, pivots, relative, active, reported = map(np.atleast_1d, self._observed(*known))
        # Where it is NaN the output is, too.
        number = float(reported[0]) if reported.size and np.isfinite(reported[0]) else 0.0
        if number not in set(Status):
            name = type(self).__name__
            raise ModelError(f"at t = {t:g}: the status of {name} must be the number of a Status, got {number:g}")
        status = Status(int(number))
        failed = None if status.is_safe else ERRORS.get(status, NotConvergedError)
        return Tick(
            output,
            pivots,
            relative,
            active,
            status,
            "" if status is Status.OK else status.sentence,
            deviation=lambda a: np.atleast_1d(self._deviation(*known, a)[0]),
            memory=None if memory is None else lambda: read_only_copy(np.atleast_1d(self._updated(*known)[0])),
            error=None if failed is None else failed(f"at t = {t:g}: {status.sentence}"),
        )

    @functools.cached_property
    def _law(self) -> Law:
        law = self.build_law()
        if law.random.numel():
            raise ModelError(f"{type(self).__name__} draws random numbers: wrap a law without them in Noise or Dropout")
        return law.where_safe()

    @functools.cached_property
    def _observed(self) -> Kernel:
        law = self._law
        outputs = {"output": law.output, "pivots": law.pivots, "relative": law.relative_pivots, "active": law.active}
        return Kernel("law_observed", self._symbols, {**outputs, "status": law.status})

    @functools.cached_property
    def _deviation(self) -> Kernel:
        symbols = {**self._symbols, "a": self.robot.coordinates.a}
        return Kernel("law_deviation", symbols, {"deviation": self._law.deviation}, compiled=False)

    @functools.cached_property
    def _updated(self) -> Kernel:
        return Kernel("law_updated", self._symbols, {"memory": self._law.updated})

    @property
    def _symbols(self) -> dict[str, ca.SX]:
        robot = self.robot
        return {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols, "z": self._law.z}
