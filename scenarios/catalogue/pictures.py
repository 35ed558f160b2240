"""Pictures that several scenarios share; matplotlib is imported when the first is drawn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import EruginField
from ...constraints.curves import Spline
from ...simulation.trajectory import Trajectory
from ..setup import Draw, Motion

if TYPE_CHECKING:
    from ...views.moving_obstacle import MovingObstaclePlots


OBSTACLE_PICTURES = ("path.png", "torques.png", "deviations.png", "field.png", "animation.gif")


def obstacle_pictures(
    field: EruginField, point: ca.SX, path: Spline, words: tuple[str, str, str] = ("tip", "arm", "disc")
) -> dict[str, Draw]:
    """Build the pictures of path, inputs, deviations, field and animation of a point that follows a planar field.

    Args:
        field: field that the point follows.
        point: position of the point in the plant's symbols, shape (2,).
        path: path of the field.
        words: names of the point, the robot and an obstacle in legends.
    """

    @functools.cache
    def plots() -> MovingObstaclePlots:
        from ...views.moving_obstacle import MovingObstaclePlots

        return MovingObstaclePlots(field, point, path.at(np.linspace(0.0, path.length, 300)), words=words)

    def drawing(name: str) -> Draw:
        def draw(motion: Trajectory, target: Path) -> None:
            plots().all()[name](motion, target)

        return draw

    return {name: drawing(name) for name in OBSTACLE_PICTURES}


def robot_pictures(traced: str = "") -> dict[str, Draw]:
    """Build a picture of the robot at several instants, and an animation.

    Args:
        traced: name of the point whose path is drawn; chosen automatically if empty.
    """

    def still(motion: Motion, target: Path) -> None:
        from ...views.stroboscope import motion_picture

        motion_picture(motion, target, traced=traced)

    def moving(motion: Motion, target: Path) -> None:
        from ...views.film import motion_film

        motion_film(motion, target, traced=traced)

    return {"motion.png": still, "animation.gif": moving}


Array = NDArray[np.float64]


def motion_pictures(count: int, traced: str = "") -> dict[str, Draw]:
    """Build plots over time, a picture of the robot at several instants, and an animation.

    Args:
        count: number of instants; avoid numbers whose instants coincide with the period of the motion.
        traced: name of the point whose path is drawn; chosen automatically if empty.
    """

    def overview(motion: Motion, target: Path) -> None:
        from ...views.time_series import overview_picture

        overview_picture(motion, target)

    def flashed(motion: Motion, target: Path) -> None:
        from ...views.stroboscope import draw

        draw(motion, target, flashes=count, traced=traced)

    def animated(motion: Motion, target: Path) -> None:
        from ...views.film import motion_film

        motion_film(motion, target, traced=traced)

    return {"overview.png": overview, "motion.png": flashed, "animation.gif": animated}


def response_pictures(
    ylabel: str, exact_label: str, response: Callable[[Trajectory], Array], exact: Callable[[Trajectory], Array]
) -> dict[str, Draw]:
    """Build a picture of a response with its closed form, and plots over time.

    Args:
        ylabel: label of the response, with its unit.
        exact_label: label of the closed form.
        response: function that returns the values of the response in a motion, shape (N,).
        exact: function that returns the values of the closed form, shape (N,).
    """

    def draw(motion: Trajectory, target: Path) -> None:
        from ...views.style import label_axes, new_figure, save_figure

        figure = new_figure(7.0, 3.6)
        axes = figure.subplots()
        axes.plot(motion.t, response(motion), color="black", linewidth=1.4, label="computed")
        axes.plot(motion.t, exact(motion), color="tab:orange", linestyle="--", linewidth=1.4, label=exact_label)
        label_axes(axes, ylabel, xlabel="time [s]")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        save_figure(figure, target)

    return {"response.png": draw, "overview.png": motion_pictures(2)["overview.png"]}
