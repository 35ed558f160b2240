"""Comparisons as text for a terminal, as a data frame, and as a file of comma-separated values."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ...simulation.storage.atomic_file import write_whole
from ...symbolic.optional_dependencies import import_optional
from .comparison import Robustness
from .estimate import Estimate
from .outcomes import ENDING, OK

if TYPE_CHECKING:
    import pandas as pd

    from .comparison import Comparison
    from .paired import PairedSummary


FORMULA = frozenset("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
"""Characters with which spreadsheets start a formula; the last four are wide forms of the first."""


def comparison_text(comparison: Comparison, metrics: Sequence[str], width: int) -> str:
    """Return the results as text.

    Args:
        comparison: results of the comparison.
        metrics: names of the metrics to show.
        width: width of the terminal, in characters.
    """
    share = f"{100 * comparison.confidence:g} %"
    randomized = dict.fromkeys(name for columns in comparison.columns.values() for name in columns)
    parts: list[RenderableType] = [
        Text(
            f"{comparison.name}: {len(comparison.seeds)} runs of each controller, the same for all; randomized: "
            f"{', '.join(randomized) or 'nothing'}. Intervals of {share}."
        ),
        _runs(comparison),
        *map(Text, _stops(comparison)),
        Text(
            "\nMedians of all runs, [interval], (quartiles); a run that had to stop, or has no finite metric, counts "
            "as the worst. Rank: as far as the intervals support it."
        ),
        _medians(comparison, metrics),
    ]
    if len(comparison.controllers) > 1:
        parts += [
            Text(
                "\nDifferences of pairs of runs, first - second: median [interval]; P(first better) [interval]; "
                "Cohen's d_z of the pairs in which both are finite; p of the signed-rank test, adjusted by Holm's "
                "method over all lines."
            ),
            _pairs(comparison, metrics),
        ]
        equal = [f"{p.metric} of {p.first} and {p.second}" for p in comparison.pairs
                 if p.metric in metrics and p.metric in comparison.ranked and not _differs(comparison, p)]  # fmt: skip
        parts += [Text("\nEqual in all runs: " + "; ".join(equal))] if equal else []
    for sweep in comparison.robustness.values():
        metric = next((name for name in metrics if name in comparison.ranked), None)
        if metric is not None:
            parts += [Text(f"\n{comparison.quantities[metric].label}, median, against {sweep.meaning}:")]
            parts += [_sweep(sweep, metric)]
    parts += [Text(f"\nLeft out: {line}") for line in _left_out(comparison, metrics)]
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, color_system=None, emoji=False, markup=False)
    for part in parts:
        console.print(part)
    return file.getvalue()


def number(value: float) -> str:
    """Format a number with three digits.

    Args:
        value: number, may be infinite or NaN.
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}∞"
    short = f"{value:.3g}"
    return f"{float(short):.0f}" if 1e3 <= abs(value) < 1e6 else short


def with_interval(estimate: Estimate) -> str:
    """Format an estimate and its interval.

    Args:
        estimate: the estimate.
    """
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def duration(seconds: float) -> str:
    """Format a short time in a suitable unit.

    Args:
        seconds: time [s].
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def data_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a data frame with one row per controller and seed.

    Args:
        comparison: results of the comparison.

    Raises:
        MissingPackageError: without pandas.
    """
    import_optional("pandas", "data")
    import pandas as pd

    frames: list[pd.DataFrame] = []
    for name, columns in comparison.results.items():
        n = len(comparison.seeds)
        identity = {"controller": np.full(n, name), "seed": comparison.seeds}
        frames.append(pd.DataFrame({**identity, **comparison.columns.get(name, {}), **columns}))
    frame = pd.concat(frames, ignore_index=True)
    frame.attrs = {"units": {name: quantity.unit for name, quantity in comparison.quantities.items()}}
    return frame


def write_table(comparison: Comparison, path: Path) -> None:
    """Write the text to a file, either completely or not at all.

    Args:
        comparison: results of the comparison.
        path: path of the file.

    Raises:
        OSError: if it cannot be written.
    """
    text = comparison.table()
    write_whole(path, lambda target: _write(target, text))


def write_runs(comparison: Comparison, path: Path) -> None:
    """Write every run as a line of comma-separated values, either the whole file or nothing.

    Text that a spreadsheet would read as a formula is preceded by an apostrophe.

    Args:
        comparison: results of the comparison.
        path: path of the file.

    Raises:
        OSError: if it cannot be written.
    """
    parts = {name: {**comparison.columns.get(name, {}), **results} for name, results in comparison.results.items()}
    keys = list(dict.fromkeys(key for part in parts.values() for key in part))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["controller", "seed", *map(cell_text, keys)])
    for name, part in parts.items():
        columns = [part[key].tolist() if key in part else [""] * len(comparison.seeds) for key in keys]
        seeds = comparison.seeds.tolist()
        lines = zip([name] * len(seeds), seeds, *columns, strict=True)
        writer.writerows([cell_text(cell) if isinstance(cell, str) else cell for cell in line] for line in lines)
    text = file.getvalue()
    write_whole(path, lambda target: _write(target, text))


