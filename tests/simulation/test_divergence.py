"""Runs that run away end by name, and those that grow as their equations say do not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Controller, Program, ProgramController, Status, Tick
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.robots.hamiltonian import Cholesky
from erugin.scenarios import simulate
from erugin.simulation import (
    DOP853,
    RK4,
    CanonicalEuler,
    Euler,
    Event,
    GeneralizedAlpha,
    Integrator,
    Mode,
    Phase,
    PhasedSimulationError,
    Reduced,
    SimulationError,
    Simulator,
    Trajectory,
    Variational,
    simulate_hybrid,
    simulate_phases,
)
from erugin.symbolic import ModelError

from ..support.called_controller import Called

Array = NDArray[np.float64]
Q0, V0 = [0.2, 0.9], [0.0, 0.0]


@functools.cache
def arm(count: int = 2) -> Robot:
    return planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)] * count)


@functools.cache
def tip_law(rate: float = 5.0) -> ProgramController:
    """Gains that each of these steps leaves stable; the motion is faster than they say."""
    robot = arm()
    target = ca.vertcat(1.2 + 0.1 * ca.sin(robot.t), 0.5)
    tip = holonomic(robot.points["tip"] - target, perturbation=Baumgarte(rate), name="tip")
    return ProgramController(Program(robot, tip), realization="actuated")


@functools.cache
def stiff() -> Robot:
    """Two unit masses, 1 rad/s together and 1414 rad/s against each other."""
    q, v = ca.SX.sym("x", 2), ca.SX.sym("v", 2)
    V = 1e6 / 2 * (q[0] - q[1]) ** 2 + ca.sumsqr(q) / 4
    return lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=V, D=ca.sumsqr(v) / 10, name="stiff")


def free(force: Callable[[ca.SX, ca.SX, ca.SX], ca.SX | float], name: str = "mass") -> Robot:
    """A unit mass under a force of time, place and speed."""
    t, x, v = ca.SX.sym("t"), ca.SX.sym("x"), ca.SX.sym("v")
    return lagrangian_system(q=x, v=v, T=v**2 / 2, Q=force(t, x, v), t=t, name=name)


def ended(run: Callable[[], Trajectory]) -> Trajectory:
    """The samples of a run that ends as DIVERGED, the last of them alone without a meaning."""
    with pytest.raises(SimulationError, match=r"at t = .* s, .* = .*The motion has diverged") as caught:
        run()
    kept = caught.value.trajectory
    assert caught.value.status is Status.DIVERGED
    assert kept.status[-1] == Status.DIVERGED
    assert not kept.ok
    assert (kept.status[:-1] == Status.OK).all()
    assert np.isfinite(kept.q).all()
    assert f"at t = {kept.t[-1]:g} s" in kept.ending
    return kept


def outcome(run: Callable[[], Trajectory]) -> tuple[Trajectory, Status]:
    """The samples of a run, and why it had to stop."""
    try:
        return run(), Status.OK
    except SimulationError as error:
        return error.trajectory, error.status


@pytest.mark.parametrize(("rate", "step"), [(5.0, 0.3), (5.0, 0.5), (8.0, 0.25)])
@pytest.mark.parametrize("wrapped", [False, True], ids=["compiled", "called"])
def test_steps_too_long_for_a_program_end_the_run(rate: float, step: float, wrapped: bool) -> None:
    law: Controller = tip_law(rate)
    law = Called(law) if wrapped else law
    kept = ended(lambda: simulate(arm(), law, Q0, V0, 1.0, step=step))
    assert np.abs(kept.q[:-1]).max() < 10.0
    # What the message recommends helps.
    assert simulate(arm(), law, Q0, V0, 3.0, step=0.02).ok


def test_the_message_names_the_step_and_the_effect_of_shorter_ones() -> None:
    with pytest.raises(
        SimulationError, match=r"but shorter steps from the previous sample lead to .*: the step of 0.25 s"
    ):
        simulate(arm(), tip_law(), Q0, V0, 1.0, step=0.3)


@pytest.mark.parametrize("integrator", [Euler(), RK4(), CanonicalEuler(Cholesky()), Reduced()], ids=repr)
@pytest.mark.parametrize("step", [2.2e-3, 0.01])
def test_a_stiff_spring_runs_away_with_explicit_steps(integrator: Integrator, step: float) -> None:
    kept = ended(lambda: simulate(stiff(), None, [1.0, 0.999], [0.0, 0.0], 2.0, step=step, integrator=integrator))
    assert np.abs(kept.v[:-1]).max() < 20.0


@pytest.mark.parametrize("integrator", [Variational(), GeneralizedAlpha()], ids=repr)
def test_implicit_steps_bear_it(integrator: Integrator) -> None:
    assert simulate(stiff(), None, [1.0, 0.999], [0.0, 0.0], 2.0, step=0.01, integrator=integrator).ok


@pytest.mark.parametrize("integrator", [RK4(), Euler(), Variational(), GeneralizedAlpha()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_a_tumbling_arm_never_gains_speed_in_silence(integrator: Integrator, seed: int) -> None:
    """Whatever the step: a run that is OK has at most three times the speed that its energy allows."""
    robot, rng = arm(3), np.random.default_rng(seed)
    q, v = rng.uniform(-2.0, 2.0, 3), rng.uniform(-4.0, 4.0, 3)
    energy = float(robot.evaluate(robot.kinetic_energy + robot.potential_energy, q=q, v=v))
    # The least inertia at any place bounds the speed by the kinetic energy, and that by the lowest place.
    least = min(
        float(np.linalg.eigvalsh(robot.evaluate(robot.mass_matrix, q=rng.uniform(-np.pi, np.pi, 3)))[0])
        for _ in range(200)
    )
    lowest = -9.81 * (0.5 + 1.5 + 2.5)
    fastest = np.sqrt(2.0 * (energy - lowest) / least)
    for step in (0.05, 0.1, 0.2, 0.4):
        motion, failure = outcome(partial(simulate, robot, None, q, v, 8.0, step=step, integrator=integrator))
        assert failure in (Status.OK, Status.DIVERGED, Status.NOT_CONVERGED)
        assert failure or np.abs(motion.v).max() < 3.0 * fastest


@pytest.mark.parametrize("frequency", [0.15, 0.3, 1.0])
def test_errors_that_add_up_end_the_run_of_a_method_of_first_order(frequency: float) -> None:
    """Euler's steps multiply an oscillation by √(1 + h²ω²): by 1.011, 1.044 and 1.41."""
    robot = free(lambda t, x, v: -x)
    with pytest.raises(SimulationError, match=r"of which .* % are errors of the last .* steps") as caught:
        simulate(robot, None, [1.0], [0.0], 2000.0, step=frequency, integrator=Euler())
    assert np.abs(caught.value.trajectory.q).max() < 40.0


