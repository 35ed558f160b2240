"""Plants of Drake as robots."""

from __future__ import annotations

import importlib
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
from erugin.robots import Robot
from erugin.symbolic import BridgeError, BridgeWarning

from .bridge_simulators import ROBOTS

# Drake's own stubs take arrays for something that no array is.
tree: Any = importlib.import_module("pydrake.multibody.tree")
multibody: Any = importlib.import_module("pydrake.multibody.plant")
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
    found = drake.match(robot, plant).require(1e-9)
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
    plant.SetPositions(context, states.there(q, np.zeros(robot.coordinates.nv))[0])
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
    assert drake.match(robot, again).require(1e-9).same


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
    with pytest.raises(BridgeError, match="no file"):
        drake.load(tmp_path / "none.urdf")
    file.write_text("<robot")
    with pytest.raises(BridgeError, match=r"Drake refuses the file .*one\.urdf"):
        drake.load(file)


def test_joints_without_counterpart_are_refused_by_name() -> None:
    plant = multibody.MultibodyPlant(0.0)
    (a,) = bodies(plant, "a")
    plant.AddJoint(tree.BallRpyJoint("shoulder", plant.world_frame(), a.body_frame()))
    plant.Finalize()
    with pytest.raises(BridgeError, match=r"'shoulder' \(ball_rpy\).*revolute joints one behind the other"):
        drake.load(plant)


def test_rotors_constraints_and_other_forces_are_refused_or_told() -> None:
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
    with pytest.raises(BridgeError, match=r"ignore knows .*got 'rotor'"):
        drake.load(plant, ignore=("rotor",))


def test_geometry_that_could_collide_is_told_of() -> None:
    plant, scene = multibody.MultibodyPlant(0.0), geometry.SceneGraph()
    plant.RegisterAsSourceForSceneGraph(scene)
    (a,) = bodies(plant, "a")
    plant.AddJoint(tree.RevoluteJoint("hinge", plant.world_frame(), a.body_frame(), [0, 0, 1]))
    plant.RegisterCollisionGeometry(
        a, maths.RigidTransform(), geometry.Sphere(0.1), "ball", multibody.CoulombFriction(0.9, 0.8)
    )
    plant.Finalize()
    with pytest.warns(BridgeWarning, match="1 geometries that could collide"):
        drake.load(plant)


def test_plants_in_which_nothing_moves_and_what_is_no_plant_are_refused() -> None:
    plant = multibody.MultibodyPlant(0.0)
    plant.Finalize()
    with pytest.raises(BridgeError, match="nothing in this plant moves"):
        drake.load(plant)
    with pytest.raises(BridgeError, match="a finalized MultibodyPlant or the path"):
        drake.load(multibody.MultibodyPlant(0.0))
