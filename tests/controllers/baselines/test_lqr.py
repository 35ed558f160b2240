"""Constant and time-varying linear-quadratic regulators: Riccati equations and paid cost."""

from __future__ import annotations

import functools
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, linalg

from erugin.controllers import NoEquilibriumError, NominalMotion, Reference, Status, equilibrium, linearize
from erugin.controllers.baselines import BrysonWeights, Lqr, TimeVaryingLqr, attraction_level
from erugin.controllers.wrappers import Saturation
from erugin.robots import lagrangian_system, with_inputs
from erugin.robots.examples import fukao_robot, realaigym_acrobot
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, NotFiniteInputError, ParameterError, ShapeError

from ...support.arms import two_link_arm
from ...support.linearized_robots import cart_pole, limited, linkage, mass_on_a_line

Array = NDArray[np.float64]


def test_a_double_integrator_by_the_textbook() -> None:
    """Q = I and R = 1 give K = (1, √3) and P = [√3 1; 1 √3]."""
    regulator = Lqr(mass_on_a_line(), [0.0], weights=BrysonWeights())
    np.testing.assert_allclose(regulator.gain, [[1.0, np.sqrt(3.0)]], rtol=1e-12)
    np.testing.assert_allclose(regulator.cost, [[np.sqrt(3.0), 1.0], [1.0, np.sqrt(3.0)]], rtol=1e-12)
    np.testing.assert_allclose(np.sort_complex(regulator.poles), (-np.sqrt(3) + np.array([-1j, 1j])) / 2, rtol=1e-12)
    np.testing.assert_allclose(regulator.control(0.0, [0.3], [-0.1]), [-0.3 + 0.1 * np.sqrt(3.0)], rtol=1e-12)


def test_bryson_weights_are_one_over_the_square_of_what_is_allowed() -> None:
    line = linearize(cart_pole(), [0.0, 0.0])
    Q, R = BrysonWeights({"x": 0.5, "angle": 0.1}, {"force": 4.0}, otherwise=2.0).of(line)
    np.testing.assert_allclose(np.diag(Q), [4.0, 100.0, 0.25, 0.25])
    np.testing.assert_allclose(R, [[1 / 16]])
    with pytest.raises(ModelError, match=r"unknown state 'angel'\. Did you mean 'angle'"):
        BrysonWeights({"angel": 1.0}).of(line)
    with pytest.raises(ModelError, match="unknown input 'torque'"):
        BrysonWeights(efforts={"torque": 1.0}).of(line)
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(ModelError, match="allowance of 'x'"):
            BrysonWeights({"x": bad})
    with pytest.raises(ModelError, match=r"errors must be allowed values by name, such as .* got 0\.1; use otherwise="):
        BrysonWeights(0.1)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="weights must be BrysonWeights"):
        Lqr(cart_pole(), [0.0, 0.0], weights=np.eye(4))  # type: ignore[arg-type]


def test_gains_against_scipy_and_poles_against_the_closed_loop() -> None:
    robot = cart_pole()
    weights = BrysonWeights({"x": 0.5, "angle": 0.1}, {"force": 4.0})
    regulator = Lqr(robot, [0.0, 0.0], weights=weights)
    line = linearize(robot, [0.0, 0.0])
    Q, R = weights.of(line)
    P = linalg.solve_continuous_are(line.A, line.B, Q, R)
    np.testing.assert_allclose(regulator.cost, P, rtol=1e-8)
    np.testing.assert_allclose(regulator.gain, np.linalg.solve(R, line.B.T @ P), rtol=1e-8)
    closed = linearize(robot, [0.0, 0.0], controller=regulator)
    np.testing.assert_allclose(np.sort_complex(closed.poles), np.sort_complex(regulator.poles), rtol=1e-8)


