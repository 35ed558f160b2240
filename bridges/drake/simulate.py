"""Simulation of a closed loop by Drake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...simulation.trajectory import SimulationInterrupted, Trajectory
from ...symbolic.errors import BridgeError, ModelError
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import finite, not_negative, positive, step_count, vector, whole
from ..common.recorder import Recorder
from .diagram import build_controller_system
from .export import build_plant
from .log_capture import drake_errors
from .match import match
from .multibody_plant import Simulator, match_states

if TYPE_CHECKING:
    from .controller_system import ControllerSystem


Values = Mapping[str, float] | ArrayLike | None
MIN_STEP_RATIO = 1e-3
"""Shortest step under error control, as a fraction of the interval between samples.

At a discontinuity of the controller, such as an input limit, the error is of the order of the step, and Drake would
reduce the step to 1e-14 s."""
MAX_SUBSTEPS = 1_000_000
"""Largest number of Drake's steps between two samples."""
MIN_ACCURACY = 1e-13
"""Smallest value of ``accuracy``."""
Integrator = Literal[
    "runge_kutta5",
    "runge_kutta3",
    "bogacki_shampine3",
    "runge_kutta2",
    "radau3",
    "radau1",
    "implicit_euler",
    "explicit_euler",
    "semi_explicit_euler",
]


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
    integrator: Integrator = "runge_kutta5",
    substeps: int = 1,
    accuracy: float | None = None,
    time_step: float = 0.0,
) -> Trajectory:
    """Simulate the plant that :func:`export` builds, with the controller as a system of the same diagram.

    The controller is evaluated at every stage of Drake's integrator, as in Erugin's own simulation, and its memory is
    updated once per sample. Steps of equal length are the default: at order 5 their error is 1e-9 with a few hundred
    steps per second, whereas Drake's error control of the same scheme stays at about 1e-7 however small ``accuracy``
    is, because of rejected steps.

    Args:
        robot: the robot.
        controller: the controller, or None.
        q0: coordinates at the start, shape (nq,).
        v0: velocities at the start, shape (nv,).
        duration: duration [s].
        step: time between samples [s].
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        controller_p: the controller's parameters, likewise.
        t0: time of the start [s].
        integrator: Drake's name of the integrator, for a continuous plant.
        substeps: least number of the integrator's steps between two samples.
        accuracy: target of Drake's error control, which adds steps to ``substeps``, none shorter than a thousandth of
            theirs; None for steps of equal length.
        time_step: 0 for a continuous plant, otherwise the step of a discrete one [s]; such a plant enforces joint
            limits, and its error is of the order of that step.

    Returns:
        The samples, with the controller's output as Erugin records it.

    Raises:
        BridgeError: for a robot that URDF or Drake cannot represent completely.
        ShapeError, ModelError, ParameterError: for invalid input.
        SimulationError: if the controller has to stop, or Drake cannot continue; the trajectory so far is attached.
        SimulationInterrupted: on Ctrl-C, likewise.
        MissingPackageError: if Drake is not installed.
    """
    analysis, framework = (import_optional(f"pydrake.systems.{name}", "drake") for name in ("analysis", "framework"))
    parts, period, start = (
        whole("substeps", substeps),
        not_negative("time_step", time_step),
        finite("t0", t0),
    )
    span = positive("duration", duration)
    steps = step_count(span, step)
    h, c = span / steps, robot.coordinates
    # Drake takes these steps in one call, without checking for an interrupt.
    inside = max(parts, step_count(h, period) if period else 1)
    if inside > MAX_SUBSTEPS:
        raise ModelError(
            f"{inside:,} steps of Drake between two samples {h:g} s apart exceed the limit of {MAX_SUBSTEPS:,}: use a "
            "larger time_step, fewer substeps, or a smaller step"
        )
    if accuracy is not None and positive("accuracy", accuracy) < MIN_ACCURACY:
        raise ModelError(f"accuracy must be at least {MIN_ACCURACY:g}, the level of rounding, got {accuracy!r}")
    recorder = Recorder(robot, controller, step=h, samples=steps + 1, p=p, controller_p=controller_p, t0=start)
    state = vector("q0", q0, c.nq), vector("v0", v0, c.nv)
    plant, _ = build_plant(robot, None, recorder.p, period)
    match(robot, plant, p=recorder.p).check()
    states, _ = match_states(robot, plant)
    builder = framework.DiagramBuilder()
    builder.AddSystem(plant)
    law: ControllerSystem | None = None
    if controller is not None:
        law = build_controller_system(
            controller, robot, plant, states, p=recorder.p, controller_p=recorder.controller_p
        )
        builder.AddSystem(law)
        builder.Connect(plant.get_state_output_port(), law.GetInputPort("state"))
        force = plant.get_applied_generalized_force_input_port()
        builder.Connect(law.GetOutputPort("generalized_force"), force)
    simulator: Simulator = analysis.Simulator(builder.Build())
    _set_integrator(simulator, integrator, accuracy, h / parts)
    context = simulator.get_mutable_context()
    context.SetTime(start)
    own = plant.GetMyMutableContextFromRoot(context)
    plant.SetPositionsAndVelocities(own, np.concatenate(states.to_model(*state)))
    try:
        for k, t in enumerate(recorder.times()):
            try:
                if k:
                    simulator.AdvanceTo(t)
                    x = plant.GetPositionsAndVelocities(own)
                    state = states.from_model(x[: states.nq], x[states.nq :])
            except (Exception, SystemExit) as error:
                raise recorder.fail(error) from error
            recorder.tick(*state)
            if controller is not None and law is not None:
                law.remember(law.GetMyMutableContextFromRoot(context), controller.memory)
    except KeyboardInterrupt as interrupt:
        raise SimulationInterrupted(recorder.trajectory("interrupted")) from interrupt
    return recorder.trajectory()


def _set_integrator(simulator: Simulator, scheme: str, accuracy: float | None, step: float) -> None:
    analysis = import_optional("pydrake.systems.analysis", "drake")
    schemes: list[str] = analysis.GetIntegrationSchemes()
    if scheme not in schemes:
        raise BridgeError(f"integrator must be one of {', '.join(schemes)}, got {scheme!r}")
    with drake_errors(f"the integrator {scheme!r} for this plant"):
        analysis.ResetIntegratorFromFlags(simulator, scheme, step)
    integrator = simulator.get_mutable_integrator()
    integrator.set_maximum_step_size(step)
    if accuracy is None:
        integrator.set_fixed_step_mode(True)
        return
    try:
        integrator.set_target_accuracy(positive("accuracy", accuracy))
    except RuntimeError as error:
        raise BridgeError(
            f"Drake's {scheme} has no error control: pass accuracy=None, or another integrator of {', '.join(schemes)}"
        ) from error
    integrator.set_requested_minimum_step_size(MIN_STEP_RATIO * step)
    integrator.set_throw_on_minimum_step_size_violation(False)
