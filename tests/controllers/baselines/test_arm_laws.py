"""Laws of coordinates and of tasks: their error equations in closed form, and the laws of mechanics."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import simpson

from erugin.controllers import Controller, Reference, Status
from erugin.controllers.baselines import ComputedTorque, OperationalSpace, PDGravity
from erugin.controllers.baselines.pd_gains import mean_inertia
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import SimulationError, Trajectory
from erugin.symbolic import ModelError, ParameterError, ShapeError, SingularProgramError

from ...support.arms import two_link_arm
from ...support.controller_cases.robots import robot_case

Array = NDArray[np.float64]
RATE = 5.0


@pytest.fixture(scope="module")
def arm() -> Robot:
    return two_link_arm()


def swing(robot: Robot) -> Reference:
    """Two joints that turn fast."""
    t = robot.t
    return Reference.of(robot, ca.vertcat(0.3 + 0.8 * ca.sin(2.0 * t), -0.9 + 0.6 * ca.cos(3.0 * t)))


def critically_damped(t: Array, error: Array, rate: Array, omega: float) -> Array:
    """Solution of ë + 2 ω ė + ω² e = 0."""
    return (error + np.outer(t, rate + omega * error)) * np.exp(-omega * t)[:, None]


def test_computed_torque_makes_the_error_equation_linear(arm: Robot) -> None:
    reference = swing(arm)
    q, v = reference.start
    error, rate = np.array([0.4, -0.7]), np.array([1.0, 2.0])
    motion = simulate(arm, ComputedTorque(arm, reference, rate=RATE), q + error, v + rate, 2.0, step=1e-3)
    np.testing.assert_allclose(motion.deviation, critically_damped(motion.t, error, rate, RATE), atol=1e-8)
    # With other gains: poles −2 ± 4 j and −3, −7.
    chosen = ComputedTorque(arm, reference, stiffness=[20.0, 21.0], damping=[4.0, 10.0])
    motion = simulate(arm, chosen, q + error, v + rate, 2.0, step=1e-3)
    t = motion.t
    first = np.exp(-2 * t) * (0.4 * np.cos(4 * t) + (1.0 + 0.8) / 4.0 * np.sin(4 * t))
    slow, fast = (2.0 - 7.0 * 0.7) / 4.0, (-2.0 + 3.0 * 0.7) / 4.0
    second = slow * np.exp(-3 * t) + fast * np.exp(-7 * t)
    np.testing.assert_allclose(motion.deviation, np.column_stack([first, second]), atol=1e-8)


def test_one_compiled_law_serves_a_sweep_of_rates(arm: Robot) -> None:
    reference = swing(arm)
    law = ComputedTorque(arm, reference, rate=RATE)
    other = ComputedTorque(arm, reference, rate=9.0)
    given = law.control(0.3, [0.1, 0.2], [0.3, 0.4], {"computed_torque.rate": 9.0})
    np.testing.assert_allclose(given, other.control(0.3, [0.1, 0.2], [0.3, 0.4]), rtol=1e-13)
    with pytest.raises(ParameterError, match="greater than zero"):
        law.control(0.3, [0.1, 0.2], [0.3, 0.4], {"computed_torque.rate": -1.0})


def test_inputs_beyond_need_share_the_work_with_least_effort() -> None:
    """A mass in the plane with three thrusters: what they do together is what the law asks for, with least |u|²."""
    q, v, u = ca.SX.sym("x", 2), ca.SX.sym("w", 2), ca.SX.sym("f", 3)
    B = np.array([[1.0, -0.5, -0.5], [0.0, 0.8, -0.9]])
    robot = lagrangian_system(q=q, v=v, T=ca.sumsqr(v), Q=ca.SX(ca.DM(B)) @ u, u=u)
    law = ComputedTorque(robot, Reference.at_rest(robot, [1.0, 2.0]), rate=2.0)
    expected = np.linalg.lstsq(B, 2.0 * np.array([4.0 * 1.0 - 4.0 * 0.3, 4.0 * 2.0 - 4.0 * 0.4]), rcond=None)[0]
    np.testing.assert_allclose(law.control(0.0, [0.0, 0.0], [0.3, 0.4]), expected, rtol=1e-12)


def test_a_closed_loop_is_driven_at_its_crank() -> None:
    """The crank's error obeys its equation, and the drive's work is all that the energy changes by."""
    case = robot_case("four-bar linkage")
    robot = case.robot
    crank = case.q0[0] + 0.5 * ca.sin(2.0 * robot.t)
    reference = Reference.of(robot, ca.vertcat(crank, *map(ca.SX, case.q0[1:].tolist())))
    law = ComputedTorque(robot, reference, rate=RATE)
    assert law.errors == ("crank",)
    motion = simulate(robot, law, case.q0, case.v0, 2.0, step=5e-4)
    expected = critically_damped(motion.t, np.zeros(1), np.array([-1.0]), RATE)
    np.testing.assert_allclose(motion.deviation, expected, atol=1e-8)
    gained = simpson(motion.u[:, 0] * motion.v[:, 0], x=motion.t)
    changes = motion.energy - motion.energy[0]
    assert np.abs(changes).max() > 1.0
    assert gained == pytest.approx(changes[-1], abs=1e-7)


def test_coordinates_of_a_closed_loop_must_be_independent() -> None:
    case = robot_case("four-bar linkage")
    reference = Reference.at_rest(case.robot, case.q0)
    assert ComputedTorque(case.robot, reference, coordinates=["rocker"]).errors == ("rocker",)
    with pytest.raises(
        ModelError, match="1 degree of freedom, which these coordinates do not determine: crank, rocker"
    ):
        ComputedTorque(case.robot, reference, coordinates=["crank", "rocker"])
    with pytest.raises(ModelError, match=r"unknown coordinate .* Did you mean 'rocker'"):
        ComputedTorque(case.robot, reference, coordinates=["roker"])
    arm = two_link_arm()
    with pytest.raises(ModelError, match="all its coordinates are independent"):
        ComputedTorque(arm, Reference.at_rest(arm, [0.0, 0.0]), coordinates=["q1", "q2"])


def lyapunov(motion: Trajectory, law: PDGravity, goal: Array) -> tuple[Array, Array]:
    """T + ½ eᵀ K e, and vᵀ C v, along a motion."""
    own = law.gains.parameters
    numbers = own.values()
    K = ca.Function("K", [own.symbols], [law.gains.stiffness, law.gains.damping]).call([numbers])
    stiffness, damping = (x.full()[:, 0] for x in K)
    kinetic = motion.evaluate(motion.robot.kinetic_energy)
    return kinetic + ((motion.q - goal) ** 2 @ stiffness) / 2, motion.v**2 @ damping


def test_pd_with_gravity_loses_energy_to_its_damping_and_ends_at_the_goal(arm: Robot) -> None:
    goal = np.array([0.8, -1.2])
    law = PDGravity(arm, Reference.at_rest(arm, goal), rate=RATE)
    motion = simulate(arm, law, [-1.5, 1.0], [3.0, -4.0], 8.0, step=5e-4)
    energy, lost = lyapunov(motion, law, goal)
    assert (np.diff(energy) < 1e-12).all()
    assert energy[0] > 50.0
    np.testing.assert_allclose(energy[0] - energy[-1], simpson(lost, x=motion.t), rtol=1e-7)
    assert np.abs(motion.deviation[-1]).max() < 1e-6
    # At rest it gives what holds the arm, and the gains are those of the rule: ω² M_ii, 2 ω M_ii.
    holding = arm.evaluate(arm.bias, q=goal, v=np.zeros(2))
    np.testing.assert_allclose(law.control(0.0, goal, [0.0, 0.0]), holding, rtol=1e-12)
    M = arm.evaluate(arm.mass_matrix, q=goal)
    away = goal + np.array([0.0, 0.1])
    pull = law.control(0.0, away, [0.0, 0.0]) - arm.evaluate(arm.bias, q=away, v=np.zeros(2))
    np.testing.assert_allclose(pull, [0.0, -0.1 * RATE**2 * M[1, 1]], atol=1e-12)


def test_pd_with_feedforward_has_a_lyapunov_function_along_a_motion(arm: Robot) -> None:
    """½ ėᵀ M ė + ½ eᵀ K e falls by ėᵀ C ė: with Christoffel's C nothing is left over."""
    reference = swing(arm)
    law = PDGravity(arm, reference, stiffness=[30.0, 20.0], damping=[4.0, 3.0], feedforward=True)
    motion = simulate(arm, law, [1.5, 1.0], [-2.0, 3.0], 2.0, step=1e-3)
    q, v, _ = reference.values(motion.t)
    e, rate = motion.q - q, motion.v - v
    M = np.array([arm.evaluate(arm.mass_matrix, q=place) for place in motion.q])
    energy = (np.einsum("ni,nij,nj->n", rate, M, rate) + e**2 @ [30.0, 20.0]) / 2
    assert (np.diff(energy) < 1e-12).all()
    assert energy[0] - energy[-1] == pytest.approx(simpson(rate**2 @ [4.0, 3.0], x=motion.t), rel=1e-7)


