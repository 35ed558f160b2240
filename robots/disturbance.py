"""Robots under a disturbance force unknown to their controller."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import casadi as ca

from ..symbolic.errors import ModelError, require_name, unknown_name
from ..symbolic.parameters import Parameters
from .robot import Robot
from .signals.signal import Signal

AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Disturbance:
    """A robot under an additional force that is a function of time.

    Attributes:
        robot: M a + h = B u + Aᵀ μ + Q, with the parameters of the signal after its own.
        signal: f, shape (k,), in t and parameters.
        force: Q, shape (nv,).
        power: v·Q, power of the force [W].
        random_ranges: lowest and highest value, by name, of the parameters that are uniformly random between them;
            empty for a deterministic signal.
    """

    robot: Robot
    signal: ca.SX
    force: ca.SX
    power: ca.SX
    random_ranges: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        """Freeze the values."""
        object.__setattr__(self, "random_ranges", MappingProxyType(dict(self.random_ranges)))


def disturb(robot: Robot, signal: Signal, on: str | ca.SX | None = None, *, name: str = "disturbance") -> Disturbance:
    """Return the robot with one more force, Q = (∂x/∂q N)ᵀ f(t).

    The coordinates and all symbols of the robot are kept, so that programs, controllers and metrics written for it
    still apply; only the plant has the new parameters. A disturbed robot may be disturbed again, under another name.
    The equations of a long chain remain recursive.

    Args:
        robot: the plant without the disturbance.
        signal: f, with as many components as x.
        on: x, along which the force acts: one of the robot's points, so that f is a force at it in world axes [N]; or a
            scalar or column in coordinates and parameters, f being a force or torque along each; or None for a
            generalized force on each velocity.
        name: prefix of the parameter names.

    Returns:
        The disturbed robot, the force, its power, and the ranges of the random parameters.

    Raises:
        ModelError: if robot is not a Robot, signal is not a Signal or has another number of components, the point is
            unknown, or the expression uses velocities or foreign symbols or does not depend on coordinates.
        ParameterError: if the robot has parameters of these names already.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"robot must be a Robot, got {robot!r}")
    if not isinstance(signal, Signal):
        raise ModelError(
            f"signal must be a Signal such as BandNoise(1.0, (0.5, 3.0)) or Push(2.0, 1.0), got {signal!r}"
        )
    require_name("a disturbance", name)
    c = robot.coordinates
    along, components = _along(robot, on, name)
    built = signal.build(c.t, name, components)
    if built.value.shape != (len(components), 1):
        raise ModelError(
            f"{name}: {type(signal).__name__} has shape {built.value.shape}, expected {len(components)} components"
        )
    # Reverse mode: the transposed Jacobian of a point of a long chain is never formed.
    force = built.value if along is None else c.N.T @ ca.jtimes(along, c.q, built.value, True)
    force = ca.densify(force)
    changed = dataclasses.replace(
        robot,
        parameters=Parameters.collect([robot.parameters, built.parameters]),
        dynamics=robot.dynamics.with_force(force),
    )
    return Disturbance(changed, built.value, force, ca.dot(c.v, force), built.random_ranges)


def _along(robot: Robot, on: str | ca.SX | None, name: str) -> tuple[ca.SX | None, tuple[str, ...]]:
    """Return the expression that a force acts along, and a name for each component."""
    c = robot.coordinates
    if on is None:
        return None, c.velocity_names
    if isinstance(on, str):
        if on not in robot.points:
            raise ModelError(f"{name}: " + unknown_name(f"point of {robot.name}", on, robot.points))
        point = robot.points[on]
        if not ca.depends_on(point, c.q):
            raise ModelError(f"{name}: the point {on!r} of {robot.name} does not move, so a force on it has no effect")
        return point, tuple(AXES[: point.numel()])
    if not isinstance(on, ca.SX) or on.size2() != 1 or on.numel() == 0:
        raise ModelError(f"{name}: on must be the name of a point or a column of SX, got {on!r}")
    robot.require_own_symbols(f"the expression that {name!r} acts along", on)
    if ca.depends_on(on, ca.vertcat(c.v, c.a, robot.u)):
        raise ModelError(f"{name!r} must act along an expression in time, coordinates and parameters only")
    if not all(ca.depends_on(row, c.q) for row in ca.vertsplit(on)):
        raise ModelError(f"{name!r} must act along an expression that depends on coordinates, got {on}")
    return on, ("",) if on.numel() == 1 else tuple(str(i + 1) for i in range(on.numel()))
