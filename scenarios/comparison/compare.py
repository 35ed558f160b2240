"""Comparison of controllers on the same runs, and the computing time of one tick of each."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...controllers.law import Law
from ...controllers.wrappers.wrapper import Wrapper
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import EruginError, ModelError, prefix_message, require_name, unknown_name
from ...symbolic.kernel import Kernel
from ..sampling.distributions import Distribution
from ..sampling.seeded_values import Seeds, sample, seed_numbers
from ..scenario import Scenario
from ..setup import MakeController, Setup
from .comparison import Comparison, Robustness
from .estimate import required_confidence
from .impairments import ImpairedController, checked_levels, find_impairment, merge_randomization
from .quantities import Quantity
from .trial import Trial, build_controller

CALLS = 200
"""Calls of a compiled law at each state: a single call is shorter than the resolution of the clock."""
STATES = 50
"""Number of states of a run at which a compiled law is timed."""
TICKS = 200
"""Number of ticks, from the start, at which a law in Python is timed."""


def tick_time(trial: Trial) -> float | None:
    """Measure the median time of a tick along the run without randomization [s]; None without a controller.

    A law with expressions is timed as its compiled code bound to arrays, without checks, and with the update of its
    memory if it has one; a law in Python as the calls of ``advance`` and ``control``. For a law with its own period the
    longest call of each period counts, which is the one that computes. The time depends on this machine and its load,
    and differs between measurements.

    Args:
        trial: a controller on a setup.

    Raises:
        EruginError: whatever the law raises.
    """
    setup, controller = trial.setup, trial.controller
    if controller is None:
        return None
    law = controller.sampled_law(setup.step)
    compiled = law is not None
    period = max(setup.step, _period(controller))
    duration = setup.duration if compiled else min(setup.duration, TICKS * period)
    every = max(1, round(duration / setup.step) // STATES) if compiled else 1
    motion = trial.simulator.run_batch(
        setup.q0, setup.v0, duration, step=setup.step, p=setup.p, controller_p=trial.controller_p, every=every
    )[0]
    return _called(controller, motion, _period(controller)) if law is None else _compiled(controller, law, motion)


def _compiled(controller: Controller, law: Law, motion: Trajectory) -> float:
    c, parameters = controller.robot.coordinates, controller.parameters
    states = {"t": c.t, "q": c.q, "v": c.v, "p": parameters.symbols, "z": law.z, "w": law.random}
    tick = Kernel("timed_tick", states, {"output": law.after_sample().output, "z": law.updated})
    t, q, v, z = np.zeros(1), np.zeros(c.nq), np.zeros(c.nv), law.initial.copy()
    output, updated, times = np.zeros(law.output.numel()), np.zeros(len(z)), list[float]()
    evaluate = tick.bind(
        [t, q, v, parameters.values(motion.controller_p), z, np.zeros(law.random.numel())], [output, updated]
    )
    for t[0], q[:], v[:] in zip(motion.t, motion.q, motion.v, strict=True):
        start = time.perf_counter()
        for _ in range(CALLS):
            evaluate()
        times.append((time.perf_counter() - start) / CALLS)
        z[:] = updated
    return median(times)


def _period(controller: Controller) -> float:
    """Return the longest period of a law or of one that it wraps [s]; zero if it is computed at every call."""
    period = 0.0
    while True:
        period = max(period, float(getattr(controller, "period", 0.0)))
        if not isinstance(controller, Wrapper):
            return period
        controller = controller.inner


def _called(controller: Controller, motion: Trajectory, period: float) -> float:
    controller.reset()
    longest, start = dict[int, float](), float(motion.t[0])
    for k, (t, q, v) in enumerate(zip(motion.t.tolist(), motion.q, motion.v, strict=True)):
        before = time.perf_counter()
        controller.advance(t, q, v, motion.controller_p)
        controller.control(t, q, v, motion.controller_p)
        seconds = time.perf_counter() - before
        tick = math.floor((t - start) / period + 1e-6) if period else k
        longest[tick] = max(seconds, longest.get(tick, 0.0))
    controller.reset()
    return median(longest.values())


Array = NDArray[np.float64]
Source = Controller | MakeController | None
Controllers = Mapping[str, Source] | Sequence[str]
Randomization = Mapping[str, Distribution]
Progress = Callable[[float], None]
OWN = "own"
"""Name of a setup's own controller."""
MOST_SEEDS = 10_000_000
"""Largest number of seeds of a comparison, which keeps all runs in memory."""


