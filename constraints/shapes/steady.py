"""Steady motions: constant velocity and constant angular velocity."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

Law = Callable[[ca.SX], ca.SX]
"""A function of the time t [s]."""


def steady_shift(n: int, velocity: ca.SX | None) -> Law:
    """The law d = u t.

    Args:
        n: dimension.
        velocity: u, shape (n,) [m/s]; None for no shift.
    """

    def shift(t: ca.SX) -> ca.SX:
        return ca.SX.zeros(n) if velocity is None else velocity * t

    return shift


def steady_turn(n: int, rates: ca.SX | None) -> Law:
    """The law R = exp(t [ω]).

    Args:
        n: dimension, 2 or 3 with rates.
        rates: ω [rad/s], shape (1,) in the plane, (3,) in space; None for no rotation.
    """

    def turn(t: ca.SX) -> ca.SX:
        return ca.SX.eye(n) if rates is None else _exponential(n, rates * t)

    return turn


def _exponential(n: int, angles: ca.SX) -> ca.SX:
    """The rotation by an angle in the plane or by a vector in space."""
    if n == 2:
        c, s = ca.cos(angles), ca.sin(angles)
        return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
    # Rodrigues' formula.
    W, square = ca.skew(angles), ca.sumsqr(angles)
    return ca.SX.eye(3) + _sinc(square) * W + _sinc(square / 4) ** 2 / 2 * ca.mtimes(W, W)


def _sinc(square: ca.SX) -> ca.SX:
    """The quotient sin α/α of α², by its series up to α = 1, where the quotient's derivatives would lose all digits."""
    series = ca.SX(1)
    for k in range(10, 0, -1):
        series = 1 - series * square / (2 * k * (2 * k + 1))
    angle = ca.sqrt(ca.if_else(square < 1, 1, square))
    return ca.if_else(square < 1, series, ca.sin(angle) / angle)
