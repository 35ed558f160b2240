"""Draws docs/pictures/robots.png: python docs/pictures/robots.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from erugin.robots import Robot, assemble
from erugin.robots.examples import andrews_squeezer, body_model, body_posture, klann_leg

STEP = {
    "support shin": 84, "support thigh": 95, "trunk": 87, "head": 84, "left upper arm": -100, "left forearm": -80,
    "right upper arm": -75, "right forearm": -45, "swing thigh": -55, "swing shin": -112, "swing foot": -25,
}  # fmt: skip


def outline(robot: Robot, q: ArrayLike) -> NDArray[np.float64]:
    """Points of a robot's chain, shape (points, 2)."""
    return np.array([robot.evaluate(robot.points[name], q=q) for name in robot.chain])


def main() -> None:
    """Three robots side by side."""
    body = body_model(body_mass=73.0, height=1.741, sex="male", stiffness=5e4, damping=300.0)
    posture = body_posture(height=1.741, sex="male", angles={name: np.radians(a) for name, a in STEP.items()})
    walker = klann_leg(scale=0.05, line_density=2.0)
    squeezer = andrews_squeezer()
    start = [-0.06, 0.0, 0.45, 0.22, 0.49, -0.22, 1.23]
    scenes = (
        ("body of eleven telescopic links", body, posture),
        ("six-bar leg (Klann)", walker, assemble(walker, [0.9] * walker.coordinates.nq).q),
        ("Andrews' squeezer", squeezer, assemble(squeezer, start).q),
    )
    figure = Figure(figsize=(10.0, 4.4), dpi=110, layout="constrained")
    for axes, (title, robot, q) in zip(figure.subplots(1, 3), scenes, strict=True):
        x, y = outline(robot, q).T
        axes.plot(x, y, "-o", color="0.15", markersize=4, linewidth=2.5)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")
        axes.set_aspect("equal", adjustable="datalim")
        axes.grid(True, color="0.92")
    figure.savefig(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
