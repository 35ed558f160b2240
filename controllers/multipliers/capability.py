"""What a way of finding multipliers can deal with."""

from __future__ import annotations

from enum import Enum


class Capability(Enum):
    """Something that not every method deals with; the text completes "it deals with …"."""

    NATURAL_ROWS = "natural constraints"
    REDUNDANT_NATURAL_ROWS = "natural rows that depend on each other"
    DEPENDENT_ROWS = "rows that depend on each other"
    VANISHING_ROWS = "rows that vanish"
    MORE_ROWS = "more rows than velocities"
    CONTRADICTIONS = "rows that contradict each other, which it names"
    HELD_INERTIA = "a singular mass matrix that natural constraints make good"
    PROGRAMMED_INERTIA = "a singular mass matrix that only the program makes good"
    SWITCHED_ROWS = "rows that are on at times"
    NONLINEAR_ROWS = "rows nonlinear in the accelerations"
    NO_TREE = "a robot that is no tree of bodies"
    ACTUATED = "forces that come from inputs"


DEPENDENCE = frozenset(
    {Capability.DEPENDENT_ROWS, Capability.VANISHING_ROWS, Capability.MORE_ROWS, Capability.CONTRADICTIONS}
)
"""What a method for independent rows lacks."""

REGULAR = frozenset(
    {
        Capability.NATURAL_ROWS,
        Capability.REDUNDANT_NATURAL_ROWS,
        Capability.HELD_INERTIA,
        Capability.SWITCHED_ROWS,
        Capability.NONLINEAR_ROWS,
        Capability.NO_TREE,
        Capability.ACTUATED,
    }
)
"""What a method gets for nothing that uses the robot's own mobility."""
