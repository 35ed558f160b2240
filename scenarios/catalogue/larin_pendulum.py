"""A spherical pendulum in Larin's coordinates: no angles, no gains, and no drift."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...robots.examples import spherical_pendulum
from ...simulation import Reduced
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import ParameterError
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import energy_error, loop_error, parameter_value

Array = NDArray[np.float64]


def bob_height(height: float, speed: float, length: float, gravity: float, t: Array) -> Array:
    """Return the height of a bob: z = z₁ + (z₂ − z₁) sn²(√(g (z₃ − z₁)/2) t/l + s K | (z₂ − z₁)/(z₃ − z₁)) [m].

    It starts sideways; z₁ ≤ z₂ < z₃ are the roots of 2 (E − g z)(l² − z²) = J², of which the initial height is one; s
    is 0 at z₁ and 1 at z₂.

    Args:
        height: initial height over the pivot [m].
        speed: initial speed [m/s].
        length: length l of the rod [m].
        gravity: g [m/s²].
        t: times, shape (N,) [s].
    """
    from scipy.special import ellipj, ellipk

    energy, moment = speed**2 / 2.0 + gravity * height, speed**2 * (length**2 - height**2)
    cubic = [2.0 * gravity, -2.0 * energy, -2.0 * gravity * length**2, 2.0 * energy * length**2 - moment]
    roots = np.sort(np.real(np.roots(cubic)))
    low, high, beyond = (float(root) for root in roots)
    m = (high - low) / (beyond - low)
    start = float(ellipk(m)) if abs(height - high) < abs(height - low) else 0.0
    sn = ellipj(math.sqrt(gravity * (beyond - low) / 2.0) / length * t + start, m)[0]
    return np.asarray(low + (high - low) * sn**2, dtype=np.float64)


@scenario("larin-pendulum")
def larin_pendulum(*, height: float = -0.3, speed: float = 1.5, duration: float = 10.0, step: float = 1e-3) -> Setup:
    """A pendulum as a point on a sphere, in Larin's coordinates v = V₂ w, which are updated along the motion.

    Larin's own example swings in a plane (speed=0); thrown sideways, the bob requires two velocities and the term
    V₂ᵀM V̇₂ w, which his example lacks: without it the angular momentum is not conserved. Expect the sphere to rounding,
    energy and angular momentum within 1e-9 of their values, and the heights of elliptic functions.

    Args:
        height: initial height of the bob over the pivot, on a sphere of 1 m [m].
        speed: initial sideways speed [m/s].
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
    """
    if not -1.0 < height < 1.0:
        raise ParameterError(f"height must be between -1 and 1, on a sphere of 1 m, got {height!r}")
    robot = spherical_pendulum(mass=1.0, length=1.0)
    momentum = robot.p[0] * (robot.q[0] * robot.v[1] - robot.q[1] * robot.v[0])

    def height_error(motion: Trajectory) -> float:
        exact = bob_height(height, speed, 1.0, parameter_value(motion, "g"), motion.t)
        return float(np.abs(motion.q[:, 2] - exact).max())

    measures = {
        "distance from the sphere": loop_error(1e-14),
        "energy error": energy_error(1e-9),
        "angular momentum, error": Measure(lambda m: np.ptp(m.evaluate(momentum)), "kg m²/s", (0.0, 1e-9)),
        "height, error against elliptic functions": Measure(height_error, "m", (0.0, 1e-8)),
        "lowest height": Measure(lambda m: m.q[:, 2].min(), "m", (-0.92699, -0.92697)),
    }
    q0 = [math.sqrt(1.0 - height**2), 0.0, height]
    return Setup(robot, None, q0, [0.0, speed, 0.0], duration, step, integrator=Reduced(), measures=measures)
