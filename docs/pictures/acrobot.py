"""Draws docs/pictures/acrobot.png, and prints the numbers beside it: python docs/pictures/acrobot.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from erugin.controllers import Controller
from erugin.controllers.baselines import (
    BrysonWeights,
    EnergyShaping,
    Lqr,
    TimeVaryingLqr,
    attraction_level,
    optimal_motion,
)
from erugin.controllers.wrappers import SampleAndHold, Saturation
from erugin.robots.examples import realaigym_acrobot
from erugin.scenarios import simulate
from erugin.simulation import Trajectory
from erugin.views.swing_up import draw_swing_ups

STEP, DURATION, UPRIGHT = 2e-3, 10.0, [np.pi, 0.0]
NAMES = ("q1", "q2", "v_q1", "v_q2")


def weights(state: tuple[float, ...], torque: float) -> BrysonWeights:
    """From the diagonals of Q and R."""
    return BrysonWeights({name: x**-0.5 for name, x in zip(NAMES, state, strict=True)}, {"M2": torque**-0.5})


def regulator(design: str, effort: float) -> Lqr:
    """Upright, with the benchmark's weights."""
    robot = realaigym_acrobot("C.1" if design == "C.1" else "C.0", effort=effort)
    return Lqr(robot, UPRIGHT, weights=weights((0.97, 0.93, 0.39, 0.26), 0.11), turns=["q1", "q2"])


def following(design: str, duration: float) -> TimeVaryingLqr:
    """Along a swing-up of least effort."""
    robot = realaigym_acrobot("C.1" if design == "C.1" else "C.0")
    motion = optimal_motion(robot, [0.0, 0.0], UPRIGHT, duration).motion
    return TimeVaryingLqr(robot, motion, weights=weights((0.64, 0.56, 0.13, 0.037), 0.82), turns=["q1", "q2"])


def scored(run: Trajectory) -> str:
    """Score of the leaderboard."""
    up = run.evaluate(run.robot.points["tip"])[:, 1] > 0.45
    u, limited = run.u[:-1, 0], float((run.status != 0).mean())
    time = f"{run.t[np.flatnonzero(~up)[-1] + 1]:6.3f} s" if up[-1] else "never up"
    energy = np.abs(np.diff(run.q[:, 1]) * u).sum()
    return (
        f"{time}, {energy:6.2f} J, torque {np.abs(u).max():5.2f} N m, cut off {100 * limited:4.1f} % of the time, "
        f"u² {(u**2).sum() * STEP:6.2f}, v² {(run.v[:-1] ** 2).sum() * STEP:6.1f}"
    )


def main() -> None:
    """The benchmark's runs: torque cut off at the limit and held for 2 ms."""
    upright = regulator("C.1", 6.0)
    level = 0.8 * attraction_level(upright)
    laws: dict[str, Controller] = {
        "energy shaping, published gains, C.0": EnergyShaping(regulator("C.0", 5.0), level=15.0),
        "energy shaping, own gains, C.1": EnergyShaping(upright, level=level, stiffness=5.0, damping=6.0, energy=4.0),
        "time-varying LQR, least effort in 5 s, C.1": following("C.1", 5.0),
        "energy shaping, published gains, C.1": EnergyShaping(upright, level=level),
        "time-varying LQR, least effort in 4 s, C.1": following("C.1", 4.0),
        "time-varying LQR, least effort in 6 s, C.1": following("C.1", 6.0),
        "time-varying LQR, least effort in 5 s, C.0": following("C.0", 5.0),
    }
    runs = {
        name: simulate(law.robot, SampleAndHold(Saturation(law), STEP), [0.0, 0.0], [0.0, 0.0], DURATION, step=STEP)
        for name, law in laws.items()
    }
    print(f"level {level:.4f}")
    for name, run in runs.items():
        print(f"{name:44} {scored(run)}")
    drawn = {name.replace(", ", "\n", 1): runs[name] for name in list(runs)[:3]}
    draw_swing_ups(drawn, until=6.0).savefig(Path(__file__).with_name("acrobot.png"))


if __name__ == "__main__":
    main()
