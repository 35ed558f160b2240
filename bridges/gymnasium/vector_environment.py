"""Many environments of one scenario side by side, in machine code, as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ...symbolic.compiler import vector_width
from ...symbolic.errors import BridgeError
from ...symbolic.validation import require_memory
from .episode_starts import BUFFER_DEPTH
from .episodes import EpisodeOutcome, Episodes
from .multi_phase_rollout import MultiPhaseRollout
from .rollout import Rows
from .single_phase_rollout import SinglePhaseRollout
from .spaces import action_space, describe_spaces, observation_space, pack, reset_parameters
from .task import EnvironmentTask

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Seeds = int | Sequence[int | None] | None


class VectorEnvironment(VectorEnv[Any, Any, Any]):
    """Lanes of a scenario; built by :func:`~erugin.bridges.gymnasium.export_vector`.

    Attributes:
        task: actions, observations, reward and termination of each lane.
    """

    def __init__(self, task: EnvironmentTask, lanes: int, *, autoreset: str, threads: int, dictionary: bool) -> None:
        """Build the spaces and compile the lanes.

        Args:
            task: actions, observations, reward and termination of each lane.
            lanes: number of environments.
            autoreset: when lanes start their next episodes.
            threads: number of threads that share the lanes.
            dictionary: True for observations as dictionaries of their parts.
        """
        super().__init__()
        for name, value in (("lanes", lanes), ("threads", threads)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BridgeError(f"{name} must be a whole number of at least 1, got {value!r}")
        modes = {mode.value: mode for mode in AutoresetMode}
        mode = autoreset if isinstance(autoreset, AutoresetMode) else modes.get(autoreset)
        if mode is None:
            raise BridgeError(f"autoreset must be one of {', '.join(modes)}, got {autoreset!r}")
        self.task, self.num_envs, self._mode, self._dictionary = task, lanes, mode, dictionary
        self.metadata = {**describe_spaces(task), "autoreset_mode": mode}
        self.single_action_space: spaces.Space[Any] = action_space(task)
        self.single_observation_space: spaces.Space[Any] = observation_space(task, dictionary)
        # Bounds of the spaces, and the starts that are drawn ahead for each lane.
        each = 8 * (task.observation.numel() + len(task.low)) + (BUFFER_DEPTH + 4) * (task.sampler.size + 20)
        with require_memory(float(lanes) * each, f"{lanes:,} lanes", "take fewer"):
            self.action_space: spaces.Space[Any] = batch_space(self.single_action_space, lanes)
            self.observation_space: spaces.Space[Any] = batch_space(self.single_observation_space, lanes)
        rollout = (MultiPhaseRollout if task.phase_tasks else SinglePhaseRollout).compiled(
            task, lanes, vector_width(), threads
        )
        if isinstance(rollout, str):
            raise BridgeError(
                f"lanes cannot run side by side: {rollout}. Use "
                "gymnasium.vector.SyncVectorEnv([lambda: export(...)] * lanes), which works for any scenario"
            )
        self._episodes = Episodes(task, rollout, lanes)
        self._ended: Flags = np.ones(lanes, dtype=np.bool_)
        self._begun: Flags = np.zeros(lanes, dtype=np.bool_)

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode in each lane.

        Args:
            seed: seed s of the first lane, with s + 1, s + 2, … for the others; or one seed per lane.
            options: ``{"parameters": {name: value}}`` for all lanes instead of the values that seeds draw;
                ``"reset_mask"``, booleans of shape (lanes,), to reset only those lanes.
        """
        rows = self._selected_lanes(options)
        parameters = reset_parameters(options)
        if isinstance(seed, int | np.integer) or seed is None:
            super().reset(seed=None if seed is None else int(seed))
        self._reseed(rows, seed)
        self._episodes.begin(rows, parameters)
        self._begun[rows], self._ended[rows] = True, False
        mask, seeds = self._mask(rows), self._episodes.seeds.copy()
        return self._observe(), {"time": self._times(), "_time": mask, "seed": seeds, "_seed": mask.copy()}

    def step(self, actions: Any) -> tuple[Any, Array, Flags, Flags, dict[str, Any]]:  # noqa: ANN401 - of any space
        """Take a control period in each lane; lanes whose episodes are over restart according to ``autoreset``.

        Args:
            actions: actions of all lanes, shape (lanes, n).

        Returns:
            Observations, rewards, terminated and truncated, one row or entry per lane, and infos: arrays by name, each
            with the mask of the lanes for which it is valid under ``_name``.

        Raises:
            BridgeError: before the first reset, for actions of another shape, or, without autoreset, if the episode of
                a lane is over.
        """
        given = np.asarray(actions, dtype=np.float64)
        if given.shape != self.action_space.shape:
            raise BridgeError(f"actions must have shape {self.action_space.shape}, got {given.shape}")
        if not self._begun.all():
            raise BridgeError("call reset() before step(): an episode starts with it")
        restarted = np.flatnonzero(self._ended)
        if len(restarted) and self._mode is not AutoresetMode.NEXT_STEP:
            raise BridgeError(f"the episode of lane {restarted[0]} is over: reset it with options={{'reset_mask': …}}")
        rows = np.flatnonzero(~self._ended) if len(restarted) else np.arange(self.num_envs)
        reward, terminated, truncated = np.zeros(self.num_envs), *(np.zeros((2, self.num_envs), dtype=np.bool_))
        status = np.zeros(self.num_envs, dtype=np.int64)
        infos: dict[str, Any] = {}
        if len(rows):
            outcome = self._episodes.step_period(rows, given if len(rows) == self.num_envs else given[rows])
            reward[rows], status[rows] = outcome.reward, outcome.status
            terminated[rows], truncated[rows] = outcome.terminated, outcome.truncated
            infos = self._endings(rows, outcome)
        self._ended = terminated | truncated
        started, stepped = restarted, self._mask(rows)
        if self._mode is AutoresetMode.SAME_STEP and self._ended.any():
            started = np.flatnonzero(self._ended)
            infos = self._final_infos(infos, status)
            stepped &= ~self._ended
            self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        if len(started):
            self._episodes.begin(started, {})
            infos |= {"seed": self._episodes.seeds.copy(), "_seed": self._mask(started)}
        every = np.ones(self.num_envs, dtype=np.bool_)
        infos |= {"time": self._times(), "_time": every, "status": status, "_status": stepped}
        return self._observe(), reward, terminated, truncated, infos

    def close_extras(self) -> None:
        """End the threads."""
        self._episodes.close()

    def _final_infos(self, infos: dict[str, Any], status: NDArray[np.int64]) -> dict[str, Any]:
        """Return the final observations and infos of episodes whose lanes restart in the same step."""
        observation, ended = self._observe(), self._ended
        last = np.full(self.num_envs, None, dtype=np.object_)
        for lane in np.flatnonzero(ended).tolist():
            last[lane] = (
                {k: x[lane].copy() for k, x in observation.items()} if self._dictionary else observation[lane].copy()
            )
        final = {
            **infos,
            "time": self._times(),
            "_time": ended.copy(),
            "status": status.copy(),
            "_status": ended.copy(),
        }
        return {"final_obs": last, "_final_obs": ended.copy(), "final_info": final, "_final_info": ended.copy()}

    def _endings(self, rows: Rows, outcome: EpisodeOutcome) -> dict[str, Any]:
        """Return infos with the reason for the end of each episode that is over."""
        over = np.flatnonzero(outcome.terminated | outcome.truncated)
        if not len(over):
            return {}
        endings = np.full(self.num_envs, None, dtype=np.object_)
        for i in over.tolist():
            endings[rows[i]] = outcome.ending(i)
        return {"ending": endings, "_ending": self._mask(rows[over])}

    def _reseed(self, rows: Rows, seed: Seeds) -> None:
        lanes = np.arange(self.num_envs)
        if seed is None:
            fresh = rows[~self._begun[rows]]
            if len(fresh):
                self._episodes.reseed(fresh, self.np_random.integers(2**62, size=self.num_envs)[fresh])
            return
        if isinstance(seed, int | np.integer):
            self._episodes.reseed(rows, (int(seed) + lanes)[rows])
            return
        given = list(seed)
        if len(given) != self.num_envs:
            raise BridgeError(f"seed must be one for each of {self.num_envs} lanes, got {len(given)}")
        seeded = [lane for lane in rows.tolist() if given[lane] is not None]
        seeds = np.array([given[lane] for lane in seeded], dtype=np.int64)
        self._episodes.reseed(np.array(seeded, dtype=np.intp), seeds)
        self._reseed(np.array([lane for lane in rows.tolist() if given[lane] is None], dtype=np.intp), None)

    def _selected_lanes(self, options: dict[str, Any] | None) -> Rows:
        mask: object = (options or {}).get("reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        selected = np.asarray(mask)
        if selected.dtype != np.bool_ or selected.shape != (self.num_envs,) or not selected.any():
            raise BridgeError(
                f"reset_mask must be booleans of shape ({self.num_envs},), at least one True, got {mask!r}"
            )
        return np.flatnonzero(selected)

    def _mask(self, rows: Rows) -> Flags:
        mask = np.zeros(self.num_envs, dtype=np.bool_)
        mask[rows] = True
        return mask

    def _times(self) -> Array:
        return self._episodes.time(np.arange(self.num_envs))

    def _observe(self) -> Any:  # noqa: ANN401 - of either space
        return pack(self.task, self._episodes.observation.copy(), self._dictionary)
