"""Division of runs into tasks, and points that fill the unit cube evenly."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from erugin.scenarios.sampling import LatinHypercube, Sampler, Sobol
from erugin.scenarios.study.plan import StudyPlan
from erugin.symbolic import ModelError

SMALL = st.integers(1, 4)


@given(SMALL, SMALL, SMALL, SMALL, st.data())
def test_tasks_hold_every_run_once_and_in_order(
    groups: int, controllers: int, points: int, seeds: int, data: st.DataObject
) -> None:
    sizes = tuple(data.draw(st.integers(1, points * seeds)) for _ in range(controllers))
    plan = StudyPlan(groups, controllers, points, seeds, sizes)
    runs = [task.offset + local for task in map(plan.task, range(plan.tasks)) for local in range(task.first, task.end)]
    assert runs == list(range(plan.runs))
    assert plan.runs == groups * controllers * points * seeds


@given(SMALL, SMALL, SMALL, SMALL, st.data())
def test_the_task_of_a_run_holds_it(
    groups: int, controllers: int, points: int, seeds: int, data: st.DataObject
) -> None:
    sizes = tuple(data.draw(st.integers(1, points * seeds)) for _ in range(controllers))
    plan = StudyPlan(groups, controllers, points, seeds, sizes)
    run = data.draw(st.integers(0, plan.runs - 1))
    task = plan.task(plan.task_of(run))
    assert task.offset + task.first <= run < task.offset + task.end


def test_a_task_is_of_one_controller_and_one_group() -> None:
    plan = StudyPlan(2, 2, 3, 5, (4, 7))
    assert [(task.group, task.controller, task.runs) for task in map(plan.task, range(plan.tasks))] == [
        *((0, 0, n) for n in (4, 4, 4, 3)),
        *((0, 1, n) for n in (7, 7, 1)),
        *((1, 0, n) for n in (4, 4, 4, 3)),
        *((1, 1, n) for n in (7, 7, 1)),
    ]


def test_a_plan_of_very_many_tasks_takes_no_memory() -> None:
    tracemalloc.start()
    plan = StudyPlan(10, 3, 10**9, 10**3, (100, 200, 300))
    last = plan.task(plan.tasks - 1)
    assert last.offset + last.end == plan.runs == 3 * 10**13
    assert plan.task_of(plan.runs - 1) == plan.tasks - 1
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 100_000


@pytest.mark.parametrize("number", [-1, 6])
def test_a_task_that_there_is_not_is_refused(number: int) -> None:
    with pytest.raises(IndexError, match=f"no task {number}: the study has 6"):
        StudyPlan(1, 1, 6, 1, (1,)).task(number)


def test_a_run_that_there_is_not_is_refused() -> None:
    with pytest.raises(IndexError, match="no run 6: the study has 6"):
        StudyPlan(1, 1, 6, 1, (1,)).task_of(6)


SAMPLERS = (LatinHypercube(64, 3), Sobol(64, 3), LatinHypercube(1), Sobol(1))


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_points_do_not_depend_on_which_others_are_requested(sampler: Sampler) -> None:
    whole = sampler.shares(0, sampler.n, 3)
    assert whole.shape == (sampler.n, 3)
    for first in range(0, sampler.n, 7):
        end = min(first + 7, sampler.n)
        assert np.array_equal(sampler.shares(first, end, 3), whole[first:end])


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_points_are_inside_the_cube(sampler: Sampler) -> None:
    points = sampler.shares(0, sampler.n, 5)
    assert (points > 0.0).all()
    assert (points < 1.0).all()


@pytest.mark.parametrize("sampler", SAMPLERS[:2], ids=repr)
def test_there_is_one_point_in_each_part_of_each_number(sampler: Sampler) -> None:
    parts = np.floor(sampler.shares(0, 64, 4) * 64).astype(int)
    assert (np.sort(parts, axis=0) == np.arange(64)[:, None]).all()


def test_sobol_points_are_those_of_scipy() -> None:
    truth = qmc.Sobol(3, scramble=True, seed=np.random.default_rng(11)).random(32)
    assert np.allclose(Sobol(32, 11).shares(0, 32, 3), truth, rtol=0.0, atol=2.0**-30)


def test_hypercubes_are_those_of_scipy() -> None:
    truth = qmc.LatinHypercube(3, seed=np.random.default_rng(11)).random(30)
    assert np.array_equal(LatinHypercube(30, 11).shares(0, 30, 3), truth)


def test_seeds_make_different_points() -> None:
    assert not np.array_equal(Sobol(8, 1).shares(0, 8, 2), Sobol(8, 2).shares(0, 8, 2))
    assert not np.array_equal(LatinHypercube(8, 1).shares(0, 8, 2), LatinHypercube(8, 2).shares(0, 8, 2))


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
@pytest.mark.parametrize("kind", [LatinHypercube, Sobol])
def test_numbers_of_points_are_whole(kind: type[Sampler], n: int) -> None:
    with pytest.raises(ModelError, match="whole n"):
        kind(n)


def test_seeds_are_not_negative() -> None:
    with pytest.raises(ModelError, match="seed of Sobol must be a whole number of at least 0, got -1"):
        Sobol(8, -1)


def test_the_number_of_sobol_points_is_a_power_of_two() -> None:
    with pytest.raises(ModelError, match="use 1024, not 1000"):
        Sobol(1000)


def test_a_hypercube_that_does_not_fit_into_memory_is_refused() -> None:
    with pytest.raises(ModelError, match="use Sobol points"):
        LatinHypercube(1_000_001)


@pytest.mark.parametrize(("first", "end"), [(0, 9), (-1, 2), (3, 3)])
@pytest.mark.parametrize("kind", [Sobol, LatinHypercube])
def test_points_that_there_are_not_are_refused(kind: type[Sobol | LatinHypercube], first: int, end: int) -> None:
    with pytest.raises(ModelError, match=rf"points must be among 0 … 7, got {first} … {end - 1}"):
        kind(8).shares(first, end, 2)
