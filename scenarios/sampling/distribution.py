"""The abstract distribution of one number: its quantile function."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Distribution(ABC):
    """How one number varies.

    A sample is the quantile of a number in (0, 1), so that random numbers, Latin hypercubes and Sobol points serve
    every distribution alike, and equal numbers give equal samples whatever else is varied.
    """

    @abstractmethod
    def quantile(self, share: Array) -> Array:
        """The values below which these shares of all values lie.

        Args:
            share: in (0, 1), any shape.
        """

    @property
    def is_relative(self) -> bool:
        """Whether :meth:`around` needs the nominal value."""
        return False

    def around(self, nominal: float, share: Array) -> Array:
        """The same for what has a nominal value, which only relative distributions look at.

        Args:
            nominal: value without variation, in the unit of the number.
            share: in (0, 1), any shape.
        """
        return self.quantile(share)
