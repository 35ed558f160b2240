"""Foreign MJCF and our own as robots."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from erugin.bridges.mujoco import export, load, match
from erugin.robots import Robot
from erugin.symbolic import BridgeError, BridgeWarning

from ...support.mjcf import Model, difference, followed, robot, states, text
from ...support.mujoco_versions import (
    DIAGEXACT,
    GROUPS,
    SEVERAL,
    SITE_EQUALITIES,
    SPRING_FLAG,
    TENDON_ARMATURE,
    TOLD,
    has,
    needs,
)

pytestmark = TOLD

DEFAULTS = """
<mujoco model="arm">
  <compiler angle="degree" autolimits="true" inertiagrouprange="3 3"/>
  <default>
    <default class="arm">
      <joint axis="0 0 1" damping="0.4" armature="0.1" range="-170 170"/>
      <geom group="3" density="800" contype="0" conaffinity="0"/>
      <default class="small"><joint armature="0.02" range="-90 120"/></default>
      <default class="visual"><geom group="2" density="1000"/></default>
    </default>
  </default>
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="plane" size="1 1 .1" contype="0" conaffinity="0"/>
    <body name="base" childclass="arm" pos="0 0 .1" euler="0 0 30">
      <geom type="cylinder" size=".05 .1"/>
      <body name="upper" pos="0 0 .2" quat="1 1 0 0">
        <joint name="shoulder"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>
        <geom class="visual" type="box" size=".1 .1 .1"/>
        <body name="fore" pos=".3 0 .02" euler="0 90 20">
          <joint name="elbow" class="small" pos="0.01 0 0"/>
          <geom type="capsule" fromto="0 0 0 0 .25 0" size=".03"/>
          <geom type="sphere" size=".05" pos="0 .25 0" mass="0.3"/>
          <body name="wrist" pos="0 .25 0">
            <joint name="w1" axis="1 0 0" class="small"/>
            <joint name="w2" axis="0 1 1" pos="0 0 .02" ref="10" stiffness="3" springref="15"/>
            <joint name="w3" type="slide" axis="0 1 0" ref=".02" range="-.1 .1"/>
            <geom type="box" size=".03 .02 .05"/>
            <site name="tool" pos="0 0 .1" euler="90 0 0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="m1" joint="shoulder" gear="20" ctrlrange="-3 3"/>
    <general name="m2" joint="elbow" gainprm="5"/>
    <motor name="m3" joint="w3" forcerange="-8 8" gear="-1"/>
  </actuator>
  <sensor><jointpos joint="shoulder"/></sensor>
</mujoco>
"""
"""Defaults, classes, degrees, masses from shapes of one group, several joints in one body, references."""

FLOATING = """
<mujoco>
  <option gravity="1 2 -3"><flag contact="disable"/></option>
  <worldbody>
    <body name="ship" pos="1 2 3" euler="10 20 30">
      <freejoint name="sea"/>
      <geom type="box" size=".1 .2 .3" pos=".1 0 .2" euler="10 0 0"/>
      <geom type="ellipsoid" size=".1 .2 .1" pos="0 .2 0"/>
      <body name="mast" pos="0 0 .3">
        <joint axis="0 1 0" damping="0.02"/>
        <geom type="capsule" fromto="0 0 0 .3 .1 .2" size=".02"/>
      </body>
      <site name="screw" pos="0 .3 0" euler="0 40 0"/>
    </body>
  </worldbody>
  <actuator><motor name="thrust" site="screw" gear="0 0 2 0.1 0 0"/></actuator>
