"""Tables of a page: endings, medians, pairs of controllers and the worst runs, and the cells they are made of."""

from __future__ import annotations

import itertools
import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...controllers.status import Status
from ..comparison.comparison import Comparison
from ..comparison.estimate import Estimate
from ..comparison.paired import PairedSummary
from ..comparison.proportions import OUTCOMES
from ..comparison.tables import cell_text, number, with_interval
from ..comparison.trial import OK, STATUS
from .study_comparisons import StudyComparisons


@dataclass(frozen=True)
class Cell:
    """What stands in a table.

    Attributes:
        text: what is shown.
        number: what JavaScript reads as the number that it is sorted by; empty for none, None where it is text.
        command: whether it is to be typed into a terminal.
    """

    text: str
    number: str | None = None
    command: bool = False


@dataclass(frozen=True)
class Head:
    """Of a column.

    Attributes:
        text: what is shown.
        numbers: whether the column is sorted by numbers.
    """

    text: str
    numbers: bool = False


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        id: of the element.
        caption: what it shows.
        heads: of the columns.
        rows: as many cells each as there are heads.
    """

    id: str
    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, id: str, caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
        """A column is of numbers if a cell of it has one.

        Args:
            id: of the element.
            caption: what it shows.
            heads: of the columns.
            rows: of cells.
        """
        numbers = [any(row[i].number is not None for row in rows) for i in range(len(heads))]
        # Tables of pages are opened and pasted into spreadsheets.
        texts = [
            tuple(cell if cell.number is not None else replace(cell, text=cell_text(cell.text)) for cell in row)
            for row in rows
        ]
        return cls(id, caption, tuple(map(Head, map(cell_text, heads), numbers)), tuple(texts))


def numeric(value: float, text: str | None = None) -> Cell:
    """A number.

    Args:
        value: what it is sorted by; NaN stands last.
        text: what is shown; the number with three digits if not given.
    """
    known = "" if math.isnan(value) else repr(float(value)).replace("inf", "Infinity")
    return Cell(number(value) if text is None else text, known)


def whole(value: int) -> Cell:
    """A count, or the number of a thing.

    Args:
        value: what is shown.
    """
    return numeric(value, f"{value:,}")


def estimated(estimate: Estimate) -> Cell:
    """A number with its interval.

    Args:
        estimate: the number.
    """
    return numeric(estimate.value, with_interval(estimate) if not math.isnan(estimate.value) else "-")


def share(estimate: Estimate) -> Cell:
    """A share as a percentage with its interval.

    Args:
        estimate: of the share.
    """
    value, low, high = (f"{100 * each:.3g}" for each in (estimate.value, estimate.low, estimate.high))
    return numeric(estimate.value, f"{value} % [{low}, {high}]")


def endings_table(gathered: StudyComparisons) -> Table:
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


def stops_table(gathered: StudyComparisons) -> Table:
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


def medians_table(gathered: StudyComparisons) -> Table:
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


def left_out(gathered: StudyComparisons) -> Iterator[str]:
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


def _pair(comparison: Comparison, pair: PairedSummary) -> list[Cell]:
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


STOPPED, WORST = 3, 3
"""Runs of each controller that had to stop, and others, that are shown at most."""


def worst_table(gathered: StudyComparisons, path: Path) -> Table:
    """Some runs of each controller, with the command that replays each.

    Args:
        gathered: the results.
        path: of the folder of results, as the command is to have it.
    """
    metric = gathered.main
    label = gathered.quantities[metric].label if metric is not None else "metric"
    rows = [_row(gathered, path, name, place, why) for name, place, why in _cases(gathered)]
    heads = ["controller", "why", label, "run", "task", "point", "seed", "replay"]
    return Table.of("cases", "The worst runs of each controller, and the command that replays each.", heads, rows)


def replay_command(path: Path, task: int, run: int) -> str:
    """What replays a run, for a terminal.

    Args:
        path: of the folder of results.
        task: number of the task.
        run: number of the run.
    """
    return f"erugin replay {shlex.quote(str(path))} --task {task} --run {run}"


def _cases(gathered: StudyComparisons) -> Iterator[tuple[str, int, str]]:
    """Controller, place among its runs, and why it is here."""
    for name, columns in gathered.columns.items():
        ok = np.asarray(columns[OK], dtype=np.bool_)
        stopped = np.flatnonzero(~ok)
        # One of each kind first.
        _, kinds = np.unique(columns[STATUS][stopped], return_index=True)
        order = dict.fromkeys([*np.sort(kinds).tolist(), *range(len(stopped))])
        for i in list(order)[:STOPPED]:
            place = int(stopped[i])
            yield name, place, f"had to stop, {Status(int(columns[STATUS][place]))}"
        metric = gathered.main
        if metric is None or metric not in gathered.alone[name].results[name]:
            continue
        sign = -1.0 if gathered.quantities[metric].better == "more" else 1.0
        values = np.where(ok, sign * columns[metric], np.nan)
        known = np.flatnonzero(~np.isnan(values))
        which = "least" if sign < 0 else "largest"
        for place in known[np.argsort(-values[known], kind="stable")][:WORST].tolist():
            yield name, place, f"{which} {metric}"


def _row(gathered: StudyComparisons, path: Path, name: str, place: int, why: str) -> list[Cell]:
    columns, metric, value = gathered.columns[name], gathered.main, float("nan")
    if metric is not None and metric in gathered.alone[name].results[name]:
        value = float(columns[metric][place])
    run, task, point, seed = (int(columns[key][place]) for key in ("run", "task", "point", "seed"))
    return [
        Cell(name),
        Cell(why),
        numeric(value),
        *map(whole, (run, task, point, seed)),
        Cell(replay_command(path, task, run), command=True),
    ]
