"""Statistics as text: numbers with intervals, and the tables of a comparison for a terminal."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .estimate import Estimate
from .paired import PairedSummary, Summary
from .proportions import Rates

FORMULA = frozenset("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
"""Characters with which spreadsheets start a formula; the last four are wide forms of the first."""


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


def runs_table(
    controllers: Sequence[str],
    rates: Iterable[Rates],
    not_ok: Mapping[str, float],
    tick_times: Mapping[str, float],
) -> Table:
    """Return the table of how the runs of each controller ended.

    Args:
        controllers: names of the controllers.
        rates: shares of runs with an outcome.
        not_ok: share of the time with a status other than OK, by controller; the column is omitted if all are zero.
        tick_times: time of one control tick [s], by controller, as far as known.
    """
    rates = tuple(rates)
    extra = ["not OK"] if any(not_ok.values()) else []
    table = Table("controller", *(rate.outcome for rate in rates), *extra, "time per tick", box=None, pad_edge=False)
    for name in controllers:
        shares = [_share(rate.share(name)) if name in rate.flags else "-" for rate in rates]
        shares += [f"{100 * not_ok[name]:.3g} %" for _ in extra]
        time = tick_times.get(name)
        table.add_row(name, *shares, "-" if time is None else duration(time))
    return table


def medians_table(rows: Iterable[tuple[str, Summary, tuple[int, int] | None]]) -> Table:
    """Return the table of medians.

    Args:
        rows: for each metric and controller the metric's name and unit, the summary, and the best and the worst
            possible rank, if there is a ranking. Of equal names in a row only the first is shown.
    """
    table = Table("metric", "controller", "median", "quartiles", "finite", "rank", box=None, pad_edge=False)
    before = ""
    for label, each, rank in rows:
        table.add_row(
            "" if label == before else label,
            each.controller,
            with_interval(each.median),
            f"({number(each.quartiles[0])}, {number(each.quartiles[1])})",
            f"{each.finite}/{each.runs}",
            "" if rank is None else f"{rank[0]}" if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}",
        )
        before = label
    return table


def pairs_table(pairs: Iterable[tuple[str, PairedSummary]]) -> Table:
    """Return the table of differences between two controllers.

    Args:
        pairs: name and unit of the metric, and the summary of two controllers.
    """
    table = Table("metric", "first", "second", "difference", "P(better)", "d_z", "p", box=None, pad_edge=False)
    for label, pair in pairs:
        paired = pair.paired
        p = "<1e-16" if pair.adjusted < 1e-16 else f"{pair.adjusted:.2g}"
        cells = with_interval(paired.difference), with_interval(paired.chance), number(paired.effect.value), p
        table.add_row(label, pair.first, pair.second, *cells)
    return table


def sweep_table(levels: Sequence[float], curves: Mapping[str, Sequence[Estimate]]) -> Table:
    """Return the table of medians at the levels of an impairment.

    Args:
        levels: the levels.
        curves: median at each level, by controller.
    """
    table = Table("controller", *map(number, levels), box=None, pad_edge=False)
    for name, curve in curves.items():
        table.add_row(name, *map(with_interval, curve))
    return table


def render_text(parts: Iterable[str | Table], width: int) -> str:
    """Return paragraphs and tables as text.

    Args:
        parts: paragraphs and tables, in order.
        width: width of the terminal, in characters.
    """
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, color_system=None, emoji=False, markup=False)
    for part in parts:
        console.print(Text(part) if isinstance(part, str) else part)
    return file.getvalue()
