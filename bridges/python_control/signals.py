"""Names that python-control takes for signals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...robots.robot import Robot
from ...symbolic.errors import ModelError


def signal_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names with an underscore in place of what python-control would read as part of something else, such as dots.

    Args:
        names: of coordinates, velocities, inputs or rows.

    Raises:
        ModelError: if two of them become the same.
    """
    given = tuple(names)
    found = tuple(re.sub(r"\W+", "_", name).strip("_") for name in given)
    doubled = sorted({name for name in found if found.count(name) > 1})
    if doubled:
        said = (f"{', '.join(map(repr, _those(given, found, name)))} become {name!r}" for name in doubled)
        raise ModelError(f"signals need names of their own, but {'; '.join(said)} in python-control: rename them")
    return found


def _those(given: Sequence[str], found: Sequence[str], name: str) -> list[str]:
    return [own for own, made in zip(given, found, strict=True) if made == name]


def input_signals(names: Iterable[str], taken: Iterable[str]) -> tuple[str, ...]:
    """Names of inputs, with ``u_`` before those that a state has too: signals of one name would be joined to a loop.

    Args:
        names: of the inputs.
        taken: names of the states and outputs.
    """
    others = set(taken)
    return tuple(f"u_{name}" if name in others else name for name in signal_names(names))


def state_names(robot: Robot) -> tuple[str, ...]:
    """Names of the signals of q and v.

    Args:
        robot: any.
    """
    c = robot.coordinates
    return signal_names((*c.names, *(c.v[i].name() for i in range(c.nv))))


def input_names(robot: Robot) -> tuple[str, ...]:
    """Names of the signals of u; ``u_crank`` where a coordinate is called ``crank``, too.

    Args:
        robot: any.
    """
    return input_signals(robot.input_names, state_names(robot))


def force_names(robot: Robot) -> tuple[str, ...]:
    """Names of the signals of generalized forces R.

    Args:
        robot: any.
    """
    c = robot.coordinates
    return signal_names(f"R_{c.v[i].name()}" for i in range(c.nv))
