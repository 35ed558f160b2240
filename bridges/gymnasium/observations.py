"""Observations of an agent: coordinates, velocities, points, error, clearance, time, phase, and signals of your own."""

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
"""What can be seen of any scenario that has it."""


@dataclass(frozen=True, eq=False)
class ObservationTerm:
    """Numbers that are seen under one name.

    Attributes:
        name: of the part.
        expression: in the plant's symbols t, q, v and p, and the controller's parameters, shape (n,).
        labels: name of each number.
        units: unit of each number; empty where there is none, or none is known.
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
    def free(cls, name: str, expression: ca.SX, labels: Sequence[str], units: Sequence[str]) -> ObservationTerm:
        """A part of numbers without bounds.

        Args:
            name: of the part.
            expression: shape (n,).
            labels: name of each number.
            units: unit of each.
        """
        n = expression.numel()
        return cls(name, expression, tuple(labels), tuple(units), np.full(n, -np.inf), np.full(n, np.inf))


def observation_terms(
    setup: Setup,
    wanted: Sequence[str] | None,
    signals: Mapping[str, ca.SX] | None,
    angles: Angles,
    duration: float,
) -> tuple[ObservationTerm, ...]:
    """The parts of an observation, in their order.

    Args:
        setup: who moves.
        wanted: names among :data:`KNOWN`; all that the setup has if not given.
        signals: further expressions by name, seen behind these.
        angles: ``"sincos"`` for sine and cosine in place of each coordinate in radians.
        duration: of an episode [s].

    Raises:
        BridgeError: for an unknown name, one that the setup does not have, a doubled one, or a signal that is no
            column.
    """
    if isinstance(wanted, str):
        raise BridgeError(f"observation= is a sequence of names such as ('q', 'v'), got {wanted!r}")
    if angles not in ("plain", "sincos"):
        raise BridgeError(f"angles must be 'plain' or 'sincos', got {angles!r}")
    there = _all_terms(setup, angles, duration)
    names = tuple(there) if wanted is None else tuple(wanted)
    for name in names:
        if name not in KNOWN_TERMS:
            raise BridgeError(unknown_name("part of an observation", name, KNOWN_TERMS))
        if name not in there:
            raise BridgeError(
                f"{name!r} cannot be seen: the setup of {setup.robot.name} has none. It has {list(there)}"
            )
    parts = [there[name] for name in names]
    for name, signal in (signals or {}).items():
        if not isinstance(signal, ca.SX) or signal.size2() != 1 or not signal.numel():
            raise BridgeError(f"signal {name!r} must be an expression of shape (n,), got {signal!r}")
        n = signal.numel()
        labels = [name] if n == 1 else [f"{name}[{i}]" for i in range(n)]
        parts.append(ObservationTerm.free(name, ca.densify(signal), labels, [""] * n))
    called = [part.name for part in parts]
    doubled = sorted({name for name in called if called.count(name) > 1})
    if doubled or not parts:
        raise BridgeError(
            f"an observation has at least one part, and each once; got {called}: call signals otherwise than "
            f"{KNOWN_TERMS}"
        )
    return tuple(parts)


def _all_terms(setup: Setup, angles: Angles, duration: float) -> dict[str, ObservationTerm]:
    robot, labels = setup.robot, Labels.of(setup.robot)
    found = {"q": _coordinates(setup, labels, angles)}
    found["v"] = ObservationTerm.free("v", robot.v, [f"d/dt {n}" if n in labels.coordinates.names else n for n in
                                          labels.velocities.names], labels.velocities.units)  # fmt: skip
    moving = {
        name: ca.vec(ca.densify(point))
        for name, point in robot.points.items()
        if ca.depends_on(point, ca.vertcat(robot.q, robot.v, robot.t))
    }
    if moving:
        axes = [f"{name}.{'xyz'[i]}" for name, point in moving.items() for i in range(point.numel())]
        found["points"] = ObservationTerm.free("points", ca.vertcat(*moving.values()), axes, ["m"] * len(axes))
    zero, far = np.zeros(1), np.full(1, np.inf)
    if setup.error is not None:
        found["error"] = ObservationTerm("error", setup.error, ("error",), (setup.unit,), zero, far)
    if setup.clearance is not None:
        found["clearance"] = ObservationTerm.free("clearance", setup.clearance, ["clearance"], [setup.unit])
    # A hair more: the time of the last sample is a rounded product.
    found["time"] = ObservationTerm("time", robot.t, ("time",), ("s",), zero, np.array([duration * (1.0 + 1e-12)]))
    if setup.phases:
        n = len(setup.phases)
        names = tuple(f"phase {k}: {phase.name}" for k, phase in enumerate(setup.phases, 1))
        # Which of them it is, each of their tasks knows.
        found[PHASE_TERM] = ObservationTerm(PHASE_TERM, ca.SX.zeros(n), names, ("",) * n, np.zeros(n), np.ones(n))
    return found


def _coordinates(setup: Setup, labels: Labels, angles: Angles) -> ObservationTerm:
    robot, columns = setup.robot, labels.coordinates
    if angles == "plain" or "rad" not in columns.units:
        return ObservationTerm.free("q", robot.q, columns.names, columns.units)
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
