"""Quadratic forms ½ zᵀA z of the velocities, and the cost of their operations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import EruginError, ShapeError
from ...symbolic.validation import vector
from .operation_count import OperationCount

Array = NDArray[np.float64]
ASYMMETRY = 1e-9
"""Largest difference of A and Aᵀ, relative to the largest entry of A."""


class NotPositiveDefiniteError(EruginError, RuntimeError):
    """The kinetic energy is not a positive definite form of the velocities, so no maximum exists."""


class QuadraticForm(ABC):
    """½ zᵀA z with a symmetric A of shape (size, size), as a matrix or as the product z ↦ A z alone."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of velocities n."""

    @abstractmethod
    def product(self, z: Array) -> Array:
        """Return A z, shape (n,).

        Args:
            z: velocities, shape (n,).
        """

    @property
    @abstractmethod
    def product_cost(self) -> OperationCount:
        """Operations of one product."""

    @property
    def product_setup(self) -> OperationCount:
        """Operations before the first product, for terms that depend on the position alone."""
        return OperationCount()

    @abstractmethod
    def matrix(self) -> Array:
        """Return A, shape (n, n)."""

    @property
    @abstractmethod
    def matrix_cost(self) -> OperationCount:
        """Operations of the whole matrix."""


class FactoredForm(QuadraticForm):
    """A form that provides a factorization, which uses its structure."""

    @abstractmethod
    def eliminate(self, right: Array) -> Array:
        """Return z with A z = right, shape (n,).

        Args:
            right: right side, shape (n,).

        Raises:
            NotPositiveDefiniteError: if A is not positive definite.
        """

    @property
    @abstractmethod
    def eliminate_cost(self) -> OperationCount:
        """Operations of factorization and solution together."""


@dataclass(frozen=True, eq=False)
class DenseForm(QuadraticForm):
    """A form given by its matrix.

    Attributes:
        values: A, shape (n, n), symmetric.

    Raises:
        ShapeError: if A is not square, finite and symmetric.
    """

    values: Array

    def __post_init__(self) -> None:
        """Check and freeze the matrix."""
        A = np.array(self.values, dtype=np.float64)
        if A.ndim != 2 or A.shape[0] != A.shape[1] or A.size == 0:
            raise ShapeError(f"the matrix of a quadratic form must be square, got shape {A.shape}")
        if not np.isfinite(A).all():
            raise ShapeError("the matrix of a quadratic form must be finite")
        skew = np.abs(A - A.T).max()
        if skew > ASYMMETRY * np.abs(A).max():
            raise ShapeError(f"the matrix of a quadratic form must be symmetric, but |A − Aᵀ| reaches {skew:.3g}")
        A.setflags(write=False)
        object.__setattr__(self, "values", A)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.values)

    def product(self, z: Array) -> Array:
        """Return A z, by all n² entries."""
        return np.asarray(self.values @ z, dtype=np.float64)

    @property
    def product_cost(self) -> OperationCount:
        """Operations of a full matrix product, n² multiplications."""
        return OperationCount.of_matrix_product(self.size)

    def matrix(self) -> Array:
        """Return the given matrix."""
        return self.values

    @property
    def matrix_cost(self) -> OperationCount:
        """No operations."""
        return OperationCount()


@dataclass(frozen=True, eq=False)
class ProductForm(QuadraticForm):
    """A form given by a function z ↦ A z and its cost.

    Attributes:
        length: number of velocities n.
        function: function that returns A z for z of shape (n,).
        cost: operations of one call.
    """

    length: int
    function: Callable[[Array], Array]
    cost: OperationCount

    @property
    def size(self) -> int:
        """Number of velocities n."""
        return self.length

    def product(self, z: Array) -> Array:
        """Return A z, by one call."""
        return vector("the product A z", self.function(z), self.length)

    @property
    def product_cost(self) -> OperationCount:
        """Operations of one call."""
        return self.cost

    def matrix(self) -> Array:
        """Return A, column by column, from n products."""
        return np.column_stack([self.product(unit) for unit in np.eye(self.length)])

    @property
    def matrix_cost(self) -> OperationCount:
        """Operations of n products."""
        return self.length * self.cost
