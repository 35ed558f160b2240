"""Draws docs/pictures/seven_joint_arm.png, and prints the numbers: python -m docs.pictures.seven_joint_arm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from erugin.views.style import label_axes, new_figure
from tests.support.viviani import RATE, drawing


def main() -> None:
    """The hand and its curve in space; the torques over time."""
    robot, hand, target, motion = drawing()
    place, aim = motion.evaluate(hand), motion.evaluate(target)
    share = 100.0 * motion.u / robot.limits.effort
    left = (np.linalg.norm(place - aim, axis=1) - 0.02 * (1 + RATE * motion.t) * np.exp(-RATE * motion.t)).max()
    print(f"off the closed form {left:.1e} m, rest {np.abs(motion.deviation[:, 3:]).max():.1e}")
    print("largest share of the torques [%]", np.abs(share).max(axis=0).round(1))
    figure = new_figure(9.6, 4.4)
    space: Any = figure.add_subplot(1, 2, 1, projection="3d")
    space.plot(*aim.T, color="0.55", linestyle="--", linewidth=1.4, label="Viviani's curve")
    space.plot(*place.T, color="tab:blue", linewidth=1.6, label="hand")
    space.plot(*place[:1].T, "o", color="black", markersize=5, label="start")
    space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    space.set_aspect("equal")
    space.zaxis.labelpad = 10.0
    space.locator_params(nbins=5)
    space.tick_params(labelsize=8)
    space.legend(loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=3, frameon=False, fontsize=9)
    torques = figure.add_subplot(1, 2, 2)
    for i, values in enumerate(share.T):
        torques.plot(motion.t, values, linewidth=1.4, label=f"joint {i + 1}")
    label_axes(torques, "torque, share of its limit [%]", xlabel="time [s]")
    torques.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
