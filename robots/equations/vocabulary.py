"""Every symbol of a robot, with a name and a look that no other has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

from ..robot import Robot
from .naming import symbol
from .rows import Entry
from .tree import Symbol

LETTERS = (*"wszryhabcdef", *("w" * k for k in range(2, 100)))
"""For intermediate quantities, the first that no other name begins with."""


@dataclass(frozen=True)
class Vocabulary:
    """What the symbols of a robot are called.

    Attributes:
        expressions: the robot's symbols, shape (n,): t, q, v, a, u, p.
        symbols: how each is printed, n of them.
        velocities: names of the velocities, those of the coordinates where v = q̇.
        speeds: how the velocities are printed.
        accelerations: how the accelerations are printed.
        rates: how q̇ is printed where it is not v; else empty.
        inputs: how the inputs are printed.
        multipliers: of the rows of the natural constraints.
        meanings: an entry of the legend for each name.
        taken: all names.
        holonomic: whether v = q̇.
    """

    expressions: ca.SX
    symbols: tuple[Symbol, ...]
    velocities: tuple[str, ...]
    speeds: tuple[Symbol, ...]
    accelerations: tuple[Symbol, ...]
    rates: tuple[Symbol, ...]
    inputs: tuple[Symbol, ...]
    multipliers: tuple[Symbol, ...]
    meanings: dict[str, Entry]
    taken: frozenset[str]
    holonomic: bool

    @classmethod
    def of(cls, robot: Robot, rows: tuple[str, ...]) -> Vocabulary:
        """Name everything in ``robot`` and the multipliers of its natural constraints.

        Args:
            robot: whose symbols are named.
            rows: names of the rows of its natural constraints.
        """
        c = robot.coordinates
        plain = c.are_rates
        names = _Names()
        names.add("t", "", "time", "s")
        for name, unit in zip(c.names, c.units, strict=True):
            names.add(name, "coordinate", "coordinate", unit)
        if not plain:
            for i in range(c.nv):
                names.add(c.v[i].name(), "velocity", "velocity", "")
        for name, unit in zip(robot.input_names, robot.input_units, strict=True):
            names.add(name, "input", "input", unit)
        for name in robot.parameters.names:
            value = robot.nominal.get(name)
            names.add(name, "parameter", "parameter" if value is None else f"parameter, nominally {value:g}", "")
        for k, row in enumerate(rows, start=1):
            names.add(f"mu{k}" if len(rows) > 1 else "mu", "multiplier", f"multiplier of {row}", "")

        groups = iter(names.groups(1, c.nq, 0 if plain else c.nv, robot.u.numel(), len(robot.parameters), len(rows)))
        time, coordinates, quasi, inputs, parameters, multipliers = groups
        moving = coordinates if plain else quasi
        speeds = tuple(names.look(key, 1 if plain else 0) for key in moving)
        accelerations = tuple(names.look(key, 2 if plain else 1) for key in moving)
        looks = [names.look(key, 0) for key in (*time, *coordinates)]
        looks += [*speeds, *accelerations, *(names.look(key, 0) for key in (*inputs, *parameters))]
        return cls(
            expressions=ca.vertcat(c.t, c.q, c.v, c.a, robot.u, robot.p),
            symbols=tuple(looks),
            velocities=tuple(moving),
            speeds=speeds,
            accelerations=accelerations,
            rates=() if plain else tuple(names.look(key, 1) for key in coordinates),
            inputs=tuple(names.look(key, 0) for key in inputs),
            multipliers=tuple(names.look(key, 0) for key in multipliers),
            meanings={key: names.entry(key) for key in names.all},
            taken=frozenset(names.all),
            holonomic=plain,
        )

    def intermediate(self, k: int) -> Symbol:
        """Symbol of the k-th intermediate quantity: w₁, w₂ and so on, or with a letter that is free."""
        taken = {match[1] for name in self.taken if (match := re.fullmatch(r"(.*?)_?\d+", name))}
        return symbol(f"{next(base for base in LETTERS if base not in taken)}{k}")


class _Names:
    """Names in order; of two that are equal the later is changed, of two that look equal both are written out."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._meanings: dict[str, tuple[str, str]] = {}
        self._looks: Counter[str] = Counter()

    def add(self, name: str, kind: str, meaning: str, unit: str) -> None:
        key = name
        while key in self._meanings:
            key = f"{key}_{kind}"
        self.all.append(key)
        self._meanings[key] = meaning, unit
        own = symbol(key)
        self._looks.update({own.text, own.latex})

    def groups(self, *sizes: int) -> Iterator[list[str]]:
        names = iter(self.all)
        for size in sizes:
            yield [next(names) for _ in range(size)]

    def look(self, name: str, order: int) -> Symbol:
        own = symbol(name)
        return symbol(name, order, plain=max(self._looks[own.text], self._looks[own.latex]) > 1)

    def entry(self, name: str) -> Entry:
        return Entry(self.look(name, 0), *self._meanings[name])
