"""Robots as plants of Drake, and plants of Drake as robots."""

from __future__ import annotations

import dataclasses
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erugin.bridges import drake
from erugin.bridges.drake.multibody_plant import (
    DrakeFrame,
    MultibodyPlant,
    RigidBody,
    RigidTransform,
    SpatialInertia,
    match_states,
)
from erugin.bridges.urdf import export as urdf
from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, load_urdf, mechanism, planar_manipulator
from erugin.symbolic import BridgeError, BridgeWarning, MissingPackageError

from ...support.simulator_cases import ROBOTS, cart, chain, floating, panda, start

# Drake's own stubs take arrays for something that no array is.
multibody: Any = importlib.import_module("pydrake.multibody.plant")
parsing: Any = importlib.import_module("pydrake.multibody.parsing")
TOLERANCE = 1e-9
EVERY = {**ROBOTS, "cart": cart}


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
def test_an_exported_plant_is_the_same_robot(make: Callable[[], Robot]) -> None:
    robot = make()
    found = drake.match(robot, drake.export(robot)).check(TOLERANCE)
    assert found.same
    assert 0.0 <= found.mass < 1e-12
    assert found.bias < 1e-12
    assert list(found.names) == [node.name for node in robot.tree.nodes] if robot.tree else False


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
def test_drake_accelerates_an_exported_plant_as_the_robot(make: Callable[[], Robot]) -> None:
    robot = make()
    plant = drake.export(robot)
    states, _ = match_states(robot, plant)
    context = plant.CreateDefaultContext()
    q, v = start(robot)
    R = np.cos(np.arange(robot.coordinates.nv, dtype=float))
    plant.SetPositionsAndVelocities(context, np.concatenate(states.to_model(q, v)))
    plant.get_applied_generalized_force_input_port().FixValue(context, states.force_to_model(q, R))
    plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuators()))
    there = plant.get_generalized_acceleration_output_port().Eval(context)
    M, h = robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v)
    here = np.linalg.solve(M, R - h)
    np.testing.assert_allclose(
        there, states.velocity_jacobian(q) @ here + states.velocity_bias(q, v), rtol=1e-9, atol=1e-9
    )


def test_values_of_parameters_are_exported() -> None:
    robot = chain()
    values = {"m2": 4.0, "l1": 0.9, "g": 3.7}
    plant = drake.export(robot, p=values)
    assert drake.match(robot, plant, p=values).same
    assert not drake.match(robot, plant).same


def test_each_torque_of_a_joint_becomes_an_actuator_with_its_limit() -> None:
    robot = chain(3, absolute=True)
    limits = dataclasses.replace(robot.limits, effort=np.array([5.0, np.inf, 7.0]))
    plant = drake.export(dataclasses.replace(robot, limits=limits))
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    assert [a.name() for a in actuators] == ["M1", "M2", "M3"]
    assert [a.joint().name() for a in actuators] == ["q1", "q2", "q3"]
    assert [a.effort_limit() for a in actuators] == [5.0, np.inf, 7.0]


def test_an_input_on_several_joints_is_reported() -> None:
    robot = chain()
    coupled = dataclasses.replace(robot, input_matrix=robot.input_matrix + np.array([[0.0, 0.5], [0.0, 0.0]]))
    with pytest.warns(BridgeWarning, match=r"no JointActuator for M2, .*generalized_force"):
        plant = drake.export(coupled)
    assert plant.num_actuators() == 1


