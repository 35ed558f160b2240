"""What the ground has to bear: forces of the contacts, the friction they need, and the centre of pressure."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..trajectory import Trajectory
from .style import lines, new_figure

STYLES = ("-", "--", ":", "-.")


def stand(
    motion: Trajectory, names: Sequence[str], upwards: ca.SX, friction: ca.SX, pressure: ca.SX, *, balance: float
) -> Figure:
    """Three plots over time.

    Args:
        motion: of a robot on its contacts.
        names: of the contacts, k of them.
        upwards: force of the ground on each, shape (k,) [N].
        friction: coefficient that each needs, shape (k,).
        pressure: x of the centre of pressure of all of them [m].
        balance: x over which the centre of mass is held [m].
    """
    figure = new_figure(7.0, 6.5)
    forces: Axes
    needs: Axes
    centre: Axes
    forces, needs, centre = figure.subplots(3, 1, sharex=True)
    for axes, expression in ((forces, upwards), (needs, friction)):
        for style, name, values in zip(STYLES, names, motion.evaluate(expression).T, strict=False):
            axes.plot(motion.t, values, style, color="black", label=name)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    lines(forces, "upward force\nof the ground [N]")
    lines(needs, "friction needed")
    centre.plot(motion.t, motion.evaluate(pressure), color="black", label="centre of pressure")
    centre.axhline(balance, color="0.6", linewidth=0.8, label="centre of mass")
    centre.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    lines(centre, "x from the ankles [m]", xlabel="time [s]")
    return figure
