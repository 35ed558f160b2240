"""Robots, controllers and closed loops as systems of python-control.

Signals have the names of coordinates, velocities and inputs, with an underscore in place of every character that
python-control reads as something else (``tip[0]`` becomes ``tip_0``); parameters are passed as its ``params``, by their
own names. It ignores names in ``params`` that no system knows: look at ``system.params`` for those that there are.

python-control may ask for one instant several times, and for none in order: a controller with memory is sampled.
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
from ...simulation.numeric_loop import close_loop
from ...symbolic.errors import EruginError, ModelError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.runge_kutta import rk4_step
from ..common.controller_memory import ControllerMemory, has_memory
from .io_system import Function, Numbers, build_system, checked_dt, force_names, input_names, state_names

if TYPE_CHECKING:
    import control


Array = NDArray[np.float64]

SAMPLES_STATE = "samples"
"""Name of the state that stands for a memory."""


class SampledController:
    """The memory of a controller, as a state of one number: how many samples it has taken in.

    python-control keeps vectors of numbers only, and asks as often as it likes. So what a controller remembers is kept
    here, by that number, and lent to it while it is asked: then the output, and the memory after, are functions of it,
    and systems made of one controller do not disturb each other.
    """

    def __init__(self, controller: Controller) -> None:
        """Begin without samples; the controller keeps what it remembers itself.

        Args:
            controller: any.
        """
        self.controller, self._memory = controller, ControllerMemory(controller)
        self._memories: dict[float, object | None] = {0.0: self._memory.value}
        self._last: tuple[object, Array] = (None, np.zeros(0))

    def __deepcopy__(self, memo: dict[int, object]) -> SampledController:
        """Without samples: a copy of a system is a system of its own."""
        return SampledController(self.controller)

    def take(self, count: float, t: float, q: Array, v: Array, p: Array) -> Array:
        """The output at a sample; what is remembered after it is kept for the next.

        Args:
            count: how many samples have been taken in before.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: the controller's parameters, shape (np,).

        Raises:
            EruginError: what the controller raises.
            ModelError: for a count that was not reached from zero.
        """
        key = (count, t, q.tobytes(), v.tobytes(), p.tobytes())
        if self._last[0] != key:
            if count not in self._memories:
                raise ModelError(
                    f"the state {SAMPLES_STATE!r} counts samples, and {count:g} has not been reached: start a run "
                    "from 0"
                )
            self._memory.value = self._memories[count]
            with self._memory.in_use() as law:
                output = sampled_output(law, t, q, v, p, advance=True)
            self._memories[count + 1.0] = self._memory.value
            self._last = (key, output)
        return self._last[1]


def sampled_output(controller: Controller, t: float, q: Array, v: Array, p: Array, *, advance: bool = False) -> Array:
    """The output at one instant.

    Args:
        controller: any.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        p: its parameters, shape (np,).
        advance: whether it takes in the sample first.

    Raises:
        EruginError: what the controller raises.
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
            f"{type(controller).__name__} has no output where all coordinates and velocities are zero, and there "
            "python-control asks first when it joins systems, wherever they start: take export_loop, which "
            f"joins them without. {error}"
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
    """A robot as ẋ = f(t, x, u), x = (q, v), natural constraints obeyed; or sampled, with u held in between.

    Args:
        robot: the plant.
        outputs: scalars or columns in t, q, v, u and p by name; the state if not given, which is what a controller is
            joined with, without an algebraic loop.
        driven_by: ``"inputs"``, u; or ``"forces"``, generalized forces R, for a controller that puts out those.
        dt: time between samples, one step of RK4 [s]; zero for continuous time.
        name: of the system; the robot's if not given.

    Raises:
        ModelError: for outputs in foreign symbols, an unknown way to drive it, or a bad dt.

    The system raises NotFiniteError where the motion is not finite.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"a Robot is needed, got {robot!r}")
    if driven_by not in ("inputs", "forces"):
        raise ModelError(f"driven_by must be 'inputs' or 'forces', got {driven_by!r}")
    forces, period, numbers = driven_by == "forces", checked_dt(dt), Numbers(robot.parameters)
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
    """Plant and controller as one system without inputs, the same as a simulation integrates.

    ``params`` are the plant's by name, then the controller's; its own, where both have an ``m1``, is ``model.m1``. In
    discrete time the controller's output is held between samples; one with a memory adds a last state, ``samples``,
    which starts at 0.

    Args:
        robot: the plant.
        controller: any for it; without memory in continuous time.
        outputs: scalars or columns in t, q, v and p by name; q and v if not given.
        dt: time between samples, one step of RK4 [s]; zero for continuous time.
        name: of the system; the robot's if not given.

    Raises:
        ModelError: for a controller with a memory in continuous time or for another robot, outputs in foreign symbols,
            or a bad dt.

    The system raises what the controller raises, and NotFiniteError where the motion is not finite.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"a Robot is needed, got {robot!r}")
    require_controller(controller)
    loop, period = close_loop(robot, controller, None), checked_dt(dt)
    samples = controller_samples(controller, period)
    nq, n = robot.coordinates.nq, robot.coordinates.nq + robot.coordinates.nv
    names = tuple(f"model.{k}" if k in robot.parameters.names else k for k in controller.parameters.names)
    plant, own = Numbers(robot.parameters), Numbers(controller.parameters, names)
    driven = _plant(robot, forces=controller.applies_force) if period else None
    # Derivative of a loop is made for fixed numbers: one for each that comes.
    made: dict[bytes, Callable[[float, Array], Array]] = {}

    def rate(t: float, x: Array, params: Mapping[str, float]) -> Array:
        p = np.concatenate([plant(params), own(params)])
        key = p.tobytes()
        if key not in made:
            made.clear()
            made[key] = loop.derivative(p)
        found = made[key](t, x)
        if not np.isfinite(found).all():
            sampled_output(controller, t, x[:nq], x[nq:], own(params))
        return _require_finite(found, t)

    def update(samples: SampledController | None, t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        if driven is None:
            return rate(t, x, params)
        q, v = x[:nq], x[nq:n]
        if samples is None:
            return _rate_or_next_state(
                driven, t, x, sampled_output(controller, t, q, v, own(params)), plant(params), period
            )
        output = samples.take(float(x[n]), t, q, v, own(params))
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
    """(t, x, u, p) → ẋ."""
    c = robot.coordinates
    u = ca.SX.sym("R", c.nv) if forces else robot.u
    a = robot.unforced_acceleration[0] + robot.mobility(u if forces else robot.input_matrix @ u)[0]
    inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "u": u, "p": robot.p}
    kernel = Kernel("robot_rate", inputs, {"rate": ca.vertcat(c.N @ c.v, a)})
    return lambda t, x, u, p: np.atleast_1d(kernel(t, x, u, p)[0])


