"""Simulation of motions in phases: one controller after another, switched at times or on conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.validation import finite, positive, require_distinct_times, require_memory, step_count, vector
from ..initial_conditions import Values, require_near_zero
from ..integrators.integrator import Integrator
from ..phased_trajectory import PhasedTrajectory
from ..record import RunSettings
from ..simulator import Simulator
from ..trajectory import Trajectory
from ..zero_crossing import cut_at_zero_crossing
from .phase import Phase, require_free_contact_parameters
from .phase_record import PhaseRecord, require_values

Array = NDArray[np.float64]


def simulate_phases(
    robot: Robot,
    phases: Iterable[Phase],
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float,
    integrator: Integrator | None = None,
    p: Values = None,
    t0: float = 0.0,
    tolerance: float = 1e-10,
) -> PhasedTrajectory:
    """Simulate a plant under one controller after another.

    A condition is checked at the samples; the instant is then located in the step before the first sample at which it
    is positive. A condition that is positive only between two samples is not detected. A phase whose condition holds
    from the start is a single sample; one whose end time has passed is skipped. Each controller starts without memory.

    Args:
        robot: the plant.
        phases: the phases in order; the motion ends with the last one.
        q0: coordinates, shape (nq,).
        v0: velocities, shape (nv,).
        duration: longest duration of all phases together [s].
        step: interval of samples, and of a fixed-step integrator [s]; shorter before a switch.
        integrator: the integrator; fixed-step RK4 by default.
        p: the plant's parameters: a mapping from names that overrides nominal values, or the whole vector.
        t0: time of the start [s].
        tolerance: accuracy of the time of a switch on a condition [s].

    Returns:
        The segments; the motion is shorter than the duration if the last phase ends earlier.

    Raises:
        ShapeError, ModelError, ParameterError: for bad input.
        PhasedSimulationError: if a phase fails, or no velocities near satisfy its program; the segments so far are
            attached.
        PhasedSimulationInterrupted: on Ctrl-C; the segments so far are attached.
    """
    order = checked_phases(phases)
    end = finite("t0", t0) + positive("duration", duration)
    samples = step_count(duration, step) + 1
    with require_memory(
        float(samples) * (robot.coordinates.nq + robot.coordinates.nv), f"{samples:,} samples", RunSettings.advice
    ):
        require_distinct_times(float(t0), float(duration), positive("step", step))
    positive("tolerance", tolerance)
    c = robot.coordinates
    t, q, v = float(t0), vector("q0", q0, c.nq), vector("v0", v0, c.nv)
    require_near_zero(q)
    simulators = [_simulator(robot, phase, integrator) for phase in order]
    require_free_contact_parameters(order, p)
    for phase, simulator in zip(order, simulators, strict=True):
        require_values(phase, simulator, p)
    motion = PhaseRecord(robot, p, "phase")
    for phase, simulator in zip(order, simulators, strict=True):
        last = end if phase.until is None or isinstance(phase.until, ca.SX) else min(end, float(phase.until))
        if not last - t > 4 * np.spacing(abs(last)):
            continue
        run = _PhaseRun(phase, simulator, t, q, last, step, tolerance)
        segment = motion.add(phase, t, q, v, run)
        t, q, v = (float(segment.t[-1]) if run.crossed else last), segment.q[-1], segment.v[-1]
        if not run.crossed and isinstance(phase.until, ca.SX):
            return motion.motion(f"the duration is over; the condition of phase {phase.name!r} has never been positive")
    return motion.motion("the duration is over" if not end - t > 4 * np.spacing(abs(end)) else "the last phase is over")


@dataclass(eq=False)
class _PhaseRun:
    """Function that runs a phase to its end.

    Attributes:
        phase: the phase.
        simulator: simulator of its plant and controller.
        t: time of its start [s].
        q: coordinates at its start.
        last: latest time of its end [s].
        step: interval of samples [s].
        tolerance: accuracy of the time of its end [s].
        crossed: True if its condition became positive.
    """

    phase: Phase
    simulator: Simulator
    t: float
    q: Array
    last: float
    step: float
    tolerance: float
    crossed: bool = False

    def __call__(self, v: Array, p: Values, controller_p: Values) -> Trajectory:
        """Run the phase from the velocities at its start."""
        span, until = self.last - self.t, self.phase.until
        run = self.simulator.run(self.q, v, span, step=min(self.step, span), p=p, controller_p=controller_p, t0=self.t)
        if isinstance(until, ca.SX) and float(run.evaluate(until)[-1]) > 0.0:
            self.crossed = True
            return cut_at_zero_crossing(self.simulator, run, until, self.tolerance, p, controller_p)
        return run


def checked_phases(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    """Return the phases as a tuple, after checking that they can follow each other.

    Args:
        phases: the phases in order.

    Raises:
        ModelError: for no phases, an entry that is not a Phase, a phase without an end before others, or times that do
            not increase.
    """
    if not isinstance(phases, Iterable):
        raise ModelError(f"phases must be a list of Phase objects, got {phases!r}")
    order = tuple(phases)
    if not order:
        raise ModelError("phases must contain at least one Phase, got none")
    before: Phase | None = None
    for phase in order:
        if not isinstance(phase, Phase):
            raise ModelError(f"phases must be a list of Phase objects, got {phase!r}")
        if phase is not order[-1] and phase.until is None:
            raise ModelError(f"phase {phase.name!r} has no end, so that later phases would never start: set its until=")
        if phase.until is None or isinstance(phase.until, ca.SX):
            continue
        if before is not None and isinstance(before.until, int | float) and not phase.until > before.until:
            raise ModelError(
                f"phase {phase.name!r} ends at t = {phase.until:g} s, not after {before.name!r} at {before.until:g} s"
            )
        before = phase
    return order


def _simulator(robot: Robot, phase: Phase, integrator: Integrator | None) -> Simulator:
    stop = phase.until if isinstance(phase.until, ca.SX) else None
    try:
        return Simulator(phase.plant(robot), phase.controller, integrator=integrator, stop=stop)
    except ModelError as error:
        raise ModelError(f"phase {phase.name!r}: {error}") from error
