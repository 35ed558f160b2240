"""Places of planar linkages in closed form.

The four-bar by Freudenstein's equation, as Norton writes it (Design of Machinery, eqs. (4.8)-(4.13)); the slider-crank
by the theorem of Pythagoras; everything else by intersections of two circles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def four_bar(a: float, b: float, c: float, d: float, crank: float) -> list[tuple[float, float]]:
    """Angles of coupler and rocker for a crank angle: open and crossed, none if the linkage does not close.

    Args:
        a: crank.
        b: coupler.
        c: rocker.
        d: ground, along x.
        crank: angle [rad].
    """
    cos, sin = np.cos(crank), np.sin(crank)
    k1, k2, k3 = d / a, d / c, (a**2 - b**2 + c**2 + d**2) / (2 * a * c)
    k4, k5 = d / b, (c**2 - d**2 - a**2 - b**2) / (2 * a * b)
    A, B, C = cos - k1 - k2 * cos + k3, -2 * sin, k1 - (k2 + 1) * cos + k3
    D, E, F = cos - k1 + k4 * cos + k5, -2 * sin, k1 + (k4 - 1) * cos + k5
    under_rocker, under_coupler = B**2 - 4 * A * C, E**2 - 4 * D * F
    if under_rocker < 0.0:
        return []
    return [
        (
            2 * np.arctan2(-E + sign * np.sqrt(under_coupler), 2 * D),
            2 * np.arctan2(-B + sign * np.sqrt(under_rocker), 2 * A),
        )
        for sign in (-1.0, 1.0)
    ]


def slider_crank(crank: float, rod: float, offset: float, angle: float) -> list[tuple[float, float]]:
    """Angle of the rod and place of the slider for a crank angle, both ways; none if the linkage does not close."""
    drop = offset - crank * np.sin(angle)
    if abs(drop) > rod:
        return []
    found: list[tuple[float, float]] = []
    for sign in (1.0, -1.0):
        run = sign * np.sqrt(rod**2 - drop**2)
        found.append((float(np.arctan2(drop, run)), float(crank * np.cos(angle) + run)))
    return found


def two_circles(first: Array, r: float, second: Array, s: float) -> list[Array]:
    """The two points, shape (2,), at distance r from one point and s from another; empty if the circles do not meet."""
    line = second - first
    d = float(np.hypot(*line))
    along = (d**2 + r**2 - s**2) / (2 * d)
    if abs(along) > r:
        return []
    across = np.sqrt(r**2 - along**2)
    e = line / d
    return [first + along * e + sign * across * np.array([-e[1], e[0]]) for sign in (1.0, -1.0)]


def direction(start: Array, end: Array) -> float:
    """Angle from x of the line from one point to another."""
    return float(np.arctan2(end[1] - start[1], end[0] - start[0]))
