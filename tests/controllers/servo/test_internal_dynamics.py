"""Internal dynamics of servo-programs: zeros by python-control and closed forms, growth along motions, inversion."""

from __future__ import annotations

import casadi as ca
import control
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.linalg import block_diag

from erugin.constraints import holonomic, nonholonomic
from erugin.controllers import Program, transition
from erugin.controllers.servo import (
    InternalDynamicsWarning,
    ServoController,
    Stability,
    internal_dynamics,
    stable_inversion,
)
from erugin.controllers.servo.internal_dynamics import eigenvalues
from erugin.robots import Link, Robot
from erugin.robots.examples import flexible_joint_arm, fukao_robot, pinocchio_four_bar
from erugin.symbolic import ModelError, NotConvergedError

from ...support.controller_cases.robots import acrobot
from ...support.servo_models import aircraft, passive_joint_arm, pole_and_bell, tractor

Array = NDArray[np.float64]


def zeros_by_control(robot: Robot, y: ca.SX, q: Array, u: Array) -> NDArray[np.complex128]:
    """Transmission zeros of the linearization, by the pencil of python-control."""
    c = robot.coordinates
    x, f = ca.vertcat(c.q, c.v), ca.vertcat(c.v, robot.acceleration)
    parts = [ca.densify(ca.jacobian(*pair)) for pair in ((f, x), (f, robot.u), (y, x))]
    values = ca.Function("f", [x, robot.u, robot.p], parts).call([np.r_[q, 0 * q], u, robot.parameters.values()])
    A, B, C = (np.array(value.full()) for value in values)
    found = np.asarray(control.zeros(control.ss(A, B, C, np.zeros((len(C), B.shape[1])))), dtype=np.complex128)
    # A pencil of this kind has infinite zeros too, which rounding makes merely huge.
    return np.sort_complex(found[np.abs(found) < 1e4])


def servo(robot: Robot, y: ca.SX, near: list[float]) -> ServoController:
    return ServoController(Program(robot, holonomic(y, name="y")), near=near, allow_unstable_internal=True)


@pytest.mark.parametrize(
    ("share", "stability"), [(0.0, Stability.STABLE), (0.25, Stability.STABLE), (0.5, Stability.UNSTABLE)]
)
def test_a_passive_joint_is_stable_inside_for_outputs_near_its_drive(share: float, stability: Stability) -> None:
    """Output q₁ + γ q₂: the tip of a rod, to first order at γ = ½, has a zero to the right."""
    robot = passive_joint_arm()
    y = robot.q[0] + share * robot.q[1]
    law = servo(robot, y, [0.0, 0.0])
    found = law.internal
    assert found is not None
    assert (law.relative_degree.degrees, found.dimension, found.stability) == ((2,), 2, stability)
    expected = zeros_by_control(robot, y, np.zeros(2), np.zeros(1))
    np.testing.assert_allclose(np.sort_complex(found.zeros), expected, rtol=1e-9)
    if stability is Stability.UNSTABLE:
        assert "unstable, zeros +6.844, -5.844 1/s." in str(found)


def test_unstable_internal_dynamics_are_refused() -> None:
    robot = passive_joint_arm()
    program = Program(robot, holonomic(robot.q[0] + robot.q[1] / 2, name="tip"))
    with pytest.raises(ModelError, match=r"dimension 2: unstable, zeros \+6.844, -5.844 1/s.*allow_unstable_internal"):
        ServoController(program, near=[0.0, 0.0])


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("upright", [False, True])
def test_an_acrobot_swings_or_falls_inside(joint: int, upright: bool) -> None:
    robot, q = acrobot(), np.array([np.pi * upright, 0.0])
    y = robot.q[joint] - q[joint]
    found = servo(robot, y, q.tolist()).internal
    assert found is not None
    assert found.stability is (Stability.UNSTABLE if upright else Stability.MARGINAL)
    np.testing.assert_allclose(
        np.sort_complex(found.zeros), zeros_by_control(robot, y, q, np.zeros(1)), rtol=1e-9, atol=1e-9
    )


def test_an_aircraft_that_holds_its_place_rolls_away() -> None:
    """[HauserSastryMeyer1992]_: with the coupling ε the roll obeys ε φ̈ = g sin φ."""
    robot = aircraft(0.3)
    found = servo(robot, robot.q[:2], [0.0, 0.0, 0.0]).internal
    assert found is not None
    assert found.stability is Stability.UNSTABLE
    np.testing.assert_allclose(found.zeros, [np.sqrt(9.81 / 0.3), -np.sqrt(9.81 / 0.3)], rtol=1e-9)


