"""A four-bar linkage with the crank's angle as its only coordinate: what closes it is geometry, not a constraint.

Coupler and rocker are found by a triangle, their rates and accelerations by the velocity and acceleration of the pin
between them, and the crank's acceleration by d'Alembert's principle: for one motion that the linkage admits, with unit
rate of the crank,

    sum of m (c'' + g n_y) . (dc/dphi) + I phi_i'' (dphi_i/dphi) = 0.

Nothing is differentiated by program, nothing can open, and nothing has to be put back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.robots import Link

Array = NDArray[np.float64]
GRAVITY = 9.81


@dataclass(frozen=True)
class FourBarByCrank:
    """Three bars with their centres of mass on their axes; the rocker's pivot is at ``ground``.

    Attributes:
        crank: from the origin.
        coupler: from the crank's end.
        rocker: from the pivot.
        ground: the pivot (x, y) [m].
        side: 1.0 where the coupler lies to the left of the line from the crank's end to the pivot, else -1.0.
    """

    crank: Link
    coupler: Link
    rocker: Link
    ground: tuple[float, float]
    side: float

    def angles(self, crank: float) -> Array:
        """Absolute angles of the three bars, shape (3,), the last two between -pi and pi."""
        x, y = np.array(self.ground) - self.crank.length * _unit(crank)
        far, a, b = float(np.hypot(x, y)), self.coupler.length, self.rocker.length
        corner = np.arccos((a**2 + far**2 - b**2) / (2.0 * a * far))
        coupler = np.arctan2(y, x) + self.side * corner
        rocker = np.arctan2(*(a * _unit(coupler) - np.array([x, y]))[::-1])
        return np.array([crank, coupler, rocker])

    def rates(self, phi: Array) -> Array:
        """Rates of the three angles per unit of the crank's, shape (3,)."""
        return np.array([1.0, *np.linalg.solve(self._pin(phi), -self.crank.length * _normal(phi[0]))])

    def acceleration(self, crank: float, rate: float) -> float:
        """Of the crank [rad/s^2]."""
        phi = self.angles(crank)
        k = self.rates(phi)
        w = rate * k
        lengths = self.crank.length, self.coupler.length, -self.rocker.length
        inward = sum((l * x**2 * _unit(angle) for l, x, angle in zip(lengths, w, phi, strict=True)), np.zeros(2))
        extra = np.array([0.0, *np.linalg.solve(self._pin(phi), inward)])
        inertia = force = 0.0
        for i, link in enumerate((self.crank, self.coupler, self.rocker)):
            moved = k[i] * link.center * _normal(phi[i])
            drift = link.center * (extra[i] * _normal(phi[i]) - w[i] ** 2 * _unit(phi[i]))
            if i == 1:
                moved = moved + self.crank.length * _normal(phi[0])
                drift = drift - self.crank.length * w[0] ** 2 * _unit(phi[0])
            inertia += link.mass * moved @ moved + link.inertia * k[i] ** 2
            force += link.mass * moved @ (drift + np.array([0.0, GRAVITY])) + link.inertia * k[i] * extra[i]
        return float(-force / inertia)

    def motion(self, crank: float, rate: float, times: Array) -> tuple[Array, Array]:
        """Angle and rate of the crank at these times, shape (n,) each, to about 1e-12 of their sizes."""
        solution = solve_ivp(
            lambda _, x: [x[1], self.acceleration(x[0], x[1])],
            (0.0, float(times[-1])),
            [crank, rate],
            method="DOP853",
            t_eval=times,
            rtol=1e-13,
            atol=1e-13,
        )
        return np.asarray(solution.y[0]), np.asarray(solution.y[1])

    def _pin(self, phi: Array) -> Array:
        """Derivative of the pin's position by the coupler, less that by the rocker, shape (2, 2)."""
        return np.column_stack([self.coupler.length * _normal(phi[1]), -self.rocker.length * _normal(phi[2])])


def _unit(angle: float) -> Array:
    return np.array([np.cos(angle), np.sin(angle)])


def _normal(angle: float) -> Array:
    return np.array([-np.sin(angle), np.cos(angle)])
