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
    """Lanes of a scenario; made by :func:`~erugin.bridges.gymnasium.export_vector`.

    Attributes:
        task: what each of them does, sees and is paid.
    """

    def __init__(self, task: EnvironmentTask, lanes: int, *, autoreset: str, threads: int, dictionary: bool) -> None:
        """Lay out the spaces, and compile.

        Args:
            task: what each lane does, sees and is paid.
            lanes: how many.
            autoreset: how lanes begin anew.
            threads: among which lanes are shared out.
            dictionary: whether an observation is a dictionary of its parts.
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
        # Bounds of the spaces, and what waits ahead of each lane.
        each = 8 * (task.seen.numel() + len(task.low)) + (BUFFER_DEPTH + 4) * (task.draws.size + 20)
        with require_memory(float(lanes) * each, f"{lanes:,} lanes", "take fewer"):
            self.action_space: spaces.Space[Any] = batch_space(self.single_action_space, lanes)
            self.observation_space: spaces.Space[Any] = batch_space(self.single_observation_space, lanes)
        course = (MultiPhaseRollout if task.legs else SinglePhaseRollout).compiled(task, lanes, vector_width(), threads)
        if isinstance(course, str):
            raise BridgeError(
                f"lanes cannot run side by side: {course}. Take "
                "gymnasium.vector.SyncVectorEnv([lambda: export(...)] * lanes), which serves any scenario"
            )
        self._episodes = Episodes(task, course, lanes)
        self._ended: Flags = np.ones(lanes, dtype=np.bool_)
        self._begun: Flags = np.zeros(lanes, dtype=np.bool_)

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in each lane.

        Args:
            seed: of the first lane, the others one more each; or one for each lane.
            options: ``{"parameters": {name: value}}`` for all lanes in place of what seeds draw; ``"reset_mask"``,
                shape (lanes,), for those lanes only that are True in it.
        """
        rows = self._masked(options)
        told = reset_parameters(options)
        if isinstance(seed, int | np.integer) or seed is None:
            super().reset(seed=None if seed is None else int(seed))
        self._sow(rows, seed)
        self._episodes.begin(rows, told)
        self._begun[rows], self._ended[rows] = True, False
        chosen, seeds = self._chosen(rows), self._episodes.seeds.copy()
        return self._seen(), {"time": self._times(), "_time": chosen, "seed": seeds, "_seed": chosen.copy()}

    def step(self, actions: Any) -> tuple[Any, Array, Flags, Flags, dict[str, Any]]:  # noqa: ANN401 - of any space
        """Take a control period in each lane; one whose episode has ended begins anew, as ``autoreset`` says.

        Args:
            actions: shape (lanes, n).

        Returns:
            Observations, rewards, which lanes have terminated, which were truncated, and what else is known: arrays
            by name, with those of the lanes that they hold for under ``_name``.

        Raises:
            BridgeError: before the first reset, for actions of another shape, or, without autoreset, for a lane whose
                episode is over.
        """
        given = np.asarray(actions, dtype=np.float64)
        if given.shape != self.action_space.shape:
            raise BridgeError(f"actions have shape {self.action_space.shape}, got {given.shape}")
        if not self._begun.all():
            raise BridgeError("an episode begins with reset(): call it before step()")
        anew = np.flatnonzero(self._ended)
        if len(anew) and self._mode is not AutoresetMode.NEXT_STEP:
            raise BridgeError(f"the episode of lane {anew[0]} is over: reset it with options={{'reset_mask': …}}")
        rows = np.flatnonzero(~self._ended) if len(anew) else np.arange(self.num_envs)
        reward, terminated, truncated = np.zeros(self.num_envs), *(np.zeros((2, self.num_envs), dtype=np.bool_))
        status = np.zeros(self.num_envs, dtype=np.int64)
        infos: dict[str, Any] = {}
        if len(rows):
            outcome = self._episodes.go(rows, given if len(rows) == self.num_envs else given[rows])
            reward[rows], status[rows] = outcome.reward, outcome.status
            terminated[rows], truncated[rows] = outcome.terminated, outcome.truncated
            infos = self._endings(rows, outcome)
        self._ended = terminated | truncated
        began, stepped = anew, self._chosen(rows)
        if self._mode is AutoresetMode.SAME_STEP and self._ended.any():
            began = np.flatnonzero(self._ended)
            infos = self._last(infos, status)
            stepped &= ~self._ended
            self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        if len(began):
            self._episodes.begin(began, {})
            infos |= {"seed": self._episodes.seeds.copy(), "_seed": self._chosen(began)}
        every = np.ones(self.num_envs, dtype=np.bool_)
        infos |= {"time": self._times(), "_time": every, "status": status, "_status": stepped}
        return self._seen(), reward, terminated, truncated, infos

    def close_extras(self) -> None:
        """End the threads."""
        self._episodes.close()

    def _last(self, infos: dict[str, Any], status: NDArray[np.int64]) -> dict[str, Any]:
        """What was seen and known at the ends of episodes whose lanes begin anew at once."""
        seen, ended = self._seen(), self._ended
        last = np.full(self.num_envs, None, dtype=np.object_)
        for lane in np.flatnonzero(ended).tolist():
            last[lane] = {k: x[lane].copy() for k, x in seen.items()} if self._dictionary else seen[lane].copy()
        final = {
            **infos,
            "time": self._times(),
            "_time": ended.copy(),
            "status": status.copy(),
            "_status": ended.copy(),
        }
        return {"final_obs": last, "_final_obs": ended.copy(), "final_info": final, "_final_info": ended.copy()}

    def _endings(self, rows: Rows, outcome: EpisodeOutcome) -> dict[str, Any]:
        """Why episodes have ended, in words."""
        over = np.flatnonzero(outcome.terminated | outcome.truncated)
        if not len(over):
            return {}
        said = np.full(self.num_envs, None, dtype=np.object_)
        for i in over.tolist():
            said[rows[i]] = outcome.ending(i)
        return {"ending": said, "_ending": self._chosen(rows[over])}

    def _sow(self, rows: Rows, seed: Seeds) -> None:
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
            raise BridgeError(f"seeds are one for each of {self.num_envs} lanes, got {len(given)}")
        told = [lane for lane in rows.tolist() if given[lane] is not None]
        self._episodes.reseed(np.array(told, dtype=np.intp), np.array([given[lane] for lane in told], dtype=np.int64))
        self._sow(np.array([lane for lane in rows.tolist() if given[lane] is None], dtype=np.intp), None)

    def _masked(self, options: dict[str, Any] | None) -> Rows:
        mask: object = (options or {}).get("reset_mask")
        if mask is None:
            return np.arange(self.num_envs)
        wanted = np.asarray(mask)
        if wanted.dtype != np.bool_ or wanted.shape != (self.num_envs,) or not wanted.any():
            raise BridgeError(
                f"reset_mask must be booleans of shape ({self.num_envs},), at least one True, got {mask!r}"
            )
        return np.flatnonzero(wanted)

    def _chosen(self, rows: Rows) -> Flags:
        chosen = np.zeros(self.num_envs, dtype=np.bool_)
        chosen[rows] = True
        return chosen

    def _times(self) -> Array:
        return self._episodes.time(np.arange(self.num_envs))

    def _seen(self) -> Any:  # noqa: ANN401 - of either space
        return pack(self.task, self._episodes.seen.copy(), self._dictionary)
