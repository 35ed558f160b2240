"""The controller that realises a program: R = Θᵀλ at every tick, with a status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..robots.natural import dependent_rows
from ..symbolic.arrays import positive, vector
from ..symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    ModelError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from .controller import Controller, Law, Observation
from .multipliers import LdlMultipliers, MultiplierMethod
from .newton_branch import NewtonBranch
from .program import Program
from .program_kernels import ProgramKernels
from .realization import Actuated, Ideal, Realization
from .solution import Solution
from .status import Status, contradicting_rows, dependent_row, judge
from .traits import Trait

Array = NDArray[np.float64]

ERRORS: Mapping[Status, type[EruginError]] = {
    Status.SINGULAR: SingularProgramError,
    Status.CONTRADICTORY: ContradictoryProgramError,
    Status.NOT_FINITE: NotFiniteError,
    Status.NOT_CONVERGED: NotConvergedError,
}

REALISED = (
    "The force realises the program. Where rows depend on each other, their multipliers are those of least norm among "
    "many."
)

REALIZATIONS: tuple[Realization, ...] = (Ideal(), Actuated())


class ProgramController(Controller):
    """Control by program constraints.

    Attributes:
        program: what is realised.
        realization: how R becomes real.
    """

    handles = frozenset(Trait)

    def __init__(
        self,
        program: Program,
        *,
        realization: Literal["ideal", "actuated"] = "ideal",
        method: MultiplierMethod | None = None,
        tolerance: float = 1e-10,
        acceleration_guess: ArrayLike | ca.SX | None = None,
    ) -> None:
        """Build the law.

        Args:
            program: constraints of a robot.
            realization: ``"ideal"``, the force R itself is applied; ``"actuated"``, it comes from the inputs.
            method: how the multipliers are found; LDLᵀ if not given.
            tolerance: a row counts as dependent when the square of what is left of it outside the rows before it,
                relative to the largest row of its constraint, is not above this.
            acceleration_guess: for rows nonlinear in the accelerations, where the search for the first root starts and
                so which branch is kept: numbers or an expression in t, q, v and p, shape (nv,); the acceleration
                without control if not given.

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
        self._method = method or LdlMultipliers()
        self._realized = self.realization.build(program, self._method)
        output = self._realized.force if self.applies_force else self._realized.input
        if program.is_affine and acceleration_guess is not None:
            raise ModelError("acceleration_guess is of use only where rows are nonlinear in the accelerations; none is")
        self._branch = (
            None
            if program.is_affine
            else NewtonBranch(program, lambda p: self.realization.build(p, self._method), acceleration_guess)
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

    @property
    def law(self) -> Law | None:
        """Output, deviation and pivots as expressions; None where rows nonlinear in the accelerations are solved."""
        return self._law if self._branch is None else None

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
        """Forget the branch of accelerations, where rows are nonlinear in them."""
        if self._branch is not None:
            self._branch.reset()

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
        arguments, failure = self._with_acceleration(self.arguments(t, q, v, p))
        output, pivots = map(np.atleast_1d, self._kernels.tick(*arguments))
        status = self._judge(bool(np.isfinite(output).all()), pivots, failure)
        if status is not Status.OK:
            message = self._message(status, pivots, failure, self._misses(arguments))
            raise ERRORS[status](f"at t = {float(t):g}: {message}")
        return output

    def observe(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> Observation:
        """Output and pivots; raises what ``control`` raises, except for singular rows, which the pivots show."""
        arguments, failure = self._with_acceleration(self.arguments(t, q, v, p))
        output, relative, pivots, active = map(np.atleast_1d, self._kernels.observed(*arguments))
        status = self._judge(True, relative, failure)
        if status is Status.NOT_CONVERGED:
            message = self._message(status, relative, failure, np.zeros(0))
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
        # Vectors of one entry come as scalars.
        arguments, failure = self._with_acceleration(self.arguments(t, q, v, p))
        values = map(np.atleast_1d, self._kernels.whole(*arguments))
        lam, force, u, a, mu, deviation, pivots, motion, rows, natural, misses = values
        finite = bool(np.isfinite(np.concatenate([lam, force, u, a, mu])).all())
        status = self._judge(finite, pivots, failure)
        for array in (lam, force, u, a, mu, deviation, pivots):
            array.setflags(write=False)
        return Solution(
            multipliers=lam,
            force=force,
            input=u,
            acceleration=a,
            reactions=mu,
            deviation=deviation,
            pivots=pivots,
            motion_residual=float(np.abs(motion).max()),
            program_residual=float(np.abs(rows).max()),
            status=status,
            message=self._message(status, pivots, failure, misses) + self._of_reactions(natural),
        )

    def contradiction(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> str:
        """Which rows contradict others, and by how much."""
        arguments, _ = self._with_acceleration(self.arguments(t, q, v, p))
        return contradicting_rows(self.program.rows, self._misses(arguments))

    def _misses(self, arguments: tuple[ArrayLike, ...]) -> Array:
        return np.atleast_1d(self._kernels.whole(*arguments)[-1])

    def _with_acceleration(self, arguments: tuple[ArrayLike, ...]) -> tuple[tuple[ArrayLike, ...], str]:
        """The arguments and, where rows are nonlinear in it, the acceleration; and why there is none, if so."""
        if self._branch is None:
            return arguments, ""
        t, q, v, p = arguments
        found = self._branch.follow(float(np.asarray(t)), np.asarray(q), np.asarray(v), np.asarray(p))
        return (*arguments, found.acceleration), found.failure

    def _judge(self, finite: bool, pivots: Array, failure: str) -> Status:
        """Status of a tick; rows that vanish are why no acceleration was found, where they do."""
        status = judge(finite, pivots, self._tolerance)
        if status is Status.SINGULAR and self._method.handles_dependence:
            return Status.CONTRADICTORY
        return Status.NOT_CONVERGED if failure and status is not Status.SINGULAR else status

    def _message(self, status: Status, pivots: Array, failure: str, misses: Array) -> str:
        if status is Status.CONTRADICTORY:
            return f"{contradicting_rows(self.program.rows, misses)} {status.sentence}"
        if status is Status.OK and self._method.handles_dependence:
            return REALISED
        if status is Status.NOT_CONVERGED:
            return f"{failure} {status.sentence}"
        if status is Status.SINGULAR:
            return f"{dependent_row(self.program.rows, pivots)} {status.sentence}"
        return status.sentence

    def _of_reactions(self, natural: Array) -> str:
        """A sentence on reactions that are not determined; empty where they are."""
        robot = self.robot
        if not natural.size or not np.isfinite(natural).all():
            return ""
        A = natural.reshape(-1, robot.coordinates.nv, order="F")
        sizes = [constraint.residual(robot.coordinates).numel() for constraint in robot.natural]
        names = [repr(robot.natural_rows[i]) for i in dependent_rows(A, sizes)]
        if not names:
            return ""
        what = "mean nothing" if robot.redundant == "refused" else "are of least norm among many"
        return f" The reactions {what}: natural rows {', '.join(names)} depend on others."
