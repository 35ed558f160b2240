"""Draws docs/pictures/two_wheel_tracking.png, and prints the numbers beside it: python docs/pictures/two_wheel.py."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np

from erugin.constraints import Baumgarte, tracking
from erugin.controllers import Controller, Program, ProgramController
from erugin.controllers.baselines import DynamicFeedbackLinearization, Kanayama, PlanarMotion, PurePursuit
from erugin.robots.examples import turtlebot3_burger
from erugin.scenarios import simulate
from erugin.views.two_wheel_tracking import draw_two_wheel_tracking

RATE, SPEED = 1.5, 0.25


def main() -> None:
    """Program control and three baseline laws, with one rate, from 0.3 m beside Bernoulli's lemniscate."""
    robot = turtlebot3_burger(form="reduced")
    tau = 0.3 * robot.t
    place = ca.vertcat(ca.cos(tau), ca.sin(tau) * ca.cos(tau)) / (1 + ca.sin(tau) ** 2)
    motion = PlanarMotion(robot, place)
    ahead = robot.p[robot.parameters.names.index("half_track")]
    nose = place + ahead * ca.vertcat(ca.cos(motion.heading), ca.sin(motion.heading))
    program = Program(robot, tracking(robot.points["nose"], nose, perturbation=Baumgarte(RATE)))
    laws: dict[str, Controller] = {
        "program, nose": ProgramController(program, realization="actuated"),
        "Kanayama": Kanayama.critically_damped(motion, rate=RATE, speed=SPEED),
        "dynamic feedback linearisation": DynamicFeedbackLinearization(motion, rate=RATE),
        "pure pursuit": PurePursuit.of_rate(motion, rate=RATE, speed=SPEED),
    }
    q0, v0 = motion.start(left=-0.3)
    runs = {name: simulate(robot, law, q0, v0, 21.0, step=5e-3) for name, law in laws.items()}
    for name, run in runs.items():
        away = np.hypot(*(run.q[:, :2] - run.evaluate(motion.place)).T)
        near = run.t[np.flatnonzero(away > 0.03)[-1]]
        torque = np.abs(run.u).max()
        print(f"{name:32} 3 cm off until {near:5.2f} s, at the end {away[-1]:.2e} m, torque {torque:.4f} N m")
    draw_two_wheel_tracking(motion, runs).savefig(Path(__file__).with_name("two_wheel_tracking.png"))


if __name__ == "__main__":
    main()
