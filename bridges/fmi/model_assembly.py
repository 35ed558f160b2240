"""Assembly of FMU models from a controller, a plant or a closed loop: variables and equations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...controllers.law import Law
from ...controllers.status import Status
from ...robots.robot import Robot
from ...simulation.closed_loop import close_loop
from ...simulation.labels import Labels
from ...simulation.natural_rank import natural_pivots
from ...symbolic.errors import ParameterError, unknown_name
from ...symbolic.linear_algebra import PIVOT_TOLERANCE
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import vector
from ..common.symbolic_law import require_symbolic_law
from .fmu_model import FmuModel, Variable, structured_name, unique_names
from .unit_inference import parameter_units

Array = NDArray[np.float64]
NO_STATE = ca.SX(0, 1)
AXES = "xyz"


def requires_independent_rows(robot: Robot) -> bool:
    """True if dependent natural rows are an error; some robots allow them.

    Args:
        robot: the plant.
    """
    return robot.redundant != "least-norm"


def start_values(robot: Robot, q0: ArrayLike | None, v0: ArrayLike | None) -> tuple[Array, Array]:
    """Coordinates and velocities at the start, shapes (nq,) and (nv,).

    Args:
        robot: the robot.
        q0: coordinates, shape (nq,); the neutral position of all joints if not given.
        v0: velocities, shape (nv,); zero if not given.

    Raises:
        ShapeError: for another shape, or numbers that are not finite.
    """
    c = robot.coordinates
    q, v = np.zeros(c.nq), np.zeros(c.nv)
    if q0 is not None:
        q = vector("q0", q0, c.nq)
    elif robot.tree is not None:
        neutral = {
            f"{node.name}{suffix}": value
            for node in robot.tree.nodes
            for suffix, value in zip(node.joint.suffixes, node.joint.neutral(), strict=True)
        }
        q = np.array([neutral.get(name, 0.0) for name in c.names])
    return q, v if v0 is None else vector("v0", v0, c.nv)


def state_variables(robot: Robot, labels: Labels, q: Array, v: Array) -> Iterator[Variable]:
    """Yield the variables of the coordinates, then those of the velocities.

    Args:
        robot: the robot.
        labels: its names and units.
        q: coordinates at the start, shape (nq,).
        v: velocities at the start, shape (nv,).
    """
    for (name, unit), value in zip(labels.coordinates, q.tolist(), strict=True):
        yield Variable(structured_name(f"q.{name}"), unit, f"coordinate {name} of {robot.name}", value)
    kind = "rate of" if robot.coordinates.are_rates else "quasi-velocity"
    for (name, unit), value in zip(labels.velocities, v.tolist(), strict=True):
        yield Variable(structured_name(f"v.{name}"), unit, f"{kind} {name} of {robot.name}", value)


def output_variables(controller: Controller, labels: Labels) -> list[Variable]:
    """Variables of a controller's output u or R.

    Args:
        controller: the controller.
        labels: names and units of its robot.
    """
    if not controller.applies_force:
        return [computed_variable(f"u.{name}", unit, f"input {name}") for name, unit in labels.inputs]
    pairs = zip(labels.velocities.names, labels.inputs.units, strict=True)
    return [computed_variable(f"R.{name}", unit, f"generalized force along {name}") for name, unit in pairs]


def output_description(controller: Controller) -> str:
    """A controller's output in words.

    Args:
        controller: the controller.
    """
    return "generalized forces R" if controller.applies_force else "inputs u"


def parameter_variables(parameters: Parameters, values: Array) -> Iterator[Variable]:
    """Yield the variables of parameters, with values and ranges.

    Args:
        parameters: parameters of a robot or a controller.
        values: their values, shape (np,).
    """
    for name, value in zip(parameters.names, values.tolist(), strict=True):
        yield parameter_variable(name, value, parameters.ranges.get(name, Range.ANY))


def parameter_variable(name: str, value: float, allowed: Range) -> Variable:
    """Variable of a parameter.

    Args:
        name: name in Erugin.
        value: value at the start.
        allowed: range of allowed values.
    """
    return Variable(structured_name(name), "", f"parameter {name}, {allowed.value}", value, allowed)


def energy_variable(labels: Labels) -> Variable:
    """Variable of the energy T + V.

    Args:
        labels: names and units of the robot.
    """
    return computed_variable("energy", labels.energy_unit, "kinetic and potential energy, T + V")


def point_variables(robot: Robot) -> tuple[list[Variable], ca.SX]:
    """Variables of the coordinates of the named points, and their expressions as one column.

    Args:
        robot: the robot.
    """
    named = [
        computed_variable(
            f"point.{key}.{AXES[k] if k < len(AXES) else k}", "m", f"{AXES[k : k + 1]} coordinate of point {key}"
        )
        for key, position in robot.points.items()
        for k in range(position.numel())
    ]
    return named, ca.vertcat(NO_STATE, *(ca.vec(ca.densify(position)) for position in robot.points.values()))


def computed_variable(name: str, unit: str, description: str) -> Variable:
    """Variable of a calculated quantity.

    Args:
        name: name, with parts separated by points.
        unit: unit in Erugin's notation.
        description: description for other tools.
    """
    return Variable(structured_name(name), unit, description)


def build_model(
    *,
    name: str,
    description: str,
    t: ca.SX,
    parameters: Sequence[Variable],
    p: ca.SX,
    outputs: Sequence[Variable],
    y: ca.SX,
    rows: Sequence[str],
    pivots: ca.SX,
    tolerances: Sequence[float],
    step: float,
    inputs: Sequence[Variable] = (),
    i: ca.SX = NO_STATE,
    states: Sequence[Variable] = (),
    x: ca.SX = NO_STATE,
    rate: ca.SX = NO_STATE,
    exchange: bool = False,
    watched: bool = True,
    natural: int = 0,
    robot: Robot,
    law: Law | None = None,
    period: float | None = None,
) -> FmuModel:
    """Build a model with distinct names, and with units of parameters as far as the equations determine them.

    Args:
        name: C identifier of the model.
        description: description for other tools.
        t: time, a symbol [s].
        parameters: variables of p.
        p: symbols of the parameters.
        outputs: variables of y.
        y: expressions of the outputs.
        rows: names of rows that must stay independent.
        pivots: pivots of the rows.
        tolerances: tolerance of each row.
        step: longest internal step, or proposed communication step [s].
        inputs: variables of i; none if not given.
        i: symbols of the inputs.
        states: variables of x; none if not given.
        x: symbols of the states.
        rate: ẋ.
        exchange: True if the FMU supports model exchange too.
        watched: True if a run ends when a pivot is about to vanish within a step.
        natural: number of natural rows, which are the last of the rows.
        robot: the robot of the expressions; its energy and points help to find units of parameters.
        law: law whose memory the model has, in its symbols; None without a memory.
        period: time between its samples [s].
    """
    groups = [list(inputs), list(parameters), list(states), list(outputs)]
    names = iter(unique_names(["time", *(each.name for group in groups for each in group)])[1:])
    renamed = [tuple(replace(each, name=next(names)) for each in group) for group in groups]
    block = FmuModel(
        name=name,
        description=description,
        t=t,
        inputs=renamed[0],
        i=i,
        parameters=renamed[1],
        p=p,
        states=renamed[2],
        x=x,
        rate=ca.densify(rate),
        outputs=renamed[3],
        y=ca.densify(y),
        rows=tuple(rows),
        pivots=ca.densify(pivots),
        tolerances=tuple(tolerances),
        natural=(False,) * (len(rows) - natural) + (True,) * natural,
        watched=watched,
        step=step,
        exchange=exchange,
    )
    if law is not None and period is not None and law.z.numel():
        initial = tuple(law.initial.tolist())
        block = replace(block, z=law.z, updated=ca.densify(law.updated), initial=initial, period=period)
    labels, (points, positions) = Labels.of(robot), point_variables(robot)
    anchors = ca.vertcat(robot.kinetic_energy, robot.potential_energy, positions)
    found = parameter_units(block, anchors, [labels.energy_unit] * 2 + [point.unit for point in points])
    pairs = zip(block.parameters, found, strict=True)
    return replace(block, parameters=tuple(replace(each, unit=each.unit or unit) for each, unit in pairs))


Values = Mapping[str, float] | ArrayLike | None
EXPORT_PHRASE = "become an FMU"


def controller_model(
    controller: Controller,
    name: str,
    *,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    p: Values,
    step: float,
    period: float | None = None,
) -> FmuModel:
    """Build the model of a control law: (t, q, v) in, u or R out.

    Args:
        controller: controller with a symbolic law.
        name: C identifier of the model.
        q0: start values of the coordinates, shape (nq,); the neutral ones if not given.
        v0: start values of the velocities, shape (nv,); zero if not given.
        p: the controller's parameters: nominal, overridden by name, or the whole vector.
        step: proposed communication step [s].
        period: time between samples of a law with a memory [s].
    """
    law = require_symbolic_law(controller, EXPORT_PHRASE, period=period)
    robot = controller.robot
    c, labels = robot.coordinates, Labels.of(robot, controller)
    # Accelerations are known in the plant only.
    known = [i for i in range(law.deviation.numel()) if not ca.depends_on(law.deviation[i], c.a)]
    deviation = ca.vertcat(NO_STATE, *(law.deviation[i] for i in known))
    deviations = [(f"deviation.{law.rows[i]}", "", f"deviation of row {law.rows[i]}") for i in known]
    return build_model(
        robot=robot,
        name=name,
        description=f"{type(controller).__name__} of {robot.name}: (t, q, v) in, {output_description(controller)} out",
        t=c.t,
        inputs=[*state_variables(robot, labels, *start_values(robot, q0, v0))],
        i=ca.vertcat(c.q, c.v),
        parameters=[*parameter_variables(controller.parameters, controller.parameters.values(p))],
        p=controller.parameters.symbols,
        outputs=[*output_variables(controller, labels), *starmap(computed_variable, deviations), *_status(law)],
        y=ca.vertcat(law.output, deviation, law.status),
        law=law,
        period=period,
        rows=law.rows,
        pivots=law.relative_pivots,
        tolerances=(law.tolerance,) * len(law.rows),
        step=step,
    )


def plant_model(
    robot: Robot, name: str, *, q0: ArrayLike | None, v0: ArrayLike | None, p: Values, step: float
) -> FmuModel:
    """Build the model of a robot with its natural constraints: u in, motion out.

    Args:
        robot: the plant.
        name: C identifier of the model.
        q0: coordinates at the start, shape (nq,); the neutral ones if not given.
        v0: velocities at the start, shape (nv,); zero if not given.
        p: its parameters: nominal, overridden by name, or the whole vector.
        step: longest internal step of co-simulation [s].
    """
    robot.require_regular_mass_matrix()
    c, labels = robot.coordinates, Labels.of(robot)
    inputs = [
        Variable(structured_name(f"u.{key}"), unit, f"input {key}", 0.0)
        for key, unit in zip(robot.input_names, robot.input_units, strict=True)
    ]
    reactions = [(f"reaction.{row}", "", f"multiplier of natural row {row}") for row in robot.natural_rows]
    points, positions = point_variables(robot)
    pivots = natural_pivots(robot, requires_independent_rows(robot))["natural_relative_pivots"]
    rows = robot.natural_rows if pivots.numel() else ()
    return build_model(
        robot=robot,
        name=name,
        description=f"{robot.name}: inputs u in, motion q, v out",
        t=c.t,
        inputs=inputs,
        i=robot.u,
        parameters=[*parameter_variables(robot.parameters, robot.parameters.values(p))],
        p=robot.p,
        states=[*state_variables(robot, labels, *start_values(robot, q0, v0))],
        x=ca.vertcat(c.q, c.v),
        rate=ca.vertcat(c.N @ c.v, robot.acceleration),
        outputs=[energy_variable(labels), *points, *starmap(computed_variable, reactions)],
        y=ca.vertcat(robot.kinetic_energy + robot.potential_energy, positions, robot.reactions),
        rows=rows,
        pivots=pivots,
        tolerances=(PIVOT_TOLERANCE,) * len(rows),
        natural=len(rows),
        step=step,
        exchange=True,
    )


def closed_loop_model(
    robot: Robot,
    controller: Controller,
    name: str,
    *,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    p: Values,
    controller_p: Values,
    separate: Iterable[str],
    step: float,
    stop: ca.SX | None = None,
    period: float | None = None,
) -> FmuModel:
    """Build the model of a closed loop: motion, inputs, deviations, energy and points out.

    A parameter common to plant and law is one parameter, which sets both; if their values differ, or it is in
    ``separate``, there are two, ``plant.m1`` and ``law.m1``.

    Args:
        robot: the plant.
        controller: controller with a symbolic law.
        name: C identifier of the model.
        q0: coordinates at the start, shape (nq,); the neutral ones if not given.
        v0: velocities at the start, shape (nv,); zero if not given.
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        controller_p: the controller's parameters, likewise.
        separate: names of common parameters that can be set separately for plant and law.
        step: longest internal step [s].
        stop: scalar expression of a further output, positive at the end of the motion; none if not given.
        period: time between samples of a law with a memory [s].
    """
    law = require_symbolic_law(controller, EXPORT_PHRASE, period=period)
    independent = requires_independent_rows(robot)
    loop = close_loop(robot, controller, stop, monitor_rank=independent, law=law).symbolic()
    assert loop is not None
    assert loop.law is not None
    points, positions = point_variables(robot)
    labels, own = Labels.of(robot, controller), controller.parameters
    numbers = np.concatenate([robot.parameters.values(p), own.values(controller_p)])
    split, common = set(separate), {robot.parameters.names[i] for i, _ in loop.shared_parameters}
    for key in split - common:
        raise ParameterError(unknown_name("parameter common to plant and law", key, common))
    merged = {
        j: i for i, j in loop.shared_parameters if numbers[i] == numbers[j] and robot.parameters.names[i] not in split
    }
    names = [*robot.parameters.names, *own.names]
    for i, j in loop.shared_parameters:
        if j not in merged:
            names[i], names[j] = f"plant.{names[i]}", f"law.{names[j]}"
    remaining = [k for k in range(len(names)) if k not in merged]
    allowed = [part.ranges.get(key, Range.ANY) for part in (robot.parameters, own) for key in part.names]
    s, recorded = loop.symbols, loop.outputs
    twin = ca.vertcat(NO_STATE, *(s.p[j] for j in merged)), ca.vertcat(NO_STATE, *(s.p[i] for i in merged.values()))
    deviations = [computed_variable(f"deviation.{row}", "", f"deviation of row {row}") for row in controller.rows]
    ends = [] if stop is None else [computed_variable("stop", "", "positive at the end of the motion")]
    natural = recorded["natural_relative_pivots"]
    rows = (*controller.rows, *(robot.natural_rows if natural.numel() else ()))
    pivots = ca.vertcat(recorded["relative_pivots"], natural)
    y = ca.vertcat(recorded["output"], recorded["deviation"], recorded["energy"], positions, recorded["stop"])
    y = ca.vertcat(y, recorded["status"])
    rate, y, pivots = (ca.substitute(e, *twin) for e in (loop.rate, y, pivots))
    return build_model(
        robot=robot,
        name=name,
        description=(
            f"{robot.name} under {type(controller).__name__}: motion q, v and {output_description(controller)} out"
        ),
        t=s.t,
        parameters=[parameter_variable(names[k], float(numbers[k]), allowed[k]) for k in remaining],
        p=ca.vertcat(NO_STATE, *(s.p[k] for k in remaining)),
        states=[*state_variables(robot, labels, *start_values(robot, q0, v0))],
        x=s.x,
        rate=rate,
        outputs=[
            *(*output_variables(controller, labels), *deviations, energy_variable(labels), *points, *ends),
            *_status(law),
        ],
        y=y,
        law=loop.law.at(*twin),
        period=period,
        rows=rows,
        pivots=pivots,
        tolerances=(*(controller.tolerance,) * len(controller.rows), *(PIVOT_TOLERANCE,) * natural.numel()),
        natural=natural.numel(),
        # A row that is off has the pivot 1, from which no trend can be computed.
        watched=not controller.switches,
        step=step,
    )


def _status(law: Law) -> list[Variable]:
    """The variable of the status of a law that has one."""
    meaning = ", ".join(f"{int(status)} {status.name}" for status in (Status.OK, Status.LIMITED, Status.HELD))
    return [computed_variable("status", "", f"status of the law: {meaning}")] if law.status.numel() else []
