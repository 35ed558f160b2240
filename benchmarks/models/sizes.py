"""Numbers of the robots that every side builds, and states at which all of them are compared."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[2]
GRAVITY = 9.81
ALPHA = BETA = 10.0
"""Of Baumgarte's equation ÿ + 2α ẏ + β² y = 0 for every constraint, of every side that has it [1/s]."""


class LinkSizes(NamedTuple):
    """Length [m], mass [kg], distance of the centre of mass [m], inertia about it [kg m²]."""

    length: float
    mass: float
    center: float
    inertia: float


CHAIN = LinkSizes(0.5, 1.0, 0.25, 0.02)
"""Each link of the planar chain."""

LINKAGE = (LinkSizes(1.0, 1.0, 0.5, 0.1), LinkSizes(2.0, 2.0, 1.0, 0.7), LinkSizes(2.0, 2.0, 1.0, 0.7))
GROUND = 2.0
"""Crank, coupler and rocker of the four-bar linkage, and the distance of its pivots [m]."""


class RodSizes(NamedTuple):
    """Mass at the far end [kg], its inertia [kg m²], stiffness [N/m], length at rest [m]."""

    mass: float
    inertia: float
    stiffness: float
    rest: float


ROD = RodSizes(1.5, 0.03, 2000.0, 0.4)
"""Each link of the exoskeleton: a hinge and a slide, all of its mass at the end, as a body on that slide."""

TOOL = "panda_hand_tcp"
HOME = np.array([0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7])


class State(NamedTuple):
    """Coordinates and velocities."""

    q: Array
    v: Array


def chain_state(n: int) -> State:
    """A bent chain that moves."""
    rng = np.random.default_rng(n)
    return State(rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n))


def arm_state() -> State:
    """The arm near its home."""
    rng = np.random.default_rng(7)
    return State(HOME + rng.uniform(-0.3, 0.3, 7), rng.uniform(-1.0, 1.0, 7))


def rods_state(n: int) -> State:
    """Absolute angles, then lengths."""
    rng = np.random.default_rng(11)
    angles, lengths = rng.uniform(-1.0, 1.0, n), ROD.rest * rng.uniform(0.8, 1.2, n)
    return State(np.concatenate([angles, lengths]), rng.uniform(-1.0, 1.0, 2 * n))


@functools.cache
def arm_text() -> str:
    """The Panda of ``example-robot-data`` as URDF, fingers fixed, without friction, which the other libraries lack."""
    if str(ROOT) not in sys.path:
        # The tests, which know where the robots are, stand beside this folder.
        sys.path.insert(0, str(ROOT))
    urdf: Any = importlib.import_module("tests.support.urdf")
    text = urdf.real_robots()["panda"].read_text(encoding="utf-8")
    finger = r'(<joint name="panda_finger_joint\d" type=")prismatic(">.*?)<axis.*?</joint>'
    held = re.sub(finger, r"\1fixed\2</joint>", text, flags=re.DOTALL)
    return re.sub(r"<dynamics[^>]*/>", "", held)
