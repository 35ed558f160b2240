"""The abstract realisation: how the control force R comes about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca

from ..multipliers import MultiplierMethod
from ..program import Program


@dataclass(frozen=True, eq=False)
class Realized:
    """A program's force and the motion under it, as expressions.

    Attributes:
        multipliers: λ, shape (m,).
        force: R, shape (nv,).
        input: u, shape (nu,); empty, shape (0,), when the force does not come from the inputs.
        acceleration: a, shape (nv,).
        reactions: μ of the natural constraints.
        pivots: of K, shape (m,), in the squared unit of each row per mass.
        relative_pivots: each divided by the largest K_jj of the rows of its constraint, shape (m,), in [0, 1].
    """

    multipliers: ca.SX
    force: ca.SX
    input: ca.SX
    acceleration: ca.SX
    reactions: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX


class Realization(ABC):
    """Way in which R becomes real."""

    name: str
    """The word by which a user chooses it."""

    applies_force: bool
    """True if the controller hands out R, False if inputs u."""

    @abstractmethod
    def build(self, program: Program, method: MultiplierMethod) -> Realized:
        """Force and motion of a program.

        Args:
            program: what must hold.
            method: how the multipliers are found.

        Raises:
            ModelError: if this realisation cannot serve this program, whatever the state.
        """


def relative_pivots(program: Program, matrix: ca.SX, pivots: ca.SX) -> ca.SX:
    """Pivots relative to the largest row of the same constraint, shape (m,); zero if all rows of it vanish.

    Rows of one constraint share a unit, so that a row is small beside them or it is not; rows of different constraints
    cannot be compared.

    Args:
        program: tells which rows belong together.
        matrix: K, shape (m, m).
        pivots: D, shape (m,).
    """
    relative: list[ca.SX] = []
    for i, block in enumerate(program.blocks):
        largest = matrix[block[0], block[0]]
        for j in block[1:]:
            largest = ca.fmax(largest, matrix[j, j])
        # A number that is none must stay one: it is not the rows' fault.
        vanished = ca.if_else(largest <= 0, 0, float("nan"))
        relative.append(ca.if_else(largest > 0, pivots[i] / largest, vanished))
    return ca.vertcat(*relative)
