"""Motions as pandas data frames, with a column for each number, and as xarray data sets over named dimensions."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...symbolic.optional_dependencies import import_optional
from ..labels import Columns, Labels
from ..phased_trajectory import PhasedTrajectory
from ..trajectories import Trajectories
from ..trajectory import Trajectory

if TYPE_CHECKING:
    import pandas
    import xarray


GROUPS = ("q", "v", "u", "deviation", "pivots", "active")
"""Quantities with several values per sample."""


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, with a number added to repeated ones: ``"name 2"``.

    Args:
        names: the names in order.
    """
    found: list[str] = []
    for name in names:
        new, number = name, 2
        while new in found:
            new, number = f"{name} {number}", number + 1
        found.append(new)
    return tuple(found)


def columns_of(labels: Labels, sizes: Mapping[str, int]) -> dict[str, Columns]:
    """Return unique names and units of each group of values.

    Args:
        labels: labels of a motion.
        sizes: number of values per sample in each group; a law without row names has more than there are names.
    """
    named = {"q": labels.coordinates, "v": labels.velocities, "u": labels.inputs}
    for group in GROUPS[3:]:
        size = sizes[group]
        rows = labels.rows if len(labels.rows) == size else tuple(f"row {i + 1}" for i in range(size))
        named[group] = Columns(rows, ("",) * size)
    return {group: Columns(unique(columns.names), columns.units) for group, columns in named.items()}


def joined(parts: Sequence[Columns]) -> Columns:
    """Return all distinct names, with the unit of the first occurrence.

    Args:
        parts: columns of the segments.
    """
    units: dict[str, str] = {}
    for part in parts:
        for name, unit in part:
            units.setdefault(name, unit)
    return Columns(tuple(units), tuple(units.values()))


def spread(values: NDArray[np.generic], own: Columns, every: Columns) -> NDArray[np.generic]:
    """Return columns inserted among others; missing ones are NaN or False.

    Args:
        values: shape (N, own columns).
        own: names of these columns.
        every: names of all columns.
    """
    empty = False if values.dtype == np.bool_ else np.nan
    whole = np.full((len(values), len(every)), empty, dtype=values.dtype)
    whole[:, [every.names.index(name) for name in own.names]] = values
    return whole


def motion_attributes(labels: Labels, ending: str | Sequence[str], wall_time: float) -> dict[Hashable, Any]:
    """Return the attributes of a motion.

    Args:
        labels: labels of the motion.
        ending: reason for which it ended; for a batch, one per lane.
        wall_time: wall-clock time of the simulation [s].
    """
    endings = ending if isinstance(ending, str) else list(ending)
    return {"robot": labels.robot, "controller": labels.controller, "ending": endings, "wall_time": wall_time}


DIMENSIONS = {"q": "coordinate", "v": "velocity", "u": "input", "deviation": "row", "pivots": "row", "active": "row"}
"""Dimension along which the values of each group lie."""


def dataset(motion: Trajectory) -> xarray.Dataset:
    """Return arrays such as ``q(time, coordinate)``, ``u(time, input)``, ``deviation(time, row)`` and ``energy(time)``.

    The dimensions have names as coordinates, and units beside them, as in ``coordinate_unit``. Parameters are
    ``p(parameter)`` and ``controller_p(law_parameter)``, metrics ``metrics(metric)``.

    Args:
        motion: the motion.

    Raises:
        MissingPackageError: without xarray.
    """
    arrays = {name: getattr(motion, name) for name in (*GROUPS, "energy", "status", "p", "controller_p")}
    arrays["metrics"] = np.array(list(motion.metrics.values()), dtype=np.float64)
    columns = columns_of(motion.labels, {group: arrays[group].shape[1] for group in GROUPS})
    attributes = motion_attributes(motion.labels, motion.ending, motion.wall_time)
    attributes["notes"] = json.dumps([list(note) for note in motion.notes])
    time = {"time": ("time", motion.t.copy(), {"units": "s"})}
    return _dataset(("time",), (), arrays, columns, motion.labels, tuple(motion.metrics), time, attributes)


def batch_dataset(motions: Trajectories) -> xarray.Dataset:
    """Return the same with ``lane`` as first dimension: ``q(lane, sample, coordinate)``, …; times: ``t(lane, sample)``.

    ``count``, ``failure`` and ``ending`` describe each lane. Beyond its end samples are NaN.

    Args:
        motions: the motions.

    Raises:
        MissingPackageError: without xarray.
    """
    arrays = {name: getattr(motions, name) for name in (*GROUPS, "energy", "status", "p", "controller_p")}
    lanes = len(motions)
    arrays["metrics"] = np.stack([*motions.metrics.values()], axis=1) if motions.metrics else np.zeros((lanes, 0))
    columns = columns_of(motions.labels, {group: arrays[group].shape[2] for group in GROUPS})
    attributes = motion_attributes(motions.labels, "", motions.wall_time)
    del attributes["ending"]
    attributes["notes"] = json.dumps([[list(note) for note in notes] for notes in motions.notes])
    coordinates: dict[str, tuple[Any, ...]] = {
        "lane": ("lane", np.arange(lanes), {}),
        "t": (("lane", "sample"), motions.t.copy(), {"units": "s"}),
        "count": ("lane", motions.count.copy(), {}),
        "failure": ("lane", motions.failure.copy(), {}),
        "ending": ("lane", np.array(motions.endings, dtype=np.str_), {}),
    }
    names = tuple(motions.metrics)
    return _dataset(("lane", "sample"), ("lane",), arrays, columns, motions.labels, names, coordinates, attributes)


