"""Where a branch of accelerations ends, or has none to begin with, it is said and not gone over to another."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import special

from erugin.constraints import Constraint, Exact, holonomic, second_order
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import (
    NO_PARAMETERS,
    ModelError,
    NotConvergedError,
    NotFiniteError,
    Parameters,
    ShapeError,
    SingularProgramError,
)

from .arms import disc_program
from .quadratic import point_mass, size_of


def slider(mass: float = 2.0) -> Robot:
    q, v, u = ca.SX.sym("x", 1), ca.SX.sym("v", 1), ca.SX.sym("u", 1)
    return lagrangian_system(q=q, v=v, T=mass * v**2 / 2, Q=u, u=u)


@pytest.mark.parametrize("step", [1e-2, 2e-3])
def test_a_fold_ends_the_run_when_it_comes(step: float) -> None:
    """|a| = A on a circle from rest: s″ = √(A² − s′⁴/R²) until s′² = A R at t = √(R/A) ∫₀¹ dx/√(1 − x⁴), no longer."""
    robot, radius, size = point_mass(), 0.7, 1.3
    circle = holonomic(ca.sumsqr(robot.q) - radius**2, name="circle")
    program = Program(robot, [circle, size_of(robot.coordinates.a, size)])
    controller = ProgramController(program, acceleration_guess=[0.0, 1.0])
    with pytest.raises(SimulationError, match="size") as caught:
        simulate(robot, controller, [radius, 0.0], [0.0, 0.0], 3.0, step=step)
    motion = caught.value.trajectory
    fold = float(np.sqrt(radius / size) * special.gamma(0.25) ** 2 / (4 * np.sqrt(2 * np.pi)))
    assert fold - 6 * step < motion.t[-1] <= fold
    assert caught.value.status in (Status.SINGULAR, Status.NOT_CONVERGED)
    assert motion.status[-1] == caught.value.status
    speed = np.hypot(*motion.v.T)
    assert (np.diff(speed) > 0.0).all()
    assert speed[-1] == pytest.approx(np.sqrt(radius * size), rel=0.1)
    # What was recorded on the way: the row's size against its own change falls to the fold.
    assert (np.diff(motion.pivots[:, 1]) < 0.0)[3:].all()


def test_a_row_without_root_is_missed_by_so_much() -> None:
    robot = slider()
    controller = ProgramController(Program(robot, second_order(robot.coordinates.a**2 + 0.25, name="none")))
    solution = controller.solve(0.0, [0.0], [0.0])
    # The guess is a = 0, where the row has no slope at all.
    assert solution.status is Status.SINGULAR
    controller = ProgramController(controller.program, acceleration_guess=[1.0])
    solution = controller.solve(0.0, [0.0], [0.0])
    assert solution.status in (Status.NOT_CONVERGED, Status.SINGULAR)
    with pytest.raises((NotConvergedError, SingularProgramError), match="'none'"):
        controller.control(0.0, [0.0], [0.0])


def test_a_row_out_of_reach_of_the_others_is_named() -> None:
    """x″ = 1 and |a| = 0.5: the curved row keeps at least 0.75 of its square."""
    robot = point_mass()
    a = robot.coordinates.a
    program = Program(robot, [second_order(a[0] - 1.0, name="ahead"), size_of(a, 0.5)])
    controller = ProgramController(program, acceleration_guess=[1.0, 0.6])
    solution = controller.solve(0.0, [0.0, 0.0], [0.0, 0.0])
    assert solution.status in (Status.NOT_CONVERGED, Status.SINGULAR)
    assert "'size'" in solution.message
    assert solution.program_residual >= 0.75 - 1e-9


def test_a_branch_is_kept_past_a_near_miss_and_lost_at_none() -> None:
    """x″² = A(t)²: the roots come as near as 2e-3 and go apart; steps in time far wider than that keep to one side."""
    robot = slider()
    a, t = robot.coordinates.a, robot.t
    program = Program(robot, second_order(a**2 - (1e-6 + (t - 0.5) ** 2), name="near"))
    for sign in (1.0, -1.0):
        controller = ProgramController(program, acceleration_guess=[sign])
        for time in np.arange(0.0, 1.0, 0.06):
            found = controller.solve(float(time), [0.0], [0.0])
            expected = sign * np.sqrt(1e-6 + (time - 0.5) ** 2)
            np.testing.assert_allclose(found.acceleration, [expected], rtol=1e-9)
            np.testing.assert_allclose(found.force, [2.0 * expected], rtol=1e-9)
    # With a gap in time in which there is none, the branch ends, although the next sample has a root again.
    program = Program(robot, second_order(a**2 - ((t - 0.5) ** 2 - 0.01), name="gap"))
    controller = ProgramController(program, acceleration_guess=[1.0])
    assert controller.solve(0.3, [0.0], [0.0]).status is Status.OK
    ended = controller.solve(0.75, [0.0], [0.0])
    assert ended.status is Status.OK, "both ends of the way lie on the same root, and nothing in between is asked for"
    ended = controller.solve(0.55, [0.0], [0.0])
    assert ended.status is Status.NOT_CONVERGED
    assert "branch of accelerations followed so far ends at t = 0.6" in ended.message
    assert "'gap' is missed by" in ended.message
    assert "reset() the controller first" in ended.message
    # A failure is not remembered: from where it was last found it goes on.
    assert controller.solve(0.8, [0.0], [0.0]).status is Status.OK


def test_reset_forgets_the_branch() -> None:
    """(a − c)(a + 1) = 0 with c from 1 to −3: the root followed from a = 1 is c; a search anew from 0.2 finds −1."""
    robot = slider()
    a, t = robot.coordinates.a, robot.t
    program = Program(robot, second_order((a - (1 - t)) * (a + 4.0 + 3 * ca.tanh(9 * (0.5 - t))), name="two"))
    controller = ProgramController(program, acceleration_guess=[1.2])
    times = np.linspace(0.0, 1.9, 20)
    followed = [float(controller.solve(float(time), [0.0], [0.0]).acceleration[0]) for time in times]
    np.testing.assert_allclose(followed, 1 - times, atol=1e-10)
    controller.reset()
    anew = float(controller.solve(3.0, [0.0], [0.0]).acceleration[0])
    assert anew == pytest.approx(-1.0, abs=1e-6)
    controller.reset()
    assert float(controller.solve(0.0, [0.0], [0.0]).acceleration[0]) == pytest.approx(1.0, abs=1e-10)


def test_a_plant_that_differs_shows_its_own_deviation() -> None:
    """A plant of twice the mass under the model's force: |a| is half of what the row asks, and that is recorded."""
    model, plant = slider(2.0), slider(4.0)
    controller = ProgramController(
        Program(model, second_order(model.coordinates.a**2 - 9.0, name="size")), acceleration_guess=[1.0]
    )
    motion = simulate(plant, controller, [0.0], [0.0], 0.1, step=1e-2)
    np.testing.assert_allclose(motion.u, 6.0, rtol=1e-12)
    np.testing.assert_allclose(motion.deviation, 1.5**2 - 9.0, rtol=1e-12)
    assert motion.rows == ("size",)
    assert motion.active.all()
    assert motion.active.shape == motion.pivots.shape == (11, 1)


