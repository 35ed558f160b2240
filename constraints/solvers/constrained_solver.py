"""The abstract solver of M a = Q + Θᵀλ, Θ a = β, and its solution with recomputed residuals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ...symbolic.validation import positive
from ..solvability import (
    CONSISTENCY,
    REMAINDER,
    SINGULAR_VALUE_TOLERANCE,
    ConstrainedMotion,
    Solvability,
    row_remainders,
    solvability,
)

Array = NDArray[np.float64]

INACCURATE = 1e-6
"""A residual above this share of the numbers whose difference it is is more than rounding error."""
REFINEMENT_STEPS = 2
"""Number of refinement steps: a solver that squares the angles between rows recovers the digits it has lost."""


class SingularCase(Enum):
    """A singular case; the text completes "the equations have …"."""

    DEPENDENT_ROWS = "rows that depend on others"
    VANISHING_ROWS = "rows that vanish"
    SINGULAR_MASS = "a singular mass matrix"
    MORE_ROWS = "more rows than velocities"


class SolveOutcome(Enum):
    """Outcome of a solve; the value is the sentence that a user reads."""

    SOLVED = "The motion is determined and all equations hold."
    CONTRADICTORY = "Rows contradict each other, so that no motion satisfies all of them: remove one of them."
    UNBALANCED = "A force acts where there is neither inertia nor constraint, so that no acceleration balances it."
    UNDETERMINED = "Some velocities have neither inertia nor constraint: give them a mass, or constrain them by a row."
    NOT_HANDLED = "This solver does not support such equations; use LeastNorm, Augmented or UdwadiaPhohomsiri."
    INACCURATE = "The residuals exceed rounding error: the equations are badly conditioned, or steps= is too small."


@dataclass(frozen=True, eq=False)
class MotionSolution:
    """Solution of a solver, with residuals recomputed from the equations.

    Attributes:
        acceleration: a, shape (n,); NaN unless the outcome is SOLVED, or INACCURATE with numbers, as are all below.
        multipliers: λ, shape (m,); those of least norm among all that belong to this motion.
        force: R = Θᵀλ, shape (n,).
        motion_residual: |M a − Q − Θᵀλ|, largest component.
        rows_residual: |Θ a − β|, largest component.
        outcome: SOLVED, or the reason why the numbers are no solution.
        message: sentence of the outcome, with the rows or velocities concerned and the amounts.
    """

    acceleration: Array
    multipliers: Array
    force: Array
    motion_residual: float
    rows_residual: float
    outcome: SolveOutcome
    message: str


class ConstrainedSolver(ABC):
    """A numerical method for a and λ.

    A subclass defines :meth:`motion` and the singular cases that it supports; whether there is a solution, and whether
    the result is one, is checked here for all.
    """

    supported_cases: frozenset[SingularCase] = frozenset()
    """Singular cases in which :meth:`motion` still works."""

    @abstractmethod
    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """Return the acceleration, shape (n,), of equations that have one solution in a.

        Args:
            equations: equations of a supported case.
            rank: rank of Θ.
        """

    def solve(
        self,
        equations: ConstrainedMotion,
        *,
        tolerance: float = SINGULAR_VALUE_TOLERANCE,
        consistency: float = CONSISTENCY,
    ) -> MotionSolution:
        """Solve for the motion; singular equations raise nothing but have their own outcome and message.

        Args:
            equations: the equations at one state.
            tolerance: share of the largest singular value below which one counts as zero.
            consistency: a contradiction counts above this share of the numbers whose difference it is.
        """
        positive("tolerance", tolerance)
        known = solvability(equations, tolerance=tolerance, consistency=consistency)
        outcome, detail = self._foresee(equations, known)
        if outcome is not SolveOutcome.SOLVED:
            return _unsolved(equations, outcome, detail)
        M, Q, theta, beta = equations.mass, equations.force, equations.rows, equations.right
        try:
            a, rank = self.motion(equations, known.rows.value), known.rows.value
            for _ in range(REFINEMENT_STEPS):
                # The error of a obeys the same equations.
                balance = M @ a - Q - theta.T @ least_norm_multipliers(equations, M @ a - Q, rank)
                a = a + self.motion(replace(equations, force=-balance, right=beta - theta @ a), rank)
        except np.linalg.LinAlgError as error:
            # Rows just above the tolerance of the ranks may be below rounding once squared.
            return _unsolved(equations, SolveOutcome.INACCURATE, f"A factorization failed: {error}.")
        lam = least_norm_multipliers(equations, M @ a - Q, known.rows.value)
        R = theta.T @ lam
        balance, rows = M @ a - Q - R, theta @ a - beta
        # In units in which numbers of different velocities and rows can be compared.
        S, F = equations.velocity_scale, equations.row_scale
        size = max(float(np.abs(x).max(initial=0.0)) for x in (S * Q, S * R, a / S, F * beta))
        missed = max(float(np.abs(S * balance).max(initial=0.0)), float(np.abs(F * rows).max(initial=0.0)))
        if not missed <= INACCURATE * size:
            outcome = SolveOutcome.INACCURATE
            detail = f"The largest residual is {missed / size:.3g} of the largest number."
        # Beside a force on a body almost without inertia, the residual of a row may be as large as the row itself.
        own = INACCURATE * (np.abs(theta) @ np.abs(a) + np.abs(beta)) + consistency
        if not (np.abs(rows) <= own).all():
            worst = int(np.argmax(np.abs(rows) / own))
            outcome = SolveOutcome.INACCURATE
            detail = f"The residual of {equations.names[worst]!r} is {rows[worst]:.3g}."
        else:
            # The remainder of a row beside others must be met to a share of itself, or the motion is another one.
            rest, shares = row_remainders(theta * S, rows)
            near = np.where(shares > REMAINDER, shares * (own - consistency + consistency / np.maximum(F, 1.0)), np.inf)
            if not (np.abs(rest) <= near).all():
                worst = int(np.argmax(np.abs(rest) / near))
                detail = f"{equations.names[worst]!r} depends on rows before it except for {shares[worst]:.2g} of it, "
                outcome, detail = (
                    SolveOutcome.INACCURATE,
                    f"{detail}whose residual is {rest[worst] / shares[worst]:.3g}.",
                )
        for array in (a, lam, R):
            array.setflags(write=False)
        return MotionSolution(
            acceleration=a,
            multipliers=lam,
            force=R,
            motion_residual=float(np.abs(balance).max(initial=0.0)),
            rows_residual=float(np.abs(rows).max(initial=0.0)),
            outcome=outcome,
            message=f"{outcome.value} {detail}".rstrip(),
        )

    def _foresee(self, equations: ConstrainedMotion, known: Solvability) -> tuple[SolveOutcome, str]:
        if not known.consistent:
            wrong = "; ".join(str(d) for d in known.dependences if not d.consistent)
            return SolveOutcome.CONTRADICTORY, f"{wrong}."
        loose = ", ".join(known.loose)
        if not known.balanced:
            return SolveOutcome.UNBALANCED, f"The force is {known.unbalanced:.3g} of the largest one, along {loose}."
        if not known.acceleration_unique:
            return SolveOutcome.UNDETERMINED, f"The velocities are {loose}."
        missing = singular_cases(equations, known) - self.supported_cases
        if missing:
            return (
                SolveOutcome.NOT_HANDLED,
                f"The equations have {' and '.join(sorted(case.value for case in missing))}.",
            )
        return SolveOutcome.SOLVED, ""


def _unsolved(equations: ConstrainedMotion, outcome: SolveOutcome, detail: str) -> MotionSolution:
    a, lam = np.full(len(equations.force), np.nan), np.full(len(equations.right), np.nan)
    return MotionSolution(a, lam, a, np.nan, np.nan, outcome, f"{outcome.value} {detail}")


def singular_cases(equations: ConstrainedMotion, known: Solvability) -> frozenset[SingularCase]:
    """Return the singular cases that equations present.

    Args:
        equations: the equations at one state.
        known: their solvability.
    """
    m, n = equations.rows.shape
    present = {
        SingularCase.DEPENDENT_ROWS: any(dependence.coefficients for dependence in known.dependences),
        SingularCase.VANISHING_ROWS: any(not dependence.coefficients for dependence in known.dependences),
        SingularCase.SINGULAR_MASS: known.mass.value < n,
        SingularCase.MORE_ROWS: m > n,
    }
    return frozenset(case for case, is_present in present.items() if is_present)


def truncated_solution(matrix: Array, right: Array, rank: int) -> Array:
    """Least-norm x of least |A x − b|, from the largest singular values of A; Deressa's B⁺, [Deressa2015]_ (1.21).

    Args:
        matrix: A, shape (m, n).
        right: b, shape (m,) or (m, k).
        rank: number of singular values that are divided by.
    """
    U, values, Vt = np.linalg.svd(matrix, full_matrices=False)
    divided = ((U[:, :rank].T @ right).T / values[:rank]).T
    return np.asarray(Vt[:rank].T @ divided, dtype=np.float64)


def least_norm_multipliers(equations: ConstrainedMotion, force: Array, rank: int) -> Array:
    """Least-norm λ with Θᵀλ = R, in the units of the rows as they are given.

    Args:
        equations: the equations, for Θ.
        force: R, shape (n,), in the range of Θᵀ.
        rank: rank of Θ.
    """
    S, F = equations.velocity_scale, equations.row_scale
    rows = equations.scaled_rows
    if not rows.size:
        return np.zeros(len(rows))
    lam = F * truncated_solution(rows.T, S * force, rank)
    # Of least norm in comparable units; the component in the null space of Θᵀ is removed in the rows' own units.
    null = np.linalg.svd(rows)[0][:, rank:]
    basis = np.linalg.qr(F[:, None] * null)[0]
    return np.asarray(lam - basis @ (basis.T @ lam), dtype=np.float64)
