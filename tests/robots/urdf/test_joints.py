"""Each type of joint in small robots of our own, against Pinocchio."""

from __future__ import annotations

import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.robots import load_urdf

from ...support.urdf import body, in_pinocchio, joint, require_equal, without_dissipation, write

ORIGIN = '<origin xyz="0.3 -0.2 0.5" rpy="0.4 -0.7 1.1"/>'
Z = '<axis xyz="0 0 1"/>'


def axis(x: float, y: float, z: float) -> str:
    return f'<axis xyz="{x} {y} {z}"/>'


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize(
    ("kind", "along", "velocities"),
    [
        ("revolute", axis(0, 1, 0), 1),
        ("revolute", axis(1, -2, 0.5), 1),
        ("continuous", axis(0, 0, -1), 1),
        ("continuous", axis(0.6, 0, 0.8), 1),
        ("prismatic", axis(1, 0, 0), 1),
        ("prismatic", axis(0, 3, 4), 1),
        ("planar", Z, 3),
        ("floating", "", 6),
    ],
)
@pytest.mark.filterwarnings("ignore:.*only its direction is used:erugin.robots.urdf.UrdfWarning")
def test_a_joint_between_two_others(tmp_path: Path, kind: str, along: str, velocities: int, base: str) -> None:
    """In the middle of a tree, before and behind turned origins, with a branch beside it."""
    path = write(
        tmp_path,
        *(body(f"l{i}", mass=1.0 + i, center=f"0.{i} 0.2 -0.{i + 1}") for i in range(5)),
        joint("first", "revolute", "l0", "l1", f"{ORIGIN}{axis(0, 1, 0)}"),
        joint("middle", kind, "l1", "l2", f"{ORIGIN}{along}"),
        joint("last", "revolute", "l2", "l3", f"{ORIGIN}{axis(1, 0, 0)}"),
        joint("a_branch", "prismatic", "l1", "l4", f"{ORIGIN}{axis(0, 0, 1)}"),
    )
    robot = load_urdf(path, base="floating" if base == "floating" else "fixed")
    assert robot.coordinates.nv == 3 + velocities + (6 if base == "floating" else 0)
    require_equal(robot, path, base, [f"l{i}" for i in range(5)])


@pytest.mark.parametrize("normal", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0), (0.48, -0.64, 0.6)])
def test_a_planar_joint_across_any_axis(tmp_path: Path, normal: tuple[float, float, float]) -> None:
    """Pinocchio passes over the axis: there the joint is turned until its z axis is the normal, and the link back.

    The turn is the shortest one, about z × n, or half a turn about x for −z.
    """
    n = np.array(normal)
    across = np.cross([0.0, 0.0, 1.0], n)
    length = float(np.linalg.norm(across))
    direction = across / length if length else np.array([1.0, 0.0, 0.0])
    half = math.atan2(length, float(n[2])) / 2.0
    turn = " ".join(str(x) for x in (*(math.sin(half) * direction), math.cos(half)))
    back = " ".join(str(x) for x in (*(-math.sin(half) * direction), math.cos(half)))
    links = [body("a"), body("b", mass=2.0), body("c", mass=3.0)]
    last = joint("last", "continuous", "b", "c", ORIGIN)
    ours = write(tmp_path, *links, joint("plane", "planar", "a", "b", f"{ORIGIN}{axis(*normal)}"), last)
    robot = load_urdf(ours)
    theirs = write(
        tmp_path,
        '<robot name="theirs" version="1.1"><link name="before"/><link name="ground"/><link name="after"/>',
        *links,
        joint("in", "fixed", "a", "before", ORIGIN),
        joint("turn", "fixed", "before", "ground", f'<origin quat_xyzw="{turn}"/>'),
        joint("plane", "planar", "ground", "after", Z),
        joint("back", "fixed", "after", "b", f'<origin quat_xyzw="{back}"/>'),
        last,
        "</robot>",
    )
    require_equal(robot, theirs, "fixed", ["b", "c"])