def _write(target: Path, text: str) -> None:
    target.write_text(text, encoding="utf-8")


def _runs(comparison: Comparison) -> Table:
    rates = comparison.rates
    limited = {name: _limited(comparison, name) for name in comparison.controllers}
    # The column is omitted if the status was OK throughout for all laws.
    extra = ["not OK"] if any(limited.values()) else []
    table = Table("controller", *rates, *extra, "time per tick", box=None, pad_edge=False)
    for name in comparison.controllers:
        shares = [_share(rate.share(name)) if name in rate.flags else "-" for rate in rates.values()]
        shares += [f"{100 * limited[name]:.3g} %" for _ in extra]
        time = comparison.tick_times.get(name)
        table.add_row(name, *shares, "-" if time is None else duration(time))
    return table


def _limited(comparison: Comparison, controller: str) -> float:
    """Return the share of the time of all runs in which a law was limited, or its last output was reused."""
    shares = np.asarray(comparison.results[controller].get("not_ok", np.zeros(1)), dtype=np.float64)
    known = shares[np.isfinite(shares)]
    return float(known.mean()) if len(known) else 0.0


def _stops(comparison: Comparison) -> list[str]:
    """Return a line for each controller that had to stop: in how many runs, and the reason in the first of them."""
    lines: list[str] = []
    for name, results in comparison.results.items():
        stopped = np.flatnonzero(~np.asarray(results[OK], dtype=np.bool_))
        if len(stopped):
            first = int(stopped[0])
            lines.append(
                f"\n{name} had to stop in {len(stopped)} of {len(comparison.seeds)} runs, first with seed "
                f"{comparison.seeds[first]}: {results[ENDING][first]}"
            )
    return lines


def cell_text(text: str) -> str:
    """Return a text that no spreadsheet reads as a formula: an apostrophe precedes formulas, as OWASP advises.

    Args:
        text: text of a cell, which may be a name from an untrusted source.
    """
    begins = len(text) > 1 and (text[:1] in FORMULA or text.lstrip()[:1] in FORMULA)
    return f"'{text}" if begins else text


def _share(estimate: Estimate) -> str:
    value, low, high = (f"{100 * each:.3g}" for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} % [{low}, {high}]"


def _medians(comparison: Comparison, metrics: Sequence[str]) -> Table:
    table = Table("metric", "controller", "median", "quartiles", "finite", "rank", box=None, pad_edge=False)
    for metric in metrics:
        quantity = comparison.quantities[metric]
        ranks: Mapping[str, tuple[int, int]] = {}
        if metric in comparison.ranked:
            ranks = comparison.ranking(metric).ranks
        for i, name in enumerate(comparison.controllers_with(metric)):
            each = comparison.summary(metric, name)
            rank = ranks.get(name)
            table.add_row(
                "" if i else quantity.label,
                name,
                with_interval(each.median),
                f"({number(each.quartiles[0])}, {number(each.quartiles[1])})",
                f"{each.finite}/{each.runs}",
                "" if rank is None else f"{rank[0]}" if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}",
            )
    return table


def _pairs(comparison: Comparison, metrics: Sequence[str]) -> Table:
    table = Table("metric", "first", "second", "difference", "P(better)", "d_z", "p", box=None, pad_edge=False)
    for pair in comparison.pairs:
        paired = pair.paired
        if pair.metric not in metrics or not _differs(comparison, pair):
            continue
        chance = with_interval(paired.chance)
        p = "<1e-16" if pair.adjusted < 1e-16 else f"{pair.adjusted:.2g}"
        label = comparison.quantities[pair.metric].label
        cells = with_interval(paired.difference), chance, number(paired.effect.value), p
        table.add_row(label, pair.first, pair.second, *cells)
    return table


def _differs(comparison: Comparison, pair: PairedSummary) -> bool:
    """Return True if a metric that can rank controllers differs between the two in any run."""
    return comparison.quantities[pair.metric].better != "neither" and pair.paired.wins + pair.paired.losses > 0


def _sweep(sweep: Robustness, metric: str) -> Table:
    table = Table("controller", *map(number, sweep.levels), box=None, pad_edge=False)
    for name in sweep.comparisons[0].controllers_with(metric):
        table.add_row(name, *(with_interval(each) for each in sweep.curve(metric, name)))
    return table


def _left_out(comparison: Comparison, metrics: Sequence[str]) -> list[str]:
    """Return a line of missing metrics for each controller and reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, reasons in comparison.left_out.items():
        for metric, why in reasons.items():
            if metric in metrics or metric not in comparison.quantities:
                groups.setdefault((name, why), []).append(metric)
    return [f"{', '.join(names)} of {name}: {why}" for (name, why), names in groups.items()]
