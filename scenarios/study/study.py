"""Studies: all points of a grid or sample, all seeds and all controllers of a scenario; and their execution."""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...controllers.controller import Controller
from ...simulation.batch import thread_count
from ...symbolic.errors import (
    ModelError,
    ParameterError,
    StudyError,
    StudyWarning,
    caller_stacklevel,
    require_name,
    unknown_name,
)
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import whole
from ..comparison.quantities import Quantity
from ..comparison.run_variables import RunVariable
from ..comparison.trial import Trial
from ..sampling.distributions import Distribution
from ..sampling.points import Sampler
from ..sampling.seeded_values import seed_numbers
from ..scenario import Scenario
from .cluster import ClusterTasks
from .factors import Factor, Factors
from .identity import digest, text_of, user_modules
from .job import Job, Source, StudyWork, TaskOutcome, TaskRunner, TrialCache, is_compiled, runs_per_task
from .manifest import differences, environment, manifest_of
from .plan import StudyPlan
from .progress import counted, progress_bar, span
from .result_folder import FORMAT, Folder
from .result_table import ResultColumns
from .results import Results
from .workers import InProcess, InThread, LocalTasks, Worker

if TYPE_CHECKING:
    from distributed import Client


class StudyInterrupted(KeyboardInterrupt):
    """Ctrl-C during a study; completed tasks are kept.

    Attributes:
        results: the results so far.
    """

    def __init__(self, results: Results, message: str) -> None:
        """Store results and message.

        Args:
            results: the results so far.
            message: number of completed tasks, and how to continue.
        """
        super().__init__(message)
        self.results = results


class StoppedStudyError(StudyError):
    """A running study had to stop; completed tasks are kept."""


class Tasks(Protocol):
    """Tasks in flight."""

    def __iter__(self) -> Iterator[TaskOutcome]:
        """Yield outcomes as they become ready."""
        ...

    def stop(self) -> list[TaskOutcome]:
        """Start no more tasks, and return the outcomes that are ready."""
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
    """Run all tasks that are not done yet.

    Args:
        study: the study.
        path: path of the folder of its results.
        client: client of a Dask cluster; None for this machine.
        workers: number of tasks at a time on this machine.
        progress: True to show progress.
        resume: True to continue with existing results.
        limit: largest number of runs.

    Raises:
        StudyError, ModelError, ParameterError, StudyInterrupted: see :meth:`Study.run`.
    """
    for module in ("pyarrow", "cloudpickle"):
        import_optional(module, "study")
    count = thread_count(None) if workers is None else whole("workers", workers)
    whole("limit", limit)
    require_few(study, limit, count)
    plan = study.plan
    _require_factories(study, client)
    folder = Folder(path)
    with folder.begin(describe(study), resume=resume) as manifest:
        job = study.job(manifest["runs_per_task"])
        plan = job.plan
        changed = differences(manifest, environment())
        if changed:
            warnings.warn(
                StudyWarning(
                    f"results in {str(path)!r} were started with other versions or on another machine: {changed}. The "
                    "last digits may differ"
                ),
                stacklevel=caller_stacklevel(),
            )
        done = 0
        if resume:
            _set_aside(Results(folder, manifest))
            done = sum(map(folder.has, range(plan.tasks)))
        folder.note({"begun": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "done": done, **environment()})
        remaining = (number for number in range(plan.tasks) if not folder.has(number))
        workers = min(count, max(1, plan.tasks - done))
        tasks = _tasks(study, job, remaining, client, workers)
        workers = tasks.threads if isinstance(tasks, ClusterTasks) else workers
        with progress_bar(plan.tasks, done, workers, plan.runs, folder.moved, shown=progress) as monitor:
            _store_outcomes(folder, tasks, monitor.add, plan, path)
    return Results.open(path)


def _set_aside(results: Results) -> None:
    """Move damaged and foreign files out of the folder of tasks."""
    folder = results.folder
    for number, why in results.damaged.items():
        folder.set_aside(folder.file(number), f"{why}, and its task is computed again")
    for file in results.foreign_files:
        folder.set_aside(file, "does not belong to any task of the study")


def describe(study: Study) -> dict[str, object]:
    """Return the manifest of a study.

    Args:
        study: the study.
    """
    left_out = {trial.name: trial.left_out for trial in study.trials}
    given = study.work.controllers
    randomization = study.trial_cache.randomization(0)
    return manifest_of(study.job(), study.name, given, study.quantities, left_out, randomization, study.user_file)


def first_task(study: Study) -> float:
    """Measure the computing time of the first task [s], without building and compiling.

    Args:
        study: the study.
    """
    runner = TaskRunner(study.job(), study.trial_cache)
    runner.compute(0)
    return runner.compute(0).seconds


