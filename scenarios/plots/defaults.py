"""Pictures of any motion, for scenarios that have none of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..phased_trajectory import PhasedTrajectory
from .motion import animation, motion_picture
from .motion_places import Motion
from .overview import overview_picture


def default_pictures(motion: Motion) -> Mapping[str, Callable[[Any, Path], None]]:
    """File name → what draws a motion into it: plots over time, and the robot, still and moving, if it is known.

    Args:
        motion: that is to be drawn; its robot decides what can be.
    """
    segments = motion.segments if isinstance(motion, PhasedTrajectory) else (motion,)
    pictures: dict[str, Callable[[Any, Path], None]] = {"overview.png": overview_picture}
    if segments and all(segment.plant is not None for segment in segments):
        pictures |= {"motion.png": motion_picture, "animation.gif": animation}
    return pictures
