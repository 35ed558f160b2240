"""The record of a simulated motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
BLOCK = 1000
"""Samples that are evaluated in one call."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Samples of a motion; every array is read-only.

    Attributes:
        t: times, shape (N,) [s].
        q: coordinates, shape (N, nq).
        v: velocities, shape (N, nv).
        u: inputs, shape (N, nu), or forces R, shape (N, nv), of an ideal controller; shape (N, 0) without control.
        deviation: of the program's rows, shape (N, m); shape (N, 0) if the controller tells of none.
        energy: T + V, shape (N,) [J].
        pivots: relative pivots of the program's rows, shape (N, m): zero where a row depends on the ones before it.
        active: whether each of the program's rows is on, shape (N, m).
        status: a :class:`~erugin.controllers.Status` per sample, shape (N,).
        notes: times at which a controller without a symbolic law changed its status, and what it said then.
        robot: the plant.
        controller: what drove it, or None.
        p: the plant's parameters, shape (np,).
        law_p: the controller's parameters.
        wall_time: time that the integration took, without building and compiling [s].
        ending: why it ended.
    """

    t: Array
    q: Array
    v: Array
    u: Array
    deviation: Array
    energy: Array
    pivots: Array
    active: NDArray[np.bool_]
    status: NDArray[np.int64]
    robot: Robot = field(repr=False)
    controller: Controller | None = field(repr=False)
    p: Array = field(repr=False)
    law_p: Array = field(repr=False)
    wall_time: float = 0.0
    ending: str = "the duration is over"
    notes: tuple[tuple[float, str], ...] = ()

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in ("t", "q", "v", "u", "deviation", "energy", "pivots", "active", "status", "p", "law_p"):
            getattr(self, name).setflags(write=False)

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the program's rows."""
        return () if self.controller is None else self.controller.rows

    @property
    def input_labels(self) -> tuple[str, ...]:
        """Name and unit of each column of ``u``, for legends."""
        if self.controller is not None and self.controller.applies_force:
            return tuple(f"R ({name})" for name in self.robot.coordinates.names)
        pairs = zip(self.robot.input_names, self.robot.input_units, strict=True)
        return tuple(f"{name} [{unit}]" if unit else name for name, unit in pairs)

    @property
    def ok(self) -> bool:
        """Whether every sample has status OK."""
        return bool((self.status == Status.OK).all())

    def evaluate(self, expression: ca.SX) -> Array:
        """Values of an expression along the motion.

        Args:
            expression: a scalar or column in the plant's symbols t, q, v, p and the controller's parameters.

        Returns:
            Shape (N,) for a scalar, (N, k) for a column.

        Raises:
            ModelError: for a matrix, or a foreign symbol.
        """
        if expression.size2() != 1:
            raise ModelError(f"only a scalar or a column can be evaluated along a motion, got shape {expression.shape}")
        symbols = {"t": self.robot.t, "q": self.robot.q, "v": self.robot.v, "p": self.robot.p}
        arguments: list[Array] = [self.t, self.q, self.v, self.p]
        if self.controller is not None:
            places, symbols["c"] = self.controller.parameters.beyond(self.robot.parameters)
            arguments.append(self.law_p[places])
        kernel = Kernel("along", symbols, {"value": expression}, compiled=False)
        # In blocks, because CasADi's loops take longer per sample the longer they are.
        n, size = len(self), min(len(self), BLOCK)
        room = [
            np.zeros((a.shape[-1] if a.ndim == 2 or i >= 3 else 1, size), order="F") for i, a in enumerate(arguments)
        ]
        block, values = np.zeros((expression.numel(), size), order="F"), np.zeros((n, expression.numel()))
        run = kernel.loop(size, 0, room, [block]) if n else lambda: None
        for first in range(0, n, size or 1):
            count = min(size, n - first)
            for i, (column, a) in enumerate(zip(room, arguments, strict=True)):
                column[:, :count] = a[:, None] if i >= 3 else np.atleast_2d(a[first : first + count].T)
            run()
            values[first : first + count] = block[:, :count].T
        return values[:, 0].copy() if expression.numel() == 1 else values

    def plot(self) -> Figure:
        """Coordinates, inputs and deviations over time, in one figure."""
        from .plots.overview import overview

        return overview(self)
