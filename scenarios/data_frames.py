"""Motions as pandas data frames: a column for each number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..symbolic.extras import require
from .data_names import GROUPS, columns_of, said
from .phased_trajectory import PhasedTrajectory
from .trajectories import Trajectories
from .trajectory import Trajectory

if TYPE_CHECKING:
    import pandas


def frame(motion: Trajectory) -> pandas.DataFrame:
    """Columns such as ``q.theta1``, ``v.theta1``, ``u.M1``, ``deviation.path``, ``energy`` and ``status`` over ``t``.

    ``attrs`` hold the units by column, the parameters by name, the metrics, and robot, controller and ending.

    Args:
        motion: any.

    Raises:
        MissingPackageError: without pandas.
    """
    pd = require("pandas", "data")
    columns, units = _columns(motion)
    made: pandas.DataFrame = pd.DataFrame(columns, index=pd.Index(motion.t.copy(), name="t"))
    labels = motion.labels
    made.attrs = {
        **said(labels, motion.ending, motion.wall_time),
        "units": {"t": "s", **units},
        "parameters": dict(zip(labels.parameters, motion.p.tolist(), strict=True)),
        "law_parameters": dict(zip(labels.law_parameters, motion.law_p.tolist(), strict=True)),
        "metrics": dict(motion.metrics),
        "notes": [list(note) for note in motion.notes],
    }
    return made


def batch_frame(motions: Trajectories) -> pandas.DataFrame:
    """The same for each lane up to its end, one below the other, over ``lane`` and ``t``.

    Args:
        motions: any.

    Raises:
        MissingPackageError: without pandas.
    """
    pd = require("pandas", "data")
    kept = np.asarray(np.arange(motions.t.shape[1]) < motions.count[:, None], dtype=np.bool_)
    flat = {name: getattr(motions, name)[kept] for name in (*GROUPS, "energy", "status")}
    sizes = {group: flat[group].shape[1] for group in GROUPS}
    columns, units = _named(motions, flat, sizes)
    index = pd.MultiIndex.from_arrays([np.nonzero(kept)[0], motions.t[kept]], names=["lane", "t"])
    made: pandas.DataFrame = pd.DataFrame(columns, index=index)
    labels = motions.labels
    made.attrs = {
        **said(labels, motions.endings, motions.wall_time),
        "units": {"t": "s", **units},
        "parameters": {name: motions.p[:, i].tolist() for i, name in enumerate(labels.parameters)},
        "law_parameters": {name: motions.law_p[:, i].tolist() for i, name in enumerate(labels.law_parameters)},
        "metrics": {name: values.tolist() for name, values in motions.metrics.items()},
        "notes": [[list(note) for note in notes] for notes in motions.notes],
    }
    return made


def phased_frame(motion: PhasedTrajectory) -> pandas.DataFrame:
    """The same for each segment, one below the other, with the number of the ``phase`` in front.

    What one phase has and another has not, such as the rows of its program, is NaN there, or False.

    Args:
        motion: any with at least one segment.

    Raises:
        MissingPackageError: without pandas.
    """
    pd = require("pandas", "data")
    parts = [_columns(segment) for segment in motion.segments]
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


def _columns(motion: Trajectory) -> tuple[dict[str, Any], dict[str, str]]:
    """Columns and units by name."""
    arrays = {name: getattr(motion, name) for name in (*GROUPS, "energy", "status")}
    return _named(motion, arrays, {group: arrays[group].shape[1] for group in GROUPS})


def _named(
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
