"""Errors of a URDF file by file, line and element, and impossible inertias."""

from __future__ import annotations

import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from erugin.robots import load_urdf
from erugin.robots.urdf import UrdfError, UrdfWarning, read_urdf
from erugin.robots.urdf.description import Inertial, Pose
from erugin.robots.urdf.elements import impossible_inertia
from erugin.symbolic import EruginError, ModelError

from ...support.urdf import ARM, body, joint, line_of, real_robots, write

SHOULDER = "<joint name='shoulder'>"
UPPER = "<link name='upper'>"

CHANGES: list[tuple[str, str, str, str, str]] = [
    # what stands there, what comes in its place, where the error is, its element, what it says
    (' name="arm"', "", "<robot", "<robot>", "the attribute 'name' is missing"),
    ('link name="tool"', 'link name=" "', '<link name=" "', "<link name=' '>", "the attribute 'name' is empty"),
    ('<link name="tool"/>', "<link/>", "<link/>", "<link>", "the attribute 'name' is missing"),
    (
        '<link name="tool"/>',
        '<link name="upper"/>',
        '<link name="upper"/>',
        UPPER,
        "already used by the link at line 4",
    ),
    (
        'joint name="flange"',
        'joint name="elbow"',
        '<joint name="elbow" type="fixed"',
        "<joint",
        "already used by the joint",
    ),
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
    ('ixx="0.03"', 'ixx="-0.03"', "<inertia ixx", f"{UPPER}, <inertia>", "none may be negative"),
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


@pytest.mark.parametrize(("old", "new", "place", "element", "expected_message"), CHANGES)
def test_an_error_names_line_and_element(
    tmp_path: Path, old: str, new: str, place: str, element: str, expected_message: str
) -> None:
    text = ARM.replace(old, new, 1)
    assert text != ARM
    path = write(tmp_path, text)
    with pytest.raises(UrdfError) as caught:
        read_urdf(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line_of(text, place)}, {element}"), message
    assert expected_message in message


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


def inertial_of(mass: float, matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Inertial:
    xx, xy, xz, yy, yz, zz = (float(matrix[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return Inertial(mass, Pose(), (xx, xy, xz, yy, yz, zz), 1)


@pytest.mark.parametrize("flat", [1, 2, 3, 4, 50])
@pytest.mark.parametrize("digits", [4, 17])
def test_clouds_of_masses_are_bodies(flat: int, digits: int) -> None:
    """One point, a rod, a plate, a solid; exact, and rounded to four digits as files are."""
    rng = np.random.default_rng(flat)
    for size in (1e-5, 1.0, 1e3):
        points = size * rng.normal(size=(flat, 3))
        masses = rng.uniform(0.1, 1.0, flat)
        points -= masses @ points / masses.sum()
        matrix = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, points, strict=True))
        rounded = np.vectorize(lambda x: float(f"{x:.{digits}g}"))(matrix)
        assert impossible_inertia(inertial_of(masses.sum(), rounded)) is None


@pytest.mark.parametrize("excess", [0.002, 0.1, 1.0, 5.0])
def test_no_body_breaks_the_triangle_inequality(excess: float) -> None:
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    for low, middle in ((1.0, 1.0), (0.2, 1.5), (0.0, 2.0)):
        high = (low + middle) * (1.0 + excess)
        matrix = turn @ np.diag([low, middle, high]) @ turn.T
        message = impossible_inertia(inertial_of(1.0, matrix))
        assert message is not None
        assert "greater than the sum of the other two" in message
        assert impossible_inertia(inertial_of(1.0, turn @ np.diag([low, middle, low + middle]) @ turn.T)) is None


def test_no_body_has_a_negative_moment() -> None:
    assert "negative" in (impossible_inertia(inertial_of(1.0, np.diag([-0.1, 1.0, 1.0]))) or "")
    assert "negative" in (impossible_inertia(inertial_of(1.0, -np.eye(3))) or "")


def test_no_body_has_inertia_without_mass() -> None:
    assert impossible_inertia(inertial_of(0.0, np.zeros((3, 3)))) is None
    assert "no mass" in (impossible_inertia(inertial_of(0.0, 1e-9 * np.eye(3))) or "")


def test_an_exporter_that_writes_rounding_errors_means_zero() -> None:
    assert impossible_inertia(inertial_of(0.5, 1e-20 * np.diag([-1.0, 3.0, 1.0]))) is None


def test_reading_it_all_the_same(tmp_path: Path) -> None:
    text = ARM.replace('ixx="0.03"', 'ixx="0.003"')
    path = write(tmp_path, text)
    with pytest.raises(UrdfError, match=r"read it as it is with check_inertia=False"):
        load_urdf(path)
    with pytest.warns(UrdfWarning, match="greater than the sum of the other two") as caught:
        robot = load_urdf(path, check_inertia=False)
    assert [warning.filename for warning in caught] == [__file__]
    assert f"line {line_of(text, '<inertia ixx')}, <link name='upper'>, <inertia>" in str(caught[0].message)
    assert robot.nominal["upper.ixx"] == 0.003


def has_impossible_link(path: Path) -> bool:
    """The same check of the file by another parser: is the pseudo-inertia of a link not semidefinite?"""
    for element in ElementTree.parse(path).iter("inertial"):
        mass, moments = element.find("mass"), element.find("inertia")
        assert mass is not None
        assert moments is not None
        m = float(mass.attrib["value"])
        xx, xy, xz, yy, yz, zz = (float(moments.attrib[key]) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        second_moments = np.trace(matrix) / 2.0 * np.eye(3) - matrix
        if (m == 0.0 and matrix.any()) or np.linalg.eigvalsh(second_moments)[0] < -6e-4 * abs(matrix).max() - 1e-12 * m:
            return True
    return False


@pytest.mark.foreign
def test_which_real_robots_have_one() -> None:
    """Placeholders, cameras, and true links: about a quarter of the files have an inertia that no body has."""
    refused: set[str] = set()
    for name, path in real_robots().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read_urdf(path)
            except UrdfError as error:
                if "check_inertia=False" in str(error):
                    refused.add(name)
    assert refused == {name for name, path in real_robots().items() if has_impossible_link(path)}
    assert 5 < len(refused) < len(real_robots()) / 2
