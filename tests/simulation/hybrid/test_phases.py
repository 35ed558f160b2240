"""Motions in phases: switches at the known instant, flights between, and the energy that a switch takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, holonomic, nonholonomic, second_order
from erugin.controllers import Controller, Program, ProgramController, Status
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, Integrator, Phase, PhasedSimulationError, simulate_phases
from erugin.simulation.zero_crossing import first_positive
from erugin.symbolic import ModelError, Parameters

from ...support.called_controller import Called
from ...support.quadratic_rows import MASS, point_mass

Array = NDArray[np.float64]
G = 9.81


def line(robot: Robot, level: float = 0.0) -> ProgramController:
    """Keeps the mass on the line y = level."""
    return ProgramController(Program(robot, holonomic(robot.q[1] - level, name="line")))


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
def test_a_mass_falls_onto_a_line(integrator: Integrator, called: bool) -> None:
    """From 1 m it takes √(2/g); there the speed along the line stays, that across it goes, and with it m g · 1 m."""
    robot = point_mass(gravity=G)
    keeper = line(robot)
    phases = [
        Phase(None, until=-robot.q[1], name="fall"),
        Phase(Called(keeper) if called else keeper, name="slide", velocities="keep" if called else "consistent"),
    ]
    motion = simulate_phases(robot, phases, [0.0, 1.0], [0.4, 0.0], 1.0, step=7e-3, integrator=integrator)
    landing = np.sqrt(2 / G)
    np.testing.assert_allclose(motion.switches, [landing], atol=2e-10)
    fall, slide = motion.segments
    assert fall.t[-1] == slide.t[0] == motion.switches[0]
    assert -1e-8 <= fall.q[-1, 1] < 0.0
    np.testing.assert_allclose(fall.q[:, 1], 1 - G * fall.t**2 / 2, atol=1e-12)
    assert slide.t[-1] == pytest.approx(1.0, abs=1e-12)
    if called:
        assert motion.jumps == (None, None)
        np.testing.assert_allclose(slide.v[0], fall.v[-1])
        return
    np.testing.assert_allclose(slide.v, np.tile([0.4, 0.0], (len(slide), 1)), atol=1e-7)
    jump = motion.jumps[1]
    assert jump is not None
    assert jump.energy_loss == pytest.approx(MASS * G * 1.0, rel=1e-9)
    assert fall.energy[-1] - slide.energy[0] == pytest.approx(jump.energy_loss, rel=1e-9)
    assert jump.impulses[0] == pytest.approx(MASS * G * landing, rel=1e-9)
    # Weight is what the line carries from then on.
    np.testing.assert_allclose(slide.u[:, 1], MASS * G, atol=1e-5)
    assert motion.ok
    assert motion.names == ("fall", "slide")
    assert motion.ending == "the duration is over"
    assert len(motion) == len(motion.t) == len(motion.q) == len(motion.energy) == len(motion.phase)
    np.testing.assert_array_equal(motion.evaluate(robot.q[1]), motion.q[:, 1])


@pytest.mark.parametrize("step", [1e-2, 2.3e-3])
def test_a_pendulum_let_go_flies_on_a_parabola(step: float) -> None:
    """Its rod, a program, is off from the angle at which it is level: the flight is ballistic from there."""
    robot, length = point_mass(gravity=G), 0.8
    y = robot.q[1]
    rod = holonomic(ca.sumsqr(robot.q) - length**2, perturbation=Baumgarte(20.0), name="rod")
    swing = Phase(ProgramController(Program(robot, rod)), until=y, name="swing")
    speed = 6.0
    motion = simulate_phases(
        robot, [swing, Phase(None, name="flight")], [0.0, -length], [speed, 0.0], 0.6, step=step, integrator=DOP853()
    )
    flight = motion.segments[1]
    height = speed**2 - 2 * G * length
    np.testing.assert_allclose(flight.q[0], [length, 0.0], atol=1e-8)
    np.testing.assert_allclose(flight.v[0], [0.0, np.sqrt(height)], atol=1e-7)
    # The quarter of a circle takes an elliptic integral: φ′² = (v² − 2 g l (1 − cos φ))/l².
    phi = np.polynomial.legendre.leggauss(60)
    angles, weights = (phi[0] + 1) * np.pi / 4, phi[1] * np.pi / 4
    quarter = np.sum(weights * length / np.sqrt(speed**2 - 2 * G * length * (1 - np.cos(angles))))
    assert motion.switches[0] == pytest.approx(quarter, abs=1e-8)
    later = flight.t - quarter
    np.testing.assert_allclose(flight.q[:, 0], length, atol=1e-7)
    np.testing.assert_allclose(flight.q[:, 1], np.sqrt(height) * later - G * later**2 / 2, atol=1e-7)
    assert np.ptp(motion.energy) < 1e-6
    assert motion.jumps == (None, None)


def test_times_conditions_and_parameters() -> None:
    """a = 2 until t = 0.5, then v kept by a row until x passes 1, then a = −1 to the end; runs begin at t₀ = −0.25."""
    robot = point_mass()
    push = ProgramController(
        Program(robot, [second_order(robot.coordinates.a[0] - 2.0), second_order(robot.coordinates.a[1], name="y")])
    )
    cruise = ProgramController(Program(robot, nonholonomic(robot.v[0] - 1.5)), realization="actuated")
    brake = ProgramController(Program(robot, second_order(robot.coordinates.a[0] + 1.0)))
    phases = [
        Phase(push, until=0.5, name="push"),
        Phase(cruise, until=robot.q[0] - 1, name="cruise"),
        Phase(brake, until=9.0, name="brake"),
        Phase(None, name="never"),
    ]
    motion = simulate_phases(robot, phases, [0.0, 0.0], [0.0, 0.0], 2.25, step=1e-2, t0=-0.25)
    assert motion.t[0] == -0.25
    # x = 0.5625 at t = 0.5 with v = 1.5, so that 1 is passed 0.4375/1.5 later.
    np.testing.assert_allclose(motion.switches, [0.5, 0.5 + 0.4375 / 1.5], atol=1e-9)
    assert motion.names == ("push", "cruise", "brake")
    assert motion.t[-1] == pytest.approx(2.0, abs=1e-12)
    left = 2.0 - motion.switches[1]
    assert motion.v[-1, 0] == pytest.approx(1.5 - left, abs=1e-9)
    assert motion.q[-1, 0] == pytest.approx(1.0 + 1.5 * left - left**2 / 2, abs=1e-9)
    # A run that starts at another time is the same motion.
    alone = simulate(robot, brake, motion.segments[2].q[0], motion.segments[2].v[0], 0.5, step=1e-2, t0=7.0)
    assert alone.t[0] == 7.0
    assert alone.t[-1] == pytest.approx(7.5)


@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
def test_a_start_at_another_time_sees_that_time(integrator: Integrator) -> None:
    """x″ = cos t from t₀ = 2: x = −cos t + cos 2 + … in either way of running."""
    robot = point_mass()
    controller = ProgramController(Program(robot, second_order(robot.coordinates.a - ca.vertcat(ca.cos(robot.t), 0.0))))
    for acting in (controller, Called(controller)):
        motion = simulate(robot, acting, [0.0, 0.0], [0.0, 0.0], 1.0, step=1e-2, t0=2.0, integrator=integrator)
        t = motion.t
        assert t[0] == 2.0
        np.testing.assert_allclose(motion.q[:, 0], np.cos(2) - np.cos(t) - np.sin(2) * (t - 2), atol=1e-9)


def test_a_condition_true_at_once_is_one_sample_and_one_never_true_is_reported() -> None:
    robot = point_mass()
    motion = simulate_phases(
        robot,
        [Phase(None, until=robot.q[0] + 1, name="at once"), Phase(None, until=robot.q[0] - 99, name="far")],
        [0.0, 0.0],
        [1.0, 0.0],
        0.5,
        step=1e-2,
    )
    assert [len(segment) for segment in motion.segments] == [1, 51]
    assert motion.ending == "the duration is over; the condition of phase 'far' has never been positive"
    assert motion.switches[0] == 0.0


def test_a_failing_phase_hands_back_its_segments() -> None:
    """|x″| = A(t) ends at t = 0.8, where A vanishes, in the second of three phases."""
    robot = point_mass()
    a = robot.coordinates.a
    rows = [second_order(a[0] ** 2 - (0.8 - robot.t), name="curved"), second_order(a[1], name="y")]
    fading = ProgramController(Program(robot, rows), acceleration_guess=[1.0, 0.0])
    phases = [Phase(None, until=0.3, name="first"), Phase(fading, until=2.0, name="fading"), Phase(None, name="last")]
    with pytest.raises(PhasedSimulationError, match=r"phase 'fading': .*'curved'") as caught:
        simulate_phases(robot, phases, [0.0, 0.0], [1.0, 0.0], 3.0, step=1e-2)
    kept = caught.value.trajectory
    assert kept.names == ("first", "fading")
    assert kept.switches[0] == 0.3
    assert 0.7 < kept.t[-1] <= 0.8
    assert not kept.ok
    assert caught.value.status in (Status.SINGULAR, Status.NOT_CONVERGED)
    assert len(kept.jumps) == 2
    # Velocities that no impulse can bring about.
    rows = [nonholonomic(robot.v[0] - 1.0, name="one"), nonholonomic(robot.v[0] + 1.0, name="other")]
    against = ProgramController(Program(robot, [rows[0]]))
    clash = Phase(
        ProgramController(Program(robot, [nonholonomic(ca.sumsqr(robot.v) + 1.0, name="clash")])),
        velocities="consistent",
        name="clash",
    )
    with pytest.raises(PhasedSimulationError, match=r"phase 'clash'") as caught:
        simulate_phases(robot, [Phase(against, until=0.1), clash], [0.0, 0.0], [1.0, 0.0], 1.0, step=1e-2)
    assert caught.value.trajectory.names == ("phase",)
    assert caught.value.status is Status.FAILED


def test_the_plants_own_mass_takes_the_jump() -> None:
    """Two masses on one row: what they share with the model has the plant's values."""
    q, v = ca.vertcat(ca.SX.sym("x"), ca.SX.sym("y")), ca.vertcat(ca.SX.sym("vx"), ca.SX.sym("vy"))
    p = Parameters.declare({"mx": 1.0, "my": 1.0})
    robot = lagrangian_system(q=q, v=v, p=p, T=(p["mx"] * v[0] ** 2 + p["my"] * v[1] ** 2) / 2)
    together = ProgramController(Program(robot, nonholonomic(v[0] - v[1], name="together")))
    phases = [Phase(together, velocities="consistent")]
    motion = simulate_phases(robot, phases, [0.0, 0.0], [1.0, 0.0], 0.1, step=1e-2, p={"mx": 3.0})
    np.testing.assert_allclose(motion.v[0], [0.75, 0.75], rtol=1e-12)


