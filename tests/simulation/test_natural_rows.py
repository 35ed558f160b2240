"""Natural constraints that depend on each other, before and during a run."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import (
    Closure,
    Link,
    Robot,
    assemble,
    assemble_velocities,
    lagrangian_system,
    mechanism,
    planar_manipulator,
    with_inputs,
    without_rows,
)
from erugin.robots.examples import four_bar, iftomm_four_bars, slider_crank
from erugin.robots.natural_constraints import dependent_rows
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, Integrator, Projected, Reduced, SimulationError, Simulator, Trajectory
from erugin.simulation.closed_loop import close_loop
from erugin.symbolic import ModelError, Parameters, StartWarning

from ..support.flat_linkages import flat, flat_four_bar, flat_state, parallelogram, upright, windows_state
from ..support.mechanisms import bar
from ..support.reduced_models import EQUAL, SLIDER, Torque, equal_arms

ROD = Link(0.5, 1.0, 0.25, 0.02)


def test_rows_are_judged_in_order() -> None:
    A = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1e-6], [2.0, 4.0, 3e-6], [0.0, 0.0, 0.0], [1.0, -2.0, 5.0]])
    assert dependent_rows(A) == [2, 3]
    assert dependent_rows(A[[4, 1]]) == []


def test_a_loop_closed_twice_is_refused_and_runs_without_the_spare_rows() -> None:
    arm = planar_manipulator([ROD] * 3)
    pin = Closure("tip", (0.9, 0.2), "pin")
    once, twice = mechanism(arm, [pin]), mechanism(arm, [pin, Closure("tip", (0.9, 0.2), "spare")])
    start = assemble(once, [0.4, -0.5, 0.3]).q
    with pytest.raises(ModelError, match=r"depend on those before them.*'spare\[0\]', 'spare\[1\]'.*without_rows"):
        simulate(twice, None, start, np.zeros(3), 0.1, step=1e-3)
    spared = without_rows(twice, ["spare[0]", "spare[1]"])
    one, other = (simulate(robot, None, start, np.zeros(3), 0.1, step=1e-3) for robot in (once, spared))
    np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-12)


def test_a_start_off_the_constraints_is_reported_and_a_consistent_one_is_not() -> None:
    robot = mechanism(planar_manipulator([ROD] * 3), [Closure("tip", (0.9, 0.2), "pin")])
    with pytest.warns(
        StartWarning,
        match=r"violates its natural constraint 'pin\[[01]\]' at the start: the residual is .* instead of 0",
    ):
        simulate(robot, None, [0.4, -0.5, 0.3], np.zeros(3), 0.01, step=1e-3)
    start = assemble(robot, [0.4, -0.5, 0.3]).q
    with pytest.warns(StartWarning, match="the rate of the residual is "):
        simulate(robot, None, start, [1.0, 0.0, 0.0], 0.01, step=1e-3)
    simulate(robot, None, start, np.zeros(3), 0.01, step=1e-3)


def test_a_row_that_is_rounding_beside_the_others_vanishes() -> None:
    A = np.array([[1.0, 2.0], [1e-12, 0.0]])
    assert dependent_rows(A, [2]) == [1]
    assert dependent_rows(A) == []


def test_meaningless_reactions_are_reported() -> None:
    arm = planar_manipulator([ROD] * 3)
    pin = Closure("tip", (0.9, 0.2), "pin")
    once, twice = mechanism(arm, [pin]), mechanism(arm, [pin, Closure("tip", (0.9, 0.2), "spare")])
    q = assemble(once, [0.4, -0.5, 0.3]).q
    for robot, reported in ((once, False), (twice, True)):
        controller = ProgramController(Program(robot, holonomic(robot.q[0] - 0.4, name="crank")))
        message = controller.solve(0.0, q, np.zeros(3)).message
        assert (
            "The reactions are meaningless: natural rows 'spare[0]', 'spare[1]' depend on others" in message
        ) is reported


Array = NDArray[np.float64]
State = Callable[[float, float], tuple[Array, Array]]


@functools.cache
def free_arms() -> Robot:
    return with_inputs(equal_arms(), ())


@functools.cache
def short_form() -> Robot:
    """The same arms as point masses, by (φ, x) and the length of the rod: one row, which vanishes where they fold."""
    q, v = ca.vertcat(*map(ca.SX.sym, ("phi", "x"))), ca.vertcat(*map(ca.SX.sym, ("dphi", "dx")))
    rod = (q[1] - ca.cos(q[0])) ** 2 + ca.sin(q[0]) ** 2 - 1.0
    return lagrangian_system(
        q=q, v=v, p=Parameters.declare({}), T=ca.sumsqr(v) / 2, natural=[holonomic(rod, name="rod")], name="two arms"
    )


def folding(angle: float, rate: float) -> tuple[Array, Array]:
    q, v = upright(angle, rate)
    return q[[0, 2]], v[[0, 2]]


CASES: dict[str, tuple[Callable[[], Robot], State, float, float, str]] = {
    "slider-crank": (free_arms, upright, np.pi / 2, 4.0, "wrist pin[1]"),
    "parallelogram": (
        functools.partial(iftomm_four_bars, 1),
        functools.partial(windows_state, 1),
        0.0,
        4.0,
        "pin 1[0]",
    ),
    "three windows": (
        functools.partial(iftomm_four_bars, 3),
        functools.partial(windows_state, 3),
        0.0,
        4.0,
        "pin 1[0]",
    ),
    "third crank, least norm": (parallelogram, flat, 0.0, 5.0, "pin3[0]"),
    "a linkage that can lie flat": (flat_four_bar, flat_state, 0.0, 12.0, "coupler pin[0]"),
    "one row": (short_form, folding, np.pi / 2, 4.0, "rod"),
}
"""Robot, its states (angle, rate), the angle of its singular position, its rate there, the row that vanishes."""


@functools.cache
def simulator(case: str, integrator: type[Integrator] = RK4) -> Simulator:
    return Simulator(CASES[case][0](), integrator=integrator())


def ended(case: str, start: tuple[Array, Array], step: float, integrator: type[Integrator] = RK4) -> SimulationError:
    with pytest.raises(SimulationError, match="natural row") as caught:
        simulator(case, integrator).run(*start, 60 * step, step=step)
    return caught.value


@pytest.mark.parametrize("step", [1e-3, 1e-2])
@pytest.mark.parametrize("case", CASES)
def test_a_singular_position_ends_the_run_before_it(case: str, step: float) -> None:
    """At most two steps before, whatever the phase of the samples, and with the right row."""
    _, state, position, rate, row = CASES[case]
    for phase in np.linspace(0.0, 1.0, 7):
        error = ended(case, state(position + rate * step * (12.0 + phase), -rate), step)
        assert error.status is Status.SINGULAR
        assert f"natural row {row!r} of" in str(error)
        assert "integrator=Reduced()" in str(error)
        motion = error.trajectory
        left = (motion.q[-1, 0] - position) / (step * abs(motion.v[-1, 0]))
        assert -1e-6 < left < 2.0
        assert motion.status[-1] == Status.SINGULAR
        assert (motion.status[:-1] == Status.OK).all()
        assert np.ptp(motion.energy) < 1e-4 * np.abs(motion.evaluate(motion.robot.kinetic_energy)).max()


@pytest.mark.parametrize("integrator", [DOP853, Projected])
@pytest.mark.parametrize("case", ["slider-crank", "parallelogram"])
def test_other_integrators_end_likewise(case: str, integrator: type[Integrator]) -> None:
    _, state, position, rate, row = CASES[case]
    error = ended(case, state(position + rate * 1e-2 * 12.4, -rate), 1e-2, integrator)
    assert f"natural row {row!r} of" in str(error)
    assert -1e-6 < (error.trajectory.q[-1, 0] - position) / (1e-2 * abs(error.trajectory.v[-1, 0])) < 1.6


def before(case: str, rate: float, time: float) -> tuple[Array, Array]:
    """The state so long before the singular position is passed at a rate, by θ' = √(2 (E − V)/m)."""
    robot, state, position, *_ = CASES[case]
    plant = robot()

    def speed(angle: float, energy: float) -> float:
        q, v = state(angle, 1.0)
        twice = 2.0 * float(plant.evaluate(plant.kinetic_energy, q=q, v=v))
        return float(np.sqrt(2.0 * (energy - float(plant.evaluate(plant.potential_energy, q=q))) / twice))

    q, v = state(position, rate)
    energy = float(plant.evaluate(plant.kinetic_energy + plant.potential_energy, q=q, v=v))
    found = solve_ivp(lambda _, x: [speed(x[0], energy)], (0.0, time), [position], "DOP853", rtol=1e-12, atol=1e-13)
    angle = float(found.y[0, -1])
    return state(angle, -speed(angle, energy))


