"""Simulation of a plant under a controller."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..robots.robot import Robot
from ..symbolic.arrays import finite, positive, vector
from ..symbolic.errors import EruginError, ModelError, ParameterError
from ..symbolic.parameters import NO_PARAMETERS
from .close_loop import close_loop
from .closed_loop import ClosedLoop
from .integrators import RK4, Integrator
from .natural_check import NaturalCheck
from .record import Record
from .step_limit import StepLimit
from .trajectory import Trajectory

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None


class SimulationError(EruginError, RuntimeError):
    """A simulation that had to stop.

    Attributes:
        trajectory: what was computed, up to and including the sample at which it stopped.
        status: why.
    """

    def __init__(self, message: str, trajectory: Trajectory, status: Status) -> None:
        """Attach what was computed.

        Args:
            message: when and why it stopped.
            trajectory: the samples so far.
            status: the reason in one word.
        """
        super().__init__(message)
        self.trajectory = trajectory
        self.status = status


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation.

    Attributes:
        trajectory: what was computed.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        """Attach what was computed."""
        super().__init__(f"interrupted at t = {trajectory.t[-1]:g} s" if len(trajectory) else "interrupted at once")
        self.trajectory = trajectory


class Simulator:
    """A plant, a controller and an integrator, built and compiled once for many runs."""

    def __init__(
        self,
        robot: Robot,
        controller: Controller | None = None,
        *,
        integrator: Integrator | None = None,
        stop: ca.SX | None = None,
    ) -> None:
        """Join and compile.

        Args:
            robot: the plant.
            controller: what drives it; its own model may differ from the plant. None for a free motion.
            integrator: fixed-step RK4 if not given.
            stop: scalar expression in the plant's symbols and the controller's parameters; a run ends at the first
                sample where it is positive.

        Raises:
            ModelError: if plant and controller do not fit, or ``stop`` is not such a scalar.
        """
        if stop is not None:
            if stop.shape != (1, 1):
                raise ModelError(f"stop must be a scalar expression, got shape {stop.shape}")
            robot.require_own_symbols("stop", stop, controller.parameters if controller else NO_PARAMETERS)
            if ca.depends_on(stop, ca.vertcat(robot.u, robot.coordinates.a)):
                raise ModelError(
                    "stop may use time, coordinates, velocities and parameters, not inputs or accelerations"
                )
        self.robot, self.controller = robot, controller
        self.law_parameters = NO_PARAMETERS if controller is None else controller.parameters
        chosen = integrator or RK4()
        self._loop: ClosedLoop = close_loop(robot, controller, stop, judged=not chosen.passes_dependent_rows)
        self._start = chosen.prepare(self._loop)
        self._natural = NaturalCheck(robot, dependent=chosen.passes_dependent_rows) if robot.natural else None
        linear = () if controller is None else controller.linearizations
        self._limit = StepLimit(linear, self.law_parameters, chosen) if linear else None

    @property
    def memory(self) -> object | None:
        """What the controller remembered before it took in the last sample but one of the last run."""
        return self._loop.memory

    def run(
        self,
        q0: ArrayLike,
        v0: ArrayLike,
        duration: float,
        *,
        step: float,
        p: Values = None,
        law_p: Values = None,
        t0: float = 0.0,
        anew: bool = True,
        progress: Callable[[float], None] | None = None,
    ) -> Trajectory:
        """Simulate.

        Args:
            q0: coordinates, shape (nq,).
            v0: velocities, shape (nv,).
            duration: [s].
            step: interval of samples, and of a fixed-step integrator [s]; made a little smaller if it does not divide
                the duration.
            p: the plant's parameters: nominal, overridden by name, or the whole vector.
            law_p: the controller's parameters, likewise.
            t0: time of the start [s].
            anew: whether the start is looked at and the controller forgets what it remembers; False to go on.
            progress: called with the share that is done, in [0, 1].

        Returns:
            The samples, the first at t0 and the last a duration later, or earlier if ``stop`` said so.

        Raises:
            ShapeError, ModelError, ParameterError: for bad input, such as natural constraints that depend on each other
                at the start.
            SimulationError: if rows become dependent, a number is not finite, or the controller raises anything; the
                trajectory so far is attached.
            SimulationInterrupted: on Ctrl-C; the trajectory so far is attached.
        """
        span, interval, t0 = positive("duration", duration), positive("step", step), finite("t0", t0)
        c = self.robot.coordinates
        x = np.concatenate([vector("q0", q0, c.nq), vector("v0", v0, c.nv)])
        numbers = self.values(p, law_p)
        if self._natural is not None and anew:
            self._natural.look(x, numbers[: len(self.robot.parameters)], t0)
        steps = max(1, math.ceil(span / interval - 1e-9))
        h = span / steps
        if self._limit is not None:
            self._limit.check(numbers[len(self.robot.parameters) :], h)
        plant = numbers[: len(self.robot.parameters)]
        before = None if self._natural is None else self._natural.before(x, plant, t0, h)
        try:
            record = Record(self._loop, self.controller, steps + 1, h, numbers, t0, before)
        except (MemoryError, ValueError) as error:
            raise ModelError(
                f"there is no room for {steps + 1} samples: take a larger step than {interval:g} s"
            ) from error
        if self.controller is not None and anew:
            self.controller.reset()
        advance = self._start(numbers, h, t0)
        began = time.perf_counter()
        cause: BaseException | None = None
        try:
            while not record.ended:
                block = advance(record.count, x, steps + 1 - record.count)
                record.add(block)
                if isinstance(block.error, KeyboardInterrupt):
                    raise block.error
                if block.error is not None and not record.ended:
                    cause = block.error
                    record.fail(cause)
                x = block.after[:, max(block.filled - 1, 0)].copy()
                if progress is not None:
                    progress(min(1.0, record.count / (steps + 1)))
        except KeyboardInterrupt as interrupt:
            record.ending = "interrupted"
            raise SimulationInterrupted(record.trajectory(time.perf_counter() - began)) from interrupt
        trajectory = record.trajectory(time.perf_counter() - began)
        if record.failure is not Status.OK:
            raise SimulationError(record.ending, trajectory, record.failure) from cause
        return trajectory

    def values(self, p: Values = None, law_p: Values = None) -> NDArray[np.float64]:
        """Numbers for the plant's parameters, then the controller's, shape (np,).

        Args:
            p: the plant's parameters: nominal, overridden by name, or the whole vector.
            law_p: the controller's parameters, likewise.

        Raises:
            ParameterError: for an unknown name, a parameter without any value, or a value out of its range.
            ShapeError: for a vector of another length.
        """
        if isinstance(p, Mapping):
            for name in p:
                if name not in self.robot.parameters.names and name in self.law_parameters.names:
                    raise ParameterError(
                        f"{name!r} is a parameter of the controller, not of the plant: pass it in law_p="
                    )
        return np.concatenate([self.robot.parameters.values(p), self.law_parameters.values(law_p)])


def simulate(
    robot: Robot,
    controller: Controller | None,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float,
    integrator: Integrator | None = None,
    p: Values = None,
    law_p: Values = None,
    stop: ca.SX | None = None,
    t0: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """Simulate a plant under a controller; :class:`Simulator` serves many runs without compiling again.

    Args:
        robot: the plant.
        controller: what drives it, or None.
        q0: coordinates, shape (nq,).
        v0: velocities, shape (nv,).
        duration: [s].
        step: interval of samples, and of a fixed-step integrator [s].
        integrator: fixed-step RK4 if not given.
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        law_p: the controller's parameters, likewise.
        stop: scalar expression; the run ends at the first sample where it is positive.
        t0: time of the start [s].
        progress: called with the share that is done, in [0, 1].

    Returns:
        The samples of the motion.

    Raises:
        ShapeError, ModelError, ParameterError: for bad input.
        SimulationError: if rows become dependent or a number is not finite; the trajectory so far is attached.
        SimulationInterrupted: on Ctrl-C; the trajectory so far is attached.
    """
    simulator = Simulator(robot, controller, integrator=integrator, stop=stop)
    return simulator.run(q0, v0, duration, step=step, p=p, law_p=law_p, t0=t0, progress=progress)
