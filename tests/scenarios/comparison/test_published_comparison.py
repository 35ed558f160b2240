"""The published comparison: its laws, and the page that is written from its results."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erugin.controllers import Controller, baselines
from erugin.controllers.wrappers import Wrapper
from erugin.scenarios import Scenario, compare
from erugin.scenarios.comparison.trial import build_controller

from ...support.comparison_setup import swing
from ...support.project import ROOT

SCENARIOS = {"two_link": "two_link_arm", "two_wheel": "two_wheel_robot", "five_bar": "five_bar_linkage"}
CLASSES = [
    each
    for name in baselines.__all__
    if inspect.isclass(each := getattr(baselines, name)) and issubclass(each, Controller)
]


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder ``docs`` is no part of the package: its scripts are run from the root."""
    monkeypatch.syspath_prepend(ROOT)


def of_docs(module: str) -> Any:  # noqa: ANN401 - a module that type checkers do not know
    return importlib.import_module(f"docs.studies.{module}")


@pytest.fixture(params=SCENARIOS)
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
    assert used - serving <= {"MeasurementNoise", "SampleAndHold"}


@pytest.mark.slow
def test_program_control_gets_through_a_few_runs(scenario: Scenario) -> None:
    found = compare(scenario, ["own"], seeds=5, metrics=["error_rms", "error_max"], ticks=False)
    assert found.failures["own"] == 0
    assert 0.0 < found.summary("error_rms", "own").median.value < 0.1
    drawn = found.columns["own"]
    assert any(name.startswith("plant.disturbance.") for name in drawn)
    assert any(name.startswith("law.noise.") for name in drawn)


def test_the_page_gets_tables_and_pictures_between_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = of_docs("publish")
    page = tmp_path / "comparison.md"
    page.write_text("before\n<!-- begin swing -->\nstale\n<!-- end swing -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr(publish, "PAGE", page)
    monkeypatch.setattr(publish, "PICTURES", tmp_path)
    setup = swing(0.2)
    found = compare(setup, {"program control": setup.controller, **setup.baselines}, seeds=8, name="swing")
    publish.publish(found)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- begin swing -->\n8 seeds for each law.\n")
    assert text.endswith("<!-- end swing -->\nafter\n")
    assert "stale" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count(" | ") for line in rows[:5]}) == 1
    assert any(line.startswith("| **program control** | 100 % (67.6 … 100)") for line in rows)
    assert (tmp_path / "comparison_swing.png").stat().st_size > 0
    assert (tmp_path / "comparison_swing_pareto.png").stat().st_size > 0
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="no marks"):
        publish.publish(found)
    assert np.isfinite(list(found.tick_times.values())).all()