def phased_dataset(motion: PhasedTrajectory) -> xarray.Dataset:
    """Return the same as for a single motion, with ``phase(time)``, an index, and ``phase_name(phase_number)``.

    Quantities that some phases lack, such as the rows of another program, are NaN there, or False. At a switch there
    are two samples of the same time. Parameters are those of the first segment that has them; metrics are omitted.

    Args:
        motion: the motion, with at least one segment.

    Raises:
        MissingPackageError: without xarray.
    """
    segments = motion.segments
    own = [columns_of(s.labels, {group: getattr(s, group).shape[1] for group in GROUPS}) for s in segments]
    columns = {group: joined([part[group] for part in own]) for group in GROUPS}
    arrays: dict[str, Any] = {
        group: np.concatenate(
            [
                np.zeros((0, len(columns[group])), dtype=np.bool_ if group == "active" else np.float64),
                *(
                    spread(getattr(s, group), part[group], columns[group])
                    for s, part in zip(segments, own, strict=True)
                ),
            ]
        )
        for group in GROUPS
    }
    arrays["energy"] = motion.energy
    arrays["status"] = np.concatenate([np.zeros(0, dtype=np.int64), *(s.status for s in segments)])
    values = {"p": dict[str, float](), "controller_p": dict[str, float]()}
    for segment in reversed(segments):
        values["p"] |= dict(zip(segment.labels.parameters, segment.p.tolist(), strict=True))
        names = segment.labels.controller_parameters
        values["controller_p"] |= dict(zip(names, segment.controller_p.tolist(), strict=True))
    arrays |= {name: np.array(list(numbers.values()), dtype=np.float64) for name, numbers in values.items()}
    arrays["metrics"] = np.zeros(0)
    labels = Labels(
        robot=segments[0].labels.robot if segments else "",
        controller=", ".join(s.labels.controller for s in segments),
        coordinates=columns["q"],
        velocities=columns["v"],
        inputs=columns["u"],
        rows=columns["deviation"].names,
        parameters=tuple(values["p"]),
        controller_parameters=tuple(values["controller_p"]),
        energy_unit=segments[0].labels.energy_unit if segments else "J",
    )
    attributes = motion_attributes(labels, motion.ending, sum(segment.wall_time for segment in segments))
    attributes["notes"] = json.dumps([list(note) for segment in segments for note in segment.notes])
    coordinates: dict[str, tuple[Any, ...]] = {
        "time": ("time", motion.t, {"units": "s"}),
        "phase": ("time", motion.phase.astype(np.int64), {}),
        "phase_name": ("phase_number", np.array(motion.names, dtype=np.str_), {}),
    }
    return _dataset(("time",), (), arrays, columns, labels, (), coordinates, attributes)


def _dataset(
    samples: tuple[str, ...],
    lanes: tuple[str, ...],
    arrays: Mapping[str, Any],
    columns: Mapping[str, Columns],
    labels: Labels,
    metrics: tuple[str, ...],
    coordinates: Mapping[str, tuple[Any, ...]],
    attributes: Mapping[Hashable, Any],
) -> xarray.Dataset:
    """Build a data set of any kind."""
    xr = import_optional("xarray", "data")
    variables: dict[str, Any] = {}
    places: dict[str, Any] = dict(coordinates)
    for group, shared in DIMENSIONS.items():
        # A law may have pivots of rows without names.
        apart = shared == "row" and columns[group] != columns["deviation"]
        dimension = f"{group}_row" if apart else shared
        variables[group] = ((*samples, dimension), arrays[group].copy())
        places[dimension] = (dimension, np.array(columns[group].names, dtype=np.str_))
        if group in ("q", "v", "u"):
            places[f"{dimension}_unit"] = (dimension, np.array(columns[group].units, dtype=np.str_))
    variables["energy"] = (samples, arrays["energy"].copy(), {"units": labels.energy_unit})
    variables["status"] = (samples, arrays["status"].copy())
    for name, dimension, names in (
        ("p", "parameter", labels.parameters),
        ("controller_p", "law_parameter", labels.controller_parameters),
        ("metrics", "metric", metrics),
    ):
        variables[name] = ((*lanes, dimension), arrays[name].copy())
        places[dimension] = (dimension, np.array(names, dtype=np.str_))
    made: xarray.Dataset = xr.Dataset(variables, coords=places, attrs=dict(attributes))
    return made


