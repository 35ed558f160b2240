"""Robots under a disturbance force that their controller does not know."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import casadi as ca

from ..symbolic.errors import ModelError, require_name, unknown_name
from ..symbolic.parameters import Parameters
from .dynamics import Dynamics
from .robot import Robot
from .signals import Signal

AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Disturbance:
    """A robot on which a force acts that is a function of time.

    Attributes:
        robot: M a + h = B u + Aᵀ μ + Q, with the signal's parameters behind its own.
        signal: f, shape (k,), in t and parameters.
        force: Q, shape (nv,).
        power: v·Q, what the force gives to the motion [W].
        drawn: lowest and highest value, by name, of the parameters that chance draws evenly between them; empty for a
            signal without chance.
    """

    robot: Robot
    signal: ca.SX
    force: ca.SX
    power: ca.SX
    drawn: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        """Freeze the values."""
        object.__setattr__(self, "drawn", MappingProxyType(dict(self.drawn)))


def disturb(robot: Robot, signal: Signal, on: str | ca.SX | None = None, *, name: str = "disturbance") -> Disturbance:
    """The robot with one more force, Q = (∂x/∂q N)ᵀ f(t).

    The coordinates and all symbols stay the robot's own, so that whatever was written for it (programs, controllers,
    metrics) goes on to fit; only the plant has the new parameters. A disturbed robot may be disturbed again, under
    another name. What the recursion of a long chain saves is saved with the force as well.

    Args:
        robot: the plant as it is.
        signal: f, of as many components as x.
        on: x, what the force acts along: one of the robot's points, so that f is a force at it in world axes [N]; or a
            scalar or column in coordinates and parameters, f being a force or torque along each; or None for a
            generalized force on each velocity.
        name: what the names of parameters begin with.

    Returns:
        The disturbed robot, the force, its power, and what chance draws.

    Raises:
        ModelError: for no robot, no signal, an unknown point, an expression in velocities or foreign symbols or that
            does not depend on coordinates, or a signal for another number of components.
        ParameterError: if the robot has parameters of these names already.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"only a Robot can be disturbed, got {robot!r}")
    if not isinstance(signal, Signal):
        raise ModelError(f"a Signal is needed, such as BandNoise(1.0, (0.5, 3.0)) or Push(2.0, 1.0), got {signal!r}")
    require_name("a disturbance", name)
    c = robot.coordinates
    along, components = _along(robot, on, name)
    built = signal.build(c.t, name, components)
    if built.value.shape != (len(components), 1):
        raise ModelError(
            f"{name}: {type(signal).__name__} gives shape {built.value.shape} for {len(components)} components"
        )
    # Backwards through x: the transposed Jacobian of a point of a long chain is never written down.
    force = built.value if along is None else c.N.T @ ca.jtimes(along, c.q, built.value, True)
    force = ca.densify(force)
    changed = dataclasses.replace(
        robot,
        parameters=Parameters.collect([robot.parameters, built.parameters]),
        dynamics=_with_force(robot.dynamics, force),
    )
    return Disturbance(changed, built.value, force, ca.dot(c.v, force), built.drawn)


def _along(robot: Robot, on: str | ca.SX | None, name: str) -> tuple[ca.SX | None, tuple[str, ...]]:
    """What a force acts along, and a word for each component."""
    c = robot.coordinates
    if on is None:
        # Where velocities are rates, a user knows them by the names of the coordinates.
        return None, c.names if c.are_rates else tuple(c.v[i].name() for i in range(c.nv))
    if isinstance(on, str):
        if on not in robot.points:
            raise ModelError(f"{name}: " + unknown_name(f"point of {robot.name}", on, robot.points))
        point = robot.points[on]
        if not ca.depends_on(point, c.q):
            raise ModelError(f"{name}: the point {on!r} of {robot.name} does not move, so no force on it does anything")
        return point, tuple(AXES[: point.numel()])
    if not isinstance(on, ca.SX) or on.size2() != 1 or on.numel() == 0:
        raise ModelError(f"{name}: a force acts on a point, by its name, or along a column of SX, got {on!r}")
    robot.require_own_symbols(f"what {name!r} acts along", on)
    if ca.depends_on(on, ca.vertcat(c.v, c.a, robot.u)):
        raise ModelError(f"{name!r} must act along an expression in time, coordinates and parameters alone")
    if not all(ca.depends_on(row, c.q) for row in ca.vertsplit(on)):
        raise ModelError(f"{name!r} acts along something that does not depend on coordinates: {on}")
    return on, ("",) if on.numel() == 1 else tuple(str(i + 1) for i in range(on.numel()))


def _with_force(dynamics: Dynamics, force: ca.SX) -> Dynamics:
    """The same equations with a force that is a function of time in h."""
    return Dynamics(
        mass_matrix=lambda: dynamics.mass_matrix,
        bias=lambda: dynamics.bias - force,
        kinetic_energy=lambda: dynamics.kinetic_energy,
        potential_energy=lambda: dynamics.potential_energy,
        factor=lambda: dynamics.factor,
        half_acceleration=lambda other: dynamics.half_acceleration(other + force),
    )
