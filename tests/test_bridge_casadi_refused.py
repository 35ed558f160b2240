"""What is no file of a law, or no robot for it, is refused with a sentence."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.bridges.casadi import export, load
from erugin.controllers import OpenLoop
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.symbolic import BridgeError, EruginError, ModelError

from .arms import three_link_arm, two_link_arm


def law() -> OpenLoop:
    robot = two_link_arm()
    return OpenLoop(robot, ca.vertcat(ca.sin(robot.t), robot.p[0]))


def body() -> dict[str, Any]:
    """Of a file."""
    found: dict[str, Any] = json.loads(export(law()))
    return found


def sealed(content: dict[str, Any]) -> str:
    """With the SHA-256 of its contents, whatever they are."""
    content.pop("sha256", None)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "sha256": hashlib.sha256(text.encode()).hexdigest()})


def changed(**parts: object) -> str:
    return sealed({**body(), **parts})


def with_expressions(change: Callable[[dict[str, Any]], None]) -> str:
    content = body()
    change(content["expressions"])
    return sealed(content)


WRONG: dict[str, tuple[Callable[[], str | bytes], str]] = {
    "empty": (lambda: "", "not the file of a law, or it is damaged"),
    "a picture": (lambda: b"\x89PNG\r\n", "byte 0 is no text"),
    "another file": (lambda: '{"format": "erugin motion"}', "it is not the file of a law"),
    "a list": (lambda: "[1, 2]", "it is not the file of a law"),
    "cut off": (lambda: export(law())[:900], "or it is damaged"),
    "deep": (lambda: "[" * 200_000, "or it is damaged"),
    "CasADi's own": (
        lambda: ca.Function("f", [ca.SX.sym("x")], [ca.SX(1)]).serialize(),
        "not the file of a law, or it is damaged",
    ),
    "of another version": (lambda: changed(version=2), "version 2, and this version of Erugin reads 1"),
    "a digit changed": (lambda: export(law()).replace('"tolerance":0.0', '"tolerance":0.5'), "SHA-256"),
    "NaN": (lambda: export(law()).replace('"tolerance":0.0', '"tolerance":NaN'), "NaN is not JSON"),
    "a tolerance": (lambda: changed(tolerance="none"), "tolerance should be a finite number, got 'none'"),
    "names": (lambda: changed(coordinates=[["q1", "rad"]]), "its expressions have sizes"),
    "pairs": (lambda: changed(coordinates=[["q1"], ["q2"]]), "it is damaged"),
    "no parameters": (lambda: changed(parameters=[]), "its expressions have sizes"),
    "a parameter": (lambda: changed(parameters=[5]), "a parameter should be an object, got 5"),
    "a range": (
        lambda: changed(parameters=[{"name": "m", "nominal": 1.0, "range": "SMALL"}]),
        "it is damaged: 'SMALL'",
    ),
    "a parameter below its range": (
        lambda: sealed({**body(), "parameters": [{**e, "nominal": -1.0} for e in body()["parameters"]]}),
        "it is damaged: parameter 'l1' must be greater than zero",
    ),
    "a force that is neither": (lambda: changed(applies_force=1), "applies_force should be true or false, got 1"),
    "a matrix of no size": (lambda: changed(linearizations=[["y", -2]]), "the order of a matrix should be a whole"),
    "a row too many": (lambda: changed(rows=["y"]), "its expressions have sizes"),
    "an unknown operation": (
        lambda: with_expressions(lambda e: e["steps"].append(["import", 0, 0])),
        r"step \d+ is none that is known here: \['import', 0, 0\]",
    ),
    "a step ahead": (
        lambda: with_expressions(lambda e: e["steps"].insert(0, ["sin", 0, 0])),
        "an operand should be a whole number from 0 to -1, got 0",
    ),
    "an input that is not there": (
        lambda: with_expressions(lambda e: e["steps"].append(["in", 5, 0])),
        "the number of an input should be a whole number from 0 to 4, got 5",
    ),
    "no such place": (lambda: with_expressions(lambda e: e["steps"].append(["in", 1, 2])), "from 0 to 1, got 2"),
    "a value below zero": (lambda: with_expressions(lambda e: e["outputs"][0].append(-1)), "got -1"),
    "truth for a number": (
        lambda: with_expressions(lambda e: e["steps"].append(["number", True])),
        "a constant should be a number, got True",
    ),
    "steps that are none": (lambda: changed(expressions={"inputs": [], "steps": 5, "outputs": []}), "steps should be"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_is_not_as_it_was_written_is_refused(what: str, tmp_path: Path) -> None:
    make, said = WRONG[what]
    content, path = make(), tmp_path / "law.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BridgeError, match=f"law.json: .*{said}"):
        load(path, two_link_arm())


def test_no_damage_goes_unseen(tmp_path: Path) -> None:
    text, rng, path, robot = export(law()).encode(), random.Random(3), tmp_path / "law.json", two_link_arm()
    for _ in range(300):
        damaged = bytearray(text)
        damaged[rng.randrange(len(text) - 1)] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(damaged))
        with pytest.raises(BridgeError, match=r"law\.json: "):
            load(path, robot)
    path.write_bytes(text)
    np.testing.assert_array_equal(load(path, robot).control(0.0, [0, 0], [0, 0]), [0.0, 0.6])


def test_a_missing_file_and_one_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    with pytest.raises(BridgeError, match=r"nothing\.json: cannot be read: No such file"):
        load(tmp_path / "nothing.json", two_link_arm())
    with pytest.raises(OSError, match="No such file"):
        export(law(), tmp_path / "nowhere" / "law.json")
    assert list(tmp_path.iterdir()) == []


def renamed(names: tuple[str, str], units: tuple[str, str] = ("rad", "rad")) -> Robot:
    """A robot of two coordinates."""
    q = ca.vertcat(*(ca.SX.sym(name) for name in names))
    v, u = ca.SX.sym("v", 2), ca.vertcat(ca.SX.sym("M1"), ca.SX.sym("M2"))
    made = lagrangian_system(q=q, v=v, T=ca.dot(v, v) / 2, u=u, Q=u, units=units)
    assert made.coordinates.names == names
    return made


@pytest.mark.parametrize(
    ("robot", "names", "said"),
    [
        (three_link_arm, {}, "not there: q3"),
        (lambda: planar_manipulator([Link.point_mass(1.0, 1.0)]), {}, "has coordinates that the robot has not: q2"),
        (lambda: renamed(("a", "b")), {}, r"not there: a, b.*The robot's: a, b.*those of the law in the file: q1, q2"),
        (lambda: renamed(("a", "q2")), {"b": "q1"}, "unknown name of .* in names= 'b'"),
        (lambda: renamed(("q1", "q2"), ("m", "rad")), {}, r"units of coordinates disagree: q1 \(m here, rad in the"),
    ],
    ids=["more joints", "fewer joints", "others", "no such name", "other units"],
)
def test_a_robot_of_other_names_or_units_is_refused(
    robot: Callable[[], Robot], names: dict[str, str], said: str, tmp_path: Path
) -> None:
    export(law(), tmp_path / "law.json")
    with pytest.raises(BridgeError, match=said):
        load(tmp_path / "law.json", robot(), names=names)


def test_names_that_differ_can_be_given(tmp_path: Path) -> None:
    export(law(), tmp_path / "law.json")
    robot = renamed(("elbow", "shoulder"))
    inputs = dict(zip(robot.input_names, reversed(two_link_arm().input_names), strict=True))
    loaded = load(tmp_path / "law.json", robot, names={"shoulder": "q1", "elbow": "q2", **inputs})
    np.testing.assert_array_equal(loaded.control(1.0, [0, 0], [0, 0]), [0.6, np.sin(1.0)])


def test_what_is_no_law_is_refused() -> None:
    robot = two_link_arm()
    held = SampleAndHold(law(), period=0.01)
    with pytest.raises(BridgeError, match=r"SampleAndHold has no symbolic law.*the law inside a wrapper"):
        export(held)
    with pytest.raises(BridgeError, match=r"got Robot: functions\(robot\) and functions\(program\) make CasADi"):
        export(robot, "robot.json")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="a law drives a Robot, got str"):
        load("law.json", "robot")  # type: ignore[arg-type]
    for error in (BridgeError, ModelError):
        assert issubclass(error, EruginError)
