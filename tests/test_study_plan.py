"""Which runs make up each task, without a list of them."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erugin.scenarios.study.plan import StudyPlan

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
