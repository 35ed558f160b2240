"""Laws as systems in diagrams of Drake, and their motions against simulations."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges import drake
from erugin.bridges.drake.controller_system import ControllerSystem
from erugin.bridges.drake.log_capture import drake_errors
from erugin.bridges.drake.multibody_plant import Context, Diagram, MultibodyPlant, Simulator
from erugin.controllers import Controller, Status
from erugin.controllers.wrappers import Delay
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle
from erugin.simulation import SimulationError
from erugin.symbolic import BridgeError, EruginError, ModelError, SingularProgramError

from ...support.simulator_cases import (
    ROBOTS,
    Called,
    Shaken,
    adaptive,
    apart,
    chain,
    floating,
    panda,
    start,
    tracking,
    true_motion,
)

# Drake's own stubs take arrays for something that no array is.
analysis: Any = importlib.import_module("pydrake.systems.analysis")
framework: Any = importlib.import_module("pydrake.systems.framework")
Array = NDArray[np.float64]


def joined(law: ControllerSystem, plant: MultibodyPlant, port: str = "actuation") -> Diagram:
    """Plant and law in a diagram."""
    builder = framework.DiagramBuilder()
    builder.AddSystem(plant)
    builder.AddSystem(law)
    builder.Connect(plant.get_state_output_port(), law.GetInputPort("state"))
    ports = {"actuation": plant.get_actuation_input_port, "generalized_force": None}
    to = ports[port] or plant.get_applied_generalized_force_input_port
    builder.Connect(law.GetOutputPort(port), to())
    return builder.Build()


def begun(diagram: Diagram, plant: MultibodyPlant, state: tuple[Array, Array], longest: float) -> Simulator:
    """A simulator that stands at a state."""
    simulator = analysis.Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositionsAndVelocities(context, np.concatenate(state))
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    simulator.get_mutable_integrator().set_maximum_step_size(longest)
    return simulator


def reached(simulator: Simulator, plant: MultibodyPlant) -> Array:
    """Coordinates and velocities of the plant."""
    return np.array(plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(simulator.get_context())))


def output_value(law: ControllerSystem, context: Context, port: str) -> Array:
    """Value of an output port of the law."""
    return np.asarray(law.GetOutputPort(port).Eval(context), dtype=np.float64)


def of_law(simulator: Simulator, law: ControllerSystem) -> Context:
    """The law's part of the context."""
    return law.GetMyContextFromRoot(simulator.get_context())


def test_each_context_has_a_separate_memory() -> None:
    law = adaptive()
    robot = law.robot
    law.reset()
    untouched = law.memory
    plant = drake.export(robot)
    system = drake.drive(law, plant, period=0.01)
    diagram = joined(system, plant)
    still = (start(robot)[0], np.zeros(2))
    one, other = (begun(diagram, plant, state, 0.01) for state in (start(robot), still))
    for k in range(1, 16):
        one.AdvanceTo(0.01 * k)
        other.AdvanceTo(0.01 * k)
    alone = begun(diagram, plant, still, 0.01)
    alone.AdvanceTo(0.15)
    np.testing.assert_allclose(reached(other, plant), reached(alone, plant), atol=1e-12)
    assert np.abs(reached(one, plant) - reached(other, plant)).max() > 1e-3
    assert law.memory is untouched
    here = simulate(robot, law, *start(robot), 0.15, step=0.01)
    np.testing.assert_allclose(reached(one, plant), np.concatenate([here.q[-1], here.v[-1]]), atol=1e-6)


def test_a_law_that_remembers_needs_a_period() -> None:
    with pytest.raises(BridgeError, match=r"AdaptiveProgramController has a memory .* pass period="):
        drake.drive(adaptive())
    with pytest.raises(BridgeError, match="holds its output"):
        drake.drive(Shaken(chain()), hold=True)


