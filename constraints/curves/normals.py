"""Orthonormal normals of a direction in n dimensions."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError


def normal_frame(tangent: ca.SX, axis: int) -> ca.SX:
    """n − 1 orthonormal columns N orthogonal to a unit vector, with det [N, tangent] > 0, smooth in the tangent.

    V₂ of [Larin1993]_ eq. (3.2) with the printed slip corrected, V₂ = [−γ*ᵀ; E − γ*γ*ᵀ/(1 + γ₀)], where γ₀ is the
    component along ``axis`` and γ* the others. It loses orthogonality as γ₀ → −1, hence :func:`best_axis`.
    In the plane it is the tangent turned by −90°, with no exception.

    Args:
        tangent: unit vector, shape (n,).
        axis: signed number ±(i + 1) of the reference axis ±e_i, far from opposite to the tangent.
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


def best_axis(name: str, tangents: NDArray[np.float64]) -> int:
    """The signed axis that stays farthest from opposite to all tangents, shape (k, n).

    Raises:
        ModelError: if in three or more dimensions the tangents come close to opposite of every axis.
    """
    if tangents.shape[1] == 2:
        return 1
    lowest = {s * (i + 1): float((s * tangents[:, i]).min()) for i in range(tangents.shape[1]) for s in (1, -1)}
    axis = max(lowest, key=lambda key: lowest[key])
    if lowest[axis] < -0.95:
        raise ModelError(f"{name!r} turns so far that no axis can orient its normals; split it into several paths")
    return axis


def tangent_of(jacobian: ca.SX) -> ca.SX:
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
