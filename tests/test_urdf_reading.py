"""What is read from a URDF file: values, defaults, lines, order."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from erugin.robots.urdf import UrdfWarning, read_urdf
from erugin.robots.urdf.description import JointLimits, Mimic, Pose

from .urdf import ARM, body, joint, line_of, write


def test_an_arm(tmp_path: Path) -> None:
    arm = read_urdf(write(tmp_path, ARM))
    assert (arm.name, arm.root, arm.remarks) == ("arm", "base", ())
    assert list(arm.links) == ["base", "upper", "lower", "tool"]
    assert list(arm.joints) == ["shoulder", "elbow", "flange"]
    upper = arm.links["upper"].inertial
    assert upper is not None
    assert (upper.mass, upper.origin.position) == (2.5, (0.1, 0.2, 0.3))
    assert upper.inertia == (0.03, 0.001, -0.002, 0.04, 0.003, 0.05)
    np.testing.assert_array_equal(upper.matrix, upper.matrix.T)
    assert arm.links["tool"].inertial is None
    shoulder, elbow, flange = arm.joints.values()
    assert (shoulder.type, shoulder.parent, shoulder.child, shoulder.axis) == ("revolute", "base", "upper", (0, 1, 0))
    assert shoulder.limits == JointLimits(-1.5, 2.5, velocity=3.0, effort=40.0)
    assert (shoulder.damping, shoulder.friction, elbow.damping) == (0.7, 0.4, None)
    assert elbow.limits == JointLimits(0.0, 0.8, velocity=0.5, effort=20.0)
    assert flange.limits == JointLimits()
    # A quarter turn about z, to the last digit.
    assert flange.origin.rotation == ((0, -1, 0), (1, 0, 0), (0, 0, 1))
    for thing, part in (
        (arm.links["upper"], '<link name="upper"'),
        (upper, "<inertia ixx"),
        (elbow, '<joint name="elbow"'),
    ):
        assert thing.line == line_of(ARM, part)


def test_roll_pitch_and_yaw_are_about_fixed_axes() -> None:
    """R = R_z(yaw) R_y(pitch) R_x(roll), each written out."""
    r, p, y = 0.4, -1.1, 2.3
    x_turn = np.array([[1, 0, 0], [0, math.cos(r), -math.sin(r)], [0, math.sin(r), math.cos(r)]])
    y_turn = np.array([[math.cos(p), 0, math.sin(p)], [0, 1, 0], [-math.sin(p), 0, math.cos(p)]])
    z_turn = np.array([[math.cos(y), -math.sin(y), 0], [math.sin(y), math.cos(y), 0], [0, 0, 1]])
    found = Pose.from_angles((0.0, 0.0, 0.0), r, p, y).matrix
    np.testing.assert_allclose(found, z_turn @ y_turn @ x_turn, rtol=0.0, atol=1e-15)


def test_a_quaternion_may_stand_for_the_angles(tmp_path: Path) -> None:
    half = 0.35
    quaternion = f"{math.sin(half) * 0.6} 0 {math.sin(half) * 0.8} {math.cos(half)}"
    origin = f'<origin xyz="1 2 3" quat_xyzw="{quaternion}"/>'
    found = read_urdf(write(tmp_path, body("a"), body("b"), joint("j", "fixed", "a", "b", origin))).joints["j"].origin
    axis = np.array([0.6, 0.0, 0.8])
    np.testing.assert_allclose(found.matrix @ axis, axis, rtol=0.0, atol=1e-15)
    assert np.trace(found.matrix) == pytest.approx(1.0 + 2.0 * math.cos(2.0 * half), abs=1e-15)
    np.testing.assert_allclose(
        found.matrix @ np.cross(axis, [0, 1, 0]), np.cross(axis, found.matrix @ [0, 1, 0]), rtol=0.0, atol=1e-15
    )


def test_what_is_left_out_has_the_values_of_the_specification(tmp_path: Path) -> None:
    follow = '<mimic joint="j"/>'
    path = write(
        tmp_path,
        body("a"),
        body("b"),
        body("c"),
        joint("j", "continuous", "a", "b"),
        joint("k", "prismatic", "b", "c", follow),
    )
    j, k = read_urdf(path).joints.values()
    assert (j.origin, j.axis, j.limits) == (Pose(), (1.0, 0.0, 0.0), JointLimits())
    assert (j.mimic, j.damping, j.friction) == (None, None, None)
    assert k.mimic == Mimic("j", 1.0, 0.0, 6)


def test_one_limit_alone_leaves_the_other_at_zero(tmp_path: Path) -> None:
    text = ARM.replace('lower="0" upper="0.8"', 'upper="0.8"').replace('lower="-1.5" upper="2.5"', 'lower="-1.5"')
    shoulder, elbow, _ = read_urdf(write(tmp_path, text)).joints.values()
    assert (shoulder.limits.lower, shoulder.limits.upper) == (-1.5, 0.0)
    assert (elbow.limits.lower, elbow.limits.upper) == (0.0, 0.8)


def test_an_axis_gets_unit_length(tmp_path: Path) -> None:
    path = write(tmp_path, ARM.replace('axis xyz="0 1 0"', 'axis xyz="0.6001 0 0.8"'))
    assert np.linalg.norm(read_urdf(path).joints["shoulder"].axis) == pytest.approx(1.0, abs=1e-15)


def test_a_fixed_joint_is_only_read_for_its_place(tmp_path: Path) -> None:
    more = '<axis xyz="0 0 0"/><limit lower="nan"/><dynamics damping="-1"/><mimic joint="nobody"/>'
    path = write(tmp_path, body("a"), body("b"), joint("j", "fixed", "a", "b", more))
    assert read_urdf(path).joints["j"].mimic is None


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("utf-8", "UTF-8"), ("utf-8-sig", "utf-8"), ("latin-1", "ISO-8859-1"), ("cp1252", "windows-1252")],
)
def test_names_in_the_encoding_that_is_declared(tmp_path: Path, encoding: str, declared: str) -> None:
    path = tmp_path / "robot.urdf"
    text = ARM.replace('version="1.0"', f'version="1.0" encoding="{declared}"').replace("tool", "öffner")
    path.write_bytes(text.encode(encoding))
    assert list(read_urdf(path).links)[-1] == "öffner"


def test_comments_namespaces_and_other_elements_are_passed_over(tmp_path: Path) -> None:
    extra = (
        "<!-- <!DOCTYPE robot> --><?program data?><gazebo><link name='x'/></gazebo><transmission name='t'>"
        "<joint name='shoulder'/></transmission><sensor:link xmlns:sensor='urn:s' name='y'/>"
    )
    text = ARM.replace('<robot name="arm">', f'<robot name="arm" xmlns="urn:any" xmlns:xacro="urn:xacro">{extra}')
    arm = read_urdf(write(tmp_path, text.replace('<?xml version="1.0"?>', "<?xml version='1.0'?><!-- <!DOCTYPE -->")))
    assert list(arm.links) == ["base", "upper", "lower", "tool"]
    assert len(arm.joints) == 3


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("<inertial>", "<intertial/><inertial>", "<intertial/>", "did you mean <inertial>"),
        ("<mass ", "<masss/><mass ", "<masss/>", "did you mean <mass>"),
        ('<link name="base"/>', '<link name="base"/><Links name="x"/>', "<Links", "did you mean <link>"),
        ('upper="2.5"', 'upper="2.5" lowr="1"', "lowr", "'lowr' is ignored; did you mean 'lower'"),
        ("damping=", "dampening=", "dampening", "URDF does not know it: 'dampening'"),
        ('type="revolute"', 'type="planar"', "<dynamics", "URDF does not say how it acts on several coordinates"),
        ('"0 1 0"', '"0 2 0"', '"0 2 0"', "the axis has length 2; only its direction is used"),
        ('lower="0" upper="0.8"', "", '<limit  effort="20"', "neither lower nor upper is given"),
    ],
)
def test_what_is_odd_is_told_by_a_warning(tmp_path: Path, old: str, new: str, place: str, said: str) -> None:
    text = ARM.replace(old, new, 1)
    with pytest.warns(UrdfWarning, match=said) as caught:
        description = read_urdf(write(tmp_path, text))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert len(description.remarks) == 1
    assert f"robot.urdf, line {line_of(text, place)}, <" in description.remarks[0]


def test_remarks_come_in_one_warning_and_not_all(tmp_path: Path) -> None:
    parts = [body("l0")]
    for i in range(15):
        parts += [body(f"l{i + 1}"), joint(f"j{i}", "continuous", f"l{i}", f"l{i + 1}", '<axis xyz="3 0 0"/>')]
    with pytest.warns(UrdfWarning, match="and 5 more") as caught:
        description = read_urdf(write(tmp_path, *parts))
    assert (len(caught), len(description.remarks)) == (1, 15)
