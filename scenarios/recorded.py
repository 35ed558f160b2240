"""What records of motions have in common: files and pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    from .phased_trajectory import PhasedTrajectory
    from .trajectories import Trajectories
    from .trajectory import Trajectory


class Recorded(ABC):
    """A motion, or several, that can be kept in a file."""

    @abstractmethod
    def __len__(self) -> int:
        """How much there is: samples of one motion, or motions."""

    def save(self, path: str | Path) -> None:
        """Write everything but robots and controllers into a file, without loss, whole or not at all.

        Args:
            path: the file, which should end in ``.npz``; one that is there is replaced.

        Raises:
            MotionFileError: if it cannot be written.
        """
        from .saved import save_motion

        save_motion(cast("Trajectory | Trajectories | PhasedTrajectory", self), path)


class Shown(Recorded):
    """One motion, in one piece or in phases, that can be looked at."""

    def plot(self, *, velocities: bool = False, energy: bool = False, deviations: bool = True) -> Figure:
        """Coordinates and inputs over time, those of one unit in a panel of their own, deviations, switches of phases.

        Args:
            velocities: whether these are shown, too.
            energy: whether T + V is shown, too.
            deviations: whether deviations from the program are shown.

        Raises:
            ModelError: for a motion without samples.
        """
        from .plots.overview import overview

        return overview(self._motion, velocities=velocities, energy=energy, deviations=deviations)

    def draw(self, path: str | Path | None = None, *, flashes: int = 9) -> Figure:
        """The robot at several instants in one picture.

        Args:
            path: a file to save it in; none if not given.
            flashes: number of instants, at least two.

        Raises:
            ModelError: for fewer than two, no sample with finite numbers, or a motion that was loaded without its
                robot.
        """
        from .plots.motion import draw

        return draw(self._motion, path, flashes)

    def animate(
        self, path: str | Path | None = None, *, fps: float | None = None, speed: float | None = None
    ) -> FuncAnimation | None:
        """The motion as a film.

        Args:
            path: a file that ends in ``.gif``, or in ``.mp4`` where there is ffmpeg; a notebook shows
                ``animate().to_jshtml()`` without one.
            fps: frames per second [1/s]; so that there are at most a hundred frames if not given.
            speed: time in the motion over time in the film; 1 if not given and a hundred frames allow it.

        Raises:
            ModelError: for another kind of file, a number that is not positive, more than 3000 frames, no sample with
                finite numbers, or a motion that was loaded without its robot.
        """
        from .plots.animation import animate

        return animate(self._motion, path, fps, speed)

    @property
    def _motion(self) -> Trajectory | PhasedTrajectory:
        return cast("Trajectory | PhasedTrajectory", self)
