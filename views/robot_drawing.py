"""Drawings of a robot: its postures at the samples of a motion, and the axes in which they are drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import casadi as ca
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..simulation.phased_trajectory import PhasedTrajectory
from ..simulation.trajectory import SAMPLED, Trajectory
from ..symbolic.errors import ModelError
from .skeleton import Kind, Skeleton
from .style import PATH_COLOR

Array = NDArray[np.float64]
Motion = Trajectory | PhasedTrajectory
SEEN = 2000
"""Largest number of samples of a segment that are evaluated."""
SLIMMEST = 0.3
"""Smallest extent of the box along an axis, relative to the largest one."""
MARGIN = 0.07
"""Margin around the box, relative to the largest extent."""
TRIAD = 0.12
"""Length of a frame's axes, relative to the largest extent."""
FLOWN = 100.0
"""Distance from the start, relative to the median over the samples, beyond which a robot has diverged."""


@dataclass(frozen=True, eq=False)
class Posture:
    """Positions of everything at one instant.

    Attributes:
        t: the instant [s].
        lines: corners of each line, shape (k, dimension) [m], and its kind.
        still: positions that do not move with the robot, shape (k, dimension) [m].
        points: positions without lines, shape (k, dimension) [m].
        triads: origin, shape (3,) [m], and axes, shape (3, 3), of each drawn frame.
        way: path of the traced point so far, shape (k, dimension) [m].
    """

    t: float
    lines: list[tuple[Array, Kind]]
    still: Array
    points: Array
    triads: list[tuple[Array, Array]]
    way: Array


@dataclass(frozen=True, eq=False)
class SegmentPostures:
    """Positions of one skeleton at the samples of a segment.

    Attributes:
        skeleton: the skeleton.
        t: times, shape (n,) [s].
        x: positions, shape (n, places, dimension) [m].
        axes: axes of the frames, shape (n, frames, 3, 3).
    """

    skeleton: Skeleton
    t: Array
    x: Array
    axes: Array

    @classmethod
    def of(cls, motion: Trajectory, traced: str = "") -> SegmentPostures | None:
        """Evaluate a motion, without samples that are not finite or far out, as at the end of a diverged one.

        Args:
            motion: motion of a known robot.
            traced: name of the point whose path is drawn; chosen automatically by default.

        Returns:
            The postures, or None if nothing can be drawn.
        """
        skeleton = Skeleton.of(motion.robot, traced)
        if skeleton is None:
            return None
        few = thinned(motion)
        every = few.evaluate(ca.vertcat(ca.vec(skeleton.places), ca.vec(skeleton.triads))).reshape(len(few), -1)
        good = np.isfinite(every).all(axis=1)
        every, count = every[good], skeleton.places.numel()
        x = every[:, :count].reshape(len(every), skeleton.places.size2(), skeleton.dimension)
        # CasADi's order is column by column.
        axes = every[:, count:].reshape(len(every), len(skeleton.origins), 3, 3).transpose(0, 1, 3, 2)
        near = np.ones(len(x), dtype=np.bool_) if motion.ok else _near(x)
        return cls(skeleton, few.t[good][near], x[near], axes[near])

    def posture(self, k: int, before: Array) -> Posture:
        """Return the posture at one of the samples.

        Args:
            k: index of the sample.
            before: path of the traced point up to the first sample, shape (n, dimension) [m].
        """
        s = self.skeleton
        own = np.zeros((0, s.dimension)) if s.traced is None else self.x[: k + 1, s.traced]
        drawn = {i for line in s.lines for i in line.places}
        free = [i for i in range(self.x.shape[1]) if not s.lines and i not in drawn]
        return Posture(
            t=float(self.t[k]),
            lines=[(self.x[k, list(line.places)], line.kind) for line in s.lines],
            still=self.x[k, list(s.still)],
            points=self.x[k, free],
            triads=[(self.x[k, i], self.axes[k, j]) for j, i in enumerate(s.origins)],
            way=np.concatenate([before, own]),
        )


