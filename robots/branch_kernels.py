"""What a branch is computed from: φ, ρ, A and b of a manifold as functions of numbers, and least squares."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..symbolic.kernel import Kernel
from .manifold import Manifold

Array = NDArray[np.float64]


class BranchKernels:
    """The expressions of a manifold as functions of numbers; they serve every set of parameters."""

    def __init__(self, manifold: Manifold) -> None:
        """Build them for the virtual machine, which needs no compiler.

        Args:
            manifold: whose expressions.
        """
        c, p = manifold.robot.coordinates, manifold.robot.p
        place = {"phi": manifold.place, "slope": manifold.slope, "N": c.N}
        self._place = Kernel("branch_place", {"t": c.t, "q": c.q, "p": p}, place, compiled=False)
        state = {"t": c.t, "q": c.q, "v": c.v, "p": p}
        speed = {"rho": manifold.velocity, "A": manifold.A, "b": manifold.b}
        self._speed = Kernel("branch_speed", state, speed, compiled=False)
        rows = ca.sparsify(manifold.A)
        self._square = Kernel("branch_square", state, {"square": ca.densify(rows @ rows.T)}, compiled=False)
        rate = ca.substitute(manifold.A_rate, c.a, ca.SX.zeros(c.nv))
        self._rate = Kernel("branch_rate", state, {"rate": rate}, compiled=False)
        self._nq, self._nv = c.nq, c.nv

    def place(self, t: float, q: Array, p: Array) -> tuple[Array, Array, Array]:
        """φ, shape (m₀,), φ_q, shape (m₀, nq), and N, shape (nq, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            p: parameters.
        """
        phi, slope, N = self._place(t, q, p)
        return phi.reshape(-1), slope.reshape(-1, self._nq), N.reshape(self._nq, self._nv)

    def speed(self, t: float, q: Array, v: Array, p: Array) -> tuple[Array, Array, Array]:
        """ρ, shape (m,), A, shape (m, nv), and b, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters.
        """
        rho, A, b = self._speed(t, q, v, p)
        return rho.reshape(-1), A.reshape(-1, self._nv), b.reshape(-1)

    def square(self, t: float, q: Array, v: Array, p: Array) -> Array:
        """A Aᵀ, shape (m, m).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters.
        """
        return np.atleast_2d(self._square(t, q, v, p)[0])

    def rate(self, t: float, q: Array, v: Array, p: Array) -> Array:
        """dA/dt without the share of the accelerations, shape (m, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters.
        """
        return self._rate(t, q, v, p)[0].reshape(-1, self._nv)


def solve_least(matrix: Array, right: Array) -> Array:
    """x of least squares |A x − b|, for a matrix of full column rank, shape (m, r).

    Args:
        matrix: A.
        right: b, shape (m,) or (m, k).
    """
    m, r = matrix.shape
    if r == 0 or m == 0:
        return np.zeros((r, *right.shape[1:]))
    try:
        if m == r:
            return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full((r, *right.shape[1:]), np.nan)
