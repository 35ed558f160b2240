"""The rigid body with a quaternion: random states, free motion, tops, and bad arguments."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot
from erugin.robots.examples import heavy_top, quaternion_body
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Trajectory
from erugin.symbolic import ModelError, ParameterError

from ...support.quaternions import (
    CENTER,
    GRAVITY,
    INERTIA,
    MASS,
    body,
    body_rate,
    quaternion,
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


@pytest.mark.foreign
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


def test_the_frame_rotates_as_in_scipy() -> None:
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


Maker = Callable[..., Robot]

makers = pytest.mark.parametrize("make", [quaternion_body, heavy_top])


@makers
@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (np.diag([1.0, 2.0, 3.1]), r"principal moments are 1, 2 and 3\.1 kg m².*greater than the sum"),
        (np.diag([1.0, 2.0, -1.0]), "principal moments are -1, 1 and 2 kg m², but none may be negative"),
        (np.diag([0.0, 1.0, 1.0]), "must be positive definite"),
        ([[1.0, 0.1, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]], "must be a symmetric matrix"),
        (np.ones(3), r"shape \(3, 3\)"),
        (np.diag([1.0, np.nan, 1.0]), "finite"),
        ("heavy", "must be numbers"),
    ],
    ids=["triangle", "negative", "rod", "unsymmetric", "vector", "nan", "word"],
)
def test_an_inertia_that_no_body_has(make: Maker, inertia: ArrayLike, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make(1.0, inertia, center=(0.0, 0.0, 0.1))


@makers
def test_other_numbers_out_of_range(make: Maker) -> None:
    with pytest.raises(ModelError, match=r"mass .* must be greater than zero, got 0"):
        make(0.0, np.eye(3), center=(0.0, 0.0, 0.1))
    with pytest.raises(ModelError, match=r"center must have shape \(3,\)"):
        make(1.0, np.eye(3), center=(0.0, 0.1))
    with pytest.raises(ModelError, match=r"center\[1\] .* must be finite, got inf"):
        make(1.0, np.eye(3), center=(0.0, np.inf, 0.1))
    with pytest.raises(TypeError, match="center"):
        make(1.0, np.eye(3))
    robot = make(1.0, np.eye(3), center=(0.0, 0.0, 0.1))
    with pytest.raises(ParameterError, match="'m' must be greater than zero"):
        robot.evaluate(robot.mass_matrix, q=np.ones(robot.coordinates.nq), p={"m": -1.0})


@makers
def test_a_flat_body_is_allowed(make: Maker) -> None:
    """A thin disc: the moment across equals the sum of the others."""
    assert make(1.0, np.diag([0.1, 0.1, 0.2]), center=(0.0, 0.0, 0.1)).nominal["Izz"] == 0.2


TIGHT = DOP853(1e-13, 1e-13)
SPIN = np.array([1.0, -2.0, 3.0])
MOMENTS = np.array([1.0, 2.0, 3.0])


def rates(motion: Trajectory) -> Array:
    """ω in body axes along a motion."""
    return np.array([body_rate(q[3:], v[3:]) for q, v in zip(motion.q, motion.v, strict=True)])


def spatial_momentum(motion: Trajectory, inertia: Array) -> Array:
    """R I ω about the centre of mass, in world axes."""
    pairs = zip(motion.q, rates(motion), strict=True)
    return np.array([rotation(q[3:]) @ inertia @ omega for q, omega in pairs])


def test_thrown_body_turns_by_eulers_equations_and_falls_along_a_parabola() -> None:
    """Ten seconds; Euler's equations with ė = ½ e ∘ ω are integrated by SciPy, in other coordinates."""
    robot, e0 = body(), np.array([0.5, -0.5, 0.5, 0.5])
    R0, v_center = rotation(e0), np.array([0.4, 0.3, 5.0])
    velocity = v_center - R0 @ np.cross(SPIN, CENTER)
    motion = simulate(
        robot,
        None,
        np.append(-R0 @ CENTER, e0),
        np.append(velocity, quaternion_rate(e0, SPIN)),
        10.0,
        step=0.05,
        integrator=TIGHT,
    )

    def euler(_: float, x: Array) -> Array:
        omega = x[4:]
        slope = np.linalg.solve(INERTIA, -np.cross(omega, INERTIA @ omega))
        return np.append(quaternion_rate(x[:4], omega), slope).astype(np.float64)

    there = solve_ivp(
        euler, (0.0, 10.0), np.append(e0, SPIN), method="DOP853", t_eval=motion.t, rtol=1e-13, atol=1e-13
    ).y.T
    np.testing.assert_allclose(motion.q[:, 3:], there[:, :4], rtol=0, atol=1e-11)
    np.testing.assert_allclose(rates(motion), there[:, 4:], rtol=0, atol=1e-11)
    falling = np.outer(motion.t, v_center)
    falling[:, 2] -= GRAVITY * motion.t**2 / 2
    np.testing.assert_allclose(motion.evaluate(robot.points["center"]), falling, rtol=0, atol=1e-10)
    scale = float(motion.evaluate(robot.kinetic_energy).max())
    assert np.ptp(motion.energy) < 1e-10 * scale
    momentum = spatial_momentum(motion, INERTIA)
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(motion), 1)), rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(motion.q[:, 3:], axis=1), 1.0, rtol=0, atol=1e-11)


