"""The controller that realises a program: R = Θᵀλ at every tick, with a status."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..robots.natural import dependent_rows
from ..symbolic.arrays import positive, vector
from ..symbolic.errors import ModelError, NotFiniteError, ShapeError, SingularProgramError
from ..symbolic.kernel import Kernel
from .controller import Controller, Law
from .multipliers import LdlMultipliers, MultiplierMethod
from .program import Program
from .realization import Actuated, Ideal, Realization
from .status import Status, dependent_row, judge

Array = NDArray[np.float64]

REALIZATIONS: tuple[Realization, ...] = (Ideal(), Actuated())


@dataclass(frozen=True, eq=False)
class Solution:
    """What a program asks for at one state, with residuals recomputed from the data.

    Attributes:
        multipliers: λ, shape (m,).
        force: R, shape (nv,).
        input: u, shape (nu,); shape (0,) when ideal.
        acceleration: a, shape (nv,).
        reactions: μ of the natural constraints.
        deviation: y, y′, z of the rows, shape (m,).
        pivots: relative pivots of the rows, shape (m,), in [0, 1].
        motion_residual: |M a + h − R − Aᵀμ|, largest component.
        program_residual: |Θ a − β|, largest component.
        status: whether the numbers above mean anything.
        message: the status's sentence and, if it is not OK, the row and by how much; and that the reactions mean
            nothing where natural constraints depend on each other.
    """

    multipliers: Array
    force: Array
    input: Array
    acceleration: Array
    reactions: Array
    deviation: Array
    pivots: Array
    motion_residual: float
    program_residual: float
    status: Status
    message: str


class ProgramController(Controller):
    """Control by program constraints.

    Attributes:
        program: what is realised.
        realization: how R becomes real.
    """

    def __init__(
        self,
        program: Program,
        *,
        realization: Literal["ideal", "actuated"] = "ideal",
        method: MultiplierMethod | None = None,
        tolerance: float = 1e-10,
    ) -> None:
        """Build the law.

        Args:
            program: constraints of a robot.
            realization: ``"ideal"``, the force R itself is applied; ``"actuated"``, it comes from the inputs.
            method: how the multipliers are found; LDLᵀ if not given.
            tolerance: a row counts as dependent when the square of what is left of it outside the rows before it,
                relative to the largest row of its constraint, is not above this.

        Raises:
            ModelError: for an unknown realisation, or one that cannot serve this program.
        """
        self.program = program
        self.robot = program.robot
        self.parameters = program.parameters
        chosen = [r for r in REALIZATIONS if r.name == realization]
        if not chosen:
            names = ", ".join(repr(r.name) for r in REALIZATIONS)
            raise ModelError(f"realization must be one of {names}, got {realization!r}")
        self.realization = chosen[0]
        self.applies_force = self.realization.applies_force
        self.tolerance = positive("tolerance", tolerance)
        self._realized = self.realization.build(program, method or LdlMultipliers())
        output = self._realized.force if self.applies_force else self._realized.input
        self._law = Law(
            output=output,
            deviation=program.deviation,
            pivots=self._realized.pivots,
            relative_pivots=self._realized.relative_pivots,
            rows=program.rows,
            tolerance=self.tolerance,
            linearizations=program.linearizations,
        )

    @property
    def law(self) -> Law:
        """Output, deviation and pivots as expressions."""
        return self._law

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
            NotFiniteError: if the output is not finite although the rows are independent.
        """
        arguments = self._arguments(t, q, v, p)
        output, pivots = map(np.atleast_1d, self._tick(*arguments))
        status = judge(bool(np.isfinite(output).all()), pivots, self.tolerance)
        if status is not Status.OK:
            error = SingularProgramError if status is Status.SINGULAR else NotFiniteError
            raise error(f"at t = {arguments[0]:g}: {self._message(status, pivots)}")
        return output

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
        values = map(np.atleast_1d, self._whole(*self._arguments(t, q, v, p)))
        lam, force, u, a, mu, deviation, pivots, motion, rows, natural = values
        finite = bool(np.isfinite(np.concatenate([lam, force, u, a, mu])).all())
        status = judge(finite, pivots, self.tolerance)
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
            message=self._message(status, pivots) + self._of_reactions(natural),
        )

    def _message(self, status: Status, pivots: Array) -> str:
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
        return f" The reactions mean nothing: natural rows {', '.join(names)} depend on others." if names else ""

    def _arguments(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None
    ) -> tuple[float, Array, Array, Array]:
        time = float(t)
        if not np.isfinite(time):
            raise ShapeError(f"t must be finite, got {t!r}")
        c = self.robot.coordinates
        numbers = self._nominal if p is None else self.parameters.values(p)
        return time, vector("q", q, c.nq), vector("v", v, c.nv), numbers

    @functools.cached_property
    def _nominal(self) -> Array:
        return self.parameters.values()

    @functools.cached_property
    def _tick(self) -> Kernel:
        return Kernel("program_tick", self._symbols, {"output": self.law.output, "pivots": self.law.relative_pivots})

    @functools.cached_property
    def _whole(self) -> Kernel:
        r, robot = self._realized, self.robot
        A, _ = robot.natural_form
        motion = robot.mass_matrix @ r.acceleration + robot.bias - r.force - A.T @ r.reactions
        deviation = ca.substitute(self.program.deviation, robot.coordinates.a, r.acceleration)
        outputs = {
            "multipliers": r.multipliers,
            "force": r.force,
            "input": r.input,
            "acceleration": r.acceleration,
            "reactions": r.reactions,
            "deviation": deviation,
            "pivots": r.relative_pivots,
            "motion": motion,
            "rows": self.program.theta @ r.acceleration - self.program.beta,
            "natural": A,
        }
        return Kernel("program_solution", self._symbols, {key: ca.vec(value) for key, value in outputs.items()})

    @property
    def _symbols(self) -> dict[str, ca.SX]:
        return {"t": self.robot.t, "q": self.robot.q, "v": self.robot.v, "p": self.parameters.symbols}
