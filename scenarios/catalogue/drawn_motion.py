"""Pictures of motions of bodies and economies; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..setup import Draw, Motion
from ..trajectory import Trajectory
from .rising import Ground

Array = NDArray[np.float64]


def flashes_of(count: int, traced: str = "") -> dict[str, Draw]:
    """Plots over time, the robot at some instants, and an animation.

    Args:
        count: of the instants; another one where the usual ones fall on the period of the motion.
        traced: name of the point whose way is drawn; chosen if not given.
    """

    def overview(motion: Motion, target: Path) -> None:
        from ..plots.overview import overview_picture

        overview_picture(motion, target)

    def flashed(motion: Motion, target: Path) -> None:
        from ..plots.motion import draw

        draw(motion, target, flashes=count, traced=traced)

    def animated(motion: Motion, target: Path) -> None:
        from ..plots.motion import animation

        animation(motion, target, traced=traced)

    return {"overview.png": overview, "motion.png": flashed, "animation.gif": animated}


def growth_pictures(indices: Mapping[str, ca.SX], first_year: float) -> dict[str, Draw]:
    """Indices and subsidies over years.

    Args:
        indices: scalar expressions in the plant's symbols, by name.
        first_year: at t = 0.
    """

    def drawn(motion: Trajectory, target: Path) -> None:
        from ..plots.growth import growth
        from ..plots.style import save

        save(growth(motion, indices, first_year=first_year), target)

    return {"growth.png": drawn}


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
        from ..plots.style import lines, new_figure, save

        figure = new_figure(7.0, 3.6)
        axes = figure.subplots()
        axes.plot(motion.t, seen(motion), color="black", linewidth=1.4, label="computed")
        axes.plot(motion.t, known(motion), color="tab:orange", linestyle="--", linewidth=1.4, label=exact)
        lines(axes, ylabel, xlabel="time [s]")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        save(figure, target)

    return {"response.png": drawn, "overview.png": flashes_of(2)["overview.png"]}


def stand_pictures(names: Sequence[str], ground: Ground, balance: float) -> dict[str, Draw]:
    """What the ground has to bear, and the pictures of any motion.

    Args:
        names: of the contacts.
        ground: forces, friction and centre of pressure.
        balance: x over which the centre of mass is held [m].
    """

    def drawn(motion: Trajectory, target: Path) -> None:
        from ..plots.stand import stand
        from ..plots.style import save

        told = (ground.upwards, ground.friction, ground.pressure)
        save(stand(motion, names, *told, balance=balance), target)

    return {"ground.png": drawn, **flashes_of(9, "end4")}
