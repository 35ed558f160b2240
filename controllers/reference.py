"""A motion of all coordinates that a control law is to follow."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..robots.robot import Robot
from ..symbolic.arrays import positive, vector, whole
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from .piecewise import Piecewise, read_rows, read_times

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """q_d(t), and what it needs: expressions in a robot's time and parameters, and in parameters of its own.

    Attributes:
        robot: whose motion it is.
        q: q_d, shape (nq,).
        v: dq_d/dt, shape (nq,).
        a: d²q_d/dt², shape (nq,).
        parameters: symbols other than the robot's that it uses.
    """

    robot: Robot
    q: ca.SX
    v: ca.SX
    a: ca.SX
    parameters: Parameters = NO_PARAMETERS

    @classmethod
    def of(cls, robot: Robot, q: ca.SX, parameters: Parameters = NO_PARAMETERS) -> Reference:
        """The motion of an expression; its rates come by differentiation.

        Args:
            robot: whose motion it is.
            q: q_d in ``robot.t``, the robot's parameters and those given, shape (nq,), twice differentiable.
            parameters: symbols other than the robot's.

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
        """A position to be held.

        Args:
            robot: whose position it is.
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
        """Quintic pieces through given positions; before the first time and after the last it rests.

        Without v and a it is the quintic spline, four times differentiable, that begins and ends at rest; between two
        positions that is the polynomial 10 s³ − 15 s⁴ + 6 s⁵ of least jerk. The positions of a robot with closed loops
        must close them, and between them its pieces only nearly do.

        Args:
            robot: whose motion it is.
            times: shape (k,) [s], increasing, at least two.
            q: coordinates, shape (k, nq).
            v: their rates at those times, shape (k, nq); with them come the accelerations.
            a: accelerations at those times, shape (k, nq).

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
            ModelError: for times that do not increase, or only one of v and a.
        """
        _require_rates(robot)
        at = read_times(times, 2)
        x = read_rows("q", q, at.size, robot.coordinates.nq)
        if (v is None) != (a is None):
            raise ModelError("give both v and a at the times, or neither: a piece has as many conditions at both ends")
        if v is None or a is None:
            return cls._of_pieces(robot, Piecewise.spline(at, x))
        rate, acceleration = (
            read_rows(name, values, at.size, robot.coordinates.nq) for name, values in (("v", v), ("a", a))
        )
        return cls._of_pieces(robot, Piecewise.hermite(at, x, rate, acceleration))

    @classmethod
    def sampled(
        cls, robot: Robot, t: ArrayLike, q: ArrayLike, *, tolerance: float = 1e-6, pieces: int = 256
    ) -> Reference:
        """The smooth motion behind samples, such as those of a trajectory: a quintic spline of as few pieces as do.

        Args:
            robot: whose motion it is.
            t: shape (k,) [s], increasing, at least thirteen.
            q: coordinates, shape (k, nq).
            tolerance: by which a sample may be missed, in the unit of the coordinate.
            pieces: the most that are allowed; each costs about 2 × 6 × nq operations of every tick.

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
            ModelError: for times that do not increase, a tolerance that is not reached, or a number of pieces that is
                none.
        """
        _require_rates(robot)
        pieces = whole("pieces", pieces)
        at = read_times(t, 13)
        x = read_rows("q", q, at.size, robot.coordinates.nq)
        return cls._of_pieces(robot, Piecewise.least_squares(at, x, positive("tolerance", tolerance), pieces))

    @classmethod
    def _of_pieces(cls, robot: Robot, pieces: Piecewise) -> Reference:
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
        """q_d and its first two rates at given times, at nominal parameters, each of shape (k, nq).

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
    """Raise ModelError unless something is a motion of a robot.

    Args:
        reference: what a law is to follow.
        robot: the law's model.
    """
    if not isinstance(reference, Reference):
        raise ModelError(
            f"a law of coordinates follows a Reference, such as Reference.at_rest(robot, q), got {reference!r}"
        )
    if reference.robot is not robot:
        raise ModelError(
            f"the reference is a motion of {reference.robot.name}, and the law is made for another, {robot.name}: "
            "build both with one"
        )


def _require_rates(robot: Robot) -> None:
    if not isinstance(robot, Robot):
        raise ModelError(f"a Reference is the motion of a Robot, got {type(robot).__name__}")
    if not robot.coordinates.are_rates:
        raise ModelError(
            f"a Reference gives all coordinates, of which the velocities of {robot.name} are not the rates: describe "
            "what it is to do by constraints"
        )
