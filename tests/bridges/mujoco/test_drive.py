"""Laws in MuJoCo as a callback, step by step and in recorded runs, one after another."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

import casadi as ca
import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.mujoco import ControlCallback, drive, load, match, simulate
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Controller, ControlLimits, Program, ProgramController, Status, Tick
from erugin.controllers.wrappers import Delay, Fallback, MotorLag, SampleAndHold
from erugin.robots import Robot, planar_manipulator
from erugin.scenarios import simulate as simulate_here
from erugin.symbolic import BridgeError, BridgeWarning, ShapeError

from ...support.mujoco_arm import (
    ARM,
    LINKS,
    Q0,
    V0,
    Counting,
    arm,
    callback,
    model_of,
    remembered,
    started,
    state,
    swinging,
)

Array = NDArray[np.float64]

FOREIGN = """
<mujoco model="foreign">
  <compiler angle="degree"/>
  <default><geom density="800" contype="0" conaffinity="0"/><joint damping="0.05" armature="0.02"/></default>
  <option timestep="0.002" integrator="RK4"/>
  <worldbody>
    <body pos="0 0 1">
      <joint name="yaw" axis="0 0 1"/>
      <geom type="cylinder" size="0.05 0.1"/>
      <body pos="0.1 0 0.1" euler="0 30 0">
        <joint name="lift" axis="0 1 0" range="-90 90" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
        <body name="rod" pos="0.4 0 0">
          <joint name="reach" type="slide" axis="1 0 0" stiffness="20" springref="0.1"/>
          <geom type="box" size="0.1 0.02 0.02"/>
        </body>
      </body>
    </body>
    <body name="ball" pos="3 0 0"><freejoint/><geom type="sphere" size="0.1"/></body>
  </worldbody>
  <actuator>
    <motor joint="reach" gear="10"/>
    <motor joint="yaw" gear="0.5"/>
    <motor joint="lift"/>
  </actuator>
