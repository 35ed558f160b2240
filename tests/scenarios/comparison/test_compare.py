"""Comparisons of controllers on known and on simulated runs, with failing and limited laws."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.cli.commands.compare import write_files
from erugin.controllers import Controller, Tick
from erugin.controllers.baselines import ComputedTorque
from erugin.controllers.wrappers import MeasurementNoise, SampleAndHold, Saturation
from erugin.robots import disturb
from erugin.robots.signals import BandNoise
from erugin.scenarios import Comparison, MotionTracking, Normal, Scaled, Setup, Trial, Uniform, compare, sample
from erugin.scenarios.comparison import Quantity
from erugin.scenarios.comparison.compare import tick_time
from erugin.scenarios.comparison.impairments import physical_parameters
from erugin.scenarios.comparison.ranking import ranking
from erugin.simulation import SimulationError
from erugin.symbolic import EruginError, ModelError, ParameterError

from ...support.called_controller import Called
from ...support.comparison_setup import pd_gravity, program_control, swing, swinging_arm

Array = NDArray[np.float64]
N = 200
QUANTITIES = {
    "error_rms": Quantity("error_rms", "m", "error"),
    "effort": Quantity("effort", "J", "effort"),
    "clearance": Quantity("clearance", "m", "clearance", better="more"),
    "settling": Quantity("settling", "s", "settling"),
    "energy": Quantity("energy", "J", "energy", better="neither"),
    "deviation": Quantity("deviation", "", "deviation", own=True),
}


def runs(seed: int, *, shift: float = 0.0, fails: int = 0) -> dict[str, Array]:
    """Runs whose noise is mostly that of the seed, the same for all, so that pairs differ less than runs."""
    common, own = np.random.default_rng(0), np.random.default_rng(seed)
    reported: dict[str, Any] = {name: common.normal(5.0, 1.0, N) + own.normal(0.0, 0.05, N) for name in QUANTITIES}
    reported["error_rms"] += shift
    reported["effort"] -= shift
    reported["settling"][:10] = np.inf
    reported["ok"] = np.arange(N) >= fails
    reported["status"] = np.where(reported["ok"], 0, 2)
    reported["ending"] = np.full(N, "the duration is over")
    return reported


@pytest.fixture(scope="module")
def known() -> Comparison:
    results = {"a": runs(1), "b": runs(2), "worse": runs(3, shift=0.2), "fails": runs(4, fails=120)}
    del results["b"]["clearance"]
    return Comparison(
        "known",
        QUANTITIES,
        results,
        np.arange(N),
        left_out={"b": {"clearance": "it has no eyes"}},
        rows={"a": ("x",), "b": ("y",), "worse": ("x",), "fails": ()},
    )


@pytest.fixture(scope="module")
def simulated() -> Comparison:
    setup = swing(1.0)
    controllers = {"own": setup.controller, "pd": pd_gravity, "ideal": program_control(setup.robot, "ideal")}
    return compare(setup, controllers, seeds=40, robustness={"model_error": [0.1, 0.0], "noise": [0.0, 1e-3]})


def test_a_ranking_contains_only_what_the_intervals_support(known: Comparison) -> None:
    found = known.ranking("error_rms")
    assert found.ranks == {"a": (1, 2), "b": (1, 2), "worse": (3, 3), "fails": (4, 4)}
    assert found.groups == ((*found.controllers[:2],), ("worse",), ("fails",))
    assert ("a", "b") not in found.better
    assert ("b", "a") not in found.better
    assert "Not distinguished: " in found.text
    assert known.ranking("clearance").left_out == {"b": "it has no eyes"}
    assert known.ranking("effort").controllers[0] == "worse"


def test_runs_that_had_to_stop_are_worst_and_are_counted(known: Comparison) -> None:
    assert known.failures == {"a": 0, "b": 0, "worse": 0, "fails": 120}
    summary = known.summary("error_rms", "fails")
    assert (summary.finite, summary.median.value, summary.quartiles[1]) == (80, math.inf, math.inf)
    assert summary.mean == pytest.approx(known.results["fails"]["error_rms"][120:].mean())
    assert known.summary("clearance", "fails").median.value == -math.inf
    pair = known.pair("error_rms", "a", "fails").paired
    assert (pair.n, pair.finite) == (200, 80)
    assert pair.wins >= 120
    assert pair.difference.value == -math.inf
    assert math.isfinite(pair.shift.value)
    assert known.summary("settling", "a").finite == 190
    assert known.summary("energy", "fails").median.value == pytest.approx(
        np.median(known.results["fails"]["energy"][120:])
    )


def test_pairs_are_compared_by_differences_not_by_medians(known: Comparison) -> None:
    """The medians' intervals overlap; those of differences are ten times as narrow, and tell the two apart."""
    one, other = (known.summary("error_rms", name).median for name in ("a", "worse"))
    assert one.high > other.low
    assert known.pair("error_rms", "a", "worse").paired.difference.high < -0.15


