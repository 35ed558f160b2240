"""Recorder of a motion that another program integrates: a trajectory like that of `simulate`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...controllers.status import Status
from ...robots.robot import Robot
from ...simulation.closed_loop import close_loop
from ...simulation.record import Record, RunSettings
from ...simulation.start_checks import require_parts
from ...simulation.trajectory import SimulationError, Trajectory
from ...symbolic.errors import ShapeError
from ...symbolic.parameters import NO_PARAMETERS
from ...symbolic.validation import finite, positive, require_distinct_times

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None
SINGLE_RUN = np.zeros(1, dtype=np.intp)


class Recorder:
    """Recorder that calls the controller once per sample, and checks and stores the sample.

    Attributes:
        robot: the robot whose motion is recorded.
        controller: the controller, or None.
        p: the robot's parameters, shape (np,).
        controller_p: the controller's parameters, shape (np of the controller,).
    """

    def __init__(
        self,
        robot: Robot,
        controller: Controller | None,
        *,
        step: float,
        samples: int,
        p: Values = None,
        controller_p: Values = None,
        t0: float = 0.0,
    ) -> None:
        """Allocate the record, and reset the controller's memory.

        Args:
            robot: the robot whose motion is recorded.
            controller: the controller, or None.
            step: time between samples [s].
            samples: largest number of samples.
            p: the robot's parameters: nominal, overridden by name, or the whole vector.
            controller_p: the controller's parameters, likewise.
            t0: time of the first sample [s].

        Raises:
            ModelError, ParameterError, ShapeError: for a controller that does not fit the robot, invalid numbers, or
                more samples than fit into memory.
        """
        require_parts(robot, controller, None, None)
        self.robot, self.controller = robot, controller
        own = NO_PARAMETERS if controller is None else controller.parameters
        self.p, self.controller_p = robot.parameters.values(p), own.values(controller_p)
        self._loop = close_loop(robot, controller, None, monitor_rank=False)
        self._numbers = numbers = np.concatenate([self.p, self.controller_p])
        if controller is not None:
            controller.reset()
        run = RunSettings(self._loop, controller, samples, positive("step", step), finite("t0", t0))
        self._record, self._observe = Record(run, numbers[None]), self._loop.observer(numbers)
        require_distinct_times(run.t0, max(samples - 1, 1) * run.step, run.step)
        self._started = time.perf_counter()

    def times(self) -> Iterator[float]:
        """Return an iterator over the times of all samples [s], one for each call of ``tick``."""
        return map(self.time, range(self._record.run.samples))

    def time(self, index: int) -> float:
        """Time of one sample [s].

        Args:
            index: index of the sample, from 0.
        """
        return self._record.run.time(index)

    def observed(self, controller_p: Values) -> None:
        """Set controller parameters measured by the other program, such as an obstacle's position, for later samples.

        Args:
            controller_p: the controller's parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ParameterError, ShapeError: for invalid values.
        """
        own = NO_PARAMETERS if self.controller is None else self.controller.parameters
        # In place, because the observer refers to this array.
        self._numbers[len(self.p) :] = self.controller_p = own.values(controller_p)

    def __len__(self) -> int:
        """Number of samples so far."""
        return int(self._record.count[0])

    def tick(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Record the next sample: update the controller's memory, call the controller, and store its output.

        Args:
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).

        Returns:
            u, shape (nu,), or R, shape (nv,), of a controller that applies forces; empty without a controller.

        Raises:
            SimulationError: if the motion or the controller has to stop; the trajectory so far is attached.
        """
        record, index, c = self._record, len(self), self.robot.coordinates
        x = np.concatenate([np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)])
        if x.shape != (c.nq + c.nv,):
            raise ShapeError(f"q must have shape ({c.nq},) and v ({c.nv},), got {np.shape(q)} and {np.shape(v)}")
        window = record.window(SINGLE_RUN, index, 1)
        try:
            values = self._observe(record.run.time(index), x)
        except Exception as error:
            raise self.fail(error) from error
        window.states[0, 0] = x
        for key, value in values.items():
            window.data[key][0, 0] = value
        record.monitor(window)
        if record.failure[0] != Status.OK:
            raise self._error()
        return np.array(values["output"])

    def fail(self, error: BaseException) -> SimulationError:
        """Return the SimulationError for an error of the controller or of the other program after the last sample.

        Args:
            error: the error that was raised.
        """
        self._record.fail(0, error)
        return self._error()

    def trajectory(self, ending: str | None = None) -> Trajectory:
        """Return the recorded trajectory.

        Args:
            ending: reason for the end; that of the record if not given.
        """
        if ending is not None:
            self._record.ending[0] = ending
        self._record.notes[0] = self._loop.notes
        return self._record.trajectories(time.perf_counter() - self._started)[0]

    def _error(self) -> SimulationError:
        record = self._record
        message, status = str(record.ending[0]), Status(int(record.failure[0]))
        trajectory = self.trajectory()
        if len(trajectory):
            message += f" The last state: q = {_formatted(trajectory.q[-1])}, v = {_formatted(trajectory.v[-1])}"
        return SimulationError(message, trajectory, status)


def _formatted(numbers: Array) -> str:
    return "[" + ", ".join(f"{number:.6g}" for number in numbers) + "]"
