"""Features of the MuJoCo that runs the tests; what it cannot do is refused or reported by name."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import mujoco
import pytest

from erugin.bridges.mujoco.versions import (
    CENTRIPETAL_CONNECT,
    DIAGEXACT,
    FLOATING_RK4,
    MJCF_FEATURES,
    SITE_EQUALITIES,
    TENDON_ARMATURE,
    Feature,
    version_numbers,
)

__all__ = [
    "BOUNDED",
    "CENTRIPETAL_CONNECT",
    "DIAGEXACT",
    "GROUPS",
    "LIFTED",
    "TENDON_ARMATURE",
    "FLOATING_RK4",
    "SEVERAL",
    "SITE_EQUALITIES",
    "SPRING_FLAG",
]
__all__ += ["TOLD", "has", "needs"]

GROUPS, LIFTED = MJCF_FEATURES["actuatorgroupdisable"], MJCF_FEATURES["actuatorgravcomp"]
BOUNDED, SEVERAL, SPRING_FLAG = (
    MJCF_FEATURES["actuatorfrclimited"],
    MJCF_FEATURES["orientation"],
    MJCF_FEATURES["spring"],
)

TOLD = pytest.mark.filterwarnings(r"ignore:.*MuJoCo 3\.\d+\.\d+ has no :erugin.symbolic.errors.BridgeWarning")
"""For tests that do not depend on what an older MuJoCo lacks; a current one emits no such warning."""


def has(version: str) -> bool:
    """True if this MuJoCo is such a version or a later one."""
    return version_numbers(mujoco.__version__) >= version_numbers(version)


@contextmanager
def needs(feature: Feature | None) -> Generator[None]:
    """For a test, or a part of one, that goes through with versions that have a feature, and is refused with others.

    It is refused in our words, or, where MuJoCo itself reads the file, in its own.

    Args:
        feature: that is needed; None for none.
    """
    if feature is None or not feature.missing:
        yield
        return
    own = "|".join(word for word, other in MJCF_FEATURES.items() if other == feature) or None
    with pytest.raises(ValueError, match=f"{re.escape(feature.missing)}|unrecognized [^']*'({own})'"):
        yield
