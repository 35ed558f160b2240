"""The abstract controller, and the symbolic law that one may offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..robots.robot import Robot
from ..symbolic.parameters import NO_PARAMETERS, Parameters


@dataclass(frozen=True, eq=False)
class Law:
    """A control law as expressions in the symbols of the controller's model and parameters.

    Attributes:
        output: what ``control`` returns: u, shape (nu,), or R, shape (nv,).
        deviation: of the program, shape (m,); may use the accelerations ``robot.coordinates.a``.
        pivots: of the rows, shape (m,); zero where a row depends on the ones before it, or vanishes.
        relative_pivots: the same relative to the largest row of the same constraint, shape (m,), in [0, 1].
        rows: name of each row, m of them.
        tolerance: a row is dependent if its relative pivot is not above this.
        linearizations: name of each constraint and the state matrix of its perturbation equation, in the parameters.
    """

    output: ca.SX
    deviation: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX
    rows: tuple[str, ...]
    tolerance: float
    linearizations: tuple[tuple[str, ca.SX], ...] = ()


class Controller(ABC):
    """A control law: robot model and state in, inputs or forces out."""

    robot: Robot
    """The controller's own model; the plant may differ."""

    parameters: Parameters = NO_PARAMETERS
    """What may be varied without building the controller anew; the p of ``control``."""

    applies_force: bool = False
    """True if the output is a generalized force R, shape (nv,); False for inputs u, shape (nu,)."""

    @property
    def law(self) -> Law | None:
        """The law as expressions, if there is one; then a simulation runs as one compiled kernel."""
        return None

    @abstractmethod
    def control(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """The output at one tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Returns:
            u, shape (nu,), or R, shape (nv,).
        """

    def reset(self) -> None:  # noqa: B027 - a law without state has nothing to forget
        """Forget all internal state, before a new run."""
