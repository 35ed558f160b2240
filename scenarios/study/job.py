"""A study cut into tasks: the data sent to a worker, the compiled trials made of it there, and the outcome."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...controllers.status import Status
from ...symbolic.compiler import find_compiler
from ...symbolic.errors import EruginError, ModelError, StudyError, unknown_name
from ..comparison.trial import ENDING, OK, STATUS, Trial
from ..sampling.distributions import Distribution
from ..sampling.seeded_values import sample
from ..scenario import Scenario
from ..setup import MakeController, Setup
from .factors import Factors
from .identity import user_modules
from .plan import StudyPlan, StudyTask
from .result_table import ResultColumns, encoded

Array = NDArray[np.float64]
Column = NDArray[Any]
Source = Controller | MakeController | str | None
"""An instance, what makes one for a setup, the name of a rival of the setup, or None for the setup's own controller."""
KEPT = 2
"""Groups of settings of which a process keeps the compiled trials."""


@dataclass(frozen=True, eq=False)
class StudyWork:
    """All that is needed to compute any task of a study.

    Attributes:
        scenario: what is run.
        factors: what is varied from point to point.
        controllers: by name.
        seeds: of what is varied from run to run of a point.
        varied: what seeds vary, by name; what the setup says if None. Factors of the same name come first.
        metrics: names of what is kept; all that there are if None.
    """

    scenario: Scenario
    factors: Factors
    controllers: Mapping[str, Source]
    seeds: range | tuple[int, ...]
    varied: Mapping[str, Distribution] | None
    metrics: tuple[str, ...] | None


class TrialCache:
    """The compiled trials of a study in one process; several threads may use it."""

    def __init__(self, work: StudyWork) -> None:
        """Nothing is built yet.

        Args:
            work: of the study.
        """
        self.work = work
        self._lock = threading.RLock()
        self._setups: OrderedDict[int, Setup] = OrderedDict()
        self._trials: OrderedDict[tuple[int, int], Trial] = OrderedDict()
        self._alone = threading.Lock()

    def setup(self, group: int) -> Setup:
        """The scenario with the settings of a group.

        Args:
            group: its number.
        """
        with self._lock:
            if group not in self._setups:
                self._setups[group] = self.work.scenario(parameters=None, **self.work.factors.settings_of(group))
                if len(self._setups) > KEPT:
                    self._setups.popitem(last=False)
            self._setups.move_to_end(group)
            return self._setups[group]

    def trial(self, group: int, controller: int) -> Trial:
        """One controller on the setup of a group.

        Args:
            group: its number.
            controller: place of the controller.
        """
        key = group, controller
        with self._lock:
            if key not in self._trials:
                name, source = list(self.work.controllers.items())[controller]
                setup = self.setup(group)
                self._trials[key] = Trial.of(
                    *(setup, name, controller_of(setup, source), self.work.metrics), also=self._others()
                )
                if len(self._trials) > KEPT * len(self.work.controllers):
                    self._trials.popitem(last=False)
            self._trials.move_to_end(key)
            return self._trials[key]

    def varied(self, group: int) -> Mapping[str, Distribution]:
        """What seeds vary in a group, by name.

        Args:
            group: its number.
        """
        given = self.setup(group).varied if self.work.varied is None else self.work.varied
        return {name: each for name, each in given.items() if name not in self.work.factors.names}

    def columns(self, task: StudyTask, points: int) -> tuple[dict[str, Column], dict[str, Array]]:
        """Which runs a task has, and the values of what is varied in them, shape (runs,) each; NaN where it is unknown.

        Args:
            task: which.
            points: in each group.
        """
        seeds, trial = self.work.seeds, self.trial(task.group, task.controller)
        local = np.arange(task.first, task.end, dtype=np.int64)
        point, turn = np.divmod(local, len(seeds))
        numbers = np.array([seeds[i] for i in turn.tolist()], dtype=np.int64)
        which: dict[str, Column] = {"run": task.offset + local, "point": task.group * points + point, "seed": numbers}
        nominal = _known(trial)
        values = self.work.factors.values(point, nominal)
        values |= sample(self.varied(task.group), numbers, nominal)
        return which, values

    def run(self, plan: StudyPlan, number: int) -> dict[str, Column]:
        """The results of a task, by name, shape (runs,) each. What fails is told in them.

        Args:
            plan: of the study.
            number: of the task.
        """
        task = plan.task(number)
        n = task.runs
        first: dict[str, Column] = {
            "task": np.full(n, number, dtype=np.int64),
            "controller": np.full(n, list(self.work.controllers)[task.controller], dtype=np.object_),
        }
        settings = {
            name: np.full(n, value, dtype=np.object_ if isinstance(value, str) else None)
            for name, value in self.work.factors.settings_of(task.group).items()
        }
        try:
            which, values = self.columns(task, plan.points)
            trial = self.trial(task.group, task.controller)
            with self._one_at_a_time(trial):
                return {**first, **settings, **which, **values, **_results(trial, values, n)}
        except (MemoryError, OSError):
            raise
        except Exception as error:
            local = np.arange(task.first, task.end, dtype=np.int64)
            seeds, points = self.work.seeds, local // len(self.work.seeds)
            which = {
                "run": task.offset + local,
                "point": task.group * plan.points + points,
                "seed": np.array([seeds[i] for i in (local % len(seeds)).tolist()], dtype=np.int64),
            }
            return {**first, **settings, **which, **_failed(error, n)}

    def _one_at_a_time(self, trial: Trial) -> contextlib.AbstractContextManager[object]:
        """Laws in Python remember, and one may drive several setups: no two threads may use any at once."""
        return contextlib.nullcontext() if is_compiled(trial) else self._alone

    def _others(self) -> tuple[str, ...]:
        """Names of what is varied, without where: a controller that has not such a parameter leaves it alone."""
        names = (*self.work.factors.levels, *self.work.factors.sampled, *(self.work.varied or {}))
        return tuple(dict.fromkeys(name.removeprefix("law.") for name in names))


