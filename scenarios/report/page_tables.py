"""Tables of a page: endings, medians, pairs of controllers and the worst runs."""

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
from ..comparison.outcomes import OK, OUTCOMES, STATUS
from ..comparison.paired import PairedSummary
from ..comparison.tables import cell_text, number, with_interval
from .study_comparisons import StudyComparisons


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: text shown.
        number: number by which JavaScript sorts the cell; empty if it is missing, None for cells of text.
        command: True for a command to be typed in a terminal.
    """

    text: str
    number: str | None = None
    command: bool = False


@dataclass(frozen=True)
class Head:
    """The head of a column.

    Attributes:
        text: text shown.
        numbers: True if the column is sorted by numbers.
    """

    text: str
    numbers: bool = False


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        id: id of the HTML element.
        caption: caption.
        heads: heads of the columns.
        rows: rows of cells, one cell for each head.
    """

    id: str
    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, id: str, caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
        """Build a table; a column is sorted by numbers if any of its cells has one.

        Args:
            id: id of the HTML element.
            caption: caption.
            heads: heads of the columns.
            rows: rows of cells.
        """
        numbers = [any(row[i].number is not None for row in rows) for i in range(len(heads))]
        # Tables are pasted into spreadsheets.
        texts = [
            tuple(cell if cell.number is not None else replace(cell, text=cell_text(cell.text)) for cell in row)
            for row in rows
        ]
        return cls(id, caption, tuple(map(Head, map(cell_text, heads), numbers)), tuple(texts))


def numeric(value: float, text: str | None = None) -> Cell:
    """Return a cell with a number.

    Args:
        value: number for sorting; NaN comes last.
        text: text shown; the number with three digits if not given.
    """
    known = "" if math.isnan(value) else repr(float(value)).replace("inf", "Infinity")
    return Cell(number(value) if text is None else text, known)


def whole(value: int) -> Cell:
    """Return a cell with a whole number.

    Args:
        value: the number.
    """
    return numeric(value, f"{value:,}")


def estimated(estimate: Estimate) -> Cell:
    """Return a cell with an estimate and its interval.

    Args:
        estimate: the estimate.
    """
    return numeric(estimate.value, with_interval(estimate) if not math.isnan(estimate.value) else "-")


def share(estimate: Estimate) -> Cell:
    """Return a cell with a share as a percentage and its interval.

    Args:
        estimate: estimate of the share.
    """
    value, low, high = (f"{100 * each:.3g}" for each in (estimate.value, estimate.low, estimate.high))
    return numeric(estimate.value, f"{value} % [{low}, {high}]")


def endings_table(gathered: StudyComparisons) -> Table:
    """Build the table of how many runs of each controller are done, had to stop, settled and stayed clear.

    Args:
        gathered: results of the study.
    """
    rates_of = {name: comparison.rates for name, comparison in gathered.per_controller.items()}
    outcomes = [outcome for outcome in OUTCOMES if any(outcome in rates for rates in rates_of.values())]
    rows: list[list[Cell]] = []
    for name, rates in rates_of.items():
        stopped = int(np.count_nonzero(~gathered.columns[name][OK]))
        shares = [share(rates[each].share(name)) if each in rates else numeric(math.nan) for each in outcomes]
        rows.append([Cell(name), whole(len(gathered.columns[name][OK])), whole(stopped), *shares])
    meanings = "; ".join(f"{outcome}: the run {OUTCOMES[outcome]}" for outcome in outcomes)
    caption = f"Runs of each controller, and shares of these runs with Wilson's intervals. {meanings.capitalize()}."
    return Table.of("ended", caption, ["controller", "runs", "had to stop", *outcomes], rows)