def test_pd_with_gravity_holds_a_closed_loop_by_its_crank() -> None:
    case = robot_case("four-bar linkage")
    law = PDGravity(case.robot, Reference.at_rest(case.robot, case.q0), rate=RATE)
    moving = simulate(case.robot, None, case.q0, case.v0, 0.1, step=5e-4)
    assert np.abs(moving.q[-1] - case.q0).max() > 0.05
    motion = simulate(case.robot, law, moving.q[-1], moving.v[-1], 4.0, step=5e-4)
    energy, lost = lyapunov(motion, law, case.q0)
    assert (np.diff(energy) < 1e-11).all()
    np.testing.assert_allclose(energy[0] - energy[-1], simpson(lost, x=motion.t), rtol=1e-6)
    assert np.abs(motion.deviation[-1]).max() < 1e-5


def test_inertias_are_averaged_along_the_reference(arm: Robot) -> None:
    """With the elbow turning evenly the mean of its cosine is zero."""
    turning = Reference.of(arm, ca.vertcat(0.0, arm.t))
    expected = [2.5 * 0.6**2 + 1.8 * (0.6**2 + 0.5**2), 1.8 * 0.5**2]
    np.testing.assert_allclose(mean_inertia(turning, 2 * np.pi), expected, rtol=1e-12)


