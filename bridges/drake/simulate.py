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
"""Shortest step under error control, as a share of the interval of samples.

At a jump of a law, as of one with limits, the error that can be reached is of the order of the step, and Drake would go
down to 1e-14 s."""
MAX_SUBSTEPS = 1_000_000
"""Steps of Drake in one interval of samples."""
MIN_ACCURACY = 1e-13
"""Least accuracy."""
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
    """Simulate what :func:`export` makes of a robot, with the law as a system of the same diagram.

    The law is asked at every stage of Drake's integrator, as in a simulation here, and takes in one sample per step.
    Equal steps are the default: of order 5 they come to 1e-9 with a few hundred steps per second, where Drake's control
    of the error of the same scheme stays at some 1e-7 however small the ``accuracy``, because of steps that it rejects.

    Args:
        robot: the plant.
        controller: what drives it, or None.
        q0: coordinates, shape (nq,).
        v0: velocities, shape (nv,).
        duration: [s].
        step: interval of samples [s].
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        controller_p: the controller's parameters, likewise.
        t0: time of the start [s].
        integrator: Drake's name of that of a continuous plant.
        substeps: the integrator's steps in one interval, at least.
        accuracy: to which it controls its error, by more steps than ``substeps`` but none shorter than a thousandth of
            theirs; None for equal steps.
        time_step: 0 for a continuous plant, otherwise the step of a discrete one [s]; such a plant enforces limits of
            joints, and its error is of the order of that step.

    Returns:
        The samples, with the controller's output as recorded here.

    Raises:
        BridgeError: for a robot that URDF or Drake cannot carry over whole.
        ShapeError, ModelError, ParameterError: for bad input.
        SimulationError: if the law has to stop, or Drake cannot go on; the trajectory so far is attached.
        SimulationInterrupted: on Ctrl-C, likewise.
        MissingPackageError: if Drake is not installed.
    """
    analysis, framework = (import_optional(f"pydrake.systems.{name}", "drake") for name in ("analysis", "framework"))
    parts, period, begin = (
        whole("substeps", substeps),
        not_negative("time_step", time_step),
        finite("t0", t0),
    )
    span = positive("duration", duration)
    steps = step_count(span, step)
    h, c = span / steps, robot.coordinates
    # Drake takes them without asking whether to go on.
    inside = max(parts, step_count(h, period) if period else 1)
    if inside > MAX_SUBSTEPS:
        raise ModelError(
            f"{inside:,} steps of Drake in one interval of {h:g} s are more than {MAX_SUBSTEPS:,}: take a larger "
            "time_step, fewer substeps, or a smaller step"
        )
    if accuracy is not None and positive("accuracy", accuracy) < MIN_ACCURACY:
        raise ModelError(f"accuracy must be at least {MIN_ACCURACY:g}, below which lies rounding, got {accuracy!r}")
    recorder = Recorder(robot, controller, step=h, samples=steps + 1, p=p, controller_p=controller_p, t0=begin)
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
    context.SetTime(begin)
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
        raise BridgeError(f"Drake has no integrator {scheme!r}; its schemes: {', '.join(schemes)}")
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
            f"Drake's {scheme} takes steps of one length only: pass accuracy=None, or another scheme of "
            f"{', '.join(schemes)}"
        ) from error
    integrator.set_requested_minimum_step_size(MIN_STEP_RATIO * step)
    integrator.set_throw_on_minimum_step_size_violation(False)