def controller_of(setup: Setup, source: Source) -> Controller | MakeController | None:
    """What drives a setup.

    Args:
        setup: to be driven.
        source: an instance, what makes one, the name of a rival, or None for the setup's own controller.

    Raises:
        ModelError: for a rival that the setup does not have.
    """
    if not isinstance(source, str):
        return setup.controller if source is None else source
    if source not in setup.rivals:
        raise ModelError(unknown_name("controller", source, setup.rivals))
    return setup.rivals[source]


def is_compiled(trial: Trial) -> bool:
    """Whether runs go side by side in machine code, and several tasks in threads.

    Args:
        trial: of a controller.
    """
    return trial.simulator.is_vectorized and not isinstance(find_compiler(), str)


def _known(trial: Trial) -> Callable[[str], float]:
    """Values without variation; NaN for what only other controllers have."""
    return lambda name: trial.nominal(name) if trial.names.places(name) else float("nan")


def _results(trial: Trial, values: Mapping[str, Array], n: int) -> dict[str, Column]:
    """Metrics and endings; where one run is refused, the others are run without it."""
    own = {name: column for name, column in values.items() if trial.names.places(name)}
    try:
        return dict(trial.run(own, threads=1, count=n))
    except EruginError as error:
        if n == 1:
            return _failed(error, 1)
    halves = [slice(0, n // 2), slice(n // 2, n)]
    parts = [_results(trial, {k: x[part] for k, x in values.items()}, part.stop - part.start) for part in halves]
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: np.concatenate([part.get(name, np.full(len(part[OK]), np.nan)) for part in parts]) for name in names}


def _failed(error: Exception, n: int) -> dict[str, Column]:
    """What is told of runs that could not begin."""
    said = str(error) if isinstance(error, EruginError) else f"{type(error).__name__}: {error}"
    return {
        STATUS: np.full(n, int(Status.FAILED), dtype=np.int64),
        OK: np.zeros(n, dtype=np.bool_),
        ENDING: np.full(n, f"not begun: {said}", dtype=np.object_),
    }


@dataclass(frozen=True)
class TaskOutcome:
    """What came of a task.

    Attributes:
        task: its number.
        data: the file of its results.
        runs: how many.
        failed: how many of them had to stop, or could not begin.
        seconds: that it took [s].
        worker: where.
    """

    task: int
    data: bytes
    runs: int
    failed: int
    seconds: float
    worker: str


@dataclass(frozen=True, eq=False)
class Job:
    """All that is needed to compute any task of a study.

    Attributes:
        work: what is run.
        plan: which runs make up each task.
        columns: of the results.
        identity: hash of the study.
    """

    work: StudyWork
    plan: StudyPlan
    columns: ResultColumns
    identity: str

    def pack(self) -> bytes:
        """All of it as bytes, with the code of the user's own modules.

        Raises:
            StudyError: if something in it cannot be sent to another process.
        """
        import cloudpickle  # type: ignore[import-untyped]  # late, for it is an extra

        modules = user_modules([self.work.scenario, *self.work.controllers.values()])
        registered = [
            module for module in modules if module.__name__ not in cloudpickle.list_registry_pickle_by_value()
        ]
        try:
            for module in registered:
                cloudpickle.register_pickle_by_value(module)
            # Expressions that functions use keep their symbols in common.
            with ca.global_pickle_context():
                return bytes(cloudpickle.dumps(self))
        except Exception as error:
            raise StudyError(
                f"the study cannot be sent to another process ({type(error).__name__}: {error}): make scenario and "
                "controllers by functions of a file of your own"
            ) from error
        finally:
            for module in registered:
                cloudpickle.unregister_pickle_by_value(module)


class TaskRunner:
    """Computes tasks of a job in this process; several threads may use it."""

    def __init__(self, job: Job, workshop: TrialCache | None = None) -> None:
        """Nothing is built yet.

        Args:
            job: whose tasks.
            workshop: whose trials are used, if some are compiled already.
        """
        self.job = job
        self._workshop = workshop or TrialCache(job.work)

    def compute(self, number: int) -> TaskOutcome:
        """A task from start to end.

        Args:
            number: of the task.

        Raises:
            StudyError: if its results have other columns than those of the study, or this machine has no room.
        """
        began, job = time.perf_counter(), self.job
        try:
            found = self._workshop.run(job.plan, number)
        except (MemoryError, OSError) as error:
            raise StudyError(
                f"task {number}: there is no room on {socket.gethostname()}: {error or 'memory'}"
            ) from error
        strange = sorted(found.keys() - set(job.columns.names))
        if strange:
            raise StudyError(
                f"task {number} has {', '.join(map(repr, strange))}, which the first settings do not have: name "
                "metrics= and varied= that all have"
            )
        data = encoded(found, job.columns, job.identity)
        failed = int(np.count_nonzero(~found[OK].astype(np.bool_)))
        return TaskOutcome(number, data, len(found[OK]), failed, time.perf_counter() - began, here())


def here() -> str:
    """Which thread of which process of which machine this is."""
    return f"{socket.gethostname()}/{os.getpid()}/{threading.current_thread().name}"


_benches: OrderedDict[str, TaskRunner] = OrderedDict()
_guard = threading.Lock()


def compute_packed(packed: bytes, number: int) -> TaskOutcome:
    """A task of a job that was sent to this process; what is compiled for it is kept for the next.

    Args:
        packed: by :meth:`Job.pack`.
        number: of the task.
    """
    key = hashlib.sha256(packed).hexdigest()
    with _guard:
        if key not in _benches:
            import cloudpickle  # late, for it is an extra

            with ca.global_unpickle_context():
                job = cloudpickle.loads(packed)
            assert isinstance(job, Job)
            _benches[key] = TaskRunner(job)
            if len(_benches) > 2:
                _benches.popitem(last=False)
        bench = _benches[key]
    return bench.compute(number)


STAGES, OPERATION, SAMPLE = 4, 5e-11, 1e-7
"""Calls of the law in a step; seconds of one operation of one lane, and of what is recorded of a sample."""
TICK = 2e-4
"""Seconds of a tick whose law is in Python."""
SECONDS = 1.0
LANES, MOST = 64, 8192
"""Lanes that go well together, and most of them: more use more memory and are not faster."""


def runs_per_task(trial: Trial, runs: int) -> int:
    """Runs of a task.

    Args:
        trial: of the controller.
        runs: number of all runs of the controller with the same settings.
    """
    samples = max(1, math.ceil(trial.setup.duration / trial.setup.step))
    if not is_compiled(trial):
        return max(1, min(runs, round(SECONDS / (TICK * samples))))
    each = STAGES * _operations(trial) * OPERATION + SAMPLE
    many = SECONDS / (each * samples)
    return max(1, min(runs, MOST, round(many / LANES) * LANES or round(many)))


def _operations(trial: Trial) -> int:
    robot = trial.setup.robot
    outputs = [robot.mass_matrix, robot.bias]
    if trial.controller is not None and trial.controller.law is not None:
        outputs.append(trial.controller.law.output)
    every = ca.vertcat(*(ca.densify(ca.vec(each)) for each in outputs))
    return ca.Function("operations", ca.symvar(every), [every], {"cse": True}).n_instructions()
