"""A solid whose sizes, positions and other parameters change in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import casadi as ca

from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range
from ...symbolic.validation import finite
from ..curves.curve import Curve
from .solid_checks import require_known_symbols, require_solid

ParameterLaw = Callable[[ca.SX, ca.SX], ca.SX]
"""Value of a parameter at time t [s], as a function of its nominal value (its symbol) and t, both scalar."""

LEAST_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class TimeVaryingSolid(Curve):
    """f(x, t) = f₀(x, t; p(t)); use :func:`time_varying` to make one.

    Attributes:
        shape: the solid, with its function f₀ and its parameters p.
        laws: functions of the symbol and the time, by name of the parameters p that change.
    """

    name: str
    dimension: int
    shape: Curve
    laws: Mapping[str, ParameterLaw] = field(repr=False)
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Function of the solid with the parameters at time t, shape (1,)."""
        y = ca.SX.sym("y", self.dimension)
        s = ca.SX.sym("s")
        symbols = ca.vertcat(y, s, self.shape.parameters.symbols)
        return ca.substitute(ca.densify(self.shape.functions(y, s)), symbols, ca.vertcat(x, t, self._values(t)))

    @property
    def smoothness(self) -> float:
        """Smoothness of the solid."""
        return self.shape.smoothness

    def reference(self, t: ca.SX) -> ca.SX | None:
        """Reference of the solid with the parameters at time t, shape (n,) [m]."""
        return self._at(self.shape.reference, t)

    def extent(self, t: ca.SX) -> ca.SX | None:
        """Extent of the solid with the parameters at time t [m]."""
        return self._at(self.shape.extent, t)

    def _at(self, expression: Callable[[ca.SX], ca.SX | None], t: ca.SX) -> ca.SX | None:
        s = ca.SX.sym("s")
        value = expression(s)
        if value is None:
            return None
        return ca.substitute(
            ca.densify(value), ca.vertcat(s, self.shape.parameters.symbols), ca.vertcat(t, self._values(t))
        )

    def _values(self, t: ca.SX) -> ca.SX:
        own = self.shape.parameters
        return ca.vertcat(*(self._value(name, symbol, own.ranges.get(name), t) for name, symbol in own))

    def _value(self, name: str, symbol: ca.SX, allowed: Range | None, t: ca.SX) -> ca.SX:
        if name not in self.laws:
            return symbol
        value = self.laws[name](symbol, t)
        if allowed in (Range.POSITIVE, Range.NOT_NEGATIVE):
            least = LEAST_SHARE * symbol if allowed is Range.POSITIVE else ca.SX(0)
            value = ca.if_else(value > least, value, least)
        return value


def time_varying(
    shape: Curve,
    *,
    rates: Mapping[str, float] | None = None,
    laws: Mapping[str, ParameterLaw] | None = None,
    parameters: Parameters = NO_PARAMETERS,
    name: str | None = None,
) -> TimeVaryingSolid:
    """A solid with parameters that change: it grows, shrinks, bends, or moves part by part.

    A parameter p with a rate becomes p + ṗ t, and the rate is the parameter ``<p>_rate``, such as ``disc.radius_rate``;
    one with a law becomes the value of the law. A parameter that must be positive shrinks to a thousandth of itself at
    most.

    Args:
        shape: boundary of the solid, one function; it may itself move or change.
        rates: rates of change [unit of the parameter per s] by name, ``"disc.radius"`` or, if that is unique,
            ``"radius"``.
        laws: functions of the parameter's symbol and the time, by name.
        parameters: symbols that the laws use.
        name: name in messages; that of the shape if not given.

    Raises:
        ModelError: if a name is unknown or ambiguous or given twice, a rate is not finite, a law does not return a
            scalar expression or uses undeclared symbols, or nothing changes.
    """
    solid = require_solid("time_varying()", shape)
    label = solid.name if name is None else name
    own = solid.parameters
    full = [_full_name(solid, key) for key in (*(rates or {}), *(laws or {}))]
    if not full:
        raise ModelError(f"{label!r} does not change: give rates= or laws=")
    if doubled := sorted({key for key in full if full.count(key) > 1}):
        raise ModelError(f"{label!r}: each parameter can have one rate or law, got several for {', '.join(doubled)}")
    slopes = {_full_name(solid, key): finite(f"rate of {key!r}", value) for key, value in (rates or {}).items()}
    given = {_full_name(solid, key): law for key, law in (laws or {}).items()}
    added = Parameters.declare({f"{key}_rate": value for key, value in slopes.items()})
    everything = Parameters.collect([own, added, parameters])
    for key in slopes:
        given[key] = _linear(added[f"{key}_rate"])
    t = ca.SX.sym("t")
    for key, law in given.items():
        value = law(own[key], t)
        if not isinstance(value, ca.SX) or not value.is_scalar():
            raise ModelError(f"{label!r}: the law of {key!r} must return a scalar CasADi SX expression, got {value!r}")
        require_known_symbols(f"the law of {key!r}", value, t, everything)
    return TimeVaryingSolid(label, solid.dimension, solid, given, everything)


def _linear(rate: ca.SX) -> ParameterLaw:
    return lambda symbol, t: symbol + rate * t


def _full_name(shape: Curve, key: str) -> str:
    names = shape.parameters.names
    if key in names:
        return key
    found = [name for name in names if name.rpartition(".")[2] == key]
    if len(found) > 1:
        raise ModelError(f"{key!r} could be any of {', '.join(found)}: write the full name")
    if not found:
        raise ModelError(unknown_name(f"parameter of {shape.name!r}", key, names))
    return found[0]