def test_which_pairs_there_are(known: Comparison) -> None:
    reported = [(pair.first, pair.second) for pair in known.pairs if pair.metric == "deviation"]
    assert reported == [("a", "worse")]
    assert ("a", "b") not in {(pair.first, pair.second) for pair in known.pairs if pair.metric == "clearance"}
    directed = [pair for pair in known.pairs if pair.metric != "energy"]
    assert all(pair.adjusted >= pair.paired.p for pair in directed)
    assert all(math.isnan(pair.adjusted) for pair in known.pairs if pair.metric == "energy")


def test_the_front_of_two_metrics(known: Comparison) -> None:
    front = known.pareto("effort", "error_rms").front
    assert front[0] == "worse"
    assert "fails" not in front
    assert set(known.pareto("effort", "clearance").points) == {"a", "worse", "fails"}


def test_shares_of_runs(known: Comparison) -> None:
    assert set(known.rates) == {"ended", "settled", "clear"}
    assert set(known.rates["clear"].flags) == {"a", "worse", "fails"}
    assert known.rates["ended"].share("fails").value == 0.4
    assert known.rates["settled"].share("a").value == 0.95
    difference = known.rates["ended"].difference("a", "fails")
    assert difference.value == pytest.approx(0.6)
    assert 0.5 < difference.low < 0.6 < difference.high < 0.7


def test_a_circle_is_no_order() -> None:
    """a before b before c before a, and all before d."""
    circle = {("a", "b"): True, ("b", "c"): True, ("c", "a"): True, ("a", "d"): True, ("d", "a"): False}
    found = ranking("m", ["a", "b", "c", "d"], circle, {})
    assert found.better == {("a", "d")}
    assert found.groups == (("a", "b", "c"), ("b", "c", "d"))
    assert found.ranks == {"a": (1, 3), "b": (1, 4), "c": (1, 4), "d": (2, 4)}


def test_the_table_states_everything_in_words(known: Comparison) -> None:
    text = known.table(width=200)
    for message in (
        "200 runs of each controller",
        "40 % [33.5, 46.9]",
        "clearance of b: it has no eyes",
        "80/200",
        "1-2",
    ):
        assert message in text
    assert "effort" not in known.table(["error_rms"])
    assert max(map(len, known.table(width=90).splitlines())) <= 90


@pytest.mark.foreign
def test_the_data_frame_has_every_run(known: Comparison) -> None:
    frame = known.to_pandas()
    assert len(frame) == 4 * N
    assert frame[frame.controller == "fails"]["ok"].sum() == 80
    assert frame.attrs["units"]["error_rms"] == "m"


@pytest.mark.slow
def test_pictures_are_drawn(known: Comparison, simulated: Comparison, tmp_path: Path) -> None:
    known.plot(tmp_path / "distributions.png", ["error_rms", "settling"])
    known.pareto().plot(tmp_path / "pareto.svg")
    figure = simulated.robustness["model_error"].plot(path=tmp_path / "robustness.png")
    assert [line.get_label() for line in figure.axes[0].get_lines()] == ["own", "pd", "ideal"]
    assert {file.name for file in tmp_path.iterdir()} == {"distributions.png", "pareto.svg", "robustness.png"}
    with pytest.raises(ModelError, match="no metric with a finite value"):
        known.plot(metrics=[])


