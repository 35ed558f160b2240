"""Vector arguments: one number for each input or coordinate, or one for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import reals

Array = NDArray[np.float64]


def vector_argument(name: str, value: ArrayLike, size: int, meaning: str) -> Array:
    """Return a number for all or a vector as a read-only vector without NaN; infinities are allowed.

    Args:
        name: name of the argument, for messages.
        value: a number, or a vector of shape (size,).
        size: length of the vector.
        meaning: meaning of the entries, for messages.

    Raises:
        ModelError: for another shape, or a NaN.
    """
    try:
        numbers = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be a number or {size} of them, {meaning}, got {value!r}") from error
    if numbers.shape not in ((), (size,)) or np.isnan(numbers).any():
        raise ModelError(f"{name} must be a number or {size} of them, {meaning}, got {value!r}")
    full = np.broadcast_to(numbers, (size,)).copy()
    full.setflags(write=False)
    return full


def read_only_copy(array: ArrayLike) -> Array:
    """Return a read-only copy, for a memory.

    Args:
        array: numbers, any shape.
    """
    copied = np.array(array, dtype=np.float64)
    copied.setflags(write=False)
    return copied


def nonnegative_vector(name: str, value: ArrayLike, size: int, meaning: str) -> Array:
    """Return a vector as :func:`vector_argument`, with no entry below zero.

    Args:
        name: name of the argument, for messages.
        value: a number, or a vector of shape (size,).
        size: length of the vector.
        meaning: meaning of the entries, for messages.

    Raises:
        ModelError: for another shape, a NaN or a negative number.
    """
    numbers = vector_argument(name, value, size, meaning)
    if (numbers < 0.0).any():
        raise ModelError(f"{name} must not be negative, got {value!r}")
    return numbers


def positive_vector(name: str, value: ArrayLike, size: int, meaning: str) -> Array:
    """Return a vector as :func:`vector_argument`, with all entries greater than zero.

    Args:
        name: name of the argument, for messages.
        value: a number, or a vector of shape (size,).
        size: length of the vector.
        meaning: meaning of the entries, for messages.

    Raises:
        ModelError: for another shape, a NaN, or a number that is not positive.
    """
    numbers = vector_argument(name, value, size, meaning)
    if not (numbers > 0.0).all():
        raise ModelError(f"{name} must be greater than zero, got {value!r}")
    return numbers


def finite_vector(name: str, value: ArrayLike, size: int, meaning: str) -> Array:
    """Return a vector as :func:`vector_argument`, with all entries finite.

    Args:
        name: name of the argument, for messages.
        value: a number, or a vector of shape (size,).
        size: length of the vector.
        meaning: meaning of the entries, for messages.

    Raises:
        ModelError: for another shape, a NaN or an infinity.
    """
    numbers = vector_argument(name, value, size, meaning)
    if not np.isfinite(numbers).all():
        raise ModelError(f"{name} must be finite, got {value!r}")
    return numbers
