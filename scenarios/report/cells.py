"""Tables of a page: what is shown of a number, and what it is sorted by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..comparison.estimate import Estimate
from ..comparison.tables import cell_text, number, with_interval


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
