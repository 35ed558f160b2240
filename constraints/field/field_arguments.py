"""Arguments of a field: curves, gains and profiles, checked and declared as parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import casadi as ca

from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import not_negative, positive
from ..curves.curve import Curve
from .guidance import DEFAULT_LIMIT, Profile

LEAST_ATTRACTION, LARGEST_ATTRACTION = 2.0, 5.0
"""Default attractions [1/s]. A robot with the default perturbation, of 10 1/s, follows the larger one well."""

LOWEST_LIMIT = 1.2
"""Lowest speed limit allowed, in cruise speeds."""


def chosen_avoidance(avoidance: str | None, rounding: float | None) -> Literal["hug", "detour"]:
    """Return the way round obstacles: a detour if a rounding is given, else a hug, unless one is named.

    Args:
        avoidance: hug, detour or None.
        rounding: ε of a detour [m], or None.

    Raises:
        ModelError: for another name, or a rounding for a hug.
    """
    if avoidance is None:
        return "hug" if rounding is None else "detour"
    if avoidance == "hug":
        if rounding is not None:
            raise ModelError("rounding= is the length over which a detour leaves the path: use avoidance='detour'")
        return "hug"
    if avoidance == "detour":
        return "detour"
    raise ModelError(f"avoidance must be 'hug' or 'detour', got {avoidance!r}")


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
    attraction: float | None,
    margin: float | None,
    avoidance: Literal["hug", "detour"],
    rounding: float | None,
    approach: float | None,
    swirl: float,
    limit: float | None,
    acceleration: float | None,
    side: int | Mapping[str, int] | Literal["auto"],
) -> Parameters:
    """Declare the field's own parameters.

    Args:
        name: prefix of their names.
        barriers: names of the barriers.
        speed: c [m/s].
        attraction: κ [1/s]; if None c/δ between 2 and 5 for a hug, 2 without barriers and for a detour.
        margin: δ [m].
        avoidance: the way round obstacles.
        rounding: ε of a detour [m], δ/2 if None.
        approach: γ of a hug [1/s], the larger one of 2κ and c/2δ if None.
        swirl: σ₁ of a hug.
        limit: L [m/s], 1.5 c if None.
        acceleration: a [m/s²], or None.
        side: one side for all barriers, sides by name, or ``"auto"``.

    Raises:
        ModelError: if the margin is missing, the limit is too near the speed, a side is not ±1 or names no barrier, or
            a number is out of its range.
    """
    values = {"speed": positive("speed", speed), "attraction": LEAST_ATTRACTION}
    if attraction is not None:
        values["attraction"] = positive("attraction", attraction)
    sides = _sides(barriers, side)
    if barriers:
        if margin is None:
            raise ModelError("margin= is required with obstacles: the clearance to keep from them [m]")
        gap = positive("margin", margin)
        if attraction is None and avoidance == "hug":
            values["attraction"] = min(max(LEAST_ATTRACTION, values["speed"] / gap), LARGEST_ATTRACTION)
        values |= {
            "side": 0.0 if isinstance(side, Mapping | str) else float(side),
            "margin": gap,
        }
        if avoidance == "detour":
            values["rounding"] = positive("rounding", gap / 2 if rounding is None else rounding)
        else:
            usual = max(2.0 * values["attraction"], speed / (2.0 * gap))
            values["approach"] = positive("approach", usual if approach is None else approach)
            values["swirl"] = not_negative("swirl", swirl)
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
    ranges = {key: Range.SIGN_OR_ZERO if key.startswith("side") else Range.POSITIVE for key in values}
    if "swirl" in ranges:
        ranges["swirl"] = Range.NOT_NEGATIVE
    return Parameters.declare(values, name, ranges=ranges)


def _sides(barriers: Sequence[str], side: int | Mapping[str, int] | str) -> dict[str, float]:
    """σ_j by parameter name, checked; 0 where it is left to the field."""
    given: Mapping[str, int] = side if isinstance(side, Mapping) else {}
    for key in given:
        if key not in barriers:
            raise ModelError(unknown_name("barrier", key, barriers))
    for label, value in (given if isinstance(side, Mapping) else {"": side}).items():
        if value not in (1, -1) and (label or value != "auto"):
            allowed = "+1 or -1" if label else "+1, -1 or 'auto'"
            raise ModelError(f"side{f' of {label!r}' if label else ''} must be {allowed}, got {value!r}")
    return {f"side_{key}": float(given.get(key, 0)) for key in barriers}


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
