"""The linear perturbation equation with matrices, which couples the rows of a constraint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Range
from .coefficients import MatrixEntries, MatrixRows, gain_matrix, matrix_gain_ranges, matrix_gains, square_matrix
from .perturbation import Deviation, Perturbation
from .step_gains import SupportsAmplification, fastest_pair, fastest_rate, require_share


@dataclass(frozen=True)
class Linear(Perturbation):
    """ÿ + C ẏ + K y = 0 with matrices; without C it is ẏ′ + K y′ = 0, for constraints of order 1.

    Every entry is a gain, ``K_0_1`` for that of row 0 and column 1 (``K`` where there is one row). Entries may have any
    sign; stability is decided by the eigenvalues.

    Attributes:
        K: shape (m, m), m the number of rows of the constraint; a number for one row [1/s²], without C [1/s].
        C: shape (m, m) [1/s]; None for order 1.
        order: 0 with C, 1 without.

    Raises:
        ModelError: if a matrix is not square and finite, the two differ in size, or an eigenvalue of the equation has
            no negative real part.
    """

    K: MatrixEntries
    C: MatrixEntries | None = None
    order: int = field(init=False)

    def __post_init__(self) -> None:
        """Refuse matrices of different sizes, and unstable ones."""
        stiffness = square_matrix("K", self.K)
        object.__setattr__(self, "K", stiffness)
        object.__setattr__(self, "order", 1 if self.C is None else 0)
        if self.C is not None:
            damping = square_matrix("C", self.C)
            if len(damping) != len(stiffness):
                raise ModelError(f"K and C must have the same size, got {len(stiffness)} and {len(damping)} rows")
            object.__setattr__(self, "C", damping)
        self.stable_eigenvalues()

    @property
    def _matrices(self) -> dict[str, MatrixRows]:
        given = {"K": self.K} if self.C is None else {"K": self.K, "C": self.C}
        return {name: square_matrix(name, matrix) for name, matrix in given.items()}

    @property
    def gains(self) -> Mapping[str, float]:
        """The entries of K, then those of C, row by row."""
        return {key: value for name, rows in self._matrices.items() for key, value in matrix_gains(name, rows).items()}

    @property
    def ranges(self) -> Mapping[str, Range]:
        """Positive for one row, any for more."""
        return {
            key: value for name, rows in self._matrices.items() for key, value in matrix_gain_ranges(name, rows).items()
        }

    @property
    def required_rows(self) -> int:
        """m, the size of the matrices."""
        return len(self._matrices["K"])

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """ÿ = −C ẏ − K y, or ẏ′ = −K y′."""
        self.require_rows(deviation)
        m = self.required_rows
        pull = -gain_matrix("K", m, gains) @ deviation.value
        return pull if self.order == 1 else pull - gain_matrix("C", m, gains) @ deviation.rate

    @classmethod
    def for_step(
        cls, step: float, integrator: SupportsAmplification, *, rows: int = 1, order: int = 0, share: float = 1.0
    ) -> Self:
        """Return multiples of the unit matrix, with the gains of Baumgarte or of FirstOrder for this step.

        Coupling cannot make the slowest eigenvalue contract faster than this.

        Args:
            step: h [s].
            integrator: integrator with a fixed step, whose ``amplification`` the gains are chosen for.
            rows: m.
            order: 0 or 1.
            share: eigenvalues are multiplied by this, in (0, 1].

        Raises:
            ModelError: if the integrator chooses its own steps, or a number is out of range.
        """
        if rows < 1 or order not in (0, 1):
            raise ModelError(
                f"Linear must have at least one row and order 0 or 1, got rows={rows!r} and order={order!r}"
            )
        unit = np.eye(rows)
        if order == 1:
            return cls(require_share(share) * fastest_rate(step, integrator) * unit)
        value = require_share(share) * fastest_pair(step, integrator)
        return cls(abs(value) ** 2 * unit, -2.0 * value.real * unit)
