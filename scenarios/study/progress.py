"""What is seen of a study while it runs."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from .job import TaskOutcome

MOVED = 20
"""Files that were set aside, which are named one by one."""


class ProgressMonitor(Protocol):
    """Is told what has been done."""

    def add(self, outcome: TaskOutcome) -> None:
        """A task has been written down.

        Args:
            outcome: of the task.
        """
        ...


class NoProgress:
    """Shows nothing."""

    def add(self, outcome: TaskOutcome) -> None:
        """Nothing.

        Args:
            outcome: of the task.
        """


@contextmanager
def progress_bar(
    tasks: int, done: int, workers: int, runs: int, before: Sequence[str], *, shown: bool
) -> Generator[ProgressMonitor]:
    """A bar with runs per second, the time left and failures; before it, what is about to be done.

    Args:
        tasks: number of all.
        done: how many of them are done already.
        workers: how many tasks go on at once.
        runs: number of all runs.
        before: sentences about what was found in the folder.
        shown: whether there is anything to be seen.

    Yields:
        What is to be told of tasks that are done.
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
        console.print(f"note: and {len(before) - MOVED:,} more files, which timings.jsonl names", soft_wrap=True)
    earlier = f", {counted(done, 'task')} done before" if done else ""
    console.print(
        f"{counted(runs, 'run')} in {counted(tasks, 'task')}{earlier}; {counted(workers, 'worker')}", soft_wrap=True
    )
    columns = (
        *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}")),
        *(TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=False), TextColumn("of"), TimeElapsedColumn()),
    )
    with Progress(*columns, console=console) as bar:
        row = bar.add_task("tasks", total=tasks, completed=done, told="")
        yield _Shown(bar, row, console, tasks - done, workers)


class _Shown:
    def __init__(self, bar: object, row: object, console: object, left: int, workers: int) -> None:
        self._bar, self._row, self._console = bar, row, console
        self._left, self._workers, self._began = left, workers, time.perf_counter()
        self._runs = self._failed = self._tasks = 0

    def add(self, outcome: TaskOutcome) -> None:
        self._runs, self._failed, self._tasks = (
            self._runs + outcome.runs,
            self._failed + outcome.failed,
            self._tasks + 1,
        )
        if self._tasks == 1:
            expected = outcome.seconds * self._left / min(self._workers, self._left)
            self._console.print(  # type: ignore[attr-defined]
                f"the first task took {outcome.seconds:.3g} s: all are expected to take {span(expected)}"
            )
        rate = self._runs / max(time.perf_counter() - self._began, 1e-9)
        told = f"{rate:.3g} runs/s, {counted(self._failed, 'failure')}"
        self._bar.update(self._row, advance=1, told=told)  # type: ignore[attr-defined]


def counted(n: int, what: str) -> str:
    """A number and what is counted.

    Args:
        n: how many.
        what: in the singular.
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def span(seconds: float) -> str:
    """A time to be waited for, in a unit that is easily understood.

    Args:
        seconds: the time [s].
    """
    for size, unit in ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