def test_what_the_simulation_says_is_what_it_must(simulated: Comparison) -> None:
    """Ideal forces and torques do the same here, and exact inversion is before a law that is not."""
    assert simulated.controllers == ("own", "pd", "ideal")
    pair = simulated.pair("error_rms", "own", "ideal").paired
    assert (pair.wins, pair.losses) == (0, 0)
    exact = simulated.robustness["model_error"].comparisons[0]
    places = exact.ranking("error_final").ranks
    assert places == {"own": (1, 2), "ideal": (1, 2), "pd": (3, 3)}
    np.testing.assert_array_equal(simulated.columns["own"]["plant.m1"], simulated.columns["pd"]["plant.m1"])
    assert simulated.left_out["ideal"]["effort"] == "the controller applies ideal forces and no inputs"
    assert {pair.second for pair in simulated.pairs if pair.metric == "deviation_rms"} == {"ideal"}


def test_what_makes_control_harder_makes_errors_larger(simulated: Comparison) -> None:
    sweep = simulated.robustness["model_error"]
    assert sweep.levels == (0.0, 0.1)
    first, last = (each.value for each in sweep.curve("error_rms", "own"))
    assert last > 1.5 * first
    noisy = simulated.robustness["noise"].comparisons[1]
    assert any(name.startswith("law.measured.") for name in noisy.columns["pd"])
    assert noisy.summary("variation", "own").median.low > simulated.summary("variation", "own").median.high


def test_the_time_of_a_tick_is_measured_apart(simulated: Comparison) -> None:
    assert set(simulated.tick_times) == {"own", "pd", "ideal"}
    assert all(1e-9 < time < 1e-3 for time in simulated.tick_times.values())
    assert not any("tick" in name for name in simulated.results["own"])


def test_delay_and_period_wrap_the_law() -> None:
    setup = swing(0.05)
    found = compare(setup, ["own"], seeds=2, metrics=["error_rms", "effort"], ticks=False,
                    robustness={"delay": [0.0, 0.01], "period": [0.01], "law.swing.alpha": [4.0, 9.0]})  # fmt: skip
    exact = found.summary("effort", "own").median.value
    assert found.robustness["delay"].curve("effort", "own")[0].value == pytest.approx(exact)
    for name, level in (("delay", 1), ("period", 0), ("law.swing.alpha", 0)):
        assert found.robustness[name].curve("effort", "own")[level].value != pytest.approx(exact, rel=1e-6)


def test_the_same_comparison_has_the_same_numbers_whatever_is_compared_beside_it() -> None:
    setup = swing(0.1)
    both, alone = compare(setup, seeds=5, ticks=False), compare(setup, ["pd"], seeds=[3, 4], ticks=False)
    for name in both.quantities:
        np.testing.assert_array_equal(both.values(name, "pd")[3:], alone.values(name, "pd"))


def test_progress_goes_from_nothing_to_all() -> None:
    recorded: list[float] = []
    compare(swing(0.1), ["own", "pd"], seeds=4, ticks=False, progress=recorded.append, robustness={"noise": [0.0]})
    assert recorded == sorted(recorded)
    assert recorded[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"controllers": ["own", "pid"]}, ModelError, "unknown controller 'pid'. Did you mean 'pd'"),
        ({"controllers": "own"}, ModelError, "a sequence of names"),
        ({"controllers": []}, ModelError, "there are no controllers to compare"),
        ({"metrics": ["errors"]}, ModelError, "unknown metric 'errors'"),
        ({"seeds": 0}, ModelError, "seeds must be their number"),
        ({"confidence": 95}, ModelError, "confidence must lie between 0 and 1"),
        ({"randomization": {"plant.m9": Scaled(Uniform(0.9, 1.1))}}, ParameterError, "unknown randomized number"),
        ({"robustness": {"lag": [0.1]}}, ModelError, "unknown robustness 'lag'"),
        ({"robustness": {"delay": [-0.1]}}, ModelError, "level of 'delay' must not be negative"),
        ({"robustness": {"delay": []}}, ModelError, "levels of 'delay' must be different numbers"),
        ({"robustness": {"delay": [0.1, 0.1]}}, ModelError, "levels of 'delay' must be different numbers"),
        ({"robustness": {"delay": "soon"}}, ModelError, "robustness of compare must be a mapping"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    options: dict[str, Any], error: type[EruginError], message: str
) -> None:
    recorded: list[float] = []
    with pytest.raises(error, match=message):
        compare(swing(0.1), progress=recorded.append, ticks=False, **options)
    assert not recorded


