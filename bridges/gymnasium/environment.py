"""A scenario as a `gymnasium.Env`, with pictures of its robot."""

from __future__ import annotations

from typing import Any, ClassVar

import casadi as ca
import gymnasium
import numpy as np
from gymnasium import spaces
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError
from ...symbolic.kernel import Kernel
from ...views.robot_drawing import AXES, TRIAD, MotionPostures, RobotAxes, SegmentPostures
from ...views.skeleton import Skeleton
from ...views.style import ARM_COLOR, POINT_COLOR, label_axes, new_figure
from .episodes import Episodes
from .multi_phase_rollout import MultiPhaseRollout
from .single_phase_rollout import SinglePhaseRollout
from .spaces import action_space, describe_spaces, observation_space, pack, reset_parameters
from .task import EnvironmentTask

Array = NDArray[np.float64]
FRAME_SIZE, FRAME_RESOLUTION = 5.0, 80
"""Side of a square frame [inches], and its dots per inch."""
WINDOW_GROWTH = 1.3
"""Factor by which a window exceeds what it must show, so that it seldom has to grow."""


class Camera:
    """Record of the states of an episode that draws the last of them; a robot without points as plots over time."""

    def __init__(self, task: EnvironmentTask) -> None:
        """Prepare the drawing of the robot.

        Args:
            task: the task of the environment.
        """
        self._task = task
        robot = task.setup.robot
        c = robot.coordinates
        self._skeleton = Skeleton.of(robot)
        drawn = ca.vec(c.q)
        if self._skeleton is not None:
            drawn = ca.vertcat(ca.vec(self._skeleton.places), ca.vec(self._skeleton.triads))
        symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": robot.p}
        self._kernel = Kernel("drawn", symbols, {"drawn": ca.densify(drawn)}, compiled=False)
        self._times: list[float] = []
        self._drawn: list[Array] = []
        self._window: tuple[Array, Array] | None = None

    def clear(self) -> None:
        """Forget the states, for a new episode."""
        self._times, self._drawn, self._window = [], [], None

    def add(self, t: float, x: Array, p: Array) -> None:
        """Add a state.

        Args:
            t: time [s].
            x: (q, v), shape (nx,).
            p: the plant's parameters, shape (np,).
        """
        self._times.append(t)
        self._drawn.append(np.atleast_1d(self._kernel(t, x, p)[0]))

    def frame(self) -> NDArray[np.uint8]:
        """Return a picture of the last state, shape (height, width, 3)."""
        figure = new_figure(FRAME_SIZE, FRAME_SIZE)
        figure.set_dpi(FRAME_RESOLUTION)
        every = np.array(self._drawn)
        if self._skeleton is None:
            self._series(figure, every)
        else:
            self._robot(figure, self._skeleton, every)
        # matplotlib's stubs know little of this canvas.
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        return np.array(np.asarray(canvas.buffer_rgba())[..., :3], dtype=np.uint8)

    def _robot(self, figure: Figure, skeleton: Skeleton, every: Array) -> None:
        count, n = skeleton.places.numel(), len(every)
        x = every[:, :count].reshape(n, skeleton.places.size2(), skeleton.dimension)
        # CasADi stores matrices by columns.
        axes = every[:, count:].reshape(n, len(skeleton.origins), 3, 3).transpose(0, 1, 3, 2)
        postures = SegmentPostures(skeleton, np.array(self._times), x, axes)
        stage = RobotAxes(figure, MotionPostures((postures,)))
        for name, low, high in zip(AXES, *self._axis_limits(x), strict=False):
            getattr(stage.axes, f"set_{name}lim")(float(low), float(high))
        if skeleton.dimension == 3:
            stage.axes.set_box_aspect((1.0, 1.0, 1.0), zoom=0.85)
        posture = postures.posture(n - 1, np.zeros((0, skeleton.dimension)))
        stage.ground(posture)
        stage.way(posture.way, POINT_COLOR)
        stage.robot(posture, ARM_COLOR, width=2.4)
        stage.axes.set_title(self._title, family="monospace", fontsize=10)

    def _axis_limits(self, x: Array) -> tuple[Array, Array]:
        """Return the corners of a square or cube that contains all points so far; it only changes when it must."""
        points = x.reshape(-1, x.shape[2])
        low, high = points.min(axis=0), points.max(axis=0)
        size = float((high - low).max()) or 1.0
        window = self._window
        if window is None or (low < window[0]).any() or (high > window[1]).any():
            middle, half = (low + high) / 2.0, (0.5 + TRIAD) * WINDOW_GROWTH * size
            self._window = window = middle - half, middle + half
        return window

    def _series(self, figure: Figure, every: Array) -> None:
        axes = figure.add_subplot()
        for values, name in zip(every.T, self._task.setup.robot.coordinates.names, strict=True):
            axes.plot(self._times, values, label=name)
        label_axes(axes, "coordinates", xlabel="time [s]")
        axes.legend(fontsize=8, loc="upper left", ncols=4)
        axes.set_title(self._title, family="monospace", fontsize=10)

    @property
    def _title(self) -> str:
        return f"t = {self._times[-1]:.3f} s"


