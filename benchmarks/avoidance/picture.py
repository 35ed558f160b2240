"""A picture of scenes and of the ways that the methods take through them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .motion import Mover
from .scenes import COUNTS, LENGTH, STEP, random_scenes
from .tuning import methods


def draw(file: Path, *, seed: int = 1, sample: int = 40) -> None:
    """One scene each of 1, 2, 3 and 5 discs, the one in which the field's way is the longest of ``sample`` scenes.

    Discs are drawn where they are every 3 s, the later the darker, and so are dots on the ways.

    Args:
        file: where to save it; its ending says the format.
        seed: of the scenes.
        sample: how many scenes to choose from.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    figure = Figure(figsize=(8.0, 9.0), layout="constrained")
    colors = ("tab:blue", "tab:cyan", "tab:orange", "tab:red", "tab:green", "tab:purple")
    for axes, count in zip(figure.subplots(4, 1, sharex=True), COUNTS, strict=True):
        scenes = random_scenes(sample, count, 2, seed)
        every = methods(2)
        movers = [Mover(method, count, 2) for method in every]
        field = movers[0].outcome(scenes)
        pick = int(np.argmax(np.where(field.safe, field.length, 0.0)))
        scene = scenes[pick : pick + 1]
        for k, time in enumerate(np.arange(0.0, 13.0, 3.0)):
            for center, drift, radius in zip(scene.centers[0], scene.velocities[0], scene.radii[0], strict=True):
                axes.add_patch(Circle(tuple(center + time * drift), radius, color="black", alpha=0.06 + 0.06 * k, lw=0))
        for method, mover, color in zip(every, movers, colors, strict=True):
            way = mover.trace(scene, mover.best(scene)[1])
            axes.plot(way[:, 0], way[:, 1], color=color, label=method.name, lw=1.2)
            dots = way[:: round(3.0 / STEP)]
            axes.plot(dots[:, 0], dots[:, 1], ".", color=color)
        axes.set(aspect="equal", xlim=(-0.5, LENGTH + 0.5), ylim=(-1.8, 1.8), ylabel="y [m]")
        axes.axhline(0.0, color="grey", lw=0.5)
    figure.axes[-1].set_xlabel("x [m]")
    figure.axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, 1.35), ncols=6, fontsize=7, frameon=False)
    figure.savefig(file, dpi=120)