</mujoco>
"""

LOOP = """
<mujoco>
  <option gravity="0 -9.81 0"><flag contact="disable"/></option>
  <worldbody>
    <body name="a">
      <joint name="a" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".02"/>
      <body name="b" pos=".4 0 0">
        <joint name="b" axis="0 0 1"/>
        <geom type="capsule" fromto="0 0 0 0 1 0" size=".02"/>
      </body>
    </body>
    <body name="c" pos="1 0 0">
      <joint name="c" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 0 1 0" size=".02"/>
      <body name="d" pos="0 .5 0"><joint name="d" axis="1 0 0" ref="0.4"/><geom size=".1" pos=".2 0 .1"/></body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="rope" stiffness="20" damping="0.3"><joint joint="a" coef="1"/><joint joint="d" coef="-2"/></fixed>
    <fixed name="belt" armature="0.2"><joint joint="c" coef="1"/><joint joint="d" coef="0.5"/></fixed>
  </tendon>
  <equality>
    <connect name="pin" body1="b" body2="c" anchor=".6 .2 0"/>
    <joint name="cam" joint1="d" joint2="c" polycoef="0.1 0.5 0.3 0.2 -0.1"/>
    <joint name="off" joint1="a" joint2="c" active="false"/>
    <tendon name="sum" tendon1="rope" polycoef="0.2 0 0 0 0" active="false"/>
  </equality>
  <actuator><motor joint="a"/><motor name="pull" tendon="rope" gear="3"/></actuator>
