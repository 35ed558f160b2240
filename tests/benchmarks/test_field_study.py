"""Figures of the field study, of one run and of many."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from avoidance import tuning
from avoidance.method import Method, Obstacle
from avoidance.motion import Mover, Runs
from avoidance.picture import draw
from avoidance.scenes import COUNTS, LENGTH, SPAN, STEP, Scenes, random_scenes
from avoidance.study import Result, Task, count, feasibility, quantile_of_ratios, run_task, upper_quantile
from avoidance.table import heading, write_runs
from avoidance.table import line as table_line
from avoidance.tuning import GRIDS, TUNED, combinations, methods, tune
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ..support.project import ROOT

Array = NDArray[np.float64]


class Given(Method):
    """A velocity (a, b + c t) whatever is in the way, its second component times the first sign."""

    def __init__(self, a: float, b: float, c: float) -> None:
        self.name, self.gains = "given", {"a": a, "b": b, "c": c}

    def velocity(
        self, x: ca.SX, t: ca.SX, obstacles: Sequence[Obstacle], sides: ca.SX, gains: Mapping[str, ca.SX]
    ) -> ca.SX:
        return ca.vertcat(gains["a"], sides[0] * (gains["b"] + gains["c"] * t))


def one(center: Sequence[float], radius: float, drift: Sequence[float]) -> Scenes:
    return Scenes(np.array([[center]], dtype=float), np.array([[radius]]), np.array([[drift]], dtype=float))


def test_a_straight_run_has_known_numbers() -> None:
    """Past a disc that crosses ahead; the last step is cut where the path ends."""
    scene = one((6.0, -3.0), 0.3, (0.0, 0.25))
    runs = Mover(Given(0.7, 0.0, 0.0), 1, 2).run(scene, np.ones((1, 1)))
    assert runs.arrival[0] == pytest.approx(LENGTH / 0.7, abs=1e-9)
    assert runs.length[0] == pytest.approx(LENGTH, abs=1e-9)
    # The offset (0.7 t − 6, 3 − 0.25 t) is shortest at t = (0.7·6 + 0.25·3)/(0.7² + 0.25²).
    t = (0.7 * 6.0 + 0.25 * 3.0) / (0.7**2 + 0.25**2)
    assert runs.clearance[0] == pytest.approx(np.hypot(0.7 * t - 6.0, 3.0 - 0.25 * t) - 0.3, abs=1e-9)
    assert runs.speed[0] == pytest.approx(0.7)
    assert runs.acceleration[0] == 0.0
    assert runs.safe[0]


def test_a_collision_between_two_steps_is_detected() -> None:
    """A disc of 2 mm in the middle of a step of 10 mm."""
    runs = Mover(Given(1.0, 0.0, 0.0), 1, 2).run(one((5.005, 0.0), 0.002, (0.0, 0.0)), np.ones((1, 1)))
    assert runs.clearance[0] == pytest.approx(-0.002, abs=1e-8)
    assert runs.collided[0]
    assert not runs.safe[0]
    assert runs.arrived[0]


def test_speed_and_acceleration_are_the_largest() -> None:
    runs = Mover(Given(1.0, 0.2, 0.05), 1, 2).run(one((6.0, 9.0), 0.3, (0.0, 0.0)), np.ones((1, 1)))
    assert runs.acceleration[0] == pytest.approx(0.05, rel=1e-9)
    assert runs.speed[0] == pytest.approx(np.hypot(1.0, 0.2 + 0.05 * (12.0 - STEP)), rel=1e-9)
    steps = 0.2 + 0.05 * STEP * np.arange(1200)
    assert runs.length[0] == pytest.approx(STEP * np.hypot(1.0, steps).sum(), rel=1e-9)


def test_a_run_that_is_too_slow_does_not_arrive() -> None:
    slow = Mover(Given(0.99 * LENGTH / SPAN, 0.0, 0.0), 1, 2).run(one((6.0, 3.0), 0.3, (0.0, 0.0)), np.ones((1, 1)))
    assert np.isnan(slow.arrival[0])
    assert not slow.arrived[0]
    assert not slow.collided[0]
    assert slow.length[0] == pytest.approx(0.99 * LENGTH, rel=1e-9)


def test_nan_counts_as_a_collision() -> None:
    runs = Mover(Given(np.nan, 0.0, 0.0), 1, 2).run(one((6.0, 3.0), 0.3, (0.0, 0.0)), np.ones((1, 1)))
    assert runs.collided[0]
    assert not runs.arrived[0]


def test_the_best_signs_count() -> None:
    """A method that chooses no side itself is run on both, up and down."""
    low, high = one((6.0, -1.2), 0.3, (0.0, 0.0)), one((6.0, 1.2), 0.3, (0.0, 0.0))
    mover = Mover(Given(1.0, 0.2, 0.0), 1, 2)
    assert mover.run(high, np.ones((1, 1))).collided[0]
    for scene, sign in ((high, -1.0), (low, 1.0)):
        runs, signs = mover.best(scene)
        assert runs.safe[0]
        assert signs.tolist() == [[sign]]


class Slalom(Method):
    """Each obstacle asks for a velocity aside while the point is before it."""

    name, gains = "slalom", dict[str, float]()

    def velocity(
        self, x: ca.SX, t: ca.SX, obstacles: Sequence[Obstacle], sides: ca.SX, gains: Mapping[str, ca.SX]
    ) -> ca.SX:
        first, second = (o.center[0] for o in obstacles)
        up = ca.if_else(x[0] < first, sides[0] * 0.25, ca.if_else(x[0] < second, 2 * sides[1] * 0.25, 0))
        return ca.vertcat(1.0, up)


def test_mixed_signs_are_tried_where_no_uniform_ones_arrive() -> None:
    """Past one disc above and the next below; in a second scene the same sign does, and is kept."""
    centers = np.array([[(4.0, 1.0), (8.0, 1.0)], [(4.0, 1.0), (8.0, 5.0)]])
    scenes = Scenes(centers, np.full((2, 2), 0.5), np.zeros((2, 2, 2)))
    centers[0, 1] = (8.0, -3.0)
    runs, signs = Mover(Slalom(), 2, 2).best(scenes)
    assert runs.safe.all()
    assert signs.tolist() == [[-1.0, 1.0], [-1.0, -1.0]]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((12.0, 0.1, 13.0), (12.0, -0.1, 12.0)),  # no collision before a shorter way
        ((12.0, 0.1, 19.0), (np.nan, 0.1, 12.0)),  # a safe arrival before none
        ((np.nan, 0.1, 19.0), (12.0, -0.1, 12.0)),  # no collision before an arrival
        ((12.0, 0.1, 12.5), (12.0, 0.5, 12.6)),  # the shorter of equals
    ],
)
def test_of_two_runs_the_better(first: tuple[float, ...], second: tuple[float, ...]) -> None:
    a, b = (Runs(*(np.array([value]) for value in (*numbers, 1.0, 1.0))) for numbers in (first, second))
    assert a.beats(b)[0]
    assert not b.beats(a)[0]
    assert not a.beats(a)[0]
    assert b.replaced(np.array([0]), a).length[0] == first[2]


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("obstacles", COUNTS)
def test_scenes_are_seeded_and_in_range(dimension: int, obstacles: int) -> None:
    scenes = random_scenes(500, obstacles, dimension, 3)
    assert scenes.centers.shape == scenes.velocities.shape == (500, obstacles, dimension)
    speeds = np.linalg.norm(scenes.velocities, axis=2)
    assert 0.0 <= speeds.min() < 0.02
    assert 0.38 < speeds.max() <= 0.4
    assert 0.2 <= scenes.radii.min() < 0.22
    assert 0.68 < scenes.radii.max() <= 0.7
    assert (np.linalg.norm(scenes.centers, axis=2) - scenes.radii).min() > 0.5, "the start is free"
    # In any direction: the mean heading of so many is short, and no axis is preferred.
    heading = scenes.velocities / speeds[..., None]
    assert np.linalg.norm(heading.mean(axis=(0, 1))) < 0.12
    assert (heading**2).mean(axis=(0, 1)) == pytest.approx(np.full(dimension, 1 / dimension), abs=0.05)
    again, other = random_scenes(500, obstacles, dimension, 3), random_scenes(500, obstacles, dimension, 4)
    assert (again.numbers == scenes.numbers).all()
    assert not (other.numbers == scenes.numbers).any()


@pytest.mark.parametrize("dimension", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_method_obeys_the_bound_and_follows_the_free_path(dimension: int) -> None:
    """With the only disc far away all of them go straight along the path, at cruise speed."""
    far = Scenes(np.full((1, 1, dimension), 50.0), np.array([[0.5]]), np.zeros((1, 1, dimension)))
    scenes = random_scenes(5, 1, dimension, 11)
    for method in methods(dimension):
        mover = Mover(method, 1, dimension)
        free = mover.outcome(far)
        assert free.length[0] == pytest.approx(LENGTH, abs=1e-6)
        assert free.arrival[0] == pytest.approx(LENGTH, abs=1e-3)
        assert mover.outcome(scenes).speed.max() <= 1.5 + 1e-9


@given(st.lists(st.floats(1.0, 9.0), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_upper_quantile_is_exceeded_by_no_more_than_its_share(values: list[float], share: float) -> None:
    numbers = np.array(values)
    quantile = upper_quantile(numbers, share)
    assert quantile in values
    assert (numbers <= quantile).mean() >= share - 1e-9
    below = numbers[numbers < quantile]
    assert len(below) == 0 or (numbers <= below.max()).mean() < share + 1e-9


@given(st.lists(st.tuples(st.floats(1.0, 2.0), st.floats(1.0, 1.5)), min_size=1, max_size=60))
def test_the_quantile_of_ratios_is_that_of_all_ratios(pairs: list[tuple[float, float]]) -> None:
    """Against the ratios of all, although few of the shortest paths are computed."""
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
