"""What a simulation raises when it has to stop, with what was computed until then."""

from __future__ import annotations

from ..controllers.status import Status
from ..symbolic.errors import EruginError
from .trajectory import Trajectory


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
        trajectory: what was computed; a :class:`~erugin.scenarios.Trajectories` if it was a batch.
    """

    def __init__(self, trajectory: Trajectory, message: str = "") -> None:
        """Attach what was computed.

        Args:
            trajectory: the samples so far.
            message: how far it came; the time of the last sample if not given.
        """
        at = f"interrupted at t = {trajectory.t[-1]:g} s" if not message and len(trajectory) else "interrupted at once"
        super().__init__(message or at)
        self.trajectory = trajectory