def test_a_loop_that_is_unstable_ends_at_the_bounds() -> None:
    robot = free(lambda t, x, v: 9.0 * x)
    kept = ended(lambda: simulate(robot, None, [1.0], [0.0], 100.0, step=0.01))
    # The integrator is right: x = cosh 3 t.
    np.testing.assert_allclose(kept.q[:, 0], np.cosh(3.0 * kept.t), rtol=1e-5)
    assert 0.5e12 < np.abs(kept.v[-1, 0]) < 2e12
    spinning = planar_manipulator([Link(1.0, 1.0, 0.0, 1.0)])
    with pytest.raises(SimulationError, match=r"the velocity of q1 = .* rad/s exceeds the bound of 1e\+08"):
        simulate(spinning, Called(_Pushing(spinning)), [0.0], [1.0], 100.0, step=0.01)


class _Pushing(Controller):
    """Feedback of the wrong sign."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(np.asarray(v, dtype=np.float64))


@pytest.mark.parametrize("integrator", [RK4(), DOP853(), Variational(), Euler()], ids=repr)
def test_motions_that_grow_as_they_must_are_left_alone(integrator: Integrator) -> None:
    # A population that grows by eight orders of magnitude, a rotor at 1e5 rad/s, and resonance.
    assert simulate(free(lambda t, x, v: x), None, [1.0], [1.0], 18.0, step=0.05, integrator=integrator).ok
    assert simulate(free(lambda t, x, v: 1e4), None, [0.0], [0.0], 10.0, step=0.05, integrator=integrator).ok
    swing = free(lambda t, x, v: 2.0 * ca.sin(t) - x)
    step = 0.01 if isinstance(integrator, Euler) else 0.2
    assert simulate(swing, None, [0.0], [0.0], 100.0, step=step, integrator=integrator).ok


def test_a_planet_in_metres_is_left_alone() -> None:
    """An orbit at a tenth of the distance at its nearest: 3e11 m and 9e4 m/s."""
    q, v, mu, day = ca.SX.sym("x", 2), ca.SX.sym("v", 2), 1.327e20, 86400.0
    planet = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=-mu / ca.norm_2(q), name="planet")
    motion = simulate(planet, None, [3e11, 0.0], [0.0, 9e3], 800 * day, step=day / 10)
    assert motion.ok
    assert np.abs(motion.v).max() > 8e4


@pytest.mark.parametrize("every", [1, 7])
def test_lanes_end_as_runs_alone_do(every: int) -> None:
    simulator = Simulator(arm(), tip_law())
    rng = np.random.default_rng(5)
    q0, v0 = rng.uniform([-0.5, 0.5], [0.5, 1.5], (40, 2)), rng.uniform(-6.0, 6.0, (40, 2))
    motions = simulator.run_batch(q0, v0, 6.0, step=0.2, every=every)
    assert {Status.OK, Status.DIVERGED} <= set(motions.failure.tolist())
    assert (motions.ok == (motions.failure == Status.OK)).all()
    for i in range(len(motions)):
        alone, failure = outcome(partial(simulator.run, q0[i], v0[i], 6.0, step=0.2, every=every))
        assert (motions.failure[i], motions.ending(i)) == (failure, alone.ending)
        np.testing.assert_array_equal(motions[i].q, alone.q)
    assert np.nanmax(np.abs(motions.v[motions.ok])) < 100.0


def test_a_law_with_memory_is_called_with_its_former_memory() -> None:
    """It holds its torque over ten steps, and is unstable so; what it remembers afterwards is what it did before."""
    joints = Program(arm(), holonomic(arm().q, perturbation=Baumgarte(20.0), name="joints"))
    inside = ProgramController(joints, realization="actuated")
    law = SampleAndHold(inside, 0.1)
    kept = ended(lambda: simulate(arm(), law, Q0, V0, 60.0, step=0.01))
    assert len(kept) > 2
    fine = SampleAndHold(inside, 0.01)
    assert simulate(arm(), fine, Q0, V0, 2.0, step=0.01).ok


def test_phases_and_modes_end_so_too() -> None:
    robot, start, step = stiff(), ([1.0, 0.999], [0.0, 0.0]), 3e-3
    with pytest.raises(PhasedSimulationError, match=r"phase 'second'.*The motion has diverged") as caught:
        simulate_phases(robot, [Phase(None, step, name="first"), Phase(None, name="second")], *start, 2.0, step=step)
    assert caught.value.status is Status.DIVERGED
    assert len(caught.value.trajectory.segments) == 2
    modes = {"free": Mode(None, events=(Event(robot.t - 50.0, None),))}
    with pytest.raises(PhasedSimulationError, match=r"mode 'free'.*The motion has diverged") as caught:
        simulate_hybrid(robot, modes, *start, 2.0, start="free", step=step)
    assert caught.value.status is Status.DIVERGED


@pytest.mark.parametrize("integrator", [RK4(), DOP853(), Variational()], ids=repr)
@pytest.mark.parametrize(("t0", "step"), [(1e16, 0.01), (-1e16, 0.1), (1e12, 1e-3), (1e9, 1e-6), (1e16, 1.0)])
def test_times_that_float64_cannot_distinguish_are_refused(integrator: Integrator, t0: float, step: float) -> None:
    robot, law = arm(), tip_law()
    message = "too coarse for a step of .*: start nearer to t = 0, or use a step of more than"
    with pytest.raises(ModelError, match=message):
        simulate(robot, law, Q0, V0, 10 * step, step=step, t0=t0, integrator=integrator)
    with pytest.raises(ModelError, match=message):
        simulate(robot, law, [Q0, Q0], [V0, V0], step, step=step, t0=t0, integrator=integrator)
    with pytest.raises(ModelError, match=message):
        simulate_phases(robot, [Phase(law)], Q0, V0, 10 * step, step=step, t0=t0, integrator=integrator)
    with pytest.raises(ModelError, match=message):
        simulate_hybrid(
            robot, {"reach": Mode(law)}, Q0, V0, 10 * step, start="reach", step=step, t0=t0, integrator=integrator
        )


def test_times_far_from_zero_are_distinguished_where_possible() -> None:
    """Seconds since 1970 at steps of a millisecond."""
    motion = simulate(arm(), None, Q0, V0, 0.01, step=1e-3, t0=1.7e9)
    assert motion.ok
    assert (np.diff(motion.t) > 0.9e-3).all()
