"""A kernel evaluated at many samples, or for many lanes, at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .kernel import Kernel

Array = NDArray[np.float64]
BLOCK = 1000
"""Evaluations in one call: CasADi's loops take longer per evaluation the longer they are."""
FEW = 20
"""Number of evaluations up to which they are done one by one, which is faster than building a loop of them."""


def evaluate_each(kernel: Kernel, arguments: Sequence[Array], lanes: NDArray[np.intp] | None = None) -> list[Array]:
    """Values of a kernel at each of n samples.

    Args:
        kernel: kernel with as many inputs as there are arguments.
        arguments: one per input: shape (n, size), or (1, size) if it is the same for all samples; with ``lanes`` also
            (number of lanes, size).
        lanes: lane of each sample, shape (n,), for arguments that are given by lane; None without such arguments.

    Returns:
        One array per output, shape (n, number of its entries), matrices column by column.
    """
    n = len(lanes) if lanes is not None else max(map(len, arguments))
    sizes = [rows * columns for rows, columns in kernel.outputs.values()]
    values = [np.zeros((n, size)) for size in sizes]
    if n == 0:
        return values
    if n <= FEW:
        for i in range(n):
            at = [a[i if len(a) == n else 0 if lanes is None or len(a) == 1 else lanes[i]] for a in arguments]
            found = kernel(*(x.reshape(shape, order="F") for x, shape in zip(at, _shapes(kernel), strict=True)))
            for value, one in zip(values, found, strict=True):
                value[i] = one.ravel(order="F")
        return values
    count = min(n, BLOCK)
    read = [np.zeros((a.shape[1], count), order="F") for a in arguments]
    written = [np.zeros((size, count), order="F") for size in sizes]
    run = kernel.loop(count, 0, read, written)
    for first in range(0, n, count):
        k = min(count, n - first)
        for block, a in zip(read, arguments, strict=True):
            if len(a) == n:
                block[:, :k] = a[first : first + k].T
            else:
                block[:, :k] = a.T if lanes is None or len(a) == 1 else a[lanes[first : first + k]].T
        run()
        for value, block in zip(values, written, strict=True):
            value[first : first + k] = block[:, :k].T
    return values


def _shapes(kernel: Kernel) -> list[tuple[int, ...]]:
    """Shape of each argument of one call."""
    return [(rows,) if columns == 1 else (rows, columns) for rows, columns in kernel.inputs.values()]
