"""The generalized-α method: orders in q, v and λ, laws, and stiff motions."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import second_order
from erugin.controllers import ProgramController, Status
from erugin.robots import Frame, Robot, assemble, assemble_velocities, lagrangian_system, tree_system, with_inputs
from erugin.robots.examples import bricard_mechanism, fukao_robot, heavy_top
from erugin.robots.manifold.manifold import Manifold
from erugin.robots.tree import WORLD, Body, Floating, Node, Prismatic, Revolute, Tree
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
from erugin.simulation.closed_loop import close_loop
from erugin.simulation.integrators.generalized_alpha import AlphaEquations, AlphaMotion
from erugin.symbolic import ModelError, Parameters

from ...support.arms import disc_program, two_link_arm
from ...support.convergence import STEPS, Follower, Lost, linkage, misfits, observed_orders
from ...support.mechanisms import crank_rocker
from ...support.reduced_models import bead, constant_speed, equal_arms
from ...support.references.flyball_governor import AXLE, BALL, COUPLER, END, PUBLISHED, ROD, SLIDER, G, governor, start
from ...support.remembering_controllers import Recorder
from ...support.systems import unicycle

Array = NDArray[np.float64]
EXACT = DOP853(1e-13, 1e-13)


def measured(
    robot: Robot, q: Array, v: Array, duration: float, truth: tuple[Integrator, float] = (EXACT, 0.5)
) -> Array:
    """Orders of q and v, shape (2, 2); positions are on the constraints."""
    end = simulate(robot, None, q, v, duration, step=truth[1], integrator=truth[0])
    simulator = Simulator(robot, integrator=GeneralizedAlpha())
    runs = [simulator.run(q, v, duration, step=step) for step in STEPS]
    assert all(misfits(run)[0] < 1e-14 for run in runs)
    return observed_orders(runs, [end] * 3)


def test_positions_are_held_and_velocities_nearly() -> None:
    """A four-bar with a crank at 9 rad/s: what φ̇ misses is of order 2, does not grow, and can be projected away."""
    robot, q, v = linkage()
    np.testing.assert_allclose(measured(robot, q, v, 1.0), 2.0, atol=0.05)
    simulator = Simulator(robot, integrator=GeneralizedAlpha())
    rate = [misfits(simulator.run(q, v, 1.0, step=step))[1] for step in STEPS]
    np.testing.assert_allclose(np.log2(np.array(rate[:-1]) / np.array(rate[1:])), 2.0, atol=0.1)
    assert rate[0] < 2e-3
    long = simulator.run(q, v, 20.0, step=STEPS[0])
    later = np.abs(long.evaluate(Manifold.of(robot).velocity_residual)).max(axis=1)
    assert later[-1000:].max() < 1.1 * later[:1000].max()
    end = simulate(robot, None, q, v, 1.0, step=1.0, integrator=EXACT)
    projected = Simulator(robot, integrator=Projected(GeneralizedAlpha()))
    runs = [projected.run(q, v, 1.0, step=step) for step in STEPS]
    np.testing.assert_allclose(observed_orders(runs, [end] * 3), 2.0, atol=0.05)
    assert max(misfits(runs[0])) < 1e-13


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.8])
def test_multipliers_are_of_order_2_when_the_start_is_forgotten(radius: float) -> None:
    """Against the reactions of the exact motion; in the first step they are off by order 1."""
    robot, q, v = linkage()
    loop, p = close_loop(robot, None, None), robot.parameters.values()
    equations, reactions = AlphaEquations.of(loop), robot.reactions
    truth = simulate(robot, None, q, v, 0.3, step=0.3 / 16, integrator=EXACT)
    wanted = [robot.evaluate(reactions, q=truth.q[i], v=truth.v[i]) for i in range(17)]
    first, misses = list[float](), list[float]()
    for steps in (256, 512, 1024):
        h, x, worst = 0.3 / steps, np.concatenate([q, v]), 0.0
        motion = AlphaMotion(equations, loop, GeneralizedAlpha(radius).coefficients, p, h)
        for k in range(steps):
            x = motion.follow(k * h, x)
            sample, rest = divmod(16 * (k + 1), steps)
            if k == 0:
                off = motion.multipliers - robot.evaluate(reactions, q=x[:3], v=x[3:])
                first.append(float(np.abs(off).max()))
            elif rest == 0 and sample > 4:
                worst = max(worst, float(np.abs(motion.multipliers - wanted[sample]).max()))
        misses.append(worst)
    found = [np.log2(np.array(each[:-1]) / np.array(each[1:])) for each in (misses, first)]
    np.testing.assert_allclose(found[0], 2.0, atol=0.1)
    np.testing.assert_allclose(found[1], 1.0, atol=0.4)
    assert misses[-1] < 1e-3 * max(float(np.abs(w).max()) for w in wanted)


def body_in_flight() -> Robot:
    """A rigid body on a floating joint: seven coordinates, six velocities in its own axes."""
    p = Parameters.declare({"m": 2.0})
    box = Body(
        name="body", mass=p["m"], center=ca.SX(ca.DM([0.1, 0.2, 0.05])), inertia=ca.SX(ca.diag(ca.DM([0.3, 0.5, 0.7])))
    )
    place = Frame(ca.SX(ca.DM.eye(3)), ca.SX(ca.DM.zeros(3)))
    node = Node(name="base", parent=WORLD, placement=place, joint=Floating(), bodies=(box,))
    return with_inputs(tree_system(Tree((node,), ca.SX(ca.DM([0, 0, -9.81]))), parameters=p), ())


def test_velocities_of_a_body_in_its_own_axes() -> None:
    q, v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), np.array([0.1, 0.2, 0.3, 1.0, 5.0, 0.5])
    robot = body_in_flight()
    np.testing.assert_allclose(measured(robot, q, v, 1.0), 2.0, atol=0.05)
    motion = simulate(robot, None, q, v, 5.0, step=1e-2, integrator=GeneralizedAlpha())
    np.testing.assert_allclose(np.linalg.norm(motion.q[:, 3:], axis=1), 1.0, atol=1e-14)


def test_quasi_velocities_of_a_wheel_go_round_a_circle() -> None:
    """s and ω stay, so that the path is a circle of radius s/ω, to order 2."""
    robot = with_inputs(unicycle().robot, ())
    misses: list[float] = []
    for step in (2e-2, 1e-2):
        motion = simulate(robot, None, [0.0, 0.0, 0.0], [0.6, 1.5], 1.0, step=step, integrator=GeneralizedAlpha())
        x, y = 0.4 * np.sin(1.5 * motion.t), 0.4 * (1.0 - np.cos(1.5 * motion.t))
        misses.append(float(np.hypot(motion.q[:, 0] - x, motion.q[:, 1] - y).max()))
    assert misses[1] < 1e-5
    assert np.log2(misses[0] / misses[1]) == pytest.approx(2.0, abs=0.02)


def test_a_mass_matrix_that_constraints_make_up_for() -> None:
    """A heavy top in the four numbers of its quaternion: M has rank 3."""
    top = with_inputs(heavy_top(1.3, np.diag([0.02, 0.02, 0.01]), center=(0.0, 0.0, 0.2)), ())
    q = np.array([np.cos(0.3), np.sin(0.3), 0.0, 0.0])
    spin = np.array([0.4, 0.0, 30.0])
    v = 0.5 * np.array([-q[1] * spin[0], q[0] * spin[0], -q[1] * spin[2], q[0] * spin[2]])
    np.testing.assert_allclose(measured(top, q, v, 0.5), 2.0, atol=0.05)


def test_redundant_rows() -> None:
    robot = with_inputs(bricard_mechanism(), ())
    found = measured(robot, np.zeros(5), np.zeros(5), 0.5, (Reduced(), 1e-3))
    np.testing.assert_allclose(found, 2.0, atol=0.05)


def test_constraints_that_move_in_time() -> None:
    motion = simulate(bead(speed=2.0), None, [0.5, 0.0], [0.0, 1.0], 1.0, step=1e-3, integrator=GeneralizedAlpha())
    np.testing.assert_allclose(np.linalg.norm(motion.q, axis=1), 0.5 * np.cosh(2.0 * motion.t), rtol=0.0, atol=2e-5)
    assert misfits(motion)[0] < 1e-14


def test_constraints_of_order_1_hold_in_velocities_linear_or_not() -> None:
    robot = with_inputs(fukao_robot(), ())
    names = robot.coordinates.names
    v = assemble_velocities(robot, np.zeros(5), fixed=dict(zip(names[-2:], (2.0, 1.0), strict=True)))
    np.testing.assert_allclose(measured(robot, np.zeros(5), v, 1.0), 2.0, atol=0.05)
    assert misfits(simulate(robot, None, np.zeros(5), v, 1.0, step=4e-3, integrator=GeneralizedAlpha()))[1] < 1e-14
    bent, start = constant_speed(), np.array([0.6, 0.8])
    np.testing.assert_allclose(measured(bent, np.zeros(2), start, 1.0), 2.0, atol=0.05)
    assert misfits(simulate(bent, None, np.zeros(2), start, 1.0, step=4e-3, integrator=GeneralizedAlpha()))[1] < 1e-14


def test_constraints_of_order_2_hold_in_accelerations() -> None:
    """A joint with prescribed acceleration: its angle is that of the integrated law, and the other one swings along."""
    robot = with_inputs(two_link_arm(), ())
    reported = second_order(robot.coordinates.a[0] - 3.0 * ca.cos(2.0 * robot.t), name="told")
    held = dataclasses.replace(robot, natural=(reported,))
    q, v = np.array([0.2, 0.5]), np.zeros(2)
    end = simulate(held, None, q, v, 1.0, step=1.0, integrator=EXACT)
    simulator = Simulator(held, integrator=GeneralizedAlpha())
    np.testing.assert_allclose(
        observed_orders([simulator.run(q, v, 1.0, step=s) for s in STEPS], [end] * 3), 2.0, atol=0.05
    )
    motion = simulate(held, None, q, v, 1.0, step=1e-3, integrator=GeneralizedAlpha())
    np.testing.assert_allclose(motion.v[:, 0], 1.5 * np.sin(2.0 * motion.t), atol=1e-5)


def test_a_program_as_an_expression() -> None:
    robot, q, v = two_link_arm(), [0.6, -2.2], [0.0, 0.0]
    controller = ProgramController(disc_program(robot))
    end = simulate(robot, controller, q, v, 0.5, step=0.5, integrator=DOP853(1e-12, 1e-13))
    simulator = Simulator(robot, controller, integrator=GeneralizedAlpha())
    np.testing.assert_allclose(
        observed_orders([simulator.run(q, v, 0.5, step=s) for s in STEPS], [end] * 3), 2.0, atol=0.1
    )


@pytest.mark.parametrize(("stiffness", "damping"), [(40.0, 10.0), (1e5, 1e4)])
def test_a_law_from_python_even_if_it_is_stiff(stiffness: float, damping: float) -> None:
    robot = two_link_arm()
    controller = Follower(robot, stiffness, damping)
    q, v = np.zeros(2), np.ones(2)
    end = simulate(robot, controller, q, v, 0.1, step=2e-5 if damping > 1e3 else 1e-3, integrator=RK4())
    simulator = Simulator(robot, controller, integrator=GeneralizedAlpha())
    runs = [simulator.run(q, v, 0.1, step=step) for step in STEPS]
    np.testing.assert_allclose(observed_orders(runs, [end] * 3)[:, 0], 2.0, atol=0.25)


@pytest.mark.parametrize("constrained", [True, False])
def test_what_a_controller_with_a_memory_changes_at_samples_does_not_cost_the_order(constrained: bool) -> None:
    if constrained:
        robot = with_inputs(crank_rocker(), ("crank",))
        q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
        v = assemble_velocities(robot, q, fixed={"crank": 3.0})
    else:
        robot, q, v = two_link_arm(), np.array([0.3, 0.4]), np.zeros(2)
    controller = Recorder(robot, lambda t: 5.0 * float(np.sin(20.0 * t)))

    def run(step: float, integrator: Integrator) -> Trajectory:
        return simulate(robot, controller, q, v, 0.5, step=step, integrator=integrator)

    runs, ends = ([run(step, method) for step in STEPS] for method in (GeneralizedAlpha(), RK4()))
    np.testing.assert_allclose(observed_orders(runs, ends), 2.0, atol=0.15)


def test_a_radius_out_of_range_is_refused() -> None:
    for radius in (-0.1, 1.1, np.nan):
        with pytest.raises(ModelError, match=r"spectral_radius"):
            GeneralizedAlpha(radius)


def test_coefficients_are_those_of_chung_and_hulbert() -> None:
    """γ = 1/2 − α_m + α_f and β = (1 − α_m + α_f)²/4; at ρ = 1 the trapezoidal rule, at 0 α_m = −1."""
    for radius in (0.0, 0.3, 0.8, 1.0):
        alpha_m, alpha_f, beta, gamma = GeneralizedAlpha(radius).coefficients
        assert gamma == pytest.approx(0.5 - alpha_m + alpha_f)
        assert beta == pytest.approx((1.0 - alpha_m + alpha_f) ** 2 / 4)
    assert GeneralizedAlpha(1.0).coefficients == pytest.approx((0.5, 0.5, 0.25, 0.5))
    assert GeneralizedAlpha(0.0).coefficients == pytest.approx((-1.0, 0.0, 1.0, 1.5))


def test_failures_end_the_run_by_name() -> None:
    robot, q, v = linkage()
    with pytest.raises(SimulationError, match=r"Newton's method in the step after t = .*steps shorter than") as caught:
        simulate(robot, None, q, v, 10.0, step=0.35, integrator=GeneralizedAlpha())
    assert caught.value.status is Status.NOT_CONVERGED
    assert np.isfinite(caught.value.trajectory.q).all()
    arms = with_inputs(equal_arms(), ())
    q = assemble(arms, [1.0, -1.0, 1.0], fixed=["crank"]).q
    v = assemble_velocities(arms, q, fixed={"crank": 3.0})
    with pytest.raises(SimulationError, match=r"singular position.*Reduced") as caught:
        simulate(arms, None, q, v, 3.0, step=1e-3, integrator=GeneralizedAlpha())
    assert caught.value.status is Status.SINGULAR
    arm = two_link_arm()
    with pytest.raises(SimulationError, match="not finite") as caught:
        simulate(arm, Lost(arm, 40.0, 10.0), np.zeros(2), np.ones(2), 0.5, step=1e-3, integrator=GeneralizedAlpha())
    assert caught.value.status is Status.NOT_FINITE
    assert len(caught.value.trajectory) > 10


def test_the_governor_is_the_tree_of_bodies_of_the_benchmark() -> None:
    """M of the model by hand beside that of boxes and points on hinges and a slide."""
    eye, zero = ca.SX(ca.DM.eye(3)), ca.SX(ca.DM.zeros(3))
    across, along = COUPLER
    nodes = [
        Node(
            name="shaft",
            parent=WORLD,
            placement=Frame(eye, zero),
            joint=Revolute((0.0, 0.0, 1.0)),
            bodies=(
                Body(
                    name="shaft", mass=ca.SX(ROD), center=zero, inertia=ca.SX(ca.diag(ca.DM([0, 0, ROD * 2e-4 / 12])))
                ),
            ),
        ),
        Node(
            name="slider",
            parent=0,
            placement=Frame(eye, zero),
            joint=Prismatic((0.0, 0.0, 1.0)),
            bodies=(Body(name="slider", mass=ca.SX(SLIDER), center=zero, inertia=SLIDER * 0.02 / 12 * eye),),
        ),
    ]
    for side, name in ((1.0, "alpha1"), (-1.0, "alpha2")):
        rod = Body(
            name=name,
            mass=ca.SX(ROD),
            center=ca.SX(ca.DM([side * 0.5, 0, 0])),
            inertia=ca.diag(ca.SX(ca.DM([along, across, across]))),
        )
        ball = Body(name=f"ball {name}", mass=ca.SX(BALL), center=ca.SX(ca.DM([side, 0, 0])), inertia=ca.SX(3, 3))
        hinge = Frame(eye, ca.SX(ca.DM([side * AXLE, 0, 1])))
        nodes.append(Node(name=name, parent=0, placement=hinge, joint=Revolute((0.0, side, 0.0)), bodies=(rod, ball)))
    tree = tree_system(Tree(tuple(nodes), ca.SX(ca.DM([0, 0, -G]))), parameters=Parameters.declare({}))
    q = np.array([0.3, 0.4, 0.6, 0.9])
    robot = governor()
    np.testing.assert_allclose(robot.evaluate(robot.mass_matrix, q=q), tree.evaluate(tree.mass_matrix, q=q), atol=1e-14)


@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_the_governor_follows_the_published_curve(step: float) -> None:
    """10 s of the benchmark; 1e-2 s is eighty times the time constant of the dampers, and RK4 fails below 1e-3 s."""
    motion = simulate(governor(), None, *start(), 10.0, step=step, integrator=GeneralizedAlpha())
    height = np.interp(list(PUBLISHED), motion.t, motion.q[:, 1])
    np.testing.assert_allclose(height, list(PUBLISHED.values()), atol=3e-3)
    miss = np.abs(motion.q[-1] - END).max()
    assert miss < (4e-3 if step > 5e-3 else 4e-5)


def test_an_explicit_method_of_order_4_diverges_at_half_that_step() -> None:
    with pytest.raises(SimulationError, match="diverged") as caught:
        simulate(governor(), None, *start(), 10.0, step=5e-4, integrator=RK4())
    assert caught.value.trajectory.t[-1] < 0.1


@pytest.mark.parametrize("method", [GeneralizedAlpha(), Variational()])
def test_springs_without_mass_behind_loops_that_close(method: GeneralizedAlpha | Variational) -> None:
    """The same motion as a stiff closed chain whose mass matrix is singular: of order 2, and on the loops."""
    robot, (q, v) = governor(springs_as_coordinates=True), start(springs_as_coordinates=True)
    truth = simulate(governor(), None, *start(), 0.5, step=5e-5, integrator=RK4(), every=10_000)
    simulator = Simulator(robot, integrator=method)
    runs = [simulator.run(q, v, 0.5, step=step) for step in (2e-3, 1e-3, 5e-4)]
    misses = [[np.abs(x[-1, :4] - y[-1]).max() for x, y in ((run.q, truth.q), (run.v, truth.v))] for run in runs]
    table = np.array(misses)
    np.testing.assert_allclose(np.log2(table[:-1] / table[1:]), 2.0, atol=0.2)
    assert table[-1, 0] < 2e-6
    loops = runs[-1].evaluate(ca.vertcat(*(k.residual(robot.coordinates) for k in robot.natural)))
    assert np.abs(loops).max() < 1e-14


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.8, 1.0])
def test_what_is_too_fast_shrinks_by_the_spectral_radius(radius: float) -> None:
    """A spring of 1e10 N/m on 1 kg beside steps of 10 ms: a thousand radians per step, and nothing else."""
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    robot = lagrangian_system(q=q, v=v, p=Parameters.declare({}), T=v**2 / 2, V=1e10 * q**2 / 2)
    method = GeneralizedAlpha(radius)
    motion = simulate(robot, None, [1e-6], [0.0], 0.6, step=1e-2, integrator=method)
    assert method.amplification(1e5j * 1e-2) == pytest.approx(radius, abs=0.02)
    size = np.abs(motion.q[:, 0])
    if radius == 0.0:
        assert size[-1] < 1e-20
    else:
        # The three eigenvalues nearly coincide there, which lets it swell before it shrinks.
        late = np.log(size[-1] / size[-21]) / 20
        assert late == pytest.approx(np.log(radius), abs=0.12)


@pytest.mark.parametrize(("stiffness", "damping"), [(400.0, 3.0), (1e6, 10.0), (4.0, 0.1)])
def test_amplification_is_that_of_its_steps(stiffness: float, damping: float) -> None:
    """The ratio of amplitudes far into a decay, against the spectral radius at the complex pair."""
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    robot = lagrangian_system(
        q=q, v=v, p=Parameters.declare({}), T=v**2 / 2, V=stiffness * q**2 / 2, D=damping * v**2 / 2
    )
    method, step, steps = GeneralizedAlpha(0.8), 0.02, 400
    motion = simulate(robot, None, [1.0], [0.0], steps * step, step=step, integrator=method)
    root = complex(np.roots([1.0, damping, stiffness])[0])
    radius = method.amplification(root * step)
    # Of a pair r e^{±iθ} the square x_k² − x_{k+1} x_{k−1} is a multiple of r^{2k}.
    x = motion.q[:, 0]
    square = x[1:-1] ** 2 - x[2:] * x[:-2]
    found = (square[300] / square[100]) ** (1 / 400)
    assert found == pytest.approx(radius, rel=2e-3)
    assert radius < 1.0


def test_the_equations_of_a_step_are_conditioned_alike_however_short_it_is() -> None:
    """Condition number of the slope; in accelerations and multipliers it would grow like 1/h⁴ [Bottasso2007]_."""
    robot, (q, v) = governor(springs_as_coordinates=True), start(springs_as_coordinates=True)
    equations = AlphaEquations.of(close_loop(robot, None, None))
    z, rest = np.concatenate([v, np.zeros(2)]), np.zeros(6)
    alpha, p = np.array(GeneralizedAlpha().coefficients), robot.parameters.values()

    def condition(h: float) -> float:
        return float(np.linalg.cond(equations.newton.kernel(z, 0.0, h, alpha, q, v, rest, rest, p)[1]))

    # Where the springs are not stiff beside the step any more.
    short = [condition(h) for h in (1e-7, 1e-8, 1e-9)]
    assert max(short) < 1.05 * min(short)
    assert condition(1e-3) < 1e7
