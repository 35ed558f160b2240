"""Local coordinates on the constraint manifold: directions that stay fixed during a step."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...constraints.null_space import align_basis
from .manifold import ManifoldPart

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chart:
    """v = U w + W σ and q = q₀ + N₀U₀ ξ + N₀W₀ η: w and ξ are free, σ and η follow from the constraints.

    [U W] and [U₀ W₀] are orthogonal matrices, chosen where the chart is, so that U = V₂ there. U₀ leaves out the
    nonholonomic rows, which hold velocities only.

    Attributes:
        free: U, shape (nv, k).
        free_places: U₀, shape (nv, k₀).
        lift: N₀, shape (nq, nv).
        parts: the same for each part of the manifold, if there are several.
    """

    free: Array
    free_places: Array
    lift: Array
    parts: tuple[Chart, ...] = ()

    @functools.cached_property
    def held(self) -> Array:
        """W, shape (nv, r)."""
        return _complement(self.free)

    @functools.cached_property
    def held_places(self) -> Array:
        """W₀, shape (nv, r₀)."""
        return self.held if self.free_places is self.free else _complement(self.free_places)

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether velocities are rates of coordinates, N₀ = E."""
        return self.lift.shape[0] == self.lift.shape[1] and bool((self.lift == np.eye(len(self.lift))).all())

    @property
    def lift_free(self) -> Array:
        """N₀U₀, shape (nq, k₀)."""
        return np.asarray(self.lift @ self.free_places)

    @property
    def rank(self) -> int:
        """r, how many rows of A are independent along the branch."""
        return len(self.free) - int(self.free.shape[1])

    @property
    def rank_of_places(self) -> int:
        """r₀, how many of its holonomic rows are."""
        return len(self.free_places) - int(self.free_places.shape[1])

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
        free = _orthonormal(tangent)
        free_places = free if place_tangent is tangent else _orthonormal(place_tangent)
        if previous is not None:
            same = free_places is free
            free = align_basis(free, previous.free)
            free_places = free if same else align_basis(free_places, previous.free_places)
        return cls(free, free_places, N)

    @classmethod
    def joined(cls, charts: Sequence[Chart], parts: Sequence[ManifoldPart]) -> Chart:
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
        free, lift = whole("free", v), np.zeros((sum(map(len, q)), sum(map(len, v))))
        for chart, part in zip(charts, parts, strict=True):
            lift[np.ix_(part.q, part.v)] = chart.lift
        same = all(chart.free_places is chart.free for chart in charts)
        return cls(free, free if same else whole("free_places", v), lift, tuple(charts))


def _orthonormal(directions: Array) -> Array:
    """Orthonormal basis of a span of independent columns."""
    return np.asarray(np.linalg.qr(directions).Q)


def _complement(basis: Array) -> Array:
    """Orthonormal basis of what is at right angles to the columns, shape (n, n − k)."""
    n, k = basis.shape
    return np.asarray(np.linalg.qr(basis, mode="complete").Q[:, k:]) if k else np.eye(n)