</mujoco>
"""

if TENDON_ARMATURE.missing:
    LOOP = LOOP.replace(' armature="0.2"', "")
OTHERS = {"defaults": DEFAULTS, "floating": FLOATING, "loop": LOOP}


def require_same(own: Robot, source: str) -> None:
    """M, h and the forces of inputs."""
    model = Model.of(own, source)
    for q, v, u in states(own):
        maps = model.joints.states
        X, drift = maps.velocity_jacobian(q), maps.velocity_bias(q, v)
        M, h = model.dynamics(*maps.to_model(q, v))
        assert difference(X.T @ M @ X, own.evaluate(own.mass_matrix, q=q)) < 1e-9
        assert difference(X.T @ (h + M @ drift), own.evaluate(own.bias, q=q, v=v)) < 1e-9
        force = X.T @ model.place(q, v, u).qfrc_actuator
        # MuJoCo cuts inputs at their bounds.
        bounded = np.clip(u, -own.limits.effort, own.limits.effort)
        assert difference(force, own.evaluate(own.input_matrix, q=q).reshape(-1, u.size) @ bounded) < 1e-9


@pytest.mark.parametrize("name", list(OTHERS))
def test_models_of_others_are_read(name: str) -> None:
    require_same(load(OTHERS[name]), OTHERS[name])


@pytest.mark.parametrize("name", list(OTHERS))
def test_what_was_read_is_written_back_the_same(name: str) -> None:
    own = load(OTHERS[name])
    if name == "loop":
        # A cam is no sum of coordinates.
        with pytest.warns(BridgeWarning, match="natural constraint 'cam'"):
            written = export(own, ignore=["cam"])
    else:
        written = export(own)
    require_same(own, written)
    require_same(load(written), written)


@pytest.mark.parametrize("name", ["seven links, absolute", "Panda", "floating base", "five-bar", "Bricard", "walker"])
def test_our_own_models_come_back(name: str) -> None:
    with needs(followed(name)):
        own = load(text(name))
        require_same(own, text(name))
        assert len(own.natural) == mujoco.MjModel.from_xml_string(text(name)).neq
        assert own.input_names == robot(name).input_names


def test_a_file_and_a_compiled_model_are_the_same(tmp_path: Path) -> None:
    file = tmp_path / "arm.xml"
    file.write_text(DEFAULTS, encoding="utf-8")
    for source in (file, str(file), mujoco.MjModel.from_xml_string(DEFAULTS)):
        own = load(source)
        assert own.name == "arm"
        assert own.coordinates.names == ("shoulder", "elbow", "w1", "w2", "w3")
    assert load(DEFAULTS, name="another").name == "another"


def test_names_units_and_bounds_are_read() -> None:
    own = load(DEFAULTS)
    assert own.coordinates.units == ("rad", "rad", "rad", "rad", "m")
    assert own.input_names == ("m1", "m2", "m3")
    assert own.input_units == ("N m", "N m", "N")
    assert np.allclose(own.limits.upper, [*np.deg2rad([170, 120, 120, 170]), 0.1], rtol=1e-12)
    assert own.limits.effort.tolist() == [3.0, np.inf, 8.0]
    assert {"base", "wrist", "tool"} <= set(own.frames)
    assert own.nominal["w2.rest"] == pytest.approx(np.deg2rad(15))
    assert own.nominal["gravity.z"] == -9.81


def test_parameters_change_what_was_read() -> None:
    own = load(DEFAULTS)
    heavier = DEFAULTS.replace('mass="0.3"', 'mass="0.9"')
    other = mujoco.MjModel.from_xml_string(heavier)
    body = other.body("fore")
    p = {"fore.mass": float(body.mass[0])}
    p |= {f"fore.c{axis}": float(x) for axis, x in zip("xyz", body.ipos, strict=True)}
    p |= {f"fore.I{i + 1}": float(x) for i, x in enumerate(body.inertia)}
    q, v, _ = states(own, 1)[0]
    model = Model.of(own, heavier)
    M, h = model.dynamics(*model.joints.states.to_model(q, v))
    assert difference(M, own.evaluate(own.mass_matrix, q=q, p=p)) < 1e-9
    assert difference(h, own.evaluate(own.bias, q=q, v=v, p=p)) < 1e-9
    assert difference(M, own.evaluate(own.mass_matrix, q=q)) > 1e-3


def test_loops_and_couplings_hold_what_they_hold_there() -> None:
    own = load(LOOP)
    assert [constraint.name for constraint in own.natural] == ["cam", "pin"]
    model = Model.of(own, LOOP)
    rng = np.random.default_rng(7)
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, 4)
        data = model.place(q, np.zeros(4))
        cam, pin = (constraint.residual(own.coordinates) for constraint in own.natural)
        gaps = {mujoco.mjtEq.mjEQ_CONNECT: own.evaluate(pin, q=q), mujoco.mjtEq.mjEQ_JOINT: own.evaluate(cam, q=q)}
        for k, expected in gaps.items():
            own_rows = [i for i in range(data.nefc) if model.model.eq_type[data.efc_id[i]] == k]
            found = np.asarray(data.efc_pos)[own_rows]
            assert np.abs(found[: np.size(expected)] - expected).max() < 1e-12


def test_parts_of_the_physics_that_are_off_stay_off() -> None:
    forces = 'passive="disable"' if SPRING_FLAG.missing else 'spring="disable" damper="disable"'
    flags = f'<flag contact="disable" gravity="disable" {forces} equality="disable"/>'
    source = LOOP.replace('<flag contact="disable"/>', flags)
    own = load(source)
    assert not own.natural
    assert not [name for name in own.nominal if "gravity" in name or "damping" in name or "stiffness" in name]
    require_same(own, source)


@needs(SPRING_FLAG)
def test_springs_may_be_off_alone() -> None:
    source = LOOP.replace('<flag contact="disable"/>', '<flag contact="disable" spring="disable"/>')
    own = load(source)
    assert [name for name in own.nominal if "damping" in name or "stiffness" in name] == ["tendon rope.damping"]
    require_same(own, source)


WELD = """
<mujoco>
  <option gravity="1 -9.81 2"><flag contact="disable" diagexact="enable"/></option>
  <worldbody>
    <body name="a">
      <joint name="a" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".02"/>
      <body name="b" pos=".4 0 0" euler="0 0 30">
        <joint name="b" axis="0 0.6 0.8"/>
        <geom type="capsule" fromto="0 0 0 0 1 0" size=".02"/>
        <body name="c" pos="0 1 0"><joint name="c" axis="1 0 0"/><geom type="box" size=".1 .2 .1" pos=".1 0 0"/>
          <site name="end" pos="0 .2 0" euler="0 20 0"/>
        </body>
      </body>
    </body>
    <body name="d" pos="1 .5 .2" euler="10 40 0">
      <freejoint name="d"/><geom type="box" size=".3 .1 .1"/><site name="tip" pos=".2 0 0" euler="0 0 40"/>
    </body>
  </worldbody>
  <equality>EQUALITY</equality>
