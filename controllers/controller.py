"""Controllers: the abstract control law, and the abstract law that is a set of expressions."""

from __future__ import annotations

import functools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints.constraint import Constraint
from ..robots.robot import Robot
from ..symbolic.errors import ModelError, NotFiniteError, SingularProgramError
from ..symbolic.kernel import Kernel, WorkspacePool
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from ..symbolic.pickling import Picklable
from ..symbolic.validation import all_finite, finite_time, vector
from .status import Status, describe_dependent_row, tick_status
from .traits import Trait, traits

Array = NDArray[np.float64]
_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class Law:
    """A control law as expressions in the symbols of the controller's model and parameters.

    Attributes:
        output: the result of ``control``: u, shape (nu,), or R, shape (nv,).
        deviation: deviation of the program, shape (m,); may use the accelerations ``robot.coordinates.a``.
        pivots: pivots of the rows, shape (m,); zero where a row depends on the ones before it, or vanishes.
        relative_pivots: pivots relative to the largest row of the same constraint, shape (m,), in [0, 1].
        rows: name of each row, m of them.
        tolerance: a row is dependent if its relative pivot is not above this.
        linearizations: name of each constraint and the state matrix of its perturbation equation, in the parameters.
        active: 1 where a row is on and 0 where it is off, shape (m,); empty if all rows are always on.
    """

    output: ca.SX
    deviation: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    pivots: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    relative_pivots: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    rows: tuple[str, ...] = ()
    tolerance: float = 0.0
    linearizations: tuple[tuple[str, ca.SX], ...] = ()
    active: ca.SX = field(default_factory=lambda: ca.SX(0, 1))

    @classmethod
    def of_errors(cls, output: ca.SX, errors: ca.SX, rows: tuple[str, ...]) -> Law:
        """Return the law of a controller without a program; its errors stand in for the deviations.

        Args:
            output: the result of ``control``: u, shape (nu,), or R, shape (nv,).
            errors: quantities that the law drives to zero, shape (m,).
            rows: names of the errors, m of them.
        """
        ones = ca.SX.ones(errors.numel(), 1)
        return cls(output, errors, ones, ones, rows)