def paid(regulator: Lqr, q: Array, v: Array, duration: float) -> float:
    """∫ (ξᵀQξ + δuᵀRδu) dt along the nonlinear closed loop, by Simpson's rule."""
    motion = simulate(regulator.robot, regulator, q, v, duration, step=1e-3)
    Q, R = regulator.weights.of(regulator.linearization)
    change = motion.u - regulator.linearization.u
    xi = motion.deviation
    rate = np.einsum("ki,ij,kj->k", xi, Q, xi) + np.einsum("ki,ij,kj->k", change, R, change)
    simpson = np.ones(len(rate))
    simpson[1:-1:2], simpson[2:-1:2] = 4.0, 2.0
    return float(simpson @ rate) * 1e-3 / 3


def test_the_cost_to_go_of_the_constant_regulator_is_what_the_motion_costs() -> None:
    """On robots that are not linear, from deviations so small that they are: with natural constraints too."""
    pole = Lqr(cart_pole(), [0.0, 0.0], weights=BrysonWeights({"angle": 0.1}, {"force": 4.0}))
    start = np.array([0.01, -0.003]), np.array([0.0, 0.005])
    value = float(pole.robot.evaluate(pole.cost_to_go, q=start[0], v=start[1]))
    assert paid(pole, *start, 12.0) == pytest.approx(value, rel=1e-4)

    robot = linkage()
    rest = equilibrium(robot, [0.8, 0.7, 1.5])
    bar = Lqr(robot, rest.q, rest.u, weights=BrysonWeights(effort=5.0))
    assert len(bar.linearization.states) == 2
    # A velocity that the loop allows: any multiple of its only one.
    motion = bar.linearization.T[3:, 1] * 1e-3
    value = float(robot.evaluate(bar.cost_to_go, q=rest.q, v=motion))
    assert paid(bar, rest.q, motion, 10.0) == pytest.approx(value, rel=1e-4)


def test_a_robot_is_brought_back_and_whole_turns_do_not_count() -> None:
    robot = realaigym_acrobot()
    weights = BrysonWeights({"q1": 1.0, "q2": 1.0, "v_q1": 1.6, "v_q2": 2.0}, {"M2": 3.0})
    regulator = Lqr(robot, [np.pi, 0.0], weights=weights, turns=["q1", "q2"])
    motion = simulate(
        robot, Saturation(regulator), [np.pi - 2 * np.pi + 0.02, 4 * np.pi - 0.03], [0.0, 0.0], 6.0, step=2e-3
    )
    np.testing.assert_allclose(motion.q[-1], [-np.pi, 4 * np.pi], atol=1e-3)
    assert np.abs(motion.u).max() <= 6.0
    # One law for every gain: with none at all it falls.
    fallen = simulate(
        robot,
        regulator,
        [np.pi + 0.02, 0.0],
        [0.0, 0.0],
        3.0,
        step=2e-3,
        controller_p=dict.fromkeys(regulator.parameters.names[-4:], 0.0),
    )
    assert np.abs(fallen.q[:, 0] - np.pi).max() > 1.0
    np.testing.assert_allclose(fallen.energy, fallen.energy[0], atol=1e-6)


def test_the_region_is_bounded_by_what_any_bounded_input_can_save() -> None:
    """q̈ = q + u with |u| ≤ 1 comes back only while |q + q̇| < 1: z = q + q̇ obeys ż = z + u."""
    regulator = Lqr(limited(mass_on_a_line(-1.0), 1.0), [0.0], weights=BrysonWeights(effort=0.5))
    level = attraction_level(regulator, samples=60)
    c = np.ones(2)
    largest = 1.0 / float(c @ np.linalg.solve(regulator.cost, c))
    assert 0.5 * largest < level <= 1.05 * largest


