"""Projection on natural constraints: nearest in the mass metric, at rounding error, without loss of order."""

from __future__ import annotations

import dataclasses
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import distance, holonomic, nonholonomic
from erugin.controllers import Controller, Tick
from erugin.robots import Link, Robot, assemble, assemble_velocities, lagrangian_system, planar_manipulator
from erugin.robots.examples import four_bar, turtlebot3_burger
from erugin.robots.hamiltonian import Cholesky
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, CanonicalEuler, Integrator, Projected, Simulator
from erugin.simulation.integrators.projected import projection

Array = NDArray[np.float64]


class Shaken(Controller):
    """A torque that swings, from Python."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(np.array([20 * np.sin(3 * t)]))


def bars() -> Robot:
    return four_bar(Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7), ground=(2.0, 0.0))


def rod() -> Robot:
    """A pendulum as a point on a rod, in Cartesian coordinates."""
    x, v = ca.SX.sym("x", 2), ca.SX.sym("v", 2)
    return lagrangian_system(
        q=x, v=v, T=ca.sumsqr(v) / 2, V=x[1], natural=[distance(x, [0.0, 0.0], ca.SX(1.0), name="rod")]
    )


def project(robot: Robot, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    x = np.array(projection(robot).call([t, np.concatenate([q, v]), robot.parameters.values()])[0].full())[:, 0]
    return x[: len(q)], x[len(q) :]


def misses(robot: Robot, t: float, q: Array, v: Array) -> tuple[float, float]:
    c = robot.coordinates
    phi = ca.vertcat(ca.SX(0, 1), *(k.residual(c) for k in robot.natural if k.order == 0))
    rows = ca.vertcat(c.rate(phi), *(k.residual(c) for k in robot.natural if k.order == 1))
    place = robot.evaluate(phi, t=t, q=q) if phi.numel() else np.zeros(1)
    return float(np.abs(place).max()), float(np.abs(robot.evaluate(rows, t=t, q=q, v=v)).max())


def test_velocities_are_the_nearest_in_the_mass_metric() -> None:
    """At a place on the constraints, beside the whole system of equations of the minimum solved by NumPy."""
    robot = bars()
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    rng = np.random.default_rng(1)
    A = robot.evaluate(robot.natural_form[0], q=q)
    M = robot.evaluate(robot.mass_matrix, q=q)
    for _ in range(10):
        w = rng.normal(size=3)
        place, v = project(robot, 0.0, np.asarray(q), w)
        np.testing.assert_allclose(place, q, atol=1e-14)
        whole = np.block([[M, A.T], [A, np.zeros((2, 2))]])
        expected = np.linalg.solve(whole, np.concatenate([M @ w, np.zeros(2)]))[:3]
        np.testing.assert_allclose(v, expected, atol=1e-12)
        # Carnot: what is lost is the energy of the change.
        lost, change = w @ M @ w - v @ M @ v, (v - w) @ M @ (v - w)
        assert lost == pytest.approx(change, rel=1e-12)
        assert change > 1e-2


def test_positions_go_back_along_the_mass_metric() -> None:
    """To first order in the miss: M δ lies in the span of the constraint's gradients."""
    robot = bars()
    q = np.asarray(assemble(robot, [0.5, 0.3, 1.2]).q)
    rng = np.random.default_rng(2)
    for size, allowed in ((1e-3, 2e-2), (1e-5, 2e-4)):
        off = q + size * rng.normal(size=3)
        place, _ = project(robot, 0.0, off, np.zeros(3))
        # One step leaves the square of the miss, two with the same matrices its third power.
        assert misses(robot, 0.0, place, np.zeros(3))[0] < 10 * size**3 + 1e-15
        M, A = robot.evaluate(robot.mass_matrix, q=off), robot.evaluate(robot.natural_form[0], q=place)
        force = M @ (place - off)
        left = force - A.T @ np.linalg.lstsq(A.T, force, rcond=None)[0]
        assert np.linalg.norm(left) < allowed * np.linalg.norm(force)


def test_velocities_hold_where_the_positions_end() -> None:
    """However far off the positions were: there the constraints are linear in v, and one solution is exact."""
    robot = bars()
    q = np.asarray(assemble(robot, [0.5, 0.3, 1.2]).q)
    rng = np.random.default_rng(3)
    for size in (1e-1, 1e-2):
        place, v = project(robot, 0.0, q + size * rng.normal(size=3), rng.normal(size=3))
        position, velocity = misses(robot, 0.0, place, v)
        assert position > 1e-3 * size**3
        assert velocity < 1e-14
        assert np.abs(v).max() > 0.1


def test_angles_are_turned_into_sines_twice() -> None:
    """States before and after: the second step of Newton's method evaluates nothing again."""
    function = projection(bars())
    kinds = [function.instruction_id(i) for i in range(function.n_instructions())]
    for kind in ("SIN", "COS"):
        assert kinds.count(getattr(ca, f"OP_{kind}")) == 6  # not in the type information


def test_moving_nonlinear_and_nonholonomic_constraints() -> None:
    t = ca.SX.sym("t")
    x, v = ca.SX.sym("x", 3), ca.SX.sym("v", 3)
    robot = lagrangian_system(
        q=x,
        v=v,
        t=t,
        T=ca.sumsqr(v) / 2 + v[0] * v[1] / 3,
        natural=[
            holonomic(ca.sumsqr(x) - (1 + 0.3 * ca.sin(t)) ** 2, name="growing sphere"),
            nonholonomic(ca.sumsqr(v) - 2 - 0.1 * t, name="speed"),
        ],
    )
    q, w = project(robot, 0.7, np.array([0.8, 0.8, -0.3]) * 1.01, np.array([1.0, -0.9, 0.5]))
    place, rate = misses(robot, 0.7, q, w)
    assert place < 1e-5
    assert rate < 1e-3
    for _ in range(2):
        q, w = project(robot, 0.7, q, w)
    assert max(misses(robot, 0.7, q, w)) < 1e-13


