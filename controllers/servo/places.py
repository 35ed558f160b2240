"""Places near one at which a law is to work, where properties are looked at that hold almost everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.samples import sampled_parameters

Array = NDArray[np.float64]

COUNT = 5
SPREAD = 0.1
"""Of coordinates, in their own units."""
MOTION = 0.5
"""Of velocities, of what integrators hold, and of time."""
SEED = 1998
ZERO = 1e-9
"""Share of what a number is the sum of, below which it counts as rounding."""


@dataclass(frozen=True, eq=False)
class Places:
    """A few states around one.

    Attributes:
        robot: whose states they are.
        q: coordinates in the middle, shape (nq,).
        v: velocities in the middle, shape (nv,).
        parameters: of what is looked at.
    """

    robot: Robot
    q: Array
    v: Array
    parameters: Parameters

    def at(self, expression: ca.SX) -> Array:
        """Value of an expression at the middle and t = 0, of its shape; NaN where it is not defined.

        Args:
            expression: in t, q, v and p.
        """
        c = self.robot.coordinates
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": self.parameters.symbols}
        kernel = Kernel("place", inputs, {"value": ca.densify(expression)}, compiled=False)
        # The first numbers of the generator, as in :meth:`values`.
        p = sampled_parameters(self.parameters, np.random.default_rng(SEED))
        return kernel(0.0, self.q, self.v, p)[0].reshape(expression.shape)

    def values(self, expressions: Mapping[str, ca.SX], extended: ca.SX) -> dict[str, Array]:
        """Values of all expressions, each of shape (places, rows, columns), at places where all are finite.

        Args:
            expressions: in t, q, v, p and ``extended``, by name.
            extended: further symbols, which get random values.
        """
        c = self.robot.coordinates
        inputs = {"t": c.t, "q": c.q, "v": c.v, "x": extended, "p": self.parameters.symbols}
        kernel = Kernel("places", inputs, {key: ca.densify(e) for key, e in expressions.items()}, compiled=False)
        rng = np.random.default_rng(SEED)
        p = sampled_parameters(self.parameters, rng)
        found: list[list[Array]] = []
        for _ in range(COUNT):
            q = self.q + rng.uniform(-SPREAD, SPREAD, c.nq)
            v = self.v + rng.uniform(-MOTION, MOTION, c.nv)
            told = kernel(rng.uniform(0.0, MOTION), q, v, rng.uniform(-MOTION, MOTION, extended.numel()), p)
            whole = [e.reshape(shape) for e, shape in zip(told, kernel.outputs.values(), strict=True)]
            if all(np.isfinite(e).all() for e in whole):
                found.append(whole)
        return {
            key: np.array([one[i] for one in found]).reshape(-1, *kernel.outputs[key])
            for i, key in enumerate(expressions)
        }
