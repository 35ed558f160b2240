"""Motion files: motions saved without loss and without pickles, loaded with or without their robots."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from ...controllers.controller import Controller
from ...controllers.program.consistent_velocity import ConsistentVelocity
from ...robots.contact.impact import Impact
from ...robots.robot import Robot
from ...symbolic.errors import MotionFileError
from ..phased_trajectory import PhasedTrajectory
from ..trajectories import Trajectories
from ..trajectory import SAMPLED, Trajectory
from .file_format import ArrayCollector, FileContent, labels_header, read_archive, read_labels, write_archive
from .model_match import ModelMatch, ModelMatches


def jump_parts(jump: ConsistentVelocity, pieces: ArrayCollector) -> dict[str, object]:
    """Return the header of consistent velocities.

    Args:
        jump: the velocities to save.
        pieces: collector of the arrays.
    """
    for name in ("velocity", "change", "impulses", "reactions", "energy_before", "energy_after", "residual"):
        pieces.add(name, getattr(jump, name))
    return {"rank": jump.rank, "message": jump.message}


def read_jump(content: FileContent) -> ConsistentVelocity:
    """Read consistent velocities.

    Args:
        content: content written by :func:`jump_parts`.
    """
    velocity = content.array("velocity", (None,))
    return ConsistentVelocity(
        velocity=velocity,
        change=content.array("change", velocity.shape),
        impulses=content.array("impulses", (None,)),
        reactions=content.array("reactions", (None,)),
        energy_before=content.number("energy_before"),
        energy_after=content.number("energy_after"),
        residual=content.number("residual"),
        rank=content.whole("rank"),
        message=content.text("message"),
    )


def impact_parts(impact: Impact, pieces: ArrayCollector) -> dict[str, object]:
    """Return the header of an impact.

    Args:
        impact: the impact to save.
        pieces: collector of the arrays.
    """
    for name in ("velocity", "impulses", "energy_before", "energy_after"):
        pieces.add(name, getattr(impact, name))
    pieces.add("friction", list(impact.friction.values()))
    for i, impulses in enumerate(impact.by_constraint.values()):
        pieces.add(f"by_constraint/{i}", impulses)
    return {"rank": impact.rank, "friction": list(impact.friction), "by_constraint": list(impact.by_constraint)}


def read_impact(content: FileContent) -> Impact:
    """Read an impact.

    Args:
        content: content written by :func:`impact_parts`.
    """
    friction, constraints = content.texts("friction"), content.texts("by_constraint")
    return Impact(
        velocity=content.array("velocity", (None,)),
        impulses=content.array("impulses", (None,)),
        by_constraint={name: content.array(f"by_constraint/{i}", (None,)) for i, name in enumerate(constraints)},
        energy_before=content.number("energy_before"),
        energy_after=content.number("energy_after"),
        friction=dict(zip(friction, content.array("friction", (len(friction),)).tolist(), strict=True)),
        rank=content.whole("rank"),
    )


CONTROLLER_P = "law_p"
"""Name of the array in files, since the first version of the format."""
OF = {"active": np.bool_, "status": np.int64}
"""Types of arrays that are not float."""


def single_parts(motion: Trajectory, pieces: ArrayCollector) -> dict[str, object]:
    """Return the header of a single motion.

    Args:
        motion: the motion to save.
        pieces: collector of the arrays.
    """
    for name in (*SAMPLED, "p"):
        pieces.add(name, getattr(motion, name))
    pieces.add(CONTROLLER_P, motion.controller_p)
    pieces.add("wall_time", motion.wall_time)
    pieces.add("metrics", list(motion.metrics.values()))
    pieces.add("note_times", [t for t, _ in motion.notes])
    return {
        **labels_header(motion.labels),
        "ending": motion.ending,
        "notes": [said for _, said in motion.notes],
        "metrics": list(motion.metrics),
    }


def read_single(content: FileContent, owner: ModelMatch) -> Trajectory:
    """Read a single motion.

    Args:
        content: content written by :func:`single_parts`.
        owner: robot and controller.
    """
    labels = read_labels(content)
    owner.require(content, labels)
    n, sizes = len(content.array("t", (None,))), _sizes(content)
    notes, metrics = content.texts("notes"), content.texts("metrics")
    motion = Trajectory(
        **{name: content.array(name, (n, *sizes[name]), OF.get(name, np.float64)) for name in SAMPLED},
        plant=owner.robot,
        controller=owner.controller,
        p=content.array("p", (len(labels.parameters),)),
        controller_p=content.array(CONTROLLER_P, (len(labels.controller_parameters),)),
        wall_time=content.number("wall_time"),
        ending=content.text("ending"),
        notes=tuple(zip(content.array("note_times", (len(notes),)).tolist(), notes, strict=True)),
        metrics=MappingProxyType(dict(zip(metrics, content.array("metrics", (len(metrics),)).tolist(), strict=True))),
        named=owner.labels(labels),
    )
    owner.require_energy(content, (motion.t, motion.q, motion.v, motion.energy), motion.p)
    return motion


def batch_parts(motions: Trajectories, pieces: ArrayCollector) -> dict[str, object]:
    """Return the header of a batch of motions.

    Args:
        motions: the motions to save.
        pieces: collector of the arrays.
    """
    for name in (*SAMPLED, "p", "count", "failure"):
        pieces.add(name, getattr(motions, name))
    pieces.add(CONTROLLER_P, motions.controller_p)
    pieces.add("wall_time", motions.wall_time)
    pieces.add("note_times", [t for notes in motions.notes for t, _ in notes])
    for i, values in enumerate(motions.metrics.values()):
        pieces.add(f"metrics/{i}", values)
    return {
        **labels_header(motions.labels),
        "endings": list(motions.endings),
        "notes": [{"said": [said for _, said in notes]} for notes in motions.notes],
        "metrics": list(motions.metrics),
    }


def read_batch(content: FileContent, owner: ModelMatch) -> Trajectories:
    """Read a batch of motions.

    Args:
        content: content written by :func:`batch_parts`.
        owner: robot and controller.
    """
    labels = read_labels(content)
    owner.require(content, labels)
    shape, sizes = content.array("t", (None, None)).shape, _sizes(content)
    lanes = shape[0]
    said = [part.texts("said") for part in content.parts("notes") if part is not None]
    times = iter(content.array("note_times", (sum(map(len, said)),)).tolist())
    count, endings = content.array("count", (lanes,), np.int64), content.texts("endings")
    if len(said) != lanes or len(endings) != lanes or (count < 0).any() or (count > shape[1]).any():
        raise content.error(f"notes, endings and counts do not fit {lanes} lanes of {shape[1]} samples")
    motions = Trajectories(
        **{name: content.array(name, (*shape, *sizes[name]), OF.get(name, np.float64)) for name in SAMPLED},
        count=count,
        failure=content.array("failure", (lanes,), np.int64),
        endings=endings,
        notes=tuple(tuple((next(times), text) for text in notes) for notes in said),
        metrics={name: content.array(f"metrics/{i}", (lanes,)) for i, name in enumerate(content.texts("metrics"))},
        plant=owner.robot,
        controller=owner.controller,
        p=content.array("p", (lanes, len(labels.parameters))),
        controller_p=content.array(CONTROLLER_P, (lanes, len(labels.controller_parameters))),
        wall_time=content.number("wall_time"),
        named=owner.labels(labels),
    )
    if lanes:
        of = (motions.t[0], motions.q[0], motions.v[0], motions.energy[0])
        owner.require_energy(content, of, motions.p[0])
    return motions


def phased_parts(motion: PhasedTrajectory, pieces: ArrayCollector) -> dict[str, object]:
    """Return the header of a motion in phases.

    Args:
        motion: the motion to save.
        pieces: collector of the arrays.
    """
    if motion.accumulation is not None:
        pieces.add("accumulation", motion.accumulation)
    return {
        "segments": [single_parts(segment, pieces.part(f"segments/{i}")) for i, segment in enumerate(motion.segments)],
        "names": list(motion.names),
        "ending": motion.ending,
        "events": list(motion.events),
        "accumulates": int(motion.accumulation is not None),
        "jumps": [
            None if jump is None else jump_parts(jump, pieces.part(f"jumps/{i}")) for i, jump in enumerate(motion.jumps)
        ],
        "impacts": [
            None if impact is None else impact_parts(impact, pieces.part(f"impacts/{i}"))
            for i, impact in enumerate(motion.impacts)
        ],
    }


def read_phased(content: FileContent, owners: ModelMatches) -> PhasedTrajectory:
    """Read a motion in phases.

    Args:
        content: content written by :func:`phased_parts`.
        owners: robots and controllers.
    """
    parts = content.parts("segments")
    segments = tuple(
        read_single(part, owner) for part, owner in zip(parts, owners.each(len(parts)), strict=True) if part is not None
    )
    names = content.texts("names")
    if len(segments) != len(parts) or len(names) != len(parts):
        raise content.error(f"{len(parts)} segments have the names {names}")
    return PhasedTrajectory(
        segments=segments,
        names=names,
        jumps=tuple(None if part is None else read_jump(part) for part in content.parts("jumps")),
        ending=content.text("ending"),
        impacts=tuple(None if part is None else read_impact(part) for part in content.parts("impacts")),
        events=content.texts_or_none("events"),
        accumulation=content.number("accumulation") if content.whole("accumulates") else None,
    )


def _sizes(content: FileContent) -> dict[str, tuple[int | None, ...]]:
    """Shapes of one sample of each array; None for the program's rows, which a law need not name."""
    labels = read_labels(content)
    sizes: dict[str, tuple[int | None, ...]] = dict.fromkeys(SAMPLED, ())
    sizes |= {"q": (len(labels.coordinates),), "v": (len(labels.velocities),), "u": (len(labels.inputs),)}
    return sizes | dict.fromkeys(("deviation", "pivots", "active"), (None,))


