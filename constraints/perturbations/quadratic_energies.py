"""Quadratic energies of deviations, with the entries of their matrices as gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Range
from .matrix_gains import Entries, assemble, entries, entry_ranges, square


@dataclass(frozen=True)
class Quadratic:
    """½ xᵀ A x with a symmetric matrix of gains, x = ẏ or x = y.

    Attributes:
        name: of the matrix, prefix of its gains.
        rows: m.
        of_rate: whether x is ẏ.
    """

    name: str
    rows: int
    of_rate: bool

    def __call__(self, y: ca.SX, rate: ca.SX, gains: Mapping[str, ca.SX]) -> ca.SX:
        """The energy of a deviation.

        Args:
            y: shape (m,).
            rate: ẏ or y′, shape (m,).
            gains: the entries by name.
        """
        x = rate if self.of_rate else y
        return ca.dot(x, assemble(self.name, self.rows, gains, symmetric=True) @ x) / 2


def quadratic_values(given: Mapping[str, Entries]) -> tuple[int, dict[str, float], dict[str, Range]]:
    """Number of rows, gains and their ranges of symmetric matrices of one size.

    Args:
        given: the matrices by name.

    Raises:
        ModelError: if one is not square, symmetric and finite, or they differ in size.
    """
    matrices = {name: square(name, matrix, symmetric=True) for name, matrix in given.items()}
    sizes = {name: len(rows) for name, rows in matrices.items()}
    if len(set(sizes.values())) > 1:
        listing = ", ".join(f"{name} has {size} rows" for name, size in sizes.items())
        raise ModelError(f"the matrices of quadratic energies must have the same size, but {listing}")
    values: dict[str, float] = {}
    limits: dict[str, Range] = {}
    for name, rows in matrices.items():
        values |= entries(name, rows, symmetric=True)
        limits |= entry_ranges(name, rows, symmetric=True)
    return next(iter(sizes.values())), values, limits


def scaled_identity(value: float, rows: int) -> NDArray[np.float64]:
    """``value`` times the unit matrix of ``rows`` rows; raises ModelError for less than one row."""
    if rows < 1:
        raise ModelError(f"a constraint has at least one row, got rows={rows!r}")
    return value * np.eye(rows)
