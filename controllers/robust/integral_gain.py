"""For which gains integral action is stable."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints.perturbations import Perturbation
from ...constraints.perturbations.deviation import Flow
from ...symbolic.arrays import constant_values
from ...symbolic.errors import ModelError

Array = NDArray[np.float64]


def extended(matrix: ca.SX, order: int, gain: ca.SX) -> ca.SX:
    """State matrix of a perturbation equation with −k_i ∫y dt on its right side.

    Args:
        matrix: A of the equation alone, of x = (y, ẏ) for order 0 and x = y′ for order 1.
        order: 0 or 1.
        gain: k_i.

    Returns:
        That of (x, ∫y dt).
    """
    n = matrix.size1()
    m = n // (2 - order)
    unit, none = ca.SX.eye(m), ca.SX.zeros(n - m, m)
    upper = ca.horzcat(matrix, ca.vertcat(none, -gain * unit))
    lower = ca.horzcat(unit, ca.SX.zeros(m, n - m), ca.SX.zeros(m, m))
    return ca.densify(ca.vertcat(upper, lower))


def checked_gain(label: str, equation: Perturbation, gain: float | None, *, bounded: bool) -> float:
    """k_i with which the equation is stable, the default if none is given.

    Args:
        label: of the constraint, for messages.
        equation: of order 0 or 1.
        gain: k_i; None for 4r³/27 (order 0) or r²/4 (order 1), r the decay rate of the equation without integral.
        bounded: whether the pull of the integral has a bound, without which an equation that is not linear, although
            stable near zero, may diverge from afar.

    Raises:
        ModelError: if an eigenvalue with this gain has no negative real part, the equation changes with time, or it is
            not linear and gain or bound are missing.
    """
    if gain == 0.0:
        return 0.0
    flow = Flow.of(equation)
    slope = ca.jacobian(flow.derivative, flow.state)
    if ca.depends_on(ca.vertcat(ca.vec(slope), flow.derivative), flow.time):
        raise ModelError(
            f"the perturbation equation of {label!r} changes with time, so that no eigenvalues tell whether it is "
            "stable with an integral: take one with constant gains, such as Baumgarte or FirstOrder"
        )
    if ca.depends_on(slope, flow.state) and (gain is None or not bounded):
        raise ModelError(
            f"the perturbation equation of {label!r} is not linear, and its eigenvalues promise nothing far from zero: "
            f"give both a gain={{{label!r}: …}} and a bound={{{label!r}: …}} below what its pull can be"
        )
    matrix = equation.state_matrix()
    if gain is None:
        decay = float(-np.linalg.eigvals(matrix).real.max())
        gain = 4.0 * decay**3 / 27.0 if equation.order == 0 else decay**2 / 4.0
    whole = constant_values(extended(ca.SX(ca.DM(matrix)), equation.order, ca.SX(gain)))
    assert whole is not None
    eigenvalues = np.linalg.eigvals(whole)
    if (eigenvalues.real < 0.0).all() and _routh(matrix, equation.order, gain):
        return gain
    found = np.array2string(eigenvalues, precision=6)
    if _of_one_row(matrix, equation.order):
        c, k = -float(matrix[1, 1]), -float(matrix[1, 0])
        raise ModelError(
            f"integral action on {label!r} is unstable: s³ + {c:g} s² + {k:g} s + k_i asks for 0 < k_i < {c * k:g} "
            f"(Routh), got k_i = {gain:g}, with the eigenvalues {found}. Take a smaller gain, or a faster equation"
        )
    raise ModelError(
        f"integral action on {label!r} is unstable with k_i = {gain:g}: the eigenvalues of its equation are {found}; "
        "every real part must be negative. Take a smaller gain, or a faster equation"
    )


def _of_one_row(matrix: Array, order: int) -> bool:
    return order == 0 and matrix.shape == (2, 2)


def _routh(matrix: Array, order: int, gain: float) -> bool:
    """Routh's condition where the equation has one row; true where it has more, which the eigenvalues judge."""
    return not _of_one_row(matrix, order) or bool(gain < matrix[1, 1] * matrix[1, 0])
