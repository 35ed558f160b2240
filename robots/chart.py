"""Directions that stay fixed during a step: local coordinates on the states that constraints admit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..constraints.alignment import aligned
from .manifold import Part

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
        parts: the same for each part of the manifold, if there are several.
    """

    free: Array
    held: Array
    free_places: Array
    held_places: Array
    lift_free: Array
    lift_held: Array
    parts: tuple[Chart, ...] = ()

    @property
    def each(self) -> tuple[Chart, ...]:
        """The chart of every part, this one if there is but one."""
        return self.parts or (self,)

    @classmethod
    def along(cls, tangent: Array, place_tangent: Array, N: Array, previous: Chart | None = None) -> Chart:
        """The chart along given directions, turned towards an earlier one.

        Args:
            tangent: directions in which velocities are free, shape (nv, k), independent.
            place_tangent: directions in which places are, shape (nv, k₀), independent.
            N: kinematic matrix of q̇ = N v, shape (nq, nv).
            previous: chart whose free directions the new ones are to continue.
        """
        free, held = split(tangent)
        free_places, held_places = (free, held) if place_tangent is tangent else split(place_tangent)
        if previous is not None:
            free = aligned(free, previous.free)
            free_places = free if place_tangent is tangent else aligned(free_places, previous.free_places)
        return cls(free, held, free_places, held_places, N @ free_places, N @ held_places)

    @classmethod
    def joined(cls, charts: Sequence[Chart], parts: Sequence[Part]) -> Chart:
        """The chart of a manifold from those of its parts.

        Args:
            charts: of the parts.
            parts: of the manifold.
        """
        if len(charts) == 1:
            return charts[0]

        def whole(name: str, numbers: Sequence[NDArray[np.intp]]) -> Array:
            blocks = [getattr(chart, name) for chart in charts]
            matrix, at = np.zeros((sum(map(len, numbers)), sum(block.shape[1] for block in blocks))), 0
            for block, rows in zip(blocks, numbers, strict=True):
                matrix[rows, at : at + block.shape[1]] = block
                at += block.shape[1]
            return matrix

        v, q = [part.v for part in parts], [part.q for part in parts]
        free, held = whole("free", v), whole("held", v)
        same = all(chart.free_places is chart.free for chart in charts)
        free_places, held_places = (free, held) if same else (whole("free_places", v), whole("held_places", v))
        return cls(free, held, free_places, held_places, whole("lift_free", q), whole("lift_held", q), tuple(charts))


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
