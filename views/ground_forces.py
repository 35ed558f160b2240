"""Pictures of a stance and of a walk: ground forces, required friction, centre of pressure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import casadi as ca
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy.typing import NDArray

from ..simulation.phased_trajectory import PhasedTrajectory
from ..simulation.trajectory import Trajectory
from ..symbolic.errors import ModelError, ShapeError
from ..symbolic.validation import finite, not_negative, positive, vector
from .style import OBSTACLE_COLOR, PATH_COLOR, label_axes, new_figure, require_samples

STYLES = ("-", "--", ":", "-.")


def draw_stance(
    motion: Trajectory, names: Sequence[str], upwards: ca.SX, friction: ca.SX, pressure: ca.SX, *, balance: float
) -> Figure:
    """Draw upward force, required friction and centre of pressure over time.

    Args:
        motion: motion of a robot on its contacts.
        names: names of the contacts, k of them.
        upwards: upward force of the ground at each contact, shape (k,) [N].
        friction: coefficient of friction that each contact requires, shape (k,).
        pressure: x of the centre of pressure of all contacts [m].
        balance: x of the centre of mass that the program prescribes [m].

    Raises:
        ModelError: if ``balance`` is not finite, or the motion has no samples.
        ShapeError: for another number of forces or coefficients than of names.
    """
    require_samples(motion)
    for what, expression in (("upwards", upwards), ("friction", friction)):
        if not len(names) or expression.numel() != len(names):
            raise ShapeError(f"{what} must have an entry for each of {list(names)}, got shape {expression.shape}")
    balance = finite("balance", balance)
    figure = new_figure(7.0, 6.5)
    forces: Axes
    needs: Axes
    centre: Axes
    forces, needs, centre = figure.subplots(3, 1, sharex=True)
    for axes, expression in ((forces, upwards), (needs, friction)):
        columns = motion.evaluate(expression).reshape(len(motion), -1).T
        for style, name, values in zip(cycle(STYLES), names, columns):
            axes.plot(motion.t, values, style, color="black", label=name)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    label_axes(forces, "upward force\nof the ground [N]")
    label_axes(needs, "friction needed")
    centre.plot(motion.t, motion.evaluate(pressure), color="black", label="centre of pressure")
    centre.axhline(balance, color="0.6", linewidth=0.8, label="centre of mass")
    centre.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    label_axes(centre, "x from the ankles [m]", xlabel="time [s]")
    return figure


COLORS = ("tab:blue", "tab:orange", "0.35", "tab:green", "tab:purple")
WEIGHTS = (1.1, 1.1, 2.0)
MOST = 1000
"""Postures in one picture."""
DEPTH = 0.06
"""Depth of the drawn ground [m]."""


@dataclass(frozen=True, eq=False)
class WalkStep:
    """Expressions for the picture of one phase of a walk.

    Attributes:
        swing: position of the swing foot, an expression in the phase's plant, shape (2,) [m].
        force: force of the ground on the stance foot, along x and y, shape (2,) [N], without inputs.
        pressure: x of the centre of pressure relative to the stance foot [m], without inputs.
        rock: x, y and radius of an obstacle under the swing foot [m], or None.
        margin: clearance from the rock [m].

    Raises:
        ModelError: for a radius that is not positive, or a negative margin.
        ShapeError: for a rock that is not three finite numbers.
    """

    swing: ca.SX
    force: ca.SX
    pressure: ca.SX
    rock: tuple[float, float, float] | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        if self.rock is not None:
            x, y, radius = vector("rock", self.rock, 3).tolist()
            object.__setattr__(self, "rock", (x, y, positive("radius of the rock", radius)))
        object.__setattr__(self, "margin", not_negative("margin", self.margin))


def draw_walk(
    motion: PhasedTrajectory, steps: Sequence[WalkStep], parts: Mapping[str, Sequence[str]], *, every: float = 0.15
) -> Figure:
    """Draw postures in the plane, and the ground force and the centre of pressure over time.

    Args:
        motion: motion with as many phases as steps.
        steps: expressions for each phase.
        parts: names of the points to connect, by the name in the legend.
        every: interval between postures [s].

    Raises:
        ModelError: for another number of steps than of phases, a motion without samples, an interval that is not
            positive, or more than a thousand postures.
    """
    for one in (motion, *motion.segments):
        require_samples(one)
    if len(steps) != len(motion.segments):
        raise ModelError(f"steps must hold one for each of {len(motion.segments)} phases, got {len(steps)}")
    duration = float(motion.t[-1] - motion.t[0])
    if duration / positive("every", every) > MOST:
        raise ModelError(f"every = {every:g} s in {duration:g} s makes more than {MOST} postures: increase every=")
    figure = new_figure(8.0, 9.0)
    strip: Axes
    forces: Axes
    pressures: Axes
    strip, forces, pressures = figure.subplots(3, 1, height_ratios=(3.4, 1.0, 1.0))
    forces.sharex(pressures)
    _postures(strip, motion, parts, every)
    _ways(strip, motion, steps)
    label_axes(strip, "y [m]", xlabel="x [m]")
    strip.set_aspect("equal", adjustable="box")
    for axes in (forces, pressures):
        for t in motion.switches:
            axes.axvline(t, color=PATH_COLOR, linestyle=":", linewidth=1.2, label="impact")
    for k, (segment, step) in enumerate(zip(motion.segments, steps, strict=True)):
        force, away = segment.evaluate(step.force), segment.evaluate(step.pressure)
        named = k == 0
        forces.plot(segment.t, force[:, 1], color="black", linewidth=1.4, label="upwards" if named else "")
        forces.plot(
            segment.t, force[:, 0], color="black", linestyle="--", linewidth=1.2, label="forwards" if named else ""
        )
        pressures.plot(segment.t, away, color="black", linewidth=1.4)
    label_axes(forces, "ground force [N]")
    forces.tick_params(labelbottom=False)
    label_axes(pressures, "centre of pressure,\nfrom the foot [m]", xlabel="time [s]")
    for axes in (strip, forces):
        handles, labels = axes.get_legend_handles_labels()
        shown = dict(zip(labels, handles, strict=True))
        axes.legend(list(shown.values()), list(shown), loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def _postures(axes: Axes, motion: PhasedTrajectory, parts: Mapping[str, Sequence[str]], every: float) -> None:
    """Draw postures at their positions in the plane, at multiples of the interval."""
    for k, segment in enumerate(motion.segments):
        first, last = math.ceil(segment.t[0] / every - 1e-9), math.floor(segment.t[-1] / every + 1e-9)
        due: NDArray[np.float64] = every * np.array(range(first, last + 1), dtype=np.float64)
        chosen: NDArray[np.int64] = np.searchsorted(segment.t, due - 1e-9)
        for color, width, (name, points) in zip(cycle(COLORS), cycle(WEIGHTS), parts.items()):
            places = [segment.evaluate(segment.robot.points[point])[chosen] for point in points]
            chain: NDArray[np.float64] = np.stack(places)  # (points, postures, 2)
            for i in range(chain.shape[1]):
                label = name if k == i == 0 else ""
                axes.plot(*chain[:, i].T, "-o", color=color, linewidth=width, markersize=2.5, alpha=0.75, label=label)


def _ways(axes: Axes, motion: PhasedTrajectory, steps: Sequence[WalkStep]) -> None:
    """Draw the paths of the swing feet, and the rocks that they pass."""
    x_min, x_max = axes.get_xlim()
    axes.set(xlim=(x_min, x_max), ylim=(-DEPTH, axes.get_ylim()[1]))
    # In front of everything below the ground.
    axes.axhspan(-DEPTH, 0.0, facecolor="0.93", edgecolor="none", zorder=3)
    axes.axhline(0.0, color="black", linewidth=0.8, zorder=3)
    for k, (segment, step) in enumerate(zip(motion.segments, steps, strict=True)):
        axes.plot(
            *segment.evaluate(step.swing).T, color="black", linestyle="--", linewidth=1.2, zorder=4,
            label="foot in the air" if k == 0 else "",
        )  # fmt: skip
        if step.rock is None:
            continue
        x, y, radius = step.rock
        axes.add_patch(Circle((x, y), radius, color=OBSTACLE_COLOR, alpha=0.35, label="rock" if k == 0 else ""))
        axes.add_patch(
            Circle(
                (x, y), radius + step.margin, fill=False, edgecolor=OBSTACLE_COLOR, linestyle=":", linewidth=1.2,
                label="its margin" if k == 0 else "",
            )
        )  # fmt: skip
