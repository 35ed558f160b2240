"""What the MuJoCo that runs the tests can do; what it cannot is refused, or told, by name."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import mujoco
import pytest

from erugin.bridges.mujoco.features import CENTRIPETAL, EXACT, ROTORS, ROUND, SITES, WORDS, Feature
from erugin.bridges.mujoco.versions import numbers

__all__ = ["BOUNDED", "CENTRIPETAL", "EXACT", "GROUPS", "LIFTED", "ROTORS", "ROUND", "SEVERAL", "SITES", "SPRING_FLAG"]
__all__ += ["TOLD", "has", "needs"]

GROUPS, LIFTED = WORDS["actuatorgroupdisable"], WORDS["actuatorgravcomp"]
BOUNDED, SEVERAL, SPRING_FLAG = WORDS["actuatorfrclimited"], WORDS["orientation"], WORDS["spring"]

TOLD = pytest.mark.filterwarnings(r"ignore:.*MuJoCo 3\.\d+\.\d+ has no :erugin.symbolic.errors.BridgeWarning")
"""For tests of other things than what an older MuJoCo holds more softly; a current one tells nothing of the kind."""


def has(version: str) -> bool:
    """Whether this MuJoCo is such a version or a later one."""
    return numbers(mujoco.__version__) >= numbers(version)


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
    own = "|".join(word for word, other in WORDS.items() if other == feature) or None
    with pytest.raises(ValueError, match=f"{re.escape(feature.missing)}|unrecognized [^']*'({own})'"):
        yield
