"""Values of a URDF file: defaults, order, parameters, inputs, limits, and mesh files."""

from __future__ import annotations

import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erugin.robots import load_urdf
from erugin.robots.formulations import FORMULATIONS, Formulation
from erugin.robots.urdf import UrdfWarning, read_urdf
from erugin.robots.urdf.description import JointLimits, Mimic, Pose
from erugin.symbolic import ModelError, ParameterError

from ...support.urdf import (
    ARM,
    body,
    in_pinocchio,
    joint,
    line_of,
    load_quietly,
    real_robots,
    require_close,
    without_dissipation,
    write,
)


def with_meshes(*names: str) -> str:
    shapes = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in names)
    return ARM.replace('<link name="tool"/>', f'<link name="tool">\n{shapes}</link>')


@pytest.mark.parametrize(
    "name",
    [
        "there.stl",
        "meshes/../there.stl",
        "package://pack/robots/there.stl",
        "model://pack/robots/there.stl",
        "package://robots/there.stl",
        "package://beside/there.stl",
        "package://ros/there.stl",
        "package://single/there.stl",
        "package://ament/there.stl",
        "https://example.org/not/asked/for.stl",
    ],
)
def test_a_mesh_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / "pack" / "robots"
    for place in (
        folder,
        folder / "meshes",
        tmp_path / "beside",
        tmp_path / "a" / "ros",
        tmp_path / "c" / "single",
        tmp_path / "b" / "share" / "ament",
    ):
        place.mkdir(parents=True, exist_ok=True)
        (place / "there.stl").touch()
    monkeypatch.setenv("ROS_PACKAGE_PATH", os.pathsep.join((str(tmp_path / "a"), str(tmp_path / "c" / "single"))))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "b"))
    load_urdf(write(folder, with_meshes(name)))
    load_urdf(write(folder, with_meshes((tmp_path / "beside" / "there.stl").as_uri())))


@pytest.mark.parametrize(
    "name",
    ["none.stl", "package://nowhere/there.stl", "package://", "/none/there.stl", "file:///none.stl", "..", "a" * 5000],
)
def test_a_mesh_that_is_not_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "there.stl").touch()
    path = write(tmp_path, with_meshes("there.stl", name, name))
    with pytest.warns(UrdfWarning, match="1 of 2 mesh files cannot be found, the first is ") as caught:
        robot = load_urdf(path)
    assert len(caught) == 1
    assert "robot.urdf, line 18, <link name='tool'>, <mesh>: " in str(caught[0].message)
    assert "the equations of motion do not need them" in str(caught[0].message)
    assert robot.coordinates.nv == 2