@pytest.mark.parametrize("case", ["slider-crank", "parallelogram", "third crank, least norm", "one row"])
@pytest.mark.parametrize("count", [1, 2, 3, 20, 99, 100, 101])
def test_a_sample_may_fall_exactly_on_the_position(case: str, count: int) -> None:
    """At the ends of blocks of 100 samples too."""
    with pytest.raises(SimulationError, match="natural row") as caught:
        simulator(case).run(*before(case, 4.0, count * 1e-3), 1.0, step=1e-3)
    assert f"natural row {CASES[case][-1]!r} of" in str(caught.value)
    assert count - 2 <= len(caught.value.trajectory) - 1 <= count


@pytest.mark.parametrize("case", CASES)
def test_the_first_step_is_judged_too(case: str) -> None:
    """From half a step before the position at once, from further away a step or two later, from behind it never."""
    _, state, position, rate, row = CASES[case]
    step = 1e-3
    error = ended(case, state(position + 0.5 * rate * step, -rate), step)
    assert len(error.trajectory) == 1
    assert f"natural row {row!r} of" in str(error)
    assert len(ended(case, state(position + 1.6 * rate * step, -rate), step).trajectory) in (1, 2)
    assert len(ended(case, state(position + 2.6 * rate * step, -rate), step).trajectory) in (2, 3)
    motion = simulator(case).run(*state(position + 0.5 * rate * step, rate), 60 * step, step=step)
    assert motion.ok


