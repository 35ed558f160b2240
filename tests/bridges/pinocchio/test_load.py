"""Pinocchio's own models as robots: every kind of joint, constraints, and back again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.bridges import pinocchio as bridge
from erugin.robots import Robot
from erugin.symbolic import BridgeError, BridgeWarning

from ...support.pinocchio_models import close, export_quietly, exported, matrix, pin, random_state, robot_of
from ...support.trees import TREES, build
from ...support.urdf import real_robots, without_dissipation

NO_JOINT_BETWEEN = ("absolute in space", "absolute planar and floating", "absolute shares", "everything")
"""Nodes whose orientation is measured from the world while what carries them turns about another axis."""

MODELS: dict[str, Callable[[], Any]] = {
    "humanoid": lambda: pin.buildSampleModelHumanoid(True),
    "humanoid, composite root": lambda: pin.buildSampleModelHumanoid(False),
    "manipulator": lambda: pin.buildSampleModelManipulator(),
    "manipulator that mimics": lambda: pin.buildSampleModelManipulator(True),
    "Panda": lambda: pin.buildModelFromUrdf(str(real_robots()["panda"])),
    "Panda that mimics": lambda: pin.buildModelFromUrdf(str(real_robots()["panda"]), True),
    "Talos on its feet": lambda: pin.buildModelFromUrdf(str(real_robots()["talos_reduced"]), pin.JointModelFreeFlyer()),
    "every joint": lambda: every_joint(),
}


def every_joint() -> Any:  # noqa: ANN401 - has no type information
    """A chain of one joint of each kind that has a counterpart, with bodies and placements at random."""
    rng = np.random.default_rng(12)
    slanted = pin.JointModelComposite(pin.JointModelRX(), random_pose(rng))
    slanted.addJoint(pin.JointModelTranslation(), random_pose(rng))
    slanted.addJoint(pin.JointModelRZ(), random_pose(rng))
    axis = np.array([0.36, 0.48, 0.8])
    kinds = {
        "plane": pin.JointModelPlanar(),
        "hinge": pin.JointModelRevoluteUnaligned(axis),
        "wheel": pin.JointModelRUBY(),
        "slide": pin.JointModelPrismaticUnaligned(axis),
        "cross": pin.JointModelUniversal(1.0, 0.0, 0.0, 0.0, 0.6, 0.8),
        "gimbal": pin.JointModelSphericalZYX(),
        "crane": pin.JointModelTranslation(),
        "made": slanted,
        "flyer": pin.JointModelFreeFlyer(),
    }
    model = pin.Model()
    model.gravity.linear = np.array([1.0, -2.0, -9.0])
    parent = 0
    for name, kind in kinds.items():
        parent = model.addJoint(parent, kind, random_pose(rng), name)
        model.appendBodyToJoint(parent, pin.Inertia.Random(), random_pose(rng))
    leader = model.getJointId("hinge")
    follower = model.addJoint(leader, pin.JointModelMimic(model.joints[leader], -0.7, 0.2), random_pose(rng), "gear")
    model.appendBodyToJoint(follower, pin.Inertia.Random(), random_pose(rng))
    return model


def random_pose(rng: np.random.Generator) -> Any:  # noqa: ANN401 - has no type information
    turn = pin.Quaternion(rng.normal(size=4))
    turn.normalize()
    return pin.SE3(turn.matrix(), rng.uniform(-0.5, 0.5, 3))


def load_quietly(model: Any, **options: Any) -> Robot:  # noqa: ANN401 - has no type information
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BridgeWarning)
        return bridge.load(model, **options)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_pinocchio_has_the_same_matrices_here(name: str) -> None:
    model = MODELS[name]()
    robot = load_quietly(model)
    found = bridge.match(robot, model)
    assert found.same, str(found)
    assert max(found.mass, found.bias) < 1e-12
    assert len(found.names) >= model.njoints - 1


@pytest.mark.parametrize("name", TREES)
def test_trees_at_random_go_there_and_back(name: str) -> None:
    """Every kind of joint in the plane and in space, masses within, several roots; or the node that cannot is named."""
    robot = build(TREES[name].data)
    if name in NO_JOINT_BETWEEN:
        with pytest.raises(BridgeError, match=r"'j\d' is measured from the world's axes while its parent turns"):
            export_quietly(robot)
        return
    model = export_quietly(robot)
    for found in (bridge.match(robot, model), bridge.match(load_quietly(model), model.model)):
        assert found.same, str(found)
        assert max(found.mass, found.bias) < 1e-12


@pytest.mark.parametrize("name", ["humanoid", "humanoid, composite root", "manipulator", "every joint"])
def test_a_model_of_pinocchio_moves_as_there(name: str) -> None:
    """Forward dynamics and forward kinematics, in the other's own coordinates."""
    model = MODELS[name]()
    robot = load_quietly(model)
    states, data, rng = bridge.PinocchioStateConversion(robot, model), model.createData(), np.random.default_rng(2)
    for _ in range(2):
        q, v, u = random_state(robot, rng)
        q = states.with_mimic_joints(q)
        q_there, v_there = states.to_model(q, v)
        q, v = states.from_model(q_there, v_there)
        B = np.reshape(robot.evaluate(robot.input_matrix, q=q), (len(v), -1))
        tau = states.force_to_model(q, B @ u)
        a = np.atleast_1d(robot.evaluate(robot.acceleration, q=q, v=v, u=u))
        if name == "every joint":
            T = states.inverse_velocity_jacobian(q)
            a_there = np.linalg.lstsq(T, a - states.velocity_bias(q, v_there), rcond=None)[0]
            found = np.array(pin.rnea(model, data, q_there, v_there, a_there))
            close(found, tau, 1e-9)
        else:
            a_there = np.array(pin.aba(model, data, q_there, v_there, tau))
            close(states.inverse_velocity_jacobian(q) @ a_there + states.velocity_bias(q, v_there), a, 1e-9)
        pin.framesForwardKinematics(model, data, q_there)
        for frame in list(robot.frames)[-3:]:
            pose = data.oMf[model.getFrameId(frame)]
            place = robot.evaluate(robot.frames[frame].position, q=q)
            np.testing.assert_allclose(place, pose.translation, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["four-bar", "squeezer", "walker", "foot on the ground", "Bricard"])
