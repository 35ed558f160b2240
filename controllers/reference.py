"""Reference motions of all coordinates: expressions, rest-to-rest transitions and piecewise polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..robots.robot import Robot
from ..symbolic.errors import ModelError, ShapeError
from ..symbolic.kernel import Kernel
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from ..symbolic.validation import finite, positive, reals, vector, whole

Array = NDArray[np.float64]

NEXT_PIECE = 1e-9
"""Share of the span by which a time may lie beyond its ends and still count as on it."""


@dataclass(frozen=True, eq=False)
class PiecewisePolynomial:
    """x(t) = Σ_j C_kj (t − t_k)^j in t_k ≤ t < t_{k+1}; outside the span x rests at its first and last value.

    Attributes:
        knots: t_0 < t_1 < …, shape (k + 1,) [s].
        coefficients: C, shape (k, degree + 1, n).
    """

    knots: Array
    coefficients: Array

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        for name in ("knots", "coefficients"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def spline(cls, times: Array, x: Array) -> PiecewisePolynomial:
        """Return the quintic spline through x, four times differentiable, that starts and ends at rest.

        Its rates and accelerations vanish at both ends.

        Args:
            times: increasing times, shape (k,) [s], at least two.
            x: values at the times, shape (k, n).
        """
        from scipy.interpolate import make_interp_spline  # a tenth of a second to import

        still: Any = [(1, np.zeros(x.shape[1])), (2, np.zeros(x.shape[1]))]
        fitted = make_interp_spline(times, x, k=5, bc_type=(still, still))
        return cls._of(fitted, fitted.t[5:-5])

    @classmethod
    def hermite(cls, times: Array, x: Array, rate: Array, acceleration: Array) -> PiecewisePolynomial:
        """Return quintic pieces with given values, rates and accelerations at the knots.

        Args:
            times: increasing times, shape (k,) [s], at least two.
            x: values at the times, shape (k, n).
            rate: dx/dt, shape (k, n).
            acceleration: d²x/dt², shape (k, n).
        """
        from scipy.interpolate import BPoly

        return cls._of(BPoly.from_derivatives(times, np.stack([x, rate, acceleration], axis=1)), times)

    @classmethod
    def least_squares(cls, times: Array, x: Array, tolerance: float, most: int) -> PiecewisePolynomial:
        """Fit a quintic spline, doubling the number of pieces until no sample is missed by more than the tolerance.

        Args:
            times: increasing times, shape (k,) [s].
            x: samples, shape (k, n).
            tolerance: greatest |x(t_i) − x_i|.
            most: largest number of pieces allowed.

        Raises:
            ModelError: if the tolerance is not reached.
        """
        from scipy.interpolate import make_lsq_spline

        pieces, missed = 1, np.inf
        while pieces <= most and len(times) > 2 * (pieces + 5):
            inner = np.linspace(float(times[0]), float(times[-1]), pieces + 1)
            knots = np.concatenate([np.full(5, times[0]), inner, np.full(5, times[-1])])
            fitted = make_lsq_spline(times, x, knots, k=5)
            missed = float(np.abs(fitted(times) - x).max())
            if missed <= tolerance:
                return cls._of(fitted, inner)
            pieces *= 2
        raise ModelError(
            f"{pieces // 2} pieces of degree 5 do not fit {len(times)} samples within {tolerance:g}; they miss one by "
            f"{missed:.3g}: give more samples, a larger pieces= or tolerance=, or samples of a smoother motion"
        )

    @classmethod
    def _of(cls, fitted: Callable[[Array, int], Array], knots: Array) -> PiecewisePolynomial:
        """Build from the Taylor coefficients of a quintic at the start of each piece."""
        terms = [np.asarray(fitted(knots[:-1], j)) / math.factorial(j) for j in range(6)]
        return cls(knots, np.stack(terms, axis=1))

    def expressions(self, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return x and its first two derivatives at t, each of shape (n,).

        Args:
            t: symbol of time [s].
        """
        first, last = float(self.knots[0]), float(self.knots[-1])
        beyond = NEXT_PIECE * (last - first)
        inside = ca.logic_and(t >= first - beyond, t <= last + beyond)
        now = ca.fmin(ca.fmax(t, first), last)
        here = [now >= float(start) for start in self.knots[1:-1]]
        # One of these is 1 and the others are 0, so that the sums below are choices without rounding.
        chosen = [a - b for a, b in zip([ca.SX(1), *here], [*here, ca.SX(0)], strict=True)]
        pick = ca.vertcat(*chosen)
        s = now - ca.dot(pick, ca.SX(ca.DM(self.knots[:-1])))
        degree = self.coefficients.shape[1] - 1
        powers = [ca.SX(ca.DM(self.coefficients[:, j].T)) @ pick for j in range(degree + 1)]
        value = _horner(powers, s)
        slope = _horner([j * c for j, c in enumerate(powers)][1:], s)
        bend = _horner([j * (j - 1) * c for j, c in enumerate(powers)][2:], s)
        still = ca.SX.zeros(value.numel())
        return value, ca.if_else(inside, slope, still), ca.if_else(inside, bend, still)


