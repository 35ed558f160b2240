"""Free motion of the body with a quaternion: against Euler's equations, and in closed form with elliptic functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from erugin.robots.examples import quaternion_body
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Trajectory

from .quaternions import CENTER, GRAVITY, INERTIA, body, body_rate, quaternion_rate, rotation

Array = NDArray[np.float64]

TIGHT = DOP853(1e-13, 1e-13)
SPIN = np.array([1.0, -2.0, 3.0])
MOMENTS = np.array([1.0, 2.0, 3.0])


def rates(motion: Trajectory) -> Array:
    """ω in body axes along a motion."""
    return np.array([body_rate(q[3:], v[3:]) for q, v in zip(motion.q, motion.v, strict=True)])


def spatial_momentum(motion: Trajectory, inertia: Array) -> Array:
    """R I ω about the centre of mass, in world axes."""
    pairs = zip(motion.q, rates(motion), strict=True)
    return np.array([rotation(q[3:]) @ inertia @ omega for q, omega in pairs])


def test_thrown_body_turns_by_eulers_equations_and_falls_along_a_parabola() -> None:
    """Ten seconds; Euler's equations with ė = ½ e ∘ ω are integrated by SciPy, in other coordinates."""
    robot, e0 = body(), np.array([0.5, -0.5, 0.5, 0.5])
    R0, v_center = rotation(e0), np.array([0.4, 0.3, 5.0])
    velocity = v_center - R0 @ np.cross(SPIN, CENTER)
    motion = simulate(
        robot,
        None,
        np.append(-R0 @ CENTER, e0),
        np.append(velocity, quaternion_rate(e0, SPIN)),
        10.0,
        step=0.05,
        integrator=TIGHT,
    )

    def euler(_: float, x: Array) -> Array:
        omega = x[4:]
        slope = np.linalg.solve(INERTIA, -np.cross(omega, INERTIA @ omega))
        return np.append(quaternion_rate(x[:4], omega), slope).astype(np.float64)

    there = solve_ivp(
        euler, (0.0, 10.0), np.append(e0, SPIN), method="DOP853", t_eval=motion.t, rtol=1e-13, atol=1e-13
    ).y.T
    np.testing.assert_allclose(motion.q[:, 3:], there[:, :4], rtol=0, atol=1e-11)
    np.testing.assert_allclose(rates(motion), there[:, 4:], rtol=0, atol=1e-11)
    falling = np.outer(motion.t, v_center)
    falling[:, 2] -= GRAVITY * motion.t**2 / 2
    np.testing.assert_allclose(motion.evaluate(robot.points["center"]), falling, rtol=0, atol=1e-10)
    scale = float(motion.evaluate(robot.kinetic_energy).max())
    assert np.ptp(motion.energy) < 1e-10 * scale
    momentum = spatial_momentum(motion, INERTIA)
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(motion), 1)), rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(motion.q[:, 3:], axis=1), 1.0, rtol=0, atol=1e-11)


def test_spin_about_the_middle_axis_flips_as_elliptic_functions_do() -> None:
    """Landau and Lifshitz, Mechanics, § 37: cn, sn and dn, from a start at a quarter of their period."""
    I1, I2, I3 = MOMENTS
    start = np.array([0.0, 8.0, 0.02])
    robot = quaternion_body(1.0, np.diag(MOMENTS), center=(0.0, 0.0, 0.0), gravity=0.0)
    e0 = np.array([1.0, 0.0, 0.0, 0.0])
    q0, v0 = np.append(np.zeros(3), e0), np.append(np.zeros(3), quaternion_rate(e0, start))
    motion = simulate(robot, None, q0, v0, 10.0, step=0.02, integrator=TIGHT)

    twice_energy, square = float(MOMENTS @ start**2), float(MOMENTS**2 @ start**2)
    speed = np.sqrt((I3 - I2) * (square - twice_energy * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (twice_energy * I3 - square) / ((I3 - I2) * (square - twice_energy * I1))
    quarter = float(ellipk(m))
    sn, cn, dn, _ = ellipj(speed * motion.t + quarter, m)
    exact = np.column_stack(
        [
            np.sqrt((twice_energy * I3 - square) / (I1 * (I3 - I1))) * cn,
            np.sqrt((twice_energy * I3 - square) / (I2 * (I3 - I2))) * sn,
            np.sqrt((square - twice_energy * I1) / (I3 * (I3 - I1))) * dn,
        ]
    )
    omega = rates(motion)
    np.testing.assert_allclose(omega, exact, rtol=0, atol=1e-7)
    flips = int(np.count_nonzero(np.diff(np.sign(omega[:, 1]))))
    assert flips == int((speed * 10.0 / quarter + 1.0) / 2.0)
    assert flips >= 3
    # What flips is the body, not its angular momentum.
    momentum = spatial_momentum(motion, np.diag(MOMENTS))
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(motion), 1)), rtol=0, atol=1e-10)
    assert np.ptp(motion.energy) < 1e-10 * motion.energy[0]
