"""What a motion in phases has come to so far: how a phase begins, and what is handed back if it fails."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from ...controllers.program.consistent_velocity import ConsistentVelocity
from ...controllers.status import Status
from ...robots.contact.impact import Impact
from ...robots.robot import Robot
from ...symbolic.errors import EruginError, ParameterError, ShapeError
from ..phased_trajectory import PhasedTrajectory
from ..simulator import Simulator, Values
from ..trajectory import SimulationError, SimulationInterrupted, Trajectory
from .phase import ContactPositions, NoVelocityError, Phase, start_phase, with_contact_parameters

Array = NDArray[np.float64]
RunSegment = Callable[[Array, Values, Values], Trajectory]
"""One stretch, from the velocities at its start and the parameters of plant and controller."""


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


class PhaseRecord:
    """The segments of a motion, one after the other.

    Attributes:
        word: what messages call a stretch, ``"phase"`` or ``"mode"``.
        events: by which each segment ended, by name; None where none ended it.
    """

    def __init__(self, robot: Robot, p: Values, word: str, shared: Collection[str] = ()) -> None:
        """Nothing has moved.

        Args:
            robot: the motion's.
            p: the plant's parameters without places of contacts.
            word: what messages call a stretch.
            shared: names among p that a plant need not have, because that of another stretch has them.
        """
        self.word, self._robot, self._p, self._shared = word, robot, p, shared
        self._segments: list[Trajectory] = []
        self._names: list[str] = []
        self._jumps: list[ConsistentVelocity | None] = []
        self._impacts: list[Impact | None] = []
        self.events: list[str | None] = []
        self._stands: ContactPositions | None = None

    def motion(self, ending: str, accumulation: float | None = None) -> PhasedTrajectory:
        """The motion so far.

        Args:
            ending: why it ends here.
            accumulation: time at which its events accumulate, if they do [s].
        """
        events = tuple(self.events) + (None,) * (len(self._segments) - len(self.events))
        parts = tuple(self._segments), tuple(self._names), tuple(self._jumps)
        return PhasedTrajectory(*parts, ending, tuple(self._impacts), events, accumulation)

    def add(
        self, phase: Phase, t: float, q: Array, v: Array, run: RunSegment, blow: Impact | None = None
    ) -> Trajectory:
        """Begin a phase and run it.

        Args:
            phase: which one.
            t: time of its start [s].
            q: coordinates there, shape (nq,).
            v: velocities before it, shape (nv,).
            run: runs it.
            blow: an impact that ended the stretch before, if any.

        Returns:
            The new segment.

        Raises:
            PhasedSimulationError: if it cannot begin, or fails; the segments so far are attached.
            PhasedSimulationInterrupted: on Ctrl-C, likewise.
            EruginError: if the very first phase is refused.
        """
        jump, before, said = None, len(self._segments), f"{self.word} {phase.name!r}"
        self._names.append(phase.name)
        try:
            p = plant_values(phase.plant(self._robot), self._p, self._shared)
            start = start_phase(self._robot, phase, t, q, v, p, phase.controller_p, self._stands)
            self._stands, jump, blow = start.stands, start.jump, start.impact or blow
            segment = run(start.v, start.p, start.controller_p)
        except SimulationError as error:
            self._append(error.trajectory, jump, blow)
            raise PhasedSimulationError(f"{said}: {error}", self.motion(str(error)), error.status) from error
        except SimulationInterrupted as error:
            self._append(error.trajectory, jump, blow)
            raise PhasedSimulationInterrupted(f"{said}: {error}", self.motion("interrupted")) from error
        except (NoVelocityError, EruginError) as error:
            if isinstance(error, EruginError) and not before:
                raise
            self._names.pop()
            raise PhasedSimulationError(f"{said}: {error}", self.motion(str(error)), Status.FAILED) from error.__cause__
        self._append(segment, jump, blow)
        return segment

    def _append(self, segment: Trajectory, jump: ConsistentVelocity | None, blow: Impact | None) -> None:
        self._segments.append(segment)
        self._jumps.append(jump)
        self._impacts.append(blow)


def plant_values(plant: Robot, p: Values, shared: Collection[str]) -> Values:
    """Parameters without those that only plants of other stretches have.

    Args:
        plant: of the stretch.
        p: the motion's.
        shared: names that a plant need not have.
    """
    if not isinstance(p, Mapping):
        return p
    return {name: value for name, value in p.items() if name in plant.parameters.names or name not in shared}


def require_values(phase: Phase, simulator: Simulator, p: Values, word: str = "phase") -> None:
    """Say what is wrong with parameters before anything has moved.

    Args:
        phase: whose controller, contacts and parameters they are.
        simulator: of its plant and controller.
        p: the plant's parameters without places of contacts.
        word: what messages call a stretch.

    Raises:
        ParameterError, ShapeError: if they are no parameters of plant and controller.
    """
    found = dict.fromkeys(phase.places, 0.0)
    try:
        simulator.values(*with_contact_parameters(phase, p, phase.controller_p, found))
    except (ParameterError, ShapeError) as error:
        raise type(error)(f"{word} {phase.name!r}: {error}") from error
