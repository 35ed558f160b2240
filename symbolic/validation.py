# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
"""Validation of numbers from a user: finite float64 values and arrays of a known shape, or an error."""

from __future__ import annotations

import math
import numbers
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ModelError, NotFiniteInputError, OutOfMemoryError, ShapeError

SMALL_ARRAY = 40
TIME_RESOLUTION = 1e3
"""Number of floats that must lie between two times to distinguish them."""
SMALL_ALLOCATION = 2**26
"""Bytes below which free memory is not looked up."""
LARGEST_INTEGER = 2**63 - 1
LARGEST_COUNT = 2**53
"""Number above which float64 cannot distinguish all whole numbers."""

LONGEST_SHOWN = 200
"""Largest number of characters of a value in a message."""


_DOUBLE = np.dtype(np.float64)
_PLAIN = frozenset({float, int, np.float64})


def reals(name: str, value: Any, expected: str = "real numbers") -> NDArray[np.float64]:  # noqa: ANN401
    """Return a copy of ``value`` as an array of real numbers, of any shape; they are not checked to be finite.

    True, "2.0" and None are not numbers, though NumPy would convert them, and masked entries have no value.

    Args:
        name: name of the argument, for messages.
        value: numbers: an array, nested sequences of numbers, a number, or a DM.
        expected: description of the allowed values, for messages.

    Raises:
        ShapeError: for anything else.
    """
    kind = type(value)
    if kind is np.ndarray:
        # The usual argument first: checking for others costs more than the copy.
        if value.dtype is _DOUBLE:
            return cast(NDArray[np.float64], value).copy()
    elif kind is list or kind is tuple:
        if _PLAIN.issuperset(map(type, value)):
            try:
                return np.array(value, dtype=np.float64)
            except OverflowError as error:
                raise ShapeError(
                    f"{name} must be {expected} that a float can hold, got {format_value(value)}"
                ) from error
    elif isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ShapeError(f"{name} must be {expected}, but entries of it are masked; fill them, or leave them out")
    if isinstance(value, ca.SX | ca.MX):
        raise ShapeError(f"{name} must be {expected}, got the expression {format_value(value)}")
    if foreign := _foreign(value):
        raise ShapeError(f"{name} must be {expected}, got {format_value(value)}, with {foreign[0]!r}")
    try:
        if isinstance(value, list | tuple) and not all(isinstance(part, list | tuple | np.ndarray) for part in value):
            # Scalars of several types, such as those of CasADi, which NumPy would take for matrices.
            return np.array([_number(part) for part in value], dtype=np.float64)
        array = np.asarray(dense_values(value) if isinstance(value, ca.DM) else value)
        if array.dtype.kind not in "fiu":
            raise TypeError(f"of type {array.dtype}")
        return np.array(array, dtype=np.float64, subok=False)
    except (TypeError, ValueError, OverflowError, RuntimeError, NotImplementedError) as error:
        raise ShapeError(f"{name} must be {expected}, got {format_value(value)}") from error


def finite_time(name: str, value: object) -> float:
    """Return ``value`` as a finite float; raise ShapeError, as :func:`vector` does for the arguments beside it.

    Args:
        name: name of the argument, for messages.
        value: a time [s].
    """
    if type(value) is float and math.isfinite(value):
        return value
    try:
        found = _number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ShapeError(f"{name} must be a number, got {format_value(value)}") from error
    if not math.isfinite(found):
        raise NotFiniteInputError(f"{name} must be finite, got {value!r}")
    return found


def _foreign(value: Any) -> list[object]:  # noqa: ANN401
    """Booleans and texts in nested sequences, which NumPy would convert to numbers."""
    if isinstance(value, bool | np.bool_ | str | bytes | None):
        return [value]
    if isinstance(value, list | tuple):
        return [entry for part in value for entry in _foreign(part)]
    return []


def format_value(value: object) -> str:
    """Text of a value for a message: its ``repr``, cut to a readable length.

    Args:
        value: the value.
    """
    try:
        text = repr(value)
    except Exception:  # a foreign __repr__ may raise anything, and must not replace the error that the text is for
        text = f"an object of type {type(value).__name__}"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def vector(name: str, value: ArrayLike, length: int, *, finite: bool = True) -> NDArray[np.float64]:
    """Return a copy of ``value`` as a vector of shape (length,); raise ShapeError with the offending numbers.

    If ``finite`` is true and they are NaN or infinite it is a NotFiniteInputError, which is a ShapeError and a
    NotFiniteError.
    """
    # The usual argument first, without a call or a text for it: control ticks pass through here.
    if type(value) is np.ndarray and value.dtype is _DOUBLE:
        array = value.copy()
    else:
        array = reals(name, value, f"numbers of shape ({length},)")
    if array.shape != (length,):
        raise ShapeError(f"{name} must have shape ({length},), got shape {array.shape}")
    if finite and not all_finite(array):
        index = int(np.flatnonzero(~np.isfinite(array))[0])
        raise NotFiniteInputError(f"{name} must be finite, but {name}[{index}] is {array[index]}")
    return array