def test_the_text_is_written_as_well(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    drake.export(panda(), file)
    again = load_urdf(file)
    assert drake.match(again, drake.export(panda())).same


def test_natural_constraints_are_refused() -> None:
    links = [Link(0.3, 1.0, 0.15, 0.01), Link(0.8, 2.0, 0.4, 0.1), Link(0.6, 1.5, 0.3, 0.05)]
    loop = mechanism(planar_manipulator(links), [("tip", (0.9, 0.1))])
    with pytest.raises(BridgeError, match=r"natural constraints \(.*tip.*which a continuous MultibodyPlant cannot"):
        drake.export(loop)


def test_bodies_that_a_share_of_a_joint_carries_are_refused() -> None:
    leg = exoskeleton([TelescopicLink(1.4, 0.06, 0.45, 0.0, 0.8)])
    with pytest.raises(BridgeError, match=r"fraction of a joint's displacement .*mimic joints"):
        drake.export(leg)


def test_dry_friction_is_reported_and_is_a_difference(tmp_path: Path) -> None:
    robot = _rubbing(tmp_path)
    with pytest.warns(BridgeWarning, match="so that of pivot is left out"):
        plant = drake.export(robot)
    found = drake.match(robot, plant)
    assert not found.same
    assert found.mass < 1e-12
    with pytest.raises(BridgeError, match=r"not the same robot: h\[.*\] is .* in the robot and .* in the model"):
        found.check()


def test_a_body_that_differs_is_named_with_both_values() -> None:
    robot = chain()
    plant = drake.export(robot)
    loaded = drake.load(plant)
    names = [name.removesuffix(".mass") for name in loaded.nominal if name.endswith(".mass")]
    heavy = f"{names[1]}.mass"
    with pytest.raises(
        BridgeError, match=rf"joint 'q2' \('{names[1]}'\) have 9 kg in the robot and 1.5 kg in the model.*M\[q"
    ):
        drake.match(loaded, plant, p={heavy: 9.0}).check()


def test_joints_that_do_not_match_are_listed_on_both_sides() -> None:
    plant = drake.export(chain(3))
    other = drake.load(drake.export(panda()))
    with pytest.raises(BridgeError, match=r"missing: panda_joint1.*those of the MultibodyPlant: q1, q2, q3"):
        drake.match(other, plant)
    with pytest.raises(BridgeError, match=r"'free' of floating robot has 7 .* 'q1' .* is a revolute joint"):
        drake.match(floating(), plant, names={"free": "q1", "hinge": "q2", "slide": "q3"})


def test_a_joint_that_moves_only_there_is_a_difference() -> None:
    found = drake.match(chain(2), drake.export(chain(3)))
    assert any("joint 'q3' moves in the plant and is missing in the robot" in note for note in found.notes)
    assert not found.same


def test_joints_may_have_other_names_there(tmp_path: Path) -> None:
    robot, file = chain(), tmp_path / "arm.urdf"
    drake.export(robot, file)
    file.write_text(file.read_text().replace('"q1"', '"shoulder"').replace('"q2"', '"elbow"'))
    loaded = drake.load(file)
    plant = drake.export(loaded)
    assert loaded.coordinates.names == ("shoulder", "elbow")
    found = drake.match(robot, plant, names={"q1": "shoulder", "q2": "elbow"})
    assert dict(found.names) == {"q1": "shoulder", "q2": "elbow"}
    assert found.mass < 1e-12


def test_a_plant_that_is_not_finalized_is_refused() -> None:
    with pytest.raises(BridgeError, match="not finalized"):
        drake.match(chain(), multibody.MultibodyPlant(0.0))


def test_importing_the_bridges_imports_neither_program() -> None:
    code = "import sys; from erugin.bridges import drake, pybullet; print({'pydrake', 'pybullet'} & set(sys.modules))"
    message = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert message.stdout == "set()\n"


def test_without_drake_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydrake.multibody.plant", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'erugin\[drake\]'"):
        drake.export(chain())


def test_limits_of_joints_are_in_the_plant() -> None:
    plant, robot = drake.export(panda()), panda()
    joints = [plant.get_joint(index) for index in plant.GetJointIndices()]
    lower = {joint.name(): joint.position_lower_limits()[0] for joint in joints if joint.num_positions() == 1}
    assert [lower[name] for name in robot.coordinates.names] == robot.limits.lower.tolist()


def _rubbing(folder: Path) -> Robot:
    file = folder / "rubbing.urdf"
    file.write_text(
        '<robot name="rubbing"><link name="root"/><link name="bar"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>'
        '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
        '<joint name="pivot" type="continuous"><parent link="root"/><child link="bar"/><axis xyz="0 1 0"/>'
        '<dynamics damping="0.3" friction="0.7"/></joint></robot>'
    )
    return load_urdf(file)


def test_differences_of_an_exported_robot_are_reported_by_joint() -> None:
    """Its links there are not called like the bodies here; of two models in a plant it is the one that is meant."""
    robot, plant = panda(), multibody.MultibodyPlant(0.0)
    parser = parsing.Parser(plant)
    parser.SetAutoRenaming(True)
    first, second = (
        parser.AddModelsFromString(urdf(robot, p=values), "urdf")[0] for values in ({}, {"panda_link3.mass": 5.0})
    )
    plant.Finalize()
    assert drake.match(robot, plant, model_instance=first).mass < 1e-12
    found = drake.match(robot, plant, model_instance=second)
    assert list(found.bodies) == ["panda_joint3"]
    own = robot.nominal["panda_link3.mass"]
    assert f"'panda_joint3' ('panda_link3') have {own:.9g} kg in the robot and 5 kg in the model" in str(found)
    with pytest.raises(BridgeError, match=r"model_instance= selects one of its models\) do not match, named more than"):
        drake.match(robot, plant)


