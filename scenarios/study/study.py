"""Many runs of a scenario: every point of a grid or of a sample, every seed, every controller."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...controllers.controller import Controller
from ...symbolic.arrays import whole
from ...symbolic.errors import ModelError, ParameterError, StudyError, require_name, unknown_name
from ..comparison.quantity import Quantity
from ..comparison.trial import Trial
from ..comparison.varied_names import Place
from ..sampling.distribution import Distribution
from ..sampling.draw import seed_numbers
from ..sampling.points import Sampler
from ..scenario import Scenario
from .factors import Factor, Factors
from .folder import FORMAT
from .identity import digest
from .job import Job
from .plan import Plan
from .size import runs_per_task
from .tables import Columns
from .user_code import text_of, user_modules
from .work import Source, Work, Workshop, is_compiled

if TYPE_CHECKING:
    from distributed import Client

    from .results import Results

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
    def work(self) -> Work:
        """All that is needed to compute any task."""
        return Work(
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
    def workshop(self) -> Workshop:
        """Trials that this process compiled."""
        return Workshop(self.work)

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
    def plan(self) -> Plan:
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
        return Job(self.work, plan, Columns(first, numbers, tuple(metrics)), self.hash)

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
        from .execution import execute

        return execute(
            self, Path(folder), client=client, workers=workers, progress=progress, resume=resume, limit=limit
        )

    def _plan(self, sizes: Sequence[int]) -> Plan:
        factors, work = self.work.factors, self.work
        return Plan(factors.groups, len(work.controllers), factors.points, len(work.seeds), tuple(sizes))

    def _require_runs(self) -> None:
        if self.runs:
            return
        factors = self.work.factors
        empty = [name for name, values in {**factors.settings, **factors.levels}.items() if not len(values)]
        what = f"{', '.join(map(repr, empty))} has no levels" if empty else "it has no controllers"
        raise StudyError(f"study {self.name!r} has no runs: {what}")


def _require_different(trial: Trial, names: Sequence[str]) -> None:
    """Refuse two names for one number."""
    taken: dict[Place, str] = {}
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
