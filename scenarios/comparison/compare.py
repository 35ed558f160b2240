"""Controllers side by side on the same runs, and the time that one tick of each takes."""

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

from ...controllers.buffered_tick import BufferedTick
from ...controllers.controller import Controller
from ...controllers.wrappers import Wrapper
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import EruginError, ModelError, prefix_message, require_name, unknown_name
from ..sampling.distributions import Distribution
from ..sampling.seeded_values import Seeds, sample, seed_numbers
from ..scenario import Scenario
from ..setup import MakeController, Setup
from .comparison import Comparison, Robustness
from .estimate import required_confidence
from .impairments import ImpairedController, checked_levels, condition, in_place
from .quantities import Quantity
from .trial import Trial, build_controller

CALLS = 200
"""Calls of a compiled law at each state: one alone is shorter than a look at the clock."""
STATES = 50
"""States of a run at which a compiled law is timed."""
TICKS = 200
"""Ticks of a law in Python, from the start on."""


def tick_time(trial: Trial) -> float | None:
    """Median time of a tick along the run without variation [s]; None if nothing drives it.

    A symbolic law is timed as its compiled code bound to arrays, without any check around it; a law in Python as the
    call of ``advance`` and ``control``; of one that is held between its own ticks the longest call of each interval
    between these counts, which is that in which it computes. It is a figure of this machine and of what else it does,
    and differs from one measurement to the next.

    Args:
        trial: a controller on a setup.

    Raises:
        EruginError: what the law raises.
    """
    setup, controller = trial.setup, trial.controller
    if controller is None:
        return None
    compiled = controller.law is not None
    period = max(setup.step, _period(controller))
    duration = setup.duration if compiled else min(setup.duration, TICKS * period)
    every = max(1, round(duration / setup.step) // STATES) if compiled else 1
    motion = trial.simulator.run_batch(
        setup.q0, setup.v0, duration, step=setup.step, p=setup.p, controller_p=trial.controller_p, every=every
    )[0]
    return _compiled(controller, motion) if compiled else _called(controller, motion, _period(controller))


def _compiled(controller: Controller, motion: Trajectory) -> float:
    tick, times = BufferedTick.of(controller, motion.controller_p), list[float]()
    for t, q, v in zip(motion.t, motion.q, motion.v, strict=True):
        tick.t[0], tick.q[:], tick.v[:] = t, q, v
        began = time.perf_counter()
        for _ in range(CALLS):
            tick.evaluate()
        times.append((time.perf_counter() - began) / CALLS)
    return median(times)


def _period(controller: Controller) -> float:
    """Longest time between ticks of a law, or of one inside of it [s]; zero if it is computed whenever it is asked."""
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
        began = time.perf_counter()
        controller.advance(t, q, v, motion.controller_p)
        controller.control(t, q, v, motion.controller_p)
        taken = time.perf_counter() - began
        tick = math.floor((t - start) / period + 1e-6) if period else k
        longest[tick] = max(taken, longest.get(tick, 0.0))
    controller.reset()
    return median(longest.values())


Array = NDArray[np.float64]
Source = Controller | MakeController | None
Controllers = Mapping[str, Source] | Sequence[str]
Varied = Mapping[str, Distribution]
Progress = Callable[[float], None]
OWN = "own"
"""What a setup's own controller is called."""
MOST_SEEDS = 10_000_000
"""Of a comparison, whose runs are all kept in memory."""


def compare(
    scenario: Scenario | Setup,
    controllers: Controllers | None = None,
    *,
    seeds: Seeds = 100,
    metrics: Sequence[str] | None = None,
    varied: Mapping[str, Distribution] | None = None,
    confidence: float = 0.95,
    robustness: Mapping[str, Sequence[float]] | None = None,
    ticks: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
    name: str | None = None,
) -> Comparison:
    """Run controllers on the same starts, parameters, noise and disturbances, and say what the runs support.

    Args:
        scenario: with its default settings, or a setup.
        controllers: by name, instances or functions that make one for a setup; or names of the setup's own, which is
            called ``"own"``, and of its rivals. All of these if not given.
        seeds: how many runs of each controller, or their seeds, all different; a seed gives all controllers the same.
        metrics: names of those that are reckoned; all that there are if not given.
        varied: distributions of what seeds vary, by name; the setup's if not given.
        confidence: of each interval.
        robustness: levels by name of what makes control harder: ``"model_error"``, spread of the plant's parameters;
            ``"noise"``, root mean square of errors of measured coordinates; ``"delay"``, dead time [s]; ``"period"``,
            of a controller that is computed at ticks [s]; or a name as in ``varied``, which is set to each level.
        ticks: whether the time of a control tick is measured.
        threads: that symbolic laws may use; all that this process may use if not given.
        progress: called with the share that is done, in [0, 1].
        name: of what is compared; the scenario's, or the robot's, if not given.

    Raises:
        ModelError: for unknown or unfit scenarios, controllers, metrics, levels or seeds.
        ParameterError: for an unknown name of what is varied, or a value out of its range.
        SimulationInterrupted: on Ctrl-C.
    """
    _check(metrics, varied, robustness)
    setup = _setup(scenario)
    title = name or (scenario.name if isinstance(scenario, Scenario) else setup.robot.name)
    sources = _sources(setup, controllers)
    distributions = dict(setup.varied if varied is None else varied)
    job = _Job(
        title,
        setup,
        metrics,
        _seeds(seeds, bool(distributions or robustness)),
        required_confidence(confidence),
        threads,
    )
    checked = {key: condition(key, setup) for key in robustness or {}}
    levels = {key: checked_levels(key, checked[key], (robustness or {})[key]) for key in checked}
    parts = 1 + sum(map(len, levels.values()))
    done = 0

    def told(share: float) -> None:
        if progress is not None:
            progress((done + share) / parts)

    built: dict[str, Controller | None] = {}
    for key, source in sources.items():
        with _naming(key):
            built[key] = build_controller(setup, key, source)
    plain = {key: (controller, distributions) for key, controller in built.items()}

    def at(key: str, level: float) -> Mapping[str, tuple[Controller | None, Varied]]:
        hard: dict[str, ImpairedController] = {}
        for name, controller in built.items():
            with _naming(name):
                hard[name] = checked[key].at(level, setup, controller)
        return {
            name: (one.controller, in_place(key, checked[key], one.varied, distributions)) for name, one in hard.items()
        }

    harder = {key: [at(key, level) for level in ascending] for key, ascending in levels.items()}
    trials = job.trials(plain)
    times = {key: time for key, trial in trials.items() if ticks and (time := _tick_time(trial)) is not None}
    sweeps: dict[str, Robustness] = {}
    whole = job.run(trials, plain, told)
    for key, ascending in levels.items():
        found: list[Comparison] = []
        for laws in harder[key]:
            done += 1
            found.append(job.run(job.trials(laws), laws, told))
        sweeps[key] = Robustness(key, checked[key].meaning, ascending, tuple(found))
    return replace(whole, tick_times=times, robustness=sweeps)


@dataclass(frozen=True, eq=False)
class _Job:
    """What all runs of a comparison share."""

    name: str
    setup: Setup
    metrics: Sequence[str] | None
    seeds: NDArray[np.int64]
    confidence: float
    threads: int | None

    def trials(self, controllers: Mapping[str, tuple[Controller | None, Varied]]) -> Mapping[str, Trial]:
        """One for each controller."""
        also = {name for law, _ in controllers.values() if law is not None for name in law.parameters.names}
        trials: dict[str, Trial] = {}
        for name, (controller, _) in controllers.items():
            with _naming(name):
                trials[name] = Trial.of(self.setup, name, controller, self.metrics, also=also)
        return trials

    def run(
        self,
        trials: Mapping[str, Trial],
        controllers: Mapping[str, tuple[Controller | None, Varied]],
        progress: Progress,
    ) -> Comparison:
        """All runs of all controllers."""
        results: dict[str, Mapping[str, NDArray[Any]]] = {}
        columns: dict[str, Mapping[str, Array]] = {}

        def told(place: int, share: float) -> None:
            progress((place + share) / len(trials))

        for place, (name, trial) in enumerate(trials.items()):
            with _naming(name):
                here = {key: how for key, how in controllers[name][1].items() if trial.names.places(key)}
                columns[name] = sample(here, self.seeds, trial.nominal)
            try:
                results[name] = trial.run(
                    columns[name],
                    threads=self.threads,
                    count=len(self.seeds),
                    progress=functools.partial(told, place),
                )
            except Exception as error:
                first = self._first_refused(trial, columns[name])
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

    def _first_refused(self, trial: Trial, columns: Mapping[str, Array]) -> int | None:
        """Place of the first run that is refused by itself; None if none is."""

        def refused(low: int, high: int) -> bool:
            try:
                trial.run(
                    {k: column[low:high] for k, column in columns.items()}, threads=self.threads, count=high - low
                )
            except Exception:
                return True
            return False

        low, high = 0, len(self.seeds)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if refused(low, middle) else (middle, high)
        return low if refused(low, high) else None


@contextlib.contextmanager
def _naming(controller: str, seed: int | None = None) -> Generator[None]:
    """Name the controller, and the seed of its run, in whatever is raised inside."""
    try:
        yield
    except Exception as error:
        who = f"controller {controller!r}" + ("" if seed is None else f", seed {seed}")
        if isinstance(error, EruginError):
            prefix_message(error, f"{who}: ")
            error.__notes__ = [
                note for note in getattr(error, "__notes__", []) if note != f"of controller {controller!r}"
            ]
        else:
            error.add_note(f"of {who}")
        raise


def _check(metrics: object, varied: object, robustness: object) -> None:
    """Raise ModelError for what is no sequence or mapping."""
    if not isinstance(metrics, Sequence | None):
        raise ModelError(f'metrics are a sequence of names, as in ["error_rms", "effort"], got {metrics!r}')
    for word, given in (("varied", varied), ("robustness", robustness)):
        if not isinstance(given, Mapping | None):
            raise ModelError(f'{word} is given by name, as in {{"m1": ...}}, got {given!r}')


def _seeds(given: Seeds, differ: bool) -> NDArray[np.int64]:
    """The seeds, if none is there twice: a run that is counted again tells nothing new, but makes intervals narrow."""
    most = given if isinstance(given, int | np.integer) else len(np.atleast_1d(np.asarray(given, dtype=object)))
    if most > MOST_SEEDS:
        raise ModelError(
            f"a comparison keeps all runs in memory, {MOST_SEEDS:,} of each controller at most, got {int(most):,} "
            "seeds: take a Study, which keeps them on disk and says how long it will take"
        )
    seeds = seed_numbers(given)
    numbers, counts = np.unique(seeds, return_counts=True)
    if len(numbers) < len(seeds):
        raise ModelError(f"seeds must be different, but {numbers[counts > 1][0]} is there more than once")
    if not differ and len(seeds) > 1:
        raise ModelError(
            f"nothing is varied, so that all {len(seeds)} runs of a controller would be one and the same: say what "
            'seeds vary, as in varied={"plant.m1": Scaled(Uniform(0.9, 1.1))}, or take seeds=1'
        )
    return seeds


def _setup(scenario: Scenario | Setup) -> Setup:
    if isinstance(scenario, Scenario):
        return scenario()
    if not isinstance(scenario, Setup):
        raise ModelError(f"controllers are compared on a scenario or a Setup, got {scenario!r}")
    return scenario


def _sources(setup: Setup, controllers: Controllers | None) -> Mapping[str, Source]:
    """Controllers by name, not built yet."""
    known: dict[str, Source] = {} if setup.controller is None else {OWN: setup.controller}
    known |= setup.rivals
    if controllers is None:
        chosen = known
    elif isinstance(controllers, Mapping):
        chosen = dict(controllers)
        for name in chosen:
            require_name("a controller", name)
    else:
        if isinstance(controllers, str) or not isinstance(controllers, Sequence):
            raise ModelError(
                f'controllers are a sequence of names, as in ["own"], or given by name, got {controllers!r}'
            )
        for name in controllers:
            if name not in known:
                raise ModelError(unknown_name("controller", name, known))
        chosen = {name: known[name] for name in controllers}
    if not chosen:
        raise ModelError("there are no controllers to compare: the setup has none, or none were named")
    return chosen


def _tick_time(trial: Trial) -> float | None:
    """As measured; a law that does not get through the run without variation has none, which its runs will tell."""
    try:
        return tick_time(trial)
    except EruginError:
        return None


def _joined(parts: Sequence[Mapping[str, Quantity]]) -> Mapping[str, Quantity]:
    """All metrics, in the order of the first controller that has each."""
    joined: dict[str, Quantity] = {}
    for part in parts:
        for name, quantity in part.items():
            joined.setdefault(name, quantity)
    return joined
