"""Consistent velocities: against formulas, and least in the metric of the kinetic energy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import (
    Assembler,
    AssemblyError,
    Closure,
    Link,
    assemble,
    assemble_velocities,
    lagrangian_system,
    mechanism,
    planar_manipulator,
)
from erugin.symbolic import SingularProgramError

from .mechanisms import COUPLER, CRANK, OFFSET, ROCKER, ROD, crank_rocker, engine, stephenson
from .systems import body

Array = NDArray[np.float64]


def test_rates_of_the_four_bar_are_nortons() -> None:
    """Norton, Design of Machinery, eq. (6.18), for a given speed of the crank."""
    robot, rng = crank_rocker(), np.random.default_rng(1)
    assembler = Assembler(robot)
    for _ in range(20):
        q = assembler.assemble(rng.uniform(-np.pi, np.pi, 3)).q
        speed = float(rng.uniform(1.0, 5.0))
        coupler = CRANK * speed * np.sin(q[2] - q[0]) / (COUPLER * np.sin(q[1] - q[2]))
        rocker = CRANK * speed * np.sin(q[0] - q[1]) / (ROCKER * np.sin(q[2] - q[1]))
        expected = [speed, coupler, rocker]
        np.testing.assert_allclose(assembler.velocities(q, fixed={"crank": speed}), expected, rtol=1e-10)
        np.testing.assert_allclose(assembler.velocities(q, [speed, 9.0, 9.0], fixed="crank"), expected, rtol=1e-10)


def test_rates_of_the_slider_crank() -> None:
    for angle in (0.3, 2.0, -1.0):
        q = assemble(engine(), [angle, 0.0, 1.3], fixed=["crank"]).q
        v = assemble_velocities(engine(), q, fixed={"crank": 3.0})
        drop = OFFSET - CRANK * np.sin(angle)
        run = np.sqrt(ROD**2 - drop**2)
        slider = -CRANK * 3.0 * np.sin(angle) + drop * CRANK * 3.0 * np.cos(angle) / run
        np.testing.assert_allclose(v, [3.0, -CRANK * 3.0 * np.cos(angle) / run, slider], rtol=1e-12)


def test_free_velocities_are_nearest_in_kinetic_energy() -> None:
    """The difference does no work on any admissible velocity: Zᵀ M (v − w) = 0, A v = 0, and only so."""
    robot, rng = stephenson(), np.random.default_rng(2)
    assembler, apart = Assembler(robot), 0.0
    for _ in range(10):
        q = assembler.assemble(rng.uniform(-np.pi, np.pi, 5)).q
        w = rng.uniform(-3.0, 3.0, 5)
        v = assembler.velocities(q, w)
        A = robot.evaluate(robot.natural_form[0], q=q, v=v)
        M, Z = robot.evaluate(robot.mass_matrix, q=q), null_space(A)
        np.testing.assert_allclose(A @ v, 0.0, atol=1e-11)
        np.testing.assert_allclose(Z.T @ M @ (v - w), 0.0, atol=1e-11)
        np.testing.assert_allclose(assembler.velocities(q, v), v, atol=1e-11)
        apart = max(apart, float(np.abs(v - Z @ Z.T @ w).max()))
    # Euclid's nearest velocities are others.
    assert apart > 0.1


def test_moving_places_and_rolling_are_obeyed() -> None:
    """φ(q, t) with φ_t, and constraints of order 1 that are not linear in v."""
    q, v, t = ca.SX.sym("q", 3), ca.SX.sym("v", 3), ca.SX.sym("t")
    natural = [
        holonomic(q[0] * q[1] - ca.sin(t), name="led"),
        nonholonomic(v[1] * v[2] + v[2] ** 3 - q[0] - t, name="curved"),
    ]
    T = (v[0] ** 2 + 2 * v[1] ** 2 + 3 * v[2] ** 2 + v[0] * v[1]) / 2
    robot = lagrangian_system(q=q, v=v, t=t, T=T, natural=natural)
    place, time = np.array([0.5, 2 * np.sin(0.4), 0.0]), 0.4
    w = np.array([1.0, 1.0, 1.0])
    x = assemble_velocities(robot, place, w, t=time)
    assert abs(place[1] * x[0] + place[0] * x[1] - np.cos(time)) < 1e-12
    assert abs(x[1] * x[2] + x[2] ** 3 - place[0] - time) < 1e-12
    # Stationary: M (x − w) is a combination of the gradients.
    M = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 3.0]])
    gradients = np.array([[place[1], place[0], 0.0], [0.0, x[2], x[1] + 3 * x[2] ** 2]])
    assert np.abs(null_space(gradients).T @ M @ (x - w)).max() < 1e-9
    assert np.abs(x - w).max() > 0.1


def test_quasi_velocities_of_a_quaternion() -> None:
    """Two coordinates of the tip are held, which leaves a turn about the axis to the tip; all inertias are equal."""
    robot = body().robot
    goal = body().starts(np.random.default_rng(3), 0)
    led = mechanism(robot, [("tip", robot.evaluate(robot.points["tip"], q=goal))])
    axis, w = np.array([0.6, 0.3, -0.4]), np.array([1.0, 2.0, -3.0])
    np.testing.assert_allclose(assemble_velocities(led, goal, w), axis * (axis @ w) / (axis @ axis), atol=1e-12)
    np.testing.assert_allclose(assemble_velocities(led, goal, fixed=led.coordinates.names), 0.0)


def test_at_a_dead_point_the_output_cannot_be_driven() -> None:
    """Crank and rod in line: whatever the crank does, the slider stands."""
    robot = engine()
    angle = float(np.arcsin(OFFSET / (CRANK + ROD)))
    q = assemble(robot, [angle, angle, CRANK + ROD], fixed=["crank"]).q
    np.testing.assert_allclose(assemble_velocities(robot, q, fixed={"crank": 2.0})[2], 0.0, atol=1e-7)
    with pytest.raises(
        AssemblyError, match=r"no velocities at .* satisfy 'wrist pin': its rate is missed.*\(slider\)"
    ) as caught:
        assemble_velocities(robot, q, fixed={"slider": 2.0})
    assert caught.value.misses["wrist pin"] > 0.1


def test_a_row_that_vanishes_binds_no_velocity() -> None:
    """Two equal bars folded upon each other under a guide: its row is zero there, to rounding."""
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.1)] * 2, angles="absolute")
    guided = mechanism(arm, [Closure("tip", (0.0, 0.0), rows=(1,))])
    v = assemble_velocities(guided, [np.pi / 2, -np.pi / 2], [1.0, 2.0])
    np.testing.assert_allclose(v, [1.0, 2.0], atol=1e-12)


def test_singular_masses() -> None:
    """A massless coordinate that a constraint ties is determined; one that is free is not."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    tied = lagrangian_system(q=q, v=v, T=v[0] ** 2 / 2, natural=[holonomic(q[1] - 2 * q[0], name="gear")])
    np.testing.assert_allclose(assemble_velocities(tied, [0.0, 0.0], [1.0, 5.0]), [1.0, 2.0], atol=1e-12)
    with pytest.raises(
        SingularProgramError, match="mass matrix is singular along velocities that no natural constraint"
    ):
        assemble_velocities(lagrangian_system(q=q, v=v, T=v[0] ** 2 / 2), [0.0, 0.0], [1.0, 5.0])


def test_contradicting_rows_are_named() -> None:
    q, v, t = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("t")
    natural = [holonomic(q[0], name="still"), holonomic(q[0] - t, name="moving")]
    robot = lagrangian_system(q=q, v=v, t=t, T=ca.sumsqr(v) / 2, natural=natural)
    with pytest.raises(AssemblyError, match="rows contradict one another") as caught:
        assemble_velocities(robot, [0.0, 0.0])
    np.testing.assert_allclose([caught.value.misses[name] for name in ("still", "moving")], 0.5, atol=1e-12)
