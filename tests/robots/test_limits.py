"""Limits given to a robot: its equations stay as they are, and whatever reads limits finds them."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.bridges import c
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.controllers.baselines import BarrierFunction
from erugin.controllers.wrappers import Saturation
from erugin.robots import Robot, combine, lagrangian_system, with_drive, with_inputs, with_limits
from erugin.scenarios import simulate
from erugin.symbolic import ModelError

from ..support.arms import two_link_arm
from ..support.controller_cases.robots import CASES, robot_case

ARM = two_link_arm()


def sledge() -> Robot:
    """Velocities that are not the rates of the coordinates."""
    q, v, u = ca.SX.sym("x"), ca.SX.sym("w"), ca.SX.sym("u")
    plain = lagrangian_system(q=q, v=v, T=v**2 / 2, Q=u, u=u)
    return dataclasses.replace(plain, coordinates=dataclasses.replace(plain.coordinates, N=ca.SX(0.5)))


@pytest.mark.parametrize("name", CASES)
def test_only_limits_change_and_they_survive_a_pickle(name: str) -> None:
    robot = robot_case(name).robot
    names, nu = robot.coordinates.names, robot.u.numel()
    effort = np.arange(1.0, nu + 1.0)
    changed = with_limits(robot, effort=effort, speed=7.0, lower={names[-1]: -2.0}, upper={names[0]: 3.0})
    for item in dataclasses.fields(Robot):
        before, after = getattr(robot, item.name), getattr(changed, item.name)
        if item.name in ("points", "frames"):
            assert list(after) == list(before)
            assert all(after[key] is before[key] for key in before)
        elif item.name != "limits":
            assert after is before or after == before
    for one in (changed, pickle.loads(pickle.dumps(changed))):
        np.testing.assert_array_equal(one.limits.effort, effort)
        np.testing.assert_array_equal(one.limits.speed, np.full(robot.coordinates.nv, 7.0))
        np.testing.assert_array_equal(one.limits.lower, [*robot.limits.lower[:-1], -2.0])
        np.testing.assert_array_equal(one.limits.upper, [3.0, *robot.limits.upper[1:]])


def test_a_number_an_array_and_names_mean_the_same() -> None:
    first, second = ARM.input_names
    for effort in (5.0, [5.0, 5.0], np.array([5.0, 5.0]), {first: 5.0, second: 5}):
        np.testing.assert_array_equal(with_limits(ARM, effort=effort).limits.effort, [5.0, 5.0])
    one = with_limits(ARM, effort={second: 4.0})
    np.testing.assert_array_equal(one.limits.effort, [np.inf, 4.0])
    both = with_limits(with_limits(one, effort={first: 9.0}), speed=2.0, effort={second: np.inf})
    np.testing.assert_array_equal(both.limits.effort, [9.0, np.inf])
    np.testing.assert_array_equal(ARM.limits.effort, [np.inf, np.inf])
    np.testing.assert_array_equal(with_limits(sledge(), speed={"w": 2.0}).limits.speed, [2.0])


def test_other_variants_keep_the_limits() -> None:
    limited = with_limits(ARM, effort=[5.0, 4.0], upper=2.0)
    np.testing.assert_array_equal(with_inputs(limited, ARM.input_names[::-1]).limits.effort, [4.0, 5.0])
    np.testing.assert_array_equal(with_drive(limited, "belt", ARM.q[0]).limits.effort, [5.0, 4.0, np.inf])
    pair = combine({"a": limited, "b": two_link_arm()})
    np.testing.assert_array_equal(with_limits(pair, effort={"b.M2": 1.0}).limits.effort, [5.0, 4.0, np.inf, 1.0])
    np.testing.assert_array_equal(pair.limits.upper, [2.0, 2.0, np.inf, np.inf])


def test_laws_and_wrappers_keep_them_along_a_motion() -> None:
    """The program is written in the symbols of the robot without limits, which is the plant."""
    limited = with_limits(ARM, effort=[28.0, 10.0])
    rows = holonomic(ARM.q - ca.DM([1.0, 1.5]), perturbation=Baumgarte(12.0), name="pose")
    free = ProgramController(Program(ARM, rows), realization="actuated")
    bounded = ProgramController(Program(limited, rows), realization="bounded")
    clipped = Saturation(ProgramController(Program(limited, rows), realization="actuated"))
    motions = [simulate(ARM, law, [-1.2, 0.4], [0.0, 0.0], 0.2, step=2e-3) for law in (free, bounded, clipped)]
    largest = [np.abs(motion.u).max(axis=0) for motion in motions]
    assert (largest[0] > [28.0, 10.0]).all()
    for bound, motion in zip(largest[1:], motions[1:], strict=True):
        assert (bound <= [28.0, 10.0]).all()
        assert bound[1] == 10.0
        assert (motion.status == Status.LIMITED).any()
    np.testing.assert_array_equal(ControlLimits.of(limited).upper, [28.0, 10.0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "requires effort=, speed=, lower= or upper="),
        ({"effort": {"M3": 1.0}}, "effort: unknown input of .*'M3'. Did you mean 'M"),
        ({"speed": {"M1": 1.0}}, "speed: unknown velocity of .*'M1'"),
        ({"upper": {"M1": 1.0}}, "upper: unknown coordinate of .*'M1'"),
        ({"effort": {0: 1.0}}, "effort"),
        ({"effort": {"M1": -1.0}}, "effort must not be negative, got -1 for 'M1'"),
        ({"speed": [1.0, -2.0]}, "speed must not be negative, got -2 for 'q2'"),
        ({"effort": {"M1": np.nan}}, "effort of 'M1' must be a number, got NaN"),
        ({"effort": {"M1": "strong"}}, "effort"),
        ({"effort": {"M1": True}}, "effort"),
        (
            {"effort": np.nan},
            "effort must be a number or 2 of them, for M1, M2, or a mapping from these names",
        ),
        ({"effort": [1.0, 2.0, 3.0]}, "effort must be a number or 2 of them"),
        ({"lower": {"q1": 2.0}, "upper": 1.0}, "lower must not be above upper, got 2 and 1 for 'q1'"),
        ({"lower": np.inf}, "lower must not be above upper, got inf and inf for 'q1'"),
        ({"upper": {"q2": -np.inf}}, "lower must not be above upper, got -inf and -inf for 'q2'"),
    ],
)
def test_wrong_limits_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        with_limits(ARM, **given)


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match=r"effort: .* has no input to limit"):
        with_limits(with_inputs(ARM, []), effort=1.0)
    with pytest.raises(ModelError, match="robot"):
        with_limits(Program(ARM, holonomic(ARM.q[0])), effort=1.0)  # type: ignore[arg-type]


def test_messages_on_missing_limits_name_the_function(tmp_path: Path) -> None:
    law = ProgramController(Program(ARM, holonomic(ARM.q)), realization="actuated")
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: Saturation(law), "effort=…"),
        (lambda: c.export(law, tmp_path / "law", saturate=True), "effort=…"),
        (lambda: BarrierFunction.joint_limits(ARM), "lower=…, upper=…"),
    ]
    for call, which in cases:
        with pytest.raises(ValueError, match=rf"erugin\.robots\.with_limits\(robot, {which}\)"):
            call()
    bounded = ProgramController(Program(ARM, holonomic(ARM.q)), realization="bounded")
    assert "erugin.robots.with_limits(robot, effort=…)" in bounded.holding(0.0, [0.0, 0.0]).message