def test_a_tree_of_fixed_links_is_one_body(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '<link name="world"/>',
        *(body(f"l{i}", mass=0.5 + i) for i in range(6)),
        '<link name="tip"/>',
        joint("stand", "fixed", "world", "l0", ORIGIN),
        joint("turn", "continuous", "l0", "l1", ORIGIN),
        joint("weld1", "fixed", "l1", "l2", ORIGIN),
        joint("weld2", "fixed", "l2", "l3", ORIGIN),
        joint("weld3", "fixed", "l1", "l4", ORIGIN),
        joint("slide", "prismatic", "l3", "l5", ORIGIN),
        joint("end", "fixed", "l5", "tip", ORIGIN),
    )
    robot = load_urdf(path)
    assert robot.tree is not None
    assert [(node.name, len(node.bodies)) for node in robot.tree.nodes] == [("turn", 4), ("slide", 1)]
    require_equal(robot, path, "fixed", ["world", "l0", "l4", "tip"])


def test_the_order_is_depth_first_as_in_the_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        *(body(name) for name in "abcdef"),
        joint("z", "continuous", "b", "c"),
        joint("y", "continuous", "a", "b"),
        joint("x", "continuous", "a", "d"),
        joint("w", "planar", "d", "e", Z),
        joint("v", "floating", "c", "f"),
    )
    robot = load_urdf(path, base="floating")
    assert robot.coordinates.names == (
        *(f"a.{end}" for end in ("x", "y", "z", "qx", "qy", "qz", "qw")),
        "y",
        "z",
        *(f"v.{end}" for end in ("x", "y", "z", "qx", "qy", "qz", "qw")),
        "x",
        *(f"w.{end}" for end in ("x", "y", "angle")),
    )
    require_equal(robot, path, "floating", list("abcdef"))


def test_a_joint_may_have_the_name_of_the_base(tmp_path: Path) -> None:
    path = write(tmp_path, body("a"), body("b"), joint("a", "floating", "a", "b"))
    robot = load_urdf(path, base="floating")
    assert robot.coordinates.names[0] == "a.base.x"
    assert robot.coordinates.names[7] == "a.x"


def test_gravity_points_down(tmp_path: Path) -> None:
    path = write(tmp_path, body("a", mass=3.0, center="0 0 0"))
    robot = load_urdf(path, base="floating", gravity=1.62)
    q = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    a = robot.evaluate(robot.acceleration, q=q, v=np.zeros(6))
    np.testing.assert_allclose(a, [0, 0, -1.62, 0, 0, 0], rtol=0.0, atol=1e-15)
    assert robot.evaluate(robot.potential_energy, q=q) == pytest.approx(3.0 * 1.62 * 3.0)


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_energy_changes_by_what_the_inputs_do(tmp_path: Path, base: str) -> None:
    """d/dt (T + V) = u · Bᵀv − Σ (d v² + f |v|), along the motion that a(t, q, v, u) gives."""
    rub = '<dynamics damping="0.6" friction="0.3"/>'
    path = write(
        tmp_path,
        *(body(f"l{i}", mass=1.0 + i) for i in range(4)),
        joint("first", "revolute", "l0", "l1", f"{ORIGIN}{rub}"),
        joint("plane", "planar", "l1", "l2", f"{ORIGIN}{axis(0, 0.6, 0.8)}"),
        joint("last", "prismatic", "l2", "l3", f"{ORIGIN}{rub}"),
    )
    robot = load_urdf(path, base="floating" if base == "floating" else "fixed")
    c = robot.coordinates
    rng = np.random.default_rng(5)
    q, v = in_pinocchio(robot, path, base=base).random_state(rng)
    u = rng.uniform(-1.0, 1.0, robot.u.numel())
    a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
    power = ca.substitute(c.rate(robot.kinetic_energy + robot.potential_energy), c.a, ca.SX(ca.DM(a)))
    B = robot.evaluate(robot.input_matrix).reshape(c.nv, -1)
    rubbing = [i for i in range(c.nv) if c.v[i].name() in ("v_first", "v_last")]
    lost = sum(0.6 * v[i] ** 2 + 0.3 * abs(v[i]) for i in rubbing)
    assert len(rubbing) == 2
    assert robot.evaluate(power, q=q, v=v) == pytest.approx(u @ B.T @ v - lost, rel=1e-10)
    assert without_dissipation(robot).keys() == {f"{n}.{w}" for n in ("first", "last") for w in ("damping", "friction")}
