"""Robots, programs and controllers as CasADi functions, for a problem of your own: Opti, collocation, an integrator."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from numpy.typing import ArrayLike

from ...controllers.controller import Controller, Law
from ...controllers.program.program import Program
from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, ModelError
from ...symbolic.parameters import Parameters

Model = Robot | Program | Controller


def functions(
    model: Model,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    expressions: Mapping[str, ca.SX] | None = None,
) -> dict[str, ca.Function]:
    """What a model is made of, each as a function that takes numbers, SX and MX alike.

    All take (t, q, v, u), and p after these unless its numbers are given: the model's parameters in their order, and
    for a controller those of its robot that it does not have behind them. They return what they are called, but
    ``acceleration``, which returns a and μ. Each can be called by name, ``function(q=…, v=…)["mass_matrix"]``, where
    what is left out is zero.

    Of a robot: ``rate`` (q̇ = N v), ``acceleration``, ``mass_matrix``, ``bias``, ``input_matrix``, ``kinetic_energy``,
    ``potential_energy``, and ``points.tip`` and so on for each of its points. Of a program these of its robot, and
    ``theta``, ``beta`` and ``deviation`` (which a program with rows of order 2 has not, for it depends on
    accelerations). Of a controller these of its model, and ``law`` and ``relative_pivots``.

    Args:
        model: a Robot, a Program, or a Controller with a symbolic law.
        p: numbers for all parameters, nominal or overridden by name, or the whole vector; ``{}`` for nominal ones. If
            not given they stay an input.
        expressions: further ones by name, in the model's symbols.

    Raises:
        BridgeError: if it is none of these, or the controller has no symbolic law.
        ModelError: for an expression in symbols that the model has not, or with the name of a function that there is.
        ParameterError: for an unknown parameter.
    """
    robot, parameters, found = _parts(model)
    for name, expression in (expressions or {}).items():
        if name in found:
            raise ModelError(f"there is a function {name!r} of {robot.name} already: call the expression otherwise")
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
    return {name: _function(name, symbols, parts) for name, parts in found.items()}


def _function(name: str, symbols: Mapping[str, ca.SX], parts: Mapping[str, ca.SX]) -> ca.Function:
    word = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).strip("_")
    while "__" in word:
        word = word.replace("__", "_")
    told = word if word[:1].isalpha() else f"f_{word}"
    outputs = {told if key == "value" else key: ca.densify(e) for key, e in parts.items()}
    return ca.Function(told, list(symbols.values()), list(outputs.values()), list(symbols), list(outputs))


def _parts(model: Model) -> tuple[Robot, Parameters, dict[str, dict[str, ca.SX]]]:
    """The robot, all parameters, and the expressions of each function."""
    if isinstance(model, Robot):
        return model, model.parameters, _of_robot(model)
    if isinstance(model, Program):
        found = _of_robot(model.robot) | {"theta": {"value": model.theta}, "beta": {"value": model.beta}}
        if not ca.depends_on(model.deviation, model.robot.coordinates.a):
            found["deviation"] = {"value": model.deviation}
        return model.robot, model.parameters, found
    if isinstance(model, Controller):
        law = require_law(model)
        own = {"law": {"value": law.output}, "relative_pivots": {"value": law.relative_pivots}}
        parameters = Parameters.collect([model.parameters, model.robot.parameters])
        return model.robot, parameters, _of_robot(model.robot) | own
    raise BridgeError(f"CasADi takes a Robot, a Program or a Controller from here, got {type(model).__name__}")


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


def require_law(controller: Controller) -> Law:
    """The law of a controller as expressions.

    Args:
        controller: any.

    Raises:
        BridgeError: if it has none.
    """
    if controller.law is None:
        raise BridgeError(
            f"{type(controller).__name__} has no symbolic law: each of its ticks solves something, or it remembers. "
            "Take the law inside a wrapper, or a ProgramController with realization='ideal' or 'actuated'"
        )
    return controller.law
