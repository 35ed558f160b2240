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
"""q of the robot → M', shape (n, n), and h' at rest, shape (n,), of the other program."""

UNIT_TOLERANCE = 1e-3
"""Largest relative deviation of entries from those in supposed units; masses and lengths in files are rounded."""
CONFIGURATIONS = 4
DEGREES = 180.0 / np.pi
MASSES = {"masses in g": 1e3, "masses in t": 1e-3}
LENGTHS = {"lengths in mm": 1e3, "lengths in cm": 1e2, "lengths in km": 1e-3}
MOMENTS = {"kg m²": 1.0, "kg cm²": 1e4, "kg mm²": 1e6, "g m²": 1e3, "g cm²": 1e7, "g mm²": 1e9}
GRAVITIES = {"gravity in mm/s²": 1e3, "gravity in cm/s²": 1e2, "gravity in multiples of 9.81 m/s²": 1.0 / 9.81}
ADVICE = "Erugin's units are kg, m, s, rad: convert the model and its gravity to these"
UNEXPLAINED_COST = 3
"""Cost, in units, of a force at rest that no gravity explains."""


@dataclass(frozen=True)
class UnitScales:
    """Numbers in the model for 1 kg, 1 m, 1 rad and 1 kg m².

    Attributes:
        mass: number for 1 kg.
        length: number for 1 m.
        angle: number for 1 rad.
        moment: number for 1 kg m².
        odd: descriptions of the units that are not SI.
    """

    mass: float = 1.0
    length: float = 1.0
    angle: float = 1.0
    moment: float = 1.0
    odd: tuple[str, ...] = ()

    @property
    def cost(self) -> int:
        """Number of odd units; mm with t, usual in finite elements, count as one."""
        return len(self.odd) - (self.mass == MASSES["masses in t"] and self.length == LENGTHS["lengths in mm"])

    @property
    def is_consistent(self) -> bool:
        """True if the unit of moments of inertia follows from those of mass and length."""
        return abs(self.moment / (self.mass * self.length**2) - 1.0) < UNIT_TOLERANCE

    def mass_matrix(self, static: StaticModel) -> Array:
        """M in these units, shape (n, n).

        Args:
            static: the robot at rest, in SI units.
        """
        arms, turns = self._factors(static)
        rest = self.mass * np.outer(arms, arms) * (static.M - static.rotational)
        return np.asarray(rest + self.moment * np.outer(turns, turns) * static.rotational)

    def forces(self, static: StaticModel) -> tuple[Array, Array]:
        """Forces at rest in these units: those other than gravity, and gravity with the number of the robot's g.

        Args:
            static: the robot at rest, in SI units.
        """
        arms, _ = self._factors(static)
        return self.mass * self.length * arms * (static.h - static.gravity), self.mass * arms * static.gravity

    def _factors(self, static: StaticModel) -> tuple[Array, Array]:
        """Factors of lengths and of angles for each velocity; 1 for velocities of other kinds."""
        angles = np.array(static.units) == "rad"
        turns = np.where(angles, 1.0 / self.angle, 1.0)
        return np.where(angles, self.length, 1.0) * turns, turns


