"""Closed loops run by python-control in continuous and discrete time."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges import python_control as bridge
from erugin.bridges.python_control import drive, export, export_loop
from erugin.constraints import holonomic
from erugin.controllers import Controller, Program, ProgramController, Tick, Trait, linearize
from erugin.controllers.wrappers import Delay, SampleAndHold, Saturation
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import DOP853, SimulationError
from erugin.symbolic import (
    BridgeError,
    ModelError,
    NotFiniteError,
    NotFiniteInputError,
    ParameterError,
    ShapeError,
    SingularProgramError,
)

from ...support.arms import two_link_arm
from ...support.simulator_cases import START, Called, tracking_controller

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
    robot, law = tracking_controller()
    return robot, Delay(law, 2 * DT)


def held() -> Built:
    """Every second sample, and as late as that: no memory before the first of them."""
    robot, law = tracking_controller()
    return robot, SampleAndHold(Saturation(law, 20.0), 2 * DT)


def integrating() -> Built:
    robot, law = tracking_controller()
    return robot, ProgramController(law.program, realization="actuated", robust="integral")


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
    robot, law = tracking_controller("ideal")
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


def test_a_singular_position_is_reported_and_ends_a_run() -> None:
    """python-control's solvers would never end with a NaN; joined systems are evaluated at zero first."""
    robot, law = reaching()
    t, start = np.linspace(0.0, 0.2, 5), np.array([0.3, 0.8, 0.0, 0.0])
    loop = export_loop(robot, law)
    with pytest.raises(SingularProgramError, match=r"Row 'tip\[0\]' vanishes|depends on"):
        control.input_output_response(loop, t, 0.0, [0.3, 0.0, 0.0, 0.0])
    plant = export(robot, name="plant")
    joined = control.interconnect([plant, drive(law)], inputs=[], outputs=plant.output_labels)
    with pytest.raises(
        NotFiniteError, match="evaluates first when it connects systems, wherever they start: use export_loop"
    ):
        control.input_output_response(joined, t, 0.0, start)
    found = control.input_output_response(loop, t, 0.0, start)
    assert np.isfinite(found.outputs).all()
    with pytest.raises(NotFiniteInputError, match="q must be finite"):
        loop.dynamics(0.0, np.full(4, np.nan), [])


Q0, V0 = START[:2], START[2:]


@pytest.mark.parametrize("realization", ["actuated", "ideal"])
def test_its_motion_is_ours_and_so_is_the_record(realization: str) -> None:
    robot, law = tracking_controller(realization)
    changed = {"m1": 3.0}
    theirs = bridge.simulate(
        robot, law, Q0, V0, 0.5, step=0.02, p=changed, controller_p={"track.alpha": 4.0, "m2": 2.2}, t0=0.3
    )
    ours = simulate(
        robot,
        law,
        Q0,
        V0,
        0.5,
        step=0.02,
        integrator=DOP853(1e-11, 1e-12),
        p=changed,
        controller_p={"track.alpha": 4.0, "m2": 2.2},
        t0=0.3,
    )
    for name in ("t", "q", "v", "u", "deviation", "energy", "pivots"):
        np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), rtol=0, atol=1e-7, err_msg=name)
    assert (theirs.status == ours.status).all()
    assert theirs.rows == ours.rows
    assert np.abs(ours.q[-1] - Q0).max() > 0.05
    np.testing.assert_array_equal(theirs.p, ours.p)


@pytest.mark.parametrize("build", [delayed, integrating, lambda: tracking_controller("actuated")])
def test_a_law_that_is_held_moves_the_robot_as_in_a_simulation(build: Callable[[], Any]) -> None:
    robot, law = build()
    theirs = bridge.simulate(robot, law, Q0, V0, 0.3, step=0.01, held=True)
    ours = simulate(robot, SampleAndHold(law, 0.01), Q0, V0, 0.3, step=0.01)
    for name in ("t", "q", "v", "u"):
        np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), rtol=0, atol=1e-11, err_msg=name)
    smooth = simulate(robot, law, Q0, V0, 0.3, step=0.01)
    assert np.abs(smooth.q - ours.q).max() > 1e-6