def read_times(times: ArrayLike, least: int) -> Array:
    """Check increasing times and return them, shape (k,) [s].

    Args:
        times: times to check, shape (k,) [s].
        least: smallest number of times allowed.

    Raises:
        ShapeError: for another shape or a number that is not finite.
        ModelError: for too few times, or times that do not increase.
    """
    numbers = vector("times", times, np.size(times))
    if numbers.size < least:
        raise ModelError(f"at least {least} times are required, got {numbers.size}")
    if not (np.diff(numbers) > 0.0).all():
        i = int(np.argmin(np.diff(numbers)))
        raise ModelError(
            f"times must increase, but times[{i}] = {numbers[i]:g} and times[{i + 1}] = {numbers[i + 1]:g}"
        )
    return numbers


def read_rows(name: str, values: ArrayLike, count: int, width: int) -> Array:
    """Check an array with one row per time and return it, shape (count, width).

    Args:
        name: name of the array, for messages.
        values: the array to check.
        count: number of times.
        width: number of entries of a row.

    Raises:
        ShapeError: for another shape or a number that is not finite.
    """
    try:
        array = reals("values", values)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be numbers of shape ({count}, {width}), got {values!r}") from error
    if array.shape != (count, width):
        raise ShapeError(f"{name} must have shape ({count}, {width}), a row for each time, got {array.shape}")
    vector(name, array.reshape(-1), array.size)
    return array


def _horner(powers: list[ca.SX], s: ca.SX) -> ca.SX:
    total = powers[-1]
    for c in reversed(powers[:-1]):
        total = total * s + c
    return total


