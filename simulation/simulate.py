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
    """Simulate a plant under a controller; :class:`Simulator` serves many runs without compiling again.

    With a leading batch axis of anything it is a batch of motions, and what is returned a :class:`Trajectories`.

    Args:
        robot: the plant.
        controller: what drives it, or None.
        q0: coordinates, shape (nq,) or (batch, nq).
        v0: velocities, shape (nv,) or (batch, nv).
        duration: [s].
        step: interval of samples, and of a fixed-step integrator [s].
        integrator: fixed-step RK4 if not given.
        p: the plant's parameters: nominal, overridden by name with numbers or arrays of shape (batch,), or the whole
            vector, shape (np,) or (batch, np).
        controller_p: the controller's parameters, likewise.
        stop: scalar expression; the run ends at the first sample where it is positive.
        tolerance: of the time at which it ends [s]: the last sample is then moved back to the instant from which on
            ``stop`` is positive, at most so much behind it; the sample as it is if not given. Not for a batch, nor with
            ``metrics`` or ``every``, which are reckoned and kept at whole steps.
        t0: time of the start [s].
        progress: called with the share that is done, in [0, 1].
        metrics: what is reckoned along the motion, by name.
        threads: that a batch may use; all that this process may use if not given.
        every: of so many samples one is kept, and the first and the last.

    Returns:
        The samples of the motion.

    Raises:
        ShapeError, ModelError, ParameterError: for bad input.
        SimulationError: if rows become dependent or a number is not finite; the trajectory so far is attached. Not in
            a batch, where each lane has its ``failure``.
        SimulationInterrupted: on Ctrl-C; the trajectory so far is attached.
    """
    simulator = Simulator(robot, controller, integrator=integrator, stop=stop, metrics=metrics)
    if tolerance is not None:
        positive("tolerance", tolerance)
        if stop is None:
            raise ModelError("a tolerance is that of the time at which stop= comes to hold, but there is no stop")
        if metrics or every != 1:
            raise ModelError(
                "metrics and every= go by whole steps, so the end cannot lie inside one: take no tolerance"
            )
        if InitialConditions.of(robot, simulator.controller_parameters, q0, v0, p, controller_p).batch:
            raise ModelError("the lanes of a batch end at samples: take no tolerance, or run them one by one")
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
