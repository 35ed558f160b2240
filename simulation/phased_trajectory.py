"""Record of a motion in phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.program.consistent_velocity import ConsistentVelocity
from ..robots.contact.impact import Impact
from ..robots.robot import Robot
from .trajectory import Trajectory, ViewableMotion

if TYPE_CHECKING:
    import pandas
    import xarray


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PhasedTrajectory(ViewableMotion):
    """Segments of a motion in order. At a switch there are two samples of the same time, before and after it.

    Attributes:
        segments: one trajectory for each phase that ran, in order.
        names: names of the phases that ran, one per segment.
        jumps: change of the velocities at the start of each segment; None where they did not change.
        ending: reason for which the last segment ended.
        impacts: impact at the start of each segment that closed its contacts, or at the end of the segment before;
            None where there was no impact.
        events: for a motion in modes, name of the event that ended each segment; None where no event did.
        accumulation: time at which infinitely many events accumulate, if that ended the motion [s].
    """

    segments: tuple[Trajectory, ...] = field(repr=False)
    names: tuple[str, ...]
    jumps: tuple[ConsistentVelocity | None, ...] = field(repr=False)
    ending: str
    impacts: tuple[Impact | None, ...] = field(default=(), repr=False)
    events: tuple[str | None, ...] = field(default=(), repr=False)
    accumulation: float | None = None

    def __len__(self) -> int:
        """Number of samples."""
        return sum(len(segment) for segment in self.segments)

    @property
    def switches(self) -> Array:
        """Times at which one phase ended and the next started, shape (segments − 1,) [s]."""
        return np.array([segment.t[0] for segment in self.segments[1:]])

    @property
    def t(self) -> Array:
        """Times, shape (N,) [s]; that of a switch occurs twice."""
        return np.concatenate([np.zeros(0), *(segment.t for segment in self.segments)])

    @property
    def q(self) -> Array:
        """Coordinates, shape (N, nq), or (0, 0) without a segment."""
        return np.concatenate([segment.q for segment in self.segments]) if self.segments else np.zeros((0, 0))

    @property
    def v(self) -> Array:
        """Velocities, shape (N, nv), or (0, 0) without a segment."""
        return np.concatenate([segment.v for segment in self.segments]) if self.segments else np.zeros((0, 0))

    @property
    def energy(self) -> Array:
        """T + V, shape (N,) [J]."""
        return np.concatenate([np.zeros(0), *(segment.energy for segment in self.segments)])

    @property
    def phase(self) -> NDArray[np.int64]:
        """Index of the segment of each sample, shape (N,)."""
        return np.repeat(np.arange(len(self.segments)), [len(segment) for segment in self.segments])

    @property
    def ok(self) -> bool:
        """True if every sample has status OK."""
        return all(segment.ok for segment in self.segments)

    def evaluate(self, expression: ca.SX) -> Array:
        """Return the values of an expression along the motion.

        Args:
            expression: a scalar or column in the plant's symbols t, q, v and p.

        Returns:
            Shape (N,) for a scalar, (N, k) for a column; (0,) without a segment.

        Raises:
            ModelError: for a matrix, or a foreign symbol.
        """
        values = [segment.evaluate(expression) for segment in self.segments]
        return np.concatenate(values) if values else np.zeros(0)

    def to_xarray(self) -> xarray.Dataset:
        """Return all samples with names, units and phases; requires the extra ``data``."""
        from .storage.data_frames import phased_dataset

        return phased_dataset(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table over time, a column for each number and one for the phase; units are in ``attrs["units"]``.

        Requires the extra ``data``.
        """
        from .storage.data_frames import phased_frame

        return phased_frame(self)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        robot: Robot | Sequence[Robot] | None = None,
        controller: Controller | Sequence[Controller | None] | None = None,
    ) -> PhasedTrajectory:
        """Load a motion written by :meth:`save`; see :func:`~erugin.simulation.load_motion`.

        Args:
            path: path of the file.
            robot: the plant that moved, or one for each segment where phases have different plants; without it the
                motion can be plotted and saved, but not evaluated or animated.
            controller: the controller, or one for each segment.

        Raises:
            MotionFileError: for a file that does not contain a motion in phases, or robots or controllers that differ
                from those of the file.
        """
        from .storage.motion_file import load_as

        return load_as(cls, path, robot, controller)
