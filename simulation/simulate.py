"""Simulation of a plant under a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi as ca
from numpy.typing import ArrayLike

from ..controllers.controller import Controller
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from ..symbolic.validation import positive
from .initial_conditions import BatchValues, InitialConditions
from .integrators.integrator import Integrator
from .metrics import Metric
from .simulator import Simulator
from .trajectory import Trajectory
from .zero_crossing import cut_at_zero_crossing


def simulate(
    robot: Robot,
    controller: Controller | None,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float,
    integrator: Integrator | None = None,
    p: BatchValues = None,
    controller_p: BatchValues = None,
    stop: ca.SX | None = None,
    tolerance: float | None = None,
    t0: float = 0.0,
    progress: Callable[[float], None] | None = None,
    metrics: Mapping[str, Metric] | None = None,
    threads: int | None = None,
    every: int = 1,
) -> Trajectory:
    """Simulate a plant under a controller; use :class:`Simulator` for many runs without compiling again.

    A leading batch axis of any argument makes it a batch of motions; the result is then a :class:`Trajectories`.

    Args:
        robot: the plant.
        controller: the controller, or None for free motion.
        q0: coordinates, shape (nq,) or (batch, nq).
        v0: velocities, shape (nv,) or (batch, nv).
        duration: duration of the motion [s].
        step: interval of samples, and of a fixed-step integrator [s].
        integrator: the integrator; fixed-step RK4 by default.
        p: the plant's parameters: a mapping from names to numbers or arrays of shape (batch,) that overrides nominal
            values, or the whole vector, shape (np,) or (batch, np).
        controller_p: the controller's parameters, in the same form.
        stop: scalar expression; the run ends at the first sample where it is positive.
        tolerance: accuracy of the stop time [s]: the last sample is then moved back to the instant at which ``stop``
            becomes positive, at most this much after it; by default the run ends at a sample. Not for a batch, nor with
            ``metrics`` or ``every``, which use whole steps.
        t0: time of the start [s].
        progress: called with the fraction that is done, in [0, 1].
        metrics: metrics to accumulate along the motion, by name.
        threads: number of threads for a batch; all that this process may use by default.
        every: one of so many samples is stored, besides the first and the last.

    Returns:
        The samples of the motion.

    Raises:
        ShapeError, ModelError, ParameterError: for bad input.
        SimulationError: if rows become dependent or a value is not finite; the trajectory so far is attached. Not for
            a batch, where ``failure`` has the status of each lane.
        SimulationInterrupted: on Ctrl-C; the trajectory so far is attached.
    """
    simulator = Simulator(robot, controller, integrator=integrator, stop=stop, metrics=metrics)
    if tolerance is not None:
        positive("tolerance", tolerance)
        if stop is None:
            raise ModelError("tolerance= requires stop=; it is the accuracy of the stop time in seconds")
        if metrics or every != 1:
            raise ModelError(
                "tolerance= cannot be used with metrics= or every=, which require whole steps; omit one or the other"
            )
        if InitialConditions.of(robot, simulator.controller_parameters, q0, v0, p, controller_p).batch:
            raise ModelError("tolerance= cannot be used with a batch: omit it, or simulate the lanes one by one")
    motion = simulator.run(
        *(q0, v0, duration),
        step=step,
        p=p,
        controller_p=controller_p,
        t0=t0,
        progress=progress,
        threads=threads,
        every=every,
    )
    if tolerance is None or stop is None or not float(motion.evaluate(stop)[-1]) > 0.0:
        return motion
    return cut_at_zero_crossing(simulator, motion, stop, tolerance, motion.p, motion.controller_p)