def stops_table(gathered: StudyComparisons) -> Table:
    """Build the table of the reasons why runs had to stop, or could not start.

    Args:
        gathered: results of the study.
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
        "Reasons why runs had to stop, or could not start, with the message of the first such run.",
        ["controller", "status", "runs", "first run", "message"],
        rows,
    )


def medians_table(gathered: StudyComparisons) -> Table:
    """Build the table of the medians of each metric and controller.

    Args:
        gathered: results of the study.
    """
    rows: list[list[Cell]] = []
    for metric, quantity in gathered.quantities.items():
        together = gathered.together
        ranks: Mapping[str, tuple[int, int]] = {}
        if together is not None and metric in together.ranked:
            ranks = together.ranking(metric).ranks
        for name, comparison in gathered.per_controller.items():
            if metric not in comparison.results[name]:
                continue
            each = comparison.summary(metric, name)
            low, high = each.quartiles
            rank = ranks.get(name)
            rows.append(
                [
                    Cell(quantity.label),
                    Cell(name),
                    estimated(each.median),
                    numeric(low),
                    numeric(high),
                    numeric(each.mean),
                    numeric(each.finite / max(each.runs, 1), f"{each.finite:,} of {each.runs:,}"),
                    numeric(math.nan, "") if rank is None else numeric(sum(rank) / 2, _rank_text(*rank)),
                ]
            )
    heads = ["metric", "controller", "median", "quartile 1", "quartile 3", "mean of the finite", "finite", "rank"]
    caption = f"Medians of all runs, with intervals of {100 * gathered.confidence:g} %."
    return Table.of("metrics", caption, heads, rows)


def pairs_table(comparison: Comparison) -> Table:
    """Build the table of each ranking metric of each pair of controllers.

    Args:
        comparison: comparison of all controllers on the same runs.
    """
    rows = [_pair(comparison, pair) for pair in comparison.pairs if pair.metric in comparison.ranked]
    heads = ["metric", "first", "second", "better : worse", "median difference", "P(first better)", "d_z"]
    caption = (
        f"Differences first − second on {len(comparison.seeds):,} pairs of runs with the same point and seed, with "
        f"intervals of {100 * comparison.confidence:g} %."
    )
    return Table.of("paired", caption, [*heads, "rank-biserial", "p (Holm)"], rows)


def left_out(gathered: StudyComparisons) -> Iterator[str]:
    """Yield sentences on missing metrics, by reason.

    Args:
        gathered: results of the study.

    Yields:
        A sentence for each reason and controller.
    """
    missing = gathered.results.manifest["left_out"]
    pairs = [(why, name, metric) for name, reasons in missing.items() for metric, why in reasons.items()]
    pairs.sort()
    for (why, name), group in itertools.groupby(pairs, key=lambda each: each[:2]):
        yield f"{name} has no {', '.join(metric for *_, metric in group)}: {why}."


def _pair(comparison: Comparison, pair: PairedSummary) -> list[Cell]:
    paired = pair.paired
    p = "<1e-16" if pair.adjusted < 1e-16 else f"{pair.adjusted:.2g}"
    return [
        Cell(comparison.quantities[pair.metric].label),
        Cell(pair.first),
        Cell(pair.second),
        numeric((paired.wins - paired.losses) / max(paired.n, 1), f"{paired.wins:,} : {paired.losses:,}"),
        estimated(paired.difference),
        estimated(paired.chance),
        estimated(paired.effect),
        numeric(paired.rank_biserial),
        numeric(pair.adjusted, p),
    ]


def _rank_text(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"


STOPPED, WORST = 3, 3
"""Largest numbers of runs shown for each controller: runs that had to stop, and the worst others."""


def worst_table(gathered: StudyComparisons, path: Path) -> Table:
    """Build the table of the worst runs of each controller, with the command that replays each.

    Args:
        gathered: results of the study.
        path: path of the folder of results, as shown in the command.
    """
    metric = gathered.main
    label = gathered.quantities[metric].label if metric is not None else "metric"
    rows = [_row(gathered, path, name, index, why) for name, index, why in _cases(gathered)]
    heads = ["controller", "why", label, "run", "task", "point", "seed", "replay"]
    return Table.of("cases", "The worst runs of each controller, and the command that replays each.", heads, rows)


def replay_command(path: Path, task: int, run: int) -> str:
    """Return the command that replays a run.

    Args:
        path: path of the folder of results.
        task: index of the task.
        run: index of the run.
    """
    return f"erugin replay {shlex.quote(str(path))} --task {task} --run {run}"


def _cases(gathered: StudyComparisons) -> Iterator[tuple[str, int, str]]:
    """Yield the controller, the index among its runs, and the reason for showing the run."""
    for name, columns in gathered.columns.items():
        ok = np.asarray(columns[OK], dtype=np.bool_)
        stopped = np.flatnonzero(~ok)
        # One run of each status first.
        _, kinds = np.unique(columns[STATUS][stopped], return_index=True)
        order = dict.fromkeys([*np.sort(kinds).tolist(), *range(len(stopped))])
        for i in list(order)[:STOPPED]:
            index = int(stopped[i])
            yield name, index, f"had to stop, {Status(int(columns[STATUS][index]))}"
        metric = gathered.main
        if metric is None or metric not in gathered.per_controller[name].results[name]:
            continue
        sign = -1.0 if gathered.quantities[metric].better == "more" else 1.0
        values = np.where(ok, sign * columns[metric], np.nan)
        known = np.flatnonzero(~np.isnan(values))
        extreme = "least" if sign < 0 else "largest"
        for index in known[np.argsort(-values[known], kind="stable")][:WORST].tolist():
            yield name, index, f"{extreme} {metric}"


def _row(gathered: StudyComparisons, path: Path, name: str, index: int, why: str) -> list[Cell]:
    columns, metric, value = gathered.columns[name], gathered.main, float("nan")
    if metric is not None and metric in gathered.per_controller[name].results[name]:
        value = float(columns[metric][index])
    run, task, point, seed = (int(columns[key][index]) for key in ("run", "task", "point", "seed"))
    return [
        Cell(name),
        Cell(why),
        numeric(value),
        *map(whole, (run, task, point, seed)),
        Cell(replay_command(path, task, run), command=True),
    ]