def vector_argument(
    name: str,
    value: ArrayLike,
    size: int,
    meaning: str,
    *,
    infinite: bool = True,
    sign: Literal["any", "nonnegative", "positive"] = "any",
) -> NDArray[np.float64]:
    """Return a number for all or a vector as a read-only vector without NaN.

    Args:
        name: name of the argument, for messages.
        value: a number, or a vector of shape (size,).
        size: length of the vector.
        meaning: meaning of the entries, for messages.
        infinite: False to refuse infinite entries.
        sign: sign that all entries must have.

    Raises:
        ModelError: for another shape, a NaN, an infinity or a sign that is not allowed.
    """
    expected = f"{name} must be a number or {size} of them, {meaning}, got {value!r}"
    try:
        numbers = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ModelError(expected) from error
    if numbers.shape not in ((), (size,)) or np.isnan(numbers).any():
        raise ModelError(expected)
    if not infinite and not np.isfinite(numbers).all():
        raise ModelError(f"{name} must be finite, got {value!r}")
    if sign == "nonnegative" and (numbers < 0.0).any():
        raise ModelError(f"{name} must not be negative, got {value!r}")
    if sign == "positive" and not (numbers > 0.0).all():
        raise ModelError(f"{name} must be greater than zero, got {value!r}")
    return read_only_copy(np.broadcast_to(numbers, (size,)))


