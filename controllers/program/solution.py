"""Solutions of a program at one state: its equations as numbers, multipliers, forces and residuals."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.solvability import SINGULAR_VALUE_TOLERANCE, null_spaces
from ...symbolic.kernel import Kernel
from ..status import Status
from .program import Program

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

UNIQUE = 1e-6
"""A multiplier is unique if no relation between rows has more than this share of it."""
REPRODUCED = 1e-6
"""Error allowed in Aᵀμ, as a share of the force of a branch's rows; beyond it A is too close to singular for any μ."""


@dataclass(frozen=True, eq=False)
class ProgramData:
    """M a + h = B u + Aᵀμ + Θᵀλ with A a = b and Θ a = β at one state; rows that are off are zero.

    Attributes:
        mass: M, shape (nv, nv).
        bias: h, shape (nv,).
        inputs: B, shape (nv, nu).
        natural: A, shape (k, nv).
        natural_right: b, shape (k,).
        rows: Θ, shape (m, nv).
        right: β, shape (m,).
        deviation: y, y′ and z at the acceleration, shape (m,).
        natural_sizes: number of rows of each natural constraint.
        sizes: number of rows of each program constraint.
    """

    mass: Array
    bias: Array
    inputs: Array
    natural: Array
    natural_right: Array
    rows: Array
    right: Array
    deviation: Array
    natural_sizes: tuple[int, ...]
    sizes: tuple[int, ...]

    def unique(self, through_inputs: bool, tolerance: float = SINGULAR_VALUE_TOLERANCE) -> Flags:
        """Find the unique multipliers: λ_i is unique if and only if e_i is orthogonal to all λ without effect.

        Under an ideal force these are the (μ, λ) with Aᵀμ + Θᵀλ = 0; through inputs, the λ with (Θ M̂ B)ᵀλ = 0, where
        M̂ maps forces to accelerations that the natural constraints admit.

        Args:
            through_inputs: True if the force comes from the inputs.
            tolerance: share of the largest singular value of the rows below which a singular value counts as zero.

        Returns:
            Shape (m,); False for a row that is off or not finite.
        """
        k, m = len(self.natural), len(self.rows)
        if not all(np.isfinite(part).all() for part in (self.mass, self.inputs, self.natural, self.rows)):
            return np.zeros(m, dtype=np.bool_)
        S = self.units
        A = normalized_rows(self.natural * S, self.natural_sizes)
        theta = normalized_rows(self.rows * S, self.sizes)
        rows, first = (self._gain(A, theta), 0) if through_inputs else (np.vstack([A, theta]), k)
        if not rows.size:
            return np.zeros(m, dtype=np.bool_)
        relations = null_spaces(rows, tolerance)[1]
        return np.asarray(np.abs(relations).max(axis=1, initial=0.0)[first:] <= UNIQUE)

    @property
    def units(self) -> Array:
        """1/√M_jj, in which velocities can be compared, shape (nv,); one where there is no inertia."""
        inertia = np.abs(np.diag(self.mass))
        present = inertia > np.finfo(np.float64).tiny
        return np.where(present, 1.0 / np.sqrt(np.where(present, inertia, 1.0)), 1.0)

    def _gain(self, A: Array, theta: Array) -> Array:
        """Return Θ M̂ B in comparable units."""
        S, k = self.units, len(A)
        M, B = S[:, None] * self.mass * S, S[:, None] * self.inputs
        rank, _, _ = null_spaces(np.vstack([M, A]))
        # Coordinates without inertia that only the program constrains get its rows as inertia.
        M = M if rank.value == len(S) else M + theta.T @ theta
        strength = np.linalg.norm(B, axis=0)
        B = B / np.where(strength > 0.0, strength, 1.0)
        whole = np.block([[M, -A.T], [A, np.zeros((k, k))]])
        reach = np.linalg.lstsq(whole, np.vstack([B, np.zeros((k, B.shape[1]))]), rcond=1e-12)[0][: len(S)]
        return np.asarray(theta @ reach, dtype=np.float64)


def equivalent_reactions(A: Array, rows: Array, multipliers: Array) -> Array:
    """Return μ of natural rows with Aᵀμ = Wᵀν, the force of a branch's rows; NaN where A is too close to singular.

    Towards a singular position the force stays finite: μ grows like one over the least singular value of A.

    Args:
        A: shape (k, nv).
        rows: W, shape (r, nv).
        multipliers: ν, shape (r,).
    """
    force, size = rows.T @ multipliers, np.abs(rows.T) @ np.abs(multipliers)
    mu = np.asarray(np.linalg.lstsq(A.T, force, rcond=1e-9)[0], dtype=np.float64)
    found = (np.abs(A.T @ mu - force) <= REPRODUCED * (1.0 + size)).all()
    return mu if found else np.full(mu.shape, np.nan)


