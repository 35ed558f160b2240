"""Comparisons: what they say of runs that are known, and of runs that are simulated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.scenarios import Comparison, Scaled, Setup, Uniform, compare
from erugin.scenarios.comparison import Quantity
from erugin.scenarios.comparison.ranking import ranking
from erugin.symbolic import EruginError, ModelError, ParameterError

from .compared import pd_gravity, program_control, swing

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
    told: dict[str, Any] = {name: common.normal(5.0, 1.0, N) + own.normal(0.0, 0.05, N) for name in QUANTITIES}
    told["error_rms"] += shift
    told["effort"] -= shift
    told["settling"][:10] = np.inf
    told["ok"] = np.arange(N) >= fails
    told["status"] = np.where(told["ok"], 0, 2)
    told["ending"] = np.full(N, "the duration is over")
    return told


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


def test_a_ranking_says_only_what_the_intervals_support(known: Comparison) -> None:
    found = known.ranking("error_rms")
    assert found.places == {"a": (1, 2), "b": (1, 2), "worse": (3, 3), "fails": (4, 4)}
    assert found.groups == ((*found.controllers[:2],), ("worse",), ("fails",))
    assert ("a", "b") not in found.better
    assert ("b", "a") not in found.better
    assert "Not told apart: " in found.text
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
    told = [(pair.first, pair.second) for pair in known.pairs if pair.metric == "deviation"]
    assert told == [("a", "worse")]
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
    assert found.places == {"a": (1, 3), "b": (1, 4), "c": (1, 4), "d": (2, 4)}


def test_the_table_says_everything_in_words(known: Comparison) -> None:
    text = known.table(width=200)
    for said in ("200 runs of each controller", "40 % [33.5, 46.9]", "clearance of b: it has no eyes", "80/200", "1-2"):
        assert said in text
    assert "effort" not in known.table(["error_rms"])
    assert max(map(len, known.table(width=90).splitlines())) <= 90


def test_the_data_frame_has_every_run(known: Comparison) -> None:
    frame = known.to_pandas()
    assert len(frame) == 4 * N
    assert frame[frame.controller == "fails"]["ok"].sum() == 80
    assert frame.attrs["units"]["error_rms"] == "m"


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
    places = exact.ranking("error_final").places
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
    told: list[float] = []
    compare(swing(0.1), ["own", "pd"], seeds=4, ticks=False, progress=told.append, robustness={"noise": [0.0]})
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"controllers": ["own", "pid"]}, ModelError, "unknown controller 'pid'. Did you mean 'pd'"),
        ({"controllers": "own"}, ModelError, "a sequence of names"),
        ({"controllers": []}, ModelError, "there are no controllers to compare"),
        ({"metrics": ["errors"]}, ModelError, "unknown metric 'errors'"),
        ({"seeds": 0}, ModelError, "seeds are a number of them"),
        ({"confidence": 95}, ModelError, "confidence must lie between 0 and 1"),
        ({"varied": {"plant.m9": Scaled(Uniform(0.9, 1.1))}}, ParameterError, "unknown name of what is varied"),
        ({"robustness": {"lag": [0.1]}}, ModelError, "unknown robustness 'lag'"),
        ({"robustness": {"delay": [-0.1]}}, ModelError, "level of 'delay' must not be negative"),
        ({"robustness": {"delay": []}}, ModelError, "levels of 'delay' are different numbers"),
        ({"robustness": {"delay": [0.1, 0.1]}}, ModelError, "levels of 'delay' are different numbers"),
        ({"robustness": {"delay": "soon"}}, ModelError, "robustness of compare must be a mapping"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    options: dict[str, Any], error: type[EruginError], message: str
) -> None:
    told: list[float] = []
    with pytest.raises(error, match=message):
        compare(swing(0.1), progress=told.append, ticks=False, **options)
    assert not told


def test_unknown_names_are_refused_with_the_nearest(known: Comparison) -> None:
    for call in (known.ranking, known.pareto, known.having, lambda name: known.table([name])):
        with pytest.raises(ModelError, match=r"unknown metric 'eror_rms'\. Did you mean 'error_rms'"):
            call("eror_rms")
    with pytest.raises(ModelError, match="'energy' ranks no controllers: neither"):
        known.ranking("energy")
    with pytest.raises(ModelError, match="'deviation' ranks no controllers: it is measured against"):
        known.ranking("deviation")
    with pytest.raises(ModelError, match="'b' has no metric 'clearance': it has no eyes"):
        known.values("clearance", "b")
    with pytest.raises(ModelError, match="no pair 'b', 'a'"):
        known.pair("effort", "b", "a")
    with pytest.raises(ModelError, match="a scenario or a Setup"):
        compare(swing)  # type: ignore[arg-type]


def test_a_setup_is_not_changed() -> None:
    setup: Setup = swing(0.05)
    before = dict(setup.varied), dict(setup.p), setup.controller
    compare(setup, ["own"], seeds=2, ticks=False, robustness={"model_error": [0.1]})
    assert (dict(setup.varied), dict(setup.p), setup.controller) == before
