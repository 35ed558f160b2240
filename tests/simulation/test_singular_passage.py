"""Through singular positions: a motion neither stops, nor jumps, nor leaves its branch."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import assemble, assemble_velocities, branch_acceleration, combine, lagrangian_system, with_inputs
from erugin.robots.examples import iftomm_four_bars
from erugin.robots.manifold.branch import MotionBranch
from erugin.robots.manifold.initial_chart import initial_chart
from erugin.robots.manifold.manifold import Manifold
from erugin.robots.manifold.singular_positions import branch_geometry, interpolation_weights, is_near_singularity
from erugin.scenarios import simulate
from erugin.simulation import RK4, Phase, Reduced, SimulationError, Simulator, Trajectory, simulate_phases
from erugin.symbolic import Kernel, ModelError, SingularProgramError
from erugin.symbolic.runge_kutta import rk4_step

from ..support.flat_linkages import Array, upright
from ..support.mechanisms import crank_rocker
from ..support.reduced_models import Torque, equal_arms, equal_arms_rate, pendulum

UPRIGHT = np.pi / 2
A, B, C, D = 1.0, 1.5, 1.3, 1.2
"""Crank, coupler, rocker and ground of a linkage that can lie flat, since A + B = C + D."""


def equal_arms_motion(torque: Torque | None, angle: float, rate: float, t: Array) -> Array:
    """Angles and rates on that branch, shape (N, 2), as an ordinary equation in φ."""

    def slope(time: float, x: Array) -> list[float]:
        return [x[1], equal_arms_rate(0.0 if torque is None else torque.at(time), x[0], x[1])]

    return np.asarray(solve_ivp(slope, (0.0, t[-1]), [angle, rate], "DOP853", rtol=1e-13, atol=1e-13, t_eval=t).y.T)


def off_branch(motion: Trajectory) -> float:
    """Distance of a slider-crank with equal arms from its branch."""
    crank, rod, slider = motion.q.T
    return float(np.abs([crank + rod, slider - 2.0 * np.cos(crank)]).max())


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.019, 0.03])
def test_the_branch_is_known_at_the_crossing_and_near_it(distance: float) -> None:
    """Tangent and drift against x = 2 cos φ; straight formulas are 0/0 at the crossing."""
    robot = equal_arms()
    q, v = upright(UPRIGHT + distance, 1.3)
    branch = MotionBranch(Manifold.of(robot), robot.parameters.values())
    chart = initial_chart(branch, 0.0, q, v)
    here = branch_geometry(branch, chart, 0.0, q, v)
    tangent = v / (chart.free[:, 0] @ v)
    turn = np.array([0.0, 0.0, -2.0 * np.cos(q[0]) * 1.3**2])
    assert here.tangent.shape == (3, 1)
    np.testing.assert_allclose(here.q, q, atol=2e-15)
    np.testing.assert_allclose(here.v, v, atol=2e-14)
    np.testing.assert_allclose(here.tangent[:, 0], tangent, atol=1e-12)
    np.testing.assert_allclose(here.bias_acceleration, turn - tangent * (chart.free[:, 0] @ turn), atol=1e-11)


@pytest.mark.parametrize("distance", [0.0, 1e-7, 1e-3, 0.05])
@pytest.mark.parametrize("torque", [0.0, 7.0])
def test_accelerations_at_the_crossing_are_those_of_the_branch(distance: float, torque: float) -> None:
    q, v = upright(UPRIGHT + distance, 1.3)
    a = branch_acceleration(equal_arms(), q, v, u=[torque])
    rate = equal_arms_rate(torque, q[0], v[0])
    expected = rate * v / 1.3 + np.array([0.0, 0.0, -2.0 * np.cos(q[0]) * 1.3**2])
    np.testing.assert_allclose(a, expected, atol=1e-10)


def test_least_norm_multipliers_leave_the_branch_at_the_crossing() -> None:
    """Both accelerations satisfy A a = b; only ours lets the loop stay closed to the third order of time."""
    robot = equal_arms()
    q, v = upright(UPRIGHT, 1.3)
    rows, b = (robot.evaluate(e, q=q, v=v) for e in robot.natural_form)
    M = robot.evaluate(robot.mass_matrix, q=q)
    force = robot.evaluate(robot.input_matrix, q=q).reshape(3) * 7.0 - robot.evaluate(robot.bias, q=q, v=v)
    free = np.linalg.solve(M, force)
    reach = np.linalg.solve(M, rows.T)
    least = free + reach @ np.linalg.pinv(rows @ reach, rcond=1e-10) @ (b - rows @ free)
    ours = branch_acceleration(robot, q, v, u=[7.0])
    for a in (least, ours):
        np.testing.assert_allclose(rows @ a, b, atol=1e-12)
    # On the branch both arms turn alike.
    assert abs(ours[0] + ours[1]) < 1e-12
    assert abs(least[0] + least[1]) > 0.5
    phi = robot.natural[0].residual(robot.coordinates)

    def gap(a: Array, time: float) -> float:
        """|φ| after a time, for the best third derivative of q."""
        third = least_third(a, time)
        return float(np.abs(robot.evaluate(phi, q=q + time * v + time**2 / 2 * a + third)).max())

    def least_third(a: Array, time: float) -> Array:
        """Change of order time³ that takes away what rows of full rank can."""
        ahead = q + time * v + time**2 / 2 * a
        return -np.linalg.pinv(rows, rcond=1e-10) @ robot.evaluate(phi, q=ahead)

    ratio = {name: gap(a, 0.02) / gap(a, 0.01) for name, a in (("least", least), ("ours", ours))}
    assert np.log2(ratio["least"]) == pytest.approx(3.0, abs=0.2)
    assert np.log2(ratio["ours"]) > 3.8


@pytest.mark.sampled
@pytest.mark.parametrize("angle", [UPRIGHT, 1.1])
def test_a_driven_slider_crank_crosses_again_and_again(angle: float) -> None:
    """Started at the crossing or before it, with a torque that acts there, and driven from Python."""
    torque = Torque(equal_arms(), 2.0, 6.0)
    motion = simulate(equal_arms(), torque, *upright(angle, 3.0), 2.0, step=2.5e-3, integrator=Reduced())
    truth = equal_arms_motion(torque, angle, 3.0, motion.t)
    assert (np.diff(np.sign(np.cos(truth[:, 0]))) != 0).sum() >= 3
    assert off_branch(motion) < 1e-12
    np.testing.assert_allclose(motion.q[:, 0], truth[:, 0], atol=2e-6)
    np.testing.assert_allclose(motion.v[:, 0], truth[:, 1], atol=2e-5)


def test_the_order_is_4_across_the_crossing() -> None:
    robot = with_inputs(equal_arms(), ())
    simulator, misses = Simulator(robot, integrator=Reduced()), list[float]()
    truth = equal_arms_motion(None, UPRIGHT, 3.0, np.array([0.0, 1.2]))[-1]
    for step in (4e-3, 2e-3, 1e-3):
        motion = simulator.run(*upright(UPRIGHT, 3.0), 1.2, step=step)
        misses.append(abs(float(motion.q[-1, 0] - truth[0])))
    assert np.log2(misses[0] / misses[1]) > 3.7
    assert np.log2(misses[1] / misses[2]) > 3.7
    assert misses[-1] < 1e-7


@pytest.mark.slow
def test_many_crossings_keep_energy_and_branch() -> None:
    """10 s with more than a dozen crossings, started at one."""
    robot = with_inputs(equal_arms(), ())
    motion = simulate(robot, None, *upright(UPRIGHT, 3.0), 10.0, step=2e-3, integrator=Reduced())
    truth = equal_arms_motion(None, UPRIGHT, 3.0, motion.t)
    assert (np.diff(np.sign(np.cos(truth[:, 0]))) != 0).sum() > 12
    assert off_branch(motion) < 1e-12
    assert np.ptp(motion.energy) < 1e-5 * np.ptp(motion.evaluate(robot.kinetic_energy))
    np.testing.assert_allclose(motion.q[:, 0], truth[:, 0], atol=1e-5)


def test_the_other_branch_is_followed_as_well() -> None:
    """Folded arms: the rod turns with the crank and the slider rests at the pivot."""
    robot = with_inputs(equal_arms(), ())
    q, v = np.array([UPRIGHT, -UPRIGHT, 0.0]), np.array([2.0, 2.0, 0.0])
    motion = simulate(robot, None, q, v, 0.5, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(motion.q[:, 1] - motion.q[:, 0], -np.pi, atol=1e-13)
    np.testing.assert_allclose(motion.q[:, 2], 0.0, atol=1e-13)
    assert abs(motion.q[-1, 0] - UPRIGHT) > 0.5


def test_a_start_that_does_not_determine_its_branch_is_refused() -> None:
    robot = with_inputs(equal_arms(), ())
    at_rest = "where branches of its motion meet, and at rest: the velocities determine 0 of the 1"
    with pytest.raises(SimulationError, match=at_rest):
        simulate(robot, None, *upright(UPRIGHT, 0.0), 1.0, step=1e-3, integrator=Reduced())
    with pytest.raises(SingularProgramError, match=at_rest):
        branch_acceleration(robot, *upright(UPRIGHT, 0.0))
    # Half of one branch and half of the other: admitted by A v = 0, but along neither.
    mixed = upright(UPRIGHT, 1.0)[1] + np.array([1.0, 1.0, 0.0])
    with pytest.raises(SingularProgramError, match=r"contradictory accelerations .* not along a branch"):
        branch_acceleration(robot, upright(UPRIGHT, 0.0)[0], mixed)
    with pytest.raises(ModelError, match="at the start, natural constraints depend"):
        simulate(robot, None, *upright(UPRIGHT, 1.0), 1.0, step=1e-3, integrator=RK4())


@pytest.mark.slow
def test_a_motion_by_least_norm_multipliers_leaves_the_branch() -> None:
    """RK4 with the pseudo-inverse of A M⁻¹Aᵀ, its tolerance 1e-6, crossing slowly with a torque on the crank.

    It ends with the arms two radians apart; on the branch they stay together.
    """
    robot = equal_arms()
    symbols = {"q": robot.q, "v": robot.v, "p": robot.p}
    force = robot.input_matrix @ robot.u - robot.bias
    outputs = {"M": robot.mass_matrix, "A": robot.natural_form[0], "b": robot.natural_form[1], "f": force}
    kernel = Kernel("full", {**symbols, "u": robot.u}, outputs, compiled=False)
    p, torque = robot.parameters.values(), np.array([7.0])

    def rate(_: float, x: Array) -> Array:
        M, rows, b, f = kernel(x[:3], x[3:], p, torque)
        free, reach = np.linalg.solve(M, f), np.linalg.solve(M, rows.T)
        multipliers = np.linalg.pinv(rows @ reach, rcond=1e-6) @ (b - rows @ free)
        return np.concatenate([x[3:], free + reach @ multipliers])

    x, step = np.concatenate(upright(UPRIGHT, 0.05)), 1e-3
    for _ in range(500):
        x = rk4_step(rate, 0.0, x, step)
    assert abs(x[0] + x[1]) > 1.0
    driven = Torque(robot, 7.0, 0.0)
    ours = simulate(robot, driven, *upright(UPRIGHT, 0.05), 0.5, step=step, integrator=Reduced())
    assert off_branch(ours) < 1e-13
    truth = equal_arms_motion(driven, UPRIGHT, 0.05, ours.t)
    np.testing.assert_allclose(ours.q[:, 0], truth[:, 0], atol=1e-10)


def test_phases_may_change_at_the_crossing() -> None:
    """A torque up to the crossing and none after it: the second phase starts there, and its velocities tell."""
    robot = equal_arms()
    torque = Torque(robot, 5.0, 0.0)
    phases = [Phase(torque, until=robot.q[0] - UPRIGHT), Phase(None)]
    motion = simulate_phases(robot, phases, *upright(0.6, 3.0), 1.0, step=1e-3, integrator=Reduced())
    (switch,) = motion.switches
    angle, rate = equal_arms_motion(torque, 0.6, 3.0, np.array([0.0, switch]))[-1]
    assert angle == pytest.approx(UPRIGHT, abs=1e-9)
    after = equal_arms_motion(None, float(angle), float(rate), np.array([0.0, 1.0 - switch]))[-1]
    assert motion.q[-1, 0] == pytest.approx(after[0], abs=1e-8)
    assert np.abs(motion.q[:, 0] + motion.q[:, 1]).max() < 1e-12


def test_a_motion_that_dies_out_at_the_crossing_stays_on_its_branch() -> None:
    """Thrown with just the energy that it takes to get there."""
    robot = with_inputs(equal_arms(), ())
    q, v = upright(UPRIGHT - 0.02, 1.0)
    height = robot.evaluate(robot.potential_energy, q=upright(UPRIGHT, 0.0)[0])
    missing = height - robot.evaluate(robot.potential_energy, q=q)
    v *= np.sqrt(missing / robot.evaluate(robot.kinetic_energy, q=q, v=v))
    motion = simulate(robot, None, q, v, 1.5, step=1.5e-2, integrator=Reduced())
    truth = equal_arms_motion(None, q[0], v[0], motion.t)
    np.testing.assert_allclose(motion.q[:, 0], truth[:, 0], atol=1e-8)
    assert abs(motion.v[-1, 0]) < 0.2 * v[0]
    assert off_branch(motion) < 1e-12


def test_weights_reproduce_polynomials() -> None:
    nodes = np.array([-3.0, -2.0, -0.5, 1.0, 2.0, 4.0])
    for power in range(6):
        assert interpolation_weights(nodes) @ nodes**power == pytest.approx(float(power == 0), abs=1e-13)
    assert interpolation_weights(nodes) @ nodes**6 != pytest.approx(0.0, abs=1.0)


def test_far_from_singular_positions_nothing_is_interpolated() -> None:
    """The regular formulas give the accelerations of the full equations."""
    robot = crank_rocker()
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 2.0})
    a = branch_acceleration(robot, q, v, u=[1.0, -0.5, 0.3])
    expected = robot.evaluate(robot.acceleration, q=q, v=v, u=[1.0, -0.5, 0.3])
    np.testing.assert_allclose(a, expected, atol=1e-11)


def test_two_mechanisms_cross_independently() -> None:
    """Two degrees of freedom of which one passes its crossing, beside a pendulum that has none.

    The directions of the chart are mixed, since both are in one robot.
    """
    one, two = with_inputs(equal_arms(), ()), pendulum(3)
    robot = combine({"crank": one, "bob": two})
    q1, v1 = upright(UPRIGHT, 2.0)
    q2, v2 = np.array([0.6, 0.0, -0.8]), np.array([0.0, 2.0, 0.0])
    motion = simulate(robot, None, np.append(q1, q2), np.append(v1, v2), 0.4, step=1e-3, integrator=Reduced())
    truth = equal_arms_motion(None, UPRIGHT, 2.0, motion.t)
    np.testing.assert_allclose(motion.q[:, 0], truth[:, 0], atol=1e-9)
    alone = simulate(two, None, q2, v2, 0.4, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(motion.q[:, 3:], alone.q, atol=1e-9)
    assert np.abs(motion.q[:, 0] + motion.q[:, 1]).max() < 1e-12


@pytest.mark.parametrize(
    ("starts", "span"),
    [
        # Two that pass within a step of each other; one that creeps through while the other turns fast.
        ([(UPRIGHT - 0.2, 2.0), (UPRIGHT - 0.201, 2.0)], 0.3),
        ([(UPRIGHT - 0.01, 0.2), (UPRIGHT - 0.5, 8.0)], 0.2),
    ],
)
def test_mechanisms_near_their_crossings_do_not_disturb_each_other(
    starts: list[tuple[float, float]], span: float
) -> None:
    # Built again for each: one robot cannot take the symbols of another twice.
    robot = combine({name: with_inputs(equal_arms.__wrapped__(), ()) for name in ("one", "other")})
    q, v = (np.concatenate(values) for values in zip(*(upright(*start) for start in starts), strict=True))
    motion = simulate(robot, None, q, v, span, step=1e-3, integrator=Reduced())
    for first, start in zip((0, 3), starts, strict=True):
        truth = equal_arms_motion(None, *start, motion.t)
        assert (np.diff(np.sign(np.cos(truth[:, 0]))) != 0).any()
        np.testing.assert_allclose(motion.q[:, first], truth[:, 0], atol=2e-8)
        assert np.abs(motion.q[:, first] + motion.q[:, first + 1]).max() < 1e-11


def test_the_parts_of_a_manifold_are_what_rows_tie_together() -> None:
    """A linkage beside a pendulum; a gear beside a wheel whose heading is in the coefficients of its row alone."""
    linkage, bob = crank_rocker(), pendulum(3)
    robot = combine({"crank": linkage, "bob": bob})
    parts = Manifold.of(robot).parts
    assert [part.v.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5]]
    assert [part.rows.tolist() for part in parts] == [[0, 1], [2]]
    q = ca.SX.sym("q", 4)
    free = ca.SX.sym("v", 4)
    rows = [holonomic(q[0] + q[2] - 1.0, name="gear"), nonholonomic(free[1] * ca.cos(q[3]), name="rolling")]
    plain = lagrangian_system(q=q, v=free, T=ca.sumsqr(free) / 2, natural=rows)
    parts = Manifold.of(plain).parts
    assert [part.v.tolist() for part in parts] == [[0, 2], [1, 3]]
    assert [(part.rows.tolist(), part.holonomic) for part in parts] == [([0], 1), ([1], 0)]


def test_the_zone_of_a_crossing_is_measured_by_the_mechanism_itself() -> None:
    """Beside a linkage whose usual singular values are a tenth, the zone of another stays what it is."""
    windows = iftomm_four_bars(20)
    robot = combine({"arms": with_inputs(equal_arms.__wrapped__(), ()), "windows": windows})
    still, rates = np.zeros(41), np.zeros(41)
    still[::2], rates[::2] = 1.3, 1.0
    for distance, near in ((0.02, True), (0.05, False)):
        q, v = upright(UPRIGHT + distance, 1.3)
        q, v = np.append(q, still), np.append(v, rates)
        branch = MotionBranch(Manifold.of(robot), robot.parameters.values())
        initial_chart(branch, 0.0, np.append(upright(0.3, 1.3)[0], still), v)
        chart = initial_chart(branch, 0.0, q, v)
        assert is_near_singularity(branch, chart, 0.0, q, v) is near
        here = branch_geometry(branch, chart, 0.0, q, v)
        np.testing.assert_allclose(here.q, q, atol=1e-12)
        np.testing.assert_allclose(here.tangent @ (chart.free.T @ v), v, atol=1e-10)


def test_a_lost_branch_is_reported() -> None:
    """Steps of a quarter turn through the crossing, and no halving allowed."""
    robot = with_inputs(equal_arms(), ())
    with pytest.raises(SimulationError, match=r"[Uu]se shorter steps"):
        simulate(robot, None, *upright(UPRIGHT - 0.4, 30.0), 1.0, step=0.05, integrator=Reduced(halvings=0))
    motion = simulate(robot, None, *upright(UPRIGHT - 0.4, 30.0), 0.2, step=0.05, integrator=Reduced())
    assert off_branch(motion) < 1e-10