@pytest.mark.parametrize("port", ["actuation", "generalized_force"])
def test_a_law_drives_a_plant_through_either_port(port: str) -> None:
    robot = chain(3, absolute=True)
    law, plant = tracking(robot), drake.export(robot)
    system = drake.drive(law, plant)
    simulator = begun(joined(system, plant, port), plant, system.states.to_model(*start(robot)), 0.02)
    simulator.AdvanceTo(0.1)
    here = true_motion(robot, law, 0.1, 0.02)
    there = np.concatenate(system.states.to_model(here.q[-1], here.v[-1]))
    np.testing.assert_allclose(reached(simulator, plant), there, atol=1e-8)
    own = of_law(simulator, system)
    assert output_value(system, own, "status")[0] == Status.OK
    np.testing.assert_allclose(output_value(system, own, "output"), here.u[-1], atol=1e-6)


def test_parameters_come_through_a_port() -> None:
    robot = chain()
    system = drake.drive(Shaken(robot), p={"f": 2.0})
    assert drake.match(robot, system.plant).same
    context = system.CreateDefaultContext()
    q, v = start(robot)
    system.GetInputPort("state").FixValue(context, np.concatenate([q, v]))
    np.testing.assert_allclose(output_value(system, context, "output"), 2.0 * np.cos([0.0, 1.0]) - 0.5 * v)
    system.GetInputPort("parameters").FixValue(context, [1.0, 0.0])
    np.testing.assert_allclose(output_value(system, context, "output"), np.cos([0.0, 1.0]))


def test_a_held_output_stays_from_sample_to_sample() -> None:
    robot = chain()
    plant = drake.export(robot)
    system = drake.drive(Called(robot, lambda t, q, v: [t, 2.0 * t]), plant, period=0.1, hold=True)
    simulator = begun(joined(system, plant), plant, start(robot), 0.01)
    for t, held in ((0.05, 0.0), (0.13, 0.1), (0.29, 0.2)):
        simulator.AdvanceTo(t)
        output = output_value(system, of_law(simulator, system), "output")
        np.testing.assert_allclose(output, [held, 2.0 * held], atol=1e-12)


def test_a_force_that_no_actuator_gives_is_named() -> None:
    robot = floating()
    plant = drake.export(robot)
    system = drake.drive(Shaken(robot), plant)
    simulator = begun(joined(system, plant), plant, system.states.to_model(*start(robot)), 0.01)
    with pytest.raises(
        BridgeError, match=r"joints without an actuator in the plant: free .*Connect 'generalized_force'"
    ):
        simulator.AdvanceTo(0.1)


def test_a_law_drives_one_of_two_arms_in_a_plant(tmp_path: Path) -> None:
    robot, file = chain(), tmp_path / "arm.urdf"
    drake.export(robot, file)
    plant = importlib.import_module("pydrake.multibody.plant").MultibodyPlant(0.0)
    parser = importlib.import_module("pydrake.multibody.parsing").Parser(plant)
    parser.SetAutoRenaming(True)
    instances = [parser.AddModels(file)[0] for _ in range(2)]
    plant.mutable_gravity_field().set_gravity_vector([0.0, -9.81, 0.0])
    plant.Finalize()
    with pytest.raises(BridgeError, match="named more than once: q1, q2"):
        drake.drive(tracking(robot), plant)
    system = drake.drive(tracking(robot), plant, model_instance=instances[1])
    context = system.CreateDefaultContext()
    q, v = start(robot)
    system.GetInputPort("state").FixValue(context, np.array([9.0, 9.0, *q, 9.0, 9.0, *v]))
    expected = [0.0, 0.0, *tracking(robot).control(0.0, q, v)]
    np.testing.assert_allclose(output_value(system, context, "generalized_force"), expected, rtol=1e-12)


