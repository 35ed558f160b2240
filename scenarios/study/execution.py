"""From a study to its results: who computes, who writes, and what happens when something stops it."""

from __future__ import annotations

import contextlib
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...controllers.controller import Controller
from ...symbolic.arrays import whole
from ...symbolic.errors import StudyError, StudyWarning, caller_level
from ...symbolic.extras import require
from ..batch import thread_count
from .cluster import ClusterTasks
from .folder import Folder
from .job import Bench, Job, Outcome
from .local import InThread, LocalTasks, Maker
from .manifest import differences, environment, manifest_of
from .plan import Plan
from .process import InProcess
from .progress import counted, progress_bar, span
from .results import Results

if TYPE_CHECKING:
    from distributed import Client

    from .study import Study


class StudyInterrupted(KeyboardInterrupt):
    """Ctrl-C during a study; what is done is kept.

    Attributes:
        results: what is there.
    """

    def __init__(self, results: Results, message: str) -> None:
        """Say how far it came.

        Args:
            results: what is there.
            message: how far it came, and how to go on.
        """
        super().__init__(message)
        self.results = results


class StoppedStudyError(StudyError):
    """A study had to stop after it had begun; what is done is kept."""


class Tasks(Protocol):
    """Tasks in flight."""

    def __iter__(self) -> Iterator[Outcome]:
        """Outcomes as they are ready."""
        ...

    def stop(self) -> list[Outcome]:
        """Begin no more; what was ready."""
        ...


def execute(
    study: Study,
    path: Path,
    *,
    client: Client | None,
    workers: int | None,
    progress: bool,
    resume: bool,
    limit: int,
) -> Results:
    """Run what is not done yet.

    Args:
        study: what is run.
        path: of the folder of its results.
        client: of a Dask cluster; this machine if None.
        workers: tasks at a time on this machine.
        progress: whether what is done is shown.
        resume: go on with results that are there.
        limit: most runs.

    Raises:
        StudyError, ModelError, ParameterError, StudyInterrupted: as :meth:`Study.run` says.
    """
    for module in ("pyarrow", "cloudpickle"):
        require(module, "study")
    count = thread_count(None) if workers is None else whole("workers", workers)
    whole("limit", limit)
    require_few(study, limit, count)
    plan = study.plan
    _require_factories(study, client)
    folder = Folder(path)
    with folder.begin(describe(study), resume=resume) as found:
        job = study.job(found["runs_per_task"])
        plan = job.plan
        changed = differences(found, environment())
        if changed:
            warnings.warn(
                StudyWarning(f"results in {str(path)!r} were begun with others: {changed}. Last digits may differ"),
                stacklevel=caller_level(),
            )
        done = 0
        if resume:
            _set_aside(Results(folder, found))
            done = sum(map(folder.has, range(plan.tasks)))
        folder.note({"begun": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "done": done, **environment()})
        left = (number for number in range(plan.tasks) if not folder.has(number))
        many = min(count, max(1, plan.tasks - done))
        tasks = _tasks(study, job, left, client, many)
        many = tasks.threads if isinstance(tasks, ClusterTasks) else many
        with progress_bar(plan.tasks, done, many, plan.runs, folder.moved, shown=progress) as watch:
            _follow(folder, tasks, watch.add, plan, path)
    return Results.open(path)


def _set_aside(results: Results) -> None:
    """Move what is damaged or foreign out of the way of results."""
    folder = results.folder
    for number, why in results.damaged.items():
        folder.set_aside(folder.file(number), f"{why}, and is computed again")
    for file in results.strangers:
        folder.set_aside(file, "belongs to no task of the study")


def describe(study: Study) -> dict[str, object]:
    """The manifest of a study.

    Args:
        study: what is run.
    """
    left_out = {trial.name: trial.left_out for trial in study.trials}
    given = study.work.controllers
    varied = study.workshop.varied(0)
    return manifest_of(study.job(), study.name, given, study.quantities, left_out, varied, study.user_file)