def test_the_first_positive_place() -> None:
    for root in (1e-9, 0.3, 0.5, 1 - 1e-9):
        calls = 0

        def cubic(x: float, root: float = root) -> float:
            nonlocal calls
            calls += 1
            return (x - root) ** 3

        place = first_positive(cubic, (0.0, cubic(0.0)), (1.0, cubic(1.0)), 1e-12)
        assert 0.0 < place - root <= 1e-12
        assert calls < 90
    assert 0.25 < first_positive(lambda x: 1.0 if x > 0.25 else -1.0, (0.0, -1.0), (1.0, 1.0), 1e-6) < 0.25 + 2e-6


MASS_POINT = point_mass()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (list, "at least one Phase, got none"),
        (lambda: [3.25], r"must be a list of Phase objects, got 3\.25"),
        (lambda: Phase(None), "must be a list of Phase objects, got Phase"),
        (lambda: [Phase(cast("Controller", 3.25))], r"controller of 'phase' must be a Controller or None, got 3\.25"),
        (lambda: [Phase(None, name="one"), Phase(None)], r"phase 'one' has no end"),
        (
            lambda: [Phase(None, until=1.0, name="one"), Phase(None, until=0.5, name="two")],
            "'two' ends at t",
        ),
        (lambda: [Phase(None, until=MASS_POINT.q)], "until of 'phase' must be a scalar expression"),
        (lambda: [Phase(None, until=np.nan)], "until of 'phase' must be finite"),
        (lambda: [Phase(None, until=ca.SX.sym("stranger"))], "phase 'phase': stop uses stranger"),
        (lambda: [Phase(None, velocities="consistent")], "requires a ProgramController, got None"),
        (
            lambda: [Phase(None, velocities="kept")],  # type: ignore[arg-type]
            "must be one of 'keep', 'consistent', got 'kept'",
        ),
    ],
)
def test_bad_phases_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        simulate_phases(MASS_POINT, cast("list[Phase]", make()), [0, 0], [0, 0], 1.0, step=0.1)