@dataclass(frozen=True, eq=False)
class Observation:
    """Record of one tick of a controller that is called from Python; arrays that do not apply are empty.

    Attributes:
        output: the result of ``control``.
        pivots: pivots of the rows as in :class:`Law`, shape (m,).
        relative_pivots: relative pivots as in :class:`Law`, shape (m,).
        active: 1 for rows that are on, 0 for others, as in :class:`Law`, shape (m,) or empty.
        status: OK, LIMITED or HELD; a controller without a safe output raises instead.
        message: if the status is not OK, what happened, which row or input, by how much, and what to try.
    """

    output: NDArray[np.float64]
    pivots: NDArray[np.float64]
    relative_pivots: NDArray[np.float64]
    active: NDArray[np.float64]
    status: Status = Status.OK
    message: str = ""


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

    memory: object | None = None
    """Everything that :meth:`advance` changes, as one value that is replaced and never modified, so that it can be
    saved and restored; None for a law without memory."""

    @property
    def law(self) -> Law | None:
        """The law as expressions, so that a simulation runs as one compiled kernel; None if it has none."""
        return None

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows that the law, or else :meth:`observe` and :meth:`deviation`, report."""
        return () if self.law is None else self.law.rows

    @property
    def switches(self) -> bool:
        """True if some rows are on only at times."""
        return self.law is not None and self.law.active.numel() > 0

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The program constraints that the law is to enforce; none for a law without a program."""
        return ()

    @property
    def tolerance(self) -> float:
        """A row is dependent if its relative pivot is not above this."""
        return 0.0 if self.law is None else self.law.tolerance

    @property
    def rank_loss_message(self) -> str:
        """Message of a run when a row becomes dependent or vanishes: the cause and what to try."""
        return Status.SINGULAR.sentence

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """Name of each constraint and the state matrix of its perturbation equation, in the parameters."""
        return () if self.law is None else self.law.linearizations

    @abstractmethod
    def control(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the output at one tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Returns:
            u, shape (nu,), or R, shape (nv,).
        """

    def observe(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> Observation:
        """Return the output at one tick and the pivots of the rows, to record a run without a symbolic law.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        nothing = np.zeros(0)
        return Observation(self.control(t, q, v, p), nothing, nothing, nothing)

    def deviation(
        self,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the deviation of the rows under the true accelerations of a plant, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            a: accelerations, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return np.zeros(0)

    def diagnose(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> tuple[Status, str]:
        """Return the status at one state, from residuals, and its message; OK and "" if nothing is wrong or known.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return Status.OK, ""

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> None:
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

    def reset(self) -> None:
        """Reset the memory before a new run."""

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

    def arguments(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None
    ) -> tuple[float, Array, Array, Array]:
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
        return finite_time("t", t), vector("q", q, nq), vector("v", v, nv), numbers

    @functools.cached_property
    def _sizes(self) -> tuple[int, int]:
        return self.robot.coordinates.nq, self.robot.coordinates.nv

    @functools.cached_property
    def _nominal(self) -> Array:
        return self.parameters.values()


def is_regular(robot: Robot, output: ca.SX, relative_pivots: ca.SX, tolerance: float) -> ca.SX:
    """Return 1 where time, state and output are finite and all rows are independent, and 0 elsewhere, shape (1,).

    It is also 0 for numbers so large that their sum overflows.

    Args:
        robot: the model.
        output: output of a law.
        relative_pivots: relative pivots of the rows, shape (m,).
        tolerance: a row is dependent if its relative pivot is not above this.
    """
    size = ca.sum1(ca.fabs(ca.vertcat(robot.t, robot.q, robot.v, output)))
    regular = size <= sys.float_info.max
    for pivot in ca.vertsplit(ca.densify(relative_pivots)):
        regular = ca.logic_and(regular, pivot > tolerance)
    return regular


_Area = tuple[Array, Array, Array, Array, Array, memoryview, Callable[[], None], list[object]]
"""Arrays of t, q, v, p and of the output, the verdict, the evaluation, and what the array of p contains."""


class RegularTick:
    """The output of a law at the usual call: arrays for q and v, and numbers about which nothing need be said.

    The kernel itself decides if the output may be applied, so that nothing is checked in Python. Any number of threads
    may call it.
    """

    def __init__(self, kernel: Kernel, nominal: Array) -> None:
        """Use a kernel.

        Args:
            kernel: function of t, q, v and p whose outputs are that of the law, and 1 where it may be applied.
            nominal: nominal parameters.
        """
        self._kernel, self._nominal = kernel, nominal
        self._shapes = tuple((rows,) for rows, _ in kernel.inputs.values())
        self._areas = WorkspacePool(self._area)

    def __reduce__(self) -> tuple[object, ...]:
        """Copy without arrays."""
        return RegularTick, (self._kernel, self._nominal)

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


class SymbolicController(Controller):
    """A controller without memory, given by expressions; a simulation with it runs as one compiled kernel."""

    @abstractmethod
    def build_law(self) -> Law:
        """Build the law in the symbols of ``robot`` and ``parameters``; called once."""

    @property
    def law(self) -> Law:
        """The law as expressions."""
        return self._law

    def control(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the output at one tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape, or its subclass NotFiniteInputError for a number that is not finite.
            SingularProgramError: if rows of the law are dependent at this state; the message names them and quantifies
                it.
            NotFiniteError: if the output is not finite although the rows are independent.
        """
        numbers = None if p is None else self.parameters.values(p)
        if (output := self._regular(t, q, v, numbers)) is not None:
            return output
        arguments = self.arguments(t, q, v, numbers)
        if (output := self._regular(*arguments)) is not None:
            return output
        output, pivots = map(np.atleast_1d, self._tick(*arguments))
        status = tick_status(all_finite(output), pivots, self.tolerance)
        if status is Status.SINGULAR:
            raise SingularProgramError(
                f"at t = {float(t):g}: {describe_dependent_row(self.rows, pivots)} {status.sentence}"
            )
        if status is not Status.OK:
            raise NotFiniteError(f"at t = {float(t):g}: {status.sentence}")
        return output

    def observe(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> Observation:
        """Return output and pivots; singular rows are reported by the pivots and raise nothing."""
        output, pivots, relative, active = map(np.atleast_1d, self._observed(*self.arguments(t, q, v, p)))
        return Observation(output, pivots, relative, active)

    def deviation(
        self,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the deviation of the law's rows, shape (m,); raises NotFiniteError if it overflows."""
        numbers = vector("a", a, self.robot.coordinates.nv)
        found = np.atleast_1d(self._deviation(*self.arguments(t, q, v, p), numbers)[0])
        if not all_finite(found):
            raise NotFiniteError(f"at t = {float(t):g}: the deviation is not finite, {found.tolist()}")
        return found

    @functools.cached_property
    def _law(self) -> Law:
        return self.build_law()

    @functools.cached_property
    def _regular(self) -> RegularTick:
        law = self._law
        outputs = {
            "output": law.output,
            "regular": is_regular(self.robot, law.output, law.relative_pivots, law.tolerance),
        }
        return RegularTick(Kernel("regular_tick", self._symbols, outputs), self.parameters.values())

    @functools.cached_property
    def _tick(self) -> Kernel:
        law = self._law
        outputs = {"output": law.output, "pivots": law.relative_pivots}
        return Kernel("law_tick", self._symbols, outputs)

    @functools.cached_property
    def _observed(self) -> Kernel:
        law = self._law
        outputs = {"output": law.output, "pivots": law.pivots, "relative": law.relative_pivots, "active": law.active}
        return Kernel("law_observed", self._symbols, outputs)

    @functools.cached_property
    def _deviation(self) -> Kernel:
        symbols = {**self._symbols, "a": self.robot.coordinates.a}
        return Kernel("law_deviation", symbols, {"deviation": self._law.deviation}, compiled=False)

    @property
    def _symbols(self) -> dict[str, ca.SX]:
        robot = self.robot
        return {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols}
