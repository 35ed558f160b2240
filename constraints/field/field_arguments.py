"""Arguments of a field: curves, gains and profiles, checked and declared as parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import casadi as ca

from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive
from ..curves.curve import Curve
from .guidance import Profile

DEFAULT_LIMIT, LOWEST_LIMIT = 1.5, 1.2
"""Default speed limit and lowest speed limit allowed, in cruise speeds."""


def require_curves(role: str, curves: Iterable[Curve]) -> tuple[Curve, ...]:
    """Return the curves as a tuple.

    Args:
        role: name of the argument.
        curves: value of the argument.

    Raises:
        ModelError: if it is not an iterable of curves.
    """
    if not isinstance(curves, Iterable):
        raise ModelError(f"{role} must be a list of curves, got {curves!r}")
    found = tuple(curves)
    for curve in found:
        if not isinstance(curve, Curve):
            raise ModelError(f"a field is made of curves, got {curve!r}")
    return found


def declare_parameters(
    name: str,
    barriers: Sequence[str],
    *,
    speed: float,
    attraction: float,
    margin: float | None,
    rounding: float | None,
    limit: float | None,
    acceleration: float | None,
    side: int | Mapping[str, int],
) -> Parameters:
    """Declare the field's own parameters.

    Args:
        name: prefix of their names.
        barriers: names of the barriers.
        speed: c [m/s].
        attraction: κ [1/s].
        margin: δ [m].
        rounding: ε [m], δ/2 if None.
        limit: L [m/s], 1.5 c if None.
        acceleration: a [m/s²], or None.
        side: one side for all barriers, or sides by name.

    Raises:
        ModelError: if the margin is missing, the limit is too near the speed, a side is not ±1 or names no barrier, or
            a number is out of its range.
    """
    values = {"speed": positive("speed", speed), "attraction": positive("attraction", attraction)}
    sides = _sides(barriers, side)
    if barriers:
        if margin is None:
            raise ModelError("margin= is required with obstacles: the clearance to keep from them [m]")
        gap = positive("margin", margin)
        values |= {
            "side": 1.0 if isinstance(side, Mapping) else float(side),
            "margin": gap,
            "rounding": positive("rounding", gap / 2 if rounding is None else rounding),
        }
    if barriers or limit is not None:
        values["limit"] = positive("limit", DEFAULT_LIMIT * speed if limit is None else limit)
        if values["limit"] < LOWEST_LIMIT * values["speed"]:
            least = LOWEST_LIMIT * values["speed"]
            raise ModelError(
                f"limit= must be at least {LOWEST_LIMIT:g} times the cruise speed, {least:g} m/s, got {limit!r}"
            )
    if acceleration is not None:
        values["acceleration"] = positive("acceleration", acceleration)
    values |= sides
    ranges = {key: Range.SIGN if key.startswith("side") else Range.POSITIVE for key in values}
    return Parameters.declare(values, name, ranges=ranges)


def _sides(barriers: Sequence[str], side: int | Mapping[str, int]) -> dict[str, float]:
    """σ_j by parameter name, checked."""
    given: Mapping[str, int] = side if isinstance(side, Mapping) else {}
    for key in given:
        if key not in barriers:
            raise ModelError(unknown_name("barrier", key, barriers))
    for label, value in (given if isinstance(side, Mapping) else {"": side}).items():
        if value not in (1, -1):
            raise ModelError(f"side{f' of {label!r}' if label else ''} must be +1 or -1, got {value!r}")
    return {f"side_{key}": float(given.get(key, 1)) for key in barriers}


def require_profile(role: str, profile: Profile | None, x: ca.SX, t: ca.SX, known: ca.SX, size: int) -> ca.SX | None:
    """Return a profile as an expression in the field's symbols; None if there is no profile.

    Args:
        role: name of the argument.
        profile: function of position and time.
        x: symbols of the position, shape (n,).
        t: symbol of the time.
        known: every symbol that it may use.
        size: number of rows that it must return.

    Raises:
        ModelError: if it does not return a column of that many expressions in known symbols.
    """
    if profile is None:
        return None
    found = profile(x, t)
    value = ca.SX(found) if isinstance(found, int | float | ca.DM) else found
    if not isinstance(value, ca.SX) or value.shape != (size, 1):
        raise ModelError(f"{role}= must return {size} expression{'s' * (size > 1)} of position and time, got {found!r}")
    allowed = {s.element_hash() for s in ca.symvar(known)}
    foreign = sorted({s.name() for s in ca.symvar(value) if s.element_hash() not in allowed})
    if foreign:
        raise ModelError(f"{role}= uses {', '.join(foreign)}, which no curve of the field declares as a parameter")
    return ca.densify(value)
