"""The abstract controller that is its symbolic law."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import all_finite, vector
from ..symbolic.errors import NotFiniteError, SingularProgramError
from ..symbolic.kernel import Kernel
from .controller import Controller, Law, Observation
from .status import Status, dependent_row, judge


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
            SingularProgramError: if the law's rows are dependent at this state; the message says which and by how much.
            NotFiniteError: if the output is not finite although they are not.
        """
        output, pivots = map(np.atleast_1d, self._tick(*self.arguments(t, q, v, p)))
        status = judge(all_finite(output), pivots, self.tolerance)
        if status is Status.SINGULAR:
            raise SingularProgramError(f"at t = {float(t):g}: {dependent_row(self.rows, pivots)} {status.sentence}")
        if status is not Status.OK:
            raise NotFiniteError(f"at t = {float(t):g}: {status.sentence}")
        return output

    def observe(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> Observation:
        """Output and pivots, for one who does not use the law; singular rows are shown by the pivots, not raised."""
        output, pivots, relative, active = map(np.atleast_1d, self._observed(*self.arguments(t, q, v, p)))
        return Observation(output, pivots, relative, active)

    def deviation(
        self,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Deviation of the law's rows."""
        numbers = vector("a", a, self.robot.coordinates.nv)
        return np.atleast_1d(self._deviation(*self.arguments(t, q, v, p), numbers)[0])

    @functools.cached_property
    def _law(self) -> Law:
        return self.build_law()

    @functools.cached_property
    def _tick(self) -> Kernel:
        law = self._law
        return Kernel("law_tick", self._symbols, {"output": law.output, "pivots": law.relative_pivots})

    @functools.cached_property
    def _observed(self) -> Kernel:
        law = self._law
        told = {"output": law.output, "pivots": law.pivots, "relative": law.relative_pivots, "active": law.active}
        return Kernel("law_observed", self._symbols, told)

    @functools.cached_property
    def _deviation(self) -> Kernel:
        symbols = {**self._symbols, "a": self.robot.coordinates.a}
        return Kernel("law_deviation", symbols, {"deviation": self._law.deviation}, compiled=False)

    @property
    def _symbols(self) -> dict[str, ca.SX]:
        robot = self.robot
        return {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols}