def test_out_and_in_again_is_the_same_mechanism(name: str) -> None:
    """The loops, too, with their gains; springs stay here, and so are added as forces."""
    model = exported(name)
    robot = load_quietly(model)
    assert bridge.match(robot, model.model).same
    assert sum(not c.name.endswith(".mimic") for c in robot.natural) == len(model.constraints)
    rng, states = np.random.default_rng(9), bridge.PinocchioStateConversion(robot, model.model)
    for _ in range(2):
        q_there, v_there = model.states.to_model(*random_state(robot_of(name), rng)[:2])
        q, v = states.from_model(q_there, v_there)
        tau = rng.uniform(-1.0, 1.0, model.states.nv)
        a_there, _ = model.acceleration(q_there, v_there, tau)
        R = states.force_from_model(q, tau + model.passive(q_there, v_there))
        a = np.atleast_1d(robot.evaluate(robot.acceleration_under(ca.SX(ca.DM(R)))[0], q=q, v=v))
        close(a, states.inverse_velocity_jacobian(q) @ a_there, 1e-7 if name == "Bricard" else 1e-9)


@pytest.mark.parametrize("whole", [False, True])
def test_constraints_of_pinocchio_close_loops(whole: bool) -> None:
    """A point, or a frame, of two arms held together: accelerations of ``constraintDynamics`` at a closed place."""
    model = pin.Model()
    rng, ends = np.random.default_rng(21), []
    for arm in range(2):
        parent = 0
        for k, kind in enumerate((pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX(), pin.JointModelRY())):
            parent = model.addJoint(parent, kind, random_pose(rng), f"arm{arm}.{k}")
            model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
        ends.append(parent)
    data, q = model.createData(), rng.uniform(-1.0, 1.0, model.nq)
    pin.computeJointJacobians(model, data, q)
    first = random_pose(rng)
    second = data.oMi[ends[1]].inverse() * data.oMi[ends[0]] * first
    kind = pin.ContactType.CONTACT_6D if whole else pin.ContactType.CONTACT_3D
    held = pin.RigidConstraintModel(kind, model, ends[0], first, ends[1], second, pin.ReferenceFrame.LOCAL)
    held.m_baumgarte_parameters.Kp, held.m_baumgarte_parameters.Kd = 100.0, 20.0
    robot = bridge.load(model, [held])
    assert robot.natural_form[0].shape == (6 if whole else 3, 8)
    known = held.createData()
    held.calc(model, data, known)
    J = np.array(pin.getConstraintJacobian(model, data, held, known))
    v = rng.uniform(-1.0, 1.0, 8)
    v -= np.linalg.pinv(J) @ (J @ v)
    assert np.abs(robot.evaluate(robot.natural_form[0], q=q) @ v).max() < 1e-12
    tau = rng.uniform(-5.0, 5.0, 8)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(held)
    datas.append(held.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    expected = np.array(
        pin.constraintDynamics(model, data, q, v, tau, models, datas, pin.ProximalSettings(1e-14, 1e-14, 0.0, 1))
    )
    close(robot.evaluate(robot.acceleration, q=q, v=v, u=tau), expected, 1e-9)
    free = np.array(pin.aba(model, data, q, v, tau))
    assert np.abs(free - expected).max() > 1e-2


def test_anchors_are_constraints_too() -> None:
    model = MODELS["manipulator"]()
    anchor = pin.PointAnchorConstraintModel(model, 6, pin.SE3.Identity(), 0, pin.SE3.Identity())
    with pytest.warns(BridgeWarning, match="the constraints loop 1 of Pinocchio have no gains against drift"):
        robot = bridge.load(model, [anchor])
    assert robot.natural_rows == ("loop 1[0]", "loop 1[1]", "loop 1[2]")


def test_armature_damping_and_friction_are_converted_or_reported() -> None:
    model = MODELS["manipulator"]()
    model.armature = np.full(6, 0.3)
    model.damping = np.array([0.0, 0.5, 0, 0, 0, 0])
    model.upperDryFrictionLimit = np.array([0.0, 0, 0.25, 0, 0, 0])
    with pytest.warns(BridgeWarning, match="leave out damping of shoulder2_joint, friction of shoulder3_joint, which"):
        robot = bridge.load(model)
    assert bridge.match(robot, model).same
    assert robot.nominal["elbow_joint.armature"] == 0.3
    bare = bridge.load(MODELS["manipulator"]())
    q, v = np.full(6, 0.4), np.arange(6.0)
    added = matrix(robot, robot.evaluate(robot.mass_matrix, q=q)) - matrix(bare, bare.evaluate(bare.mass_matrix, q=q))
    np.testing.assert_allclose(added, 0.3 * np.eye(6), atol=1e-14)
    energy = robot.evaluate(robot.kinetic_energy, q=q, v=v) - bare.evaluate(bare.kinetic_energy, q=q, v=v)
    assert float(energy) == pytest.approx(0.5 * 0.3 * float(v @ v))
    rubbed = bridge.load(model, dissipation=True)
    lost = rubbed.evaluate(rubbed.bias, q=q, v=v) - robot.evaluate(robot.bias, q=q, v=v)
    np.testing.assert_allclose(lost, [0.0, 0.5, 0.25, 0, 0, 0], atol=1e-12)
    assert bridge.match(rubbed, model, dissipation=True).same
    # Out again: armature is found in M.
    with pytest.warns(BridgeWarning, match="cannot represent"):
        again = bridge.export(rubbed)
    np.testing.assert_allclose(again.model.armature, np.full(6, 0.3), rtol=1e-9)


def test_a_panda_of_pinocchio_is_the_one_read_here() -> None:
    robot, model = robot_of("Panda"), pin.buildModelFromUrdf(str(real_robots()["panda"]))
    loaded = load_quietly(model)
    assert loaded.coordinates.names == robot.coordinates.names
    assert bridge.match(robot, model, p=without_dissipation(robot)).same
    assert not bridge.match(robot, model).same
    np.testing.assert_allclose(loaded.limits.effort[:7], robot.limits.effort[:7])
    assert sum(x for name, x in loaded.nominal.items() if name.endswith(".mass")) == pytest.approx(
        sum(float(inertia.mass) for inertia in list(model.inertias)[1:])
    )


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: pin.JointModelSpherical(), "the joint 'odd' of the Pinocchio model, a Spherical; supported"),
        (lambda: pin.JointModelHX(0.3), "the joint 'odd' of the Pinocchio model, a HX; supported"),
    ],
)
def test_joints_without_a_counterpart_are_refused_by_name(build: Callable[[], Any], word: str) -> None:
    model = pin.Model()
    joint = model.addJoint(0, build(), pin.SE3.Identity(), "odd")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    with pytest.raises(BridgeError, match=word):
        bridge.load(model)


def test_bad_constraints_are_refused() -> None:
    model = MODELS["manipulator"]()
    world = pin.SE3.Identity()
    held = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, 6, world, 0, world, pin.ReferenceFrame.LOCAL)
    with pytest.raises(BridgeError, match="constraint 2 is a str, which cannot be converted"):
        bridge.load(model, [held, "closed"])  # type: ignore[list-item]
    held.m_baumgarte_parameters.Kp = 4.0
    with pytest.raises(BridgeError, match="Kp = 4 and Kd = 0 of constraint 'loop 1' do not make deviations decay"):
        bridge.load(model, [held])
    held.desired_contact_velocity.linear = np.ones(3)
    with pytest.raises(BridgeError, match="must have no desired placement, velocity"):
        bridge.load(model, [held])
    with pytest.raises(BridgeError, match=r"model must be a pinocchio\.Model, got 'panda\.urdf'"):
        bridge.load("panda.urdf")  # type: ignore[arg-type]
    with pytest.raises(BridgeError, match="the Pinocchio model has no joints"):
        bridge.load(pin.Model())
