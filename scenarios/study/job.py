"""A study divided into tasks: the data sent to a worker, its compiled trials, and the outcome."""

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
from ..comparison.outcomes import ENDING, OK, STATUS
from ..comparison.trial import Trial
from ..sampling.distributions import Distribution
from ..sampling.seeded_values import sample
from ..scenario import Scenario
from ..setup import MakeController, Setup
from .factors import Factors
from .identity import user_modules
from .plan import StudyPlan, StudyTask
from .result_table import ResultColumns, encode_table

Array = NDArray[np.float64]
Column = NDArray[Any]
Source = Controller | MakeController | str | None
"""An instance, a function that builds one, the name of a baseline of the setup, or None for its own controller."""
KEPT = 2
"""Number of groups of settings whose compiled trials a process keeps."""


@dataclass(frozen=True, eq=False)
class StudyWork:
    """The definition of a study, from which any of its runs can be computed.

    Attributes:
        scenario: the scenario to run.
        factors: factors, which differ between points.
        controllers: controllers, by name.
        seeds: seeds of the runs at each point.
        randomization: distributions of what seeds vary, by name; those of the setup if None. Factors take precedence.
        metrics: names of the metrics; all available ones if None.
    """

    scenario: Scenario
    factors: Factors
    controllers: Mapping[str, Source]
    seeds: range | tuple[int, ...]
    randomization: Mapping[str, Distribution] | None
    metrics: tuple[str, ...] | None