def test_a_law_is_not_given_to_another_robot_unless_it_is_meant() -> None:
    plant = drake.export(chain(), p={"m2": 9.0})
    with pytest.raises(BridgeError, match="not the same robot"):
        drake.drive(tracking(chain()), plant)
    assert drake.drive(tracking(chain()), plant, p={"m2": 9.0}).plant is plant
    assert drake.drive(tracking(chain()), plant, tolerance=None).plant is plant


def test_a_plant_that_is_the_robot_to_six_digits_is_driven_with_that_tolerance() -> None:
    plant = drake.export(chain(), p={"m2": 1.5000004})
    with pytest.raises(BridgeError, match="not the same robot"):
        drake.drive(tracking(chain()), plant)
    assert drake.drive(tracking(chain()), plant, tolerance=1e-6).plant is plant


def test_a_law_that_remembers_nothing_before_its_first_sample_has_a_memory_for_each_context() -> None:
    """A Context that has seen no sample is not to see those of another."""
    law = Delay(tracking(chain()), 0.02)
    before = law.memory
    with pytest.raises(BridgeError, match=r"Delay has a memory .* pass period="):
        drake.drive(law)
    plant = drake.export(law.robot)
    system = drake.drive(law, plant, period=0.01)
    diagram = joined(system, plant)
    simulator = begun(diagram, plant, start(law.robot), 0.01)
    simulator.AdvanceTo(0.1)
    assert np.isfinite(output_value(system, of_law(simulator, system), "actuation")).all()
    assert law.memory is before
    fresh = begun(diagram, plant, start(law.robot), 0.01)
    with pytest.raises(ModelError, match="Delay has no sample yet"):
        output_value(system, of_law(fresh, system), "actuation")


def test_what_is_no_law_and_what_is_no_plant_are_refused() -> None:
    with pytest.raises(BridgeError, match="expected a Controller, got Robot") as raised:
        drake.drive(chain())  # type: ignore[arg-type]
    assert len(str(raised.value)) < 400
    with pytest.raises(BridgeError, match=r"expected a MultibodyPlant, got 'panda\.urdf'"):
        drake.drive(tracking(chain()), "panda.urdf")
    with pytest.raises(BridgeError, match=r"expected a Robot, got .*Shaken"):
        drake.export(Shaken(chain()))  # type: ignore[arg-type]


def test_the_scenario_of_the_moving_obstacle_runs_as_here() -> None:
    setup = two_link_arm_moving_obstacle()
    state, p, controller_p = (np.array(setup.q0), np.array(setup.v0)), setup.p, setup.controller_p
    here = true_motion(setup.robot, setup.controller, 0.6, 0.01, state=state, p=p, controller_p=controller_p)
    there = drake.simulate(
        setup.robot, setup.controller, *state, 0.6, step=0.01, substeps=2, p=p, controller_p=controller_p
    )
    assert apart(here, there) < 1e-8
    np.testing.assert_allclose(there.u, here.u, atol=1e-7)
    np.testing.assert_allclose(there.deviation, here.deviation, atol=1e-8)
    np.testing.assert_allclose(there.energy, here.energy, atol=1e-7)
    assert np.abs(here.q[-1] - here.q[0]).max() > 0.05
    assert there.ok


@pytest.mark.slow
def test_the_scenario_runs_as_here_to_its_end() -> None:
    setup = two_link_arm_moving_obstacle()
    state, p, controller_p = (np.array(setup.q0), np.array(setup.v0)), setup.p, setup.controller_p
    here = true_motion(setup.robot, setup.controller, 8.0, 0.01, state=state, p=p, controller_p=controller_p)
    there = drake.simulate(
        setup.robot, setup.controller, *state, 8.0, step=0.01, substeps=40, p=p, controller_p=controller_p
    )
    assert apart(here, there) < 1e-9


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
def test_a_law_of_forces_moves_the_plant_as_the_robot(make: Callable[[], Robot]) -> None:
    robot = make()
    law = Shaken(robot)
    here = true_motion(robot, law, 0.2, 0.02)
    there = drake.simulate(robot, law, *start(robot), 0.2, step=0.02, substeps=20)
    assert apart(here, there) < 1e-8
    assert np.abs(here.q[-1] - here.q[0]).max() > 0.05


