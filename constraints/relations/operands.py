"""Numbers and expressions as arguments of constraints: a number becomes a parameter, an expression is used as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...symbolic.errors import ModelError, ShapeError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, reals, vector

Quantity = float | ca.SX
"""A number, or a scalar expression in the robot's symbols and ``parameters``."""

SMALL = 1e-9
"""Length [m] or speed [m/s] below which a norm is smoothed, so that its derivative stays finite at zero."""


def quantity(
    label: str, key: str, value: Quantity, parameters: Parameters, limits: Range = Range.ANY
) -> tuple[ca.SX, Parameters]:
    """Return the expression of a quantity, and the given parameters with those that it adds.

    Args:
        label: name of the constraint; the parameter of a number is called ``label.key``.
        key: name of the quantity.
        value: number or scalar expression.
        parameters: parameters that expressions of the constraint use.
        limits: range of a number.

    Raises:
        ModelError: if it is neither a finite number in its range nor a scalar expression.
    """
    if isinstance(value, ca.SX):
        if value.shape != (1, 1):
            raise ModelError(f"{key} of {label!r} must be a scalar, got shape {value.shape}")
        return value, parameters
    number = finite(f"{key} of {label!r}", value)
    if not limits.allows(number):
        raise ModelError(f"{key} of {label!r} must be {limits.value}, got {value!r}")
    own = Parameters.declare({key: number}, label, ranges={key: limits})
    return own.symbols[0], Parameters.collect([own, parameters])


Column = ca.SX | ArrayLike | Sequence[ca.SX | float]
"""A column of expressions or of numbers, shape (m,); a single one for m = 1."""


def column(label: str, role: str, value: Column, sizes: tuple[int, ...] = ()) -> ca.SX:
    """Return a column of expressions; raise ModelError for anything else.

    Args:
        label: name of the constraint.
        role: description of the column for the message.
        value: expressions, or finite numbers.
        sizes: allowed numbers of rows; any if empty.
    """
    found = value if isinstance(value, ca.SX) else _join_column(f"{role} of {label!r}", value)
    if found is None or found.size2() != 1 or (sizes and found.size1() not in sizes):
        size = f"{' or '.join(map(str, sizes))} " if sizes else ""
        raise ModelError(
            f"constraint {label!r}: {role} must be a column of {size}CasADi SX expressions or numbers, got {value!r}"
        )
    return ca.densify(found)


def _join_column(name: str, value: object) -> ca.SX | None:
    """Return a number, numbers, or a list of numbers and expressions as a column; None for anything else."""
    if isinstance(value, list | tuple):
        entries = cast(Sequence[ca.SX | float], value)
        if any(isinstance(entry, ca.SX) for entry in entries):
            return ca.vertcat(*(e if isinstance(e, ca.SX) else ca.SX(finite(name, e)) for e in entries))
    if value is None or isinstance(value, str):
        return None
    try:
        numbers = reals(name, value)
    except ShapeError:
        return None
    return ca.SX(ca.DM(vector(name, np.atleast_1d(numbers), numbers.size))) if numbers.ndim < 2 else None


def smooth_norm(column: ca.SX) -> ca.SX:
    """|x| of a column, with a finite derivative at zero, off by less than 1e-9.

    Args:
        column: x, shape (n,).
    """
    return ca.sqrt(ca.sumsqr(column) + SMALL**2)
