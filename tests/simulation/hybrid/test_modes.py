"""Motions in modes against closed forms: a ball that bounces to rest, a pendulum at a peg, programs in turn."""

from __future__ import annotations

import dataclasses
import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, holonomic, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Contact, Robot, lagrangian_system, with_contacts
from erugin.simulation import (
    DOP853,
    RK4,
    Event,
    Integrator,
    Mode,
    Phase,
    Rebound,
    StateMap,
    simulate_hybrid,
    simulate_phases,
)
from erugin.symbolic import Parameters

from ...support.hybrid_cases import require_same
from ...support.quadratic_rows import MASS, point_mass

Array = NDArray[np.float64]
G, E = 9.81, 0.7
TIGHT = DOP853(1e-12, 1e-12)


@functools.cache
def ball(e: float = E) -> Robot:
    """A mass above the floor y = 0, with its restitution as a parameter."""
    y, v, p = ca.SX.sym("y"), ca.SX.sym("v"), Parameters.declare({"e": e})
    return lagrangian_system(q=y, v=v, p=p, T=v**2 / 2, V=G * y, name="ball")


def bounce(robot: Robot, zeno: str | None = None) -> Mode:
    """Free flight with a rebound at the floor."""
    floor = Rebound(robot.q[0], robot.p[0], "floor")
    return Mode(events=(Event(robot.q[0], "flight", "falling", floor, "floor", zeno),))


def impact_times(e: float, count: int) -> Array:
    """Of a fall from 1 m."""
    first = np.sqrt(2.0 / G)
    return np.asarray(first * (1.0 + 2.0 * np.cumsum(np.concatenate([[0.0], e ** np.arange(1, count)]))))


@pytest.mark.sampled
@pytest.mark.parametrize(("integrator", "step", "e"), [(RK4(), 1e-2, 0.7), (DOP853(), 0.3, 0.5), (RK4(), 0.013, 0.3)])
def test_a_bouncing_ball_has_its_times_and_heights_and_ends_where_they_come_together(
    integrator: Integrator, step: float, e: float
) -> None:
    """Every bounce is seen, long after bounces have become shorter than a step: the last are of a microsecond."""
    robot = ball()
    modes = {"flight": bounce(robot)}
    motion = simulate_hybrid(
        robot, modes, [1.0], [0.0], 10.0, start="flight", step=step, integrator=integrator, p={"e": e}
    )
    times = impact_times(e, len(motion.segments))
    np.testing.assert_allclose([*motion.switches, motion.t[-1]], times, atol=5e-9)
    assert times[-1] - times[-2] < 1e-6 < times[-2] - times[-3]
    limit = np.sqrt(2.0 / G) * (1.0 + e) / (1.0 - e)
    assert motion.accumulation == pytest.approx(limit, abs=1e-8)
    assert f"events accumulate at t = {limit:.5f}"[:-1] in motion.ending
    assert set(motion.names) == {"flight"}
    assert set(motion.events) == {"floor"}
    for k, (before, after) in enumerate(zip(motion.segments[:8], motion.segments[1:9], strict=True)):
        blow = motion.impacts[k + 1]
        assert blow is not None
        assert after.v[0, 0] == pytest.approx(-e * before.v[-1, 0], rel=1e-12)
        assert before.energy[-1] - after.energy[0] == pytest.approx(blow.energy_loss, rel=1e-9)
        # v² = 2 g h of each bounce, h = e²ᵏ.
        assert after.v[0, 0] ** 2 / (2.0 * G) == pytest.approx(e ** (2 * k + 2), rel=1e-7)
    assert motion.q.min() > -1e-8


@pytest.mark.slow
def test_where_bounces_come_together_the_ball_stays_on_the_floor() -> None:
    """The contact is made by an impact without rebound, and the motion continues to its end."""
    free = point_mass(gravity=G)
    plant = dataclasses.replace(free, points={"ball": free.q})
    foot = Contact("ball", (0.0, 1.0), "floor")
    height = plant.q[1]
    modes = {
        "flight": Mode(events=(Event(height, "flight", "falling", Rebound(height, 0.6), "bounce", "rest"),)),
        "rest": Mode(robot=with_contacts(plant, [foot]), contacts=(foot,)),
    }
    motion = simulate_hybrid(plant, modes, [0.0, 0.5], [0.3, 0.0], 2.0, start="flight", step=5e-3)
    assert motion.names[-1] == "rest"
    assert motion.names.count("rest") == 1
    assert motion.accumulation is None
    assert motion.t[-1] == pytest.approx(2.0, abs=1e-12)
    limit = np.sqrt(1.0 / G) * 1.6 / 0.4
    assert motion.segments[-1].t[0] == pytest.approx(limit, abs=5e-6)
    np.testing.assert_allclose(motion.segments[-1].q[:, 1], 0.0, atol=1e-8)
    # It slides over the floor without friction while it bounces, and sticks where it comes to rest.
    np.testing.assert_allclose(motion.segments[-2].v[:, 0], 0.3, rtol=1e-12)
    assert motion.segments[-1].q[-1, 0] == pytest.approx(0.3 * limit, abs=1e-5)
    last = motion.impacts[-1]
    assert last is not None
    assert last.energy_loss == pytest.approx(MASS * 0.3**2 / 2, rel=1e-6)


