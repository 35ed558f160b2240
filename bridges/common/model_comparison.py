"""Comparison of a robot with a model in another program: joint names, masses, M and h."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import not_negative, vector
from .state_conversion import StateConversion
from .unit_mismatch import unit_mismatch

Array = NDArray[np.float64]
TOLERANCE = 1e-9
STATES = 7
BODIES_SHOWN = 4
"""Of how many bodies a sentence tells what differs."""
Dynamics = Callable[[Array, Array], tuple[Array, Array]]
"""(q', v') → M', shape (nv', nv'), and h', shape (nv',), of M' a' + h' = forces of drives and others."""


@dataclass(frozen=True, eq=False)
class Match:
    """What differs between a robot here and a model in another program.

    Attributes:
        robot: name here.
        program: name of the other program.
        names: name here → name there of each joint.
        mass: largest difference of an entry of M, relative to the largest entry of M.
        bias: largest difference of an entry of h, relative to the largest of |h| and of M.
        where: which entries these are, by the names of the velocities, and both values.
        bodies: what differs of a body, or of all that a joint carries: its name → a sentence.
        notes: what the other model has besides, such as armature or friction; each is a difference.
        units: in which other units the model seems to be written; empty if M and h do not look so.
    """

    robot: str
    program: str
    names: Mapping[str, str]
    mass: float
    bias: float
    where: tuple[str, ...] = ()
    bodies: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    units: str = ""

    @property
    def same(self) -> bool:
        """Whether all agrees to 1e-9."""
        return self.differs(TOLERANCE) == ""

    def differs(self, tolerance: float = TOLERANCE) -> str:
        """What differs by more than this, as a sentence; empty if nothing does.

        Args:
            tolerance: of M and h, relative.
        """
        tolerance = not_negative("tolerance", tolerance)
        off = {"M": self.mass, "h": self.bias}
        other_units = [self.units] if self.units and not max(off.values()) <= tolerance else []
        told = [*other_units, *summarize_differences(self.bodies), *self.notes]
        # Not below is not the same as above: a NaN is neither.
        told += [said for said in self.where if not off[said[0]] <= tolerance]
        return "; ".join(told)

    def require(self, tolerance: float = TOLERANCE) -> Match:
        """Itself, if both are the same robot.

        Args:
            tolerance: of M and h, relative.

        Raises:
            BridgeError: otherwise; tells which body or entry differs and by how much.
        """
        if said := self.differs(tolerance):
            raise BridgeError(
                f"{self.robot} and the model of {self.program} are not the same robot: {said}. Pass the parameters "
                "that the model has (p=), export the robot itself, or check units (m, kg, rad) and the names of joints"
            )
        return self

    def __str__(self) -> str:
        """One line."""
        said = self.differs()
        agreed = f"M to {self.mass:.1e}, h to {self.bias:.1e}, {len(self.names)} joints"
        return f"{self.robot} in {self.program}: {said or 'the same'} ({agreed})"


def summarize_differences(bodies: Mapping[str, str]) -> list[str]:
    """What differs of the first few bodies, and how many more there are.

    Args:
        bodies: their names → sentences.
    """
    left = len(bodies) - BODIES_SHOWN
    return [
        *list(bodies.values())[:BODIES_SHOWN],
        *([f"{left} more bodies differ: match(...).bodies"] if left > 0 else []),
    ]


def compare_dynamics(
    robot: Robot,
    theirs: Dynamics,
    states: StateConversion,
    *,
    names: Mapping[str, str],
    p: Mapping[str, float] | ArrayLike | None = None,
    bodies: Mapping[str, str] | None = None,
    notes: tuple[str, ...] = (),
    seed: int = 0,
    q: ArrayLike | None = None,
) -> Match:
    """Compare M and h at states at random: Xᵀ M' X with M, and Xᵀ (h' + M' Ẋ v) with h, for v' = X v.

    Natural constraints take no part: M and h are those of the open tree.

    Args:
        robot: here, with velocities within ±1 and angles within ±2 rad, lengths within 0.2 … 1 m.
        theirs: M' and h' there.
        states: relates both.
        names: name here → name there of each joint.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        bodies: differences of bodies that are known already, by name.
        notes: further differences.
        seed: of the states.
        q: coordinates near which to compare, shape (nq,), in place of those at random.
    """
    c, numbers = robot.coordinates, robot.parameters.values(p)
    kernel = Kernel(
        "matched",
        {"t": c.t, "q": c.q, "v": c.v, "p": robot.p},
        {"M": robot.mass_matrix, "h": robot.bias},
        compiled=False,
    )
    rng = np.random.default_rng(seed)
    largest = {"M": 0.0, "h": 0.0}
    said = {"M": "", "h": ""}
    rates, seen = [c.v[i].name().removeprefix("v_") for i in range(c.nv)], list[Array]()

    def there(at: Array, v: Array) -> tuple[Array, Array]:
        M_there, h_there = theirs(*states.there(at, v))
        X = states.velocities(at)
        return X.T @ M_there @ X, X.T @ (h_there + M_there @ states.drift(at, v))

    for k in range(STATES):
        here = _random_coordinates(robot, rng) if q is None else vector("q", q, robot.coordinates.nq)
        # At rest first: gravity alone.
        v = rng.uniform(-1.0, 1.0, c.nv) * (k > 0)
        M, h = (np.atleast_1d(value) for value in kernel(0.0, here, v, numbers))
        M = M.reshape(c.nv, c.nv)
        M_there, h_there = there(here, v)
        seen.append(here)
        largest_M = float(np.abs(M).max(initial=0.0))
        both = {"M": (M, M_there, largest_M), "h": (h, h_there, float(np.abs(h).max(initial=0.0)) + largest_M)}
        for key, (own, other, scale) in both.items():
            off = np.abs(own - other) / max(scale, 1e-300)
            worst = float(np.nan_to_num(off, nan=np.inf).max(initial=0.0))
            if worst > largest[key]:
                at = np.unravel_index(int(np.argmax(np.nan_to_num(off, nan=np.inf))), off.shape)
                largest[key] = worst
                label = ", ".join(rates[i] for i in at)
                said[key] = f"{key}[{label}] is {own[at]:.9g} here and {other[at]:.9g} there"
    where = tuple(text for text in said.values() if text)
    units = ""
    if not max(largest["M"], largest["h"]) <= TOLERANCE:
        units = unit_mismatch(robot, numbers, seen, lambda at: there(at, np.zeros(c.nv)))
    found = robot.name, states.convention.program, dict(names)
    return Match(*found, largest["M"], largest["h"], where, dict(bodies or {}), notes, units)


def _random_coordinates(robot: Robot, rng: np.random.Generator) -> Array:
    """Coordinates at random: quaternions of length one, positive lengths, within limits where there are any."""
    c, limits = robot.coordinates, robot.limits
    q = np.array([rng.uniform(0.2, 1.0) if unit == "m" else rng.uniform(-2.0, 2.0) for unit in c.units])
    bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
    q[bounded] = rng.uniform(limits.lower[bounded], limits.upper[bounded])
    for i, name in enumerate(c.names):
        if name.endswith(".qx"):
            turn = rng.normal(size=4)
            q[i : i + 4] = turn / np.linalg.norm(turn)
    return q
