"""A study that cannot be run is refused before it begins, with what was given and what to try."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erugin.scenarios import Study, Uniform
from erugin.scenarios.sampling import LatinHypercube, Sobol
from erugin.scenarios.study.factors import Factor
from erugin.symbolic import EruginError, ModelError, ParameterError, StudyError, StudyWarning

from .study_cases import PYTHON_LAW, load

PENDULUM = load().scenario
THOUSAND = np.arange(1.0, 1001.0)


@pytest.mark.parametrize(
    ("factors", "options", "said"),
    [
        ({"duration": [0.1, 0.1]}, {}, "a level of 'duration' is given more than once"),
        ({"plant.m1": [1.0, 1]}, {}, r"a level of 'plant\.m1' is given more than once"),
        ({"duration": ["long"]}, {}, "the setting 'duration' must be a number, got 'long'"),
        ({"duration": [True]}, {}, "the setting 'duration' must be a number, got True"),
        ({"duration": Uniform(0.1, 0.2)}, {"sampler": Sobol(2)}, "'duration' is a setting, .*: give levels"),
        ({"plant.m1": ["heavy"]}, {}, r"a level of 'plant\.m1' must be a number, got 'heavy'; it is no setting"),
        ({"plant.m1": [float("nan")]}, {}, r"a level of 'plant\.m1' must be finite"),
        ({"plant.m1": 1.0}, {}, r"factor 'plant\.m1' takes a list of levels, or a distribution with a sampler"),
        ({"plant.m1": "12"}, {}, r"factor 'plant\.m1' takes a list of levels"),
        ({"plant.m1": range(10**7)}, {}, "10000000 levels, more than 1000000: sample it by Sobol"),
        ({"plant.m1": Uniform(1.0, 2.0)}, {}, r"'plant\.m1' has a distribution: pass sampler="),
        ({"plant.m1": [1.0]}, {"sampler": LatinHypercube(4)}, "a sampler needs factors that have a distribution"),
        (
            {"plant.m1": Uniform(1.0, 2.0)},
            {"sampler": 100},
            r"sampler must be LatinHypercube\(n\) or Sobol\(n\), got 100",
        ),
        ({3: [1.0]}, {}, "the name of a factor must be text, got 3"),
        ([1.0], {}, "factors are given by name"),
        ({}, {"seeds": 0}, "seeds are a number of them, at least 1.* got 0"),
        ({}, {"seeds": []}, "seeds are a number of them"),
        ({}, {"seeds": [1, -2]}, "not negative"),
        ({}, {"seeds": [1, 1]}, "a seed is given more than once"),
        ({}, {"metrics": "effort"}, r"metrics are a sequence of names, as in \[\"effort\"\]"),
        ({}, {"controllers": "own"}, "controllers are names, or functions by name, got 'own'"),
        ({}, {"controllers": ["own", "own"]}, "controllers have different names"),
        ({}, {"controllers": {"mine": 3.0}}, "controller 'mine' must be a function that makes one for a setup"),
        ({}, {"runs_per_task": 0}, "runs_per_task must be"),
        ({}, {"name": "../elsewhere"}, "the name of a study becomes that of a folder"),
        ({}, {"name": "no\0thing"}, "name of Study must be text"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(
    factors: Mapping[str, Factor], options: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        Study(PENDULUM, factors, **options)


def test_a_scenario_is_needed() -> None:
    with pytest.raises(ModelError, match=r"a study needs a scenario, made by @scenario\(name\)"):
        Study("pendulum")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("factors", "options", "error", "said"),
    [
        ({"m3": [1.0]}, {}, ParameterError, r"unknown .*'m3'.* Did you mean .*'m1'"),
        ({"plant.mass": [1.0]}, {}, ParameterError, r"unknown .*'plant\.mass'.*Known: .*plant\.m1"),
        ({"duratoin": [1.0]}, {}, ParameterError, "'duratoin'.* Did you mean 'duration'"),
        ({"m1": [1.0]}, {}, ParameterError, r"'m1' and 'plant\.m1' are the same number: vary one of them"),
        ({}, {"metrics": ["efort"]}, ModelError, "unknown metric 'efort'. Did you mean 'effort'"),
        ({}, {"controllers": ["own", "sofd"]}, ModelError, "unknown controller 'sofd'. Did you mean 'soft'"),
        ({}, {"varied": {"mm": Uniform(0.0, 1.0)}}, ParameterError, "'mm'"),
        ({"plant.m1": []}, {}, StudyError, r"has no runs: 'plant\.m1' has no levels"),
        ({"duration": []}, {}, StudyError, "has no runs: 'duration' has no levels"),
        ({}, {"controllers": []}, StudyError, "has no runs: it has no controllers"),
    ],
)
def test_what_the_scenario_does_not_have_is_refused_before_anything_is_written(
    factors: Mapping[str, Sequence[float]],
    options: Mapping[str, Any],
    error: type[EruginError],
    said: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(error, match=said):
        Study(PENDULUM, factors, **options).run(tmp_path / "new", progress=False)
    assert not (tmp_path / "new").exists()


def test_a_grid_of_very_many_runs_is_described_without_memory_and_asks_first(tmp_path: Path) -> None:
    # Modules that the first study imports are larger than what is measured here.
    Study(PENDULUM, {}, metrics=["error_rms"]).run(tmp_path / "first", progress=False)
    tracemalloc.start()
    study = Study(PENDULUM, {"plant.m1": THOUSAND, "plant.l1": THOUSAND}, seeds=10**9, metrics=["error_rms"])
    assert study.runs == 10**15
    with pytest.raises(StudyError, match=r"1,000,000,000,000,000 runs in .* 2 workers would take .* years.*--yes"):
        study.run(tmp_path / "new", workers=2, progress=False)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 20e6
    assert not (tmp_path / "new").exists()


def test_a_limit_is_what_one_asks_for(tmp_path: Path) -> None:
    study = Study(PENDULUM, {"plant.m1": [1.0, 2.0, 3.0]}, metrics=["error_rms"])
    with pytest.raises(StudyError, match=r"3 runs in 1 task, more than 2: .* say limit=3"):
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
        Study(PENDULUM, {}, {"mine": PENDULUM().controller}, seeds=2)
        .run(tmp_path / "compiled", progress=False)
        .complete
    )


def test_seeds_are_as_large_as_they_like(tmp_path: Path) -> None:
    study = replace(load(), seeds=[2**63 - 1], runs_per_task=1)
    assert study.run(tmp_path / "new", progress=False).table(["seed"])["seed"].unique().to_pylist() == [2**63 - 1]
