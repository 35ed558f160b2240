"""All assemblies of a linkage, and where the search for them starts."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.robots import Assembler, AssemblyError, Link, branches, lagrangian_system, mechanism, planar_manipulator
from erugin.robots.examples import andrews_squeezer, four_bar, slider_crank
from erugin.robots.mechanisms.position_equations import PositionEquations, low_discrepancy_points
from erugin.symbolic import ModelError

from ...support.mechanisms import (
    COUPLER,
    CRANK,
    GROUND,
    OFFSET,
    ROCKER,
    ROD,
    bar,
    crank_rocker,
    engine,
    stephenson,
    turned,
)

Array = NDArray[np.float64]


def limit_of_crank(a: float, b: float, c: float, d: float) -> float:
    """Angle at which coupler and rocker lie in one line, b + c long, by the law of cosines."""
    return float(np.arccos((a**2 + d**2 - (b + c) ** 2) / (2 * a * d)))


def test_two_meet_at_a_fold() -> None:
    """A rocker-rocker: two assemblies short of the crank's limit, one at it, none beyond."""
    a, b, c, d = 1.0, 0.9, 0.8, 1.2
    robot = four_bar(bar(a, 1.0), bar(b, 1.0), bar(c, 1.0), ground=(d, 0.0))
    limit = limit_of_crank(a, b, c, d)
    assert 1.0 < limit < 3.0
    apart: list[float] = []
    for before in (0.1, 1e-3, 1e-6):
        pair = branches(robot, [limit - before, 0.0, 0.0], fixed=["crank"])
        assert len(pair) == 2
        assert all(one.remaining == 0 for one in pair)
        apart.append(float(np.abs(turned(pair[0].q - pair[1].q)).max()))
    # They part like the square root of the way to the fold.
    np.testing.assert_allclose(apart[1] / apart[2], np.sqrt(1e3), rtol=0.02)
    (fold,) = branches(robot, [limit, 0.0, 0.0], fixed=["crank"])
    assert (fold.rank, fold.degrees_of_freedom, fold.remaining, fold.singular) == (2, 1, 1, False)
    assert abs(turned(fold.q[1] - fold.q[2] - np.pi)) < 1e-6
    with pytest.raises(AssemblyError, match="misses by"):
        branches(robot, [limit + 1e-3, 0.0, 0.0], fixed=["crank"])


def test_slider_crank_at_the_ends_of_its_stroke() -> None:
    """With the slider held there are two cranks; at the end of the stroke, crank and rod in line, one."""
    robot, reach = engine(), float(np.sqrt((CRANK + ROD) ** 2 - OFFSET**2))
    assert len(branches(robot, [0.3, 0.0, reach - 0.05], fixed=["slider"])) == 2
    (end,) = branches(robot, [0.3, 0.0, reach], fixed=["slider"])
    assert end.remaining == 1
    np.testing.assert_allclose(end.q[:2], np.arcsin(OFFSET / (CRANK + ROD)), atol=1e-6)


@pytest.mark.parametrize("guess", [[0.7, 0.3, 1.2], [0.7, -2.0, 3.0], [0.7, 0.0, 0.0]])
def test_the_set_does_not_depend_on_the_guess(guess: list[float]) -> None:
    """Only its order does: the nearest comes first."""
    found = branches(crank_rocker(), guess, fixed=["crank"])
    other = branches(crank_rocker(), [0.7, 1.0, 1.0], fixed=["crank"])
    assert len(found) == len(other) == 2
    for one in found:
        assert min(np.abs(turned(one.q - two.q)).max() for two in other) < 1e-10
        assert np.abs(one.q - guess).max() <= np.pi
    distances = [np.linalg.norm(one.q - guess) for one in found]
    assert distances == sorted(distances)


def test_joint_by_joint_angles_are_found_too() -> None:
    """The same four-bar as a three-link arm in relative angles, its tip pinned: elbow up and elbow down."""
    arm = planar_manipulator([bar(CRANK, 1.0), bar(COUPLER, 2.0), bar(ROCKER, 1.5)])
    closed = mechanism(arm, [("tip", (GROUND, 0.0))])
    relative = branches(closed, [0.7, 0.0, 0.0], fixed=["q1"])
    absolute = branches(crank_rocker(), [0.7, 0.0, 0.0], fixed=["crank"])
    assert len(relative) == len(absolute) == 2
    # The arm's third link points from the coupler to the pivot, the rocker the other way.
    angles = [np.cumsum(one.q) - np.array([0.0, 0.0, np.pi]) for one in relative]
    for one in absolute:
        assert min(np.abs(turned(one.q - other)).max() for other in angles) < 1e-10


def test_andrews_squeezer_has_four() -> None:
    """And no more with ten times the starts."""
    start = [-0.06, 3.1, -1.1, 0.5, -0.9, -0.3, 1.0]
    assembler = Assembler(andrews_squeezer())
    assert len(assembler.branches(start, fixed=["K1"])) == 4
    assert len(assembler.branches(start, fixed=["K1"], starts=640)) == 4


def test_places_that_hang_together_are_refused() -> None:
    with pytest.raises(
        ModelError, match=r"has 1 degree\(s\) of freedom.*fix as many more of the coordinates crank, coupler"
    ):
        branches(stephenson(), np.zeros(5))
    arm = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)] * 4)
    with pytest.raises(ModelError, match="has 2 degree"):
        branches(mechanism(arm, [("tip", (1.0, 1.0))]), np.zeros(4))


def test_without_freedom_there_is_one_branch() -> None:
    q = branches(crank_rocker(), [0.7, 0.0, 0.0], fixed=["crank"])[0].q
    (only,) = branches(crank_rocker(), q, fixed=crank_rocker().coordinates.names)
    np.testing.assert_array_equal(only.q, q)


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
    np.testing.assert_allclose(places.wrap(np.array([9.0, 9.0, 9.0]), np.zeros(3)), [9.0, 9.0, 9.0 - 2 * np.pi])
    assert list(PositionEquations(engine()).at(0.0, engine().parameters.values(), ()).periodic) == [0, 1]
