"""Coefficients of perturbation equations: matrices of named gains, and functions of the deviations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Range
from ...symbolic.validation import reals


def call_user_function(
    name: str,
    function: Callable[[ca.SX, ca.SX, Mapping[str, ca.SX]], ca.SX],
    y: ca.SX,
    rate: ca.SX,
    gains: Mapping[str, ca.SX],
    rows: int,
) -> ca.SX:
    """Call a user's function of the deviations; raise ModelError unless it returns an expression of shape (rows,).

    Args:
        name: name of the function.
        function: function of y, ẏ and the gains.
        y: shape (m,).
        rate: ẏ, shape (m,).
        gains: symbols by name.
        rows: number of rows that it must return.
    """
    if not callable(function):
        raise ModelError(f"{name} must be a function of y, ẏ and the gains, got {function!r}")
    try:
        given = function(y, rate, gains)
    except KeyError as error:
        known = ", ".join(gains) or "none"
        raise ModelError(f"{name} uses the gain {error}, but the gains given are: {known}") from error
    return require_expression(name, given, rows)


def require_expression(name: str, given: object, rows: int) -> ca.SX:
    """Return ``given`` as an expression of shape (rows,); raise ModelError for anything else.

    Args:
        name: name of the function that returned it.
        given: an expression or a number.
        rows: number of rows that it must have.
    """
    if isinstance(given, int | float):
        given = ca.SX(given)
    if not isinstance(given, ca.SX):
        raise ModelError(f"{name} must return a CasADi SX expression, got {given!r}")
    if given.shape != (rows, 1):
        raise ModelError(f"{name} must return an expression of shape ({rows},), got shape {given.shape}")
    return ca.densify(given)


MatrixEntries: TypeAlias = float | Sequence[Sequence[float]] | NDArray[np.float64]
"""A square matrix; a number is a matrix of shape (1, 1)."""
MatrixRows: TypeAlias = tuple[tuple[float, ...], ...]


def square_matrix(name: str, given: MatrixEntries, *, symmetric: bool = False) -> MatrixRows:
    """Return the rows of a finite square matrix; raise ModelError for anything else.

    Args:
        name: name in messages.
        given: the matrix, or a number for shape (1, 1).
        symmetric: True if it must also be symmetric.
    """
    try:
        matrix = np.atleast_2d(reals(name, given))
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be a square matrix of numbers, got {given!r}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ModelError(f"{name} must be a number or a square matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        if matrix.size == 1:
            raise ModelError(f"{name} must be finite, got {given!r}")
        i, j = (int(k) for k in np.argwhere(~np.isfinite(matrix))[0])
        raise ModelError(f"{name} must be finite, but {name}[{i}, {j}] is {float(matrix[i, j])!r}")
    if symmetric and not np.array_equal(matrix, matrix.T):
        i, j = (int(k) for k in np.argwhere(matrix != matrix.T)[0])
        raise ModelError(
            f"{name} must be symmetric, but {name}[{i}, {j}] = {matrix[i, j]:g} and {name}[{j}, {i}] = {matrix[j, i]:g}"
        )
    return tuple(tuple(float(value) for value in row) for row in matrix)


def matrix_gains(name: str, rows: MatrixRows, *, symmetric: bool = False) -> dict[str, float]:
    """Gains by name: ``name`` itself for shape (1, 1), else ``name_i_j``; of a symmetric matrix those with i ≤ j.

    Args:
        name: name of the matrix.
        rows: its entries.
        symmetric: True if it is symmetric.
    """
    if len(rows) == 1:
        return {name: rows[0][0]}
    return {
        f"{name}_{i}_{j}": value for i, row in enumerate(rows) for j, value in enumerate(row) if i <= j or not symmetric
    }


def matrix_gain_ranges(name: str, rows: MatrixRows, *, symmetric: bool = False) -> dict[str, Range]:
    """Ranges of the gains: positive for shape (1, 1); any for larger matrices, where no entry alone decides stability.

    Args:
        name: name of the matrix.
        rows: its entries.
        symmetric: True if it is symmetric.
    """
    allowed = Range.POSITIVE if len(rows) == 1 else Range.ANY
    return dict.fromkeys(matrix_gains(name, rows, symmetric=symmetric), allowed)


def gain_matrix(name: str, size: int, gains: Mapping[str, ca.SX], *, symmetric: bool = False) -> ca.SX:
    """Matrix of the symbols, shape (size, size).

    Args:
        name: name of the matrix.
        size: number of its rows.
        gains: symbols by name.
        symmetric: True if it is symmetric.
    """
    if size == 1:
        return gains[name]
    matrix = ca.SX.zeros(size, size)
    for i in range(size):
        for j in range(size):
            first, second = (min(i, j), max(i, j)) if symmetric else (i, j)
            matrix[i, j] = gains[f"{name}_{first}_{second}"]
    return matrix
