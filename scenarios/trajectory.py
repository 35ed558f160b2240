"""The record of a simulated motion."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from .labels import Labels
from .mapped import evaluate_each
from .recorded import Shown

if TYPE_CHECKING:
    import pandas
    import xarray

Array = NDArray[np.float64]
SAMPLED = ("t", "q", "v", "u", "deviation", "energy", "pivots", "active", "status")
"""What is there for each sample."""


@dataclass(frozen=True, eq=False)
class Trajectory(Shown):
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
        plant: the plant; None for a motion that was loaded without it. :attr:`robot` is never None.
        controller: what drove it, or None.
        p: the plant's parameters, shape (np,).
        law_p: the controller's parameters.
        wall_time: time that the integration took, without building and compiling [s].
        ending: why it ended.
        metrics: what was reckoned along the motion, by name.
        named: names and units, for a motion that was loaded without its plant or its controller; otherwise theirs.
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
    plant: Robot | None = field(repr=False)
    controller: Controller | None = field(repr=False)
    p: Array = field(repr=False)
    law_p: Array = field(repr=False)
    wall_time: float = 0.0
    ending: str = "the duration is over"
    notes: tuple[tuple[float, str], ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    named: Labels | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in (*SAMPLED, "p", "law_p"):
            getattr(self, name).setflags(write=False)

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    @property
    def robot(self) -> Robot:
        """The plant; raises ModelError if the motion was loaded without it."""
        return require_plant(self.plant, self.labels)

    @functools.cached_property
    def labels(self) -> Labels:
        """Names and units of coordinates, velocities, inputs, rows and parameters."""
        return self.named or Labels.of(require_plant(self.plant, None), self.controller)

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the program's rows."""
        return self.labels.rows

    @property
    def input_labels(self) -> tuple[str, ...]:
        """Name and unit of each column of ``u``, for legends."""
        return self.labels.inputs.legend

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

    def to_xarray(self) -> xarray.Dataset:
        """All samples with the names and units of what they are of; needs the extra ``data``."""
        from .data_arrays import dataset

        return dataset(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A column for each number, over time; units are in ``attrs["units"]``. Needs the extra ``data``."""
        from .data_frames import frame

        return frame(self)

    @classmethod
    def load(cls, path: str | Path, *, robot: Robot | None = None, controller: Controller | None = None) -> Trajectory:
        """What :meth:`save` wrote; see :func:`~erugin.scenarios.load_motion`.

        Args:
            path: the file.
            robot: the plant that moved; without it the motion can be plotted and saved, but not evaluated or animated.
            controller: what drove it.

        Raises:
            MotionFileError: for a file that does not hold one motion of this kind, or a robot or controller that is
                not that of the file.
        """
        from .saved import load_as

        return load_as(cls, path, robot, controller)


def require_plant(plant: Robot | None, labels: Labels | None) -> Robot:
    """The plant, or ModelError if it is not known.

    Args:
        plant: of a motion.
        labels: that tell its name.
    """
    if plant is None:
        name = "" if labels is None else f" of {labels.robot!r}"
        raise ModelError(
            f"this motion{name} was loaded without its robot, which is needed to evaluate, draw or animate it: pass "
            "robot= when you load it"
        )
    return plant


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
    robot.require_own_symbols("the expression", expression, controller.parameters if controller else None)
    symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": robot.p}
    arguments = [t, q, v, p]
    if controller is not None:
        places, symbols["c"] = controller.parameters.beyond(robot.parameters)
        arguments.append(law_p[:, places])
    if len(t) == 0:
        lanes = np.zeros(0, dtype=np.intp)
    values = evaluate_each(Kernel("along", symbols, {"value": expression}, compiled=False), arguments, lanes)[0]
    return values[:, 0].copy() if expression.numel() == 1 else values
