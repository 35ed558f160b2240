"""A free body in quaternions, spinning about its intermediate axis."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.examples import quaternion_body
from ...simulation import Reduced
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import ParameterError
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import energy_error, loop_error
from .pictures import motion_pictures, response_pictures

MOMENTS = np.array([1.0, 2.0, 3.0])
"""Principal moments of inertia of the body of 1 kg [kg m²]."""
SPEED = 0.5  # of its centre of mass, along x [m/s]


Array = NDArray[np.float64]


def free_spin(moments: Array, start: Array, t: Array) -> Array:
    """Return the angular velocity of a free body about its principal axes, (N, 3) [rad/s], Landau and Lifshitz, § 37.

    I₁ < I₂ < I₃, and the angular momentum circles the third axis: ω = (a cn, b sn, c dn).

    Args:
        moments: I₁, I₂, I₃ [kg m²].
        start: angular velocity at t = 0, the first entry zero and the others positive [rad/s].
        t: times, shape (N,) [s].
    """
    from scipy.special import ellipj, ellipk

    I1, I2, I3 = (float(x) for x in moments)
    twice, square = float(moments @ start**2), float(moments**2 @ start**2)
    speed = math.sqrt((I3 - I2) * (square - twice * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (twice * I3 - square) / ((I3 - I2) * (square - twice * I1))
    sn, cn, dn, _ = ellipj(speed * t + ellipk(m), m)
    return np.column_stack(
        [
            math.sqrt((twice * I3 - square) / (I1 * (I3 - I1))) * cn,
            math.sqrt((twice * I3 - square) / (I2 * (I3 - I2))) * sn,
            math.sqrt((square - twice * I1) / (I3 * (I3 - I1))) * dn,
        ]
    ).astype(np.float64)


@scenario("tumbling-body")
def tumbling_body(*, spin: float = 5.0, wobble: float = 0.1, duration: float = 10.0, step: float = 1e-3) -> Setup:
    """A free body with a unit quaternion as orientation spins about its intermediate axis and flips repeatedly.

    Four numbers for three freedoms: the mass matrix is singular, and the natural constraint eᵀe = 1 replaces the
    missing inertia. Expect ω in Jacobi's elliptic functions, three flips in 10 s while the centre of mass moves on a
    straight line, angular momentum and energy to 1e-8 of their values, and a quaternion of length one to rounding.

    Args:
        spin: initial angular velocity about the intermediate axis [rad/s].
        wobble: initial angular velocity about the axis of the largest moment, positive, less than the spin [rad/s].
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
    """
    if not 0.0 < wobble < spin:
        raise ParameterError(f"wobble must be greater than zero and less than the spin {spin:g}, got {wobble!r}")
    robot = quaternion_body(1.0, np.diag(MOMENTS), center=(0.0, 0.0, 0.0), gravity=0.0)
    e, rate, start = robot.q[3:], robot.v[3:], np.array([0.0, spin, wobble])
    omega = 2.0 * (e[0] * rate[1:] - rate[0] * e[1:] - ca.cross(e[1:], rate[1:]))
    momentum = robot.frames["body"].rotation @ (ca.DM(MOMENTS) * omega)

    def error(motion: Trajectory) -> float:
        return float(np.abs(motion.evaluate(omega) - free_spin(MOMENTS, start, motion.t)).max())

    measures = {
        "ω, error against elliptic functions": Measure(error, "rad/s", (0.0, 1e-6)),
        "number of flips": Measure(lambda m: float((np.diff(np.sign(m.evaluate(omega[1]))) != 0.0).sum()), "", (3, 3)),
        "angular momentum, error": Measure(lambda m: np.ptp(m.evaluate(momentum), 0).max(), "kg m²/s", (0.0, 1e-8)),
        "distance from the straight line": Measure(lambda m: np.abs(m.q[:, 0] - SPEED * m.t).max(), "m", (0.0, 1e-10)),
        "energy error": energy_error(1e-8),
        "length of the quaternion, error": loop_error(1e-13, unit=""),
    }
    q0, v0 = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [SPEED, 0.0, 0.0, 0.0, *(start / 2.0)]
    labels = ("ω about the intermediate axis [rad/s]", "elliptic function")
    pictures = response_pictures(
        *labels, lambda m: m.evaluate(omega[1]), lambda m: free_spin(MOMENTS, start, m.t)[:, 1]
    )
    pictures |= motion_pictures(12)
    return Setup(robot, None, q0, v0, duration, step, integrator=Reduced(), measures=measures, pictures=pictures)
