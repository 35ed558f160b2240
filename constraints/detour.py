"""The program curve: a path that is led around what stands in its way."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca

from .curves import Curve

FADING = 0.5
"""Share of R + δ at which a disc's centre, off the path to the passing side, begins to give the path free."""

NEVER = 1e6
"""What is not to be met is put this many roundings away, where its weight e^(−10⁶) is zero in floating point."""


@dataclass(frozen=True, eq=False)
class Barrier:
    """What no trajectory crosses: an obstacle, or the boundary of a region to be kept inside.

    Attributes:
        name: the curve's.
        function: O(x, t), positive where the motion may be [m].
        side: σ = ±1, on which side of the path it is passed.
        center: its reference point c at time t, shape (n,) [m]; None if it has none.
        extent: radius R of a ball about that point that contains it [m]; None if no ball does.
    """

    name: str
    function: ca.SX
    side: ca.SX
    center: ca.SX | None
    extent: ca.SX | None


def smooth_least(values: Iterable[ca.SX], rounding: ca.SX) -> ca.SX:
    """−ε ln Σ e^(−v/ε): at most the least of the values, and at most ε ln k less, for k of them.

    Args:
        values: scalars v.
        rounding: ε, in the unit of the values.
    """
    each = list(values)
    least = functools.reduce(ca.fmin, each)
    total = functools.reduce(lambda a, b: a + b, (ca.exp((least - value) / rounding) for value in each))
    return least - rounding * ca.log(total)


def yielding(path: Curve, barrier: Barrier, t: ca.SX, margin: ca.SX) -> ca.SX:
    """Length by which an obstacle that leaves the path to the passing side is drawn in, a function of time alone [m].

    (R + δ) z⁴ with z = max(0, (σφ₁(c, t)/(R + δ) − ½)/½), c the obstacle's reference and R its extent. It is R + δ, so
    that nothing is left to go around, when the obstacle has just left the path (σφ₁(c, t) = R + δ), and grows beyond.
    Zero for what has no reference or no extent.

    Args:
        path: of which φ₁ is the first function.
        barrier: the obstacle.
        t: time [s].
        margin: δ [m].
    """
    if barrier.center is None or barrier.extent is None:
        return ca.SX(0)
    size = barrier.extent + margin
    gone = barrier.side * path.functions(barrier.center, t)[0] / size
    return size * ca.fmax((gone - FADING) / (1 - FADING), 0) ** 4


def led_around(first: ca.SX, barriers: Iterable[tuple[Barrier, ca.SX]], margin: ca.SX, rounding: ca.SX) -> ca.SX:
    """First function F₁ of the program curve.

    F₁ = −min_ε(−min_ε(φ₁, b_j …), b_k …), b = O − δ + (what the barrier yields), over the barriers j that are passed
    where φ₁ > 0 and the barriers k that are passed where φ₁ < 0. So F₁ = 0 is the path where b > 0 for all, else the
    boundary b = 0; F₁ → φ₁ exponentially away from barriers; and O ≥ δ on F₁ = 0 where the other side's barriers leave
    room.

    Args:
        first: φ₁ [m].
        barriers: each with the length by which it yields [m].
        margin: δ [m].
        rounding: ε [m].
    """
    right, left = [first], list[ca.SX]()
    for barrier, drawn_in in barriers:
        distance = barrier.function - margin + drawn_in
        right.append(ca.if_else(barrier.side > 0, distance, distance + NEVER * rounding))
        left.append(ca.if_else(barrier.side > 0, distance + NEVER * rounding, distance))
    return -smooth_least([-smooth_least(right, rounding), *left], rounding)
