"""Comparisons where it is hard: levels in place of what seeds vary, laws that fail, laws that are held."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.cli.commands.compare import write_files
from erugin.controllers import Controller
from erugin.controllers.baselines import ComputedTorque
from erugin.controllers.wrappers import MeasurementNoise, SampleAndHold, Saturation
from erugin.robots import disturb
from erugin.robots.signals import BandNoise
from erugin.scenarios import Comparison, MotionTracking, Normal, Scaled, Setup, Trial, Uniform, compare, sample
from erugin.scenarios.comparison import Quantity
from erugin.scenarios.comparison.compare import tick_time
from erugin.scenarios.comparison.impairments import physical
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, ParameterError

from .called import Called
from .compared import program_control, swing, swinging_arm

Values = Mapping[str, float] | ArrayLike | None
LONG = 1e-3
QUANTITIES = {
    "error_rms": Quantity("error_rms", "m", "error"),
    "effort": Quantity("effort", "J", "effort"),
    "clearance": Quantity("clearance", "m", "clearance", better="more"),
}
SPREAD = Scaled(Uniform(0.9, 1.1))


class Slow(Called):
    """A law of which each computation takes a while."""

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> NDArray[np.float64]:
        time.sleep(LONG)
        return super().control(t, q, v, p)


def test_errors_of_the_model_take_the_place_of_masses_that_seeds_vary_under_either_name() -> None:
    found = compare(swing(0.05), ["own", "pd"], seeds=3, metrics=["error_rms"], ticks=False,
                    varied={"m1": SPREAD, "plant.m2": SPREAD}, robustness={"model_error": [0.0, 0.1]})  # fmt: skip
    assert set(found.columns["own"]) == {"m1", "plant.m2"}
    exact, wrong = found.robustness["model_error"].comparisons
    for columns in (*exact.columns.values(), *wrong.columns.values()):
        assert "m1" not in columns
        assert {"plant.m1", "plant.m2"} <= set(columns)
    assert len(set(exact.columns["pd"]["plant.m1"].tolist())) == 1
    assert len(set(wrong.columns["pd"]["plant.m1"].tolist())) == 3
    np.testing.assert_array_equal(wrong.columns["own"]["plant.m1"], wrong.columns["pd"]["plant.m1"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"varied": {"m1": SPREAD}, "robustness": {"plant.m1": [2.0]}}, "'plant.m1' sets a number .* as 'm1'"),
        ({"varied": {"law.m1": SPREAD}, "robustness": {"m1": [2.0]}}, "'m1' sets a number .* as 'law.m1'"),
        ({"varied": {}, "robustness": {"m2": [np.inf]}}, "a value must be finite, got inf"),
        ({"seeds": [3, 1, 3]}, "seeds must be different, but 3"),
        ({"seeds": 10**12}, "10,000,000 of each controller at most, got 1,000,000,000,000 seeds: take a Study"),
        ({"varied": {}}, "nothing is varied, so that all 2 runs of a controller would be one and the same"),
        ({"metrics": 5}, "metrics are a sequence of names"),
        ({"controllers": 5}, "controllers are a sequence of names"),
        ({"controllers": {1: None}}, "the name of a controller must be text, got 1"),
        ({"robustness": ["delay"]}, "robustness is given by name"),
        ({"varied": [("m1", SPREAD)]}, "varied is given by name"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(options: dict[str, Any], message: str) -> None:
    told: list[float] = []
    usual: dict[str, Any] = {"controllers": ["own"], "seeds": 2}
    with pytest.raises(ModelError, match=message):
        compare(swing(0.05), **(usual | options), ticks=False, progress=told.append)
    assert not told


def test_forces_that_only_the_plant_has_are_no_errors_of_the_model() -> None:
    setup = swing(0.05)
    shaken = dataclasses.replace(setup, robot=disturb(setup.robot, BandNoise(0.5, (0.5, 2.0)), "tip").robot)
    assert "disturbance.x.frequency1" in shaken.robot.parameters.names
    # The length of the outer link matters where a force acts on its tip.
    assert set(physical(shaken)) == {*physical(setup), "l2"}
    assert {"m1", "m2", "c1", "c2"} <= set(physical(setup))


def failing(fails: int, seed: int) -> dict[str, NDArray[Any]]:
    told: dict[str, NDArray[Any]] = {name: np.random.default_rng(seed).normal(5.0, 1.0, 10) for name in QUANTITIES}
    ends = {"ok": np.arange(10) >= fails, "status": np.zeros(10), "ending": np.full(10, "over")}
    return told | ends


@pytest.mark.parametrize("fails", [6, 10])
def test_laws_that_mostly_fail_get_their_tables_and_what_can_be_drawn(fails: int, tmp_path: Path) -> None:
    runs = {"a": failing(fails, 1), "b": failing(fails, 2)}
    written: list[str] = []
    write_files(Comparison("failing", QUANTITIES, runs, np.arange(10)), tmp_path, written)
    drawn = ["distributions.png"] if fails < 10 else []
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["comparison.txt", "runs.csv", *drawn])
    assert any(name.startswith("no pareto.png (no controller has a finite median") for name in written)


def test_runs_that_failed_are_at_the_bad_end_of_each_distribution() -> None:
    figure = Comparison("failing", QUANTITIES, {"a": failing(4, 1)}, np.arange(10)).plot()
    shares = [np.asarray(line.get_ydata()) for axes in figure.axes[:3] for line in axes.get_lines()]
    assert [(each[0], each[-1]) for each in shares] == [(0.0, 0.6), (0.0, 0.6), (0.4, 1.0)]


def test_a_law_that_is_held_is_timed_at_its_ticks() -> None:
    """Nine of ten calls only hand out what was computed before."""
    setup = swing(0.2)
    held = SampleAndHold(Slow(program_control(setup.robot)), 10 * setup.step)
    for law in (held, MeasurementNoise(held, q=1e-4)):
        assert (tick_time(Trial.of(setup, "held", law, ["effort"])) or 0.0) > LONG


# What fails names who, when, and what to try -------------------------------------------------------------------------


class Careless(Called):
    """A law in Python with a mistake that some starts meet."""

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> NDArray[np.float64]:
        if np.asarray(q)[0] > 0.3:
            return np.zeros(3)
        return np.zeros(2)


def test_a_rival_that_cannot_follow_names_itself_and_the_tolerance() -> None:
    def rough(tolerance: float) -> MotionTracking:
        return MotionTracking(lambda s, reference: ComputedTorque(s.robot, reference), tolerance=tolerance)

    with pytest.raises(ModelError) as refused:
        compare(swing(0.2), {"own": program_control(swinging_arm()), "followed": rough(1e-15)}, seeds=2)
    said = str(refused.value)
    assert said.startswith("controller 'followed': ")
    assert "AlongMotion(…, tolerance=) a larger value" in said
    assert "samples are not met within 1e-15" in said


def test_a_motion_that_cannot_be_followed_to_its_end_is_told() -> None:
    one = swing(0.2)
    lost = one.driven_by(Failing(program_control(one.robot)))
    rival = MotionTracking(lambda s, reference: ComputedTorque(s.robot, reference))
    with pytest.raises(SimulationError, match=r"controller 'late': the motion that AlongMotion follows.*values="):
        compare(lost, {"late": rival}, seeds=2)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_that_is_refused_names_its_controller_and_its_seed(threads: int) -> None:
    # The mass of one seed is negative.
    masses = {"plant.m2": Normal(1.8, 1.0)}
    seeds = list(range(40))
    drawn = sample(masses, np.array(seeds), lambda _: 1.8)["plant.m2"]
    first = int(np.flatnonzero(drawn <= 0.0)[0])
    assert first > 0
    with pytest.raises(
        ParameterError, match=f"^controller 'own', seed {first}: parameter 'm2' must be greater than zero"
    ):
        compare(swing(0.02), ["own", "pd"], seeds=seeds, varied=masses, threads=threads)
    with pytest.raises(
        ModelError, match=r"^controller 'careless', seed \d+: Careless.control must return shape \(2,\)"
    ):
        compare(swing(0.02), {"careless": lambda s: Careless(program_control(s.robot))}, seeds=6)


def test_a_foreign_error_names_its_controller_too() -> None:
    def broken(_: Setup) -> Controller:
        raise ZeroDivisionError("no gain")

    with pytest.raises(ZeroDivisionError) as raised:
        compare(swing(0.02), {"broken": broken}, seeds=2)
    assert raised.value.__notes__ == ["of controller 'broken'"]


def test_the_table_tells_of_laws_that_gave_way_and_of_the_first_run_that_stopped() -> None:
    robot = swinging_arm()
    weak = Saturation(program_control(robot), 12.0)
    found = compare(swing(0.3), {"weak": weak, "own": program_control(robot)}, seeds=4, ticks=False)
    lines = [line.split() for line in found.table().splitlines()]
    (head,) = (line for line in lines if line[:1] == ["controller"] and "ended" in line)
    assert head[-5:-3] == ["not", "OK"]
    share = 100.0 * found.results["weak"]["not_ok"].mean()
    assert share > 1.0
    assert f"{share:.3g} %" in found.table()
    stopped = compare(swing(0.3), {"fails": lambda s: Failing(program_control(s.robot))}, seeds=[5, 9], ticks=False)
    said = "fails had to stop in 2 of 2 runs, the first that of seed 5: in the step after t = 0 s: ZeroDivision"
    assert said in stopped.table()


class Failing(Called):
    """A law in Python that raises."""

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> NDArray[np.float64]:
        raise ZeroDivisionError("no gain")
