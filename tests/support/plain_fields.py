"""Fields written down by hand, good ones and bad ones, of which everything is known in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca

from erugin.constraints.curves import Curve
from erugin.symbolic import Parameters

Expression = Callable[[ca.SX, ca.SX], ca.SX]


@dataclass(frozen=True, eq=False)
class PlainCurve(Curve):
    """Whatever function is given, without any check."""

    name: str
    dimension: int
    function: Expression
    parameters: Parameters = field(default_factory=lambda: Parameters.declare({}))

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        return self.function(x, t)


@dataclass(frozen=True, eq=False)
class PlainField:
    """A velocity and some curves that need have nothing to do with one another."""

    path: PlainCurve
    obstacles: tuple[PlainCurve, ...]
    w: Expression
    inside: tuple[PlainCurve, ...] = ()
    name: str = "plain"
    parameters: Parameters = field(default_factory=lambda: Parameters.declare({"unused": 1.0}))

    @property
    def dimension(self) -> int:
        return self.path.dimension

    def velocity(self, x: ca.SX, t: ca.SX) -> ca.SX:
        return self.w(x, t)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        return ca.vertcat(self.path.functions(x, t), *(o.functions(x, t) for o in self.obstacles))

    def structure(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        f = ca.SX(1)
        for value in ca.vertsplit(self.functions(x, t)):
            f = f * value
        slope, w = ca.gradient(f, x), self.w(x, t)
        P = slope * (ca.dot(slope, w) + ca.jacobian(f, t)) / ca.sumsqr(slope)
        return P, (w @ slope.T - slope @ w.T) / ca.sumsqr(slope), f


def ring(center: tuple[float, float], radius: float, drift: tuple[float, float] = (0.0, 0.0)) -> Expression:
    """(|x − c − u t|² − r²)/2r, a polynomial, with a unit gradient on the circle."""

    def function(x: ca.SX, t: ca.SX) -> ca.SX:
        away = x - ca.vertcat(*center) - ca.vertcat(*drift) * t
        return (ca.sumsqr(away) - radius**2) / (2 * radius)

    return function


def orbit(
    attraction: float = 0.0, drift: tuple[float, float] = (0.0, 0.0), extra: Expression | None = None
) -> PlainField:
    """Round the unit circle at speed 1 on it, df/dt = −κ f |∇f|² exactly, f = (|y|² − 1)/2 with y = x − u t."""
    circle = ring((0.0, 0.0), 1.0, drift)

    def velocity(x: ca.SX, t: ca.SX) -> ca.SX:
        y = x - ca.vertcat(*drift) * t
        w = ca.vertcat(-y[1], y[0]) + ca.vertcat(*drift) - attraction * circle(x, t) * y
        return w if extra is None else w + extra(x, t)

    return PlainField(PlainCurve("circle", 2, circle), (), velocity)
