"""The variational integrator: order, constraints, reversal of time, symplecticity, momenta and energy."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Link, Robot, assemble, assemble_velocities, lagrangian_system, planar_manipulator, with_inputs
from erugin.robots.examples import bricard_mechanism
from erugin.robots.manifold.manifold import Manifold
from erugin.scenarios import simulate
from erugin.simulation import DOP853, GeneralizedAlpha, Integrator, Reduced, Simulator, Trajectory, Variational
from erugin.symbolic import Parameters

from .mechanisms import crank_rocker
from .reduced_models import MASS, bead, pendulum
from .systems import FIRST, STENCIL

Array = NDArray[np.float64]


def double_pendulum() -> Robot:
    return with_inputs(planar_manipulator([Link(0.6, 2.5, 0.35, 0.1), Link(0.5, 1.8, 0.2, 0.05)], zero="down"), ())


def linkage(rate: float = 9.0) -> tuple[Robot, Array, Array]:
    robot = with_inputs(crank_rocker(), ())
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    return robot, q, assemble_velocities(robot, q, fixed={"crank": rate})


def misfits(motion: Trajectory) -> tuple[float, float]:
    """Largest |φ| and |ρ| of the natural constraints over the samples."""
    manifold = Manifold.of(motion.robot)
    place, speed = (
        float(np.abs(motion.evaluate(e)).max()) if e.numel() else 0.0 for e in (manifold.place, manifold.velocity)
    )
    return place, speed


def orders(robot: Robot, q: Array, v: Array, duration: float, truth: tuple[Integrator, float]) -> Array:
    """Measured orders of q and v, shape (2, 2), from steps of 4, 2 and 1 ms."""
    end = simulate(robot, None, q, v, duration, step=truth[1], integrator=truth[0])
    simulator, misses = Simulator(robot, integrator=Variational()), list[list[float]]()
    for step in (4e-3, 2e-3, 1e-3):
        motion = simulator.run(q, v, duration, step=step)
        misses.append([float(np.abs(a[-1] - b[-1]).max()) for a, b in ((motion.q, end.q), (motion.v, end.v))])
        place, speed = misfits(motion)
        assert place < 1e-14
        assert speed < 1e-13
    table = np.array(misses)
    return np.asarray(np.log2(table[:-1] / table[1:]), dtype=np.float64)


@pytest.mark.parametrize("free", [True, False])
def test_the_order_is_2_with_and_without_constraints(free: bool) -> None:
    if free:
        robot, q, v = double_pendulum(), np.array([1.2, -0.4]), np.array([0.5, 1.0])
    else:
        robot, q, v = linkage()
    np.testing.assert_allclose(orders(robot, q, v, 1.0, (DOP853(1e-13, 1e-13), 1.0)), 2.0, atol=0.03)


def test_a_lagrangian_that_depends_on_time() -> None:
    """A pendulum whose pivot is shaken: T has terms of degree 1 and 0 in the velocity, V has time in it."""
    q, v, t = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("t")
    x, y = 0.3 * ca.sin(4.0 * t) + ca.sin(q), 0.2 * ca.cos(5.0 * t) - ca.cos(q)
    speed = ca.jtimes(ca.vertcat(x, y), ca.vertcat(q, t), ca.vertcat(v, 1))
    robot = lagrangian_system(q=q, v=v, t=t, p=Parameters.declare({}), T=ca.sumsqr(speed) / 2, V=9.81 * y)
    found = orders(robot, np.array([0.4]), np.array([0.2]), 1.0, (DOP853(1e-13, 1e-13), 1.0))
    np.testing.assert_allclose(found, 2.0, atol=0.03)


def test_constraints_that_move_in_time() -> None:
    """A bead on a rod that turns: r = ½ (e^{ωt} + e^{−ωt}) r₀ where it starts at rest on the rod."""
    motion = simulate(bead(speed=2.0), None, [0.5, 0.0], [0.0, 1.0], 1.0, step=1e-3, integrator=Variational())
    radius = np.linalg.norm(motion.q, axis=1)
    np.testing.assert_allclose(radius, 0.5 * np.cosh(2.0 * motion.t), rtol=0.0, atol=2e-5)
    assert max(misfits(motion)) < 1e-14


def test_an_overconstrained_mechanism_has_least_norm_reactions() -> None:
    """Bricard's, of which one of five rows is redundant, against reduced coordinates of order 4."""
    robot = with_inputs(bricard_mechanism(), ())
    found = orders(robot, np.zeros(5), np.zeros(5), 0.5, (Reduced(), 1e-3))
    np.testing.assert_allclose(found, 2.0, atol=0.03)


@pytest.mark.parametrize("constrained", [True, False])
def test_a_motion_goes_back_where_it_came_from(constrained: bool) -> None:
    if constrained:
        robot, q, v = linkage()
    else:
        robot, q, v = double_pendulum(), np.array([1.2, -0.4]), np.array([0.5, 1.0])
    simulator = Simulator(robot, integrator=Variational())
    there = simulator.run(q, v, 1.0, step=5e-3)
    back = simulator.run(there.q[-1], -there.v[-1], 1.0, step=5e-3)
    np.testing.assert_allclose(back.q[::-1], there.q, atol=1e-11)
    np.testing.assert_allclose(-back.v[::-1], there.v, atol=1e-11)
    if not constrained:
        with_others = Simulator(robot, integrator=GeneralizedAlpha())
        there = with_others.run(q, v, 1.0, step=5e-3)
        back = with_others.run(there.q[-1], -there.v[-1], 1.0, step=5e-3)
        assert np.abs(back.q[-1] - q).max() > 1e-8


