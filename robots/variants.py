"""Variants of robots: another drive, other limits, parameters of the surroundings, several robots combined into one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints.constraint import Constraint
from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError, require_name, unknown_name
from ..symbolic.parameters import Parameters
from ..symbolic.validation import real_number, vector_argument
from .dynamics import Dynamics
from .frame import Frame
from .limits import Limits
from .robot import Robot


def with_drive(robot: Robot, name: str, along: ca.SX, *, effort: float = np.inf, unit: str = "N m") -> Robot:
    """Return the robot with one more input, whose power is u dx/dt: Q = u (∂x/∂q N)ᵀ.

    A drive between two links acts along the angle between them, a drive between a link and the ground along the angle
    of the link, a cable or a cylinder along the distance between its ends.

    Args:
        robot: the robot without the drive.
        name: name of the input.
        along: x, a scalar expression in coordinates and parameters [rad or m].
        effort: greatest |u|; unlimited if not given.
        unit: unit of u.

    Raises:
        ModelError: if the name is empty or already used, or along is not a scalar, does not depend on coordinates, or
            uses time, velocities or foreign symbols.
    """
    require_name("a drive", name)
    if name in robot.input_names:
        raise ModelError(f"{robot.name} already has an input {name!r}; its inputs are {', '.join(robot.input_names)}")
    if not isinstance(along, ca.SX) or along.shape != (1, 1):
        raise ModelError(f"along must be a scalar SX expression, got {along!r}")
    c = robot.coordinates
    robot.require_own_symbols(f"the expression that drive {name!r} acts along", along)
    if ca.depends_on(along, ca.vertcat(c.t, c.v, c.a, robot.u)) or not ca.depends_on(along, c.q):
        raise ModelError(f"drive {name!r} must act along an expression in coordinates and parameters only")
    limits = dataclasses.replace(robot.limits, effort=np.append(robot.limits.effort, effort))
    return dataclasses.replace(
        robot,
        u=ca.vertcat(robot.u, ca.SX.sym(name)),
        input_matrix=ca.horzcat(robot.input_matrix, ca.densify((ca.jacobian(along, c.q) @ c.N).T)),
        input_names=(*robot.input_names, name),
        input_units=(*robot.input_units, unit),
        limits=limits,
    )


def with_inputs(robot: Robot, names: Iterable[str]) -> Robot:
    """Return the robot with only some of its inputs; the others are removed, as if they were zero.

    Args:
        robot: the robot with all its inputs.
        names: names of the inputs to keep, in their new order; empty for a passive robot.

    Raises:
        ModelError: for an unknown or repeated name, or if a natural constraint uses a removed input.
    """
    chosen = (names,) if isinstance(names, str) else tuple(names)
    for name in chosen:
        if name not in robot.input_names:
            raise ModelError(f"{robot.name}: {unknown_name('input', name, robot.input_names)}")
    if len(set(chosen)) < len(chosen):
        raise ModelError(f"{robot.name}: names must differ, got {', '.join(chosen)}")
    indices = [robot.input_names.index(name) for name in chosen]
    return dataclasses.replace(
        robot,
        u=ca.vertcat(ca.SX(0, 1), *(robot.u[i] for i in indices)),
        input_matrix=ca.horzcat(ca.SX(robot.coordinates.nv, 0), *(robot.input_matrix[:, i] for i in indices)),
        input_names=chosen,
        input_units=tuple(robot.input_units[i] for i in indices),
        limits=dataclasses.replace(robot.limits, effort=robot.limits.effort[indices]),
    )


def with_limits(
    robot: Robot,
    *,
    effort: ArrayLike | Mapping[str, float] | None = None,
    speed: ArrayLike | Mapping[str, float] | None = None,
    lower: ArrayLike | Mapping[str, float] | None = None,
    upper: ArrayLike | Mapping[str, float] | None = None,
) -> Robot:
    """Return the robot with other limits: |u| ≤ effort, |v| ≤ speed, lower ≤ q ≤ upper.

    The equations of motion do not enforce them. Laws with ``realization="bounded"``, ``Saturation``, optimal control
    and exports read them from ``robot.limits``. Each argument is one number for all, an array, or a mapping from names
    to numbers; limits that are not given or not named stay as they are, and infinity removes one.

    Args:
        robot: the robot with its present limits.
        effort: greatest |u|, by names of inputs or shape (nu,) [N, N m or V].
        speed: greatest |v|, by names of the coordinates whose rates they are, or of the symbols of other velocities; or
            shape (nv,).
        lower: least coordinates, by name or shape (nq,).
        upper: greatest coordinates, by name or shape (nq,).

    Raises:
        ModelError: if no limit is given, for an unknown name, another shape, a NaN, a negative effort or speed, a lower
            limit above the upper one, or a robot without the inputs that a limit is for.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"robot must be a Robot, got {robot!r}")
    given = {"effort": effort, "speed": speed, "lower": lower, "upper": upper}
    if all(value is None for value in given.values()):
        raise ModelError("with_limits requires effort=, speed=, lower= or upper=")
    names = {
        "effort": ("input", robot.input_names),
        "speed": ("velocity", robot.coordinates.velocity_names),
        "lower": ("coordinate", robot.coordinates.names),
        "upper": ("coordinate", robot.coordinates.names),
    }
    limits: dict[str, NDArray[np.float64]] = {key: getattr(robot.limits, key) for key in given}
    limits |= {key: _limits_of(robot, key, value, *names[key]) for key, value in given.items() if value is not None}
    for name, low, high in zip(robot.coordinates.names, limits["lower"], limits["upper"], strict=True):
        if low > high or low == np.inf or high == -np.inf:
            raise ModelError(f"{robot.name}: lower must not be above upper, got {low:g} and {high:g} for {name!r}")
    return dataclasses.replace(robot, limits=Limits(**limits))


