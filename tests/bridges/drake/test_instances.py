"""Several laws in one plant of Drake, each with some of its joints."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges import drake
from erugin.bridges.drake.controller_system import ControllerSystem
from erugin.bridges.drake.multibody_plant import ModelInstanceIndex, MultibodyPlant, Simulator
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import Trajectory
from erugin.symbolic import BridgeError

from ...support.simulator_cases import Called, adaptive, chain, floating, start, tracking, true_motion

# Drake's own stubs take arrays for something that no array is.
analysis: Any = importlib.import_module("pydrake.systems.analysis")
framework: Any = importlib.import_module("pydrake.systems.framework")
primitives: Any = importlib.import_module("pydrake.systems.primitives")
multibody: Any = importlib.import_module("pydrake.multibody.plant")
tree: Any = importlib.import_module("pydrake.multibody.tree")
parsing: Any = importlib.import_module("pydrake.multibody.parsing")
Array = NDArray[np.float64]
State = tuple[Array, Array]


def shared(
    robots: Sequence[Robot], motors: Sequence[tuple[int, str]], folder: Path
) -> tuple[MultibodyPlant, list[ModelInstanceIndex]]:
    """Robots in one plant, with motors in this order at joints of the k-th of them."""
    plant = multibody.MultibodyPlant(0.0)
    parser = parsing.Parser(plant)
    parser.SetAutoRenaming(True)
    instances: list[ModelInstanceIndex] = []
    for k, robot in enumerate(robots):
        file = folder / f"{k}.urdf"
        drake.export(robot, file)
        instances += parser.AddModels(file)
    for i, (k, joint) in enumerate(motors):
        plant.AddJointActuator(f"motor {i}", plant.GetJointByName(joint, instances[k]))
    plant.mutable_gravity_field().set_gravity_vector([0.0, -9.81, 0.0])
    plant.Finalize()
    return plant, instances


def begun(builder: Any, plant: MultibodyPlant, state: State, longest: float) -> Simulator:  # noqa: ANN401
    """A simulator of what was built, which stands at a state of the plant."""
    simulator = analysis.Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositionsAndVelocities(context, np.concatenate(state))
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    simulator.get_mutable_integrator().set_maximum_step_size(longest)
    return simulator


def together(laws: Sequence[ControllerSystem], states: Sequence[State]) -> State:
    """One state of the plant, of those of its robots."""
    q, v = np.zeros(laws[0].states.nq), np.zeros(laws[0].states.nv)
    for law, state in zip(laws, states, strict=True):
        q_of_law, v_of_law = law.states.to_model(*state)
        q, v = q + q_of_law, v + v_of_law
    return q, v


def assert_at_the_end(law: ControllerSystem, simulator: Simulator, motion: Trajectory, atol: float) -> None:
    """The law's robot has come to where it is in a simulation here."""
    plant = law.plant
    x = np.array(plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(simulator.get_context())))
    q, v = law.states.from_model(x[: law.states.nq], x[law.states.nq :])
    np.testing.assert_allclose(np.concatenate([q, v]), np.concatenate([motion.q[-1], motion.v[-1]]), atol=atol)


MOTORS = [(1, "q3"), (0, "q2"), (1, "q1"), (0, "q1"), (1, "q2")]


@pytest.mark.parametrize("summed", [False, True], ids=["at model instances", "summed"])
def test_two_arms_in_one_plant_have_separate_laws(tmp_path: Path, summed: bool) -> None:
    """Joints of both are called q1 and q2; the motors stand in the plant in another order than the joints."""
    robots = [chain(), chain(3, absolute=True)]
    plant, instances = shared(robots, MOTORS, tmp_path)
    builder = framework.DiagramBuilder()
    builder.AddSystem(plant)
    adder = builder.AddSystem(primitives.Adder(2, len(MOTORS))) if summed else None
    laws: list[ControllerSystem] = []
    for k, (robot, instance) in enumerate(zip(robots, instances, strict=True)):
        law = builder.AddSystem(drake.drive(tracking(robot), plant, model_instance=instance))
        builder.Connect(plant.get_state_output_port(), law.GetInputPort("state"))
        if adder is None:
            builder.Connect(law.get_actuation_output_port(instance), plant.get_actuation_input_port(instance))
        else:
            builder.Connect(law.get_actuation_output_port(), adder.get_input_port(k))
        laws.append(law)
    if adder is not None:
        builder.Connect(adder.get_output_port(), plant.get_actuation_input_port())
    simulator = begun(builder, plant, together(laws, [start(robot) for robot in robots]), 0.02)
    simulator.AdvanceTo(0.2)
    for law, robot in zip(laws, robots, strict=True):
        here = true_motion(robot, tracking(robot), 0.2, 0.02)
        assert np.abs(here.q[-1] - here.q[0]).max() > 0.02
        assert_at_the_end(law, simulator, here, 1e-8)