</mujoco>
"""


if DIAGEXACT.missing:
    WELD = WELD.replace(' diagexact="enable"', "")


@pytest.mark.parametrize(
    "equality",
    [
        '<weld name="glue" body1="c" body2="d" solimp="0.9999 0.9999 0.001 0.5 2"/>',
        '<weld name="glue" body1="d" body2="b" anchor=".1 .2 0" solimp="0.9999 0.9999 0.001 0.5 2"/>',
        '<weld name="glue" body1="c" solimp="0.9999 0.9999 0.001 0.5 2"/>',
    ],
)
def test_bodies_that_are_welded_move_as_there(equality: str) -> None:
    source = WELD.replace("EQUALITY", equality)
    own = load(source)
    assert [constraint.name for constraint in own.natural] == ["glue", "glue (turn)"]
    model = Model.of(own, source)
    v = np.zeros(own.coordinates.nv)
    q = model.joints.states.from_model(model.model.qpos0, np.zeros(model.model.nv))[0]
    for constraint in own.natural:
        assert np.abs(own.evaluate(constraint.residual(own.coordinates), q=q)).max() < 1e-12
    a = own.evaluate(own.acceleration, q=q, v=v)
    data = model.place(q, v)
    # MuJoCo's welds are soft, by one part in ten thousand of the free motion.
    free, share = np.abs(data.qacc_smooth).max(), 5e-3 if DIAGEXACT.missing else 2e-3
    assert np.abs(data.qacc - model.joints.states.velocity_jacobian(q) @ a).max() < share * free


@needs(SITE_EQUALITIES)
def test_sites_that_are_welded_lie_on_each_other() -> None:
    own = load(WELD.replace("EQUALITY", '<weld name="glue" site1="end" site2="tip"/>'))
    place, turn = (constraint.residual(own.coordinates) for constraint in own.natural)
    q = np.array([0.3, -0.4, 0.5, *np.zeros(6), 1.0])
    end = own.frames["end"]
    R, x = own.evaluate(end.rotation, q=q), own.evaluate(end.position, q=q)
    # Put the free body where its site lies on the other.
    there = Rotation.from_matrix(R @ Rotation.from_euler("z", 40, degrees=True).as_matrix().T)
    q[3:] = [*(x - there.apply([0.2, 0.0, 0.0])), *there.as_quat()]
    assert np.abs(own.evaluate(place, q=q)).max() < 1e-12
    assert np.abs(own.evaluate(turn, q=q)).max() < 1e-12
    assert np.abs(own.evaluate(turn, q=[*q[:6], 0.0, 0.0, 0.0, 1.0])).max() > 0.01


TARGET = """
<body name="target" mocap="true" pos="2 0 0">
  <geom size=".2"/><body name="flag" pos="0 0 1"><geom size=".2"/><site name="tip"/></body>
</body>
"""
ARM = """
<mujoco model="arm">
  <compiler COMPILER/>
  <option><flag contact="disable"/></option>
  <worldbody>
    FIRST
    <body name="a">
      <joint name="a" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
      <body pos="1 .1 0"><joint type="slide" axis="1 0 0"/><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
        <site name="end" pos="0 .2 0"/></body>
    </body>
    LAST
  </worldbody>
  <equality>EQUALITY</equality>
  <actuator>DRIVE<motor name="m" joint="a" gear="7" ctrlrange="-3 3"/></actuator>
