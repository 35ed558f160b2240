"""The table of a motion's measures."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from ..setup import Measured


def measured_table(measured: Sequence[Measured], *, judged: bool) -> Table:
    """One row per measure: name, value, unit; with what is expected, and whether it is so.

    Args:
        measured: of one motion.
        judged: whether expectations hold for it, as they do with the scenario's own settings.
    """
    headings = ["measure", "value", "unit", *(["expected", ""] if judged else [])]
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        # On a narrow page words and ranges are broken; nothing is cut.
        table.add_column(heading, no_wrap=heading == "value", overflow="fold")
    for one in measured:
        row = [one.name, number_text(one.value), one.unit]
        if judged:
            row += [expected_text(one.expected), "" if one.expected is None else mark(one)]
        table.add_row(*map(Text, row))
    return table


def mark(one: Measured) -> str:
    """Whether a measure is as expected, in words."""
    return "as expected" if one.as_expected else "NOT AS EXPECTED"


def number_text(value: float) -> str:
    """A number with as many digits as tell something."""
    return f"{value:.5g}"


def expected_text(expected: tuple[float, float] | None) -> str:
    """A range of values; a bound that is no bound, or that no distance can fall below, is left out.

    Args:
        expected: lowest and highest value, or None.
    """
    if expected is None:
        return ""
    low, high = expected
    if low == high:
        return f"= {bound_text(low)}"
    if low in (0.0, float("-inf")) and high != float("inf"):
        return f"≤ {bound_text(high)}"
    return f"≥ {bound_text(low)}" if high == float("inf") else f"{bound_text(low)} … {bound_text(high)}"


def bound_text(value: float) -> str:
    """A bound with all the digits in which it may differ from the other one.

    Args:
        value: any number.
    """
    digits, e, power = f"{value:.10g}".partition("e")
    return f"{digits}e{int(power)}" if e else digits