def test_what_it_is_not_made_for_is_refused() -> None:
    arm = two_link_arm()
    with pytest.raises(ModelError, match=r"cannot drive two-wheel robot: .*velocities or accelerations"):
        Lqr(fukao_robot(), np.zeros(5), weights=BrysonWeights())
    with pytest.raises(NoEquilibriumError, match="v_q1 lacks"):
        Lqr(realaigym_acrobot(), [2.0, 0.5], weights=BrysonWeights())
    with pytest.raises(ModelError, match=r"M1 must be \S+ to hold this position, beyond the 1 that its limits allow"):
        Lqr(limited(arm, 1.0, 100.0), [0.3, 0.8], weights=BrysonWeights())
    with pytest.raises(ModelError, match="unknown angle 'q7'"):
        Lqr(arm, [0.3, 0.8], weights=BrysonWeights(), turns=["q7"])
    regulator = Lqr(arm, [0.3, 0.8], weights=BrysonWeights())
    with pytest.raises(ParameterError, match=r"unknown parameter 'lqr.K\[9,9\]'"):
        regulator.control(0.0, [0.3, 0.8], [0.0, 0.0], {"lqr.K[9,9]": 1.0})


def test_a_mode_out_of_reach_is_named() -> None:
    """Two masses of which only one is driven: the other one's eigenvalue 2 /s belongs to no feedback."""
    q, v, u = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("u")
    robot = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=-2 * q[1] ** 2, Q=ca.vertcat(u, 0), u=u, name="pair")
    with pytest.raises(ModelError, match=r"do not reach the modes with the eigenvalues 2(\.0+)?\+0j 1/s"):
        Lqr(robot, [0.0, 0.0], weights=BrysonWeights())
    hanging = with_inputs(two_link_arm(), [])
    with pytest.raises(ModelError, match="do not reach"):
        Lqr(hanging, [-np.pi / 2, 0.0], weights=BrysonWeights())


def test_about_rest_it_is_the_constant_regulator() -> None:
    robot, weights = cart_pole(), BrysonWeights({"angle": 0.1}, {"force": 4.0})
    constant = Lqr(robot, [0.0, 0.0], weights=weights)
    varying = TimeVaryingLqr(robot, NominalMotion.at_rest(robot, [0.0, 0.0], [0.0], 3.0), weights=weights)
    for gain, cost in zip(varying.gain, varying.cost, strict=True):
        np.testing.assert_allclose(gain, constant.gain, rtol=1e-6)
        np.testing.assert_allclose(cost, constant.cost, rtol=1e-6)
    # Without a cost at the end it gets there from the end on: S falls in from zero to P.
    long = NominalMotion.at_rest(robot, [0.0, 0.0], [0.0], 12.0)
    late = TimeVaryingLqr(robot, long, weights=weights, final=np.zeros((4, 4)))
    np.testing.assert_allclose(late.gain[0], constant.gain, rtol=1e-6)
    np.testing.assert_allclose(late.gain[-1], 0.0, atol=1e-12)
    state = ([0.05, 0.02], [0.1, -0.1])
    np.testing.assert_allclose(varying.control(1.0, *state), constant.control(1.0, *state), rtol=1e-6)
    np.testing.assert_allclose(varying.control(99.0, *state), constant.control(1.0, *state), rtol=1e-6)


def test_a_finite_horizon_by_the_hamiltonian_matrix() -> None:
    """(X; Y) = exp(−H τ) (I; S₁) and S = Y X⁻¹, H = [A −BR⁻¹Bᵀ; −Q −Aᵀ]."""
    robot = mass_on_a_line(1.0)
    motion = NominalMotion(robot, np.linspace(0, 2, 21), np.zeros((21, 1)), np.zeros((21, 1)), np.zeros((21, 1)))
    end = np.array([[2.0, 0.3], [0.3, 0.5]])
    varying = TimeVaryingLqr(robot, motion, weights=BrysonWeights({"q": 0.7}, effort=1.5), final=end)
    A, B = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([[0.0], [1.0]])
    H = np.block([[A, -B @ B.T * 1.5**2], [-np.diag([0.7**-2, 1.0]), -A.T]])
    for t, S in zip(motion.t, varying.cost, strict=True):
        X = linalg.expm(-H * (2.0 - t)) @ np.vstack([np.eye(2), end])
        np.testing.assert_allclose(S, X[2:] @ np.linalg.inv(X[:2]), rtol=1e-7)


