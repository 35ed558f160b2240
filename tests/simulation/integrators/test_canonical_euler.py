"""The Euler method in canonical variables: its order, its solvers, forces and reactions, and what it reports."""

from __future__ import annotations

from typing import Literal

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.controllers import Controller, ProgramController, Status, Tick, start_on
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.robots.hamiltonian import (
    Cholesky,
    ConjugateDirections,
    DenseForm,
    LegendreSolver,
    MinimalResiduals,
    StructuredElimination,
)
from erugin.scenarios import simulate
from erugin.simulation import DOP853, CanonicalEuler, LegendreReport, SimulationError
from erugin.symbolic import ModelError

from ...support.arms import ELBOW, START, disc_program, two_link_arm
from ...support.called_controller import Called

Array = NDArray[np.float64]
LINKS = [Link(0.6, 1.4, 0.25, 0.05), Link(0.4, 0.9, 0.2, 0.03), Link(0.5, 0.7, 0.1, 0.04)]
BOUND = 1.0 / 0.03
STEPS = (2e-3, 1e-3, 5e-4)


class Spring(Controller):
    """Torques M_i = −k q_i at the joints, as any Python object computes them."""

    def __init__(self, robot: Robot, stiffness: float) -> None:
        self.robot, self.stiffness = robot, stiffness

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(-self.stiffness * np.asarray(q, dtype=np.float64))


def arm() -> Robot:
    return planar_manipulator(LINKS, angles="absolute", zero="down")


def shaken() -> Robot:
    """A pendulum whose support moves, with a damper: time and velocities enter everywhere."""
    q, v, t = ca.SX.sym("phi"), ca.SX.sym("rate"), ca.SX.sym("t")
    speed = 0.6 * ca.cos(3 * t)
    return lagrangian_system(
        q=q, v=v, t=t, T=(v**2 + 2 * v * speed * ca.cos(q)) / 2, V=-9.81 * ca.cos(q), D=0.1 * v**2, name="shaken"
    )


