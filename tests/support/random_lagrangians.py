"""Random Lagrangians with every kind of term, for SymPy and for CasADi alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recipe:
    """Random coefficients; every method makes its term from scalars of SymPy or of CasADi.

    L = ½ q̇ᵀ A(q, t) q̇ + a(q, t)ᵀ q̇ + L₀(q, t) with A = BᵀB + 1.
    """

    n: int
    c: Array

    @classmethod
    def random(cls, n: int, seed: int) -> Recipe:
        return cls(n, np.random.default_rng([n, seed]).uniform(-1.0, 1.0, (12, n, n)))

    def entry(self, m: Any, q: list[Any], t: Any, k: int, i: int, j: int) -> Any:  # noqa: ANN401
        """A trigonometric polynomial in two coordinates and time."""
        x, y = q[i], q[(i + j + 1) % self.n]
        c = [float(value) for value in self.c[k : k + 3, i, j]]
        return c[0] * m.sin(x - c[1] * t) + c[2] * x * y + c[1] * m.cos(2 * y) * x

    def quadratic(self, m: Any, q: list[Any], v: list[Any], t: Any) -> Any:  # noqa: ANN401
        rows = [sum(self.entry(m, q, t, 0, i, j) * v[j] for j in range(self.n)) for i in range(self.n)]
        return (sum(row**2 for row in rows) + sum(x**2 for x in v)) / 2

    def linear(self, m: Any, q: list[Any], v: list[Any], t: Any) -> Any:  # noqa: ANN401
        return sum(self.entry(m, q, t, 3, i, (i + 1) % self.n) * v[i] for i in range(self.n))

    def rest(self, m: Any, q: list[Any], t: Any) -> Any:  # noqa: ANN401
        return sum(self.entry(m, q, t, 5, i, j) * q[j] ** 2 for i in range(self.n) for j in range(self.n))

    def dissipation(self, m: Any, q: list[Any], v: list[Any]) -> Any:  # noqa: ANN401
        """Not quadratic only: v⁴ is a resistance that grows with the cube of the speed."""
        return sum((1.5 + m.sin(q[i])) * v[i] ** 2 / 2 + v[i] * v[i - 1] / 5 + v[i] ** 4 / 4 for i in range(self.n))

    def forces(self, m: Any, q: list[Any], v: list[Any], u: list[Any], t: Any) -> list[Any]:  # noqa: ANN401
        """Affine in the inputs, with arms that depend on q and t; not the gradient of anything."""
        return [
            q[i - 1] * v[i] ** 2 + m.cos(t) * q[i] + u[0] * m.cos(q[i]) + u[1] * (t + q[i - 1]) for i in range(self.n)
        ]

    def held(self, m: Any, q: list[Any], t: Any) -> Any:  # noqa: ANN401
        """φ of order 0, in which the last coordinate stands alone."""
        return q[-1] - float(self.c[9, 0, 0]) * m.sin(q[0] + t) - float(self.c[9, 0, 1]) * q[0] ** 2

    def rolling(self, m: Any, q: list[Any], v: list[Any], t: Any) -> Any:  # noqa: ANN401
        """ψ of order 1, linear in the velocities with a term in time alone; no time derivative of a function of q."""
        return v[0] - (1 + m.sin(q[1])) * v[1] - q[-1] * v[-1] / 3 - m.cos(t)
