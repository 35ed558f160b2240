"""Observations of an agent: coordinates, velocities, points, error, clearance, time, phase, and custom signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...scenarios.setup import Setup
from ...simulation.labels import Labels
from ...symbolic.errors import BridgeError, unknown_name

Array = NDArray[np.float64]
Angles = Literal["plain", "sincos"]
PHASE_TERM = "phase"
KNOWN_TERMS = ("q", "v", "points", "error", "clearance", "time", PHASE_TERM)
"""Parts that can be observed of any scenario that has them."""


@dataclass(frozen=True, eq=False)
class ObservationTerm:
    """One named part of an observation.

    Attributes:
        name: name of the part.
        expression: its value in the plant's symbols t, q, v and p and the controller's parameters, shape (n,).
        labels: name of each number.
        units: unit of each number; empty if dimensionless or unknown.
        low: least value of each, shape (n,).
        high: greatest value of each, shape (n,).
    """

    name: str
    expression: ca.SX
    labels: tuple[str, ...]
    units: tuple[str, ...]
    low: Array
    high: Array

    @classmethod
    def unbounded(cls, name: str, expression: ca.SX, labels: Sequence[str], units: Sequence[str]) -> ObservationTerm:
        """Return a part without bounds.

        Args:
            name: name of the part.
            expression: its value, shape (n,).
            labels: name of each number.
            units: unit of each.
        """
        n = expression.numel()
        return cls(name, expression, tuple(labels), tuple(units), np.full(n, -np.inf), np.full(n, np.inf))


def observation_terms(
    setup: Setup,
    names: Sequence[str] | None,
    signals: Mapping[str, ca.SX] | None,
    angles: Angles,
    duration: float,
) -> tuple[ObservationTerm, ...]:
    """Return the parts of an observation, in their order.

    Args:
        setup: setup to observe.
        names: names among :data:`KNOWN_TERMS`; all that the setup has if None.
        signals: further expressions by name, which follow these.
        angles: ``"sincos"`` for sine and cosine instead of each coordinate in radians.
        duration: duration of an episode [s].

    Raises:
        BridgeError: for a name that is unknown or repeated or that the setup does not have, or a signal that is not a
            column.
    """
    if isinstance(names, str):
        raise BridgeError(f"observation= must be a sequence of names such as ('q', 'v'), got {names!r}")
    if angles not in ("plain", "sincos"):
        raise BridgeError(f"angles must be 'plain' or 'sincos', got {angles!r}")
    available = _all_terms(setup, angles, duration)
    chosen = tuple(available) if names is None else tuple(names)
    for name in chosen:
        if name not in KNOWN_TERMS:
            raise BridgeError(unknown_name("part of an observation", name, KNOWN_TERMS))
        if name not in available:
            raise BridgeError(
                f"{name!r} cannot be observed: the setup of {setup.robot.name} does not have it. It has "
                f"{', '.join(map(repr, available))}"
            )
    parts = [available[name] for name in chosen]
    for name, signal in (signals or {}).items():
        if not isinstance(signal, ca.SX) or signal.size2() != 1 or not signal.numel():
            raise BridgeError(f"signal {name!r} must be an expression of shape (n,), got {signal!r}")
        n = signal.numel()
        labels = [name] if n == 1 else [f"{name}[{i}]" for i in range(n)]
        parts.append(ObservationTerm.unbounded(name, ca.densify(signal), labels, [""] * n))
    given = [term.name for term in parts]
    repeated = sorted({name for name in given if given.count(name) > 1})
    if repeated or not parts:
        raise BridgeError(
            f"an observation must have at least one part, and each once; got {given}. Signals need names other than "
            f"{', '.join(KNOWN_TERMS)}"
        )
    return tuple(parts)


def _all_terms(setup: Setup, angles: Angles, duration: float) -> dict[str, ObservationTerm]:
    robot, labels = setup.robot, Labels.of(setup.robot)
    terms = {"q": _coordinates(setup, labels, angles)}
    terms["v"] = ObservationTerm.unbounded("v", robot.v, [f"d/dt {n}" if n in labels.coordinates.names else n for n in
                                          labels.velocities.names], labels.velocities.units)  # fmt: skip
    moving = {
        name: ca.vec(ca.densify(point))
        for name, point in robot.points.items()
        if ca.depends_on(point, ca.vertcat(robot.q, robot.v, robot.t))
    }
    if moving:
        axes = [f"{name}.{'xyz'[i]}" for name, point in moving.items() for i in range(point.numel())]
        terms["points"] = ObservationTerm.unbounded("points", ca.vertcat(*moving.values()), axes, ["m"] * len(axes))
    zero, far = np.zeros(1), np.full(1, np.inf)
    if setup.error is not None:
        terms["error"] = ObservationTerm("error", setup.error, ("error",), (setup.unit,), zero, far)
    if setup.clearance is not None:
        terms["clearance"] = ObservationTerm.unbounded("clearance", setup.clearance, ["clearance"], [setup.unit])
    # The time of the last sample is a rounded product and may slightly exceed the duration.
    terms["time"] = ObservationTerm("time", robot.t, ("time",), ("s",), zero, np.array([duration * (1.0 + 1e-12)]))
    if setup.phases:
        n = len(setup.phases)
        names = tuple(f"phase {k}: {phase.name}" for k, phase in enumerate(setup.phases, 1))
        # Each phase task replaces these zeros by its own unit vector.
        terms[PHASE_TERM] = ObservationTerm(PHASE_TERM, ca.SX.zeros(n), names, ("",) * n, np.zeros(n), np.ones(n))
    return terms


def _coordinates(setup: Setup, labels: Labels, angles: Angles) -> ObservationTerm:
    robot, columns = setup.robot, labels.coordinates
    if angles == "plain" or "rad" not in columns.units:
        return ObservationTerm.unbounded("q", robot.q, columns.names, columns.units)
    entries: list[ca.SX] = []
    names: list[str] = []
    units: list[str] = []
    low: list[float] = []
    for i, (name, unit) in enumerate(columns):
        if unit == "rad":
            # A rounding error may carry a sine across its bound, and out of the space.
            entries += [ca.fmin(ca.fmax(f(robot.q[i]), -1.0), 1.0) for f in (ca.sin, ca.cos)]
            names += [f"sin {name}", f"cos {name}"]
            units += ["", ""]
            low += [-1.0, -1.0]
        else:
            entries.append(robot.q[i])
            names.append(name)
            units.append(unit)
            low.append(-np.inf)
    bound = np.array(low)
    return ObservationTerm("q", ca.vertcat(*entries), tuple(names), tuple(units), bound, -bound)