def first_task(study: Study) -> float:
    """Seconds of the first task, without what is built and compiled for it.

    Args:
        study: whose.
    """
    bench = Bench(study.job(), study.workshop)
    bench.compute(0)
    return bench.compute(0).seconds


def require_few(study: Study, limit: int, workers: int) -> None:
    """Refuse what would take very long, and tell how long.

    Args:
        study: what is to be run.
        limit: most runs.
        workers: tasks at a time.

    Raises:
        StudyError: for more runs than that, or none.
    """
    tasks = study.plan.tasks
    if study.runs > limit:
        expected = first_task(study) * tasks / workers
        raise StudyError(
            f"study {study.name!r} has {counted(study.runs, 'run')} in {counted(tasks, 'task')}, more than "
            f"{limit:,}: {counted(workers, 'worker')} would take {span(expected)}. If that is meant, say "
            f"limit={study.runs}, or --yes"
        )


def _follow(folder: Folder, tasks: Tasks, add: _Add, plan: Plan, path: Path) -> None:
    """Write down what comes in, until all is done or something stops it."""

    def keep(outcome: Outcome) -> None:
        folder.write(outcome.task, outcome.data)
        folder.note({"task": outcome.task, "seconds": round(outcome.seconds, 6), "worker": outcome.worker})
        add(outcome)

    try:
        for outcome in tasks:
            keep(outcome)
    except KeyboardInterrupt as interrupt:
        for outcome in tasks.stop():
            keep(outcome)
        done = sum(map(folder.has, range(plan.tasks)))
        raise StudyInterrupted(
            Results.open(path),
            f"interrupted: {done} of {counted(plan.tasks, 'task')} are in {str(path)!r}. Go on by resume=True, or "
            "--resume",
        ) from interrupt
    except StudyError as error:
        _keep_what_is_ready(tasks, keep)
        done = sum(map(folder.has, range(plan.tasks)))
        raise StoppedStudyError(
            f"{error}. {done} of {counted(plan.tasks, 'task')} are in {str(path)!r}: go on by resume=True, or --resume"
        ) from error
    except BaseException:
        tasks.stop()
        raise


def _keep_what_is_ready(tasks: Tasks, keep: Callable[[Outcome], None]) -> None:
    for outcome in tasks.stop():
        # Where nothing can be written any more it is lost, and computed again.
        with contextlib.suppress(StudyError):
            keep(outcome)


class _Add(Protocol):
    def __call__(self, outcome: Outcome, /) -> None: ...


def _tasks(study: Study, job: Job, left: Iterator[int], client: Client | None, workers: int) -> Tasks:
    first = next(left, None)
    if first is None:
        return LocalTasks(iter(()), 1, lambda: InThread(Bench(job)))
    left = itertools.chain([first], left)
    if client is not None:
        return ClusterTasks(left, client, job.pack())
    if study.is_compiled or _instances(study):
        bench = Bench(job, study.workshop)
        return LocalTasks(left, workers, lambda: InThread(bench))
    packed = job.pack()

    def make() -> Maker:
        return InProcess(packed)

    return LocalTasks(left, workers, make)


def _instances(study: Study) -> list[str]:
    return [name for name, source in study.work.controllers.items() if isinstance(source, Controller)]


def _require_factories(study: Study, client: Client | None) -> None:
    instances = _instances(study)
    if not instances or (client is None and study.is_compiled):
        return
    names = ", ".join(map(repr, instances))
    if client is not None:
        raise StudyError(
            f"controller {names} is an instance, which stays in this process: give a function that makes one for a "
            "setup, def make(setup): return …"
        )
    warnings.warn(
        StudyWarning(
            f"a law is in Python, and controller {names} is an instance, which stays in this process: one run at a "
            "time. Give functions that make controllers for a setup, and processes will do it on all cores"
        ),
        stacklevel=caller_level(),
    )
