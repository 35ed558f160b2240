"""Modes with contact: hopping, walking, a block that sticks and slides."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, nonholonomic
from erugin.robots import (
    Contact,
    Robot,
    TelescopicLink,
    contact_force,
    contact_positions,
    disturb,
    exoskeleton,
    impact,
    required_friction,
    with_contacts,
)
from erugin.robots.signals import Signal, SignalExpressions, Step
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Event, Mode, Simulator, Strike, Trajectory, simulate_hybrid
from erugin.symbolic import ModelError, ParameterError

from ...support.hybrid_cases import require_same
from ...support.quadratic_rows import MASS, point_mass
from ...support.rail import rail
from ...support.walkers import body, stance, start, two_steps

Array = NDArray[np.float64]

TIGHTEST = DOP853(relative_tolerance=1e-13, absolute_tolerance=1e-13)
FOOT = Contact("pole", (0.0, 1.0))
HOPPER_MASS, FOOT_MASS, SPRING_STIFFNESS, SPRING_LENGTH, GRAVITY = 60.0, 4.0, 20000.0, 0.9, 9.81


@dataclass
class End:
    """End of a phase: its duration and state, and the samples before it."""

    t: float
    q: Array
    v: Array
    samples: Trajectory


class Phase:
    """Motion until a condition becomes positive, found by ever smaller steps from the last sample before it."""

    def __init__(self, robot: Robot, stop: ca.SX) -> None:
        self.simulator = Simulator(robot, None, integrator=TIGHTEST, stop=stop)

    def run(self, q: Array, v: Array, p: dict[str, float] | None = None) -> End:
        """From q, v to the end, to within 1e-9 s."""
        step, t = 0.02, 0.0
        whole = self.simulator.run(q, v, 5.0, step=step, p=p)
        part = whole
        while True:
            assert "stop condition" in part.ending, part.ending
            if step < 1e-9:
                return End(t + part.t[-1], part.q[-1], part.v[-1], whole)
            t, q, v = t + part.t[-2], part.q[-2], part.v[-2]
            part = self.simulator.run(q, v, step * 1.01, step=step / 50.0, p=p)
            step /= 50.0


def phases(robot: Robot) -> tuple[Phase, Phase, Robot]:
    """Flight until the foot goes down into the ground, stance until the ground would have to pull."""
    stance = with_contacts(robot, [FOOT])
    none = ca.SX.zeros(robot.u.numel())
    height = robot.points["pole"][1]
    # At take-off the foot is where the ground is, but for rounding, and not on its way down.
    into = ca.if_else(robot.coordinates.rate(height) < -1e-6, -height, -1)
    return (
        Phase(robot, into),
        Phase(stance, -contact_force(stance, FOOT, u=none)[1]),
        stance,
    )


def test_straight_up_and_down() -> None:
    """Two masses and a spring: every phase in closed form, and energy lost by the shoe alone."""
    link = TelescopicLink(HOPPER_MASS, 0.0, 1.0, SPRING_STIFFNESS, SPRING_LENGTH)
    robot = exoskeleton([link], base="floating", pole_mass=FOOT_MASS)
    flight, stance, standing_robot = phases(robot)
    height = 0.3
    q, v = np.array([0.0, height, np.pi / 2.0, SPRING_LENGTH]), np.zeros(4)

    down = flight.run(q, v)
    speed = np.sqrt(2.0 * GRAVITY * height)
    assert down.t == pytest.approx(np.sqrt(2.0 * height / GRAVITY), abs=1e-8)
    np.testing.assert_allclose(down.v, [0.0, -speed, 0.0, 0.0], rtol=0.0, atol=1e-7)

    landing = impact(standing_robot, down.q, down.v, [FOOT])
    np.testing.assert_allclose(landing.velocity, [0.0, 0.0, 0.0, -speed], rtol=0.0, atol=1e-7)
    assert landing.energy_loss == pytest.approx(FOOT_MASS * GRAVITY * height, rel=1e-7)
    assert landing.by_constraint["pole"][1] == pytest.approx(FOOT_MASS * speed, rel=1e-7)

    # l = l₀ − m g/k + C cos ωt + D sin ωt until k (l − l₀) = h₀ g lifts the shoe.
    up = stance.run(down.q, landing.velocity, contact_positions(robot, [FOOT], down.q))
    omega, sag = np.sqrt(SPRING_STIFFNESS / HOPPER_MASS), HOPPER_MASS * GRAVITY / SPRING_STIFFNESS
    size, phase = np.hypot(sag, speed / omega), np.arctan2(speed / omega, sag)
    assert up.q[3] == pytest.approx(SPRING_LENGTH + FOOT_MASS * GRAVITY / SPRING_STIFFNESS, abs=1e-8)
    turned = 2.0 * np.pi - np.arccos((sag + FOOT_MASS * GRAVITY / SPRING_STIFFNESS) / size)
    assert up.t == pytest.approx((turned - phase) / omega, abs=1e-8)
    rise = size * omega * np.sin(2.0 * np.pi - turned)
    assert up.v[3] == pytest.approx(rise, rel=1e-8)
    pushed = up.samples.evaluate(contact_force(standing_robot, FOOT, u=ca.SX.zeros(0, 1)))[:, 1]
    assert pushed[-1] < 0.0 < pushed[:-1].min()
    assert pushed.max() == pytest.approx(FOOT_MASS * GRAVITY + SPRING_STIFFNESS * (size + sag), rel=0.05)

    # The centre of both rises by its own speed; the spring keeps swinging between them.
    again = simulate(robot, None, up.q, up.v, 0.2, step=0.02, integrator=TIGHTEST)
    center = (FOOT_MASS * again.q[:, 1] + HOPPER_MASS * (again.q[:, 1] + again.q[:, 3])) / (FOOT_MASS + HOPPER_MASS)
    expected = center[0] + HOPPER_MASS * rise / (FOOT_MASS + HOPPER_MASS) * again.t - GRAVITY * again.t**2 / 2.0
    np.testing.assert_allclose(center, expected, rtol=0.0, atol=1e-10)
    assert again.energy[-1] == pytest.approx(down.samples.energy[0] - landing.energy_loss, rel=1e-9)


def test_hopping_forward() -> None:
    """Two hops of a leg with inertia: energy falls in the impacts alone, as reported; the ground only pushes."""
    link = TelescopicLink(HOPPER_MASS, 2.0, 0.8, SPRING_STIFFNESS, SPRING_LENGTH, hinge_mass=10.0)
    robot = exoskeleton([link], base="floating", pole_mass=FOOT_MASS)
    flight, stance, standing_robot = phases(robot)
    q, v = np.array([0.0, 0.25, 1.66, SPRING_LENGTH]), np.array([0.13, 0.0, -0.46, 0.0])
    energy = float(robot.evaluate(robot.kinetic_energy + robot.potential_energy, q=q, v=v))
    feet: list[float] = []
    for _ in range(2):
        down = flight.run(q, v)
        assert np.abs(down.samples.energy - energy).max() < 1e-9 * energy
        landing = impact(standing_robot, down.q, down.v, [FOOT])
        assert landing.energy_loss > 0.1
        energy -= landing.energy_loss
        # The impulse has no moment about the foot.
        assert spin(robot, down.q, landing.velocity) == pytest.approx(spin(robot, down.q, down.v), rel=1e-9)
        p = contact_positions(robot, [FOOT], down.q)
        up = stance.run(down.q, landing.velocity, p)
        assert np.abs(up.samples.energy - energy).max() < 1e-9 * energy
        assert np.abs(up.samples.q[:, :2] - [p["pole.x"], p["pole.y"]]).max() < 1e-10
        used = up.samples.evaluate(required_friction(standing_robot, FOOT, u=ca.SX.zeros(0, 1)))
        assert np.isfinite(used[:-1]).all()
        assert used[-1] == np.inf
        feet.append(p["pole.x"])
        q, v = up.q, up.v
        after = robot.evaluate(robot.kinetic_energy + robot.potential_energy, q=q, v=v)
        assert float(after) == pytest.approx(energy, rel=1e-9)
    assert feet[1] - feet[0] > 0.02


def spin(robot: Robot, q: Array, v: Array) -> float:
    """Moment of momentum about the foot: of the momenta p = M v, that of the turn about the foot, p_φ."""
    return float(robot.evaluate(robot.mass_matrix @ robot.v, q=q, v=v)[2])


def test_inputs_in_a_stop_condition() -> None:
    """Of two links the knee's torque is in the force; a run must be given its value."""
    link = TelescopicLink(5.0, 0.1, 0.5, SPRING_STIFFNESS, 0.5)
    robot = with_contacts(exoskeleton([link, link], base="floating", pole_mass=1.0), [FOOT])
    q = np.array([0.0, 0.0, 1.2, 1.9, 0.5, 0.5])
    v, p = np.zeros(6), {"pole.x": 0.0, "pole.y": 0.0}
    with pytest.raises(ModelError, match=r"stop may use .*not inputs"):
        simulate(robot, None, q, v, 0.1, step=0.01, p=p, stop=-contact_force(robot, FOOT)[1])
    none = ca.SX.zeros(1)
    stop = -contact_force(robot, FOOT, u=none)[1]
    assert simulate(robot, None, q, v, 0.02, step=0.01, p=p, stop=stop).ending == "the duration is over"
    # A stretched leg draws its foot up.
    q[4] = 0.6
    assert "stop condition holds at t = 0 s" in simulate(robot, None, q, v, 0.02, step=0.01, p=p, stop=stop).ending


G = 9.81
TIGHT = DOP853(1e-12, 1e-12)
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


@pytest.mark.slow
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


def test_a_block_under_a_periodic_force_sticks_and_slides_by_dry_friction() -> None:
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
