"""Matrices that MuJoCo keeps as entries of their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def dense_rows(
    values: Array, first: NDArray[np.int32], count: NDArray[np.int32], columns: NDArray[np.int32], width: int
) -> Array:
    """Such a matrix, shape (rows, width).

    Args:
        values: of the entries.
        first: place of the first entry of each row.
        count: entries of each row.
        columns: of the entries.
        width: number of columns.
    """
    # Some versions give these lists the shape of the matrix.
    values, columns = np.ravel(values), np.ravel(columns)
    A = np.zeros((len(first), width))
    for row, start, size in zip(A, first, count, strict=True):
        row[columns[start : start + size]] = values[start : start + size]
    return A
