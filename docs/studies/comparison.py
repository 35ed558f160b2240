"""The published comparison: runs all laws on three robots, and writes docs/comparison.md and its pictures.

    python -m docs.studies.comparison [--seeds 1000] [--workers N] [--only ROBOT[/LAW]] [--write]

Each law is a separate study in ``out/comparison``. The command may be interrupted; when repeated, it resumes the
unfinished studies. ``--only`` writes no page; ``--write`` runs nothing and writes the results that are complete.
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
from .merge import merge_studies
from .publish import OWN as PROGRAM
from .publish import publish
from .two_link import two_link_arm
from .two_wheel import two_wheel_robot

SCENARIOS = (two_link_arm, two_wheel_robot, five_bar_linkage)
OWN = "own"
FOLDER = Path("out/comparison")


def main() -> None:
    """Run the studies and write the page."""
    parser = argparse.ArgumentParser(description="Program control and its baselines on three robots.")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--only", default="", metavar="ROBOT[/LAW]")
    parser.add_argument("--write", action="store_true", help="run nothing, write the complete results")
    options = parser.parse_args()
    if not options.write:
        for scenario, law in selected_laws(options.only):
            start, path = time.perf_counter(), results_folder(scenario, law, options.seeds)
            study(scenario, law, options.seeds).run(path, workers=options.workers, resume=path.exists())
            print(f"{path}: {time.perf_counter() - start:.0f} s", flush=True)
    if options.only and not options.write:
        return
    for scenario in SCENARIOS:
        found = complete_results(scenario, options.seeds)
        missing = [law for law in laws(scenario) if law not in found]
        if OWN in found:
            publish(with_ticks(scenario, found), missing)
        outcome = "written" if OWN in found else "not written: program control is not complete"
        print(f"{scenario.name}: {len(found)} laws, {outcome}; incomplete: {', '.join(missing) or 'none'}")


@functools.cache
def laws(scenario: Scenario) -> tuple[str, ...]:
    """Names of the laws: program control, which is the setup's own, and the baselines.

    Args:
        scenario: scenario with baselines.
    """
    return (OWN, *scenario().baselines)


def selected_laws(only: str) -> Iterator[tuple[Scenario, str]]:
    """Yield the scenarios and laws to run.

    Args:
        only: a robot, a robot and a law, or empty for all.
    """
    robot, _, law = only.partition("/")
    for scenario in SCENARIOS:
        for name in laws(scenario):
            if robot in ("", scenario.name) and law in ("", name):
                yield scenario, name


def study(scenario: Scenario, law: str, seeds: int) -> Study:
    """Study of all runs of one law.

    Args:
        scenario: scenario with baselines.
        law: name of the law.
        seeds: number of seeds.
    """
    return Study(scenario, controllers=[law], seeds=seeds)


def results_folder(scenario: Scenario, law: str, seeds: int) -> Path:
    """Folder of the results of a law.

    Args:
        scenario: scenario with baselines.
        law: name of the law.
        seeds: number of seeds.
    """
    return FOLDER / f"{scenario.name}-{seeds}" / re.sub(r"[^A-Za-z0-9]+", "-", law).lower()


def complete_results(scenario: Scenario, seeds: int) -> dict[str, Results]:
    """Results of the laws whose studies are complete, by law.

    Args:
        scenario: scenario with baselines.
        seeds: number of seeds.
    """
    found: dict[str, Results] = {}
    for law in laws(scenario):
        try:
            results = Results.open(results_folder(scenario, law, seeds))
        except StudyError:
            continue
        if results.complete and results.manifest["hash"] == study(scenario, law, seeds).hash:
            found[law] = results
    return found


def with_ticks(scenario: Scenario, found: dict[str, Results]) -> Comparison:
    """Comparison of the laws, with the time of a tick of each on this machine.

    Args:
        scenario: scenario with baselines.
        found: complete results, by law.
    """
    setup = scenario()
    trials = {
        law: Trial.of(setup, law, setup.controller if law == OWN else setup.baselines[law], ["effort"]) for law in found
    }
    labels = {law: PROGRAM if law == OWN else law for law in found}
    rows = {labels[law]: () if each.controller is None else each.controller.rows for law, each in trials.items()}
    times = {labels[law]: taken for law, trial in trials.items() if (taken := tick_time(trial)) is not None}
    comparison = merge_studies(scenario.name, {labels[law]: results for law, results in found.items()}, rows)
    return replace(comparison, tick_times=times)


if __name__ == "__main__":
    main()
