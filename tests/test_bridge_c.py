"""An exported law gives in C what it gives in Python, and says the same where it gives nothing."""

from __future__ import annotations

import ctypes
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController, Reference, Status
from erugin.controllers.baselines import ComputedTorque
from erugin.controllers.multipliers import LeastNormMultipliers
from erugin.controllers.wrappers import MeasurementNoise
from erugin.robots import Limits
from erugin.scenarios.catalogue import seven_joint_arm

from .arms import two_link_arm
from .c_folders import LAWS, UNTOUCHED, CompiledLaw, compiled_law, controller_of, expected, states

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
def test_numbers_that_are_none_and_huge_ones_are_told_and_write_nothing(law: str) -> None:
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


def test_rows_that_contradict_each_other_are_told_where_the_method_serves_dependent_ones(tmp_path: Path) -> None:
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


def test_inputs_are_cut_to_the_limits_if_asked_and_told(tmp_path: Path) -> None:
    arm = controller_of("computed torque").robot
    effort = np.array([40.0, 15.0, np.inf])
    limited = dataclasses.replace(arm, limits=Limits(arm.limits.lower, arm.limits.upper, arm.limits.speed, effort))
    controller = ComputedTorque(limited, Reference.at_rest(limited, np.zeros(3)))
    t, q, v, p = states(controller, 500, 6)
    free, told = expected(controller, t, q, v, p)
    (tmp_path / "free").mkdir()
    law = CompiledLaw.of(controller, tmp_path / "free")
    u, status = law(t, q, v, p)
    np.testing.assert_array_equal(u, free)
    assert not np.concatenate([told, status]).any()
    assert list((ctypes.c_double * 3).in_dll(law.library, "law_effort_limits")) == effort.tolist()
    for name in ("law.h", "README.md"):
        said = (law.written.folder / name).read_text(encoding="utf-8")
        assert re.search("nothing here cuts the inputs to them", said, re.IGNORECASE)
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
    for name, value, said in (
        ("m1", 0.0, "greater than zero"),
        ("I2", -1e-9, "at least zero"),
        ("field.side", 0.5, "+1 or -1"),
        ("disc.x", np.nan, "finite"),
        ("disc.radius", np.inf, "greater than zero"),
    ):
        library.law_parameters_nominal(values)
        place = parameters.names.index(name)
        values[place] = value
        assert library.law_check_parameters(values) == place
        assert library.law_parameter_range(place).decode() == said
