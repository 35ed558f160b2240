"""The contract of all integrators on closed-form motions, and how runs end under each."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller, ProgramController, Status, Tick, start_on
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import (
    CVODES,
    DOP853,
    IDAS,
    Integrator,
    Projected,
    Radau,
    SimulationError,
    SimulationInterrupted,
    Simulator,
    Trajectory,
)
from erugin.symbolic import ModelError, NotConvergedError

from ...support.called_controller import Called
from ...support.integrators import ADAPTIVE, FIXED, ROWS, Row, name_of
from ...support.rod_pendulum import ANGLE, SPEED, angle_at, driven, first_time_below, rod_pendulum, state
from ...support.systems import outward_program

Array = NDArray[np.float64]
START = state(ANGLE, SPEED)
EACH = pytest.mark.parametrize("row", ROWS, ids=name_of)


@functools.cache
def runs(method: Integrator, *, called: bool = False, free: bool = False, stop: bool = False) -> Simulator:
    robot = rod_pendulum()
    controller = driven(robot)
    ends = -robot.q[0] if stop else None
    law = None if free else Called(controller) if called else controller
    return Simulator(robot, law, integrator=method, stop=ends)


def motion(method: Integrator, duration: float, step: float, *, called: bool = False) -> Trajectory:
    return runs(method, called=called).run(START[:2], START[2:], duration, step=step)


def miss(run: Trajectory) -> float:
    """Largest error of all coordinates and velocities at all samples."""
    return float(np.abs(np.column_stack([run.q, run.v]) - state(*angle_at(run.t))).max())


def length_error(run: Trajectory) -> float:
    return float(np.abs(np.linalg.norm(run.q, axis=1) - 1.0).max())


@EACH
def test_the_motion_is_right_to_the_stated_error(row: Row) -> None:
    run = motion(row.method, 2.0, 0.01)
    assert miss(run) < row.error
    assert length_error(run) < row.holds


@pytest.mark.parametrize("row", FIXED, ids=name_of)
@pytest.mark.parametrize("projected", [False, True])
def test_the_error_falls_with_the_step_by_the_order(row: Row, projected: bool) -> None:
    method = Projected(row.method) if projected else row.method
    step = 0.02 if row.order >= 4 else 0.005
    errors = [miss(motion(method, 2.0, step / k)) for k in (1, 2)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(row.order, abs=0.12)


@pytest.mark.parametrize("row", ADAPTIVE, ids=name_of)
@pytest.mark.parametrize("projected", [False, True])
def test_the_error_follows_the_tolerance(row: Row, projected: bool) -> None:
    assert row.tolerant is not None
    errors: list[float] = []
    for tolerance in (1e-5, 1e-7, 1e-9):
        method = row.tolerant(tolerance, 1e-2 * tolerance)
        errors.append(miss(motion(Projected(method) if projected else method, 2.0, 0.01)))
        assert errors[-1] < 1000 * tolerance
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


@EACH
def test_projection_keeps_the_constraints_and_the_accuracy(row: Row) -> None:
    run = motion(Projected(row.method), 2.0, 0.01)
    assert length_error(run) < 1e-15
    assert np.abs(np.sum(run.q * run.v, axis=1)).max() < 1e-13
    assert miss(run) < (row.projected or 2 * row.error)


@EACH
def test_a_law_in_python_moves_the_plant_as_the_same_law_in_expressions(row: Row) -> None:
    one, other = (motion(row.method, 0.5, 0.02, called=called) for called in (False, True))
    assert len(one) == len(other) == 26
    for key in ("q", "v", "u"):
        scale = max(1.0, float(np.abs(getattr(one, key)).max()))
        assert np.abs(getattr(one, key) - getattr(other, key)).max() < row.called * scale


@EACH
def test_a_run_stops_at_the_first_sample_that_meets_the_condition(row: Row) -> None:
    there = first_time_below(0.0, 1.3)
    for called in (False, True):
        run = runs(row.method, called=called, stop=True).run(START[:2], START[2:], 2.0, step=0.02)
        # Beyond any method's error of time.
        assert abs(run.t[-1] - there) < 0.02 + row.error
        assert run.q[-1, 0] < 0.0 <= run.q[-2, 0]
        assert run.ending.startswith("the stop condition holds")


@EACH
def test_energy_is_kept_as_well_as_claimed(row: Row) -> None:
    run = runs(row.method, free=True).run(START[:2], START[2:], 5.0, step=0.01)
    worst = float(np.abs(run.energy - run.energy[0]).max())
    assert worst < row.energy


@EACH
def test_time_counts_from_the_start_that_is_given(row: Row) -> None:
    began = 0.7
    start = state(*angle_at(np.array([began])))[0]
    for called in (False, True):
        run = runs(row.method, called=called).run(start[:2], start[2:], 0.5, step=0.02, t0=began)
        assert miss(run) < 20 * max(row.error, row.called)


@EACH
@pytest.mark.parametrize("z", [-0.7, -1.6, complex(-0.3, 0.9), complex(-0.05, 1.8)])
def test_amplification_is_that_of_one_step(row: Row, z: complex) -> None:
    """λ and its conjugate are the eigenvalues of ẍ = 2 Re λ ẋ − |λ|² x; a real one, of v̇ = λ v."""
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    stiffness = abs(z) ** 2 if z.imag else 0.0
    damping = -2 * z.real if z.imag else -z.real
    robot = lagrangian_system(q=x, v=v, T=v**2 / 2, V=stiffness * x**2 / 2, D=damping * v**2 / 2, name="oscillator")
    if not row.order:
        assert row.method.amplification(z) == 0.0
        return
    if not row.amplifies:
        return
    simulator = Simulator(robot, integrator=row.method)
    ends = [simulator.run([q], [w], 1.0, step=1.0) for q, w in ((1.0, 0.0), (0.0, 1.0))]
    matrix = np.array([[run.q[-1, 0], run.v[-1, 0]] for run in ends]).T
    eigenvalues = np.linalg.eigvals(matrix)
    largest = np.abs(eigenvalues).max() if z.imag else abs(matrix[1, 1])
    assert row.method.amplification(z) == pytest.approx(largest, rel=1e-12)


BLOW_UP = 1.31102877714605990523 / np.sqrt(2.0)
"""When ẍ = x³ has come from rest at 2 to infinity: ∫ dy/√(2 y⁴ − 2) from 1 on; the number is the lemniscate's."""


