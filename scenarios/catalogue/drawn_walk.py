"""Pictures of a walk; what draws them, and matplotlib with it, is imported when the first is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..phased_trajectory import PhasedTrajectory
from ..setup import Draw
from .drawn_motion import flashes_of
from .walking import MARGIN, ROCK, Stance

PARTS = {"leg A": ("pole", "end1", "end2"), "leg B": ("end2", "end4", "tip"), "trunk": ("end2", "end3")}


def walk_pictures(stances: Sequence[Stance]) -> dict[str, Draw]:
    """Postures with the forces of the ground, plots over time, and an animation.

    Args:
        stances: one after the other.
    """

    def walk_picture(motion: PhasedTrajectory, target: Path) -> None:
        from ..plots.style import save
        from ..plots.walk import Step, walk

        steps = [Step(now.swing, now.force, now.pressure, (*now.rock, ROCK), MARGIN) for now in stances]
        save(walk(motion, steps[: len(motion.segments)], PARTS), target)

    every = flashes_of(9)
    return {"walk.png": walk_picture, "overview.png": every["overview.png"], "animation.gif": every["animation.gif"]}
