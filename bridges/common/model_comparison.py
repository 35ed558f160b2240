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
"""Number of bodies whose differences a message lists."""
Dynamics = Callable[[Array, Array], tuple[Array, Array]]
"""(q', v') → M', shape (nv', nv'), and h', shape (nv',), of M' a' + h' = forces of actuators and others."""


@dataclass(frozen=True, eq=False)
class Match:
    """Differences between a robot and a model in another program.

    Attributes:
        robot: name of the robot.
        program: name of the other program.
        names: name of each joint of the robot → its name in the model.
        mass: largest difference of an entry of M, relative to the largest entry of M.
        bias: largest difference of an entry of h, relative to the largest entry of |h| and of M.
        where: sentences on these entries, by the names of the velocities, with both values.
        bodies: name of a body, or of a joint for all that it carries → sentence on its difference.
        notes: further features of the model, such as armature or friction; each is a difference.
        units: sentence on other units in which the model seems to be written; empty if M and h suggest none.
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
        """True if everything agrees to 1e-9."""
        return self.difference(TOLERANCE) == ""

    def difference(self, tolerance: float = TOLERANCE) -> str:
        """Return a sentence on all differences beyond the tolerance; empty if there are none.

        Args:
            tolerance: relative tolerance of M and h.
        """
        tolerance = not_negative("tolerance", tolerance)
        off = {"M": self.mass, "h": self.bias}
        other_units = [self.units] if self.units and not max(off.values()) <= tolerance else []
        sentences = [*other_units, *summarize_differences(self.bodies), *self.notes]
        # "not <=", so that NaN counts as a difference.
        sentences += [text for text in self.where if not off[text[0]] <= tolerance]
        return "; ".join(sentences)

    def check(self, tolerance: float = TOLERANCE) -> Match:
        """Return the match itself if both are the same robot.

        Args:
            tolerance: relative tolerance of M and h.

        Raises:
            BridgeError: otherwise; the message says which body or entry differs, and by how much.
        """
        if difference := self.difference(tolerance):
            raise BridgeError(
                f"{self.robot} and the model of {self.program} are not the same robot: {difference}. Pass the model's "
                "parameter values (p=), export the robot itself, or check units (m, kg, rad) and the names of joints"
            )
        return self

    def __str__(self) -> str:
        """One line."""
        agreed = f"M to {self.mass:.1e}, h to {self.bias:.1e}, {len(self.names)} joints"
        return f"{self.robot} in {self.program}: {self.difference() or 'the same'} ({agreed})"


def summarize_differences(bodies: Mapping[str, str]) -> list[str]:
    """Return the sentences on the first few bodies, and the number of further ones.

    Args:
        bodies: name of a body → sentence on its difference.
    """
    more = len(bodies) - BODIES_SHOWN
    return [
        *list(bodies.values())[:BODIES_SHOWN],
        *([f"{more} more bodies differ: match(...).bodies"] if more > 0 else []),
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
    """Compare M and h at random states: Xᵀ M' X with M, and Xᵀ (h' + M' Ẋ v) with h, for v' = X v.

    Velocities are within ±1, angles within ±2 rad and lengths within 0.2 … 1 m. Natural constraints take no part: M
    and h are those of the open tree.

    Args:
        robot: the robot.
        theirs: function that returns M' and h' of the model.
        states: conversion between the states of the robot and of the model.
        names: name of each joint of the robot → its name in the model.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        bodies: known differences of bodies, by name.
        notes: further differences.
        seed: seed of the random states.
        q: coordinates at which to compare, shape (nq,), in place of random ones.
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
    differences = {"M": "", "h": ""}
    rates, compared = [c.v[i].name().removeprefix("v_") for i in range(c.nv)], list[Array]()

    def model(at: Array, v: Array) -> tuple[Array, Array]:
        M_model, h_model = theirs(*states.to_model(at, v))
        X = states.velocity_jacobian(at)
        return X.T @ M_model @ X, X.T @ (h_model + M_model @ states.velocity_bias(at, v))

    for k in range(STATES):
        coordinates = _random_coordinates(robot, rng) if q is None else vector("q", q, robot.coordinates.nq)
        # At rest first: gravity alone.
        v = rng.uniform(-1.0, 1.0, c.nv) * (k > 0)
        M, h = (np.atleast_1d(value) for value in kernel(0.0, coordinates, v, numbers))
        M = M.reshape(c.nv, c.nv)
        M_model, h_model = model(coordinates, v)
        compared.append(coordinates)
        largest_M = float(np.abs(M).max(initial=0.0))
        both = {"M": (M, M_model, largest_M), "h": (h, h_model, float(np.abs(h).max(initial=0.0)) + largest_M)}
        for key, (own, other, scale) in both.items():
            off = np.abs(own - other) / max(scale, 1e-300)
            worst = float(np.nan_to_num(off, nan=np.inf).max(initial=0.0))
            if worst > largest[key]:
                at = np.unravel_index(int(np.argmax(np.nan_to_num(off, nan=np.inf))), off.shape)
                largest[key] = worst
                label = ", ".join(rates[i] for i in at)
                differences[key] = f"{key}[{label}] is {own[at]:.9g} in the robot and {other[at]:.9g} in the model"
    where = tuple(text for text in differences.values() if text)
    units = ""
    if not max(largest["M"], largest["h"]) <= TOLERANCE:
        units = unit_mismatch(robot, numbers, compared, lambda at: model(at, np.zeros(c.nv)))
    found = robot.name, states.convention.program, dict(names)
    return Match(*found, largest["M"], largest["h"], where, dict(bodies or {}), notes, units)


def _random_coordinates(robot: Robot, rng: np.random.Generator) -> Array:
    """Random coordinates: unit quaternions, positive lengths, within limits where there are any."""
    c, limits = robot.coordinates, robot.limits
    q = np.array([rng.uniform(0.2, 1.0) if unit == "m" else rng.uniform(-2.0, 2.0) for unit in c.units])
    bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
    q[bounded] = rng.uniform(limits.lower[bounded], limits.upper[bounded])
    for i, name in enumerate(c.names):
        if name.endswith(".qx"):
            turn = rng.normal(size=4)
            q[i : i + 4] = turn / np.linalg.norm(turn)
    return q
