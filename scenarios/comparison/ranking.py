"""Ranking of controllers by one metric, as far as the data support it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Ranking:
    """A partial order of controllers: one precedes another only where the data support it.

    ``better`` holds with the stated confidence for all pairs simultaneously: the simultaneous interval of P(a is
    better) + ½ P(they are equal) lies above ½, so that a is better in more runs than it is worse. Two controllers
    without an order between them are not distinguished by the data.

    Attributes:
        metric: metric by which the controllers are ranked.
        controllers: names, by their best ranks, then by their worst ranks, then by their medians.
        better: pairs (a, b) of which a is significantly better than b.
        left_out: reasons why some controllers are not ranked, by name.
    """

    metric: str
    controllers: tuple[str, ...]
    better: frozenset[tuple[str, str]]
    left_out: Mapping[str, str]

    @property
    def ranks(self) -> Mapping[str, tuple[int, int]]:
        """Best and worst possible rank of each controller, from 1, given :attr:`better`."""
        n = len(self.controllers)
        before = {name: sum((other, name) in self.better for other in self.controllers) for name in self.controllers}
        behind = {name: sum((name, other) in self.better for other in self.controllers) for name in self.controllers}
        return {name: (1 + before[name], n - behind[name]) for name in self.controllers}

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Largest sets of controllers no two of which are distinguished, in the order of their best members.

        A controller may be in several sets: being indistinguishable is not transitive.
        """
        cliques: list[frozenset[str]] = []

        def grow(chosen: frozenset[str], possible: frozenset[str], done: frozenset[str]) -> None:
            if not possible and not done:
                cliques.append(chosen)
            for name in [name for name in self.controllers if name in possible]:
                near = self._indistinguishable(name)
                grow(chosen | {name}, possible & near, done & near)
                possible, done = possible - {name}, done | {name}

        grow(frozenset(), frozenset(self.controllers), frozenset())
        order = {name: i for i, name in enumerate(self.controllers)}
        groups = [tuple(sorted(clique, key=order.__getitem__)) for clique in cliques]
        return tuple(sorted(groups, key=lambda group: [order[name] for name in group]))

    def _indistinguishable(self, name: str) -> frozenset[str]:
        others = (other for other in self.controllers if other != name)
        return frozenset(o for o in others if (o, name) not in self.better and (name, o) not in self.better)

    @property
    def text(self) -> str:
        """The order as a sentence."""
        if len(self.controllers) < 2:
            return f"{self.metric}: nothing to rank"
        ranked = ", ".join(f"{name} {_rank_text(*self.ranks[name])}" for name in self.controllers)
        groups = "; ".join(", ".join(group) for group in self.groups if len(group) > 1)
        return f"{self.metric}: {ranked}" + (f". Not distinguished: {groups}" if groups else "")


def ranking(
    metric: str,
    ordered: Sequence[str],
    surely_better: Mapping[tuple[str, str], bool],
    left_out: Mapping[str, str],
) -> Ranking:
    """Build a partial order without cycles.

    Being better in most runs can be cyclic: a before b before c before a. Such controllers are not ordered.

    Args:
        metric: metric by which the controllers are ranked.
        ordered: controllers by their medians, the best first.
        surely_better: True for pairs of which the first is significantly better than the second.
        left_out: reasons why some controllers are not ranked, by name.
    """
    sure = {pair for pair, better in surely_better.items() if better}
    reach = set(sure)
    for middle, first, last in itertools.product(ordered, repeat=3):
        if (first, middle) in reach and (middle, last) in reach:
            reach.add((first, last))
    order = Ranking(metric, tuple(ordered), frozenset((a, b) for a, b in sure if (b, a) not in reach), dict(left_out))
    ranks = order.ranks
    return replace(order, controllers=tuple(sorted(ordered, key=lambda name: ranks[name])))


def _rank_text(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"
