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
    """Path, inputs, deviations, field and animation of a point that follows a field in the plane.

    Args:
        field: what the point follows.
        point: in the plant's symbols, shape (2,).
        path: that the field leads along.
        words: what legends call the point, the robot and an obstacle.
    """

    @functools.cache
    def plots() -> MovingObstaclePlots:
        from ...views.moving_obstacle import MovingObstaclePlots

        return MovingObstaclePlots(field, point, path.at(np.linspace(0.0, path.length, 300)), words=words)

    def drawn(name: str) -> Draw:
        def draw(motion: Trajectory, target: Path) -> None:
            plots().all()[name](motion, target)

        return draw

    return {name: drawn(name) for name in OBSTACLE_PICTURES}


def robot_pictures(traced: str = "") -> dict[str, Draw]:
    """The robot at several instants, and moving.

    Args:
        traced: name of the point whose way is drawn; chosen if not given.
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
    """Plots over time, the robot at some instants, and an animation.

    Args:
        count: of the instants; another one where the usual ones fall on the period of the motion.
        traced: name of the point whose way is drawn; chosen if not given.
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
    ylabel: str, exact: str, seen: Callable[[Trajectory], Array], known: Callable[[Trajectory], Array]
) -> dict[str, Draw]:
    """What answers an input, with the closed form that it should be, and plots of all over time.

    Args:
        ylabel: what it is, with its unit.
        exact: what the closed form is called.
        seen: its values in a motion, shape (N,).
        known: likewise those of the closed form.
    """

    def drawn(motion: Trajectory, target: Path) -> None:
        from ...views.style import label_axes, new_figure, save_figure

        figure = new_figure(7.0, 3.6)
        axes = figure.subplots()
        axes.plot(motion.t, seen(motion), color="black", linewidth=1.4, label="computed")
        axes.plot(motion.t, known(motion), color="tab:orange", linestyle="--", linewidth=1.4, label=exact)
        label_axes(axes, ylabel, xlabel="time [s]")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        save_figure(figure, target)

    return {"response.png": drawn, "overview.png": motion_pictures(2)["overview.png"]}
