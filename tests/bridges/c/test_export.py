"""Exported laws and plants give in C what they give in Python."""

from __future__ import annotations

import ctypes
import dataclasses
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.c import export
from erugin.constraints import holonomic
from erugin.controllers import Controller, OpenLoop, Program, ProgramController, Reference, Status
from erugin.controllers.baselines import ComputedTorque
from erugin.controllers.multipliers import LeastNormMultipliers
from erugin.controllers.wrappers import MeasurementNoise
from erugin.robots import Limits, Robot, assemble
from erugin.scenarios import simulate
from erugin.scenarios.catalogue import seven_joint_arm
from erugin.symbolic import Kernel
from erugin.symbolic.runge_kutta import rk4_step

from ...support.arms import two_link_arm
from ...support.c_folders import LAWS, UNTOUCHED, CompiledLaw, compiled, compiled_law, controller_of, expected, states
from ...support.mechanisms import crank_rocker

ROWS = 10_000
LONG = "seven-joint arm"
"""Its kernel takes seconds to compile."""
EACH = [pytest.param(law, marks=[pytest.mark.slow] if law == LONG else []) for law in LAWS]


@pytest.mark.parametrize("law", LAWS)
def test_ten_thousand_states_give_what_python_gives_to_the_last_bit(law: str) -> None:
    controller = controller_of(law)
    t, q, v, p = states(controller, ROWS, 1)
    u, status = compiled_law(law)(t, q, v, p)
    output, judged = expected(controller, t, q, v, p)
    np.testing.assert_array_equal(status, judged)
    fine = status == Status.OK
    assert fine.sum() > 0.9 * ROWS
    np.testing.assert_array_equal(u[fine], output[fine])
    np.testing.assert_array_equal(u[~fine], UNTOUCHED)


@pytest.mark.parametrize("law", EACH)
def test_control_gives_the_same_to_rounding(law: str) -> None:
    # Python's kernels take quotients as products; near singular positions a rounding is made large by 1e6 and more.
    controller = controller_of(law)
    t, q, v, p = states(controller, 40, 2)
    if law == LONG:
        q = np.array(seven_joint_arm.NEAR) + 0.05 * q
    u, status = compiled_law(law)(t, q, v, p)
    assert (status == Status.OK).all()
    for i in range(len(t)):
        theirs = controller.control(t[i], q[i], v[i], p)
        assert np.abs(u[i] - theirs).max() <= 1e-10 * np.abs(theirs).max()


@pytest.mark.parametrize("law", LAWS)
def test_nan_and_huge_numbers_are_reported_and_write_nothing(law: str) -> None:
    controller = controller_of(law)
    t, q, v, p = states(controller, 300, 3)
    rng = np.random.default_rng(4)
    odd = np.array([np.nan, np.inf, -np.inf, 1e308, -1e200, 1e-310, 0.0])
    for array in (t[:, None], q, v):
        where = rng.random(array.shape) < 0.2
        array[where] = rng.choice(odd, where.sum())
    u, status = compiled_law(law)(t, q, v, p)
    output, judged = expected(controller, t, q, v, p)
    bad = ~np.isfinite(np.column_stack([t, q, v])).all(axis=1)
    assert 0 < bad.sum() < bad.size
    np.testing.assert_array_equal(status[bad], 8)
    np.testing.assert_array_equal(status[~bad], judged[~bad])
    np.testing.assert_array_equal(u[status == 0], output[status == 0])
    np.testing.assert_array_equal(u[status != 0], UNTOUCHED)


def test_an_arm_that_is_stretched_out_is_singular() -> None:
    law = compiled_law("ideal")
    zero, p = np.zeros((1, 2)), law.controller.parameters.values()
    u, status = law(np.zeros(1), zero, zero, p)
    assert status.tolist() == [Status.SINGULAR]
    np.testing.assert_array_equal(u, UNTOUCHED)


def test_contradictory_rows_are_reported_by_methods_that_support_dependent_ones(tmp_path: Path) -> None:
    robot = two_link_arm()
    rows = [holonomic(robot.q[0], name="one"), holonomic(robot.q[0] - 1.0, name="other")]
    controller = ProgramController(Program(robot, rows), method=LeastNormMultipliers())
    law, p = CompiledLaw.of(controller, tmp_path), controller.parameters.values()
    q = np.array([[0.3, 0.5]])
    _, status = law(np.zeros(1), q, np.zeros((1, 2)), p)
    assert status.tolist() == [Status.CONTRADICTORY]
    law.library.law_status_text.restype = ctypes.c_char_p
    assert law.library.law_status_text(int(Status.CONTRADICTORY)).decode() == Status.CONTRADICTORY.sentence


