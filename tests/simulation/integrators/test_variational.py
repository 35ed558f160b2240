"""The variational integrator: order, symplecticity, momenta, and motion under forces."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import second_order
from erugin.controllers import ProgramController, Status, Tick
from erugin.robots import Robot, assemble, assemble_velocities, lagrangian_system, with_inputs
from erugin.robots.examples import bricard_mechanism, fukao_robot
from erugin.scenarios import simulate
from erugin.simulation import (
    DOP853,
    RK4,
    GeneralizedAlpha,
    Integrator,
    Projected,
    Reduced,
    SimulationError,
    Simulator,
    Trajectory,
    Variational,
)
from erugin.symbolic import ModelError, Parameters

from ...support.arms import disc_program, two_link_arm
from ...support.convergence import (
    STEPS,
    Array,
    Follower,
    Lost,
    double_pendulum,
    linkage,
    misfits,
    observed_orders,
    swinging,
)
from ...support.mechanisms import crank_rocker
from ...support.reduced_models import MASS, bead, constant_speed, equal_arms, pendulum
from ...support.remembering_controllers import Recorder
from ...support.systems import FIRST, STENCIL, body


def orders_against_reference(
    robot: Robot, q: Array, v: Array, duration: float, truth: tuple[Integrator, float]
) -> Array:
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
    np.testing.assert_allclose(orders_against_reference(robot, q, v, 1.0, (DOP853(1e-13, 1e-13), 1.0)), 2.0, atol=0.03)


def test_a_lagrangian_that_depends_on_time() -> None:
    """A pendulum whose pivot is shaken: T has terms of degree 1 and 0 in the velocity, V has time in it."""
    q, v, t = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("t")
    x, y = 0.3 * ca.sin(4.0 * t) + ca.sin(q), 0.2 * ca.cos(5.0 * t) - ca.cos(q)
    speed = ca.jtimes(ca.vertcat(x, y), ca.vertcat(q, t), ca.vertcat(v, 1))
    robot = lagrangian_system(q=q, v=v, t=t, p=Parameters.declare({}), T=ca.sumsqr(speed) / 2, V=9.81 * y)
    found = orders_against_reference(robot, np.array([0.4]), np.array([0.2]), 1.0, (DOP853(1e-13, 1e-13), 1.0))
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
    found = orders_against_reference(robot, np.zeros(5), np.zeros(5), 0.5, (Reduced(), 1e-3))
    np.testing.assert_allclose(found, 2.0, atol=0.03)


@pytest.mark.parametrize("constrained", [True, False])
def test_a_motion_is_reversible(constrained: bool) -> None:
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
    """Drift of the energy from the first to the last tenth of the run, and its oscillation."""
    n = len(motion) // 10
    return abs(float(motion.energy[-n:].mean() - motion.energy[:n].mean())), float(np.ptp(motion.energy))


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


def test_a_program_as_an_expression() -> None:
    robot, q, v = two_link_arm(), [0.6, -2.2], [0.0, 0.0]
    controller = ProgramController(disc_program(robot))
    end = simulate(robot, controller, q, v, 0.5, step=0.5, integrator=DOP853(1e-12, 1e-13))
    simulator = Simulator(robot, controller, integrator=Variational())
    runs = [simulator.run(q, v, 0.5, step=step) for step in STEPS]
    np.testing.assert_allclose(observed_orders(runs, [end] * 3), 2.0, atol=0.05)
    assert all(run.ok for run in runs)


@pytest.mark.parametrize(("stiffness", "damping"), [(40.0, 10.0), (1e4, 1e3)])
def test_a_law_from_python_even_if_it_is_stiff(stiffness: float, damping: float) -> None:
    """Joints of a kilogramme at half a metre: 1e3 N m s/rad is some 1e4 1/s, ten times the rate of the samples."""
    robot = two_link_arm()
    controller = Follower(robot, stiffness, damping)
    q, v = np.zeros(2), np.ones(2)
    end = simulate(robot, controller, q, v, 0.2, step=2e-5 if damping > 100 else 1e-3, integrator=RK4())
    simulator = Simulator(robot, controller, integrator=Variational())
    runs = [simulator.run(q, v, 0.2, step=step) for step in STEPS]
    np.testing.assert_allclose(observed_orders(runs, [end] * 3)[:, 0], 2.0, atol=0.1)


def test_a_law_from_python_on_a_mechanism_is_the_same_as_its_expression() -> None:
    robot = with_inputs(crank_rocker(), ("crank",))
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 3.0})
    called = simulate(robot, Follower(robot, 4.0, 0.5), q, v, 1.0, step=2e-3, integrator=Variational())
    push = 4.0 * (ca.sin(robot.t) - robot.q[0]) - 0.5 * robot.v[0]
    inside = driven(robot, push)
    alone = simulate(inside, None, q, v, 1.0, step=2e-3, integrator=Variational())
    np.testing.assert_allclose(called.q, alone.q, atol=1e-11)
    assert max(misfits(called)) < 1e-13


def driven(robot: Robot, torque: ca.SX) -> Robot:
    """The robot with a torque in its equations in place of its input."""
    c = robot.coordinates
    return lagrangian_system(
        q=c.q,
        v=c.v,
        t=c.t,
        p=robot.parameters,
        T=robot.kinetic_energy,
        V=robot.potential_energy,
        Q=robot.input_matrix @ torque,
        natural=robot.natural,
    )


def test_a_controller_with_a_memory_acts_between_samples() -> None:
    robot = two_link_arm()
    controller = Recorder(robot, lambda t: 5.0 * float(np.sin(20.0 * t)))

    def run(step: float, integrator: Integrator) -> Trajectory:
        return simulate(robot, controller, [0.3, 0.4], [0.0, 0.0], 0.5, step=step, integrator=integrator)

    runs, ends = ([run(step, method) for step in STEPS] for method in (Variational(), RK4()))
    np.testing.assert_allclose(observed_orders(runs, ends), 2.0, atol=0.1)
    run(1e-2, Variational())
    assert {round(t % 1e-2, 9) for t, _ in controller.asked[-20:]} <= {0.0, 5e-3, 1e-2}


def damped(stiffness: float, damping: float) -> Robot:
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    return lagrangian_system(
        q=x, v=v, p=Parameters.declare({}), T=v**2 / 2, V=stiffness * x**2 / 2, D=damping * v**2 / 2
    )


@pytest.mark.parametrize(("stiffness", "damping"), [(400.0, 3.0), (1e6, 10.0), (400.0, 200.0)])
def test_amplification_is_that_of_the_implicit_midpoint_rule(stiffness: float, damping: float) -> None:
    """Eigenvalues of a step of a damped oscillator: |R(z)| of both roots, and stable however stiff."""
    simulator, step = Simulator(damped(stiffness, damping), integrator=Variational()), 0.01
    ends = [simulator.run([x], [v], step, step=step) for x, v in ((1.0, 0.0), (0.0, 1.0))]
    found = np.linalg.eigvals(np.array([[end.q[-1, 0], end.v[-1, 0]] for end in ends]).T)
    roots = np.roots([1.0, damping, stiffness])
    wanted = [Variational().amplification(complex(root) * step) for root in roots]
    np.testing.assert_allclose(np.sort(np.abs(found)), np.sort(wanted), rtol=1e-8)
    assert max(wanted) < 1.0


def test_wheels_roll_without_slip() -> None:
    robot = fukao_robot()
    names = robot.coordinates.names
    v = assemble_velocities(robot, np.zeros(5), fixed=dict(zip(names[-2:], (2.0, 1.0), strict=True)))

    class Turn(Follower):
        def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
            return Tick(np.array([0.05 * np.sin(3.0 * t), 0.03]))

    controller = Turn(robot, 0.0, 0.0)
    end = simulate(robot, controller, np.zeros(5), v, 1.0, step=1e-3, integrator=RK4())
    simulator = Simulator(robot, controller, integrator=Variational())
    runs = [simulator.run(np.zeros(5), v, 1.0, step=step) for step in STEPS]
    np.testing.assert_allclose(observed_orders(runs, [end] * 3), 2.0, atol=0.05)
    assert max(misfits(runs[0])) < 1e-14


def test_projection_has_nothing_to_do_after_it() -> None:
    robot = with_inputs(crank_rocker(), ())
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 9.0})
    plain, projected = (
        simulate(robot, None, q, v, 0.5, step=2e-3, integrator=method)
        for method in (Variational(), Projected(Variational()))
    )
    np.testing.assert_allclose(plain.q, projected.q, atol=1e-12)


def test_what_it_cannot_integrate_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"rates of the coordinates.*GeneralizedAlpha"):
        Simulator(body().robot, integrator=Variational())
    with pytest.raises(ModelError, match=r"to be linear in the velocities, which 'speed'"):
        Simulator(constant_speed(), integrator=Variational())
    robot = two_link_arm()
    pulled = second_order(robot.coordinates.a[0] - robot.q[1], name="pull")
    held = dataclasses.replace(robot, natural=(pulled,))
    with pytest.raises(ModelError, match=r"but these have order 2: 'pull'"):
        Simulator(held, integrator=Variational())


def test_a_step_that_is_too_long_ends_the_run_by_name() -> None:
    robot = with_inputs(crank_rocker(), ())
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 9.0})
    with pytest.raises(SimulationError, match=r"Newton's method in the step after t = .*steps shorter than") as caught:
        simulate(robot, None, q, v, 10.0, step=0.35, integrator=Variational())
    assert caught.value.status is Status.NOT_CONVERGED
    kept = caught.value.trajectory
    assert len(kept) >= 1
    assert np.isfinite(kept.q).all()


@pytest.mark.parametrize("method", [Variational(), GeneralizedAlpha()])
def test_no_step_leads_to_the_other_way_in_which_a_linkage_closes(method: Integrator) -> None:
    """Steps of up to half a turn of the crank: either there is a state on this branch, or the run ends."""
    robot = with_inputs(crank_rocker(), ())
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 9.0})
    simulator, ends = Simulator(robot, integrator=method), list[Status]()
    for step in (0.35, 0.2, 0.1, 0.07, 0.05, 0.03):
        try:
            motion = simulator.run(q, v, 5.0, step=step)
        except SimulationError as error:
            motion = error.trajectory
            ends.append(error.status)
        # The transmission angle never changes its sign on a branch.
        assert (np.sin(motion.q[:, 1] - motion.q[:, 2]) < 0.0).all()
    assert 3 <= len(ends) <= 5
    # Where Newton's method finds a state, it may be one to which no motion leads.
    assert Status.NOT_CONVERGED in ends
    assert set(ends) <= {Status.NOT_CONVERGED, Status.DIVERGED}


def test_a_singular_position_ends_the_run_by_name() -> None:
    robot = with_inputs(equal_arms(), ())
    q = assemble(robot, [1.0, -1.0, 1.0], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 3.0})
    with pytest.raises(SimulationError, match=r"singular position.*Reduced") as caught:
        simulate(robot, None, q, v, 3.0, step=1e-3, integrator=Variational())
    assert caught.value.status is Status.SINGULAR


def test_a_law_that_is_no_number_ends_the_run_by_name() -> None:
    robot = two_link_arm()
    with pytest.raises(SimulationError, match="not finite") as caught:
        simulate(robot, Lost(robot, 40.0, 10.0), np.zeros(2), np.ones(2), 0.5, step=1e-3, integrator=Variational())
    assert caught.value.status is Status.NOT_FINITE
    assert caught.value.trajectory.t[-1] == pytest.approx(0.049, abs=1.5e-3)


def test_lanes_of_a_batch_are_separate_runs() -> None:
    simulator = Simulator(damped(400.0, 3.0), integrator=Variational())
    lanes = simulator.run_batch([[1.0], [0.5]], [[0.0], [2.0]], 0.2, step=1e-2)
    alone = simulator.run([0.5], [2.0], 0.2, step=1e-2)
    np.testing.assert_array_equal(lanes[1].q, alone.q)
