"""Several robots seen as one, so that a program can tie them to each other."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from ..constraints.constraint import Constraint
from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError
from ..symbolic.parameters import Parameters
from .dynamics import Dynamics
from .frame import Frame
from .limits import Limits
from .robot import Robot


def together(robots: Mapping[str, Robot], *, name: str | None = None) -> Robot:
    """One robot made of several that do not touch: q = (q₁, q₂, …), M = diag(M₁, M₂, …), one time for all.

    What had a name keeps it behind that of its robot: the point ``tip`` of ``left`` becomes ``left.tip``, the parameter
    ``m1`` becomes ``left.m1``. The symbols stay those of the robots, so that ``robots["left"].points["tip"]`` may be
    used in constraints on the whole as well; only their times become the first one's.

    Args:
        robots: two or more different robots by name.
        name: shown in messages; their names joined if not given.

    Raises:
        ModelError: for fewer than two, for robots that share symbols, or for anything that is no robot.
    """
    if not isinstance(robots, Mapping):
        raise ModelError(f"together() needs a mapping of names to robots, got a {type(robots).__name__}")
    parts = dict(robots)
    for key, robot in parts.items():
        if not isinstance(key, str) or not key:
            raise ModelError(f"together() needs a name for every robot, got {key!r}")
        if not isinstance(robot, Robot):
            raise ModelError(f"together() joins robots, but {key!r} is {robot!r}")
    if len(parts) < 2:
        raise ModelError(f"together() needs at least two robots, got {list(parts) or 'none'}")
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
        parameters=Parameters.collect([_prefixed(key, robot.parameters) for key, robot in parts.items()]),
        u=join([robot.u for robot in each]),
        dynamics=dynamics,
        input_matrix=ca.densify(ca.diagcat(*(own(robot, robot.input_matrix) for robot in each))),
        points={f"{k}.{n}": own(r, x) for k, r in parts.items() for n, x in r.points.items()},
        frames={
            f"{k}.{n}": Frame(own(r, f.rotation), own(r, f.position))
            for k, r in parts.items()
            for n, f in r.frames.items()
        },
        natural=tuple(_moved(key, robot, k, t) for key, robot in parts.items() for k in robot.natural),
        input_names=names({key: robot.input_names for key, robot in parts.items()}),
        input_units=tuple(unit for robot in each for unit in robot.input_units),
        limits=limits,
        redundant="least-norm" if any(robot.redundant == "least-norm" for robot in each) else "refused",
    )


def _require_own_symbols(parts: Mapping[str, Robot]) -> None:
    """Raise ModelError if two robots share a symbol other than the time, as a robot and a changed copy of it do."""
    owners: dict[int, str] = {}
    for key, robot in parts.items():
        c = robot.coordinates
        for symbol in ca.vertsplit(ca.vertcat(c.q, c.v, c.a, robot.u, robot.p)):
            owner = owners.setdefault(symbol.element_hash(), key)
            if owner != key:
                raise ModelError(
                    f"{owner} and {key} share the symbol {symbol.name()!r}, as the same robot or a copy of it does: "
                    "build one anew for each name"
                )


def _prefixed(key: str, parameters: Parameters) -> Parameters:
    full = {name: f"{key}.{name}" for name in parameters.names}
    return Parameters(
        tuple(full.values()),
        parameters.symbols,
        {full[name]: value for name, value in parameters.nominal.items()},
        {full[name]: limits for name, limits in parameters.ranges.items()},
    )


def _moved(key: str, robot: Robot, constraint: Constraint, t: ca.SX) -> Constraint:
    """A natural constraint of one robot, on the coordinates of the whole."""
    residual = ca.substitute(constraint.residual(robot.coordinates), robot.t, t)
    return Constraint(
        constraint.order, lambda _: residual, constraint.perturbation, constraint.parameters, f"{key}.{constraint.name}"
    )
