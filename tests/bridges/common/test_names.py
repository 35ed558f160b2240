"""Names of any text: a file that is written with them is read by the programs that it is for, or refused by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import pytest

from erugin.bridges import mujoco, pybullet, urdf
from erugin.bridges.c.syntax import MAX_IDENTIFIER, constants, string
from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Frame, Robot, tree_system
from erugin.robots.tree import WORLD, Body, Node, Revolute, Tree
from erugin.symbolic import BridgeError, EruginError, Parameters

from ...support.bridges import ROWS, through_mjcf, through_urdf

NAMES = {
    "control": "\x01x\x1b",
    "long": "x" * 150,
    "long, of two bytes each": "ψ" * 150,
    "quotes": "q\"<&>'`",
    "lines": "line\nbreak\r\t",
    "comment": "*/ evil /* // ??/ \\",
    "spaces": " lead ",
    "Greek": "ψ",
    "path": "../../etc",
    "world": "world",
    "format": "%s%n",
    "no character": "\ufffe",
    "comment of XML": "--",
    "CDATA": "]]>",
    "parts": "a.b[0]",
}
REFUSED = {"control", "world", "no character"}
PLACES = ("joint", "parameter", "body", "input", "point", "robot", "row")


def robot(name: str, place: str) -> Robot:
    """A two-link arm with one name of this text."""
    texts = {"joint": "j1", "parameter": "m", "body": "b1", "input": "u1", "point": "tip", "robot": "arm", place: name}
    p = Parameters.declare({texts["parameter"]: 1.0, "g": 9.81})
    m, inertia = p.symbols[0], 0.02 * ca.SX(ca.DM.eye(3))

    def node(joint: str, body: str, parent: int, place: float) -> Node:
        carried = Body(name=body, mass=m, center=ca.SX(ca.DM([0.3, 0.0, 0.0])), inertia=inertia)
        turns = Revolute((0.0, 0.0, 1.0))
        return Node(name=joint, parent=parent, placement=Frame.at(ca.SX(place)), joint=turns, bodies=(carried,))

    nodes = node(texts["joint"], texts["body"], WORLD, 0.0), node("j2", "b2", 0, 0.5)
    tree = Tree(nodes, ca.SX(ca.DM([0.0, -1.0, 0.0])) * p.symbols[1])
    tip = tree.points.attach(1, Frame.at(ca.SX(0.4))).position[:2]
    u = ca.vertcat(ca.SX.sym(texts["input"]), ca.SX.sym("u2"))
    return tree_system(tree, parameters=p, u=u, B=ca.SX.eye(2), points={texts["point"]: tip}, name=texts["robot"])


def law(arm: Robot, row: str) -> ProgramController:
    (tip,) = arm.points.values()
    return ProgramController(Program(arm, holonomic(tip[1] - 0.2, name=row)), realization="actuated")


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", NAMES)
def test_what_is_written_is_read_back_or_refused_by_name(kind: str, place: str, tmp_path: Path) -> None:
    name = NAMES[kind]
    arm = robot(name, place)
    written: list[Callable[[], object]] = [
        functools.partial(write, arm, tmp_path) for row in ROWS.values() for write in row.robots.values()
    ]
    if place in ("joint", "parameter", "row") and (name or place != "row"):
        controller = law(arm, name if place == "row" else "height")
        written += [
            functools.partial(write, controller, tmp_path) for row in ROWS.values() for write in row.laws.values()
        ]
    refused: list[str] = []
    for write in written:
        try:
            write()
        except BridgeError as error:
            refused.append(str(error))
    # A refusal says what is to be renamed.
    assert [message for message in refused if not message.endswith(("rename it", "take a shorter one"))] == []
    # Of all these texts only some make trouble anywhere.
    assert bool(refused) <= (kind in REFUSED)


@pytest.mark.parametrize("kind", ["control", "no character"])
@pytest.mark.parametrize("place", ["joint", "robot"])
def test_xml_that_no_one_reads_is_not_written(kind: str, place: str, tmp_path: Path) -> None:
    arm = robot(NAMES[kind], place)
    for write, file in ((mujoco.export, "arm.xml"), (urdf.export, "arm.urdf"), (pybullet.export, "bullet.urdf")):
        with pytest.raises(EruginError, match=r"has the character U\+[0-9A-F]{4}, which XML cannot represent"):
            write(arm, tmp_path / file)
        assert not (tmp_path / file).exists()


@pytest.mark.parametrize("kind", ["quotes", "lines", "spaces", "Greek", "long", "comment of XML", "CDATA"])
def test_names_that_xml_can_hold_come_back_as_they_were(kind: str, tmp_path: Path) -> None:
    for place in ("joint", "input"):
        through_mjcf(robot(NAMES[kind], place), tmp_path)
    through_urdf(robot(NAMES[kind], "joint"), tmp_path)


def test_strings_of_c_are_no_longer_than_c_takes() -> None:
    assert len(string("x" * 4095)) == 4097
    with pytest.raises(BridgeError, match=r"the name 'x{60}…' has 4,096 bytes, but a string of C99 has at most 4,095"):
        string("x" * 4096)


def test_constants_differ_within_the_characters_that_compilers_distinguish() -> None:
    names = ["x" * 100, "x" * 100 + "a", "x" * 60, "x" * 100 + "b", "y"]
    found = constants("LAW_Q_", names)
    assert len({word[:MAX_IDENTIFIER] for word in found}) == len(names)
    assert all(len(word) <= MAX_IDENTIFIER for word in found)
