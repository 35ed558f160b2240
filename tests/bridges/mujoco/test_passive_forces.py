"""Springs, dampers, friction and rotors as MJCF and back, on one joint and on several."""

from __future__ import annotations

import dataclasses

import casadi as ca
import mujoco
import numpy as np
import pytest

from erugin.bridges.mujoco import export, load
from erugin.robots import Robot, planar_manipulator, with_drive
from erugin.symbolic import BridgeError, BridgeWarning

from ...support.mjcf import LINKS, Model, difference, robot, states, with_forces
from ...support.mujoco_versions import TENDON_ARMATURE, needs


def arm(angles: str = "relative") -> Robot:
    """Three links."""
    return planar_manipulator(LINKS[:3], angles="relative" if angles == "relative" else "absolute")


def require_same_motion(own: Robot, text: str) -> None:
    """The same accelerations there as here."""
    model = Model.of(own, text)
    for q, v, u in states(own):
        a = own.evaluate(own.acceleration, q=q, v=v, u=u)
        assert difference(model.place(q, v, u).qacc, model.joints.states.relative_angles @ a) < 1e-9


@pytest.mark.parametrize("angles", ["relative", "absolute"])
def test_springs_dampers_and_rotors_of_joints_are_carried_over(angles: str) -> None:
    own = arm(angles)
    forces = ca.vertcat(0.7 * own.v[0] + 3.0 * (own.q[0] - 0.4), 0, 0)
    inertia = ca.SX(ca.diag(ca.DM([0.3, 0.0, 0.0])))
    text = export(with_forces(own, forces, inertia))
    require_same_motion(with_forces(own, forces, inertia), text)
    assert 'damping="0.7' in text


@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize("angles", ["relative", "absolute"])
def test_what_acts_across_joints_becomes_tendons(angles: str, rotors: bool) -> None:
    with needs(TENDON_ARMATURE if rotors else None):
        require_tendons(arm(angles), rotors)


def require_tendons(own: Robot, rotors: bool) -> None:
    """The same with springs and dampers across joints, and with rotors."""
    K = ca.DM([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])
    D = ca.DM([[1.0, 0.2, 0.0], [0.2, 0.5, 0.1], [0.0, 0.1, 0.3]])
    A = ca.DM([[0.3, 0.1, 0.0], [0.1, 0.2, 0.05], [0.0, 0.05, 0.1]])
    forces = ca.SX(K) @ (own.q - ca.DM([0.1, 0.2, -0.3])) + ca.SX(D) @ own.v
    more = with_forces(own, forces, ca.SX(A) if rotors else None)
    text = export(more)
    require_same_motion(more, text)
    # And back: the same forces, inertias and energies of the loaded robot.
    require_same_motion(loaded := load(text), text)
    require_same_motion(loaded, export(loaded))


def test_dry_friction_is_carried_over_and_reported() -> None:
    own = arm()
    rubbing = with_forces(own, 0.2 * ca.sign(own.v))
    with pytest.warns(BridgeWarning, match="exact sticking by dry friction at rest, which is soft in MuJoCo"):
        text = export(rubbing)
    model = Model.of(rubbing, text)
    q, v, u = states(own, 1)[0]
    a = rubbing.evaluate(rubbing.acceleration, q=q, v=v, u=u)
    # All joints slide: friction is at its bound.
    assert difference(model.place(q, v, u).qacc, a) < 1e-9
    assert (model.model.dof_frictionloss == [0.2] * 3).all()


@pytest.mark.parametrize(
    "force",
    ["q * q", "v * fabs(v)", "sin(t)", "-0.3 * v", "-2 * q", "constant", "tanh(v)"],
)
def test_other_forces_are_refused_by_the_name_of_their_joint(force: str) -> None:
    own = arm()
    q, v = own.q[1], own.v[1]
    value = {
        "q * q": q * q,
        "v * fabs(v)": v * ca.fabs(v),
        "sin(t)": ca.sin(own.t),
        "-0.3 * v": -0.3 * v,
        "-2 * q": -2.0 * q,
        "constant": ca.SX(0.5),
        "tanh(v)": ca.tanh(v),
    }[force]
    strange = with_forces(own, ca.vertcat(0, value, 0))
    with pytest.raises(
        BridgeError, match=r"cannot represent all of .*: 'q2': a force or an inertia .* ignore=\['q2'\]"
    ):
        export(strange)
    with pytest.warns(BridgeWarning, match="'q2': a force or an inertia"):
        require_same_motion(own, export(strange, ignore=["q2"]))


