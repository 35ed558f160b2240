"""Closed loops as MJCF: MuJoCo's own mass matrix, bias and Jacobians give the robot's constrained motion."""

from __future__ import annotations

import dataclasses

import casadi as ca
import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.mujoco import export
from erugin.robots import Closure, Robot, assemble, exoskeleton, mechanism, planar_manipulator
from erugin.symbolic import BridgeError

from .mjcf import HEAVY, LIGHT, LINKS, LOOPS, Model, difference, robot, states, text
from .mujoco_versions import DIAGEXACT, TENDON_ARMATURE, TOLD, needs

Array = NDArray[np.float64]
pytestmark = TOLD
SOFT = 2e-3 if DIAGEXACT.missing else 1e-3
"""Share of an acceleration by which joints that are coupled give way."""

NEAR = {
    "four-bar": [0.7, 0.4, 1.2],
    "five-bar": [2.0, 0.8, 1.0, 2.2],
    "six-bar": [0.7, 0.4, 1.2, 0.3, 1.5],
    "slider-crank": [0.6, -0.3, 0.42],
    "Bricard": [0.0] * 5,
}
"""Positions from which the loops are closed."""


def closed_state(own: Robot, near: Array) -> tuple[Array, Array, Array]:
    """A closed position, a velocity that keeps it closed, and inputs."""
    residual = ca.vertcat(*(constraint.residual(own.coordinates) for constraint in own.natural))
    q = near.copy()
    for _ in range(50):
        J = own.evaluate(ca.jacobian(residual, own.q), q=q)
        q = q - np.linalg.lstsq(J, own.evaluate(residual, q=q), rcond=1e-9)[0]
    assert np.abs(own.evaluate(residual, q=q)).max() < 1e-12
    rng = np.random.default_rng(3)
    J = own.evaluate(ca.jacobian(residual, own.q), q=q)
    v = rng.uniform(-1.0, 1.0, own.coordinates.nv)
    v = v - np.linalg.lstsq(J, J @ v, rcond=1e-9)[0]
    return q, v, rng.uniform(-2.0, 2.0, own.u.numel())


def ends(model: mujoco.MjModel, data: mujoco.MjData, k: int) -> list[tuple[int, Array]]:
    """The two bodies that a pin holds, and where it holds each in the world."""
    numbers = [int(model.eq_obj1id[k]), int(model.eq_obj2id[k])]
    if model.eq_type[k] == mujoco.mjtEq.mjEQ_CONNECT:
        return [(int(model.site_bodyid[site]), data.site_xpos[site]) for site in numbers]
    # What an older MuJoCo is given for it: a weld that lets turn.
    assert (model.eq_type[k], model.eq_data[k, 10]) == (mujoco.mjtEq.mjEQ_WELD, 0.0)
    places = model.eq_data[k, 3:6], model.eq_data[k, :3]
    return [(b, data.xpos[b] + data.xmat[b].reshape(3, 3) @ x) for b, x in zip(numbers, places, strict=True)]


def jacobian(model: mujoco.MjModel, q: Array) -> Array:
    """Of the gaps of all pins, by MuJoCo's own kinematics."""
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    found = np.zeros((model.neq, 3, model.nv))
    for k, own in enumerate(found):
        for (body, place), sign in zip(ends(model, data, k), (1.0, -1.0), strict=True):
            J = np.zeros((3, model.nv))
            mujoco.mj_jac(model, data, J, None, place, body)
            own += sign * J
    return found.reshape(-1, model.nv)


def gaps(data: mujoco.MjData) -> Array:
    """By which constraints are open; rows without a lever hold nothing: they are of turns that a weld lets go."""
    held = np.asarray(data.efc_J).reshape(data.nefc, -1).any(axis=1)
    return np.asarray(data.efc_pos[held])


def rows(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, Array]:
    """J and J̇ v of all pins; J̇ from differences of fourth order."""
    q, v = np.array(data.qpos), np.array(data.qvel)
    slopes = [(jacobian(model, q + h * v) - jacobian(model, q - h * v)) / (2.0 * h) for h in (1e-3, 2e-3)]
    return jacobian(model, q), (4.0 * slopes[0] - slopes[1]) @ v / 3.0


