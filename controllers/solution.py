"""What a program asks for at one state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .program_data import ProgramData
from .status import Status

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Solution:
    """What a program asks for at one state, with residuals recomputed from the data.

    Residuals, power and uniqueness come from M, h, B, A, b, Θ and β at this state, in NumPy, and from nothing that the
    method made on its way to λ.

    Attributes:
        multipliers: λ, shape (m,).
        force: R, shape (nv,).
        input: u, shape (nu,); shape (0,) when ideal.
        acceleration: a, shape (nv,).
        reactions: μ of the natural constraints, shape (k,).
        deviation: y, y′, z of the rows, shape (m,).
        pivots: relative pivots of the rows, shape (m,), in [0, 1].
        unique: whether λ of each row is the only one with this force, reactions included, shape (m,); never of a row
            that the method passed over.
        power: of the force, Rᵀv, or of the inputs, (B u)ᵀv [W].
        motion_residual: |M a + h − Θᵀλ − Aᵀμ| when ideal, |M a + h − B u − Aᵀμ| otherwise, largest component.
        program_residual: |Θ a − β|, largest component.
        natural_residual: |A a − b|, largest component.
        relative_residual: the largest component of any of these, each divided by the sum of the absolute values of what
            it is the difference of, or by one unit where that is less.
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
    unique: NDArray[np.bool_]
    power: float
    motion_residual: float
    program_residual: float
    natural_residual: float
    relative_residual: float
    status: Status
    message: str

    @classmethod
    def of(
        cls,
        data: ProgramData,
        v: Array,
        *,
        multipliers: Array,
        force: Array,
        input: Array,
        acceleration: Array,
        reactions: Array,
        pivots: Array,
        ideal: bool,
        unique: NDArray[np.bool_],
        status: Status,
        message: str,
    ) -> Solution:
        """A solution with what can be recomputed from the data.

        Args:
            data: the equations at this state.
            v: velocities, shape (nv,).
            multipliers: λ, shape (m,).
            force: R, shape (nv,).
            input: u, shape (nu,) or (0,).
            acceleration: a, shape (nv,).
            reactions: μ, shape (k,).
            pivots: relative ones, shape (m,).
            ideal: whether the force is Θᵀλ; else it is B u.
            unique: whether λ of each row is the only one, shape (m,).
            status: what was found.
            message: what is said of it.
        """
        # Of a singular state the numbers may be none; its status says so.
        with np.errstate(invalid="ignore", over="ignore"):
            applied = data.rows.T @ multipliers if ideal else data.inputs @ input
            residuals, power = Residuals.of(data, acceleration, applied, reactions), float(applied @ v)
        for array in (multipliers, force, input, acceleration, reactions, data.deviation, pivots, unique):
            array.setflags(write=False)
        return cls(
            multipliers=multipliers,
            force=force,
            input=input,
            acceleration=acceleration,
            reactions=reactions,
            deviation=data.deviation,
            pivots=pivots,
            unique=unique,
            power=power,
            motion_residual=float(np.abs(residuals.motion).max(initial=0.0)),
            program_residual=float(np.abs(residuals.program).max(initial=0.0)),
            natural_residual=float(np.abs(residuals.natural).max(initial=0.0)),
            relative_residual=residuals.relative,
            status=status,
            message=message,
        )


@dataclass(frozen=True, eq=False)
class Residuals:
    """By how much numbers miss the equations that they are to solve; see :class:`Solution`.

    Attributes:
        motion: of M a + h = R + Aᵀμ, shape (nv,).
        program: of Θ a = β, shape (m,).
        natural: of A a = b, shape (k,).
        relative: the largest of all components, each divided by the sizes of what it is made of.
    """

    motion: Array
    program: Array
    natural: Array
    relative: float

    @classmethod
    def of(cls, data: ProgramData, a: Array, force: Array, mu: Array) -> Residuals:
        """Residuals of a motion.

        Args:
            data: the equations.
            a: accelerations, shape (nv,).
            force: R or B u, shape (nv,).
            mu: reactions, shape (k,).
        """
        motion = data.mass @ a + data.bias - force - data.natural.T @ mu
        program, natural = data.rows @ a - data.right, data.natural @ a - data.natural_right
        forces = np.abs(force) + np.abs(data.natural.T) @ np.abs(mu)
        whole = np.abs(data.mass) @ np.abs(a) + np.abs(data.bias) + forces
        rows = np.abs(data.rows) @ np.abs(a) + np.abs(data.right)
        kept = np.abs(data.natural) @ np.abs(a) + np.abs(data.natural_right)
        shares = [_share(motion, whole), _share(program, rows), _share(natural, kept)]
        return cls(motion, program, natural, float(np.max(shares)))


def _share(missed: Array, size: ArrayLike) -> float:
    """Largest |missed| as a share of its size, or of one unit where that is less."""
    return float((np.abs(missed) / np.maximum(size, 1.0)).max(initial=0.0))
