"""Controllers: the abstract control law, and the abstract law that is a set of expressions."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints.constraint import Constraint
from ..robots.robot import Robot
from ..symbolic.errors import ModelError, NotFiniteError, SingularProgramError
from ..symbolic.kernel import Kernel
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from ..symbolic.pickling import Picklable
from ..symbolic.validation import all_finite, finite_time, vector
from .status import Status, describe_dependent_row, tick_status
from .traits import Trait, traits

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Law:
    """A control law as expressions in the symbols of the controller's model and parameters.

    Attributes:
        output: what ``control`` returns: u, shape (nu,), or R, shape (nv,).
        deviation: of the program, shape (m,); may use the accelerations ``robot.coordinates.a``.
        pivots: of the rows, shape (m,); zero where a row depends on the ones before it, or vanishes.
        relative_pivots: the same relative to the largest row of the same constraint, shape (m,), in [0, 1].
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
        """The law of a controller that has no program: what it wants to vanish takes the deviations' place.

        Args:
            output: what ``control`` returns.
            errors: shape (m,).
            rows: name of each, m of them.
        """
        ones = ca.SX.ones(errors.numel(), 1)
        return cls(output, errors, ones, ones, rows)


@dataclass(frozen=True, eq=False)
class Observation:
    """What a controller called from Python has to say of one tick; empty arrays where it has nothing to say.

    Attributes:
        output: what ``control`` returns.
        pivots: as in :class:`Law`, shape (m,).
        relative_pivots: as in :class:`Law`, shape (m,).
        active: as in :class:`Law`, shape (m,) or empty.
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
    """What may be varied without building the controller anew; the p of ``control``."""

    applies_force: bool = False
    """True if the output is a generalized force R, shape (nv,); False for inputs u, shape (nu,)."""

    supports: ClassVar[frozenset[Trait]] = frozenset()
    """Which of what makes a robot harder than an arm with a drive in every joint this law is made for."""

    memory: object | None = None
    """Everything that :meth:`advance` changes, as one value that is replaced and never altered, so that it can be kept
    and put back; None for a law without memory."""

    @property
    def law(self) -> Law | None:
        """The law as expressions, if there is one; then a simulation runs as one compiled kernel."""
        return None

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows that the law, or else :meth:`observe` and :meth:`deviation`, tell of."""
        return () if self.law is None else self.law.rows

    @property
    def switches(self) -> bool:
        """Whether rows are on at times only."""
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
        """What it means that a row becomes dependent or vanishes, and what to try, for the message of a run."""
        return Status.SINGULAR.sentence

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """Name of each constraint and the state matrix of its perturbation equation, in the parameters."""
        return () if self.law is None else self.law.linearizations

    @abstractmethod
    def control(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """The output at one tick.

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
        """The output at one tick and the pivots of the rows, for a record of a run without a symbolic law.

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
        """Deviation of the rows under the accelerations that a plant really has, shape (m,).

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
        """Status at one state, from residuals, and its message; OK and nothing where all holds or nothing can be told.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return Status.OK, ""

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> None:
        """Take in one sample of the motion: the tick of a digital controller, before ``control`` is called for it.

        Only this changes the :attr:`memory`. ``control`` may then be called any number of times, at that state and at
        the stages that an integrator tries between it and the next sample, and changes nothing. A simulation calls it
        once per sample, in the order of time. Each thread that calls it needs a law of its own: ``copy.deepcopy(law)``.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """

    def reset(self) -> None:
        """Put the memory at its start, before a new run."""

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Why this law cannot drive a robot, as the end of a sentence; empty if it can.

        Args:
            robot: the model.
        """
        missing = sorted(trait.value for trait in traits(robot) - cls.supports)
        return f"the robot has {', '.join(missing)}, for which it is not made" if missing else ""

    @classmethod
    def check_supported(cls, robot: Robot) -> None:
        """Raise ModelError with the :meth:`unsupported_reason` if there is one.

        Args:
            robot: the model.
        """
        if not isinstance(robot, Robot):
            raise ModelError(f"{cls.__name__} needs a Robot as its model, got {type(robot).__name__}")
        if reason := cls.unsupported_reason(robot):
            raise ModelError(f"{cls.__name__} cannot drive {robot.name}: {reason}")

    def arguments(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None
    ) -> tuple[float, Array, Array, Array]:
        """t, q, v and the whole vector p, checked.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape; NotFiniteInputError, which is one, for a number that is not finite.
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


class SymbolicController(Controller):
    """A controller without memory, written down as expressions; a simulation with it runs as one compiled kernel."""

    @abstractmethod
    def build_law(self) -> Law:
        """The law in the symbols of ``robot`` and ``parameters``; asked for once."""

    @property
    def law(self) -> Law:
        """The law as expressions."""
        return self._law

    def control(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """The output at one tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape; NotFiniteInputError, which is one, for a number that is not finite.
            SingularProgramError: if the law's rows are dependent at this state; the message says which and by how much.
            NotFiniteError: if the output is not finite although they are not.
        """
        output, pivots = map(np.atleast_1d, self._tick(*self.arguments(t, q, v, p)))
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
        """Output and pivots, for one who does not use the law; singular rows are shown by the pivots, not raised."""
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
        """Deviation of the law's rows."""
        numbers = vector("a", a, self.robot.coordinates.nv)
        return np.atleast_1d(self._deviation(*self.arguments(t, q, v, p), numbers)[0])

    @functools.cached_property
    def _law(self) -> Law:
        return self.build_law()

    @functools.cached_property
    def _tick(self) -> Kernel:
        law = self._law
        return Kernel("law_tick", self._symbols, {"output": law.output, "pivots": law.relative_pivots})

    @functools.cached_property
    def _observed(self) -> Kernel:
        law = self._law
        told = {"output": law.output, "pivots": law.pivots, "relative": law.relative_pivots, "active": law.active}
        return Kernel("law_observed", self._symbols, told)

    @functools.cached_property
    def _deviation(self) -> Kernel:
        symbols = {**self._symbols, "a": self.robot.coordinates.a}
        return Kernel("law_deviation", symbols, {"deviation": self._law.deviation}, compiled=False)

    @property
    def _symbols(self) -> dict[str, ca.SX]:
        robot = self.robot
        return {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols}