def require_few(study: Study, limit: int, workers: int) -> None:
    """Raise StudyError, with an estimate of the duration, for too many runs.

    Args:
        study: the study.
        limit: largest number of runs.
        workers: number of tasks at a time.

    Raises:
        StudyError: for more runs than the limit.
    """
    tasks = study.plan.tasks
    if study.runs > limit:
        expected = first_task(study) * tasks / workers
        raise StudyError(
            f"study {study.name!r} has {counted(study.runs, 'run')} in {counted(tasks, 'task')}, more than "
            f"{limit:,}: {counted(workers, 'worker')} would take {span(expected)}. To run it anyway, pass "
            f"limit={study.runs}, or --yes"
        )


def _store_outcomes(folder: Folder, tasks: Tasks, add: _Add, plan: StudyPlan, path: Path) -> None:
    """Write outcomes to the folder, until all tasks are done or an exception stops them."""

    def store(outcome: TaskOutcome) -> None:
        folder.write(outcome.task, outcome.data)
        folder.note({"task": outcome.task, "seconds": round(outcome.seconds, 6), "worker": outcome.worker})
        add(outcome)

    try:
        for outcome in tasks:
            store(outcome)
    except KeyboardInterrupt as interrupt:
        for outcome in tasks.stop():
            store(outcome)
        done = sum(map(folder.has, range(plan.tasks)))
        raise StudyInterrupted(
            Results.open(path),
            f"interrupted: {done} of {counted(plan.tasks, 'task')} are in {str(path)!r}. Continue with resume=True, or "
            "--resume",
        ) from interrupt
    except StudyError as error:
        _store_ready(tasks, store)
        done = sum(map(folder.has, range(plan.tasks)))
        raise StoppedStudyError(
            f"{error}. {done} of {counted(plan.tasks, 'task')} are in {str(path)!r}: continue with resume=True, or "
            "--resume"
        ) from error
    except BaseException:
        tasks.stop()
        raise


def _store_ready(tasks: Tasks, store: Callable[[TaskOutcome], None]) -> None:
    for outcome in tasks.stop():
        # Outcomes that cannot be written any more are computed again later.
        with contextlib.suppress(StudyError):
            store(outcome)


class _Add(Protocol):
    def __call__(self, outcome: TaskOutcome, /) -> None: ...


def _tasks(study: Study, job: Job, numbers: Iterator[int], client: Client | None, workers: int) -> Tasks:
    first = next(numbers, None)
    if first is None:
        return LocalTasks(iter(()), 1, lambda: InThread(TaskRunner(job)))
    numbers = itertools.chain([first], numbers)
    if client is not None:
        return ClusterTasks(numbers, client, job.pack())
    if study.is_compiled or _instances(study):
        runner = TaskRunner(job, study.trial_cache)
        return LocalTasks(numbers, workers, lambda: InThread(runner))
    packed = job.pack()

    def make() -> Worker:
        return InProcess(packed)

    return LocalTasks(numbers, workers, make)


def _instances(study: Study) -> list[str]:
    return [name for name, source in study.work.controllers.items() if isinstance(source, Controller)]


def _require_factories(study: Study, client: Client | None) -> None:
    instances = _instances(study)
    if not instances or (client is None and study.is_compiled):
        return
    names = ", ".join(map(repr, instances))
    if client is not None:
        raise StudyError(
            f"controller {names} is an instance, which cannot be sent to another process: give a function that builds "
            "one for a setup, def make(setup): return …"
        )
    warnings.warn(
        StudyWarning(
            f"a law is in Python, and controller {names} is an instance, which stays in this process, so that only one "
            "run is computed at a time. To use all cores, give functions that build controllers for a setup"
        ),
        stacklevel=caller_stacklevel(),
    )


OWN = "own"
LIMIT = 100_000_000


