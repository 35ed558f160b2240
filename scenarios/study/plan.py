"""Which runs make up each task of a study: arithmetic, so that no list of tasks or runs is ever made."""

from __future__ import annotations

import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class StudyTask:
    """Some runs of one controller with the same settings.

    Attributes:
        number: of the task.
        group: number of the combination of settings.
        controller: place of the controller.
        first: first of the runs of this group and controller.
        end: one behind the last.
        offset: number of the group's and controller's first run among all runs of the study.
    """

    number: int
    group: int
    controller: int
    first: int
    end: int
    offset: int

    @property
    def runs(self) -> int:
        """How many."""
        return self.end - self.first


@dataclass(frozen=True)
class StudyPlan:
    """The order of a study's runs: group by group, controller by controller, point by point, seed by seed.

    Attributes:
        groups: combinations of settings, each compiled once.
        controllers: number of controllers.
        points: combinations of values in each group.
        seeds: number of seeds.
        sizes: runs in a task of each controller.
    """

    groups: int
    controllers: int
    points: int
    seeds: int
    sizes: tuple[int, ...]

    @property
    def block(self) -> int:
        """Runs of one controller in one group."""
        return self.points * self.seeds

    @property
    def runs(self) -> int:
        """Number of all runs."""
        return self.groups * self.controllers * self.block

    @property
    def tasks(self) -> int:
        """Number of all tasks."""
        return self.groups * sum(self._counts)

    def task(self, number: int) -> StudyTask:
        """The task of a number.

        Args:
            number: from 0.

        Raises:
            IndexError: if there is no such task.
        """
        if not 0 <= number < self.tasks:
            raise IndexError(f"there is no task {number}: the study has {self.tasks}, the first is 0")
        group, place = divmod(number, sum(self._counts))
        bounds = list(itertools.accumulate(self._counts, initial=0))
        controller = next(i for i, end in enumerate(bounds[1:]) if place < end)
        first = (place - bounds[controller]) * self.sizes[controller]
        offset = (group * self.controllers + controller) * self.block
        return StudyTask(number, group, controller, first, min(first + self.sizes[controller], self.block), offset)

    def task_of(self, run: int) -> int:
        """Number of the task that holds a run.

        Args:
            run: number of the run, from 0.

        Raises:
            IndexError: if there is no such run.
        """
        if not 0 <= run < self.runs:
            raise IndexError(f"there is no run {run}: the study has {self.runs}, the first is 0")
        block, local = divmod(run, self.block)
        group, controller = divmod(block, self.controllers)
        before = sum(self._counts[:controller])
        return group * sum(self._counts) + before + local // self.sizes[controller]

    @property
    def _counts(self) -> tuple[int, ...]:
        """Tasks of each controller in one group."""
        return tuple(-(-self.block // size) for size in self.sizes)