def frame(motion: Trajectory) -> pandas.DataFrame:
    """Return columns such as ``q.theta1``, ``v.theta1``, ``u.M1``, ``deviation.path`` and ``energy`` over ``t``.

    ``attrs`` contains the units by column, the parameters by name, the metrics, and robot, controller and ending.

    Args:
        motion: the motion.

    Raises:
        MissingPackageError: without pandas.
    """
    pd = import_optional("pandas", "data")
    columns, units = _frame_columns(motion)
    made: pandas.DataFrame = pd.DataFrame(columns, index=pd.Index(motion.t.copy(), name="t"))
    labels = motion.labels
    made.attrs = {
        **motion_attributes(labels, motion.ending, motion.wall_time),
        "units": {"t": "s", **units},
        "parameters": dict(zip(labels.parameters, motion.p.tolist(), strict=True)),
        "law_parameters": dict(zip(labels.controller_parameters, motion.controller_p.tolist(), strict=True)),
        "metrics": dict(motion.metrics),
        "notes": [list(note) for note in motion.notes],
    }
    return made


def batch_frame(motions: Trajectories) -> pandas.DataFrame:
    """Return the same for each lane up to its end, stacked over ``lane`` and ``t``.

    Args:
        motions: the motions.

    Raises:
        MissingPackageError: without pandas.
    """
    pd = import_optional("pandas", "data")
    kept = np.asarray(np.arange(motions.t.shape[1]) < motions.count[:, None], dtype=np.bool_)
    flat = {name: getattr(motions, name)[kept] for name in (*GROUPS, "energy", "status")}
    sizes = {group: flat[group].shape[1] for group in GROUPS}
    columns, units = _named_columns(motions, flat, sizes)
    index = pd.MultiIndex.from_arrays([np.nonzero(kept)[0], motions.t[kept]], names=["lane", "t"])
    made: pandas.DataFrame = pd.DataFrame(columns, index=index)
    labels = motions.labels
    made.attrs = {
        **motion_attributes(labels, motions.endings, motions.wall_time),
        "units": {"t": "s", **units},
        "parameters": {name: motions.p[:, i].tolist() for i, name in enumerate(labels.parameters)},
        "law_parameters": {
            name: motions.controller_p[:, i].tolist() for i, name in enumerate(labels.controller_parameters)
        },
        "metrics": {name: values.tolist() for name, values in motions.metrics.items()},
        "notes": [[list(note) for note in notes] for notes in motions.notes],
    }
    return made


def phased_frame(motion: PhasedTrajectory) -> pandas.DataFrame:
    """Return the same for each segment, stacked, with the index of the ``phase`` as first column.

    Quantities that some phases lack, such as the rows of another program, are NaN there, or False.

    Args:
        motion: the motion, with at least one segment.

    Raises:
        MissingPackageError: without pandas.
    """
    pd = import_optional("pandas", "data")
    parts = [_frame_columns(segment) for segment in motion.segments]
    columns: dict[str, Any] = {"phase": motion.phase}
    units: dict[str, str] = {"phase": ""}
    for made, own in parts:
        for name in made:
            units.setdefault(name, own[name])
    for name in list(units)[1:]:
        values = [
            made.get(name, np.full(len(segment), False if name.startswith("active.") else np.nan))
            for (made, _), segment in zip(parts, motion.segments, strict=True)
        ]
        columns[name] = np.concatenate(values)
    whole: pandas.DataFrame = pd.DataFrame(columns, index=pd.Index(motion.t, name="t"))
    whole.attrs = {
        "units": {"t": "s", **units},
        "phases": list(motion.names),
        "ending": motion.ending,
        "segments": [dict(frame(segment).attrs) for segment in motion.segments],
    }
    return whole


def _frame_columns(motion: Trajectory) -> tuple[dict[str, Any], dict[str, str]]:
    """Columns and units by name."""
    arrays = {name: getattr(motion, name) for name in (*GROUPS, "energy", "status")}
    return _named_columns(motion, arrays, {group: arrays[group].shape[1] for group in GROUPS})


def _named_columns(
    motion: Trajectory | Trajectories, arrays: dict[str, Any], sizes: dict[str, int]
) -> tuple[dict[str, Any], dict[str, str]]:
    columns: dict[str, Any] = {}
    units: dict[str, str] = {}
    for group, named in columns_of(motion.labels, sizes).items():
        for i, (name, unit) in enumerate(named):
            columns[f"{group}.{name}"] = arrays[group][:, i].copy()
            units[f"{group}.{name}"] = unit
    columns |= {"energy": arrays["energy"].copy(), "status": arrays["status"].copy()}
    return columns, units | {"energy": motion.labels.energy_unit, "status": ""}
