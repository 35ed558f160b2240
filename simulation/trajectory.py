"""Record of a simulated motion, the common interface of records, and the errors that carry one."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..robots.robot import Robot
from ..symbolic.errors import EruginError, ModelError
from ..symbolic.kernel import Kernel
from ..symbolic.kernel_map import evaluate_each
from .labels import Labels

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure


class MotionRecord(ABC):
    """A motion, or several, that can be saved to a file."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of samples of one motion, or number of motions."""

    def save(self, path: str | Path) -> None:
        """Write everything but robots and controllers to a file, without loss and atomically.

        Args:
            path: path of the file, which should end in ``.npz``; an existing file is replaced.

        Raises:
            MotionFileError: if the file cannot be written.
        """
        from .storage.motion_file import save_motion

        save_motion(cast(Any, self), path)


class ViewableMotion(MotionRecord):
    """One motion, in one piece or in phases, that can be plotted and animated."""

    def plot(self, *, velocities: bool = False, energy: bool = False, deviations: bool = True) -> Figure:
        """Plot coordinates and inputs over time, in one panel per unit, with deviations and switches of phases.

        Args:
            velocities: True to plot velocities, too.
            energy: True to plot T + V, too.
            deviations: True to plot deviations from the program.

        Raises:
            ModelError: for a motion without samples.
        """
        from ..views.time_series import plot

        return plot(self._motion, velocities=velocities, energy=energy, deviations=deviations)

    def draw(self, path: str | Path | None = None, *, flashes: int = 9) -> Figure:
        """Draw the robot at several instants in one picture.

        Args:
            path: path of the file to save it in; not saved by default.
            flashes: number of instants, at least two.

        Raises:
            ModelError: for fewer than two instants, no sample with finite values, or a motion that was loaded without
                its robot.
        """
        from ..views.stroboscope import draw

        return draw(self._motion, path, flashes)

    def animate(
        self, path: str | Path | None = None, *, fps: float | None = None, speed: float | None = None
    ) -> FuncAnimation | None:
        """Animate the motion.

        Args:
            path: path of a file that ends in ``.gif``, or in ``.mp4`` if ffmpeg is installed; without it, a notebook
                can show ``animate().to_jshtml()``.
            fps: frames per second [1/s]; by default such that there are at most a hundred frames.
            speed: time in the motion over time in the film; by default 1 if a hundred frames allow it.

        Raises:
            ModelError: for an unsupported file type, a number that is not positive, more than 3000 frames, no sample
                with finite values, or a motion that was loaded without its robot.
        """
        from ..views.film import animate

        return animate(self._motion, path, fps, speed)

    @property
    def _motion(self) -> Any:  # noqa: ANN401 - the functions of views name the classes of motions, which extend this one
        return self


Array = NDArray[np.float64]
SAMPLED = ("t", "q", "v", "u", "deviation", "energy", "pivots", "active", "status")
"""Arrays with one entry per sample."""


