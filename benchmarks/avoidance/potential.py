"""The baseline that descends a potential: an artificial potential field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from .method import Method, Obstacle, ahead, saturated, turned
from .scenes import BOUND, CRUISE

CLOSEST = 1e-3


def attraction(x: ca.SX, carrot: ca.SX) -> ca.SX:
    """U = c |x − g|: a pull of cruise speed towards a point g of the path ahead [m²/s]."""
    return CRUISE * ca.sqrt(ca.sumsqr(x - carrot) + 1e-18)


def repulsion(distance: ca.SX, strength: ca.SX, reach: ca.SX) -> ca.SX:
    """FIRAS, U = ½ η (1/ρ − 1/ρ₀)² for ρ < ρ₀, else 0 [Khatib1986]_."""
    return 0.5 * strength * ca.fmax(1 / ca.fmax(distance, CLOSEST) - 1 / reach, 0) ** 2


class PotentialField(Method):
    """w = −∇U, U of a point of the path ahead and of the obstacles within ρ₀, shortened to the speed bound.

    For moving obstacles, and against the local minima that sums of potentials have, two additions can be tuned in: what
    an obstacle itself moves towards the point at, φ max(0, nⱼ·uⱼ) (1 − ρⱼ/ρ₀) nⱼ, and a vortex [DeLuca1994]_ that turns
    the repulsion by an angle α towards one side, less the more the obstacle lies behind.

    Gains: ``strength`` η [m⁴/s], ``reach`` ρ₀ [m], ``ahead`` how far the point of the path is ahead [m], ``vortex`` α
    [rad], ``drift`` φ.
    """

    def __init__(self, gains: Mapping[str, float], name: str) -> None:
        """With these gains."""
        self.name, self.gains = name, dict(gains)
        self.sided = self.gains["vortex"] != 0.0

    def velocity(
        self, x: ca.SX, t: ca.SX, obstacles: Sequence[Obstacle], sides: ca.SX, gains: Mapping[str, ca.SX]
    ) -> ca.SX:
        """The velocity, shape (n,) [m/s]."""
        carrot = ca.vertcat(x[0] + gains["ahead"], ca.SX.zeros(x.numel() - 1))
        # The carrot moves along with the point, so the pull is the gradient with the carrot held.
        held = ca.SX.sym("g", x.numel())
        pull = -ca.substitute(ca.gradient(attraction(x, held), x), held, carrot)
        w = pull
        for side, obstacle in zip(ca.vertsplit(sides), obstacles, strict=True):
            normal, distance = ahead(obstacle, x)
            push = -ca.gradient(repulsion(distance, gains["strength"], gains["reach"]), x)
            angle = side * gains["vortex"] * (1 - ca.dot(normal, pull) / CRUISE) / 2
            near = ca.fmax(0, 1 - ca.fmax(distance, 0) / gains["reach"])
            follow = gains["drift"] * ca.fmax(0, ca.dot(normal, obstacle.velocity)) * near
            size = ca.sqrt(ca.sumsqr(push) + 1e-18)
            w = w + size * (ca.cos(angle) * normal + ca.sin(angle) * turned(normal)) + follow * normal
        return saturated(w, BOUND)
