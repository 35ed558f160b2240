"""The controller that realises a program: R = Θᵀλ at every tick, with a status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import all_finite, positive, vector
from ..symbolic.errors import ModelError
from .controller import Controller, Law, Observation
from .limits import BoundedInputs, BoundedMemory, ControlLimits, Holding, QpSolver
from .multipliers import MultiplierMethod, chosen_method
from .newton_branch import NewtonBranch
from .program import Program
from .program_kernels import ProgramKernels
from .program_verdict import ERRORS, ProgramVerdict
from .realization import Actuated, Bounded, Ideal, Realization
from .solution import Solution
from .status import Status, contradicting_rows, missed_rows
from .traits import Trait

Array = NDArray[np.float64]

REALIZATIONS: tuple[Realization, ...] = (Ideal(), Actuated(), Bounded())


class ProgramController(Controller):
    """Control by program constraints.

    Attributes:
        program: what is realised.
        realization: how R becomes real.
        method: how the multipliers are found; as given, or as chosen for the structure of the problem.
    """

    handles = frozenset(Trait)

    def __init__(
        self,
        program: Program,
        *,
        realization: Literal["ideal", "actuated", "bounded"] = "ideal",
        method: MultiplierMethod | None = None,
        tolerance: float = 1e-10,
        acceleration_guess: ArrayLike | ca.SX | None = None,
        limits: ControlLimits | None = None,
        priorities: Iterable[str | Iterable[str]] | None = None,
        solver: QpSolver | None = None,
    ) -> None:
        """Build the law.

        Args:
            program: constraints of a robot.
            realization: ``"ideal"``, the force R itself is applied; ``"actuated"``, it comes from the inputs;
                ``"bounded"``, from inputs within limits, with the rows satisfied as far as these let them be.
            method: how the multipliers are found; if not given, what fits the structure of the problem, see
                :func:`~erugin.controllers.multipliers.chosen_method`. What was chosen is the attribute ``method``.
            tolerance: a row counts as dependent when the square of what is left of it outside the rows before it,
                relative to the largest row of its constraint, is not above this.
            acceleration_guess: for rows nonlinear in the accelerations, where the search for the first root starts and
                so which branch is kept: numbers or an expression in t, q, v and p, shape (nv,); the acceleration
                without control if not given.
            limits: of inputs, power and joints, when bounded; the robot's own if not given.
            priorities: names of constraints, or groups of names, in the order in which they are to be satisfied when
                limits leave no room for all; those not named come last. All are equal if not given.
            solver: of quadratic programmes, when bounded.

        Raises:
            ModelError: for no program, no method, an unknown realisation, one that cannot serve this program, or a
                guess without use.
        """
        if not isinstance(program, Program):
            raise ModelError(f"a ProgramController realises a Program, got {type(program).__name__}")
        if method is not None and not isinstance(method, MultiplierMethod):
            raise ModelError(f"method must be a MultiplierMethod such as LdlMultipliers(), got {method!r}")
        self.program = program
        self.robot = program.robot
        self.parameters = program.parameters
        chosen = [r for r in REALIZATIONS if r.name == realization]
        if not chosen:
            names = ", ".join(repr(r.name) for r in REALIZATIONS)
            raise ModelError(f"realization must be one of {names}, got {realization!r}")
        self.realization = chosen[0]
        self.applies_force = self.realization.applies_force
        self._tolerance = positive("tolerance", tolerance)
        self.method = chosen_method(program) if method is None else method
        self._verdict = ProgramVerdict(program, self.method, self._tolerance)
        self._realized = self.realization.build(program, self.method)
        self._bounded: BoundedInputs | None = None
        if isinstance(self.realization, Bounded):
            self._bounded = BoundedInputs(program, self.method, limits, priorities, solver)
        elif not (limits is None and priorities is None and solver is None):
            raise ModelError(f"limits, priorities and solver need realization='bounded', got {realization!r}")
        output = self._realized.force if self.applies_force else self._realized.input
        if program.is_affine and acceleration_guess is not None:
            raise ModelError("acceleration_guess is of use only where rows are nonlinear in the accelerations; none is")
        self._branch = (
            None
            if program.is_affine
            else NewtonBranch(program, lambda p: self.realization.build(p, self.method), acceleration_guess)
        )
        self._law = Law(
            output=output,
            deviation=program.deviation,
            pivots=self._realized.pivots,
            relative_pivots=self._realized.relative_pivots,
            rows=program.rows,
            tolerance=self._tolerance,
            linearizations=program.linearizations,
            active=program.active if any(program.switched) else ca.SX(0, 1),
        )
        self._kernels = ProgramKernels(program, self._realized, self._law)
        self.reset()

    @property
    def law(self) -> Law | None:
        """Output, deviation and pivots as expressions; None where each tick solves equations or a programme."""
        return self._law if self._branch is None and self._bounded is None else None

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the program's rows."""
        return self.program.rows

    @property
    def switches(self) -> bool:
        """Whether rows are on at times only."""
        return any(self.program.switched)

    @property
    def tolerance(self) -> float:
        """A row is dependent if its relative pivot is not above this."""
        return self._tolerance

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """Of the program's constraints."""
        return self.program.linearizations

    def reset(self) -> None:
        """Forget the branch of accelerations, where rows are nonlinear in them, and the last samples when bounded."""
        if self._branch is not None:
            self._branch.reset()
        self.memory = None if self._bounded is None else BoundedMemory()

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> None:
        """Take in a sample: the input at it is what a rate limit and a failing solver go by until the next."""
        if self._bounded is not None:
            self.memory = self._bounded.advanced(self.memory, *self.arguments(t, q, v, p))

    def holding(self, t: float, q: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Holding:
        """Whether the limits of a bounded realisation allow to stand still at q, and which input would be too weak.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: if the realisation is not bounded.
        """
        if self._bounded is None:
            raise ModelError(f"only realization='bounded' has limits, this one is {self.realization.name!r}")
        time, place, _, numbers = self.arguments(t, q, np.zeros(self.robot.coordinates.nv), p)
        return self._bounded.holding(time, place, numbers)

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        """The input u, shape (nu,), or the force R, shape (nv,), when ideal.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
            SingularProgramError: if rows are dependent at this state; the message says which and by how much.
            ContradictoryProgramError: if a method that handles dependent rows finds that they contradict each other.
            NotFiniteError: if the output is not finite although the rows are independent.
            NotConvergedError: if rows nonlinear in the accelerations have no root here, or none on the branch so far.
        """
        if self._bounded is not None:
            return self._bounded.decide(self.memory, *self.arguments(t, q, v, p)).input.copy()
        arguments, failure = self._with_acceleration(self.arguments(t, q, v, p))
        output, pivots = map(np.atleast_1d, self._kernels.tick(*arguments))
        status = self._verdict.status(all_finite(output), pivots, failure)
        if status is not Status.OK:
            message = self._verdict.message(status, pivots, failure, self._misses(arguments))
            raise ERRORS[status](f"at t = {float(t):g}: {message}")
        return output

    def observe(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> Observation:
        """Output and pivots; raises what ``control`` raises, except for singular rows, which the pivots show."""
        known = self.arguments(t, q, v, p)
        told = None if self._bounded is None else self._bounded.tell(self.memory, *known)
        arguments, failure = self._with_acceleration(known) if told is None else ((*known, told.input), "")
        output, relative, pivots, active = map(np.atleast_1d, self._kernels.observed(*arguments))
        if told is not None:
            return Observation(output, pivots, relative, active, told.status, told.message)
        status = self._verdict.status(True, relative, failure)
        if status is Status.NOT_CONVERGED:
            message = self._verdict.message(status, relative, failure, self._misses(arguments))
            raise ERRORS[status](f"at t = {float(t):g}: {message}")
        return Observation(output, pivots, relative, active)

    def deviation(
        self,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> Array:
        """Deviation of the program's rows."""
        arguments = self.arguments(t, q, v, p)
        return np.atleast_1d(self._kernels.deviation(*arguments, vector("a", a, self.robot.coordinates.nv))[0])

    def solve(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Solution:
        """Everything about one state; unlike ``control`` it returns the status of a singular one instead of raising.

        A constraint of a single row has nothing to be compared with: it is singular where the row is exactly zero, and
        near such a place the multipliers grow without bound under the status OK.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
        """
        known = self.arguments(t, q, v, p)
        told = None if self._bounded is None else self._bounded.tell(self.memory, *known)
        arguments, failure = self._with_acceleration(known) if told is None else ((*known, told.input), "")
        # Vectors of one entry come as scalars.
        lam, force, u, a, mu, pivots, misses, left = map(np.atleast_1d, self._kernels.whole(*arguments))
        data = self._kernels.data.at(*known, a)
        verdict = self._verdict
        status = verdict.status(bool(np.isfinite(np.concatenate([lam, force, u, a, mu])).all()), pivots, failure)
        message = verdict.message(status, pivots, failure, misses, left)
        if told is not None:
            status, message = told.status, told.message
        elif status is Status.OK:
            status, said = verdict.of_residuals(data, a)
            message = message if status is Status.OK else f"{said} {status.sentence}"
        unique = data.unique(not self.applies_force, verdict.relations)
        if left.size:
            unique &= left != 0.0
        return Solution.of(
            data,
            known[2],
            multipliers=lam,
            force=force,
            input=u,
            acceleration=a,
            reactions=mu,
            pivots=pivots,
            ideal=self.applies_force,
            unique=unique,
            status=status,
            message=message + verdict.of_reactions(data),
        )

    def contradiction(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> str:
        """Which rows contradict others, and by how much; when bounded the status of each sample says what is missed."""
        status, said = self.verdict(t, q, v, p)
        return said if status is Status.CONTRADICTORY else ""

    def verdict(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> tuple[Status, str]:
        """Status of rows that a method for dependent rows does not meet, and which they are, by how much."""
        if self._bounded is not None or not self.method.handles_dependence:
            return Status.OK, ""
        arguments, failure = self._with_acceleration(self.arguments(t, q, v, p))
        pivots, misses, _ = map(np.atleast_1d, self._kernels.whole(*arguments)[-3:])
        status = self._verdict.status(True, pivots, failure)
        if status is Status.CONTRADICTORY:
            return status, contradicting_rows(self.program.rows, misses)
        return (Status.OK, "") if status is Status.OK or failure else (status, missed_rows(self.program.rows, misses))

    def _misses(self, arguments: tuple[ArrayLike, ...]) -> Array:
        return np.atleast_1d(self._kernels.whole(*arguments)[-2])

    def _with_acceleration(self, arguments: tuple[ArrayLike, ...]) -> tuple[tuple[ArrayLike, ...], str]:
        """The arguments and, where rows are nonlinear in it, the acceleration; and why there is none, if so."""
        if self._branch is None:
            return arguments, ""
        t, q, v, p = arguments
        found = self._branch.follow(float(np.asarray(t)), np.asarray(q), np.asarray(v), np.asarray(p))
        return (*arguments, found.acceleration), found.failure
