"""Integration in reduced coordinates: its order, what it keeps, and which constraints it takes."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import holonomic, second_order
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot, assemble, assemble_velocities, lagrangian_system, with_inputs
from erugin.robots.examples import fukao_robot, heavy_top, iftomm_four_bars
from erugin.robots.manifold.branch import LostBranchError, MotionBranch
from erugin.robots.manifold.initial_chart import initial_chart
from erugin.robots.manifold.manifold import Manifold
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, Reduced, SimulationError, Simulator, Trajectory
from erugin.simulation.closed_loop import SymbolicLoop
from erugin.simulation.integrators import reduced as reduced_blocks
from erugin.simulation.integrators import reduced_step
from erugin.simulation.integrators.reduced_step import ChartStage, StepFunction, chart_shapes
from erugin.symbolic import Kernel, ModelError, Parameters

from ...support.mechanisms import crank_rocker, engine
from ...support.reduced_models import G, Torque, bead, constant_speed, pendulum, turning_body

Array = NDArray[np.float64]


def misfits(motion: Trajectory) -> tuple[float, float]:
    """Largest |φ| and |ρ| of the natural constraints over the samples."""
    manifold = Manifold.of(motion.robot)
    place, speed = (
        float(np.abs(motion.evaluate(e)).max()) if e.numel() else 0.0
        for e in (manifold.position_residual, manifold.velocity_residual)
    )
    return place, speed


def spun(robot: Robot, guess: list[float], rate: float) -> tuple[Array, Array]:
    q = assemble(robot, guess, fixed=["crank"]).q
    return q, assemble_velocities(robot, q, fixed={"crank": rate})


def test_a_four_bar_converges_with_order_4_and_holds_to_rounding() -> None:
    """Against DOP853 at 1e-13 in the full equations with stabilisation, which is at rest on the constraints."""
    robot = with_inputs(crank_rocker(), ())
    q, v = spun(robot, [0.5, 0.5, 1.5], 9.0)
    truth = simulate(robot, None, q, v, 1.0, step=0.5, integrator=DOP853(1e-13, 1e-13)).q[-1]
    simulator, misses = Simulator(robot, integrator=Reduced()), list[float]()
    for step in (2e-3, 1e-3, 5e-4):
        motion = simulator.run(q, v, 1.0, step=step)
        misses.append(float(np.abs(motion.q[-1] - truth).max()))
        place, speed = misfits(motion)
        assert place < 2e-15
        assert speed < 2e-14
    orders = np.log2(np.array(misses[:-1]) / np.array(misses[1:]))
    np.testing.assert_allclose(orders, 4.0, atol=0.25)
    assert misses[-1] < 1e-8


@pytest.mark.slow
def test_a_hundred_thousand_steps_do_not_drift() -> None:
    """100 s at 1 ms with 150 turns of the crank; the figure of 10⁶ steps stands in docs/coordinates.md."""
    robot = with_inputs(crank_rocker(), ())
    q, v = spun(robot, [0.5, 0.5, 1.5], 9.0)
    motion = simulate(robot, None, q, v, 100.0, step=1e-3, integrator=Reduced())
    place, speed = misfits(motion)
    # Rounding of angles that have grown to 900 rad, against lengths of a metre and speeds of 10 rad/s.
    assert np.abs(motion.q).max() > 500.0
    assert place < 1e-12
    assert speed < 1e-12 * np.abs(motion.v).max()
    assert np.ptp(motion.energy) < 1e-6 * np.ptp(motion.evaluate(robot.kinetic_energy))


def test_a_slider_crank_agrees_with_the_full_equations() -> None:
    robot = with_inputs(engine(), ())
    q, v = spun(robot, [0.5, 0.0, 1.5], 9.0)
    truth = simulate(robot, None, q, v, 2.0, step=0.5, integrator=DOP853(1e-13, 1e-13))
    motion = simulate(robot, None, q, v, 2.0, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(motion.q[::500], truth.q, atol=2e-8)
    np.testing.assert_allclose(motion.energy, motion.energy[0], atol=1e-7)


def test_a_spatial_pendulum_keeps_energy_and_angular_momentum() -> None:
    robot = pendulum(3)
    q, v = np.array([0.6, 0.0, 0.8]), np.array([0.0, 2.0, 0.0])
    motion = simulate(robot, None, q, v, 10.0, step=1e-3, integrator=Reduced())
    momentum = motion.q[:, 0] * motion.v[:, 1] - motion.q[:, 1] * motion.v[:, 0]
    assert np.ptp(motion.energy) < 1e-8
    assert np.ptp(momentum) < 1e-9
    np.testing.assert_allclose(np.linalg.norm(motion.q, axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(np.sum(motion.q * motion.v, axis=1), 0.0, atol=2e-15)
    # It goes from above the pivot to below, and around.
    assert np.ptp(motion.q[:, 2]) > 1.5


def test_a_pendulum_swings_through_its_lowest_position() -> None:
    """Larin's example over many periods, where γ₀ = −1, against the plain equation θ'' = −(g/l) sin θ."""
    motion = simulate(pendulum(2), None, [np.sin(2.0), -np.cos(2.0)], [0.0, 0.0], 10.0, step=2e-3, integrator=Reduced())
    truth = solve_ivp(
        lambda _, x: [x[1], -G * np.sin(x[0])],
        (0.0, 10.0),
        [2.0, 0.0],
        "DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=motion.t,
    ).y
    np.testing.assert_allclose(motion.q[:, 0], np.sin(truth[0]), atol=1e-8)
    assert (np.diff(np.sign(motion.q[:, 0])) != 0).sum() > 5


