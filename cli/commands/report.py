"""``erugin report``: write one page about the results of a study."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from ..command import OK, require_writable

PAGE = "report.html"


SUMMARY = "write one self-contained page about the results of a study"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("results", help="folder of the results, also while the study runs")
    parser.add_argument("--out", metavar="FILE", help=f"the page (default: {PAGE} in the folder of the results)")
    parser.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of intervals (default: 0.95)")


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Write the page.

    Args:
        console: console for the name of the written file.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0.

    Raises:
        EruginError: if there are no results, or the page cannot be written.
    """
    from ...scenarios import Results
    from ...scenarios.report import write_report  # late, for it brings matplotlib

    folder = Path(chosen.results)
    results = Results.open(folder)
    target = folder / PAGE if chosen.out is None else Path(chosen.out)
    require_writable(target.parent)
    with console.status("computing"):
        write_report(results, target, confidence=chosen.confidence, path=folder)
    missing = len(results.missing)
    progress = f"; {missing:,} of {results.manifest['tasks']:,} tasks are not done yet" if missing else ""
    console.print(f"{target}: {target.stat().st_size / 1e6:.2g} MB{progress}", markup=False, soft_wrap=True)
    return OK
