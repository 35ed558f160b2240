"""Progress bar of a study."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from .job import TaskOutcome

MOVED = 20
"""Largest number of files set aside that are listed one by one."""


class ProgressMonitor(Protocol):
    """Receives the outcomes of tasks."""

    def add(self, outcome: TaskOutcome) -> None:
        """Report a task whose results are stored.

        Args:
            outcome: outcome of the task.
        """
        ...


class NoProgress:
    """Shows nothing."""

    def add(self, outcome: TaskOutcome) -> None:
        """Do nothing.

        Args:
            outcome: outcome of the task.
        """


@contextmanager
def progress_bar(
    tasks: int, done: int, workers: int, runs: int, before: Sequence[str], *, shown: bool
) -> Generator[ProgressMonitor]:
    """Show a bar with runs per second, remaining time and failures, preceded by a summary of the work.

    Args:
        tasks: number of all tasks.
        done: number of tasks that are done already.
        workers: number of tasks at a time.
        runs: number of all runs.
        before: notes on files in the folder, as sentences.
        shown: False to show nothing.

    Yields:
        The monitor to which completed tasks are reported.
    """
    if not shown:
        yield NoProgress()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True, highlight=False)
    for sentence in before[:MOVED]:
        console.print(f"note: {sentence}", markup=False, soft_wrap=True)
    if len(before) > MOVED:
        console.print(f"note: and {len(before) - MOVED:,} more files, listed in timings.jsonl", soft_wrap=True)
    earlier = f", {counted(done, 'task')} done before" if done else ""
    console.print(
        f"{counted(runs, 'run')} in {counted(tasks, 'task')}{earlier}; {counted(workers, 'worker')}", soft_wrap=True
    )
    columns = (
        *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}")),
        *(TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=False), TextColumn("of"), TimeElapsedColumn()),
    )
    with Progress(*columns, console=console) as bar:
        row = bar.add_task("tasks", total=tasks, completed=done, rate="")
        yield _Shown(bar, row, console, tasks - done, workers)


class _Shown:
    def __init__(self, bar: object, row: object, console: object, remaining: int, workers: int) -> None:
        self._bar, self._row, self._console = bar, row, console
        self._remaining, self._workers, self._start = remaining, workers, time.perf_counter()
        self._runs = self._failed = self._tasks = 0

    def add(self, outcome: TaskOutcome) -> None:
        self._runs, self._failed, self._tasks = (
            self._runs + outcome.runs,
            self._failed + outcome.failed,
            self._tasks + 1,
        )
        if self._tasks == 1:
            expected = outcome.seconds * self._remaining / min(self._workers, self._remaining)
            self._console.print(  # type: ignore[attr-defined]
                f"the first task took {outcome.seconds:.3g} s: all tasks are expected to take {span(expected)}"
            )
        rate = self._runs / max(time.perf_counter() - self._start, 1e-9)
        text = f"{rate:.3g} runs/s, {counted(self._failed, 'failure')}"
        self._bar.update(self._row, advance=1, rate=text)  # type: ignore[attr-defined]


def counted(n: int, noun: str) -> str:
    """Format a number with a noun in the singular or plural.

    Args:
        n: the number.
        noun: noun in the singular.
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def span(seconds: float) -> str:
    """Format a duration in a suitable unit.

    Args:
        seconds: duration [s].
    """
    for size, unit in ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