def read_only_copy(array: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only copy, of the same shape.

    Args:
        array: numbers, any shape.
    """
    copied = np.array(array, dtype=np.float64)
    copied.setflags(write=False)
    return copied


def dense_values(value: ArrayLike | ca.DM) -> ArrayLike:
    """Return a CasADi matrix of numbers as an array, a column or row as a vector; anything else as it is."""
    if not isinstance(value, ca.DM):
        return value
    full = value.full()
    return full.ravel() if 1 in full.shape else full


def all_finite(array: NDArray[np.float64]) -> bool:
    """True if every entry is a finite number.

    Args:
        array: array of any shape.
    """
    # For the few numbers of a state Python is several times faster than NumPy.
    if array.size <= SMALL_ARRAY:
        return all(map(math.isfinite, array.ravel().tolist()))
    return bool(np.isfinite(array).all())


def positive(name: str, value: float) -> float:
    """Return ``value`` as a float; raise ModelError unless it is finite and greater than zero."""
    number = finite(name, value)
    if number <= 0.0:
        raise ModelError(f"{name} must be greater than zero, got {value!r}")
    return number


def not_negative(name: str, value: float) -> float:
    """Return ``value`` as a float; raise ModelError unless it is finite and at least zero."""
    number = finite(name, value)
    if number < 0.0:
        raise ModelError(f"{name} must not be negative, got {value!r}")
    return number


def finite(name: str, value: float) -> float:
    """Return ``value`` as a float; raise ModelError unless it is a finite real number."""
    try:
        number = _number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name} must be a number, got {format_value(value)}") from error
    if not math.isfinite(number):
        raise ModelError(f"{name} must be finite, got {value!r}")
    return number


def whole(name: str, value: float, least: int = 1, most: int = LARGEST_INTEGER, advice: str = "") -> int:
    """Return ``value`` as an int; raise ModelError unless it is a whole number within bounds.

    Args:
        name: name of the argument, for messages.
        value: a number.
        least: smallest value that is allowed.
        most: largest value that is allowed, which bounds what is built or repeated.
        advice: remedy for a value that is too large.
    """
    try:
        number = _number(value)
    except OverflowError:
        number = sys.float_info.max if value > 0 else -sys.float_info.max
    except (TypeError, ValueError):
        number = math.nan
    if not number.is_integer() or number < least:
        raise ModelError(f"{name} must be a whole number of at least {least}, got {format_value(value)}")
    if number > most:
        raise ModelError(
            f"{name} must be a whole number of at most {most:,}, got {format_value(value)}{': ' * bool(advice)}{advice}"
        )
    return int(value)


def require_distinct_times(start: float, duration: float, step: float) -> None:
    """Raise ModelError unless times that are a step apart, from ``start`` on, differ by it to a thousandth.

    Args:
        start: start [s].
        duration: duration [s].
        step: step [s]; the duration if that is shorter.
    """
    end, step = start + duration, min(step, duration)
    apart = math.ulp(max(abs(start), abs(end)))
    # The end of a single step may be exactly representable, however coarse the numbers are there.
    if not (step > TIME_RESOLUTION * apart or (step == duration and end - start == duration)):
        raise ModelError(
            f"around t = {end:g} s numbers are {apart:.2g} s apart, too coarse for a step of {step:g} s: start nearer "
            f"to t = 0, or use a step of more than {TIME_RESOLUTION * apart:.2g} s"
        )


def _number(value: Any) -> float:  # noqa: ANN401
    """Return a real number of Python, NumPy or CasADi as a float; raise TypeError, ValueError or OverflowError else."""
    kind = type(value)
    if kind is float or kind is np.float64 or kind is int:
        return float(value)
    # float() converts True to 1 and reads texts.
    if isinstance(value, ca.DM | ca.SX):
        if value.shape != (1, 1):
            raise TypeError(f"of shape {value.shape}")
        try:
            return float(value)
        except RuntimeError as error:
            raise TypeError("a symbolic expression") from error
    if isinstance(value, np.ndarray):
        if value.ndim or value.dtype.kind not in "fiu" or np.ma.is_masked(value):
            raise TypeError(f"an array of shape {value.shape}")
        return float(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"of type {type(value).__name__}")
    return float(value)


def real_number(name: str, value: object) -> float:
    """Return ``value`` as a float, which may be infinite; raise ModelError unless it is a real number."""
    try:
        found = _number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name} must be a number, got {format_value(value)}") from error
    if found != found:
        raise ModelError(f"{name} must be a number, got NaN")
    return found


def point_coordinates(name: str, value: Sequence[float] | NDArray[np.float64]) -> tuple[float, ...]:
    """Return ``value`` as a point of at least two finite coordinates; raise ModelError otherwise."""
    try:
        coordinates = tuple(finite(f"{name}[{i}]", x) for i, x in enumerate(cast(Sequence[float], dense_values(value))))
    except TypeError as error:
        raise ModelError(f"{name} must be a sequence of coordinates, got {format_value(value)}") from error
    if len(coordinates) < 2:
        raise ModelError(f"{name} must have at least two coordinates, got {format_value(value)}")
    return coordinates


def constant_values(expression: ca.SX) -> NDArray[np.float64] | None:
    """Numbers of an expression without symbols, shape (r, c); None if it has symbols."""
    if not expression.is_constant():
        return None
    dense = ca.densify(expression)
    rows, columns = dense.shape
    return np.array([float(dense[i, j]) for i in range(rows) for j in range(columns)]).reshape(rows, columns)


def step_count(duration: float, step: float) -> int:
    """Number of equal steps, each at most ``step`` long except for rounding, that make up ``duration``; at least 1.

    Args:
        duration: duration [s].
        step: largest step [s].

    Raises:
        ModelError: if a number is not finite and positive, or there are more steps than float64 can count.
    """
    ratio = positive("duration", duration) / positive("step", step)
    if ratio > LARGEST_COUNT:
        raise ModelError(
            f"a duration of {duration:g} s has {ratio:.3g} steps of {step:g} s, more than float64 can count: use a "
            "larger step or a shorter duration"
        )
    return max(1, math.ceil(ratio - 1e-9))


@contextmanager
def require_memory(numbers: float, description: str, advice: str) -> Generator[None]:
    """Refuse an allocation that does not fit into free memory, before it is made.

    Arrays larger than the free memory can often be allocated, and the process is killed when they are filled.

    Args:
        numbers: number of float64 that are allocated inside.
        description: name of the numbers, for the message, such as "1,000,001 samples".
        advice: remedy, such as "take a larger step".

    Raises:
        OutOfMemoryError: if they do not fit, or if a MemoryError is raised inside.
    """
    size = 8.0 * numbers
    free = free_memory() if size > SMALL_ALLOCATION else math.inf
    if size > free:
        sizes = f"{size / 1e9:.3g} GB of memory are needed and {free / 1e9:.3g} GB are free"
        raise OutOfMemoryError(f"no room for {description}: {sizes}; {advice}")
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError(
            f"no room for {description}: {size / 1e9:.3g} GB of memory are needed; {advice}"
        ) from error


def free_memory() -> float:
    """Bytes that this process may still use, within its control group; infinite if the system does not report them."""
    free = math.inf
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                free = 1024.0 * float(line.split()[1])
    except OSError:
        names = os.sysconf_names
        if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
            free = float(os.sysconf("SC_PHYS_PAGES")) * float(os.sysconf("SC_PAGE_SIZE"))
    # Of the second and of the first version of control groups.
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            most, now = (float(Path(folder, name).read_text(encoding="ascii")) for name in (limit, used))
            statistics = Path(folder, "memory.stat").read_text(encoding="ascii").split()
        except (OSError, ValueError):
            # There is no control group, or its limit is "max".
            continue
        # Cached files can be evicted.
        cached = float(dict(zip(statistics[::2], statistics[1::2], strict=True)).get("inactive_file", 0))
        free = min(free, max(0.0, most - now + cached))
    return free


def require_finite_constants(owner: str, expressions: Mapping[str, ca.SX]) -> None:
    """Raise ModelError if an expression contains NaN or infinity.

    Args:
        owner: owner of the expressions, for the message.
        expressions: expressions by name.
    """
    for name, expression in expressions.items():
        function = ca.Function("constants", ca.symvar(expression), [ca.densify(expression)])
        for k in range(function.n_instructions()):
            if function.instruction_id(k) == ca.OP_CONST:
                number = float(function.instruction_constant(k))
                if not math.isfinite(number):
                    raise ModelError(f"{owner}: {name} contains {number}: all numbers in it must be finite")
