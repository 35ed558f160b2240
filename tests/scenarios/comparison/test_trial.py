"""One controller on one setup: what goes where, and what comes back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Status
from erugin.scenarios import Setup, Trial, sample
from erugin.simulation import Integral, Simulator
from erugin.symbolic import ModelError, ParameterError, ShapeError

from ...support.called_controller import Called
from ...support.comparison_setup import BASELINES, VARIED, pd_gravity, program_control, swing

Array = NDArray[np.float64]
ENDINGS = ("end_time", "status", "ok", "ending")


@pytest.fixture(scope="module")
def setup() -> Setup:
    return swing(0.3)


@pytest.fixture(scope="module")
def own(setup: Setup) -> Trial:
    return Trial.of(setup, "own", setup.controller)


def columns(trial: Trial, n: int) -> dict[str, Array]:
    return dict(sample(VARIED, n, trial.nominal))


def same(first: Mapping[str, NDArray[Any]], second: Mapping[str, NDArray[Any]]) -> bool:
    def bits(column: NDArray[Any]) -> object:
        return column.tolist() if column.dtype.kind == "U" else column.tobytes()

    return sorted(first) == sorted(second) and all(bits(first[key]) == bits(second[key]) for key in first)


def test_a_row_is_the_run_of_its_own_values(setup: Setup, own: Trial) -> None:
    drawn = columns(own, 4)
    output = own.run(drawn)
    motion = Simulator(setup.robot, setup.controller).run(
        [drawn["q0.q1"][2], 1.1],
        setup.v0,
        setup.duration,
        step=setup.step,
        p={"m1": drawn["plant.m1"][2], "m2": drawn["plant.m2"][2]},
    )
    assert setup.error is not None
    assert setup.clearance is not None
    error, gap = motion.evaluate(setup.error), motion.evaluate(setup.clearance)
    power = np.abs(motion.u * motion.v).sum(axis=1)
    expected = {
        "error_rms": np.sqrt(np.trapezoid(error**2, motion.t) / motion.t[-1]),
        "error_max": error.max(),
        "error_final": error[-1],
        "effort": np.trapezoid((motion.u**2).sum(axis=1), motion.t),
        "peak_M1": np.abs(motion.u[:, 0]).max(),
        "peak_M2": np.abs(motion.u[:, 1]).max(),
        "peak_input": np.abs(motion.u).max(),
        "variation": np.abs(np.diff(motion.u, axis=0)).sum(),
        "work": np.trapezoid(power, motion.t),
        "energy_final": motion.energy[-1],
        "clearance": gap.min(),
        "deviation_rms": np.sqrt(np.trapezoid((motion.deviation**2).sum(axis=1), motion.t) / motion.t[-1]),
        "deviation_max": np.linalg.norm(motion.deviation, axis=1).max(),
        "not_ok": 0.0,
        "end_time": motion.t[-1],
    }
    assert {*expected, "settling"} == set(own.quantities)
    assert {name: output[name][2] for name in expected} == pytest.approx(expected, rel=1e-11)
    assert (output["status"] == Status.OK).all()
    assert output["ok"].all()
    assert output["ending"][2] == "the duration is over"


@pytest.mark.slow
def test_a_row_does_not_depend_on_those_beside_it_nor_on_threads(own: Trial) -> None:
    drawn = columns(own, 300)
    whole = own.run(drawn)
    part = {name: column[137:139] for name, column in drawn.items()}
    assert same(own.run(part, threads=1), {name: column[137:139] for name, column in whole.items()})
    assert same(own.run(drawn, threads=1), whole)


def test_a_name_without_a_prefix_is_of_plant_and_law_alike(setup: Setup, own: Trial) -> None:
    both = own.run({"m1": np.array([3.0])})
    assert same(both, own.run({"plant.m1": np.array([3.0]), "law.m1": np.array([3.0])}))
    error = {name: own.run({name: np.array([3.0])})["error_max"][0] for name in ("m1", "plant.m1", "law.m1")}
    exact = own.run({})["error_max"][0]
    assert error["m1"] == pytest.approx(exact, rel=1e-6)
    assert error["plant.m1"] > exact * 1.01
    assert error["law.m1"] != error["plant.m1"]


def test_gains_go_where_they_are_and_nowhere_else(setup: Setup) -> None:
    baseline = Trial.of(setup, "pd", pd_gravity)
    alone = baseline.run({})
    assert same(baseline.run({"swing.alpha": np.array([3.0])}), alone)
    assert same(baseline.run({"law.swing.alpha": np.array([3.0])}), alone)
    own = Trial.of(setup, "own", setup.controller, ignored=["pd.K_q1"])
    assert not same(own.run({"swing.alpha": np.array([3.0])}), own.run({}))
    assert same(own.run({"pd.K_q1": np.array([3.0])}), own.run({}))


def test_values_of_the_setup_hold_for_baselines_too(setup: Setup) -> None:
    heavy = setup.with_parameters({"m1": 4.0})
    trials = [Trial.of(heavy, name, source) for name, source in BASELINES.items()]
    assert [trial.nominal("m1") for trial in trials] == [4.0, 4.0]
    assert [trial.controller_p["m1"] for trial in trials] == [4.0, 4.0]
    wrong = dataclasses.replace(setup, p={"m1": 4.0})
    baseline = Trial.of(wrong, "pd", pd_gravity)
    assert (baseline.nominal("plant.m1"), baseline.nominal("law.m1")) == (4.0, 2.5)


def test_the_nominal_value_of_every_name(own: Trial) -> None:
    reported = {name: own.nominal(name) for name in ("m1", "law.swing.alpha", "q0.q1", "v0.q1")}
    assert reported == {"m1": 2.5, "law.swing.alpha": 8.0, "q0.q1": 0.3, "v0.q1": 0.8}


def test_bad_columns_are_refused(own: Trial) -> None:
    one = np.ones(1)
    with pytest.raises(ParameterError, match=r"unknown randomized number 'q0\.phi'\. Did you mean 'q0\.q"):
        own.run({"q0.phi": one})
    with pytest.raises(ParameterError, match=r"'m1' and 'plant\.m1' are the same number"):
        own.run({"m1": one, "plant.m1": one})
    with pytest.raises(ShapeError, match=r"columns must have one shape.*'m1' has \(1,\), 'm2' has \(2,\)"):
        own.run({"m1": one, "m2": np.ones(2)})
    with pytest.raises(ShapeError, match="for 3 runs"):
        own.run({"m1": one}, count=3)
    with pytest.raises(ShapeError, match="n > 0"):
        own.run({"m1": np.ones(0)})
    with pytest.raises(ParameterError, match=r"'m1' must be greater than zero, got -1\.0 in lane 1") as caught:
        own.run({"plant.m1": np.array([1.0, -1.0])})
    assert caught.value.__notes__ == ["of controller 'own'"]


def test_without_columns_there_are_as_many_equal_runs_as_asked_for(own: Trial) -> None:
    output = own.run({}, count=3)
    assert len(own.run({})["ok"]) == 1
    assert {len(column) for column in output.values()} == {3}
    assert len(set(output["effort"].tolist())) == 1


def test_ideal_forces_have_no_metrics_of_inputs_for_a_stated_reason(setup: Setup) -> None:
    counted = dataclasses.replace(
        setup, metrics={"twist": Integral(setup.robot.u[0]), "way": Integral(setup.robot.q[0])}
    )
    ideal = Trial.of(counted, "ideal", program_control(setup.robot, "ideal"))
    inputs = {"effort", "peak_input", "peak_M1", "peak_M2", "work", "variation", "twist"}
    assert ideal.left_out == dict.fromkeys(inputs, "the controller applies ideal forces and no inputs")
    assert not inputs & set(ideal.run({}))
    free = Trial.of(counted, "free", None)
    assert set(free.left_out) == {*inputs, "deviation_rms", "deviation_max"}
    assert free.run({})["way"][0] != 0.0


def test_chosen_metrics_and_no_others(setup: Setup) -> None:
    assert sorted(Trial.of(setup, "own", setup.controller, ["effort"]).run({})) == sorted(["effort", *ENDINGS])
    with pytest.raises(ModelError, match=r"unknown metric 'efort'\. Did you mean 'effort'"):
        Trial.of(setup, "own", setup.controller, ["efort"])
    with pytest.raises(ModelError, match="got the text 'effort'"):
        Trial.of(setup, "own", setup.controller, "effort")
    taken = dataclasses.replace(setup, metrics={"effort": Integral(setup.robot.t)})
    with pytest.raises(ModelError, match="'effort' of the setup has the name of a standard metric"):
        Trial.of(taken, "own", setup.controller)
    with pytest.raises(ModelError, match="unknown metric"):
        Trial.of(dataclasses.replace(setup, error=None), "own", setup.controller, ["errors"])
    blind = Trial.of(dataclasses.replace(setup, error=None), "own", setup.controller, ["error_rms"])
    assert "error=" in blind.left_out["error_rms"]


def test_runs_that_have_to_stop_are_reported_one_by_one(own: Trial, setup: Setup) -> None:
    output = own.run({"v0.q2": np.array([0.0, 1e200, 0.1])})
    assert output["ok"].tolist() == [True, False, True]
    assert output["status"].tolist() == [int(Status.OK), int(Status.NOT_FINITE), int(Status.OK)]
    assert output["end_time"][1] < setup.duration
    assert "not finite" in output["ending"][1]
    assert same(own.run({"v0.q2": np.array([0.1])}), {name: column[2:] for name, column in output.items()})


def test_a_law_in_python_reports_the_same(setup: Setup) -> None:
    controller = program_control(setup.robot)
    symbolic = Trial.of(setup, "symbolic", controller)
    called = Trial.of(setup, "called", Called(controller))
    drawn = columns(symbolic, 2)
    ours, theirs = symbolic.run(drawn), called.run(drawn)
    shared = [name for name in called.quantities if name != "settling"]
    assert set(called.left_out) == {"deviation_rms", "deviation_max"}
    for name in shared:
        np.testing.assert_allclose(theirs[name], ours[name], rtol=1e-9, err_msg=name)


def test_what_makes_no_controller_is_refused(setup: Setup) -> None:
    with pytest.raises(ModelError, match="'x' must be a Controller, or a function that builds one"):
        Trial.of(setup, "x", 3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="the function for controller 'x' must return a Controller, got 3"):
        Trial.of(setup, "x", lambda _: 3)  # type: ignore[arg-type, return-value]
