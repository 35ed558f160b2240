"""Record of a batch of simulated motions."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, overload

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..robots.robot import Robot
from .labels import Labels
from .trajectory import SAMPLED, MotionRecord, Trajectory, require_plant, values_along

if TYPE_CHECKING:
    import pandas
    import xarray


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trajectories(MotionRecord):
    """Samples of the motions of a batch, one lane each; every array is read-only.

    Beyond the end of a lane its samples are NaN, ``status`` is that of its end, and ``active`` is False.

    Attributes:
        t: times, shape (batch, N) [s].
        q: coordinates, shape (batch, N, nq).
        v: velocities, shape (batch, N, nv).
        u: inputs, shape (batch, N, nu), or forces R, shape (batch, N, nv), of an ideal controller.
        deviation: deviations of the program's rows, shape (batch, N, m).
        energy: T + V, shape (batch, N) [J].
        pivots: relative pivots of the program's rows, shape (batch, N, m).
        active: True where a row of the program is on, shape (batch, N, m).
        status: a :class:`~erugin.controllers.Status` per sample, shape (batch, N).
        count: number of samples of each lane, shape (batch,).
        failure: a :class:`~erugin.controllers.Status` per lane for which it had to stop, shape (batch,); OK if it did
            not.
        endings: reason for which each lane ended, as a sentence.
        notes: for each lane, times at which a controller without a symbolic law changed its status, with its messages.
        metrics: metrics accumulated along the motions, by name, shape (batch,) each.
        plant: the plant; None for motions that were loaded without it. :attr:`robot` is never None.
        controller: the controller, or None.
        p: the plant's parameters, shape (batch, np).
        controller_p: the controller's parameters, shape (batch, number of them).
        wall_time: time that the integration of all lanes took, without building and compiling [s].
        named: names and units for motions loaded without their plant or controller; otherwise None.
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
    count: NDArray[np.int64]
    failure: NDArray[np.int64]
    endings: tuple[str, ...] = field(repr=False)
    notes: tuple[tuple[tuple[float, str], ...], ...] = field(repr=False)
    metrics: Mapping[str, Array]
    plant: Robot | None = field(repr=False)
    controller: Controller | None = field(repr=False)
    p: Array = field(repr=False)
    controller_p: Array = field(repr=False)
    wall_time: float = 0.0
    named: Labels | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in (*SAMPLED, "count", "failure", "p", "controller_p"):
            getattr(self, name).setflags(write=False)
        for value in self.metrics.values():
            value.setflags(write=False)
        object.__setattr__(self, "metrics", MappingProxyType(dict(self.metrics)))

    def __len__(self) -> int:
        """Number of lanes."""
        return len(self.t)

    def __iter__(self) -> Iterator[Trajectory]:
        """Iterate over the lanes."""
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, lane: int) -> Trajectory: ...

    @overload
    def __getitem__(self, lane: slice) -> tuple[Trajectory, ...]: ...

    def __getitem__(self, lane: int | slice) -> Trajectory | tuple[Trajectory, ...]:
        """Return one lane up to its end, or a tuple of lanes.

        Args:
            lane: index in the batch, or a slice.
        """
        if isinstance(lane, slice):
            return tuple(self[i] for i in range(*lane.indices(len(self))))
        i = range(len(self))[lane]
        n = int(self.count[i])
        # A copy, so that one lane does not keep the arrays of the whole batch alive.
        own = np.ascontiguousarray if len(self) == 1 else np.array
        return Trajectory(
            **{name: own(getattr(self, name)[i, :n]) for name in SAMPLED},
            plant=self.plant,
            controller=self.controller,
            p=self.p[i].copy(),
            controller_p=self.controller_p[i].copy(),
            wall_time=self.wall_time / len(self),
            ending=self.endings[i],
            notes=self.notes[i],
            metrics=MappingProxyType({name: float(values[i]) for name, values in self.metrics.items()}),
            named=self.named,
        )

    @property
    def robot(self) -> Robot:
        """The plant; raises ModelError if the motions were loaded without it."""
        return require_plant(self.plant, self.labels)

    @functools.cached_property
    def labels(self) -> Labels:
        """Names and units of coordinates, velocities, inputs, rows and parameters."""
        return self.named or Labels.of(require_plant(self.plant, None), self.controller)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """True for lanes in which every sample has status OK, shape (batch,)."""
        return np.asarray((self.status == Status.OK).all(axis=1) & (self.failure == Status.OK), dtype=np.bool_)

    @property
    def end_time(self) -> Array:
        """Time of each lane's last sample, shape (batch,) [s]; NaN for a lane without samples."""
        return self._last(self.t)

    @property
    def final_q(self) -> Array:
        """Coordinates of each lane's last sample, shape (batch, nq)."""
        return self._last(self.q)

    @property
    def final_v(self) -> Array:
        """Velocities of each lane's last sample, shape (batch, nv)."""
        return self._last(self.v)

    def ending(self, lane: int) -> str:
        """Return the reason for which a lane ended.

        Args:
            lane: index in the batch.
        """
        return self.endings[lane]

    def evaluate(self, expression: ca.SX) -> Array:
        """Return the values of an expression along the motions; NaN beyond the end of a lane.

        Args:
            expression: a scalar or column in the plant's symbols t, q, v, p and the controller's parameters.

        Returns:
            Shape (batch, N) for a scalar, (batch, N, k) for a column.

        Raises:
            ModelError: for a matrix, or a foreign symbol.
        """
        present = np.asarray(np.arange(self.t.shape[1]) < self.count[:, None], dtype=np.bool_)
        lanes = np.nonzero(present)[0]
        state = (self.t[present][:, None], self.q[present], self.v[present], self.p, self.controller_p)
        values = values_along(self.robot, self.controller, expression, *state, lanes)
        whole = np.full((*present.shape, *values.shape[1:]), np.nan)
        whole[present] = values
        return whole

    def to_xarray(self) -> xarray.Dataset:
        """Return all samples of all lanes with names and units; requires the extra ``data``."""
        from .storage.data_frames import batch_dataset

        return batch_dataset(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table over lane and time with a column for each number; units are in ``attrs["units"]``.

        Requires the extra ``data``.
        """
        from .storage.data_frames import batch_frame

        return batch_frame(self)

    @classmethod
    def load(
        cls, path: str | Path, *, robot: Robot | None = None, controller: Controller | None = None
    ) -> Trajectories:
        """Load motions written by :meth:`save`; see :func:`~erugin.simulation.load_motion`.

        Args:
            path: path of the file.
            robot: the plant that moved; without it the motions can be plotted and saved, but not evaluated.
            controller: the controller.

        Raises:
            MotionFileError: for a file that does not contain a batch, or a robot or controller that differs from that
                of the file.
        """
        from .storage.motion_file import load_as

        return load_as(cls, path, robot, controller)

    def _last(self, samples: Array) -> Array:
        # A lane without samples has NaN here, as everywhere beyond an end.
        return samples[np.arange(len(self)), np.maximum(self.count - 1, 0)]