def test_unknown_names_are_refused_with_the_nearest(known: Comparison) -> None:
    for call in (known.ranking, known.pareto, known.controllers_with, lambda name: known.table([name])):
        with pytest.raises(ModelError, match=r"unknown metric 'eror_rms'\. Did you mean 'error_rms'"):
            call("eror_rms")
    with pytest.raises(ModelError, match="'energy' cannot rank controllers: neither"):
        known.ranking("energy")
    with pytest.raises(ModelError, match="'deviation' cannot rank controllers: it is measured against"):
        known.ranking("deviation")
    with pytest.raises(ModelError, match="'b' has no metric 'clearance': it has no eyes"):
        known.values("clearance", "b")
    with pytest.raises(ModelError, match="no pair 'b', 'a'"):
        known.pair("effort", "b", "a")
    with pytest.raises(ModelError, match="a Scenario or a Setup"):
        compare(swing)  # type: ignore[arg-type]


def test_a_setup_is_not_changed() -> None:
    setup: Setup = swing(0.05)
    before = dict(setup.randomization), dict(setup.p), setup.controller
    compare(setup, ["own"], seeds=2, ticks=False, robustness={"model_error": [0.1]})
    assert (dict(setup.randomization), dict(setup.p), setup.controller) == before


Values = Mapping[str, float] | ArrayLike | None
LONG = 1e-3
SWING_QUANTITIES = {
    "error_rms": Quantity("error_rms", "m", "error"),
    "effort": Quantity("effort", "J", "effort"),
    "clearance": Quantity("clearance", "m", "clearance", better="more"),
}
SPREAD = Scaled(Uniform(0.9, 1.1))


class Slow(Called):
    """A law of which each computation takes a while."""

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        time.sleep(LONG)
        return Tick(super().evaluate(t, q, v, p, memory).output)


def test_errors_of_the_model_take_the_place_of_masses_that_seeds_vary_under_either_name() -> None:
    found = compare(swing(0.05), ["own", "pd"], seeds=3, metrics=["error_rms"], ticks=False,
                    randomization={"m1": SPREAD, "plant.m2": SPREAD},
                    robustness={"model_error": [0.0, 0.1]})  # fmt: skip
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
        ({"randomization": {"m1": SPREAD}, "robustness": {"plant.m1": [2.0]}}, "'plant.m1' sets a number .* as 'm1'"),
        ({"randomization": {"law.m1": SPREAD}, "robustness": {"m1": [2.0]}}, "'m1' sets a number .* as 'law.m1'"),
        ({"randomization": {}, "robustness": {"m2": [np.inf]}}, "a value must be finite, got inf"),
        ({"seeds": [3, 1, 3]}, "seeds must be different, but 3"),
        ({"seeds": 10**12}, "at most 10,000,000 seeds, got 1,000,000,000,000: use a Study"),
        ({"randomization": {}}, "seeds vary nothing, so that all 2 runs of a controller would be identical"),
        ({"metrics": 5}, "metrics must be a sequence of names"),
        ({"controllers": 5}, "controllers must be a sequence of names"),
        ({"controllers": {1: None}}, "the name of a controller must be text, got 1"),
        ({"robustness": ["delay"]}, "robustness must be a mapping by name"),
        ({"randomization": [("m1", SPREAD)]}, "randomization must be a mapping by name"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(options: dict[str, Any], message: str) -> None:
    recorded: list[float] = []
    usual: dict[str, Any] = {"controllers": ["own"], "seeds": 2}
    with pytest.raises(ModelError, match=message):
        compare(swing(0.05), **(usual | options), ticks=False, progress=recorded.append)
    assert not recorded


def test_forces_that_only_the_plant_has_are_no_errors_of_the_model() -> None:
    setup = swing(0.05)
    shaken = dataclasses.replace(setup, robot=disturb(setup.robot, BandNoise(0.5, (0.5, 2.0)), "tip").robot)
    assert "disturbance.x.frequency1" in shaken.robot.parameters.names
    # The length of the outer link matters where a force acts on its tip.
    assert set(physical_parameters(shaken)) == {*physical_parameters(setup), "l2"}
    assert {"m1", "m2", "c1", "c2"} <= set(physical_parameters(setup))


def failing(fails: int, seed: int) -> dict[str, NDArray[Any]]:
    reported: dict[str, NDArray[Any]] = {
        name: np.random.default_rng(seed).normal(5.0, 1.0, 10) for name in SWING_QUANTITIES
    }
    ends = {"ok": np.arange(10) >= fails, "status": np.zeros(10), "ending": np.full(10, "over")}
    return reported | ends


@pytest.mark.parametrize("fails", [6, 10])
def test_laws_that_mostly_fail_get_their_tables_and_what_can_be_drawn(fails: int, tmp_path: Path) -> None:
    runs = {"a": failing(fails, 1), "b": failing(fails, 2)}
    written: list[str] = []
    write_files(Comparison("failing", SWING_QUANTITIES, runs, np.arange(10)), tmp_path, written)
    drawn = ["distributions.png"] if fails < 10 else []
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["comparison.txt", "runs.csv", *drawn])
    assert any(name.startswith("no pareto.png (no controller has a finite median") for name in written)


