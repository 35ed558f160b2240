"""Bounds of joints and drives are data: copied, frozen, and refused where they are none."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import Limits
from erugin.symbolic import ModelError

Column = list[float]


def test_limits_are_copies_that_nobody_can_change() -> None:
    lower = np.array([-1.0, -2.0])
    limits = Limits(lower, np.array([1.0, 2.0]), np.array([3.0, 3.0]), np.array([4.0]))
    lower[0] = 5.0
    assert limits.lower[0] == -1.0
    for array in (limits.lower, limits.upper, limits.speed, limits.effort):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_no_limits_are_infinite() -> None:
    limits = Limits.none(3, 2, 1)
    assert np.array_equal(limits.lower, [-np.inf] * 3)
    assert np.array_equal(limits.upper, [np.inf] * 3)
    assert np.array_equal(limits.speed, [np.inf] * 2)
    assert np.array_equal(limits.effort, [np.inf])


@pytest.mark.parametrize(
    ("lower", "upper", "speed", "effort", "message"),
    [
        ([np.nan], [1.0], [1.0], [1.0], "lower must be a vector without NaN"),
        ([0.0], [1.0], [1.0], [np.nan], "effort must be a vector without NaN"),
        ([[0.0]], [1.0], [1.0], [1.0], "lower must be a vector"),
        ([2.0], [1.0], [1.0], [1.0], "lower must not be above upper"),
        ([0.0, 0.0], [1.0], [1.0], [1.0], "lower must not be above upper"),
        ([0.0], [1.0], [-1.0], [1.0], "speed must not be negative"),
        ([0.0], [1.0], [1.0], [-1.0], "effort must not be negative"),
    ],
)
def test_what_is_no_limit_is_refused(lower: Column, upper: Column, speed: Column, effort: Column, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Limits(np.array(lower), np.array(upper), np.array(speed), np.array(effort))


def test_a_joint_may_be_held_between_equal_limits() -> None:
    limits = Limits(np.array([0.5]), np.array([0.5]), np.array([0.0]), np.array([0.0]))
    assert limits.lower == limits.upper
