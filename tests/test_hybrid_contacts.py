"""Modes whose plants differ: a leg and a walker with feet on the ground, a block that sticks and slides."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import Baumgarte, nonholonomic
from erugin.robots import Contact, Robot, TelescopicLink, contact_force, disturb, exoskeleton, with_contacts
from erugin.robots.signals import Signal, SignalExpressions, Step
from erugin.simulation import DOP853, Event, Mode, Strike, simulate_hybrid
from erugin.symbolic import ParameterError

from .phased import require_same
from .quadratic import MASS, point_mass
from .walkers import body, stance, start, two_steps
from .wrapped import rail

G = 9.81
TIGHT = DOP853(1e-12, 1e-12)
FOOT = Contact("pole", (0.0, 1.0))
BODY, SHOE, STIFFNESS, REST = 60.0, 4.0, 20000.0, 0.9


def test_a_hopping_leg_takes_off_where_the_ground_would_have_to_pull_and_lands_again() -> None:
    """Stance in closed form; each landing takes the kinetic energy of the shoe; heights fall accordingly."""
    robot = exoskeleton([TelescopicLink(BODY, 0.0, 1.0, STIFFNESS, REST)], base="floating", pole_mass=SHOE)
    stands = with_contacts(robot, [FOOT], perturbation=Baumgarte(30.0))
    push = contact_force(stands, FOOT, u=ca.SX.zeros(robot.u.numel()))[1]
    height = robot.points["pole"][1]
    modes = {
        "flight": Mode(events=(Event(height, "stance", "falling", name="landing"),)),
        "stance": Mode(events=(Event(push, "flight", "falling", name="take-off"),), robot=stands, contacts=(FOOT,)),
    }
    fall = 0.3
    motion = simulate_hybrid(
        *(robot, modes, [0.0, fall, np.pi / 2.0, REST], np.zeros(4), 1.6), start="flight", step=4e-3, integrator=TIGHT
    )
    assert motion.names[:5] == ("flight", "stance", "flight", "stance", "flight")
    assert motion.events[:4] == ("landing", "take-off", "landing", "take-off")
    speed = np.sqrt(2.0 * G * fall)
    omega, sag = np.sqrt(STIFFNESS / BODY), BODY * G / STIFFNESS
    size, phase = np.hypot(sag, speed / omega), np.arctan2(speed / omega, sag)
    turned = 2.0 * np.pi - np.arccos((sag + SHOE * G / STIFFNESS) / size)
    np.testing.assert_allclose(motion.switches[:2], np.cumsum([speed / G, (turned - phase) / omega]), atol=1e-8)
    for k in (1, 3):
        blow, down = motion.impacts[k], motion.segments[k - 1].v[-1, 1]
        assert blow is not None
        assert blow.energy_loss == pytest.approx(SHOE * down**2 / 2, rel=1e-6)
        assert motion.segments[k].q[:, 1].max() < 1e-6
    lost = [blow.energy_loss for blow in motion.impacts if blow is not None]
    assert motion.energy[0] - motion.energy[-1] == pytest.approx(sum(lost), rel=1e-6)


def test_a_walker_takes_the_steps_of_a_motion_in_phases_bit_for_bit() -> None:
    """The same two stances, each with the other's foot coming down as its event."""
    expected = two_steps()
    modes = {}
    for name, other in (("A", "B"), ("B", None)):
        phase = stance(name).phase
        assert isinstance(phase.until, ca.SX)
        event = Event(phase.until, other, name=f"down {name}")
        modes[name] = Mode(phase.controller, (event,), robot=phase.robot, contacts=phase.contacts)
    motion = simulate_hybrid(body(), modes, *start(), 3.0, start="A", step=1e-3)
    assert motion.events == ("down A", "down B")
    require_same(motion, expected)


def test_a_strike_gives_back_the_normal_impulse_and_holds_the_foot_meanwhile() -> None:
    """A mass that sticks for the instant loses its speed along the floor and keeps e of that across it."""
    free = point_mass(gravity=G)
    plant = dataclasses.replace(free, points={"ball": free.q})
    foot = Contact("ball", (0.0, 1.0), "floor")
    strike = Strike(with_contacts(plant, [foot]), [foot], 0.5)
    modes = {"flight": Mode(events=(Event(plant.q[1], "flight", "falling", strike, "floor"),))}
    motion = simulate_hybrid(plant, modes, [0.0, 1.0], [0.4, 0.0], 0.7, start="flight", step=1e-2)
    assert len(motion.segments) == 2
    np.testing.assert_allclose(motion.segments[1].v[0], [0.0, 0.5 * np.sqrt(2.0 * G)], atol=1e-8)
    blow = motion.impacts[1]
    assert blow is not None
    assert blow.by_constraint["floor"][1] == pytest.approx(1.5 * MASS * np.sqrt(2.0 * G), rel=1e-8)


