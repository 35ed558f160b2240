"""Assignment of the runs of a study to tasks, by arithmetic: no list of tasks or runs is ever built."""

from __future__ import annotations

import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class StudyTask:
    """A task: some runs of one controller with the same settings.

    Attributes:
        number: index of the task.
        group: index of the combination of settings.
        controller: index of the controller.
        first: index of the first run, among those of this group and controller.
        end: index after the last run.
        offset: index of the first run of this group and controller, among all runs of the study.
    """

    number: int
    group: int
    controller: int
    first: int
    end: int
    offset: int

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.end - self.first


@dataclass(frozen=True)
class StudyPlan:
    """The order of a study's runs: by group, controller, point, and seed.

    Attributes:
        groups: number of combinations of settings, each compiled once.
        controllers: number of controllers.
        points: number of points in each group.
        seeds: number of seeds.
        sizes: number of runs in a task of each controller.
    """

    groups: int
    controllers: int
    points: int
    seeds: int
    sizes: tuple[int, ...]

    @property
    def block(self) -> int:
        """Number of runs of one controller in one group."""
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
        """Return a task.

        Args:
            number: index of the task, from 0.

        Raises:
            IndexError: if there is no such task.
        """
        if not 0 <= number < self.tasks:
            raise IndexError(f"there is no task {number}: the study has {self.tasks}, the first is 0")
        group, index = divmod(number, sum(self._counts))
        bounds = list(itertools.accumulate(self._counts, initial=0))
        controller = next(i for i, end in enumerate(bounds[1:]) if index < end)
        first = (index - bounds[controller]) * self.sizes[controller]
        offset = (group * self.controllers + controller) * self.block
        return StudyTask(number, group, controller, first, min(first + self.sizes[controller], self.block), offset)

    def task_of(self, run: int) -> int:
        """Return the index of the task that contains a run.

        Args:
            run: index of the run, from 0.

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
        """Number of tasks of each controller in one group."""
        return tuple(-(-self.block // size) for size in self.sizes)
