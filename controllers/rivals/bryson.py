"""Bryson's rule: quadratic weights from what deviations and inputs are allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import positive
from ...symbolic.errors import ModelError, unknown_name
from ..linearization import Linearization, LinearizedMotion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Weights:
    """Q = diag(1/e²) and R = diag(1/f²), so that each allowance costs the same when it is used up, [BrysonHo1975]_.

    Attributes:
        errors: allowed deviation of coordinates and velocities by name [their units]; of those that are not named,
            ``otherwise``.
        efforts: allowed change of inputs by name [their units]; of those that are not named, ``effort``.
        otherwise: allowed deviation where none is given.
        effort: allowed change of an input where none is given.

    Raises:
        ModelError: for an allowance that is not greater than zero.
    """

    errors: Mapping[str, float] = field(default_factory=dict[str, float])
    efforts: Mapping[str, float] = field(default_factory=dict[str, float])
    otherwise: float = 1.0
    effort: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers and freeze the mappings."""
        for name in ("errors", "efforts"):
            if not isinstance(getattr(self, name), Mapping):
                raise ModelError(
                    f"{name} are allowances by name, such as {{'q1': 0.1}}, got {getattr(self, name)!r}; one number "
                    "for all goes into otherwise= or effort="
                )
            values = {key: positive(f"allowance of {key!r}", value) for key, value in getattr(self, name).items()}
            object.__setattr__(self, name, MappingProxyType(values))
        object.__setattr__(self, "otherwise", positive("otherwise", self.otherwise))
        object.__setattr__(self, "effort", positive("effort", self.effort))

    @staticmethod
    def require(weights: object) -> Weights:
        """The argument, if it is Weights.

        Args:
            weights: what was given as such.

        Raises:
            ModelError: if it is something else.
        """
        if not isinstance(weights, Weights):
            raise ModelError(f"weights must be Weights of what deviations and inputs are allowed, got {weights!r}")
        return weights

    def of(self, line: Linearization | LinearizedMotion) -> tuple[Array, Array]:
        """Q, shape (n, n), of the states of a linearization and R, shape (nu, nu).

        Dependent coordinates do not count: name the independent ones.

        Args:
            line: with the names of its states and inputs.

        Raises:
            ModelError: for a name that is not among them.
        """
        return (
            _diagonal("state", self.errors, self.otherwise, line.states),
            _diagonal("input", self.efforts, self.effort, line.inputs),
        )


def _diagonal(kind: str, given: Mapping[str, float], otherwise: float, names: tuple[str, ...]) -> Array:
    for name in given:
        if name not in names:
            raise ModelError(unknown_name(kind, name, names))
    return np.diag([given.get(name, otherwise) ** -2.0 for name in names])
