"""Robots as MJCF, open and closed: MuJoCo's M, bias and accelerations are the robot's."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.mujoco import export, load, match
from erugin.robots import Closure, Link, Robot, assemble, exoskeleton, mechanism, planar_manipulator
from erugin.robots.formulations import NewtonEuler
from erugin.symbolic import BridgeError

from ...support.mjcf import (
    HEAVY,
    HELD,
    LIGHT,
    LINKS,
    LOOPS,
    TELESCOPES,
    TREES,
    Model,
    difference,
    followed,
    robot,
    states,
    text,
)
from ...support.mujoco_versions import DIAGEXACT, TENDON_ARMATURE, TOLD, needs
from ...support.trees import TREES as RANDOM

TOLERANCE = 1e-9
pytestmark = TOLD


@pytest.mark.parametrize("name", [*TREES, *TELESCOPES, *LOOPS])
def test_mass_matrix_and_bias_there_are_ours(name: str) -> None:
    own = robot(name)
    with needs(followed(name)):
        model = Model.of(own, text(name))
        for q, v, _ in states(own):
            X, drift = model.joints.states.velocity_jacobian(q), model.joints.states.velocity_bias(q, v)
            M, h = model.dynamics(*model.joints.states.to_model(q, v))
            assert difference(X.T @ M @ X, own.evaluate(own.mass_matrix, q=q)) < TOLERANCE
            assert difference(X.T @ (h + M @ drift), own.evaluate(own.bias, q=q, v=v)) < TOLERANCE


@pytest.mark.parametrize("name", [*TREES, *TELESCOPES])
def test_accelerations_there_under_the_same_inputs_are_ours(name: str) -> None:
    own = robot(name)
    with needs(followed(name)):
        model = Model.of(own, text(name))
        for q, v, u in states(own):
            a = own.evaluate(own.acceleration, q=q, v=v, u=u)
            expected = model.joints.states.velocity_jacobian(q) @ a + model.joints.states.velocity_bias(q, v)
            assert difference(model.place(q, v, u).qacc, expected) < (HELD if name in TELESCOPES else TOLERANCE)


HANDED_ON = (
    "hinges",
    "straight arm",
    "slides",
    "hinges and slides, branched",
    "massless between",
    "plane, all joints",
    "several roots",
    "absolute hinges",
    "telescopes in the plane",
    "shares in space",
)
"""Trees that need neither a free joint away from the origin nor absolute angles about several axes."""


@pytest.mark.parametrize("name", HANDED_ON)
def test_random_trees_move_there_as_here(name: str) -> None:
    own = RANDOM[name].robot()
    carried = "telescopes" in name or "shares" in name
    with needs(TENDON_ARMATURE if carried else None):
        model = Model.of(own, export(own))
        for q, v, u in states(own, 1):
            a = own.evaluate(own.acceleration, q=q, v=v, u=u)
            # Followers are held as hard as MuJoCo can.
            bound = 3 * HELD if carried else 3e-9
            assert difference(model.place(q, v, u).qacc, model.joints.states.velocity_jacobian(q) @ a) < bound


def test_parameters_are_numbers_in_the_text() -> None:
    own = planar_manipulator(LINKS[:2])
    p = {"m1": 3.0, "l1": 0.7, "g": 1.6}
    model = Model.of(own, export(own, p=p))
    q, v, u = states(own, 1)[0]
    a = own.evaluate(own.acceleration, q=q, v=v, u=u, p=p)
    assert difference(model.place(q, v, u).qacc, a) < TOLERANCE
    assert difference(a, own.evaluate(own.acceleration, q=q, v=v, u=u)) > 0.1


@pytest.mark.parametrize("name", ["two links, absolute", "Panda", "exoskeleton", "slider-crank", "Bricard"])
def test_sites_are_where_points_are(name: str) -> None:
    own = robot(name)
    with needs(followed(name)):
        model = Model.of(own, text(name))
        q, v, _ = states(own, 1)[0]
        data = model.place(q, v)
        for point, place in own.points.items():
            expected = np.zeros(3)
            expected[: place.numel()] = own.evaluate(place, q=q)
            assert np.abs(data.site(point).xpos - expected).max() < TOLERANCE, point
        for frame, pose in own.frames.items():
            turned = data.site(frame).xmat.reshape(3, 3)
            assert np.abs(turned - own.evaluate(pose.rotation, q=q)).max() < TOLERANCE, frame


def test_bounds_are_those_of_joints_and_inputs() -> None:
    own = robot("Panda")
    model = Model.of(own, export(own)).model
    assert np.array_equal(model.jnt_range[:, 0], own.limits.lower)
    assert np.array_equal(model.jnt_range[:, 1], own.limits.upper)
    assert np.array_equal(model.actuator_ctrlrange[:, 1], own.limits.effort)
    free = Model.of(own, export(own, limits=False)).model
    assert not free.jnt_limited.any()
    assert not free.actuator_ctrllimited.any()


@needs(TENDON_ARMATURE)
def test_the_model_is_set_up_in_the_given_state() -> None:
    own = exoskeleton([HEAVY, LIGHT])
    q0 = np.array([0.3, 1.2, 0.9, 0.6])
    model = Model.of(own, export(own, q0=q0, timestep=0.004, integrator="implicit"))
    assert np.abs(model.joints.states.from_model(model.model.qpos0, np.zeros(model.model.nv))[0] - q0).max() < 1e-15
    mujoco.mj_resetData(model.model, model.data)
    mujoco.mj_forward(model.model, model.data)
    assert np.abs(model.data.site("end1").xpos[:2] - own.evaluate(own.points["end1"], q=q0)).max() < 1e-14
    assert (model.model.opt.timestep, model.model.opt.integrator) == (0.004, mujoco.mjtIntegrator.mjINT_IMPLICIT)


def test_a_file_has_the_text(tmp_path: Path) -> None:
    own = planar_manipulator(LINKS[:1])
    written = export(own, tmp_path / "arm.xml", name="arm")
    assert (tmp_path / "arm.xml").read_text(encoding="utf-8") == written
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml")).nv == 1
    assert [file.name for file in tmp_path.iterdir()] == ["arm.xml"]


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "six-bar", "slider-crank"])
def test_the_tree_of_a_linkage_has_its_equations(name: str) -> None:
    own, method = robot(name), NewtonEuler()
    assert own.tree is not None
    assert ca.is_equal(own.tree.coordinates.q, own.q)
    for q, v, _ in states(own):
        M, h = own.evaluate(own.mass_matrix, q=q), own.evaluate(own.bias, q=q, v=v)
        assert difference(own.evaluate(method.mass_matrix(own.tree), q=q), M) < 1e-13
        assert difference(own.evaluate(method.bias(own.tree), q=q, v=v), h) < 1e-13


@pytest.mark.parametrize("name", ["two links, absolute", "exoskeleton", "Panda"])
def test_motors_have_the_names_and_the_order_of_inputs(name: str) -> None:
    with needs(followed(name)):
        model = Model.of(robot(name), text(name)).model
        assert [model.actuator(k).name for k in range(model.nu)] == list(robot(name).input_names)


def test_bodies_may_be_added_to_what_was_written() -> None:
    ball = '<body name="ball" pos="1 0 0"><joint name="x" type="slide" range="-1 1"/><geom size=".1" mass="2"/></body>'
    own = planar_manipulator(LINKS[:2])
    model = mujoco.MjModel.from_xml_string(export(own).replace("</worldbody>", f"{ball}</worldbody>"))
    assert model.body("ball").mass == 2.0
    assert model.joint("x").range.tolist() == [-1.0, 1.0]
    assert match(own, model).same


def test_a_joint_may_be_called_world() -> None:
    # The world itself is a body of that name.
    plain = planar_manipulator(LINKS[:2])
    file = export(plain).replace('<joint name="q1"', '<joint name="world"').replace('joint="q1"', 'joint="world"')
    own = load(file)
    assert own.coordinates.names == ("world", "q2")
    back = load(export(own))
    assert back.coordinates.names == ("world", "q2")
    q, v, _ = states(own, 1)[0]
    assert difference(back.evaluate(back.bias, q=q, v=v), plain.evaluate(plain.bias, q=q, v=v)) < TOLERANCE


@needs(TENDON_ARMATURE)
def test_telescopic_links_are_drawn_from_end_to_end() -> None:
    own = exoskeleton([HEAVY, LIGHT])
    q0 = np.array([0.3, 1.2, 0.9, 0.6])
    model = Model.of(own, export(own, q0=q0))
    data = model.place(q0, np.zeros(4))
    ends = [data.geom_xpos + side * model.model.geom_size[:, 1:2] * data.geom_xmat[:, 2::3] for side in (-1.0, 1.0)]
    for point in ("end1", "end2"):
        assert min(np.linalg.norm(place - data.site(point).xpos) for place in np.concatenate(ends)) < 1e-12
    assert min(np.linalg.norm(place) for place in np.concatenate(ends)) < 1e-12


@pytest.mark.parametrize("length", [0.0, 0.25, 0.5])
def test_every_link_is_drawn_once_from_its_joint_to_its_end(length: float) -> None:
    links = [Link(0.6, 2.0, length, 0.1), Link(0.5, 1.0, length, 0.1)]
    own = planar_manipulator(links)
    model = Model.of(own, export(own))
    data = model.place(np.zeros(2), np.zeros(2))
    shapes = model.model
    # Groups 0 to 2 are what the viewer shows.
    assert (shapes.geom_group <= 2).all()
    ends = [
        round(float(data.xpos[body, 0] + 2.0 * shapes.geom_pos[k, 0]), 12) for k, body in enumerate(shapes.geom_bodyid)
    ]
    assert {0.6, 1.1} <= set(ends)
    assert len(set(ends)) == len(ends)
    assert shapes.geom_size[:, 0].min() > 0.005


Array = NDArray[np.float64]
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
    assert difference(a_there, model.joints.states.relative_angles @ a) < 1e-9


@pytest.mark.parametrize("name", list(LOOPS))
def test_its_soft_constraints_come_close_at_rest(name: str) -> None:
    own = robot(name)
    model = Model.of(own, text(name))
    q, _, u = closed_state(own, np.array(NEAR[name]))
    v = np.zeros(own.coordinates.nv)
    a = model.joints.states.relative_angles @ own.evaluate(own.acceleration, q=q, v=v, u=u)
    # Softness of one part in ten thousand, where the legs of the loop are not in line.
    assert difference(model.place(q, v, u).qacc, a) < 2e-3


@needs(TENDON_ARMATURE)
def test_a_length_that_is_held_is_a_coupling_of_one_joint() -> None:
    own = exoskeleton([HEAVY, LIGHT], rigid=[2])
    model = Model.of(own, export(own))
    q, v, u = states(own, 1)[0]
    q[3], v[3] = LIGHT.rest_length, 0.0
    a = own.evaluate(own.acceleration, q=q, v=v, u=u)
    assert difference(model.place(q, v, u).qacc, model.joints.states.velocity_jacobian(q) @ a) < SOFT
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
    assert difference(data.qacc, model.joints.states.relative_angles @ a) < SOFT


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
    with pytest.raises(
        BridgeError, match=r"natural constraint 'guide': it neither joins a point .* ignore=\['guide'\]"
    ):
        export(guided)
    with pytest.warns(match="natural constraint 'guide'"):
        open_chain = export(guided, ignore=["guide"])
    assert mujoco.MjModel.from_xml_string(open_chain).neq == 0


def test_a_direction_without_a_pin_is_refused() -> None:
    loop = robot("Bricard")
    own = dataclasses.replace(loop, natural=loop.natural[1:])
    with pytest.raises(BridgeError, match="it fixes a direction of 'hinge5' but, unlike a hinge, no point of it"):
        export(own)
