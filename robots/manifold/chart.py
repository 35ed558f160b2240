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

    [U W] and [U₀ W₀] are orthogonal matrices with U = V₂ at the origin of the chart. U₀ ignores the nonholonomic rows,
    which restrict velocities only.

    Attributes:
        free: U, shape (nv, k).
        free_positions: U₀, shape (nv, k₀).
        lift: N₀, shape (nq, nv).
        parts: the same for each part of the manifold, if there are several.
    """

    free: Array
    free_positions: Array
    lift: Array
    parts: tuple[Chart, ...] = ()

    @functools.cached_property
    def constrained(self) -> Array:
        """W, shape (nv, r)."""
        return _complement(self.free)

    @functools.cached_property
    def constrained_positions(self) -> Array:
        """W₀, shape (nv, r₀)."""
        return self.constrained if self.free_positions is self.free else _complement(self.free_positions)

    @functools.cached_property
    def is_plain(self) -> bool:
        """True if velocities are rates of coordinates, N₀ = E."""
        return self.lift.shape[0] == self.lift.shape[1] and bool((self.lift == np.eye(len(self.lift))).all())

    @property
    def lift_free(self) -> Array:
        """N₀U₀, shape (nq, k₀)."""
        return np.asarray(self.lift @ self.free_positions)

    @property
    def rank(self) -> int:
        """r, number of rows of A that are independent along the branch."""
        return len(self.free) - int(self.free.shape[1])

    @property
    def position_rank(self) -> int:
        """r₀, number of holonomic rows of A that are independent along the branch."""
        return len(self.free_positions) - int(self.free_positions.shape[1])

    @property
    def each(self) -> tuple[Chart, ...]:
        """The chart of every part; this chart if there is only one part."""
        return self.parts or (self,)

    @classmethod
    def along(cls, tangent: Array, position_tangent: Array, N: Array, previous: Chart | None = None) -> Chart:
        """Build a chart along given directions, with bases aligned to those of an earlier chart.

        Args:
            tangent: independent directions in which velocities are free, shape (nv, k).
            position_tangent: independent directions in which positions are free, shape (nv, k₀).
            N: kinematic matrix of q̇ = N v, shape (nq, nv).
            previous: chart whose free directions the new ones continue.
        """
        free = _orthonormal(tangent)
        free_positions = free if position_tangent is tangent else _orthonormal(position_tangent)
        if previous is not None:
            same = free_positions is free
            free = align_basis(free, previous.free)
            free_positions = free if same else align_basis(free_positions, previous.free_positions)
        return cls(free, free_positions, N)

    @classmethod
    def join(cls, charts: Sequence[Chart], parts: Sequence[ManifoldPart]) -> Chart:
        """Join the charts of the parts of a manifold.

        Args:
            charts: charts of the parts.
            parts: parts of the manifold.
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
        same = all(chart.free_positions is chart.free for chart in charts)
        return cls(free, free if same else whole("free_positions", v), lift, tuple(charts))


def _orthonormal(directions: Array) -> Array:
    """Return an orthonormal basis of the span of independent columns."""
    return np.asarray(np.linalg.qr(directions).Q)


def _complement(basis: Array) -> Array:
    """Return an orthonormal basis of the orthogonal complement of the columns, shape (n, n − k)."""
    n, k = basis.shape
    return np.asarray(np.linalg.qr(basis, mode="complete").Q[:, k:]) if k else np.eye(n)