class TrialCache:
    """The compiled trials of a study in one process; it is thread-safe."""

    def __init__(self, work: StudyWork) -> None:
        """Start with an empty cache.

        Args:
            work: definition of the study.
        """
        self.work = work
        self._lock = threading.RLock()
        self._setups: OrderedDict[int, Setup] = OrderedDict()
        self._trials: OrderedDict[tuple[int, int], Trial] = OrderedDict()
        self._alone = threading.Lock()

    def setup(self, group: int) -> Setup:
        """Return the scenario with the settings of a group.

        Args:
            group: index of the group.
        """
        with self._lock:
            if group not in self._setups:
                self._setups[group] = self.work.scenario(parameters=None, **self.work.factors.settings_of(group))
                if len(self._setups) > KEPT:
                    self._setups.popitem(last=False)
            self._setups.move_to_end(group)
            return self._setups[group]

    def trial(self, group: int, controller: int) -> Trial:
        """Return the trial of one controller on the setup of a group.

        Args:
            group: index of the group.
            controller: index of the controller.
        """
        key = group, controller
        with self._lock:
            if key not in self._trials:
                name, source = list(self.work.controllers.items())[controller]
                setup = self.setup(group)
                self._trials[key] = Trial.of(
                    *(setup, name, controller_of(setup, source), self.work.metrics), ignored=self._parameter_names()
                )
                if len(self._trials) > KEPT * len(self.work.controllers):
                    self._trials.popitem(last=False)
            self._trials.move_to_end(key)
            return self._trials[key]

    def randomization(self, group: int) -> Mapping[str, Distribution]:
        """Return the distributions of what seeds vary in a group, by name.

        Args:
            group: index of the group.
        """
        given = self.setup(group).randomization if self.work.randomization is None else self.work.randomization
        return {name: each for name, each in given.items() if name not in self.work.factors.names}

    def columns(self, task: StudyTask, points: int) -> tuple[dict[str, Column], dict[str, Array]]:
        """Return the runs of a task, and the values of factors and randomized numbers, NaN if unknown; shape (runs,).

        Args:
            task: the task.
            points: number of points in each group.
        """
        seeds, trial = self.work.seeds, self.trial(task.group, task.controller)
        local = np.arange(task.first, task.end, dtype=np.int64)
        point, turn = np.divmod(local, len(seeds))
        numbers = np.array([seeds[i] for i in turn.tolist()], dtype=np.int64)
        runs: dict[str, Column] = {"run": task.offset + local, "point": task.group * points + point, "seed": numbers}
        nominal = _nominal_or_nan(trial)
        values = self.work.factors.values(point, nominal)
        values |= sample(self.randomization(task.group), numbers, nominal)
        return runs, values

    def run(self, plan: StudyPlan, number: int) -> dict[str, Column]:
        """Compute the results of a task, by name, shape (runs,) each; they include failures.

        Args:
            plan: plan of the study.
            number: index of the task.
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
            runs, values = self.columns(task, plan.points)
            trial = self.trial(task.group, task.controller)
            with self._one_at_a_time(trial):
                return {**first, **settings, **runs, **values, **_results(trial, values, n)}
        except (MemoryError, OSError):
            raise
        except Exception as error:
            local = np.arange(task.first, task.end, dtype=np.int64)
            seeds, points = self.work.seeds, local // len(self.work.seeds)
            runs = {
                "run": task.offset + local,
                "point": task.group * plan.points + points,
                "seed": np.array([seeds[i] for i in (local % len(seeds)).tolist()], dtype=np.int64),
            }
            return {**first, **settings, **runs, **_failed(error, n)}

    def _one_at_a_time(self, trial: Trial) -> contextlib.AbstractContextManager[object]:
        """Return the lock for laws in Python: they have state, and one may drive several setups."""
        return contextlib.nullcontext() if is_compiled(trial) else self._alone

    def _parameter_names(self) -> tuple[str, ...]:
        """Return the names of factors and randomized numbers without ``law.``; controllers without one ignore it."""
        names = (*self.work.factors.levels, *self.work.factors.sampled, *(self.work.randomization or {}))
        return tuple(dict.fromkeys(name.removeprefix("law.") for name in names))


def controller_of(setup: Setup, source: Source) -> Controller | MakeController | None:
    """Return the controller of a setup, or the function that builds it.

    Args:
        setup: setup that the controller drives.
        source: an instance, a function that builds one, the name of a baseline, or None for the setup's own controller.

    Raises:
        ModelError: for an unknown baseline.
    """
    if not isinstance(source, str):
        return setup.controller if source is None else source
    if source not in setup.baselines:
        raise ModelError(unknown_name("controller", source, setup.baselines))
    return setup.baselines[source]


def is_compiled(trial: Trial) -> bool:
    """Return True if runs are vectorized in machine code, so that threads can compute several tasks.

    Args:
        trial: trial of a controller.
    """
    return trial.simulator.is_vectorized(trial.setup.step) and not isinstance(find_compiler(), str)


def _nominal_or_nan(trial: Trial) -> Callable[[str], float]:
    """Return a function of nominal values; NaN for parameters that only other controllers have."""
    return lambda name: trial.nominal(name) if trial.names.resolve(name) else float("nan")


def _results(trial: Trial, values: Mapping[str, Array], n: int) -> dict[str, Column]:
    """Return metrics and endings; if a run cannot start, the others are run without it."""
    own = {name: column for name, column in values.items() if trial.names.resolve(name)}
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
    """Return the results of runs that could not start."""
    message = str(error) if isinstance(error, EruginError) else f"{type(error).__name__}: {error}"
    return {
        STATUS: np.full(n, int(Status.FAILED), dtype=np.int64),
        OK: np.zeros(n, dtype=np.bool_),
        ENDING: np.full(n, f"not begun: {message}", dtype=np.object_),
    }


@dataclass(frozen=True)
class TaskOutcome:
    """The outcome of a task.

    Attributes:
        task: index of the task.
        data: content of its file of results.
        runs: number of runs.
        failed: number of runs that had to stop, or could not start.
        seconds: computing time [s].
        worker: machine, process and thread that computed it.
    """

    task: int
    data: bytes
    runs: int
    failed: int
    seconds: float
    worker: str


@dataclass(frozen=True, eq=False)
class Job:
    """A study divided into tasks, as sent to workers.

    Attributes:
        work: definition of the study.
        plan: assignment of runs to tasks.
        columns: columns of the results.
        identity: hash of the study.
    """

    work: StudyWork
    plan: StudyPlan
    columns: ResultColumns
    identity: str

    def pack(self) -> bytes:
        """Pickle the job, with the code of the user's modules.

        Raises:
            StudyError: if it cannot be pickled.
        """
        import cloudpickle  # type: ignore[import-untyped]  # late, for it is an extra

        modules = user_modules([self.work.scenario, *self.work.controllers.values()])
        registered = [
            module for module in modules if module.__name__ not in cloudpickle.list_registry_pickle_by_value()
        ]
        try:
            for module in registered:
                cloudpickle.register_pickle_by_value(module)
            # Expressions that share symbols keep sharing them.
            with ca.global_pickle_context():
                return bytes(cloudpickle.dumps(self))
        except Exception as error:
            raise StudyError(
                f"the study cannot be sent to another process ({type(error).__name__}: {error}): define scenario and "
                "controllers as functions in a Python file"
            ) from error
        finally:
            for module in registered:
                cloudpickle.unregister_pickle_by_value(module)


class TaskRunner:
    """Computes tasks of a job in this process; it is thread-safe."""

    def __init__(self, job: Job, trial_cache: TrialCache | None = None) -> None:
        """Store the job.

        Args:
            job: the job.
            trial_cache: compiled trials to use; a new cache if not given.
        """
        self.job = job
        self._trial_cache = trial_cache or TrialCache(job.work)

    def compute(self, number: int) -> TaskOutcome:
        """Compute a task.

        Args:
            number: index of the task.

        Raises:
            StudyError: if its results have columns that the study does not have, or this machine has too little memory
                or disk space.
        """
        start, job = time.perf_counter(), self.job
        try:
            results = self._trial_cache.run(job.plan, number)
        except (MemoryError, OSError) as error:
            raise StudyError(
                f"task {number}: too little memory or disk space on {socket.gethostname()}: {error or 'memory'}"
            ) from error
        unexpected = sorted(results.keys() - set(job.columns.names))
        if unexpected:
            raise StudyError(
                f"task {number} has {', '.join(map(repr, unexpected))}, which the first settings do not have: give "
                "metrics= and randomization= that all settings have"
            )
        data = encode_table(results, job.columns, job.identity)
        failed = int(np.count_nonzero(~results[OK].astype(np.bool_)))
        return TaskOutcome(number, data, len(results[OK]), failed, time.perf_counter() - start, worker_name())


def worker_name() -> str:
    """Return machine, process and thread of the caller."""
    return f"{socket.gethostname()}/{os.getpid()}/{threading.current_thread().name}"


_runners: OrderedDict[str, TaskRunner] = OrderedDict()
_lock = threading.Lock()


def compute_packed(packed: bytes, number: int) -> TaskOutcome:
    """Compute a task of a packed job; its compiled trials are kept for the next task.

    Args:
        packed: job packed by :meth:`Job.pack`.
        number: index of the task.
    """
    key = hashlib.sha256(packed).hexdigest()
    with _lock:
        if key not in _runners:
            import cloudpickle  # late, for it is an extra

            with ca.global_unpickle_context():
                job = cloudpickle.loads(packed)
            assert isinstance(job, Job)
            _runners[key] = TaskRunner(job)
            if len(_runners) > 2:
                _runners.popitem(last=False)
        runner = _runners[key]
    return runner.compute(number)


STAGES, OPERATION, SAMPLE = 4, 5e-11, 1e-7
"""Calls of the law in a step; assumed time of one operation of one lane, and of recording a sample [s]."""
TICK = 2e-4
"""Assumed time of a tick of a law in Python [s]."""
SECONDS = 1.0
"""Intended time of a task [s]."""
LANES, MOST = 64, 8192
"""Runs of a task are a multiple of LANES, at most MOST: more require more memory and are not faster."""


def runs_per_task(trial: Trial, runs: int) -> int:
    """Return the number of runs of a task, such that it takes about a second.

    Args:
        trial: trial of the controller.
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
