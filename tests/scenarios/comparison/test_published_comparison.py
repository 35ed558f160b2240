"""The published comparison: its laws, and the page that is written from its results."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erugin.controllers import Controller, baselines
from erugin.controllers.wrappers import Wrapper
from erugin.scenarios import Scenario, Trial, compare, sample
from erugin.scenarios.comparison.trial import build_controller

from ...support.comparison_setup import swing
from ...support.project import ROOT

SCENARIOS = {
    "two_link": "two_link_arm",
    "two_wheel": "two_wheel_robot",
    "five_bar": "five_bar_linkage",
    "seven_joint": "seven_joint_arm",
    "newcomer": "three_joint_arm",
}
CLASSES = [
    each
    for name in baselines.__all__
    if inspect.isclass(each := getattr(baselines, name)) and issubclass(each, Controller)
]


PROGRAMS = {"ProgramController", "DisturbanceObserver", "CorrectedLaw"}
"""Program control, and what an observer is made of."""


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder ``docs`` is no part of the package: its scripts are run from the root."""
    monkeypatch.syspath_prepend(ROOT)


def of_docs(module: str) -> Any:  # noqa: ANN401 - a module that type checkers do not know
    return importlib.import_module(f"docs.studies.{module}")


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.foreign] if name == "seven_joint" else []) for name in SCENARIOS]
)
def scenario(request: pytest.FixtureRequest, root: None) -> Scenario:
    found = getattr(of_docs(request.param), SCENARIOS[request.param])
    assert isinstance(found, Scenario)
    return found


def kinds(controller: Controller | None) -> set[str]:
    """Names of the classes of a law and of what is wrapped in it."""
    found: set[str] = set()
    while controller is not None:
        found.add(type(controller).__name__)
        controller = controller.inner if isinstance(controller, Wrapper) else None
    return found


@pytest.mark.slow
def test_every_baseline_that_supports_the_robot_is_compared_or_left_out_with_a_reason(scenario: Scenario) -> None:
    setup = scenario()
    used = set().union(*(kinds(build_controller(setup, name, make)) for name, make in setup.baselines.items()))
    serving = {each.__name__ for each in CLASSES if not each.unsupported_reason(setup.robot)}
    left_out = set(of_docs("left_out").LEFT_OUT[scenario.name])
    assert serving - used == left_out
    assert used - serving <= {"MeasurementNoise", "SampleAndHold", *PROGRAMS}


@pytest.mark.slow
def test_program_control_gets_through_a_few_runs(scenario: Scenario) -> None:
    found = compare(scenario, ["own"], seeds=5, metrics=["error_rms", "error_max"], ticks=False)
    assert found.failures["own"] == 0
    assert 0.0 < found.summary("error_rms", "own").median.value < 0.1
    drawn = found.columns["own"]
    assert any(name.startswith("plant.disturbance.") for name in drawn)
    assert any(name.startswith("law.noise.") for name in drawn)


def test_conditions_are_studies_of_their_own_and_no_model_knows_them() -> None:
    comparison = of_docs("comparison")
    every = comparison.tasks(of_docs("two_link").two_link_arm, 1000, 200)
    assert len({task.name for task in every}) == len({task.study("own").hash for task in every}) == len(every)
    task = next(task for task in every if task.name == "two-link-arm-payload-30")
    assert list(comparison.selected_laws(every, "two-link-arm-payload-30/barrier filter")) == [(task, "barrier filter")]
    trial = Trial.of(task.setup, "own", task.setup.controller, ["effort"])
    drawn = sample(task.setup.randomization, 400, trial.nominal)
    assert drawn["plant.m2"].mean() / trial.nominal("plant.m2") == pytest.approx(1.3, abs=0.01)
    assert trial.nominal("plant.m2") == trial.nominal("law.m2")
    motion = trial.motions({name: column[:2] for name, column in drawn.items()}, every=1)
    assert np.abs(motion[0].u).max() > 31.0
    limited = comparison.Task(task.scenario, 1, "limited", {"period": 1e-3, "delay": 1e-3, "limits": "31, 9"}).setup
    other = Trial.of(dataclasses.replace(limited, duration=1.0), "own", limited.controller, ["effort"])
    u = other.motions({}, every=1)[0].u
    assert (np.abs(u) <= [31.0, 9.0]).all()
    assert (u[0] == 0.0).all()
    assert (u[1:] != 0.0).all()


def test_the_page_gets_tables_and_pictures_between_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = of_docs("publish")
    page = tmp_path / "comparison.md"
    page.write_text("before\n<!-- begin swing -->\nstale\n<!-- end swing -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr(publish, "PAGE", page)
    monkeypatch.setattr(publish, "PICTURES", tmp_path)
    setup = swing(0.2)
    laws = {"program control": setup.controller, "program control again": setup.controller, **setup.baselines}
    found = compare(setup, laws, seeds=8, name="swing")
    publish.publish(found, (), {"heavier": found}, 10.0)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- begin swing -->\n8 seeds for each law.\n")
    assert text.endswith("<!-- end swing -->\nafter\n")
    assert "stale" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count(" | ") for line in rows[:5]}) == 1
    assert any(line.startswith("| **program control** | 100 % (67.6 … 100)") for line in rows)
    assert "| error less than that of | program control | program control again |" in rows
    median = 1e3 * found.summary("error_rms", "pd").median.value
    least = 1e3 * found.values("clearance", "pd").min()
    share = 100 * found.pair("error_rms", "program control", "pd").paired.chance.value
    assert f"| pd | 100 %, 100 %, {median:.3g} mm, {least:.3g} mm, **{share:.3g} %** |" in rows
    touching = dict(found.results["pd"]) | {"clearance": np.full(8, -1.0)}
    touched = dataclasses.replace(found, results={**found.results, "pd": touching}, tick_times={})
    publish.publish(touched, (), {"heavier": found}, 0.2)
    text = page.read_text(encoding="utf-8")
    assert "| **program control** | 0 %, 100 %, " in text
    pairs = text.partition("| program control beside |")[2].splitlines()
    assert next(line for line in pairs if line.startswith("| pd |")).endswith("| 100 % (67.6 … 100) |")
    assert (tmp_path / "comparison_swing.png").stat().st_size > 0
    assert (tmp_path / "comparison_swing_pareto.png").stat().st_size > 0
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="no marks"):
        publish.publish(found)
    assert np.isfinite(list(found.tick_times.values())).all()
