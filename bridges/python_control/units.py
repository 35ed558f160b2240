"""Whether a system of python-control differs from a robot as if it were written in other units."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ..at_rest import AtRest, velocity_units
from ..suspected_units import ADVICE, CLEAR, DEGREES, LENGTHS, odd_gravity, pull_share
from .accelerations import Acceleration

Array = NDArray[np.float64]
Side = Callable[[Array, Array], Acceleration]
HEAVY = {1e-3: "masses in g", 1e3: "masses in t"}
LONG = {1e-4: "lengths in cm", 1e-6: "lengths in mm", 1e-9: "lengths in mm and masses in g"}
"""What makes moments of force of turning joints so small where lengths are no states."""


class _Seen:
    """Accelerations of one side in units of the robot: at rest, what motion adds, and what inputs add."""

    def __init__(self, side: Side, states: Sequence[tuple[Array, Array]], at_q: Array, at_v: Array) -> None:
        rest = [side(q * at_q, 0.0 * v) for q, v in states]
        moving = [side(q * at_q, v * at_v) for q, v in states]
        self.rest = np.array([found.free for found in rest]) / at_v
        self.moving = np.array([found.free for found in moving]) / at_v - self.rest
        self.driven = np.array([found.driven for found in moving]) / at_v[:, None]
        self.size = max(float(np.abs(part).max(initial=0.0)) for part in (self.rest, self.moving, self.driven))


def suspected_units(robot: Robot, p: Array, states: Sequence[tuple[Array, Array]], here: Side, there: Side) -> str:
    """A sentence on the fewest units that make of the accelerations here those there; empty if none do.

    With x' = S x for lengths or angles in other units, a' = S a in equal states, and what inputs add is S M⁻¹B F, with
    a power of ten for each in F, for the unit in which it is given.

    Args:
        robot: here.
        p: its parameters, shape (np,).
        states: q and v at which to compare.
        here: accelerations here.
        there: accelerations there, in the same order of signals.
    """
    of_q, of_v = robot.coordinates.units, velocity_units(robot)
    turning = set(of_v) == {"rad"}
    lengths = {"": 1.0, **(LENGTHS if "m" in of_v or turning else {})}
    angles = {"": 1.0, **({"angles in degrees": DEGREES} if "rad" in of_v else {})}
    own = _Seen(here, states, np.ones(len(of_q)), np.ones(len(of_v)))
    fallen, found = _fallen(robot, p, [q for q, _ in states]), dict[int, list[str]]()
    for (far, length), (wide, angle) in itertools.product(lengths.items(), angles.items()):
        by = {"m": length, "rad": angle}
        other = _Seen(there, states, *(np.array([by.get(unit, 1.0) for unit in units]) for units in (of_q, of_v)))
        # Lengths that are no states are felt by gravity, and by moments of force in units that are made of them.
        moment = length**-2 if turning else 1.0
        worth = _worth(moment * own.driven, other.driven)
        # Gravity of the same number gives less where lengths have larger ones.
        share = pull_share(fallen / length, other.rest - (own.rest - fallen), own.size)
        gravity = odd_gravity(length, length if share is None else share)
        is_near = np.abs(other.moving - own.moving).max(initial=0.0) <= CLEAR * own.size
        if worth is None or gravity is None or not is_near:
            continue
        # Without gravity's number inputs alone tell of lengths; and these leave nothing to inputs but masses.
        if far and turning and not (gravity and {float(x) for x in worth} <= {1.0, *HEAVY}):
            continue
        inputs = dict(_inputs(robot, worth))
        odd = [word for word in (far, wide, gravity, *inputs.values()) if word]
        moves = (("m", "" if turning else far), ("rad", wide))
        moved = [f"{by[unit]:.4g} × those here of {unit}" for unit, word in moves if word]
        numbers = [f"accelerations there are {' and '.join(moved)}"] if moved else []
        numbers += [f"gravity there is {share:.4g} × gravity here"] if gravity else []
        numbers += inputs
        found.setdefault(len(odd), []).append(f"{', '.join(numbers)}: {', '.join(odd)}?" if odd else "")
    text = " or ".join(found[min(found)]) if found else ""
    return f"{text} {ADVICE}" if text else ""


def _fallen(robot: Robot, p: Array, places: Sequence[Array]) -> Array:
    """What gravity alone gives, shape (k, nv); zero where constraints have a share in it."""
    if robot.natural:
        return np.zeros((len(places), robot.coordinates.nv))
    found = [-np.linalg.solve(place.M, place.pull) for place in AtRest.of(robot, p, places)]
    return np.array(found, dtype=np.float64)


def _worth(here: Array, there: Array) -> Array | None:
    """For each input the power of ten that makes what it adds here what it adds there; None if there is none."""
    found = np.ones(here.shape[2])
    for j in range(len(found)):
        own, other = here[:, :, j], there[:, :, j]
        size = float((own**2).sum())
        ratio = float((own * other).sum()) / size if size > 0.0 else 0.0
        if not ratio > 0.0:
            return None
        found[j] = 10.0 ** round(np.log10(ratio))
        if not np.abs(other - found[j] * own).max() <= CLEAR * found[j] * np.abs(own).max():
            return None
    return found


def _inputs(robot: Robot, worth: Array) -> Iterator[tuple[str, str]]:
    """What is odd of inputs: numbers, and what they mean."""
    for factor in sorted({float(x) for x in worth} - {1.0}):
        which = [i for i, x in enumerate(worth) if x == factor]
        names = ", ".join(robot.input_names[i] for i in which)
        units = " or ".join(dict.fromkeys(robot.input_units[i] or "its unit" for i in which))
        known = HEAVY | (LONG if set(velocity_units(robot)) == {"rad"} else {})
        other = f"{known[factor]}, or " if factor in known and len(which) == len(worth) else ""
        yield f"what {names} adds is {factor:.4g} × that here", f"{other}{names} in {factor:.4g} {units}"
