"""Linearization about states and along motions: closed forms, Pinocchio, finite differences."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, interpolate

from erugin.constraints import holonomic
from erugin.controllers import Linearizer, NominalMotion, Program, ProgramController, Reference, equilibrium, linearize
from erugin.robots import (
    Link,
    Robot,
    assemble,
    assemble_velocities,
    planar_manipulator,
)
from erugin.robots.examples import four_bar, fukao_robot, realaigym_acrobot
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError, ShapeError, SingularProgramError

from ...support.arms import two_link_arm
from ...support.linearized_robots import cart_pole, free_body, linkage
from ...support.urdf import load_quietly, real_robots, without_dissipation

Array = NDArray[np.float64]


def test_a_cart_pole_upright_is_that_of_the_textbook() -> None:
    """M ẍ = u − m g θ and M l θ̈ = (M + m) g θ − u, about the upright position."""
    M, m, l, g = 2.0, 0.5, 0.8, 9.81
    line = linearize(cart_pole(), [0.3, 0.0])
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    A[0, 2] = A[1, 3] = 1.0
    A[2, 1], A[3, 1] = -m * g / M, (M + m) * g / (M * l)
    B[2, 0], B[3, 0] = 1.0 / M, -1.0 / (M * l)
    np.testing.assert_allclose(line.A, A, atol=1e-13)
    np.testing.assert_allclose(line.B, B, atol=1e-13)
    rate = np.sqrt((M + m) * g / (M * l))
    np.testing.assert_allclose(line.poles, [rate, 0.0, 0.0, -rate], atol=1e-7)
    assert line.states == ("x", "angle", "v_0", "v_1")
    np.testing.assert_allclose(line.rate, 0.0, atol=1e-15)


@pytest.mark.foreign
def test_an_arm_against_the_derivatives_of_pinocchio() -> None:
    """∂a/∂q, ∂a/∂v and M⁻¹ by Pinocchio's recursions [Carpentier2018], at states in motion."""
    pin: Any = importlib.import_module("pinocchio")
    path = real_robots()["ur5_robot"]
    robot, model = load_quietly(path), pin.buildModelFromUrdf(str(path))
    data = model.createData()
    linearizer, rng = Linearizer(robot), np.random.default_rng(3)
    for _ in range(4):
        q, v, u = rng.uniform(-2, 2, 6), rng.uniform(-1, 1, 6), rng.uniform(-20, 20, 6)
        line = linearizer.at(0.0, q, v, u, p=without_dissipation(robot))
        pin.computeABADerivatives(model, data, q, v, u)
        pin.computeMinverse(model, data, q)
        a_q, a_v, inverse = np.array(data.ddq_dq), np.array(data.ddq_dv), np.array(data.Minv)
        # Of M⁻¹ only the upper triangle is filled in.
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        for mine, other in ((line.A[6:, :6], a_q), (line.A[6:, 6:], a_v), (line.B[6:], inverse)):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-9 * np.abs(other).max())