def test_a_motion_whose_phases_are_over_before_it_starts_is_empty() -> None:
    motion = simulate_phases(MASS_POINT, [Phase(None, until=-5.0)], [0, 0], [0, 0], 1.0, step=0.1)
    assert (len(motion), motion.names, motion.ending) == (0, (), "the last phase is over")
    assert len(motion.q) == len(motion.v) == len(motion.t) == len(motion.evaluate(MASS_POINT.q)) == 0


def test_the_search_for_a_switch_keeps_the_branch() -> None:
    """(a − t)³ = (a − t)/100 on its upper root, v = t²/2 + t/10, until v = 0.6 at t = 1, far from the first guess."""
    robot = point_mass()
    away = robot.coordinates.a[0] - robot.t
    rows = [second_order(away**3 - away / 100, name="three"), second_order(robot.coordinates.a[1], name="y")]
    upper = ProgramController(Program(robot, rows), acceleration_guess=[0.11, 0.0])
    phases = [Phase(upper, until=robot.v[0] - 0.6), Phase(None)]
    motion = simulate_phases(robot, phases, [0.0, 0.0], [0.0, 0.0], 1.5, step=0.03)
    np.testing.assert_allclose(motion.switches, [1.0], atol=1e-9)
    np.testing.assert_allclose(motion.segments[0].u[:, 0], MASS * (motion.segments[0].t + 0.1), atol=1e-9)
