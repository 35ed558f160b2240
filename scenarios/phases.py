"""A motion in phases: one controller after another, switched at times or on conditions."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..controllers.consistent_velocity import ConsistentVelocity, consistent_velocity
from ..controllers.program_controller import ProgramController
from ..controllers.status import Status
from ..robots.impact import Impact
from ..robots.robot import Robot
from ..symbolic.arrays import finite, positive, vector
from ..symbolic.errors import EruginError, ModelError, ParameterError, ShapeError
from .crossing import cut_at_crossing
from .integrators import Integrator
from .phase import Phase
from .phased_trajectory import PhasedTrajectory
from .simulate import Simulator, Values
from .simulation_errors import SimulationError, SimulationInterrupted
from .stands import Stands, merged, require_names, touch, with_places
from .trajectory import Trajectory

Array = NDArray[np.float64]


class PhasedSimulationError(EruginError, RuntimeError):
    """A motion in phases that had to stop.

    Attributes:
        trajectory: the segments so far, the last up to and including the sample at which it stopped.
        status: why.
    """

    def __init__(self, message: str, trajectory: PhasedTrajectory, status: Status) -> None:
        """Attach what was computed.

        Args:
            message: in which phase, when and why it stopped.
            trajectory: the segments so far.
            status: the reason in one word.
        """
        super().__init__(message)
        self.trajectory = trajectory
        self.status = status


class PhasedSimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a motion in phases.

    Attributes:
        trajectory: the segments so far.
    """

    def __init__(self, message: str, trajectory: PhasedTrajectory) -> None:
        """Attach what was computed.

        Args:
            message: in which phase and when.
            trajectory: the segments so far.
        """
        super().__init__(message)
        self.trajectory = trajectory


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

    A condition is looked at in the samples; where one is the first at which it is positive, the instant is sought in
    the step before it. A condition that is positive only between two samples is not seen. A phase whose condition holds
    from the start is a single sample; one whose time has passed is left out. The controller of a phase starts without
    memory.

    Args:
        robot: the plant.
        phases: in order; when the last has ended, so has the motion.
        q0: coordinates, shape (nq,).
        v0: velocities, shape (nv,).
        duration: of all phases together at most [s].
        step: interval of samples, and of a fixed-step integrator [s]; shorter before a switch.
        integrator: fixed-step RK4 if not given.
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        t0: time of the start [s].
        tolerance: of the time of a switch on a condition [s].

    Returns:
        The segments; the last may end before the duration if its own end came, or its condition never did.

    Raises:
        ShapeError, ModelError, ParameterError: for bad input.
        PhasedSimulationError: if a phase fails, or its program allows no velocities near; the segments so far are
            attached.
        PhasedSimulationInterrupted: on Ctrl-C; the segments so far are attached.
    """
    order = _checked(phases)
    end = finite("t0", t0) + positive("duration", duration)
    positive("tolerance", tolerance)
    c = robot.coordinates
    t, q, v = float(t0), vector("q0", q0, c.nq), vector("v0", v0, c.nv)
    simulators = [_simulator(robot, phase, integrator) for phase in order]
    require_names(order, p)
    for phase, simulator in zip(order, simulators, strict=True):
        _require_values(phase, simulator, p)
    segments: list[Trajectory] = []
    names: list[str] = []
    jumps: list[ConsistentVelocity | None] = []
    impacts: list[Impact | None] = []
    stands: Stands | None = None

    def so_far(ending: str) -> PhasedTrajectory:
        return PhasedTrajectory(tuple(segments), tuple(names), tuple(jumps), ending, tuple(impacts))

    for phase, simulator in zip(order, simulators, strict=True):
        last = end if phase.until is None or isinstance(phase.until, ca.SX) else min(end, float(phase.until))
        if not last - t > 4 * np.spacing(abs(last)):
            continue
        names.append(phase.name)
        jump = blow = None
        try:
            stands, blow = _touch(robot, phase, t, q, v, p, stands)
            v = v if blow is None else blow.velocity
            plant_p, law_p = with_places(phase, p, merged(stands))
            if phase.velocities == "consistent":
                jump = _jump(phase.plant(robot), phase, t, q, v, plant_p, law_p)
                v = jump.velocity
            run = simulator.run(q, v, last - t, step=min(step, last - t), p=plant_p, law_p=law_p, t0=t)
            crossed = isinstance(phase.until, ca.SX) and float(run.evaluate(phase.until)[-1]) > 0.0
            if crossed and isinstance(phase.until, ca.SX):
                run = cut_at_crossing(simulator, run, phase.until, tolerance, plant_p, law_p)
        except SimulationError as error:
            segments.append(error.trajectory)
            jumps.append(jump)
            impacts.append(blow)
            raise PhasedSimulationError(f"phase {phase.name!r}: {error}", so_far(str(error)), error.status) from error
        except SimulationInterrupted as error:
            segments.append(error.trajectory)
            jumps.append(jump)
            impacts.append(blow)
            raise PhasedSimulationInterrupted(f"phase {phase.name!r}: {error}", so_far("interrupted")) from error
        except (_NoVelocityError, EruginError) as error:
            if isinstance(error, EruginError) and not segments:
                raise
            names.pop()
            raise PhasedSimulationError(
                f"phase {phase.name!r}: {error}", so_far(str(error)), Status.FAILED
            ) from error.__cause__
        segments.append(run)
        jumps.append(jump)
        impacts.append(blow)
        t, q, v = (float(run.t[-1]) if crossed else last), run.q[-1], run.v[-1]
        if not crossed and isinstance(phase.until, ca.SX):
            return so_far(f"the duration is over; the condition of phase {phase.name!r} has not come to hold")
    return so_far("the duration is over" if not end - t > 4 * np.spacing(abs(end)) else "the last phase is over")


class _NoVelocityError(Exception):
    """No velocities are consistent with a program, or with contacts that are made."""


def _touch(
    robot: Robot, phase: Phase, t: float, q: Array, v: Array, p: Values, before: Stands | None
) -> tuple[Stands, Impact | None]:
    try:
        return touch(robot, phase, t, q, v, p, before)
    except EruginError as error:
        raise _NoVelocityError(str(error)) from error


def _jump(robot: Robot, phase: Phase, t: float, q: Array, v: Array, p: Values, law_p: Values) -> ConsistentVelocity:
    """The impulse acts on the plant: what it shares with the model has the plant's values."""
    assert isinstance(phase.controller, ProgramController)
    parameters = phase.controller.parameters
    numbers = dict(zip(parameters.names, parameters.values(law_p), strict=True))
    plant = dict(zip(robot.parameters.names, robot.parameters.values(p), strict=True))
    numbers |= {name: value for name, value in plant.items() if name in numbers}
    try:
        return consistent_velocity(phase.controller.program, t, q, v, numbers)
    except EruginError as error:
        raise _NoVelocityError(str(error)) from error