def crank_motion(angle: float, rate: float, torque: float) -> tuple[Array, Array, float]:
    """Assembled state of the linkage and the acceleration of its crank."""
    robot = linkage()
    q = assemble(robot, [angle, 0.7, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, [rate, 0, 0], fixed=[robot.coordinates.names[0]])
    return q, v, float(robot.evaluate(robot.acceleration, q=q, v=v, u=[torque])[0])


def test_a_four_bar_against_differences_of_its_crank_alone() -> None:
    """With one degree of freedom left, s̈ = F(s, ṡ, u): its derivatives by differences of assembled states."""
    s, w, u, e = 0.8, 3.0, 1.5, 1e-5
    q, v, _ = crank_motion(s, w, u)
    crank, rate = linkage().coordinates.names[0], linkage().v[0].name()
    line = linearize(linkage(), q, v, [u], independent=[crank, rate])
    by = [
        (crank_motion(s + ds, w + dw, u + du)[2] - crank_motion(s - ds, w - dw, u - du)[2]) / (2 * e)
        for ds, dw, du in np.eye(3) * e
    ]
    np.testing.assert_allclose(line.A, [[0.0, 1.0], by[:2]], rtol=0, atol=1e-7 * max(map(abs, by)))
    np.testing.assert_allclose(line.B, [[0.0], by[2:]], rtol=1e-7)
    # Where it rests, the poles are the same whatever coordinate is the independent one.
    rest = equilibrium(linkage(), assemble(linkage(), [0.8, 0.7, 1.5]).q)
    choices = [[linkage().coordinates.names[i], linkage().v[i].name()] for i in range(3)]
    poles = [linearize(linkage(), rest.q, None, rest.u, independent=choice).poles for choice in choices]
    assert abs(poles[0][0]) > 1.0
    np.testing.assert_allclose(poles[1:], [poles[0]] * 2, rtol=1e-9)


def test_a_rolling_robot_has_the_same_modes_in_full_and_in_reduced_form() -> None:
    """Five velocities less three rolling rows, or two speeds without rows: the same turning and slowing down."""
    full, reduced = fukao_robot(), fukao_robot(form="reduced")
    q, turning, speed = np.array([0.3, -0.2, 0.7, 0.0, 0.0]), 0.5, 0.4
    wheels = (speed + np.array([1.0, -1.0]) * 0.75 * turning) / 0.15
    v = np.array([speed * np.cos(q[2]), speed * np.sin(q[2]), turning, *wheels])
    found = [linearize(full, q, v).poles, linearize(reduced, q, [speed, turning]).poles]
    moving = [np.sort_complex(poles[np.abs(poles) > 1e-3]) for poles in found]
    assert len(moving[0]) >= 2
    np.testing.assert_allclose(moving[0], moving[1], rtol=1e-6)
    # Speeds alone cannot leave the surface on which heading and wheels agree: one place less.
    assert len(found[1]) == 4 + 2


def test_a_spinning_body_turns_over_at_the_rate_of_eulers_equations() -> None:
    """About the middle axis λ² = Ω² (C − B)(B − A)/(A C) > 0; a unit quaternion varies in three directions."""
    A, B, C, spin = 1.0, 2.0, 2.5, 3.0
    robot = free_body(A, B, C)
    line = linearize(robot, [0, 0, 0, 0.5, 0.5, 0.5, 0.5], [0, 0, 0, 0, spin, 0])
    assert len(line.states) == 6 + 6
    rate = spin * np.sqrt((C - B) * (B - A) / (A * C))
    # The other eigenvalues belong to the orientation, which changes all the while.
    for expected in (rate, -rate):
        assert np.abs(line.poles - expected).min() < 1e-11


def test_a_closed_loop_has_the_poles_of_its_perturbation_equation() -> None:
    """A program that leaves nothing free: the deviations are the state, and obey ÿ + 2αẏ + β²y = 0."""
    robot = two_link_arm()
    target = ca.vertcat(0.4 + 0.1 * ca.sin(robot.t), 0.9)
    controller = ProgramController(Program(robot, holonomic(robot.q - target)), realization="actuated")
    A = controller.program.constraints[0].perturbation.state_matrix()
    line = linearize(robot, [0.5, 0.7], [0.2, -0.3], controller=controller, t=0.4)
    expected = np.sort_complex(np.linalg.eigvals(np.kron(A, np.eye(2))).astype(complex))
    np.testing.assert_allclose(np.sort_complex(line.poles), expected, rtol=0, atol=1e-5 * np.abs(A).max() ** 0.5)
    np.testing.assert_allclose(line.A, np.kron(A, np.eye(2)), atol=1e-10)
    # Inputs come beside the law's own.
    M = robot.evaluate(robot.mass_matrix, q=[0.5, 0.7])
    np.testing.assert_allclose(M @ line.B[2:], np.eye(2), atol=1e-12)


def test_outputs_are_linearized_too() -> None:
    robot = two_link_arm()
    q = np.array([0.3, 0.8])
    line = linearize(robot, q, [0.5, -0.2], outputs={"tip": robot.points["tip"], "torque": 2 * robot.u[0]})
    assert line.outputs == ("tip[0]", "tip[1]", "torque")
    # x = l₁ cos q₁ + l₂ cos(q₁ + q₂), and y with the sines.
    s, c, s12, c12 = np.sin(0.3), np.cos(0.3), np.sin(1.1), np.cos(1.1)
    J = [[-0.6 * s - 0.5 * s12, -0.5 * s12], [0.6 * c + 0.5 * c12, 0.5 * c12], [0.0, 0.0]]
    np.testing.assert_allclose(line.C, np.hstack([J, np.zeros((3, 2))]), atol=1e-15)
    np.testing.assert_allclose(line.D, [[0, 0], [0, 0], [2, 0]])


def test_bad_input_is_refused() -> None:
    robot, q = linkage(), assemble(linkage(), [0.8, 0.7, 1.5]).q
    with pytest.raises(ModelError, match=r"misses the position level of coupler pin\[\d\] by"):
        linearize(robot, q + 0.1)
    with pytest.raises(ModelError, match=r"misses coupler pin\[\d\] by"):
        linearize(robot, q, [1.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="unknown coordinate or velocity 'krank'"):
        linearize(robot, q, independent=["krank"])
    with pytest.raises(ModelError, match="1 of the coordinates are independent here, but 2 were chosen"):
        linearize(robot, q, independent=[*robot.coordinates.names[:2], robot.v[0].name()])
    with pytest.raises(ShapeError, match=r"u must have shape \(1,\)"):
        linearize(robot, q, u=[1.0, 2.0])
    with pytest.raises(ShapeError, match="finite"):
        linearize(robot, [np.nan, 0.0, 0.0])
    with pytest.raises(ModelError, match="must not use acceleration symbols"):
        linearize(robot, q, outputs={"a": robot.coordinates.a})
    with pytest.raises(ModelError, match="scalar or a column"):
        linearize(robot, q, outputs={"M": robot.mass_matrix})
    with pytest.raises(ModelError, match="controller must be a Controller, got <erugin"):
        linearize(robot, q, controller=Program(robot, holonomic(robot.q[0])))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="Linearizer requires a Robot"):
        linearize(None, q)  # type: ignore[arg-type]
    arm = planar_manipulator([Link(0.4, 2.0, 0.2, 0.03)] * 3)
    two = two_link_arm()
    foreign = ProgramController(Program(two, holonomic(two.q)))
    with pytest.raises(ModelError, match="differ from those of"):
        linearize(arm, np.zeros(3), controller=foreign)


def test_a_singular_position_has_no_tangent() -> None:
    """A parallelogram folded flat may go on as one or as its mirror image: rows of velocity depend on each other."""
    link = Link(1.0, 1.0, 0.5, 0.1)
    flat = four_bar(Link(0.5, 1.0, 0.2, 0.1), link, Link(0.5, 1.0, 0.2, 0.1), ground=(1.0, 0.0))
    v = assemble_velocities(flat, np.zeros(3), [1.0, 0.0, 0.0])
    with pytest.raises(SingularProgramError, match="coupler pin"):
        linearize(flat, np.zeros(3), v)


Neighbour = Callable[[Array], tuple[Array, Array]]


def motion_of(robot: Robot, q: Array, v: Array, duration: float) -> NominalMotion:
    free = simulate(robot, None, q, v, duration, step=2.5e-3, integrator=DOP853(1e-12, 1e-12))
    return NominalMotion(robot, free.t, free.q, free.v, np.zeros((len(free), robot.u.numel())))


def require_neighbours_agree(robot: Robot, q: Array, v: Array, duration: float, neighbour: Neighbour) -> None:
    """Φ of Φ̇ = A(t) Φ, Φ(0) = I, against differences of motions that start beside each other."""
    motion = motion_of(robot, q, v, duration)
    line = Linearizer(robot).along(motion)
    n, places = len(line.states), list(line.independent)
    A = interpolate.CubicSpline(line.t, line.A, axis=0)
    flow = integrate.solve_ivp(
        lambda t, x: (A(t) @ x.reshape(n, n)).ravel(), (0, duration), np.eye(n).ravel(), rtol=1e-10, atol=1e-12
    )
    expected = np.zeros((n, n))
    for k, direction in enumerate(np.eye(n) * 1e-5):
        ends = []
        for sign in (1.0, -1.0):
            start = np.concatenate([q, v]) + sign * line.T[0] @ direction
            end = motion_of(robot, *neighbour(start), duration)
            ends.append(np.concatenate([end.q[-1], end.v[-1]])[places])
        expected[:, k] = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(flow.y[:, -1].reshape(n, n), expected, rtol=0, atol=3e-6 * np.abs(expected).max())


def test_an_arm_that_falls() -> None:
    robot = two_link_arm()
    require_neighbours_agree(robot, np.array([0.3, 0.8]), np.array([0.5, -1.0]), 0.5, lambda x: (x[:2], x[2:]))


@pytest.mark.slow
def test_a_closed_loop_that_falls() -> None:
    robot = linkage()

    def onto(x: Array) -> tuple[Array, Array]:
        q = assemble(robot, x[:3], fixed=["crank"], tolerance=1e-14).q
        return q, assemble_velocities(robot, q, x[3:], fixed=["crank"])

    q = assemble(robot, [0.8, 0.7, 1.5], tolerance=1e-14).q
    v = assemble_velocities(robot, q, [2.0, 0.0, 0.0], fixed=["crank"])
    require_neighbours_agree(robot, q, v, 0.3, onto)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["full", "reduced"])
