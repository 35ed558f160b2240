"""Any one of the other integrators, with the state put back on the natural constraints after every step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.march import March
from ..closed_loop import ClosedLoop
from ..projection import projection
from .integrator import Integrator, StartRun
from .rk4 import RK4

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Projected(Integrator):
    """x₊ = Π(x̂₊), x̂₊ from a step of another method, Π the projection on the natural constraints in the mass metric.

    Whatever the natural constraints' perturbation equation, what is left of the positions at every sample is the third
    power of the step's miss, and of the velocities a rounding error: the first is one as well for steps that miss by
    less than some 1e-5 of the mechanism's size. The order of the method stays. See
    :func:`~erugin.scenarios.projection.projection`.

    Attributes:
        method: takes the steps; fixed-step RK4 if not given.

    Raises:
        ModelError: if the method is no integrator.
    """

    method: Integrator = field(default_factory=RK4)

    def __post_init__(self) -> None:
        """Refuse what takes no steps."""
        if not isinstance(self.method, Integrator):
            raise ModelError(f"Projected needs an integrator, such as RK4(), got {self.method!r}")

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """As the method does, for a loop that is corrected after each step.

        Raises:
            ModelError: if the plant has no natural constraints of order 0 or 1.
        """
        return self.method.prepare(loop.corrected_by(projection(loop.robot)))

    def march(self, loop: ClosedLoop) -> March | None:
        """As the method's, with the correction after each step."""
        return self.method.march(loop.corrected_by(projection(loop.robot)))

    def amplification(self, z: complex) -> float:
        """That of the method: program constraints are not projected on."""
        return self.method.amplification(z)
