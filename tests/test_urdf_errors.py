"""Each thing that can be wrong in a URDF file is an error that names the file, the line and the element."""

from __future__ import annotations

from pathlib import Path

import pytest

from erugin.robots.urdf import UrdfError, read_urdf
from erugin.symbolic import EruginError, ModelError

from .urdf import ARM, body, joint, line_of, write

SHOULDER = "<joint name='shoulder'>"
UPPER = "<link name='upper'>"

CHANGES: list[tuple[str, str, str, str, str]] = [
    # what stands there, what comes in its place, where the error is, its element, what it says
    (' name="arm"', "", "<robot", "<robot>", "the attribute 'name' is missing"),
    ('link name="tool"', 'link name=" "', '<link name=" "', "<link name=' '>", "the attribute 'name' is empty"),
    ('<link name="tool"/>', "<link/>", "<link/>", "<link>", "the attribute 'name' is missing"),
    ('<link name="tool"/>', '<link name="upper"/>', '<link name="upper"/>', UPPER, "taken by the link at line 4"),
    ('joint name="flange"', 'joint name="elbow"', '<joint name="elbow" type="fixed"', "<joint", "taken by the joint"),
    (' type="revolute"', "", "<joint name", SHOULDER, "the attribute 'type' is missing"),
    ('"revolute"', '"hinge"', "<joint name", SHOULDER, "must be one of fixed, revolute, continuous, prismatic, planar"),
    ('<parent link="base"/>', "", "<joint name", SHOULDER, "<parent> is missing"),
    ('<parent link="base"/>', "<parent/>", "<parent/>", f"{SHOULDER}, <parent>", "the attribute 'link' is missing"),
    (
        '<parent link="base"/>',
        '<parent link="bose"/>',
        "<joint name",
        SHOULDER,
        "no link 'bose', its parent. Did you mean",
    ),
    (
        '<child link="upper"/>',
        '<child link="uper"/>',
        "<joint name",
        SHOULDER,
        "no link 'uper', its child. Did you mean",
    ),
    ('<child link="upper"/>', '<child link="base"/>', "<joint name", SHOULDER, "'base' is its own parent"),
    ("<mass ", '<mass value="1"/><mass ', "<inertial>", f"{UPPER}, <inertial>", "there are 2, at lines 7, 7"),
    ("<inertial>", "<inertial/><inertial>", '<link name="upper"', UPPER, "must be one <inertial>, but there are 2"),
    ('<mass value="2.5"/>', "", "<inertial>", f"{UPPER}, <inertial>", "<mass> is missing"),
    ('<mass value="2.5"/>', "<mass/>", "<mass/>", f"{UPPER}, <mass>", "the attribute 'value' is missing"),
    ('value="2.5"', 'value="-2.5"', '<mass value="-2.5"', f"{UPPER}, <mass>", "must not be negative, got -2.5"),
    ('value="2.5"', 'value="2,5"', '<mass value="2,5"', f"{UPPER}, <mass>", "a decimal point is expected"),
    ('value="2.5"', 'value="nan"', '<mass value="nan"', f"{UPPER}, <mass>", "value must be finite, got 'nan'"),
    ('value="2.5"', 'value="-Inf"', '<mass value="-Inf"', f"{UPPER}, <mass>", "value must be finite, got '-Inf'"),
    ('value="2.5"', 'value="1e999"', '<mass value="1e999"', f"{UPPER}, <mass>", "value must be finite, got '1e999'"),
    ('value="2.5"', 'value="-1.#IND"', '<mass value="-1', f"{UPPER}, <mass>", "value must be finite, got '-1.#IND'"),
    ('value="2.5"', 'value="1_0"', '<mass value="1_0"', f"{UPPER}, <mass>", "value must be a number, got '1_0'"),
    ('value="2.5"', 'value="٣"', '<mass value="٣"', f"{UPPER}, <mass>", "value must be a number, got '٣'"),
    ('value="2.5"', 'value="${m}"', '<mass value="${m}"', f"{UPPER}, <mass>", "this is an expression of xacro"),
    ('value="2.5"', f'value="{"1" * 999}"', '<mass value="1', f"{UPPER}, <mass>", "value must be a number"),
    (' ixy="0.001"', "", "<inertia ixx", f"{UPPER}, <inertia>", "the attribute 'ixy' is missing"),
    ('ixx="0.03"', 'ixx="0.003"', "<inertia ixx", f"{UPPER}, <inertia>", "greater than the sum of the other two"),
    ('ixx="0.03"', 'ixx="-0.03"', "<inertia ixx", f"{UPPER}, <inertia>", "no body has a negative one"),
    ('value="2.5"', 'value="0"', "<inertia ixx", f"{UPPER}, <inertia>", "the link has inertia but no mass"),
    ('xyz="0.1 0.2 0.3"', 'xyz="0.1 0.2"', '<origin xyz="0.1 0.2"', f"{UPPER}, <origin>", "xyz must be 3 numbers"),
    ('rpy="0.3 -0.2 0.5"', 'rpy="0.3 x 0.5"', "<origin xyz", f"{UPPER}, <origin>", "rpy must be a number, got 'x'"),
    ('rpy="0.3 -0.2 0.5"', 'rpy="0 0 0" quat_xyzw="0 0 0 1"', "<origin xyz", f"{UPPER}, <origin>", "given twice"),
    ('rpy="0.3 -0.2 0.5"', 'quat_xyzw="0 0 0 2"', "<origin xyz", f"{UPPER}, <origin>", "must have norm 1"),
    ('"0 1 0"', '"0 0 0"', '<axis xyz="0 0 0"', f"{SHOULDER}, <axis>", "its length is 0"),
    ('"0 1 0"', '"0 1e-300 0"', '<axis xyz="0 1e-300', f"{SHOULDER}, <axis>", "its length is 1e-300"),
    ('xyz="0 1 0"', "", "<axis ", f"{SHOULDER}, <axis>", "the attribute 'xyz' is missing"),
    ('lower="-1.5"', 'lower="3.5"', "<limit lower", f"{SHOULDER}, <limit>", "lower must not be greater than upper"),
    (' effort="40"', "", "<limit lower", f"{SHOULDER}, <limit>", "the attribute 'effort' is missing"),
    (' velocity="3"', "", "<limit lower", f"{SHOULDER}, <limit>", "the attribute 'velocity' is missing"),
    ('velocity="3"', 'velocity="-3"', "<limit lower", f"{SHOULDER}, <limit>", "velocity must not be negative"),
    ('effort="40"', 'effort="inf"', "<limit lower", f"{SHOULDER}, <limit>", "effort must be finite, got 'inf'"),
    ('damping="0.7"', 'damping="-1"', "<dynamics", f"{SHOULDER}, <dynamics>", "damping must not be negative"),
    ('friction="0.4"', 'friction="-1"', "<dynamics", f"{SHOULDER}, <dynamics>", "friction must not be negative"),
    ("<dynamics", '<mimic joint="elbo"/><dynamics', "<mimic", f"{SHOULDER}, <mimic>", "no joint 'elbo'. Did you mean"),
    ("<dynamics", '<mimic joint="shoulder"/><dynamics', "<mimic", f"{SHOULDER}, <mimic>", "'shoulder' → 'shoulder'"),
    ("<dynamics", "<mimic/><dynamics", "<mimic", f"{SHOULDER}, <mimic>", "the attribute 'joint' is missing"),
    ("<dynamics", '<mimic joint="elbow" multiplier="x"/><dynamics', "<mimic", f"{SHOULDER}, <mimic>", "got 'x'"),
]


