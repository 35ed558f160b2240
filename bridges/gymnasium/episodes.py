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
    """Outcome of a control period, one row per lane that took it.

    Attributes:
        reward: reward of the period, shape (k,).
        arrived: True where the stop condition held at the end of a step, shape (k,).
        collided: True where the clearance was negative at the end of a step, shape (k,).
        status: status of the law and the motion, shape (k,).
        reasons: why a lane cannot continue, by index among the k rows.
        over: True where the duration is over, shape (k,).
        arrival: what has happened in a lane that arrived, a clause.
    """

    reward: Array
    arrived: Flags
    collided: Flags
    status: NDArray[np.int64]
    reasons: Mapping[int, str]
    over: Flags
    arrival: str

    @property
    def terminated(self) -> Flags:
        """True where an episode ended by arrival, collision or failure, shape (k,)."""
        return np.asarray(self.arrived | self.collided | (self.status != int(Status.OK)), dtype=np.bool_)

    @property
    def truncated(self) -> Flags:
        """True where only the duration is over, shape (k,)."""
        return np.asarray(self.over & ~self.terminated, dtype=np.bool_)

    def ending(self, i: int) -> str:
        """Return why an episode ended, as a clause.

        Args:
            i: index among the k rows.
        """
        if i in self.reasons:
            return self.reasons[i]
        if self.collided[i]:
            return "the clearance is negative"
        return self.arrival if self.arrived[i] else "the duration is over"


class Episodes:
    """Lanes of one task, each in its own episode.

    Attributes:
        task: task of the lanes.
        count: control periods since the start of the episode, shape (lanes,).
        observation: current observation, shape (lanes, n).
        state: current (q, v), shape (lanes, nx).
        numbers: parameters drawn for the episode, shape (lanes, np).
        seeds: seeds of the episodes, shape (lanes,).
    """

    def __init__(self, task: EnvironmentTask, rollout: Rollout, lanes: int) -> None:
        """Allocate the lanes.

        Args:
            task: task of the lanes.
            rollout: rollout that advances them.
            lanes: number of lanes.
        """
        robot = task.setup.robot
        self.task, self._rollout, self._lanes = task, rollout, lanes
        self.count = np.zeros(lanes, dtype=np.int64)
        self.observation = np.zeros((lanes, task.observation.numel()))
        self.state = np.zeros((lanes, robot.q.numel() + robot.v.numel()))
        self.numbers = np.zeros((lanes, task.sampler.size))
        self._times = np.zeros(lanes)
        self._first, self._episode = np.zeros(lanes, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
        self.seeds = np.zeros(lanes, dtype=np.int64)
        self._start_buffer = StartBuffer(task.sampler, lanes)

    def reseed(self, rows: Rows, seeds: Seeds) -> None:
        """Set the seeds of the next episodes of lanes; those of later ones follow from them.

        Args:
            rows: indices of the lanes, shape (k,).
            seeds: seeds ≥ 0, shape (k,).
        """
        self._first[rows], self._episode[rows] = seeds, -1
        self._start_buffer.clear(rows)

    def begin(self, rows: Rows, values: Mapping[str, float]) -> None:
        """Start the next episode of some lanes.

        Args:
            rows: indices of the lanes, shape (k,).
            values: values by name instead of those that the seed draws.

        Raises:
            BridgeError: if a law or a motion cannot start.
            ParameterError: for an unknown name, or a value out of its range.
        """
        self._episode[rows] += 1
        self.seeds[rows] = later_seeds(self._first[rows], self._episode[rows])
        if values:
            starts = self.task.sampler.starts(self.seeds[rows], values)
        else:
            starts = self._start_buffer.starts(rows, self._first[rows], self._episode[rows])
        result = self._rollout.begin(rows, starts)
        for i, why in result.reasons.items():
            raise BridgeError(f"the episode of seed {self.seeds[rows[i]]} cannot start: {why}")
        self.state[rows], self.observation[rows], self.count[rows], self._times[rows] = (
            result.state,
            result.observation,
            0,
            0.0,
        )
        self.numbers[rows] = starts.numbers

    def step_period(self, rows: Rows, actions: Array) -> EpisodeOutcome:
        """Take a control period.

        Args:
            rows: indices of the lanes, shape (k,).
            actions: actions as the agent gave them, shape (k, n).

        Raises:
            BridgeError: for an action that is not finite, or a reward of another shape.
        """
        task = self.task
        if not np.isfinite(actions).all():
            lane, i = np.argwhere(~np.isfinite(actions))[0].tolist()
            name = task.actions.names[int(i)]
            raise BridgeError(f"action {name!r} must be a finite number, got {actions[lane, i]} in lane {rows[lane]}")
        applied = task.applied(actions)
        # A slice for all lanes avoids a copy.
        at: Rows | slice = rows if len(rows) < self._lanes else slice(None)
        before = self.observation[at]
        result = self._rollout.step_period(rows, applied)
        reasons = result.reasons
        failed = result.status != int(Status.OK)
        observation, state = result.observation, result.state
        if reasons:
            # An invalid state and its observation are replaced by the last valid ones.
            observation[failed], state[failed] = before[failed], self.state[at][failed]
            self._rollout.halt(rows[failed], state[failed])
            times = self.time(rows)
            reasons = {i: f"in the period after t = {times[i]:g} s: {why}" for i, why in reasons.items()}
        arrived, collided = (result.stop > 0.0) & ~failed, (result.clearance < 0.0) & ~failed
        self.count[at] += 1
        self._times[at] = (self.count[at] * task.substeps) * task.h
        for i, time in result.end_times.items():
            self._times[rows[i]] = time
        reward = self._total_reward(before, applied, result.reward, failed, arrived, collided, observation)
        if isinstance(at, slice):
            self.observation, self.state = observation, state
        else:
            self.observation[at], self.state[at] = observation, state
        return EpisodeOutcome(
            reward, arrived, collided, result.status, reasons, self.count[at] >= task.periods, task.arrival
        )

    def time(self, rows: Rows) -> Array:
        """Return the time since the start of the episode [s], shape (k,).

        Args:
            rows: indices of the lanes, shape (k,).
        """
        return np.asarray(self._times[rows], dtype=np.float64)

    def close(self) -> None:
        """Stop the threads, if any."""
        self._rollout.close()

    def _total_reward(
        self,
        before: Array,
        applied: Array,
        integrated: Array,
        failed: Flags,
        arrived: Flags,
        collided: Flags,
        observation: Array,
    ) -> Array:
        task, reward = self.task, self.task.reward
        if not isinstance(reward, Reward) and callable(reward):
            named = task.named(before), task.named(observation)
            transition = Transition(*named, applied, arrived, collided, failed, task.period)
            rewards = np.asarray(reward(transition), dtype=np.float64)
            if rewards.shape != (len(before),) or not np.isfinite(rewards).all():
                raise BridgeError(
                    f"a reward function must return finite numbers of shape ({len(before)},), got {rewards!r}"
                )
            return rewards.copy()
        # The reward of a failed period may be NaN.
        total = np.where(failed, 0.0, integrated) if failed.any() else integrated
        if isinstance(reward, Reward):
            total = total + reward.arrival * arrived - reward.collision * (collided | failed)
        return np.asarray(total, dtype=np.float64)
