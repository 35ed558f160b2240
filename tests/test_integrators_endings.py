"""How runs end before their time under every integrator: by name, with what there is, without a word printed."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.controllers import Controller, ProgramController, Status, start_on
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import CVODES, DOP853, IDAS, Integrator, Radau, SimulationError, SimulationInterrupted
from erugin.symbolic import ModelError, NotConvergedError

from .integrators import ADAPTIVE, ROWS, Row, name_of
from .rod_pendulum import ANGLE, SPEED, rod_pendulum, state
from .test_simulate_endings import outward_program

Array = NDArray[np.float64]
START = state(ANGLE, SPEED)
EACH = pytest.mark.parametrize("row", ROWS, ids=name_of)
BLOW_UP = 1.31102877714605990523 / np.sqrt(2.0)
"""When ẍ = x³ has come from rest at 2 to infinity: ∫ dy/√(2 y⁴ − 2) from 1 on; the number is the lemniscate's."""


def runaway() -> Robot:
    """ẍ = x³: leaves every bound in finite time."""
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    return lagrangian_system(q=q, v=v, T=v**2 / 2, V=-(q**4) / 4, name="runaway")


class Raising(Controller):
    """No torque, and then what it is told to raise."""

    def __init__(self, robot: Robot, when: float, error: BaseException) -> None:
        self.robot, self.when, self.error = robot, when, error

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        if t > self.when:
            raise self.error
        return np.zeros(1)


def coarse(row: Row) -> Integrator:
    """Near a singular place tight tolerances take long, and tell no more."""
    return row.method if row.tolerant is None else row.tolerant(1e-8, 1e-10)


@EACH
def test_a_motion_into_infinity_ends_by_name(row: Row, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SimulationError) as caught:
        simulate(runaway(), None, [2.0], [0.0], 5.0, step=1e-3, integrator=coarse(row))
    kept = caught.value.trajectory
    assert caught.value.status is row.diverges
    assert np.isfinite(kept.q[:-1]).all()
    assert len(kept) > 100
    if not row.order:
        assert kept.t[-1] == pytest.approx(BLOW_UP, abs=2e-3)
    assert kept.t[-1] > BLOW_UP - row.early
    assert capfd.readouterr() == ("", "")


@EACH
def test_an_arm_at_full_stretch_ends_where_its_reach_does(row: Row, capfd: pytest.CaptureFixture[str]) -> None:
    program = outward_program()
    tip = program.robot.points["tip"]
    q0, v0 = start_on(program, [-0.5, 1.4], at=[(tip, (0.5, 0.3))])
    said = "depends on" if row.reach is Status.SINGULAR else "end of a mechanism's reach"
    with pytest.raises(SimulationError, match=said) as caught:
        simulate(program.robot, ProgramController(program), q0, v0, 10.0, step=2e-3, integrator=coarse(row))
    kept = caught.value.trajectory
    assert caught.value.status is row.reach
    assert np.isfinite(kept.q).all()
    reach = np.linalg.norm(kept.evaluate(tip), axis=1)
    assert reach[-1] == pytest.approx(1.1, abs=2e-3)
    assert capfd.readouterr() == ("", "")


@EACH
def test_what_a_law_raises_is_the_cause_and_what_came_before_is_kept(
    row: Row, capfd: pytest.CaptureFixture[str]
) -> None:
    error = IndexError("the table has ended")
    law = Raising(rod_pendulum(), 0.35, error)
    with pytest.raises(SimulationError, match="the table has ended") as caught:
        simulate(law.robot, law, START[:2], START[2:], 1.0, step=0.02, integrator=row.method)
    assert caught.value.__cause__ is error
    kept = caught.value.trajectory
    # A solver that interpolates looks ahead by a step of its own.
    assert 0.2 < kept.t[-1] < 0.35
    assert np.isfinite(kept.q).all()
    assert capfd.readouterr() == ("", "")