@pytest.mark.parametrize("robot", [chain(3, absolute=True), panda()], ids=["three links, absolute", "panda"])
def test_a_program_law_of_torques_moves_the_plant_as_the_robot(robot: Robot) -> None:
    law = tracking(robot)
    here = true_motion(robot, law, 0.4, 0.02)
    there = drake.simulate(robot, law, *start(robot), 0.4, step=0.02, substeps=4)
    assert apart(here, there) < 1e-8
    np.testing.assert_allclose(there.u, here.u, atol=1e-6)


def test_a_free_motion_needs_no_law() -> None:
    robot = floating()
    here = true_motion(robot, None, 0.3, 0.01)
    there = drake.simulate(robot, None, *start(robot), 0.3, step=0.01, substeps=4)
    assert apart(here, there) < 1e-8
    assert there.u.shape == (31, 0)


def test_the_error_of_equal_steps_falls_with_the_order_of_drakes_integrator() -> None:
    robot = chain()
    law = Shaken(robot)
    true = true_motion(robot, law, 0.5, 0.05)
    errors = [
        apart(true, drake.simulate(robot, law, *start(robot), 0.5, step=h, integrator="runge_kutta3"))
        for h in (0.0125, 0.00625, 0.003125)
    ]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(orders > 2.8)
    assert np.all(orders < 3.4)


def test_an_accuracy_is_kept_by_an_integrator_that_controls_its_error() -> None:
    robot = chain()
    law = Shaken(robot)
    true = true_motion(robot, law, 0.2, 0.02)
    rough, fine = (
        drake.simulate(robot, law, *start(robot), 0.2, step=0.02, integrator="runge_kutta3", accuracy=a)
        for a in (1e-4, 1e-8)
    )
    assert apart(true, fine) < 1e-8 < apart(true, rough)


def test_a_discrete_plant_comes_nearer_with_its_step() -> None:
    robot = chain()
    law = Shaken(robot)
    true = true_motion(robot, law, 0.4, 0.02)
    errors = [apart(true, drake.simulate(robot, law, *start(robot), 0.4, step=0.02, time_step=h)) for h in (2e-3, 1e-3)]
    assert 1.7 < errors[0] / errors[1] < 2.3


def test_parameters_and_time_are_those_that_were_given() -> None:
    robot = chain()
    law = Shaken(robot)
    p, controller_p = {"m1": 3.0, "g": 2.0}, {"f": 3.0}
    here = true_motion(robot, law, 0.4, 0.02, p=p, controller_p=controller_p, t0=5.0)
    there = drake.simulate(
        robot, law, *start(robot), 0.4, step=0.02, p=p, controller_p=controller_p, t0=5.0, substeps=4
    )
    assert apart(here, there) < 1e-8
    assert there.t[0] == 5.0


def test_a_law_that_remembers_runs_as_here() -> None:
    law = adaptive()
    robot = law.robot
    p = {"m2": 2.5}
    here = simulate(robot, law, *start(robot), 0.3, step=0.0025, p=p)
    estimate = law.estimates["m2"]
    there = drake.simulate(robot, law, *start(robot), 0.3, step=0.0025, p=p)
    assert apart(here, there) < 1e-8
    assert law.estimates["m2"] == pytest.approx(estimate, abs=1e-8)
    assert abs(estimate - 1.5) > 1e-3


