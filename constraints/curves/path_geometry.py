"""Geometry of paths in n dimensions: the foot of a perpendicular, the tangent and an orthonormal normal frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError

CONSTANT_STEPS, DIFFERENTIATED_STEPS = 2, 3
"""Newton steps that are not differentiated, and those that are."""
GRID = 2.0**-20
"""Grid to which the parameter is rounded between the two, as a share of the path."""

Derivatives = Callable[[ca.SX], tuple[ca.SX, ca.SX, ca.SX]]
"""Parameter s → c(s), c′(s), c″(s), each of shape (n,)."""


def foot_of_perpendicular(
    x: ca.SX, samples: Sequence[tuple[float, ca.SX]], path: Derivatives
) -> tuple[ca.SX, tuple[ca.SX, ca.SX, ca.SX]]:
    """Return the parameter of the foot of the perpendicular, and c, c′, c″ there.

    Newton's method on (x − c(s))·c′(s) = 0 starts at the nearest of some fixed samples. Each step squares the error,
    which ends at rounding error. From a constant start, k steps also have the derivatives of the foot up to order
    2ᵏ − 1, so that the last three steps serve up to the seventh. The first two end at a start that is rounded to a grid
    and therefore constant: differentiating them would only cost time.

    Args:
        x: position, shape (n,) [m].
        samples: parameters with the points of the path there, shape (n,) each.
        path: function that returns c, c′ and c″ at a parameter.
    """
    first = samples[0]
    s, nearest = ca.SX(first[0]), ca.sumsqr(x - first[1])
    for parameter, position in samples[1:]:
        distance = ca.sumsqr(x - position)
        s = ca.if_else(distance < nearest, parameter, s)
        nearest = ca.fmin(distance, nearest)
    grid = GRID * 2.0 ** math.floor(math.log2(samples[-1][0] - first[0]))
    for step in range(CONSTANT_STEPS + DIFFERENTIATED_STEPS):
        if step == CONSTANT_STEPS:
            s = grid * ca.floor(s / grid)
        position, slope, bend = path(s)
        square = ca.sumsqr(slope)
        # The denominator falls to zero towards the centre of curvature, beyond which the foot is not unique; a tenth of
        # |c′|² keeps the step finite.
        s = s + ca.dot(x - position, slope) / ca.fmax(square - ca.dot(x - position, bend), 0.1 * square)
    return s, path(s)


def normal_frame(tangent: ca.SX, axis: int) -> ca.SX:
    """n − 1 orthonormal columns N orthogonal to a unit vector, with det [N, tangent] > 0, smooth in the tangent.

    V₂ of [Larin1993]_ eq. (3.2) with the printed slip corrected, V₂ = [−γ*ᵀ; E − γ*γ*ᵀ/(1 + γ₀)], where γ₀ is the
    component along ``axis`` and γ* the others. It loses orthogonality as γ₀ → −1, hence :func:`reference_axis`.
    In the plane it is the tangent turned by −90°, without exception.

    Args:
        tangent: unit vector, shape (n,).
        axis: signed number ±(i + 1) of the reference axis ±e_i, far from being opposite to the tangent.
    """
    n = tangent.numel()
    if n == 2:
        return ca.vertcat(tangent[1], -tangent[0])
    sign, first = (1, axis - 1) if axis > 0 else (-1, -axis - 1)
    order = [first, *(i for i in range(n) if i != first)]
    gamma = [sign * tangent[i] for i in order]
    rest = ca.vertcat(*gamma[1:])
    frame = ca.SX.zeros(n, n - 1)
    block = ca.vertcat(-rest.T, ca.SX.eye(n - 1) - rest @ rest.T / (1 + gamma[0]))
    for row, i in enumerate(order):
        frame[i, :] = block[row, :]
    # det [tangent, N]: +1 for the rotation itself, times the parity of the reordering and of the flipped tangent.
    if sign * (-1) ** first * (-1) ** (n - 1) < 0:
        frame[:, 0] = -frame[:, 0]
    return frame


def reference_axis(name: str, tangents: NDArray[np.float64]) -> int:
    """Signed axis that is farthest from being opposite to any of the tangents, shape (k, n).

    Raises:
        ModelError: if in three or more dimensions some tangent is close to opposite to every axis.
    """
    if tangents.shape[1] == 2:
        return 1
    lowest = {s * (i + 1): float((s * tangents[:, i]).min()) for i in range(tangents.shape[1]) for s in (1, -1)}
    axis = max(lowest, key=lambda key: lowest[key])
    if lowest[axis] < -0.95:
        raise ModelError(f"{name!r} turns so far that no axis can orient its normals; split it into several paths")
    return axis


def path_tangent(jacobian: ca.SX) -> ca.SX:
    """Vector t with ∂f/∂x t = 0 and |t|² = det(∂f/∂x ∂f/∂xᵀ): the gradients' generalized cross product.

    For n = 2 it is ∇f turned by +90°, for n = 3 it is ∇f₁ × ∇f₂.

    Args:
        jacobian: ∂f/∂x, shape (n − 1, n).
    """
    n = jacobian.size2()
    if n == 2:
        return ca.vertcat(-jacobian[0, 1], jacobian[0, 0])
    components: list[ca.SX] = []
    for i in range(n):
        minor = ca.horzcat(*(jacobian[:, j] for j in range(n) if j != i))
        components.append((-1) ** (i + n - 1) * ca.det(minor))
    return ca.vertcat(*components)