@dataclass(frozen=True, eq=False)
class Study:
    """Many runs of a scenario: every point, with every seed, under every controller.

    Points are all combinations of the levels of factors, each with all points of the sampler for factors that have a
    distribution. A factor is a setting of the scenario, which is built and compiled again for each level; or a number:
    a parameter of plant and controller (``"m1"``), of one of them (``"plant.m1"``, ``"law.m1"``), or an entry of the
    start (``"q0.q1"``, ``"v0.q1"``). Seeds vary the scenario's randomization
    (:attr:`Setup.randomization <erugin.scenarios.setup.Setup.randomization>`) in the same way for all points and
    controllers, so that runs can be compared in pairs.

    Attributes:
        scenario: the scenario to run.
        factors: levels, or a distribution, by name.
        controllers: names of the scenario's baselines, and ``"own"`` for its own controller; or a mapping of names to
            functions that build a controller for a setup, or to controllers. The own controller if not given. A
            controller instance can be used by threads of this process only.
        seeds: number of seeds, for 0 … n − 1, or the seeds themselves.
        sampler: sampler of the factors that have a distribution, such as ``LatinHypercube(100)``.
        metrics: names of the metrics; all available ones if not given.
        randomization: distributions of what seeds vary, by name; those of the scenario if not given. Factors take
            precedence.
        name: name of the study; that of the scenario if empty.
        runs_per_task: number of runs of a task; chosen so that a task takes about a second if not given.

    Raises:
        ModelError: for an invalid scenario, controller, seed, or level of a factor.
    """

    scenario: Scenario
    factors: Mapping[str, Factor] = field(default_factory=dict[str, Factor])
    controllers: Mapping[str, Source] | Sequence[str] | None = None
    seeds: int | Sequence[int] = field(default=1, kw_only=True)
    sampler: Sampler | None = field(default=None, kw_only=True)
    metrics: Sequence[str] | None = field(default=None, kw_only=True)
    randomization: Mapping[str, Distribution] | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    runs_per_task: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check everything that does not require building the setup."""
        if not isinstance(self.scenario, Scenario):
            raise ModelError(f"a study requires a Scenario, made by @scenario(name), got {self.scenario!r}")
        if not isinstance(self.factors, Mapping):
            raise ModelError(f'factors must be a mapping by name, as in {{"m1": [1.0, 2.0]}}, got {self.factors!r}')
        if isinstance(self.metrics, str):
            raise ModelError(
                f'metrics must be a sequence of names, as in ["{self.metrics}"], got the text {self.metrics!r}'
            )
        if self.runs_per_task is not None:
            whole("runs_per_task", self.runs_per_task)
        if not self.name:
            object.__setattr__(self, "name", self.scenario.name)
        if self.name != Path(self.name).name or self.name.startswith(".") or not self.name.isprintable():
            raise ModelError(f"the name of a study must be usable as the name of a folder, got {self.name!r}")
        require_name("a study", self.name)
        _ = self.work

    @functools.cached_property
    def work(self) -> StudyWork:
        """Definition of the study, from which any task can be computed."""
        return StudyWork(
            self.scenario,
            Factors.of(self.factors, self.scenario, self.sampler),
            _sources(self.controllers),
            _seeds(self.seeds),
            None if self.randomization is None else dict(self.randomization),
            None if self.metrics is None else tuple(self.metrics),
        )

    @property
    def runs(self) -> int:
        """Number of all runs."""
        factors = self.work.factors
        return factors.groups * factors.points * len(self.work.seeds) * len(self.work.controllers)

    @functools.cached_property
    def hash(self) -> str:
        """Hash that identifies the study: equal hashes mean equal results, up to the machine and versions of libraries.

        It covers the format of results, code and settings of scenario and controllers, factors, seeds, metrics, and the
        randomization.
        """
        work = self.work
        return digest(
            {
                "format": FORMAT,
                "scenario": work.scenario,
                "settings": work.factors.settings,
                "levels": work.factors.levels,
                "sampled": work.factors.sampled,
                "sampler": work.factors.sampler,
                "controllers": work.controllers,
                "seeds": work.seeds,
                "varied": work.randomization,
                "metrics": work.metrics,
            }
        )

    @functools.cached_property
    def trial_cache(self) -> TrialCache:
        """Compiled trials of this process."""
        return TrialCache(self.work)

    @functools.cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Compiled trials of all controllers with the first settings; building them checks the study.

        Raises:
            StudyError: if there is nothing to run.
            ModelError, ParameterError: for an unknown metric, setting, parameter or controller.
        """
        self._require_runs()
        trials = tuple(self.trial_cache.trial(0, i) for i in range(len(self.work.controllers)))
        randomization = self.trial_cache.randomization(0)
        for name in (*self.work.factors.levels, *self.work.factors.sampled, *randomization):
            if not any(trial.names.resolve(name) for trial in trials):
                known = [*self.scenario.settings, *(each for trial in trials for each in trial.names.all)]
                raise ParameterError(unknown_name("factor", name, set(known) - {name, name.removeprefix("law.")}))
        for trial in trials:
            _require_different(trial, (*self.work.factors.levels, *self.work.factors.sampled, *randomization))
        return trials

    @functools.cached_property
    def quantities(self) -> Mapping[str, Quantity]:
        """Metrics of all controllers, by name."""
        return {name: each for trial in self.trials for name, each in trial.quantities.items()}

    @functools.cached_property
    def plan(self) -> StudyPlan:
        """Assignment of runs to tasks, for which trials are compiled.

        Raises:
            StudyError, ModelError, ParameterError: as for :attr:`trials`.
        """
        block = self.work.factors.points * len(self.work.seeds)
        if self.runs_per_task is not None:
            return self._plan([min(int(self.runs_per_task), block)] * len(self.trials))
        return self._plan([runs_per_task(trial, block) for trial in self.trials])

    @property
    def is_compiled(self) -> bool:
        """True if all controllers run in machine code, so that threads compute the tasks."""
        return all(map(is_compiled, self.trials))

    @property
    def user_file(self) -> tuple[Path, str] | None:
        """Path and text of the user's file that defines scenario or controllers; None if there is none."""
        for module in user_modules([self.scenario, *self.work.controllers.values()]):
            file = Path(str(module.__file__))
            text = text_of(file)
            if text is not None:
                return file.resolve(), text
        return None

    def job(self, sizes: Sequence[int] | None = None) -> Job:
        """Divide the study into tasks.

        Args:
            sizes: number of runs in a task of each controller; those of :attr:`plan` if not given.
        """
        plan = self.plan if sizes is None else self._plan(sizes)
        first = self.work.factors.settings_of(0)
        numbers = (*self.work.factors.levels, *self.work.factors.sampled, *self.trial_cache.randomization(0))
        metrics = dict.fromkeys(self.quantities)
        if plan.groups > 1:
            # Other settings may have metrics that the first ones do not have.
            metrics |= dict.fromkeys(name for trial in self.trials for name in trial.left_out)
        return Job(self.work, plan, ResultColumns(first, numbers, tuple(metrics)), self.hash)

    def run(
        self,
        folder: Path | str,
        *,
        client: Client | None = None,
        workers: int | None = None,
        progress: bool = True,
        resume: bool = False,
        limit: int = LIMIT,
    ) -> Results:
        """Run all tasks that are not done yet; results are written to the folder as they become available.

        Threads of this process compute the tasks if all laws are symbolic, else separate processes. A run that has to
        stop is a result, too.

        Args:
            folder: folder for the results; created if missing.
            client: client of a Dask cluster that computes the tasks.
            workers: number of tasks at a time on this machine; the number of available cores if not given.
            progress: True to show progress on standard error.
            resume: True to continue with results of the same study in the folder.
            limit: largest number of runs.

        Returns:
            The results.

        Raises:
            ModelError, ParameterError: for a study that cannot be run.
            StudyError: if there is nothing to run, or more than ``limit``; if the folder cannot be written, is full, in
                use, or contains other files; if the scheduler is lost or a worker dies repeatedly.
            StudyInterrupted: on Ctrl-C; completed tasks are kept.
        """
        return execute(
            self, Path(folder), client=client, workers=workers, progress=progress, resume=resume, limit=limit
        )

    def _plan(self, sizes: Sequence[int]) -> StudyPlan:
        factors, work = self.work.factors, self.work
        return StudyPlan(factors.groups, len(work.controllers), factors.points, len(work.seeds), tuple(sizes))

    def _require_runs(self) -> None:
        if self.runs:
            return
        factors = self.work.factors
        empty = [name for name, values in {**factors.settings, **factors.levels}.items() if not len(values)]
        why = f"{', '.join(map(repr, empty))} has no levels" if empty else "it has no controllers"
        raise StudyError(f"study {self.name!r} has no runs: {why}")


