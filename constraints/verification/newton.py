"""Newton's method from many places at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
STEPS = 60
SETTLED = 1e-12


def newton(
    evaluate: Callable[[Array, Array], tuple[Array, Array]], places: Array, times: Array, *, longest: float
) -> tuple[Array, Bools]:
    """Places where r(x, t) = 0, from each start by Newton steps of least norm, x ← x − r_x⁺ r.

    Args:
        evaluate: residuals r, shape (N, m), and their Jacobians r_x, shape (N, m, n), at places and times.
        places: starts, shape (N, n) [m].
        times: shape (N,) [s].
        longest: longest step [m]; longer ones are cut.

    Returns:
        Where each search ended, shape (N, n), and whether it settled there, shape (N,): whether its last step was below
        1e-12 of ``longest``, or of the place's own size.
    """
    x = places.copy()
    settled = np.zeros(len(x), dtype=np.bool_)
    running = np.arange(len(x))
    for _ in range(STEPS):
        if not len(running):
            break
        r, slope = evaluate(x[running], times[running])
        finite = np.isfinite(r).all(axis=1) & np.isfinite(slope).all(axis=(1, 2))
        running, r, slope = running[finite], r[finite], slope[finite]
        step = least_norm(slope, r)
        length = np.linalg.norm(step, axis=1)
        x[running] -= step * np.minimum(1.0, longest / np.maximum(length, 1e-300))[:, None]
        near = length <= SETTLED * np.maximum(longest, np.abs(x[running]).max(axis=1, initial=0.0))
        settled[running[near]] = True
        running = running[~near]
    return x, settled


def least_norm(matrices: Array, right: Array) -> Array:
    """The shortest s with A s = b in the sense of least squares, shape (N, n).

    Args:
        matrices: A, shape (N, m, n).
        right: b, shape (N, m).
    """
    # Singular values far below the largest are rounding; dividing by them would throw the point out of the region.
    return np.asarray(np.einsum("Nij,Nj->Ni", np.linalg.pinv(matrices, rcond=1e-12), right))
