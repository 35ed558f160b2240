"""Laws as systems in diagrams of Drake that a user builds."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges import drake
from erugin.bridges.drake.controller_system import ControllerSystem
from erugin.bridges.drake.multibody_plant import Context, Diagram, MultibodyPlant, Simulator
from erugin.controllers import Status
from erugin.controllers.wrappers import Delay
from erugin.scenarios import simulate
from erugin.symbolic import BridgeError, ModelError

from .bridge_simulators import Called, Shaken, adaptive, chain, floating, start, tracking, true_motion

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


def told(law: ControllerSystem, context: Context, port: str) -> Array:
    """What an output port of the law says."""
    return np.asarray(law.GetOutputPort(port).Eval(context), dtype=np.float64)


def of_law(simulator: Simulator, law: ControllerSystem) -> Context:
    """The law's part of the context."""
    return law.GetMyContextFromRoot(simulator.get_context())


def test_each_context_has_a_memory_of_its_own() -> None:
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
    with pytest.raises(BridgeError, match=r"AdaptiveProgramController remembers .* pass period="):
        drake.drive(adaptive())
    with pytest.raises(BridgeError, match="holds its output"):
        drake.drive(Shaken(chain()), hold=True)


@pytest.mark.parametrize("port", ["actuation", "generalized_force"])
def test_a_law_drives_a_plant_through_either_port(port: str) -> None:
    robot = chain(3, absolute=True)
    law, plant = tracking(robot), drake.export(robot)
    system = drake.drive(law, plant)
    simulator = begun(joined(system, plant, port), plant, system.states.there(*start(robot)), 0.02)
    simulator.AdvanceTo(0.1)
    here = true_motion(robot, law, 0.1, 0.02)
    there = np.concatenate(system.states.there(here.q[-1], here.v[-1]))
    np.testing.assert_allclose(reached(simulator, plant), there, atol=1e-8)
    own = of_law(simulator, system)
    assert told(system, own, "status")[0] == Status.OK
    np.testing.assert_allclose(told(system, own, "output"), here.u[-1], atol=1e-6)


def test_parameters_come_through_a_port() -> None:
    robot = chain()
    system = drake.drive(Shaken(robot), p={"f": 2.0})
    assert drake.match(robot, system.plant).same
    context = system.CreateDefaultContext()
    q, v = start(robot)
    system.GetInputPort("state").FixValue(context, np.concatenate([q, v]))
    np.testing.assert_allclose(told(system, context, "output"), 2.0 * np.cos([0.0, 1.0]) - 0.5 * v)
    system.GetInputPort("parameters").FixValue(context, [1.0, 0.0])
    np.testing.assert_allclose(told(system, context, "output"), np.cos([0.0, 1.0]))


def test_a_held_output_stays_from_sample_to_sample() -> None:
    robot = chain()
    plant = drake.export(robot)
    system = drake.drive(Called(robot, lambda t, q, v: [t, 2.0 * t]), plant, period=0.1, hold=True)
    simulator = begun(joined(system, plant), plant, start(robot), 0.01)
    for t, held in ((0.05, 0.0), (0.13, 0.1), (0.29, 0.2)):
        simulator.AdvanceTo(t)
        output = told(system, of_law(simulator, system), "output")
        np.testing.assert_allclose(output, [held, 2.0 * held], atol=1e-12)


def test_a_force_that_no_actuator_gives_is_named() -> None:
    robot = floating()
    plant = drake.export(robot)
    system = drake.drive(Shaken(robot), plant)
    simulator = begun(joined(system, plant), plant, system.states.there(*start(robot)), 0.01)
    with pytest.raises(BridgeError, match=r"no actuator of the plant drives: free .*Connect 'generalized_force'"):
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
    np.testing.assert_allclose(told(system, context, "generalized_force"), expected, rtol=1e-12)


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
    """Wrappers begin with None; a Context that has seen no sample is not to see those of another."""
    law = Delay(tracking(chain()), 0.02)
    assert law.memory is None
    with pytest.raises(BridgeError, match=r"Delay remembers .* pass period="):
        drake.drive(law)
    plant = drake.export(law.robot)
    system = drake.drive(law, plant, period=0.01)
    diagram = joined(system, plant)
    simulator = begun(diagram, plant, start(law.robot), 0.01)
    simulator.AdvanceTo(0.1)
    assert np.isfinite(told(system, of_law(simulator, system), "actuation")).all()
    assert law.memory is None
    fresh = begun(diagram, plant, start(law.robot), 0.01)
    with pytest.raises(ModelError, match="Delay has taken in no sample yet"):
        told(system, of_law(fresh, system), "actuation")


def test_what_is_no_law_and_what_is_no_plant_are_refused() -> None:
    with pytest.raises(BridgeError, match="a Controller drives a plant, got Robot") as said:
        drake.drive(chain())  # type: ignore[arg-type]
    assert len(str(said.value)) < 400
    with pytest.raises(BridgeError, match=r"a MultibodyPlant is needed, got 'panda\.urdf'"):
        drake.drive(tracking(chain()), "panda.urdf")
    with pytest.raises(BridgeError, match=r"a Robot is handed on as bodies, got .*Shaken"):
        drake.export(Shaken(chain()))  # type: ignore[arg-type]