def test_wrapped_law_that_keeps_expressions_is_that_of_the_wrapper(tmp_path: Path) -> None:
    controller = MeasurementNoise(controller_of("computed torque"), q=0.02)
    law = CompiledLaw.of(controller, tmp_path)
    t, q, v, p = states(controller, 100, 5)
    np.testing.assert_array_equal(law(t, q, v, p)[0], expected(controller, t, q, v, p)[0])
    inside = p[: len(controller.inner.parameters)]
    assert np.abs(law(t, q, v, p)[0] - compiled_law("computed torque")(t, q, v, inside)[0]).max() > 0.1


def test_inputs_are_clipped_to_the_limits_on_request_and_it_is_reported(tmp_path: Path) -> None:
    arm = controller_of("computed torque").robot
    effort = np.array([40.0, 15.0, np.inf])
    limited = dataclasses.replace(arm, limits=Limits(arm.limits.lower, arm.limits.upper, arm.limits.speed, effort))
    controller = ComputedTorque(limited, Reference.at_rest(limited, np.zeros(3)))
    t, q, v, p = states(controller, 500, 6)
    free, reported = expected(controller, t, q, v, p)
    (tmp_path / "free").mkdir()
    law = CompiledLaw.of(controller, tmp_path / "free")
    u, status = law(t, q, v, p)
    np.testing.assert_array_equal(u, free)
    assert not np.concatenate([reported, status]).any()
    assert list((ctypes.c_double * 3).in_dll(law.library, "law_effort_limits")) == effort.tolist()
    for name in ("law.h", "README.md"):
        message = (law.written.folder / name).read_text(encoding="utf-8")
        assert re.search("a tick does not apply them", message, re.IGNORECASE)
    (tmp_path / "cut").mkdir()
    u, status = CompiledLaw.of(controller, tmp_path / "cut", saturate=True)(t, q, v, p)
    np.testing.assert_array_equal(u, np.clip(free, -effort, effort))
    beyond = (np.abs(free) > effort).any(axis=1)
    assert 0 < beyond.sum() < beyond.size
    np.testing.assert_array_equal(status, np.where(beyond, Status.LIMITED, Status.OK))


def test_parameters_have_nominal_values_names_and_ranges() -> None:
    law = compiled_law("two-link field law")
    parameters = law.controller.parameters
    library, n = law.library, len(parameters)
    values = (ctypes.c_double * n)()
    library.law_parameters_nominal(values)
    assert list(values) == parameters.values().tolist()
    assert library.law_check_parameters(values) == -1
    names = (ctypes.c_char_p * n).in_dll(library, "law_parameter_names")
    assert [name.decode() for name in names if name] == list(parameters.names)
    library.law_parameter_range.restype = ctypes.c_char_p
    for name, value, message in (
        ("m1", 0.0, "greater than zero"),
        ("I2", -1e-9, "at least zero"),
        ("field.side", 0.5, "+1, -1 or 0"),
        ("disc.x", np.nan, "finite"),
        ("disc.radius", np.inf, "greater than zero"),
    ):
        library.law_parameters_nominal(values)
        place = parameters.names.index(name)
        values[place] = value
        assert library.law_check_parameters(values) == place
        assert library.law_parameter_range(place).decode() == message


Array = NDArray[np.float64]
STEP = 1e-3
STARTS: dict[str, Callable[[Robot], Array]] = {
    "computed torque": lambda _: np.array([0.35, 0.4, -0.5]),
    "four-bar": lambda robot: assemble(robot, [0.0, 0.9, 1.5], fixed=robot.coordinates.names[:1]).q,
    "ideal": lambda _: np.array([-1.3, 1.4]),
}


class Plant:
    """An exported plant with its law, as a library."""

    def __init__(self, controller: Controller, robot: Robot, folder: Path) -> None:
        """Export and compile."""
        written = export(controller, folder / "exported", with_plant=robot)
        sources = [written.folder / name for name in ("law.c", "law_plant.c")]
        compiled(sources, folder / "plant.so", "-O1", "-shared", "-fPIC")
        self.library = ctypes.CDLL(str(folder / "plant.so"))
        self.plant = (ctypes.c_double * max(1, len(robot.parameters)))()
        self.law = (ctypes.c_double * max(1, len(controller.parameters)))()
        self.library.law_plant_parameters_nominal(self.plant)
        self.library.law_parameters_nominal(self.law)

    def closed(self, t: float, h: float, q: Array, v: Array) -> int:
        """A step of the closed loop, in place."""
        call = self.library.law_plant_closed_step
        return int(call(self.plant, self.law, ctypes.c_double(t), ctypes.c_double(h), _at(q), _at(v)))

    def held(self, t: float, h: float, q: Array, v: Array, u: Array) -> int:
        """A step of the plant, in place."""
        call = self.library.law_plant_step
        return int(call(self.plant, ctypes.c_double(t), ctypes.c_double(h), _at(q), _at(v), _at(u)))