def compare(
    scenario: Scenario | Setup,
    controllers: Controllers | None = None,
    *,
    seeds: Seeds = 100,
    metrics: Sequence[str] | None = None,
    randomization: Mapping[str, Distribution] | None = None,
    confidence: float = 0.95,
    robustness: Mapping[str, Sequence[float]] | None = None,
    ticks: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
    name: str | None = None,
) -> Comparison:
    """Run controllers on the same starts, parameters, noise and disturbances, with statistics of the differences.

    Args:
        scenario: a scenario, run with its default settings, or a setup.
        controllers: instances, or functions that build one for a setup, by name; or a sequence of names of the setup's
            baselines and ``"own"`` for its own controller. The own controller and all baselines if not given.
        seeds: number of runs of each controller, or their seeds, all different; a seed gives all controllers the same
            conditions.
        metrics: names of the metrics; all available ones if not given.
        randomization: distributions of what seeds vary, by name; those of the setup if not given.
        confidence: confidence of each interval, in (0, 1).
        robustness: levels of impairments, by name: ``"model_error"``, spread of the plant's parameters; ``"noise"``,
            root mean square of errors of measured coordinates; ``"delay"``, dead time [s]; ``"period"``, sampling
            period of the controller [s]; or a name as in ``randomization``, which is set to each level.
        ticks: True to measure the time of a control tick.
        threads: number of threads for symbolic laws; all available to this process if not given.
        progress: called with the completed share, in [0, 1].
        name: name of the comparison; that of the scenario, or of the robot, if not given.

    Raises:
        ModelError: for unknown or invalid scenarios, controllers, metrics, levels or seeds.
        ParameterError: for an unknown name of a randomized number, or a value out of its range.
        SimulationInterrupted: on Ctrl-C.
    """
    _check(metrics, randomization, robustness)
    setup = _setup(scenario)
    title = name or (scenario.name if isinstance(scenario, Scenario) else setup.robot.name)
    sources = _sources(setup, controllers)
    distributions = dict(setup.randomization if randomization is None else randomization)
    job = _Job(
        title,
        setup,
        metrics,
        _seeds(seeds, bool(distributions or robustness)),
        required_confidence(confidence),
        threads,
    )
    impairments = {key: find_impairment(key, setup) for key in robustness or {}}
    levels = {key: checked_levels(key, impairments[key], (robustness or {})[key]) for key in impairments}
    parts = 1 + sum(map(len, levels.values()))
    done = 0

    def report(share: float) -> None:
        if progress is not None:
            progress((done + share) / parts)

    built: dict[str, Controller | None] = {}
    for key, source in sources.items():
        with _naming(key):
            built[key] = build_controller(setup, key, source)
    plain = {key: (controller, distributions) for key, controller in built.items()}

    def at(key: str, level: float) -> Mapping[str, tuple[Controller | None, Randomization]]:
        impaired: dict[str, ImpairedController] = {}
        for name, controller in built.items():
            with _naming(name):
                impaired[name] = impairments[key].at(level, setup, controller)
        return {
            name: (one.controller, merge_randomization(key, impairments[key], one.randomization, distributions))
            for name, one in impaired.items()
        }

    harder = {key: [at(key, level) for level in ascending] for key, ascending in levels.items()}
    trials = job.trials(plain)
    times = {key: time for key, trial in trials.items() if ticks and (time := _tick_time(trial)) is not None}
    sweeps: dict[str, Robustness] = {}
    unimpaired = job.run(trials, plain, report)
    for key, ascending in levels.items():
        comparisons: list[Comparison] = []
        for laws in harder[key]:
            done += 1
            comparisons.append(job.run(job.trials(laws), laws, report))
        sweeps[key] = Robustness(key, impairments[key].meaning, ascending, tuple(comparisons))
    return replace(unimpaired, tick_times=times, robustness=sweeps)


@dataclass(frozen=True, eq=False)
class _Job:
    """Settings shared by all runs of a comparison."""

    name: str
    setup: Setup
    metrics: Sequence[str] | None
    seeds: NDArray[np.int64]
    confidence: float
    threads: int | None

    def trials(self, controllers: Mapping[str, tuple[Controller | None, Randomization]]) -> Mapping[str, Trial]:
        """Build a trial for each controller."""
        known = {name for law, _ in controllers.values() if law is not None for name in law.parameters.names}
        trials: dict[str, Trial] = {}
        for name, (controller, _) in controllers.items():
            with _naming(name):
                trials[name] = Trial.of(self.setup, name, controller, self.metrics, ignored=known)
        return trials

    def run(
        self,
        trials: Mapping[str, Trial],
        controllers: Mapping[str, tuple[Controller | None, Randomization]],
        progress: Progress,
    ) -> Comparison:
        """Run all controllers with all seeds."""
        results: dict[str, Mapping[str, NDArray[Any]]] = {}
        columns: dict[str, Mapping[str, Array]] = {}

        def report(index: int, share: float) -> None:
            progress((index + share) / len(trials))

        for index, (name, trial) in enumerate(trials.items()):
            with _naming(name):
                used = {key: each for key, each in controllers[name][1].items() if trial.names.resolve(key)}
                columns[name] = sample(used, self.seeds, trial.nominal)
            try:
                results[name] = trial.run(
                    columns[name],
                    threads=self.threads,
                    count=len(self.seeds),
                    progress=functools.partial(report, index),
                )
            except Exception as error:
                first = self._first_failing(trial, columns[name])
                with _naming(name, None if first is None else int(self.seeds[first])):
                    raise error from error.__cause__
        return Comparison(
            name=self.name,
            quantities=_joined([trial.quantities for trial in trials.values()]),
            results=results,
            seeds=self.seeds,
            columns=columns,
            confidence=self.confidence,
            left_out={name: trial.left_out for name, trial in trials.items()},
            rows={name: () if t.controller is None else t.controller.rows for name, t in trials.items()},
        )

    def _first_failing(self, trial: Trial, columns: Mapping[str, Array]) -> int | None:
        """Return the index of the first run that raises by itself; None if there is no such run."""

        def fails(low: int, high: int) -> bool:
            try:
                trial.run(
                    {k: column[low:high] for k, column in columns.items()}, threads=self.threads, count=high - low
                )
            except Exception:
                # A user's law may raise anything; the caller raises the error of all runs again, naming this one.
                return True
            return False

        low, high = 0, len(self.seeds)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fails(low, middle) else (middle, high)
        return low if fails(low, high) else None