def _limits_of(
    robot: Robot, key: str, value: ArrayLike | Mapping[str, float], kind: str, names: tuple[str, ...]
) -> NDArray[np.float64]:
    """Return the limits of one kind, those that are not named as they are."""
    if not names:
        raise ModelError(f"{key}: {robot.name} has no {kind} to limit")
    if isinstance(value, Mapping):
        found = np.array(getattr(robot.limits, key))
        for name, number in value.items():
            if name not in names:
                raise ModelError(f"{key}: " + unknown_name(f"{kind} of {robot.name}", str(name), names))
            found[names.index(name)] = real_number(f"{key} of {name!r}", number)
    else:
        found = vector_argument(key, value, len(names), f"for {', '.join(names)}, or a mapping from these names")
    for name, number in zip(names, found, strict=True) if key in ("effort", "speed") else ():
        if number < 0.0:
            raise ModelError(f"{robot.name}: {key} must not be negative, got {number:g} for {name!r}")
    return found


def with_scene(robot: Robot, parameters: Parameters) -> Robot:
    """Return the robot with additional parameters of its surroundings: position or speed of a disc, end of a path.

    They do not change its motion. Quantities of a motion, such as the distance to the disc, can then be written in the
    plant's symbols for any controller, and a value set by name applies to plant and controller alike.

    Args:
        robot: the robot without surroundings.
        parameters: parameters of the surroundings, such as ``circle(...).parameters``; those that the robot already has
            are not added twice.

    Raises:
        ModelError: if robot is not a Robot, or parameters is not Parameters.
        ParameterError: if the robot has a different parameter of the same name.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"robot must be a Robot, got {robot!r}")
    if not isinstance(parameters, Parameters):
        raise ModelError(f"parameters must be Parameters, such as those of a curve; got {parameters!r}")
    return dataclasses.replace(robot, parameters=Parameters.collect([robot.parameters, parameters]))


def combine(robots: Mapping[str, Robot], *, name: str | None = None) -> Robot:
    """Combine several robots that do not touch into one: q = (q₁, q₂, …), M = diag(M₁, M₂, …), a common time.

    Every name gets the name of its robot as a prefix: the point ``tip`` of ``left`` becomes ``left.tip``, the parameter
    ``m1`` becomes ``left.m1``. The symbols are those of the robots, so that ``robots["left"].points["tip"]`` may also
    be used in constraints on the whole; only their times are replaced by that of the first.

    Args:
        robots: two or more different robots by name.
        name: shown in messages; their names joined if not given.

    Raises:
        ModelError: for fewer than two robots, robots that share symbols, or values that are not robots.
    """
    if not isinstance(robots, Mapping):
        raise ModelError(f"combine() requires a mapping of names to robots, got a {type(robots).__name__}")
    parts = dict(robots)
    for key, robot in parts.items():
        if not isinstance(key, str) or not key:
            raise ModelError(f"combine() requires a name for every robot, got {key!r}")
        if not isinstance(robot, Robot):
            raise ModelError(f"combine() requires robots, but {key!r} is {robot!r}")
    if len(parts) < 2:
        raise ModelError(f"combine() requires at least two robots, got {list(parts) or 'none'}")
    each = list(parts.values())
    _require_own_symbols(parts)
    t = each[0].t

    def own(robot: Robot, expression: ca.SX) -> ca.SX:
        return expression if robot is each[0] else ca.substitute(expression, robot.t, t)

    def join(columns: list[ca.SX]) -> ca.SX:
        return ca.vertcat(ca.SX(0, 1), *columns)

    def names(of: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(f"{key}.{entry}" for key, entries in of.items() for entry in entries)

    coordinates = Coordinates(
        t,
        join([robot.q for robot in each]),
        join([robot.v for robot in each]),
        join([robot.coordinates.a for robot in each]),
        ca.diagcat(*(own(robot, robot.coordinates.N) for robot in each)),
        names({key: robot.coordinates.names for key, robot in parts.items()}),
        tuple(unit for robot in each for unit in robot.coordinates.units),
    )
    dynamics = Dynamics.given(
        mass_matrix=ca.densify(ca.diagcat(*(own(robot, robot.mass_matrix) for robot in each))),
        bias=join([own(robot, robot.bias) for robot in each]),
        kinetic_energy=sum((own(robot, robot.kinetic_energy) for robot in each), ca.SX(0)),
        potential_energy=sum((own(robot, robot.potential_energy) for robot in each), ca.SX(0)),
    )
    limits = Limits(
        *(
            np.concatenate([getattr(robot.limits, key) for robot in each])
            for key in ("lower", "upper", "speed", "effort")
        )
    )
    return Robot(
        name=" and ".join(parts) if name is None else name,
        coordinates=coordinates,
        parameters=Parameters.collect([_prefixed_parameters(key, robot.parameters) for key, robot in parts.items()]),
        u=join([robot.u for robot in each]),
        dynamics=dynamics,
        input_matrix=ca.densify(ca.diagcat(*(own(robot, robot.input_matrix) for robot in each))),
        points={f"{k}.{n}": own(r, x) for k, r in parts.items() for n, x in r.points.items()},
        frames={
            f"{k}.{n}": Frame(own(r, f.rotation), own(r, f.position))
            for k, r in parts.items()
            for n, f in r.frames.items()
        },
        natural=tuple(_prefixed_constraint(key, robot, k, t) for key, robot in parts.items() for k in robot.natural),
        input_names=names({key: robot.input_names for key, robot in parts.items()}),
        input_units=tuple(unit for robot in each for unit in robot.input_units),
        limits=limits,
        redundant="least-norm" if any(robot.redundant == "least-norm" for robot in each) else "refused",
    )


def _require_own_symbols(parts: Mapping[str, Robot]) -> None:
    """Raise ModelError if two robots share a symbol other than time, as a robot and a modified copy of it do."""
    owners: dict[int, str] = {}
    for key, robot in parts.items():
        c = robot.coordinates
        for symbol in ca.vertsplit(ca.vertcat(c.q, c.v, c.a, robot.u, robot.p)):
            owner = owners.setdefault(symbol.element_hash(), key)
            if owner != key:
                raise ModelError(
                    f"{owner} and {key} share the symbol {symbol.name()!r}: they are the same robot, or one is a "
                    "modified copy of the other; build a separate robot for each name"
                )


def _prefixed_parameters(key: str, parameters: Parameters) -> Parameters:
    full = {name: f"{key}.{name}" for name in parameters.names}
    return Parameters(
        tuple(full.values()),
        parameters.symbols,
        {full[name]: value for name, value in parameters.nominal.items()},
        {full[name]: limits for name, limits in parameters.ranges.items()},
    )


def _prefixed_constraint(key: str, robot: Robot, constraint: Constraint, t: ca.SX) -> Constraint:
    """Return a natural constraint of one robot, on the coordinates of the whole."""
    residual = ca.substitute(constraint.residual(robot.coordinates), robot.t, t)
    return Constraint(
        constraint.order, lambda _: residual, constraint.perturbation, constraint.parameters, f"{key}.{constraint.name}"
    )