def _at(array: Array) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("law", ["computed torque", "four-bar", "ideal"])
def test_a_thousand_steps_of_the_closed_loop_are_those_that_are_simulated(law: str, tmp_path: Path) -> None:
    controller = controller_of(law)
    robot = controller.robot
    plant = Plant(controller, robot, tmp_path)
    q0 = STARTS[law](robot)
    v0 = np.zeros(robot.coordinates.nv)
    run = simulate(robot, controller, q0, v0, 1.0, step=STEP)
    q, v, most = q0.copy(), v0.copy(), 0.0
    for i in range(1000):
        assert plant.closed(i * STEP, STEP, q, v) == Status.OK
        most = max(most, float(np.abs(np.concatenate([q - run.q[i + 1], v - run.v[i + 1]])).max()))
    assert np.abs(run.q[-1] - q0).max() > 0.05
    assert most < 1e-11


@pytest.mark.parametrize("law", ["four-bar", "ideal"])
def test_the_example_runs_a_second_of_the_loop_and_sanitizers_find_nothing(law: str, tmp_path: Path) -> None:
    controller = controller_of(law)
    robot, q0 = controller.robot, STARTS[law](controller.robot)
    written = export(controller, tmp_path / "x", with_plant=robot, q0=q0)
    sources = [written.folder / name for name in written.files if name.endswith(".c")]
    compiled(sources, tmp_path / "main", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    answer = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=False)
    assert not answer.returncode, answer.stderr
    assert "after 1000 steps" in answer.stdout
    values = dict(re.findall(r"^(.*) = (\S+) ", answer.stdout, re.MULTILINE))
    run = simulate(robot, controller, q0, np.zeros(robot.coordinates.nv), 1.0, step=STEP)
    found = [float(values[name]) for name in robot.coordinates.names]
    np.testing.assert_allclose(found, run.q[-1], rtol=0.0, atol=1e-11)


def test_a_step_under_held_inputs_is_one_of_runge_and_kutta(tmp_path: Path) -> None:
    robot, controller = controller_of("computed torque").robot, controller_of("computed torque")
    plant, rng = Plant(controller, robot, tmp_path), np.random.default_rng(2)
    c = robot.coordinates
    kernel = Kernel("rate", {"t": c.t, "q": c.q, "v": c.v, "u": robot.u, "p": robot.p}, {"a": robot.acceleration})
    p = robot.parameters.values()
    for _ in range(20):
        q, v, u = (rng.uniform(-2.0, 2.0, 3) for _ in range(3))

        def rate(t: float, x: Array, u: Array = u) -> Array:
            return np.concatenate([x[3:], kernel(t, x[:3], x[3:], u, p)[0]])

        expected = rk4_step(rate, 0.2, np.concatenate([q, v]), 0.01)
        assert plant.held(0.2, 0.01, q, v, u) == Status.OK
        np.testing.assert_allclose(np.concatenate([q, v]), expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())


def test_what_cannot_go_on_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    controller = controller_of("ideal")
    plant = Plant(controller, controller.robot, tmp_path)
    stretched, still = np.zeros(2), np.zeros(2)
    assert plant.closed(0.0, STEP, stretched, still) == Status.SINGULAR
    fast = np.array([1e200, -1e200])
    q = np.array([0.4, 0.9])
    assert plant.held(0.0, STEP, q, fast, np.zeros(2)) == Status.NOT_FINITE
    for t, h, bad in ((np.nan, STEP, still), (0.0, np.inf, still), (0.0, STEP, np.array([np.nan, 0.0]))):
        assert plant.closed(t, h, q, bad) == 8
        assert plant.held(t, h, q, bad, np.zeros(2)) == 8
    assert q.tolist() == [0.4, 0.9]
    assert fast.tolist() == [1e200, -1e200]


def test_dependent_natural_constraints_are_reported(tmp_path: Path) -> None:
    robot = crank_rocker()
    plant = Plant(OpenLoop(robot, np.zeros(3)), robot, tmp_path)
    flat = np.zeros(3)
    assert plant.held(0.0, STEP, flat, np.zeros(3), np.zeros(3)) == 9
    assert plant.closed(0.0, STEP, flat, np.zeros(3)) == 9
    assert not flat.any()
