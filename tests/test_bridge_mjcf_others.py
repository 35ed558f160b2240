"""What MJCF of others may have: mocap bodies, joints without names, welds that turn, drives of several forces."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import mujoco
import numpy as np
import pytest

from erugin.bridges.mujoco import load, match
from erugin.symbolic import BridgeError, BridgeWarning

from .mujoco_versions import GROUPS, SEVERAL, SITE_EQUALITIES, has, needs

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
    ("equality", "said"),
    [
        ('<weld name="w" body1="a" body2="target"/>', "equality w: a weld to the mocap body 'target'"),
        ('<connect name="w" body1="flag" body2="a" anchor="0 0 0"/>', "equality w: a connect to the mocap body 'flag'"),
        ('<weld name="w" site1="end" site2="tip"/>', "equality w: a weld to the mocap body 'flag'"),
    ],
)
def test_what_hangs_on_a_mocap_body_is_refused_by_name(equality: str, said: str) -> None:
    text = arm(last=TARGET, equality=equality)
    if "site1" in equality and SITE_EQUALITIES.missing:
        said = re.escape(SITE_EQUALITIES.missing)
    with pytest.raises(BridgeError, match=said):
        load(text)
    if "site1" in equality and SITE_EQUALITIES.missing:
        return
    with pytest.warns(BridgeWarning, match=said):
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
    with pytest.raises(BridgeError, match=r"equality pin is open by 0\.01 in a direction in which no joint moves"):
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
    with pytest.raises(BridgeError, match="actuator servo: it is no motor"):
        load(arm(drive=servo))
    off = arm(drive=servo).replace("<option>", '<option actuatorgroupdisable="3">')
    with needs(GROUPS):
        assert load(off).input_names == ("m",)


def test_what_mujoco_warns_of_is_told_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = r"the text: MuJoCo warns: compiler attribute 'settotalmass' is deprecated"
    with pytest.warns(BridgeWarning, match=said) if has("3.16") else nullcontext():
        own = load(arm(compiler='settotalmass="3"'))
    total = sum(value for name, value in own.nominal.items() if name.endswith(".mass"))
    assert np.isclose(total, 3.0, rtol=1e-12)
    assert not list(tmp_path.iterdir())
