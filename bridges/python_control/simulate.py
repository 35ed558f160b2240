"""Simulation of a closed loop by python-control."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import ModelError, NotFiniteError
from ...symbolic.validation import finite, positive, step_count, vector, whole
from ..common.recorder import Recorder
from .export import export, export_loop

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None
METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")


def simulate(
    robot: Robot,
    controller: Controller | None,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float,
    p: Values = None,
    controller_p: Values = None,
    t0: float = 0.0,
    held: bool | None = None,
    method: str = "DOP853",
    relative: float = 1e-10,
    absolute: float = 1e-12,
    most_steps: int = 5_000,
) -> Trajectory:
    """Run :func:`export_loop` by ``control.input_output_response`` and record it like a simulation of Erugin.

    In continuous time the law is evaluated wherever the solver needs it. With ``held``, and always with a memory, it is
    evaluated once per sample, with one step of RK4 in between: the motion of :func:`~erugin.scenarios.simulate` with
    ``SampleAndHold``.

    Args:
        robot: the plant.
        controller: controller of the plant, or None.
        q0: initial coordinates, shape (nq,).
        v0: initial velocities, shape (nv,).
        duration: duration [s].
        step: time between samples [s]; made a little smaller if it does not divide the duration.
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        controller_p: the controller's parameters, likewise.
        t0: time of the start [s].
        held: True to hold the law's output between samples; by default only if it has a memory.
        method: method of ``scipy.integrate.solve_ivp``, in continuous time.
        relative: its relative tolerance.
        absolute: its absolute tolerance, in the units of the state.
        most_steps: largest number of its steps between two samples; a motion that needs more has usually diverged.

    Returns:
        The trajectory at the samples.

    Raises:
        ShapeError, ModelError, ParameterError: for invalid input, such as held=False for a law with a memory.
        SimulationError: if the law fails, a number is not finite or the solver gives up; the trajectory so far is
            attached.
    """
    import control

    library: Any = control
    steps = step_count(duration, step)
    h, c, start = duration / steps, robot.coordinates, finite("t0", t0)
    x = np.concatenate([vector("q0", q0, c.nq), vector("v0", v0, c.nv)])

    def recording() -> Recorder:
        return Recorder(robot, controller, step=h, samples=steps + 1, p=p, controller_p=controller_p, t0=start)

    recorder = recording()
    memory = controller is not None and controller.has_memory
    if memory and held is False:
        raise ModelError(f"{type(controller).__name__} has a memory, which changes at samples: held must not be False")
    system = _system(robot, controller, h if memory or held else 0.0)
    if system.nstates > len(x):
        # The state that counts the samples of a memory.
        x = np.append(x, 0.0)
    if method not in METHODS:
        raise ModelError(f"method must be one of SciPy's {', '.join(METHODS)}, got {method!r}")
    options = {"method": method, "rtol": positive("relative", relative), "atol": positive("absolute", absolute)}
    params, times = _params(robot, controller, recorder), np.array([*recorder.times()])
    most = whole("most_steps", most_steps)

    def run(ticks: Array, state: Array) -> Array:
        watched = {**options, "events": _watch(ticks, most)}
        # Overflow leads to a number that is not finite, for which the system itself raises.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            found = library.input_output_response(
                system, ticks, 0.0, state, params=params, solve_ivp_kwargs={} if system.dt else watched
            )
        return np.array(found.states, dtype=np.float64).reshape(system.nstates, -1).T

    cause: BaseException | None = None
    try:
        states = list(run(times, x))
    except Exception as first:
        # Run again sample by sample to record the valid ones; if nothing fails this time, report the first failure.
        states, cause = [x], first
        for k in range(steps):
            try:
                states.append(run(times[k : k + 2], states[-1])[-1])
            except Exception as error:
                cause = error
                break
    # A new recorder, because the law's memory has been through those runs.
    recorder = recording()
    for state in states:
        recorder.tick(state[: c.nq], state[c.nq : c.nq + c.nv])
    if cause is not None:
        raise recorder.fail(cause) from cause
    return recorder.trajectory()


def _watch(ticks: Array, most: int) -> Callable[[float, Array], float]:
    """Return an event for SciPy that raises after too many steps between samples: a diverging motion may never end."""
    passed = count = 0

    def watch(t: float, x: Array) -> float:
        nonlocal passed, count
        before, passed = passed, int(np.searchsorted(ticks, t))
        count = count + 1 if passed == before else 0
        if count > most:
            raise NotFiniteError(
                f"the solver needs more than {most} steps from one sample to the next and has reached t = {t:.9g}: the "
                "motion diverges or is stiff. Try smaller gains, method='Radau', or a larger most_steps="
            )
        return 1.0

    return watch


def _system(robot: Robot, controller: Controller | None, period: float) -> Any:  # noqa: ANN401
    return export(robot, dt=period) if controller is None else export_loop(robot, controller, dt=period)


def _params(robot: Robot, controller: Controller | None, recorder: Recorder) -> dict[str, float]:
    """Return all parameters by their names in the system."""
    found = dict(zip(robot.parameters.names, recorder.p.tolist(), strict=True))
    if controller is not None:
        for name, value in zip(controller.parameters.names, recorder.controller_p.tolist(), strict=True):
            found[f"model.{name}" if name in robot.parameters.names else name] = value
    return found
