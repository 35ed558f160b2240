"""Many runs of a scenario: every point of a grid or of a sample, every seed, every controller; and their execution.

Who computes, who writes, and what happens when something stops it.
"""

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
from .workers import InProcess, InThread, LocalTasks, Maker

if TYPE_CHECKING:
    from distributed import Client


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

    def __iter__(self) -> Iterator[TaskOutcome]:
        """Outcomes as they are ready."""
        ...

    def stop(self) -> list[TaskOutcome]:
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
        import_optional(module, "study")
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
                stacklevel=caller_stacklevel(),
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
    bench = TaskRunner(study.job(), study.workshop)
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


def _follow(folder: Folder, tasks: Tasks, add: _Add, plan: StudyPlan, path: Path) -> None:
    """Write down what comes in, until all is done or something stops it."""

    def keep(outcome: TaskOutcome) -> None:
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


def _keep_what_is_ready(tasks: Tasks, keep: Callable[[TaskOutcome], None]) -> None:
    for outcome in tasks.stop():
        # Where nothing can be written any more it is lost, and computed again.
        with contextlib.suppress(StudyError):
            keep(outcome)


class _Add(Protocol):
    def __call__(self, outcome: TaskOutcome, /) -> None: ...


def _tasks(study: Study, job: Job, left: Iterator[int], client: Client | None, workers: int) -> Tasks:
    first = next(left, None)
    if first is None:
        return LocalTasks(iter(()), 1, lambda: InThread(TaskRunner(job)))
    left = itertools.chain([first], left)
    if client is not None:
        return ClusterTasks(left, client, job.pack())
    if study.is_compiled or _instances(study):
        bench = TaskRunner(job, study.workshop)
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
        stacklevel=caller_stacklevel(),
    )


OWN = "own"
LIMIT = 100_000_000