def test_a_block_under_a_swinging_force_sticks_and_slides_as_dry_friction_says() -> None:
    """It sticks while A |sin ωt| < μ m g, slides to and fro otherwise; times by Newton's method on the closed form."""
    A, omega, friction = 3.0, 2.0, 1.8
    free = point_mass()
    x, v, pull = free.q[0], free.v[0], A * ca.sin(omega * free.t)
    driven = disturb(free, _Sine(A, omega), x, name="pull").robot

    def sliding(sign: float) -> Robot:
        return disturb(driven, Step(-sign * friction, time=-10.0), x, name="friction").robot

    held = dataclasses.replace(driven, natural=(nonholonomic(v, name="ground"),))
    modes = {
        "stick": Mode(
            robot=held,
            events=(
                Event(pull - friction, "right", name="breaks"),
                Event(-pull - friction, "left", name="breaks"),
            ),
        ),
        "right": Mode(robot=sliding(1.0), events=(Event(v, "stick", "falling", name="stops"),)),
        "left": Mode(robot=sliding(-1.0), events=(Event(v, "stick", "rising", name="stops"),)),
    }
    motion = simulate_hybrid(free, modes, [0, 0], [0, 0], 3.0, start="stick", step=0.01)
    # The reaction is what the pull is, until it breaks.
    stuck = motion.segments[0]
    np.testing.assert_allclose(stuck.evaluate(held.unforced_acceleration[1]), -stuck.evaluate(pull), atol=1e-12)
    begin = float(np.arcsin(friction / A) / omega)
    stop = begin + 1.5
    for _ in range(50):
        speed = A / omega * (np.cos(omega * begin) - np.cos(omega * stop)) - friction * (stop - begin)
        stop -= speed / (A * np.sin(omega * stop) - friction)
    assert motion.names[:4] == ("stick", "right", "stick", "left")
    np.testing.assert_allclose(motion.switches[:2], [begin, stop], atol=1e-8)
    assert motion.switches[2] == pytest.approx(begin + np.pi / omega, abs=1e-8)
    way = A / omega * (np.cos(omega * begin) * (stop - begin) - (np.sin(omega * stop) - np.sin(omega * begin)) / omega)
    assert motion.segments[2].q[0, 0] == pytest.approx((way - friction * (stop - begin) ** 2 / 2) / MASS, abs=1e-9)
    assert motion.events[:3] == ("breaks", "stops", "breaks")


def test_a_parameter_that_only_the_plant_of_one_mode_has_is_set_there() -> None:
    """A mass at 1 m/s meets a brake at x = 0.5, of 1 N or 2 N, and stops where its energy is spent."""
    robot = rail()
    brake = disturb(robot, Step(-1.0, time=-9.0), robot.q[0], name="brake").robot
    modes = {
        "free": Mode(events=(Event(robot.q[0] - 0.5, "braked", name="met"),)),
        "braked": Mode(robot=brake, events=(Event(robot.v[0], None, "falling", name="stopped"),)),
    }
    for force, way in ((-1.0, 0.5), (-2.0, 0.25)):
        p = {"brake.force": force}
        motion = simulate_hybrid(robot, modes, [0.0], [1.0], 3.0, start="free", step=0.03, p=p)
        assert motion.events == ("met", "stopped")
        assert motion.q[-1, 0] == pytest.approx(0.5 + way, abs=1e-9)
    with pytest.raises(ParameterError, match=r"^unknown parameter 'brake\.farce'\. Did you mean 'brake\.force'"):
        simulate_hybrid(robot, modes, [0.0], [1.0], 1.0, start="free", step=0.03, p={"brake.farce": -1.0})


@dataclasses.dataclass(frozen=True, eq=False)
class _Sine(Signal):
    size: float
    rate: float

    def build(self, t: ca.SX, name: str, components: tuple[str, ...]) -> SignalExpressions:
        return SignalExpressions(self.size * ca.sin(self.rate * t))
