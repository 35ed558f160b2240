"""The abstract controller, and the symbolic law that one may offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

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
        active: 1 where a row is on and 0 where it is off, shape (m,); empty if all rows are always on.
    """

    output: ca.SX
    deviation: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX
    rows: tuple[str, ...]
    tolerance: float
    linearizations: tuple[tuple[str, ca.SX], ...] = ()
    active: ca.SX = field(default_factory=lambda: ca.SX(0, 1))


@dataclass(frozen=True, eq=False)
class Observation:
    """What a controller called from Python has to say of one tick; empty arrays where it has nothing to say.

    Attributes:
        output: what ``control`` returns.
        pivots: as in :class:`Law`, shape (m,).
        relative_pivots: as in :class:`Law`, shape (m,).
        active: as in :class:`Law`, shape (m,) or empty.
    """

    output: NDArray[np.float64]
    pivots: NDArray[np.float64]
    relative_pivots: NDArray[np.float64]
    active: NDArray[np.float64]


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

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows that the law, or else :meth:`observe` and :meth:`deviation`, tell of."""
        return () if self.law is None else self.law.rows

    @property
    def switches(self) -> bool:
        """Whether rows are on at times only."""
        return self.law is not None and self.law.active.numel() > 0

    @property
    def tolerance(self) -> float:
        """A row is dependent if its relative pivot is not above this."""
        return 0.0 if self.law is None else self.law.tolerance

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """Name of each constraint and the state matrix of its perturbation equation, in the parameters."""
        return () if self.law is None else self.law.linearizations

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

    def observe(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> Observation:
        """The output at one tick and the pivots of the rows, for a record of a run without a symbolic law.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        nothing = np.zeros(0)
        return Observation(self.control(t, q, v, p), nothing, nothing, nothing)

    def deviation(
        self,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Deviation of the rows under the accelerations that a plant really has, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            a: accelerations, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return np.zeros(0)

    def contradiction(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> str:
        """A sentence on rows that contradict each other at one state; empty if there are none, or it cannot be told.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return ""

    def reset(self) -> None:  # noqa: B027 - a law without state has nothing to forget
        """Forget all internal state, before a new run."""