@dataclass(frozen=True, eq=False)
class Trajectory(ViewableMotion):
    """Samples of a motion; every array is read-only.

    Attributes:
        t: times, shape (N,) [s].
        q: coordinates, shape (N, nq).
        v: velocities, shape (N, nv).
        u: inputs, shape (N, nu), or forces R, shape (N, nv), of an ideal controller; shape (N, 0) without control.
        deviation: deviations of the program's rows, shape (N, m); shape (N, 0) if the controller has no rows.
        energy: T + V, shape (N,) [J].
        pivots: relative pivots of the program's rows, shape (N, m): zero where a row depends on the ones before it.
        active: True where a row of the program is on, shape (N, m).
        status: a :class:`~erugin.controllers.Status` per sample, shape (N,).
        notes: times at which a controller without a symbolic law changed its status, with its messages.
        plant: the plant; None for a motion that was loaded without it. :attr:`robot` is never None.
        controller: the controller, or None.
        p: the plant's parameters, shape (np,).
        controller_p: the controller's parameters.
        wall_time: time that the integration took, without building and compiling [s].
        ending: reason for which it ended.
        metrics: metrics accumulated along the motion, by name.
        named: names and units for a motion loaded without its plant or controller; otherwise None.
    """

    t: Array
    q: Array
    v: Array
    u: Array
    deviation: Array
    energy: Array
    pivots: Array
    active: NDArray[np.bool_]
    status: NDArray[np.int64]
    plant: Robot | None = field(repr=False)
    controller: Controller | None = field(repr=False)
    p: Array = field(repr=False)
    controller_p: Array = field(repr=False)
    wall_time: float = 0.0
    ending: str = "the duration is over"
    notes: tuple[tuple[float, str], ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    named: Labels | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in (*SAMPLED, "p", "controller_p"):
            getattr(self, name).setflags(write=False)

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    @property
    def robot(self) -> Robot:
        """The plant; raises ModelError if the motion was loaded without it."""
        return require_plant(self.plant, self.labels)

    @functools.cached_property
    def labels(self) -> Labels:
        """Names and units of coordinates, velocities, inputs, rows and parameters."""
        return self.named or Labels.of(require_plant(self.plant, None), self.controller)

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the program's rows."""
        return self.labels.rows

    @property
    def input_labels(self) -> tuple[str, ...]:
        """Name and unit of each column of ``u``, for legends."""
        return self.labels.inputs.legend

    @property
    def ok(self) -> bool:
        """True if every sample has status OK."""
        return bool((self.status == Status.OK).all())

    def evaluate(self, expression: ca.SX) -> Array:
        """Return the values of an expression along the motion.

        Args:
            expression: a scalar or column in the plant's symbols t, q, v, p and the controller's parameters.

        Returns:
            Shape (N,) for a scalar, (N, k) for a column.

        Raises:
            ModelError: for a matrix, or a foreign symbol.
        """
        state = (self.t[:, None], self.q, self.v, self.p[None], self.controller_p[None])
        return values_along(self.robot, self.controller, expression, *state)

    def to_xarray(self) -> xarray.Dataset:
        """Return all samples with names and units; requires the extra ``data``."""
        from .storage.data_frames import dataset

        return dataset(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table over time with a column for each number; units are in ``attrs["units"]``.

        Requires the extra ``data``.
        """
        from .storage.data_frames import frame

        return frame(self)

    @classmethod
    def load(cls, path: str | Path, *, robot: Robot | None = None, controller: Controller | None = None) -> Trajectory:
        """Load a motion written by :meth:`save`; see :func:`~erugin.simulation.load_motion`.

        Args:
            path: path of the file.
            robot: the plant that moved; without it the motion can be plotted and saved, but not evaluated or animated.
            controller: the controller.

        Raises:
            MotionFileError: for a file that does not contain a single motion, or a robot or controller that differs
                from that of the file.
        """
        from .storage.motion_file import load_as

        return load_as(cls, path, robot, controller)


def require_plant(plant: Robot | None, labels: Labels | None) -> Robot:
    """Return the plant, or raise ModelError if it is unknown.

    Args:
        plant: plant of a motion, or None.
        labels: labels of the motion, with the plant's name.
    """
    if plant is None:
        name = "" if labels is None else f" of {labels.robot!r}"
        raise ModelError(
            f"this motion{name} was loaded without its robot, which is required to evaluate, draw or animate it: pass "
            "robot= when loading it"
        )
    return plant


def values_along(
    robot: Robot,
    controller: Controller | None,
    expression: ca.SX,
    t: Array,
    q: Array,
    v: Array,
    p: Array,
    controller_p: Array,
    lanes: NDArray[np.intp] | None = None,
) -> Array:
    """Return the values of an expression at n samples.

    Args:
        robot: the plant.
        controller: the controller, or None.
        expression: a scalar or column in the plant's symbols t, q, v, p and the controller's parameters.
        t: times, shape (n, 1) [s].
        q: coordinates, shape (n, nq).
        v: velocities, shape (n, nv).
        p: the plant's parameters, shape (1, np), or (number of lanes, np).
        controller_p: the controller's parameters, in the same form.
        lanes: lane of each sample, shape (n,), if parameters differ between lanes.

    Returns:
        Shape (n,) for a scalar, (n, k) for a column.

    Raises:
        ModelError: for a matrix, or a foreign symbol.
    """
    if expression.size2() != 1:
        raise ModelError(f"only a scalar or a column can be evaluated along a motion, got shape {expression.shape}")
    robot.require_own_symbols("the expression", expression, controller.parameters if controller else None)
    symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": robot.p}
    arguments = [t, q, v, p]
    if controller is not None:
        places, symbols["c"] = controller.parameters.beyond(robot.parameters)
        arguments.append(controller_p[:, places])
    if len(t) == 0:
        lanes = np.zeros(0, dtype=np.intp)
    values = evaluate_each(Kernel("along", symbols, {"value": expression}, compiled=False), arguments, lanes)[0]
    return values[:, 0].copy() if expression.numel() == 1 else values


class SimulationError(EruginError, RuntimeError):
    """A simulation that had to stop.

    Attributes:
        trajectory: the samples up to and including the one at which it stopped.
        status: the reason.
    """

    def __init__(self, message: str, trajectory: Trajectory, status: Status) -> None:
        """Attach the samples so far.

        Args:
            message: time and reason of the stop.
            trajectory: the samples so far.
            status: the reason as a status.
        """
        super().__init__(message)
        self.trajectory = trajectory
        self.status = status


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation.

    Attributes:
        trajectory: the samples so far; a :class:`~erugin.simulation.Trajectories` for a batch.
    """

    def __init__(self, trajectory: Trajectory, message: str = "") -> None:
        """Attach the samples so far.

        Args:
            trajectory: the samples so far.
            message: progress of the simulation; by default the time of the last sample.
        """
        at = f"interrupted at t = {trajectory.t[-1]:g} s" if not message and len(trajectory) else "interrupted at once"
        super().__init__(message or at)
        self.trajectory = trajectory