def test_runs_that_failed_are_at_the_bad_end_of_each_distribution() -> None:
    figure = Comparison("failing", SWING_QUANTITIES, {"a": failing(4, 1)}, np.arange(10)).plot()
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

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        if np.asarray(q)[0] > 0.3:
            return Tick(np.zeros(3))
        return Tick(np.zeros(2))


def test_a_baseline_that_cannot_follow_names_itself_and_the_tolerance() -> None:
    def rough(tolerance: float) -> MotionTracking:
        return MotionTracking(lambda s, reference: ComputedTorque(s.robot, reference), tolerance=tolerance)

    with pytest.raises(ModelError) as refused:
        compare(swing(0.2), {"own": program_control(swinging_arm()), "followed": rough(1e-15)}, seeds=2)
    message = str(refused.value)
    assert message.startswith("controller 'followed': ")
    assert "raise MotionTracking(…, tolerance=)" in message
    assert "samples within 1e-15" in message


def test_a_motion_that_cannot_be_followed_to_its_end_is_reported() -> None:
    one = swing(0.2)
    lost = one.driven_by(Failing(program_control(one.robot)))
    baseline = MotionTracking(lambda s, reference: ComputedTorque(s.robot, reference))
    with pytest.raises(SimulationError, match=r"controller 'late': the motion that MotionTracking follows.*values="):
        compare(lost, {"late": baseline}, seeds=2)


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
        compare(swing(0.02), ["own", "pd"], seeds=seeds, randomization=masses, threads=threads)
    with pytest.raises(
        ModelError, match=r"^controller 'careless', seed \d+: Careless.evaluate must return an output of shape \(2,\)"
    ):
        compare(swing(0.02), {"careless": lambda s: Careless(program_control(s.robot))}, seeds=6)


def test_a_foreign_error_names_its_controller_too() -> None:
    def broken(_: Setup) -> Controller:
        raise ZeroDivisionError("no gain")

    with pytest.raises(ZeroDivisionError) as raised:
        compare(swing(0.02), {"broken": broken}, seeds=2)
    assert raised.value.__notes__ == ["of controller 'broken'"]


def test_the_table_lists_laws_that_relaxed_rows_and_the_first_run_that_stopped() -> None:
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
    message = "fails had to stop in 2 of 2 runs, first with seed 5: in the step after t = 0 s: ZeroDivision"
    assert message in stopped.table()


class Failing(Called):
    """A law in Python that raises."""

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        raise ZeroDivisionError("no gain")
