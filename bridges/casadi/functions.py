"""Robots, programs and controllers as CasADi functions, for use in Opti, a collocation scheme or an integrator."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...controllers.law import NOTHING, Law
from ...controllers.program.program import Program
from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, ModelError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import positive
from ..common.symbolic_law import require_symbolic_law, saturated

Model = Robot | Program | Controller
INITIAL = "initial_memory"
"""Name of the function that returns a law's memory before the first sample."""
OF_LAW = ("law", "relative_pivots", "status", "sample")
"""Names of the functions of a law, which have its memory as an argument."""


def functions(
    model: Model,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    expressions: Mapping[str, ca.SX] | None = None,
    period: float | None = None,
    saturate: bool = False,
) -> dict[str, ca.Function]:
    """Return the expressions of a model as CasADi functions, which accept numbers, SX and MX.

    All functions have the arguments (t, q, v, u), followed by p unless its values are given: the model's parameters in
    their order; for a controller its own, then those of its robot that it does not have. Each returns the quantity of
    its name, except ``acceleration``, which returns a and μ. Each can be called by name,
    ``function(q=…, v=…)["mass_matrix"]``; omitted arguments are zero.

    The functions of a law with a memory z have the argument z after these, and two more describe it: ``sample``
    returns z after a sample, of z before it, and ``initial_memory`` without arguments z before the first sample. At a
    sample time, call ``sample`` first. A law with limits has ``status``, the number of a
    :class:`~erugin.controllers.Status`; its functions call compiled code, which has no derivatives and is in no file.

    For a robot: ``rate`` (q̇ = N v), ``acceleration``, ``mass_matrix``, ``bias``, ``input_matrix``, ``kinetic_energy``,
    ``potential_energy``, and ``points.tip`` and so on for each of its points. For a program those of its robot, and
    ``theta``, ``beta`` and ``deviation`` (except for a program with rows of order 2, whose deviation depends on
    accelerations). For a controller those of its robot, and ``law`` and ``relative_pivots``.

    Args:
        model: a Robot, a Program, or a Controller with a symbolic law.
        p: values of all parameters: nominal, overridden by name, or the whole vector; ``{}`` for nominal ones. If not
            given, p stays an argument.
        expressions: further expressions by name, in the model's symbols.
        period: time between samples of a law with a memory [s].
        saturate: True to limit the inputs of a controller to the limits of the robot's actuators.

    Raises:
        BridgeError: for another kind of model, a controller without a symbolic law, or one with a memory if no period
            is given, or limits that are missing.
        ModelError: for an expression in symbols that the model does not have, or with the name of an existing function.
        ParameterError: for an unknown parameter.
    """
    if period is not None:
        positive("period", period)
    robot, parameters, found, law = _parts(saturated(model) if saturate else model, period)
    z = NOTHING if law is None else law.z
    for name, expression in (expressions or {}).items():
        if name in found or (name == INITIAL and z.numel()):
            raise ModelError(f"{robot.name} already has a function {name!r}: choose another name for the expression")
        robot.require_own_symbols(f"expression {name!r}", expression, parameters)
        found[name] = {"value": expression}
    symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "u": robot.u, "p": parameters.symbols}
    if p is not None:
        numbers = ca.SX(ca.DM(parameters.values(p)))
        old = symbols.pop("p")
        found = {
            name: dict(zip(parts, ca.substitute(list(parts.values()), [old], [numbers]), strict=True))
            for name, parts in found.items()
        }
    made = {
        name: _function(name, symbols | ({"z": z} if name in OF_LAW and z.numel() else {}), parts)
        for name, parts in found.items()
    }
    if law is not None and law.memory is not None:
        made[INITIAL] = _function(INITIAL, {}, {"value": ca.SX(ca.DM(law.initial))})
    return made


def _function(name: str, symbols: Mapping[str, ca.SX], parts: Mapping[str, ca.SX]) -> ca.Function:
    word = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).strip("_")
    while "__" in word:
        word = word.replace("__", "_")
    label = word if word[:1].isalpha() else f"f_{word}"
    outputs = {label if key == "value" else key: ca.densify(e) for key, e in parts.items()}
    return ca.Function(label, list(symbols.values()), list(outputs.values()), list(symbols), list(outputs))


def _parts(model: Model, period: float | None) -> tuple[Robot, Parameters, dict[str, dict[str, ca.SX]], Law | None]:
    """The robot, all parameters, the expressions of each function, and the law of a controller."""
    if isinstance(model, Robot):
        return model, model.parameters, _of_robot(model), None
    if isinstance(model, Program):
        found = _of_robot(model.robot) | {"theta": {"value": model.theta}, "beta": {"value": model.beta}}
        if not ca.depends_on(model.deviation, model.robot.coordinates.a):
            found["deviation"] = {"value": model.deviation}
        return model.robot, model.parameters, found, None
    if isinstance(model, Controller):
        law = require_symbolic_law(model, "become CasADi functions", period=period)
        own = {"law": law.output, "relative_pivots": law.relative_pivots}
        own |= {"status": law.status} if law.status.numel() else {}
        own |= {"sample": law.updated} if law.memory is not None else {}
        parameters = Parameters.collect([model.parameters, model.robot.parameters])
        found = {name: {"value": expression} for name, expression in own.items()}
        return model.robot, parameters, _of_robot(model.robot) | found, law
    raise BridgeError(f"model must be a Robot, a Program or a Controller, got {type(model).__name__}")


def _of_robot(robot: Robot) -> dict[str, dict[str, ca.SX]]:
    c = robot.coordinates
    values = {
        "rate": c.N @ c.v,
        "mass_matrix": robot.mass_matrix,
        "bias": robot.bias,
        "input_matrix": robot.input_matrix,
        "kinetic_energy": robot.kinetic_energy,
        "potential_energy": robot.potential_energy,
        **{f"points.{name}": point for name, point in robot.points.items()},
    }
    driven = {"acceleration": robot.acceleration, "reactions": robot.reactions}
    return {"acceleration": driven, **{name: {"value": expression} for name, expression in values.items()}}
