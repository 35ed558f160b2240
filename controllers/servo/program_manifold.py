"""The manifold of states on which a servo-program holds, and the closed-loop motion on it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.least_squares import gauss_newton
from ...robots.robot import Robot
from ...symbolic.errors import NotConvergedError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters

Array = NDArray[np.float64]

ACCEPTED = 1e-9
"""Residual allowed in an equation, as a share of its terms."""


@dataclass(frozen=True, eq=False)
class Feedforward:
    """A state on a program, and the inputs that keep it there.

    Attributes:
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        input: u, shape (nu,).
        residual: largest remaining deviation, or derivative of one.
    """

    q: Array
    v: Array
    input: Array
    residual: float

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.q, self.v, self.input):
            array.setflags(write=False)


class ProgramManifold:
    """The closed loop of a servo-program as numbers: ẋ = F(t, x), and the errors that vanish on the program.

    Attributes:
        robot: the model.
        parameters: parameters of the robot and of the constraints, without gains.
        q: coordinates near which the law works, shape (nq,).
        v: velocities near which the law works, shape (nv,).
    """

    def __init__(
        self,
        robot: Robot,
        parameters: Parameters,
        place: tuple[Array, Array],
        law: ca.SX,
        errors: ca.SX,
        natural: ca.SX,
    ) -> None:
        """Store the expressions, which are compiled when they are first used.

        Args:
            robot: the model.
            parameters: parameters of the robot and of the constraints.
            place: q and v near which the law works.
            law: u in t, q, v and the parameters.
            errors: y, ẏ, … of all rows, in t, q, v and the parameters.
            natural: residuals of the natural constraints at a state.
        """
        c = robot.coordinates
        self.robot, self.parameters = robot, parameters
        self.q, self.v = place
        self._x = ca.vertcat(c.q, c.v)
        self._law = law
        self._rows = ca.densify(ca.vertcat(errors, natural))
        acceleration = robot.unforced_acceleration[0] + robot.mobility(robot.input_matrix @ law)[0]
        self._field = ca.densify(ca.cse(ca.vertcat(c.N @ c.v, acceleration)))

    @property
    def start(self) -> Array:
        """(q, v) near which the law works."""
        return np.concatenate([self.q, self.v])

    def output(self, t: float, x: Array, p: Array) -> Array:
        """Return u, shape (nu,).

        Args:
            t: time [s].
            x: (q, v).
            p: parameters.
        """
        return np.atleast_1d(self._output(t, x, p)[0])

    def field(self, t: float, x: Array, p: Array) -> tuple[Array, Array]:
        """Return F, shape (n,), and ∂F/∂x, shape (n, n).

        Args:
            t: time [s].
            x: (q, v).
            p: parameters.
        """
        F, slope = self._rate(t, x, p)
        return np.atleast_1d(F), slope

    def tangent(self, t: float, x: Array, p: Array) -> Array:
        """Return orthonormal directions tangent to the manifold at a state, shape (n, d).

        Args:
            t: time [s].
            x: (q, v).
            p: parameters.
        """
        slope = self._shaped(t, x, p)[1]
        _, values, directions = np.linalg.svd(slope)
        rank = int(np.count_nonzero(values > ACCEPTED * values.max(initial=0.0)))
        return np.ascontiguousarray(directions[rank:].T)

    def errors(self, t: float, x: Array, p: Array) -> Array:
        """Return y, ẏ, … and the residuals of natural constraints.

        Args:
            t: time [s].
            x: (q, v).
            p: parameters.
        """
        return self._shaped(t, x, p)[0]

    def independent_errors(self, t: float, x: Array, p: Array) -> Callable[[Array], Array]:
        """Return the errors at a time as a function of the state, only those that are independent at x.

        Args:
            t: time [s].
            x: (q, v).
            p: parameters.
        """
        left, values, _ = np.linalg.svd(self._shaped(t, x, p)[1])
        kept = left[:, : int(np.count_nonzero(values > ACCEPTED * values.max(initial=0.0)))]
        return lambda x: kept.T @ self.errors(t, x, p)

    def on_program(self, t: float, x: Array, p: Array) -> Array:
        """Find a state on the program by Newton steps of least norm.

        Args:
            t: time [s].
            x: state to start from, (q, v).
            p: parameters.

        Raises:
            NotConvergedError: if no state is found.
        """
        found, left = self._solve(lambda x: self._shaped(t, x, p), x)
        if not left <= ACCEPTED:
            raise NotConvergedError(
                f"no state on the program was found at t = {t:g} s from {np.array2string(x, precision=4)}: the "
                f"relative residual is {left:.3g}. The program may be out of reach; else start nearer, by q= and v="
            )
        return found

    def rest(self, t: float, x: Array, p: Array) -> Array | None:
        """Find a state of rest on the program, with time frozen; None if none is found.

        Args:
            t: time [s].
            x: state to start from, (q, v).
            p: parameters.
        """

        def evaluate(x: Array) -> tuple[Array, Array]:
            r, J = self._shaped(t, x, p)
            F, slope = self.field(t, x, p)
            return np.concatenate([r, F]), np.vstack([J, slope])

        found, left = self._solve(evaluate, x)
        return found if left <= ACCEPTED else None

    def _solve(self, evaluate: Callable[[Array], tuple[Array, Array]], x: Array) -> tuple[Array, float]:
        found = gauss_newton(evaluate, x)
        r, J = evaluate(found.x)
        size = np.maximum(1.0, np.abs(J) @ np.abs(found.x))
        left = float(np.max(np.abs(r) / size, initial=0.0))
        return found.x, left if np.isfinite(left) else np.inf

    def _shaped(self, t: float, x: Array, p: Array) -> tuple[Array, Array]:
        r, J = self._left(t, x, p)
        return np.atleast_1d(r), J.reshape(-1, x.size)

    @property
    def _symbols(self) -> dict[str, ca.SX]:
        return {"t": self.robot.t, "x": self._x, "p": self.parameters.symbols}

    @functools.cached_property
    def _output(self) -> Kernel:
        return Kernel("program_input", self._symbols, {"u": ca.densify(self._law)}, compiled=False)

    @functools.cached_property
    def _left(self) -> Kernel:
        r = self._rows
        outputs = {"r": r, "J": ca.jacobian(r, self._x)}
        return Kernel("program_errors", self._symbols, outputs, compiled=False)

    @functools.cached_property
    def _rate(self) -> Kernel:
        F = self._field
        outputs = {"F": F, "slope": ca.jacobian(F, self._x)}
        return Kernel("program_field", self._symbols, outputs, compiled=False)
