"""The abstract method that finds the motion itself, and the multipliers from it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import NoReturn

import casadi as ca

from ...symbolic.errors import ModelError
from ..program import Program
from .movable import Movable
from .multipliers import MultiplierMethod, Multipliers

OTHERS = "LdlMultipliers, SweepMultipliers, CanonicalMultipliers, LeastNormMultipliers, ProximalMultipliers or "
OTHERS += "AugmentedMultipliers"


@dataclass(frozen=True, eq=False)
class DirectMotion:
    """The motion under the ideal force of a program.

    Attributes:
        acceleration: a, shape (nv,).
        multipliers: λ, shape (m,).
        reactions: μ, shape (k,).
        pivots: square of what is left of each row outside the rows before it, shape (m,); from a method that handles
            dependent rows, the verdict on each, see :func:`~erugin.controllers.multipliers.multipliers.verdicts`.
        relative_pivots: each divided by the square of the longest row of its constraint, shape (m,), in [0, 1]; or the
            same as ``pivots``.
        misses: what rows that do not hold miss, shape (m,); empty from a method for independent rows.
        left: what is left of each row outside those before it, as a share of it, shape (m,); zero where it is passed
            over and −1 where it is off. Empty likewise.
    """

    acceleration: ca.SX
    multipliers: ca.SX
    reactions: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX
    misses: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    left: ca.SX = field(default_factory=lambda: ca.SX(0, 1))


class DirectMethod(MultiplierMethod):
    """Way to the motion under ideal forces that does not go through K = Θ M⁻¹ Θᵀ, and so needs no inverse of M.

    There is no mobility M̂ that another realisation could take from it: it serves ``realization="ideal"`` alone.
    """

    @abstractmethod
    def motion(self, program: Program, theta: ca.SX, beta: ca.SX) -> DirectMotion:
        """The motion as expressions.

        Args:
            program: what is solved.
            theta: Θ with zeros in the rows that are off, shape (m, nv).
            beta: β likewise, shape (m,).

        Raises:
            ModelError: for a program that the method cannot serve, whatever the state.
        """

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Refused: there is no K.

        Raises:
            ModelError: always.
        """
        del matrix, right, scale
        self._refuse()

    def movable(self, program: Program, theta: ca.SX, beta: ca.SX) -> Movable:
        """Refused: there is no mobility.

        Raises:
            ModelError: always; names the methods that have one.
        """
        del program, theta, beta
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ModelError(
            f"{type(self).__name__} finds the motion under ideal forces and serves realization='ideal' only; where "
            f"forces come from inputs take {OTHERS}"
        )
