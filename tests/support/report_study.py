"""A small study whose results are reported: names that are markup, runs that diverge, a metric that is infinite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import casadi as ca

from erugin.constraints import Baumgarte, FirstOrder, holonomic, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import Normal, Results, Scaled, Setup, Study, Uniform, scenario
from erugin.simulation import Trajectory

HOSTILE = "<script>document.title='broken'</script>"
IMAGE = '"><img src=x onerror="document.title=1">'


def sled() -> Robot:
    """A mass on ice, with a spring that pushes away, ever harder."""
    x, v, u, m, s = (ca.SX.sym(name) for name in ("x", "v", "u", "m", "s"))
    return lagrangian_system(
        q=x,
        v=v,
        u=u,
        Q=u,
        p=ca.vertcat(m, s),
        nominal={"m": 1.0, "s": 0.0},
        T=m * v**2 / 2,
        V=-s * x**4 / 4,
        name="sled",
    )


def law(alpha: float) -> Callable[[Setup], ProgramController]:
    """Makes a controller that follows a sine, and does not know of the spring."""

    def make(setup: Setup) -> ProgramController:
        path = holonomic(setup.robot.q - ca.sin(setup.robot.t), perturbation=Baumgarte(alpha), name="path")
        return ProgramController(Program(setup.robot, path), realization="actuated")

    return make


def draw(motion: Trajectory, path: Path) -> None:
    """A picture that costs nothing."""
    path.write_text("\n".join(map(str, motion.q[:, 0])), encoding="utf-8")


@scenario("sled")
def sled_on_ice(*, duration: float = 2.0, fine: bool = False) -> Setup:
    """A sled follows a sine on ice; <b>its spring</b> pushes it away.

    Its mass is not known. Expect slow gains to lose it where the spring is strong.

    Args:
        duration: [s].
        fine: whether the step is short.
    """
    robot = sled()
    return Setup(
        robot,
        None,
        [0.3],
        [0.0],
        duration,
        5e-3 if fine else 1e-2,
        error=ca.fabs(robot.q - ca.sin(robot.t)),
        settled=0.05,
        pictures={"samples.txt": draw},
        randomization={"plant.m": Scaled(Normal(1.0, 0.1)), "q0.x": Uniform(0.1, 0.5)},
    )


def draw_gains(motion: Trajectory, path: Path) -> None:
    """A picture of what only the scenario's own controller has: two gains beside the parameters of its model."""
    assert len(motion.controller_p) == 4
    draw(motion, path)


def by_speed(setup: Setup) -> ProgramController:
    """Follows the rate of the sine, with one gain."""
    robot = setup.robot
    speed = nonholonomic(robot.v - ca.cos(robot.t), perturbation=FirstOrder(3.0), name="speed")
    return ProgramController(Program(robot, speed), realization="actuated")


@scenario("sled with a law")
def sled_with_a_law(*, duration: float = 0.2) -> Setup:
    """The same sled with a controller of its own, and another.

    Args:
        duration: [s].
    """
    setup = sled_on_ice(duration=duration)
    own = law(5.0)(setup)
    return replace(setup, controller=own, pictures={"gains.txt": draw_gains}, baselines={"by speed": by_speed})


baseline_study = Study(sled_with_a_law, {}, ["own", "by speed"], seeds=2, name="baselines")
study = Study(
    sled_on_ice,
    {"fine": [False, True], "plant.s": [0.0, 5.0, 30.0]},
    {"slow": law(2.0), HOSTILE: law(5.0), IMAGE: law(8.0)},
    seeds=20,
    metrics=["error_rms", "settling", "deviation_rms", "effort", "not_ok"],
    name="sled & <i>ice",
    runs_per_task=15,
)
"""Three controllers, two of whose names are markup, six points, 20 seeds: 360 runs in 24 tasks."""


def results(folder: Path) -> Results:
    """All runs, in a folder."""
    return study.run(folder, progress=False)
