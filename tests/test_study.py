"""A study runs every point, seed and controller once, and says of each what a single run says."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.controllers import Controller
from erugin.scenarios import Results, Study, Trial, Uniform, sample
from erugin.scenarios.sampling import LatinHypercube, Sobol
from erugin.scenarios.study.factors import Factor
from erugin.scenarios.study.rerun import load_study, rerun
from erugin.symbolic import StudyError, StudyWarning

from .study_cases import PENDULUM, PYTHON_LAW, data, load, rewrite_manifest

WHICH = ["duration", "plant.l1", "controller", "seed"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The pendulum's study."""
    return load().run(tmp_path_factory.mktemp("results") / "new", progress=False)


def test_every_combination_is_there_once_and_in_order(results: Results) -> None:
    rows = results.table(WHICH).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (duration, length, controller, seed)
        for duration in (0.04, 0.05)
        for controller in ("own", "soft")
        for length in (0.9, 1.0, 1.1)
        for seed in range(20)
    ]
    assert results.table(["run"])["run"].to_pylist() == list(range(240))
    assert results.manifest["runs"] == 240
    assert results.manifest["tasks"] == len(data(results.path)) == 4 * 20
    assert results.complete
    assert results.missing == ()


def test_rows_say_what_single_runs_say(results: Results) -> None:
    study = load()
    for row in results.table().to_pylist()[::37]:
        setup = study.scenario(duration=row["duration"])
        source = setup.controller if row["controller"] == "own" else setup.rivals[row["controller"]]
        trial = Trial.of(setup, row["controller"], source)
        seeded = sample(setup.varied, [row["seed"]], trial.nominal)
        alone = trial.run({"plant.l1": np.array([row["plant.l1"]]), **seeded})
        assert {name: row[name] for name in seeded} == {name: value[0] for name, value in seeded.items()}
        assert {name: row[name] for name in alone} == {name: value[0] for name, value in alone.items()}


def test_runs_are_built_again_from_what_is_written_of_them(results: Results) -> None:
    for run in (0, 77, 239):
        again = rerun(results, run)
        found = again.results()
        assert found
        assert found == {name: again.row[name] for name in found}
        motion = again.motion()
        assert motion.t[-1] == again.row["end_time"]
        assert len(motion) == round(again.row["duration"] / 1e-3) + 1


def test_runs_are_built_again_from_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = PENDULUM.read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    results = replace(load(file), seeds=1).run(tmp_path / "new", progress=False)
    # The study of the file has other seeds than the one that was run.
    with pytest.raises(StudyError, match="does not make the study of"):
        rerun(results, 0)
    rewrite_manifest(results.path, hash=load(file).hash)
    file.write_text("1 / 0\n", encoding="utf-8")
    before = list(sys.path)
    assert load_study(Results.open(results.path), trust=True) is not None
    assert sys.path == before


def test_results_do_not_depend_on_workers_or_on_the_size_of_tasks(results: Results, tmp_path: Path) -> None:
    study = load()
    study.run(tmp_path / "one", workers=1, progress=False)
    assert data(tmp_path / "one") == data(results.path)
    large = replace(study, runs_per_task=1000).run(tmp_path / "large", progress=False)
    assert len(data(tmp_path / "large")) == 4
    assert large.table().drop_columns(["task"]).equals(results.table().drop_columns(["task"]))


def test_pairs_are_of_the_same_point_and_seed(results: Results) -> None:
    pairs = results.pairs("error_rms", "soft", "own")
    assert len(pairs["point"]) == 120
    assert pairs["ok"].all()
    rows = {(row["controller"], row["point"], row["seed"]): row["error_rms"] for row in results.table().to_pylist()}
    for point, seed, one, other in zip(
        *(pairs[name].tolist() for name in ("point", "seed", "one", "other")), strict=True
    ):
        assert (one, other) == (rows["soft", point, seed], rows["own", point, seed])


def test_the_manifest_tells_what_was_run(results: Results) -> None:
    told = results.manifest
    assert told["scenario"]["name"] == told["name"] == "pendulum"
    assert "swings along a sine" in told["scenario"]["summary"]
    assert told["factors"] == {
        "duration": {"kind": "setting", "levels": [0.04, 0.05]},
        "plant.l1": {"kind": "levels", "levels": [0.9, 1.0, 1.1]},
    }
    assert told["metrics"]["peak_M1"]["unit"] == "N m"
    assert told["metrics"]["effort"]["better"] == "less"
    assert told["seeds"] == {"count": 20, "first": 0}
    assert told["source"] == PENDULUM.read_text(encoding="utf-8")
    assert {"python", "erugin", "casadi", "numpy"} <= set(told["versions"])
    assert told["machine"]["processor"]
    assert len(told["hash"]) == 64
    assert results.plan == load().plan


