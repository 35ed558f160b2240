"""Named symbolic parameters with nominal values.

A parameter is declared where it is born (a robot's mass, a disc's centre, a gain) and stays a symbol in every
expression, so that one compiled function serves a whole sweep.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import vector
from .errors import ParameterError, unknown_name


@dataclass(frozen=True, eq=False)
class Parameters:
    """An ordered set of named scalar symbols.

    Attributes:
        names: the names, in the order of ``symbols``.
        symbols: the symbols, shape (n,).
        nominal: value of each parameter that has one.
    """

    names: tuple[str, ...]
    symbols: ca.SX
    nominal: Mapping[str, float]

    def __post_init__(self) -> None:
        """Check that the parts belong together and freeze the values."""
        if len(self.names) != self.symbols.numel():
            raise ParameterError(f"{len(self.names)} names were given for {self.symbols.numel()} symbols")
        doubled = sorted({name for name in self.names if self.names.count(name) > 1})
        if doubled:
            raise ParameterError(f"parameter names must differ; given more than once: {', '.join(doubled)}")
        for name, value in self.nominal.items():
            if name not in self.names:
                raise ParameterError(unknown_name("parameter", name, self.names))
            if not math.isfinite(value):
                raise ParameterError(f"parameter {name!r} must be finite, got {value!r}")
        object.__setattr__(self, "nominal", MappingProxyType({k: float(v) for k, v in self.nominal.items()}))

    @classmethod
    def declare(cls, values: Mapping[str, float], prefix: str = "") -> Parameters:
        """Make one symbol per entry of ``values``; a prefix ``"disc"`` gives names like ``"disc.radius"``."""
        names = tuple(f"{prefix}.{name}" if prefix else name for name in values)
        symbols = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in names))
        return cls(names, symbols, dict(zip(names, values.values(), strict=True)))

    @classmethod
    def collect(cls, parts: Iterable[Parameters]) -> Parameters:
        """Join sets in order; a symbol that occurs in several parts is kept once, at its first place."""
        names: list[str] = []
        symbols: list[ca.SX] = []
        hashes: dict[str, int] = {}
        nominal: dict[str, float] = {}
        for part in parts:
            for name, symbol in part:
                if name not in hashes:
                    names.append(name)
                    symbols.append(symbol)
                    hashes[name] = symbol.element_hash()
                    if name in part.nominal:
                        nominal[name] = part.nominal[name]
                elif hashes[name] != symbol.element_hash():
                    raise ParameterError(
                        f"two different parameters are called {name!r}; give their owners different names (name=...)"
                    )
        return cls(tuple(names), ca.vertcat(ca.SX(0, 1), *symbols), nominal)

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

    def values(self, p: Mapping[str, float] | ArrayLike | None = None) -> NDArray[np.float64]:
        """Numbers for all parameters.

        Args:
            p: None for the nominal values; a mapping that overrides some of them; or the whole vector, shape (n,).

        Returns:
            The values in the order of ``names``, shape (n,).

        Raises:
            ParameterError: for an unknown name or a parameter without any value.
            ShapeError: for a vector of another length, or a value that is not finite.
        """
        if p is not None and not isinstance(p, Mapping):
            return vector("p", p, len(self))
        given: Mapping[str, float] = {} if p is None else p
        for name in given:
            if name not in self.names:
                raise ParameterError(unknown_name("parameter", name, self.names))
        missing = [name for name in self.names if name not in given and name not in self.nominal]
        if missing:
            raise ParameterError(f"no value for {', '.join(missing)}: they have no nominal value, so pass p=")
        return vector("p", [given[name] if name in given else self.nominal[name] for name in self.names], len(self))


NO_PARAMETERS = Parameters((), ca.SX(0, 1), {})
