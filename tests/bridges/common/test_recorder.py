"""A motion in another program is recorded, checked and compared like a simulation here."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.common.generalized_force import generalized_force
from erugin.bridges.common.model_comparison import Dynamics, compare_dynamics
from erugin.bridges.common.recorder import Recorder
from erugin.bridges.common.state_conversion import PINOCCHIO, StateConversion
from erugin.constraints import Baumgarte, FirstOrder, holonomic, nonholonomic
from erugin.controllers import Program, ProgramController, Status
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Link, Robot, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import Euler, SimulationError
from erugin.symbolic import BridgeError, MissingPackageError, ShapeError
from erugin.symbolic.optional_dependencies import import_optional

Array = NDArray[np.float64]
LINKS = [Link(0.5, 1.0, 0.25, 0.02), Link(0.4, 0.8, 0.2, 0.01)]
Q0, V0, STEP = np.array([0.3, 0.9]), np.array([0.1, -0.2]), 1e-3


def held(arm: Robot) -> ProgramController:
    """The elbow goes to one radian."""
    return ProgramController(
        Program(arm, holonomic(arm.q - 1.0, perturbation=Baumgarte(4.0, 10.0))), realization="actuated"
    )


def played(recorder: Recorder, arm: Robot, *, until: int) -> None:
    """Euler's steps, as any other program would take them."""
    q, v = Q0, V0
    for _ in range(until):
        output = recorder.tick(q, v)
        a = arm.evaluate(arm.acceleration, q=q, v=v, u=output)
        q, v = q + STEP * v, v + STEP * a


@pytest.mark.parametrize("remembers", [False, True])
def test_the_record_is_that_of_a_simulation(remembers: bool) -> None:
    arm = planar_manipulator(LINKS)
    law = SampleAndHold(held(arm), 4 * STEP) if remembers else held(arm)
    recorder = Recorder(arm, law, step=STEP, samples=21)
    played(recorder, arm, until=21)
    recorded, wanted = recorder.trajectory(), simulate(arm, law, Q0, V0, 20 * STEP, step=STEP, integrator=Euler())
    assert len(recorded) == len(wanted) == 21
    for name in ("t", "q", "v", "u", "deviation", "energy", "pivots", "status"):
        np.testing.assert_allclose(getattr(recorded, name), getattr(wanted, name), atol=1e-12, err_msg=name)
    assert recorded.ending == "the duration is over"


def test_a_law_that_has_to_stop_hands_back_the_state_and_what_there_is() -> None:
    arm = planar_manipulator(LINKS)
    tip = arm.points["tip"]
    program = Program(arm, holonomic(tip, perturbation=Baumgarte(4.0, 10.0), name="tip"))
    recorder = Recorder(arm, ProgramController(program, realization="actuated"), step=STEP, samples=5)
    recorder.tick([0.3, 0.9], [0.0, 0.0])
    with pytest.raises(
        SimulationError, match=r"at t = 0.001 s.*The last state: q = \[0.3, 0\], v = \[0, 0\]"
    ) as raised:
        recorder.tick([0.3, 0.0], [0.0, 0.0])
    assert raised.value.status is Status.SINGULAR
    assert len(raised.value.trajectory) == 2


def test_a_state_that_is_not_finite_ends_the_record() -> None:
    arm = planar_manipulator(LINKS)
    for law in (held(arm), SampleAndHold(held(arm), STEP)):
        recorder = Recorder(arm, law, step=STEP, samples=5)
        recorder.tick(Q0, V0)
        with pytest.raises(SimulationError, match=r"at t = 0.001 s") as raised:
            recorder.tick([np.nan, 0.0], V0)
        assert raised.value.status is Status.NOT_FINITE
        assert len(raised.value.trajectory) == 2


def test_what_the_other_program_raises_ends_it_too() -> None:
    arm = planar_manipulator(LINKS)
    recorder = Recorder(arm, held(arm), step=STEP, samples=5)
    recorder.tick(Q0, V0)
    error = recorder.fail(RuntimeError("the solver gave up"))
    assert "in the step after t = 0 s: RuntimeError: the solver gave up" in str(error)
    assert len(error.trajectory) == 1


def test_parameters_that_are_observed_hold_from_then_on() -> None:
    arm = planar_manipulator(LINKS)
    law = held(arm)
    recorder = Recorder(arm, law, step=STEP, samples=5)
    before = recorder.tick(Q0, V0)
    recorder.observed({"m2": 2.0})
    np.testing.assert_allclose(recorder.tick(Q0, V0), law.control(0.0, Q0, V0, {"m2": 2.0}), rtol=1e-13)
    assert not np.allclose(before, law.control(0.0, Q0, V0, {"m2": 2.0}))


