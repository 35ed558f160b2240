"""Robots as models of Pinocchio: its own algorithms say what is known here, open chains and closed ones."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.bridges import pinocchio as bridge
from erugin.robots import Assembler, Closure, Link, exoskeleton, load_urdf, mechanism, planar_manipulator
from erugin.symbolic import BridgeError, BridgeWarning

from ...support.pinocchio_models import (
    BAR,
    ROBOTS,
    TELESCOPE,
    close,
    export_quietly,
    exported,
    matrix,
    pin,
    random_state,
    robot_of,
)
from ...support.urdf import body, joint, real_robots, write

TOLERANCE = 1e-9


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_matrix_and_bias_are_those_of_pinocchio(name: str) -> None:
    robot, model = robot_of(name), exported(name)
    rng = np.random.default_rng(3)
    for _ in range(3):
        q, v, _ = random_state(robot, rng)
        q_there, v_there = model.states.to_model(q, v)
        np.testing.assert_allclose(model.states.from_model(q_there, v_there)[0], q, rtol=0, atol=1e-9)
        T = model.states.inverse_velocity_jacobian(q)
        M = matrix(robot, robot.evaluate(robot.mass_matrix, q=q))
        h = np.atleast_1d(robot.evaluate(robot.bias, q=q, v=v))
        close(model.mass_matrix(q_there), T.T @ M @ T, TOLERANCE)
        close(model.bias(q_there, v_there) - model.passive(q_there, v_there), T.T @ h, TOLERANCE)


@pytest.mark.parametrize("name", ROBOTS)
def test_accelerations_and_forces_of_constraints_are_those_of_pinocchio(name: str) -> None:
    """Loops that are not closed yet are pulled together as fast as here: its Baumgarte equation has the same gains."""
    robot, model = robot_of(name), exported(name)
    rng = np.random.default_rng(4)
    for _ in range(3):
        q, v, u = random_state(robot, rng)
        q_there, v_there = model.states.to_model(q, v)
        B = np.reshape(robot.evaluate(robot.input_matrix, q=q), (len(v), -1))
        a_there, forces = model.acceleration(q_there, v_there, model.states.force_to_model(q, B @ u))
        T = model.states.inverse_velocity_jacobian(q)
        a = np.atleast_1d(robot.evaluate(robot.acceleration, q=q, v=v, u=u))
        close(T @ a_there, a, TOLERANCE)
        if model.constraints:
            A, mu = robot.natural_form[0], robot.reactions
            force = np.atleast_1d(robot.evaluate(A.T @ mu, q=q, v=v, u=u))
            found, expected = model.jacobian(q_there).T @ forces, T.T @ force
            # As a share of what acts at all: a mechanism that is held by its joints alone has no forces in its loops.
            scale = max(np.abs(expected).max(), np.abs(B @ u).max(), np.abs(robot.evaluate(robot.bias, q=q, v=v)).max())
            assert np.abs(found - expected).max() < TOLERANCE * scale
            assert np.abs(expected).max() > 1e-3


def test_forces_in_independent_rows_are_the_reactions() -> None:
    """λ in world axes is the force of the pin that holds the first point, component by component."""
    robot, model = robot_of("four-bar"), exported("four-bar")
    q, v, u = random_state(robot, np.random.default_rng(5))
    q_there, v_there = model.states.to_model(q, v)
    B = np.atleast_2d(robot.evaluate(robot.input_matrix, q=q))
    _, forces = model.acceleration(q_there, v_there, model.states.force_to_model(q, B @ u))
    mu = robot.evaluate(robot.reactions, q=q, v=v, u=u)
    held = model.constraints[0]
    assert held.name == robot.natural[0].name
    sign = 1.0 if np.sign(forces[0]) == np.sign(mu[0]) else -1.0
    close(sign * forces[:2], mu, TOLERANCE)
    assert abs(forces[2]) < 1e-9 * np.abs(mu).max()


def test_joints_tied_in_a_row_all_follow_the_first() -> None:
    """q3 = −2 q2 + 0.3 and q2 = 0.5 q1 + 0.1, written the other way around: one joint still moves freely."""
    chain = planar_manipulator([BAR] * 4)
    q = chain.q
    gears = [(q[2] + 2 * q[1], ca.SX(0.3)), (2 * q[1], q[0] + 0.2)]
    robot = mechanism(chain, [Closure(*pair, f"gear {k}") for k, pair in enumerate(gears)])
    model = bridge.export(robot)
    assert model.model.nv == 2
    start = np.array([0.4, 0.3, -0.3, 0.7])
    q_there, v_there = model.states.to_model(start, np.array([1.0, 0.5, -1.0, 0.2]))
    here, rates = model.states.from_model(q_there, v_there)
    np.testing.assert_allclose(here, start, atol=1e-14)
    np.testing.assert_allclose(rates, [1.0, 0.5, -1.0, 0.2], atol=1e-14)
    a, _ = model.acceleration(q_there, v_there, np.zeros(2))
    close(
        model.states.inverse_velocity_jacobian(here) @ a,
        robot.evaluate(robot.acceleration, q=here, v=rates, u=np.zeros(4)),
        TOLERANCE,
    )
    with pytest.raises(BridgeError, match=r"'gear 0' and other natural constraints tie 'q[123]' in two ways"):
        bridge.export(mechanism(robot, [Closure(q[2] + 3 * q[0], ca.SX(0.3), "gear 2")]))
    with pytest.raises(BridgeError, match="'sum' ties 3 coordinates"):
        bridge.export(mechanism(chain, [Closure(q[0] + q[1] + q[2], ca.SX(0.3), "sum")]))


def test_a_changed_parameter_is_another_model() -> None:
    robot = planar_manipulator([Link(0.4, 2.0, 0.2, 0.03), Link(0.35, 1.5, 0.15, 0.02)])
    model, q = bridge.export(robot, p={"m2": 3.0, "g": 1.62}), np.array([0.3, 0.8])
    close(model.mass_matrix(q), robot.evaluate(robot.mass_matrix, q=q, p={"m2": 3.0}), 1e-12)
    assert np.abs(model.mass_matrix(q) - robot.evaluate(robot.mass_matrix, q=q)).max() > 0.1
    np.testing.assert_allclose(model.model.gravity.linear, [0.0, -1.62, 0.0])
    assert bridge.match(robot, model, p={"m2": 3.0, "g": 1.62}).same
    assert not bridge.match(robot, model).same


def test_points_bodies_and_frames_are_frames_there() -> None:
    robot, model = robot_of("seven links, absolute angles"), exported("seven links, absolute angles")
    q, v, _ = random_state(robot, np.random.default_rng(6))
    q_there, _ = model.states.to_model(q, v)
    pin.framesForwardKinematics(model.model, model.data, q_there)
    for name in ("joint3", "center5", "tip"):
        pose = model.data.oMf[model.model.getFrameId(name)]
        np.testing.assert_allclose(pose.translation[:2], robot.evaluate(robot.points[name], q=q), rtol=0, atol=1e-12)
        R = robot.evaluate(robot.frames[name].rotation, q=q)
        np.testing.assert_allclose(pose.rotation, R, rtol=0, atol=1e-12)
    assert list(model.model.names)[1:] == [f"q{i}" for i in range(1, 8)]


def test_limits_go_along_where_a_joint_is_the_same() -> None:
    robot, model = robot_of("UR5"), exported("UR5")
    there = pin.buildModelFromUrdf(str(real_robots()["ur5_robot"]))
    for name in ("lowerPositionLimit", "upperPositionLimit", "upperVelocityLimit", "upperEffortLimit"):
        np.testing.assert_allclose(getattr(model.model, name), getattr(there, name))
    assert np.isfinite(robot.limits.effort).all()
    # Absolute angles are not joints there, but the torques between the links are.
    assert (exported("seven links, absolute angles").model.upperPositionLimit > 1e300).all()


def test_what_the_model_cannot_represent_is_reported_and_returned() -> None:
    robot = exoskeleton([TELESCOPE] * 2)
    with pytest.warns(BridgeWarning, match=r"cannot represent .* springs, dampers.* at l1, l2\. Add \.passive"):
        model = bridge.export(robot)
    q, v = np.array([0.3, 0.9, 0.7, 0.9]), np.zeros(4)
    found = model.states.force_from_model(q, model.passive(*model.states.to_model(q, v)))
    np.testing.assert_allclose(found, [0.0, 0.0, -700.0 * (0.7 - 0.8), -700.0 * (0.9 - 0.8)], atol=1e-10)
    assert model.mimics


def test_damping_and_friction_go_into_the_models_own_fields(tmp_path_factory: pytest.TempPathFactory) -> None:
    rubs = '<axis xyz="0 1 0"/><dynamics damping="0.7" friction="0.25"/>'
    parts = ('<link name="base"/>', body("arm"), joint("shoulder", "revolute", "base", "arm", rubs))
    robot = load_urdf(write(tmp_path_factory.mktemp("damped"), *parts))
    with pytest.warns(BridgeWarning, match=r"damping and friction of shoulder \(in the model's own fields"):
        model = bridge.export(robot)
    assert model.model.damping.tolist() == pytest.approx([0.7])
    assert model.model.upperDryFrictionLimit.tolist() == pytest.approx([0.25])
    np.testing.assert_allclose(model.passive([0.3], [2.0]), [-1.65])
    assert bridge.match(robot, model).same
    assert bridge.match(robot, model.model, dissipation=True).same
    assert "dissipation=True" in str(bridge.match(robot, model.model))


@pytest.mark.parametrize("axis", ["0 0 1", "0 0 -1", "0.6 0 -0.8"])
def test_planar_and_floating_joints_in_a_tree(axis: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A planar joint becomes two slides and a hinge with the same coordinates; Pinocchio's own has other velocities."""
    parts = (
        '<link name="base"/>',
        body("cart"),
        body("flyer"),
        joint("drift", "planar", "base", "cart", f'<origin xyz="0.1 0.2 0.3" rpy="0.4 0.1 0.2"/><axis xyz="{axis}"/>'),
        joint("loose", "floating", "cart", "flyer", '<origin xyz="0 0.2 0" rpy="0 0.5 0"/>'),
    )
    path = write(tmp_path_factory.mktemp("planar"), *parts)
    robot = load_urdf(path)
    assert bridge.match(robot, export_quietly(robot)).same
    assert bridge.match(robot, pin.buildModelFromUrdf(str(path))).same or axis != "0 0 1"
    q, v, u = random_state(robot, np.random.default_rng(8))
    model = export_quietly(robot)
    a, _ = model.acceleration(
        *model.states.to_model(q, v), model.states.force_to_model(q, np.concatenate([u, np.zeros(6)]))
    )
    close(
        model.states.inverse_velocity_jacobian(q) @ a,
        np.atleast_1d(robot.evaluate(robot.acceleration, q=q, v=v, u=u)),
        TOLERANCE,
    )


def test_a_closed_position_determines_the_direction_of_an_axis() -> None:
    """Bricard's mechanism turned over: with that option the axis of its last rod points the other way, too."""
    robot = robot_of("Bricard")
    found = Assembler(robot).assemble(np.full(5, 0.2)).q
    model = bridge.export(robot, q=found)
    assert [held.name for held in model.constraints] == ["pin", "axis"]
    np.testing.assert_allclose(
        np.subtract(
            model.constraints[1].joint2_placement.translation, model.constraints[0].joint2_placement.translation
        ),
        [1.0, 0.0, 0.0],
    )