@contextlib.contextmanager
def _naming(controller: str, seed: int | None = None) -> Generator[None]:
    """Name the controller, and the seed of its run, in exceptions raised inside."""
    try:
        yield
    except Exception as error:
        label = f"controller {controller!r}" + ("" if seed is None else f", seed {seed}")
        if isinstance(error, EruginError):
            prefix_message(error, f"{label}: ")
            error.__notes__ = [
                note for note in getattr(error, "__notes__", []) if note != f"of controller {controller!r}"
            ]
        else:
            error.add_note(f"of {label}")
        raise


def _check(metrics: object, randomization: object, robustness: object) -> None:
    """Raise ModelError unless metrics is a sequence, and the others are mappings."""
    if not isinstance(metrics, Sequence | None):
        raise ModelError(f'metrics must be a sequence of names, as in ["error_rms", "effort"], got {metrics!r}')
    for word, given in (("randomization", randomization), ("robustness", robustness)):
        if not isinstance(given, Mapping | None):
            raise ModelError(f'{word} must be a mapping by name, as in {{"m1": ...}}, got {given!r}')


def _seeds(given: Seeds, differ: bool) -> NDArray[np.int64]:
    """Return the seeds; raises ModelError for repeated ones, which would make intervals too narrow."""
    most = given if isinstance(given, int | np.integer) else len(np.atleast_1d(np.asarray(given, dtype=object)))
    if most > MOST_SEEDS:
        raise ModelError(
            f"a comparison keeps all runs in memory and allows at most {MOST_SEEDS:,} seeds, got {int(most):,}: use a "
            "Study, which keeps runs on disk and estimates its duration"
        )
    seeds = seed_numbers(given)
    numbers, counts = np.unique(seeds, return_counts=True)
    if len(numbers) < len(seeds):
        raise ModelError(f"seeds must be different, but {numbers[counts > 1][0]} is given more than once")
    if not differ and len(seeds) > 1:
        raise ModelError(
            f"seeds vary nothing, so that all {len(seeds)} runs of a controller would be identical: give "
            'randomization={"plant.m1": Scaled(Uniform(0.9, 1.1))} or the like, or use seeds=1'
        )
    return seeds


def _setup(scenario: Scenario | Setup) -> Setup:
    if isinstance(scenario, Scenario):
        return scenario()
    if not isinstance(scenario, Setup):
        raise ModelError(f"compare requires a Scenario or a Setup, got {scenario!r}")
    return scenario


def _sources(setup: Setup, controllers: Controllers | None) -> Mapping[str, Source]:
    """Return the controllers by name, not built yet."""
    known: dict[str, Source] = {} if setup.controller is None else {OWN: setup.controller}
    known |= setup.baselines
    if controllers is None:
        chosen = known
    elif isinstance(controllers, Mapping):
        chosen = dict(controllers)
        for name in chosen:
            require_name("a controller", name)
    else:
        if isinstance(controllers, str) or not isinstance(controllers, Sequence):
            raise ModelError(
                f'controllers must be a sequence of names, as in ["own"], or a mapping by name, got {controllers!r}'
            )
        for name in controllers:
            if name not in known:
                raise ModelError(unknown_name("controller", name, known))
        chosen = {name: known[name] for name in controllers}
    if not chosen:
        raise ModelError("there are no controllers to compare: the setup has no controllers, or the list is empty")
    return chosen


def _tick_time(trial: Trial) -> float | None:
    """Return the measured time, or None if the run without randomization fails, which the other runs will show."""
    try:
        return tick_time(trial)
    except EruginError:
        return None


def _joined(parts: Sequence[Mapping[str, Quantity]]) -> Mapping[str, Quantity]:
    """Return all metrics, in the order of the first controller that has each."""
    joined: dict[str, Quantity] = {}
    for part in parts:
        for name, quantity in part.items():
            joined.setdefault(name, quantity)
    return joined