def _require_different(trial: Trial, names: Sequence[str]) -> None:
    """Raise ParameterError for two names of the same number."""
    first: dict[RunVariable, str] = {}
    for name in names:
        for variable in trial.names.resolve(name):
            if variable in first:
                raise ParameterError(
                    f"{first[variable]!r} and {name!r} are the same number: vary one of them; randomization= replaces "
                    "what seeds vary"
                )
            first[variable] = name


def _sources(given: Mapping[str, Source] | Sequence[str] | None) -> dict[str, Source]:
    if given is None:
        return {OWN: None}
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise ModelError(f"controllers must be a sequence of names, or functions by name, got {given!r}")
    pairs = given.items() if isinstance(given, Mapping) else [(name, name) for name in given]
    sources: dict[str, Source] = {}
    for name, source in pairs:
        require_name("a controller", name)
        if name in sources:
            raise ModelError(f"controllers must have different names, got {name!r} twice")
        if not (source is None or isinstance(source, str | Controller) or callable(source)):
            raise ModelError(
                f"controller {name!r} must be a function that builds one for a setup, or the name of a baseline of the "
                f"scenario, got {source!r}"
            )
        sources[name] = None if source == OWN else source
    return sources


def _seeds(given: int | Sequence[int]) -> range | tuple[int, ...]:
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given > 0:
        return range(int(given))
    if isinstance(given, range) and given.step == 1 and given.start >= 0 and len(given):
        return given
    numbers = tuple(seed_numbers(given).tolist())
    if len(set(numbers)) < len(numbers):
        raise ModelError("seeds must be different: equal seeds give equal runs")
    return numbers