AnyMotion = Trajectory | Trajectories | PhasedTrajectory
M = TypeVar("M", Trajectory, Trajectories, PhasedTrajectory)
KINDS = {Trajectory: "trajectory", Trajectories: "trajectories", PhasedTrajectory: "phased trajectory"}


def save_motion(motion: AnyMotion, path: str | Path) -> None:
    """Write a motion to an NPZ file with a JSON header, without loss and atomically.

    Everything is saved but robot and controller, of which only names are. ``numpy.load`` reads the arrays, too.

    Args:
        motion: the motion.
        path: path of the file, which should end in ``.npz``; an existing file is replaced.

    Raises:
        MotionFileError: if the file cannot be written.
    """
    pieces = ArrayCollector()
    if isinstance(motion, Trajectory):
        header = single_parts(motion, pieces)
    elif isinstance(motion, Trajectories):
        header = batch_parts(motion, pieces)
    elif isinstance(motion, PhasedTrajectory):
        header = phased_parts(motion, pieces)
    else:
        raise MotionFileError(f"motion must be a Trajectory, Trajectories or PhasedTrajectory, got {motion!r:.80}")
    write_archive(Path(path), {"erugin": _version(), "kind": KINDS[type(motion)], "motion": header}, pieces.arrays)


def load_motion(
    path: str | Path,
    *,
    robot: Robot | Sequence[Robot] | None = None,
    controller: Controller | Sequence[Controller | None] | None = None,
) -> AnyMotion:
    """Load a motion written by its ``save``; every number is the same to the last bit.

    Without its robot a motion can be plotted, exported and saved again, but not evaluated or animated.

    Args:
        path: path of the file.
        robot: the plant that moved, built as it was then; for a motion in phases whose plants differ, one for each
            segment. Parameters take the values of the file.
        controller: the controller, or for a motion in phases one for each segment.

    Returns:
        A Trajectory, Trajectories, or a PhasedTrajectory.

    Raises:
        MotionFileError: for a file that is not a motion file, is damaged, or was written by a newer version; for a
            robot or controller whose names or numbers differ from those of the file.
    """
    place = Path(path)
    header, arrays = read_archive(place)
    content = FileContent(str(place), header, arrays)
    kind, owners = content.text("kind"), ModelMatches.of(content, robot, controller)
    motion: AnyMotion
    if kind == KINDS[Trajectory]:
        motion = read_single(content.part("motion"), owners.only())
    elif kind == KINDS[Trajectories]:
        motion = read_batch(content.part("motion"), owners.only())
    elif kind == KINDS[PhasedTrajectory]:
        motion = read_phased(content.part("motion"), owners)
    else:
        raise content.error(f"it contains a motion of the unknown kind {kind!r}")
    content.require_all_read()
    return motion


def load_as(
    kind: type[M],
    path: str | Path,
    robot: Robot | Sequence[Robot] | None,
    controller: Controller | Sequence[Controller | None] | None,
) -> M:
    """Load a motion of one kind by :func:`load_motion`.

    Args:
        kind: Trajectory, Trajectories or PhasedTrajectory.
        path: path of the file.
        robot: the plant that moved.
        controller: the controller.

    Raises:
        MotionFileError: if the file contains another kind.
    """
    motion = load_motion(path, robot=robot, controller=controller)
    if not isinstance(motion, kind):
        raise MotionFileError(
            f"{path}: this is a {type(motion).__name__}, not a {kind.__name__}: load_motion(path) loads any kind"
        )
    return motion


def _version() -> str:
    try:
        return importlib.metadata.version("erugin")
    except importlib.metadata.PackageNotFoundError:
        # Running from a source folder that was never installed.
        return ""
