"""``erugin study``: run all runs of a study in a user's file, on this machine or a Dask cluster."""

from __future__ import annotations

import argparse
import contextlib
import types
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...scenarios.lookup import UserFileError, load_file, locate_errors
from ...simulation.batch import thread_count
from ...symbolic.errors import ModelError
from ...symbolic.validation import whole
from ..command import INTERRUPTED, OK, STOPPED

Kind = TypeVar("Kind")


SUMMARY = "run a study: every point, seed and controller, with results on disk that survive interruptions"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("file", help="a Python file with study = Study(…)")
    parser.add_argument("--out", metavar="DIR", help="folder for the results (default: out/NAME of the study)")
    parser.add_argument("--resume", action="store_true", help="continue the results of the same study in that folder")
    parser.add_argument("--workers", type=int, metavar="N", help="number of parallel tasks (default: one per core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="address of a Dask cluster, such as tcp://10.0.0.1:8786")
    parser.add_argument("--dry-run", action="store_true", help="print the size and the expected duration of the study")
    parser.add_argument("--yes", action="store_true", help="run it without a limit on the number of runs")


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Run the study of a file.

    Args:
        console: console for results.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0; 1 if it had to stop; 130 after Ctrl-C.

    Raises:
        EruginError: for bad input.
    """
    from ...scenarios import Study, StudyInterrupted  # imported late, because of optional packages
    from ...scenarios.study.cluster import connected
    from ...scenarios.study.study import LIMIT, StoppedStudyError

    file = Path(chosen.file)
    if chosen.scheduler is not None and chosen.workers is not None:
        raise ModelError("--workers is for this machine, --scheduler for a cluster: use only one of them")
    workers = thread_count(None) if chosen.workers is None else whole("workers", chosen.workers)
    study = _study_of(load_file(file), file, Study)
    with locate_errors(file):
        if chosen.dry_run:
            console.print(_size(study, workers))
            return OK
        with contextlib.ExitStack() as stack:
            client = None if chosen.scheduler is None else stack.enter_context(connected(chosen.scheduler))
            out = Path(chosen.out) if chosen.out is not None else Path("out") / study.name
            limit = max(LIMIT, study.runs) if chosen.yes else LIMIT
            try:
                results = study.run(out, client=client, workers=chosen.workers, resume=chosen.resume, limit=limit)
            except StoppedStudyError as error:
                errors.print("[red]stopped:[/]", end=" ")
                errors.print(str(error), markup=False, soft_wrap=True)
                return STOPPED
            except StudyInterrupted as interrupt:
                errors.print(str(interrupt), markup=False, soft_wrap=True)
                return INTERRUPTED
            except KeyboardInterrupt:
                # Interrupted before the start, or a second time while waiting for running tasks.
                message = f"interrupted; completed tasks, if any, are in {str(out)!r}: continue with --resume"
                errors.print(message, markup=False, soft_wrap=True)
                return INTERRUPTED
    failed = results.failures.num_rows
    message = f"{out}: {results.manifest['runs']:,} runs, {failed:,} of them had to stop or could not start"
    console.print(message, markup=False, soft_wrap=True)
    return OK


def _study_of(module: types.ModuleType, file: Path, kind: type[Kind]) -> Kind:
    """Return the study of a file: the only one, or the one named ``study``."""
    found = {name: each for name, each in vars(module).items() if isinstance(each, kind)}
    different = {id(each): each for each in found.values()}
    if len(different) == 1:
        return next(iter(different.values()))
    if "study" in found:
        return found["study"]
    if found:
        raise UserFileError(f"{file} has several studies, {', '.join(found)}: name the one to run study")
    raise UserFileError(f"{file} has no study: write study = Study(scenario, factors, …)")


def _size(study: object, workers: int) -> Table:
    from ...scenarios import Study
    from ...scenarios.study.progress import span
    from ...scenarios.study.study import first_task

    assert isinstance(study, Study)
    plan, seconds = study.plan, first_task(study)
    rows = {
        "study": f"{study.name}, of scenario {study.scenario.name}",
        "runs": f"{study.runs:,}",
        "tasks": f"{plan.tasks:,}",
        "controllers": ", ".join(study.work.controllers),
        "factors": ", ".join(study.work.factors.names) or "none",
        "settings, each compiled": f"{plan.groups:,}",
        "points": f"{plan.groups * plan.points:,}",
        "seeds": f"{plan.seeds:,}, varying {', '.join(study.trial_cache.randomization(0)) or 'nothing'}",
        "metrics": ", ".join(study.quantities),
        "first task": f"{seconds:.3g} s",
        "expected": f"{span(seconds * plan.tasks / min(workers, plan.tasks))} by {workers} workers",
    }
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, text in rows.items():
        table.add_row(name, Text(text, overflow="fold"))
    return table