def unit_mismatch(
    robot: Robot,
    p: Array,
    configurations: Sequence[Array],
    model: StaticDynamics,
    rates: Callable[[Array], Array] | None = None,
) -> str:
    """Return a sentence on the fewest odd units that explain M and gravity of the model; empty if none do.

    M' = μ r rᵀ ∘ (M − J) + ι J with J the part of M that comes from moments of inertia, and r the factor of lengths for
    velocities of angles, 1 for those of slides; at the same configurations in the supposed units.

    Args:
        robot: the robot.
        p: its parameters, shape (np,).
        configurations: coordinates at which to compare, shape (nq,) each.
        model: function from coordinates of the robot to M' and h' of the model at rest.
        rates: function q → T of v = T w, shape (nv, n), if M' and h' belong to other velocities w.
    """
    statics, own = StaticModel.of(robot, p, configurations[:CONFIGURATIONS], rates), robot.coordinates.units

    @functools.cache
    def evaluate(length: float, angle: float) -> list[tuple[Array, Array]]:
        scales = np.array([{"m": length, "rad": angle}.get(unit, 1.0) for unit in own])
        return [model(static.q * scales) for static in statics]

    # Keyed by cost, then by all units except that of moments of inertia, which M may hardly reveal.
    found: dict[int, dict[tuple[float, ...], str]] = {}
    kinds = frozenset(unit for static in statics for unit in static.units)
    for units in _unit_candidates(kinds, moments=any(static.rotational.any() for static in statics)):
        if found and units.cost > min(found):
            break
        others = evaluate(units.length if "m" in own else 1.0, units.angle)
        masses = [units.mass_matrix(static) for static in statics]
        if all(_agree(own_M, M) for own_M, (M, _) in zip(masses, others, strict=True)):
            forces = [units.forces(static) for static in statics]
            own_gravity = np.array([gravity for _, gravity in forces])
            model_gravity = np.array([h - rest for (rest, _), (_, h) in zip(forces, others, strict=True)])
            ratio = gravity_ratio(own_gravity, model_gravity, max(float(np.abs(M).max()) for M in masses))
            gravity = gravity_mismatch(units.length, units.length if ratio is None else ratio)
            odd, numbers, cost = [*units.odd], _numbers(units, statics), units.cost
            if gravity is None:
                cost += UNEXPLAINED_COST
            elif gravity:
                cost += 1
                odd, numbers = [*odd, gravity], [*numbers, f"the model's gravity is {ratio:.4g} × the robot's"]
            sentence = f"{', '.join(numbers)}: {', '.join(odd)}?" if odd else ""
            found.setdefault(cost, {}).setdefault((units.mass, units.length, units.angle), sentence)
    best = list(found[min(found)].values()) if found else []
    # SI units that explain as much win.
    return f"{' or '.join(best)} {ADVICE}" if all(best) and best else ""


def range_unit_mismatch(robot: Robot, model_ranges: Mapping[str, tuple[float, float]]) -> str:
    """Return a sentence if joint ranges are those of the robot in degrees, mm, cm or km; empty if not.

    Args:
        robot: the robot.
        model_ranges: name of a coordinate of the robot → least and greatest value in the model.
    """
    c, tree, ratios = robot.coordinates, robot.tree, dict[str, list[float]]()
    if tree is not None and any(node.absolute for node in tree.nodes):
        return ""  # the model's ranges are those of relative angles
    for name, unit, *bounds in zip(c.names, c.units, robot.limits.lower, robot.limits.upper, strict=True):
        for bound, other in zip(bounds, model_ranges.get(name, ()), strict=False):
            if np.isfinite(bound) and np.isfinite(other) and bound:
                ratios.setdefault(unit, []).append(float(other / bound))
    factors = {"rad": {"angles in degrees": DEGREES}, "m": LENGTHS}
    explanations = [
        f"{factor:.4g} × the robot's: {what}"
        for unit, all_of_them in ratios.items()
        for what, factor in factors.get(unit, {}).items()
        if np.allclose(all_of_them, factor, rtol=10 * UNIT_TOLERANCE, atol=0.0)
    ]
    return f"the model's joint ranges are {' and '.join(explanations)}? {ADVICE}" if explanations else ""


