"""Checks of expressions that a user's function returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi as ca

from ...symbolic.errors import ModelError


def call_given(
    name: str,
    function: Callable[[ca.SX, ca.SX, Mapping[str, ca.SX]], ca.SX],
    y: ca.SX,
    rate: ca.SX,
    gains: Mapping[str, ca.SX],
    rows: int,
) -> ca.SX:
    """What a user's function of deviations returns, shape (rows,); raises ModelError if it cannot be had.

    Args:
        name: of the function.
        function: of y, ẏ and the gains.
        y: shape (m,).
        rate: ẏ, shape (m,).
        gains: the symbols by name.
        rows: what the shape must be.
    """
    if not callable(function):
        raise ModelError(f"{name} must be a function of y, ẏ and the gains, got {function!r}")
    try:
        given = function(y, rate, gains)
    except KeyError as error:
        known = ", ".join(gains) or "none"
        raise ModelError(f"{name} asks for the gain {error}, but the values given are: {known}") from error
    return require_expression(name, given, rows)


def require_expression(name: str, given: object, rows: int) -> ca.SX:
    """``given`` as an expression of shape (rows,); raises ModelError for anything else.

    Args:
        name: of the function that returned it.
        given: an expression or a number.
        rows: what its shape must be.
    """
    if isinstance(given, int | float):
        given = ca.SX(given)
    if not isinstance(given, ca.SX):
        raise ModelError(f"{name} must return a CasADi SX expression, got {given!r}")
    if given.shape != (rows, 1):
        raise ModelError(f"{name} must return an expression of shape ({rows},), got shape {given.shape}")
    return ca.densify(given)