def test_one_law_that_remembers_drives_two_arms_in_one_plant(tmp_path: Path) -> None:
    law = adaptive()
    robot = law.robot
    law.reset()
    law.advance(0.0, *start(robot))
    untouched = law.memory
    motors = [(k, joint) for k in range(2) for joint in ("q1", "q2")]
    plant, instances = shared([robot, robot], motors, tmp_path)
    builder = framework.DiagramBuilder()
    builder.AddSystem(plant)
    laws: list[ControllerSystem] = []
    for instance in instances:
        system = builder.AddSystem(drake.drive(law, plant, model_instance=instance, period=0.01))
        builder.Connect(plant.get_state_output_port(), system.GetInputPort("state"))
        builder.Connect(system.get_actuation_output_port(instance), plant.get_actuation_input_port(instance))
        laws.append(system)
    assert len({system.get_name() for system in laws}) == 2
    states = [start(robot), (start(robot)[0], np.zeros(2))]
    simulator = begun(builder, plant, together(laws, states), 0.01)
    simulator.AdvanceTo(0.15)
    assert law.memory is untouched
    estimates: list[float] = []
    for system, state in zip(laws, states, strict=True):
        assert_at_the_end(system, simulator, simulate(robot, law, *state, 0.15, step=0.01), 1e-6)
        # Drake records the sample at the end when it continues from there.
        simulate(robot, law, *state, 0.14, step=0.01)
        here = law.estimates["m2"]
        with system.in_use(system.GetMyContextFromRoot(simulator.get_context())):
            estimates.append(law.estimates["m2"])
        assert law.estimates["m2"] == here
        assert estimates[-1] == pytest.approx(here, abs=1e-6)
    assert abs(estimates[0] - estimates[1]) > 1e-3


def test_actuation_of_an_instance_is_its_part_of_the_whole(tmp_path: Path) -> None:
    robots = [chain(), chain(3)]
    plant, (left, right) = shared(robots, MOTORS, tmp_path)
    system = drake.drive(tracking(robots[1]), plant, model_instance=right)
    q, v = start(robots[1])
    context = system.CreateDefaultContext()
    x = np.concatenate(system.states.to_model(q, v))
    system.GetInputPort("state").FixValue(context, x)
    torque = tracking(robots[1]).control(0.0, q, v)
    whole = system.get_actuation_output_port().Eval(context)
    np.testing.assert_allclose(whole, [torque[2], 0.0, torque[0], 0.0, torque[1]], rtol=1e-10)
    own = system.get_actuation_output_port(right).Eval(context)
    np.testing.assert_allclose(own, [torque[2], torque[0], torque[1]], rtol=1e-10)
    names = [system.get_output_port(i).get_name() for i in range(system.num_output_ports())]
    assert names[4:] == [plant.get_actuation_input_port(right).get_name()]
    with pytest.raises(
        BridgeError,
        match=r"drives no joint .* in the model instance '.* 2 links'; model instances with such joints: '.* 3 links'",
    ):
        system.get_actuation_output_port(left)


def test_a_push_that_no_actuator_gives_is_named_at_an_instance_too(tmp_path: Path) -> None:
    robot = floating()
    plant, (only,) = shared([robot], [(0, "hinge"), (0, "slide")], tmp_path)
    pushing = Called(robot, lambda t, q, v: np.ones(8), force=True)
    system = drake.drive(pushing, plant, model_instance=only, tolerance=None)
    context = system.CreateDefaultContext()
    system.GetInputPort("state").FixValue(context, np.concatenate(system.states.to_model(*start(robot))))
    with pytest.raises(
        BridgeError, match=r"joints without an actuator in the plant: free .*Connect 'generalized_force'"
    ):
        system.get_actuation_output_port(only).Eval(context)


