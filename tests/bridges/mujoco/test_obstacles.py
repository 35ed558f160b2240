"""Bodies of MuJoCo are obstacles of a law here: their places and velocities become its parameters."""

from __future__ import annotations

import functools

import casadi as ca
import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.mujoco import ControlCallback, Obstacle, drive, export
from erugin.constraints import EruginField, box, circle, follow, line
from erugin.controllers import Program, ProgramController
from erugin.scenarios import Setup
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle
from erugin.simulation import SimulationError, Trajectory
from erugin.symbolic import BridgeError, BridgeWarning

from ...support.mujoco_arm import arm, callback, model_of, started, state

STEP, COUNT = 4e-3, 1600
CENTER, VELOCITY = np.array([1.20, 0.08, 0.0]), np.array([-0.07, 0.015, 0.0])
MASS = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
GEOM = '<geom type="sphere" size="0.11" contype="0" conaffinity="0"/>'
BALLS = {
    "mocap": f'<body name="ball" mocap="true" pos="1.20 0.08 0">{GEOM}</body>',
    "free": f'<body name="ball" gravcomp="1" pos="1.20 0.08 0"><freejoint name="flight"/>{MASS}{GEOM}</body>',
}


@functools.cache
def arm_and_disc() -> tuple[Setup, Trajectory]:
    """The scenario, and its motion here."""
    setup = two_link_arm_moving_obstacle(duration=COUNT * STEP, step=STEP, side="left")
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    return setup, motion


def with_ball(kind: str) -> tuple[ControlCallback, mujoco.MjData]:
    """The arm of the scenario and a ball; what the law knows of the disc's motion is forgotten."""
    setup, _ = arm_and_disc()
    text = export(setup.robot, timestep=STEP).replace("</worldbody>", f"{BALLS[kind]}</worldbody>")
    controller_p = {**setup.controller_p, "disc.x": 5.0, "disc.y": 5.0, "disc.vx": 0.0, "disc.vy": 0.0}
    assert setup.controller is not None
    acting = drive(setup.controller, model_of(text), p=controller_p, obstacles={"disc": "ball"})
    data = started(acting, setup.q0, setup.v0)
    if kind == "free":
        first = int(acting.model.joint("flight").dofadr[0])
        data.qvel[first : first + 3] = VELOCITY
    return acting, data


def ball_at(t: float) -> NDArray[np.float64]:
    """Position of the disc of the scenario."""
    return CENTER + VELOCITY * t


@pytest.mark.parametrize("way", ["step", "callback"])
def test_the_arm_avoids_a_mocap_body_as_it_avoids_the_disc(way: str) -> None:
    acting, data = with_ball("mocap")
    with callback(acting):
        for _ in range(COUNT):
            data.mocap_pos[0] = ball_at(data.time)
            if way == "step":
                acting.step(data)
            else:
                mujoco.mj_step(acting.model, data)
    _, ours = arm_and_disc()
    assert np.abs(state(acting, data)[:2] - ours.q[-1]).max() < 1e-10


def test_the_arm_avoids_a_free_body_as_it_avoids_the_disc() -> None:
    acting, data = with_ball("free")
    setup, ours = arm_and_disc()
    motion = acting.run(data, COUNT * STEP)
    assert len(motion) == COUNT + 1
    # Samples at which the law has to see place and velocity, not only the end, where the motion is the path's again.
    assert np.abs(motion.q - ours.q).max() < 1e-10
    names = setup.controller.parameters.names if setup.controller is not None else ()
    seen = dict(zip(names, acting.p.tolist(), strict=True))
    # The law's disc is where it was at t = 0.
    assert np.allclose([seen["disc.x"], seen["disc.y"]], CENTER[:2], atol=1e-12)
    assert np.allclose([seen["disc.vx"], seen["disc.vy"]], VELOCITY[:2], atol=1e-12)
    assert not motion.notes


def test_a_ball_that_is_pushed_is_detected_and_reported() -> None:
    acting, data = with_ball("free")
    data.xfrc_applied[acting.model.body("ball").id, :2] = -0.02, 0.0
    motion = acting.run(data, 1.0)
    assert acting.controller is not None
    assert abs(acting.p[acting.controller.parameters.names.index("disc.vx")] + 0.09) < 1e-6
    assert "disc.vx from -0.07 to -0.09" in motion.notes[-1][1]
    assert np.array_equal(motion.controller_p, acting.p)


