"""Draws docs/pictures/crane.png, and prints the numbers beside it: python docs/pictures/crane.py."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
from matplotlib.figure import Figure

from erugin.constraints import holonomic
from erugin.controllers import Program, transition
from erugin.controllers.servo import ServoController
from erugin.robots.examples import altmann_heiland_crane
from erugin.scenarios import simulate

DURATION, STEP, EVERY = 6.0, 5e-3, 0.5
EXACT = {1.5: (25.2645592, -95.5710597), 3.3: (-17.8602834, -100.1533751), 4.5: (-24.7225147, -100.6741575)}
"""F [N] and M [N m] at some times [s]: the exact solution by the authors' code, github.com/highlando/holo-servo-opt."""


def main() -> None:
    """The manoeuvre of Altmann and Heiland: 1 m to the side and 1 m down from rest to rest."""
    robot = altmann_heiland_crane()
    s = transition(robot.t, DURATION, smoothness=6)
    program = Program(robot, holonomic(robot.points["load"] - ca.vertcat(s, -4.0 - s), name="load"))
    law = ServoController(program, near=[0.0, 4.0, 0.0], rates=3.0)
    start = law.feedforward(0.0)
    motion = simulate(robot, law, start.q, start.v, DURATION, step=STEP)
    for t, exact in EXACT.items():
        off = np.abs(motion.u[round(t / STEP)] - exact)
        print(f"t = {t} s: {off[0]:.0e} N and {off[1]:.0e} N m from the authors' exact solution")
    print(f"load off its path by {np.abs(motion.deviation).max():.0e} m at most")

    figure = Figure(figsize=(10.0, 4.8), dpi=110, layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.9))
    scene, force, moment = (figure.add_subplot(grid[place]) for place in ((slice(None), 0), (0, 1), (1, 1)))
    load = motion.evaluate(robot.points["load"])
    for i in range(0, motion.t.size, round(EVERY / STEP)):
        scene.plot([motion.q[i, 0], load[i, 0]], [0.0, load[i, 1]], color="0.7", linewidth=0.8)
        scene.plot(motion.q[i, 0], 0.0, "s", color="0.3", markersize=4)
        scene.plot(*load[i], "o", color="C3", markersize=5)
    scene.plot(*load.T, color="C3", linewidth=1.5)
    scene.axhline(0.0, color="0.3", linewidth=1.0, zorder=0)
    scene.set(title=f"trolley, rope and load every {EVERY} s", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    scene.set(xlim=(-0.9, 1.9), ylim=(-5.4, 0.4))
    for axes, column, label in ((force, 0, "F [N]"), (moment, 1, "M [N m]")):
        axes.plot(motion.t, motion.u[:, column], color="C0")
        axes.plot(list(EXACT), [exact[column] for exact in EXACT.values()], "o", color="C1", markersize=7, mfc="none")
        axes.set_ylabel(label)
        axes.grid(True, color="0.92")
    force.set_title("force on the trolley, moment of the winch; rings: exact solution by the authors' code", fontsize=9)
    scene.title.set_fontsize(9)
    force.tick_params(labelbottom=False)
    moment.set_xlabel("t [s]")
    figure.savefig(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