def test_a_law_that_has_to_stop_ends_the_run_with_its_log() -> None:
    robot = chain()

    def law(t: float, q: Array, v: Array) -> Array:
        if t > 0.055:
            raise SingularProgramError("the arm is stretched out")
        return np.zeros(2)

    with pytest.raises(SimulationError, match=r"after t = 0.05 s: the arm is stretched out.*q = \[") as caught:
        drake.simulate(robot, Called(robot, law), *start(robot), 1.0, step=0.01)
    assert caught.value.status is Status.SINGULAR
    assert len(caught.value.trajectory) == 6


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_motion_that_diverges_ends_with_its_log() -> None:
    robot = chain()
    law: Controller = Called(robot, lambda t, q, v: 50.0 * v**3 + 1.0, force=True)
    with pytest.raises(SimulationError, match=r"t = .*The last state: q = ") as caught:
        drake.simulate(robot, law, *start(robot), 1.0, step=0.01)
    assert 1 <= len(caught.value.trajectory) < 50
    assert np.isfinite(caught.value.trajectory.q[0]).all()


def test_an_integrator_that_drake_does_not_have_is_refused() -> None:
    robot = chain()
    with pytest.raises(BridgeError, match=r"integrator must be one of .*runge_kutta5.*got 'rk9'"):
        drake.simulate(robot, None, *start(robot), 0.1, step=0.01, integrator="rk9")  # type: ignore[arg-type]
    with pytest.raises(BridgeError, match="accuracy=None"):
        drake.simulate(robot, None, *start(robot), 0.1, step=0.01, integrator="explicit_euler", accuracy=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"time_step": -1.0}, "time_step must not be negative"),
        ({"time_step": -1e-12}, "time_step must not be negative"),
        ({"time_step": 1e-17}, "steps of Drake between two samples 0.01 s apart exceed the limit of 1,000,000"),
        ({"time_step": 1e-300}, "more than float64 can count"),
        ({"substeps": 10**9}, "1,000,000,000 steps of Drake between two samples"),
        ({"accuracy": 1e-17}, "accuracy must be at least 1e-13, the level of rounding"),
        ({"accuracy": -1.0}, "accuracy must be greater than zero"),
        ({"t0": np.nan}, "t0 must be finite"),
        ({"step": -0.1}, "step must be greater than zero"),
        ({"integrator": "cenic"}, "Drake rejects the integrator 'cenic' for this plant"),
    ],
)
def test_a_number_that_would_end_the_process_or_never_end_is_refused(wrong: dict[str, Any], message: str) -> None:
    """Drake answers some of these by SystemExit, and others by steps that it takes without end."""
    with pytest.raises(EruginError, match=message):
        drake.simulate(chain(), None, [0.2, 0.9], [0.0, 0.0], 0.05, **{"step": 1e-2, **wrong})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("time_step", [-1.0, -1e-300, np.nan, -np.inf])
def test_a_plant_is_not_made_with_a_time_step_that_drake_asserts_against(time_step: float) -> None:
    for robot in (chain(), chain(3, absolute=True)):
        with pytest.raises(ModelError, match="time_step must"):
            drake.export(robot, time_step=time_step)


@pytest.mark.parametrize("mass", [1e-320, 1e300])
def test_bodies_that_drake_refuses_are_reported_with_the_robot(mass: float) -> None:
    with pytest.raises(BridgeError, match=f"Drake rejects the bodies of {chain().name}"):
        drake.export(chain(), p={"m1": mass})


def test_an_assertion_of_drake_becomes_an_error_of_this_library() -> None:
    multibody: Any = importlib.import_module("pydrake.multibody.plant")
    with pytest.raises(BridgeError, match=r"Drake rejects a plant: .*time_step >= 0"), drake_errors("a plant"):
        multibody.MultibodyPlant(-1.0)


def test_a_model_instance_that_the_plant_does_not_have_is_refused() -> None:
    tree: Any = importlib.import_module("pydrake.multibody.tree")
    plant = drake.export(chain())
    for wrong in (0, -1, "chain", tree.ModelInstanceIndex(99)):
        with pytest.raises(BridgeError, match="model_instance must be one that the plant has"):
            drake.match(chain(), plant, model_instance=wrong)