def test_moving_constraints_linear_in_the_velocities() -> None:
    """A sphere that grows and a wind that is kept up with: one step of each kind of projection ends at rounding."""
    t = ca.SX.sym("t")
    x, v = ca.SX.sym("x", 3), ca.SX.sym("v", 3)
    sphere = holonomic(ca.sumsqr(x) - (1 + 0.3 * ca.sin(t)) ** 2, name="sphere")
    wind = nonholonomic(v[0] - x[1] * v[2] - ca.cos(t), name="wind")
    robot = lagrangian_system(q=x, v=v, t=t, T=ca.sumsqr(v) / 2 + v[0] * v[1] / 3, natural=[sphere, wind])
    q, w = project(robot, 0.7, np.array([0.8, 0.8, -0.3]) * 1.001, np.array([1.0, -0.9, 0.5]))
    place, rate = misses(robot, 0.7, q, w)
    assert place < 1e-4
    assert rate < 1e-14
    assert project(robot, 0.7, q, w)[1] == pytest.approx(w, abs=1e-3)


def test_there_must_be_something_to_project_on() -> None:
    arm = planar_manipulator([Link(0.5, 1.0, 0.2, 0.03)])
    with pytest.raises(ValueError, match="nothing to project on"):
        Simulator(arm, integrator=Projected())


METHODS: dict[Integrator, tuple[int, tuple[int, int]]] = {
    RK4(): (4, (50, 100)),
    CanonicalEuler(Cholesky()): (1, (800, 1600)),
    DOP853(1e-13, 1e-14): (0, (10, 20)),
}


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_every_method_keeps_its_order_and_the_constraints(method: Integrator) -> None:
    """A pendulum on a rod, started at rest at the height of its pivot, against its period by the AGM."""
    robot = rod()
    a, b = 1.0, np.cos(np.pi / 4)
    while abs(a - b) > 1e-15:
        a, b = (a + b) / 2, np.sqrt(a * b)
    period = 2.0 * np.pi / a
    order, counts = METHODS[method]
    errors: list[float] = []
    for steps in counts:
        motion = simulate(
            robot, None, [1.0, 0.0], [0.0, 0.0], period, step=period / steps, integrator=Projected(method)
        )
        errors.append(float(np.linalg.norm(np.concatenate([motion.q[-1] - [1.0, 0.0], motion.v[-1]]))))
        for i in range(1, len(motion), max(1, len(motion) // 50)):
            assert max(misses(robot, 0.0, motion.q[i], motion.v[i])) < 2e-14
    if order:
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)
    else:
        assert errors[0] < 1e-9


def test_wheels_do_not_slip() -> None:
    robot = turtlebot3_burger()
    q = np.zeros(robot.coordinates.nq)
    v = assemble_velocities(robot, q, [0.2, 0.0, 1.5, *np.zeros(robot.coordinates.nv - 3)])
    motion = simulate(robot, None, q, v, 5.0, step=1e-2, integrator=Projected())
    free = simulate(robot, None, q, v, 5.0, step=1e-2)
    slip = [misses(robot, 0.0, run.q[-1], run.v[-1])[1] for run in (motion, free)]
    assert slip[0] < 1e-15
    np.testing.assert_allclose(motion.q[-1], free.q[-1], atol=1e-6)


def test_a_controller_called_from_python_is_projected_too() -> None:
    robot = bars()
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    motion = simulate(robot, Shaken(robot), q, np.zeros(3), 0.5, step=1e-3, integrator=Projected())
    worst = max(max(misses(robot, 0.0, motion.q[i], motion.v[i])) for i in range(1, len(motion), 50))
    assert worst < 1e-14
    assert np.abs(motion.v[-1]).max() > 0.1


@pytest.mark.slow
def test_a_million_steps_leave_a_four_bar_closed() -> None:
    """1000 s at 1 ms: the loop of 2 m stays closed to 1e-12 of its size, the velocities likewise."""
    robot = bars()
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    v = assemble_velocities(robot, q, [9.0, 0.0, 0.0])
    motion = simulate(robot, None, q, v, 1000.0, step=1e-3, integrator=Projected())
    assert len(motion) == 1_000_001
    phi = robot.natural[0].residual(robot.coordinates)
    assert np.abs(motion.evaluate(phi)).max() < 2e-12
    assert np.abs(motion.evaluate(robot.coordinates.rate(phi))).max() < 1e-12 * np.abs(motion.v).max()
    turns = float(np.abs(motion.q).max()) / (2 * np.pi)
    assert turns > 100.0


def test_redundant_rows_are_passed_over() -> None:
    """The same loop closed twice is the loop closed once."""
    once = bars()
    again = tuple(dataclasses.replace(row, name="again") for row in once.natural)
    twice = dataclasses.replace(once, natural=once.natural + again, redundant="least-norm")
    q = np.asarray(assemble(once, [0.5, 0.3, 1.2]).q) + np.array([1e-3, -2e-3, 1e-3])
    w = np.array([1.0, -0.4, 0.3])
    np.testing.assert_allclose(np.hstack(project(twice, 0.0, q, w)), np.hstack(project(once, 0.0, q, w)), atol=1e-12)


@pytest.mark.parametrize("method", [RK4, "RK4"])
def test_it_needs_an_integrator(method: Any) -> None:  # noqa: ANN401 - bad on purpose
    with pytest.raises(ValueError, match=r"must be an Integrator, such as RK4\(\)"):
        Projected(method)