def mass_unit_mismatch(masses: Sequence[tuple[float, float]], moments: Sequence[tuple[float, float]]) -> str:
    """Return a sentence on the fewest odd units that explain all masses and moments of the model; empty if none do.

    Args:
        masses: mass of each body, in the robot and in the model.
        moments: trace of the inertia of each body, in the robot and in the model.
    """

    def explains(units: UnitScales) -> bool:
        pairs = [(units.mass * own, other) for own, other in masses]
        pairs += [(units.moment * own, other) for own, other in moments]
        return all(abs(other - own) <= UNIT_TOLERANCE * abs(own) for own, other in pairs)

    # Lengths affect moments of inertia only.
    found = list(filter(explains, _unit_candidates(frozenset({"m"}), moments=any(own for own, _ in moments))))
    if not found or not found[0].odd:
        return ""
    first = found[0]
    text = " or ".join(", ".join(units.odd) for units in found if units.cost == first.cost)
    numbers = f"the model's masses are {first.mass:.4g} × the robot's and its moments of inertia {first.moment:.4g} ×"
    return f"{numbers}: {text}? {ADVICE}"


def _unit_candidates(kinds: frozenset[str], *, moments: bool) -> Iterator[UnitScales]:
    """Possible units for velocities of these kinds, those closest to SI first."""
    # Other kinds of coordinates scale with lengths and angles in an unknown way.
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
                found += [] if other.is_consistent else [other]
    return iter(sorted(found, key=lambda units: units.cost))


def _agree(own: Array, other: Array) -> bool:
    size = np.sqrt(np.clip(np.diag(own), 0.0, None))
    # "<=" is False for NaN.
    return bool((np.abs(other - own) <= UNIT_TOLERANCE * np.outer(size, size)).all())


def gravity_ratio(robot: Array, model: Array, scale: float) -> float | None:
    """Ratio of the model's gravity to the robot's; NaN if it is not a multiple, None if both are zero.

    Args:
        robot: effect of gravity on the robot, one row per configuration, shape (k, n).
        model: effect of gravity on the model, likewise.
        scale: size relative to which numbers are zero.
    """
    size = np.abs(robot).max(axis=0)
    nonzero = size > 1e-9 * scale
    if not nonzero.any():
        return None if np.abs(model).max(initial=0.0) <= 1e-9 * scale else np.nan
    own, other = robot[:, nonzero] / size[nonzero], model[:, nonzero] / size[nonzero]
    ratio = float((own * other).sum() / (own**2).sum())
    ratio = 0.0 if abs(ratio) < UNIT_TOLERANCE**2 else ratio
    return ratio if np.abs(other - ratio * own).max() <= UNIT_TOLERANCE * max(abs(ratio), UNIT_TOLERANCE) else np.nan


def gravity_mismatch(length: float, ratio: float) -> str | None:
    """Description of an odd gravity; empty if it is as expected, None if no description fits.

    Args:
        length: number in the model for 1 m.
        ratio: ratio of the numbers of gravity in the model and in the robot.
    """

    def is_near(value: float) -> bool:
        return abs(ratio - value) <= 2 * UNIT_TOLERANCE * abs(value) + UNIT_TOLERANCE**2

    if is_near(length):
        return ""
    if is_near(0.0):
        return "gravity absent, or not set"
    if is_near(-length) or is_near(-1.0):
        return "gravity of the other sign"
    if is_near(1.0):
        return "gravity in m/s²"
    return next((what for what, value in GRAVITIES.items() if is_near(value)), None)


def _numbers(units: UnitScales, statics: Sequence[StaticModel]) -> list[str]:
    """Sentence on the factor between M of the model and of the robot; an empty list in SI units."""
    turning, sliding = units.mass * (units.length / units.angle) ** 2, units.mass
    if not units.odd:
        return []
    if not units.is_consistent:
        moment = units.moment / units.angle**2
        return [
            f"the model's M is {turning:.4g} × the robot's in the part due to masses and {moment:.4g} × in that due to "
            "moments of inertia"
        ]
    kinds = {unit for static in statics for unit in static.units}
    if {"m", "rad"} <= kinds and abs(turning / sliding - 1.0) > UNIT_TOLERANCE:
        return [f"the model's M is {turning:.4g} × the robot's in turning joints and {sliding:.4g} × in slides"]
    return [f"the model's M is {sliding if 'rad' not in kinds else turning:.4g} × the robot's"]
