"""The nearest velocity that obeys a few linear inequalities and a bound on the speed, in closed form."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import casadi as ca
import numpy as np

SLACK = 1e-9


def nearest_velocity(nominal: ca.SX, normals: Sequence[ca.SX], levels: Sequence[ca.SX], bound: float) -> ca.SX:
    """Solution of min |w − w₀|² subject to aⱼ·w ≥ bⱼ and |w| ≤ V.

    The problem is strictly convex, so its solution is the nearest of those feasible points that solve it with one set
    of at most n constraints active; all sets are tried. Where no w is feasible it is :func:`calmest_velocity`.

    Args:
        nominal: w₀, shape (n,).
        normals: aⱼ, shape (n,) each, of any length but zero.
        levels: bⱼ.
        bound: V.
    """
    n = nominal.numel()
    candidates: list[tuple[ca.SX, ca.SX]] = []
    for size in range(min(n, len(normals)) + 1):
        for active in itertools.combinations(range(len(normals)), size):
            candidates += _stationary(nominal, [normals[j] for j in active], [levels[j] for j in active], bound)
    best, least = nominal, ca.SX(np.inf)
    for w, valid in candidates:
        cost = ca.sumsqr(w - nominal)
        allowed = ca.logic_and(valid, ca.sumsqr(w) <= bound**2 + SLACK)
        nearer = ca.logic_and(ca.logic_and(allowed, _margin(w, normals, levels) >= -SLACK), cost < least)
        best, least = ca.if_else(nearer, w, best), ca.if_else(nearer, cost, least)
    return ca.if_else(least < np.inf, best, calmest_velocity(normals, levels, bound)) if normals else best


def calmest_velocity(normals: Sequence[ca.SX], levels: Sequence[ca.SX], bound: float) -> ca.SX:
    """Solution of max minⱼ (aⱼ·w − bⱼ) subject to |w| ≤ V, in the same way.

    At one of its solutions k ≤ n of the rows are equal and least, and |w| = V; or n + 1 of them are.

    Args:
        normals: aⱼ, shape (n,) each; at least one.
        levels: bⱼ.
        bound: V.
    """
    n = normals[0].numel()
    calm, worst = ca.SX.zeros(n), _margin(ca.SX.zeros(n), normals, levels)
    for size in range(1, min(n + 1, len(normals)) + 1):
        for first, *others in itertools.combinations(range(len(normals)), size):
            rows = [normals[j] - normals[first] for j in others]
            sides = [levels[j] - levels[first] for j in others]
            w, valid = _stationary(normals[first], rows, sides, bound)[-1]
            margin = _margin(w, normals, levels)
            calmer = ca.logic_and(ca.logic_and(valid, ca.sumsqr(w) <= bound**2 + SLACK), margin > worst)
            calm, worst = ca.if_else(calmer, w, calm), ca.if_else(calmer, margin, worst)
    return calm


def _margin(w: ca.SX, normals: Sequence[ca.SX], levels: Sequence[ca.SX]) -> ca.SX:
    least = ca.SX(np.inf)
    for a, b in zip(normals, levels, strict=True):
        least = ca.fmin(least, ca.dot(a, w) - b)
    return least


def _stationary(
    nominal: ca.SX, normals: Sequence[ca.SX], levels: Sequence[ca.SX], bound: float
) -> list[tuple[ca.SX, ca.SX]]:
    """The nearest point with these constraints active, without and with |w| = V, each with whether it exists."""
    n, k = nominal.numel(), len(normals)
    # An orthonormal basis of the normals, by Gram and Schmidt; nᵢ·w = sᵢ are the constraints in it.
    basis: list[ca.SX] = []
    offsets: list[ca.SX] = []
    valid = ca.SX(1)
    for a, b in zip(normals, levels, strict=True):
        rest, level = a, b
        for e, s in zip(basis, offsets, strict=True):
            part = ca.dot(e, a)
            rest, level = rest - part * e, level - part * s
        size = ca.norm_2(rest)
        valid = ca.logic_and(valid, size > 1e-9)
        size = ca.fmax(size, 1e-9)
        basis.append(rest / size)
        offsets.append(level / size)
    free, base = nominal, ca.SX.zeros(n)
    for e, s in zip(basis, offsets, strict=True):
        free, base = free - ca.dot(e, nominal) * e, base + s * e
    found = [(base + free, valid)]
    if k < n:
        room, size = bound**2 - ca.sumsqr(base), ca.norm_2(free)
        there = ca.logic_and(valid, ca.logic_and(room >= 0, size > 1e-12))
        found.append((base + ca.sqrt(ca.fmax(room, 0)) * free / ca.fmax(size, 1e-12), there))
    return found
