"""One step of the classical Runge–Kutta method, for expressions and for arrays alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def rk4_step(f: Callable[[Any, Any], Any], t: Any, x: Any, h: Any) -> Any:  # noqa: ANN401 - expressions or arrays
    """State at t + h of ẋ = f(t, x), from four stages; the local error is of order h⁵.

    Args:
        f: derivative as a function of time and state.
        t: time.
        x: state, an expression or an array.
        h: step.
    """
    k1 = f(t, x)
    k2 = f(t + h / 2, x + h / 2 * k1)
    k3 = f(t + h / 2, x + h / 2 * k2)
    k4 = f(t + h, x + h * k3)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