def test_a_law_that_fails_as_it_looks_ends_the_motion_and_not_the_process() -> None:
    acting, data = with_ball("free")
    acting.place(data, (0.3, 0.0), (0.0, 0.0))  # stretched out
    with callback(acting), pytest.raises(SimulationError, match="depends on"):
        mujoco.mj_step(acting.model, data)


def test_a_body_that_stands_still_does_not_drift_in_the_law() -> None:
    acting, data = with_ball("mocap")
    names = list(acting.controller.parameters.names) if acting.controller is not None else []
    for k in range(6):
        data.mocap_pos[0] = ball_at(min(k, 3) * STEP)
        acting.step(data)
    seen = dict(zip(names, acting.p.tolist(), strict=True))
    assert (seen["disc.vx"], seen["disc.vy"]) == (0.0, 0.0)
    assert np.allclose([seen["disc.x"], seen["disc.y"]], ball_at(3 * STEP)[:2], atol=1e-15)


def test_other_axes_and_turned_bodies() -> None:
    robot = arm()
    crate = box((1.0, 0.2), (0.2, 0.1), orientation=0.0, name="crate")
    field = EruginField(line((0.0, -0.4), (1.0, -0.4)), [crate], speed=0.1, margin=0.05)
    law = ProgramController(Program(robot, follow(field, robot.points["tip"])), realization="ideal")
    turned = '<body name="post" pos="0.8 9 0.3" euler="0 -0.4 0"><geom size="0.1" contype="0" conaffinity="0"/></body>'
    model = model_of(export(robot).replace("</worldbody>", f"{turned}</worldbody>"))
    acting = drive(law, model, obstacles={"crate": Obstacle("post", axes="xz")})
    acting.step(started(acting, (-1.2, 1.5), (0.0, 0.0)))
    seen = dict(zip(law.parameters.names, acting.p.tolist(), strict=True))
    assert np.allclose([seen["crate.x"], seen["crate.y"], seen["crate.angle"]], [0.8, 0.3, 0.4], atol=1e-12)


def test_a_radius_that_differs_is_reported() -> None:
    setup, _ = arm_and_disc()
    fat = BALLS["mocap"].replace('size="0.11"', 'size="0.2"')
    model = model_of(export(setup.robot).replace("</worldbody>", f"{fat}</worldbody>"))
    assert setup.controller is not None
    with pytest.warns(BridgeWarning, match=r"radius of 0\.11 m for 'disc', but the body's geom has 0\.2 m"):
        drive(setup.controller, model, p=setup.controller_p, obstacles={"disc": "ball"})


@pytest.mark.parametrize(
    ("obstacles", "message"),
    [
        ({"disc": "globe"}, r"no body 'globe' for 'disc'; bodies: world, q1, q2, ball"),
        ({"disk": "ball"}, r"no obstacle 'disk' .*those that have a position: disc"),
    ],
)
def test_obstacles_that_are_not_there_are_refused(obstacles: dict[str, str | Obstacle], message: str) -> None:
    setup, _ = arm_and_disc()
    model = model_of(export(setup.robot).replace("</worldbody>", f"{BALLS['mocap']}</worldbody>"))
    assert setup.controller is not None
    with pytest.raises(BridgeError, match=message):
        drive(setup.controller, model, p=setup.controller_p, obstacles=obstacles)


def test_an_obstacle_of_other_words_is_refused() -> None:
    with pytest.raises(BridgeError, match="velocity of an obstacle must be 'measured', 'law' or 'zero', got 'fast'"):
        Obstacle("ball", velocity="fast")  # type: ignore[arg-type]
    for axes in ("xx", "z", "xw"):
        with pytest.raises(BridgeError, match="axes of an obstacle must be two or three of x, y, z"):
            Obstacle("ball", axes=axes)


def test_symbols_of_the_circle_are_what_is_set() -> None:
    disc = circle((0.0, 0.0), 0.1, velocity=(0.0, 0.0), name="disc")
    assert disc.parameters.names == ("disc.x", "disc.y", "disc.radius", "disc.vx", "disc.vy")
    assert ca.depends_on(disc.center(ca.SX.sym("t")), disc.parameters["disc.vx"])
