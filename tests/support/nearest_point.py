"""The nearest point on a curved surface, by SciPy's sequential quadratic programming."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Array = NDArray[np.float64]


def nearest(
    M: NDArray[Any], centre: NDArray[Any], rows: Callable[[Array], Array], slope: Callable[[Array], Array], start: Array
) -> Array:
    """argmin of ½ (x − c)ᵀ M (x − c) under rows(x) = 0, near a start."""
    minimize: Any = optimize.minimize  # its stubs know no function that returns a NumPy number
    found = minimize(
        lambda x: (x - centre) @ M @ (x - centre) / 2,
        start,
        jac=lambda x: M @ (x - centre),
        method="SLSQP",
        constraints=[{"type": "eq", "fun": rows, "jac": slope}],
        options={"ftol": 1e-15, "maxiter": 500},
    )
    # It may creep at its end and call that a failure: what was found is checked by its rows, and by the comparison.
    assert np.abs(rows(found.x)).max() < 1e-8
    return np.asarray(found.x, dtype=np.float64)
