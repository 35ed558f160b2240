"""What was found, as tables: endings, medians and pairs."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from ...controllers.status import Status
from ..comparison.comparison import Comparison
from ..comparison.findings import Pair
from ..comparison.outcomes import OUTCOMES
from ..comparison.trial import OK, STATUS
from .cells import Cell, Table, estimated, numeric, share, whole
from .gathered import Gathered


def endings_table(gathered: Gathered) -> Table:
    """How many runs of each controller are done, had to stop, settled and kept clear.

    Args:
        gathered: the results.
    """
    found = {name: comparison.rates for name, comparison in gathered.alone.items()}
    outcomes = [outcome for outcome in OUTCOMES if any(outcome in rates for rates in found.values())]
    rows: list[list[Cell]] = []
    for name, rates in found.items():
        stopped = int(np.count_nonzero(~gathered.columns[name][OK]))
        told = [share(rates[each].share(name)) if each in rates else numeric(math.nan) for each in outcomes]
        rows.append([Cell(name), whole(len(gathered.columns[name][OK])), whole(stopped), *told])
    meanings = "; ".join(f"{outcome}: the run {OUTCOMES[outcome]}" for outcome in outcomes)
    caption = f"Runs of each controller, with shares of them and Wilson's intervals. {meanings.capitalize()}."
    return Table.of("ended", caption, ["controller", "runs", "had to stop", *outcomes], rows)


def stops_table(gathered: Gathered) -> Table:
    """Why runs had to stop, or could not begin.

    Args:
        gathered: the results.
    """
    rows: list[list[Cell]] = []
    for name, columns in gathered.columns.items():
        failed = ~np.asarray(columns[OK], dtype=np.bool_)
        counts = Counter(map(int, columns[STATUS][failed]))
        for status, count in counts.items():
            first = int(columns["run"][np.flatnonzero(failed & (columns[STATUS] == status))[0]])
            rows.append(
                [Cell(name), Cell(str(Status(status))), whole(count), whole(first), Cell(gathered.endings[first])]
            )
    return Table.of(
        "stops",
        "Why runs had to stop, or could not begin, and what the first such run said.",
        ["controller", "status", "runs", "first run", "what it said"],
        rows,
    )


def medians_table(gathered: Gathered) -> Table:
    """Each metric of each controller.

    Args:
        gathered: the results.
    """
    rows: list[list[Cell]] = []
    for metric, quantity in gathered.quantities.items():
        together = gathered.together
        places: Mapping[str, tuple[int, int]] = {}
        if together is not None and metric in together.ranked:
            places = together.ranking(metric).places
        for name, comparison in gathered.alone.items():
            if metric not in comparison.results[name]:
                continue
            each = comparison.summary(metric, name)
            low, high = each.quartiles
            place = places.get(name)
            rows.append(
                [
                    Cell(quantity.label),
                    Cell(name),
                    estimated(each.median),
                    numeric(low),
                    numeric(high),
                    numeric(each.mean),
                    numeric(each.finite / max(each.runs, 1), f"{each.finite:,} of {each.runs:,}"),
                    numeric(math.nan, "") if place is None else numeric(sum(place) / 2, _places(*place)),
                ]
            )
    heads = ["metric", "controller", "median", "quartile 1", "quartile 3", "mean of the finite", "finite", "place"]
    caption = f"Medians of all runs, with intervals of {100 * gathered.confidence:g} %."
    return Table.of("metrics", caption, heads, rows)


def pairs_table(comparison: Comparison) -> Table:
    """Each metric that ranks of each pair of controllers.

    Args:
        comparison: of all controllers on the same runs.
    """
    rows = [_pair(comparison, pair) for pair in comparison.pairs if pair.metric in comparison.ranked]
    heads = ["metric", "first", "second", "better : worse", "median difference", "P(first better)", "d_z"]
    caption = (
        f"Differences first − second on {len(comparison.seeds):,} pairs of runs with the same point and seed, with "
        f"intervals of {100 * comparison.confidence:g} %."
    )
    return Table.of("paired", caption, [*heads, "rank-biserial", "p (Holm)"], rows)


def left_out(gathered: Gathered) -> Iterator[str]:
    """Which metrics controllers have not, and why, reason by reason.

    Args:
        gathered: the results.

    Yields:
        A sentence for each reason.
    """
    told = gathered.results.manifest["left_out"]
    pairs = [(why, name, metric) for name, reasons in told.items() for metric, why in reasons.items()]
    pairs.sort()
    for (why, name), group in itertools.groupby(pairs, key=lambda each: each[:2]):
        yield f"{name} has no {', '.join(metric for *_, metric in group)}: {why}."


def _pair(comparison: Comparison, pair: Pair) -> list[Cell]:
    found = pair.paired
    p = "<1e-16" if pair.adjusted < 1e-16 else f"{pair.adjusted:.2g}"
    return [
        Cell(comparison.quantities[pair.metric].label),
        Cell(pair.first),
        Cell(pair.second),
        numeric((found.wins - found.losses) / max(found.n, 1), f"{found.wins:,} : {found.losses:,}"),
        estimated(found.difference),
        estimated(found.chance),
        estimated(found.effect),
        numeric(found.rank_biserial),
        numeric(pair.adjusted, p),
    ]


def _places(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"
