"""What a program asks for at one state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .status import Status

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Solution:
    """What a program asks for at one state, with residuals recomputed from the data.

    Attributes:
        multipliers: λ, shape (m,).
        force: R, shape (nv,).
        input: u, shape (nu,); shape (0,) when ideal.
        acceleration: a, shape (nv,).
        reactions: μ of the natural constraints.
        deviation: y, y′, z of the rows, shape (m,).
        pivots: relative pivots of the rows, shape (m,), in [0, 1].
        motion_residual: |M a + h − R − Aᵀμ|, largest component.
        program_residual: |Θ a − β|, largest component.
        status: whether the numbers above mean anything.
        message: the status's sentence and, if it is not OK, the row and by how much; and that the reactions mean
            nothing where natural constraints depend on each other.
    """

    multipliers: Array
    force: Array
    input: Array
    acceleration: Array
    reactions: Array
    deviation: Array
    pivots: Array
    motion_residual: float
    program_residual: float
    status: Status
    message: str
