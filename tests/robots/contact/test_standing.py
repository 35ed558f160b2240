"""Standing over some time: energy, the place of the foot, its force, and what happens when it is switched off."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import Baumgarte
from erugin.robots import Contact, contact_force, contact_positions, with_contacts
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import StartWarning

from ...support.exoskeletons import Array, Case, built
from ...support.references import impact_numpy as known
from ...support.references import telescopic_bodies as truth
from ...support.spatial_exoskeletons import built as built_in_space

TIGHT = DOP853(relative_tolerance=1e-13, absolute_tolerance=1e-13)
CASE = Case((0, 1, 2), floating=True, hinges=True)
UP = (0.0, 1.0)
POLE, TIP = Contact("pole", UP), Contact("tip", UP)


def start(feet: list[Contact]) -> tuple[Array, Array]:
    """Three links over the ground in a motion in which the feet are at rest."""
    s = CASE.structure
    q = np.concatenate([[0.4, 0.0], [1.9, 0.6, -1.3], [rod.rest for rod in s.rods]])
    v = np.array([0.0, 0.0, 0.6, -0.9, 0.4, 0.2, -0.3, 0.1])
    A = np.vstack([known.foot(s, q, v, 0 if foot is POLE else 3).jacobian for foot in feet])
    return q, np.asarray(v - np.linalg.lstsq(A, A @ v, rcond=None)[0], dtype=np.float64)


@pytest.mark.parametrize("feet", [[POLE], [POLE, TIP]], ids=["one foot", "two feet"])
def test_energy_is_kept_and_feet_stay(feet: list[Contact]) -> None:
    """4 s on the ground: energy to 1e-10 by the particles, places to 1e-11, the force that of the whole system."""
    flying, s = built(CASE), CASE.structure
    robot = with_contacts(flying, feet)
    q0, v0 = start(feet)
    p = contact_positions(flying, feet, q0)
    motion = simulate(robot, None, q0, v0, 4.0, step=0.05, integrator=TIGHT, p=p)
    parts = [truth.energies(s, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    energy = np.array([T + V for T, V in parts])
    largest = max(abs(x) for pair in parts for x in pair)
    assert motion.t[-1] == pytest.approx(4.0)
    assert np.abs(energy - energy[0]).max() <= 1e-10 * largest
    assert np.ptp([T for T, _ in parts]) > 1.0
    none = ca.SX.zeros(robot.u.numel())
    forces = np.zeros((len(motion), 2))
    for foot in feet:
        track = motion.evaluate(robot.points[foot.point])
        assert np.abs(track - track[0]).max() < 1e-11
        forces += motion.evaluate(contact_force(robot, foot, u=none))
    for q, v, force in zip(motion.q, motion.v, forces, strict=True):
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=np.zeros(robot.u.numel()), p=p)
        found = truth.momenta(s, q, v, a)
        ground = found.force + np.array([0.0, 9.81]) * found.mass
        assert np.abs(force - ground).max() <= 1e-9 * max(1.0, float(np.abs(forces).max()))


def test_in_space() -> None:
    """A pole that stands, two links that swing out of every plane, 3 s."""
    case = Case((0, 1), floating=True, hinges=True)
    flying = built_in_space(case)
    pole = Contact("pole", (0.0, 0.0, 1.0))
    robot = with_contacts(flying, [pole])
    rest = [rod.rest for rod in case.structure.rods]
    q0 = np.array([0.1, 0.2, 0.3, -1.2, -0.9, -0.3, 0.2, *rest])
    v0 = np.array([0.0, 0.0, 0.0, 0.8, 0.3, 0.4, -0.2, -0.3, 0.4])
    motion = simulate(robot, None, q0, v0, 3.0, step=0.05, integrator=TIGHT, p=contact_positions(flying, [pole], q0))
    assert np.ptp(motion.energy) <= 1e-10 * np.ptp(motion.evaluate(robot.kinetic_energy))
    assert np.abs(motion.q[:, :3] - q0[:3]).max() < 1e-11


def test_switched_off_the_motion_continues_in_flight() -> None:
    """From the same q and v: the energy does not jump, the centre of mass keeps its velocity."""
    flying, s = built(CASE), CASE.structure
    robot = with_contacts(flying, [POLE])
    q0, v0 = start([POLE])
    stance = simulate(robot, None, q0, v0, 0.5, step=0.05, integrator=TIGHT, p=contact_positions(flying, [POLE], q0))
    flight = simulate(flying, None, stance.q[-1], stance.v[-1], 0.5, step=0.05, integrator=TIGHT)
    assert flight.energy[0] == pytest.approx(stance.energy[-1], rel=1e-14)
    none = np.zeros(s.nv)
    before, after = (truth.momenta(s, m.q[k], m.v[k], none) for m, k in ((stance, -1), (flight, -1)))
    fallen = np.array([0.0, -9.81])
    expected = before.center + before.momentum / before.mass * 0.5 + fallen * 0.5**2 / 2.0
    np.testing.assert_allclose(after.center, expected, rtol=0.0, atol=1e-11)
    # Only one of both forces holds the pole; the accelerations differ from then on.
    assert np.abs(flight.q[-1, :2] - q0[:2]).max() > 0.1


@pytest.mark.parametrize("alpha", [10.0, 25.0])
def test_a_foot_beside_its_place_returns(alpha: float) -> None:
    """Baumgarte's equation, critically damped: y = y₀ (1 + α t) exp(−α t), whatever the rest of the robot does."""
    flying = built(CASE)
    robot = with_contacts(flying, [POLE], perturbation=None if alpha == 10.0 else Baumgarte(alpha))
    q0, v0 = start([POLE])
    p = contact_positions(flying, [POLE], q0)
    beside = {"pole.x": p["pole.x"] - 0.01, "pole.y": p["pole.y"] + 0.02}
    with pytest.warns(StartWarning, match="'pole"):
        motion = simulate(robot, None, q0, v0, 0.5, step=0.05, integrator=TIGHT, p=beside)
    off = motion.q[:, :2] - [beside["pole.x"], beside["pole.y"]]
    decay = (1.0 + alpha * motion.t) * np.exp(-alpha * motion.t)
    np.testing.assert_allclose(off, decay[:, None] * [0.01, -0.02], rtol=0.0, atol=1e-12)


def test_a_sweep_over_places_needs_no_new_robot() -> None:
    """The place is a parameter: the same motion, shifted with it."""
    flying = built(CASE)
    robot = with_contacts(flying, [POLE])
    q0, v0 = start([POLE])
    shift = np.array([0.7, -0.3, *np.zeros(6)])
    first, second = (
        simulate(robot, None, q, v0, 0.4, step=0.1, integrator=TIGHT, p=contact_positions(flying, [POLE], q))
        for q in (q0, q0 + shift)
    )
    np.testing.assert_allclose(second.q - shift, first.q, rtol=0.0, atol=1e-11)
