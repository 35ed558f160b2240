"""Laws act through motors on tendons across joints, and on sites of bodies that float, as through those of joints."""

from __future__ import annotations

import dataclasses
from typing import Literal

import casadi as ca
import numpy as np
import pytest

from erugin.bridges.mujoco import drive, export, load, simulate
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot
from erugin.scenarios import simulate as simulate_here
from erugin.symbolic import BridgeError

from .bridge_mujoco import Q0, V0, arm, model_of, started, swinging
from .mujoco_versions import BOUNDED, needs

SHIP = """
<mujoco model="ship">
  <option timestep="0.002" integrator="RK4"><flag contact="disable"/></option>
  <worldbody>
    <body name="other"><joint name="far" type="slide"/><geom size=".1" pos="5 0 0"/></body>
    <body name="ship" pos="1 2 3" euler="10 20 30">
      <freejoint name="sea"/>
      <geom type="box" size=".1 .2 .3" pos=".1 0 .2"/>
      <body name="mast" pos="0 0 .3">
        <joint name="boom" axis="0 1 0" damping=".02"/><geom type="capsule" fromto="0 0 0 .3 .1 .2" size=".02"/>
        <site name="top" pos="0 0 1"/>
      </body>
      <site name="screw" pos="0 .3 0" euler="0 40 0"/><site name="middle" pos=".1 0 .1"/>
    </body>
  </worldbody>
  <actuator>
    <position name="servo" joint="far" kp="3"/>
    <motor name="lift" site="screw" gear="0 0 3 0 0 0"/>
    <motor name="ahead" site="middle" gear="1 0 0 0 0 0"/>
    <motor name="aside" site="middle" gear="0 2 0 0 0 0"/>
    <motor name="roll" site="middle" gear="0 0 0 1 0 0"/>
    <motor name="pitch" site="middle" gear="0 0 0 0 1 0"/>
    <motor name="yaw" site="middle" gear="0 0 0 0 0 1"/>
    <motor name="swing" joint="boom" gear="5"/>
  </actuator>
</mujoco>
"""
OTHER = '<body name="other"><joint name="far" type="slide"/><geom size=".1" pos="5 0 0"/></body>'
SERVO = '<position name="servo" joint="far" kp="3"/>'
Apply = Literal["auto", "ctrl", "qfrc_applied"]
WAYS: list[Apply] = ["auto", "ctrl", "qfrc_applied"]


def wired() -> Robot:
    """The arm with one of two drives on both joints."""
    u = ca.vertcat(ca.SX.sym("belt"), ca.SX.sym("wire"))
    matrix = ca.SX(ca.DM([[1.0, 0.5], [0.0, -2.0]]))
    return dataclasses.replace(arm(), u=u, input_matrix=matrix, input_names=("belt", "wire"))


@pytest.mark.parametrize("apply", WAYS)
def test_a_law_acts_through_motors_on_tendons(apply: Apply) -> None:
    law = swinging(wired())
    acting = drive(law, model_of(export(law.robot)), apply=apply)
    ours = simulate_here(law.robot, law, Q0, V0, 0.2, step=1e-3)
    assert np.abs(acting.run(started(acting), 0.2).q - ours.q).max() < 1e-12
    data = started(acting)
    acting.step(data)
    assert data.ctrl.any() == (apply != "qfrc_applied")


@pytest.mark.parametrize("limits", [False, True])
def test_robots_with_motors_on_tendons_are_simulated(limits: bool) -> None:
    law = swinging(wired())
    ours = simulate_here(law.robot, law, Q0, V0, 0.2, step=1e-3)
    there = simulate(law.robot, law, Q0, V0, 0.2, step=1e-3, limits=limits)
    assert np.abs(there.q - ours.q).max() < 1e-12


def afloat(realization: Literal["ideal", "actuated"] = "actuated") -> ProgramController:
    """A law for a ship with a boom, read from the text without what is not the ship's."""
    robot = load(SHIP.replace(OTHER, "").replace(SERVO, ""))
    q, t = robot.q, robot.t
    wanted = ca.vertcat(1.0 + 0.2 * ca.sin(t), 2.0, 3.0, ca.SX.zeros(3), 0.3 * ca.cos(t))
    row = ca.vertcat(q[:6], q[7]) - wanted
    program = Program(robot, holonomic(row, perturbation=Baumgarte(4.0), name="course"))
    return ProgramController(program, realization=realization)


@pytest.mark.parametrize("apply", WAYS)
@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_a_law_acts_through_motors_on_sites_of_a_body_that_floats(
    realization: Literal["ideal", "actuated"], apply: Apply
) -> None:
    law, attitude = afloat(realization), np.array([0.1, 0.05, 0.0, 1.0])
    q0, v0 = np.array([1.0, 2.0, 3.0, *attitude / np.linalg.norm(attitude), 0.2]), np.zeros(7)
    acting = drive(law, model_of(SHIP), apply=apply)
    ours = simulate_here(law.robot, law, q0, v0, 0.3, step=2e-3)
    assert np.abs(acting.run(started(acting, q0, v0), 0.3).q - ours.q).max() < 1e-9
    assert np.abs(ours.q[-1] - q0).max() > 0.01


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('site="middle" gear="1', 'site="top" gear="1', "the lever of 'ahead' depends on the position"),
        ('site="middle" gear="1', 'joint="sea" gear="1', "the lever of 'ahead' depends on the position"),
        ('<motor name="yaw" site="middle" gear="0 0 0 0 0 1"/>', "", "drives sea, which the law's yaw need"),
        (
            'name="yaw" site="middle" gear="0 0 0 0 0 1"',
            'name="yaw" site="middle" gear="0 0 0 0 1 0"',
            "pitch, yaw can",
        ),
        (
            "</actuator>",
            '<position name="hold" site="middle" refsite="top" gear="1"/></actuator>',
            "'hold' is a positio",
        ),
    ],
)
def test_motors_without_a_constant_share_are_refused(old: str, new: str, said: str) -> None:
    assert old in SHIP
    with pytest.raises(BridgeError, match=said):
        drive(afloat(), model_of(SHIP.replace(old, new)))


def test_a_motor_that_also_pulls_others_is_refused() -> None:
    tendon = '<tendon><fixed name="rope"><joint joint="boom" coef="1"/><joint joint="far" coef="1"/></fixed></tendon>'
    text = SHIP.replace("<actuator>", f"{tendon}<actuator>").replace(
        'name="swing" joint="boom"', 'name="swing" tendon="rope"'
    )
    with pytest.raises(BridgeError, match="'swing' also drives what is not the robot's"):
        drive(afloat(), model_of(text))
    drive(afloat(), model_of(text), apply="qfrc_applied")


def test_bounds_of_tendons_and_joints_are_those_of_their_motors() -> None:
    law = swinging(wired())
    text = export(law.robot, limits=False)
    for bound in ('<fixed name="drive wire"', '<joint name="q2"'):
        limit = 'actuatorfrclimited="true" actuatorfrcrange="-0.1 0.1"'
        with needs(BOUNDED if "fixed" in bound else None):
            acting = drive(law, model_of(text.replace(bound, f"{bound} {limit}")))
            with pytest.warns(UserWarning, match=r"asks motor 'wire' for .* clips it to \[-0.(1|05), 0.(1|05)\]"):
                acting.step(started(acting))
