"""A curve given by an implicit equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range
from ...symbolic.validation import positive
from .curve import Curve


@dataclass(frozen=True, eq=False)
class Implicit(Curve):
    """f = g / √(|∇g|² + (g/ℓ)²) for a given g; use :func:`implicit` to make one.

    Attributes:
        equation: g as a function of position and time.
        length: ℓ [m].
    """

    name: str
    dimension: int
    equation: Callable[[ca.SX, ca.SX], ca.SX] = field(repr=False)
    length: ca.SX = field(repr=False)
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Normalized functions, shape (k,): to first order the distance near the curve, at most ℓ far from it."""
        position, time = ca.SX.sym("x", self.dimension), ca.SX.sym("t")
        g = ca.densify(self.equation(position, time))
        gradients = ca.jacobian(g, position)
        rows = [g[i] / ca.sqrt(ca.sumsqr(gradients[i, :]) + (g[i] / self.length) ** 2) for i in range(g.numel())]
        return ca.substitute(ca.vertcat(*rows), ca.vertcat(position, time), ca.vertcat(x, t))


def implicit(
    equation: Callable[[ca.SX, ca.SX], ca.SX],
    dimension: int,
    *,
    length: float,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "implicit",
) -> Implicit:
    """The curve g(x, t) = 0.

    The equation is scaled to f = g / √(|∇g|² + (g/ℓ)²), whose gradient has length 1 on the curve (Rvachev's
    normalization), so that f is a distance in metres near it; ℓ bounds f far away and where ∇g = 0.

    Args:
        equation: g as a function of position, shape (n,), and time, returning shape (k,): n − 1 rows for a path, one
            for the boundary of an obstacle, positive outside.
        dimension: n.
        length: ℓ [m], the distance up to which f approximates a distance.
        parameters: symbols that the equation uses.
        name: prefix of its parameter ``name.length``.

    Raises:
        ModelError: if the result is not a column of expressions in position, time and parameters.
    """
    if dimension < 2:
        raise ModelError(f"{name!r} needs a space of at least 2 dimensions, got {dimension!r}")
    position, time = ca.SX.sym("x", dimension), ca.SX.sym("t")
    g = equation(position, time)
    if not isinstance(g, ca.SX) or g.size2() != 1 or not 1 <= g.numel() < dimension:
        raise ModelError(
            f"{name!r}: the equation must return a column of 1 to {dimension - 1} CasADi SX expressions, got {g!r}"
        )
    allowed = {s.element_hash() for s in ca.symvar(ca.vertcat(position, time, parameters.symbols))}
    foreign = sorted({s.name() for s in ca.symvar(g) if s.element_hash() not in allowed})
    if foreign:
        raise ModelError(f"{name!r} uses {', '.join(foreign)}: declare them with parameters=")
    size = {"length": positive(f"length of {name!r}", length)}
    own = Parameters.declare(size, name, ranges={"length": Range.POSITIVE})
    return Implicit(name, dimension, equation, own.symbols[0], Parameters.collect([own, parameters]))
