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
    """Run a plant that comes as an FMU for co-simulation in FMPy, under a law that is asked once for each step.

    The FMU's variables are matched by name with ``q.…``, ``v.…`` and ``u.…`` of the law's model, as
    :func:`~erugin.bridges.fmi.export` calls them, and must have the same units; those that tell none, or
    one that is not known, are listed by a BridgeWarning. Inputs are held over a step; a law with memory, or one that is
    computed in Python, is as good as any.

    Args:
        controller: the law; inputs u, not forces.
        model: path of the FMU.
        duration: [s].
        step: of the law and of communication [s]; made a little smaller if it does not divide the duration.
        p: the law's parameters, its robot's among them: nominal, overridden by name, or the whole vector.
        values: of the FMU's parameters and states at the start, by its names; its own if not given.
        names: what the FMU calls a variable, by our name, where that is another: ``{"q.q1": "shoulder.phi"}``.
        t0: time of the start [s].

    Returns:
        The samples; their energies are those of the law's model.

    Raises:
        BridgeError: for a law that gives forces, a name that the FMU does not have (both lists are told), units that
            disagree, or an FMU that cannot be loaded.
        ParameterError, ShapeError: for bad numbers.
        SimulationError: if the FMU or the law has to stop; the trajectory so far is attached.
        MissingPackageError: if FMPy is not installed.
    """
    robot, own = controller.robot, model_parameters(controller, p)
    if controller.applies_force:
        raise BridgeError(
            f"{type(controller).__name__} gives generalized forces, but an FMU takes inputs: take "
            "realization='actuated'"
        )
    labels, nq = Labels.of(robot, controller), robot.coordinates.nq
    read = [*state_variables(robot, labels, *start_values(robot, None, None))]
    written = [computed_variable(f"u.{name}", unit, f"input {name}") for name, unit in labels.inputs]
    span, begin = positive("duration", duration), finite("t0", t0)
    steps = step_count(span, step)
    h = span / steps
    with Instance(model, values, t0=begin) as instance:
        untold: list[str] = []
        outward = _match_variables(read, instance, "variables q and v", names, untold)
        inward = _match_variables(written, instance, "inputs", names, untold)
        if untold:
            warnings.warn(
                f"whether units are the same is not known: {'; '.join(untold)}. Numbers are taken as they are",
                BridgeWarning,
                stacklevel=caller_stacklevel(),
            )
        recorder = Recorder(robot, controller, step=h, samples=steps + 1, p=own, controller_p=p, t0=begin)
        for k, t in enumerate(recorder.times()):
            x = instance.get(outward)
            u = recorder.tick(x[:nq], x[nq:])
            if k < steps:
                try:
                    instance.set(dict(zip(inward, u.tolist(), strict=True)))
                    instance.step(t, h)
                except BridgeError as error:
                    raise recorder.fail(error) from error
    return recorder.trajectory()


def _match_variables(
    ours: list[Variable], instance: Instance, what: str, names: Mapping[str, str] | None, untold: list[str]
) -> list[str]:
    """Names of the FMU's variables, in the order of ours, once their units agree; in ``untold`` what cannot be told."""
    theirs = list(instance.variables)
    found = [
        theirs[i] for i in match_names([own.name for own in ours], theirs, what=what, where="the FMU", names=names)
    ]
    for own, name in zip(ours, found, strict=True):
        unit, other = Unit.of(own.unit), instance.unit(name)
        if unit is None or other is None or unit.exponents is None or other.exponents is None:
            # Units of one name are the same, whatever they are.
            if (unit and unit.name) != (other and other.name):
                untold.append(f"{own.name} is {_in(unit)} here, {name} {_in(other)} there")
        else:
            _require_unit(own.name, unit, name, other)
    return found


def _in(unit: Unit | None) -> str:
    if unit is None:
        return "without a unit"
    return f"in {unit.name}" if unit.exponents is not None else f"in {unit.name!r}, of which nothing is known,"


def _require_unit(name: str, unit: Unit, their: str, other: Unit) -> None:
    alike = unit.exponents == other.exponents
    if not alike or not math.isclose(unit.factor, other.factor, rel_tol=1e-12):
        worth = f", and 1 there is {other.factor / unit.factor:.6g} here" if alike else ""
        raise BridgeError(
            f"{name} is in {unit.name}, but {their} of the FMU in {other.name}: their units must be the same{worth}; "
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
    """Run the FMU of a plant and its law in FMPy; arguments and record are those of ``erugin.scenarios.simulate``.

    The law is inside the FMU and acts at all stages of a step, as it does here. The law here is asked once for each
    sample that the FMU gives, for the record.

    Args:
        robot: the plant.
        controller: what drives it, with a symbolic law; None for a free motion.
        q0: coordinates at the start, shape (nq,).
        v0: velocities at the start, shape (nv,).
        duration: [s].
        step: of communication, and of RK4 inside [s]; made a little smaller if it does not divide the duration.
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        controller_p: the controller's parameters, likewise.
        t0: time of the start [s].
        version: of FMI.

    Raises:
        BridgeError: for a law that cannot become an FMU, or a start that the FMU refuses.
        ShapeError, ModelError, ParameterError: for bad input.
        SimulationError: if the FMU or the law has to stop; the trajectory so far is attached.
        MissingPackageError: if FMPy is not installed.
    """
    import_optional("fmpy", "fmi")
    span, begin = positive("duration", duration), finite("t0", t0)
    steps = step_count(span, step)
    h = span / steps
    recorder = Recorder(robot, controller, step=h, samples=steps + 1, p=p, controller_p=controller_p, t0=begin)
    with tempfile.TemporaryDirectory(prefix="erugin-fmu-") as folder:
        path = Path(folder) / "loop.fmu"
        if controller is None:
            fmu = export(robot, path, version=version, q0=q0, v0=v0, p=p, step=h)
        else:
            fmu = export(
                controller, path, version=version, with_plant=robot, q0=q0, v0=v0, p=controller_p, plant_p=p, step=h
            )
        states, nq = [state.name for state in fmu.states], robot.coordinates.nq
        with Instance(path, t0=begin) as instance:
            for k, t in enumerate(recorder.times()):
                x = instance.get(states)
                recorder.tick(x[:nq], x[nq:])
                if k < steps:
                    try:
                        instance.step(t, h)
                    except BridgeError as error:
                        raise recorder.fail(error) from error
    return recorder.trajectory()