@pytest.mark.parametrize("name", list(LOOPS))
def test_constrained_accelerations_from_its_parts_are_ours(name: str) -> None:
    own = robot(name)
    model = Model.of(own, text(name))
    q, v, u = closed_state(own, np.array(NEAR[name]))
    data = model.place(q, v, u)
    J, drift = rows(model.model, data)
    assert np.abs(gaps(data)).max() < 1e-11
    M, force = model.mass_matrix(), data.qfrc_actuator + data.qfrc_passive - data.qfrc_bias
    n, m = len(M), len(J)
    K = np.block([[M, J.T], [J, np.zeros((m, m))]])
    # Rows in which nothing moves, across a plane or of a second point of an axis, make it singular.
    a_there = np.linalg.lstsq(K, np.concatenate([force, -drift]), rcond=1e-10)[0][:n].astype(np.float64)
    a = own.evaluate(own.acceleration, q=q, v=v, u=u)
    assert difference(a_there, model.joints.states.between @ a) < 1e-9


@pytest.mark.parametrize("name", list(LOOPS))
def test_its_soft_constraints_come_close_at_rest(name: str) -> None:
    own = robot(name)
    model = Model.of(own, text(name))
    q, _, u = closed_state(own, np.array(NEAR[name]))
    v = np.zeros(own.coordinates.nv)
    a = model.joints.states.between @ own.evaluate(own.acceleration, q=q, v=v, u=u)
    # Softness of one part in ten thousand, where the legs of the loop are not in line.
    assert difference(model.place(q, v, u).qacc, a) < 2e-3


@needs(TENDON_ARMATURE)
def test_a_length_that_is_held_is_a_coupling_of_one_joint() -> None:
    own = exoskeleton([HEAVY, LIGHT], rigid=[2])
    model = Model.of(own, export(own))
    q, v, u = states(own, 1)[0]
    q[3], v[3] = LIGHT.rest_length, 0.0
    a = own.evaluate(own.acceleration, q=q, v=v, u=u)
    assert difference(model.place(q, v, u).qacc, model.joints.states.velocities(q) @ a) < SOFT
    assert np.abs(model.data.efc_pos).max() < 1e-12


@pytest.mark.parametrize("angles", ["relative", "absolute"])
def test_gears_of_two_and_three_joints_are_held(angles: str) -> None:
    arm = planar_manipulator(LINKS[:3], angles="relative" if angles == "relative" else "absolute")
    q1, q2, q3 = ca.vertsplit(arm.q)
    own = mechanism(arm, [Closure(q1 + 2.0 * q2 - 0.5 * q3, [0.3], "gear"), Closure(q3, [1.1], "lock")])
    model = Model.of(own, export(own))
    q = np.array([0.2, 0.3, 1.1])
    q[0] = 0.3 - 2.0 * q[1] + 0.5 * q[2]
    v, u = np.zeros(3), np.array([1.0, -2.0, 0.5])
    a = own.evaluate(own.acceleration, q=q, v=v, u=u)
    data = model.place(q, v, u)
    assert np.abs(data.efc_pos).max() < 1e-12
    assert difference(data.qacc, model.joints.states.between @ a) < SOFT


def test_an_anchor_may_be_moved_by_a_parameter() -> None:
    arm = planar_manipulator(LINKS[:3])
    own = mechanism(arm, [Closure("tip", (1.2, 0.4), "anchor")])
    model = Model.of(own, export(own, p={"anchor.x": 0.9, "anchor.y": 0.8}))
    q = assemble(own, np.array([0.3, 0.8, 0.5]), p={"anchor.x": 0.9, "anchor.y": 0.8}).q
    assert np.abs(gaps(model.place(q, np.zeros(3)))).max() < 1e-9
    assert np.allclose(model.data.site("anchor, second").xpos, [0.9, 0.8, 0.0], atol=1e-12)


def test_what_is_no_pin_is_refused_by_name() -> None:
    arm = planar_manipulator(LINKS[:3])
    guided = mechanism(arm, [Closure("tip", (0.0, 0.5), "guide", rows=(1,))])
    with pytest.raises(BridgeError, match=r"natural constraint 'guide': it is neither a point .* ignore=\['guide'\]"):
        export(guided)
    with pytest.warns(match="natural constraint 'guide'"):
        open_chain = export(guided, ignore=["guide"])
    assert mujoco.MjModel.from_xml_string(open_chain).neq == 0


def test_a_direction_without_a_pin_is_refused() -> None:
    loop = robot("Bricard")
    own = dataclasses.replace(loop, natural=loop.natural[1:])
    with pytest.raises(BridgeError, match="it keeps a direction of 'hinge5', of which no point is held as in a hinge"):
        export(own)
