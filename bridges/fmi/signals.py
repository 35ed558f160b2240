"""Variables of robots and laws: names, units, descriptions and values at the start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.labels import Labels
from ...symbolic.arrays import vector
from ...symbolic.parameters import Parameters, Range
from .block import Block, Variable
from .dimensions import parameter_units
from .names import structured, unique

Array = NDArray[np.float64]
NOTHING = ca.SX(0, 1)
AXES = "xyz"


def judged(robot: Robot) -> bool:
    """Whether natural rows that depend on others are an error; in some robots they always are, and may be.

    Args:
        robot: the plant.
    """
    return robot.redundant != "least-norm"


def start_values(robot: Robot, q0: ArrayLike | None, v0: ArrayLike | None) -> tuple[Array, Array]:
    """Coordinates and velocities at the start, shapes (nq,) and (nv,).

    Args:
        robot: whose they are.
        q0: coordinates; where all joints are neutral if not given.
        v0: velocities; zero if not given.

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
    """Coordinates, then velocities.

    Args:
        robot: whose they are.
        labels: its names and units.
        q: coordinates at the start, shape (nq,).
        v: velocities at the start, shape (nv,).
    """
    for (name, unit), value in zip(labels.coordinates, q.tolist(), strict=True):
        yield Variable(structured(f"q.{name}"), unit, f"coordinate {name} of {robot.name}", value)
    what = "rate of" if robot.coordinates.are_rates else "quasi-velocity"
    for (name, unit), value in zip(labels.velocities, v.tolist(), strict=True):
        yield Variable(structured(f"v.{name}"), unit, f"{what} {name} of {robot.name}", value)


def output_variables(controller: Controller, labels: Labels) -> list[Variable]:
    """What a law gives.

    Args:
        controller: the law.
        labels: of the robot under it.
    """
    if not controller.applies_force:
        return [variable(f"u.{name}", unit, f"input {name}") for name, unit in labels.inputs]
    pairs = zip(labels.velocities.names, labels.inputs.units, strict=True)
    return [variable(f"R.{name}", unit, f"generalized force along {name}") for name, unit in pairs]


def applied(controller: Controller) -> str:
    """What a law gives, in words.

    Args:
        controller: the law.
    """
    return "generalized forces R" if controller.applies_force else "inputs u"


def parameter_variables(parameters: Parameters, values: Array) -> Iterator[Variable]:
    """Parameters with their values and what they may be.

    Args:
        parameters: a robot's or a controller's.
        values: shape (np,).
    """
    for name, value in zip(parameters.names, values.tolist(), strict=True):
        yield parameter(name, value, parameters.ranges.get(name, Range.ANY))


def parameter(name: str, value: float, allowed: Range) -> Variable:
    """A parameter.

    Args:
        name: as Erugin has it.
        value: at the start.
        allowed: values that it may have.
    """
    return Variable(structured(name), "", f"parameter {name}, {allowed.value}", value, allowed)


def energy_variable(labels: Labels) -> Variable:
    """T + V.

    Args:
        labels: of the robot.
    """
    return variable("energy", labels.energy_unit, "kinetic and potential energy, T + V")


def point_variables(robot: Robot) -> tuple[list[Variable], ca.SX]:
    """Coordinates of the named points, and their expressions as one column.

    Args:
        robot: whose they are.
    """
    named = [
        variable(f"point.{key}.{AXES[k] if k < len(AXES) else k}", "m", f"{AXES[k : k + 1]} coordinate of point {key}")
        for key, place in robot.points.items()
        for k in range(place.numel())
    ]
    return named, ca.vertcat(NOTHING, *(ca.vec(ca.densify(place)) for place in robot.points.values()))


def variable(name: str, unit: str, description: str) -> Variable:
    """What is calculated.

    Args:
        name: in parts between points.
        unit: as Erugin writes it.
        description: what it is.
    """
    return Variable(structured(name), unit, description)


def build(
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
    i: ca.SX = NOTHING,
    states: Sequence[Variable] = (),
    x: ca.SX = NOTHING,
    rate: ca.SX = NOTHING,
    exchange: bool = False,
    watched: bool = True,
    natural: int = 0,
    robot: Robot,
) -> Block:
    """A block whose names differ, and whose parameters have units where the equations tell them.

    Args:
        name: C identifier of the model.
        description: what it is, in a sentence.
        t: time, a symbol [s].
        parameters: variables of p.
        p: symbols of the parameters.
        outputs: variables of y.
        y: what they are.
        rows: names of rows that must stay independent.
        pivots: of the rows.
        tolerances: one for each row.
        step: longest internal step, or the communication step that is proposed [s].
        inputs: variables of i; none if not given.
        i: symbols of the inputs.
        states: variables of x; none if not given.
        x: symbols of the states.
        rate: ẋ.
        exchange: whether the states are shown to a solver outside.
        watched: whether a row that is about to vanish within a step ends the run.
        natural: how many of the rows, the last of them, are natural ones.
        robot: in whose symbols the expressions are: its energy and points tell units of its parameters.
    """
    groups = [list(inputs), list(parameters), list(states), list(outputs)]
    names = iter(unique(["time", *(each.name for group in groups for each in group)])[1:])
    renamed = [tuple(replace(each, name=next(names)) for each in group) for group in groups]
    block = Block(
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
    labels, (points, places) = Labels.of(robot), point_variables(robot)
    anchors = ca.vertcat(robot.kinetic_energy, robot.potential_energy, places)
    found = parameter_units(block, anchors, [labels.energy_unit] * 2 + [point.unit for point in points])
    pairs = zip(block.parameters, found, strict=True)
    return replace(block, parameters=tuple(replace(each, unit=each.unit or unit) for each, unit in pairs))
