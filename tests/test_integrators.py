"""The contract of all integrators, on motions known in closed form; test_contracts holds the table to be complete."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import lagrangian_system
from erugin.simulation import Integrator, Projected, Simulator, Trajectory

from .called import Called
from .integrators import ADAPTIVE, FIXED, ROWS, Row, name_of
from .rod_pendulum import ANGLE, SPEED, angle_at, driven, first_time_below, rod_pendulum, state

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
def test_the_error_falls_with_the_step_as_the_order_says(row: Row, projected: bool) -> None:
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
def test_a_run_stops_at_the_first_sample_at_which_it_is_told_to(row: Row) -> None:
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