ROBOT = slider()
CURVED = Program(ROBOT, second_order(ROBOT.coordinates.a**2 - 1.0))


@pytest.mark.parametrize(
    ("guess", "error", "message"),
    [
        ([1.0, 2.0], ShapeError, r"acceleration_guess must have shape \(1,\), got shape \(2,\)"),
        ([np.nan], ShapeError, r"acceleration_guess must be finite"),
        (ca.SX.ones(2), ModelError, r"acceleration_guess must have shape \(1,\), got \(2, 1\)"),
        (ca.SX.sym("stranger"), ModelError, "acceleration_guess uses stranger"),
        (ROBOT.u, ModelError, "acceleration_guess may use time, coordinates, velocities and parameters only"),
        (ROBOT.coordinates.a, ModelError, "acceleration_guess may use"),
    ],
)
def test_bad_guesses(guess: ArrayLike | ca.SX, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ProgramController(CURVED, acceleration_guess=guess)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ProgramController(disc_program(), acceleration_guess=[0.0, 0.0]), "of use only where rows are nonlin"),
        (
            lambda: (
                lagrangian_system(
                    q=ROBOT.q,
                    v=ROBOT.v,
                    T=ROBOT.v**2,
                    natural=[Constraint(2, lambda c: c.a[0] ** 2 - 1, Exact(), NO_PARAMETERS, "N")],
                ).unforced_acceleration
            ),
            "natural constraint 'N' is not affine in the accelerations: its reaction would have no one direction",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_of_three_roots_the_one_in_hand_is_kept() -> None:
    """(a − c)³ = (a − c)/100: from an outer root at c = 0 Newton's method at c = 5 finds the first that it meets."""
    robot = slider()
    away = robot.coordinates.a - robot.t
    program = Program(robot, second_order(away**3 - away / 100, name="three"))
    for offset in (-0.1, 0.1):
        controller = ProgramController(program, acceleration_guess=[1.01 * offset])
        for t in (0.0, 5.0, -2.0):
            np.testing.assert_allclose(controller.solve(t, [0.0], [0.0]).acceleration, [t + offset], atol=1e-10)


def test_a_root_that_comes_to_where_another_was_is_not_taken_for_it() -> None:
    """(a − c)² = 1/100 with c from 0 to 0.2: where the upper root was, now is the lower one."""
    robot = slider()
    program = Program(robot, second_order((robot.coordinates.a - robot.t) ** 2 - 0.01, name="two"))
    controller = ProgramController(program, acceleration_guess=[0.11])
    for t in (0.0, 0.2, 0.4, 0.2):
        np.testing.assert_allclose(controller.solve(t, [0.0], [0.0]).acceleration, [t + 0.1], atol=1e-10)


def test_where_the_nearest_and_the_farthest_meet_the_branch_ends() -> None:
    """|a| = 2 under a weight that turns round: at none all directions are equal, then the nearest is the farthest."""
    q, v = ca.vertcat(ca.SX.sym("x"), ca.SX.sym("y")), ca.vertcat(ca.SX.sym("vx"), ca.SX.sym("vy"))
    p = Parameters.declare({"g": 1.0})
    robot = lagrangian_system(q=q, v=v, p=p, T=ca.sumsqr(v) / 2, V=p["g"] * q[1])
    controller = ProgramController(Program(robot, size_of(robot.coordinates.a, 2.0)))
    for g in (1.0, 0.2):
        solution = controller.solve(0.0, [0.0, 0.0], [0.0, 0.0], {"g": g})
        np.testing.assert_allclose(solution.acceleration, [0.0, -2.0], atol=1e-12)
    ended = controller.solve(0.0, [0.0, 0.0], [0.0, 0.0], {"g": -0.2})
    assert ended.status is Status.NOT_CONVERGED
    assert "50 % of the way" in ended.message


@pytest.mark.parametrize("guess", [1.2, 2.0, 9.0, -1.2, -30.0])
def test_a_first_guess_may_lie_beyond_a_fold(guess: float) -> None:
    """a³ − 3a + 10 has one root, and an extremum on either side of zero between it and most guesses."""
    robot = slider()
    a = robot.coordinates.a
    controller = ProgramController(Program(robot, second_order(a**3 - 3 * a + 10.0)), acceleration_guess=[guess])
    expected = min(np.roots([1.0, 0.0, -3.0, 10.0]), key=lambda root: abs(root.imag)).real
    np.testing.assert_allclose(controller.solve(0.0, [0.0], [0.0]).acceleration, [expected], rtol=1e-12)


def test_a_condition_that_is_no_number_is_not_taken_for_a_missing_root() -> None:
    robot = slider()
    a = robot.coordinates.a
    program = Program(robot, second_order(a**2 - 1.0, name="N", when=ca.sqrt(robot.q[0])))
    controller = ProgramController(program, acceleration_guess=[0.9])
    assert controller.solve(0.0, [1.0], [0.0]).status is Status.OK
    assert controller.solve(0.0, [-1.0], [0.0]).status is Status.NOT_FINITE
    with pytest.raises(NotFiniteError, match="the condition of a row is not defined here"):
        controller.control(0.0, [-1.0], [0.0])
