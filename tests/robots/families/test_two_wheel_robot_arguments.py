"""Arguments of a two-wheel robot and its motors, and refusals by name."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erugin.constraints import Baumgarte
from erugin.robots import DCMotor, Robot, two_wheel_robot
from erugin.symbolic import ModelError, ParameterError

from ...support.two_wheel import MOTORS, ROBOTS, arguments, build

NUMBERS = ROBOTS["offset ahead"]
GIVEN: dict[str, Any] = arguments(NUMBERS)
MOTOR: dict[str, Any] = dataclasses.asdict(MOTORS[0])
NEVER = (math.nan, math.inf, -math.inf)
BAD = [
    *((name, value) for name in GIVEN for value in NEVER),
    *((name, value) for name in GIVEN if name not in {"com_offset", "platform_inertia"} for value in (0.0, -1.25)),
    ("platform_inertia", -0.75),
]
BAD_MOTORS = [
    *((name, value) for name in MOTOR for value in (*NEVER, -0.75)),
    *((name, 0.0) for name in ("resistance", "inductance", "torque_constant", "gear_ratio")),
]


def make(**changed: Any) -> Robot:  # noqa: ANN401 - bad input on purpose
    """The robot with some arguments changed or added."""
    options: dict[str, Any] = GIVEN | changed
    return two_wheel_robot(**options)


def make_motor(**changed: Any) -> DCMotor:  # noqa: ANN401
    """The motor with some numbers changed."""
    options: dict[str, Any] = MOTOR | changed
    return DCMotor(**options)


@pytest.mark.parametrize(("name", "value"), BAD)
def test_impossible_numbers_are_refused(name: str, value: float) -> None:
    with pytest.raises(ModelError, match=rf"^{name} .*{re.escape(repr(value))}"):
        make(**{name: value})


@pytest.mark.parametrize(("name", "value"), BAD_MOTORS)
def test_impossible_motors_are_refused(name: str, value: float) -> None:
    with pytest.raises(ModelError, match=rf"^{name} of a motor .*{re.escape(repr(value))}"):
        make_motor(**{name: value})


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ModelError, match=r"wheel_mass .* must be a number, got 'heavy'"):
        make(wheel_mass="heavy")


@pytest.mark.parametrize("name", list(GIVEN))
def test_every_number_must_be_given(name: str) -> None:
    rest: dict[str, Any] = {key: value for key, value in GIVEN.items() if key != name}
    with pytest.raises(TypeError, match=name):
        two_wheel_robot(**rest)


@pytest.mark.parametrize("maker", [DCMotor, DCMotor.from_no_load])
def test_motors_have_no_defaults(maker: Any) -> None:  # noqa: ANN401 - anything that can be called
    assert all(parameter.default is parameter.empty for parameter in inspect.signature(maker).parameters.values())


def test_a_point_mass_behind_the_axle_is_a_platform() -> None:
    robot = make(platform_inertia=0.0, com_offset=-0.4)
    assert robot.nominal["com_offset"] == -0.4


def test_inertias_that_no_wheel_has_are_refused() -> None:
    """About the axle at most twice that about a diameter; a thin disc, m r^2/2 and m r^2/4, is the limit."""
    message = r"wheel_inertia_axle must be at most twice wheel_inertia_diameter, .* 0\.0051 kg m² and 0\.0025 kg m²"
    with pytest.raises(ModelError, match=message):
        make(wheel_inertia_axle=0.0051)
    for mass, radius in ((0.3, 0.07), (1.7, 0.11), (2.9, 0.013)):
        make(wheel_inertia_axle=mass * radius**2 / 2.0, wheel_inertia_diameter=mass / 4.0 * radius * radius)


SIZES = st.floats(1e-3, 1e3)


@given(
    numbers=st.fixed_dictionaries({name: SIZES for name in GIVEN if name != "com_offset"}),
    offset=st.floats(-1e3, 1e3),
    theta=st.floats(-10.0, 10.0),
)
def test_whatever_is_built_has_positive_inertia(numbers: dict[str, float], offset: float, theta: float) -> None:
    """In both forms, at any heading; in units in which every diagonal entry is 1."""
    numbers["wheel_inertia_diameter"] += numbers["wheel_inertia_axle"] / 2.0
    for form in ("full", "reduced"):
        robot = make(**numbers, com_offset=offset, form=form)
        M = robot.evaluate(robot.mass_matrix, q=[0.0, 0.0, theta, 0.0, 0.0])
        scale = np.sqrt(np.diag(M))
        assert np.linalg.eigvalsh(M / np.outer(scale, scale))[0] > 1e-14


def test_varied_parameters_keep_their_ranges() -> None:
    robot = build(NUMBERS, driven=True)
    for name in ("wheel_radius", "platform_mass", "left motor.inductance"):
        with pytest.raises(ParameterError, match=f"'{name}' must be greater than zero"):
            robot.evaluate(robot.mass_matrix, q=[0.0] * 7, p={name: 0.0})
    assert robot.evaluate(robot.points["center"], q=[0.0] * 7, p={"com_offset": -1.0})[0] == -1.0


@pytest.mark.parametrize("motors", [3.0, "two", (MOTORS[0],), (MOTORS[0], 4.0), [*MOTORS], (*MOTORS, MOTORS[0])])
def test_invalid_motors_are_refused(motors: Any) -> None:  # noqa: ANN401
    with pytest.raises(ModelError, match=r"motors must be a DCMotor, or two of them as \(right, left\), got"):
        make(motors=motors)


def test_one_motor_stands_for_two_of_its_kind() -> None:
    robot = make(motors=MOTORS[1])
    for key, value in dataclasses.asdict(MOTORS[1]).items():
        assert robot.nominal[f"right motor.{key}"] == robot.nominal[f"left motor.{key}"] == value


def test_unknown_forms_are_refused() -> None:
    with pytest.raises(ModelError, match="form must be one of 'full', 'reduced', got 'short'"):
        make(form="short")


def test_perturbation_must_fit() -> None:
    with pytest.raises(ModelError, match="'side slip' has order 1"):
        make(perturbation=Baumgarte())
    with pytest.raises(ModelError, match="reduced form has no constraints to stabilise"):
        make(form="reduced", perturbation=Baumgarte())


def test_idle_running_gives_the_damping() -> None:
    idle: dict[str, Any] = {key: value for key, value in MOTOR.items() if key != "damping"}
    motor = DCMotor.from_no_load(**idle, no_load_current=0.5, no_load_speed=200.0)
    assert motor.damping == pytest.approx(0.05 * 0.5 / 200.0, rel=1e-15)
    with pytest.raises(ModelError, match=r"no_load_speed of a motor .* must be greater than zero, got 0\.0"):
        DCMotor.from_no_load(**idle, no_load_current=0.5, no_load_speed=0.0)
    with pytest.raises(ModelError, match=r"no_load_current of a motor .* must not be negative, got -0\.5"):
        DCMotor.from_no_load(**idle, no_load_current=-0.5, no_load_speed=200.0)


def test_a_motor_may_have_no_friction_and_a_rotor_without_inertia() -> None:
    motor = make_motor(damping=0.0, rotor_inertia=0.0)
    assert (motor.damping, motor.rotor_inertia) == (0.0, 0.0)


def test_motors_are_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(MOTORS[0], "damping", 1.0)  # noqa: B010