def test_forces_are_those_of_the_inputs() -> None:
    """Of inputs that act in the same way everywhere, of some that do not, and of a law that says forces."""
    arm = planar_manipulator(LINKS, angles="absolute")
    pulled = dataclasses.replace(arm, input_matrix=arm.input_matrix * (1.0 + arm.q[0] ** 2))
    driven = held(arm)
    output = driven.control(0.0, Q0, V0)
    B = arm.evaluate(arm.input_matrix, p={"m1": 3.0})
    numbers = arm.parameters.values({"m1": 3.0})
    np.testing.assert_allclose(generalized_force(arm, driven, numbers)(0.0, Q0, V0, output), B @ output, atol=1e-14)
    wanted = (1.0 + Q0[0] ** 2) * B @ output
    np.testing.assert_allclose(generalized_force(pulled, driven, numbers)(0.0, Q0, V0, output), wanted, atol=1e-13)
    ideal = ProgramController(driven.program, realization="ideal")
    np.testing.assert_array_equal(generalized_force(arm, ideal, numbers)(0.0, Q0, V0, output), output)


def test_without_a_law_nothing_is_reported() -> None:
    free = Recorder(planar_manipulator(LINKS), None, step=STEP, samples=2)
    assert free.tick(Q0, V0).shape == (0,)


def test_a_state_of_another_shape_is_refused() -> None:
    recorder = Recorder(planar_manipulator(LINKS), None, step=STEP, samples=2)
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\) and v \(2,\), got \(3,\) and \(2,\)"):
        recorder.tick([0.0, 0.0, 0.0], [0.0, 0.0])


def test_robots_that_differ_are_distinguished_by_entry_and_amount() -> None:
    arm, other = planar_manipulator(LINKS), planar_manipulator([LINKS[0], Link(0.4, 0.9, 0.2, 0.01)])
    states = StateConversion(arm, PINOCCHIO, {"q1": (0, 0), "q2": (1, 1)}, (2, 2))

    def dynamics(robot: Robot) -> Dynamics:
        return lambda q, v: (robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v))

    names = {"q1": "q1", "q2": "q2"}
    same = compare_dynamics(arm, dynamics(arm), states, names=names).check()
    assert same.same
    assert same.mass == 0.0
    assert "the same" in str(same)
    differs = compare_dynamics(arm, dynamics(other), states, names=names)
    assert not differs.same
    with pytest.raises(BridgeError, match=r"M\[q1, q\d\] is [\d.]+ in the robot and [\d.]+ in the model; h\[q\d\] is"):
        differs.check()
    assert compare_dynamics(arm, dynamics(other), states, names=names, p={"m2": 0.9}).same
    broken = compare_dynamics(arm, lambda q, v: (np.full((2, 2), np.nan), np.zeros(2)), states, names=names)
    assert not broken.same


def test_a_difference_of_bodies_or_a_note_is_one() -> None:
    arm = planar_manipulator(LINKS)
    states = StateConversion(arm, PINOCCHIO, {"q1": (0, 0), "q2": (1, 1)}, (2, 2))

    def own(q: Array, v: Array) -> tuple[Array, Array]:
        return arm.evaluate(arm.mass_matrix, q=q), arm.evaluate(arm.bias, q=q, v=v)

    reported = compare_dynamics(arm, own, states, names={}, notes=("joint q1 has an armature of 0.1 kg m²",))
    with pytest.raises(BridgeError, match=r"armature of 0\.1 kg"):
        reported.check()


def test_a_missing_package_comes_with_the_command_that_installs_it() -> None:
    with pytest.raises(MissingPackageError, match=r"no_such_program is required but is not installed") as raised:
        import_optional("no_such_program.parts", "mujoco")
    assert str(raised.value).endswith("pip install 'erugin[mujoco]'")


def test_rows_of_first_order_are_recorded_too() -> None:
    arm = planar_manipulator(LINKS)
    law = ProgramController(
        Program(arm, nonholonomic(arm.v - 0.1, perturbation=FirstOrder(3.0), name="speed")), realization="actuated"
    )
    recorder = Recorder(arm, law, step=STEP, samples=1)
    recorder.tick(Q0, V0)
    np.testing.assert_allclose(recorder.trajectory().deviation[0], V0 - 0.1, atol=1e-14)