def one_step(robot: Robot, integrator: Integrator, step: float) -> Callable[[Array, Array], tuple[Array, Array]]:
    simulator = Simulator(robot, integrator=integrator)

    def follow(q: Array, v: Array) -> tuple[Array, Array]:
        motion = simulator.run(q, v, step, step=step)
        return motion.q[-1], motion.v[-1]

    return follow


def jacobian(f: Callable[[Array], Array], x: Array, near: float = 1e-2) -> Array:
    """By central differences of eighth order, shape (m, n)."""
    columns = [
        np.array([c * f(x + k * near * unit) for c, k in zip(FIRST, STENCIL, strict=True) if c]).sum(axis=0) / near
        for unit in np.eye(len(x))
    ]
    return np.asarray(np.column_stack(columns), dtype=np.float64)


def test_a_step_is_symplectic() -> None:
    """JᵀΩJ = Ω for the step as a map of (q, p), p = M v; another method misses by far more."""
    robot = double_pendulum()

    def mass(q: Array) -> Array:
        return robot.evaluate(robot.mass_matrix, q=q)

    omega = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    place = np.array([0.8, -0.5, 0.6, 0.4])

    def defect(integrator: Integrator) -> float:
        follow = one_step(robot, integrator, 0.05)

        def mapped(x: Array) -> Array:
            q, v = follow(x[:2], np.asarray(np.linalg.solve(mass(x[:2]), x[2:]), dtype=np.float64))
            return np.concatenate([q, mass(q) @ v])

        J = jacobian(mapped, place)
        return float(np.abs(J.T @ omega @ J - omega).max())

    assert defect(Variational()) < 1e-9
    assert defect(GeneralizedAlpha()) > 1e-6


def test_a_step_with_constraints_is_symplectic_on_them() -> None:
    """Dqᵀ Dp − Dpᵀ Dq of a spherical pendulum in Cartesian coordinates, in angles and their rates at the start."""
    robot = pendulum(3)

    def start(x: Array) -> tuple[Array, Array]:
        a, b, da, db = x
        q = np.array([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), -np.cos(a)])
        along = np.array([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)])
        return q, da * along + db * np.array([-q[1], q[0], 0.0])

    def form(J: Array) -> Array:
        return MASS * (J[:3].T @ J[3:] - J[3:].T @ J[:3])

    place = np.array([0.9, 0.3, 0.7, 1.1])
    before = form(jacobian(lambda x: np.concatenate(start(x)), place))
    defects: list[float] = []
    for integrator in (Variational(), GeneralizedAlpha()):
        follow = one_step(robot, integrator, 0.05)
        after = form(jacobian(lambda x, follow=follow: np.concatenate(follow(*start(x))), place))  # type: ignore[misc]
        defects.append(float(np.abs(after - before).max()))
    assert np.abs(before).max() > 0.5
    assert defects[0] < 1e-9
    assert defects[1] > 1e-6


def test_the_momentum_of_a_symmetry_stays() -> None:
    """Angular momentum of a spherical pendulum about the vertical, at a step at which the energy is off by 1e-3."""
    motion = simulate(pendulum(3), None, [0.6, 0.0, -0.8], [0.8, 1.0, 0.6], 20.0, step=0.02, integrator=Variational())
    x, v = motion.q, motion.v
    momentum = MASS * (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0])
    assert abs(momentum[0] - MASS * 0.6) < 1e-15
    assert np.ptp(momentum) < 2e-13
    assert np.ptp(motion.energy) > 1e-3
    assert max(misfits(motion)) < 1e-13


def test_the_error_of_the_energy_falls_with_the_square_of_the_step() -> None:
    robot, q, v = linkage()
    simulator = Simulator(robot, integrator=Variational())
    swing = [float(np.ptp(simulator.run(q, v, 2.0, step=step).energy)) for step in (4e-3, 2e-3)]
    assert np.log2(swing[0] / swing[1]) == pytest.approx(2.0, abs=0.05)


def drift(motion: Trajectory) -> tuple[float, float]:
    """How far the energy wanders from first to last tenth of the run, and how far it swings."""
    n = len(motion) // 10
    return abs(float(motion.energy[-n:].mean() - motion.energy[:n].mean())), float(np.ptp(motion.energy))


def swinging() -> tuple[Robot, Array, Array]:
    """So high that it is not regular any more: 0.6 m and 0.5 m, let go at 1.2 and 2.0 rad."""
    return double_pendulum(), np.array([1.2, 2.0]), np.zeros(2)


def orbiting() -> tuple[Robot, Array, Array]:
    return pendulum(3), np.array([0.6, 0.0, -0.8]), np.array([0.8, 1.0, 0.6])


@pytest.mark.slow
@pytest.mark.parametrize("system", [swinging, linkage, orbiting])
def test_the_energy_does_not_drift_in_a_hundred_thousand_steps(
    system: Callable[[], tuple[Robot, Array, Array]],
) -> None:
    motion = simulate(*(system()[0], None, *system()[1:]), 200.0, step=2e-3, integrator=Variational(), every=10)
    wander, swing = drift(motion)
    whole = float(np.ptp(motion.evaluate(motion.robot.kinetic_energy)))
    assert 1e-6 * whole < swing < 1e-3 * whole
    assert wander < 0.05 * swing
    place, speed = misfits(motion)
    assert place < 1e-12
    assert speed < 1e-12 * max(1.0, float(np.abs(motion.v).max()))
