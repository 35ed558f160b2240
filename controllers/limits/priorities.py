"""In which order the constraints of a program are given up."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from ..program import Program

Rows = NDArray[np.intp]


def priority_groups(program: Program, priorities: Iterable[str | Iterable[str]] | None) -> tuple[Rows, ...]:
    """Places of the rows of each group, that of the highest priority first.

    Args:
        program: whose constraints are named.
        priorities: names of constraints, or groups of names of equal priority, the highest first; constraints that are
            not named come last, together. All are equal if not given.

    Raises:
        ModelError: for an unknown name, one given twice, or an empty group.
    """
    labels = [label for label, _ in program.linearizations]
    rows = {label: _rows_of(program, i) for i, label in enumerate(labels)}
    wanted = () if priorities is None else priorities
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise ModelError(f"priorities must be a sequence of names or groups of names, got {priorities!r}")
    groups: list[list[str]] = []
    for group in wanted:
        if not isinstance(group, Iterable):
            raise ModelError(f"priorities: a group must be a name of a constraint or several, got {group!r}")
        names = [group] if isinstance(group, str) else list(group)
        if not all(isinstance(name, str) for name in names):
            raise ModelError(f"priorities: a group must be a name of a constraint or several, got {group!r}")
        groups.append(names)
    named: list[str] = []
    for group in groups:
        if not group:
            raise ModelError("priorities: a group must name at least one constraint, got an empty one")
        for name in group:
            if name not in rows:
                raise ModelError(unknown_name("constraint of the program in priorities", str(name), labels))
            if name in named:
                raise ModelError(f"priorities: {name!r} is named twice")
            named.append(name)
    rest = [label for label in labels if label not in named]
    return tuple(np.concatenate([rows[name] for name in group]) for group in [*groups, *([rest] if rest else [])])


def _rows_of(program: Program, index: int) -> Rows:
    """Places of the rows of one constraint."""
    blocks = list(dict.fromkeys(program.blocks))
    return np.arange(blocks[index].start, blocks[index].stop)
