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
        pivots: relative pivots of the rows, shape (m,).
    """

    multipliers: ca.SX
    force: ca.SX
    input: ca.SX
    acceleration: ca.SX
    reactions: ca.SX
    pivots: ca.SX


class Realization(ABC):
    """Way in which R becomes real."""

    name: str
    """The word by which a user chooses it."""

    applies_force: bool
    """True if the controller hands out R, False if inputs u."""

    @abstractmethod
    def build(self, program: Program, method: MultiplierMethod) -> Realized:
        """Force and motion of a program.

        Raises:
            ModelError: if this realisation cannot serve this program, whatever the state.
        """
