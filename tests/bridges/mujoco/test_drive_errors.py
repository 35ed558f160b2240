"""An error of a law or a motion in MuJoCo reaches the user, with the time, the state and the samples so far."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.mujoco import ControlCallback, drive, match, simulate
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Controller, Program, ProgramController, Status, Tick
from erugin.robots import Robot
from erugin.scenarios import simulate as simulate_here
from erugin.simulation import SimulationError
from erugin.symbolic import BridgeError, MissingPackageError, ModelError

from ...support.mujoco_arm import ARM, Q0, V0, Counting, arm, callback, model_of, remembered, started, state, swinging
from ...support.mujoco_versions import has

Array = NDArray[np.float64]


class Cut(Controller):
    """A law whose cable is cut after a tenth of a second."""

    def __init__(self, robot: Robot, raised: BaseException | None = None) -> None:
        self.robot, self.parameters = robot, robot.parameters
        self.raised = raised or RuntimeError("cable cut")

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Nothing, and then not even that."""
        if t > 0.1001:
            raise self.raised
        return Tick(np.zeros(2))


def by_callback(acting: ControlCallback, data: mujoco.MjData, count: int) -> None:
    """MuJoCo's own steps."""
    with callback(acting):
        mujoco.mj_step(acting.model, data, count)


def by_step(acting: ControlCallback, data: mujoco.MjData, count: int) -> None:
    """One step after the other."""
    for _ in range(count):
        acting.step(data)


def by_run(acting: ControlCallback, data: mujoco.MjData, count: int) -> None:
    """A recorded run."""
    acting.run(data, count * float(acting.model.opt.timestep))


WAYS = pytest.mark.parametrize("go", [by_callback, by_step, by_run])
Way = Callable[[ControlCallback, mujoco.MjData, int], None]


