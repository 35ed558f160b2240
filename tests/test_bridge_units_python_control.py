"""A plant of python-control in other units than kg, m, s and rad is refused by a sentence that names them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.bridges import python_control
from erugin.robots import Robot
from erugin.symbolic import BridgeError, ModelError

from .bridge_simulators import chain, tracking

Array = NDArray[np.float64]
control: Any = importlib.import_module("control")


def plant(robot: Robot, scales: ArrayLike, worth: float = 1.0, **params: float) -> Any:  # noqa: ANN401
    """ẋ' = S ẋ of a robot at x = S⁻¹ x', driven by so many times its inputs, as a function that anyone could write."""
    own: Any = python_control.export(robot)
    S, values = np.asarray(scales, dtype=np.float64), {**own.params, **params}

    def changed(t: float, x: Array, u: Array, given: Mapping[str, float]) -> Array:
        return np.asarray(S * own.dynamics(t, x / S, worth * np.asarray(u), values))

    return control.nlsys(changed, None, states=own.state_labels, inputs=own.input_labels, outputs=len(S), name="plant")


DEGREES = 180.0 / np.pi


@pytest.mark.parametrize(
    ("scales", "worth", "params", "said"),
    [
        ([DEGREES] * 4, 1.0, {}, "accelerations there are 57.3 × those here of rad: angles in degrees?"),
        ([1.0] * 4, 1e-3, {}, "what M1, M2 adds is 0.001 × that here: masses in g, or M1, M2 in 0.001 N m?"),
        ([1.0] * 4, 1.0, {"g": 0.0}, "gravity there is 0 × gravity here: gravity absent, or not set?"),
        ([1.0] * 4, 1.0, {"g": -9.81}, "gravity there is -1 × gravity here: gravity of the other sign?"),
    ],
)
def test_a_plant_of_python_control_in_another_unit_is_refused(
    scales: list[float], worth: float, params: dict[str, float], said: str
) -> None:
    python_control.drive(tracking(chain()), plant(chain(), [1.0] * 4))
    with pytest.raises(BridgeError, match=rf"not the same robot: .*{re.escape(said)} Units here are kg, m, s, rad"):
        python_control.drive(tracking(chain()), plant(chain(), scales, worth, **params))


def test_a_state_space_in_mm_and_degrees_is_told() -> None:
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.array([[-3.0, 1.0], [1.0, -2.0]]), -0.1 * np.eye(2)]])
    B, S = np.array([[0.0], [0.0], [1.0], [0.0]]), np.diag([1e3, DEGREES] * 2)
    signals = {"states": ["x", "turn", "v_x", "v_turn"], "inputs": ["F"]}
    own = python_control.load(control.ss(A, B, np.eye(4), 0, **signals), units=["m", "rad"])
    other = control.ss(S @ A @ np.linalg.inv(S), S @ B, np.eye(4), 0, **signals)
    found = python_control.match(own, other)
    assert "1000 × those here of m and 57.3 × those here of rad: lengths in mm, angles in degrees?" in found.units
    assert python_control.match(own, control.ss(A, B, np.eye(4), 0, **signals)).same


def test_a_mass_matrix_in_other_units_than_its_system_is_told() -> None:
    M, K, S = np.diag([2.0, 0.1]), np.array([[300.0, 1.0], [1.0, 2.0]]), np.diag([1e3, DEGREES])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-S @ np.linalg.solve(M, K) @ np.linalg.inv(S), np.zeros((2, 2))]])
    system = control.ss(A, np.eye(4)[:, 2:], np.eye(4), 0, states=["x", "turn", "v_x", "v_turn"], name="odd")
    with pytest.raises(BridgeError, match="it is with lengths in mm, angles in degrees in the system: write it in the"):
        python_control.load(system, mass_matrix=M, units=["m", "rad"])
    with pytest.raises(BridgeError, match="it may be another mass matrix"):
        python_control.load(system, mass_matrix=M)
    with pytest.raises(BridgeError, match="it may be another mass matrix"):
        python_control.load(system, mass_matrix=np.array([[2.0, 0.3], [0.3, 0.1]]), units=["m", "rad"])


def test_another_plant_of_python_control_is_no_other_unit() -> None:
    found = python_control.match(chain(), plant(chain(), [1.0] * 4, m1=3.3))
    assert not found.same
    assert found.units == ""
    for gravity in (9.81e-3, 9.81e-2, 1.62):
        assert python_control.match(chain(), plant(chain(), [1.0] * 4, g=gravity)).units == ""
    mixed = python_control.match(chain(), plant(chain(), [DEGREES, DEGREES, 1.0, 1.0]))
    assert "the rate of q1 is" in str(mixed)
    assert "57.3 times as much: is it given in the unit of its velocity?" in str(mixed)


def test_what_is_no_plant_of_the_robot_is_refused() -> None:
    with pytest.raises(BridgeError, match=r"not there: q1, q2.*those of the system 'pole': x\[0\], x\[1\]"):
        python_control.match(chain(), control.ss([[0, 1], [-1, 0]], [[0], [1]], np.eye(2), 0, name="pole"))
    with pytest.raises(BridgeError, match=r"has dt = 0.01: compare the plant in continuous time"):
        python_control.match(chain(), python_control.export(chain(), dt=0.01))
    with pytest.raises(BridgeError, match="a system of python-control, got Robot"):
        python_control.match(chain(), chain())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("mass", "length", "gravity", "said"),
    [
        (1.0, 1e3, 1e3, "is 1e-06 × that here: lengths in mm, or M1, M2 in 1e-06 N m?"),
        (1.0, 1e2, 1e2, "is 0.0001 × that here: lengths in cm, or M1, M2 in 0.0001 N m?"),
        (1e3, 1e3, 1e3, "is 1e-09 × that here: lengths in mm and masses in g, or M1, M2 in 1e-09 N m?"),
        (1.0, 1e3, 1.0, "gravity there is 1 × gravity here: lengths in mm, gravity in m/s²?"),
        (1e3, 1e2, 1.0, "lengths in cm, gravity in m/s², masses in g, or M1, M2 in 0.001 N m?"),
    ],
)
def test_lengths_of_a_plant_that_turns_are_told_by_its_moments(
    mass: float, length: float, gravity: float, said: str
) -> None:
    own = {"l": length, "c": length, "g": gravity, "m": mass, "I": mass * length**2}
    params = {name: value * own[name[0]] for name, value in chain().nominal.items()}
    assert said in python_control.match(chain(), plant(chain(), [1.0] * 4, **params)).units


def test_parameters_and_rates_that_do_not_fit_are_refused() -> None:
    own = python_control.export(chain())
    assert not python_control.match(chain(), own, params={"m1": 3.3}).same
    assert python_control.match(chain(), own, p={"m1": 3.3}, params={"m1": 3.3}).same
    with pytest.raises(BridgeError, match=r"unknown parameter of the system '\w+' 'm3'\..*Known: .*m1, m2"):
        python_control.match(chain(), own, params={"m3": 3.3})
    signals: dict[str, Any] = {"states": own.state_labels, "inputs": own.input_labels, "outputs": 4, "name": "short"}
    with pytest.raises(BridgeError, match=r"'short' gives rates of shape \(3,\) for 4 states"):
        python_control.match(chain(), control.nlsys(lambda t, x, u, p: np.zeros(3), None, **signals))


@pytest.mark.parametrize("units", [[1, 2], ["m", None], "mm"])
def test_units_that_are_no_strings_are_refused(units: Any) -> None:  # noqa: ANN401
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    system = control.ss(A, np.eye(4)[:, 2:], np.eye(4), 0, name="pair")
    with pytest.raises(
        ModelError,
        match=r"units (are 2 strings, one for each coordinate|of load must be a sequence, each a text).*, got",
    ):
        python_control.load(system, units=units)
