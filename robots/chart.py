"""Directions that stay fixed during a step: local coordinates on the states that constraints admit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..constraints.alignment import aligned

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chart:
    """v = U w + W σ and q = q₀ + N₀U₀ ξ + N₀W₀ η: w and ξ are free, σ and η follow from the constraints.

    [U W] and [U₀ W₀] are orthogonal matrices, chosen where the chart is, so that U = V₂ there. U₀ leaves out the
    nonholonomic rows, which hold velocities only.

    Attributes:
        free: U, shape (nv, k).
        held: W, shape (nv, r).
        free_places: U₀, shape (nv, k₀).
        held_places: W₀, shape (nv, r₀).
        lift_free: N₀U₀, shape (nq, k₀).
        lift_held: N₀W₀, shape (nq, r₀).
    """

    free: Array
    held: Array
    free_places: Array
    held_places: Array
    lift_free: Array
    lift_held: Array

    @classmethod
    def along(cls, tangent: Array, place_tangent: Array, N: Array, previous: Chart | None = None) -> Chart:
        """The chart along given directions, turned towards an earlier one.

        Args:
            tangent: directions in which velocities are free, shape (nv, k), independent.
            place_tangent: directions in which places are, shape (nv, k₀), independent.
            N: kinematic matrix of q̇ = N v, shape (nq, nv).
            previous: chart whose bases the new ones are to continue.
        """
        free, held = split(tangent)
        free_places, held_places = (free, held) if place_tangent is tangent else split(place_tangent)
        if previous is not None:
            free, held = aligned(free, previous.free), aligned(held, previous.held)
            free_places, held_places = (
                (free, held)
                if place_tangent is tangent
                else (aligned(free_places, previous.free_places), aligned(held_places, previous.held_places))
            )
        return cls(free, held, free_places, held_places, N @ free_places, N @ held_places)


def split(directions: Array) -> tuple[Array, Array]:
    """Orthonormal bases of a span, shape (n, k), and of its complement, shape (n, n − k).

    Args:
        directions: independent columns, shape (n, k).
    """
    n, k = directions.shape
    if k == 0:
        return np.zeros((n, 0)), np.eye(n)
    Q = np.linalg.qr(directions, mode="complete").Q
    return np.asarray(Q[:, :k]), np.asarray(Q[:, k:])