@WAYS
def test_what_a_law_raises_is_the_cause_of_an_error_with_the_samples_so_far(go: Way) -> None:
    acting = drive(Cut(arm()), model_of(ARM))
    with pytest.raises(SimulationError, match=r"in the step after t = 0\.1 s: RuntimeError: cable cut.*q = \[") as info:
        go(acting, started(acting), 500)
    motion = info.value.trajectory
    assert isinstance(info.value.__cause__, RuntimeError)
    assert info.value.status is Status.FAILED
    assert np.allclose(motion.t, np.arange(101) * 1e-3, rtol=0.0, atol=1e-12)
    free = simulate_here(arm(), None, Q0, V0, 0.1, step=1e-3)
    assert np.allclose(motion.q, free.q, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("go", [by_callback, by_step])
def test_sampling_restarts_where_the_timestep_changes(go: Way) -> None:
    acting = drive(Cut(arm()), model_of(ARM))
    data = started(acting)
    go(acting, data, 50)
    acting.model.opt.timestep = 2e-3
    with pytest.raises(SimulationError) as info:
        go(acting, data, 500)
    assert np.allclose(info.value.trajectory.t, 0.05 + np.arange(26) * 2e-3, rtol=0.0, atol=1e-12)


def test_a_step_that_fails_leaves_the_memory_as_it_was() -> None:
    law = Counting(arm())
    acting = drive(law, model_of(ARM))
    data = started(acting)
    by_step(acting, data, 5)
    assert remembered(acting) == 5
    data.qvel[0] = 1e11
    with pytest.raises(SimulationError, match="a velocity is not finite or beyond 1e10"):
        acting.step(data)
    assert remembered(acting) == 5


def test_another_motion_starts_without_memory() -> None:
    law = Counting(arm())
    acting = drive(law, model_of(ARM))
    data = started(acting)
    by_step(acting, data, 5)
    mujoco.mj_resetData(acting.model, data)
    by_step(acting, data, 2)
    counts = [remembered(acting)]
    by_step(acting, started(acting), 3)
    assert [*counts, remembered(acting)] == [2, 3]


def test_a_step_that_fails_leaves_the_data_as_it_was() -> None:
    acting = drive(Cut(arm()), model_of(ARM))
    data = started(acting)
    by_step(acting, data, 100)
    before = state(acting, data)
    with pytest.raises(SimulationError):
        acting.step(data)
    assert np.array_equal(state(acting, data), before)
    assert data.time == pytest.approx(0.1)
    assert mujoco.get_mjcb_control() is None


@WAYS
def test_dependent_rows_end_a_motion_with_their_names(go: Way) -> None:
    robot = arm()
    beyond = ca.vertcat(0.9 + 0.4 * robot.t, 0.1)
    reached = holonomic(robot.points["tip"] - beyond, perturbation=Baumgarte(10.0), name="tip")
    law = ProgramController(Program(robot, reached), realization="actuated")
    acting = drive(law, model_of(ARM))
    with pytest.raises(SimulationError, match=r"Row 'tip\[1\]' depends on 'tip\[0\]'") as info:
        go(acting, started(acting, (0.5, -1.0), (0.0, 0.0)), 2000)
    with pytest.raises(SimulationError) as ours:
        simulate_here(robot, law, (0.5, -1.0), (0.0, 0.0), 2.0, step=1e-3)
    assert info.value.status is Status.SINGULAR
    assert len(info.value.trajectory) == len(ours.value.trajectory)


@WAYS
def test_a_motion_that_diverges_ends_with_time_and_state(
    go: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where MuJoCo would write its log of a callback's motion
    model = model_of(ARM.replace('timestep="0.001"', 'timestep="0.3"').replace("RK4", "Euler"))
    acting = drive(swinging(arm()), model)
    with pytest.raises(
        SimulationError, match=r"in the step after t = .* s: .*diverged.*The last state: q = \["
    ) as info:
        go(acting, started(acting, Q0, (50.0, 50.0)), 100)
    assert info.value.status is Status.NOT_FINITE
    assert np.isfinite(info.value.trajectory.q).all()
    assert len(info.value.trajectory) > 2


@WAYS
def test_a_motion_that_mujoco_sets_back_is_no_motion(go: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    law = Cut(arm())
    acting = drive(law, model_of(ARM))
    data = started(acting)
    go(acting, data, 20)
    data.qvel[1] = 2e10
    # MuJoCo itself continues from the state in which the model is set up, at time zero.
    with pytest.raises(SimulationError, match=r"a velocity is not finite or beyond 1e10 \(joint 'q2'\).*diverged"):
        go(acting, data, 20)
    if go is not by_callback:
        assert data.qvel[1] == 2e10
        assert not list(tmp_path.iterdir())


def test_a_start_that_mujoco_resets_is_detected_in_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    acting = drive(Cut(arm()), model_of(ARM))
    with pytest.raises(SimulationError, match=r"a velocity is not finite or beyond 1e10 \(joint 'q1'\)"):
        by_callback(acting, started(acting, Q0, (2e10, 0.0)), 1)


def test_nan_ends_a_motion_at_once() -> None:
    acting = drive(swinging(arm()), model_of(ARM))
    data = started(acting)
    data.qvel[0] = np.nan
    with pytest.raises(SimulationError, match="at t = 0 s, not finite") as info:
        acting.run(data, 0.1)
    assert len(info.value.trajectory) == 1


def test_ctrl_c_in_a_law_keeps_the_samples_so_far() -> None:
    acting = drive(Cut(arm(), KeyboardInterrupt()), model_of(ARM))
    with pytest.raises(KeyboardInterrupt, match=r"interrupted at t = 0\.1 s") as info:
        acting.run(started(acting), 0.3)
    assert len(info.value.trajectory) == 101  # type: ignore[attr-defined]
    assert mujoco.get_mjcb_control() is None


def test_a_drive_is_for_one_model() -> None:
    acting, other = drive(Cut(arm()), model_of(ARM)), model_of(ARM)
    with callback(acting), pytest.raises(BridgeError, match="is for another MjModel"):
        mujoco.mj_step(other, mujoco.MjData(other))
    # Data of MuJoCo 3.0.0 do not tell whose they are: those of equal sizes are as good.
    larger = other if has("3.0.1") else model_of(ARM.replace("<!-- more bodies -->", '<body name="more"/>'))
    with pytest.raises(BridgeError, match="the MjData is of another MjModel"):
        acting.step(mujoco.MjData(larger))


def test_an_output_of_a_wrong_shape_is_reported() -> None:
    class Three(Cut):
        def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
            return Tick(np.zeros(3))

    acting = drive(Three(arm()), model_of(ARM))
    with pytest.raises(SimulationError, match=r"Three\.evaluate must return an output of shape \(2,\), got"):
        acting.step(started(acting))


def test_simulate_refuses_bad_numbers() -> None:
    robot = arm()
    with pytest.raises(ValueError, match="q0 must have shape"):
        simulate(robot, None, [0.0], V0, 1.0, step=0.1)
    with pytest.raises(ValueError, match="step"):
        simulate(robot, None, Q0, V0, 1.0, step=0.0)
    with pytest.raises(ModelError, match=r"a step of 0\.5 s is too long for the perturbation equation of 'swing'"):
        simulate(robot, swinging(robot), Q0, V0, 1.0, step=0.5)
    with pytest.raises(BridgeError, match="integrator must be one of"):
        simulate(robot, None, Q0, V0, 1.0, step=0.1, integrator="RK5")  # type: ignore[arg-type]


def test_without_mujoco_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, model = arm(), model_of(ARM)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    for use in (
        lambda: drive(swinging(robot), model),
        lambda: match(robot, model),
        lambda: simulate(robot, None, Q0, V0, 1.0, step=0.1),
    ):
        with pytest.raises(MissingPackageError, match=r"pip install 'erugin\[mujoco\]'"):
            use()


def test_a_diverging_simulation_reports_time_and_place() -> None:
    robot = arm()
    with pytest.raises(SimulationError, match=r"in the step after t = .* s: .*diverged.*last state") as info:
        simulate(robot, swinging(robot), Q0, (50.0, 50.0), 60.0, step=0.3, integrator="Euler")
    assert info.value.trajectory.robot is robot
