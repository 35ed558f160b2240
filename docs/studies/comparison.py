"""The published comparison: runs all laws on all tasks, and writes docs/comparison.md and its pictures.

    python -m docs.studies.comparison [--seeds 1000] [--harder 200] [--workers N] [--only TASK[/LAW]] [--write]

A task is a robot, such as ``two-link-arm``, or a robot under a harder condition, such as ``two-link-arm-payload-15``.
Each law is a separate study in ``out/comparison``. The command may be interrupted; when repeated, it resumes the
unfinished studies. ``--only`` writes no page; ``--write`` runs nothing and writes the results that are complete.
"""

from __future__ import annotations

import argparse
import functools
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from erugin.controllers.wrappers import MeasurementNoise
from erugin.scenarios import Comparison, Study, Trial
from erugin.scenarios.comparison.compare import tick_time
from erugin.scenarios.scenario import Scenario, Value
from erugin.scenarios.setup import Setup
from erugin.scenarios.study.results import Results
from erugin.symbolic.errors import StudyError

from .five_bar import five_bar_linkage
from .merge import merge_studies
from .newcomer import three_joint_arm
from .publish import OWN as PROGRAM
from .publish import publish
from .seven_joint import seven_joint_arm
from .two_link import two_link_arm
from .two_wheel import two_wheel_robot

SCENARIOS = (two_link_arm, two_wheel_robot, five_bar_linkage, seven_joint_arm, three_joint_arm)
SAMPLED: Mapping[str, Value] = {"period": 1e-3, "delay": 1e-3}
CONDITIONS: Mapping[str, Mapping[str, Mapping[str, Value]]] = {
    "two-link-arm": {
        "payload 15 %": {"payload": 0.15},
        "payload 30 %": {"payload": 0.3},
        "1 kHz, 1 ms, 45 and 14 N m": {**SAMPLED, "limits": "45, 14"},
        "payload 30 %, 1 kHz, 1 ms, 45 and 14 N m": {"payload": 0.3, **SAMPLED, "limits": "45, 14"},
        "1 kHz, 1 ms, 31 and 9 N m": {**SAMPLED, "limits": "31, 9"},
    }
}
"""Settings of the harder conditions, by scenario and description."""
SLOW = ("time-varying LQR", "predictive")
"""Laws without compiled code, which the harder conditions leave out."""
OWN = "own"
FOLDER = Path("out/comparison")


@dataclass(frozen=True, eq=False)
class Task:
    """A scenario under a condition.

    Attributes:
        scenario: scenario with baselines.
        seeds: number of seeds.
        condition: description of the condition; empty for the nominal task.
        settings: settings of the scenario.
    """

    scenario: Scenario
    seeds: int
    condition: str = ""
    settings: Mapping[str, Value] = field(default_factory=dict[str, Value])

    @property
    def name(self) -> str:
        """Name on the command line and of the folder of results."""
        return slug(f"{self.scenario.name} {self.condition}")

    @functools.cached_property
    def setup(self) -> Setup:
        """The setup."""
        return self.scenario(**self.settings)

    @property
    def laws(self) -> tuple[str, ...]:
        """Names of the laws: program control, which is the setup's own, and the baselines."""
        names = (OWN, *self.setup.baselines)
        return tuple(name for name in names if name not in SLOW) if self.condition else names

    def study(self, law: str) -> Study:
        """Return the study of all runs of a law.

        Args:
            law: name of the law.
        """
        return Study(self.scenario, {key: [value] for key, value in self.settings.items()}, [law], seeds=self.seeds)

    def folder(self, law: str) -> Path:
        """Return the folder of the results of a law.

        Args:
            law: name of the law.
        """
        return FOLDER / f"{self.name}-{self.seeds}" / slug(law)

    @functools.cached_property
    def complete_results(self) -> Mapping[str, Results]:
        """Results of the laws whose studies are complete, by law."""
        found: dict[str, Results] = {}
        for law in self.laws:
            try:
                results = Results.open(self.folder(law))
            except StudyError:
                continue
            if results.complete and results.manifest["hash"] == self.study(law).hash:
                found[law] = results
        return found

    @property
    def comparison(self) -> Comparison:
        """Comparison of the laws whose studies are complete."""
        found = {PROGRAM if law == OWN else law: results for law, results in self.complete_results.items()}
        return merge_studies(self.scenario.name, found)


def main() -> None:
    """Run the studies and write the page."""
    parser = argparse.ArgumentParser(description="Program control and its baselines on several robots.")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--harder", type=int, default=200, help="number of seeds of the harder conditions")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--only", default="", metavar="TASK[/LAW]")
    parser.add_argument("--write", action="store_true", help="run nothing, write the complete results")
    options = parser.parse_args()
    every = [tasks(scenario, options.seeds, options.harder) for scenario in SCENARIOS]
    if not options.write:
        for task, law in selected_laws([task for some in every for task in some], options.only):
            start, path = time.perf_counter(), task.folder(law)
            task.study(law).run(path, workers=options.workers, resume=path.exists())
            print(f"{path}: {time.perf_counter() - start:.0f} s", flush=True)
    if options.only and not options.write:
        return
    for nominal, *harder in every:
        missing = [law for law in nominal.laws if law not in nominal.complete_results]
        if OWN in nominal.complete_results:
            ran = {task.condition: task.comparison for task in harder if OWN in task.complete_results}
            longest = math.inf if nominal.setup.stop is None else nominal.setup.duration
            publish(with_ticks(nominal), missing, ran, longest)
        outcome = "written" if OWN in nominal.complete_results else "not written: program control is not complete"
        print(f"{nominal.name}: {outcome}; incomplete: {', '.join(missing) or 'none'}")


def tasks(scenario: Scenario, seeds: int, harder: int) -> list[Task]:
    """Return the nominal task of a scenario, then those under harder conditions.

    Args:
        scenario: scenario with baselines.
        seeds: number of seeds of the nominal task.
        harder: number of seeds of the others.
    """
    conditions = CONDITIONS.get(scenario.name, {})
    return [Task(scenario, seeds), *(Task(scenario, harder, name, each) for name, each in conditions.items())]


def selected_laws(every: list[Task], only: str) -> Iterator[tuple[Task, str]]:
    """Yield the tasks and laws to run.

    Args:
        every: all tasks.
        only: a task, a task and a law, or empty for all.
    """
    name, _, law = only.partition("/")
    for task in every:
        if name in ("", task.name):
            for each in task.laws:
                if law in ("", each):
                    yield task, each


def slug(text: str) -> str:
    """Return a text as part of a path.

    Args:
        text: the text.
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


def with_ticks(task: Task) -> Comparison:
    """Return the comparison of a task, with the time of a tick of each law, without noise, on this machine.

    Args:
        task: task with complete results.
    """
    times: dict[str, float] = {}
    for law in task.complete_results:
        source = task.setup.controller if law == OWN else task.setup.baselines[law](task.setup)
        assert isinstance(source, MeasurementNoise)
        taken = tick_time(Trial.of(task.setup, law, source.inner, ["effort"]))
        if taken is not None:
            times[PROGRAM if law == OWN else law] = taken
    return replace(task.comparison, tick_times=times)


if __name__ == "__main__":
    main()