@pytest.mark.slow
def test_a_ball_that_does_not_bounce_and_has_no_mode_to_rest_in_does_not_sink() -> None:
    motion = simulate_hybrid(
        ball(), {"flight": bounce(ball())}, [1.0], [0.0], 2.0, start="flight", step=1e-2, p={"e": 0}
    )
    assert motion.accumulation == pytest.approx(np.sqrt(2.0 / G), abs=1e-9)
    assert "events accumulate" in motion.ending
    assert motion.q.min() > -1e-8
    # On the floor from the beginning.
    motion = simulate_hybrid(ball(), {"flight": bounce(ball())}, [0.0], [0.0], 2.0, start="flight", step=1e-2)
    assert motion.q.min() > -1e-8
    assert motion.accumulation == pytest.approx(0.0, abs=1e-6)


def quarter(length: float, drop: float) -> float:
    """A quarter of the period of a pendulum that rises by ``drop`` [m], from the arithmetic–geometric mean."""
    a, b = 1.0, np.sqrt(1.0 - drop / (2.0 * length))
    while abs(a - b) > 1e-15:
        a, b = (a + b) / 2.0, float(np.sqrt(a * b))
    return float(np.pi / (2.0 * a) * np.sqrt(length / G))


def test_a_pendulum_with_a_peg_has_the_half_periods_of_two_pendulums_and_rises_as_high_on_both_sides() -> None:
    """Galileo's: a thread of 1 m, a peg 0.6 m below the pivot, let go 0.25 m above the lowest place."""
    length, peg, drop = 1.0, 0.6, 0.25
    free = point_mass(gravity=G)
    x, y = free.q[0], free.q[1]

    def thread(below: float) -> Robot:
        rod = holonomic(ca.sumsqr(ca.vertcat(x, y + below)) - (length - below) ** 2, perturbation=Baumgarte(30.0))
        return dataclasses.replace(free, natural=(rod,))

    modes = {
        "long": Mode(robot=thread(0.0), events=(Event(x, "short", "falling", name="peg met"),)),
        "short": Mode(robot=thread(peg), events=(Event(x, "long", "rising", name="peg left"),)),
    }
    cosine = 1.0 - drop / length
    q0 = [length * np.sqrt(1.0 - cosine**2), -length * cosine]
    motion = simulate_hybrid(free, modes, q0, [0, 0], 4.0, start="long", step=0.01, integrator=TIGHT)
    long, short = quarter(length, drop), quarter(length - peg, drop)
    times = np.cumsum([long, 2.0 * short, 2.0 * long, 2.0 * short])
    np.testing.assert_allclose(motion.switches[:4], times, rtol=0.0, atol=1e-9)
    assert np.ptp(motion.energy) < 1e-8
    for before, segment in zip(motion.segments[:3], motion.segments[1:4], strict=True):
        assert segment.q[:, 1].max() == pytest.approx(-length + drop, abs=2e-4)
        np.testing.assert_array_equal(segment.v[0], before.v[-1])
    assert motion.events[:3] == ("peg met", "peg left", "peg met")


def test_two_programs_of_a_mass_alternate_by_its_position() -> None:
    """To the right at 1 m/s up to x = 0.3, to the left at 0.5 m/s down to −0.2, each from the first instant."""
    robot = point_mass()

    def cruise(speed: float) -> ProgramController:
        rows = [nonholonomic(robot.v[0] - speed, name="speed"), nonholonomic(robot.v[1], name="line")]
        return ProgramController(Program(robot, rows), realization="actuated")

    modes = {
        "right": Mode(cruise(1.0), (Event(robot.q[0] - 0.3, "left", name="end"),), "consistent"),
        "left": Mode(cruise(-0.5), (Event(robot.q[0] + 0.2, "right", "falling", name="begin"),), "consistent"),
    }
    motion = simulate_hybrid(robot, modes, [0.0, 0.0], [1.0, 0.0], 4.0, start="right", step=0.01)
    np.testing.assert_allclose(motion.switches, np.cumsum([0.3, 1.0, 0.5, 1.0, 0.5]), atol=1e-8)
    assert motion.names == ("right", "left") * 3
    assert all(jump is not None for jump in motion.jumps)
    phases = [
        Phase(cruise(1.0), robot.q[0] - 0.3, "consistent", "right"),
        Phase(cruise(-0.5), None, "consistent", "left"),
    ]
    require_same(
        simulate_hybrid(robot, modes, [0, 0], [1, 0], 1.0, start="right", step=0.01),
        simulate_phases(robot, phases, [0, 0], [1, 0], 1.0, step=0.01),
    )


