"""The body with a quaternion at random states: against Pinocchio, Newton and Euler by hand, and its own singularity."""

from __future__ import annotations

import importlib
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.simulation import DOP853

from .quaternions import (
    CENTER,
    GRAVITY,
    INERTIA,
    MASS,
    body,
    body_rate,
    quaternion_rate,
    random_orientation,
    rotation,
    top,
)

Array = NDArray[np.float64]

STATES = 50


def states() -> list[tuple[Array, Array, Array, Array]]:
    """q, v, u and ω in body axes."""
    rng = np.random.default_rng(5)
    made: list[tuple[Array, Array, Array, Array]] = []
    for _ in range(STATES):
        e, rate, omega = random_orientation(rng)
        made.append((np.append(rng.normal(size=3), e), np.append(rng.normal(size=3), rate), rng.normal(size=6), omega))
    return made


def test_forward_dynamics_agrees_with_pinocchio() -> None:
    pin: Any = importlib.import_module("pinocchio")  # has no type information
    model: Any = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    model.appendBodyToJoint(joint, pin.Inertia(MASS, CENTER, INERTIA), pin.SE3.Identity())
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    data: Any = model.createData()
    robot = body()
    for q, v, u, omega in states():
        R = rotation(q[3:])
        velocity = R.T @ v[:3]
        there = np.array(
            pin.aba(
                model,
                data,
                np.concatenate([q[:3], np.roll(q[3:], -1)]),
                np.append(velocity, omega),
                np.append(R.T @ u[:3], u[3:]),
            ),
            dtype=np.float64,
        )
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        # Pinocchio's velocities are in body axes, which turn.
        np.testing.assert_allclose(a[:3], R @ (there[:3] + np.cross(omega, velocity)), rtol=0, atol=1e-11)
        np.testing.assert_allclose(body_rate(q[3:], a[3:]), there[3:], rtol=0, atol=1e-11)
        energy = pin.computeKineticEnergy(model, data)
        assert float(robot.evaluate(robot.kinetic_energy, q=q, v=v)) == pytest.approx(energy, rel=1e-12)


def test_newton_and_euler_by_hand() -> None:
    """m c̈ = F − m g ẑ, and about the centre of mass I ω̇ + ω × I ω = τ − c × RᵀF; the force acts on the origin."""
    robot = body()
    for q, v, u, omega in states():
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        R, alpha = rotation(q[3:]), body_rate(q[3:], a[3:])
        center = a[:3] + R @ (np.cross(alpha, CENTER) + np.cross(omega, np.cross(omega, CENTER)))
        np.testing.assert_allclose(MASS * center, u[:3] - [0.0, 0.0, MASS * GRAVITY], rtol=0, atol=1e-11)
        moment = u[3:] - np.cross(CENTER, R.T @ u[:3])
        np.testing.assert_allclose(INERTIA @ alpha + np.cross(omega, INERTIA @ omega), moment, rtol=0, atol=1e-11)


def test_the_multiplier_is_that_of_eulers_theorem() -> None:
    """The equations projected on e, T and R being of degree 2 in e: μ = F·R c − ωᵀ I ω, and for the top V − 2T."""
    robot, fixed = body(), top()
    for q, v, u, omega in states():
        expected = u[:3] @ rotation(q[3:]) @ CENTER - omega @ INERTIA @ omega
        assert float(robot.evaluate(robot.reactions, q=q, v=v, u=u)) == pytest.approx(expected, abs=1e-11)
        V = MASS * GRAVITY * (rotation(q[3:]) @ CENTER)[2]
        about_pin = INERTIA + MASS * (CENTER @ CENTER * np.eye(3) - np.outer(CENTER, CENTER))
        mu = float(fixed.evaluate(fixed.reactions, q=q[3:], v=v[3:], u=u[3:]))
        assert mu == pytest.approx(V - omega @ about_pin @ omega, abs=1e-11)


