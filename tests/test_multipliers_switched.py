"""Methods for dependent rows together with rows that are off at times, and with rows nonlinear in the accelerations."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import holonomic, second_order
from erugin.controllers import Program, ProgramController, Status
from erugin.controllers.multipliers import LeastNormMultipliers, MultiplierMethod
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, Integrator, SimulationError

from .arms import two_link_arm
from .quadratic import point_mass, size_of
from .test_multipliers import METHODS

every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)


@every_method
def test_a_row_that_is_off_says_nothing(method: MultiplierMethod) -> None:
    """The second drive of a joint joins the first at 1 s; from 2 s on the third contradicts both."""
    robot = two_link_arm()
    rows = [
        holonomic(robot.q[0] - 0.3, name="one"),
        holonomic(2 * robot.q[0] - 0.6, name="joins", when=robot.t - 1.0),
        second_order(robot.coordinates.a[0] - 4.0, name="against", when=robot.t - 2.0),
    ]
    controller = ProgramController(Program(robot, rows), method=method)
    alone = ProgramController(Program(robot, rows[0]))
    q, v = [0.4, 0.8], [0.1, -0.2]
    truth = alone.solve(0.0, q, v)
    for t in (0.5, 1.5):
        found = controller.solve(t, q, v)
        assert found.status is Status.OK
        np.testing.assert_allclose(found.acceleration, truth.acceleration, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.force, truth.force, rtol=0, atol=1e-9)
        assert bool(found.multipliers[1] == 0.0) is (t < 1.0)
        assert found.multipliers[2] == 0.0
    against = controller.solve(2.5, q, v)
    assert against.status is Status.CONTRADICTORY
    assert "'against' by" in against.message


@every_method
def test_rows_nonlinear_in_the_accelerations_and_the_same_once_more(method: MultiplierMethod) -> None:
    """a₁² = 4 asked for twice, in two units: the branch a₁ = 2 of the guess is found, with the other joint free."""
    robot = two_link_arm()
    a = robot.coordinates.a[0]
    rows = [second_order(a**2 - 4.0, name="one"), second_order(3 * a**2 - 12.0, name="other")]
    q, v, guess = [0.4, 0.8], [0.1, -0.2], ca.DM([1.5, 0.0]).full()[:, 0]
    found = ProgramController(Program(robot, rows), method=method, acceleration_guess=guess).solve(0.0, q, v)
    truth = ProgramController(Program(robot, rows[0]), acceleration_guess=guess).solve(0.0, q, v)
    assert truth.acceleration[0] == pytest.approx(2.0, rel=1e-9)
    assert found.status is Status.OK, found.message
    np.testing.assert_allclose(found.acceleration, truth.acceleration, rtol=0, atol=1e-8)


@pytest.mark.parametrize("integrator", [RK4(), DOP853()], ids=["RK4", "DOP853"])
def test_a_contradiction_inside_a_step_ends_the_run_of_a_called_controller(integrator: Integrator) -> None:
    """Rows nonlinear in a are solved from Python; from 0.54 s on, between two samples, one row contradicts another."""
    robot = point_mass()
    a = robot.coordinates.a
    late = second_order(a[0] - 2.0, name="late", when=robot.t - 0.54)
    program = Program(robot, [size_of(a, 5.0), second_order(a[0] - 1.0, name="early"), late])
    controller = ProgramController(program, method=LeastNormMultipliers(), acceleration_guess=[1.0, 4.9])
    with pytest.raises(SimulationError, match="Rows contradict each other: 'late' by 1") as caught:
        simulate(robot, controller, [0.0, 0.0], [0.0, 0.0], 1.0, step=0.1, integrator=integrator)
    kept = caught.value.trajectory
    assert caught.value.status is Status.CONTRADICTORY
    # The step in which it is seen is lost, and with an adaptive one all samples inside.
    assert kept.t[-1] <= 0.5
    np.testing.assert_allclose(kept.v, np.outer(kept.t, [1.0, np.sqrt(24.0)]), atol=1e-9)