@pytest.mark.foreign
def test_the_meshes_of_real_robots_are_found() -> None:
    for name in ("ur5_robot", "solo12", "go2", "talos_reduced"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            load_urdf(real_robots()[name])


OF_A_LINK = ("mass", "cx", "cy", "cz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def test_the_parameters_of_an_arm(tmp_path: Path) -> None:
    robot = load_urdf(write(tmp_path, ARM), gravity=9.8)
    upper = (2.5, 0.1, 0.2, 0.3, 0.03, 0.001, -0.002, 0.04, 0.003, 0.05)
    lower = (1.5, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.02, 0.0, 0.015)
    expected = {"g": 9.8, "shoulder.damping": 0.7, "shoulder.friction": 0.4}
    expected |= {f"upper.{name}": value for name, value in zip(OF_A_LINK, upper, strict=True)}
    expected |= {f"lower.{name}": value for name, value in zip(OF_A_LINK, lower, strict=True)}
    assert dict(robot.nominal) == expected
    assert robot.name == "arm"
    for name in ("upper.mass", "shoulder.damping", "shoulder.friction"):
        with pytest.raises(ParameterError, match="must be at least zero"):
            robot.evaluate(robot.bias, q=[0, 0], v=[0, 0], p={name: -1.0})


@pytest.mark.foreign
def test_changed_parameters_are_a_changed_file(tmp_path: Path) -> None:
    """Another mass, centre and inertia by ``p`` give what Pinocchio reads from another file."""
    robot = load_urdf(write(tmp_path, ARM))
    changed = {"upper.mass": 7.0, "upper.cy": -0.4, "upper.ixz": 0.011, "upper.izz": 0.06, "lower.mass": 0.25}
    p = changed | without_dissipation(robot)
    text = ARM.replace('value="2.5"', 'value="7"').replace("0.1 0.2 0.3", "0.1 -0.4 0.3", 1)
    text = text.replace('ixz="-0.002"', 'ixz="0.011"').replace('izz="0.05"', 'izz="0.06"')
    other = in_pinocchio(robot, write(tmp_path, text.replace('value="1.5"', 'value="0.25"')))
    q, v = other.random_state(np.random.default_rng(4))
    require_close(robot.evaluate(robot.mass_matrix, q=q, p=p), other.mass_matrix(q))
    require_close(robot.evaluate(robot.bias, q=q, v=v, p=p), other.bias(q, v))
    assert np.abs(robot.evaluate(robot.mass_matrix, q=q) - other.mass_matrix(q)).max() > 0.1


@pytest.mark.foreign
def test_a_link_that_does_not_move_has_no_parameters() -> None:
    names = load_quietly(real_robots()["panda"]).parameters.names
    assert not any(name.startswith("panda_link0.") for name in names)
    assert "panda_hand.mass" in names
    assert "panda_link0.mass" in load_quietly(real_robots()["panda"], base="floating").parameters.names


def test_limits(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        *(body(f"l{i}") for i in range(7)),
        joint("turn", "revolute", "l0", "l1").replace('lower="-3"', 'lower="-1"'),
        joint("slide", "prismatic", "l1", "l2").replace('effort="5"', 'effort="50"'),
        joint("wheel", "continuous", "l2", "l3", '<limit lower="-1" upper="1" effort="2" velocity="9"/>'),
        joint("free", "continuous", "l3", "l4"),
        joint("follower", "revolute", "l4", "l5", '<mimic joint="turn"/>').replace('velocity="7"', 'velocity="1"'),
        joint("table", "planar", "l5", "l6"),
    )
    robot = load_urdf(path, base="floating")
    inf = math.inf
    np.testing.assert_array_equal(robot.limits.lower, [-inf] * 7 + [-1, -3, -inf, -inf, -3] + [-inf] * 3)
    np.testing.assert_array_equal(robot.limits.upper, [inf] * 7 + [3, 3, inf, inf, 3] + [inf] * 3)
    np.testing.assert_array_equal(robot.limits.speed, [inf] * 6 + [7, 7, 9, inf, 1] + [inf] * 3)
    # The base and the follower are not driven.
    assert robot.input_names == ("u_turn", "u_slide", "u_wheel", "u_free", "u_table.x", "u_table.y", "u_table.angle")
    assert robot.input_units == ("N m", "N", "N m", "N m", "N", "N", "N m")
    np.testing.assert_array_equal(robot.limits.effort, [5, 50, 2, inf, inf, inf, inf])
    B = np.zeros((14, 7))
    B[[6, 7, 8, 9, 11, 12, 13], range(7)] = 1.0
    np.testing.assert_array_equal(robot.evaluate(robot.input_matrix), B)


def test_a_floating_joint_has_no_input(tmp_path: Path) -> None:
    path = write(tmp_path, '<link name="world"/>', body("trunk"), joint("free", "floating", "world", "trunk"))
    robot = load_urdf(path)
    assert (robot.coordinates.nv, robot.u.numel()) == (6, 0)
    assert robot.evaluate(robot.input_matrix).shape == (6, 0)


@pytest.mark.parametrize("speed", [None, 0.05])
def test_damping_and_friction_resist(tmp_path: Path, speed: float | None) -> None:
    robot = load_urdf(write(tmp_path, ARM), friction_speed=speed)
    q, v = np.array([0.3, 0.2]), np.array([-0.08, 0.6])
    with_none = robot.evaluate(robot.bias, q=q, v=v, p=without_dissipation(robot))
    dry = math.copysign(1.0, v[0]) if speed is None else math.tanh(v[0] / speed)
    resistance = robot.evaluate(robot.bias, q=q, v=v) - with_none
    np.testing.assert_allclose(resistance, [0.7 * v[0] + 0.4 * dry, 0.0], rtol=0.0, atol=1e-14)
    at_rest = robot.evaluate(robot.bias, q=q, v=[0, 0]) - robot.evaluate(
        robot.bias, q=q, v=[0, 0], p=without_dissipation(robot)
    )
    np.testing.assert_array_equal(at_rest, [0, 0])
    assert ("friction_speed" in robot.nominal) == (speed is not None)


def test_what_the_file_does_not_say_is_no_parameter(tmp_path: Path) -> None:
    robot = load_urdf(write(tmp_path, ARM.replace(' friction="0.4"', "")), friction_speed=0.1)
    assert "shoulder.damping" in robot.nominal
    assert "shoulder.friction" not in robot.nominal
    assert "friction_speed" not in robot.nominal


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"base": "free"}, "base must be one of 'fixed', 'floating', got 'free'"),
        ({"gravity": math.nan}, "gravity must be finite"),
        ({"gravity": "down"}, "gravity must be a number"),
        ({"friction_speed": 0.0}, "friction_speed .* must be greater than zero"),
        ({"friction_speed": -1.0}, "friction_speed .* must be greater than zero"),
    ],
)
def test_arguments_out_of_range(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_urdf(write(tmp_path, ARM), **arguments)


def test_an_unknown_word_is_no_argument(tmp_path: Path) -> None:
    words: dict[str, Any] = {"bases": "fixed"}
    with pytest.raises(TypeError, match="bases"):
        load_urdf(write(tmp_path, ARM), **words)


@pytest.mark.foreign
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: type(f).__name__)
def test_every_formulation_derives_the_same(formulation: Formulation) -> None:
    path = real_robots()["ur5_robot"]
    robot = load_urdf(path, formulation=formulation)
    other = in_pinocchio(robot, path)
    q, v = other.random_state(np.random.default_rng(6))
    require_close(robot.evaluate(robot.mass_matrix, q=q), other.mass_matrix(q))
    require_close(robot.evaluate(robot.bias, q=q, v=v, p=without_dissipation(robot)), other.bias(q, v))


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
    ("old", "new", "place", "message"),
    [
        ("<inertial>", "<intertial/><inertial>", "<intertial/>", "did you mean <inertial>"),
        ("<mass ", "<masss/><mass ", "<masss/>", "did you mean <mass>"),
        ('<link name="base"/>', '<link name="base"/><Links name="x"/>', "<Links", "did you mean <link>"),
        ('upper="2.5"', 'upper="2.5" lowr="1"', "lowr", "'lowr' is ignored; did you mean 'lower'"),
        ("damping=", "dampening=", "dampening", "URDF does not define it: 'dampening'"),
        ('type="revolute"', 'type="planar"', "<dynamics", "URDF does not define it for several coordinates"),
        ('"0 1 0"', '"0 2 0"', '"0 2 0"', "the axis has length 2; only its direction is used"),
        ('lower="0" upper="0.8"', "", '<limit  effort="20"', "neither lower nor upper is given"),
    ],
)
def test_an_oddity_triggers_a_warning(tmp_path: Path, old: str, new: str, place: str, message: str) -> None:
    text = ARM.replace(old, new, 1)
    with pytest.warns(UrdfWarning, match=message) as caught:
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
