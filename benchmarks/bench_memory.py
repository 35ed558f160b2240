"""Comparisons of laws on a machine: what sampling, dead time, encoders and actuators add to the time of a comparison.

The two-link arm of the catalogue goes round a disc under its own law, 2 s at 1 kHz, alone and in the wrappers of a
digital controller, and within limits of torque; each is compared over the same seeds, in interleaved rounds. A law with
a memory, or within limits, runs in the compiled loop, in lanes, like any other.

    python benchmarks/bench_memory.py [--rounds N] [--small] [--write]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from harness.reach import Reach, duration
from harness.rounds import side_by_side
from harness.script import Options, conclude, options
from harness.table import Column, Table

from erugin.controllers import Controller, ControlLimits, ProgramController
from erugin.controllers.wrappers import Delay, Encoders, MotorLag, SampleAndHold, Saturation
from erugin.scenarios import Setup, compare
from erugin.scenarios.catalogue import SCENARIOS
from erugin.scenarios.scenario import find

NAME, SPAN, SEEDS, SMALL = "two-link-arm-moving-obstacle", 2.0, 400, 16
PERIOD, DEAD_TIME, MOST = 1e-3, 2e-3, 3.0
EFFORT = (22.0, 8.0)
"""Bounds of the torques [N m]."""
SAMPLED = "sampled every 1 ms, 2 ms late"


def bounded(law: Controller) -> ProgramController:
    """The same program, its torques within bounds that they reach."""
    assert isinstance(law, ProgramController)
    return ProgramController(law.program, realization="bounded", limits=ControlLimits.of(law.robot, effort=EFFORT))


LAWS: dict[str, Callable[[Controller], Controller]] = {
    "alone": lambda law: law,
    "sampled every 1 ms": lambda law: SampleAndHold(law, PERIOD),
    SAMPLED: lambda law: Delay(SampleAndHold(law, PERIOD), DEAD_TIME),
    "with encoders, drives and limits too": lambda law: Saturation(
        MotorLag(Delay(SampleAndHold(Encoders(law, 1e-4), PERIOD), DEAD_TIME), 2e-3), 200.0
    ),
    "within limits, sampled every 1 ms": lambda law: SampleAndHold(bounded(law), PERIOD),
    "within limits, at every stage of a step": bounded,
}


def comparison(setup: Setup, law: Controller, seeds: int) -> Callable[[], object]:
    """One comparison of one law."""
    return lambda: compare(setup, {"law": law}, seeds=seeds, ticks=False)


def main(given: Options) -> None:
    """Run the comparisons and print their times."""
    seeds = SMALL if given.small else SEEDS
    setup = dataclasses.replace(find(NAME, SCENARIOS)(duration=SPAN))
    own = setup.controller
    assert own is not None
    calls = {name: comparison(setup, wrap(own), seeds) for name, wrap in LAWS.items()}
    timings = side_by_side(calls, given.rounds)
    alone = timings["alone"]
    rows = tuple((name, timing.show(1.0), f"{timing.over(alone):.2f}") for name, timing in timings.items())
    caption = f"A comparison of one law, {seeds} seeds, {SPAN:g} s at 1 kHz."
    table = Table("memory", (Column("law"), Column("time [s]"), Column("ratio")), rows, caption)
    late = timings[SAMPLED]
    row = Reach(
        f"comparison of a law {SAMPLED}",
        "the same law alone",
        duration(late.median),
        duration(alone.median),
        late.over(alone),
        MOST,
        largest=True,
    )
    conclude(given, [table], [row])


if __name__ == "__main__":
    main(options(__doc__ or "", rounds=7))