def bead() -> Robot:
    """On a parabola y = x²/2 by a natural constraint."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    wire = holonomic(q[1] - q[0] ** 2 / 2, name="wire")
    return lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=9.81 * q[1], natural=[wire], name="bead")


def orders(robot: Robot, controller: Controller | None, q0: Array, v0: Array, solver: LegendreSolver) -> Array:
    truth = simulate(robot, controller, q0, v0, 0.5, step=0.5, integrator=DOP853(1e-12, 1e-12)).q[-1]
    assert np.abs(truth - q0).max() > 0.02
    errors = [
        np.abs(simulate(robot, controller, q0, v0, 0.5, step=h, integrator=CanonicalEuler(solver)).q[-1] - truth).max()
        for h in STEPS
    ]
    return np.log2(np.divide(errors[:-1], errors[1:]))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "solver",
    [Cholesky(), StructuredElimination(), ConjugateDirections(), MinimalResiduals(1e-7, BOUND)],
    ids=lambda s: type(s).__name__,
)
def test_the_order_is_one_with_every_solver(solver: LegendreSolver) -> None:
    got = orders(arm(), None, np.array([0.5, 0.8, -0.2]), np.array([0.1, 0.0, 0.3]), solver)
    np.testing.assert_allclose(got, 1.0, atol=0.06)


@pytest.mark.parametrize("robot", [shaken(), bead()], ids=lambda r: r.name)
def test_the_order_is_one_with_time_dissipation_and_reactions(robot: Robot) -> None:
    q0, v0 = (np.array([0.8]), np.array([-0.5])) if robot.name == "shaken" else (np.array([0.4, 0.08]), np.zeros(2))
    np.testing.assert_allclose(orders(robot, None, q0, v0, Cholesky()), 1.0, atol=0.06)


@pytest.mark.slow
def test_the_order_is_one_under_controllers_of_every_kind() -> None:
    q0, v0 = np.array([0.5, 0.8, -0.2]), np.zeros(3)
    np.testing.assert_allclose(orders(arm(), Spring(arm(), 20.0), q0, v0, Cholesky()), 1.0, atol=0.06)
    program = disc_program()
    realizations: tuple[Literal["ideal", "actuated"], ...] = ("ideal", "actuated")
    for realization in realizations:
        inner = ProgramController(program, realization=realization)
        q0, v0 = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])
        for controller in (inner, Called(inner)):
            got = orders(program.robot, controller, q0, v0, ConjugateDirections())
            np.testing.assert_allclose(got, 1.0, atol=0.1)


@pytest.mark.slow
def test_solvers_give_the_same_motion_and_matrix_free_too() -> None:
    q0, v0 = [0.5, 0.8, -0.2], [0.1, 0.0, 0.3]

    def run(integrator: CanonicalEuler) -> Array:
        return simulate(arm(), None, q0, v0, 0.3, step=1e-3, integrator=integrator).v

    exact = run(CanonicalEuler(Cholesky()))
    for solver, allowed in (
        (StructuredElimination(), 1e-11),
        (ConjugateDirections(1e-12), 1e-9),
        (MinimalResiduals(1e-6, BOUND), 1e-5),
    ):
        for matrix_free in (False, True):
            np.testing.assert_allclose(run(CanonicalEuler(solver, matrix_free)), exact, rtol=0.0, atol=allowed)
    # A loose tolerance shows in the velocities of a step, and does not add up in the momenta.
    loose = run(CanonicalEuler(MinimalResiduals(1e-3, BOUND)))
    assert 1e-6 < np.abs(loose - exact).max() < 5e-3


def test_an_oscillation_gains_energy_as_every_explicit_euler_method_makes_it() -> None:
    """By the factor 1 + (ω h)² in each step."""
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    robot = lagrangian_system(q=q, v=v, T=2 * v**2 / 2, V=2 * 25 * q**2 / 2)
    motion = simulate(robot, None, [0.1], [0.0], 2.0, step=0.01, integrator=CanonicalEuler(Cholesky()))
    np.testing.assert_allclose(motion.energy, 0.25 * (1 + 0.05**2) ** np.arange(201), rtol=1e-12)
    assert CanonicalEuler(Cholesky()).amplification(0.05j) ** 2 == pytest.approx(1 + 0.05**2, rel=1e-14)
    assert CanonicalEuler(Cholesky()).amplification(-2.0 + 0j) == 1.0


def test_too_long_a_step_for_the_gains_is_refused() -> None:
    program = disc_program()
    q0, v0 = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])
    with pytest.raises(ModelError, match=r"CanonicalEuler multiplies its deviation by 3 per step. Use at most 0.25 s"):
        simulate(
            program.robot, ProgramController(program), q0, v0, 1.0, step=0.5, integrator=CanonicalEuler(Cholesky())
        )


@pytest.mark.slow
def test_the_report_counts_the_latest_run() -> None:
    report = LegendreReport()
    assert str(report) == "no solution yet"
    euler = CanonicalEuler(MinimalResiduals(1e-6, BOUND), report=report)
    for duration in (0.4, 0.25):
        simulate(arm(), None, [0.5, 0.8, -0.2], [0.1, 0.0, 0.3], duration, step=1e-3, integrator=euler)
    assert len(report) == 250
    np.testing.assert_allclose(report.t, 1e-3 * np.arange(1, 251), atol=1e-12)
    assert report.iterations.min() >= 1
    # Matrix, first residual, then a product and five vector operations in each step: 3 × 3 entries, dense.
    step = 9 + 5 * 3 + 1
    fixed = report.multiplications - step * report.iterations
    assert np.ptp(fixed) == 0
    assert (report.additions > 0).all()
    assert report.residuals.max() <= 1e-6 / BOUND
    assert "250 solutions" in str(report)


def test_a_warm_start_saves_iterations_and_an_extrapolated_one_more() -> None:
    """The same programmes, each solved from zero, take more."""
    solver = MinimalResiduals(1e-3, BOUND)
    robot, q0, v0 = arm(), [0.5, 0.8, -0.2], [1.0, -1.0, 0.3]
    last, line = LegendreReport(), LegendreReport()
    motion = simulate(robot, None, q0, v0, 0.02, step=1e-4, integrator=CanonicalEuler(solver, report=last))
    extrapolated = CanonicalEuler(solver, start="extrapolated", report=line)
    simulate(robot, None, q0, v0, 0.02, step=1e-4, integrator=extrapolated)
    cold: list[int] = []
    for q, v in zip(motion.q[1:], motion.v[1:], strict=True):
        A = robot.evaluate(robot.mass_matrix, q=q)
        cold.append(solver.solve(DenseForm(A), A @ v).iterations)
    assert last.iterations.mean() < 0.5 * np.mean(cold)
    assert line.iterations.mean() < 0.5 * last.iterations.mean()
    with pytest.raises(ModelError, match="start must be one of 'last', 'extrapolated', got 'cold'"):
        CanonicalEuler(solver, start="cold")  # type: ignore[arg-type]


def test_an_iteration_that_does_not_converge_ends_the_run_with_what_was_computed() -> None:
    """It needs 46 iterations at first, and more later."""
    euler = CanonicalEuler(MinimalResiduals(1e-6, BOUND, limit=60))
    with pytest.raises(SimulationError, match=r"MinimalResiduals.* after 60 iterations") as caught:
        simulate(arm(), None, [0.5, 0.8, -0.2], [1.0, -1.0, 0.3], 1.0, step=1e-3, integrator=euler)
    kept = caught.value.trajectory
    assert caught.value.status is Status.NOT_CONVERGED
    assert np.isfinite(kept.q).all()
    assert 10 < len(kept) < 200


def test_a_motion_that_leaves_every_bound_ends_as_diverged() -> None:
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    runaway = lagrangian_system(q=q, v=v, T=v**2 / 2, V=-(q**4) / 4, name="runaway")
    with pytest.raises(SimulationError) as caught:
        simulate(runaway, None, [1.0], [1.0], 50.0, step=0.1, integrator=CanonicalEuler(Cholesky()))
    assert caught.value.status is Status.DIVERGED


def test_parameters_of_the_plant_may_vary() -> None:
    robot = two_link_arm()
    light, heavy = (
        simulate(robot, None, [0.3, 0.8], [0, 0], 0.2, step=1e-3, p={"m2": m}, integrator=CanonicalEuler(Cholesky())).q
        for m in (1.8, 4.0)
    )
    truth = simulate(robot, None, [0.3, 0.8], [0, 0], 0.2, step=1e-3, p={"m2": 4.0}).q
    np.testing.assert_allclose(heavy, truth, atol=5e-3)
    assert np.abs(light - truth).max() > 1e-2
