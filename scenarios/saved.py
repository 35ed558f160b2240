"""Motions in files: saved without loss and without pickles, and loaded again with or without their robots."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from ..controllers.controller import Controller
from ..robots.robot import Robot
from ..symbolic.errors import MotionFileError
from .phased_trajectory import PhasedTrajectory
from .saved_archive import read_archive, write_archive
from .saved_content import Content, Pieces
from .saved_kinds import batch_parts, phased_parts, read_batch, read_phased, read_single, single_parts
from .saved_owners import Owners
from .trajectories import Trajectories
from .trajectory import Trajectory

AnyMotion = Trajectory | Trajectories | PhasedTrajectory
M = TypeVar("M", Trajectory, Trajectories, PhasedTrajectory)
KINDS = {Trajectory: "trajectory", Trajectories: "trajectories", PhasedTrajectory: "phased trajectory"}


def save_motion(motion: AnyMotion, path: str | Path) -> None:
    """Write a motion into an NPZ file with a JSON header, without loss, whole or not at all.

    Everything is kept but robot and controller, whose names are. ``numpy.load`` reads the arrays, too.

    Args:
        motion: of any kind.
        path: the file, which should end in ``.npz``; one that is there is replaced.

    Raises:
        MotionFileError: if it cannot be written.
    """
    pieces = Pieces()
    if isinstance(motion, Trajectory):
        header = single_parts(motion, pieces)
    elif isinstance(motion, Trajectories):
        header = batch_parts(motion, pieces)
    elif isinstance(motion, PhasedTrajectory):
        header = phased_parts(motion, pieces)
    else:
        raise MotionFileError(f"a motion is a Trajectory, Trajectories or a PhasedTrajectory, got {motion!r:.80}")
    write_archive(Path(path), {"erugin": _version(), "kind": KINDS[type(motion)], "motion": header}, pieces.arrays)


def load_motion(
    path: str | Path,
    *,
    robot: Robot | Sequence[Robot] | None = None,
    controller: Controller | Sequence[Controller | None] | None = None,
) -> AnyMotion:
    """What a motion's ``save`` wrote, every number the same to the last bit.

    Without its robot a motion can be plotted, exported and saved again, but not evaluated or animated.

    Args:
        path: the file.
        robot: the plant that moved, built as it was then; for a motion in phases whose plants differ, one for each
            segment. Parameters have the values of the file.
        controller: what drove it, or for a motion in phases one for each segment.

    Returns:
        A Trajectory, Trajectories, or a PhasedTrajectory.

    Raises:
        MotionFileError: for a file that is not one of a motion, is damaged, or was written by a newer version; for a
            robot or controller whose names or numbers are not those of the file.
    """
    place = Path(path)
    header, arrays = read_archive(place)
    content = Content(str(place), header, arrays)
    kind, owners = content.text("kind"), Owners.of(content, robot, controller)
    motion: AnyMotion
    if kind == KINDS[Trajectory]:
        motion = read_single(content.part("motion"), owners.only())
    elif kind == KINDS[Trajectories]:
        motion = read_batch(content.part("motion"), owners.only())
    elif kind == KINDS[PhasedTrajectory]:
        motion = read_phased(content.part("motion"), owners)
    else:
        raise content.wrong(f"it holds a motion of the unknown kind {kind!r}")
    content.require_all_taken()
    return motion


def load_as(
    kind: type[M],
    path: str | Path,
    robot: Robot | Sequence[Robot] | None,
    controller: Controller | Sequence[Controller | None] | None,
) -> M:
    """:func:`load_motion` for one kind of motion.

    Args:
        kind: Trajectory, Trajectories or PhasedTrajectory.
        path: the file.
        robot: the plant that moved.
        controller: what drove it.

    Raises:
        MotionFileError: if the file holds another kind.
    """
    motion = load_motion(path, robot=robot, controller=controller)
    if not isinstance(motion, kind):
        raise MotionFileError(
            f"{path}: this is a {type(motion).__name__}, not a {kind.__name__}: load_motion(path) loads any of them"
        )
    return motion


def _version() -> str:
    try:
        return importlib.metadata.version("erugin")
    except importlib.metadata.PackageNotFoundError:
        # From a folder of sources that was never installed.
        return ""
