"""How long one tick of a controller takes, measured on this machine."""

from __future__ import annotations

import math
import time
from statistics import median

from ...controllers.bound_tick import BoundTick
from ...controllers.controller import Controller
from ...controllers.wrappers import Wrapper
from ..trajectory import Trajectory
from .trial import Trial

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
        setup.q0, setup.v0, duration, step=setup.step, p=setup.p, law_p=trial.law_p, every=every
    )[0]
    return _compiled(controller, motion) if compiled else _called(controller, motion, _period(controller))


def _compiled(controller: Controller, motion: Trajectory) -> float:
    tick, times = BoundTick.of(controller, motion.law_p), list[float]()
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
        controller.advance(t, q, v, motion.law_p)
        controller.control(t, q, v, motion.law_p)
        taken = time.perf_counter() - began
        tick = math.floor((t - start) / period + 1e-6) if period else k
        longest[tick] = max(taken, longest.get(tick, 0.0))
    controller.reset()
    return median(longest.values())
