"""Episodes side by side: the part that single and vectorized environments share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.status import Status
from ...symbolic.errors import BridgeError
from .episode_starts import StartBuffer, later_seeds
from .reward import Reward, Transition
from .rollout import Rollout, Rows
from .task import EnvironmentTask

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Seeds = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EpisodeOutcome:
    """What a control period has come to, one row per lane that took it.

    Attributes:
        reward: shape (k,).
        arrived: whether the stop condition held at the end of a step, shape (k,).
        collided: whether the clearance was negative there, shape (k,).
        status: of the law and the motion, shape (k,).
        said: why a lane cannot go on, by place among the k.
        over: whether the duration is over, shape (k,).
        arrival: the end that has been come to, in words.
    """

    reward: Array
    arrived: Flags
    collided: Flags
    status: NDArray[np.int64]
    said: Mapping[int, str]
    over: Flags
    arrival: str

    @property
    def terminated(self) -> Flags:
        """Whether an episode has come to an end of its own, shape (k,)."""
        return np.asarray(self.arrived | self.collided | (self.status != int(Status.OK)), dtype=np.bool_)

    @property
    def truncated(self) -> Flags:
        """Whether time was up before that, shape (k,)."""
        return np.asarray(self.over & ~self.terminated, dtype=np.bool_)

    def ending(self, i: int) -> str:
        """Why an episode ended, in words.

        Args:
            i: place among the k.
        """
        if i in self.said:
            return self.said[i]
        if self.collided[i]:
            return "the clearance is negative"
        return self.arrival if self.arrived[i] else "the duration is over"


class Episodes:
    """Lanes of one task, each in an episode of its own.

    Attributes:
        task: what they share.
        count: control periods since the start of the episode, shape (lanes,).
        seen: what is seen now, shape (lanes, n).
        state: (q, v) now, shape (lanes, nx).
        numbers: parameters as they are drawn, shape (lanes, np).
        seeds: of the episodes, shape (lanes,).
    """

    def __init__(self, task: EnvironmentTask, course: Rollout, lanes: int) -> None:
        """Nothing has begun.

        Args:
            task: what the lanes share.
            course: takes them through their periods.
            lanes: how many.
        """
        robot = task.setup.robot
        self.task, self._course, self._lanes = task, course, lanes
        self.count = np.zeros(lanes, dtype=np.int64)
        self.seen = np.zeros((lanes, task.seen.numel()))
        self.state = np.zeros((lanes, robot.q.numel() + robot.v.numel()))
        self.numbers = np.zeros((lanes, task.draws.size))
        self._times = np.zeros(lanes)
        self._first, self._episode = np.zeros(lanes, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
        self.seeds = np.zeros(lanes, dtype=np.int64)
        self._ahead = StartBuffer(task.draws, lanes)

    def reseed(self, rows: Rows, seeds: Seeds) -> None:
        """Give lanes the seeds of their next episodes; those of later ones follow from them.

        Args:
            rows: which, shape (k,).
            seeds: not negative, shape (k,).
        """
        self._first[rows], self._episode[rows] = seeds, -1
        self._ahead.forget(rows)

    def begin(self, rows: Rows, told: Mapping[str, float]) -> None:
        """Begin the next episode of some lanes.

        Args:
            rows: which, shape (k,).
            told: values by name in place of what the seed draws.

        Raises:
            BridgeError: if a law or a motion cannot start.
            ParameterError: for an unknown name, or a value out of its range.
        """
        self._episode[rows] += 1
        self.seeds[rows] = later_seeds(self._first[rows], self._episode[rows])
        if told:
            starts = self.task.draws.starts(self.seeds[rows], told)
        else:
            starts = self._ahead.starts(rows, self._first[rows], self._episode[rows])
        ran = self._course.begin(rows, starts)
        for i, why in ran.said.items():
            raise BridgeError(f"the episode of seed {self.seeds[rows[i]]} cannot start: {why}")
        self.state[rows], self.seen[rows], self.count[rows], self._times[rows] = ran.state, ran.seen, 0, 0.0
        self.numbers[rows] = starts.numbers

    def go(self, rows: Rows, actions: Array) -> EpisodeOutcome:
        """Take a control period.

        Args:
            rows: which lanes, shape (k,).
            actions: as they were given, shape (k, n).

        Raises:
            BridgeError: for an action that is no number, or a reward of another shape.
        """
        task = self.task
        if not np.isfinite(actions).all():
            lane, i = np.argwhere(~np.isfinite(actions))[0].tolist()
            name = task.actions.names[int(i)]
            raise BridgeError(f"action {name!r} must be a finite number, got {actions[lane, i]} in lane {rows[lane]}")
        applied = task.applied(actions)
        # All lanes are a slice, which copies nothing.
        at: Rows | slice = rows if len(rows) < self._lanes else slice(None)
        before = self.seen[at]
        ran = self._course.go(rows, applied)
        said = ran.said
        failed = ran.status != int(Status.OK)
        seen, state = ran.seen, ran.state
        if said:
            # What follows from a state that means nothing is not shown.
            seen[failed], state[failed] = before[failed], self.state[at][failed]
            self._course.halt(rows[failed], state[failed])
            times = self.time(rows)
            said = {i: f"in the period after t = {times[i]:g} s: {why}" for i, why in said.items()}
        arrived, collided = (ran.stop > 0.0) & ~failed, (ran.clearance < 0.0) & ~failed
        self.count[at] += 1
        self._times[at] = (self.count[at] * task.substeps) * task.h
        for i, time in ran.ended.items():
            self._times[rows[i]] = time
        reward = self._paid(before, applied, ran.paid, failed, arrived, collided, seen)
        if isinstance(at, slice):
            self.seen, self.state = seen, state
        else:
            self.seen[at], self.state[at] = seen, state
        return EpisodeOutcome(reward, arrived, collided, ran.status, said, self.count[at] >= task.periods, task.arrival)

    def time(self, rows: Rows) -> Array:
        """Since the start of the episode [s], shape (k,).

        Args:
            rows: which lanes, shape (k,).
        """
        return np.asarray(self._times[rows], dtype=np.float64)

    def close(self) -> None:
        """End what runs beside the engine."""
        self._course.close()

    def _paid(
        self,
        before: Array,
        applied: Array,
        paid: Array,
        failed: Flags,
        arrived: Flags,
        collided: Flags,
        seen: Array,
    ) -> Array:
        task, reward = self.task, self.task.reward
        if not isinstance(reward, Reward) and callable(reward):
            named = task.named(before), task.named(seen)
            told = Transition(*named, applied, arrived, collided, failed, task.period)
            given = np.asarray(reward(told), dtype=np.float64)
            if given.shape != (len(before),) or not np.isfinite(given).all():
                raise BridgeError(f"a reward function returns finite numbers of shape ({len(before)},), got {given!r}")
            return given.copy()
        # What was paid on the way to a state that means nothing may be no number either.
        total = np.where(failed, 0.0, paid) if failed.any() else paid
        if isinstance(reward, Reward):
            total = total + reward.arrival * arrived - reward.collision * (collided | failed)
        return np.asarray(total, dtype=np.float64)
