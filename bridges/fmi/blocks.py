"""A law, a plant and a closed loop as blocks of named variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import starmap

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.augmentation import require_regular
from ...robots.robot import Robot
from ...scenarios.close_loop import close_loop
from ...scenarios.labels import Labels
from ...scenarios.natural_rank import natural_pivots
from ...symbolic.errors import BridgeError, ParameterError, unknown_name
from ...symbolic.parameters import Range
from ...symbolic.semidefinite import TOLERANCE
from ..c.written_law import written_law
from .block import Block, Variable
from .names import structured
from .signals import (
    NOTHING,
    applied,
    build,
    energy_variable,
    judged,
    output_variables,
    parameter,
    parameter_variables,
    point_variables,
    start_values,
    state_variables,
    variable,
)

Values = Mapping[str, float] | ArrayLike | None
BECOME = "become an FMU"


def law_block(
    controller: Controller, name: str, *, q0: ArrayLike | None, v0: ArrayLike | None, p: Values, step: float
) -> Block:
    """A control law: (t, q, v) in, u or R out.

    Args:
        controller: with a symbolic law.
        name: C identifier of the model.
        q0: coordinates before any come in, shape (nq,); the neutral ones if not given.
        v0: velocities likewise, shape (nv,); zero if not given.
        p: the controller's parameters: nominal, overridden by name, or the whole vector.
        step: that is proposed for communication [s].
    """
    law, robot = written_law(controller, BECOME), controller.robot
    c, labels = robot.coordinates, Labels.of(robot, controller)
    # What depends on accelerations is known to the plant alone.
    known = [i for i in range(law.deviation.numel()) if not ca.depends_on(law.deviation[i], c.a)]
    deviation = ca.vertcat(NOTHING, *(law.deviation[i] for i in known))
    told = [(f"deviation.{law.rows[i]}", "", f"deviation of row {law.rows[i]}") for i in known]
    return build(
        robot=robot,
        name=name,
        description=f"{type(controller).__name__} of {robot.name}: (t, q, v) in, {applied(controller)} out",
        t=c.t,
        inputs=[*state_variables(robot, labels, *start_values(robot, q0, v0))],
        i=ca.vertcat(c.q, c.v),
        parameters=[*parameter_variables(controller.parameters, controller.parameters.values(p))],
        p=controller.parameters.symbols,
        outputs=[*output_variables(controller, labels), *starmap(variable, told)],
        y=ca.vertcat(law.output, deviation),
        rows=law.rows,
        pivots=law.relative_pivots,
        tolerances=(law.tolerance,) * len(law.rows),
        step=step,
    )


def plant_block(
    robot: Robot, name: str, *, q0: ArrayLike | None, v0: ArrayLike | None, p: Values, step: float
) -> Block:
    """A robot: u in, motion out, with the natural constraints obeyed.

    Args:
        robot: the plant.
        name: C identifier of the model.
        q0: coordinates at the start, shape (nq,); the neutral ones if not given.
        v0: velocities at the start, shape (nv,); zero if not given.
        p: its parameters: nominal, overridden by name, or the whole vector.
        step: longest internal step of co-simulation [s].
    """
    require_regular(robot)
    c, labels = robot.coordinates, Labels.of(robot)
    inputs = [
        Variable(structured(f"u.{key}"), unit, f"input {key}", 0.0)
        for key, unit in zip(robot.input_names, robot.input_units, strict=True)
    ]
    reactions = [(f"reaction.{row}", "", f"multiplier of natural row {row}") for row in robot.natural_rows]
    points, places = point_variables(robot)
    pivots = natural_pivots(robot, judged(robot))["natural_relative_pivots"]
    rows = robot.natural_rows if pivots.numel() else ()
    return build(
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
        outputs=[energy_variable(labels), *points, *starmap(variable, reactions)],
        y=ca.vertcat(robot.kinetic_energy + robot.potential_energy, places, robot.reactions),
        rows=rows,
        pivots=pivots,
        tolerances=(TOLERANCE,) * len(rows),
        natural=len(rows),
        step=step,
        exchange=True,
    )


def loop_block(
    robot: Robot,
    controller: Controller,
    name: str,
    *,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    p: Values,
    law_p: Values,
    apart: Iterable[str],
    step: float,
    stop: ca.SX | None = None,
) -> Block:
    """A robot under a law: nothing in, motion, inputs, deviations, energy and points out.

    A parameter that plant and law both have is one, that sets both; where their values differ, or it is among
    ``apart``, there are two, ``plant.m1`` and ``law.m1``.

    Args:
        robot: the plant.
        controller: with a symbolic law.
        name: C identifier of the model.
        q0: coordinates at the start, shape (nq,); the neutral ones if not given.
        v0: velocities at the start, shape (nv,); zero if not given.
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        law_p: the controller's parameters, likewise.
        apart: names of parameters of both that can be set for each.
        step: longest internal step [s].
        stop: scalar expression that becomes an output, positive where the motion is at its end; none if not given.
    """
    written_law(controller, BECOME)
    loop = close_loop(robot, controller, stop, judged=judged(robot)).symbolic()
    if loop is None:  # pragma: no cover - a controller with a law makes a symbolic loop
        raise BridgeError(f"{robot.name} and {type(controller).__name__} make no loop of expressions")
    points, places = point_variables(robot)
    labels, own = Labels.of(robot, controller), controller.parameters
    numbers = np.concatenate([robot.parameters.values(p), own.values(law_p)])
    wanted, shared = set(apart), {robot.parameters.names[i] for i, _ in loop.twins}
    for key in wanted - shared:
        raise ParameterError(unknown_name("parameter that plant and law both have", key, shared))
    one = {j: i for i, j in loop.twins if numbers[i] == numbers[j] and robot.parameters.names[i] not in wanted}
    names = [*robot.parameters.names, *own.names]
    for i, j in loop.twins:
        if j not in one:
            names[i], names[j] = f"plant.{names[i]}", f"law.{names[j]}"
    kept = [k for k in range(len(names)) if k not in one]
    allowed = [part.ranges.get(key, Range.ANY) for part in (robot.parameters, own) for key in part.names]
    s, recorded = loop.symbols, loop.recorded
    twin = ca.vertcat(NOTHING, *(s.p[j] for j in one)), ca.vertcat(NOTHING, *(s.p[i] for i in one.values()))
    told = [variable(f"deviation.{row}", "", f"deviation of row {row}") for row in controller.rows]
    ends = [] if stop is None else [variable("stop", "", "positive where the motion is at its end")]
    natural = recorded["natural_relative_pivots"]
    rows = (*controller.rows, *(robot.natural_rows if natural.numel() else ()))
    pivots = ca.vertcat(recorded["relative_pivots"], natural)
    y = ca.vertcat(recorded["output"], recorded["deviation"], recorded["energy"], places, recorded["stop"])
    rate, y, pivots = (ca.substitute(e, *twin) for e in (loop.rate, y, pivots))
    return build(
        robot=robot,
        name=name,
        description=f"{robot.name} under {type(controller).__name__}: motion q, v and {applied(controller)} out",
        t=s.t,
        parameters=[parameter(names[k], float(numbers[k]), allowed[k]) for k in kept],
        p=ca.vertcat(NOTHING, *(s.p[k] for k in kept)),
        states=[*state_variables(robot, labels, *start_values(robot, q0, v0))],
        x=s.x,
        rate=rate,
        outputs=[*output_variables(controller, labels), *told, energy_variable(labels), *points, *ends],
        y=y,
        rows=rows,
        pivots=pivots,
        tolerances=(*(controller.tolerance,) * len(controller.rows), *(TOLERANCE,) * natural.numel()),
        natural=natural.numel(),
        # The pivot 1 of a row that is off is no value to fall from.
        watched=not controller.switches,
        step=step,
    )