def test_a_mass_that_no_body_has_is_refused() -> None:
    with pytest.raises(BridgeError, match="the mass of body 'free' must not be negative, got -5 kg"):
        drake.export(floating(), p={"m": -5.0})


# Drake's own stubs take arrays for something that no array is.
tree: Any = importlib.import_module("pydrake.multibody.tree")
geometry: Any = importlib.import_module("pydrake.geometry")
maths: Any = importlib.import_module("pydrake.math")


def inertia(mass: float = 1.3) -> SpatialInertia:
    """Of a lopsided body."""
    moments = tree.RotationalInertia(0.05, 0.06, 0.04, 0.01, -0.02, 0.005)
    center = [0.1, -0.2, 0.15]
    return tree.SpatialInertia.MakeFromCentralInertia(mass, center, moments)


def pose(seed: int) -> RigidTransform:
    """Some place and orientation."""
    rng = np.random.default_rng(seed)
    return maths.RigidTransform(
        maths.RotationMatrix(maths.RollPitchYaw(*rng.uniform(-1, 1, 3))), rng.uniform(-0.5, 0.5, 3)
    )


def bodies(plant: MultibodyPlant, *names: str) -> list[RigidBody]:
    """Bodies in the plant."""
    return [plant.AddRigidBody(name, inertia(1.0 + 0.2 * i)) for i, name in enumerate(names)]


def crowded() -> MultibodyPlant:
    """Every kind of joint that is known, with turned frames on both sides, a weld, springs, dampers and drives."""
    plant = multibody.MultibodyPlant(0.0)
    a, b, c, d, e, f = bodies(plant, "a", "b", "c", "d", "e", "f")
    world = plant.world_body()
    plant.AddJoint(tree.PlanarJoint("table", world.body_frame(), a.body_frame(), [0.1, 0.2, 0.3]))
    hinge = plant.AddJoint(
        tree.RevoluteJoint("hinge", frame(plant, a, 1), frame(plant, b, 2), [0.6, 0.0, 0.8], damping=0.4)
    )
    slide = plant.AddJoint(tree.PrismaticJoint("slide", frame(plant, b, 3), frame(plant, c, 4), [0, 1, 0], damping=0.2))
    plant.WeldFrames(frame(plant, c, 5), frame(plant, d, 6), pose(7))
    plant.AddJoint(tree.RevoluteJoint("wrist", frame(plant, d, 8), frame(plant, e, 9), [0, 0, 1], -1.0, 2.0))
    plant.AddForceElement(tree.RevoluteSpring(hinge, 0.3, 5.0))
    plant.AddForceElement(tree.PrismaticSpring(slide, 0.1, 40.0))
    plant.AddJoint(tree.QuaternionFloatingJoint("away", frame(plant, world, 10), frame(plant, f, 11)))
    plant.AddJointActuator("motor", hinge, 12.0)
    plant.AddJointActuator("screw", slide)
    plant.mutable_gravity_field().set_gravity_vector([1.0, -2.0, -9.0])
    plant.Finalize()
    return plant


def frame(plant: MultibodyPlant, body: RigidBody, seed: int) -> DrakeFrame:
    """A frame that is fixed somewhere in a body."""
    return plant.AddFrame(tree.FixedOffsetFrame(f"{body.name()}{seed}", body, pose(seed)))


def test_a_plant_of_every_kind_of_joint_becomes_the_same_robot() -> None:
    plant = crowded()
    robot = drake.load(plant)
    found = drake.match(robot, plant).check(1e-9)
    assert found.mass < 1e-12
    assert found.bias < 1e-12
    assert sorted(found.names) == ["away", "hinge", "slide", "table", "wrist"]


def test_what_a_loaded_robot_is_made_of_has_the_names_and_numbers_of_the_plant() -> None:
    robot = drake.load(crowded(), name="crowd")
    assert robot.name == "crowd"
    assert robot.input_names == ("motor", "screw")
    assert robot.input_units == ("N m", "N")
    assert robot.limits.effort.tolist() == [12.0, np.inf]
    assert robot.nominal["hinge.damping"] == 0.4
    assert robot.nominal["slide.stiffness"] == 40.0
    assert robot.nominal["hinge.rest"] == 0.3
    assert robot.nominal["g"] == pytest.approx(np.sqrt(86.0))
    at = robot.coordinates.names.index("wrist")
    assert (robot.limits.lower[at], robot.limits.upper[at]) == (-1.0, 2.0)


