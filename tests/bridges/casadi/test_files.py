"""Laws in files: the same numbers to the last bit, and files that are rejected."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.bridges.casadi import LoadedController, export, load
from erugin.constraints import Schedule, holonomic, nonholonomic
from erugin.controllers import Controller, OpenLoop, Program, ProgramController
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Link, Robot, lagrangian_system, load_urdf, planar_manipulator
from erugin.scenarios import Scenario, simulate
from erugin.scenarios.catalogue import seven_joint_arm_on_a_sphere, two_link_arm_moving_obstacle
from erugin.simulation import Trajectory
from erugin.symbolic import BridgeError, EruginError, ModelError, ParameterError, Parameters, Range

from ...support.arms import disc_program, three_link_arm, two_link_arm
from ...support.controller_cases import BUILDERS
from ...support.controller_cases.robots import CASES, robot_case
from ...support.controller_cases.wrappers import law_of
from ...support.kernels import use_no_compiler

FAST = ("two-link arm", "four-bar linkage")


def again(controller: Controller, folder: Path, robot: Robot | None = None) -> LoadedController:
    """Written and read."""
    path = folder / "law.json"
    text = export(controller, path)
    assert path.read_text(encoding="utf-8") == text
    return load(path, robot or controller.robot)


@pytest.mark.parametrize("scenario", [two_link_arm_moving_obstacle, seven_joint_arm_on_a_sphere], ids=lambda s: s.name)
def test_a_loaded_law_drives_the_same_motion_to_the_last_bit(scenario: Scenario, tmp_path: Path) -> None:
    setup = dataclasses.replace(scenario(), duration=0.3)
    assert setup.controller is not None
    motion, repeated = setup.run(), setup.driven_by(again(setup.controller, tmp_path)).run()
    assert len(motion) > 100
    for name in ("t", "q", "v", "u", "deviation", "pivots", "active", "status", "energy", "controller_p"):
        np.testing.assert_array_equal(getattr(repeated, name), getattr(motion, name), err_msg=name)
    assert isinstance(motion, Trajectory)
    assert isinstance(repeated, Trajectory)
    assert repeated.rows == motion.rows


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in CASES]
)
def test_every_symbolic_law_comes_back_as_it_was(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    # Another test may have compiled the law that wrappers share, whose last bits may be others.
    law_of.cache_clear()
    case, rng, seen = robot_case(name), np.random.default_rng(7), 0
    for cls, build in BUILDERS.items():
        if cls.unsupported_reason(case.robot):
            continue
        controller = build(case)
        if controller.has_memory or controller.sampled_law(1.0) is None:
            with pytest.raises(BridgeError, match=f"{cls.__name__} cannot be written as a file: "):
                export(controller)
            continue
        law = again(controller, tmp_path)
        seen += 1
        assert not law.has_memory
        assert (law.rows, law.tolerance, law.switches) == (controller.rows, controller.tolerance, controller.switches)
        assert (law.parameters.names, law.parameters.nominal) == (
            controller.parameters.names,
            controller.parameters.nominal,
        )
        assert law.parameters.ranges == controller.parameters.ranges
        assert law.applies_force is controller.applies_force
        for _ in range(3):
            q = case.q0 + 0.1 * rng.normal(size=case.q0.shape)
            v = case.v0 + 0.1 * rng.normal(size=case.v0.shape)
            first, second = controller.observe(0.4, q, v), law.observe(0.4, q, v)
            for part in ("output", "pivots", "relative_pivots", "active", "status"):
                np.testing.assert_array_equal(getattr(second, part), getattr(first, part), err_msg=f"{cls} {part}")
            a = rng.normal(size=v.shape)
            np.testing.assert_array_equal(law.deviation(0.4, q, v, a), controller.deviation(0.4, q, v, a))
        for (label, matrix), (known, expected) in zip(law.linearizations, controller.linearizations, strict=True):
            assert label == known
            assert matrix.shape == expected.shape
        assert export(law) == export(controller)
    assert seen >= 3


def test_numbers_can_be_made_nominal() -> None:
    controller = ProgramController(disc_program(), realization="actuated")
    written = json.loads(export(controller, p={"m1": 3.5}))
    nominal = {entry["name"]: entry["nominal"] for entry in written["parameters"]}
    assert nominal == {**controller.parameters.nominal, "m1": 3.5}
    with pytest.raises(ParameterError, match="m9"):
        export(controller, p={"m9": 1.0})


def test_ranges_signs_and_values_that_are_missing_come_back(tmp_path: Path) -> None:
    robot = two_link_arm()
    gain, sign, free = (ca.SX.sym(name) for name in ("gain", "sign", "free"))
    own = Parameters(
        ("gain", "sign", "free"),
        ca.vertcat(gain, sign, free),
        {"gain": 2.0, "sign": -1.0},
        {"gain": Range.POSITIVE, "sign": Range.SIGN},
    )
    limit = ca.if_else(robot.t < 1.0, -ca.inf, ca.inf)
    output = ca.vertcat(ca.fmin(gain * ca.sin(robot.t), sign * free), ca.fmax(limit, -0.0))
    law = again(OpenLoop(robot, output, parameters=own), tmp_path)
    assert law.parameters.ranges == {**robot.parameters.ranges, "gain": Range.POSITIVE, "sign": Range.SIGN}
    state = (0.5, [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(ParameterError, match="no value for free"):
        law.control(*state)
    with pytest.raises(ParameterError, match="greater than zero"):
        law.control(*state, {"free": 1.0, "gain": -1.0})
    given = law.control(*state, {"free": 5.0})
    np.testing.assert_array_equal(given, [-5.0, 0.0])


def test_rows_that_are_on_at_times_come_back(tmp_path: Path) -> None:
    robot = two_link_arm()
    line = holonomic(robot.points["tip"][1] - 0.2, name="height").switched(Schedule(((0.1, 0.2),)))
    brake = nonholonomic(robot.v[0], name="brake")
    controller = ProgramController(Program(robot, [line, brake]), realization="ideal")
    law = again(controller, tmp_path)
    assert law.switches
    motion = simulate(robot, controller, [0.3, 0.8], [0.0, 0.0], 0.3, step=1e-3)
    repeated = simulate(robot, law, [0.3, 0.8], [0.0, 0.0], 0.3, step=1e-3)
    np.testing.assert_array_equal(repeated.active, motion.active)
    assert set(motion.active[:, 0]) == {False, True}
    np.testing.assert_array_equal(repeated.u, motion.u)


def test_joints_are_matched_by_name_in_whatever_order(tmp_path: Path) -> None:
    def arm(first: str, second: str) -> Robot:
        """Two arms of one joint each on one base, in either order."""
        joints = {"left": ("0.4", "2.0"), "right": ("0.9", "0.7")}
        text = '<robot name="arms"><link name="base"/>'
        for name in (first, second):
            x, mass = joints[name]
            text += (
                f'<link name="{name}_arm"><inertial><origin xyz="{x} 0 0"/><mass value="{mass}"/><inertia ixx="0.01" '
                f'iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="{name}" '
                f'type="revolute"><parent link="base"/><child link="{name}_arm"/><axis xyz="0 1 0"/>'
                '<limit lower="-3" upper="3" effort="99" velocity="9"/></joint>'
            )
        path = tmp_path / f"{first}.urdf"
        path.write_text(text + "</robot>", encoding="utf-8")
        return load_urdf(path)

    robot, mirrored = arm("left", "right"), arm("right", "left")
    assert mirrored.coordinates.names == tuple(reversed(robot.coordinates.names))
    program = Program(robot, holonomic(ca.vertcat(robot.q[0] - 0.3, robot.q[1] + 2.0 * robot.q[0]), name="pose"))
    for realization in ("actuated", "ideal"):
        controller = ProgramController(program, realization=realization)
        law = again(controller, tmp_path, mirrored)
        q, v = np.array([0.2, -0.7]), np.array([0.5, 0.1])
        expected = controller.control(0.0, q, v)[::-1]
        assert abs(expected[0] - expected[1]) > 1.0
        np.testing.assert_array_equal(law.control(0.0, q[::-1], v[::-1]), expected)
        a = np.array([0.3, -0.2])
        np.testing.assert_array_equal(law.deviation(0.0, q[::-1], v[::-1], a[::-1]), controller.deviation(0.0, q, v, a))


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
    "a picture": (lambda: b"\x89PNG\r\n", "byte 0 is not UTF-8 text"),
    "another file": (lambda: '{"format": "erugin motion"}', "it is not the file of a law"),
    "a list": (lambda: "[1, 2]", "it is not the file of a law"),
    "cut off": (lambda: export(law())[:900], "or it is damaged"),
    "deep": (lambda: "[" * 200_000, "or it is damaged"),
    "CasADi's own": (
        lambda: ca.Function("f", [ca.SX.sym("x")], [ca.SX(1)]).serialize(),
        "not the file of a law, or it is damaged",
    ),
    "of another version": (lambda: changed(version=3), "version 3, and this version of Erugin reads 1 and 2"),
    "a digit changed": (lambda: export(law()).replace('"tolerance":0.0', '"tolerance":0.5'), "SHA-256"),
    "NaN": (lambda: export(law()).replace('"tolerance":0.0', '"tolerance":NaN'), "NaN is not JSON"),
    "a tolerance": (lambda: changed(tolerance="none"), "tolerance must be a finite number, got 'none'"),
    "names": (lambda: changed(coordinates=[["q1", "rad"]]), "its expressions have sizes"),
    "pairs": (lambda: changed(coordinates=[["q1"], ["q2"]]), "it is damaged"),
    "no parameters": (lambda: changed(parameters=[]), "its expressions have sizes"),
    "a parameter": (lambda: changed(parameters=[5]), "a parameter must be an object, got 5"),
    "a range": (
        lambda: changed(parameters=[{"name": "m", "nominal": 1.0, "range": "SMALL"}]),
        "it is damaged: 'SMALL'",
    ),
    "a parameter below its range": (
        lambda: sealed({**body(), "parameters": [{**e, "nominal": -1.0} for e in body()["parameters"]]}),
        "it is damaged: parameter 'l1' must be greater than zero",
    ),
    "a force that is neither": (lambda: changed(applies_force=1), "applies_force must be true or false, got 1"),
    "a matrix of no size": (lambda: changed(linearizations=[["y", -2]]), "the order of a matrix must be an integer"),
    "a row too many": (lambda: changed(rows=["y"]), "its expressions have sizes"),
    "an unknown operation": (
        lambda: with_expressions(lambda e: e["steps"].append(["import", 0, 0])),
        r"step \d+ is unknown: \['import', 0, 0\]",
    ),
    "a step ahead": (
        lambda: with_expressions(lambda e: e["steps"].insert(0, ["sin", 0, 0])),
        "an operand must be an integer from 0 to -1, got 0",
    ),
    "an input that is not there": (
        lambda: with_expressions(lambda e: e["steps"].append(["in", 5, 0])),
        "the number of an input must be an integer from 0 to 4, got 5",
    ),
    "no such place": (lambda: with_expressions(lambda e: e["steps"].append(["in", 1, 2])), "from 0 to 1, got 2"),
    "a value below zero": (lambda: with_expressions(lambda e: e["outputs"][0].append(-1)), "got -1"),
    "truth for a number": (
        lambda: with_expressions(lambda e: e["steps"].append(["number", True])),
        "a constant must be a number, got True",
    ),
    "invalid steps": (lambda: changed(expressions={"inputs": [], "steps": 5, "outputs": []}), "steps must be"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_is_not_as_it_was_written_is_refused(what: str, tmp_path: Path) -> None:
    make, message = WRONG[what]
    content, path = make(), tmp_path / "law.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BridgeError, match=f"law.json: .*{message}"):
        load(path, two_link_arm())


def test_every_damage_is_detected(tmp_path: Path) -> None:
    text, rng, path, robot = export(law()).encode(), random.Random(3), tmp_path / "law.json", two_link_arm()
    for _ in range(300):
        damaged = bytearray(text)
        damaged[rng.randrange(len(text) - 1)] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(damaged))
        with pytest.raises(BridgeError, match=r"law\.json: "):
            load(path, robot)
    path.write_bytes(text)
    np.testing.assert_array_equal(load(path, robot).control(0.0, [0, 0], [0, 0]), [0.0, 0.6])


def test_a_missing_file_and_one_that_cannot_be_written_are_reported(tmp_path: Path) -> None:
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
    ("robot", "names", "message"),
    [
        (three_link_arm, {}, "missing: q3"),
        (
            lambda: planar_manipulator([Link.point_mass(1.0, 1.0)]),
            {},
            "has coordinates that the robot does not have: q2",
        ),
        (lambda: renamed(("a", "b")), {}, r"missing: a, b.*The robot's: a, b.*those of the law in the file: q1, q2"),
        (lambda: renamed(("a", "q2")), {"b": "q1"}, "unknown name of .* in names= 'b'"),
        (
            lambda: renamed(("q1", "q2"), ("m", "rad")),
            {},
            r"units of coordinates disagree: q1 \(m in the robot, rad in the",
        ),
    ],
    ids=["more joints", "fewer joints", "others", "no such name", "other units"],
)
def test_a_robot_of_other_names_or_units_is_refused(
    robot: Callable[[], Robot], names: dict[str, str], message: str, tmp_path: Path
) -> None:
    export(law(), tmp_path / "law.json")
    with pytest.raises(BridgeError, match=message):
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
    with pytest.raises(BridgeError, match=r"SampleAndHold cannot be written as a file: .* use the \w+ inside it"):
        export(held)
    with pytest.raises(BridgeError, match=r"got Robot: functions\(robot\) and functions\(program\) return CasADi"):
        export(robot, "robot.json")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="robot must be a Robot, got str"):
        load("law.json", "robot")  # type: ignore[arg-type]
    for error in (BridgeError, ModelError):
        assert issubclass(error, EruginError)
