"""Factors of a study: settings, levels of numbers, and sampled numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, require_name
from ...symbolic.validation import finite
from ..sampling.distributions import Distribution
from ..sampling.points import Sampler
from ..sampling.seeded_values import values_at
from ..scenario import Scenario, Setting, Value

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST_LEVELS = 1_000_000
Factor = Sequence[Value] | NDArray[np.float64] | Distribution


@dataclass(frozen=True, eq=False)
class Factors:
    """All combinations of settings and levels, each with all points of the sampler.

    Attributes:
        settings: levels of settings of the scenario, by name; each combination of them is a group.
        levels: levels of other numbers, by name.
        sampled: distributions of sampled numbers, by name.
        sampler: sampler of the numbers with a distribution, or None.
    """

    settings: Mapping[str, tuple[Value, ...]] = field(default_factory=dict[str, tuple[Value, ...]])
    levels: Mapping[str, Array] = field(default_factory=dict[str, Array])
    sampled: Mapping[str, Distribution] = field(default_factory=dict[str, Distribution])
    sampler: Sampler | None = None

    @classmethod
    def of(cls, given: Mapping[str, Factor], scenario: Scenario, sampler: Sampler | None) -> Factors:
        """Sort factors into settings, levels and sampled numbers.

        Args:
            given: levels or a distribution, by name.
            scenario: scenario whose settings may be factors.
            sampler: sampler of the factors with a distribution.

        Raises:
            ModelError: for invalid or repeated levels, a distribution without a sampler, or a sampler without a
                distribution.
        """
        settings: dict[str, tuple[Value, ...]] = {}
        levels: dict[str, Array] = {}
        sampled: dict[str, Distribution] = {}
        for name, factor in given.items():
            require_name("a factor", name)
            if name in scenario.settings:
                settings[name] = _settings(name, factor, scenario.settings[name])
            elif isinstance(factor, Distribution):
                sampled[name] = factor
            else:
                levels[name] = _levels(name, factor)
        if sampler is not None and not isinstance(sampler, Sampler):
            raise ModelError(f"sampler must be LatinHypercube(n) or Sobol(n), got {sampler!r}")
        if sampled and sampler is None:
            raise ModelError(
                f"{', '.join(map(repr, sampled))} has a distribution, which requires sampler=LatinHypercube(n) or "
                "Sobol(n): pass one, or give levels"
            )
        if sampler is not None and not sampled:
            raise ModelError("sampler= requires a factor with a distribution, such as Uniform(0.9, 1.1)")
        for name, values in (settings | levels).items():
            if len(set(values)) < len(values):
                raise ModelError(f"a level of {name!r} is given more than once")
        return cls(settings, levels, sampled, sampler)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all factors: settings, then levels, then sampled numbers."""
        return (*self.settings, *self.levels, *self.sampled)

    @property
    def groups(self) -> int:
        """Number of combinations of settings."""
        return math.prod(map(len, self.settings.values()))

    @property
    def points(self) -> int:
        """Number of points in each group."""
        return math.prod(map(len, self.levels.values())) * (1 if self.sampler is None else self.sampler.n)

    def settings_of(self, group: int) -> dict[str, Value]:
        """Return the settings of a group, by name; those of the last factor change fastest.

        Args:
            group: index of the group, from 0.
        """
        chosen: dict[str, Value] = {}
        for name, values in reversed(list(self.settings.items())):
            group, i = divmod(group, len(values))
            chosen[name] = values[i]
        return {name: chosen[name] for name in self.settings}

    def values(self, points: Integers, nominal: Callable[[str], float]) -> dict[str, Array]:
        """Return the values of all numbers at some points of a group, by name, shape (n,) each.

        Args:
            points: indices of the points in the group, ascending, shape (n,).
            nominal: function that returns the value of a name without randomization, for relative distributions.
        """
        count = 1 if self.sampler is None else self.sampler.n
        rest, sample = np.divmod(points, count)
        columns: dict[str, Array] = {}
        for name, values in reversed(list(self.levels.items())):
            rest, i = np.divmod(rest, len(values))
            columns[name] = values[i]
        columns = {name: columns[name] for name in self.levels}
        if self.sampler is not None:
            shares = self._shares(self.sampler, sample)
            for share, (name, distribution) in zip(shares.T, self.sampled.items(), strict=True):
                columns[name] = values_at(name, distribution, share, nominal)
        return columns

    def _shares(self, sampler: Sampler, sample: Integers) -> Array:
        if not len(sample):
            return np.empty((0, len(self.sampled)))
        first, end = int(sample.min()), int(sample.max()) + 1
        return sampler.shares(first, end, len(self.sampled))[sample - first]


def _sequence(name: str, factor: object) -> Sequence[object]:
    if isinstance(factor, np.ndarray):
        factor = cast(NDArray[np.float64], factor).tolist()
    if isinstance(factor, str) or not isinstance(factor, Sequence):
        raise ModelError(f"factor {name!r} must be a list of levels, or a distribution with sampler=, got {factor!r}")
    levels = cast(Sequence[object], factor)
    _require_few(name, len(levels))
    return levels


def _levels(name: str, factor: object) -> Array:
    if isinstance(factor, np.ndarray):
        given = cast(NDArray[np.float64], factor)
        if given.dtype.kind in "fiu" and given.ndim == 1 and np.isfinite(given).all():
            _require_few(name, len(given))
            return given.astype(np.float64)
        factor = given.tolist()
    return np.array([_number(name, value) for value in _sequence(name, factor)])


def _require_few(name: str, n: int) -> None:
    if n > MOST_LEVELS:
        raise ModelError(
            f"factor {name!r} must have at most {MOST_LEVELS} levels, got {n}: give a distribution and sampler=Sobol(n)"
        )


def _number(name: str, value: object) -> float:
    if isinstance(value, str | bool):
        raise ModelError(f"a level of {name!r} must be a number, got {value!r}; it is not a setting of the scenario")
    return finite(f"a level of {name!r}", value)  # type: ignore[arg-type]


def _settings(name: str, factor: object, setting: Setting) -> tuple[Value, ...]:
    if isinstance(factor, Distribution):
        raise ModelError(f"{name!r} is a setting, which rebuilds the model: give levels, not a distribution")
    return tuple(_setting(name, value, setting) for value in _sequence(name, factor))


def _setting(name: str, value: object, setting: Setting) -> Value:
    """Return a level in the type of the setting's default."""
    default = setting.value
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
    elif isinstance(default, str):
        if isinstance(value, str):
            return setting.parse(name, value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(default, float):
            return finite(f"a level of {name!r}", value)
        if float(value).is_integer():
            return int(value)
    kind = {bool: "True or False", str: "a word", int: "a whole number", float: "a number"}[type(default)]
    raise ModelError(f"a level of the setting {name!r} must be {kind}, got {value!r}")
