"""The variational integrator under forces: laws as expressions and from Python, dissipation, wheels; and refusals."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.constraints import second_order
from erugin.controllers import Controller, ProgramController, Status
from erugin.robots import Robot, assemble, assemble_velocities, lagrangian_system, with_inputs
from erugin.robots.examples import fukao_robot
from erugin.scenarios import simulate
from erugin.simulation import (
    DOP853,
    RK4,
    GeneralizedAlpha,
    Integrator,
    Projected,
    SimulationError,
    Simulator,
    Trajectory,
    Variational,
)
from erugin.symbolic import ModelError, Parameters

from .arms import disc_program, two_link_arm
from .mechanisms import crank_rocker
from .reduced_models import constant_speed, equal_arms
from .remembering import Recorder
from .systems import body
from .test_variational import misfits

Array = NDArray[np.float64]
STEPS = (4e-3, 2e-3, 1e-3)


class Follower(Controller):
    """Every input pulls its coordinate along sin t, from Python."""

    def __init__(self, robot: Robot, stiffness: float, damping: float) -> None:
        self.robot, self.stiffness, self.damping = robot, stiffness, damping

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        n = self.robot.u.numel()
        wanted = np.sin(t) - np.asarray(q, dtype=np.float64)[:n]
        return np.asarray(self.stiffness * wanted - self.damping * np.asarray(v)[:n], dtype=np.float64)


class Lost(Follower):
    """No number any more after some time."""

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        return super().control(t, q, v, p) * (1.0 if t < 0.05 else np.nan)


def orders(runs: list[Trajectory], ends: list[Trajectory]) -> Array:
    """Measured orders of q and v, shape (len(runs) − 1, 2)."""
    misses = [
        [float(np.abs(a[-1] - b[-1]).max()) for a, b in ((run.q, end.q), (run.v, end.v))]
        for run, end in zip(runs, ends, strict=True)
    ]
    return np.asarray(np.log2(np.array(misses[:-1]) / np.array(misses[1:])), dtype=np.float64)


def test_a_program_as_an_expression() -> None:
    robot, q, v = two_link_arm(), [0.6, -2.2], [0.0, 0.0]
    controller = ProgramController(disc_program(robot))
    end = simulate(robot, controller, q, v, 0.5, step=0.5, integrator=DOP853(1e-12, 1e-13))
    simulator = Simulator(robot, controller, integrator=Variational())
    runs = [simulator.run(q, v, 0.5, step=step) for step in STEPS]
    np.testing.assert_allclose(orders(runs, [end] * 3), 2.0, atol=0.05)
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
    np.testing.assert_allclose(orders(runs, [end] * 3)[:, 0], 2.0, atol=0.1)


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
    np.testing.assert_allclose(orders(runs, ends), 2.0, atol=0.1)
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
        def control(self, t: float, q: ArrayLike, v: ArrayLike, p: object = None) -> Array:
            return np.array([0.05 * np.sin(3.0 * t), 0.03])

    controller = Turn(robot, 0.0, 0.0)
    end = simulate(robot, controller, np.zeros(5), v, 1.0, step=1e-3, integrator=RK4())
    simulator = Simulator(robot, controller, integrator=Variational())
    runs = [simulator.run(np.zeros(5), v, 1.0, step=step) for step in STEPS]
    np.testing.assert_allclose(orders(runs, [end] * 3), 2.0, atol=0.05)
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
    with pytest.raises(ModelError, match=r"linear in the velocities, which 'speed'"):
        Simulator(constant_speed(), integrator=Variational())
    robot = two_link_arm()
    pulled = second_order(robot.coordinates.a[0] - robot.q[1], name="pull")
    held = dataclasses.replace(robot, natural=(pulled,))
    with pytest.raises(ModelError, match=r"not those of order 2: 'pull'"):
        Simulator(held, integrator=Variational())


def test_a_step_that_is_too_long_ends_the_run_by_name() -> None:
    robot = with_inputs(crank_rocker(), ())
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 9.0})
    with pytest.raises(SimulationError, match=r"Newton's method in the step after t = .*shorter steps") as caught:
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


def test_lanes_of_a_batch_are_runs_of_their_own() -> None:
    simulator = Simulator(damped(400.0, 3.0), integrator=Variational())
    lanes = simulator.run_batch([[1.0], [0.5]], [[0.0], [2.0]], 0.2, step=1e-2)
    alone = simulator.run([0.5], [2.0], 0.2, step=1e-2)
    np.testing.assert_array_equal(lanes[1].q, alone.q)