def test_a_task_obeys_its_linear_equation(arm: Robot) -> None:
    tip = arm.points["tip"]
    target = ca.vertcat(0.7 + 0.2 * ca.cos(2 * arm.t), 0.2 * ca.sin(3 * arm.t))
    q0, v0 = np.array([-0.7, 1.5]), np.array([0.3, -0.2])
    speed = arm.coordinates.rate(tip - target)
    error, rate = (arm.evaluate(e, q=q0, v=v0) for e in (tip - target, speed))
    motion = simulate(arm, OperationalSpace(arm, tip, target, rate=RATE), q0, v0, 2.0, step=1e-3)
    np.testing.assert_allclose(motion.deviation, critically_damped(motion.t, error, rate, RATE), atol=1e-8)


def test_a_posture_does_no_work_on_the_task() -> None:
    """A chain of four links with a task of two rows: the tip moves as if there were no posture, the rest goes there."""
    case = robot_case("four links, absolute angles")
    robot, tip = case.robot, case.robot.points["tip"]
    start = robot.evaluate(tip, q=case.q0)
    goal, posture = start + np.array([0.1, -0.2]), case.q0 + np.array([0.3, -0.2, 0.1, 0.2])
    law = OperationalSpace(robot, tip, goal, rate=RATE, posture=posture, posture_rate=3.0)
    J = ca.jacobian(tip, robot.q)
    felt = ca.solve(robot.mass_matrix, ca.horzcat(law.null_force, robot.bias, J.T))
    f = ca.Function("f", [robot.t, robot.q, robot.v, law.parameters.symbols], [J @ felt, law.null_force])
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v = case.q0 + rng.uniform(-0.5, 0.5, 4), rng.uniform(-2.0, 2.0, 4)
        felt_at, null = (x.full() for x in f.call([0.0, q, v, law.parameters.values()]))
        # τ₀ holds what bias costs: what it does to the task would be J M⁻¹ h.
        assert np.abs(null).max() > 1.0
        assert np.abs(felt_at[:, 0]).max() < 1e-11 * np.abs(felt_at[:, 1:]).max()
    motion = simulate(robot, law, case.q0, case.v0, 5.0, step=2e-3)
    expected = critically_damped(motion.t, start - goal, np.zeros(2), RATE)
    np.testing.assert_allclose(motion.deviation, expected, atol=1e-7)
    # Along the two directions that are left, the posture is as near as the task lets it.
    near = motion.q[-1] - posture
    J_end = robot.evaluate(J, q=motion.q[-1])
    free = np.linalg.svd(J_end)[2][2:]
    M = robot.evaluate(robot.mass_matrix, q=motion.q[-1])
    assert np.abs(free @ M @ near).max() < 1e-3 * np.abs(M @ near).max()