@pytest.mark.parametrize("stiffness", [1e3, 1e7, 1e9])
def test_stiff_springs_do_not_hide_a_slow_zero(stiffness: float) -> None:
    """A pole on a cart falls at √(g/l), however fast a bell on the same cart rings at √(k/m)."""
    robot = pole_and_bell(stiffness)
    found = servo(robot, robot.q[0], [0.0, 0.0, 0.0]).internal
    assert found is not None
    assert found.stability is Stability.UNSTABLE
    expected = [np.sqrt(9.81), 1j * np.sqrt(stiffness / 0.1), -1j * np.sqrt(stiffness / 0.1), -np.sqrt(9.81)]
    assert all(np.abs(found.zeros - zero).min() < 1e-6 * abs(zero) for zero in expected)
    hanging = servo(robot, robot.q[0], [0.0, np.pi, 0.0]).internal
    assert hanging is not None
    assert hanging.stability is Stability.MARGINAL


@pytest.mark.parametrize("chain", [1, 2, 3])
@pytest.mark.parametrize("stiff", [1.0, 1e4])
def test_eigenvalues_are_accurate_to_the_reported_error(chain: int, stiff: float) -> None:
    """Jordan blocks at zero and at one, beside a spring: rounding splits a double one by its root."""
    blocks = [np.eye(chain, k=1), np.eye(chain) + np.eye(chain, k=1), np.array([[0.0, 1.0], [-(stiff**2), 0.0]])]
    exact = np.r_[np.zeros(chain), np.ones(chain), 1j * stiff, -1j * stiff]
    seen = 0.0
    for seed in range(5):
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(exact.size, exact.size)))[0]
        matrix = turn @ block_diag(*blocks) @ turn.T
        found, margin = eigenvalues(matrix, 1e-15 * float(np.abs(matrix).max()))
        away = np.abs(found[:, None] - exact[None, :])
        assert (away.min(axis=1) <= margin).all()
        # Not so far that those at one could not be determined, but where rounding is large and they are not simple.
        seen = max(seen, away.min(axis=1).max())
        if chain == 1 or stiff == 1.0:
            assert int((found.real > margin).sum()) == chain
    assert chain == 1 or seen > 1e-9


def test_a_damper_beside_a_spring_leaves_its_relaxation_inside() -> None:
    """Link held: D (φ̇ − θ̇) + K (φ − θ) is what the link asks for, so φ relaxes at k/d."""
    robot = flexible_joint_arm([Link(1.0, 1.0, 0.5, 0.1)], stiffness=[100.0], rotor_inertia=[0.05], damping=[4.0])
    law = ServoController(Program(robot, holonomic(robot.q[0], name="link")), near=[0.0, 0.0])
    assert law.internal is not None
    np.testing.assert_allclose(law.internal.zeros, [-25.0], rtol=1e-9)


def test_wheels_drift_where_a_robot_holds_them() -> None:
    """A robot at rest on wheels that are held stays wherever it is: three zeros at zero, under natural constraints."""
    robot = fukao_robot()
    law = ServoController(Program(robot, holonomic(robot.q[3:5], name="wheels")), near=np.zeros(5))
    assert law.internal is not None
    assert (law.internal.dimension, law.internal.stability) == (3, Stability.MARGINAL)
    np.testing.assert_array_equal(law.internal.zeros, 0.0)
    assert "zeros 0, 0, 0 1/s; the linearization does not decide stability" in str(law.internal)


def test_a_closed_chain_with_one_drive_leaves_nothing() -> None:
    robot = pinocchio_four_bar()
    law = ServoController(Program(robot, holonomic(robot.q[0] - 0.8, name="crank")), near=[0.8, 0.8, 0.8])
    assert (law.relative_degree.state_dimension, law.relative_degree.is_flat) == (2, True)
    assert str(law.internal) == "Internal dynamics: none: the outputs are flat."