@functools.cache
def swing() -> tuple[NominalMotion, TimeVaryingLqr]:
    """A cart-pole moved by a sine, from upright."""
    robot = cart_pole()
    driven = simulate_open_loop(lambda t: 3.0 * np.sin(4.0 * t))
    motion = NominalMotion(robot, *driven)
    weights = BrysonWeights({"angle": 0.2}, {"force": 4.0})
    return motion, TimeVaryingLqr(robot, motion, weights=weights, final=np.diag([2.0, 5.0, 1.0, 1.0]))


def simulate_open_loop(force: Callable[[float], float]) -> tuple[Array, Array, Array, Array]:
    robot = cart_pole()
    f = ca.Function("f", [robot.q, robot.v, robot.u], [robot.acceleration])

    def rate(t: float, x: Array) -> Array:
        return np.concatenate([x[2:], f.call([x[:2], x[2:], force(t)])[0].full()[:, 0]])

    t = np.linspace(0.0, 1.0, 501)
    found = integrate.solve_ivp(rate, (0, 1), [0.0, 0.1, 0.0, 0.0], t_eval=t, method="DOP853", rtol=1e-12, atol=1e-12)
    x = found.y.T
    return t, x[:, :2], x[:, 2:], np.array([[force(float(time))] for time in t])


def test_the_riccati_equation_holds_between_the_samples() -> None:
    """dS/dt by differences of fourth order against −(AᵀS + SA − SBR⁻¹BᵀS + Q)."""
    motion, varying = swing()
    Q, R = varying.weights.of(varying.linearization)
    h, S = float(motion.t[1]), varying.cost
    rate = (-S[4:] + 8 * S[3:-1] - 8 * S[1:-3] + S[:-4]) / (12 * h)
    for A, B, X, dS in zip(varying.linearization.A[2:-2], varying.linearization.B[2:-2], S[2:-2], rate, strict=True):
        expected = -(A.T @ X + X @ A - X @ B @ np.linalg.solve(R, B.T @ X) + Q)
        np.testing.assert_allclose(dS, expected, rtol=0, atol=2e-5 * np.abs(expected).max())
    assert np.abs(np.diff(S, axis=0)).max() > 1e-2


def test_the_cost_to_go_is_what_the_motion_costs() -> None:
    motion, varying = swing()
    Q, R = varying.weights.of(varying.linearization)

    def paid(xi: Array) -> float:
        run = simulate(varying.robot, varying, motion.q[0] + xi[:2], motion.v[0] + xi[2:], 1.0, step=1e-3)
        nominal = np.array([motion.at(float(t))[2] for t in run.t])
        change, error = run.u - nominal, run.deviation
        rate = np.einsum("ki,ij,kj->k", error, Q, error) + np.einsum("ki,ij,kj->k", change, R, change)
        simpson = np.ones(len(rate))
        simpson[1:-1:2], simpson[2:-1:2] = 4.0, 2.0
        return float(simpson @ rate) * 1e-3 / 3 + float(error[-1] @ varying.cost[-1] @ error[-1])

    xi = np.array([2e-3, -1e-3, 3e-3, 1e-3])
    # On both sides of the motion: what is of third order cancels.
    assert (paid(xi) + paid(-xi)) / 2 == pytest.approx(float(xi @ varying.cost[0] @ xi), rel=1e-4)


