"""Command line and output of every benchmark script."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from erugin.simulation.storage.atomic_file import write_whole

from . import reach
from .machine import machine, versions
from .plots import Panel, draw
from .reach import Reach
from .table import Table, with_section, write_text

DOCS = Path(__file__).resolve().parents[2] / "docs"


@dataclass(frozen=True)
class Options:
    """Options of a script.

    Attributes:
        rounds: interleaved rounds.
        small: smallest sizes only, to see that the script runs.
        folder: where ``benchmarks.md``, ``measured/`` and ``pictures/`` are to be written; None to print only.
    """

    rounds: int
    small: bool
    folder: Path | None


def options(description: str, arguments: Sequence[str] | None = None, *, rounds: int = 31) -> Options:
    """Read the command line.

    Args:
        description: what the script measures, its docstring.
        arguments: in place of the command line's.
        rounds: default number of rounds.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--rounds", type=_positive, default=rounds, help="interleaved rounds (default %(default)s)")
    parser.add_argument("--small", action="store_true", help="smallest sizes only")
    parser.add_argument(
        "--write", nargs="?", const=DOCS, type=Path, metavar="FOLDER", help="write tables and pictures (default docs/)"
    )
    given = parser.parse_args(arguments)
    if given.small and given.write == DOCS:
        parser.error("figures of --small are not for docs/: name another folder")
    return Options(given.rounds, given.small, given.write)


def conclude(
    given: Options,
    tables: Sequence[Table],
    rows: Sequence[Reach] = (),
    pictures: Sequence[tuple[str, Sequence[Panel]]] = (),
) -> None:
    """Print all tables, and write them and the pictures on request."""
    print(f"\n{machine()}\n{versions()}\n{given.rounds} interleaved rounds, medians (quartiles)\n")
    for table in (*tables, *([reach.table(rows)] if rows else [])):
        print(f"{table.markdown}\n", flush=True)
    if given.folder is None:
        return
    page, measured = given.folder / "benchmarks.md", given.folder / "measured"
    text = with_section(page.read_text(encoding="utf-8"), "machine", f"{machine()}; {versions()}.")
    write_whole(page, lambda path: write_text(path, text))
    for table in tables:
        table.write(page, measured)
    if rows:
        reach.write(rows, page, measured)
    for name, panels in pictures:
        draw(panels, given.folder / "pictures" / name)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value