def test_without_a_law_it_falls() -> None:
    robot = two_link_arm()
    theirs = bridge.simulate(robot, None, Q0, V0, 0.4, step=0.05)
    ours = simulate(robot, None, Q0, V0, 0.4, step=0.05, integrator=DOP853(1e-11, 1e-12))
    np.testing.assert_allclose(theirs.q, ours.q, rtol=0, atol=1e-8)
    assert theirs.u.shape == ours.u.shape == (9, 0)
    assert np.ptp(theirs.energy) < 1e-7 * np.abs(theirs.energy).max()


def test_a_run_that_has_to_stop_keeps_what_it_has() -> None:
    """The tip is drawn through the place where the arm is stretched out."""
    robot, law = reaching()
    with pytest.raises(SimulationError, match=r"at t = 0.*The last state: q = \[0\.3, 0\]") as raised:
        bridge.simulate(robot, law, [0.3, 0.0], [0.0, 0.0], 0.2, step=0.01)
    assert len(raised.value.trajectory) == 1
    late, free = Stops(robot, 0.105), 10
    with pytest.raises(SimulationError, match=r"it is late.*The last state: q = ") as raised:
        bridge.simulate(robot, late, Q0, V0, 0.2, step=0.01)
    assert len(raised.value.trajectory) == free + 1
    expected = simulate(robot, None, Q0, V0, 0.1, step=0.01, integrator=DOP853(1e-11, 1e-12))
    np.testing.assert_allclose(raised.value.trajectory.q, expected.q, rtol=0, atol=1e-8)


class Stops(Controller):
    """No torque, and an error from some time on."""

    supports = frozenset(Trait)

    def __init__(self, robot: Robot, time: float) -> None:
        self.robot, self._time = robot, time

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        if t > self._time:
            raise ModelError("it is late")
        return Tick(np.zeros(2))


def test_bad_input_is_refused() -> None:
    robot, law = tracking_controller()
    with pytest.raises(ShapeError, match="q0 must have shape"):
        bridge.simulate(robot, law, [0.1], V0, 0.1, step=0.01)
    with pytest.raises(ModelError, match="step"):
        bridge.simulate(robot, law, Q0, V0, 0.1, step=0.0)
    with pytest.raises(ParameterError, match="unknown parameter 'm7'"):
        bridge.simulate(robot, law, Q0, V0, 0.1, step=0.01, p={"m7": 1.0})
    with pytest.raises(ModelError, match="has a memory, which changes at samples: held must not be False"):
        bridge.simulate(*delayed(), Q0, V0, 0.1, step=0.01, held=False)


M = np.array([[2.0, 0.3], [0.3, 1.5]])
K = np.array([[30.0, -10.0], [-10.0, 20.0]])
D = np.array([[1.0, 0.4], [-0.4, 0.5]])
B = np.array([[1.0], [0.5]])


def mechanical(dt: float = 0.0) -> Any:  # noqa: ANN401 - has no type information
    """Two masses on springs with dampers and a gyroscopic coupling."""
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    inputs = np.vstack([np.zeros((2, 1)), np.linalg.solve(M, B)])
    states = ["x", "y", "x_rate", "y_rate"]
    return control.StateSpace(A, inputs, np.eye(4), np.zeros((4, 1)), dt, states=states, inputs=["push"], name="masses")


def test_a_mechanical_state_space_is_a_robot() -> None:
    robot = bridge.load(mechanical(), mass_matrix=M, units=["m", "m"])
    assert robot.coordinates.names == ("x", "y")
    assert robot.input_names == ("push",)
    np.testing.assert_allclose(robot.evaluate(robot.mass_matrix), M)
    q, v = np.array([0.3, -0.2]), np.array([0.5, 0.7])
    np.testing.assert_allclose(robot.evaluate(robot.bias, q=q, v=v), K @ q + D @ v)
    np.testing.assert_allclose(robot.evaluate(robot.potential_energy, q=q), q @ K @ q / 2)
    again = bridge.export_linearization(linearize(robot, [0.0, 0.0]))
    np.testing.assert_allclose(again.A, mechanical().A, atol=1e-12)
    np.testing.assert_allclose(again.B, mechanical().B, atol=1e-12)
    t = np.linspace(0.0, 2.0, 41)
    start = np.concatenate([q, v])
    theirs = control.forced_response(mechanical(), t, 0.0, start)
    ours = simulate(robot, None, q, v, 2.0, step=0.05, integrator=DOP853(1e-11, 1e-12))
    np.testing.assert_allclose(theirs.states.T, np.hstack([ours.q, ours.v]), rtol=0, atol=1e-9)
    doubled = robot.evaluate(robot.bias, q=q, v=v, p={"K[x,y]": -20.0}) - robot.evaluate(robot.bias, q=q, v=v)
    np.testing.assert_allclose(doubled, -10.0 * q[::-1])


