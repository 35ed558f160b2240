"""The published comparison: runs all laws on three robots, and writes docs/comparison.md and its pictures.

    python -m docs.studies.rivals [--seeds 1000] [--workers N] [--only ROBOT[/LAW]] [--write]

Every law is a study of its own below ``out/comparison``, and is gone on with where it was left: the command may be
interrupted and given again. With ``--only`` nothing is written, with ``--write`` nothing is run: what is complete is
written.
"""

from __future__ import annotations

import argparse
import functools
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from erugin.scenarios import Comparison, Study, Trial
from erugin.scenarios.comparison.compare import tick_time
from erugin.scenarios.scenario import Scenario
from erugin.scenarios.study.results import Results
from erugin.symbolic.errors import StudyError

from .five_bar import five_bar_linkage
from .gather import gathered
from .publish import OWN as PROGRAM
from .publish import publish
from .two_link import two_link_arm
from .two_wheel import two_wheel_robot

SCENARIOS = (two_link_arm, two_wheel_robot, five_bar_linkage)
OWN = "own"
FOLDER = Path("out/comparison")


def main() -> None:
    """Run, and write."""
    parser = argparse.ArgumentParser(description="Program control beside its rivals on three robots.")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--only", default="", metavar="ROBOT[/LAW]")
    parser.add_argument("--write", action="store_true", help="run nothing, write what is complete")
    chosen = parser.parse_args()
    if not chosen.write:
        for scenario, law in wanted(chosen.only):
            began, path = time.perf_counter(), place(scenario, law, chosen.seeds)
            study(scenario, law, chosen.seeds).run(path, workers=chosen.workers, resume=path.exists())
            print(f"{path}: {time.perf_counter() - began:.0f} s", flush=True)
    if chosen.only and not chosen.write:
        return
    for scenario in SCENARIOS:
        found = complete(scenario, chosen.seeds)
        missing = [law for law in laws(scenario) if law not in found]
        if OWN in found:
            publish(with_ticks(scenario, found), missing)
        told = "written" if OWN in found else "not written without program control"
        print(f"{scenario.name}: {len(found)} laws, {told}; not complete: {', '.join(missing) or 'none'}")


@functools.cache
def laws(scenario: Scenario) -> tuple[str, ...]:
    """Names of program control, which is the setup's own, and of its rivals.

    Args:
        scenario: with rivals.
    """
    return (OWN, *scenario().baselines)


def wanted(only: str) -> Iterator[tuple[Scenario, str]]:
    """What is to be run.

    Args:
        only: a robot, a robot and a law, or empty for all.
    """
    robot, _, law = only.partition("/")
    for scenario in SCENARIOS:
        for name in laws(scenario):
            if robot in ("", scenario.name) and law in ("", name):
                yield scenario, name


def study(scenario: Scenario, law: str, seeds: int) -> Study:
    """All runs of one law.

    Args:
        scenario: with rivals.
        law: its name.
        seeds: how many.
    """
    return Study(scenario, controllers=[law], seeds=seeds)


def place(scenario: Scenario, law: str, seeds: int) -> Path:
    """Folder of the results of a law.

    Args:
        scenario: with rivals.
        law: its name.
        seeds: how many.
    """
    return FOLDER / f"{scenario.name}-{seeds}" / re.sub(r"[^A-Za-z0-9]+", "-", law).lower()


def complete(scenario: Scenario, seeds: int) -> dict[str, Results]:
    """Results of the laws that are done.

    Args:
        scenario: with rivals.
        seeds: how many.
    """
    found: dict[str, Results] = {}
    for law in laws(scenario):
        try:
            results = Results.open(place(scenario, law, seeds))
        except StudyError:
            continue
        if results.complete and results.manifest["hash"] == study(scenario, law, seeds).hash:
            found[law] = results
    return found


def with_ticks(scenario: Scenario, found: dict[str, Results]) -> Comparison:
    """The comparison, with the time of a tick of each law on this machine.

    Args:
        scenario: with rivals.
        found: complete results, by law.
    """
    setup = scenario()
    trials = {
        law: Trial.of(setup, law, setup.controller if law == OWN else setup.baselines[law], ["effort"]) for law in found
    }
    called = {law: PROGRAM if law == OWN else law for law in found}
    rows = {called[law]: () if each.controller is None else each.controller.rows for law, each in trials.items()}
    times = {called[law]: taken for law, trial in trials.items() if (taken := tick_time(trial)) is not None}
    comparison = gathered(scenario.name, {called[law]: results for law, results in found.items()}, rows)
    return replace(comparison, tick_times=times)


if __name__ == "__main__":
    main()
