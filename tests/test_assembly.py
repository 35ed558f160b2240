"""Assembling from rough guesses: rank, redundant rows, singular places, folds, quaternions, lengths."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import (
    Assembler,
    Assembly,
    Bar,
    Link,
    Robot,
    assemble,
    lagrangian_system,
    mechanism,
    planar_linkage,
    planar_manipulator,
    without_rows,
)
from erugin.robots.examples import iftomm_four_bars, slider_crank

from .mechanisms import bar, crank_rocker, engine, stephenson
from .systems import body

Array = NDArray[np.float64]


def closed(robot: Robot, assembly: Assembly) -> None:
    """Assert that all loops are closed, by the points and not by the rows that were solved."""
    for first, second in (("coupler.end", "rocker.end"), ("connector.end", "coupler.point")):
        if first in robot.points and second in robot.points:
            gap = robot.points[first] - robot.points[second]
            np.testing.assert_allclose(robot.evaluate(gap, q=assembly.q), 0.0, atol=1e-12)


def test_random_guesses_are_assembled() -> None:
    rng = np.random.default_rng(12)
    for robot, rank in ((crank_rocker(), 2), (stephenson(), 4)):
        assembler, n = Assembler(robot), robot.coordinates.nq
        for _ in range(30):
            found = assembler.assemble(rng.uniform(-np.pi, np.pi, n))
            closed(robot, found)
            assert (found.rank, found.degrees_of_freedom, found.remaining) == (rank, 1, 1)
            assert found.redundant == ()
            assert not found.singular
            assert len(found.rows) == len(found.residual) == rank
            J = robot.evaluate(robot.natural_form[0], q=found.q, v=np.zeros(n))
            np.testing.assert_allclose(found.singular_values, np.linalg.svd(J, compute_uv=False), rtol=1e-12)


def test_a_good_guess_is_moved_least() -> None:
    """Close to the manifold a step of least norm is the orthogonal projection, to second order."""
    robot = crank_rocker()
    q = assemble(robot, [0.5, 0.5, 1.5]).q
    A = robot.evaluate(robot.natural_form[0], q=q, v=np.zeros(3))
    tangent = np.cross(A[0], A[1]) / np.linalg.norm(np.cross(A[0], A[1]))
    away = A.T @ np.array([1e-5, -2e-5])
    found = assemble(robot, q + away)
    assert abs((found.q - q) @ tangent) < 1e-8
    np.testing.assert_allclose(found.q, q, atol=1e-8)


def test_fixed_coordinates_keep_their_guess_or_their_value() -> None:
    robot, guess = crank_rocker(), [0.7, 0.2, 1.3]
    for fixed in (("crank",), "crank", ["crank"], {"crank": 0.7}):
        found = assemble(robot, guess, fixed=fixed)
        assert found.q[0] == 0.7
        assert found.remaining == 0
    assert assemble(robot, guess, fixed={"rocker": 1.9}).q[2] == 1.9
    both = assemble(robot, assemble(robot, guess).q, fixed=("crank", "coupler", "rocker"))
    assert (both.iterations, both.remaining) == (0, 0)


def test_where_all_bars_lie_flat_the_rank_drops() -> None:
    """One window lies flat: a row is lost there, and only there."""
    robot = iftomm_four_bars(1)
    flat = assemble(robot, [0.0, 0.0, 0.0])
    assert (flat.rank, flat.degrees_of_freedom, flat.redundant) == (1, 2, ("pin 1[0]",))
    assert flat.singular
    upright = assemble(robot, [1.5, 0.1, 1.6])
    assert (upright.rank, upright.degrees_of_freedom, upright.redundant) == (2, 1, ())
    assert not upright.singular
    # With N windows, N rows are lost: the benchmark's own words.
    three = assemble(iftomm_four_bars(3), np.zeros(7))
    assert (three.rank, three.degrees_of_freedom, three.singular) == (3, 4, True)


def test_equal_arms_of_a_slider_crank_cross_at_a_singular_place() -> None:
    """Crank and rod of one length, both upright: the slider, on the crank's pivot, may stay there or go on."""
    robot = slider_crank(bar(0.5, 1.0), bar(0.5, 1.0), 1.0, offset=0.0)
    crossing = assemble(robot, [np.pi / 2, -np.pi / 2, 0.0])
    assert (crossing.rank, crossing.degrees_of_freedom, crossing.singular) == (1, 2, True)
    assert crossing.redundant == ("wrist pin[1]",)
    # The same without a coordinate of the slider's own: the guide is one row, and it vanishes.
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.1)] * 2, angles="absolute")
    guided = mechanism(arm, [(arm.points["tip"][1], 0.0)])
    assert assemble(guided, [0.0, 0.0]).rank == 1
    folded = assemble(guided, [np.pi / 2, -np.pi / 2])
    assert (folded.rank, folded.redundant, folded.singular) == (0, ("closure 1",), True)


