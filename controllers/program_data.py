"""What a program's equations of motion are made of at one state, as numbers, whatever method solves them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints.solvability import TOLERANCE, null
from ..symbolic.kernel import Kernel
from .program import Program

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

UNIQUE = 1e-6
"""A multiplier is unique if no relation between rows has more than this share of it."""
REPRODUCED = 1e-6
"""Share of the force that holds a branch that may be missing of Aᵀμ; more, and A is too close to singular for any μ."""


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
        natural_sizes: how many natural rows each constraint has.
        sizes: how many of the program's rows each constraint has.
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

    def unique(self, through_inputs: bool, tolerance: float = TOLERANCE) -> Flags:
        """Which multipliers are unique: λ_i is, if and only if e_i is orthogonal to all λ that change nothing.

        Under an ideal force these are the (μ, λ) with Aᵀμ + Θᵀλ = 0; through inputs, the λ with (Θ M̂ B)ᵀλ = 0, where
        M̂ turns forces into accelerations that the natural constraints admit.

        Args:
            through_inputs: whether the force comes from the inputs.
            tolerance: share of the largest singular value of the rows below which one counts as zero.

        Returns:
            Shape (m,); False for a row that is off or not finite.
        """
        k, m = len(self.natural), len(self.rows)
        if not all(np.isfinite(part).all() for part in (self.mass, self.inputs, self.natural, self.rows)):
            return np.zeros(m, dtype=np.bool_)
        S = self.units
        A = comparable(self.natural * S, self.natural_sizes)
        theta = comparable(self.rows * S, self.sizes)
        rows, first = (self._gain(A, theta), 0) if through_inputs else (np.vstack([A, theta]), k)
        if not rows.size:
            return np.zeros(m, dtype=np.bool_)
        relations = null(rows, tolerance)[1]
        return np.asarray(np.abs(relations).max(axis=1, initial=0.0)[first:] <= UNIQUE)

    @property
    def units(self) -> Array:
        """1/√M_jj, in which velocities can be compared, shape (nv,); one where there is no inertia."""
        inertia = np.abs(np.diag(self.mass))
        present = inertia > np.finfo(np.float64).tiny
        return np.where(present, 1.0 / np.sqrt(np.where(present, inertia, 1.0)), 1.0)

    def _gain(self, A: Array, theta: Array) -> Array:
        """Θ M̂ B in comparable units."""
        S, k = self.units, len(A)
        M, B = S[:, None] * self.mass * S, S[:, None] * self.inputs
        rank, _, _ = null(np.vstack([M, A]))
        # Where only the program holds what has no inertia, its rows stand in for it.
        M = M if rank.value == len(S) else M + theta.T @ theta
        strength = np.linalg.norm(B, axis=0)
        B = B / np.where(strength > 0.0, strength, 1.0)
        whole = np.block([[M, -A.T], [A, np.zeros((k, k))]])
        reach = np.linalg.lstsq(whole, np.vstack([B, np.zeros((k, B.shape[1]))]), rcond=1e-12)[0][: len(S)]
        return np.asarray(theta @ reach, dtype=np.float64)


def reactions_like(A: Array, rows: Array, multipliers: Array) -> Array:
    """μ of natural rows with Aᵀμ = Wᵀν, the force of rows that hold a branch; NaN where no numbers are left of it.

    Towards a singular position it is the force that stays finite: μ grows like one over the least singular value of A.

    Args:
        A: shape (k, nv).
        rows: W, shape (r, nv).
        multipliers: ν, shape (r,).
    """
    force, size = rows.T @ multipliers, np.abs(rows.T) @ np.abs(multipliers)
    mu = np.asarray(np.linalg.lstsq(A.T, force, rcond=1e-9)[0], dtype=np.float64)
    found = (np.abs(A.T @ mu - force) <= REPRODUCED * (1.0 + size)).all()
    return mu if found else np.full(mu.shape, np.nan)


def comparable(rows: Array, sizes: Sequence[int]) -> Array:
    """Rows divided by the longest of their constraint, with which they share a unit.

    Args:
        rows: shape (m, n).
        sizes: how many rows each constraint has, m in all.
    """
    lengths = np.asarray(np.linalg.norm(rows, axis=1))
    for first, last in itertools.pairwise(np.cumsum([0, *sizes])):
        lengths[first:last] = lengths[first:last].max(initial=0.0)
    return np.asarray(rows / np.where(lengths > 0.0, lengths, 1.0)[:, None], dtype=np.float64)


class ProgramMatrices:
    """The matrices of a program as functions of t, q, v, p and, for rows nonlinear in it, of a."""

    def __init__(self, program: Program) -> None:
        """Keep the program.

        Args:
            program: whose matrices.
        """
        self._program = program
        coordinates = program.robot.coordinates
        self._natural_sizes = tuple(k.residual(coordinates).numel() for k in program.robot.natural)
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
        # Called for one state at a time, to look at it: not worth a compiler's time.
        return Kernel("program_data", symbols, outputs, compiled=False)

    def at(self, t: float, q: ArrayLike, v: ArrayLike, p: ArrayLike, a: ArrayLike) -> ProgramData:
        """Numbers at one state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the program.
            a: accelerations at which deviations of order 2, and rows nonlinear in them, are taken, shape (nv,).
        """
        values = self._kernel(t, q, v, p, a)
        pairs = zip(self._kernel.outputs.values(), values, strict=True)
        M, h, B, A, b, theta, beta, deviation, active = (x.reshape(shape, order="F") for shape, x in pairs)
        on = active[:, 0]
        # What a row is that is off, NaN even, does not matter.
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
            natural_sizes=self._natural_sizes,
            sizes=self._sizes,
        )
