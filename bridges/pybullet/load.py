"""Conversion of a URDF file, as PyBullet would read it, to a robot."""

from __future__ import annotations

import os
from typing import Literal

from ...robots import load_urdf
from ...robots.robot import Robot


def load(
    source: str | os.PathLike[str], *, base: Literal["fixed", "floating"] = "fixed", gravity: float = 9.81
) -> Robot:
    """Build a robot from a URDF file; :func:`~erugin.robots.load_urdf` has more options.

    PyBullet does not expose the joints of a body well enough to read a model back from a world; :func:`match` checks
    that the body it loads from the same file is the same robot.

    Args:
        source: path of the file.
        base: ``"fixed"`` as for ``loadURDF(useFixedBase=True)``, or ``"floating"``.
        gravity: g along −z [m/s²].

    Raises:
        UrdfError: if no robot can be built from the file.
    """
    return load_urdf(source, base=base, gravity=gravity)
