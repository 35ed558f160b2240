"""Natural constraints that depend on each other are named before a run."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Closure, Link, assemble, mechanism, planar_manipulator, without_rows
from erugin.robots.natural_constraints import dependent_rows
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, StartWarning

ROD = Link(0.5, 1.0, 0.25, 0.02)


def test_rows_are_judged_in_order() -> None:
    A = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1e-6], [2.0, 4.0, 3e-6], [0.0, 0.0, 0.0], [1.0, -2.0, 5.0]])
    assert dependent_rows(A) == [2, 3]
    assert dependent_rows(A[[4, 1]]) == []


def test_a_loop_closed_twice_is_refused_and_runs_without_the_spare_rows() -> None:
    arm = planar_manipulator([ROD] * 3)
    pin = Closure("tip", (0.9, 0.2), "pin")
    once, twice = mechanism(arm, [pin]), mechanism(arm, [pin, Closure("tip", (0.9, 0.2), "spare")])
    start = assemble(once, [0.4, -0.5, 0.3]).q
    with pytest.raises(ModelError, match=r"depend on those before them.*'spare\[0\]', 'spare\[1\]'.*without_rows"):
        simulate(twice, None, start, np.zeros(3), 0.1, step=1e-3)
    spared = without_rows(twice, ["spare[0]", "spare[1]"])
    one, other = (simulate(robot, None, start, np.zeros(3), 0.1, step=1e-3) for robot in (once, spared))
    np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-12)


def test_a_start_off_the_constraints_is_told_and_a_fitting_one_is_not() -> None:
    robot = mechanism(planar_manipulator([ROD] * 3), [Closure("tip", (0.9, 0.2), "pin")])
    with pytest.warns(StartWarning, match=r"starts off its natural constraint 'pin\[[01]\]', which is .* and not 0"):
        simulate(robot, None, [0.4, -0.5, 0.3], np.zeros(3), 0.01, step=1e-3)
    start = assemble(robot, [0.4, -0.5, 0.3]).q
    with pytest.warns(StartWarning, match="which, in its rate, is "):
        simulate(robot, None, start, [1.0, 0.0, 0.0], 0.01, step=1e-3)
    simulate(robot, None, start, np.zeros(3), 0.01, step=1e-3)


def test_a_row_that_is_rounding_beside_the_others_vanishes() -> None:
    A = np.array([[1.0, 2.0], [1e-12, 0.0]])
    assert dependent_rows(A, [2]) == [1]
    assert dependent_rows(A) == []


def test_reactions_that_mean_nothing_are_told() -> None:
    arm = planar_manipulator([ROD] * 3)
    pin = Closure("tip", (0.9, 0.2), "pin")
    once, twice = mechanism(arm, [pin]), mechanism(arm, [pin, Closure("tip", (0.9, 0.2), "spare")])
    q = assemble(once, [0.4, -0.5, 0.3]).q
    for robot, told in ((once, False), (twice, True)):
        controller = ProgramController(Program(robot, holonomic(robot.q[0] - 0.4, name="crank")))
        message = controller.solve(0.0, q, np.zeros(3)).message
        assert ("The reactions mean nothing: natural rows 'spare[0]', 'spare[1]' depend on others" in message) is told
