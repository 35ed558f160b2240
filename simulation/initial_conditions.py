"""Initial states and parameters of runs, with and without a batch axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..robots.robot import Robot
from ..symbolic.errors import ModelError, NotFiniteInputError, ParameterError, ShapeError, unknown_name
from ..symbolic.parameters import Parameters, Range
from ..symbolic.validation import dense_values, reals, require_memory, vector

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None
"""Parameters: a mapping from names that overrides nominal values, or the whole vector."""
BatchValues = Mapping[str, ArrayLike] | ArrayLike | None

FARTHEST = 1e15
"""Largest coordinate: beyond it the spacing of floating-point numbers exceeds 0.1."""


@dataclass(frozen=True, eq=False)
class InitialConditions:
    """States and parameters, one row per lane.

    Attributes:
        x: state (q, v) at the start, shape (lanes, nq + nv).
        numbers: parameters of the plant, then of the controller, shape (lanes, np).
        batch: True if any argument had a batch axis.
    """

    x: Array
    numbers: Array
    batch: bool

    @classmethod
    def of(
        cls, robot: Robot, law: Parameters, q0: ArrayLike, v0: ArrayLike, p: BatchValues, controller_p: BatchValues
    ) -> InitialConditions:
        """Join the arguments; one without a batch axis is the same in all lanes.

        Args:
            robot: the plant.
            law: parameters of the controller.
            q0: coordinates, shape (nq,) or (batch, nq).
            v0: velocities, shape (nv,) or (batch, nv).
            p: the plant's parameters: nominal, overridden by name with numbers or arrays of shape (batch,), or the
                whole vector, shape (np,) or (batch, np).
            controller_p: the controller's parameters, likewise.

        Raises:
            ModelError: for more lanes than fit into memory.
            ShapeError: for wrong shapes, and for numbers that are not finite.
            ParameterError: for an unknown name, a parameter without a value, or a value out of its range.
        """
        require_own_names(robot, law, p)
        c, requested = robot.coordinates, _lanes(q0, v0, p, controller_p)
        size = 2.0 * requested * (c.nq + c.nv + len(robot.parameters) + len(law))
        with require_memory(size, f"the starts and parameters of {requested:,} lanes", "take fewer lanes"):
            parts = {"q0": _rows("q0", q0, c.nq), "v0": _rows("v0", v0, c.nv)}
            parts |= {
                "p": _values("p", robot.parameters, p),
                "controller_p": _values("controller_p", law, controller_p),
            }
            sizes = {name: len(part) for name, part in parts.items() if part.ndim == 2}
            lanes = max(sizes.values(), default=1)
            if len(set(sizes.values())) > 1:
                sizes_text = ", ".join(f"{name} has {size}" for name, size in sizes.items())
                raise ShapeError(f"arguments with a batch axis must have the same number of lanes, but {sizes_text}")
            require_near_zero(parts["q0"])
            q, v, own, other = (np.broadcast_to(part, (lanes, part.shape[-1])) for part in parts.values())
            return cls(np.concatenate([q, v], axis=1), np.concatenate([own, other], axis=1), bool(sizes))


def require_near_zero(q0: Array) -> None:
    """Raise ModelError for coordinates so large that rounding leaves no accurate digits.

    Args:
        q0: coordinates at the start, any shape.

    Raises:
        ModelError: for a magnitude beyond FARTHEST.
    """
    most = float(np.abs(q0).max(initial=0.0))
    if most > FARTHEST:
        raise ModelError(
            f"q0 has a magnitude of {most:.3g}, where floating-point numbers are {np.spacing(most):.2g} apart: start "
            f"within {FARTHEST:g} of zero, count angles modulo 2π, or choose another origin or unit"
        )


def _lanes(*given: object) -> int:
    """Number of lanes of the arrays among these arguments, or in mappings among them; at least 1."""
    shapes = [_shape(value) for value in given]
    mappings = [cast(Mapping[str, object], value) for value in given if isinstance(value, Mapping)]
    columns = [_shape(x) for values in mappings for x in values.values()]
    sizes = [s[0] for s in shapes if len(s) == 2] + [s[0] for s in columns if len(s) == 1]
    return max([1, *sizes])


def _shape(value: object) -> tuple[int, ...]:
    return cast(Array, value).shape if isinstance(value, np.ndarray) else ()


def require_own_names(robot: Robot, law: Parameters, p: BatchValues) -> None:
    """Raise ParameterError for a plant's parameter that belongs to the controller.

    Args:
        robot: the plant.
        law: parameters of the controller.
        p: the plant's parameters, as passed by the user.
    """
    for name in p if isinstance(p, Mapping) else ():
        if name not in robot.parameters.names and name in law.names:
            raise ParameterError(
                f"{name!r} is a parameter of the controller, not of the plant: pass it in controller_p="
            )


def _rows(name: str, value: ArrayLike, length: int) -> Array:
    """A vector of shape (length,), or rows of shape (batch, length), of finite numbers."""
    try:
        array = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be numbers of shape {_shapes(length)}, got {value!r}") from error
    if array.shape == (length,):
        return vector(name, array, length)
    if array.ndim != 2 or array.shape[1] != length or len(array) == 0:
        raise ShapeError(f"{name} must have shape {_shapes(length)}, got shape {array.shape}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        lane, i = bad[0].tolist()
        raise NotFiniteInputError(f"{name} must be finite, but {name}[{lane}, {i}] is {array[lane, i]}, in lane {lane}")
    return array


def _shapes(length: int) -> str:
    return f"({length},) or (batch, {length})"


def _values(argument: str, parameters: Parameters, given: BatchValues) -> Array:
    """Values of all parameters, shape (np,), or (batch, np) if any is given with a batch axis."""
    if given is None:
        return parameters.values()
    if not isinstance(given, Mapping):
        rows = _rows(argument, given, len(parameters))
        if rows.ndim == 1:
            return parameters.values(rows)
        for i, name in enumerate(parameters.names):
            _require(parameters, name, rows[:, i])
        return rows
    columns: dict[str, Array] = {}
    for name, value in given.items():
        if _has_axis(value):
            if name not in parameters.names:
                raise ParameterError(unknown_name("parameter", name, parameters.names))
            columns[name] = _column(argument, name, value)
            _require(parameters, name, columns[name])
    single = parameters.values({n: float(columns[n][0]) if n in columns else cast(float, x) for n, x in given.items()})
    if not columns:
        return single
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ShapeError(
            f"values in {argument} must have the same number of lanes, but their numbers of lanes are {sizes}"
        )
    rows = np.tile(single, (next(iter(sizes.values())), 1))
    for name, column in columns.items():
        rows[:, parameters.names.index(name)] = column
    return rows


def _has_axis(value: ArrayLike) -> bool:
    # NumPy treats every matrix of CasADi as two-dimensional.
    if isinstance(value, ca.SX | ca.DM | ca.MX):
        return not value.is_scalar()
    try:
        return np.ndim(dense_values(value)) > 0
    except ValueError:
        # Rows of different lengths.
        return True


def _column(argument: str, name: str, value: ArrayLike) -> Array:
    allowed = f"parameter {name!r} must be a number, or numbers of shape (batch,)"
    try:
        column = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{allowed}, got {value!r}") from error
    if column.ndim != 1:
        raise ParameterError(f"{allowed}, got shape {column.shape}")
    if len(column) == 0:
        raise ShapeError(f"{argument}[{name!r}] has no lanes")
    return column


def _require(parameters: Parameters, name: str, column: Array) -> None:
    """Raise ParameterError, naming the lane, for a value that is not finite or out of its range."""
    allowed = parameters.ranges.get(name, Range.ANY)
    bad = ~np.isfinite(column)
    if allowed is not Range.ANY:
        values, places = np.unique(column, return_inverse=True)
        bad |= np.array([not allowed.allows(value) for value in values.tolist()])[places]
    if bad.any():
        lane = int(np.argmax(bad))
        raise ParameterError(f"parameter {name!r} must be {allowed.value}, got {column[lane]} in lane {lane}")