def test_spin_about_the_middle_axis_flips_as_elliptic_functions_do() -> None:
    """Landau and Lifshitz, Mechanics, § 37: cn, sn and dn, from a start at a quarter of their period."""
    I1, I2, I3 = MOMENTS
    start = np.array([0.0, 8.0, 0.02])
    robot = quaternion_body(1.0, np.diag(MOMENTS), center=(0.0, 0.0, 0.0), gravity=0.0)
    e0 = np.array([1.0, 0.0, 0.0, 0.0])
    q0, v0 = np.append(np.zeros(3), e0), np.append(np.zeros(3), quaternion_rate(e0, start))
    motion = simulate(robot, None, q0, v0, 10.0, step=0.02, integrator=TIGHT)

    twice_energy, square = float(MOMENTS @ start**2), float(MOMENTS**2 @ start**2)
    speed = np.sqrt((I3 - I2) * (square - twice_energy * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (twice_energy * I3 - square) / ((I3 - I2) * (square - twice_energy * I1))
    quarter = float(ellipk(m))
    sn, cn, dn, _ = ellipj(speed * motion.t + quarter, m)
    exact = np.column_stack(
        [
            np.sqrt((twice_energy * I3 - square) / (I1 * (I3 - I1))) * cn,
            np.sqrt((twice_energy * I3 - square) / (I2 * (I3 - I2))) * sn,
            np.sqrt((square - twice_energy * I1) / (I3 * (I3 - I1))) * dn,
        ]
    )
    omega = rates(motion)
    np.testing.assert_allclose(omega, exact, rtol=0, atol=1e-7)
    flips = int(np.count_nonzero(np.diff(np.sign(omega[:, 1]))))
    assert flips == int((speed * 10.0 / quarter + 1.0) / 2.0)
    assert flips >= 3
    # What flips is the body, not its angular momentum.
    momentum = spatial_momentum(motion, np.diag(MOMENTS))
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(motion), 1)), rtol=0, atol=1e-10)
    assert np.ptp(motion.energy) < 1e-10 * motion.energy[0]


M, L, ACROSS, AXIAL = 0.5, 0.1, 2e-3, 8e-4
"""Mass, distance of its centre from the point, and moments of a symmetric top about its centre."""
PIVOT = ACROSS + M * L**2


def symmetric_top() -> Robot:
    return heavy_top(M, np.diag([ACROSS, ACROSS, AXIAL]), center=(0.0, 0.0, L))


def turned(phi: Array, theta: Array, psi: Array) -> Array:
    """Rotations by Euler's angles: precession about z, nutation about x, spin about z."""
    return np.asarray(Rotation.from_euler("ZXZ", np.column_stack([phi, theta, psi])).as_matrix(), dtype=np.float64)


def start(theta: float, rates: Array) -> tuple[Array, Array]:
    """e and ė at φ = ψ = 0 for the rates of precession, nutation and spin."""
    e = quaternion(Rotation.from_euler("ZXZ", [0.0, theta, 0.0]))
    omega = np.array([rates[1], rates[0] * np.sin(theta), rates[2] + rates[0] * np.cos(theta)])
    return e, quaternion_rate(e, omega)


