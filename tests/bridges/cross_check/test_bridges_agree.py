"""One closed loop over all bridges: the motions are the same, to what each program's integrator leaves."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from erugin.bridges.c import cross_check
from erugin.bridges.common.bridge import discover_bridges
from erugin.bridges.common.cross_check_case import CASE_NAMES, CrossCheckCase, build_case
from erugin.bridges.cross_check import BridgeResult, compare_bridges
from erugin.bridges.cross_check import motion_differences as compare
from erugin.bridges.cross_check.motion_differences import draw
from erugin.cli.commands import bridges as command
from erugin.scenarios import Scenario
from erugin.scenarios.catalogue import SCENARIOS
from erugin.symbolic import BridgeError

from ...support.bridges import ROWS, parameters

RUNNERS = {name: bridge for name, bridge in discover_bridges().items() if bridge.cross_check is not None}
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


# Of JAX, whose compiler takes long, the next test runs both.
@pytest.mark.parametrize("bridge", parameters(*(name for name in RUNNERS if name != "jax")))
def test_the_two_link_arm_moves_alike_in_every_program(bridge: str) -> None:
    closed = build_case(BY_NAME[CASE_NAMES[0]], 0.4)
    (row,) = compare_bridges([closed], bridges=[bridge])
    assert row.error == ""
    assert len(row.t) == 401
    least, largest = ROWS[bridge].apart
    assert least <= row.coordinates < largest
    assert row.distance.max() <= 2.0 * row.coordinates + 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("name", CASE_NAMES)
def test_both_scenarios_run_in_all_of_them_from_one_command(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "CASE_NAMES", (name,))
    monkeypatch.setattr(command, "build_case", lambda scenario: build_case(scenario, 0.3))
    console = Console(record=True, width=240, file=io.StringIO())
    chosen = argparse.Namespace(out=str(tmp_path), compare=True)
    assert command.compare(console, Console(quiet=True), chosen) == 0
    text = (tmp_path / "bridges.md").read_text(encoding="utf-8")
    assert all(f"| {bridge} |" in text for bridge in RUNNERS)
    assert (tmp_path / "bridges.png").stat().st_size > 10_000
    message = console.export_text()
    assert name in message
    assert all(head in message for head in compare.TABLE_HEAD)


def test_a_bridge_that_ran_one_scenario_alone_is_in_the_legend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recorded: list[list[str]] = []
    legend = Figure.legend

    def seen(figure: Figure, handles: Any, labels: list[str], **options: Any) -> Any:  # noqa: ANN401
        recorded.append(labels)
        return legend(figure, handles, labels, **options)

    monkeypatch.setattr(Figure, "legend", seen)
    t, nothing = np.array([0.0, 1.0]), np.zeros(0)
    rows = [
        BridgeResult("a", RUNNERS["c"], nothing, nothing, np.nan, 1.0, "no compiler"),
        BridgeResult("a", RUNNERS["casadi"], t, np.array([0.0, 1e-9]), 1e-9, 1.0),
        BridgeResult("b", RUNNERS["c"], t, np.array([0.0, 1e-3]), 1e-3, 1.0),
    ]
    draw(rows, tmp_path / "picture.png")
    assert recorded == [["c", "casadi"]]


def test_what_cannot_run_gives_a_reason_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_check, "find_compiler", lambda: "no C compiler was found")
    rows = compare_bridges([build_case(BY_NAME[CASE_NAMES[0]], 0.02)], bridges=["c", "casadi"])
    assert [row.error for row in rows] == ["the C sources cannot be compiled: no C compiler was found", ""]
    assert np.isnan(rows[0].coordinates)
    assert rows[1].coordinates == 0.0
    assert "| did not run: the C sources cannot be compiled: no C compiler was found |" in compare.markdown(rows)


def test_a_motion_without_one_law_is_refused() -> None:
    with pytest.raises(BridgeError, match="is not driven by a single controller"):
        build_case(BY_NAME["exoskeleton-steps"])


def test_only_common_times_are_compared() -> None:
    here, there = compare.common_times(np.array([0.0, 0.1, 0.2, 0.3]), np.array([0.0, 0.15, 0.2]))
    np.testing.assert_array_equal(here, [0, 2])
    np.testing.assert_array_equal(there, [0, 2])


def test_a_scenario_without_its_model_is_left_out_and_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(scenario: Scenario) -> CrossCheckCase:
        if scenario.name == CASE_NAMES[1]:
            raise BridgeError("its file comes with another package")
        return build_case(scenario, 0.02)

    monkeypatch.setattr(command, "build_case", missing)
    monkeypatch.setattr(command, "compare_bridges", lambda cases, console: compare_bridges(cases, bridges=["casadi"]))
    console = Console(record=True, width=120, file=io.StringIO())
    chosen = argparse.Namespace(out=str(tmp_path), compare=True)
    assert command.compare(Console(quiet=True), console, chosen) == 1
    assert f"{CASE_NAMES[1]} did not run: its file comes with another package" in console.export_text()
    assert "| casadi |" in (tmp_path / "bridges.md").read_text(encoding="utf-8")