def _rate_or_next_state(rate: Rate, t: float, x: Array, u: Array, p: Array, period: float) -> Array:
    """ẋ, or x one period later."""
    if not period:
        return _require_finite(rate(t, x, u, p), t)
    after: Array = rk4_step(lambda time, state: rate(time, state, u, p), t, x, period)
    return _require_finite(after, t)


def _require_finite(found: Array, t: float) -> Array:
    # A solver that is handed a NaN goes on forever.
    if not np.isfinite(found).all():
        raise NotFiniteError(f"at t = {t:g}: {Status.NOT_FINITE.sentence}")
    return found


def _output_function(
    robot: Robot, outputs: Mapping[str, ca.SX] | None, numbers: Numbers, *, with_inputs: bool
) -> tuple[tuple[str, ...], Function | None]:
    """Names of the outputs and what gives them; the state itself without any."""
    if outputs is None:
        return state_names(robot), None
    c, (labels, y) = robot.coordinates, named_outputs(robot, outputs, with_inputs=with_inputs)
    inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "u": robot.u if with_inputs else ca.SX(0, 1), "p": robot.p}
    kernel, n, nothing = Kernel("robot_output", inputs, {"y": y}), c.nq + c.nv, np.zeros(0)

    def shown(t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        return np.atleast_1d(kernel(t, x[:n], u if with_inputs else nothing, numbers(params))[0])

    return labels, shown


def controller_samples(controller: Controller, period: float) -> SampledController | None:
    """Samples that a controller with a memory takes in; None without one.

    Args:
        controller: the law.
        period: time between samples [s]; zero for continuous time.

    Raises:
        ModelError: for a memory in continuous time.
    """
    if not has_memory(controller):
        return None
    if not period:
        raise ModelError(
            f"{type(controller).__name__} has a memory, which changes at samples: give dt=, the time between them, for "
            "a system in discrete time"
        )
    return SampledController(controller)


def require_controller(controller: Controller) -> None:
    """Raise ModelError for what is no controller.

    Args:
        controller: what was given as one.
    """
    if not isinstance(controller, Controller):
        raise ModelError(
            f"a Controller is needed, got {controller!r}; for a program that is ProgramController(program)"
        )
