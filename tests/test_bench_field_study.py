"""What is counted over many runs, and that the study runs from its command line."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from avoidance import tuning
from avoidance.motion import Runs
from avoidance.picture import draw
from avoidance.scenes import LENGTH, Scenes
from avoidance.study import Result, Task, count, feasibility, quantile_of_ratios, run_task, upper_quantile
from avoidance.table import heading, write_runs
from avoidance.table import line as table_line
from avoidance.tuning import GRIDS, TUNED, combinations, tune
from hypothesis import given
from hypothesis import strategies as st

from .project import ROOT


@given(st.lists(st.floats(1.0, 9.0), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_upper_quantile_is_not_exceeded_by_more_than_it_says(values: list[float], share: float) -> None:
    numbers = np.array(values)
    quantile = upper_quantile(numbers, share)
    assert quantile in values
    assert (numbers <= quantile).mean() >= share - 1e-9
    below = numbers[numbers < quantile]
    assert len(below) == 0 or (numbers <= below.max()).mean() < share + 1e-9


@given(st.lists(st.tuples(st.floats(1.0, 2.0), st.floats(1.0, 1.5)), min_size=1, max_size=60))
def test_the_quantile_of_ratios_is_that_of_all_ratios(pairs: list[tuple[float, float]]) -> None:
    """Against the ratios of all, although few of the shortest ways are asked for."""
    shortest = LENGTH * np.array([min(pair) for pair in pairs])
    lengths = LENGTH * np.array([max(pair) for pair in pairs])
    asked: list[int] = []

    def search(i: int) -> Callable[[], float]:
        def found() -> float:
            asked.append(i)
            return float(shortest[i])

        return found

    result = quantile_of_ratios(lengths, [search(i) for i in range(len(pairs))], 0.9)
    assert result == pytest.approx(upper_quantile(lengths / shortest, 0.9), rel=1e-12)
    assert len(asked) == len(set(asked))


def test_few_shortest_ways_are_searched() -> None:
    lengths = LENGTH * np.linspace(1.0, 1.3, 1000)
    asked: list[int] = []

    def search() -> float:
        asked.append(1)
        return LENGTH

    quantile_of_ratios(lengths, [search] * 1000)
    assert len(asked) == 11


def runs_of(safe: list[bool], speed: list[float]) -> Runs:
    arrival = np.where(safe, 12.0, np.nan)
    ones = np.ones(len(safe))
    return Runs(arrival, 0.1 * ones, 12.0 * ones, np.array(speed), ones)


def test_feasible_is_what_a_method_or_the_search_shows() -> None:
    """Three closed rings and one open scene; a run that is too fast proves nothing."""
    angle = 2.0 * np.pi * np.arange(12) / 12
    ring = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    beside = np.column_stack([np.linspace(1.0, 11.0, 12), np.full(12, 2.0)])
    centers = np.stack([ring, ring, ring, beside])
    scenes = Scenes(centers, np.full((4, 12), 0.6), np.zeros_like(centers))
    every = {
        "a": runs_of([False, True, True, False], [1.0, 1.6, 1.0, 1.0]),
        "b": runs_of([False, False, False, False], [1.0, 1.0, 1.0, 1.0]),
    }
    feasible, undecided = feasibility(scenes, every)
    assert feasible.tolist() == [False, False, True, True]
    assert not undecided.any()


def test_every_method_is_tuned_to_values_of_its_grid() -> None:
    for dimension in (2, 3):
        assert list(TUNED[dimension]) == list(GRIDS)
        for name, gains in TUNED[dimension].items():
            assert gains in list(combinations(name))


def test_the_tuning_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three pushes the first is too weak to keep the point out of discs and the last holds it up."""
    good = TUNED[2]["potential"]
    grid = {key: (value,) for key, value in good.items()} | {"strength": (1e-9, good["strength"], 50.0)}
    monkeypatch.setattr(tuning, "GRIDS", {"potential": grid})
    gains, (safe, length) = tune("potential", 2, scenes=6)
    assert gains == good
    assert 20 <= safe <= 24
    assert -2 * LENGTH < length <= -LENGTH