def parallel_cranks() -> Robot:
    """Three equal cranks under one coupler: one of the four rows is redundant everywhere."""
    crank = Link(1.0, 1.0, 0.5, 1 / 12)
    members = {
        "left": Bar(crank, (0.0, 0.0)),
        "coupler": Bar(Link(2.0, 1.0, 1.0, 0.3), "left.end", points={"middle": (1.0, 0.0)}),
        "right": Bar(crank, (2.0, 0.0)),
        "third": Bar(crank, (1.0, 0.0)),
    }
    return mechanism(planar_linkage(members), [("coupler.end", "right.end"), ("coupler.middle", "third.end")])


def test_a_third_parallel_crank_is_redundant_everywhere() -> None:
    robot = parallel_cranks()
    found = assemble(robot, [1.0, 0.1, 0.9, 1.1])
    assert (found.rank, found.degrees_of_freedom, found.singular) == (3, 1, False)
    assert found.redundant == ("closure coupler.middle-third.end[1]",)
    assert assemble(robot, np.zeros(4)).singular
    regular = without_rows(robot, found.redundant)
    again = assemble(regular, found.q)
    assert (again.rank, again.redundant, again.iterations) == (3, (), 0)
    # The row that is gone holds all the same, and the linkage falls like the pendulum that it is.
    a = regular.evaluate(regular.acceleration, q=found.q, v=[1.0, 0.0, 1.0, 1.0], u=np.zeros(4))
    moment = 3 * 0.5 + 1.0
    expected = -9.81 * np.cos(found.q[0]) * moment / (3 / 3 + 1.0)
    np.testing.assert_allclose(a, expected * np.array([1.0, 0.0, 1.0, 1.0]), atol=1e-9)


@pytest.mark.parametrize("guess", [[0.0, 0.0, 0.0], [np.pi, 0.0, 0.0], [0.0, np.pi, np.pi]])
def test_a_guess_that_newton_cannot_leave_is_left(guess: list[float]) -> None:
    """All bars in line but apart: no step reduces the misfit to first order."""
    found = assemble(crank_rocker(), guess)
    closed(crank_rocker(), found)
    assert found.starts == 1


def test_lengths_are_found_far_away() -> None:
    """A slider 50 m off the guess, and one that starts at nothing."""
    for place in (50.0, 0.0, -3.0):
        found = assemble(engine(), [0.4, 0.1, place], fixed=["crank"])
        assert found.rank == 2
        gap = engine().points["rod.end"] - engine().points["slider.end"]
        np.testing.assert_allclose(engine().evaluate(gap, q=found.q), 0.0, atol=1e-12)


def test_quaternions_stay_quaternions() -> None:
    """A body on a ball joint whose tip is led to a place: q̇ = N(q) v with four coordinates and three velocities."""
    robot = body().robot
    rng, start = np.random.default_rng(13), body().starts
    for _ in range(10):
        goal = start(rng, 0)
        target = robot.evaluate(robot.points["tip"], q=goal)
        found = assemble(mechanism(robot, [("tip", target)]), start(rng, 0))
        np.testing.assert_allclose(robot.evaluate(robot.points["tip"], q=found.q), target, atol=1e-10)
        assert abs(np.linalg.norm(found.q) - 1.0) < 1e-9
        assert (found.rank, found.degrees_of_freedom) == (2, 1)


def test_a_robot_without_loops_is_assembled_anywhere() -> None:
    robot = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)] * 2)
    found = assemble(robot, [0.3, 0.4])
    assert (found.rank, found.degrees_of_freedom, found.remaining, found.iterations) == (0, 2, 2, 0)
    np.testing.assert_array_equal(found.q, [0.3, 0.4])
    assert not found.q.flags.writeable


def test_only_holonomic_constraints_bind_places() -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    natural = [holonomic(q[0] ** 2 + q[1] ** 2 - 1, name="circle"), nonholonomic(v[0] - q[1] * v[1], name="roll")]
    found = assemble(lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, natural=natural), [2.0, 1.0])
    assert found.rows == ("circle",)
    np.testing.assert_allclose(np.linalg.norm(found.q), 1.0, atol=1e-12)


def test_angles_stay_within_half_a_turn_of_the_guess() -> None:
    found = assemble(crank_rocker(), [0.5 + 6 * np.pi, 0.5, 1.5 - 4 * np.pi])
    near = assemble(crank_rocker(), [0.5, 0.5, 1.5])
    np.testing.assert_allclose(found.q - near.q, [6 * np.pi, 0.0, -4 * np.pi], atol=1e-10)