@dataclass(frozen=True, eq=False)
class Reference:
    """Reference motion q_d(t) and its rates: expressions in the robot's time and parameters and in further parameters.

    Attributes:
        robot: the robot that the motion belongs to.
        q: q_d, shape (nq,).
        v: dq_d/dt, shape (nq,).
        a: d²q_d/dt², shape (nq,).
        parameters: parameters of the expressions other than the robot's.
    """

    robot: Robot
    q: ca.SX
    v: ca.SX
    a: ca.SX
    parameters: Parameters = NO_PARAMETERS

    @classmethod
    def of(cls, robot: Robot, q: ca.SX, parameters: Parameters = NO_PARAMETERS) -> Reference:
        """Return the motion of an expression; its rates follow by differentiation.

        Args:
            robot: the robot that the motion belongs to.
            q: q_d in ``robot.t``, the robot's parameters and those given, shape (nq,), twice differentiable.
            parameters: parameters of q other than the robot's.

        Raises:
            ModelError: for another shape, an expression in the state or in foreign symbols, or a robot whose velocities
                are not the rates of its coordinates.
        """
        _require_rates(robot)
        c = robot.coordinates
        if not isinstance(q, ca.SX) or q.shape != (c.nq, 1):
            raise ModelError(f"a Reference of {robot.name} must be a column of {c.nq} SX expressions, got {q!r}")
        robot.require_own_symbols("reference", q, parameters)
        if ca.depends_on(q, ca.vertcat(robot.q, robot.v, robot.u, c.a)):
            raise ModelError("a Reference is a function of time and parameters, not of state, inputs or accelerations")
        rate = ca.jtimes(q, robot.t, ca.SX(1))
        return cls(robot, ca.densify(q), ca.densify(rate), ca.densify(ca.jtimes(rate, robot.t, ca.SX(1))), parameters)

    @classmethod
    def at_rest(cls, robot: Robot, q: ArrayLike) -> Reference:
        """Return a constant position as a reference.

        Args:
            robot: the robot that the position belongs to.
            q: coordinates, shape (nq,).

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
            ModelError: for a robot whose velocities are not the rates of its coordinates.
        """
        _require_rates(robot)
        return cls.of(robot, ca.SX(ca.DM(vector("q", q, robot.coordinates.nq))))

    @classmethod
    def through(
        cls,
        robot: Robot,
        times: ArrayLike,
        q: ArrayLike,
        *,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
    ) -> Reference:
        """Return quintic pieces through given positions; before the first time and after the last it rests.

        Without v and a it is the quintic spline, four times differentiable, that starts and ends at rest; between two
        positions that is the polynomial 10 s³ − 15 s⁴ + 6 s⁵ of least jerk. The positions of a robot with closed loops
        must satisfy the closures; between the positions they hold only approximately.

        Args:
            robot: the robot that the motion belongs to.
            times: increasing times, shape (k,) [s], at least two.
            q: coordinates at those times, shape (k, nq).
            v: rates of the coordinates at those times, shape (k, nq); requires a.
            a: accelerations at those times, shape (k, nq); requires v.

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
            ModelError: for times that do not increase, or only one of v and a.
        """
        _require_rates(robot)
        at = read_times(times, 2)
        x = read_rows("q", q, at.size, robot.coordinates.nq)
        if (v is None) != (a is None):
            raise ModelError(
                "v and a must be given together or not at all: both ends of a piece have the same number of conditions"
            )
        if v is None or a is None:
            return cls._of_pieces(robot, PiecewisePolynomial.spline(at, x))
        rate, acceleration = (
            read_rows(name, values, at.size, robot.coordinates.nq) for name, values in (("v", v), ("a", a))
        )
        return cls._of_pieces(robot, PiecewisePolynomial.hermite(at, x, rate, acceleration))

    @classmethod
    def sampled(
        cls, robot: Robot, t: ArrayLike, q: ArrayLike, *, tolerance: float = 1e-6, pieces: int = 256
    ) -> Reference:
        """Fit a smooth motion to samples, such as those of a trajectory, by a quintic spline of few pieces.

        Args:
            robot: the robot that the motion belongs to.
            t: increasing times, shape (k,) [s], at least thirteen.
            q: coordinates at those times, shape (k, nq).
            tolerance: greatest error at a sample, in the unit of the coordinate.
            pieces: largest number of pieces; each costs about 2 × 6 × nq operations of every tick.

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
            ModelError: for times that do not increase, a tolerance that is not reached, or a number of pieces below 1.
        """
        _require_rates(robot)
        pieces = whole("pieces", pieces)
        at = read_times(t, 13)
        x = read_rows("q", q, at.size, robot.coordinates.nq)
        return cls._of_pieces(robot, PiecewisePolynomial.least_squares(at, x, positive("tolerance", tolerance), pieces))

    @classmethod
    def _of_pieces(cls, robot: Robot, pieces: PiecewisePolynomial) -> Reference:
        q, v, a = pieces.expressions(robot.t)
        return cls(robot, ca.densify(q), ca.densify(v), ca.densify(a))

    @property
    def start(self) -> tuple[Array, Array]:
        """q_d and its rate at t = 0, at nominal parameters, each of shape (nq,)."""
        values = Parameters.collect([self.robot.parameters, self.parameters])
        f = ca.Function("start", [self.robot.t, values.symbols], [self.q, self.v])
        q, v = f.call([0.0, values.values()])
        return np.array(q.full()[:, 0]), np.array(v.full()[:, 0])

    def values(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q_d and its first two rates at given times, at nominal parameters, each of shape (k, nq).

        Args:
            t: times, shape (k,) [s].

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
        """
        at = vector("t", t, np.size(t))
        own = Parameters.collect([self.robot.parameters, self.parameters])
        inputs = {"t": self.robot.t, "p": own.symbols}
        kernel = Kernel("reference", inputs, {"q": self.q, "v": self.v, "a": self.a}, compiled=False)
        numbers = own.values()
        rows = [[np.atleast_1d(column) for column in kernel(time, numbers)] for time in at]
        q, v, a = (np.array([row[i] for row in rows]).reshape(at.size, self.q.numel()) for i in range(3))
        return q, v, a


def require_reference(reference: Reference, robot: Robot) -> None:
    """Raise ModelError if the reference is not a motion of the robot.

    Args:
        reference: motion that a law is to follow.
        robot: the law's model.
    """
    if not isinstance(reference, Reference):
        raise ModelError(f"reference must be a Reference, such as Reference.at_rest(robot, q), got {reference!r}")
    if reference.robot is not robot:
        raise ModelError(
            f"the reference is a motion of the robot {reference.robot.name}, but the law is built for another robot, "
            f"{robot.name}: build both with the same robot object"
        )


def _require_rates(robot: Robot) -> None:
    if not isinstance(robot, Robot):
        raise ModelError(f"a Reference requires a Robot, got {type(robot).__name__}")
    if not robot.coordinates.are_rates:
        raise ModelError(
            f"a Reference cannot describe a motion of {robot.name}, whose velocities are not the rates of its "
            "coordinates: describe the motion by constraints"
        )


SMOOTHEST = 10
"""Coefficients alternate and grow: errors are 3e-9 here, 2e-7 for k = 12, and 1 for k = 20."""


def transition(t: ca.SX, duration: float, *, start: float = 0.0, smoothness: int = 4) -> ca.SX:
    """Return a smooth step: 0 before the start, 1 after the duration, and in between a polynomial of least degree.

    s(τ) = τ^{k+1} Σ_j C(k+j, j) C(2k+1, k−j) (−τ)^j, j = 0 … k, of degree 2k + 1, whose first k derivatives vanish at
    both ends: for k = 4 it is 126τ⁵ − 420τ⁶ + 540τ⁷ − 315τ⁸ + 70τ⁹ [AltmannHeiland2017]_. A program of relative degree
    ρ needs k ≥ ρ for inputs without jumps.

    Args:
        t: symbol of time [s].
        duration: length of the transition [s].
        start: time at which it starts [s].
        smoothness: k, from 0 to 10.

    Raises:
        ModelError: for a duration that is not positive, a start that is not finite, or a smoothness that is not an
            integer from 0 to 10.
    """
    k = whole("smoothness", smoothness, 0, SMOOTHEST, "rounding spoils polynomials of higher degree")
    tau = ca.fmin(ca.fmax((t - finite("start", start)) / positive("duration", duration), 0.0), 1.0)
    terms = [math.comb(k + j, j) * math.comb(2 * k + 1, k - j) * (-1) ** j for j in range(k + 1)]
    total = ca.SX(0)
    for factor in reversed(terms):
        total = total * tau + factor
    return total * tau ** (k + 1)
