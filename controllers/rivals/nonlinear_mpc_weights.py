"""Weights of a predictive controller from one rate."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.arrays import reals
from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.samples import samples
from .nonlinear_mpc_aim import Aim

Array = NDArray[np.float64]

SINGULAR = 1e-6
"""Share of the largest below which a direction is not counted as one that inputs move."""

LEAST = 1e-3
"""Of the largest allowed input: what any other is allowed at least."""


def allowed_effort(aim: Aim, parameters: Parameters, error: Array, rate: float, limits: Array) -> Array:
    """ū: what gives the errors, one at a time, an acceleration of ω² ē, and the limit if that is less, shape (nu,).

    It is looked at where a reference starts, and for other aims in a few places at random, of which the median is
    taken.

    Args:
        aim: what is to vanish.
        parameters: all of them.
        error: ē, shape (m,).
        rate: ω [1/s].
        limits: greatest |u|, shape (nu,).
    """
    robot, c = aim.robot, aim.robot.coordinates
    K = ca.densify(ca.jacobian(aim.y, c.q) @ c.N @ robot.mobility(robot.input_matrix)[0])
    places = _values(aim, parameters, K)
    wanted = np.diag(rate**2 * error)
    each = [np.abs(np.linalg.pinv(one, rcond=SINGULAR) @ wanted).max(axis=1) for one in places]
    effort = np.median(each, axis=0)
    effort = np.minimum(np.maximum(effort, LEAST * effort.max(initial=0.0)), np.where(limits > 0.0, limits, np.inf))
    if not (np.isfinite(effort).all() and (effort > 0.0).all()):
        raise ModelError(f"the inputs of {robot.name} do not move what is to vanish: give effort=, got {effort}")
    return np.asarray(effort, dtype=np.float64)


def needed_substeps(aim: Aim, parameters: Parameters, interval: float) -> int:
    """Runge–Kutta steps in an interval that keep |λ| h below 2 for the eigenvalues λ of the model without control.

    They are looked at where the allowed efforts are.

    Args:
        aim: has the model.
        parameters: all of them.
        interval: [s].
    """
    robot, c = aim.robot, aim.robot.coordinates
    x = ca.vertcat(c.q, c.v)
    free = ca.substitute(robot.acceleration, robot.u, ca.SX.zeros(robot.u.numel()))
    places = _values(aim, parameters, ca.densify(ca.jacobian(ca.vertcat(c.N @ c.v, free), x)))
    fastest = [float(np.abs(np.linalg.eigvals(one)).max()) for one in places if np.isfinite(one).all()]
    return max(1, math.ceil(interval * max(fastest, default=0.0) / 2.0))


def _values(aim: Aim, parameters: Parameters, expression: ca.SX) -> list[Array]:
    """A matrix where a reference starts, or in a few places at random."""
    c = aim.robot.coordinates
    symbols = {"t": c.t, "q": c.q, "v": c.v}
    if not aim.state.numel():
        return [one[0].reshape(expression.shape) for one in samples({"value": expression}, symbols, parameters)]
    inputs, p = {"t": c.t, "p": parameters.symbols}, parameters.values()
    start = Kernel("mpc_start", inputs, {"x": aim.state}, compiled=False)(0.0, p)[0]
    value = Kernel("mpc_value", {**symbols, "p": parameters.symbols}, {"value": expression}, compiled=False)
    return [value(0.0, start[: c.nq], start[c.nq :], p)[0].reshape(expression.shape)]


def terminal_weight(matrix: ArrayLike | None, error: Array, rate: float) -> Array:
    """P, shape (2 m, 2 m): as given, or the cost of errors that decay at the rate ω from the horizon on.

    Args:
        matrix: P; None for the rule.
        error: what e = (y, ẏ) is allowed, shape (2 m,).
        rate: ω [1/s].

    Raises:
        ModelError: for a matrix of another shape, not symmetric, or negative somewhere.
    """
    if matrix is None:
        return np.diag(error**-2.0) / (2.0 * rate)
    size = len(error)
    try:
        P = reals("matrix", matrix)
    except (TypeError, ValueError) as raised:
        raise ModelError(f"terminal must be a symmetric matrix ({size}, {size}), got {matrix!r}") from raised
    good = P.shape == (size, size) and bool(np.isfinite(P).all()) and np.allclose(P, P.T)
    if not good or float(np.linalg.eigvalsh(P).min()) < -1e-9 * float(np.abs(P).max()):
        raise ModelError(f"terminal must be a symmetric matrix ({size}, {size}), not negative, got {P}")
    return P