def test_a_rolling_robot_that_turns(form: str) -> None:
    robot = fukao_robot(form="full" if form == "full" else "reduced")
    q = np.array([0.0, 0.0, 0.4, 0.0, 0.0])
    wheels = (0.6 + np.array([1.0, -1.0]) * 0.75 * 0.5) / 0.15
    v = np.array([0.6 * np.cos(0.4), 0.6 * np.sin(0.4), 0.5, *wheels]) if form == "full" else np.array([0.6, 0.5])

    def onto(x: Array) -> tuple[Array, Array]:
        if form == "reduced":
            return x[:5], x[5:]
        return x[:5], assemble_velocities(robot, x[:5], x[5:], fixed=robot.coordinates.names[3:])

    require_neighbours_agree(robot, q, v, 1.0, onto)


def test_a_motion_is_checked_and_kept() -> None:
    robot = two_link_arm()
    t = np.linspace(0.0, 1.0, 41)
    q = np.column_stack([np.sin(t), np.cos(2 * t)])
    v = np.column_stack([np.cos(t), -2 * np.sin(2 * t)])
    u = np.column_stack([t, 1 - t])
    motion = NominalMotion(robot, t, q, v, u)
    found = motion.at(0.313)
    np.testing.assert_allclose(found[0], [np.sin(0.313), np.cos(0.626)], atol=1e-7)
    np.testing.assert_allclose(found[1], [np.cos(0.313), -2 * np.sin(0.626)], atol=1e-6)
    np.testing.assert_allclose(found[2], [0.313, 0.687], atol=1e-14)
    for time, sample in ((-1.0, 0), (2.0, -1)):
        for value, given in zip(motion.at(time), (q, v, u), strict=True):
            np.testing.assert_allclose(value, given[sample])
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0, 0] = 1.0
    bad: list[tuple[tuple[ArrayLike, ...], type[Exception], str]] = [
        ((t[::-1], q, v, u), ModelError, "must increase"),
        ((t[:1], q[:1], v[:1], u[:1]), ShapeError, "at least 2 samples"),
        ((t, q[:, :1], v, u), ShapeError, r"q of a motion must have shape \(41, 2\)"),
        ((t, q, v * np.nan, u), ShapeError, "finite"),
    ]
    for arrays, error, message in bad:
        with pytest.raises(error, match=message):
            NominalMotion(robot, *(np.asarray(a, dtype=np.float64) for a in arrays))
    with pytest.raises(ModelError, match="not to the given"):
        Linearizer(two_link_arm()).along(motion)


