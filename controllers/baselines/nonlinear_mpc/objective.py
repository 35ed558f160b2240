"""The objective of a predictive controller: errors, inputs without cost, and weights from one rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....constraints.relations.operands import Column, column
from ....robots.robot import Robot
from ....symbolic.errors import ModelError
from ....symbolic.kernel import Kernel
from ....symbolic.linear_algebra import SemidefiniteLdl
from ....symbolic.parameters import NO_PARAMETERS, Parameters
from ....symbolic.sampling import sample_values
from ....symbolic.validation import reals
from ...reference import Reference


@dataclass(frozen=True, eq=False)
class MpcObjective:
    """y → 0, with u near u_d: expressions in a robot's t, q, v and parameters, and in further parameters.

    Attributes:
        robot: the model.
        y: errors to drive to zero, shape (m,).
        rate: dy/dt, shape (m,).
        names: names of the entries of y.
        input: u_d, the input without cost, shape (nu,).
        state: (q, v) at y = 0, shape (nq + nv,), if y determines it; otherwise empty.
        parameters: parameters other than the robot's.
    """

    robot: Robot
    y: ca.SX
    rate: ca.SX
    names: tuple[str, ...]
    input: ca.SX
    state: ca.SX
    parameters: Parameters

    @classmethod
    def follow(cls, reference: Reference) -> Self:
        """Return the objective y = q − q_d(t), with the inputs that q_d requires.

        Args:
            reference: motion to follow.
        """
        robot = reference.robot
        c = robot.coordinates
        needed = ca.substitute(
            holding_input(robot, c.a),
            ca.vertcat(c.q, c.v, c.a),
            ca.vertcat(reference.q, reference.v, reference.a),
        )
        state = ca.vertcat(reference.q, reference.v)
        names = tuple(f"error of {name}" for name in c.names)
        return cls(robot, c.q - reference.q, c.v - reference.v, names, needed, state, reference.parameters)

    @classmethod
    def reach(cls, robot: Robot, point: ca.SX, target: Column, parameters: Parameters = NO_PARAMETERS) -> Self:
        """Return the objective y = point − target(t), with the inputs that hold the robot at its position.

        Args:
            robot: the model.
            point: the point, an expression in q, shape (m,), such as ``robot.points["tip"]``.
            target: the target, expressions in t and the parameters, or numbers, shape (m,).
            parameters: parameters of the target other than the robot's.

        Raises:
            ModelError: for shapes that do not agree, or foreign symbols.
        """
        if not isinstance(robot, Robot):
            raise ModelError(f"MpcObjective.reach requires a Robot, got {type(robot).__name__}")
        x, desired = column("aim", "the point", point), column("aim", "the target", target)
        if x.numel() != desired.numel():
            raise ModelError(f"point and target must have the same length, got {x.numel()} and {desired.numel()}")
        c = robot.coordinates
        robot.require_own_symbols("point", x, parameters)
        robot.require_own_symbols("target", desired, parameters)
        if ca.depends_on(ca.vertcat(x, desired), ca.vertcat(c.v, c.a, robot.u)) or ca.depends_on(desired, c.q):
            raise ModelError("point must depend on coordinates only, target on time and parameters only")
        y = ca.densify(x - desired)
        names = tuple(f"error {i}" for i in range(y.numel()))
        holding = ca.substitute(holding_input(robot, ca.SX.zeros(c.nv)), c.v, ca.SX.zeros(c.nv))
        return cls(robot, y, ca.densify(c.rate(y)), names, holding, ca.SX(0, 1), parameters)


def holding_input(robot: Robot, acceleration: ca.SX) -> ca.SX:
    """Return u with B u + Aᵀμ = M a + h for some reactions μ, or the nearest u in the metric of accelerations.

    Args:
        robot: the model.
        acceleration: a, shape (nv,).
    """
    B = robot.input_matrix
    reach = robot.mobility(B)[0]
    return SemidefiniteLdl.of(B.T @ reach).solve(reach.T @ (robot.mass_matrix @ acceleration + robot.bias))


Array = NDArray[np.float64]

SINGULAR = 1e-6
"""Share of the largest singular value below which inputs count as without effect on a direction."""

LEAST = 1e-3
"""Least allowed input, as a share of the largest allowed input."""


def allowed_effort(aim: MpcObjective, parameters: Parameters, error: Array, rate: float, limits: Array) -> Array:
    """Return ū, shape (nu,): the inputs that accelerate each error by ω² ē, or the limits if these are less.

    It is evaluated at the start of a reference, and for other aims as the median over a few random states.

    Args:
        aim: the objective.
        parameters: all parameters.
        error: ē, shape (m,).
        rate: ω [1/s].
        limits: greatest |u|, shape (nu,).
    """
    robot, c = aim.robot, aim.robot.coordinates
    K = ca.densify(ca.jacobian(aim.y, c.q) @ c.N @ robot.mobility(robot.input_matrix)[0])
    places = _values(aim, parameters, K)
    desired = np.diag(rate**2 * error)
    each = [np.abs(np.linalg.pinv(one, rcond=SINGULAR) @ desired).max(axis=1) for one in places]
    effort = np.median(each, axis=0)
    effort = np.minimum(np.maximum(effort, LEAST * effort.max(initial=0.0)), np.where(limits > 0.0, limits, np.inf))
    if not (np.isfinite(effort).all() and (effort > 0.0).all()):
        raise ModelError(f"the inputs of {robot.name} do not affect the objective, so effort= is required")
    return np.asarray(effort, dtype=np.float64)


def needed_substeps(aim: MpcObjective, parameters: Parameters, interval: float) -> int:
    """Return the number of Runge–Kutta steps in an interval that keep |λ| h below 2 for the model's eigenvalues λ.

    They are evaluated without control, at the same states as the allowed efforts.

    Args:
        aim: the objective, with the model.
        parameters: all parameters.
        interval: length of an interval [s].
    """
    robot, c = aim.robot, aim.robot.coordinates
    x = ca.vertcat(c.q, c.v)
    free = ca.substitute(robot.acceleration, robot.u, ca.SX.zeros(robot.u.numel()))
    places = _values(aim, parameters, ca.densify(ca.jacobian(ca.vertcat(c.N @ c.v, free), x)))
    fastest = [float(np.abs(np.linalg.eigvals(one)).max()) for one in places if np.isfinite(one).all()]
    return max(1, math.ceil(interval * max(fastest, default=0.0) / 2.0))


def _values(aim: MpcObjective, parameters: Parameters, expression: ca.SX) -> list[Array]:
    """Return a matrix at the start of a reference, or at a few random states."""
    c = aim.robot.coordinates
    symbols = {"t": c.t, "q": c.q, "v": c.v}
    if not aim.state.numel():
        return [one[0].reshape(expression.shape) for one in sample_values({"value": expression}, symbols, parameters)]
    inputs, p = {"t": c.t, "p": parameters.symbols}, parameters.values()
    start = Kernel("mpc_start", inputs, {"x": aim.state}, compiled=False)(0.0, p)[0]
    value = Kernel("mpc_value", {**symbols, "p": parameters.symbols}, {"value": expression}, compiled=False)
    return [value(0.0, start[: c.nq], start[c.nq :], p)[0].reshape(expression.shape)]


def terminal_weight(matrix: ArrayLike | None, error: Array, rate: float) -> Array:
    """Return P, shape (2 m, 2 m): as given, or for the cost of errors that decay at the rate ω from the horizon on.

    Args:
        matrix: P; None for the rule.
        error: allowed values of e = (y, ẏ), shape (2 m,).
        rate: ω [1/s].

    Raises:
        ModelError: for a matrix that is not of this shape, symmetric and positive semidefinite.
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
