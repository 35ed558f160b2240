"""Which controllers can be told apart by one metric, and in which order."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Ranking:
    """A partial order of controllers: one is before another only where the data say so.

    ``better`` holds with the stated confidence for all pairs together: the simultaneous interval of P(a is better) +
    ½ P(they are equal) lies above ½, so that a is better in more runs than it is worse. What no interval says is not
    said: two controllers between which there is no order are not told apart.

    Attributes:
        metric: by which they are ranked.
        controllers: by their best places, then by their worst ones, then by their medians.
        better: pairs (a, b) of which a is surely better than b.
        left_out: why some are not ranked, by name.
    """

    metric: str
    controllers: tuple[str, ...]
    better: frozenset[tuple[str, str]]
    left_out: Mapping[str, str]

    @property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """Best and worst place that each can have, from 1, given what is sure."""
        n = len(self.controllers)
        before = {name: sum((other, name) in self.better for other in self.controllers) for name in self.controllers}
        behind = {name: sum((name, other) in self.better for other in self.controllers) for name in self.controllers}
        return {name: (1 + before[name], n - behind[name]) for name in self.controllers}

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The largest sets of controllers no two of which are told apart, in the order of their best members.

        A controller may be in several: not to be told apart is not transitive.
        """
        found: list[frozenset[str]] = []

        def grow(chosen: frozenset[str], possible: frozenset[str], done: frozenset[str]) -> None:
            if not possible and not done:
                found.append(chosen)
            for name in [name for name in self.controllers if name in possible]:
                near = self._alike(name)
                grow(chosen | {name}, possible & near, done & near)
                possible, done = possible - {name}, done | {name}

        grow(frozenset(), frozenset(self.controllers), frozenset())
        order = {name: i for i, name in enumerate(self.controllers)}
        groups = [tuple(sorted(group, key=order.__getitem__)) for group in found]
        return tuple(sorted(groups, key=lambda group: [order[name] for name in group]))

    def _alike(self, name: str) -> frozenset[str]:
        others = (other for other in self.controllers if other != name)
        return frozenset(o for o in others if (o, name) not in self.better and (name, o) not in self.better)

    @property
    def text(self) -> str:
        """The order as a sentence."""
        if len(self.controllers) < 2:
            return f"{self.metric}: nothing to rank"
        told = ", ".join(f"{name} {_places(*self.places[name])}" for name in self.controllers)
        doubtful = [group for group in self.groups if len(group) > 1]
        alike = "; ".join(", ".join(group) for group in doubtful)
        return f"{self.metric}: {told}" + (f". Not told apart: {alike}" if alike else "")


def ranking(
    metric: str,
    ordered: Sequence[str],
    surely_better: Mapping[tuple[str, str], bool],
    left_out: Mapping[str, str],
) -> Ranking:
    """A partial order without circles.

    Who is better in most runs can go round in a circle, a before b before c before a. Then the data support no order
    among these, and none is said.

    Args:
        metric: by which they are ranked.
        ordered: controllers by their medians, the best first.
        surely_better: whether the first of a pair is surely better than the second.
        left_out: why some are not ranked, by name.
    """
    sure = {pair for pair, better in surely_better.items() if better}
    reach = set(sure)
    for middle, first, last in itertools.product(ordered, repeat=3):
        if (first, middle) in reach and (middle, last) in reach:
            reach.add((first, last))
    found = Ranking(metric, tuple(ordered), frozenset((a, b) for a, b in sure if (b, a) not in reach), dict(left_out))
    places = found.places
    return replace(found, controllers=tuple(sorted(ordered, key=lambda name: places[name])))


def _places(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"
