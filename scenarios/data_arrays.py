"""Motions as xarray data sets: arrays over named dimensions."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..symbolic.extras import require
from .data_names import GROUPS, columns_of, joined, said, spread
from .labels import Columns, Labels
from .phased_trajectory import PhasedTrajectory
from .trajectories import Trajectories
from .trajectory import Trajectory

if TYPE_CHECKING:
    import xarray

DIMENSIONS = {"q": "coordinate", "v": "velocity", "u": "input", "deviation": "row", "pivots": "row", "active": "row"}
"""What the numbers of each group belong to."""


def dataset(motion: Trajectory) -> xarray.Dataset:
    """Arrays such as ``q(time, coordinate)``, ``u(time, input)``, ``deviation(time, row)`` and ``energy(time)``.

    The dimensions have the names as coordinates, and the units beside them, as in ``coordinate_unit``. Parameters are
    ``p(parameter)`` and ``law_p(law_parameter)``, metrics ``metrics(metric)``.

    Args:
        motion: any.

    Raises:
        MissingPackageError: without xarray.
    """
    arrays = {name: getattr(motion, name) for name in (*GROUPS, "energy", "status", "p", "law_p")}
    arrays["metrics"] = np.array(list(motion.metrics.values()), dtype=np.float64)
    columns = columns_of(motion.labels, {group: arrays[group].shape[1] for group in GROUPS})
    attributes = said(motion.labels, motion.ending, motion.wall_time)
    attributes["notes"] = json.dumps([list(note) for note in motion.notes])
    time = {"time": ("time", motion.t.copy(), {"units": "s"})}
    return _dataset(("time",), (), arrays, columns, motion.labels, tuple(motion.metrics), time, attributes)


def batch_dataset(motions: Trajectories) -> xarray.Dataset:
    """The same with ``lane`` in front: ``q(lane, sample, coordinate)``, …; times are ``t(lane, sample)``.

    ``count``, ``failure`` and ``ending`` tell of each lane. Beyond its end samples are NaN.

    Args:
        motions: any.

    Raises:
        MissingPackageError: without xarray.
    """
    arrays = {name: getattr(motions, name) for name in (*GROUPS, "energy", "status", "p", "law_p")}
    lanes = len(motions)
    arrays["metrics"] = np.stack([*motions.metrics.values()], axis=1) if motions.metrics else np.zeros((lanes, 0))
    columns = columns_of(motions.labels, {group: arrays[group].shape[2] for group in GROUPS})
    attributes = said(motions.labels, "", motions.wall_time)
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
    """The same as of a single motion, with the coordinates ``phase(time)``, a number, and ``phase_name(phase_number)``.

    What one phase has and another has not, such as the rows of its program, is NaN there, or False. At a switch
    there are two samples of one time. Parameters are those of the first segment that has them; metrics are left out.

    Args:
        motion: any with at least one segment.

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
    values = {"p": dict[str, float](), "law_p": dict[str, float]()}
    for segment in reversed(segments):
        values["p"] |= dict(zip(segment.labels.parameters, segment.p.tolist(), strict=True))
        values["law_p"] |= dict(zip(segment.labels.law_parameters, segment.law_p.tolist(), strict=True))
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
        law_parameters=tuple(values["law_p"]),
        energy_unit=segments[0].labels.energy_unit if segments else "J",
    )
    attributes = said(labels, motion.ending, sum(segment.wall_time for segment in segments))
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
    """What all kinds have in common."""
    xr = require("xarray", "data")
    variables: dict[str, Any] = {}
    places: dict[str, Any] = dict(coordinates)
    for group, shared in DIMENSIONS.items():
        # A law may tell pivots of rows that it has no names for.
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
        ("law_p", "law_parameter", labels.law_parameters),
        ("metrics", "metric", metrics),
    ):
        variables[name] = ((*lanes, dimension), arrays[name].copy())
        places[dimension] = (dimension, np.array(names, dtype=np.str_))
    made: xarray.Dataset = xr.Dataset(variables, coords=places, attrs=dict(attributes))
    return made
