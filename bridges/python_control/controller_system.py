"""Controllers as systems of python-control."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...symbolic.validation import not_negative
from ..common.controller_memory import model_parameters
from ..common.model_comparison import TOLERANCE
from .export import SAMPLES_STATE, SampledController, controller_samples, require_controller, sampled_output
from .io_system import ParameterVector, build_system, checked_dt, force_names, input_names, state_names
from .match import match

if TYPE_CHECKING:
    import control


Array = NDArray[np.float64]


def drive(
    controller: Controller,
    model: control.NonlinearIOSystem | None = None,
    *,
    dt: float = 0.0,
    name: str | None = None,
    p: Mapping[str, float] | ArrayLike | None = None,
    tolerance: float = TOLERANCE,
) -> control.NonlinearIOSystem:
    """Build the system u = k(t, x) of a controller: inputs (q, v), outputs u, or R if it outputs forces.

    A memory changes at samples, so a controller with a memory requires discrete time; its one state, ``samples``,
    counts the samples so far. Connect it to ``export(robot, dt=dt)``.

    Args:
        controller: the controller; it is called from Python.
        model: plant in continuous time to compare with the controller's model; None to compare nothing.
        dt: time between samples [s]; zero for continuous time.
        name: name of the system; that of the controller's class if not given.
        p: the law's parameters for the comparison, its robot's among them: nominal, overridden by name, or the whole
            vector.
        tolerance: relative tolerance of the accelerations in the comparison.

    Raises:
        ModelError: for a controller with a memory in continuous time, or an invalid dt.
        BridgeError: if the plant is another robot, or its signals do not match by name.

    The system raises what the controller raises. python-control cannot represent a status, such as active limits: only
    :func:`~erugin.scenarios.simulate` reports it.
    """
    require_controller(controller)
    tolerance = not_negative("tolerance", tolerance)
    if model is not None:
        match(controller.robot, model, p=model_parameters(controller, p)).check(tolerance)
    nq, numbers, period = controller.robot.coordinates.nq, ParameterVector(controller.parameters), checked_dt(dt)
    samples = controller_samples(controller, period)

    def output(samples: SampledController | None, t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        if samples is None:
            return sampled_output(controller, t, u[:nq], u[nq:], numbers(params))
        return samples.output(float(x[0]), t, u[:nq], u[nq:], numbers(params))

    def count(samples: SampledController, t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        output(samples, t, x, u, params)
        return x + 1.0

    return build_system(
        # As an argument, because a copy of a system copies the arguments of its partial functions.
        None if samples is None else functools.partial(count, samples),
        functools.partial(output, samples),
        states=() if samples is None else (SAMPLES_STATE,),
        inputs=state_names(controller.robot),
        outputs=force_names(controller.robot) if controller.applies_force else input_names(controller.robot),
        params=numbers.nominal,
        name=type(controller).__name__ if name is None else name,
        dt=period,
    )
