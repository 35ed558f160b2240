"""A filter that changes what any control law asks for as little as barriers need."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.arrays import positive
from ...symbolic.errors import ModelError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters, Range
from ..controller import Controller, Observation
from ..limits import ConicSolver, QpSolver
from ..status import Status
from ..wrappers.wrapper import Wrapper
from .barrier import Barrier
from .barrier_rows import barrier_rows, least_change, require_reached
from .gains import RATE

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None

ROUNDING = 1e-6
"""A barrier counts as kept down to minus this, in its own unit."""


@dataclass(frozen=True, eq=False)
class _Filtered:
    output: Array
    message: str


class CbfFilter(Wrapper[None]):
    """min ½ (u − u₀)ᵀ W (u − u₀) subject to G u + c ≥ 0, the control barrier conditions [Ames2019]_, [Xiao2019]_.

    u₀ is what the nominal law asks for. A barrier h of the position is kept by ḧ + 2 γ ḣ + γ² h ≥ 0, one with
    velocities in it by ḣ + γ h ≥ 0; time derivatives of moving obstacles are in it. Started with h ≥ 0 and
    ḣ + γ h ≥ 0, the exact plant keeps h ≥ 0. W = Bᵀ M̂ B is Gauss's metric: the accelerations are changed least, and a
    barrier acts like a force along its gradient. Where all conditions hold, u₀ itself is handed on.

    With bounds on inputs, or barriers that contradict each other, there may be no such u. Then the least-violating one
    is applied and the status is LIMITED, with the barriers and by how much; so it is while a barrier is broken, or
    approached too fast for the promise above. The filter is never left out.

    Swirls of the barriers add to u₀ what takes the motion along the boundary, see :meth:`Barrier.outside`.

    Attributes:
        barriers: m of them.
    """

    def __init__(
        self,
        controller: Controller,
        barriers: Barrier | Sequence[Barrier],
        *,
        rate: float = RATE,
        bounded: bool = True,
        solver: QpSolver | None = None,
        name: str = "cbf",
    ) -> None:
        """Build the filter.

        Args:
            controller: the nominal law, whose outputs are inputs or forces.
            barriers: one or more, of different names.
            rate: γ, both poles of the barriers' equation at −γ [1/s]; parameter ``name.rate``.
            bounded: whether the robot's limits of effort are kept too, where outputs are inputs.
            solver: of quadratic programmes; one that comes with CasADi if not given.
            name: prefix of the parameter.

        Raises:
            ModelError: for no law, no barriers, ones of one name, ones that no input changes, or a rate that is not
                positive.
        """
        super().__init__(controller)
        self.barriers = (barriers,) if isinstance(barriers, Barrier) else tuple(barriers)
        for barrier in self.barriers:
            if not isinstance(barrier, Barrier):
                raise ModelError(
                    f"a filter keeps Barriers, such as Barrier.outside(robot, point, shape), got {barrier!r}"
                )
        if not isinstance(solver, QpSolver | None):
            raise ModelError(f"solver must be a QpSolver, such as ConicSolver(), got {solver!r}")
        names = [barrier.name for barrier in self.barriers]
        if not names or len(set(names)) != len(names):
            raise ModelError(f"a filter needs barriers of different names, got {names}")
        own = Parameters.declare({"rate": positive(f"rate of {name!r}", rate)}, name, ranges={"rate": Range.POSITIVE})
        # The nominal law's own come first: its p is the beginning of this one's.
        own = Parameters.collect([*(barrier.parameters for barrier in self.barriers), own])
        self.parameters = Parameters.collect([controller.parameters, self.robot.parameters, own])
        robot, gamma = self.robot, own[f"{name}.rate"]
        drives = ca.SX.eye(robot.coordinates.nv) if self.applies_force else robot.input_matrix
        self._rows = barrier_rows(robot, drives, self.barriers, gamma)
        require_reached(robot, self._rows["gain"], self.barriers, gamma)
        effort = np.full(self.size, np.inf) if self.applies_force or not bounded else robot.limits.effort
        self._lower, self._upper = -effort, effort
        self._solver = solver or ConicSolver()
        self._swirls = any(barrier.swirl is not None for barrier in self.barriers)
        self.reset()

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Let the nominal law take in the sample."""
        self.recall()
        time, x, w, numbers = self.arguments(t, q, v, p)
        try:
            self.inner.advance(time, x, w, self._nominals(numbers))
        finally:
            self.remember(None)

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """The filtered output.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape; NotFiniteInputError, which is one, for a number that is not finite.
            NotFiniteError: if a barrier or the nominal output is not finite.
            NotConvergedError: if the solver fails.
            EruginError: what the nominal law raises.
        """
        arguments = self.arguments(t, q, v, p)
        self.recall()
        nominal = self.inner.control(*arguments[:3], self._nominals(arguments[3]))
        return self._filter(arguments, nominal).output

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """The filtered output and what the nominal law tells; the status is LIMITED while a barrier cannot be kept."""
        arguments = self.arguments(t, q, v, p)
        self.recall()
        told = self.inner.observe(*arguments[:3], self._nominals(arguments[3]))
        if not np.isfinite(told.output).all():
            return told
        found = self._filter(arguments, told.output)
        if not found.message:
            return replace(told, output=found.output)
        status = told.status if told.status is Status.HELD else Status.LIMITED
        message = " ".join(filter(None, (found.message, told.message)))
        return replace(told, output=found.output, status=status, message=message)

    def deviation(self, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike, p: Values = None) -> Array:
        """Of the nominal law."""
        return super().deviation(t, q, v, a, self._nominals(self.arguments(t, q, v, p)[3]))

    def verdict(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> tuple[Status, str]:
        """Of the nominal law."""
        return super().verdict(t, q, v, self._nominals(self.arguments(t, q, v, p)[3]))

    def values(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """h of each barrier, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return np.atleast_1d(self._kernel(*self.arguments(t, q, v, p))[4])

    def _nominals(self, p: Array) -> Array:
        return p[: len(self.inner.parameters)]

    def _filter(self, arguments: tuple[float, Array, Array, Array], nominal: Array) -> _Filtered:
        m, n = len(self.barriers), self.size
        gain, rest, metric, swirl, value, guarantee, size = self._kernel(*arguments)
        gain, metric, swirl = gain.reshape(m, n), metric.reshape(n, n), swirl.reshape(n, m)
        rest, value, guarantee, size = map(np.atleast_1d, (rest, value, guarantee, size))
        if not all(np.isfinite(x).all() for x in (gain, rest, metric, nominal)):
            raise NotFiniteError(
                f"at t = {arguments[0]:g}: a barrier, its derivatives or the nominal output are not finite. "
                f"{Status.NOT_FINITE.sentence}"
            )
        said = [
            f"barrier {barrier.name!r} is {f'broken: {h:.3g}' if h < -ROUNDING else f'approached too fast: {g:.3g}'}"
            for barrier, h, g in zip(self.barriers, value, guarantee, strict=True)
            if h < -ROUNDING or g < -ROUNDING
        ]
        inside = bool(((nominal >= self._lower) & (nominal <= self._upper)).all())
        if inside and bool((gain @ nominal + rest >= 0.0).all()):
            return _Filtered(nominal, _sentence(said))
        names = [barrier.name for barrier in self.barriers]
        solve = functools.partial(least_change, self._solver, gain, metric=metric, size=size, names=names)
        wanted = nominal
        found = solve(-(gain @ wanted + rest), lower=self._lower - wanted, upper=self._upper - wanted)
        if self._swirls and found.push.any():
            wanted = nominal + np.linalg.lstsq(metric, swirl @ found.push, rcond=1e-10)[0]
            found = solve(-(gain @ wanted + rest), lower=self._lower - wanted, upper=self._upper - wanted)
        output = np.clip(wanted + found.change, self._lower, self._upper)
        for name, missing in zip(names, found.missing, strict=True):
            if missing > ROUNDING:
                said.append(f"barrier {name!r} cannot be kept: its condition is missed by {missing:.3g}")
        for name, u, u0, most in zip(self.outputs, output, nominal, self._upper, strict=True):
            if abs(u) >= most and abs(u0) > most:
                said.append(f"{name} is limited to {u:.3g} in place of {u0:.3g}")
        return _Filtered(output, _sentence(said))

    @functools.cached_property
    def _kernel(self) -> Kernel:
        robot = self.robot
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols}
        return Kernel("barriers", symbols, self._rows)


def _sentence(said: list[str]) -> str:
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if said else ""
