"""Named symbolic parameters with nominal values.

A parameter is declared by its owner (a robot's mass, a disc's centre, a gain) and stays a symbol in every expression,
so that one compiled function serves a whole sweep.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ModelError, ParameterError, require_name, unknown_name
from .validation import finite, vector


class Range(Enum):
    """Values that a parameter may have; the text completes "must be …"."""

    ANY = "finite"
    POSITIVE = "greater than zero"
    NOT_NEGATIVE = "at least zero"
    SIGN = "+1 or -1"
    SIGN_OR_ZERO = "+1, -1 or 0"

    def allows(self, value: float) -> bool:
        """True if a finite value lies in the range."""
        match self:
            case Range.POSITIVE:
                return value > 0.0
            case Range.NOT_NEGATIVE:
                return value >= 0.0
            case Range.SIGN:
                return value in (1.0, -1.0)
            case Range.SIGN_OR_ZERO:
                return value in (1.0, -1.0, 0.0)
            case _:
                return True


@dataclass(frozen=True, eq=False)
class Parameters:
    """An ordered set of named scalar symbols.

    Attributes:
        names: the names, in the order of ``symbols``.
        symbols: the symbols, shape (n,).
        nominal: value of each parameter that has one.
        ranges: range of each parameter; any finite number if not given.
    """

    names: tuple[str, ...]
    symbols: ca.SX
    nominal: Mapping[str, float]
    ranges: Mapping[str, Range] = field(default_factory=dict[str, Range])

    def __post_init__(self) -> None:
        """Check that the parts belong together and freeze the values."""
        object.__setattr__(self, "names", tuple(self.names))
        if len(self.names) != self.symbols.numel():
            raise ParameterError(f"{len(self.names)} names were given for {self.symbols.numel()} symbols")
        # A symbol's own name ends where CasADi finds a NUL.
        for name in (*self.names, *self.nominal, *self.ranges):
            require_name("a parameter", name, ParameterError)
        doubled = sorted({name for name in self.names if self.names.count(name) > 1})
        if doubled:
            raise ParameterError(f"parameter names must differ; given more than once: {', '.join(doubled)}")
        for name in (*self.nominal, *self.ranges):
            if name not in self.names:
                raise ParameterError(unknown_name("parameter", name, self.names))
        nominal = {name: self._require(name, value) for name, value in self.nominal.items()}
        object.__setattr__(self, "ranges", MappingProxyType(dict(self.ranges)))
        object.__setattr__(self, "nominal", MappingProxyType(nominal))

    @classmethod
    def declare(
        cls, values: Mapping[str, float], prefix: str = "", *, ranges: Mapping[str, Range] | None = None
    ) -> Parameters:
        """Create one symbol per value.

        Args:
            values: nominal values by name.
            prefix: ``"disc"`` gives names like ``"disc.radius"``.
            ranges: range of each, by the same names; any finite number if not given.

        Raises:
            ParameterError: if a value is not finite or out of its range, or a name is not valid.
        """
        full = {name: f"{prefix}.{name}" if prefix else name for name in values}
        for name in (*values, *full.values()):
            require_name("a parameter", name, ParameterError)
        names = tuple(full.values())
        symbols = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in names))
        limits = {full.get(name, name): limit for name, limit in (ranges or {}).items()}
        return cls(names, symbols, dict(zip(names, values.values(), strict=True)), limits)

    @classmethod
    def collect(cls, parts: Iterable[Parameters]) -> Parameters:
        """Join sets in order; a symbol that occurs in several parts is kept once, at its first position."""
        names: list[str] = []
        symbols: list[ca.SX] = []
        hashes: dict[str, int] = {}
        nominal: dict[str, float] = {}
        ranges: dict[str, Range] = {}
        for part in parts:
            for name, symbol in part:
                if name not in hashes:
                    names.append(name)
                    symbols.append(symbol)
                    hashes[name] = symbol.element_hash()
                    if name in part.ranges:
                        ranges[name] = part.ranges[name]
                    if name in part.nominal:
                        nominal[name] = part.nominal[name]
                elif hashes[name] != symbol.element_hash():
                    raise ParameterError(
                        f"two different parameters are called {name!r}; to share one, build its owner once and pass "
                        "the same object to all that use it, else give their owners different names (name=...)"
                    )
        return cls(tuple(names), ca.vertcat(ca.SX(0, 1), *symbols), nominal, ranges)

    def __iter__(self) -> Iterator[tuple[str, ca.SX]]:
        """Pairs of name and symbol."""
        return ((name, self.symbols[i]) for i, name in enumerate(self.names))

    def __len__(self) -> int:
        """Number of parameters."""
        return len(self.names)

    def __getitem__(self, name: str) -> ca.SX:
        """The symbol with this name."""
        if name not in self.names:
            raise ParameterError(unknown_name("parameter", name, self.names))
        return self.symbols[self.names.index(name)]

    def beyond(self, other: Parameters) -> tuple[list[int], ca.SX]:
        """Indices and symbols, shape (k,), of the parameters whose names ``other`` does not have."""
        indices = [i for i, name in enumerate(self.names) if name not in other.names]
        # Not symbols[indices]: from a single symbol CasADi selects nothing as a row, of shape (1, 0).
        return indices, ca.vertcat(ca.SX(0, 1), *(self.symbols[i] for i in indices))

    def values(self, p: Mapping[str, float] | ArrayLike | None = None) -> NDArray[np.float64]:
        """Values of all parameters.

        Args:
            p: None for the nominal values; a mapping that overrides some of them; or the whole vector, shape (n,).

        Returns:
            The values in the order of ``names``, shape (n,).

        Raises:
            ParameterError: if a name is unknown, a parameter has no value, or a value is out of its range.
            ShapeError: if the vector has another length, or a number that is not finite.
        """
        if p is not None and not isinstance(p, Mapping):
            array = vector("p", p, len(self))
            if not self._all_allowed(array):
                for name in self.ranges:
                    self._require(name, array[self.names.index(name)])
            return array
        given: Mapping[str, float] = {} if p is None else p
        numbers: dict[str, float] = {}
        for name in given:
            if name not in self.names:
                raise ParameterError(unknown_name("parameter", name, self.names))
            numbers[name] = self._require(name, given[name])
        missing = [name for name in self.names if name not in given and name not in self.nominal]
        if missing:
            raise ParameterError(f"no value for {', '.join(missing)}: they have no nominal value, so pass p=")
        return np.array([numbers[name] if name in numbers else self.nominal[name] for name in self.names], np.float64)

    def _all_allowed(self, array: NDArray[np.float64]) -> bool:
        """True if all numbers of a finite vector lie in their ranges; vectorized, because control ticks call it."""
        above, signs, sides = self._bounds
        return (
            bool((array > above).all())
            and (not signs.size or bool((np.abs(array[signs]) == 1.0).all()))
            and (not sides.size or bool(np.isin(array[sides], (-1.0, 0.0, 1.0)).all()))
        )

    @functools.cached_property
    def _bounds(self) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
        """Lower bound of each number, and the indices of those that are signs, and that are signs or zero."""
        least = {Range.POSITIVE: 0.0, Range.NOT_NEGATIVE: math.nextafter(0.0, -1.0)}
        allowed = [self.ranges.get(name, Range.ANY) for name in self.names]
        above = np.array([least.get(each, -math.inf) for each in allowed], dtype=np.float64)
        signs, sides = (np.flatnonzero([each is kind for each in allowed]) for kind in (Range.SIGN, Range.SIGN_OR_ZERO))
        return above, signs, sides

    def _require(self, name: str, value: float) -> float:
        allowed = self.ranges.get(name, Range.ANY)
        number = value
        # Skipped for the usual number: a text for the message costs more than the rest.
        if type(value) is not float or not math.isfinite(value):
            try:
                number = finite(f"parameter {name!r}", value)
            except ModelError as error:
                raise ParameterError(str(error)) from error
        if not allowed.allows(number):
            raise ParameterError(f"parameter {name!r} must be {allowed.value}, got {number!r}")
        return number


NO_PARAMETERS = Parameters((), ca.SX(0, 1), {})