@pytest.mark.parametrize("branch", [-1.0, 1.0], ids=["slow", "fast"])
def test_steady_precession(branch: float) -> None:
    """I₁ Ω² cos θ − I₃ ω₃ Ω + m g l = 0 has two roots; with either the axis goes round a circle for ten seconds."""
    theta, spin = 0.7, 200.0
    b, c = AXIAL * spin, M * GRAVITY * L
    precession = (b + branch * np.sqrt(b**2 - 4 * PIVOT * np.cos(theta) * c)) / (2 * PIVOT * np.cos(theta))
    own = spin - precession * np.cos(theta)
    robot = symmetric_top()
    e, rate = start(theta, np.array([precession, 0.0, own]))
    motion = simulate(robot, None, e, rate, 10.0, step=0.02, integrator=TIGHT)
    expected = turned(precession * motion.t, np.full(len(motion), theta), own * motion.t)
    found = np.array([rotation(q) for q in motion.q])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    assert np.ptp(motion.energy) < 1e-10 * float(motion.evaluate(robot.kinetic_energy).max())
    assert abs(precession) > 1.0


def test_a_nutating_top_against_eulers_angles() -> None:
    """Lagrange's top reduced to θ by its two conserved momenta, integrated by SciPy."""
    theta, rates = 0.6, np.array([0.0, 0.0, 80.0])
    e, rate = start(theta, rates)
    motion = simulate(symmetric_top(), None, e, rate, 5.0, step=0.02, integrator=TIGHT)
    axial = AXIAL * (rates[2] + rates[0] * np.cos(theta))
    vertical = PIVOT * rates[0] * np.sin(theta) ** 2 + axial * np.cos(theta)

    def lagrange(_: float, x: Array) -> Array:
        phi_rate = (vertical - axial * np.cos(x[1])) / (PIVOT * np.sin(x[1]) ** 2)
        force = PIVOT * phi_rate**2 * np.sin(x[1]) * np.cos(x[1]) - axial * phi_rate * np.sin(x[1])
        return np.array(
            [
                phi_rate,
                x[3],
                axial / AXIAL - phi_rate * np.cos(x[1]),
                (force + M * GRAVITY * L * np.sin(x[1])) / PIVOT,
            ]
        )

    there = solve_ivp(
        lagrange, (0.0, 5.0), [0.0, theta, 0.0, 0.0], method="DOP853", t_eval=motion.t, rtol=1e-13, atol=1e-13
    ).y
    found = np.array([rotation(q) for q in motion.q])
    np.testing.assert_allclose(found, turned(there[0], there[1], there[2]), rtol=0, atol=1e-8)
    assert np.ptp(there[1]) > 0.1


def test_a_free_body_pinned_at_its_origin_is_the_top() -> None:
    """The pin is a second natural constraint; its multiplier is the force that carries the accelerated weight."""
    free, fixed = body(), top()
    pinned = dataclasses.replace(free, natural=(*free.natural, holonomic(free.q[:3], name="pin")))
    rng = np.random.default_rng(9)
    for _ in range(30):
        e, rate, omega = random_orientation(rng)
        q, v, u = np.append(np.zeros(3), e), np.append(np.zeros(3), rate), np.append(np.zeros(3), rng.normal(size=3))
        a = pinned.evaluate(pinned.acceleration, q=q, v=v, u=u)
        np.testing.assert_allclose(a[:3], 0.0, atol=1e-11)
        np.testing.assert_allclose(a[3:], fixed.evaluate(fixed.acceleration, q=e, v=rate, u=u[3:]), rtol=0, atol=1e-11)
        alpha = body_rate(e, a[3:])
        center = rotation(e) @ (np.cross(alpha, CENTER) + np.cross(omega, np.cross(omega, CENTER)))
        force = pinned.evaluate(pinned.reactions, q=q, v=v, u=u)[1:]
        np.testing.assert_allclose(force, MASS * center + np.array([0.0, 0.0, MASS * GRAVITY]), rtol=0, atol=1e-10)