@pytest.mark.parametrize(("old", "new", "place", "element", "said"), CHANGES)
def test_an_error_names_line_and_element(
    tmp_path: Path, old: str, new: str, place: str, element: str, said: str
) -> None:
    text = ARM.replace(old, new, 1)
    assert text != ARM
    path = write(tmp_path, text)
    with pytest.raises(UrdfError) as caught:
        read_urdf(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line_of(text, place)}, {element}"), message
    assert said in message


def test_errors_can_be_caught_by_their_kind() -> None:
    assert issubclass(UrdfError, ModelError)
    assert issubclass(UrdfError, EruginError)
    assert issubclass(UrdfError, ValueError)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_joint_with_ends_must_have_limits(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, body("a"), body("b"), joint("j", "continuous", "a", "b").replace("continuous", kind))
    with pytest.raises(UrdfError, match=rf"line 4, <joint name='j'>: a {kind} joint must have a <limit>"):
        read_urdf(path)


def test_no_links(tmp_path: Path) -> None:
    with pytest.raises(UrdfError, match="the robot has no links"):
        read_urdf(write(tmp_path, "<gazebo/>"))


def test_a_loop_is_named(tmp_path: Path) -> None:
    links = [body(name) for name in ("root", "a", "b", "c")]
    joints = [joint("ab", "fixed", "a", "b"), joint("bc", "fixed", "b", "c"), joint("ca", "fixed", "c", "a")]
    with pytest.raises(UrdfError) as caught:
        read_urdf(write(tmp_path, *links, *joints))
    message = str(caught.value)
    assert "line 7, <joint name='bc'>: the links form a loop: 'b' → 'c' → 'a' → 'b', by the joints" in message
    assert "'bc' → 'ca' → 'ab'" in message
    assert "erugin.robots.mechanism" in message


