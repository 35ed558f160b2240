"""Simulation of a plant under a controller."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status, dependent_row
from ..robots.robot import Robot
from ..symbolic.arrays import positive, vector
from ..symbolic.errors import EruginError, ModelError
from ..symbolic.parameters import NO_PARAMETERS
from .closed_loop import ClosedLoop, close_loop
from .integrators import RK4, Integrator
from .integrators.integrator import Block
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
        """Attach what was computed."""
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
        self.robot, self.controller = robot, controller
        self.law_parameters = NO_PARAMETERS if controller is None else controller.parameters
        self._loop: ClosedLoop = close_loop(robot, controller, stop)
        self._start = (integrator or RK4()).prepare(self._loop)

    def run(
        self,
        q0: ArrayLike,
        v0: ArrayLike,
        duration: float,
        *,
        step: float,
        p: Values = None,
        law_p: Values = None,
        progress: Callable[[float], None] | None = None,
    ) -> Trajectory:
        """Simulate from t = 0.

        Args:
            q0: coordinates, shape (nq,).
            v0: velocities, shape (nv,).
            duration: [s].
            step: interval of samples, and of a fixed-step integrator [s]; made a little smaller if it does not divide
                the duration.
            p: the plant's parameters: nominal, overridden by name, or the whole vector.
            law_p: the controller's parameters, likewise.
            progress: called with the share that is done, in [0, 1].

        Returns:
            The samples, the first at t = 0 and the last at the duration, or earlier if ``stop`` said so.

        Raises:
            ShapeError, ModelError, ParameterError: for bad input.
            SimulationError: if rows become dependent or a number is not finite; the trajectory so far is attached.
            SimulationInterrupted: on Ctrl-C; the trajectory so far is attached.
        """
        span, interval = positive("duration", duration), positive("step", step)
        c = self.robot.coordinates
        x = np.concatenate([vector("q0", q0, c.nq), vector("v0", v0, c.nv)])
        plant, own = self.robot.parameters.values(p), self.law_parameters.values(law_p)
        steps = max(1, math.ceil(span / interval - 1e-9))
        h = span / steps
        record = _Record(self, steps + 1, h, plant, own)
        if self.controller is not None:
            self.controller.reset()
        advance = self._start(np.concatenate([plant, own]), h)
        began = time.perf_counter()
        try:
            while not record.ended:
                block = advance(record.count, x)
                record.add(block)
                x = block.after[:, -1].copy()
                if progress is not None:
                    progress(min(1.0, record.count / (steps + 1)))
        except KeyboardInterrupt as interrupt:
            record.ending = "interrupted"
            raise SimulationInterrupted(record.trajectory(time.perf_counter() - began)) from interrupt
        trajectory = record.trajectory(time.perf_counter() - began)
        if record.failure is not Status.OK:
            raise SimulationError(record.ending, trajectory, record.failure)
        return trajectory


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
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """Simulate a plant under a controller from t = 0; :class:`Simulator` serves many runs without compiling again.

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
        progress: called with the share that is done, in [0, 1].

    Returns:
        The samples of the motion.

    Raises:
        ShapeError, ModelError, ParameterError: for bad input.
        SimulationError: if rows become dependent or a number is not finite; the trajectory so far is attached.
        SimulationInterrupted: on Ctrl-C; the trajectory so far is attached.
    """
    simulator = Simulator(robot, controller, integrator=integrator, stop=stop)
    return simulator.run(q0, v0, duration, step=step, p=p, law_p=law_p, progress=progress)


class _Record:
    """Samples of a run as they come, and the decision when it ends."""

    def __init__(self, simulator: Simulator, room: int, step: float, plant: Array, own: Array) -> None:
        loop = simulator._loop
        self.simulator, self.step, self.plant, self.own = simulator, step, plant, own
        law = None if simulator.controller is None else simulator.controller.law
        self.rows = () if law is None else law.rows
        self.tolerance = 0.0 if law is None else law.tolerance
        self.states = np.zeros((room, loop.nx))
        self.data = {key: np.zeros((room, size)) for key, size in loop.sizes.items()}
        self.count = 0
        self.ended = False
        self.failure = Status.OK
        self.ending = "the duration is over"

    def add(self, block: Block) -> None:
        """Take over a block, up to the first sample that ends the run."""
        first, n = self.count, min(block.states.shape[1], len(self.states) - self.count)
        last = slice(first, first + n)
        self.states[last] = block.states[:, :n].T
        for key, rows in self.data.items():
            rows[last] = block.recorded[key][:, :n].T
        self.count, self.ended = first + n, first + n == len(self.states)
        finite = np.isfinite(self.states[last]).all(axis=1) & np.isfinite(self.data["output"][last]).all(axis=1)
        singular = ~(self._ahead(first, first + n) > self.tolerance).all(axis=1)
        stopped = (self.data["stop"][last] > 0.0).any(axis=1)
        bad = ~finite | singular | stopped
        if bad.any():
            i = int(np.argmax(bad))
            self._end(first + i, bool(finite[i]), bool(singular[i]))

    def _ahead(self, first: int, end: int) -> Array:
        """Pivots extrapolated to the next sample.

        A pivot falls to zero linearly in time where a position is singular, and a fixed step jumps across: the
        extrapolation sees it coming at the last sample that still means something.
        """
        pivots = self.data["pivots"][first:end]
        if first == 0:
            before = np.vstack([pivots[:1], pivots[:-1]])
        else:
            before = self.data["pivots"][first - 1 : end - 1]
        # A pivot that rises, or starts a run, is judged as it is.
        return pivots + np.minimum(pivots - before, 0.0)

    def _end(self, index: int, finite: bool, singular: bool) -> None:
        self.count, self.ended = index + 1, True
        t = index * self.step
        if singular:
            self.failure = Status.SINGULAR
            pivots = self._ahead(index, index + 1)[0]
            self.ending = f"at t = {t:g} s: {dependent_row(self.rows, pivots)} {Status.SINGULAR.sentence}"
        elif not finite:
            self.failure = Status.NOT_FINITE
            names = [*self.simulator.robot.coordinates.names]
            x = self.states[index]
            bad = [name for name, value in zip(names, x, strict=False) if not np.isfinite(value)]
            what = f"not finite: {', '.join(bad) or 'the output or a velocity'}"
            self.ending = f"at t = {t:g} s, {what}. {Status.NOT_FINITE.sentence}"
        else:
            self.ending = f"the stop condition holds at t = {t:g} s"

    def trajectory(self, wall_time: float) -> Trajectory:
        """The samples so far."""
        n, nq = self.count, self.simulator.robot.coordinates.nq
        status = np.zeros(n, dtype=np.int64)
        if n and self.failure is not Status.OK:
            status[-1] = self.failure
        return Trajectory(
            t=np.arange(n) * self.step,
            q=self.states[:n, :nq].copy(),
            v=self.states[:n, nq:].copy(),
            u=self.data["output"][:n].copy(),
            deviation=self.data["deviation"][:n].copy(),
            energy=self.data["energy"][:n, 0].copy(),
            pivots=self.data["pivots"][:n].copy(),
            status=status,
            robot=self.simulator.robot,
            controller=self.simulator.controller,
            p=self.plant.copy(),
            law_p=self.own.copy(),
            wall_time=wall_time,
            ending=self.ending,
        )