def test_a_two_wheel_robot_rolls_as_in_its_reduced_form() -> None:
    """Nonholonomic rows, against the same robot in two quasi-velocities without constraints."""
    full, small = fukao_robot(), fukao_robot(form="reduced")
    q, w = np.array([0.1, -0.2, 0.3, 0.0, 0.0]), np.array([0.8, 1.5])
    v = assemble_velocities(full, q, small.evaluate(small.coordinates.N, q=q) @ w)
    motion = simulate(with_inputs(full, ()), None, q, v, 3.0, step=1e-3, integrator=Reduced())
    truth = simulate(with_inputs(small, ()), None, q, w, 3.0, step=1.0, integrator=DOP853(1e-13, 1e-13))
    np.testing.assert_allclose(motion.q[::1000], truth.q, atol=1e-10)
    assert misfits(motion)[1] < 1e-14
    assert np.ptp(motion.v[:, 2]) > 0.5


def test_constraints_that_move_in_time() -> None:
    """The bead on a turning rod: r'' = ω² r has r = r₀ cosh ωt."""
    motion = simulate(bead(), None, [0.1, 0.0], [0.0, 0.2], 1.5, step=1e-3, integrator=Reduced())
    r = 0.1 * np.cosh(2.0 * motion.t)
    exact = r[:, None] * np.column_stack([np.cos(2.0 * motion.t), np.sin(2.0 * motion.t)])
    np.testing.assert_allclose(motion.q, exact, atol=1e-11)
    assert max(misfits(motion)) < 1e-14


def test_a_constraint_not_linear_in_the_velocities() -> None:
    """Constant speed under gravity: the heading obeys θ' = −g cos θ/s."""
    motion = simulate(
        constant_speed(), None, [0.0, 0.0], [np.cos(0.4), np.sin(0.4)], 1.0, step=1e-3, integrator=Reduced()
    )
    heading = solve_ivp(
        lambda _, x: -G * np.cos(x), (0.0, 1.0), [0.4], "DOP853", rtol=1e-13, atol=1e-14, t_eval=motion.t
    ).y[0]
    np.testing.assert_allclose(motion.v, np.column_stack([np.cos(heading), np.sin(heading)]), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(motion.v, axis=1), 1.0, atol=1e-15)


def test_quasi_velocities() -> None:
    """A body held with a point on a plane, against the full equations of its three angular velocities."""
    robot = turning_body()
    q = assemble(robot, [0.9, 0.1, -0.2, 0.3]).q
    v = assemble_velocities(robot, q, [0.5, -1.0, 0.8])
    q = assemble(robot, q / np.linalg.norm(q)).q
    motion = simulate(robot, None, q, v, 2.0, step=2e-3, integrator=Reduced())
    truth = simulate(robot, None, q, v, 2.0, step=0.5, integrator=DOP853(1e-13, 1e-13))
    np.testing.assert_allclose(motion.q[::250], truth.q, atol=1e-9)
    assert max(misfits(motion)) < 1e-14


def test_a_singular_mass_matrix() -> None:
    """A heavy top in four numbers of a quaternion, whose mass matrix has rank 3."""
    top = with_inputs(heavy_top(1.2, np.diag([0.1, 0.1, 0.05]), center=(0.0, 0.0, 0.3)), ())
    e = np.array([np.cos(0.4), np.sin(0.4), 0.0, 0.0])
    v = np.array([0.0, 0.0, 2.0, 9.0]) * 0.5
    v -= e * (e @ v)
    motion = simulate(top, None, e, v, 2.0, step=1e-3, integrator=Reduced())
    truth = simulate(top, None, e, v, 2.0, step=0.5, integrator=DOP853(1e-13, 1e-13))
    np.testing.assert_allclose(motion.q[::500], truth.q, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(motion.q, axis=1), 1.0, atol=1e-15)


