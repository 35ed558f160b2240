"""What MuJoCo learned after 3.0, and what a version that lacks it does instead, as sentences."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass

from .versions import numbers


@dataclass(frozen=True)
class Feature:
    """Something that not every MuJoCo from 3.0 on has.

    Attributes:
        what: it is, in words that go on after "MuJoCo 3.1.6 has no".
        since: the first version that has it.
    """

    what: str
    since: str

    @property
    def missing(self) -> str:
        """A sentence that says so; empty if the MuJoCo that is installed has it, or none is installed."""
        try:
            version = str(importlib.import_module("mujoco").__version__)
        except ImportError:
            # What is written without MuJoCo is for a current one.
            return ""
        if numbers(version) >= numbers(self.since):
            return ""
        return f"MuJoCo {version} has no {self.what} ({self.since} or later has)"


ROTORS = Feature("armature of tendons", "3.3.1")
ROUND = Feature("RK4 of fourth order for bodies that float", "4.0")
EXACT = Feature("flag diagexact", "3.9")
CENTRIPETAL = Feature("centripetal acceleration in connect and weld", "3.7")
SITES = Feature("connect and weld of sites", "3.2.3")
HARD_SITES = Feature("right softness of connected sites", "3.2.5")

WORDS = {
    "actuatorfrclimited": Feature("bounds on drives of tendons", "3.3.1"),
    "actuatorfrcrange": Feature("bounds on drives of tendons", "3.3.1"),
    "actuatorgravcomp": Feature("gravity that drives make up for", "3.1.4"),
    "actuatorgroupdisable": Feature("groups of actuators that are disabled", "3.0.1"),
    "armature": ROTORS,
    "damper": Feature("flag damper; its flag passive has springs and dampers at once", "3.3.6"),
    "diagexact": EXACT,
    "orientation": Feature("actuators of several forces", "3.11"),
    "site1": SITES,
    "spring": Feature("flag spring; its flag passive has springs and dampers at once", "3.3.6"),
}
"""Attributes and elements of MJCF that an older reader does not know."""


def unread(reason: str) -> str:
    """A sentence on the attribute or element that MuJoCo does not know, if a later version does; else empty.

    Args:
        reason: what MuJoCo says of a file.
    """
    found = re.search(r"unrecognized (?:attribute|element)[^']*'(\w+)'", reason)
    feature = WORDS.get(found[1]) if found else None
    return feature.missing if feature else ""