def test_a_stretched_arm_is_reported_and_not_driven_without_bound(arm: Robot) -> None:
    law = OperationalSpace(arm, arm.points["tip"], [0.2, 0.3])
    with pytest.raises(SingularProgramError, match="depends on 'operational_space"):
        law.control(0.0, [0.4, 0.0], [0.0, 0.0])
    away = OperationalSpace(arm, arm.points["tip"], [2.0, 0.0], rate=3.0)
    with pytest.raises(SimulationError, match=r"vanishes|depends on") as caught:
        simulate(arm, away, [-0.4, 0.9], [0.0, 0.0], 3.0, step=1e-3)
    assert caught.value.status is Status.SINGULAR
    assert np.abs(caught.value.trajectory.q[-1, 1]) < 0.2


def laws(arm: Robot) -> dict[str, Controller]:
    """Every tracking law with its rule's gains."""
    reference = swing(arm)
    x, y = ca.cos(reference.q), ca.sin(reference.q)
    bend = reference.q[0] + reference.q[1]
    tip = ca.vertcat(0.6 * x[0] + 0.5 * ca.cos(bend), 0.6 * y[0] + 0.5 * ca.sin(bend))
    return {
        "pd": PDGravity(arm, reference),
        "pd, feedforward": PDGravity(arm, reference, feedforward=True),
        "computed torque": ComputedTorque(arm, reference),
        "operational space": OperationalSpace(arm, arm.points["tip"], tip),
    }


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("pd", 2e-2, 2e-1),
        ("pd, feedforward", 0.0, 1e-6),
        ("computed torque", 0.0, 1e-8),
        ("operational space", 0.0, 1e-8),
    ],
)
def test_every_tracking_law_follows_the_same_motion(arm: Robot, name: str, least: float, most: float) -> None:
    """Largest error of a joint in the last of four seconds [rad], from a start 0.2 rad off, at the rate 10/s."""
    reference = swing(arm)
    q, v = reference.start
    motion = simulate(arm, laws(arm)[name], q + np.array([0.2, -0.2]), v, 4.0, step=1e-3)
    last = motion.t > 3.0
    error = np.abs(motion.q[last] - reference.values(motion.t[last])[0]).max()
    assert least <= error < most


def test_gains_and_robots_that_do_not_fit_are_refused(arm: Robot) -> None:
    reference = Reference.at_rest(arm, [0.0, 0.0])
    with pytest.raises(ModelError, match="give either a rate, or both stiffness and damping"):
        PDGravity(arm, reference, stiffness=[1.0, 1.0])
    with pytest.raises(ModelError, match="give either a rate, or both"):
        ComputedTorque(arm, reference, rate=1.0, stiffness=[1.0, 1.0], damping=[1.0, 1.0])
    with pytest.raises(ShapeError, match=r"damping of 'pd' must have shape \(2,\)"):
        PDGravity(arm, reference, stiffness=[1.0, 1.0], damping=[1.0, 1.0, 1.0])
    with pytest.raises(ModelError, match="stiffness of 'computed_torque' must be greater than zero"):
        ComputedTorque(arm, reference, stiffness=[1.0, -1.0], damping=[1.0, 1.0])
    with pytest.raises(ModelError, match="rate of 'pd' must be greater than zero"):
        PDGravity(arm, reference, rate=0.0)
    with pytest.raises(ModelError, match="is a motion of"):
        PDGravity(two_link_arm(), reference)
    with pytest.raises(TypeError, match="stifness"):
        PDGravity(arm, reference, stifness=[1.0, 1.0])  # type: ignore[call-arg]
    tip = arm.points["tip"]
    with pytest.raises(ModelError, match="the task has 2 rows, the target 3"):
        OperationalSpace(arm, tip, [0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="3 rows cannot be moved by 2 inputs"):
        OperationalSpace(arm, ca.vertcat(tip, arm.q[0]), [0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="a task is a function of time, coordinates"):
        OperationalSpace(arm, arm.v, [0.0, 0.0])
    with pytest.raises(ModelError, match="a target is a function of time"):
        OperationalSpace(arm, tip, ca.vertcat(arm.q[0], 0.0))
    with pytest.raises(ShapeError, match="posture"):
        OperationalSpace(arm, tip, [0.0, 0.0], posture=[0.0])
    reduced = robot_case("reduced two-wheel robot").robot
    with pytest.raises(ModelError, match="posture= requires velocities that are the rates"):
        OperationalSpace(reduced, reduced.points["nose"], [0.0, 0.0], posture=np.zeros(5))