@dataclass(frozen=True, eq=False)
class Study:
    """Many runs of a scenario: every point, with every seed, under every controller.

    Points are all combinations of the levels of factors, each with all points of the sampler for factors that have a
    distribution. A factor is a setting of the scenario, for each level of which the model is built and compiled anew;
    or a number that is varied: a parameter of plant and controller (``"m1"``), of one of them (``"plant.m1"``,
    ``"law.m1"``), or an entry of the start (``"q0.q1"``, ``"v0.q1"``). Seeds vary what the scenario says
    (:attr:`Setup.varied <erugin.scenarios.setup.Setup.varied>`), in the same way for all points and controllers, so
    that runs can be compared in pairs.

    Attributes:
        scenario: what is run.
        factors: levels, or a distribution, by name.
        controllers: what drives the plant: names of the scenario's rivals, and ``"own"`` for its own controller; or, by
            a name of your choice, functions that make a controller for a setup, or controllers. Its own one if not
            given. A controller itself serves threads of this process only.
        seeds: how many, for 0 … n − 1, or the seeds themselves.
        sampler: of the factors that have a distribution, such as ``LatinHypercube(100)``.
        metrics: names of what is kept; all that there are if not given.
        varied: what seeds vary, by name; what the scenario says if not given. Factors of the same name come first.
        name: of the study; the scenario's if empty.
        runs_per_task: reckoned so that a task takes about a second if not given.

    Raises:
        ModelError: for what is no scenario, no controller, no seed, or no levels of a factor.
    """

    scenario: Scenario
    factors: Mapping[str, Factor] = field(default_factory=dict[str, Factor])
    controllers: Mapping[str, Source] | Sequence[str] | None = None
    seeds: int | Sequence[int] = field(default=1, kw_only=True)
    sampler: Sampler | None = field(default=None, kw_only=True)
    metrics: Sequence[str] | None = field(default=None, kw_only=True)
    varied: Mapping[str, Distribution] | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    runs_per_task: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check what can be checked without building anything."""
        if not isinstance(self.scenario, Scenario):
            raise ModelError(f"a study needs a scenario, made by @scenario(name), got {self.scenario!r}")
        if not isinstance(self.factors, Mapping):
            raise ModelError(f'factors are given by name, as in {{"m1": [1.0, 2.0]}}, got {self.factors!r}')
        if isinstance(self.metrics, str):
            raise ModelError(f'metrics are a sequence of names, as in ["{self.metrics}"]')
        if self.runs_per_task is not None:
            whole("runs_per_task", self.runs_per_task)
        if not self.name:
            object.__setattr__(self, "name", self.scenario.name)
        if self.name != Path(self.name).name or self.name.startswith(".") or not self.name.isprintable():
            raise ModelError(f"the name of a study becomes that of a folder: {self.name!r} cannot")
        require_name("a study", self.name)
        _ = self.work

    @functools.cached_property
    def work(self) -> StudyWork:
        """All that is needed to compute any task."""
        return StudyWork(
            self.scenario,
            Factors.of(self.factors, self.scenario, self.sampler),
            _sources(self.controllers),
            _seeds(self.seeds),
            None if self.varied is None else dict(self.varied),
            None if self.metrics is None else tuple(self.metrics),
        )

    @property
    def runs(self) -> int:
        """Number of all runs."""
        factors = self.work.factors
        return factors.groups * factors.points * len(self.work.seeds) * len(self.work.controllers)

    @functools.cached_property
    def hash(self) -> str:
        """Tells this study from others: equal hashes mean equal results, up to the machine and versions of libraries.

        It is made of the format of results, code and settings of scenario and controllers, factors, seeds, metrics, and
        what is varied.
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
                "varied": work.varied,
                "metrics": work.metrics,
            }
        )

    @functools.cached_property
    def workshop(self) -> TrialCache:
        """Trials that this process compiled."""
        return TrialCache(self.work)

    @functools.cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Each controller on the first settings, compiled; what is wrong with the study shows here.

        Raises:
            StudyError: if there is nothing to run.
            ModelError, ParameterError: for an unknown metric, setting, parameter or controller.
        """
        self._require_runs()
        trials = tuple(self.workshop.trial(0, i) for i in range(len(self.work.controllers)))
        varied = self.workshop.varied(0)
        for name in (*self.work.factors.levels, *self.work.factors.sampled, *varied):
            if not any(trial.names.places(name) for trial in trials):
                known = [*self.scenario.settings, *(each for trial in trials for each in trial.names.all)]
                raise ParameterError(unknown_name("factor", name, set(known) - {name, name.removeprefix("law.")}))
        for trial in trials:
            _require_different(trial, (*self.work.factors.levels, *self.work.factors.sampled, *varied))
        return trials

    @functools.cached_property
    def quantities(self) -> Mapping[str, Quantity]:
        """What is measured, by name, of all controllers."""
        return {name: each for trial in self.trials for name, each in trial.quantities.items()}

    @functools.cached_property
    def plan(self) -> StudyPlan:
        """Which runs make up each task; trials are compiled for it.

        Raises:
            StudyError, ModelError, ParameterError: as :attr:`trials` does.
        """
        block = self.work.factors.points * len(self.work.seeds)
        if self.runs_per_task is not None:
            return self._plan([min(int(self.runs_per_task), block)] * len(self.trials))
        return self._plan([runs_per_task(trial, block) for trial in self.trials])

    @property
    def is_compiled(self) -> bool:
        """Whether all controllers run in machine code, so that threads serve them."""
        return all(map(is_compiled, self.trials))

    @property
    def user_file(self) -> tuple[Path, str] | None:
        """Path and text of the user's file that scenario or controllers come from, if there is one."""
        for module in user_modules([self.scenario, *self.work.controllers.values()]):
            file = Path(str(module.__file__))
            text = text_of(file)
            if text is not None:
                return file.resolve(), text
        return None

    def job(self, sizes: Sequence[int] | None = None) -> Job:
        """The study cut into tasks.

        Args:
            sizes: runs in a task of each controller; as :attr:`plan` says if not given.
        """
        plan = self.plan if sizes is None else self._plan(sizes)
        first = self.work.factors.settings_of(0)
        numbers = (*self.work.factors.levels, *self.work.factors.sampled, *self.workshop.varied(0))
        metrics = dict.fromkeys(self.quantities)
        if plan.groups > 1:
            # Other settings may have metrics that these have not.
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
        """Run all that is not done yet; results are in the folder as they come in.

        Threads of this process compute tasks if all laws are symbolic, else processes of their own. A run that has to
        stop is a result, too.

        Args:
            folder: for the results; made if missing.
            client: of a Dask cluster that computes the tasks.
            workers: tasks at a time on this machine; as many as this process may use cores if not given.
            progress: whether what is done is shown on standard error.
            resume: go on with results of the same study that are in the folder.
            limit: most runs that are begun without asking.

        Returns:
            The results.

        Raises:
            ModelError, ParameterError: for a study that cannot be run.
            StudyError: if there is nothing to run, or more than ``limit``; if the folder cannot be written, is full, in
                use, or holds something else; if a scheduler is gone or a worker dies again and again.
            StudyInterrupted: on Ctrl-C; what is done is kept.
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
        what = f"{', '.join(map(repr, empty))} has no levels" if empty else "it has no controllers"
        raise StudyError(f"study {self.name!r} has no runs: {what}")


def _require_different(trial: Trial, names: Sequence[str]) -> None:
    """Refuse two names for one number."""
    taken: dict[RunVariable, str] = {}
    for name in names:
        for place in trial.names.places(name):
            if place in taken:
                raise ParameterError(
                    f"{taken[place]!r} and {name!r} are the same number: vary one of them; what seeds vary can be "
                    "chosen by varied="
                )
            taken[place] = name


def _sources(given: Mapping[str, Source] | Sequence[str] | None) -> dict[str, Source]:
    if given is None:
        return {OWN: None}
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise ModelError(f"controllers are names, or functions by name, got {given!r}")
    pairs = given.items() if isinstance(given, Mapping) else [(name, name) for name in given]
    sources: dict[str, Source] = {}
    for name, source in pairs:
        require_name("a controller", name)
        if name in sources:
            raise ModelError(f"controllers have different names, got {name!r} twice")
        if not (source is None or isinstance(source, str | Controller) or callable(source)):
            raise ModelError(
                f"controller {name!r} must be a function that makes one for a setup, or the name of a rival of the "
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
        raise ModelError("a seed is given more than once: its runs would be the same")
    return numbers
