"""The velocity of a point that goes to a curve and along it, with nothing in the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from ..symbolic.ldl import Ldl
from .curves.normals import tangent_of

FLOOR = 1e-24
SOFTENING = 0.05
FOLLOWED = 0.8
"""Share of the speed limit up to which moving curves and barriers are followed exactly."""

AIMED = 0.9
"""Share of the speed limit that the way to a curve and along it has; the rest is for being carried by barriers."""

TURN = 2 / 27**0.5
"""Largest z/(1 + z²)^(3/2): on its way to a straight line at rest a point turns with at most 0.385 κ c."""

Profile = Callable[[ca.SX, ca.SX], ca.SX]
"""Something of place, shape (n,), and time."""


@dataclass(frozen=True, eq=False)
class Gains:
    """How fast a curve is approached and followed.

    Attributes:
        speed: c [m/s].
        attraction: κ [1/s].
        limit: largest speed L [m/s], None for none.
        acceleration: largest acceleration a along a curve at rest [m/s²], None for none.
        pace: share of the speed that is wanted at this place and time, in [0, 1].
        course: direction in which a surface is to be followed, shape (n,); None where the curve itself says it.
    """

    speed: ca.SX
    attraction: ca.SX
    limit: ca.SX | None
    acceleration: ca.SX | None
    pace: ca.SX
    course: ca.SX | None


def bounded(velocity: ca.SX, limit: ca.SX | None, share: float) -> ca.SX:
    """The velocity itself up to 0.8 of the limit L, its direction beyond, shorter than ``share`` L; C² everywhere.

    Args:
        velocity: shape (n,) [m/s].
        limit: L [m/s], None for none.
        share: of L, above 0.8.
    """
    if limit is None:
        return velocity
    exact, room = FOLLOWED * limit, (share - FOLLOWED) * limit
    excess = ca.sqrt(ca.fmax(ca.sumsqr(velocity), exact**2)) - exact
    return velocity * (exact + room * ca.tanh(excess / room)) / (exact + excess)


def cruise(program: ca.SX, slope: ca.SX, drift: ca.SX, x: ca.SX, gains: Gains) -> ca.SX:
    """w₀ = c cos ϑ τ − J⁺(F_t + c sin ϑ), tan ϑ = κF/c, shape (n,) [m/s].

    dF/dt = −c sin ϑ: F decays at the rate κ near the curve and at the speed c far from it, and F = 0 is an integral
    curve. Divisions are softened by what vanishes on the curve. With a limit L, |w₀| ≤ 0.9 L: J⁺(…), of length u, is
    exact up to 0.8 L and stays below 0.88 L, and c is reduced to c √(1 − (u/0.9 L)²). With an acceleration a, c along
    the curve is at most √(a/k), k the curvature of the level line, and κ at most a/(0.385 c).

    Args:
        program: F, shape (k,) [m].
        slope: J = ∂F/∂x, shape (k, n).
        drift: F_t, shape (k,) [m/s].
        x: the place, symbols of shape (n,) [m].
        gains: c, κ and the rest.
    """
    speed, rate = gains.speed, gains.attraction
    if gains.acceleration is not None:
        rate = ca.fmin(rate, gains.acceleration / (TURN * speed))
    size = ca.sumsqr(program)
    # Vanishes on the curve, where the structure must be exact, and bounds the field at the critical points of F.
    softening = SOFTENING * size / (size + (speed / rate) ** 2)
    steep = ca.sqrt(1 + rate**2 * size / speed**2)
    # The floor is far below rounding wherever a curve is regular, and keeps 0/0 out where it is not.
    gram = Ldl.of(slope @ slope.T + (softening + FLOOR) * ca.SX.eye(program.numel()))
    normal = slope.T @ gram.solve(drift + rate * program / steep)
    along = tangent_of(slope) if gains.course is None else gains.course - slope.T @ gram.solve(slope @ gains.course)
    tangent = along / ca.sqrt(ca.sumsqr(along) + softening + FLOOR)
    wanted = gains.pace * speed / steep
    if gains.acceleration is not None:
        bend = ca.sumsqr(ca.jtimes(tangent, x, tangent))
        wanted = wanted / (1 + speed**4 * bend / gains.acceleration**2) ** 0.25
    if gains.limit is not None:
        normal = bounded(normal, gains.limit, AIMED - 0.02)
        wanted = wanted * ca.sqrt(1 - ca.sumsqr(normal) / (AIMED * gains.limit) ** 2)
    return wanted * tangent - normal
