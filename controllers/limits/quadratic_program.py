"""Quadratic programmes: the data, an answer, what the answer misses, and the abstract solver."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.kernel import Kernel

Array = NDArray[np.float64]

ACCURACY = 1e-8
"""Share of the numbers that an optimality condition is made of by which an answer may miss it."""


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """Least ½ xᵀHx + gᵀx with lower ≤ x ≤ upper and least ≤ A x ≤ most; H > 0, so that the answer is unique.

    Bounds may be infinite; two that are equal make an equation. The arrays are neither copied nor checked: a programme
    is made and solved within one tick.

    Attributes:
        H: shape (n, n), symmetric positive definite.
        g: shape (n,).
        A: shape (k, n).
        least: lower bounds of A x, shape (k,).
        most: upper bounds of A x, shape (k,).
        lower: lower bounds of x, shape (n,).
        upper: upper bounds of x, shape (n,).
    """

    H: Array
    g: Array
    A: Array
    least: Array
    most: Array
    lower: Array
    upper: Array


@dataclass(frozen=True, eq=False)
class QpAnswer:
    """What a solver says, to be believed only after :func:`misses`.

    Attributes:
        x: shape (n,).
        multipliers: of the bounds of x, then of those of A x, shape (n + k,): H x + g + (1 Aᵀ) multipliers = 0, above
            zero at an upper bound and below zero at a lower one.
    """

    x: Array
    multipliers: Array


class QpSolver(ABC):
    """A solver of strictly convex quadratic programmes."""

    @property
    def word(self) -> str:
        """How the last call ended, in the solver's own words; empty if it does not tell."""
        return ""

    @abstractmethod
    def solve(self, program: QuadraticProgram, start: QpAnswer | None = None) -> QpAnswer:
        """The solver's answer; one that failed may hold any numbers.

        Args:
            program: what is solved.
            start: answer of a similar programme, from which the solver may start; it must not change the answer.
        """


def misses(program: QuadraticProgram, answer: QpAnswer) -> float:
    """By how much an answer misses the conditions of optimality, as a share of what they are made of; NaN for NaN.

    They are H x + g + (1 Aᵀ) λ = 0, bounds kept, and for each bound λ = 0 or the bound reached, on the side that the
    sign of λ tells. For H > 0 they hold at the least value and nowhere else.

    Args:
        program: what was solved.
        answer: what the solver says.
    """
    A = program.A
    (missed,) = _check(*A.shape)(
        *(program.H, program.g, A if A.shape[1] > 1 else A[:, 0]),
        *(program.least, program.most, program.lower, program.upper, answer.x, answer.multipliers),
    )
    return float(missed)


def is_optimal(program: QuadraticProgram, answer: QpAnswer) -> bool:
    """Whether an answer is one, to :data:`ACCURACY`.

    Args:
        program: what was solved.
        answer: what the solver says.
    """
    return misses(program, answer) <= ACCURACY


@functools.lru_cache(maxsize=64)
def _check(k: int, n: int) -> Kernel:
    """The conditions of optimality for one size."""
    H, A = ca.SX.sym("H", n, n), ca.SX.sym("A", k, n)
    g, x, lower, upper = (ca.SX.sym(name, n) for name in ("g", "x", "lower", "upper"))
    least, most, multipliers = ca.SX.sym("least", k), ca.SX.sym("most", k), ca.SX.sym("multipliers", n + k)
    slopes = ca.horzcat(ca.SX.eye(n), A.T)
    z, pushed = slopes.T @ x, slopes @ multipliers
    over, under = z - ca.vertcat(upper, most), ca.vertcat(lower, least) - z
    # Sums, in which no NaN gets lost.
    still, broken, loose = ca.sumsqr(H @ x + g + pushed), ca.SX(0), ca.SX(0)
    for i in range(n + k):
        broken = broken + ca.fmax(ca.fmax(over[i], under[i]), 0) ** 2
        # Where a multiplier pushes, the bound on its side must be reached: one of the two numbers vanishes.
        gap = ca.if_else(multipliers[i] > 0, over[i], under[i])
        loose = loose + ca.fmin(ca.fabs(gap), ca.fabs(multipliers[i])) ** 2
    missed = ca.sqrt(still / (1 + ca.sumsqr(g) + ca.sumsqr(multipliers)) + (broken + loose) / (1 + ca.sumsqr(x)))
    symbols = {"H": H, "g": g, "A": A, "least": least, "most": most, "lower": lower, "upper": upper}
    return Kernel("optimality", {**symbols, "x": x, "multipliers": multipliers}, {"missed": missed}, compiled=False)
