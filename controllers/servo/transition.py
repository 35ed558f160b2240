"""A smooth way from rest to rest, as an expression of time."""

from __future__ import annotations

import math

import casadi as ca

from ...symbolic.arrays import finite, positive, whole

SMOOTHEST = 10
"""Coefficients alternate and grow: errors are 3e-9 here, 2e-7 for k = 12, and 1 for k = 20."""


def transition(t: ca.SX, duration: float, *, start: float = 0.0, smoothness: int = 4) -> ca.SX:
    """0 before the start, 1 a duration later, and between them the polynomial of least degree that is as smooth.

    s(τ) = τ^{k+1} Σ_j C(k+j, j) C(2k+1, k−j) (−τ)^j, j = 0 … k, of degree 2k + 1, whose first k derivatives vanish at
    both ends: for k = 4 it is 126τ⁵ − 420τ⁶ + 540τ⁷ − 315τ⁸ + 70τ⁹ [AltmannHeiland2017]_. A program of relative degree
    ρ needs k ≥ ρ for inputs without jumps.

    Args:
        t: symbol of time [s].
        duration: [s].
        start: when it begins [s].
        smoothness: k, from 0 to 10.

    Raises:
        ModelError: for a duration that is not positive, a start that is not finite, or a smoothness that is no count.
    """
    k = whole("smoothness", smoothness, 0, SMOOTHEST, "rounding spoils polynomials of higher degree")
    tau = ca.fmin(ca.fmax((t - finite("start", start)) / positive("duration", duration), 0.0), 1.0)
    terms = [math.comb(k + j, j) * math.comb(2 * k + 1, k - j) * (-1) ** j for j in range(k + 1)]
    total = ca.SX(0)
    for factor in reversed(terms):
        total = total * tau + factor
    return total * tau ** (k + 1)
