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
from .io_system import Numbers, build_system, checked_dt, force_names, input_names, state_names
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
    """A controller as u = k(t, x): inputs (q, v), outputs u, or R if it puts out forces.

    A memory changes at samples, so that it takes discrete time; its one state, ``samples``, counts those taken in, from
    0 on. Join it with ``export(robot, dt=dt)``.

    Args:
        controller: any; it is called from Python.
        model: the plant that it is to be joined with, in continuous time, which is compared with the law's model;
            nothing is compared if not given.
        dt: time between samples [s]; zero for continuous time.
        name: of the system; that of the controller's class if not given.
        p: the law's parameters for the comparison, its robot's among them: nominal, overridden by name, or the whole
            vector.
        tolerance: by which accelerations of the plant may differ, relative.

    Raises:
        ModelError: for a controller with a memory in continuous time, or a bad dt.
        BridgeError: if the plant is another robot, or its signals do not match by name.

    The system raises what the controller raises. python-control has no place for a status: that limits are in the way
    is told by :func:`~erugin.scenarios.simulate` only.
    """
    require_controller(controller)
    tolerance = not_negative("tolerance", tolerance)
    if model is not None:
        match(controller.robot, model, p=model_parameters(controller, p)).check(tolerance)
    nq, numbers, period = controller.robot.coordinates.nq, Numbers(controller.parameters), checked_dt(dt)
    samples = controller_samples(controller, period)

    def output(samples: SampledController | None, t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        if samples is None:
            return sampled_output(controller, t, u[:nq], u[nq:], numbers(params))
        return samples.take(float(x[0]), t, u[:nq], u[nq:], numbers(params))

    def count(samples: SampledController, t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        output(samples, t, x, u, params)
        return x + 1.0

    return build_system(
        # As an argument, for copies of a system copy those of its functions.
        None if samples is None else functools.partial(count, samples),
        functools.partial(output, samples),
        states=() if samples is None else (SAMPLES_STATE,),
        inputs=state_names(controller.robot),
        outputs=force_names(controller.robot) if controller.applies_force else input_names(controller.robot),
        params=numbers.nominal,
        name=type(controller).__name__ if name is None else name,
        dt=period,
    )