@pytest.mark.parametrize(
    ("share", "duration", "stability"), [(0.25, 12.0, Stability.STABLE), (0.5, 3.0, Stability.UNSTABLE)]
)
def test_growth_along_a_motion_at_rest_is_that_of_the_zeros(
    share: float, duration: float, stability: Stability
) -> None:
    robot = passive_joint_arm()
    law = servo(robot, robot.q[0] + share * robot.q[1], [0.0, 0.0])
    found = internal_dynamics(law, duration=duration, step=0.01)
    at_rest = internal_dynamics(law)
    assert (found.stability, at_rest.stability) == (stability, stability)
    # Their sum is the divergence, at every time; each of them comes near its zero as 1/t.
    assert found.exponents.sum() == pytest.approx(at_rest.zeros.real.sum(), abs=1e-6)
    np.testing.assert_allclose(found.exponents, at_rest.zeros.real, atol=2.0 / duration)
    assert f"{stability.value}, perturbations grow at" in str(found)
    short = internal_dynamics(law, duration=0.05, step=0.01)
    assert short.stability is Stability.MARGINAL
    assert "without growth or decay by 10 times: use a longer" in str(short)


def test_growth_along_a_moving_program() -> None:
    """The elbow of a hanging acrobot swings: the exponents add up to the mean divergence inside, here by two runs."""
    robot = acrobot()
    program = Program(robot, holonomic(robot.q[1] - 0.3 * ca.sin(robot.t), name="elbow"))
    with pytest.warns(
        InternalDynamicsWarning,
        match="internal dynamics of dimension 2, whose stability could not be checked because no state of rest",
    ):
        ServoController(program, near=[0.0, 0.0])
    law = ServoController(program, near=[0.0, 0.0], allow_unstable_internal=True)
    assert law.internal is None
    with pytest.raises(ModelError, match=r"no state of rest was found on the program at t = 0 s"):
        internal_dynamics(law)
    found = internal_dynamics(law, duration=2.0, step=0.01)
    # A perturbation that stays on the program, run beside the motion itself.
    p = law.motion.parameters.values()
    start = law.feedforward(0.0)
    x = np.r_[start.q, start.v]
    Z = law.motion.tangent(0.0, x, p)

    def run(x: Array) -> Array:
        answer = solve_ivp(lambda t, x: law.motion.field(t, x, p)[0], (0.0, 2.0), x, rtol=1e-11, atol=1e-12)
        return np.asarray(answer.y[:, -1])

    end = run(x)
    ahead = law.motion.tangent(2.0, end, p).T @ np.array([(run(x + 1e-5 * z) - end) / 1e-5 for z in Z.T]).T
    assert found.exponents.sum() * 2.0 == pytest.approx(np.log(abs(np.linalg.det(ahead))), abs=1e-3)


@pytest.mark.parametrize("hitch", [0.8, 2.0])
@pytest.mark.parametrize("speed", [1.0, -1.03])
@pytest.mark.parametrize("duration", [0.4, 1.0, 2.0, 5.0])
def test_a_trailer_that_is_pushed_is_unstable_and_one_that_is_pulled_is_not(
    hitch: float, speed: float, duration: float
) -> None:
    """Its angle grows or decays at v/L, however short the look."""
    robot = tractor(hitch)
    program = Program(robot, holonomic(robot.q[:2] - ca.vertcat(speed * robot.t, 0), name="place"))
    law = ServoController(program, near=np.zeros(4), near_velocity=[speed, 0.0, 0.0, 0.0], allow_unstable_internal=True)
    found = internal_dynamics(law, duration=duration, step=0.02)
    assert found.exponents == pytest.approx([-speed / hitch], rel=1e-6)
    assert found.stability is (Stability.UNSTABLE if speed < 0.0 else Stability.STABLE)


@pytest.mark.parametrize(("speed", "turn"), [(1.0, 0.0), (-1.03, 0.0), (1.0, 0.3)])
@pytest.mark.parametrize("duration", [0.4, 1.0, 2.0])
def test_a_trailer_is_judged_among_directions_in_which_nothing_happens(
    speed: float, turn: float, duration: float
) -> None:
    """With speed and turn for outputs a change of the heading lets the place drift away, in proportion to time."""
    robot = tractor(1.0)
    q, v = robot.q, robot.v
    rows = [
        nonholonomic(ca.cos(q[2]) * v[0] + ca.sin(q[2]) * v[1] - speed, name="speed"),
        nonholonomic(v[2] - turn, name="turn"),
    ]
    law = ServoController(
        Program(robot, rows), near=np.zeros(4), near_velocity=[speed, 0.0, turn, 0.0], allow_unstable_internal=True
    )
    found = internal_dynamics(law, duration=duration, step=0.02)
    assert found.dimension == 4
    assert found.stability is (Stability.UNSTABLE if speed < 0.0 else Stability.MARGINAL)