def test_two_parents(tmp_path: Path) -> None:
    links = [body(name) for name in ("a", "b", "c")]
    path = write(tmp_path, *links, joint("ac", "fixed", "a", "c"), joint("bc", "fixed", "b", "c"))
    with pytest.raises(UrdfError) as caught:
        read_urdf(path)
    message = str(caught.value)
    assert "line 6, <joint name='bc'>: the link 'c' has two parents, 'a' by the joint 'ac' (line 5) and 'b'" in message
    assert "erugin.robots.mechanism" in message


def test_several_roots(tmp_path: Path) -> None:
    path = write(tmp_path, *(body(name) for name in "abcdefgh"), joint("j", "fixed", "a", "b"))
    with pytest.raises(UrdfError, match=r"7 of them have no parent: 'a' \(line 2\), 'c' \(line 4\), .* and 2 more"):
        read_urdf(path)


def test_joints_that_follow_each_other_in_a_circle(tmp_path: Path) -> None:
    parts = [body(name) for name in "abcd"]
    for i, (name, other) in enumerate((("x", "y"), ("y", "z"), ("z", "y"))):
        follow = f'<mimic joint="{other}"/>'
        parts.append(joint(name, "continuous", "abcd"[i], "abcd"[i + 1], follow))
    with pytest.raises(UrdfError, match=r"line 7, <joint name='y'>, <mimic>: .* circle: 'y' → 'z' → 'y'"):
        read_urdf(write(tmp_path, *parts))


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_a_joint_of_several_coordinates_neither_follows_nor_leads(tmp_path: Path, kind: str) -> None:
    many = joint("many", kind, "a", "b")
    single = joint("one", "continuous", "b", "c", '<mimic joint="many"/>')
    with pytest.raises(UrdfError, match=rf"<joint name='one'>, <mimic>: the joint 'many' is {kind}"):
        read_urdf(write(tmp_path, body("a"), body("b"), body("c"), many, single))
    many = joint("many", kind, "a", "b", '<mimic joint="one"/>')
    with pytest.raises(UrdfError, match=rf"<joint name='many'>, <mimic>: a {kind} joint has several coordinates"):
        read_urdf(write(tmp_path, body("a"), body("b"), body("c"), many, joint("one", "continuous", "b", "c")))
