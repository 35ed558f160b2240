"""The largest of several expressions, differentiable as one of them."""

from __future__ import annotations

import casadi as ca


def greatest(values: ca.SX) -> ca.SX:
    """The largest entry of a column.

    Where several are largest its derivative is that of the first, not the mean of two that ``fmax`` has there.

    Args:
        values: shape (k,), k ≥ 1.
    """
    first, *others = ca.vertsplit(values)
    for value in others:
        first = ca.if_else(value > first, value, first)
    return first
