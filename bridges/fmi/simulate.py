"""Closed loops run by FMPy: a controller with a plant that is an FMU, or the whole loop as one FMU."""

from __future__ import annotations

import math
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...simulation.labels import Labels
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import finite, positive, step_count
from ..common.controller_memory import model_parameters
from ..common.name_matching import match_names
from ..common.recorder import Recorder
from .export import Version, export
from .instance import Instance
from .model_assembly import computed_variable, start_values, state_variables
from .unit_definitions import Unit

if TYPE_CHECKING:
    from .fmu_model import Variable


Values = Mapping[str, float] | ArrayLike | None


def drive(
    controller: Controller,
    model: str | os.PathLike[str],
    duration: float,
    *,
    step: float,
    p: Values = None,
    values: Mapping[str, float] | None = None,
    names: Mapping[str, str] | None = None,
    t0: float = 0.0,
) -> Trajectory:
    """Run a plant given as an FMU for co-simulation in FMPy, under a controller that is called once per step.

    The FMU's variables are matched by name with ``q.…``, ``v.…`` and ``u.…`` of the controller's robot, in the notation
    of :func:`~erugin.bridges.fmi.export`, and must have the same units; a BridgeWarning lists missing or unknown ones.
    Inputs are constant over a step. Any controller can be used, with memory or computed in Python too.

    Args:
        controller: the controller; its outputs must be inputs u, not forces.
        model: path of the FMU.
        duration: duration [s].
        step: step of the controller and of communication [s]; reduced slightly if it does not divide the duration.
        p: the controller's parameters, its robot's included: nominal, overridden by name, or the whole vector.
        values: start values of the FMU's parameters and states, by its names; those of the FMU if not given.
        names: name in Erugin → name in the FMU, for those that differ: ``{"q.q1": "shoulder.phi"}``.
        t0: time of the start [s].

    Returns:
        The samples; their energies are those of the controller's robot.

    Raises:
        BridgeError: for a controller that applies forces, a name that the FMU does not have (the message lists both
            sides), units that disagree, or an FMU that cannot be loaded.
        ParameterError, ShapeError: for invalid numbers.
        SimulationError: if the FMU or the controller has to stop; the trajectory so far is attached.
        MissingPackageError: if FMPy is not installed.
    """
    robot, own = controller.robot, model_parameters(controller, p)
    if controller.applies_force:
        raise BridgeError(
            f"the output of {type(controller).__name__} is a generalized force, but an FMU has inputs u: use "
            "realization='actuated'"
        )
    labels, nq = Labels.of(robot, controller), robot.coordinates.nq
    states = [*state_variables(robot, labels, *start_values(robot, None, None))]
    inputs = [computed_variable(f"u.{name}", unit, f"input {name}") for name, unit in labels.inputs]
    span, start = positive("duration", duration), finite("t0", t0)
    steps = step_count(span, step)
    h = span / steps
    with Instance(model, values, t0=start) as instance:
        unknown: list[str] = []
        read = _match_variables(states, instance, "variables q and v", names, unknown)
        written = _match_variables(inputs, instance, "inputs", names, unknown)
        if unknown:
            warnings.warn(
                f"units cannot be compared: {'; '.join(unknown)}. Values are passed without conversion",
                BridgeWarning,
                stacklevel=caller_stacklevel(),
            )
        recorder = Recorder(robot, controller, step=h, samples=steps + 1, p=own, controller_p=p, t0=start)
        for k, t in enumerate(recorder.times()):
            x = instance.get(read)
            u = recorder.tick(x[:nq], x[nq:])
            if k < steps:
                try:
                    instance.set(dict(zip(written, u.tolist(), strict=True)))
                    instance.step(t, h)
                except BridgeError as error:
                    raise recorder.fail(error) from error
    return recorder.trajectory()


def _match_variables(
    ours: list[Variable], instance: Instance, kind: str, names: Mapping[str, str] | None, unknown: list[str]
) -> list[str]:
    """Names of the FMU's variables, in the order of ours; units that cannot be compared are added to ``unknown``."""
    theirs = list(instance.variables)
    found = [
        theirs[i] for i in match_names([own.name for own in ours], theirs, what=kind, where="the FMU", names=names)
    ]
    for own, name in zip(ours, found, strict=True):
        unit, other = Unit.of(own.unit), instance.unit(name)
        if unit is None or other is None or unit.exponents is None or other.exponents is None:
            # Unknown units of the same name agree.
            if (unit and unit.name) != (other and other.name):
                unknown.append(f"{own.name} is {_in(unit)} in the robot, {name} is {_in(other)} in the FMU")
        else:
            _require_unit(own.name, unit, name, other)
    return found


def _in(unit: Unit | None) -> str:
    if unit is None:
        return "without a unit"
    return f"in {unit.name}" if unit.exponents is not None else f"in the unknown unit {unit.name!r}"


def _require_unit(name: str, unit: Unit, their: str, other: Unit) -> None:
    compatible = unit.exponents == other.exponents
    if not compatible or not math.isclose(unit.factor, other.factor, rel_tol=1e-12):
        factor = f", and 1 in the FMU is {other.factor / unit.factor:.6g} in the robot" if compatible else ""
        raise BridgeError(
            f"{name} is in {unit.name}, but {their} of the FMU in {other.name}: their units must be the same{factor}; "
            "convert it in the FMU"
        )


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
    version: Version = "3.0",
) -> Trajectory:
    """Run the FMU of a closed loop in FMPy; arguments and result are those of ``erugin.scenarios.simulate``.

    The FMU contains the law and evaluates it at all stages of a step, as Erugin's own simulation does. The controller
    in Python is called once per sample, for the record.

    Args:
        robot: the plant.
        controller: controller with a symbolic law; None for a free motion.
        q0: coordinates at the start, shape (nq,).
        v0: velocities at the start, shape (nv,).
        duration: duration [s].
        step: step of communication, and of RK4 inside [s]; reduced slightly if it does not divide the duration.
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        controller_p: the controller's parameters, likewise.
        t0: time of the start [s].
        version: version of FMI.

    Raises:
        BridgeError: for a controller that cannot become an FMU, or a start that the FMU rejects.
        ShapeError, ModelError, ParameterError: for invalid input.
        SimulationError: if the FMU or the controller has to stop; the trajectory so far is attached.
        MissingPackageError: if FMPy is not installed.
    """
    import_optional("fmpy", "fmi")
    span, start = positive("duration", duration), finite("t0", t0)
    steps = step_count(span, step)
    h = span / steps
    recorder = Recorder(robot, controller, step=h, samples=steps + 1, p=p, controller_p=controller_p, t0=start)
    with tempfile.TemporaryDirectory(prefix="erugin-fmu-") as folder:
        path = Path(folder) / "loop.fmu"
        if controller is None:
            fmu = export(robot, path, version=version, q0=q0, v0=v0, p=p, step=h)
        else:
            fmu = export(
                controller, path, version=version, with_plant=robot, q0=q0, v0=v0, p=controller_p, plant_p=p, step=h
            )
        states, nq = [state.name for state in fmu.states], robot.coordinates.nq
        with Instance(path, t0=start) as instance:
            for k, t in enumerate(recorder.times()):
                x = instance.get(states)
                recorder.tick(x[:nq], x[nq:])
                if k < steps:
                    try:
                        instance.step(t, h)
                    except BridgeError as error:
                        raise recorder.fail(error) from error
    return recorder.trajectory()