def test_only_the_constraint_determines_the_motion_along_the_quaternion() -> None:
    """M has rank 6: (ẋ, ė) = (−2 R c, e) has no energy. [M; A] has rank 7."""
    robot = body()
    for q, _, _, _ in states():
        M = robot.evaluate(robot.mass_matrix, q=q)
        A = robot.evaluate(robot.natural_form[0], q=q).reshape(1, 7)
        values = np.linalg.svd(M, compute_uv=False)
        assert values[6] < 1e-14 * values[0]
        assert values[5] > 1e-2 * values[0]
        still = np.append(-2.0 * rotation(q[3:]) @ CENTER, q[3:])
        np.testing.assert_allclose(M @ still, 0.0, atol=1e-13)
        assert np.linalg.svd(np.vstack([M, A]), compute_uv=False)[6] > 1e-2
    fixed = top()
    M = fixed.evaluate(fixed.mass_matrix, q=states()[0][0][3:])
    assert np.linalg.matrix_rank(M) == 3


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_any_weight_of_the_constraint_gives_the_same_motion(weight: float) -> None:
    """Deressa, section 1.2: M + w AᵀA and the right side plus w Aᵀb, in NumPy, beside the saddle-point system."""
    robot = body()
    for q, v, u, _ in states():
        M, h = robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v)
        A = robot.evaluate(robot.natural_form[0], q=q).reshape(1, 7)
        b = np.atleast_1d(robot.evaluate(robot.natural_form[1], q=q, v=v))
        f = robot.evaluate(robot.input_matrix, q=q) @ u - h
        heavy, right = M + weight * A.T @ A, f + weight * A.T @ b
        mu = np.linalg.solve(A @ np.linalg.solve(heavy, A.T), b - A @ np.linalg.solve(heavy, right))
        a = np.linalg.solve(heavy, right + A.T @ mu)
        saddle = np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((1, 1))]]), np.append(f, b))
        np.testing.assert_allclose(np.append(a, mu), saddle, rtol=0, atol=1e-9)
        np.testing.assert_allclose(robot.evaluate(robot.acceleration, q=q, v=v, u=u), saddle[:7], rtol=0, atol=1e-11)
        np.testing.assert_allclose(robot.evaluate(robot.reactions, q=q, v=v, u=u), saddle[7], rtol=0, atol=1e-11)


def test_inputs_are_a_force_on_the_origin_and_a_torque() -> None:
    robot = body()
    for q, v, u, omega in states():
        power = v @ robot.evaluate(robot.input_matrix, q=q) @ u
        assert float(power) == pytest.approx(u[:3] @ v[:3] + u[3:] @ omega, abs=1e-13)


def test_the_frame_turns_as_scipy_says() -> None:
    robot = body()
    jacobian = robot.frame_jacobian("body")
    for q, v, _, omega in states():
        R = rotation(q[3:])
        np.testing.assert_allclose(robot.evaluate(robot.frames["body"].rotation, q=q), R, rtol=0, atol=1e-14)
        np.testing.assert_allclose(robot.evaluate(robot.points["center"], q=q), q[:3] + R @ CENTER, rtol=0, atol=1e-14)
        np.testing.assert_allclose(robot.evaluate(jacobian, q=q) @ v, np.append(v[:3], R @ omega), rtol=0, atol=1e-13)


def test_a_program_turns_the_body_and_holds_its_place() -> None:
    """Deviations of order 0 obey ÿ + 2αẏ + α²y = 0, whose solution is known; the natural constraint stays."""
    robot, alpha = body(), 2.0
    goal = holonomic(ca.vertcat(robot.q[:3], robot.q[4:]), perturbation=Baumgarte(alpha), name="pose")
    controller = ProgramController(Program(robot, goal), realization="actuated")
    e, y0 = np.array([0.8, 0.36, 0.0, 0.48]), np.array([0.3, -0.2, 0.1, 0.36, 0.0, 0.48])
    rate = quaternion_rate(e, np.array([0.3, -0.5, 0.2]))
    q0, v0 = np.append(y0[:3], e), np.append([0.1, 0.0, -0.2], rate)
    motion = simulate(robot, controller, q0, v0, 4.0, step=0.05, integrator=DOP853(1e-12, 1e-13))
    dy0 = np.append(v0[:3], rate[1:])
    exact = np.exp(-alpha * motion.t)[:, None] * (y0 + np.outer(motion.t, dy0 + alpha * y0))
    np.testing.assert_allclose(motion.deviation, exact, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(motion.q[:, 3:], axis=1), 1.0, rtol=0, atol=1e-10)
    # At rest the inputs carry the weight, which also tilts: −c × F about the origin.
    weight = np.array([0.0, 0.0, MASS * GRAVITY])
    held = controller.solve(0.0, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], np.zeros(7)).input
    np.testing.assert_allclose(held, np.append(weight, np.cross(CENTER, weight)), rtol=0, atol=1e-11)