def test_several_actuators_at_one_joint_are_refused_for_a_law_that_drives_it(tmp_path: Path) -> None:
    robots = [chain(), chain(3)]
    plant, (left, right) = shared(robots, [*MOTORS, (1, "q1")], tmp_path)
    assert drake.drive(tracking(robots[0]), plant, model_instance=left).plant is plant
    with pytest.raises(BridgeError, match="joint 'q1' of the plant has the actuators 'motor 2' and 'motor 5'"):
        drake.drive(tracking(robots[1]), plant, model_instance=right)


def test_laws_for_some_joints_each_of_one_model_are_summed(tmp_path: Path) -> None:
    """Two arms in one file, which Drake takes for one model instance."""
    robot, texts = chain(), [drake_text(chain(), tmp_path, side) for side in ("left", "right")]
    body = [text[text.index("<link", text.index('name="world"')) :].rsplit("</robot>", 1)[0] for text in texts]
    plant = multibody.MultibodyPlant(0.0)
    whole = f'<robot name="both"><link name="world" />{"".join(body)}</robot>'
    parsing.Parser(plant).AddModelsFromString(whole, "urdf")
    for joint in ("left_q2", "right_q2", "right_q1", "left_q1"):
        plant.AddJointActuator(joint, plant.GetJointByName(joint))
    plant.mutable_gravity_field().set_gravity_vector([0.0, -9.81, 0.0])
    plant.Finalize()
    builder = framework.DiagramBuilder()
    builder.AddSystem(plant)
    adder = builder.AddSystem(primitives.Adder(2, 4))
    laws: list[ControllerSystem] = []
    for k, side in enumerate(("left", "right")):
        names = {f"q{i}": f"{side}_q{i}" for i in (1, 2)}
        with pytest.raises(BridgeError, match="moves in the plant and is missing in the robot"):
            drake.drive(tracking(robot), plant, names=names, name=side)
        law = builder.AddSystem(drake.drive(tracking(robot), plant, names=names, name=side, tolerance=None))
        builder.Connect(plant.get_state_output_port(), law.GetInputPort("state"))
        builder.Connect(law.get_actuation_output_port(), adder.get_input_port(k))
        laws.append(law)
    builder.Connect(adder.get_output_port(), plant.get_actuation_input_port())
    q, v = start(robot)
    states = [(q, v), (q + 0.3, -v)]
    simulator = begun(builder, plant, together(laws, states), 0.02)
    simulator.AdvanceTo(0.2)
    for law, state in zip(laws, states, strict=True):
        here = true_motion(robot, tracking(robot), 0.2, 0.02, state=state)
        assert_at_the_end(law, simulator, here, 1e-8)


def test_bodies_that_float_beside_the_robot_stay_where_they_are(tmp_path: Path) -> None:
    """Zero is no place of theirs: no quaternion has that length."""
    robot = chain()
    plant = multibody.MultibodyPlant(0.0)
    file = tmp_path / "arm.urdf"
    drake.export(robot, file)
    (arm,) = parsing.Parser(plant).AddModels(file)
    ball = tree.SpatialInertia.SolidSphereWithMass(1.0, 0.1)
    plant.AddRigidBody("ball", plant.AddModelInstance("thrown"), ball)
    for joint in ("q2", "q1"):
        plant.AddJointActuator(joint, plant.GetJointByName(joint))
    plant.mutable_gravity_field().set_gravity_vector([0.0, -9.81, 0.0])
    plant.Finalize()
    message = (
        "joint 'ball' moves in the plant .* the model instance 'thrown': select the robot's own by model_instance="
    )
    with pytest.raises(BridgeError, match=message):
        drake.drive(tracking(robot), plant)
    assert drake.match(robot, plant, model_instance=arm).same
    builder = framework.DiagramBuilder()
    builder.AddSystem(plant)
    law = builder.AddSystem(drake.drive(tracking(robot), plant, model_instance=arm))
    builder.Connect(plant.get_state_output_port(), law.GetInputPort("state"))
    builder.Connect(law.get_actuation_output_port(), plant.get_actuation_input_port())
    q, v = law.states.to_model(*start(robot))
    q[plant.GetJointByName("ball").position_start()] = 1.0
    simulator = begun(builder, plant, (q, v), 0.02)
    simulator.AdvanceTo(0.2)
    assert_at_the_end(law, simulator, true_motion(robot, tracking(robot), 0.2, 0.02), 1e-8)


def drake_text(robot: Robot, folder: Path, side: str) -> str:
    """URDF of a robot whose links and joints have this before their names."""
    file = folder / f"{side}.urdf"
    drake.export(robot, file)
    return re.sub(r'"(q\d)"', rf'"{side}_\1"', file.read_text())
