"""Checks of the solids, expressions and functions of time from which shapes are built."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from ..curves.curve import Curve


def require_solid(owner: str, curve: Curve) -> Curve:
    """Return the curve; raise ModelError unless it is a curve with exactly one function.

    Args:
        owner: name of the shape that needs it, for the message.
        curve: the argument.
    """
    if not isinstance(curve, Curve):
        loose = "; give them one by one, as in union(*parts)" if isinstance(curve, list | tuple) else ""
        raise ModelError(f"{owner} needs curves, got {curve!r}{loose}")
    count = curve.functions(ca.SX.sym("x", curve.dimension), ca.SX.sym("t")).numel()
    if count != 1:
        raise ModelError(f"{owner} needs boundaries of solids, with one function each, but {curve.name!r} has {count}")
    return curve


def require_solids(owner: str, curves: Iterable[Curve]) -> tuple[Curve, ...]:
    """Return the curves as a tuple; raise ModelError unless each has one function and all have the same dimension.

    Args:
        owner: name of the shape that needs them, for the message.
        curves: the arguments.
    """
    solids = tuple(require_solid(owner, curve) for curve in curves)
    for solid in solids[1:]:
        if solid.dimension != solids[0].dimension:
            raise ModelError(
                f"{owner}: {solids[0].name!r} has dimension {solids[0].dimension}, {solid.name!r} has {solid.dimension}"
            )
    return solids


def require_known_symbols(owner: str, expression: ca.SX, arguments: ca.SX, parameters: Parameters) -> None:
    """Raise ModelError if an expression uses undeclared symbols.

    Args:
        owner: description of the expression, for the message.
        expression: the expression.
        arguments: symbols that it may use.
        parameters: further symbols that it may use.
    """
    allowed = {s.element_hash() for s in ca.symvar(ca.vertcat(arguments, parameters.symbols))}
    foreign = sorted({s.name() for s in ca.symvar(expression) if s.element_hash() not in allowed})
    if foreign:
        raise ModelError(f"{owner} uses {', '.join(foreign)}: declare them with parameters=")


def value_at_time(law: Callable[[ca.SX], ca.SX], t: ca.SX, shape: tuple[int, int], owner: str) -> ca.SX:
    """Call a user's function of time; raise ModelError unless it returns an expression of that shape.

    Args:
        law: the function.
        t: its argument.
        shape: required shape.
        owner: description of the function, for the message.
    """
    value = law(t)
    if not isinstance(value, ca.SX) or value.shape != shape:
        raise ModelError(f"{owner} must return a CasADi SX expression of shape {shape}, got {value!r}")
    return ca.densify(value)
