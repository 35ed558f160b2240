"""Laws in files: the same numbers to the last bit, for a robot whose names are the law's."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.bridges.casadi import LoadedController, export, load
from erugin.constraints import Schedule, holonomic, nonholonomic
from erugin.controllers import Controller, OpenLoop, Program, ProgramController
from erugin.robots import Robot, load_urdf
from erugin.scenarios import Scenario, simulate
from erugin.scenarios.catalogue import seven_joint_arm_on_a_sphere, two_link_arm_moving_obstacle
from erugin.simulation import Trajectory
from erugin.symbolic import BridgeError, ParameterError, Parameters, Range

from .arms import disc_program, two_link_arm
from .controller_cases import BUILDERS
from .controller_cases.robots import CASES, robot_case
from .controller_cases.wrappers import law_of
from .kernels import use_no_compiler

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
        if cls.refusal(case.robot):
            continue
        controller = build(case)
        if controller.law is None:
            with pytest.raises(BridgeError, match=f"{cls.__name__} has no symbolic law"):
                export(controller)
            continue
        law = again(controller, tmp_path)
        seen += 1
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
            for part in ("output", "pivots", "relative_pivots", "active"):
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
