"""Where the search for assemblies starts: the same places each time, over every angle and the lengths that matter."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.robots import lagrangian_system
from erugin.robots.examples import slider_crank
from erugin.robots.mechanisms.position_equations import PositionEquations, low_discrepancy_points

from .mechanisms import bar, engine

Array = NDArray[np.float64]


def test_starts_fill_the_cube_evenly() -> None:
    """Counts in the 2^d corners: χ² is 2^d − 1 on average for points at random, and less than half of it here."""
    for d in (1, 2, 3, 5):
        points = np.array(list(low_discrepancy_points(d, 640)))
        assert points.shape == (640, d)
        assert points.min() >= 0.0
        assert points.max() < 1.0
        counts = np.bincount((points > 0.5) @ 2 ** np.arange(d), minlength=2**d)
        share = 640 / 2**d
        assert np.sum((counts - share) ** 2) / share < (2**d - 1) / 2
    np.testing.assert_array_equal(list(low_discrepancy_points(3, 5)), list(low_discrepancy_points(3, 5)))


def test_the_box_is_a_turn_for_angles_and_the_reach_for_lengths() -> None:
    for size in (0.1, 1.0, 40.0):
        robot = slider_crank(bar(0.4 * size, 1.0), bar(1.3 * size, 1.0), 1.0, offset=0.1 * size)
        places = PositionEquations(robot).at(0.0, robot.parameters.values(), ["crank"])
        assert list(places.periodic) == [1]
        guess = np.array([0.3, 2.0, 0.5 * size])
        starts = np.array(list(places.starts(guess, 64)))
        np.testing.assert_array_equal(starts[0], guess)
        np.testing.assert_array_equal(starts[:, 0], 0.3)
        far = np.abs(starts - guess).max(axis=0)
        assert 0.9 * np.pi < far[1] <= np.pi
        # The slider is at most crank + rod from the origin, and the guess is somewhere there too.
        assert 1.0 * size < far[2] < 3.0 * size


def test_a_full_turn_must_change_no_equation() -> None:
    """A gear ties two angles: turning one of them is not turning back; nor is a length an angle."""
    q, v = ca.SX.sym("q", 3), ca.SX.sym("v", 3)
    natural = [holonomic(q[1] - 2 * q[0], name="gear"), holonomic(ca.cos(q[2]) + ca.sin(q[1]) - 1, name="link")]
    robot = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, natural=natural)
    places = PositionEquations(robot).at(0.0, np.zeros(0), ())
    assert list(places.periodic) == [2]
    np.testing.assert_allclose(places.wrapped(np.array([9.0, 9.0, 9.0]), np.zeros(3)), [9.0, 9.0, 9.0 - 2 * np.pi])
    assert list(PositionEquations(engine()).at(0.0, engine().parameters.values(), ()).periodic) == [0, 1]