@dataclass(frozen=True, eq=False)
class MotionPostures:
    """Positions of a motion, in one segment or several.

    Attributes:
        segments: at least one segment, with samples.
    """

    segments: tuple[SegmentPostures, ...]

    @classmethod
    def of(cls, motion: Motion, traced: str = "") -> MotionPostures | None:
        """Evaluate a motion; None for robots without points in space.

        Args:
            motion: motion of known robots.
            traced: name of the point whose path is drawn; chosen automatically by default.

        Raises:
            ModelError: for a motion without a finite sample, or a point that the robot does not have.
        """
        segments = motion.segments if isinstance(motion, PhasedTrajectory) else (motion,)
        found = [SegmentPostures.of(segment, traced) for segment in segments if len(segment)]
        if found and all(places is None for places in found):
            return None
        known = tuple(places for places in found if places is not None and len(places.t))
        if not known:
            raise ModelError("the motion has no sample with finite values to draw")
        return cls(known)

    @property
    def dimension(self) -> int:
        """Dimension of the space, 2 or 3."""
        return self.segments[0].skeleton.dimension

    @property
    def name(self) -> str:
        """Name of the traced point, or empty."""
        return self.segments[0].skeleton.name

    @property
    def t(self) -> Array:
        """Times of all samples, shape (n,) [s]."""
        return np.concatenate([places.t for places in self.segments])

    def postures(self, count: int) -> list[Posture]:
        """Return postures spread evenly in time, including the first and the last.

        Args:
            count: largest number of postures, at least two.
        """
        return [self._posture(k) for k in spread(self.t, count)]

    def _posture(self, k: int) -> Posture:
        before = np.zeros((0, self.dimension))
        for places in self.segments:
            if k < len(places.t):
                return places.posture(k, before)
            k -= len(places.t)
            traced = places.skeleton.traced
            before = before if traced is None else np.concatenate([before, places.x[:, traced]])
        raise IndexError("sample index out of range")

    @property
    def limits(self) -> tuple[Array, Array]:
        """Corners of a box around everything, with no extent much smaller than the others, shape (dimension,) [m]."""
        seen = np.concatenate([places.x.reshape(-1, self.dimension) for places in self.segments])
        low, high = seen.min(axis=0), seen.max(axis=0)
        size = float((high - low).max()) or 1.0
        margin = TRIAD if any(places.skeleton.origins for places in self.segments) else MARGIN
        middle, half = (low + high) / 2, np.maximum(high - low, SLIMMEST * size) / 2 + margin * size
        return middle - half, middle + half


def _near(x: Array) -> NDArray[np.bool_]:
    """True for samples of positions, shape (n, places, dimension), that have not diverged."""
    if not len(x):
        return np.zeros(0, dtype=np.bool_)
    with np.errstate(over="ignore"):
        out = np.abs(x - x[0].mean(axis=0)).max(axis=(1, 2))
        usual = float(np.median(out))
        return np.asarray(out <= (FLOWN * usual if usual > 0.0 else np.inf), dtype=np.bool_)


def spread(t: Array, count: int) -> list[int]:
    """Return indices of samples that are spread evenly in time, without repetitions.

    Args:
        t: times, ascending, shape (n,) [s].
        count: largest number of samples, at least two.
    """
    wanted: Array = np.asarray(np.linspace(float(t[0]), float(t[-1]), count), dtype=np.float64)
    # The last of several samples of the same time, such as that after a switch.
    return list(dict.fromkeys(np.clip(np.searchsorted(t, wanted + 1e-9, side="right") - 1, 0, len(t) - 1).tolist()))


def thinned(motion: Trajectory) -> Trajectory:
    """Return the same motion with at most :data:`SEEN` samples.

    Args:
        motion: the motion.
    """
    if len(motion) <= SEEN:
        return motion
    kept = np.unique(np.linspace(0, len(motion) - 1, SEEN).astype(int))
    arrays: dict[str, Any] = {name: getattr(motion, name)[kept] for name in SAMPLED}
    return replace(motion, **arrays)


