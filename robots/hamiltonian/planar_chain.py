"""The planar chain of n links in absolute angles: every product in O(n), by two cumulative sums."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError, ShapeError
from ...symbolic.validation import finite, vector
from ..families.planar_manipulator import Link
from .legendre_solvers import not_positive_definite
from .operation_count import OperationCount
from .quadratic_form import FactoredForm

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlanarChain:
    """The arm of [DunskayaPyatnitsky1996]_ eqs. (3.5)–(3.10), as numbers: angles from the vertical, gravity g.

    With σ_i = Σ_{j>i} m_j, the moments k_i = m_i l_i + L_i σ_i and d_i = J_i + m_i l_i² + L_i² σ_i, and
    e_i = (cos q_i, sin q_i), the entries of A are A_ij = L_i k_j e_iᵀe_j for i < j and A_ii = d_i: below and above its
    diagonal the matrix has rank two. Collecting (3.7) and (3.9) link by link gives
    G_i = k_i Σ_{j<i} L_j z_j e_j + L_i Σ_{j>i} k_j z_j e_j, from which A z and ∂L/∂q both follow.
    It is ``planar_manipulator(links, angles="absolute", zero="down")``.

    Attributes:
        links: from the base to the tip.
        gravity: g along the zero direction [m/s²].

    Raises:
        ModelError: for no links, or a gravity that is not finite.
    """

    links: Sequence[Link]
    gravity: float

    def __post_init__(self) -> None:
        """Check the links and gravity."""
        links = tuple(self.links)
        if not links or not all(isinstance(link, Link) for link in links):
            raise ModelError(f"links must be one or more Link objects, got {self.links!r}")
        object.__setattr__(self, "links", links)
        object.__setattr__(self, "gravity", finite("gravity", self.gravity))

    @functools.cached_property
    def lengths(self) -> Array:
        """L, shape (n,) [m]."""
        return np.array([link.length for link in self.links])

    @functools.cached_property
    def moments(self) -> Array:
        """k, shape (n,) [kg m]."""
        return np.array([link.mass * link.center for link in self.links]) + self.lengths * self._outboard

    @functools.cached_property
    def inertias(self) -> Array:
        """d, the diagonal of A, shape (n,) [kg m²]."""
        own = np.array([link.inertia + link.mass * link.center**2 for link in self.links])
        return np.asarray(own + self.lengths**2 * self._outboard, dtype=np.float64)

    @property
    def eigenvalue_bound(self) -> float:
        """min J_i ≤ λ_min(A) at every position, since 2T ≥ Σ J_i z_i²; zero if a link has no inertia [kg m²]."""
        return min(link.inertia for link in self.links)

    def form(self, q: ArrayLike) -> ChainForm:
        """Return the kinetic energy at one position.

        Args:
            q: angles from the vertical, shape (n,) [rad].
        """
        angles = vector("q", q, len(self.links))
        return ChainForm(self, np.vstack([np.cos(angles), np.sin(angles)]))

    @functools.cached_property
    def _outboard(self) -> Array:
        masses = np.array([link.mass for link in self.links])
        return np.asarray(masses.sum() - np.cumsum(masses), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ChainForm(FactoredForm):
    """½ zᵀA z of a planar chain at one position.

    Attributes:
        chain: lengths, masses and inertias.
        directions: e_i along the links, (cos q_i, sin q_i), shape (2, n).
    """

    chain: PlanarChain
    directions: Array

    @property
    def size(self) -> int:
        """Number of links."""
        return len(self.chain.links)

    def sums(self, z: Array) -> tuple[Array, Array]:
        """Return Σ_{j<i} L_j z_j e_j and Σ_{j>i} k_j z_j e_j, each of shape (2, n).

        Args:
            z: velocities, shape (n,) [rad/s].
        """
        before, after = np.zeros_like(self._lengths), np.zeros_like(self._moments)
        np.cumsum((self._lengths * z)[:, :-1], axis=1, out=before[:, 1:])
        np.cumsum((self._moments * z)[:, :0:-1], axis=1, out=after[:, -2::-1] if self.size > 1 else after[:, :0])
        return before, after

    def product(self, z: Array) -> Array:
        """Return (A z)_i = d_i z_i + k_i e_iᵀ Σ_{j<i} L_j z_j e_j + L_i e_iᵀ Σ_{j>i} k_j z_j e_j."""
        before, after = self.sums(z)
        coupled = (self._moments * before + self._lengths * after).sum(axis=0)
        return np.asarray(self.chain.inertias * z + coupled, dtype=np.float64)

    @property
    def product_cost(self) -> OperationCount:
        """9 n multiplications: 4 n for the terms of the sums, 4 n to project them, n for the diagonal."""
        n = self.size
        return OperationCount(9 * n, 4 * max(n - 2, 0) + 4 * n)

    @property
    def product_setup(self) -> OperationCount:
        """Operations of L_i e_i and k_i e_i."""
        return OperationCount(4 * self.size, 0, 2 * self.size)

    def rate(self, z: Array) -> Array:
        """Return ∂L/∂q of [DunskayaPyatnitsky1996]_ eq. (3.8), shape (n,) [N m].

        ∂L/∂q_i = z_i (−sin q_i, cos q_i)ᵀG_i − g k_i sin q_i; the joint torques add M_i − M_{i+1}.

        Args:
            z: velocities, shape (n,) [rad/s].
        """
        c, s = self.directions
        before, after = self.sums(z)
        x, y = self.chain.moments * before + self.chain.lengths * after
        return np.asarray(z * (c * y - s * x) - self.chain.gravity * self.chain.moments * s, dtype=np.float64)

    def matrix(self) -> Array:
        """Return A, computed entry by entry above the diagonal."""
        upper = np.triu(self._lengths.T @ self._moments, 1)
        return np.asarray(upper + upper.T + np.diag(self.chain.inertias), dtype=np.float64)

    @property
    def matrix_cost(self) -> OperationCount:
        """Two multiplications and an addition for each entry above the diagonal."""
        pairs = self.size * (self.size - 1) // 2
        return self.product_setup + OperationCount(2 * pairs, pairs)

    def eliminate(self, right: Array) -> Array:
        """Solve by A = U D Uᵀ from the tip to the base, then back, with a symmetric 2 × 2 matrix P.

        With u_i = L_i e_i and w_i = k_i e_i, A_ij = u_iᵀ w_j for i < j. Elimination of the links after j leaves
        A_ij = u_iᵀ w̃_j and A_jj = d̃_j with w̃_j = w_j − P u_j, d̃_j = d_j − u_jᵀP u_j, and adds w̃_j w̃_jᵀ/d̃_j to P.
        """
        n = self.size
        if right.shape != (n,):
            raise ShapeError(f"right must have shape ({n},), got {right.shape}")
        u, w = self._lengths.T.tolist(), self._moments.T.tolist()
        d, b = self.chain.inertias.tolist(), right.tolist()
        rows: list[tuple[float, float, float]] = []
        xx = xy = yy = gx = gy = 0.0
        for j in reversed(range(n)):
            (ux, uy), (wx, wy) = u[j], w[j]
            px, py = xx * ux + xy * uy, xy * ux + yy * uy
            pivot = d[j] - ux * px - uy * py
            if not pivot > 1e-14 * d[j]:
                raise not_positive_definite(f"the pivot of link {j + 1} is {pivot:.3g} of {d[j]:.3g} kg m²")
            wx, wy = wx - px, wy - py
            hx, hy, rest = wx / pivot, wy / pivot, (b[j] - ux * gx - uy * gy)
            xx, xy, yy = xx + wx * hx, xy + wx * hy, yy + wy * hy
            gx, gy = gx + hx * rest, gy + hy * rest
            rows.append((hx, hy, rest / pivot))
        z = np.empty(n)
        sx = sy = 0.0
        for j, (hx, hy, own) in enumerate(reversed(rows)):
            turn = own - hx * sx - hy * sy
            z[j] = turn
            sx, sy = sx + u[j][0] * turn, sy + u[j][1] * turn
        return z

    @property
    def eliminate_cost(self) -> OperationCount:
        """21 multiplications and 17 additions per link."""
        return self.product_setup + OperationCount(21 * self.size, 17 * self.size)

    @functools.cached_property
    def _lengths(self) -> Array:
        return np.asarray(self.chain.lengths * self.directions, dtype=np.float64)

    @functools.cached_property
    def _moments(self) -> Array:
        return np.asarray(self.chain.moments * self.directions, dtype=np.float64)
