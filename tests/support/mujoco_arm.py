"""A two-link arm as MJCF written by hand, and laws for it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import casadi as ca
import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from erugin.bridges.mujoco import ControlCallback
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Controller, Program, ProgramController, Tick
from erugin.robots import Link, Robot, planar_manipulator

Array = NDArray[np.float64]

LINKS = (Link(0.6, 2.5, 0.3, 0.1), Link(0.5, 1.8, 0.2, 0.05))
Q0, V0 = (0.1, 0.9), (0.0, 0.3)
ARM = """
<mujoco model="arm">
  <compiler angle="radian" inertiafromgeom="false"/>
  <option timestep="0.001" gravity="0 -9.81 0" integrator="RK4"/>
  <worldbody>
    <body name="upper">
      <joint name="q1" axis="0 0 1"/>
      <inertial pos="0.3 0 0" mass="2.5" diaginertia="0.1 0.1 0.1"/>
      <body name="fore" pos="0.6 0 0">
        <joint name="q2" axis="0 0 1"/>
        <inertial pos="0.2 0 0" mass="1.8" diaginertia="0.05 0.05 0.05"/>
      </body>
    </body>
    <!-- more bodies -->
  </worldbody>
  <actuator>
    <motor name="second" joint="q2" gear="-4"/>
    <motor name="first" joint="q1" gear="2.5"/>
  </actuator>
</mujoco>
"""


def arm() -> Robot:
    """The same arm here."""
    return planar_manipulator(LINKS)


def swinging(robot: Robot) -> ProgramController:
    """Both joints swing."""
    wanted = ca.vertcat(0.5 * ca.sin(3 * robot.t), 0.8 * ca.cos(2 * robot.t))
    program = Program(robot, holonomic(robot.q - wanted, perturbation=Baumgarte(6.0), name="swing"))
    return ProgramController(program, realization="actuated")


def model_of(text: str) -> mujoco.MjModel:
    """A compiled model."""
    return mujoco.MjModel.from_xml_string(text)


def started(drive: ControlCallback, q: ArrayLike = Q0, v: ArrayLike = V0) -> mujoco.MjData:
    """Data in a state of the robot."""
    data = mujoco.MjData(drive.model)
    drive.place(data, q, v)
    return data


def state(drive: ControlCallback, data: mujoco.MjData) -> NDArray[np.float64]:
    """q and v of the robot."""
    return np.concatenate(drive.state(data))


@contextmanager
def callback(drive: ControlCallback) -> Generator[None]:
    """MuJoCo's control callback for a while."""
    mujoco.set_mjcb_control(drive)
    try:
        yield
    finally:
        mujoco.set_mjcb_control(None)


class Counting(Controller):
    """A law with a memory: the number of samples, which it applies as torques."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.parameters = robot, robot.parameters
        self.reset()

    @property
    def initial_memory(self) -> int:
        """No samples."""
        return 0

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """As many torques as samples."""
        assert isinstance(memory, int)
        return Tick(np.array([0.1, 0.2]) * memory, memory=memory + 1)


def remembered(drive: ControlCallback) -> object:
    """Memory of the law for the model that this drives."""
    assert drive.memory is not None
    return drive.memory.value
