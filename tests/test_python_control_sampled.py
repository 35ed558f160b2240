"""python-control in discrete time: controllers with a memory, and laws that are singular where it asks first."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.common.controller_memory import has_memory
from erugin.bridges.python_control import drive, export, export_loop
from erugin.constraints import holonomic
from erugin.controllers import Controller, Program, ProgramController
from erugin.controllers.robust import IntegralProgramController
from erugin.controllers.wrappers import Delay, MotorLag, SampleAndHold, Saturation
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, NotFiniteError, NotFiniteInputError, SingularProgramError

from .arms import two_link_arm
from .bridge_simulators import Called
from .test_python_control import START, tracking

Array = NDArray[np.float64]
Built = tuple[Robot, Controller]

control: Any = importlib.import_module("control")
DT, STEPS = 0.01, 40


def reaching() -> Built:
    """The tip of an arm, which has no program where it is stretched out."""
    robot = two_link_arm()
    program = Program(robot, holonomic(robot.points["tip"] - ca.vertcat(0.6, 0.3), name="tip"))
    return robot, ProgramController(program, realization="actuated")


def delayed() -> Built:
    """Two samples late: what it remembers is a queue."""
    robot, law = tracking()
    return robot, Delay(law, 2 * DT)


def held() -> Built:
    """Every second sample, and as late as that: no memory before the first of them."""
    robot, law = tracking()
    return robot, SampleAndHold(Saturation(law, 20.0), 2 * DT)


def integrating() -> Built:
    robot, law = tracking()
    return robot, IntegralProgramController(law.program, realization="actuated")


@pytest.mark.parametrize("build", [delayed, held, integrating])
def test_a_controller_with_a_memory_moves_the_robot_as_in_a_simulation(build: Callable[[], Built]) -> None:
    """The simulation holds the output between its samples, too; in one system, joined by names, and twice."""
    robot, law = build()
    t = np.arange(STEPS + 1) * DT
    changed = {"m1": 3.0}
    motion = simulate(robot, SampleAndHold(law, DT), START[:2], START[2:], STEPS * DT, step=DT, p=changed)
    expected = np.hstack([motion.q, motion.v])
    loop = export_loop(robot, law, dt=DT)
    assert loop.state_labels == ["q1", "q2", "v_q1", "v_q2", "samples"]
    for _ in range(2):
        found = control.input_output_response(loop, t, 0.0, [*START, 0.0], params=changed)
        np.testing.assert_allclose(found.outputs.T, expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(found.states[-1], np.arange(STEPS + 1))
    plant = export(robot, dt=DT, name="plant")
    own = drive(law, dt=DT, name="law")
    assert own.state_labels == ["samples"]
    whole = control.interconnect([plant, own], inputs=[], outputs=[*plant.output_labels, *own.output_labels])
    shared = simulate(
        robot, SampleAndHold(law, DT), START[:2], START[2:], STEPS * DT, step=DT, p=changed, controller_p=changed
    )
    joined = control.input_output_response(whole, t, 0.0, [*START, 0.0], params=changed)
    np.testing.assert_allclose(joined.outputs.T, np.hstack([shared.q, shared.v, shared.u]), rtol=0, atol=1e-11)


def test_a_law_without_memory_is_held_in_discrete_time() -> None:
    robot, law = tracking("ideal")
    loop = export_loop(robot, law, dt=DT, outputs={"tip": robot.points["tip"]})
    assert loop.nstates == 4
    found = control.input_output_response(loop, np.arange(STEPS + 1) * DT, 0.0, START)
    motion = simulate(robot, SampleAndHold(law, DT), START[:2], START[2:], STEPS * DT, step=DT)
    np.testing.assert_allclose(found.outputs.T, motion.evaluate(robot.points["tip"]), rtol=0, atol=1e-12)
    # Between samples nothing is held where time is continuous, even by a wrapper, which has no memory itself.
    smooth = export_loop(robot, Saturation(law, 1e3)).dynamics(0.0, START, [])
    np.testing.assert_allclose(smooth, export_loop(robot, law).dynamics(0.0, START, []), rtol=1e-10)


@pytest.mark.parametrize("build", [delayed, held, integrating])
def test_a_memory_takes_discrete_time(build: Callable[[], Built]) -> None:
    robot, law = build()
    with pytest.raises(ModelError, match="has a memory, which changes at samples: give dt="):
        drive(law)
    with pytest.raises(ModelError, match="has a memory, which changes at samples: give dt="):
        export_loop(robot, law)
    system = drive(law, dt=DT)
    with pytest.raises(ModelError, match="'samples' counts samples, and 7 has not been reached"):
        system.output(0.0, np.array([7.0]), START)


def test_a_singular_place_is_told_and_ends_a_run() -> None:
    """python-control's solvers would go on forever with a NaN; joined systems are asked at zero first."""
    robot, law = reaching()
    t, start = np.linspace(0.0, 0.2, 5), np.array([0.3, 0.8, 0.0, 0.0])
    loop = export_loop(robot, law)
    with pytest.raises(SingularProgramError, match=r"Row 'tip\[0\]' vanishes|depends on"):
        control.input_output_response(loop, t, 0.0, [0.3, 0.0, 0.0, 0.0])
    plant = export(robot, name="plant")
    joined = control.interconnect([plant, drive(law)], inputs=[], outputs=plant.output_labels)
    with pytest.raises(NotFiniteError, match="asks first when it joins systems, wherever they start: take export_loop"):
        control.input_output_response(joined, t, 0.0, start)
    found = control.input_output_response(loop, t, 0.0, start)
    assert np.isfinite(found.outputs).all()
    with pytest.raises(NotFiniteInputError, match="q must be finite"):
        loop.dynamics(0.0, np.full(4, np.nan), [])


def test_a_memory_is_found_where_the_law_inside_refuses_to_begin() -> None:
    """Before a sample that is not refused, a drive of the motors has no memory; a filter never has one."""
    robot = two_link_arm()

    def law(t: float, q: Array, v: Array) -> Array:
        if not np.any(q):
            raise SingularProgramError("stretched")
        return np.zeros(2)

    lag = MotorLag(Called(robot, law), 0.05)
    assert lag.memory is None
    assert has_memory(lag)
    assert lag.memory is None
    assert not has_memory(Saturation(Called(robot, law), 1.0))
    assert has_memory(Delay(Called(robot, lambda t, q, v: np.full(2, 1.0 / float(q[0]))), 0.02))
    assert not has_memory(Called(robot, law))
