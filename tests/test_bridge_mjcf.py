"""Robots as MJCF: MuJoCo's own M, bias and accelerations are those of the robot."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest

from erugin.bridges.mujoco import export, load, match
from erugin.robots import Link, exoskeleton, planar_manipulator
from erugin.robots.formulations import NewtonEuler

from .mjcf import HEAVY, HELD, LIGHT, LINKS, LOOPS, TELESCOPES, TREES, Model, difference, followed, robot, states, text
from .mujoco_versions import TENDON_ARMATURE, TOLD, needs
from .trees import TREES as RANDOM

TOLERANCE = 1e-9
pytestmark = TOLD


@pytest.mark.parametrize("name", [*TREES, *TELESCOPES, *LOOPS])
def test_mass_matrix_and_bias_there_are_ours(name: str) -> None:
    own = robot(name)
    with needs(followed(name)):
        model = Model.of(own, text(name))
        for q, v, _ in states(own):
            X, drift = model.joints.states.velocities(q), model.joints.states.drift(q, v)
            M, h = model.dynamics(*model.joints.states.there(q, v))
            assert difference(X.T @ M @ X, own.evaluate(own.mass_matrix, q=q)) < TOLERANCE
            assert difference(X.T @ (h + M @ drift), own.evaluate(own.bias, q=q, v=v)) < TOLERANCE


@pytest.mark.parametrize("name", [*TREES, *TELESCOPES])
def test_accelerations_there_under_the_same_inputs_are_ours(name: str) -> None:
    own = robot(name)
    with needs(followed(name)):
        model = Model.of(own, text(name))
        for q, v, u in states(own):
            a = own.evaluate(own.acceleration, q=q, v=v, u=u)
            expected = model.joints.states.velocities(q) @ a + model.joints.states.drift(q, v)
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
            assert difference(model.place(q, v, u).qacc, model.joints.states.velocities(q) @ a) < bound


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
def test_the_model_is_set_up_where_it_is_asked_to_be() -> None:
    own = exoskeleton([HEAVY, LIGHT])
    q0 = np.array([0.3, 1.2, 0.9, 0.6])
    model = Model.of(own, export(own, q0=q0, timestep=0.004, integrator="implicit"))
    assert np.abs(model.joints.states.here(model.model.qpos0, np.zeros(model.model.nv))[0] - q0).max() < 1e-15
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
