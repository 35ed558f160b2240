"""Tables as Markdown between marks of a page, and as CSV files beside it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from erugin.simulation.storage.atomic_file import write_whole

Cell = str | float | int
"""Text as it is to be read, or a number, which CSV files hold in full."""


@dataclass(frozen=True)
class Column:
    """A heading, and how the numbers under it are written in Markdown.

    Attributes:
        name: with its unit.
        form: makes text of a number; str if not given.
    """

    name: str
    form: Callable[[float], str] = str


@dataclass(frozen=True)
class Table:
    """Rows under headings.

    Attributes:
        name: of the marked section and of the CSV file.
        columns: the headings.
        rows: as many cells each.
        caption: a line above the table, on the page only.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9-]+", self.name):
            raise ValueError(f"a table's name is made of small letters, digits and hyphens, got {self.name!r}")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.name}: a row needs {len(self.columns)} cells, got {row}")

    @property
    def markdown(self) -> str:
        """As a Markdown table under its caption."""
        head = [column.name for column in self.columns]
        body = [[self._text(column, cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]
        lines = [head, ["---"] * len(head), *body]
        text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{self.caption}\n\n{text}" if self.caption else text

    @property
    def csv(self) -> str:
        """As comma-separated values, numbers in full."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([[column.name for column in self.columns], *self.rows])
        return file.getvalue()

    def write(self, page: Path, folder: Path) -> None:
        """Put the table between its marks on a page, and beside it as a CSV file; each whole or not at all.

        Args:
            page: a Markdown file with the table's marks.
            folder: for the CSV file; made if missing.
        """
        self.write_as(self, page, folder)

    def write_as(self, shown: Table, page: Path, folder: Path) -> None:
        """As :meth:`write` does, but the page gets another table, such as one with fewer columns."""
        text = with_section(page.read_text(encoding="utf-8"), self.name, shown.markdown)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{self.name}.csv", lambda path: write_text(path, self.csv))
        write_whole(page, lambda path: write_text(path, text))

    @staticmethod
    def _text(column: Column, cell: Cell) -> str:
        return cell.replace("|", "\\|") if isinstance(cell, str) else column.form(cell)


def with_section(page: str, name: str, text: str) -> str:
    """A page with ``text`` between ``<!-- table: name -->`` and the next ``<!-- end -->``.

    Raises:
        ValueError: unless the page has just one such pair of marks.
    """
    opening = f"<!-- table: {name} -->"
    if page.count(opening) != 1:
        raise ValueError(f"the page needs the mark {opening} once, and has it {page.count(opening)} times")
    before, _, rest = page.partition(opening)
    inside, closing, after = rest.partition("<!-- end -->")
    if not closing or "<!-- table:" in inside:
        raise ValueError(f"the mark {opening} has no <!-- end --> of its own")
    return f"{before}{opening}\n{text}\n{closing}{after}"


def read_csv(file: Path) -> list[list[str]]:
    """Rows of a CSV file without its head; none if there is no such file."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.reader(text))[1:]


def write_text(path: Path, text: str) -> None:
    """Write UTF-8, whatever the locale."""
    path.write_text(text, encoding="utf-8")