@pytest.mark.parametrize("amplitude", [0.3, np.pi / 2])
def test_a_tip_beyond_a_passive_joint_follows_by_looking_ahead(amplitude: float) -> None:
    """The bounded inputs, applied to the equations of motion by SciPy, take the tip along."""
    robot = passive_joint_arm(stiffness=50.0)
    y = robot.q[0] + robot.q[1] / 2
    target = amplitude * transition(robot.t, 1.5)
    program = Program(robot, holonomic(y - target, name="tip"))
    law = ServoController(program, near=[0.0, 0.0], rates=5.0, allow_unstable_internal=True)
    found = stable_inversion(law, -1.0, 2.5, tolerance=1e-6)
    assert found.residual < 1e-6
    # It begins before the tip is to move, and is still by the end.
    before = found.t < -1e-9
    assert 1e-4 < np.abs(found.u[before]).max() < np.abs(found.u).max() < 50.0
    np.testing.assert_allclose(found.q[[0, -1]], [[0.0, 0.0], [amplitude, 0.0]], atol=1e-4)
    inputs = CubicSpline(found.t, found.u)
    c = robot.coordinates
    f = ca.Function("f", [c.q, c.v, robot.u, robot.p], [ca.vertcat(c.v, robot.acceleration)])
    p = robot.parameters.values()
    times = np.linspace(-1.0, 2.5, 36)
    run = solve_ivp(
        lambda t, x: f.call([x[:2], x[2:], inputs(t), p])[0].full()[:, 0],
        (-1.0, 2.5),
        np.r_[found.q[0], found.v[0]],
        t_eval=times,
        rtol=1e-9,
        atol=1e-10,
    )
    aim = ca.Function("aim", [robot.t], [target])
    expected = [float(aim.call([float(t)])[0]) for t in times]
    np.testing.assert_allclose(run.y[0] + run.y[1] / 2, expected, atol=2e-4 * amplitude)


def test_a_motion_that_is_cut_short_is_the_same_motion() -> None:
    """On the unstable manifold it may begin where it likes: for small motions, which the manifold is a plane for."""
    robot = passive_joint_arm(stiffness=50.0)
    target = 1e-4 * transition(robot.t, 1.5)
    law = servo(robot, robot.q[0] + robot.q[1] / 2 - target, [0.0, 0.0])
    whole, short = (stable_inversion(law, start, end, tolerance=1e-8) for start, end in ((-1.5, 3.0), (-0.1, 1.6)))
    expected = CubicSpline(whole.t, whole.u)(short.t)
    assert np.abs(expected[0]).max() > 0.01 * np.abs(expected).max()
    np.testing.assert_allclose(short.u, expected, atol=1e-5 * np.abs(expected).max())


def test_what_cannot_be_inverted_is_reported() -> None:
    robot = acrobot()
    swinging = servo(robot, robot.q[1] - 0.3 * transition(robot.t, 1.0), [0.0, 0.0])
    with pytest.raises(ModelError, match="zeros without real part are not supported"):
        stable_inversion(swinging, -1.0, 2.0)
    with pytest.raises(ModelError, match=r"no state of rest was found on the program at t = 0.5 s"):
        stable_inversion(swinging, 0.5, 2.0)
    with pytest.raises(ModelError, match=r"end must be after start, got 1.0 and 0.0"):
        stable_inversion(swinging, 1.0, 0.0)
    arm = passive_joint_arm()
    tip = servo(arm, arm.q[0] + arm.q[1] / 2 - transition(arm.t, 0.2), [0.0, 0.0])
    with pytest.raises(NotConvergedError, match="the boundary value problem was not solved"):
        stable_inversion(tip, -1.0, 1.0, nodes=11)
    for nodes in (1, 2.5, "many"):
        with pytest.raises(ModelError, match=f"nodes must be a whole number of at least 2, got {nodes!r}"):
            stable_inversion(tip, -1.0, 1.0, nodes=nodes)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="tolerance must be greater than zero, got -1"):
        stable_inversion(tip, -1.0, 1.0, tolerance=-1.0)
    with pytest.raises(ModelError, match="tolerance must be at least 1e-13"):
        stable_inversion(tip, -1.0, 1.0, tolerance=1e-20)
    with pytest.raises(ModelError, match="internal_dynamics requires a ServoController, got Robot"):
        internal_dynamics(arm)  # type: ignore[arg-type]