def normalized_rows(rows: Array, sizes: Sequence[int]) -> Array:
    """Divide rows by the longest row of their constraint, with which they share a unit.

    Args:
        rows: rows, shape (m, n).
        sizes: number of rows of each constraint, m in all.
    """
    lengths = np.asarray(np.linalg.norm(rows, axis=1))
    for first, last in itertools.pairwise(np.cumsum([0, *sizes])):
        lengths[first:last] = lengths[first:last].max(initial=0.0)
    return np.asarray(rows / np.where(lengths > 0.0, lengths, 1.0)[:, None], dtype=np.float64)


class ProgramMatrices:
    """The matrices of a program as functions of t, q, v, p and, for rows nonlinear in it, of a."""

    def __init__(self, program: Program) -> None:
        """Store the program.

        Args:
            program: the program that the matrices belong to.
        """
        self._program = program
        self._sizes = tuple(len(list(group)) for _, group in itertools.groupby(b.start for b in program.blocks))

    @functools.cached_property
    def _kernel(self) -> Kernel:
        program, robot = self._program, self._program.robot
        A, b = robot.natural_form
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": program.parameters.symbols, "a": robot.coordinates.a}
        outputs = {
            "M": robot.mass_matrix,
            "h": robot.bias,
            "B": robot.input_matrix,
            "A": A,
            "b": b,
            "theta": program.theta,
            "beta": program.beta,
            "deviation": program.deviation,
            "active": program.active,
        }
        # Called for single states: not worth compiling.
        return Kernel("program_data", symbols, outputs, compiled=False)

    def at(self, t: float, q: ArrayLike, v: ArrayLike, p: ArrayLike, a: ArrayLike) -> ProgramData:
        """Return the matrices at one state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the program.
            a: accelerations at which deviations of order 2, and rows nonlinear in them, are evaluated, shape (nv,).
        """
        values = self._kernel(t, q, v, p, a)
        pairs = zip(self._kernel.outputs.values(), values, strict=True)
        M, h, B, A, b, theta, beta, deviation, active = (x.reshape(shape, order="F") for shape, x in pairs)
        on = active[:, 0]
        # The value of a row that is off does not matter, even if it is NaN.
        theta, beta = np.where(on[:, None] == 0.0, 0.0, theta), np.where(on == 0.0, 0.0, beta[:, 0])
        return ProgramData(
            mass=M,
            bias=h[:, 0],
            inputs=B,
            natural=A,
            natural_right=b[:, 0],
            rows=theta,
            right=beta,
            deviation=deviation[:, 0],
            natural_sizes=self._program.robot.natural_sizes,
            sizes=self._sizes,
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """Solution of a program at one state, with residuals recomputed from the data.

    Residuals, power and uniqueness are computed from M, h, B, A, b, Θ and β at this state, in NumPy, and not from
    intermediate results of the method.

    Attributes:
        multipliers: λ, shape (m,).
        force: R, shape (nv,).
        input: u, shape (nu,); shape (0,) when ideal.
        acceleration: a, shape (nv,).
        reactions: μ of the natural constraints, shape (k,).
        deviation: y, y′, z of the rows, shape (m,).
        pivots: relative pivots of the rows, shape (m,), in [0, 1].
        unique: True if λ of a row is the only one with this force, reactions included, shape (m,); False for a row that
            the method skipped.
        power: power of the force, Rᵀv, or of the inputs, (B u)ᵀv [W].
        motion_residual: |M a + h − Θᵀλ − Aᵀμ| when ideal, |M a + h − B u − Aᵀμ| otherwise, largest component.
        program_residual: |Θ a − β|, largest component.
        natural_residual: |A a − b|, largest component.
        relative_residual: the largest component of any of these, each divided by the sum of the absolute values of its
            terms, or by one unit if that is less.
        status: validity of the numbers above.
        message: the status's sentence and, if it is not OK, the row and by how much; and a remark if natural
            constraints depend on each other, so that the reactions are not unique.
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
        """Build a solution, recomputing from the data what can be recomputed.

        Args:
            data: the equations at this state.
            v: velocities, shape (nv,).
            multipliers: λ, shape (m,).
            force: R, shape (nv,).
            input: u, shape (nu,) or (0,).
            acceleration: a, shape (nv,).
            reactions: μ, shape (k,).
            pivots: relative pivots, shape (m,).
            ideal: True if the force is Θᵀλ, False if it is B u.
            unique: True if λ of a row is unique, shape (m,).
            status: status of the solution.
            message: message of the status.
        """
        # The numbers of a singular state may be NaN, which its status reports.
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
    """Residuals of the equations of a program; see :class:`Solution`.

    Attributes:
        motion: residual of M a + h = R + Aᵀμ, shape (nv,).
        program: residual of Θ a = β, shape (m,).
        natural: residual of A a = b, shape (k,).
        relative: the largest of all components, each divided by the size of its terms.
    """

    motion: Array
    program: Array
    natural: Array
    relative: float

    @classmethod
    def of(cls, data: ProgramData, a: Array, force: Array, mu: Array) -> Residuals:
        """Compute the residuals of a motion.

        Args:
            data: the equations at this state.
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
    """Return the largest |missed| as a share of its size, or of one unit if that is less."""
    return float((np.abs(missed) / np.maximum(size, 1.0)).max(initial=0.0))