def _checked(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    if not isinstance(phases, Iterable):
        raise ModelError(f"a motion is made of a list of phases, got {phases!r}")
    order = tuple(phases)
    if not order:
        raise ModelError("a motion needs at least one phase, got none")
    before: Phase | None = None
    for phase in order:
        if not isinstance(phase, Phase):
            raise ModelError(f"a motion is made of phases, got {phase!r}")
        if phase is not order[-1] and phase.until is None:
            raise ModelError(f"phase {phase.name!r} has no end (until=), so that those after it would never come")
        if phase.until is None or isinstance(phase.until, ca.SX):
            continue
        if before is not None and isinstance(before.until, int | float) and not phase.until > before.until:
            raise ModelError(
                f"phase {phase.name!r} ends at t = {phase.until:g} s, not after {before.name!r} at {before.until:g} s"
            )
        before = phase
    return order


def _require_values(phase: Phase, simulator: Simulator, p: Values) -> None:
    """What is wrong with parameters is said before anything has moved."""
    found = dict.fromkeys((name for contact in phase.contacts for name in contact.places), 0.0)
    try:
        simulator.values(*with_places(phase, p, found))
    except (ParameterError, ShapeError) as error:
        raise type(error)(f"phase {phase.name!r}: {error}") from error


def _simulator(robot: Robot, phase: Phase, integrator: Integrator | None) -> Simulator:
    stop = phase.until if isinstance(phase.until, ca.SX) else None
    try:
        return Simulator(phase.plant(robot), phase.controller, integrator=integrator, stop=stop)
    except ModelError as error:
        raise ModelError(f"phase {phase.name!r}: {error}") from error