SINGLE_LANE = np.zeros(1, dtype=np.intp)
RENDER_MODES = ("rgb_array",)


class Environment(gymnasium.Env[Any, Any]):
    """A scenario as an environment; built by :func:`~erugin.bridges.gymnasium.export`.

    Attributes:
        task: actions, observations, reward and termination.
        why_called: why its steps are called from Python; empty if they are compiled.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES)}  # type: ignore[misc]

    def __init__(self, task: EnvironmentTask, *, dictionary: bool, render_mode: str | None) -> None:
        """Build the spaces and compile the steps.

        Args:
            task: actions, observations, reward and termination.
            dictionary: True for observations as dictionaries of their parts.
            render_mode: ``"rgb_array"``, or None.
        """
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise BridgeError(f"render_mode must be None or one of {', '.join(RENDER_MODES)}, got {render_mode!r}")
        self.task, self.render_mode = task, render_mode
        self.metadata = {**describe_spaces(task), "render_modes": list(RENDER_MODES)}  # type: ignore[misc]
        self.action_space: spaces.Space[Any] = action_space(task)
        self.observation_space: spaces.Space[Any] = observation_space(task, dictionary)
        self._dictionary = dictionary
        rollout, self.why_called = (
            MultiPhaseRollout.single(task) if task.phase_tasks else SinglePhaseRollout.single(task)
        )
        self._episodes = Episodes(task, rollout, 1)
        self._camera = None if render_mode is None else Camera(task)
        self._running: bool | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: seed of this episode, which draws what a comparison or a study draws for this seed; later episodes
                without a seed use seeds that follow from it.
            options: ``{"parameters": {name: value}}`` instead of the values that the seed draws.

        Returns:
            The observation and the info dictionary.
        """
        known = seed is None and self._running is not None
        super().reset(seed=seed)
        if not known:
            first = self.np_random_seed if seed is None else seed
            self._episodes.reseed(SINGLE_LANE, np.array([int(first) & (2**63 - 1)], dtype=np.int64))
        self._episodes.begin(SINGLE_LANE, reset_parameters(options))
        self._running = True
        if self._camera is not None:
            self._camera.clear()
        self._record_frame()
        return self._observe(), self._info() | {"seed": int(self._episodes.seeds[0])}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 - of any space
        """Take a control period.

        Args:
            action: action in the action space, shape (n,); clipped to its bounds.

        Returns:
            Observation, reward, terminated, truncated and the info dictionary.

        Raises:
            BridgeError: before the first reset, after the end of an episode, or for an action of another shape.
        """
        if not self._running:
            raise BridgeError("the episode is over or has not started: call reset() before step()")
        actions = np.asarray(action, dtype=np.float64)
        if actions.shape != self.action_space.shape:
            raise BridgeError(f"action must have shape {self.action_space.shape}, got {actions.shape}")
        outcome = self._episodes.step_period(SINGLE_LANE, actions[None])
        terminated, truncated = bool(outcome.terminated[0]), bool(outcome.truncated[0])
        self._running = not (terminated or truncated)
        info = self._info() | {"status": int(outcome.status[0])}
        if not self._running:
            info["ending"] = outcome.ending(0)
        self._record_frame()
        return self._observe(), float(outcome.reward[0]), terminated, truncated, info

    def render(self) -> Any:  # noqa: ANN401 - as in Gymnasium
        """Return a picture of the robot, shape (height, width, 3); None without a render mode."""
        if self._camera is None:
            return None
        if self._running is None:
            raise BridgeError("there is no state to show yet: call reset() before render()")
        return self._camera.frame()

    def close(self) -> None:
        """Drop the recorded states."""
        if self._camera is not None:
            self._camera.clear()

    def _record_frame(self) -> None:
        if self._camera is not None:
            plant = self.task.sampler.plant(self._episodes.numbers[0])
            self._camera.add(float(self._episodes.time(SINGLE_LANE)[0]), self._episodes.state[0], plant)

    def _observe(self) -> Any:  # noqa: ANN401 - of either space
        return pack(self.task, self._episodes.observation[0].copy(), self._dictionary)

    def _info(self) -> dict[str, Any]:
        return {"time": float(self._episodes.time(SINGLE_LANE)[0])}