def test_no_step_is_computed_after_the_last_sample() -> None:
    """The duration, or a stop condition, ends the run half a step before the position."""
    _, state, position, rate, _ = CASES["slider-crank"]
    step, start = 1e-3, state(position + 12.5 * rate * 1e-3, -rate)
    whole = ended("slider-crank", start, step).trajectory
    motion = simulator("slider-crank").run(*start, (len(whole) - 1) * step, step=step)
    assert motion.ok
    np.testing.assert_array_equal(motion.q, whole.q)
    at = float(whole.t[-1]) - step / 2
    stopped = simulate(free_arms(), None, *start, 1.0, step=step, stop=free_arms().t - at)
    assert stopped.ok
    assert stopped.ending.startswith("the stop condition holds")


def test_a_controller_that_is_called_and_a_correction_are_judged_likewise() -> None:
    robot = equal_arms()
    start = upright(np.pi / 2 + 0.05, -4.0)
    for integrator in (RK4(), Projected()):
        with pytest.raises(SimulationError, match=r"natural row 'wrist pin\[1\]' of") as caught:
            simulate(robot, Torque(robot, 2.0, 6.0), *start, 0.1, step=1e-3, integrator=integrator)
        assert -1e-6 < (caught.value.trajectory.q[-1, 0] - np.pi / 2) / 4e-3 < 1.5