def test_a_reference_becomes_a_motion_with_the_inputs_that_follow_it() -> None:
    """Under these inputs the robot has the reference's own accelerations; an acrobot cannot follow any but a few."""
    robot = two_link_arm()
    wave = Reference.of(robot, ca.vertcat(0.3 + 0.2 * ca.sin(3 * robot.t), 0.8 * ca.cos(robot.t)))
    motion = NominalMotion.of_reference(wave, np.linspace(0.0, 2.0, 9))
    for t, q, v, u in zip(motion.t, motion.q, motion.v, motion.u, strict=True):
        np.testing.assert_allclose(q, [0.3 + 0.2 * np.sin(3 * t), 0.8 * np.cos(t)], atol=1e-14)
        np.testing.assert_allclose(v, [0.6 * np.cos(3 * t), -0.8 * np.sin(t)], atol=1e-14)
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        np.testing.assert_allclose(a, [-1.8 * np.sin(3 * t), -0.8 * np.cos(t)], atol=1e-12)
    line = Linearizer(robot).along(motion)
    assert line.A.shape == (9, 4, 4)
    for times in ([0.0, np.nan], [[0.0, 1.0]], 1.0):
        with pytest.raises(ShapeError, match="times"):
            NominalMotion.of_reference(wave, times)
    with pytest.raises(ModelError, match="t must be finite"):
        motion.at(np.nan)
    acrobot = realaigym_acrobot()
    bent = Reference.of(acrobot, ca.vertcat(0.1 * acrobot.t, 0.0))
    with pytest.raises(ModelError, match=r"cannot follow the reference: at t = 0\.5 v_q1 lacks"):
        NominalMotion.of_reference(bent, [0.0, 0.5, 1.0])