def runaway() -> Robot:
    """ẍ = x³: leaves every bound in finite time."""
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    return lagrangian_system(q=q, v=v, T=v**2 / 2, V=-(q**4) / 4, name="runaway")


class Raising(Controller):
    """No torque, and then the given exception."""

    def __init__(self, robot: Robot, when: float, error: BaseException) -> None:
        self.robot, self.when, self.error = robot, when, error

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        if t > self.when:
            raise self.error
        return Tick(np.zeros(1))


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
    message = "depends on" if row.reach is Status.SINGULAR else "end of a mechanism's reach"
    with pytest.raises(SimulationError, match=message) as caught:
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
def test_too_few_steps_are_reported(method: CVODES | IDAS, capfd: pytest.CaptureFixture[str]) -> None:
    robot = rod_pendulum()
    with pytest.raises(SimulationError, match=r"gave up with \w+_TOO_MUCH_WORK: .* increase max_steps") as caught:
        simulate(robot, None, START[:2], START[2:], 4.0, step=1.0, integrator=method)
    assert caught.value.status is Status.NOT_CONVERGED
    assert isinstance(caught.value.__cause__, NotConvergedError)
    np.testing.assert_allclose(caught.value.trajectory.q, [START[:2]])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("method", [DOP853(max_steps=10), Radau(max_steps=10)], ids=lambda m: type(m).__name__)
def test_too_few_steps_of_scipy_are_reported(method: Integrator) -> None:
    robot = rod_pendulum()
    with pytest.raises(SimulationError, match=r"gave up: it exceeds max_steps .* increase max_steps") as caught:
        simulate(robot, None, START[:2], START[2:], 40.0, step=20.0, integrator=method)
    assert caught.value.status is Status.NOT_CONVERGED
    np.testing.assert_allclose(caught.value.trajectory.q, [START[:2]])


@EACH
def test_a_start_where_numbers_are_too_coarse_for_any_motion_is_refused(row: Row) -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    robot = lagrangian_system(q=q, v=v, p=ca.SX(0, 1), T=ca.sumsqr(v) / 2, V=ca.cos(q[0]) + ca.sumsqr(q - 1.0))
    with pytest.raises(ModelError, match=r"q0 has a magnitude of 1e\+200, .* apart: start within 1e\+15"):
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