@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_the_end_of_reach_of_a_driven_motion_ends_it_there(step: float) -> None:
    """Links of 0.5 m, the tip pulled along x = 0.6 + t/10: stretched at 4 s, where rates grow as 1/√(4 − t)."""
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * 2)
    tip = arm.points["tip"]
    pulled = holonomic(ca.vertcat(tip[0] - 0.6 - 0.1 * arm.t, tip[1]), name="hand")
    robot = dataclasses.replace(arm, natural=(pulled,))
    q = assemble(robot, [-0.9, 1.8]).q
    rates = np.linalg.solve(robot.evaluate(pulled.acceleration_form(robot.coordinates).theta, q=q, v=[0, 0]), [0.1, 0])
    with pytest.raises(SimulationError, match=r"natural row 'hand\[0\]' of") as caught:
        simulate(robot, None, q, rates, 5.0, step=step)
    assert 4.0 - 2.0 * step < caught.value.trajectory.t[-1] <= 4.0


def test_a_singular_start_of_least_norm_is_reported() -> None:
    """Flat, where two rows more depend on others than elsewhere: the first step shows it."""
    with pytest.raises(SimulationError, match=r"depended on rows before it at the start and no longer does") as caught:
        simulate(parallelogram(), None, *flat(0.0, 3.0), 0.1, step=1e-3)
    assert caught.value.status is Status.SINGULAR
    assert len(caught.value.trajectory) == 2
    with pytest.raises(ModelError, match="at the start, natural constraints depend"):
        simulate(parallelogram("refused"), None, *flat(0.0, 3.0), 0.1, step=1e-3)


def near_miss(offset: float, step: float, integrator: Integrator) -> Trajectory:
    robot = with_inputs(slider_crank(*EQUAL, SLIDER, offset=offset), ())
    q = assemble(robot, [np.pi / 2 + 0.3, -np.pi / 2 - 0.3, -0.6], fixed=["crank"]).q
    return simulate(
        robot, None, q, assemble_velocities(robot, q, fixed={"crank": -3.0}), 0.2, step=step, integrator=integrator
    )


@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
@pytest.mark.parametrize(("offset", "step"), [(1e-2, 1e-3), (1e-2, 1e-2), (1e-3, 3e-3), (1e-4, 1e-3)])
def test_a_motion_that_passes_near_a_singularity_continues(offset: float, step: float, integrator: Integrator) -> None:
    motion = near_miss(offset, step, integrator)
    assert motion.ok
    assert np.ptp(motion.energy) < 1e-3 * motion.evaluate(motion.robot.kinetic_energy).max()


def test_a_singularity_that_the_step_does_not_resolve_is_reported() -> None:
    """RK4 alone would go on with a tenth and more of the energy gone."""
    with pytest.raises(SimulationError, match=r"passes one more closely than steps of 0\.01 s resolve.*shorter steps"):
        near_miss(1e-4, 1e-2, RK4())


def test_a_linkage_that_turns_fully_is_never_stopped() -> None:
    """10⁵ steps at 1 ms; twice in every turn coupler and rocker are stretched to within 10° of a line, and fold."""
    robot = four_bar(bar(0.4, 1.0), bar(0.72, 2.0), bar(0.685, 1.5), ground=(1.0, 0.0), inputs=())
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 12.0})
    motion = simulate(robot, None, q, v, 100.0, step=1e-3)
    assert motion.ok
    assert abs(motion.q[-1, 0] - motion.q[0, 0]) > 100.0
    shares = motion.evaluate(robot.natural_factor.relative_pivots)
    assert shares.min() < 0.05


def test_what_is_not_judged_is_not_recorded() -> None:
    keys = ("natural_pivots", "natural_relative_pivots")
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * 2)
    for robot, judged, size in ((free_arms(), True, 2), (free_arms(), False, 0), (arm, True, 0)):
        loop = close_loop(robot, None, None, monitor_rank=judged)
        assert [loop.sizes[key] for key in keys] == [size, size]
        called = close_loop(robot, Torque(robot, 0.0, 0.0), None, monitor_rank=judged)
        assert [called.sizes[key] for key in keys] == [size, size]
    motion = simulate(free_arms(), None, *upright(np.pi / 2 + 0.05, -4.0), 0.1, step=1e-3, integrator=Reduced())
    assert motion.ok
    assert motion.q[-1, 0] < np.pi / 2