def test_redundant_rows_change_no_motion() -> None:
    robot = with_inputs(crank_rocker(), ())
    extra = robot.natural[0].residual(robot.coordinates)
    doubled = dataclasses.replace(robot, natural=(*robot.natural, holonomic(extra[0] + 2.0 * extra[1], name="again")))
    q, v = spun(robot, [0.5, 0.5, 1.5], 9.0)
    one = simulate(robot, None, q, v, 0.5, step=1e-3, integrator=Reduced())
    two = simulate(doubled, None, q, v, 0.5, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(two.q, one.q, atol=1e-11)
    with pytest.raises(ModelError, match="at the start, natural constraints depend"):
        simulate(doubled, None, q, v, 0.5, step=1e-3, integrator=RK4())


def stage_of(robot: Robot, q: Array, v: Array) -> tuple[SymbolicLoop, ChartStage]:
    loop = SymbolicLoop(robot, None, None, monitor_rank=False, metrics=ca.SX(0, 1))
    manifold = Manifold.of(robot)
    chart = initial_chart(MotionBranch(manifold, robot.parameters.values()), 0.0, q, v)
    return loop, ChartStage(loop, manifold, chart_shapes(chart, manifold))


def windows_upright(windows: int) -> tuple[Robot, Array, Array]:
    q, v = np.zeros(2 * windows + 1), np.zeros(2 * windows + 1)
    q[::2], v[::2] = 1.2, -1.0
    return iftomm_four_bars(windows), q, v


@pytest.mark.slow
def test_a_step_grows_with_the_number_of_loops_alone() -> None:
    """Operations, which are the same on every machine; neither the step nor the rate of RK4 is written down for it."""
    sizes = list[int]()
    for windows in (6, 12, 24):
        loop, stage = stage_of(*windows_upright(windows))
        sizes.append(stage.follow.n_instructions())
        assert "rate" not in vars(loop)
    assert sizes[1] < 2.3 * sizes[0]
    assert sizes[2] < 2.3 * sizes[1]


@pytest.mark.parametrize(("windows", "fused"), [(1, True), (2, True), (12, False)])
def test_only_a_small_step_becomes_one_graph(windows: int, fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    built = list[str]()

    def kernel(name: str, *given: object, **options: object) -> Kernel:
        built.append(name)
        return Kernel(name, *given, **{**options, "compiled": False})  # type: ignore[arg-type]

    monkeypatch.setattr(reduced_step, "Kernel", kernel)
    loop, stage = stage_of(*windows_upright(windows))
    step = StepFunction.of(loop, stage).function
    assert built == ["reduced_step"] * fused
    assert step.is_a("MXFunction") is not fused


@pytest.mark.slow
def test_rows_far_from_sparse_are_eliminated_from_python(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, q, v = windows_upright(3)
    compiled = simulate(robot, None, q, v, 0.9, step=1e-3, integrator=Reduced())
    monkeypatch.setattr(reduced_blocks, "LARGEST", 10)
    monkeypatch.setattr(reduced_blocks, "ChartStage", None)
    called = simulate(robot, None, q, v, 0.9, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(called.q, compiled.q, atol=1e-10)
    assert np.ptp(called.energy) < 1e-10 * np.ptp(called.evaluate(robot.kinetic_energy))


def test_controllers_called_and_symbolic_drive_it_alike() -> None:
    """A torque from a Python object against the same torque as a parameter of a symbolic law, and against RK4."""
    robot = with_inputs(crank_rocker(), ("crank",))
    q, v = spun(robot, [0.5, 0.5, 1.5], 3.0)
    torque = Torque(robot, 2.0, 1.5)
    called = simulate(robot, torque, q, v, 0.5, step=1e-3, integrator=Reduced())
    reference = simulate(robot, torque, q, v, 0.5, step=1e-3, integrator=DOP853())
    np.testing.assert_allclose(called.q, reference.q, atol=1e-8)
    assert max(misfits(called)) < 1e-14
    program = Program(robot, holonomic(robot.q[0] - 0.5 - 3.0 * robot.t - ca.sin(robot.t) ** 2, name="crank turns"))
    law = ProgramController(program, realization="actuated")
    driven = simulate(robot, law, q, v, 1.0, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(driven.q[:, 0], 0.5 + 3.0 * driven.t + np.sin(driven.t) ** 2, atol=1e-9)
    assert np.abs(driven.u).max() > 1.0
    assert max(misfits(driven)) < 1e-14


def test_runs_are_repeated_and_may_start_later() -> None:
    """The same samples from a second run of one simulator, with another length, and blocks broken elsewhere."""
    robot = with_inputs(crank_rocker(), ())
    q, v = spun(robot, [0.5, 0.5, 1.5], 9.0)
    simulator = Simulator(robot, integrator=Reduced())
    first = simulator.run(q, v, 0.357, step=1e-3)
    np.testing.assert_array_equal(simulator.run(q, v, 0.5, step=1e-3).q[:358], first.q)
    heavier = simulator.run(q, v, 0.357, step=1e-3, p={"coupler.mass": 3.0})
    assert np.abs(heavier.q[-1] - first.q[-1]).max() > 1e-3
    late = simulate(bead(), None, *later(0.7), 0.5, step=1e-3, integrator=Reduced(), t0=0.7)
    r = 0.1 * np.cosh(2.0 * late.t)
    np.testing.assert_allclose(np.linalg.norm(late.q, axis=1), r, atol=1e-11)


def later(t: float) -> tuple[Array, Array]:
    """The bead at a later time."""
    r, rate, e = 0.1 * np.cosh(2.0 * t), 0.2 * np.sinh(2.0 * t), np.array([np.cos(2.0 * t), np.sin(2.0 * t)])
    return r * e, rate * e + 2.0 * r * np.array([-e[1], e[0]])


def test_long_steps_are_halved_and_too_long_ones_are_reported() -> None:
    """A pendulum that turns by half a radian and more per step."""
    robot = pendulum(2)
    motion = simulate(robot, None, [0.0, -1.0], [30.0, 0.0], 1.0, step=0.05, integrator=Reduced())
    np.testing.assert_allclose(np.linalg.norm(motion.q, axis=1), 1.0, atol=1e-14)
    with pytest.raises(SimulationError, match="the free directions rotate by more than 31 degrees") as error:
        simulate(robot, None, [0.0, -1.0], [30.0, 0.0], 1.0, step=0.05, integrator=Reduced(halvings=0))
    assert isinstance(error.value.__cause__, LostBranchError)


def test_what_it_cannot_take_is_named() -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    robot = lagrangian_system(q=q, v=v, p=Parameters.declare({}), T=ca.sumsqr(v) / 2, name="point")
    jerk = second_order(robot.coordinates.a[0] - robot.coordinates.a[1], name="equal")
    with pytest.raises(ModelError, match=r"order 2 do not restrict the state and cannot be reduced: 'equal'"):
        Simulator(dataclasses.replace(robot, natural=(jerk,)), integrator=Reduced())
    loose = dataclasses.replace(robot, natural=(holonomic(q[0], name="wall"), holonomic(q[0] - 1.0, name="other")))
    with (
        pytest.raises(SimulationError, match=r"no position on the branch within the step; '(wall|other)' misses by"),
        pytest.warns(UserWarning, match="violates its natural constraint"),
    ):
        simulate(loose, None, [0.0, 0.0], [0.0, 1.0], 1.0, step=0.1, integrator=Reduced())


def test_a_run_that_diverges_ends_with_that_status() -> None:
    robot = with_inputs(crank_rocker(), ("crank",))
    q, v = spun(robot, [0.5, 0.5, 1.5], 3.0)
    with pytest.raises(SimulationError, match="not finite"):
        simulate(robot, Torque(robot, np.inf, 0.0), q, v, 0.5, step=1e-3, integrator=Reduced())


def test_a_mechanism_that_is_driven_in_time_only() -> None:
    """No freedom is left: the crank follows its prescribed motion, and the rest follows in closed form."""
    robot = with_inputs(crank_rocker(), ())
    drive = holonomic(robot.q[0] - 0.5 - 3.0 * robot.t, name="drive")
    driven = dataclasses.replace(robot, natural=(*robot.natural, drive))
    q, v = spun(robot, [0.5, 0.5, 1.5], 3.0)
    motion = simulate(driven, None, q, v, 0.5, step=5e-3, integrator=Reduced())
    np.testing.assert_allclose(motion.q[:, 0], 0.5 + 3.0 * motion.t, atol=1e-14)
    np.testing.assert_allclose(motion.v[:, 0], 3.0, atol=1e-13)
    end = assemble(robot, motion.q[-1], fixed=["crank"]).q
    np.testing.assert_allclose(motion.q[-1], end, atol=1e-13)
    np.testing.assert_allclose(motion.v[-1], assemble_velocities(robot, end, fixed={"crank": 3.0}), atol=1e-12)