def test_points_of_a_loaded_robot_are_where_drake_has_its_bodies() -> None:
    plant = crowded()
    robot = drake.load(plant)
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(4)
    q = rng.uniform(-1.0, 1.0, robot.coordinates.nq)
    at = robot.coordinates.names.index("away.qx")
    q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
    states, _ = match_states(robot, plant)
    plant.SetPositions(context, states.to_model(q, np.zeros(robot.coordinates.nv))[0])
    for name in "abcdef":
        X = plant.GetBodyByName(name).EvalPoseInWorld(context)
        np.testing.assert_allclose(robot.evaluate(robot.points[name], q=q), X.translation(), atol=1e-13)
        np.testing.assert_allclose(robot.evaluate(robot.frames[name].rotation, q=q), X.rotation().matrix(), atol=1e-13)


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
def test_a_robot_comes_back_from_its_plant(make: Callable[[], Robot]) -> None:
    robot = make()
    plant = drake.export(robot)
    back = drake.load(plant)
    again = drake.export(back)
    assert drake.match(back, plant).same
    assert drake.match(robot, again).check(1e-9).same


def test_a_file_is_read_with_a_base_that_is_held_or_floats(tmp_path: Path) -> None:
    file = tmp_path / "one.urdf"
    file.write_text(
        '<robot name="one"><link name="trunk"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/></inertial></link><link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
        'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="pivot" type="continuous"><parent '
        'link="trunk"/><child link="arm"/><axis xyz="1 0 0"/></joint></robot>'
    )
    assert drake.load(file).coordinates.names == ("pivot",)
    assert drake.load(str(file), base="floating").coordinates.nq == 8
    assert drake.load(file).name == "one"
    with pytest.raises(BridgeError, match="does not exist"):
        drake.load(tmp_path / "none.urdf")
    file.write_text("<robot")
    with pytest.raises(BridgeError, match=r"Drake rejects the file .*one\.urdf"):
        drake.load(file)


def test_joints_without_counterpart_are_refused_by_name() -> None:
    plant = multibody.MultibodyPlant(0.0)
    (a,) = bodies(plant, "a")
    plant.AddJoint(tree.BallRpyJoint("shoulder", plant.world_frame(), a.body_frame()))
    plant.Finalize()
    with pytest.raises(BridgeError, match=r"'shoulder' \(ball_rpy\).*successive revolute joints"):
        drake.load(plant)


def test_rotors_constraints_and_other_forces_are_refused_or_reported() -> None:
    plant = multibody.MultibodyPlant(0.001)
    a, b = bodies(plant, "a", "b")
    hinge = plant.AddJoint(tree.RevoluteJoint("hinge", plant.world_frame(), a.body_frame(), [0, 0, 1]))
    other = plant.AddJoint(tree.RevoluteJoint("other", plant.world_frame(), b.body_frame(), [0, 0, 1]))
    actuator = plant.AddJointActuator("motor", hinge)
    actuator.set_default_rotor_inertia(0.01)
    actuator.set_default_gear_ratio(10.0)
    plant.AddCouplerConstraint(hinge, other, 2.0)
    plant.AddForceElement(tree.LinearSpringDamper(a, [0, 0, 0], b, [1, 0, 0], 1.0, 10.0, 0.1))
    plant.Finalize()
    with pytest.raises(BridgeError, match=r"'motor' reflects 1 .*1 constraint.*LinearSpringDamper"):
        drake.load(plant)
    with pytest.warns(BridgeWarning, match=r"left out of .*'motor' reflects 1 .*LinearSpringDamper"):
        robot = drake.load(plant, ignore=("rotors", "constraints", "forces"))
    assert robot.coordinates.names == ("hinge", "other")
    with pytest.raises(BridgeError, match=r"ignore must contain only .*got 'rotor'"):
        drake.load(plant, ignore=("rotor",))


def test_geometry_that_could_collide_is_reported() -> None:
    plant, scene = multibody.MultibodyPlant(0.0), geometry.SceneGraph()
    plant.RegisterAsSourceForSceneGraph(scene)
    (a,) = bodies(plant, "a")
    plant.AddJoint(tree.RevoluteJoint("hinge", plant.world_frame(), a.body_frame(), [0, 0, 1]))
    plant.RegisterCollisionGeometry(
        a, maths.RigidTransform(), geometry.Sphere(0.1), "ball", multibody.CoulombFriction(0.9, 0.8)
    )
    plant.Finalize()
    with pytest.warns(BridgeWarning, match="1 collision geometries"):
        drake.load(plant)


def test_plants_in_which_nothing_moves_and_what_is_no_plant_are_refused() -> None:
    plant = multibody.MultibodyPlant(0.0)
    plant.Finalize()
    with pytest.raises(BridgeError, match="the plant has no moving joint"):
        drake.load(plant)
    with pytest.raises(BridgeError, match="must be a finalized MultibodyPlant or the path"):
        drake.load(multibody.MultibodyPlant(0.0))
