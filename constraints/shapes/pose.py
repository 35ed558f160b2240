"""Position and orientation of a shape in any dimension, as its first parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, ShapeError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import finite, point_coordinates, reals
from ..curves.curve import PointLike, axis_names

Array = NDArray[np.float64]
Orientation = float | Sequence[float] | Sequence[Sequence[float]] | Array
"""An angle in the plane, (yaw, pitch, roll) in space, or a rotation matrix in any dimension."""

ORTHONORMAL = 1e-9


def pose_values(name: str, center: PointLike, orientation: Orientation | None) -> dict[str, float]:
    """Nominal centre and angles by name: ``x``, ``y``, …, then ``angle``, or ``yaw``, ``pitch``, ``roll`` in space.

    In n > 3 dimensions the angles are ``angle12``, ``angle13``, …, ``angle23``, …

    Args:
        name: name of the shape, for messages.
        center: shape (n,) [m].
        orientation: orientation [rad]; the axes of the space if None.

    Raises:
        ModelError: if a number is not finite, sizes do not fit, or a matrix is not a rotation matrix.
    """
    middle = point_coordinates(f"center of {name!r}", center)
    n = len(middle)
    angles = _angles(name, n, orientation)
    return dict(zip([*axis_names(n), *angle_names(n)], [*middle, *angles], strict=True))


def angle_names(n: int) -> list[str]:
    """Names of the n(n − 1)/2 angles in ``n`` dimensions."""
    if n == 2:
        return ["angle"]
    if n == 3:
        return ["yaw", "pitch", "roll"]
    return [f"angle{i + 1}{j + 1}" if n < 10 else f"angle{i + 1}_{j + 1}" for i, j in _planes(n)]


def center_of(parameters: Parameters, n: int) -> ca.SX:
    """Centre, shape (n,) [m]: the first n symbols.

    Args:
        parameters: parameters of the shape.
        n: dimension.
    """
    return ca.vertcat(*(parameters.symbols[i] for i in range(n)))


def rotation_of(parameters: Parameters, n: int) -> ca.SX:
    """Rotation R, shape (n, n), from the shape's own axes to those of the space.

    A product of rotations in the planes (1, 2), (1, 3), …, (2, 3), …: R_z(yaw) R_y(pitch) R_x(roll) for n = 3.

    Args:
        parameters: parameters of the shape; its angles follow the centre.
        n: dimension.
    """
    R = ca.SX.eye(n)
    for k, (i, j) in enumerate(_planes(n)):
        angle = parameters.symbols[n + k]
        R = ca.mtimes(R, _plane_rotation(n, i, j, -angle if n == 3 and (i, j) == (0, 2) else angle))
    return R


def to_local(parameters: Parameters, x: ca.SX) -> ca.SX:
    """A position in the shape's own axes, Rᵀ(x − c), shape (n,) [m].

    Args:
        parameters: parameters of the shape.
        x: position, shape (n,) [m].
    """
    n = x.numel()
    return ca.mtimes(rotation_of(parameters, n).T, x - center_of(parameters, n))


def _planes(n: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(n), 2))


def _plane_rotation(n: int, i: int, j: int, angle: ca.SX) -> ca.SX:
    G = ca.SX.eye(n)
    G[i, i] = G[j, j] = ca.cos(angle)
    G[i, j], G[j, i] = -ca.sin(angle), ca.sin(angle)
    return G


def _angles(name: str, n: int, orientation: Orientation | None) -> list[float]:
    count = n * (n - 1) // 2
    if orientation is None:
        return [0.0] * count
    try:
        given = reals(f"orientation of {name!r}", orientation)
    except ShapeError as error:
        raise ModelError(f"orientation of {name!r} must be numbers, got {orientation!r}") from error
    if given.ndim == 2:
        return _angles_of_matrix(name, n, given)
    numbers = [finite(f"orientation of {name!r}", float(value)) for value in given.ravel()]
    if n > 3 or len(numbers) != count or given.ndim > 1:
        expected = {2: "an angle", 3: "three angles (yaw, pitch, roll)"}.get(n, "a rotation matrix")
        raise ModelError(f"orientation of {name!r} in {n} dimensions must be {expected}, got {orientation!r}")
    return numbers


def _angles_of_matrix(name: str, n: int, matrix: Array) -> list[float]:
    """Angles of the rotations in the planes whose product is the matrix."""
    if matrix.shape != (n, n) or not np.isfinite(matrix).all():
        raise ModelError(f"orientation of {name!r} must be a finite matrix of shape ({n}, {n}), got {matrix}")
    miss = float(np.abs(matrix.T @ matrix - np.eye(n)).max())
    if miss > ORTHONORMAL or np.linalg.det(matrix) < 0.0:
        raise ModelError(
            f"orientation of {name!r} is not a rotation matrix: RᵀR differs from the identity by {miss:.3g}, "
            f"det R = {float(np.linalg.det(matrix)):.3g}"
        )
    rest = matrix.copy()
    angles: list[float] = []
    for i, j in _planes(n):
        angle = math.atan2(float(rest[j, i]), float(rest[i, i]))
        c, s = math.cos(angle), math.sin(angle)
        rest[[i, j]] = np.array([[c, s], [-s, c]]) @ rest[[i, j]]
        angles.append(-angle if n == 3 and (i, j) == (0, 2) else angle)
    return angles