def test_a_linearized_robot_comes_back() -> None:
    arm = two_link_arm()
    down = np.array([-np.pi / 2, 0.0])
    system = bridge.export_linearization(linearize(arm, down))
    robot = bridge.load(system, mass_matrix=arm.evaluate(arm.mass_matrix, q=down))
    at_rest = robot.evaluate(robot.acceleration, q=[0.0, 0.0], v=[0.0, 0.0], u=[1.0, -2.0])
    np.testing.assert_allclose(at_rest, arm.evaluate(arm.acceleration, q=down, v=[0.0, 0.0], u=[1.0, -2.0]), atol=1e-9)
    assert np.abs(at_rest).max() > 1.0


def test_what_is_not_of_mechanical_form_is_refused() -> None:
    robot: Any = two_link_arm()
    nonlinear: Any = bridge.export(robot)
    with pytest.raises(
        BridgeError, match="is a NonlinearIOSystem: python-control can call its functions, but does not know"
    ):
        bridge.load(nonlinear)
    with pytest.raises(BridgeError, match=r"system must be a control\.StateSpace of mechanical form, got Robot"):
        bridge.load(robot)
    with pytest.raises(BridgeError, match=r"masses: dt = 0\.1, but a robot moves in continuous time"):
        bridge.load(mechanical(0.1))
    with pytest.raises(BridgeError, match="as many velocities as coordinates, but there are 3 states"):
        bridge.load(control.rss(3, strictly_proper=True))
    with pytest.raises(BridgeError, match=r"the rate of 'x\[0\]' has .* times 'x\["):
        bridge.load(control.StateSpace([[1.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1))))
    with pytest.raises(BridgeError, match=r"an input changes 'x\[0\]' directly, but forces act on velocities only"):
        bridge.load(control.StateSpace([[0.0, 1.0], [0.0, 0.0]], [[1.0], [1.0]], np.eye(2), np.zeros((2, 1))))
    with pytest.raises(
        BridgeError, match=r"not symmetric, by .* no springs have these forces with M = 1: give mass_matrix="
    ):
        bridge.load(mechanical())
    with pytest.raises(BridgeError, match=r"not symmetric, by .* with this M: the mass matrix may belong"):
        bridge.load(mechanical(), mass_matrix=np.diag([1.0, 7.0]))
    with pytest.raises(BridgeError, match="must be symmetric and positive definite, got"):
        bridge.load(mechanical(), mass_matrix=-M)
    with pytest.raises(
        BridgeError, match=r"mass_matrix must have shape \(2, 2\) and finite entries, got shape \(3, 3\)"
    ):
        bridge.load(mechanical(), mass_matrix=np.eye(3))


def test_a_fault_of_a_law_ends_in_an_error_with_the_motion_so_far() -> None:
    robot = two_link_arm()

    def law(t: float, q: Array, v: Array) -> Array:
        if t > 0.1:
            raise ValueError("a fault of its own")
        return np.zeros(2)

    with pytest.raises(SimulationError, match=r"after t = 0\.1 s: ValueError: a fault of its own") as raised:
        bridge.simulate(robot, Called(robot, law), Q0, V0, 0.3, step=0.02)
    assert len(raised.value.trajectory) == 6
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_motion_that_accelerates_without_bound_raises_too() -> None:
    """The solver would follow it in ever shorter steps and never end."""
    robot = two_link_arm()
    law = Called(robot, lambda t, q, v: 1e6 * (1.0 + q**2) if t > 0.1 else np.zeros(2))
    with pytest.raises(SimulationError, match="needs more than 200 steps from one sample to the next") as raised:
        bridge.simulate(robot, law, Q0, V0, 5.0, step=0.02, most_steps=200)
    assert len(raised.value.trajectory) >= 6
    with pytest.raises(ModelError, match=r"method must be one of SciPy's RK23, RK45, .* got 'RK9'"):
        bridge.simulate(robot, law, Q0, V0, 0.1, step=0.02, method="RK9")
    with pytest.raises(ModelError, match="most_steps must be a whole number"):
        bridge.simulate(robot, law, Q0, V0, 0.1, step=0.02, most_steps=1.5)  # type: ignore[arg-type]
