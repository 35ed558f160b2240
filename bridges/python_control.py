"""Robots, controllers and closed loops as systems of python-control.

Signals have the names of coordinates, velocities and inputs, with an underscore in place of every character that
python-control reads as something else (``tip[0]`` becomes ``tip_0``); parameters are passed as its ``params``, by their
own names. It ignores names in ``params`` that no system knows: look at ``system.params`` for those that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..robots.robot import Robot
from ..scenarios.close_loop import close_loop
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from ..symbolic.parameters import Parameters
from .python_control_signals import input_signals, signal_names

if TYPE_CHECKING:
    import control

Array = NDArray[np.float64]
Function = Callable[[float, Array, Array, Mapping[str, float]], Array]


def robot_to_iosys(
    robot: Robot,
    *,
    outputs: Mapping[str, ca.SX] | None = None,
    driven_by: Literal["inputs", "forces"] = "inputs",
    name: str | None = None,
) -> control.NonlinearIOSystem:
    """A robot as ẋ = f(t, x, u), x = (q, v), natural constraints obeyed.

    Args:
        robot: the plant.
        outputs: scalars or columns in t, q, v, u and p by name; the state if not given, which is what a controller is
            joined with, without an algebraic loop.
        driven_by: ``"inputs"``, u; or ``"forces"``, generalized forces R, for a controller that puts out those.
        name: of the system; the robot's if not given.

    Raises:
        ModelError: for outputs in foreign symbols, or an unknown way to drive it.
    """
    c = robot.coordinates
    if driven_by not in ("inputs", "forces"):
        raise ModelError(f"driven_by must be 'inputs' or 'forces', got {driven_by!r}")
    forces = driven_by == "forces"
    u = ca.SX.sym("R", c.nv) if forces else robot.u
    a = robot.drift[0] + robot.mobility(u if forces else robot.input_matrix @ u)[0]
    labels, y = _columns(robot, outputs, robot.u if not forces else ca.SX(0, 1))
    inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "u": u, "p": robot.p}
    rate = Kernel("robot_rate", inputs, {"rate": ca.vertcat(c.N @ c.v, a)})
    numbers = _Numbers(robot.parameters)
    return _system(
        _called(rate, numbers),
        _called(Kernel("robot_output", inputs, {"y": y}), numbers) if outputs is not None else None,
        states=state_names(robot),
        inputs=force_names(robot) if forces else input_names(robot),
        outputs=labels if outputs is not None else state_names(robot),
        params=dict(robot.parameters.nominal),
        name=robot.name if name is None else name,
    )


def controller_to_iosys(controller: Controller, *, name: str | None = None) -> control.NonlinearIOSystem:
    """A controller without memory as u = k(t, x): inputs (q, v), outputs u, or R if it puts out forces.

    Args:
        controller: with a symbolic law, or called from Python.
        name: of the system; that of the controller's class if not given.

    Raises:
        ModelError: for a controller with a memory, which is no vector of numbers that python-control could keep.
    """
    robot, numbers = controller.robot, _Numbers(controller.parameters)
    _refuse_memory(controller)
    law = controller.law
    if law is not None:
        c = robot.coordinates
        inputs = {"t": c.t, "u": ca.vertcat(c.q, c.v), "p": controller.parameters.symbols}
        kernel = Kernel("controller", inputs, {"output": law.output})

        def output(t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
            return np.atleast_1d(kernel(t, u, numbers(params))[0])

    else:
        nq = robot.coordinates.nq

        def output(t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
            return controller.control(t, u[:nq], u[nq:], numbers(params))

    return _system(
        None,
        output,
        states=(),
        inputs=state_names(robot),
        outputs=force_names(robot) if controller.applies_force else input_names(robot),
        params=dict(controller.parameters.nominal),
        name=type(controller).__name__ if name is None else name,
    )


def closed_loop_to_iosys(
    robot: Robot, controller: Controller, *, outputs: Mapping[str, ca.SX] | None = None, name: str | None = None
) -> control.NonlinearIOSystem:
    """Plant and controller as one system without inputs, the same as a simulation integrates.

    ``params`` are the plant's by name, then the controller's; its own, where both have an ``m1``, is ``model.m1``.

    Args:
        robot: the plant.
        controller: with or without a symbolic law, without memory.
        outputs: scalars or columns in t, q, v and p by name; the state if not given.
        name: of the system; the robot's if not given.

    Raises:
        ModelError: for a controller with a memory or for another robot, or outputs in foreign symbols.
    """
    loop = close_loop(robot, controller, None)
    _refuse_memory(controller)
    c, own = robot.coordinates, controller.parameters
    labels, y = _columns(robot, outputs, ca.SX(0, 1))
    names = tuple(f"model.{n}" if n in robot.parameters.names else n for n in own.names)
    plant, law = _Numbers(robot.parameters), _Numbers(own, names)
    # Derivative of a loop is made for fixed numbers: one for each that comes.
    made: dict[bytes, Callable[[float, Array], Array]] = {}

    def rate(t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        p = np.concatenate([plant(params), law(params)])
        key = p.tobytes()
        if key not in made:
            made.clear()
            made[key] = loop.derivative(p)
        return made[key](t, x)

    inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "u": ca.SX(0, 1), "p": robot.p}
    nominal = dict(zip(names, (own.nominal.get(n) for n in own.names), strict=True))
    return _system(
        rate,
        _called(Kernel("loop_output", inputs, {"y": y}), plant) if outputs is not None else None,
        states=state_names(robot),
        inputs=(),
        outputs=labels if outputs is not None else state_names(robot),
        params={**robot.parameters.nominal, **{key: value for key, value in nominal.items() if value is not None}},
        name=robot.name if name is None else name,
    )


def state_names(robot: Robot) -> tuple[str, ...]:
    """Names of the signals of q and v.

    Args:
        robot: any.
    """
    c = robot.coordinates
    return signal_names((*c.names, *(c.v[i].name() for i in range(c.nv))))


def input_names(robot: Robot) -> tuple[str, ...]:
    """Names of the signals of u; ``u_crank`` where a coordinate is called ``crank``, too.

    Args:
        robot: any.
    """
    return input_signals(robot.input_names, state_names(robot))


def force_names(robot: Robot) -> tuple[str, ...]:
    """Names of the signals of generalized forces R.

    Args:
        robot: any.
    """
    c = robot.coordinates
    return signal_names(f"R_{c.v[i].name()}" for i in range(c.nv))


class _Numbers:
    """Parameters as a vector, checked when they change."""

    def __init__(self, parameters: Parameters, names: tuple[str, ...] | None = None) -> None:
        self._parameters, self._names = parameters, parameters.names if names is None else names
        self._key: tuple[float | None, ...] | None = None
        self._vector = np.zeros(len(parameters))

    def __call__(self, params: Mapping[str, float]) -> Array:
        key = tuple(params.get(name) for name in self._names)
        if key != self._key:
            pairs = zip(self._parameters.names, key, strict=True)
            self._vector = self._parameters.values({name: value for name, value in pairs if value is not None})
            self._key = key
        return self._vector


def _called(kernel: Kernel, numbers: _Numbers) -> Function:
    def function(t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        return np.atleast_1d(kernel(t, x, u, numbers(params))[0])

    return function


def _columns(robot: Robot, outputs: Mapping[str, ca.SX] | None, inputs: ca.SX) -> tuple[tuple[str, ...], ca.SX]:
    names: list[str] = []
    for name, expression in (outputs or {}).items():
        if expression.size2() != 1:
            raise ModelError(f"output {name!r} must be a scalar or a column, got shape {expression.shape}")
        robot.require_own_symbols(f"output {name!r}", expression)
        if ca.depends_on(expression, robot.coordinates.a) or (
            not inputs.numel() and ca.depends_on(expression, robot.u)
        ):
            raise ModelError(f"output {name!r} must be an expression in t, q, v and p, and in u where that is an input")
        n = expression.numel()
        names += [name] if n == 1 else [f"{name}[{i}]" for i in range(n)]
    return tuple(names), ca.vertcat(ca.SX(0, 1), *(outputs or {}).values())


def _system(
    rate: Function | None,
    output: Function | None,
    *,
    states: Iterable[str],
    inputs: Iterable[str],
    outputs: Iterable[str],
    params: dict[str, float],
    name: str,
) -> control.NonlinearIOSystem:
    import control

    signals: dict[str, Any] = {} if rate is None else {"states": list(states)}
    signals |= {"inputs": list(signal_names(inputs)), "outputs": list(signal_names(outputs))}
    return control.nlsys(rate, output, params=params, name="_".join(signal_names([name])), dt=0, **signals)


def _refuse_memory(controller: Controller) -> None:
    if controller.memory is not None:
        raise ModelError(
            f"{type(controller).__name__} has a memory ({type(controller.memory).__name__}), which is no vector of "
            "numbers that python-control could keep as a state: simulate it with erugin.scenarios.simulate"
        )
