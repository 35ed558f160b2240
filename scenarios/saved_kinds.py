"""What files hold of each kind of motion."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from .phased_trajectory import PhasedTrajectory
from .saved_content import Content, Pieces, labels_header, read_labels
from .saved_jumps import impact_parts, jump_parts, read_impact, read_jump
from .saved_owners import Owner, Owners
from .trajectories import Trajectories
from .trajectory import SAMPLED, Trajectory

OF = {"active": np.bool_, "status": np.int64}
"""Types of what is not a float."""


def single_parts(motion: Trajectory, pieces: Pieces) -> dict[str, object]:
    """Header of a single motion.

    Args:
        motion: that is saved.
        pieces: to which its arrays are added.
    """
    for name in (*SAMPLED, "p", "law_p"):
        pieces.add(name, getattr(motion, name))
    pieces.add("wall_time", motion.wall_time)
    pieces.add("metrics", list(motion.metrics.values()))
    pieces.add("note_times", [t for t, _ in motion.notes])
    return {
        **labels_header(motion.labels),
        "ending": motion.ending,
        "notes": [said for _, said in motion.notes],
        "metrics": list(motion.metrics),
    }


def read_single(content: Content, owner: Owner) -> Trajectory:
    """A single motion.

    Args:
        content: that :func:`single_parts` made.
        owner: who moved.
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
        law_p=content.array("law_p", (len(labels.law_parameters),)),
        wall_time=content.number("wall_time"),
        ending=content.text("ending"),
        notes=tuple(zip(content.array("note_times", (len(notes),)).tolist(), notes, strict=True)),
        metrics=MappingProxyType(dict(zip(metrics, content.array("metrics", (len(metrics),)).tolist(), strict=True))),
        named=owner.labels(labels),
    )
    owner.require_energy(content, (motion.t, motion.q, motion.v, motion.energy), motion.p)
    return motion


def batch_parts(motions: Trajectories, pieces: Pieces) -> dict[str, object]:
    """Header of motions side by side.

    Args:
        motions: that are saved.
        pieces: to which their arrays are added.
    """
    for name in (*SAMPLED, "p", "law_p", "count", "failure"):
        pieces.add(name, getattr(motions, name))
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


def read_batch(content: Content, owner: Owner) -> Trajectories:
    """Motions side by side.

    Args:
        content: that :func:`batch_parts` made.
        owner: who moved.
    """
    labels = read_labels(content)
    owner.require(content, labels)
    shape, sizes = content.array("t", (None, None)).shape, _sizes(content)
    lanes = shape[0]
    said = [part.texts("said") for part in content.parts("notes") if part is not None]
    times = iter(content.array("note_times", (sum(map(len, said)),)).tolist())
    count, endings = content.array("count", (lanes,), np.int64), content.texts("endings")
    if len(said) != lanes or len(endings) != lanes or (count < 0).any() or (count > shape[1]).any():
        raise content.wrong(f"notes, endings and counts are not those of {lanes} lanes of {shape[1]} samples")
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
        law_p=content.array("law_p", (lanes, len(labels.law_parameters))),
        wall_time=content.number("wall_time"),
        named=owner.labels(labels),
    )
    if lanes:
        of = (motions.t[0], motions.q[0], motions.v[0], motions.energy[0])
        owner.require_energy(content, of, motions.p[0])
    return motions


def phased_parts(motion: PhasedTrajectory, pieces: Pieces) -> dict[str, object]:
    """Header of a motion in phases.

    Args:
        motion: that is saved.
        pieces: to which its arrays are added.
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


def read_phased(content: Content, owners: Owners) -> PhasedTrajectory:
    """A motion in phases.

    Args:
        content: that :func:`phased_parts` made.
        owners: who moved.
    """
    parts = content.parts("segments")
    segments = tuple(
        read_single(part, owner) for part, owner in zip(parts, owners.each(len(parts)), strict=True) if part is not None
    )
    names = content.texts("names")
    if len(segments) != len(parts) or len(names) != len(parts):
        raise content.wrong(f"{len(parts)} segments are said to have the names {names}")
    return PhasedTrajectory(
        segments=segments,
        names=names,
        jumps=tuple(None if part is None else read_jump(part) for part in content.parts("jumps")),
        ending=content.text("ending"),
        impacts=tuple(None if part is None else read_impact(part) for part in content.parts("impacts")),
        events=content.texts_or_none("events"),
        accumulation=content.number("accumulation") if content.whole("accumulates") else None,
    )


def _sizes(content: Content) -> dict[str, tuple[int | None, ...]]:
    """Of one sample of each array; None for those of the program's rows, which a law need not name."""
    labels = read_labels(content)
    sizes: dict[str, tuple[int | None, ...]] = dict.fromkeys(SAMPLED, ())
    sizes |= {"q": (len(labels.coordinates),), "v": (len(labels.velocities),), "u": (len(labels.inputs),)}
    return sizes | dict.fromkeys(("deviation", "pivots", "active"), (None,))