</mujoco>
"""


def arm(**parts: str) -> str:
    """The arm with more in it."""
    text = ARM
    for place in ("COMPILER", "FIRST", "LAST", "EQUALITY", "DRIVE"):
        text = text.replace(place, parts.get(place.lower(), ""))
    return text


@pytest.mark.parametrize("place", ["first", "last"])
def test_mocap_bodies_weigh_nothing_in_the_robot(place: str) -> None:
    text = arm(**{place: TARGET})
    own = load(text)
    assert match(own, mujoco.MjModel.from_xml_string(text)).same
    assert not [name for name in own.nominal if "target" in name or "flag" in name]
    assert own.evaluate(own.frames["tip"].position).tolist() == [2.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("equality", "message"),
    [
        ('<weld name="w" body1="a" body2="target"/>', "equality w: a weld to the mocap body 'target'"),
        ('<connect name="w" body1="flag" body2="a" anchor="0 0 0"/>', "equality w: a connect to the mocap body 'flag'"),
        ('<weld name="w" site1="end" site2="tip"/>', "equality w: a weld to the mocap body 'flag'"),
    ],
)
def test_what_hangs_on_a_mocap_body_is_refused_by_name(equality: str, message: str) -> None:
    text = arm(last=TARGET, equality=equality)
    if "site1" in equality and SITE_EQUALITIES.missing:
        message = re.escape(SITE_EQUALITIES.missing)
    with pytest.raises(BridgeError, match=message):
        load(text)
    if "site1" in equality and SITE_EQUALITIES.missing:
        return
    with pytest.warns(BridgeWarning, match=message):
        assert not load(text, ignore=["equality w"]).natural


def test_joints_without_names_are_found_again() -> None:
    text = arm()
    own = load(text)
    assert own.coordinates.names == ("a", "body 2.1", "body 2.2")
    assert match(own, mujoco.MjModel.from_xml_string(text)).same


@needs(SITE_EQUALITIES)
def test_a_weld_that_lets_turn_holds_a_point() -> None:
    post, weld = '<site name="post" pos="1.5 .3 -.4"/>', '<weld name="w" site1="end" site2="post" torquescale="0"/>'
    assert [constraint.name for constraint in load(arm(last=post, equality=weld)).natural] == ["w"]
    both = load(arm(last=post, equality=weld.replace('"0"', '"1"')))
    assert [constraint.name for constraint in both.natural] == ["w", "w (turn)"]


@needs(SITE_EQUALITIES)
def test_a_loop_in_a_plane_is_held_in_that_plane_alone() -> None:
    # 0.1 + 0.2 is not 0.3: across the plane a rounding error is left, which no joint can take away.
    post, pin = '<site name="post" pos="1.5 .3 -.4"/>', '<connect name="pin" site1="end" site2="post"/>'
    own = load(arm(last=post, equality=pin))
    (held,) = own.natural
    assert held.residual(own.coordinates).numel() == 2
    with pytest.raises(
        BridgeError, match=r"equality pin is open by 0\.01 in a direction in which no joint can close it"
    ):
        load(arm(last=post.replace(".3", ".31"), equality=pin))


@needs(SEVERAL)
def test_gears_and_bounds_behind_a_drive_of_several_forces_are_their_own() -> None:
    text = arm(last=TARGET, drive='<orientation name="gimbal" site="end" refsite="tip" kp="1"/>')
    assert mujoco.MjModel.from_xml_string(text).actuator_outnum.tolist() == [3, 1]
    with pytest.warns(BridgeWarning, match="actuator gimbal: it acts through so3"):
        own = load(text, ignore=["actuator gimbal"])
    assert own.evaluate(own.input_matrix).tolist() == [7.0, 0.0, 0.0]
    assert own.limits.effort.tolist() == [3.0]


def test_actuators_of_disabled_groups_are_no_inputs() -> None:
    servo = '<position name="servo" joint="a" kp="9" group="3"/>'
    with pytest.raises(BridgeError, match="actuator servo: it is not a motor"):
        load(arm(drive=servo))
    off = arm(drive=servo).replace("<option>", '<option actuatorgroupdisable="3">')
    with needs(GROUPS):
        assert load(off).input_names == ("m",)


def test_warnings_of_mujoco_are_passed_on_and_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    message = r"the text: MuJoCo warns: compiler attribute 'settotalmass' is deprecated"
    with pytest.warns(BridgeWarning, match=message) if has("3.16") else nullcontext():
        own = load(arm(compiler='settotalmass="3"'))
    total = sum(value for name, value in own.nominal.items() if name.endswith(".mass"))
    assert np.isclose(total, 3.0, rtol=1e-12)
    assert not list(tmp_path.iterdir())
