"""A study runs every point, seed and controller once, or is rejected before it begins."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller, Tick
from erugin.scenarios import Results, Study, Trial, Uniform, sample
from erugin.scenarios.sampling import LatinHypercube, Sobol
from erugin.scenarios.study.factors import Factor
from erugin.scenarios.study.rerun import load_study, rerun
from erugin.symbolic import EruginError, ModelError, ParameterError, StudyError, StudyWarning

from ...support.study_cases import PENDULUM, PYTHON_LAW, data, load, rewrite_manifest

Array = NDArray[np.float64]

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


def test_rows_equal_single_runs(results: Results) -> None:
    study = load()
    for row in results.table().to_pylist()[::37]:
        setup = study.scenario(duration=row["duration"])
        source = setup.controller if row["controller"] == "own" else setup.baselines[row["controller"]]
        trial = Trial.of(setup, row["controller"], source)
        seeded = sample(setup.randomization, [row["seed"]], trial.nominal)
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
    with pytest.raises(StudyError, match="no longer defines the study of"):
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


def test_the_manifest_describes_the_runs(results: Results) -> None:
    reported = results.manifest
    assert reported["scenario"]["name"] == reported["name"] == "pendulum"
    assert "swings along a sine" in reported["scenario"]["summary"]
    assert reported["factors"] == {
        "duration": {"kind": "setting", "levels": [0.04, 0.05]},
        "plant.l1": {"kind": "levels", "levels": [0.9, 1.0, 1.1]},
    }
    assert reported["metrics"]["peak_M1"]["unit"] == "N m"
    assert reported["metrics"]["effort"]["better"] == "less"
    assert reported["seeds"] == {"count": 20, "first": 0}
    assert reported["source"] == PENDULUM.read_text(encoding="utf-8")
    assert {"python", "erugin", "casadi", "numpy"} <= set(reported["versions"])
    assert reported["machine"]["processor"]
    assert len(reported["hash"]) == 64
    assert results.plan == load().plan


def test_laws_in_python_run_in_separate_processes(tmp_path: Path) -> None:
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


def test_a_run_that_cannot_start_is_a_result_and_affects_no_other(tmp_path: Path) -> None:
    scenario = load().scenario
    study = Study(scenario, {"plant.m1": [1.0, -1.0, 2.0]}, randomization={}, metrics=["error_rms"])
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

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """No torque."""
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(1e-3)
        self.inside -= 1
        return Tick(0.0 * np.asarray(v, dtype=np.float64))


def test_one_law_in_python_for_several_settings_is_never_in_two_threads(tmp_path: Path) -> None:
    shared = Shared()
    factors = {"duration": [0.02, 0.021, 0.022, 0.023]}
    study = Study(load(PYTHON_LAW).scenario, factors, {"one": shared, "two": shared}, runs_per_task=1)
    with pytest.warns(StudyWarning, match="is an instance"):
        assert study.run(tmp_path / "new", workers=4, progress=False).complete
    assert shared.most == 1


PENDULUM_SCENARIO = load().scenario
THOUSAND = np.arange(1.0, 1001.0)


@pytest.mark.parametrize(
    ("factors", "options", "message"),
    [
        ({"duration": [0.1, 0.1]}, {}, "a level of 'duration' is given more than once"),
        ({"plant.m1": [1.0, 1]}, {}, r"a level of 'plant\.m1' is given more than once"),
        ({"duration": ["long"]}, {}, "the setting 'duration' must be a number, got 'long'"),
        ({"duration": [True]}, {}, "the setting 'duration' must be a number, got True"),
        ({"duration": Uniform(0.1, 0.2)}, {"sampler": Sobol(2)}, "'duration' is a setting, .*: give levels"),
        ({"plant.m1": ["heavy"]}, {}, r"a level of 'plant\.m1' must be a number, got 'heavy'; it is not a setting"),
        ({"plant.m1": [float("nan")]}, {}, r"a level of 'plant\.m1' must be finite"),
        ({"plant.m1": 1.0}, {}, r"factor 'plant\.m1' must be a list of levels, or a distribution with sampler="),
        ({"plant.m1": "12"}, {}, r"factor 'plant\.m1' must be a list of levels"),
        ({"plant.m1": range(10**7)}, {}, "must have at most 1000000 levels, got 10000000"),
        ({"plant.m1": Uniform(1.0, 2.0)}, {}, r"'plant\.m1' has a distribution, which requires sampler="),
        ({"plant.m1": [1.0]}, {"sampler": LatinHypercube(4)}, "sampler= requires a factor with a distribution"),
        (
            {"plant.m1": Uniform(1.0, 2.0)},
            {"sampler": 100},
            r"sampler must be LatinHypercube\(n\) or Sobol\(n\), got 100",
        ),
        ({3: [1.0]}, {}, "the name of a factor must be text, got 3"),
        ([1.0], {}, "factors must be a mapping by name"),
        ({}, {"seeds": 0}, "seeds must be their number, at least 1.* got 0"),
        ({}, {"seeds": []}, "seeds must be their number"),
        ({}, {"seeds": [1, -2]}, "not negative"),
        ({}, {"seeds": [1, 1]}, "seeds must be different"),
        ({}, {"metrics": "effort"}, r"metrics must be a sequence of names, as in \[\"effort\"\]"),
        ({}, {"controllers": "own"}, "controllers must be a sequence of names, or functions by name, got 'own'"),
        ({}, {"controllers": ["own", "own"]}, "controllers must have different names"),
        ({}, {"controllers": {"mine": 3.0}}, "controller 'mine' must be a function that builds one for a setup"),
        ({}, {"runs_per_task": 0}, "runs_per_task must be"),
        ({}, {"name": "../elsewhere"}, "the name of a study must be usable as the name of a folder"),
        ({}, {"name": "no\0thing"}, "name of Study must be text"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(
    factors: Mapping[str, Factor], options: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        Study(PENDULUM_SCENARIO, factors, **options)


def test_a_scenario_is_needed() -> None:
    with pytest.raises(ModelError, match=r"a study requires a Scenario, made by @scenario\(name\)"):
        Study("pendulum")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("factors", "options", "error", "message"),
    [
        ({"m3": [1.0]}, {}, ParameterError, r"unknown .*'m3'.* Did you mean .*'m1'"),
        ({"plant.mass": [1.0]}, {}, ParameterError, r"unknown .*'plant\.mass'.*Known: .*plant\.m1"),
        ({"duratoin": [1.0]}, {}, ParameterError, "'duratoin'.* Did you mean 'duration'"),
        ({"m1": [1.0]}, {}, ParameterError, r"'m1' and 'plant\.m1' are the same number: vary one of them"),
        ({}, {"metrics": ["efort"]}, ModelError, "unknown metric 'efort'. Did you mean 'effort'"),
        ({}, {"controllers": ["own", "sofd"]}, ModelError, "unknown controller 'sofd'. Did you mean 'soft'"),
        ({}, {"randomization": {"mm": Uniform(0.0, 1.0)}}, ParameterError, "'mm'"),
        ({"plant.m1": []}, {}, StudyError, r"has no runs: 'plant\.m1' has no levels"),
        ({"duration": []}, {}, StudyError, "has no runs: 'duration' has no levels"),
        ({}, {"controllers": []}, StudyError, "has no runs: it has no controllers"),
    ],
)
def test_what_the_scenario_does_not_have_is_refused_before_anything_is_written(
    factors: Mapping[str, Sequence[float]],
    options: Mapping[str, Any],
    error: type[EruginError],
    message: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(error, match=message):
        Study(PENDULUM_SCENARIO, factors, **options).run(tmp_path / "new", progress=False)
    assert not (tmp_path / "new").exists()


def test_a_very_large_grid_is_described_without_memory_and_needs_confirmation(tmp_path: Path) -> None:
    # Modules that the first study imports are larger than what is measured here.
    Study(PENDULUM_SCENARIO, {}, metrics=["error_rms"]).run(tmp_path / "first", progress=False)
    tracemalloc.start()
    study = Study(PENDULUM_SCENARIO, {"plant.m1": THOUSAND, "plant.l1": THOUSAND}, seeds=10**9, metrics=["error_rms"])
    assert study.runs == 10**15
    with pytest.raises(StudyError, match=r"1,000,000,000,000,000 runs in .* 2 workers would take .* years.*--yes"):
        study.run(tmp_path / "new", workers=2, progress=False)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 20e6
    assert not (tmp_path / "new").exists()


def test_more_runs_than_the_limit_are_refused(tmp_path: Path) -> None:
    study = Study(PENDULUM_SCENARIO, {"plant.m1": [1.0, 2.0, 3.0]}, metrics=["error_rms"])
    with pytest.raises(StudyError, match=r"3 runs in 1 task, more than 2: .* pass limit=3"):
        study.run(tmp_path / "new", limit=2, progress=False)
    assert study.run(tmp_path / "new", limit=3, progress=False).complete


def test_controllers_that_are_instances_stay_in_this_process(tmp_path: Path) -> None:
    setup = load(PYTHON_LAW).scenario()
    factories = load(PYTHON_LAW).work.controllers
    instance = factories["weak"](setup)  # type: ignore[operator,misc]
    study = Study(load(PYTHON_LAW).scenario, {}, {"weak": instance}, seeds=2)
    with pytest.warns(StudyWarning, match="controller 'weak' is an instance, which stays in this process"):
        assert study.run(tmp_path / "new", progress=False).complete
    assert (
        Study(PENDULUM_SCENARIO, {}, {"mine": PENDULUM_SCENARIO().controller}, seeds=2)
        .run(tmp_path / "compiled", progress=False)
        .complete
    )


def test_seeds_are_as_large_as_they_like(tmp_path: Path) -> None:
    study = replace(load(), seeds=[2**63 - 1], runs_per_task=1)
    assert study.run(tmp_path / "new", progress=False).table(["seed"])["seed"].unique().to_pylist() == [2**63 - 1]
