"""The baseline that filters a nominal velocity: control barrier functions and a quadratic programme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from erugin.constraints import EruginField, line

from .method import Method, Obstacle, ahead, turned
from .quadratic import nearest_velocity
from .scenes import BOUND, CRUISE, LENGTH, MARGIN


class BarrierFilter(Method):
    """The velocity nearest to that along the path of all with ḣⱼ ≥ −γ hⱼ for every obstacle and |w| ≤ V.

    hⱼ = |x − cⱼ| − rⱼ − δ and ḣⱼ = nⱼ·(w − uⱼ), nⱼ the normal, uⱼ the drift, δ the margin [Ames2019]_. The nominal
    velocity w₀ is that of the field without obstacles. Where it points at the middle of an obstacle the filter comes to
    rest [Reis2021]_; with a share μ > 0 what the obstacles take from it is given back along their boundaries, as
    practitioners do:

        w₀ + μ Σ σⱼ exp(−hⱼ/ρ) max(0, −nⱼ·(w₀ − uⱼ)) tⱼ,   tⱼ the normal turned by a right angle.

    Gains: ``rate`` γ [1/s], ``attraction`` of the path [1/s], ``share`` μ, ``range`` ρ [m].
    """

    def __init__(self, gains: Mapping[str, float], name: str) -> None:
        """With these gains."""
        self.name, self.gains = name, dict(gains)
        self.sided = self.gains["share"] != 0.0

    def velocity(
        self, x: ca.SX, t: ca.SX, obstacles: Sequence[Obstacle], sides: ca.SX, gains: Mapping[str, ca.SX]
    ) -> ca.SX:
        """The filtered velocity, shape (n,) [m/s]."""
        n = x.numel()
        end = (LENGTH,) + (0.0,) * (n - 1)
        bare = EruginField(line((0.0,) * n, end), speed=CRUISE, attraction=3.0)
        values = [gains["attraction"] if key == "field.attraction" else v for key, v in bare.parameters.nominal.items()]
        along = ca.substitute(bare.velocity(x, t), bare.parameters.symbols, ca.vertcat(*values))
        nominal, normals, levels = along, list[ca.SX](), list[ca.SX]()
        for side, obstacle in zip(ca.vertsplit(sides), obstacles, strict=True):
            normal, distance = ahead(obstacle, x)
            h = distance - MARGIN
            blocked = ca.fmax(0, -ca.dot(normal, along - obstacle.velocity))
            nearness = ca.exp(-ca.fmax(h, 0) / gains["range"])
            nominal = nominal + gains["share"] * side * nearness * blocked * turned(normal)
            normals.append(normal)
            levels.append(ca.dot(normal, obstacle.velocity) - gains["rate"] * h)
        return nearest_velocity(nominal, normals, levels, BOUND)
