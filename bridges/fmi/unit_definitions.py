"""Unit definitions of FMI: a name, and exponents of the SI base units."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
"""The base units of FMI; angles have a separate one."""

_KNOWN: Mapping[str, tuple[float, dict[str, int]]] = {
    **{name: (1.0, {name: 1}) for name in BASE},
    "1": (1.0, {}),
    "N": (1.0, {"kg": 1, "m": 1, "s": -2}),
    "J": (1.0, {"kg": 1, "m": 2, "s": -2}),
    "W": (1.0, {"kg": 1, "m": 2, "s": -3}),
    "Pa": (1.0, {"kg": 1, "m": -1, "s": -2}),
    "Hz": (1.0, {"s": -1}),
    "C": (1.0, {"A": 1, "s": 1}),
    "V": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -1}),
    "F": (1.0, {"kg": -1, "m": -2, "s": 4, "A": 2}),
    "Ω": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}),
    "Ohm": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}),
    "H": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -2}),
    "Wb": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -1}),
    "T": (1.0, {"kg": 1, "s": -2, "A": -1}),
    "deg": (math.pi / 180.0, {"rad": 1}),
    "min": (60.0, {"s": 1}),
    "h": (3600.0, {"s": 1}),
}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_FACTOR = re.compile(r"([^\W\d_]+|1)\^?(-?\d+)?")


@dataclass(frozen=True)
class Unit:
    """A unit of a variable.

    Attributes:
        name: name in FMI's notation: ``"N.m"``, ``"m/s2"``.
        exponents: nonzero exponents of the base units; None if they are not known.
        factor: factor that converts a value to base units.
    """

    name: str
    exponents: Mapping[str, int] | None = field(default_factory=dict[str, int])
    factor: float = 1.0

    def __post_init__(self) -> None:
        """Freeze the exponents."""
        if self.exponents is not None:
            nonzero = {base: self.exponents[base] for base in BASE if self.exponents.get(base)}
            object.__setattr__(self, "exponents", MappingProxyType(nonzero))

    @classmethod
    def of(cls, text: str) -> Unit | None:
        """Parse a unit; None for an empty text.

        Args:
            text: text such as ``"N m"``, ``"rad/s"``, ``"kg m²"`` or ``"goods/(worker year)"``.
        """
        text = text.strip().translate(_RAISED)
        if not text:
            return None
        over, _, under = text.partition("/")
        name = "/".join(_joined(part) for part in (over, under) if part)
        total: dict[str, int] = {}
        factor = 1.0
        for part, sign in ((over, 1), (under.strip().removeprefix("(").removesuffix(")"), -1)):
            for word in re.split(r"[\s.·*]+", part.strip()):
                found = _FACTOR.fullmatch(word)
                if word and (found is None or found[1] not in _KNOWN):
                    return cls(name, None)
                if found is not None:
                    scale, exponents = _KNOWN[found[1]]
                    power = sign * int(found[2] or 1)
                    factor *= scale**power
                    for base, exponent in exponents.items():
                        total[base] = total.get(base, 0) + power * exponent
        return cls(name, total, factor)

    @classmethod
    def of_exponents(cls, exponents: Mapping[str, int]) -> Unit:
        """Return the unit with these exponents, with a short name if it has one.

        Args:
            exponents: exponents of the base units.
        """
        nonzero = {base: n for base, n in exponents.items() if n}
        for name in ("N", "N.m", "N/m", "V", "C", "Ohm", "H", "F"):
            unit = cls.of(name)
            if unit is not None and unit.exponents == nonzero:
                return unit
        over = ".".join(base + (str(n) if n > 1 else "") for base, n in nonzero.items() if n > 0)
        below = [base + (str(-n) if n < -1 else "") for base, n in nonzero.items() if n < 0]
        under = "" if not below else "/" + (below[0] if len(below) == 1 else f"({'.'.join(below)})")
        return cls((over or "1") + under, nonzero)


def _joined(part: str) -> str:
    """A product in FMI's notation, with points and without power signs."""
    return re.sub(r"[\s·*]+", ".", part.strip()).replace("^", "")