def test_a_rebound_keeps_natural_constraints_and_the_momentum_that_it_must() -> None:
    """Two masses on one line, one on each side of a rod that only they may shorten: the struck one drives the other."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    masses = (1.0, 3.0)
    pair = lagrangian_system(q=q, v=v, T=(masses[0] * v[0] ** 2 + masses[1] * v[1] ** 2) / 2)
    gap = q[1] - q[0]
    modes = {"apart": Mode(events=(Event(gap, "apart", "falling", Rebound(gap, 0.4), "meet"),))}
    motion = simulate_hybrid(pair, modes, [0.0, 1.0], [2.0, -1.0], 1.0, start="apart", step=0.1)
    np.testing.assert_allclose(motion.switches, [1.0 / 3.0], atol=1e-10)
    after = motion.segments[1].v[0]
    assert after @ masses == pytest.approx(2.0 - 3.0, abs=1e-12)
    assert after[1] - after[0] == pytest.approx(0.4 * 3.0, rel=1e-12)
    # Tied together they are one mass, and a wall throws both back.
    tied = dataclasses.replace(pair, natural=(holonomic(q[1] - q[0] - 1.0, name="rod"),))
    wall = 2.0 - q[1]
    modes = {"tied": Mode(events=(Event(wall, "tied", "falling", Rebound(wall, 0.5), "wall"),))}
    motion = simulate_hybrid(tied, modes, [0.0, 1.0], [1.0, 1.0], 2.0, start="tied", step=0.1)
    np.testing.assert_allclose(motion.segments[1].v[0], [-0.5, -0.5], rtol=1e-12)


def test_a_rod_that_falls_on_its_end_gets_the_impulse_and_the_spin_of_the_textbook() -> None:
    """On a smooth floor: Λ = (1 + e) m V / (1 + 3 cos² θ), ω = 6 (1 + e) V cos θ / (L (1 + 3 cos² θ))."""
    m, length, e, theta, speed = 3.0, 1.4, 0.6, 0.5, 2.2
    q, v = ca.SX.sym("q", 3), ca.SX.sym("v", 3)
    rod = lagrangian_system(q=q, v=v, T=m * (ca.sumsqr(v[:2]) + length**2 / 12.0 * v[2] ** 2) / 2)
    end = q[1] - length / 2.0 * ca.sin(q[2])
    modes = {"fall": Mode(events=(Event(end, "fall", "falling", Rebound(end, e), "end"),))}
    motion = simulate_hybrid(rod, modes, [0.0, 1.0, theta], [0.1, -speed, 0.0], 0.4, start="fall", step=0.01)
    shape, blow = 1.0 + 3.0 * np.cos(theta) ** 2, motion.impacts[1]
    assert blow is not None
    impulse = (1.0 + e) * m * speed / shape
    assert blow.by_constraint["rebound"] == pytest.approx(impulse, rel=1e-12)
    spin = -6.0 * (1.0 + e) * speed * np.cos(theta) / (length * shape)
    np.testing.assert_allclose(motion.segments[1].v[0], [0.1, impulse / m - speed, spin], rtol=1e-12)
    assert blow.energy_loss == pytest.approx((1.0 - e**2) * m * speed**2 / (2.0 * shape), rel=1e-12)


def test_a_wall_that_moves_throws_back_by_the_speed_at_which_they_meet() -> None:
    robot = ball()
    gap = robot.q[0] - 0.5 * robot.t
    free = dataclasses.replace(robot, dynamics=lagrangian_system(q=robot.q, v=robot.v, T=robot.v**2 / 2).dynamics)
    modes = {"on": Mode(events=(Event(gap, "on", "falling", Rebound(gap, 0.5), "wall"),))}
    motion = simulate_hybrid(free, modes, [1.0], [-1.0], 1.0, start="on", step=0.01)
    np.testing.assert_allclose(motion.switches, [2.0 / 3.0], atol=1e-9)
    np.testing.assert_allclose(motion.segments[1].v[0], [0.5 + 0.5 * 1.5], rtol=1e-12)


def test_a_map_kicks_once_per_turn_of_a_clock() -> None:
    """The expression is as positive after the kick as before, and must come back before it counts again."""
    robot = point_mass()
    clock = ca.sin(2.0 * np.pi * (robot.t - 0.25))
    kick = StateMap(v=robot.v + ca.DM([1.0, 0.0]))
    modes = {"on": Mode(events=(Event(clock, "on", jump=kick, name="tick"),))}
    motion = simulate_hybrid(robot, modes, [0.0, 0.0], [0.0, 0.0], 3.0, start="on", step=0.03)
    np.testing.assert_allclose(motion.switches, [0.25, 1.25, 2.25], atol=1e-9)
    np.testing.assert_allclose([segment.v[0, 0] for segment in motion.segments], [0.0, 1.0, 2.0, 3.0], atol=1e-12)
