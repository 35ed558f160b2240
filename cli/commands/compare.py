"""``erugin compare``: compare controllers on the same runs of a scenario."""

from __future__ import annotations

import argparse
import csv
import functools
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ...scenarios.lookup import choose_scenario, locate_errors
from ...simulation.storage.atomic_file import write_whole
from ...simulation.trajectory import SimulationInterrupted
from ...symbolic.errors import ModelError
from ..command import INTERRUPTED, OK, STOPPED, pairs_of, require_writable

if TYPE_CHECKING:
    from ...scenarios import Comparison


TABLE, RUNS, DISTRIBUTIONS, PARETO = "comparison.txt", "runs.csv", "distributions.png", "pareto.png"
AXES = ("effort", "error_rms")
"""Axes of the picture of effort against accuracy."""


SUMMARY = "compare a scenario's controller with its baselines on the same runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("name", help="a scenario of 'erugin list', or your own Python file")
    parser.add_argument("--scenario", metavar="NAME", help="which scenario of the file, if it has several")
    parser.add_argument(
        "--set", action="append", default=[], metavar="key=value", help="a setting or parameter; may be repeated"
    )
    parser.add_argument(
        "--controllers", metavar="A,B", help="controllers to compare; the scenario's is called 'own' (default: all)"
    )
    parser.add_argument("--seeds", type=int, default=100, metavar="N", help="runs of each controller (default: 100)")
    parser.add_argument("--metrics", metavar="A,B", help="metrics to compare (default: all)")
    parser.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of intervals (default: 0.95)")
    parser.add_argument(
        "--robustness",
        action="append",
        default=[],
        metavar="NAME=L,L",
        help="levels of model_error, noise, delay, period, or a randomized variable; may be repeated",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="number of threads (default: one per core)")
    parser.add_argument("--out", default="out", metavar="DIR", help="folder for tables and pictures (default: out)")


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Compare the chosen controllers.

    Args:
        console: console for tables and progress.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0; 1 if a file could not be written; 130 after Ctrl-C.

    Raises:
        EruginError: for bad input.
    """
    from ...scenarios import compare  # imported late, because it is slow

    scenario, out = choose_scenario(chosen.name, chosen.scenario), Path(chosen.out)
    levels = {name: _numbers(name, text) for name, text in pairs_of("--robustness", chosen.robustness).items()}
    with locate_errors(scenario.file):
        setup = scenario.scenario.prepare(pairs_of("--set", chosen.set))
    require_writable(out)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    try:
        with locate_errors(scenario.file), Progress(*columns, TimeRemainingColumn(), console=console) as progress:
            task = progress.add_task("comparing", total=1.0)
            comparison = compare(
                setup,
                _words(chosen.controllers),
                seeds=chosen.seeds,
                metrics=_words(chosen.metrics),
                confidence=chosen.confidence,
                robustness=levels,
                threads=chosen.threads,
                progress=lambda share: progress.update(task, completed=share),
                name=scenario.scenario.name,
            )
            progress.update(task, completed=1.0)
    except (SimulationInterrupted, KeyboardInterrupt):
        errors.print("interrupted, nothing written")
        return INTERRUPTED
    text = comparison.table(width=console.width)
    console.print(text, markup=False, soft_wrap=True)
    written: list[str] = []
    try:
        write_files(comparison, out, written)
    except OSError as error:
        errors.print(f"a file could not be written: {error}", markup=False, soft_wrap=True)
        return STOPPED
    except KeyboardInterrupt:
        errors.print("interrupted while writing")
        return INTERRUPTED
    finally:
        console.print(f"{out}: {', '.join(written) or 'nothing written'}", markup=False, soft_wrap=True)
    return OK


def write_files(comparison: Comparison, out: Path, written: list[str]) -> None:
    """Write tables, all runs, and pictures.

    Args:
        comparison: the comparison.
        out: folder for the files.
        written: list to which names of complete files, and reasons for missing pictures, are appended.

    Raises:
        OSError: if a file cannot be written.
    """
    text = comparison.table()
    write_whole(out / TABLE, lambda target: _write(target, text))
    written.append(TABLE)
    write_runs(comparison, out / RUNS)
    written.append(RUNS)
    ranked = comparison.ranked
    pictures: dict[str, Callable[[Path], object]] = {}
    if ranked:
        pictures[DISTRIBUTIONS] = comparison.plot
    if set(AXES) <= set(ranked) and any(
        name in comparison.controllers_with(AXES[0]) for name in comparison.controllers_with(AXES[1])
    ):
        pictures[PARETO] = comparison.pareto(*AXES).plot
    for key, sweep in comparison.robustness.items():
        for metric in ranked[:1]:
            picture = f"robustness-{re.sub(r'[^A-Za-z0-9_.-]', '_', key)}.png"
            pictures[picture] = functools.partial(sweep.plot, metric)
    for name, draw in pictures.items():
        try:
            draw(out / name)
        except ModelError as nothing:  # for example if all runs had to stop, which the tables show
            written.append(f"no {name} ({nothing})")
        else:
            written.append(name)


def write_runs(comparison: Comparison, path: Path) -> None:
    """Write every run as a line of comma-separated values, either the whole file or nothing.

    Text that a spreadsheet would read as a formula is preceded by an apostrophe.

    Args:
        comparison: results of the comparison.
        path: path of the file.

    Raises:
        OSError: if it cannot be written.
    """
    from ...scenarios.comparison.tables import cell_text  # late, because it is slow

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


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError as error:
        raise ModelError(f"--robustness {name} requires numbers separated by commas, got {text!r}") from error
