"""Targets: our figure beside that of another library, the ratio, the target; one table that several scripts fill."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .machine import machine
from .rounds import Timing, number
from .table import Column, Table, read_csv

NAME = "reach"


@dataclass(frozen=True)
class Reach:
    """One row.

    Attributes:
        what: measured quantity.
        against: name of the other library, or empty for an absolute target.
        ours: with its unit, as text.
        theirs: likewise.
        value: what is compared with the target: a ratio, or a number in the unit of the target.
        target: least ratio, or largest number.
        largest: whether the target is a number not to be exceeded, and not a ratio to be reached.
        unit: of value and target; × for a ratio.
        note: what limits it, or under which conditions.
    """

    what: str
    against: str
    ours: str
    theirs: str
    value: float
    target: float
    largest: bool = False
    unit: str = "×"
    note: str = ""

    @classmethod
    def of(cls, what: str, against: str, ours: Timing, theirs: Timing, target: float, note: str = "") -> Reach:
        """Theirs over ours, which is to reach a target, round by round."""
        return cls(what, against, duration(ours.median), duration(theirs.median), theirs.over(ours), target, note=note)

    @property
    def reached(self) -> bool:
        """True if the value is as good as the target."""
        return self.value <= self.target if self.largest else self.value >= self.target

    @property
    def cells(self) -> tuple[str, ...]:
        """As text."""
        space = "" if self.unit == "×" else " "
        goal = f"{'≤' if self.largest else '≥'} {self.target:g}{space}{self.unit}"
        measured = f"{number(self.value)}{space}{self.unit}"
        verdict = "yes" if self.reached else "**no**"
        return (self.what, self.against or "–", self.ours, self.theirs or "–", measured, goal, verdict, self.note)


HEADS = ("measurement", "compared with", "ours", "theirs", "ratio or value", "target", "reached", "note")


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{number(seconds / unit)} {name}"
    return f"{number(seconds / 1e-9)} ns"


def table(rows: Sequence[Reach]) -> Table:
    """The rows that one script has measured."""
    return Table(NAME, tuple(map(Column, HEADS)), tuple(row.cells for row in rows))


def write(rows: Sequence[Reach], page: Path, folder: Path) -> None:
    """Put rows in the common table, in place of older ones of the same name; the others stay.

    Args:
        rows: what was measured.
        page: with the marks of the table.
        folder: of the CSV file, whose last column is the machine of each row.
    """
    new = {row.what + row.against: (*row.cells, machine()) for row in rows}
    old = {cells[0] + ("" if cells[1] == "–" else cells[1]): tuple(cells) for cells in read_csv(folder / f"{NAME}.csv")}
    merged = [new.get(key, cells) for key, cells in old.items()]
    merged += [cells for key, cells in new.items() if key not in old]
    whole = Table(NAME, (*map(Column, HEADS), Column("machine")), tuple(merged))
    shown = dataclasses.replace(whole, columns=whole.columns[:-1], rows=tuple(row[:-1] for row in merged))
    if len({row[-1] for row in merged}) > 1:
        shown = whole
    whole.write_as(shown, page, folder)