Color = str | tuple[float, float, float, float]
AXES = "xyz"
TRIAD_COLORS = ("tab:red", "tab:green", "tab:blue")


class RobotAxes:
    """Axes with fixed limits and equal scales for the motion of a robot.

    Attributes:
        axes: matplotlib's axes, in the plane or in space.
    """

    def __init__(self, figure: Figure, places: MotionPostures) -> None:
        """Create the axes.

        Args:
            figure: the figure.
            places: positions of the motion.
        """
        low, high = places.limits
        self._dimension, self._triad = places.dimension, TRIAD * float((high - low).max())
        space = {"projection": "3d"} if self._dimension == 3 else {}
        # matplotlib's stubs hardly cover three-dimensional axes.
        self.axes = cast(Any, figure.add_subplot(**space))
        for name, start, end in zip(AXES, low, high, strict=False):
            getattr(self.axes, f"set_{name}lim")(float(start), float(end))
            getattr(self.axes, f"set_{name}label")(f"{name} [m]")
        if self._dimension == 3:
            # Without this zoom the labels of a tall box would be cut off below.
            tall = (high - low)[2] > 1.1 * (high - low)[:2].max()
            self.axes.set_box_aspect(tuple(high - low), zoom=0.78 if tall else 0.85)
            self.axes.zaxis.labelpad = 14.0
            self.axes.view_init(elev=22.0, azim=-58.0)
            self.axes.tick_params(labelsize=8, pad=1)
            for name, extent in zip(AXES, (high - low) / (high - low).max(), strict=True):
                self.axes.locator_params(axis=name, nbins=max(2, round(5 * float(extent))))
        else:
            self.axes.set_aspect("equal", adjustable="box")
            self.axes.grid(True, color="0.92", linewidth=0.8)
            self.axes.set_axisbelow(True)

    def robot(self, posture: Posture, color: Color, *, width: float = 2.0, alpha: float = 1.0) -> list[Any]:
        """Draw the robot at one instant.

        Args:
            posture: the posture.
            color: color of its links.
            width: width of its links [points].
            alpha: opacity, in [0, 1].

        Returns:
            The artists, which can be removed again.
        """
        drawn: list[Any] = []
        style = {"color": color, "alpha": alpha, "solid_capstyle": "round", "zorder": 4}
        for corners, kind in posture.lines:
            if kind == "wheel":
                drawn += self.axes.plot(*corners.T, **style, linewidth=2.4 * width)
            else:
                size = 2.2 if len(posture.lines) > 12 else 1.6 * width + 1.0
                drawn += self.axes.plot(*corners.T, "-o", **style, linewidth=width, markersize=size)
        if len(posture.points):
            drawn += self.axes.plot(*posture.points.T, "o", color=color, alpha=alpha, zorder=4)
        for origin, axes in posture.triads:
            for axis, own in zip(axes.T, TRIAD_COLORS, strict=True):
                ends = np.array([origin, origin + self._triad * axis])
                drawn += self.axes.plot(*ends.T, color=own, alpha=alpha, linewidth=1.6, zorder=5)
        return drawn

    def ground(self, posture: Posture) -> list[Any]:
        """Mark the positions that do not move with the robot.

        Args:
            posture: any posture of the motion.

        Returns:
            The artists.
        """
        if not len(posture.still):
            return []
        return list(self.axes.plot(*posture.still.T, "s", color="black", markersize=5, linestyle="none", zorder=6))

    def way(self, way: Array, color: Color = PATH_COLOR, *, label: str = "") -> list[Any]:
        """Draw the path of a point.

        Args:
            way: the path, shape (k, dimension) [m].
            color: color of the line.
            label: label in the legend.
        """
        return list(self.axes.plot(*way.T, color=color, linewidth=1.2, label=label, zorder=3))