def test_a_row_counts_arrivals_collisions_and_lengths() -> None:
    """Arrived; arrived through an obstacle; not arrived; arrived on a long way where another method did not."""
    runs = Runs(
        arrival=np.array([12.5, 12.0, np.nan, 19.0]),
        clearance=np.array([0.1, -0.02, 0.3, 0.05]),
        length=np.array([12.6, 12.0, 7.0, 18.0]),
        speed=np.array([1.1, 1.5, 1.0, 1.2]),
        acceleration=np.array([3.0, 9.0, 1.0, 4.0]),
    )
    known = (np.array([True, True, False, True]), np.array([False, False, True, False]), np.arange(4) == 0)
    row = count(Task(2, 1, 4, 1), "some", runs, known, lambda i: [12.3, 12.0, 12.0, 15.0][i])
    assert (row.collisions, row.arrivals, row.feasible, row.undecided) == (1, 2, 3, 1)
    assert row.clearance == -0.02
    assert row.median == pytest.approx(15.3 / 12)
    assert row.longest == pytest.approx(1.5)
    assert row.ratio == pytest.approx(18.0 / 15.0)
    assert row.common == pytest.approx(12.6 / 12)
    assert (row.speed, row.acceleration) == (1.5, 9.0)


@pytest.fixture(scope="module")
def result() -> Result:
    return run_task(Task(dimension=2, obstacles=2, scenes=12, seed=5))


@pytest.mark.slow
def test_a_row_counts_the_runs(result: Result) -> None:
    """Every column again, by a plain loop over the runs."""
    assert [row.method for row in result.rows] == list(TUNED[2]) == list(result.runs)
    every = list(result.runs.values())
    common = [i for i in range(12) if all(runs.safe[i] for runs in every)]
    for row, runs in zip(result.rows, every, strict=True):
        safe = [i for i in range(12) if runs.arrival[i] > 0.0 and runs.clearance[i] >= 0.0]
        assert row.arrivals == len(safe) <= row.feasible
        assert row.collisions == sum(gap < 0.0 for gap in runs.clearance)
        assert row.clearance == min(runs.clearance)
        assert row.longest == max(runs.length[safe]) / LENGTH, "of twelve, the 99th percentile is the largest"
        assert row.common == max(runs.length[common]) / LENGTH
        assert 1.0 <= row.median <= row.ratio <= row.longest
        assert row.speed == max(runs.speed)
    moved = [tuple(runs.length) for runs in every]
    assert len(set(moved)) == len(moved), "the methods differ"


@pytest.mark.slow
def test_runs_are_reproducible(result: Result) -> None:
    again = run_task(Task(dimension=2, obstacles=2, scenes=12, seed=5))
    assert again.rows == result.rows


@pytest.mark.slow
def test_every_run_becomes_a_line(result: Result, tmp_path: Path) -> None:
    write_runs([result], tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == 12 * len(TUNED[2])
    runs = result.runs["CBF-QP"]
    found = [float(entry["length"]) for entry in lines if entry["method"] == "CBF-QP"]
    assert found == pytest.approx(runs.length, rel=1e-5)
    assert len(table_line(result.rows[0])) == len(heading())


@pytest.mark.slow
def test_the_picture_is_drawn(tmp_path: Path) -> None:
    draw(tmp_path / "ways.png", sample=3)
    assert (tmp_path / "ways.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_script_prints_the_table(tmp_path: Path) -> None:
    """From outside, as ``make bench`` runs it, without anything of the tests on the path."""
    command = [sys.executable, str(ROOT / "benchmarks" / "bench_field.py"), "3", "--dimensions", "2", "--seed", "2"]
    command += ["--workers", "2", "--csv", str(tmp_path / "runs.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250.0, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in TUNED[2]:
        assert done.stdout.count(f"\n{name:20}") == 4
    assert len((tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines()) == 1 + 4 * 3 * len(TUNED[2])


@pytest.mark.slow
def test_too_few_scenes_are_refused() -> None:
    """Before anything is compiled."""
    script = str(ROOT / "benchmarks" / "bench_field.py")
    for wrong in (["0"], ["5", "--workers", "0"]):
        done = subprocess.run(
            [sys.executable, script, *wrong], capture_output=True, text=True, check=False, timeout=60.0
        )
        assert done.returncode == 2
        assert "at least 1, got 0" in done.stderr
