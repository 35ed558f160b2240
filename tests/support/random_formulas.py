"""Coordinates under test, and random formulas in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from erugin.symbolic import Coordinates, Kernel

Expression = Callable[[Coordinates], ca.SX]
Formula = Callable[[Any, Any, Sequence[Any], Sequence[Any]], Any]
"""From a module with sin, cos, …, the time, coordinates and velocities to an expression of that module."""


def plain(n: int) -> Coordinates:
    """q̇ = v."""
    return Coordinates.of(ca.SX.sym("q", n), ca.SX.sym("v", n))


def unicycle() -> Coordinates:
    """q = (x, y, θ), v = (speed, turn rate)."""
    q, v, a = ca.SX.sym("q", 3), ca.SX.sym("v", 2), ca.SX.sym("a", 2)
    N = ca.vertcat(ca.horzcat(ca.cos(q[2]), 0), ca.horzcat(ca.sin(q[2]), 0), ca.horzcat(0, 1))
    return Coordinates(ca.SX.sym("t"), q, v, a, N, ("x", "y", "theta"), ("m", "m", "rad"))


def unicycle_rate(m: Any, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:  # noqa: ANN401
    """q̇ of the unicycle, for SymPy."""
    return [m.cos(q[2]) * v[0], m.sin(q[2]) * v[0], v[1]]


def elements(column: ca.SX) -> list[ca.SX]:
    """The entries of a column."""
    return [column[i] for i in range(column.numel())]


def random_formula(rng: np.random.Generator, depth: int) -> Formula:
    """A smooth expression in time, coordinates and velocities, bounded near the origin."""
    kind = int(rng.integers(0, 7 if depth else 3))
    if kind == 0:
        number = float(rng.normal())
        return lambda m, t, q, v: number * t
    if kind <= 2:
        index = int(rng.integers(0, 100))
        return lambda m, t, q, v: (q if kind == 1 else v)[index % len(q if kind == 1 else v)]
    left, right = random_formula(rng, depth - 1), random_formula(rng, depth - 1)
    if kind == 3:
        return lambda m, t, q, v: left(m, t, q, v) + right(m, t, q, v)
    if kind == 4:
        return lambda m, t, q, v: left(m, t, q, v) * right(m, t, q, v)
    if kind == 5:
        return lambda m, t, q, v: m.sin(left(m, t, q, v)) - m.cos(right(m, t, q, v)) / 3
    return lambda m, t, q, v: left(m, t, q, v) / m.sqrt(2 + right(m, t, q, v) ** 2)


def evaluator(c: Coordinates, expression: ca.SX) -> Kernel:
    """t, q, v, a → the expression."""
    return Kernel("value", {"t": c.t, "q": c.q, "v": c.v, "a": c.a}, {"value": expression}, compiled=False)
