"""Robots as URDF: Pinocchio's M and h of the file are those of the robot, and the file is read back as the same."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.bridges.common.body_tree import BodyTree
from erugin.bridges.common.state_conversion import PINOCCHIO, MimicCoordinate, StateConversion
from erugin.bridges.urdf import export
from erugin.robots import Closure, Robot, exoskeleton, load_urdf, mechanism, planar_manipulator
from erugin.symbolic import BridgeError, BridgeWarning

from ...support.mjcf import HEAVY, LIGHT, LINKS, LOOPS, TREES, difference, robot, states
from ...support.trees import TREES as RANDOM

pinocchio: Any = importlib.import_module("pinocchio")  # has no type information

TOLERANCE = 1e-9
LIMP = (
    dataclasses.replace(HEAVY, stiffness=0.0),
    dataclasses.replace(LIGHT, stiffness=0.0, damping=2.0),
)
"""Telescopic links without springs."""


def require_same(own: Robot, text: str) -> None:
    """Compare with Pinocchio."""
    # Pinocchio writes joints without bounds as cosine and sine.
    bounds = '<limit lower="-9" upper="9" effort="9" velocity="9" /></joint>'
    turning = [part for part in text.split("<joint") if 'type="continuous"' in part]
    for part in turning:
        text = text.replace(part, part.replace("continuous", "revolute").replace("</joint>", bounds))
    model = pinocchio.buildModelFromXML(text)
    data = model.createData()
    tree = BodyTree.of(own)
    model.gravity.linear[:] = tree.gravity
    at = {model.names[k]: (model.idx_qs[k], model.idx_vs[k]) for k in range(1, model.njoints)}
    slots = {solid.name: at[solid.name] for solid in tree.solids}
    followers = [
        MimicCoordinate(solid.name, share.ratio - 1.0, *at[share.name])
        for solid in tree.solids
        for share in solid.proportional_bodies
        if share.ratio != 1.0
    ]
    maps = StateConversion(own, PINOCCHIO, slots, (model.nq, model.nv), followers)
    for q, v, _ in states(own):
        q_there, v_there = maps.to_model(q, v)
        upper = np.triu(pinocchio.crba(model, data, q_there))
        M = upper + np.triu(upper, 1).T
        h = pinocchio.rnea(model, data, q_there, v_there, np.zeros(model.nv)) + model.damping * v_there
        X = maps.velocity_jacobian(q)
        assert difference(X.T @ M @ X, own.evaluate(own.mass_matrix, q=q)) < TOLERANCE
        assert difference(X.T @ h, own.evaluate(own.bias, q=q, v=v)) < TOLERANCE


@pytest.mark.parametrize("name", list(TREES))
def test_mass_matrix_and_bias_there_are_ours(name: str) -> None:
    require_same(robot(name), export(robot(name)))


@pytest.mark.parametrize("name", ["hinges", "slides", "massless between", "absolute hinges", "two floating bodies"])
def test_random_trees_are_carried_over(name: str) -> None:
    own = RANDOM[name].robot()
    require_same(own, export(own))


@pytest.mark.parametrize("name", list(LOOPS))
def test_loops_are_refused_or_dropped_with_a_warning(name: str) -> None:
    own = robot(name)
    with pytest.raises(BridgeError, match=r"it closes a loop.*or leave constraints open with loops='drop'"):
        export(own)
    with pytest.warns(BridgeWarning, match=f"natural constraint '{own.natural[0].name}': it closes a loop"):
        text = export(own, loops="drop")
    require_same(own, text)


def test_telescopic_links_are_slides_that_mimic() -> None:
    own = exoskeleton(LIMP)
    text = export(own)
    require_same(own, text)
    assert text.count("<mimic") == 2


@pytest.mark.parametrize("name", ["two links, absolute", "Panda", "floating base"])
def test_a_file_is_read_back_as_the_same_robot(name: str, tmp_path: Path) -> None:
    own, file = robot(name), tmp_path / "robot.urdf"
    text = export(own, file, upright=True)
    assert file.read_text(encoding="utf-8") == text
    back = load_urdf(file)
    S = BodyTree.of(own).relative_angles
    for q, v, _ in states(own):
        q_there = S @ q if len(S) == len(q) else q
        M, h = back.evaluate(back.mass_matrix, q=q_there), back.evaluate(back.bias, q=q_there, v=S @ v)
        assert difference(S.T @ M @ S, own.evaluate(own.mass_matrix, q=q)) < TOLERANCE
        assert difference(S.T @ h, own.evaluate(own.bias, q=q, v=v)) < TOLERANCE


def test_a_telescope_is_read_back_with_its_ties(tmp_path: Path) -> None:
    own, file = exoskeleton(LIMP), tmp_path / "leg.urdf"
    export(own, file, upright=True)
    back = load_urdf(file)
    assert [constraint.name for constraint in back.natural] == ["l1.link 1.mimic", "l2.link 2.mimic"]
    tree = BodyTree.of(own)
    for q, v, _ in states(own, 2):
        rows = {name: tree.relative_angles[i] for i, name in enumerate(own.coordinates.names)}
        for solid in tree.solids:
            rows |= {
                share.name: (share.ratio - 1.0) * tree.relative_angles[solid.at_v]
                for share in solid.proportional_bodies
            }
        X = np.array([rows[name] for name in back.coordinates.names])
        a = own.evaluate(own.acceleration, q=q, v=v, u=np.zeros(2))
        there = back.evaluate(back.acceleration, q=X @ q, v=X @ v, u=np.zeros(back.u.numel()))
        assert difference(there, X @ a) < TOLERANCE


def test_bounds_are_those_of_joints_and_inputs(tmp_path: Path) -> None:
    own = robot("Panda")
    export(own, tmp_path / "panda.urdf")
    back = load_urdf(tmp_path / "panda.urdf")
    for key in ("lower", "upper", "speed", "effort"):
        assert np.array_equal(getattr(back.limits, key), getattr(own.limits, key))


def test_two_joints_that_are_tied_mimic_each_other(tmp_path: Path) -> None:
    arm = planar_manipulator(LINKS[:3])
    own = mechanism(arm, [Closure(arm.q[2] - 2.0 * arm.q[0], [0.3], "gear")])
    export(own, tmp_path / "arm.urdf", upright=True)
    back = load_urdf(tmp_path / "arm.urdf")
    (tie,) = back.natural
    assert np.allclose(back.evaluate(tie.residual(back.coordinates), q=[0.2, 0.0, 0.7]), 0.0, atol=1e-15)
    with pytest.raises(
        BridgeError, match="natural constraint 'lock': it fixes a joint at a position: make that joint fixed"
    ):
        export(mechanism(arm, [Closure(arm.q[2], [0.3], "lock")]))
    three = mechanism(arm, [Closure(ca.sum1(arm.q), [0.0], "sum")])
    with pytest.raises(BridgeError, match="natural constraint 'sum': it ties several joints"):
        export(three)


def test_frames_become_links_on_demand(tmp_path: Path) -> None:
    own = robot("two links, absolute")
    text = export(own, tmp_path / "arm.urdf", frames=True)
    model = pinocchio.buildModelFromXML(text)
    assert model.existFrame("tip")
    back = load_urdf(tmp_path / "arm.urdf")
    q = np.array([0.3, 0.8])
    expected = own.evaluate(own.points["tip"], q=q)
    found = back.evaluate(back.points["tip"], q=BodyTree.of(own).relative_angles @ q)
    assert np.abs(found[:2] - expected).max() < 1e-14


def test_a_body_that_floats_may_be_the_root(tmp_path: Path) -> None:
    own = robot("floating base")
    export(own, tmp_path / "body.urdf", floating="root")
    back = load_urdf(tmp_path / "body.urdf", base="floating")
    assert back.coordinates.names == own.coordinates.names
    q, v, _ = states(own, 1)[0]
    assert difference(back.evaluate(back.bias, q=q, v=v), own.evaluate(own.bias, q=q, v=v)) < TOLERANCE


def test_a_robot_that_stands_has_no_floating_root() -> None:
    with pytest.raises(
        BridgeError, match=r"floats in the world's frame .*attached to the world: crank \(hinge\), rocker"
    ):
        export(robot("four-bar"), loops="drop", floating="root")
    flying = dataclasses.replace(RANDOM["two floating bodies"], kinds=("floating", "revolute")).robot()
    with pytest.raises(BridgeError, match=r"attached to the world: j0 \(free\)"):
        export(flying, floating="root")


def test_gravity_is_written_in_a_comment() -> None:
    own = planar_manipulator(LINKS[:2], gravity=1.62)
    assert "<!-- gravity 0 -1.62 0 m/s2 in the axes of 'world' -->" in export(own)
    assert "<!-- gravity 0 0 -1.62 m/s2 in the axes of 'world' -->" in export(own, upright=True)


def test_what_urdf_lacks_is_refused_by_name() -> None:
    with pytest.raises(BridgeError, match=r"all of .*: a spring of l1; a spring of l2\. .*'spring of l1'"):
        export(exoskeleton([HEAVY, LIGHT]))
    with pytest.warns(BridgeWarning, match="URDF cannot represent: a spring of l1; a spring of l2"):
        export(exoskeleton([HEAVY, LIGHT]), ignore=["spring of l1", "spring of l2"])


def test_unknown_words_are_refused() -> None:
    own = planar_manipulator(LINKS[:1])
    with pytest.raises(BridgeError, match="loops must be one of 'refuse', 'drop', got 'cut'"):
        export(own, loops="cut")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(BridgeError, match="floating must be one of 'joint', 'root', got 'base'"):
        export(own, floating="base")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_joint_may_be_called_world(tmp_path: Path) -> None:
    # Many readers take a link of that name for the world itself.
    file = tmp_path / "arm.urdf"
    own = planar_manipulator(LINKS[:2])
    text = export(own, upright=True).replace('<joint name="q1"', '<joint name="world"')
    file.write_text(text, encoding="utf-8")
    again = export(load_urdf(file))
    assert '<link name="world" />' in again
    assert again.count('link name="world"') == 1
    assert '<child link="world"' not in again
    require_same(load_urdf(file), again)
