"""A comparison as text for a terminal, and as a data frame."""

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

from ...symbolic.optional_dependencies import import_optional
from .comparison import Robustness
from .estimate import Estimate
from .trial import ENDING, OK

if TYPE_CHECKING:
    import pandas as pd

    from .comparison import Comparison
    from .paired import PairedSummary


FORMULA = frozenset("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
"""With any of these a formula begins; the last four are wide forms of the first."""


def comparison_text(comparison: Comparison, metrics: Sequence[str], width: int) -> str:
    """What was found, as text.

    Args:
        comparison: what was found.
        metrics: names of those that are shown.
        width: of the terminal, in characters.
    """
    share = f"{100 * comparison.confidence:g} %"
    varied = dict.fromkeys(name for columns in comparison.columns.values() for name in columns)
    parts: list[RenderableType] = [
        Text(
            f"{comparison.name}: {len(comparison.seeds)} runs of each controller, the same for all; varied: "
            f"{', '.join(varied) or 'nothing'}. Intervals of {share}."
        ),
        _runs(comparison),
        *map(Text, _stops(comparison)),
        Text(
            "\nMedians of all runs, [interval], (quartiles); a run that had to stop, or has no finite metric, counts "
            "as the worst. Place: what the intervals support."
        ),
        _medians(comparison, metrics),
    ]
    if len(comparison.controllers) > 1:
        parts += [
            Text(
                "\nDifferences of pairs of runs, first - second: median [interval]; P(first better) [interval]; "
                "Cohen's d_z of the pairs in which both are finite; p of the signed-rank test after Holm, of all lines "
                "together."
            ),
            _pairs(comparison, metrics),
        ]
        alike = [f"{p.metric} of {p.first} and {p.second}" for p in comparison.pairs
                 if p.metric in metrics and p.metric in comparison.ranked and not _differs(comparison, p)]  # fmt: skip
        parts += [Text("\nNo run tells apart: " + "; ".join(alike))] if alike else []
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
    """A number with three digits.

    Args:
        value: any, also infinite or NaN.
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}∞"
    short = f"{value:.3g}"
    return f"{float(short):.0f}" if 1e3 <= abs(value) < 1e6 else short


def with_interval(estimate: Estimate) -> str:
    """A number and its interval.

    Args:
        estimate: the number.
    """
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def duration(seconds: float) -> str:
    """A short time, with a fitting unit.

    Args:
        seconds: [s].
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def data_frame(comparison: Comparison) -> pd.DataFrame:
    """One row per controller and seed.

    Args:
        comparison: what was found.

    Raises:
        MissingPackageError: without pandas.
    """
    import_optional("pandas", "data")
    import pandas as pd

    frames: list[pd.DataFrame] = []
    for name, columns in comparison.results.items():
        n = len(comparison.seeds)
        told = {"controller": np.full(n, name), "seed": comparison.seeds}
        frames.append(pd.DataFrame({**told, **comparison.columns.get(name, {}), **columns}))
    frame = pd.concat(frames, ignore_index=True)
    frame.attrs = {"units": {name: quantity.unit for name, quantity in comparison.quantities.items()}}
    return frame


def write_table(comparison: Comparison, path: Path) -> None:
    """The text, into a file that is written whole or not at all.

    Args:
        comparison: what was found.
        path: of the file.

    Raises:
        OSError: if it cannot be written.
    """
    from ...simulation.storage.atomic_file import write_whole  # late, for it brings matplotlib

    text = comparison.table()
    write_whole(path, lambda target: _write(target, text))


def write_runs(comparison: Comparison, path: Path) -> None:
    """Every run as a line of comma-separated values, into a file that is written whole or not at all.

    Text that a spreadsheet would take for a formula has an apostrophe before it.

    Args:
        comparison: what was found.
        path: of the file.

    Raises:
        OSError: if it cannot be written.
    """
    from ...simulation.storage.atomic_file import write_whole

    parts = {name: {**comparison.columns.get(name, {}), **found} for name, found in comparison.results.items()}
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
    # Where every law got through all along there is nothing to tell.
    told = ["not OK"] if any(limited.values()) else []
    table = Table("controller", *rates, *told, "time per tick", box=None, pad_edge=False)
    for name in comparison.controllers:
        shares = [_share(rate.share(name)) if name in rate.flags else "-" for rate in rates.values()]
        shares += [f"{100 * limited[name]:.3g} %" for _ in told]
        time = comparison.tick_times.get(name)
        table.add_row(name, *shares, "-" if time is None else duration(time))
    return table


def _limited(comparison: Comparison, controller: str) -> float:
    """Share of the time of all runs in which a law was limited, or its last output was held."""
    shares = np.asarray(comparison.results[controller].get("not_ok", np.zeros(1)), dtype=np.float64)
    known = shares[np.isfinite(shares)]
    return float(known.mean()) if len(known) else 0.0


def _stops(comparison: Comparison) -> list[str]:
    """Of each controller that had to stop: in how many runs, and where and why in the first of them."""
    lines: list[str] = []
    for name, results in comparison.results.items():
        stopped = np.flatnonzero(~np.asarray(results[OK], dtype=np.bool_))
        if len(stopped):
            first = int(stopped[0])
            lines.append(
                f"\n{name} had to stop in {len(stopped)} of {len(comparison.seeds)} runs, the first that of seed "
                f"{comparison.seeds[first]}: {results[ENDING][first]}"
            )
    return lines


def cell_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula: what begins as one gets an apostrophe, as OWASP advises.

    Args:
        text: of a cell, which may be a name that somebody else gave.
    """
    begins = len(text) > 1 and (text[:1] in FORMULA or text.lstrip()[:1] in FORMULA)
    return f"'{text}" if begins else text


def _share(estimate: Estimate) -> str:
    value, low, high = (f"{100 * each:.3g}" for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} % [{low}, {high}]"


def _medians(comparison: Comparison, metrics: Sequence[str]) -> Table:
    table = Table("metric", "controller", "median", "quartiles", "finite", "place", box=None, pad_edge=False)
    for metric in metrics:
        quantity = comparison.quantities[metric]
        places: Mapping[str, tuple[int, int]] = {}
        if metric in comparison.ranked:
            places = comparison.ranking(metric).places
        for i, name in enumerate(comparison.having(metric)):
            each = comparison.summary(metric, name)
            place = places.get(name)
            table.add_row(
                "" if i else quantity.label,
                name,
                with_interval(each.median),
                f"({number(each.quartiles[0])}, {number(each.quartiles[1])})",
                f"{each.finite}/{each.runs}",
                "" if place is None else f"{place[0]}" if place[0] == place[1] else f"{place[0]}-{place[1]}",
            )
    return table


def _pairs(comparison: Comparison, metrics: Sequence[str]) -> Table:
    table = Table("metric", "first", "second", "difference", "P(better)", "d_z", "p", box=None, pad_edge=False)
    for pair in comparison.pairs:
        found = pair.paired
        if pair.metric not in metrics or not _differs(comparison, pair):
            continue
        chance = with_interval(found.chance)
        p = "<1e-16" if pair.adjusted < 1e-16 else f"{pair.adjusted:.2g}"
        label = comparison.quantities[pair.metric].label
        told = with_interval(found.difference), chance, number(found.effect.value), p
        table.add_row(label, pair.first, pair.second, *told)
    return table


def _differs(comparison: Comparison, pair: PairedSummary) -> bool:
    """Whether any run tells two controllers apart, by a metric that has a good side."""
    return comparison.quantities[pair.metric].better != "neither" and pair.paired.wins + pair.paired.losses > 0


def _sweep(sweep: Robustness, metric: str) -> Table:
    table = Table("controller", *map(number, sweep.levels), box=None, pad_edge=False)
    for name in sweep.comparisons[0].having(metric):
        table.add_row(name, *(with_interval(each) for each in sweep.curve(metric, name)))
    return table


def _left_out(comparison: Comparison, metrics: Sequence[str]) -> list[str]:
    """Which metrics are missing, reason by reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, reasons in comparison.left_out.items():
        for metric, why in reasons.items():
            if metric in metrics or metric not in comparison.quantities:
                found.setdefault((name, why), []).append(metric)
    return [f"{', '.join(names)} of {name}: {why}" for (name, why), names in found.items()]