</mujoco>
"""


def test_callback_steps_and_run_are_one_motion() -> None:
    law, model = swinging(arm()), model_of(ARM)
    acting = drive(law, model)
    alone, stepped, recorded = (started(acting) for _ in range(3))
    with callback(acting):
        mujoco.mj_step(model, alone, 200)
    for _ in range(200):
        acting.step(stepped)
    motion = acting.run(recorded, 0.2)
    assert np.array_equal(state(acting, alone), state(acting, stepped))
    assert np.allclose(state(acting, stepped), state(acting, recorded), rtol=0.0, atol=1e-13)
    assert np.array_equal(motion.q[-1], state(acting, recorded)[:2])
    assert np.allclose(motion.t, np.arange(201) * 1e-3, rtol=0.0, atol=1e-12)
    ours = simulate_here(law.robot, law, Q0, V0, 0.2, step=1e-3)
    assert np.allclose(motion.q, ours.q, rtol=0.0, atol=1e-10)
    assert np.allclose(motion.u, ours.u, rtol=0.0, atol=1e-8)
    assert np.allclose(motion.deviation, ours.deviation, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("apply", ["ctrl", "qfrc_applied"])
def test_gears_and_the_order_of_motors_are_taken_into_account(apply: Literal["ctrl", "qfrc_applied"]) -> None:
    law, model = swinging(arm()), model_of(ARM)
    acting = drive(law, model, apply=apply)
    data = started(acting)
    u = law.control(0.0, Q0, V0)
    with callback(acting):
        mujoco.mj_forward(model, data)
    if apply == "ctrl":
        assert np.allclose(data.ctrl, [u[1] / -4.0, u[0] / 2.5], rtol=1e-14)
    else:
        assert np.allclose(data.qfrc_applied, u, rtol=1e-14)
        assert not data.ctrl.any()
    assert np.allclose(data.qfrc_actuator + data.qfrc_applied, u, rtol=1e-14)


def test_absolute_angles_act_through_motors_between_the_bodies() -> None:
    law = swinging(planar_manipulator(LINKS, angles="absolute"))
    acting = drive(law, model_of(ARM))
    data = started(acting, (0.3, 1.1), (0.2, -0.4))
    with callback(acting):
        mujoco.mj_forward(acting.model, data)
    assert np.allclose(data.qpos, [0.3, 0.8], rtol=1e-15)
    assert np.allclose(data.qfrc_actuator, law.control(0.0, (0.3, 1.1), (0.2, -0.4)), rtol=1e-13)


def test_joints_are_found_by_name_whatever_their_place() -> None:
    ball = '<body name="ball"><freejoint name="q0"/><geom size="0.1" contype="0" conaffinity="0"/>'
    ball += '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
    text = ARM.replace("<worldbody>", f"<worldbody>{ball}").replace('"q2"', '"elbow"')
    law = swinging(arm())
    acting = drive(law, model_of(text), names={"q2": "elbow"})
    motion = acting.run(started(acting), 0.1)
    plain = drive(law, model_of(ARM))
    assert np.allclose(motion.q, plain.run(started(plain), 0.1).q, rtol=0.0, atol=1e-13)


def test_the_law_of_a_loaded_model_drives_that_model() -> None:
    model = model_of(FOREIGN)
    robot = load(FOREIGN.replace(FOREIGN[FOREIGN.index('<body name="ball"') : FOREIGN.index("</worldbody>")], ""))
    wanted = ca.vertcat(0.4 * ca.sin(2 * robot.t), 0.3 * ca.cos(robot.t), 0.1)
    program = Program(robot, holonomic(robot.q - wanted, perturbation=Baumgarte(10.0), name="joints"))
    law = ProgramController(program, realization="actuated")
    acting = drive(law, model)
    motion = acting.run(started(acting, np.zeros(3), np.zeros(3)), 1.5)
    assert np.abs(motion.deviation[-1]).max() < 1e-4
    ours = simulate_here(robot, law, np.zeros(3), np.zeros(3), 1.5, step=2e-3)
    assert np.allclose(motion.q, ours.q, rtol=0.0, atol=1e-7)


def test_a_law_with_memory_takes_in_one_sample_per_step() -> None:
    model = model_of(ARM)
    law = Counting(arm())
    acting = drive(law, model)
    data = started(acting)
    for _ in range(5):
        acting.step(data)
    assert remembered(acting) == 5
    motion = acting.run(started(acting), 0.01)
    assert np.array_equal(motion.u[:, 0], 0.1 * np.arange(1, 12))
    with callback(acting), pytest.raises(BridgeError, match=r"Counting has a memory.*drive\.step"):
        mujoco.mj_step(model, started(acting))


WRAPPED: dict[str, Callable[[Controller], Controller]] = {
    "held": lambda law: SampleAndHold(law, 0.005),
    "late": lambda law: Delay(law, 0.004),
    "lag of a lag": lambda law: MotorLag(SampleAndHold(Delay(law, 0.003), 0.004), 0.01),
    "supervised": Fallback,
}
"""Most of these have nothing to remember before the first sample."""


@pytest.mark.parametrize("name", list(WRAPPED))
def test_wrapped_laws_take_in_their_samples_step_by_step(name: str) -> None:
    law = WRAPPED[name](swinging(arm()))
    acting = drive(law, model_of(ARM))
    data = started(acting)
    for _ in range(100):
        acting.step(data)
    ours = simulate_here(arm(), law, Q0, V0, 0.1, step=1e-3)
    assert np.abs(state(acting, data)[:2] - ours.q[-1]).max() < 1e-10
    recorded = acting.run(started(acting), 0.1)
    assert np.abs(recorded.u - ours.u).max() < 1e-9
    data = started(acting)
    with callback(acting), pytest.raises(BridgeError, match="has a memory, but MuJoCo's callback does not know"):
        mujoco.mj_step(acting.model, data)


def test_a_law_within_limits_remembers_its_samples_in_mujoco_as_here() -> None:
    robot = load(ARM.replace('gear="2.5"', 'gear="1"').replace('gear="-4"', 'gear="1"'))
    program = swinging(robot).program
    law = ProgramController(program, realization="bounded", limits=ControlLimits.of(robot, effort=18.0, rate=400.0))
    acting = drive(law, model_of(ARM.replace('gear="2.5"', 'gear="1"').replace('gear="-4"', 'gear="1"')))
    motion = acting.run(started(acting), 0.1)
    ours = simulate_here(robot, law, Q0, V0, 0.1, step=1e-3)
    assert np.allclose(motion.q, ours.q, rtol=0.0, atol=1e-9)
    assert np.array_equal(motion.status, ours.status)
    assert (motion.status == Status.LIMITED).any()
    assert motion.notes == ours.notes


def test_clipping_by_motors_is_reported_once() -> None:
    text = ARM.replace('gear="2.5"', 'gear="2.5" ctrllimited="true" ctrlrange="-1 1"')
    law = swinging(arm())
    acting = drive(law, model_of(text))
    data = started(acting)
    with pytest.warns(BridgeWarning, match=r"sets motor 'first' to .*, but MuJoCo clips it to \[-1, 1\]"):
        acting.step(data)
    # Warnings are errors here.
    acting.step(data)


def limited_arm() -> Robot:
    """With drives that are weaker than the law asks."""
    text = ARM.replace('gear="2.5"', 'gear="1" ctrllimited="true" ctrlrange="-5 5"').replace('gear="-4"', 'gear="1"')
    return load(text)


def test_simulate_applies_limits_on_request_only() -> None:
    robot = limited_arm()
    law = swinging(robot)
    free = simulate(robot, law, Q0, V0, 0.1, step=1e-3)
    assert np.allclose(free.q, simulate_here(robot, law, Q0, V0, 0.1, step=1e-3).q, rtol=0.0, atol=1e-9)
    with pytest.warns(BridgeWarning, match="clips"):
        clipped = simulate(robot, law, Q0, V0, 0.1, step=1e-3, limits=True)
    assert np.abs(clipped.q[-1] - free.q[-1]).max() > 1e-3


def test_the_start_and_its_time_are_those_that_are_given() -> None:
    robot = arm()
    law = swinging(robot)
    motion = simulate(robot, law, Q0, V0, 0.0105, step=1e-3, t0=0.4, p={"m2": 1.9}, controller_p={"m2": 1.9})
    ours = simulate_here(robot, law, Q0, V0, 0.0105, step=1e-3, t0=0.4, p={"m2": 1.9}, controller_p={"m2": 1.9})
    assert len(motion) == 12
    assert np.allclose(motion.t, ours.t, rtol=0.0, atol=1e-15)
    assert np.allclose(motion.q, ours.q, rtol=0.0, atol=1e-12)
    assert np.array_equal(motion.p, ours.p)
    assert motion.ending == ours.ending


def test_without_a_controller_the_robot_falls() -> None:
    robot = arm()
    motion = simulate(robot, None, Q0, V0, 0.3, step=1e-3)
    assert motion.u.shape == (301, 0)
    assert np.ptp(motion.energy) < 1e-8 * np.ptp(motion.evaluate(robot.kinetic_energy))


def test_another_model_of_the_law_is_driven_on_purpose_only() -> None:
    law, model = swinging(arm()), model_of(ARM.replace('mass="1.8"', 'mass="2.0"'))
    with pytest.raises(BridgeError, match=r"'q2' .* have mass 1\.8 kg in the robot and 2 kg in the model"):
        drive(law, model)
    acting = drive(law, model, tolerance=None)
    other = drive(law, model, p={"m2": 2.0})
    assert np.abs(acting.run(started(acting), 0.1).q[-1] - other.run(started(other), 0.1).q[-1]).max() > 1e-4


class Idle(Counting):
    """It counts, and pushes nothing."""

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """No torques."""
        return replace(super().evaluate(t, q, v, p, memory), output=np.zeros(2))


class Interrupted(Counting):
    """Ctrl-C comes in the middle of a step, once."""

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """As many torques as samples."""
        if 0.0052 < t < 0.0058 and not vars(self).get("came"):
            self.came = True
            raise KeyboardInterrupt
        return super().evaluate(t, q, v, p, memory)


def counting() -> ControlCallback:
    """A law that counts its samples, at the drives of the arm."""
    return drive(Counting(arm()), model_of(ARM))


def by_step(acting: ControlCallback, data: mujoco.MjData, count: int) -> None:
    """So many steps."""
    for _ in range(count):
        acting.step(data)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_data_that_are_reset_are_another_motion(steps: int) -> None:
    acting = counting()
    data = started(acting)
    for _ in range(2):
        mujoco.mj_resetData(acting.model, data)
        by_step(acting, data, steps)
        assert remembered(acting) == steps


def test_steps_go_on_where_a_run_ended() -> None:
    acting, other = counting(), counting()
    data, same = started(acting), started(other)
    acting.run(data, 0.01)
    assert remembered(acting) == 11
    by_step(acting, data, 3)
    by_step(other, same, 13)
    assert remembered(acting) == remembered(other) == 13
    assert np.array_equal(state(acting, data), state(other, same))
    acting.run(data, 0.01)
    assert remembered(acting) == 11
    acting.place(data, [0.3, 0.4], [0.0, 0.0])
    acting.step(data)
    assert remembered(acting) == 12
    acting.run(data, 0.01)
    assert acting.memory is not None
    acting.memory.reset()
    acting.step(data)
    assert remembered(acting) == 1


def test_steps_at_rest_are_samples_too() -> None:
    acting = drive(Idle(arm()), model_of(ARM.replace("-9.81", "0")), tolerance=None)
    data = started(acting, v=(0.0, 0.0))
    acting.run(data, 0.01)
    before = state(acting, data)
    by_step(acting, data, 3)
    assert np.array_equal(state(acting, data), before)
    assert remembered(acting) == 13


def test_parameters_change_on_the_way() -> None:
    written, given = (drive(swinging(arm()), model_of(ARM)) for _ in range(2))
    data, same = started(written), started(given)
    for acting, of in ((written, data), (given, same)):
        acting.step(of)
    before = np.array(data.ctrl)
    heavy = given.p * np.where(np.array(swinging(arm()).parameters.names) == "m1", 3.0, 1.0)
    written.p[:] = heavy
    given.p = heavy
    for acting, of in ((written, data), (given, same)):
        acting.step(of)
    assert np.array_equal(data.ctrl, same.ctrl)
    assert np.abs(data.ctrl - before).max() > 1.0
    with pytest.raises(ShapeError, match="p must have shape"):
        given.p = heavy[:-1]


def test_threads_do_not_take_each_others_callbacks() -> None:
    """MuJoCo has one control callback for all of them."""
    # While there is a callback MuJoCo compiles no model.
    starts = [(model_of(ARM), (0.1 * k, 0.9)) for k in range(4)]

    def moved(start: tuple[mujoco.MjModel, tuple[float, float]]) -> NDArray[np.float64]:
        model, q = start
        acting = drive(swinging(arm()), model)
        data = started(acting, q)
        by_step(acting, data, 150)
        return np.concatenate([state(acting, data), acting.run(data, 0.05).q[-1]])

    alone = [moved(start) for start in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(moved, starts))
    np.testing.assert_array_equal(together, alone)
    assert mujoco.get_mjcb_control() is None


def test_models_are_read_and_simulated_while_there_is_a_callback() -> None:
    """MuJoCo itself then compiles none."""
    acting, law = drive(swinging(arm()), model_of(ARM)), swinging(arm())
    alone = simulate(arm(), law, Q0, V0, 0.05, step=1e-3)
    with callback(acting):
        assert match(load(ARM), acting.model).same
        beside = simulate(arm(), law, Q0, V0, 0.05, step=1e-3)
        assert mujoco.get_mjcb_control() is acting
    np.testing.assert_array_equal(beside.q, alone.q)


def test_a_step_that_is_interrupted_is_not_taken() -> None:
    acting, other = drive(Interrupted(arm()), model_of(ARM)), counting()
    data, same = started(acting), started(other)
    by_step(acting, data, 5)
    with pytest.raises(KeyboardInterrupt):
        acting.step(data)
    assert remembered(acting) == 5
    by_step(acting, data, 5)
    by_step(other, same, 10)
    assert remembered(acting) == 10
    assert np.array_equal(state(acting, data), state(other, same))
