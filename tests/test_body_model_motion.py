"""The body of eleven links in free motion for ten seconds: falling about its ankle, and drifting in weightlessness."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots.examples import body_model, body_posture
from erugin.scenarios import simulate
from erugin.simulation import DOP853

from .exoskeletons import BODY
from .references import telescopic_bodies as truth

TIGHT = DOP853(relative_tolerance=1e-13, absolute_tolerance=1e-13)
ANGLES = {"swing thigh": -1.2, "left forearm": -0.8}


@pytest.mark.slow
def test_energy_of_a_fall() -> None:
    """With springs and no dampers the energy is kept to 1e-10 of the largest part while it tumbles."""
    robot = body_model(body_mass=73.0, height=1.741, sex="male", stiffness=2e4, damping=None)
    q0 = body_posture(height=1.741, sex="male", angles=ANGLES)
    v0 = np.concatenate([np.linspace(-1.0, 1.0, 11), np.zeros(11)])
    motion = simulate(robot, None, q0, v0, 10.0, step=0.1, integrator=TIGHT)
    kinetic, potential = motion.evaluate(robot.kinetic_energy), motion.evaluate(robot.potential_energy)
    largest = max(float(np.max(kinetic)), float(np.max(np.abs(potential))))
    assert np.max(np.abs(motion.energy - motion.energy[0])) <= 1e-10 * largest
    assert np.max(kinetic) > 500.0


@pytest.mark.slow
def test_momenta_of_a_drift() -> None:
    """Without gravity and ground nothing changes the path of the centre of mass and the spin, nor the energy."""
    robot = body_model(
        body_mass=61.9, height=1.735, sex="female", stiffness=2e4, damping=None, gravity=0.0, base="floating"
    )
    p = robot.nominal
    rods = tuple(truth.Rod(p[f"m{i}"], p[f"I{i}"], p[f"n{i}"], p[f"k{i}"], p[f"L{i}"]) for i in range(1, 12))
    s = truth.Structure(rods, BODY, floating=True, pole_mass=p["h0"], gravity=0.0)
    q0 = body_posture(height=1.735, sex="female", angles=ANGLES, pole=(0.0, 0.0))
    v0 = np.concatenate([[0.4, 0.1], np.linspace(-2.0, 3.0, 11), np.linspace(-0.5, 0.5, 11)])
    motion = simulate(robot, None, q0, v0, 10.0, step=0.1, integrator=TIGHT)
    found = [truth.momenta(s, q, v, np.zeros(24)) for q, v in zip(motion.q, motion.v, strict=True)]
    speed = found[0].momentum / found[0].mass
    for t, now in zip(motion.t, found, strict=True):
        assert np.max(np.abs(now.center - found[0].center - speed * t)) <= 1e-10
        assert abs(now.spin - found[0].spin) <= 1e-10 * abs(found[0].spin)
    energy = [sum(truth.energies(s, q, v)) for q, v in zip(motion.q, motion.v, strict=True)]
    assert np.ptp(energy) <= 1e-10 * energy[0]
    assert abs(found[0].spin) > 1.0
    assert np.ptp(motion.evaluate(robot.kinetic_energy)) > 1.0
