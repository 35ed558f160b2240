"""Real arms, whose URDF files MuJoCo and Erugin read each by itself."""

from __future__ import annotations

import re
import warnings

import casadi as ca
import mujoco
import numpy as np
import pytest

from erugin.bridges.mujoco import drive, match
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot, load_urdf
from erugin.robots.examples.arms import example_file
from erugin.scenarios import simulate as simulate_here
from erugin.symbolic import BridgeError

from .bridge_mujoco import started
from .mujoco_versions import has

COMPILER = '<mujoco><compiler fusestatic="false" balanceinertia="false"/></mujoco>'


def read_by_both(name: str) -> tuple[Robot, mujoco.MjModel]:
    """The arm here, and as MuJoCo's own reader of URDF has it, without pictures."""
    path = example_file(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of attributes that URDF does not know
        robot = load_urdf(path)
    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", path.read_text(), flags=re.DOTALL)
    text = re.sub(r"(<robot[^>]*>)", rf"\1{COMPILER}", text, count=1)
    return robot, mujoco.MjModel.from_xml_string(text)


@pytest.mark.parametrize("name", ["ur5_robot.urdf", "panda.urdf"])
def test_mujoco_reads_the_same_robot_from_the_file(name: str) -> None:
    robot, model = read_by_both(name)
    if name == "panda.urdf" and not has("3.14"):
        # Its reader of URDF leaves mimic joints free until 3.13, and turns principal axes by some 1e-7.
        said = r"M\[panda" if has("3.13") else r"natural constraints that the model lacks: panda_finger_joint2\.mimic"
        with pytest.raises(BridgeError, match=said):
            match(robot, model).require()
        assert match(robot, model).mass < 1e-7
        return
    found = match(robot, model).require()
    assert found.mass < 1e-13
    assert found.bias < 1e-13


def test_a_link_that_weighs_more_is_found_in_a_real_arm() -> None:
    robot, model = read_by_both("ur5_robot.urdf")
    model.body_mass[model.body("forearm_link").id] *= 1.1
    with pytest.raises(
        BridgeError, match=r"what 'elbow_joint' moves \(body 'forearm_link'\) has mass 2\.27\d* kg here"
    ):
        match(robot, model).require()


@pytest.mark.slow
def test_a_law_for_a_real_arm_drives_the_model_that_mujoco_read() -> None:
    robot, model = read_by_both("ur5_robot.urdf")
    start = np.array([0.2, -1.2, 1.5, -0.4, 1.0, 0.3])
    swing = 0.3 * ca.sin(2 * robot.t) * ca.DM([1.0, 0.5, -1.0, 0.7, 1.0, -0.6])
    program = Program(robot, holonomic(robot.q - ca.DM(start) - swing, perturbation=Baumgarte(8.0), name="joints"))
    law = ProgramController(program, realization="actuated")
    with pytest.raises(BridgeError, match=r"no motor of the MuJoCo model drives shoulder_pan_joint, .*qfrc_applied"):
        drive(law, model)
    ours = simulate_here(robot, law, start + 0.05, np.zeros(6), 0.4, step=0.4 / 512)
    misses: list[float] = []
    for count in (32, 64, 128):
        model.opt.timestep, model.opt.integrator = 0.4 / count, mujoco.mjtIntegrator.mjINT_RK4
        acting = drive(law, model, apply="qfrc_applied")
        motion = acting.run(started(acting, start + 0.05, np.zeros(6)), 0.4)
        misses.append(float(np.abs(motion.q[-1] - ours.q[-1]).max()))
    orders = np.log2(np.array(misses[:-1]) / misses[1:])
    assert orders.min() >= 3.9