@pytest.mark.slow
def test_a_closed_loop_and_a_rolling_robot_follow() -> None:
    """The crank of a four-bar back to rest; a rolling robot back to the circle that it was pushed off."""
    robot = linkage()
    rest = equilibrium(robot, [0.8, 0.7, 1.5])
    loop = TimeVaryingLqr(robot, NominalMotion.at_rest(robot, rest.q, rest.u, 2.0), weights=BrysonWeights(effort=5.0))
    push = loop.linearization.T[0][3:, 1]
    run = simulate(robot, loop, rest.q, 0.3 * push, 8.0, step=2e-3)
    assert np.abs(run.deviation[-1]).max() < 1e-3 * np.abs(run.deviation).max()

    wheeled = fukao_robot(form="reduced")
    free = simulate(wheeled, None, np.zeros(5), [0.4, 0.3], 6.0, step=0.02)
    motion = NominalMotion(wheeled, free.t, free.q, free.v, np.zeros((len(free), 2)))
    rule = BrysonWeights({"x": 0.1, "y": 0.1, "phi_r": 1e3}, otherwise=1.0, effort=20.0)
    entries = ["x", "y", "theta", "phi_r", "speed", "turning_rate"]
    law = TimeVaryingLqr(wheeled, motion, weights=rule, final=np.zeros((6, 6)), independent=entries)
    start = np.array([0.05, -0.08, 0.1, 0.0, 0.0])
    off = simulate(wheeled, None, start, [0.4, 0.3], 6.0, step=0.02)
    back = simulate(wheeled, law, start, [0.4, 0.3], 6.0, step=0.02)
    end = np.linalg.norm(back.q[-1, :2] - free.q[-1, :2])
    assert end < 0.1 * np.linalg.norm(off.q[-1, :2] - free.q[-1, :2])


def test_an_active_bound_is_reported() -> None:
    robot = limited(cart_pole(), 2.0)
    law = Saturation(
        TimeVaryingLqr(robot, NominalMotion.at_rest(robot, [0.0, 0.0], [0.0], 1.0), weights=BrysonWeights())
    )
    seen = law.observe(0.0, [0.0, 0.3], [0.0, 0.0])
    assert seen.status is Status.LIMITED
    assert "input 'force' would be" in seen.message
    assert abs(seen.output[0]) == 2.0
    assert law.observe(0.0, [0.0, 0.001], [0.0, 0.0]).status is Status.OK
    run = simulate(robot, law, [0.0, 0.06], [0.0, 0.0], 4.0, step=2e-3)
    assert np.abs(run.u).max() == 2.0
    assert run.status[0] == Status.LIMITED
    assert run.status[-1] == Status.OK
    assert len(run.notes) >= 2


def test_what_does_not_fit_is_refused() -> None:
    robot, arm = cart_pole(), two_link_arm()
    rest = NominalMotion.at_rest(robot, [0.0, 0.0], [0.0], 1.0)
    with pytest.raises(ModelError, match="the motion belongs to the robot cart-pole"):
        TimeVaryingLqr(arm, rest, weights=BrysonWeights())
    with pytest.raises(ModelError, match=r"final must be finite, of shape \(4, 4\)"):
        TimeVaryingLqr(robot, rest, weights=BrysonWeights(), final=np.eye(2))
    with pytest.raises(ModelError, match="symmetric without negative"):
        TimeVaryingLqr(robot, rest, weights=BrysonWeights(), final=-np.eye(4))
    weak = limited(arm, 5.0, 5.0)
    with pytest.raises(ModelError, match="M1 must be 10 to follow the motion, beyond the 5 that its limits allow"):
        TimeVaryingLqr(weak, NominalMotion.at_rest(weak, [0.3, 0.8], [10.0, 1.0], 1.0), weights=BrysonWeights())
    with pytest.raises(ModelError, match="unknown state"):
        TimeVaryingLqr(robot, rest, weights=BrysonWeights({"y": 1.0}))
    wheeled = fukao_robot()
    with pytest.raises(ModelError, match="at the end of the motion: give final="):
        TimeVaryingLqr(wheeled, NominalMotion.at_rest(wheeled, np.zeros(5), [0.0, 0.0], 1.0), weights=BrysonWeights())
    with pytest.raises(ModelError, match=r"got Reference; for a Reference use NominalMotion\.of_reference"):
        TimeVaryingLqr(robot, Reference.at_rest(robot, [0.0, 0.0]), weights=BrysonWeights())  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="unknown angle 'angel'"):
        TimeVaryingLqr(robot, rest, weights=BrysonWeights(), turns=["angel"])
    law = TimeVaryingLqr(robot, rest, weights=BrysonWeights())
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\)"):
        law.error(0.0, [0.1], [0.0, 0.0])
    with pytest.raises(NotFiniteInputError):
        law.control(0.0, [np.nan, 0.0], [0.0, 0.0])
