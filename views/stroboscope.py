"""A motion in one picture: the robot at several instants, as under a stroboscope; and default pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure

from ..simulation.phased_trajectory import PhasedTrajectory
from ..symbolic.errors import ModelError
from .film import motion_film
from .robot_drawing import Motion, MotionPostures, RobotAxes
from .style import new_figure, save_figure
from .time_series import CoordinateSeries, overview_picture

FLASHES = 9
SPACE, TALLEST = 0.8, 1.3
"""Height over width of a picture in space, and the largest such ratio of a picture in the plane."""
STAYS = 1e-3
"""Largest movement, relative to the size of the picture, for which no path is drawn."""
COLORS = "viridis"


def motion_picture(motion: Motion, target: Path, *, traced: str = "") -> None:
    """Save :func:`motion_figure` to a file, atomically.

    Args:
        motion: the motion, loaded with its robots.
        target: path of the file, of any type that matplotlib supports.
        traced: name of the point whose path is drawn; chosen automatically by default.
    """
    save_figure(motion_figure(motion, traced=traced), target)


def draw(motion: Motion, path: str | Path | None = None, flashes: int = FLASHES, traced: str = "") -> Figure:
    """Return :func:`motion_figure`, and save it if there is a path.

    Args:
        motion: the motion, loaded with its robots.
        path: path of a file of any type that matplotlib supports, or None.
        flashes: number of instants, at least two.
        traced: name of the point whose path is drawn; chosen automatically by default.
    """
    figure = motion_figure(motion, flashes=flashes, traced=traced)
    if path is not None:
        save_figure(figure, Path(path))
    return figure


def motion_figure(motion: Motion, *, flashes: int = FLASHES, traced: str = "") -> Figure:
    """Draw the robot at instants spread evenly over time, from dark to bright, and the path of its tip.

    For a robot without points in space, such as a circuit, draw its coordinates and velocities over time.

    Args:
        motion: the motion, loaded with its robots.
        flashes: number of instants, at least two.
        traced: name of the point whose path is drawn; chosen automatically by default.

    Raises:
        ModelError: for fewer than two flashes, a motion without finite samples, or one loaded without its robot.
    """
    if flashes < 2:
        raise ModelError(f"flashes must be at least 2, got {flashes!r}")
    places = MotionPostures.of(motion, traced)
    if places is None:
        return CoordinateSeries(motion, velocities=True).figure
    low, high = places.limits
    shape = SPACE if places.dimension == 3 else float((high - low)[1] / (high - low)[0])
    tall = max(shape, TALLEST)
    figure = new_figure(max(7.0 * TALLEST / tall, 5.0), 5.6 * float(np.clip(shape, 0.35, TALLEST)) + 0.9)
    stage = RobotAxes(figure, places)
    postures = places.postures(flashes)
    start, end = postures[0].t, postures[-1].t
    shades = Normalize(start, end if end > start else start + 1.0)
    # The brightest colours of the map would be invisible on white.
    colors = ListedColormap(colormaps[COLORS](np.linspace(0.0, 0.9, 256)))
    way = postures[-1].way
    # A point that closes a loop with the ground has a name, but does not move.
    moves = len(way) > 1 and float(np.ptp(way, axis=0).max()) > STAYS * float((high - low).max())
    stage.way(way, label=f"way of {places.name!r}" if moves else "")
    for posture in postures:
        stage.robot(posture, colors(float(shades(posture.t))), alpha=0.85)
    stage.ground(postures[0])
    bar = figure.colorbar(
        ScalarMappable(shades, colors), ax=stage.axes, label="time [s]", shrink=0.75, pad=0.1 if low.size == 3 else 0.03
    )
    bar.ax.tick_params(labelsize=8)
    if places.name and moves:
        figure.legend(loc="outside lower center", frameon=False)
    return figure


def default_pictures(motion: Motion) -> Mapping[str, Callable[[Any, Path], None]]:
    """Return drawing functions by file name: plots over time, and the robot, still and moving, if it is known.

    Args:
        motion: motion to be drawn; its robot decides which pictures are possible.
    """
    segments = motion.segments if isinstance(motion, PhasedTrajectory) else (motion,)
    pictures: dict[str, Callable[[Any, Path], None]] = {"overview.png": overview_picture}
    if segments and all(segment.plant is not None for segment in segments):
        pictures |= {"motion.png": motion_picture, "animation.gif": motion_film}
    return pictures
