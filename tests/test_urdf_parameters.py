"""What of a URDF file becomes a parameter, an input, a limit, a resistance."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erugin.robots import load_urdf
from erugin.robots.formulations import FORMULATIONS, Formulation
from erugin.symbolic import ModelError, ParameterError

from .test_urdf_dynamics import require_close
from .urdf import ARM, body, in_pinocchio, joint, load_quietly, real_robots, without_dissipation, write

OF_A_LINK = ("mass", "cx", "cy", "cz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def test_the_parameters_of_an_arm(tmp_path: Path) -> None:
    robot = load_urdf(write(tmp_path, ARM), gravity=9.8)
    upper = (2.5, 0.1, 0.2, 0.3, 0.03, 0.001, -0.002, 0.04, 0.003, 0.05)
    lower = (1.5, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.02, 0.0, 0.015)
    expected = {"g": 9.8, "shoulder.damping": 0.7, "shoulder.friction": 0.4}
    expected |= {f"upper.{name}": value for name, value in zip(OF_A_LINK, upper, strict=True)}
    expected |= {f"lower.{name}": value for name, value in zip(OF_A_LINK, lower, strict=True)}
    assert dict(robot.nominal) == expected
    assert robot.name == "arm"
    for name in ("upper.mass", "shoulder.damping", "shoulder.friction"):
        with pytest.raises(ParameterError, match="must be at least zero"):
            robot.evaluate(robot.bias, q=[0, 0], v=[0, 0], p={name: -1.0})


def test_changed_parameters_are_a_changed_file(tmp_path: Path) -> None:
    """Another mass, centre and inertia by ``p`` give what Pinocchio reads from another file."""
    robot = load_urdf(write(tmp_path, ARM))
    changed = {"upper.mass": 7.0, "upper.cy": -0.4, "upper.ixz": 0.011, "upper.izz": 0.06, "lower.mass": 0.25}
    p = changed | without_dissipation(robot)
    text = ARM.replace('value="2.5"', 'value="7"').replace("0.1 0.2 0.3", "0.1 -0.4 0.3", 1)
    text = text.replace('ixz="-0.002"', 'ixz="0.011"').replace('izz="0.05"', 'izz="0.06"')
    other = in_pinocchio(robot, write(tmp_path, text.replace('value="1.5"', 'value="0.25"')))
    q, v = other.random_state(np.random.default_rng(4))
    require_close(robot.evaluate(robot.mass_matrix, q=q, p=p), other.mass_matrix(q))
    require_close(robot.evaluate(robot.bias, q=q, v=v, p=p), other.bias(q, v))
    assert np.abs(robot.evaluate(robot.mass_matrix, q=q) - other.mass_matrix(q)).max() > 0.1


def test_a_link_that_does_not_move_has_no_parameters() -> None:
    names = load_quietly(real_robots()["panda"]).parameters.names
    assert not any(name.startswith("panda_link0.") for name in names)
    assert "panda_hand.mass" in names
    assert "panda_link0.mass" in load_quietly(real_robots()["panda"], base="floating").parameters.names


def test_limits(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        *(body(f"l{i}") for i in range(7)),
        joint("turn", "revolute", "l0", "l1").replace('lower="-3"', 'lower="-1"'),
        joint("slide", "prismatic", "l1", "l2").replace('effort="5"', 'effort="50"'),
        joint("wheel", "continuous", "l2", "l3", '<limit lower="-1" upper="1" effort="2" velocity="9"/>'),
        joint("free", "continuous", "l3", "l4"),
        joint("follower", "revolute", "l4", "l5", '<mimic joint="turn"/>').replace('velocity="7"', 'velocity="1"'),
        joint("table", "planar", "l5", "l6"),
    )
    robot = load_urdf(path, base="floating")
    inf = math.inf
    np.testing.assert_array_equal(robot.limits.lower, [-inf] * 7 + [-1, -3, -inf, -inf, -3] + [-inf] * 3)
    np.testing.assert_array_equal(robot.limits.upper, [inf] * 7 + [3, 3, inf, inf, 3] + [inf] * 3)
    np.testing.assert_array_equal(robot.limits.speed, [inf] * 6 + [7, 7, 9, inf, 1] + [inf] * 3)
    # The base and the follower are not driven.
    assert robot.input_names == ("u_turn", "u_slide", "u_wheel", "u_free", "u_table.x", "u_table.y", "u_table.angle")
    assert robot.input_units == ("N m", "N", "N m", "N m", "N", "N", "N m")
    np.testing.assert_array_equal(robot.limits.effort, [5, 50, 2, inf, inf, inf, inf])
    B = np.zeros((14, 7))
    B[[6, 7, 8, 9, 11, 12, 13], range(7)] = 1.0
    np.testing.assert_array_equal(robot.evaluate(robot.input_matrix), B)


def test_a_floating_joint_has_no_input(tmp_path: Path) -> None:
    path = write(tmp_path, '<link name="world"/>', body("trunk"), joint("free", "floating", "world", "trunk"))
    robot = load_urdf(path)
    assert (robot.coordinates.nv, robot.u.numel()) == (6, 0)
    assert robot.evaluate(robot.input_matrix).shape == (6, 0)


@pytest.mark.parametrize("speed", [None, 0.05])
def test_damping_and_friction_resist(tmp_path: Path, speed: float | None) -> None:
    robot = load_urdf(write(tmp_path, ARM), friction_speed=speed)
    q, v = np.array([0.3, 0.2]), np.array([-0.08, 0.6])
    with_none = robot.evaluate(robot.bias, q=q, v=v, p=without_dissipation(robot))
    dry = math.copysign(1.0, v[0]) if speed is None else math.tanh(v[0] / speed)
    resistance = robot.evaluate(robot.bias, q=q, v=v) - with_none
    np.testing.assert_allclose(resistance, [0.7 * v[0] + 0.4 * dry, 0.0], rtol=0.0, atol=1e-14)
    at_rest = robot.evaluate(robot.bias, q=q, v=[0, 0]) - robot.evaluate(
        robot.bias, q=q, v=[0, 0], p=without_dissipation(robot)
    )
    np.testing.assert_array_equal(at_rest, [0, 0])
    assert ("friction_speed" in robot.nominal) == (speed is not None)


def test_what_the_file_does_not_say_is_no_parameter(tmp_path: Path) -> None:
    robot = load_urdf(write(tmp_path, ARM.replace(' friction="0.4"', "")), friction_speed=0.1)
    assert "shoulder.damping" in robot.nominal
    assert "shoulder.friction" not in robot.nominal
    assert "friction_speed" not in robot.nominal


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"base": "free"}, "base must be one of 'fixed', 'floating', got 'free'"),
        ({"gravity": math.nan}, "gravity must be finite"),
        ({"gravity": "down"}, "gravity must be a number"),
        ({"friction_speed": 0.0}, "friction_speed .* must be greater than zero"),
        ({"friction_speed": -1.0}, "friction_speed .* must be greater than zero"),
    ],
)
def test_arguments_out_of_range(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        load_urdf(write(tmp_path, ARM), **arguments)


def test_an_unknown_word_is_no_argument(tmp_path: Path) -> None:
    words: dict[str, Any] = {"bases": "fixed"}
    with pytest.raises(TypeError, match="bases"):
        load_urdf(write(tmp_path, ARM), **words)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: type(f).__name__)
def test_every_formulation_derives_the_same(formulation: Formulation) -> None:
    path = real_robots()["ur5_robot"]
    robot = load_urdf(path, formulation=formulation)
    other = in_pinocchio(robot, path)
    q, v = other.random_state(np.random.default_rng(6))
    require_close(robot.evaluate(robot.mass_matrix, q=q), other.mass_matrix(q))
    require_close(robot.evaluate(robot.bias, q=q, v=v, p=without_dissipation(robot)), other.bias(q, v))
