"""A leg that falls, lands, presses its spring and takes off again: phases by hand, an impact between them."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import (
    Contact,
    Robot,
    TelescopicLink,
    contact_force,
    contact_positions,
    exoskeleton,
    impact,
    required_friction,
    with_contacts,
)
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Simulator, Trajectory
from erugin.symbolic import ModelError

Array = NDArray[np.float64]

TIGHT = DOP853(relative_tolerance=1e-13, absolute_tolerance=1e-13)
FOOT = Contact("pole", (0.0, 1.0))
BODY, SHOE, STIFFNESS, REST, G = 60.0, 4.0, 20000.0, 0.9, 9.81


@dataclass
class End:
    """Where a phase ends: how long it took, state, and the samples on the way."""

    t: float
    q: Array
    v: Array
    samples: Trajectory


class Phase:
    """Motion until a condition becomes positive, found by ever smaller steps from the last sample before it."""

    def __init__(self, robot: Robot, stop: ca.SX) -> None:
        self.simulator = Simulator(robot, None, integrator=TIGHT, stop=stop)

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
    link = TelescopicLink(BODY, 0.0, 1.0, STIFFNESS, REST)
    robot = exoskeleton([link], base="floating", pole_mass=SHOE)
    flight, stance, standing_robot = phases(robot)
    height = 0.3
    q, v = np.array([0.0, height, np.pi / 2.0, REST]), np.zeros(4)

    down = flight.run(q, v)
    speed = np.sqrt(2.0 * G * height)
    assert down.t == pytest.approx(np.sqrt(2.0 * height / G), abs=1e-8)
    np.testing.assert_allclose(down.v, [0.0, -speed, 0.0, 0.0], rtol=0.0, atol=1e-7)

    landing = impact(standing_robot, down.q, down.v, [FOOT])
    np.testing.assert_allclose(landing.velocity, [0.0, 0.0, 0.0, -speed], rtol=0.0, atol=1e-7)
    assert landing.energy_loss == pytest.approx(SHOE * G * height, rel=1e-7)
    assert landing.by_constraint["pole"][1] == pytest.approx(SHOE * speed, rel=1e-7)

    # l = l₀ − m g/k + C cos ωt + D sin ωt until k (l − l₀) = h₀ g lifts the shoe.
    up = stance.run(down.q, landing.velocity, contact_positions(robot, [FOOT], down.q))
    omega, sag = np.sqrt(STIFFNESS / BODY), BODY * G / STIFFNESS
    size, phase = np.hypot(sag, speed / omega), np.arctan2(speed / omega, sag)
    assert up.q[3] == pytest.approx(REST + SHOE * G / STIFFNESS, abs=1e-8)
    turned = 2.0 * np.pi - np.arccos((sag + SHOE * G / STIFFNESS) / size)
    assert up.t == pytest.approx((turned - phase) / omega, abs=1e-8)
    rise = size * omega * np.sin(2.0 * np.pi - turned)
    assert up.v[3] == pytest.approx(rise, rel=1e-8)
    pushed = up.samples.evaluate(contact_force(standing_robot, FOOT, u=ca.SX.zeros(0, 1)))[:, 1]
    assert pushed[-1] < 0.0 < pushed[:-1].min()
    assert pushed.max() == pytest.approx(SHOE * G + STIFFNESS * (size + sag), rel=0.05)

    # The centre of both rises by its own speed; the spring keeps swinging between them.
    again = simulate(robot, None, up.q, up.v, 0.2, step=0.02, integrator=TIGHT)
    center = (SHOE * again.q[:, 1] + BODY * (again.q[:, 1] + again.q[:, 3])) / (SHOE + BODY)
    expected = center[0] + BODY * rise / (SHOE + BODY) * again.t - G * again.t**2 / 2.0
    np.testing.assert_allclose(center, expected, rtol=0.0, atol=1e-10)
    assert again.energy[-1] == pytest.approx(down.samples.energy[0] - landing.energy_loss, rel=1e-9)


def test_hopping_forward() -> None:
    """Two hops of a leg with inertia: energy falls in the impacts alone, as reported; the ground only pushes."""
    link = TelescopicLink(BODY, 2.0, 0.8, STIFFNESS, REST, hinge_mass=10.0)
    robot = exoskeleton([link], base="floating", pole_mass=SHOE)
    flight, stance, standing_robot = phases(robot)
    q, v = np.array([0.0, 0.25, 1.66, REST]), np.array([0.13, 0.0, -0.46, 0.0])
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
    """Of two links the knee's torque is in the force; a run needs to be told what it is."""
    link = TelescopicLink(5.0, 0.1, 0.5, STIFFNESS, 0.5)
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
