"""Record of a motion in phases so far: the start of a phase, and the errors that carry the motion."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from ...controllers.program.consistent_velocity import ConsistentVelocity
from ...controllers.status import Status
from ...robots.contact.impact import Impact
from ...robots.robot import Robot
from ...symbolic.errors import EruginError, ParameterError, ShapeError
from ..initial_conditions import Values
from ..phased_trajectory import PhasedTrajectory
from ..simulator import Simulator
from ..trajectory import SimulationError, SimulationInterrupted, Trajectory
from .phase import ContactPositions, NoVelocityError, Phase, start_phase, with_contact_parameters

Array = NDArray[np.float64]
RunSegment = Callable[[Array, Values, Values], Trajectory]
"""Function that runs one segment, from the velocities at its start and the parameters of plant and controller."""


class PhasedSimulationError(EruginError, RuntimeError):
    """A motion in phases that had to stop.

    Attributes:
        trajectory: the segments so far, the last up to and including the sample at which it stopped.
        status: the reason.
    """

    def __init__(self, message: str, trajectory: PhasedTrajectory, status: Status) -> None:
        """Attach the segments so far.

        Args:
            message: phase, time and reason of the stop.
            trajectory: the segments so far.
            status: the reason as a status.
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
        """Attach the segments so far.

        Args:
            message: phase and time of the interruption.
            trajectory: the segments so far.
        """
        super().__init__(message)
        self.trajectory = trajectory


class PhaseRecord:
    """The segments of a motion, in order.

    Attributes:
        word: name for a segment in messages, ``"phase"`` or ``"mode"``.
        events: name of the event that ended each segment; None where none did.
    """

    def __init__(self, robot: Robot, p: Values, word: str, shared: Collection[str] = ()) -> None:
        """Start with no segments.

        Args:
            robot: the motion's plant.
            p: the plant's parameters without positions of contacts.
            word: name for a segment in messages.
            shared: names in p that a plant may lack because the plant of another segment has them.
        """
        self.word, self._robot, self._p, self._shared = word, robot, p, shared
        self._segments: list[Trajectory] = []
        self._names: list[str] = []
        self._jumps: list[ConsistentVelocity | None] = []
        self._impacts: list[Impact | None] = []
        self.events: list[str | None] = []
        self._contacts: ContactPositions | None = None

    def motion(self, ending: str, accumulation: float | None = None) -> PhasedTrajectory:
        """Return the motion so far.

        Args:
            ending: reason for which it ends here.
            accumulation: time at which its events accumulate, if they do [s].
        """
        events = tuple(self.events) + (None,) * (len(self._segments) - len(self.events))
        parts = tuple(self._segments), tuple(self._names), tuple(self._jumps)
        return PhasedTrajectory(*parts, ending, tuple(self._impacts), events, accumulation)

    def add(
        self, phase: Phase, t: float, q: Array, v: Array, run: RunSegment, impact: Impact | None = None
    ) -> Trajectory:
        """Start a phase and run it.

        Args:
            phase: the phase.
            t: time of its start [s].
            q: coordinates at the start, shape (nq,).
            v: velocities before the start, shape (nv,).
            run: function that runs it.
            impact: impact that ended the previous segment, if any.

        Returns:
            The new segment.

        Raises:
            PhasedSimulationError: if it cannot start, or fails; the segments so far are attached.
            PhasedSimulationInterrupted: on Ctrl-C; the segments so far are attached.
            EruginError: if the first phase cannot start.
        """
        jump, before, label = None, len(self._segments), f"{self.word} {phase.name!r}"
        self._names.append(phase.name)
        try:
            p = plant_values(phase.plant(self._robot), self._p, self._shared)
            start = start_phase(self._robot, phase, t, q, v, p, phase.controller_p, self._contacts)
            self._contacts, jump, impact = start.contacts, start.jump, start.impact or impact
            segment = run(start.v, start.p, start.controller_p)
        except SimulationError as error:
            self._append(error.trajectory, jump, impact)
            raise PhasedSimulationError(f"{label}: {error}", self.motion(str(error)), error.status) from error
        except SimulationInterrupted as error:
            self._append(error.trajectory, jump, impact)
            raise PhasedSimulationInterrupted(f"{label}: {error}", self.motion("interrupted")) from error
        except (NoVelocityError, EruginError) as error:
            if isinstance(error, EruginError) and not before:
                raise
            self._names.pop()
            raise PhasedSimulationError(
                f"{label}: {error}", self.motion(str(error)), Status.FAILED
            ) from error.__cause__
        self._append(segment, jump, impact)
        return segment

    def _append(self, segment: Trajectory, jump: ConsistentVelocity | None, impact: Impact | None) -> None:
        self._segments.append(segment)
        self._jumps.append(jump)
        self._impacts.append(impact)


def plant_values(plant: Robot, p: Values, shared: Collection[str]) -> Values:
    """Return the parameters without those that only plants of other segments have.

    Args:
        plant: plant of the segment.
        p: parameters of the motion's plant.
        shared: names that a plant may lack.
    """
    if not isinstance(p, Mapping):
        return p
    return {name: value for name, value in p.items() if name in plant.parameters.names or name not in shared}


def require_values(phase: Phase, simulator: Simulator, p: Values, word: str = "phase") -> None:
    """Check parameters before the motion starts.

    Args:
        phase: the phase with the controller, its contacts and parameters.
        simulator: simulator of its plant and controller.
        p: the plant's parameters without positions of contacts.
        word: name for a segment in messages.

    Raises:
        ParameterError, ShapeError: if they are not parameters of plant and controller.
    """
    found = dict.fromkeys(phase.places, 0.0)
    try:
        simulator.values(*with_contact_parameters(phase, p, phase.controller_p, found))
    except (ParameterError, ShapeError) as error:
        raise type(error)(f"{word} {phase.name!r}: {error}") from error
