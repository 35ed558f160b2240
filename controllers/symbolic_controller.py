"""The abstract controller that is its symbolic law."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.errors import NotFiniteError
from ..symbolic.kernel import Kernel
from .controller import Controller, Law
from .status import Status


class SymbolicController(Controller):
    """A controller without memory, written down as expressions; a simulation with it runs as one compiled kernel."""

    @abstractmethod
    def build_law(self) -> Law:
        """The law in the symbols of ``robot`` and ``parameters``; asked for once."""

    @property
    def law(self) -> Law:
        """The law as expressions."""
        return self._law

    def control(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """The output at one tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape; NotFiniteInputError, which is one, for a number that is not finite.
            NotFiniteError: if the output is not finite.
        """
        output = np.atleast_1d(self._tick(*self.arguments(t, q, v, p))[0])
        if not np.isfinite(output).all():
            raise NotFiniteError(f"at t = {float(t):g}: {Status.NOT_FINITE.sentence}")
        return output

    @functools.cached_property
    def _law(self) -> Law:
        return self.build_law()

    @functools.cached_property
    def _tick(self) -> Kernel:
        robot = self.robot
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols}
        return Kernel("law_tick", symbols, {"output": self._law.output})