def test_laws_in_python_run_in_processes_of_their_own(tmp_path: Path) -> None:
    study = load(PYTHON_LAW)
    assert not study.is_compiled
    results = study.run(tmp_path / "new", workers=2, progress=False)
    rows = results.table().to_pylist()
    assert [(row["controller"], row["seed"]) for row in rows] == [(n, i) for n in ("strong", "weak") for i in range(10)]
    assert all(row["ok"] for row in rows)
    trial = Trial.of(study.scenario(), "weak", study.work.controllers["weak"])  # type: ignore[arg-type]
    row = rows[13]
    assert row["error_rms"] == trial.run({"q0.q1": np.array([row["q0.q1"]])})["error_rms"][0]


def test_what_a_sampler_fills_is_crossed_with_levels(tmp_path: Path) -> None:
    scenario = load().scenario
    factors: dict[str, Factor] = {
        "plant.m1": Uniform(0.5, 2.0),
        "duration": [0.02],
        "plant.l1": [0.9, 1.1],
        "v0.q1": Uniform(-1.0, 1.0),
    }
    study = Study(scenario, factors, seeds=[4, 2], sampler=Sobol(8, 5), metrics=["error_rms"])
    table = study.run(tmp_path / "new", progress=False).to_pandas()
    shares = Sobol(8, 5).shares(0, 8, 2)
    assert len(table) == 2 * 8 * 2
    assert table["seed"].tolist() == [4, 2] * 16
    assert np.array_equal(table["plant.m1"], np.tile(np.repeat(0.5 + 1.5 * shares[:, 0], 2), 2))
    assert np.array_equal(table["v0.q1"], np.tile(np.repeat(-1.0 + 2.0 * shares[:, 1], 2), 2))
    assert table["plant.l1"].tolist() == [0.9] * 16 + [1.1] * 16
    # What is a factor is not varied by seeds as well.
    assert list(table.columns).count("plant.m1") == 1
    assert [name for name in table.columns if name.startswith("error")] == ["error_rms"]


def test_hypercubes_fill_studies_too(tmp_path: Path) -> None:
    study = Study(load().scenario, {"plant.l1": Uniform(1.0, 2.0)}, sampler=LatinHypercube(5), runs_per_task=2)
    table = study.run(tmp_path / "new", progress=False).to_pandas()
    assert sorted(np.floor((table["plant.l1"] - 1.0) * 5).astype(int)) == [0, 1, 2, 3, 4]


def test_a_run_that_cannot_begin_is_a_result_and_spoils_no_other(tmp_path: Path) -> None:
    scenario = load().scenario
    study = Study(scenario, {"plant.m1": [1.0, -1.0, 2.0]}, varied={}, metrics=["error_rms"])
    results = study.run(tmp_path / "new", progress=False)
    rows = results.table().to_pylist()
    assert [row["ok"] for row in rows] == [True, False, True]
    assert "m1" in rows[1]["ending"]
    assert np.isnan(rows[1]["error_rms"])
    assert rows[0]["error_rms"] > 0.0
    assert results.failures["plant.m1"].to_pylist() == [-1.0]


def test_metrics_that_some_settings_do_not_have_are_null_there(tmp_path: Path) -> None:
    study = Study(load().scenario, {"duration": [0.01, 0.02]}, ["own"], metrics=["effort", "clearance"])
    results = study.run(tmp_path / "new", progress=False)
    assert results.table(["clearance"])["clearance"].null_count == 2
    assert "clearance" in results.manifest["left_out"]["own"]


class Shared(Controller):
    """A law in Python that notices if two threads are in it at once."""

    def __init__(self) -> None:
        """Nobody is in it."""
        self.robot, self.inside, self.most = load(PYTHON_LAW).scenario().robot, 0, 0

    def control(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """No torque."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(1e-3)
        self.inside -= 1
        return 0.0 * np.asarray(v, dtype=np.float64)


def test_one_law_in_python_for_several_settings_is_never_in_two_threads(tmp_path: Path) -> None:
    shared = Shared()
    factors = {"duration": [0.02, 0.021, 0.022, 0.023]}
    study = Study(load(PYTHON_LAW).scenario, factors, {"one": shared, "two": shared}, runs_per_task=1)
    with pytest.warns(StudyWarning, match="is an instance"):
        assert study.run(tmp_path / "new", workers=4, progress=False).complete
    assert shared.most == 1
