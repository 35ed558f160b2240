"""One scenario as a ``gymnasium.Env``."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError
from .episodes import Episodes
from .frame import Camera
from .leg import Leg
from .phases import Phases
from .spaces import action_space, described, observation_space, packed, parameters_of
from .task import Task

Array = NDArray[np.float64]
ONE = np.zeros(1, dtype=np.intp)
MODES = ("rgb_array",)


class Environment(gymnasium.Env[Any, Any]):
    """A scenario as an environment; made by :func:`~erugin.bridges.gymnasium.export`.

    Attributes:
        task: what it does, sees and is paid.
        why_called: why its steps are called from Python; empty if they are compiled.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(MODES)}  # type: ignore[misc]

    def __init__(self, task: Task, *, dictionary: bool, render_mode: str | None) -> None:
        """Lay out the spaces, and compile.

        Args:
            task: what it does, sees and is paid.
            dictionary: whether an observation is a dictionary of its parts.
            render_mode: ``"rgb_array"``, or None.
        """
        if render_mode is not None and render_mode not in MODES:
            raise BridgeError(f"render_mode must be None or one of {', '.join(MODES)}, got {render_mode!r}")
        self.task, self.render_mode = task, render_mode
        self.metadata = {**described(task), "render_modes": list(MODES)}  # type: ignore[misc]
        self.action_space: spaces.Space[Any] = action_space(task)
        self.observation_space: spaces.Space[Any] = observation_space(task, dictionary)
        self._dictionary = dictionary
        course, self.why_called = Phases.single(task) if task.legs else Leg.single(task)
        self._episodes = Episodes(task, course, 1)
        self._camera = None if render_mode is None else Camera(task)
        self._going: bool | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: of the first of the episodes to come: its draws are those of a comparison or a study for this seed;
                the next without a seed draw by seeds that follow from it.
            options: ``{"parameters": {name: value}}`` in place of what the seed draws.

        Returns:
            The observation and what else is known.
        """
        known = seed is None and self._going is not None
        super().reset(seed=seed)
        if not known:
            first = self.np_random_seed if seed is None else seed
            self._episodes.sow(ONE, np.array([int(first) & (2**63 - 1)], dtype=np.int64))
        self._episodes.begin(ONE, parameters_of(options))
        self._going = True
        if self._camera is not None:
            self._camera.clear()
        self._film()
        return self._seen(), self._info() | {"seed": int(self._episodes.seeds[0])}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 - of any space
        """Take a control period.

        Args:
            action: shape (n,), of the action space; outside of its bounds it is taken at them.

        Returns:
            Observation, reward, whether the episode has terminated, whether it was truncated, and what else is known.

        Raises:
            BridgeError: before the first reset, after the end of an episode, or for an action of another shape.
        """
        if not self._going:
            raise BridgeError("the episode is over or has not begun: call reset() before step()")
        actions = np.asarray(action, dtype=np.float64)
        if actions.shape != self.action_space.shape:
            raise BridgeError(f"an action has shape {self.action_space.shape}, got {actions.shape}")
        outcome = self._episodes.go(ONE, actions[None])
        terminated, truncated = bool(outcome.terminated[0]), bool(outcome.truncated[0])
        self._going = not (terminated or truncated)
        info = self._info() | {"status": int(outcome.status[0])}
        if not self._going:
            info["ending"] = outcome.ending(0)
        self._film()
        return self._seen(), float(outcome.reward[0]), terminated, truncated, info

    def render(self) -> Any:  # noqa: ANN401 - as in Gymnasium
        """The robot as it stands, shape (height, width, 3); None without a render mode."""
        if self._camera is None:
            return None
        if self._going is None:
            raise BridgeError("there is nothing to show yet: call reset() before render()")
        return self._camera.frame()

    def close(self) -> None:
        """Let go of the pictures."""
        if self._camera is not None:
            self._camera.clear()

    def _film(self) -> None:
        if self._camera is not None:
            plant = self.task.draws.plant(self._episodes.numbers[0])
            self._camera.add(float(self._episodes.time(ONE)[0]), self._episodes.state[0], plant)

    def _seen(self) -> Any:  # noqa: ANN401 - of either space
        return packed(self.task, self._episodes.seen[0].copy(), self._dictionary)

    def _info(self) -> dict[str, Any]:
        return {"time": float(self._episodes.time(ONE)[0])}
