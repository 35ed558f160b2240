"""Eigenvalues of a state matrix, and how far each of them may be off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EXACT = 1e-12
"""Noise of a balanced matrix, as a share of its norm."""
CLUSTER = 1e-4
"""No eigenvalue is off by more than this share of the norm, however many come together."""


def eigenvalues(matrix: Array, noise: float) -> tuple[NDArray[np.complex128], Array]:
    """Eigenvalues, and the error to be reckoned with in each, both of shape (n,).

    To first order, noise ε in a matrix moves a simple eigenvalue by ε/|yᴴx|, with its normalized left and right
    eigenvectors y and x. A multiple one is moved by a root of ε, and its yᴴx is as small; there a share of the norm is
    the bound. Balancing comes first: else one stiff spring would hide whatever is slow beside it [GolubVanLoan2013]_
    section 7.2.

    Args:
        matrix: shape (n, n).
        noise: of its entries, beyond that of the balanced matrix.
    """
    from scipy import linalg  # a tenth of a second to import

    if not matrix.size:
        return np.zeros(0, dtype=np.complex128), np.zeros(0)
    balanced: Array = np.asarray(linalg.matrix_balance(matrix, permute=False)[0], dtype=np.float64)
    found = linalg.eig(balanced, left=True, right=True)
    values, left, right = (np.asarray(part, dtype=np.complex128) for part in found)
    alike: Array = np.abs((left.conj() * right).sum(axis=0))
    size = float(np.linalg.norm(balanced))
    off = (EXACT * size + noise) / np.maximum(alike, np.finfo(np.float64).tiny)
    return values, np.minimum(off, CLUSTER * size + noise)