def test_a_spring_beside_a_force_that_is_refused_stays() -> None:
    own = arm()
    spring = 3.0 * (own.q[0] - 0.4)
    strange = with_forces(own, ca.vertcat(spring, own.q[1] ** 2, 0.2 * own.v[2]))
    with pytest.warns(BridgeWarning, match="'q2': a force or an inertia"):
        text = export(strange, ignore=["q2"])
    require_same_motion(with_forces(own, ca.vertcat(spring, 0, 0.2 * own.v[2])), text)


def test_forces_that_come_from_no_potential_are_refused() -> None:
    own = arm()
    skew = ca.DM([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(BridgeError, match=r"'q1': a force .*'q2': a force"):
        export(with_forces(own, ca.SX(skew) @ own.q))
    with pytest.raises(BridgeError, match=r"'q1': a force .*'q2': a force"):
        export(with_forces(own, ca.SX(skew) @ own.v))


def test_an_inertia_that_varies_is_refused() -> None:
    own = arm()
    with pytest.raises(BridgeError, match="'q3': a force or an inertia"):
        export(with_forces(own, ca.SX.zeros(3), ca.diag(ca.vertcat(0, 0, 1 + ca.cos(own.q[0])))))


def test_rotors_on_different_branches_are_refused() -> None:
    own = robot("four-bar")
    open_chain = dataclasses.replace(own, natural=())
    coupled = ca.DM([[0.2, 0.0, 0.1], [0.0, 0.0, 0.0], [0.1, 0.0, 0.2]])
    with pytest.raises(BridgeError, match="a rotor of crank and rocker, which are on different branches"):
        export(with_forces(open_chain, ca.SX.zeros(3), ca.SX(coupled)))


def test_a_drive_across_joints_is_a_motor_on_a_tendon() -> None:
    own = arm()
    belt = with_drive(own, "belt", own.q[0] - 2.0 * own.q[1] + 0.5 * own.q[2], effort=4.0)
    text = export(belt, limits=False)
    require_same_motion(belt, text)
    model = mujoco.MjModel.from_xml_string(export(belt))
    assert model.actuator("belt").trntype[0] == mujoco.mjtTrn.mjTRN_TENDON
    assert model.actuator("belt").ctrlrange.tolist() == [-4.0, 4.0]


def test_a_drive_whose_lever_varies_is_refused() -> None:
    own = arm()
    belt = with_drive(own, "winch", ca.sin(own.q[0]))
    with pytest.raises(BridgeError, match="input 'winch': its effect on the force depends on the state"):
        export(belt)
    with pytest.warns(BridgeWarning, match="input 'winch'"):
        assert mujoco.MjModel.from_xml_string(export(belt, ignore=["winch"])).nu == 3


def test_inputs_on_a_floating_body_act_in_its_axes() -> None:
    rng = np.random.default_rng(5)
    own = robot("floating base")
    B = ca.SX(ca.DM(np.eye(8)[:, [0, 2, 4, 6]]))
    driven = dataclasses.replace(
        own,
        u=ca.SX.sym("u", 4),
        input_matrix=B,
        input_names=("fx", "fz", "my", "m1"),
        input_units=("N", "N", "N m", "N m"),
        limits=dataclasses.replace(own.limits, effort=np.full(4, np.inf)),
    )
    model = Model.of(driven, export(driven, limits=False))
    q, v, _ = states(driven, 1)[0]
    u = rng.uniform(-3.0, 3.0, 4)
    a = driven.evaluate(driven.acceleration, q=q, v=v, u=u)
    maps = model.joints.states
    assert difference(model.place(q, v, u).qacc, maps.velocity_jacobian(q) @ a + maps.velocity_bias(q, v)) < 1e-9
