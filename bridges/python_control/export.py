"""Robots, controllers and closed loops as systems of python-control.

Signals have the names of coordinates, velocities and inputs, with an underscore for every character that has another
meaning in python-control (``tip[0]`` becomes ``tip_0``); parameters are passed as its ``params``, by their own names.
python-control ignores unknown names in ``params``: ``system.params`` lists the known ones.

python-control may evaluate a system repeatedly and not in the order of time: a controller with memory is sampled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...controllers.linearization.linearizer import named_outputs
from ...controllers.status import Status
from ...robots.robot import Robot
from ...simulation.closed_loop import close_loop
from ...symbolic.errors import EruginError, ModelError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.runge_kutta import rk4_step
from ..common.controller_memory import ControllerMemory
from .io_system import Function, ParameterVector, build_system, checked_dt, force_names, input_names, state_names

if TYPE_CHECKING:
    import control


Array = NDArray[np.float64]

SAMPLES_STATE = "samples"
"""Name of the state that represents a memory."""


class SampledController:
    """The memory of a controller as a state of one number, the count of samples so far.

    A state of python-control is a vector of numbers, and its outputs are evaluated any number of times. So the memories
    are stored here by count and installed in the controller while it is called: the output and the next memory are then
    functions of the count, and systems of the same controller do not disturb each other.
    """

    def __init__(self, controller: Controller) -> None:
        """Start without samples; the controller's own memory is left unchanged.

        Args:
            controller: controller with a memory.
        """
        self.controller, self._memory = controller, ControllerMemory(controller)
        self._memories: dict[float, object | None] = {0.0: self._memory.value}
        self._last: tuple[object, Array] = (None, np.zeros(0))

    def __deepcopy__(self, memo: dict[int, object]) -> SampledController:
        """Return a copy without samples: a copied system has a separate memory."""
        return SampledController(self.controller)

    def output(self, count: float, t: float, q: Array, v: Array, p: Array) -> Array:
        """Return the output at a sample, and store the memory after it for the next one.

        Args:
            count: number of samples before this one.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: the controller's parameters, shape (np,).

        Raises:
            EruginError: if the controller raises it.
            ModelError: for a count that was not reached from zero.
        """
        key = (count, t, q.tobytes(), v.tobytes(), p.tobytes())
        if self._last[0] != key:
            if count not in self._memories:
                raise ModelError(
                    f"the state {SAMPLES_STATE!r} counts samples, and {count:g} has not been reached: start a run "
                    "with 0"
                )
            self._memory.value = self._memories[count]
            with self._memory.in_use() as law:
                output = sampled_output(law, t, q, v, p, advance=True)
            self._memories[count + 1.0] = self._memory.value
            self._last = (key, output)
        return self._last[1]


def sampled_output(controller: Controller, t: float, q: Array, v: Array, p: Array, *, advance: bool = False) -> Array:
    """Return the output of a controller at one instant.

    Args:
        controller: the controller.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        p: the controller's parameters, shape (np,).
        advance: True to advance its memory by this sample first.

    Raises:
        EruginError: if the controller raises it.
        NotFiniteError: if it has no output where all coordinates and velocities are zero.
    """
    try:
        if advance:
            controller.advance(t, q, v, p)
        return np.array(controller.control(t, q, v, p), dtype=np.float64)
    except EruginError as error:
        if np.any(q) or np.any(v):
            raise
        raise NotFiniteError(
            f"{type(controller).__name__} has no output where all coordinates and velocities are zero, which "
            "python-control evaluates first when it connects systems, wherever they start: use export_loop, which "
            f"avoids this. {error}"
        ) from error


Rate = Callable[[float, Array, Array, Array], Array]


def export(
    robot: Robot,
    *,
    outputs: Mapping[str, ca.SX] | None = None,
    driven_by: Literal["inputs", "forces"] = "inputs",
    dt: float = 0.0,
    name: str | None = None,
) -> control.NonlinearIOSystem:
    """Build the system ẋ = f(t, x, u), x = (q, v), of a robot, natural constraints obeyed; or sampled with u held.

    Args:
        robot: the plant.
        outputs: scalars or columns in t, q, v, u and p by name; the state if not given, which connects to a controller
            without an algebraic loop.
        driven_by: ``"inputs"`` for u, or ``"forces"`` for generalized forces R, for a controller that outputs forces.
        dt: time between samples, one step of RK4 [s]; zero for continuous time.
        name: name of the system; the robot's if not given.

    Raises:
        ModelError: for outputs in foreign symbols, an unknown ``driven_by``, or an invalid dt.

    The system raises NotFiniteError where the motion is not finite.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"robot must be a Robot, got {robot!r}")
    if driven_by not in ("inputs", "forces"):
        raise ModelError(f"driven_by must be 'inputs' or 'forces', got {driven_by!r}")
    forces, period, numbers = driven_by == "forces", checked_dt(dt), ParameterVector(robot.parameters)
    rate = _plant(robot, forces=forces)

    def update(t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        return _rate_or_next_state(rate, t, x, u, numbers(params), period)

    labels, shown = _output_function(robot, outputs, numbers, with_inputs=not forces)
    return build_system(
        update,
        shown,
        states=state_names(robot),
        inputs=force_names(robot) if forces else input_names(robot),
        outputs=labels,
        params=numbers.nominal,
        name=robot.name if name is None else name,
        dt=period,
    )


def export_loop(
    robot: Robot,
    controller: Controller,
    *,
    outputs: Mapping[str, ca.SX] | None = None,
    dt: float = 0.0,
    name: str | None = None,
) -> control.NonlinearIOSystem:
    """Build one system without inputs from plant and controller, the same that a simulation integrates.

    ``params`` are the plant's by name, then the controller's; where both have an ``m1``, the controller's is
    ``model.m1``. In discrete time the controller's output is held between samples; a controller with a memory adds a
    last state, ``samples``, which starts at 0.

    Args:
        robot: the plant.
        controller: controller of the plant; without memory in continuous time.
        outputs: scalars or columns in t, q, v and p by name; q and v if not given.
        dt: time between samples, one step of RK4 [s]; zero for continuous time.
        name: name of the system; the robot's if not given.

    Raises:
        ModelError: for a controller with a memory in continuous time or for another robot, outputs in foreign symbols,
            or an invalid dt.

    The system raises what the controller raises, and NotFiniteError where the motion is not finite.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"robot must be a Robot, got {robot!r}")
    require_controller(controller)
    loop, period = close_loop(robot, controller, None), checked_dt(dt)
    samples = controller_samples(controller, period)
    nq, n = robot.coordinates.nq, robot.coordinates.nq + robot.coordinates.nv
    names = tuple(f"model.{k}" if k in robot.parameters.names else k for k in controller.parameters.names)
    plant, own = ParameterVector(robot.parameters), ParameterVector(controller.parameters, names)
    driven = _plant(robot, forces=controller.applies_force) if period else None
    # The derivative of a loop is built for fixed parameters: keep that of the last ones.
    derivatives: dict[bytes, Callable[[float, Array], Array]] = {}

    def rate(t: float, x: Array, params: Mapping[str, float]) -> Array:
        p = np.concatenate([plant(params), own(params)])
        key = p.tobytes()
        if key not in derivatives:
            derivatives.clear()
            derivatives[key] = loop.derivative(p)
        derivative = derivatives[key](t, x)
        if not np.isfinite(derivative).all():
            sampled_output(controller, t, x[:nq], x[nq:], own(params))
        return _require_finite(derivative, t)

    def update(samples: SampledController | None, t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        if driven is None:
            return rate(t, x, params)
        q, v = x[:nq], x[nq:n]
        if samples is None:
            return _rate_or_next_state(
                driven, t, x, sampled_output(controller, t, q, v, own(params)), plant(params), period
            )
        output = samples.output(float(x[n]), t, q, v, own(params))
        return np.append(_rate_or_next_state(driven, t, x[:n], output, plant(params), period), x[n] + 1.0)

    labels, shown = _output_function(
        robot, {"q": robot.q, "v": robot.v} if outputs is None else outputs, plant, with_inputs=False
    )
    return build_system(
        functools.partial(update, samples),
        shown,
        states=state_names(robot) if samples is None else (*state_names(robot), SAMPLES_STATE),
        inputs=(),
        outputs=state_names(robot) if outputs is None else labels,
        params={**plant.nominal, **own.nominal},
        name=robot.name if name is None else name,
        dt=period,
    )


def _plant(robot: Robot, *, forces: bool) -> Rate:
    """Return the function (t, x, u, p) → ẋ of a robot."""
    c = robot.coordinates
    u = ca.SX.sym("R", c.nv) if forces else robot.u
    a = robot.unforced_acceleration[0] + robot.mobility(u if forces else robot.input_matrix @ u)[0]
    inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "u": u, "p": robot.p}
    kernel = Kernel("robot_rate", inputs, {"rate": ca.vertcat(c.N @ c.v, a)})
    return lambda t, x, u, p: np.atleast_1d(kernel(t, x, u, p)[0])


def _rate_or_next_state(rate: Rate, t: float, x: Array, u: Array, p: Array, period: float) -> Array:
    """Return ẋ, or x one period later."""
    if not period:
        return _require_finite(rate(t, x, u, p), t)
    after: Array = rk4_step(lambda time, state: rate(time, state, u, p), t, x, period)
    return _require_finite(after, t)


def _require_finite(values: Array, t: float) -> Array:
    # A solver that gets a NaN would never end.
    if not np.isfinite(values).all():
        raise NotFiniteError(f"at t = {t:g}: {Status.NOT_FINITE.sentence}")
    return values


def _output_function(
    robot: Robot, outputs: Mapping[str, ca.SX] | None, numbers: ParameterVector, *, with_inputs: bool
) -> tuple[tuple[str, ...], Function | None]:
    """Return the names of the outputs and their function; without outputs, those of the state and None."""
    if outputs is None:
        return state_names(robot), None
    c, (labels, y) = robot.coordinates, named_outputs(robot, outputs, with_inputs=with_inputs)
    inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "u": robot.u if with_inputs else ca.SX(0, 1), "p": robot.p}
    kernel, n, nothing = Kernel("robot_output", inputs, {"y": y}), c.nq + c.nv, np.zeros(0)

    def shown(t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        return np.atleast_1d(kernel(t, x[:n], u if with_inputs else nothing, numbers(params))[0])

    return labels, shown


def controller_samples(controller: Controller, period: float) -> SampledController | None:
    """Return the sampled controller for one with a memory, None for one without.

    Args:
        controller: the controller.
        period: time between samples [s]; zero for continuous time.

    Raises:
        ModelError: for a memory in continuous time.
    """
    if not controller.has_memory:
        return None
    if not period:
        raise ModelError(
            f"{type(controller).__name__} has a memory, which changes at samples: give dt=, the time between them, for "
            "a discrete-time system"
        )
    return SampledController(controller)


def require_controller(controller: Controller) -> None:
    """Raise ModelError unless the argument is a Controller.

    Args:
        controller: argument to check.
    """
    if not isinstance(controller, Controller):
        raise ModelError(
            f"controller must be a Controller, got {controller!r}; of a program pass ProgramController(program)"
        )