@EACH
def test_an_interrupt_within_a_law_is_an_interrupt(row: Row, capfd: pytest.CaptureFixture[str]) -> None:
    law = Raising(rod_pendulum(), 0.35, KeyboardInterrupt())
    with pytest.raises(SimulationInterrupted) as caught:
        simulate(law.robot, law, START[:2], START[2:], 1.0, step=0.02, integrator=row.method)
    assert 0.2 < caught.value.trajectory.t[-1] < 0.35
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("method", [CVODES(max_steps=10), IDAS(max_steps=10)], ids=lambda m: type(m).__name__)
def test_too_few_steps_are_told_as_such(method: CVODES | IDAS, capfd: pytest.CaptureFixture[str]) -> None:
    robot = rod_pendulum()
    with pytest.raises(SimulationError, match=r"gave up with \w+_TOO_MUCH_WORK: .* more with max_steps") as caught:
        simulate(robot, None, START[:2], START[2:], 4.0, step=1.0, integrator=method)
    assert caught.value.status is Status.NOT_CONVERGED
    assert isinstance(caught.value.__cause__, NotConvergedError)
    np.testing.assert_allclose(caught.value.trajectory.q, [START[:2]])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("method", [DOP853(max_steps=10), Radau(max_steps=10)], ids=lambda m: type(m).__name__)
def test_too_few_steps_of_scipy_are_told_as_such(method: Integrator) -> None:
    robot = rod_pendulum()
    with pytest.raises(SimulationError, match=r"gave up: it takes more steps .* more with max_steps") as caught:
        simulate(robot, None, START[:2], START[2:], 40.0, step=20.0, integrator=method)
    assert caught.value.status is Status.NOT_CONVERGED
    np.testing.assert_allclose(caught.value.trajectory.q, [START[:2]])


@EACH
def test_a_start_where_numbers_are_too_coarse_for_any_motion_is_refused(row: Row) -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    robot = lagrangian_system(q=q, v=v, p=ca.SX(0, 1), T=ca.sumsqr(v) / 2, V=ca.cos(q[0]) + ca.sumsqr(q - 1.0))
    with pytest.raises(ModelError, match=r"q0 has 1e\+200, where numbers are .* apart: start within 1e\+15"):
        simulate(robot, None, [1e200, 0.0], [0.0, 0.0], 0.05, step=0.01, integrator=row.method)
    # Velocities may be of any size: what they lead to ends the run.
    with np.errstate(all="ignore"), pytest.raises(SimulationError):
        simulate(robot, None, [0.0, 0.0], [0.0, -1e200], 0.05, step=0.01, integrator=row.method)


@pytest.mark.parametrize("method", [DOP853(), Radau()], ids=lambda m: type(m).__name__)
def test_rates_beyond_all_numbers_end_a_run(method: Integrator) -> None:
    """SciPy finds no first step there, and would repeat one without a length for ever."""
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    robot = lagrangian_system(q=q, v=v, p=ca.SX(0, 1), T=v**2 / 2, V=-ca.exp(q))
    with np.errstate(all="ignore"), pytest.raises(SimulationError) as caught:
        simulate(robot, None, [800.0], [0.0], 0.1, step=0.1, integrator=method)
    assert caught.value.status is Status.NOT_FINITE


@pytest.mark.parametrize("row", ADAPTIVE, ids=name_of)
def test_bad_tolerances_are_refused(row: Row) -> None:
    assert row.tolerant is not None
    for pair in ((0.0, 1e-9), (1e-9, -1.0), (float("nan"), 1e-9)):
        with pytest.raises(ValueError, match="_tolerance"):
            row.tolerant(*pair)


@pytest.mark.parametrize("steps", [0, 2.5])
def test_a_number_of_steps_is_whole(steps: float) -> None:
    with pytest.raises(ValueError, match="max_steps"):
        CVODES(max_steps=steps)  # type: ignore[arg-type]
