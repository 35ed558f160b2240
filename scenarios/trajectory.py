"""The record of a simulated motion."""

from __future__ import annotations

from collections.abc import Mapping
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
from .mapped import evaluate_each

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


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
        metrics: what was reckoned along the motion, by name.
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
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])

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
        state = (self.t[:, None], self.q, self.v, self.p[None], self.law_p[None])
        return values_along(self.robot, self.controller, expression, *state)

    def plot(self) -> Figure:
        """Coordinates, inputs and deviations over time, in one figure."""
        from .plots.overview import overview

        return overview(self)


def values_along(
    robot: Robot,
    controller: Controller | None,
    expression: ca.SX,
    t: Array,
    q: Array,
    v: Array,
    p: Array,
    law_p: Array,
    lanes: NDArray[np.intp] | None = None,
) -> Array:
    """Values of an expression at n samples.

    Args:
        robot: the plant.
        controller: what drove it, or None.
        expression: a scalar or column in the plant's symbols t, q, v, p and the controller's parameters.
        t: times, shape (n, 1) [s].
        q: coordinates, shape (n, nq).
        v: velocities, shape (n, nv).
        p: the plant's parameters, shape (1, np), or (number of lanes, np).
        law_p: the controller's parameters, likewise.
        lanes: lane of each sample, shape (n,), if parameters differ between lanes.

    Returns:
        Shape (n,) for a scalar, (n, k) for a column.

    Raises:
        ModelError: for a matrix, or a foreign symbol.
    """
    if expression.size2() != 1:
        raise ModelError(f"only a scalar or a column can be evaluated along a motion, got shape {expression.shape}")
    symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": robot.p}
    arguments = [t, q, v, p]
    if controller is not None:
        places, symbols["c"] = controller.parameters.beyond(robot.parameters)
        arguments.append(law_p[:, places])
    if len(t) == 0:
        lanes = np.zeros(0, dtype=np.intp)
    values = evaluate_each(Kernel("along", symbols, {"value": expression}, compiled=False), arguments, lanes)[0]
    return values[:, 0].copy() if expression.numel() == 1 else values
