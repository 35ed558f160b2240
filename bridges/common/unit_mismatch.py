"""Detection of models written in units other than kg, m, s and rad."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from .static_model import StaticModel

Array = NDArray[np.float64]
StaticDynamics = Callable[[Array], tuple[Array, Array]]
"""q, ours → M', shape (n, n), and h' at rest, shape (n,), of the other program."""

UNIT_TOLERANCE = 1e-3
"""How far entries may be from what units make of them, relative; masses and lengths in files are rounded."""
CONFIGURATIONS = 4
DEGREES = 180.0 / np.pi
MASSES = {"masses in g": 1e3, "masses in t": 1e-3}
LENGTHS = {"lengths in mm": 1e3, "lengths in cm": 1e2, "lengths in km": 1e-3}
MOMENTS = {"kg m²": 1.0, "kg cm²": 1e4, "kg mm²": 1e6, "g m²": 1e3, "g cm²": 1e7, "g mm²": 1e9}
GRAVITIES = {"gravity in mm/s²": 1e3, "gravity in cm/s²": 1e2, "gravity in multiples of 9.81 m/s²": 1.0 / 9.81}
ADVICE = "Units here are kg, m, s, rad: write the model and its gravity in these"
UNEXPLAINED_COST = 3
"""How many units a pull at rest counts for that no gravity explains."""


@dataclass(frozen=True)
class UnitScales:
    """Numbers there for 1 kg, 1 m, 1 rad and 1 kg m².

    Attributes:
        mass: of masses.
        length: of lengths.
        angle: of angles.
        moment: of moments of inertia.
        odd: what these are, as far as they are not ours.
    """

    mass: float = 1.0
    length: float = 1.0
    angle: float = 1.0
    moment: float = 1.0
    odd: tuple[str, ...] = ()

    @property
    def cost(self) -> int:
        """How many odd units they count for: mm and t, of which finite elements are made, are one choice."""
        return len(self.odd) - (self.mass == MASSES["masses in t"] and self.length == LENGTHS["lengths in mm"])

    @property
    def follows(self) -> bool:
        """Whether the unit of moments of inertia is made of those of masses and lengths."""
        return abs(self.moment / (self.mass * self.length**2) - 1.0) < UNIT_TOLERANCE

    def mass_matrix(self, place: StaticModel) -> Array:
        """M in these units, shape (n, n).

        Args:
            place: in ours.
        """
        arms, turns = self._factors(place)
        rest = self.mass * np.outer(arms, arms) * (place.M - place.turned)
        return np.asarray(rest + self.moment * np.outer(turns, turns) * place.turned)

    def forces(self, place: StaticModel) -> tuple[Array, Array]:
        """Forces at rest in these units: those that are not gravity's, and these, if gravity has the number of ours.

        Args:
            place: in ours.
        """
        arms, _ = self._factors(place)
        return self.mass * self.length * arms * (place.h - place.pull), self.mass * arms * place.pull

    def _factors(self, place: StaticModel) -> tuple[Array, Array]:
        """Of what velocities of angles make of lengths, and of angles; 1 for others."""
        angles = np.array(place.units) == "rad"
        turns = np.where(angles, 1.0 / self.angle, 1.0)
        return np.where(angles, self.length, 1.0) * turns, turns


def unit_mismatch(
    robot: Robot,
    p: Array,
    places: Sequence[Array],
    there: StaticDynamics,
    rates: Callable[[Array], Array] | None = None,
) -> str:
    """A sentence on the fewest units that make of M here the M there, and of gravity; empty if none do.

    M' = μ r rᵀ ∘ (M − J) + ι J with J the part of M that moments of inertia make, and r the factor of lengths for
    velocities of angles, 1 for those of slides; in places that are the same in the units supposed.

    Args:
        robot: here.
        p: its parameters, shape (np,).
        places: coordinates at which to compare, shape (nq,) each.
        there: M' and h' at rest, at coordinates that are ours.
        rates: T of v = T w, shape (nv, n), where M' and h' are those of other velocities w; none if not given.
    """
    known, own = StaticModel.of(robot, p, places[:CONFIGURATIONS], rates), robot.coordinates.units

    @functools.cache
    def seen(length: float, angle: float) -> list[tuple[Array, Array]]:
        scales = np.array([{"m": length, "rad": angle}.get(unit, 1.0) for unit in own])
        return [there(place.q * scales) for place in known]

    # By how many units are odd, and by all but that of moments of inertia, where these hardly count.
    found: dict[int, dict[tuple[float, ...], str]] = {}
    kinds = frozenset(unit for place in known for unit in place.units)
    for units in _unit_candidates(kinds, moments=any(place.turned.any() for place in known)):
        if found and units.cost > min(found):
            break
        others = seen(units.length if "m" in own else 1.0, units.angle)
        masses = [units.mass_matrix(place) for place in known]
        if all(_agree(own_M, M) for own_M, (M, _) in zip(masses, others, strict=True)):
            forces = [units.forces(place) for place in known]
            pull = np.array([pull for _, pull in forces])
            there_pull = np.array([h - rest for (rest, _), (_, h) in zip(forces, others, strict=True)])
            share = gravity_ratio(pull, there_pull, max(float(np.abs(M).max()) for M in masses))
            gravity = gravity_mismatch(units.length, units.length if share is None else share)
            odd, numbers, cost = [*units.odd], _numbers(units, known), units.cost
            if gravity is None:
                cost += UNEXPLAINED_COST
            elif gravity:
                cost += 1
                odd, numbers = [*odd, gravity], [*numbers, f"gravity there is {share:.4g} × gravity here"]
            said = f"{', '.join(numbers)}: {', '.join(odd)}?" if odd else ""
            found.setdefault(cost, {}).setdefault((units.mass, units.length, units.angle), said)
    best = list(found[min(found)].values()) if found else []
    # Where nothing odd explains as much, nothing is said.
    return f"{' or '.join(best)} {ADVICE}" if all(best) and best else ""


def range_unit_mismatch(robot: Robot, there: Mapping[str, tuple[float, float]]) -> str:
    """A sentence if ranges of joints are those here in degrees, mm, cm or km; empty if not.

    Args:
        robot: here.
        there: name of a coordinate here → least and greatest value there.
    """
    c, tree, ratios = robot.coordinates, robot.tree, dict[str, list[float]]()
    if tree is not None and any(node.absolute for node in tree.nodes):
        return ""  # ranges there are of angles between bodies
    for name, unit, *ours in zip(c.names, c.units, robot.limits.lower, robot.limits.upper, strict=True):
        for here, other in zip(ours, there.get(name, ()), strict=False):
            if np.isfinite(here) and np.isfinite(other) and here:
                ratios.setdefault(unit, []).append(float(other / here))
    factors = {"rad": {"angles in degrees": DEGREES}, "m": LENGTHS}
    said = [
        f"{factor:.4g} × those here: {what}"
        for unit, all_of_them in ratios.items()
        for what, factor in factors.get(unit, {}).items()
        if np.allclose(all_of_them, factor, rtol=10 * UNIT_TOLERANCE, atol=0.0)
    ]
    return f"ranges of joints there are {' and '.join(said)}? {ADVICE}" if said else ""


def mass_unit_mismatch(masses: Sequence[tuple[float, float]], moments: Sequence[tuple[float, float]]) -> str:
    """A sentence on the fewest units that make of all masses and moments of inertia here those there; empty if none do.

    Args:
        masses: of each body, here and there.
        moments: traces of their inertias, here and there.
    """

    def explains(units: UnitScales) -> bool:
        pairs = [(units.mass * own, other) for own, other in masses]
        pairs += [(units.moment * own, other) for own, other in moments]
        return all(abs(other - own) <= UNIT_TOLERANCE * abs(own) for own, other in pairs)

    # Lengths are felt in moments of inertia alone.
    found = list(filter(explains, _unit_candidates(frozenset({"m"}), moments=any(own for own, _ in moments))))
    if not found or not found[0].odd:
        return ""
    first = found[0]
    text = " or ".join(", ".join(units.odd) for units in found if units.cost == first.cost)
    numbers = f"masses there are {first.mass:.4g} × those here and moments of inertia {first.moment:.4g} ×"
    return f"{numbers}: {text}? {ADVICE}"


def _unit_candidates(kinds: frozenset[str], *, moments: bool) -> Iterator[UnitScales]:
    """Units that may be, those that are like ours first, for velocities of these kinds."""
    # What is not known to be a length or an angle does not tell how it goes with them.
    lengths = {"": 1.0, **(LENGTHS if kinds <= {"m", "rad"} else {})}
    angles = {"": 1.0, **({"angles in degrees": DEGREES} if kinds <= {"m", "rad"} and "rad" in kinds else {})}
    found: list[UnitScales] = []
    for (far, length), (wide, angle) in itertools.product(lengths.items(), angles.items()):
        masses = {"": 1.0, **MASSES, **({"masses from a density": length**3} if far else {})}
        for heavy, mass in masses.items():
            plain = UnitScales(
                mass, length, angle, mass * length**2, tuple(word for word in (far, heavy, wide) if word)
            )
            found.append(plain)
            for word, moment in MOMENTS.items() if moments else ():
                other = UnitScales(mass, length, angle, moment, (*plain.odd, f"moments of inertia in {word}"))
                found += [] if other.follows else [other]
    return iter(sorted(found, key=lambda units: units.cost))


def _agree(own: Array, other: Array) -> bool:
    size = np.sqrt(np.clip(np.diag(own), 0.0, None))
    # Not below is not the same as above: a NaN is neither.
    return bool((np.abs(other - own) <= UNIT_TOLERANCE * np.outer(size, size)).all())


def gravity_ratio(here: Array, there: Array, scale: float) -> float | None:
    """What gravity there is of that here, one row for each place; NaN if it is no multiple, None if both are zero.

    Args:
        here: what it does here, shape (k, n).
        there: what it does there, likewise.
        scale: of what is large.
    """
    size = np.abs(here).max(axis=0)
    felt = size > 1e-9 * scale
    if not felt.any():
        return None if np.abs(there).max(initial=0.0) <= 1e-9 * scale else np.nan
    own, other = here[:, felt] / size[felt], there[:, felt] / size[felt]
    share = float((own * other).sum() / (own**2).sum())
    share = 0.0 if abs(share) < UNIT_TOLERANCE**2 else share
    return share if np.abs(other - share * own).max() <= UNIT_TOLERANCE * max(abs(share), UNIT_TOLERANCE) else np.nan


def gravity_mismatch(length: float, share: float) -> str | None:
    """What is odd of gravity; empty for nothing, None for what is not known.

    Args:
        length: number there for 1 m.
        share: of the number of gravity there and here.
    """

    def is_near(value: float) -> bool:
        return abs(share - value) <= 2 * UNIT_TOLERANCE * abs(value) + UNIT_TOLERANCE**2

    if is_near(length):
        return ""
    if is_near(0.0):
        return "gravity absent, or not set"
    if is_near(-length) or is_near(-1.0):
        return "gravity of the other sign"
    if is_near(1.0):
        return "gravity in m/s²"
    return next((what for what, value in GRAVITIES.items() if is_near(value)), None)


def _numbers(units: UnitScales, known: Sequence[StaticModel]) -> list[str]:
    """What the units make of M."""
    turning, sliding = units.mass * (units.length / units.angle) ** 2, units.mass
    if not units.odd:
        return []
    if not units.follows:
        moment = units.moment / units.angle**2
        parts = f"{turning:.4g} × M here in the part that masses make", f"{moment:.4g} × in that of moments of inertia"
        return [f"M there is {' and '.join(parts)}"]
    kinds = {unit for place in known for unit in place.units}
    if {"m", "rad"} <= kinds and abs(turning / sliding - 1.0) > UNIT_TOLERANCE:
        return [f"M there is {turning:.4g} × M here in turning joints and {sliding:.4g} × in slides"]
    return [f"M there is {sliding if 'rad' not in kinds else turning:.4g} × M here"]
