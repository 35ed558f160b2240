"""What the reduced equations of motion are at one state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReducedState:
    """The equations at one state: V₂ᵀM V₂ ẇ + V₂ᵀM (V̇₂ w + v̇_p) = V₂ᵀ(B u − h), v = V₂ w + v_p.

    The reactions and program forces R = Θᵀλ are gone, since V₂ᵀΘᵀ = 0. V̇₂ is that of the transported basis,
    V₂ᵀ V̇₂ = 0, to which bases :func:`~erugin.constraints.aligned` from step to step tend.

    Attributes:
        basis: V₂, shape (nv, k).
        basis_rate: V̇₂, shape (nv, k).
        w: V₂ᵀ v, shape (k,).
        w_rate: ẇ, shape (k,).
        particular: v_p = v − V₂ w, along the rows: zero where no constraint moves in time, shape (nv,).
        mass_matrix: V₂ᵀM V₂, shape (k, k).
        transport: V₂ᵀM (V̇₂ w + v̇_p), shape (k,).
        force: V₂ᵀ(B u − h), shape (k,).
        acceleration: a = V₂ ẇ + V̇₂ w + v̇_p, shape (nv,), with Θ a = β.
        reaction: R = M a + h − B u = Θᵀλ, natural reactions and ideal program forces together, shape (nv,).
        rank: of Θ.
        dependent_rows: names of rows that depend on those before them.
    """

    basis: Array
    basis_rate: Array
    w: Array
    w_rate: Array
    particular: Array
    mass_matrix: Array
    transport: Array
    force: Array
    acceleration: Array
    reaction: Array
    rank: int
    dependent_rows: tuple[str, ...]
