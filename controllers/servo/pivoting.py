"""Which rows of a matrix are independent almost everywhere, and with which columns they are solved."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .places import ZERO

Array = NDArray[np.float64]


def generic_pivots(values: Array, blocks: tuple[range, ...], before: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Row and column of each pivot of Gaussian elimination, as many as the rank is at the best of some places.

    Of all entries that could be next the one is taken whose least size at all places is greatest, so that the choice
    is good near all of them.

    Args:
        values: a matrix at some places, shape (places, m, n); what is zero to rounding is zero.
        blocks: for each row, the range of the rows that share its unit.
        before: independent rows that come before all others.
    """
    if not values.size:
        return []
    rows = np.array([np.abs(values[:, block.start : block.stop]).max() for block in blocks])
    work = values / np.where(rows > 0.0, rows, 1.0)[:, None]
    columns = np.abs(work).max(axis=(0, 1))
    work = work / np.where(columns > 0.0, columns, 1.0)
    free = np.ones(work.shape[1:], dtype=np.bool_)
    found: list[tuple[int, int]] = []
    for count in range(min(free.shape)):
        chosen = free.copy()
        if count < len(before):
            chosen[[i for i in range(len(blocks)) if i not in before]] = False
        size = np.where(chosen, np.abs(work).min(axis=0), -1.0)
        if not (np.abs(work).max(axis=0)[free] > ZERO).any():
            break
        if size.max() <= ZERO:
            # Nothing is a pivot everywhere: what is one somewhere still shows the rank.
            size = np.where(chosen, np.abs(work).max(axis=0), -1.0)
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(size)), size.shape))
        pivot = work[:, i, j]
        share = work[:, :, j] / np.where(np.abs(pivot) > ZERO, pivot, np.inf)[:, None]
        share[:, i] = 0.0
        work = work - share[:, :, None] * work[:, i, None, :]
        free[i], free[:, j] = False, False
        found.append((i, j))
    return found


def solve_in_order(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """x with A x = right by elimination without pivoting: the order of rows and columns was chosen before.

    Args:
        matrix: A, shape (n, n).
        right: shape (n, k).
    """
    n, width = matrix.size1(), right.size2()
    work = ca.horzcat(matrix, right)
    rows = [work[i, :] for i in range(n)]
    for j in range(n):
        for i in range(j + 1, n):
            rows[i] = rows[i] - rows[i][0, j] / rows[j][0, j] * rows[j]
    found: list[ca.SX] = [ca.SX(0, width)] * n
    for i in reversed(range(n)):
        rest = rows[i][0, n:]
        for k in range(i + 1, n):
            rest = rest - rows[i][0, k] * found[k]
        found[i] = rest / rows[i][0, i]
    return ca.vertcat(ca.SX(0, width), *found)
