"""A program: the constraints that the control of one robot must realise, as Θ a = β."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

import casadi as ca

from ...constraints.constraint import Constraint, Schedule
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters


class Program:
    """Program constraints of a robot, stacked.

    Attributes:
        robot: the model that the program is written for.
        constraints: the constraints, in order.
        theta: Θ, shape (m, nv).
        beta: β, shape (m,), with Θ a = β. Rows that are not affine in a are linearized about ``robot.coordinates.a``.
        is_affine: True if all rows are affine in a, so that Θ and β do not depend on a.
        affine: True for each row that is affine in a, m of them.
        active: 1 where a row is on, 0 where it is off, NaN where its condition is NaN, shape (m,); Θ, β and the
            deviation are those of all rows, on or off.
        switched: True for each row that has a condition, m of them.
        deviation: y, y′ and z of all rows, shape (m,); rows of order 2 are expressions in ``robot.coordinates.a``.
        rows: name of each row, m of them, for messages and legends.
        linearizations: name of each constraint and the state matrix of its perturbation equation, in its gains.
        blocks: for each row, the range of the rows of its constraint, which share a unit, m of them.
        parameters: the robot's, then the constraints' and their gains in order.
    """

    def __init__(self, robot: Robot, constraints: Constraint | Iterable[Constraint]) -> None:
        """Transform all constraints to the acceleration form.

        Args:
            robot: the model.
            constraints: one or more; a constraint that shares its name with an earlier one gets a number, ``follow2``.

        Raises:
            ModelError: for no constraints, one of the wrong order, or one in symbols that the robot does not have.
        """
        self.robot = robot
        if not isinstance(constraints, Constraint | Iterable):
            raise ModelError(f"a Program requires constraints, got {constraints!r}")
        self.constraints = (constraints,) if isinstance(constraints, Constraint) else tuple(constraints)
        if not self.constraints:
            raise ModelError("a Program requires at least one constraint, got none")
        for item in self.constraints:
            if not isinstance(item, Constraint):
                raise ModelError(f"a Program requires constraints, got {item!r}")
        labels = _distinct([constraint.name for constraint in self.constraints])
        # Check before differentiating: a foreign symbol must be reported, not differentiated to zero.
        for constraint, label in zip(self.constraints, labels, strict=True):
            residual = constraint.residual(robot.coordinates)
            robot.require_own_symbols(f"constraint {label!r}", residual, constraint.parameters)
            if ca.depends_on(residual, robot.u):
                raise ModelError(f"constraint {label!r} must not depend on the inputs, which are solved for")
            _require_known_condition(robot, constraint, label)
        forms = [
            c.acceleration_form(robot.coordinates, label) for c, label in zip(self.constraints, labels, strict=True)
        ]
        self.theta = ca.vertcat(*(form.theta for form in forms))
        self.beta = ca.vertcat(*(form.beta for form in forms))
        self.deviation = ca.vertcat(*(form.deviation for form in forms))
        self.rows = tuple(row for form in forms for row in form.rows)
        blocks: list[range] = []
        for form in forms:
            blocks += [range(len(blocks), len(blocks) + len(form.rows))] * len(form.rows)
        self.blocks = tuple(blocks)
        each = [(form, constraint) for form, constraint in zip(forms, self.constraints, strict=True) for _ in form.rows]
        self.affine = tuple(form.is_affine for form, _ in each)
        self.is_affine = all(self.affine)
        self.active = ca.vertcat(*(form.active for form, _ in each))
        self.switched = tuple(constraint.when is not None for _, constraint in each)
        self.linearizations = tuple((label, form.linearization) for label, form in zip(labels, forms, strict=True))
        self.parameters = Parameters.collect([robot.parameters, *(form.parameters for form in forms)])

    def shifted(self, by: ca.SX) -> Program:
        """Return the same rows with another right side, Θ a = β + by.

        Args:
            by: change of β, shape (m,), in any symbols.
        """
        program = copy.copy(self)
        program.beta = self.beta + by
        return program

    def on(self, robot: Robot) -> Program:
        """Return the same rows for another model in the same coordinates.

        Args:
            robot: model whose parameters start with those of this program's robot.
        """
        program = copy.copy(self)
        program.robot = robot
        program.parameters = Parameters.collect([robot.parameters, self.parameters])
        return program

    @property
    def p(self) -> ca.SX:
        """Parameters, in the order of ``nominal``."""
        return self.parameters.symbols

    @property
    def nominal(self) -> Mapping[str, float]:
        """Nominal parameter values by name, in the order of ``p``."""
        return self.parameters.nominal


def _require_known_condition(robot: Robot, constraint: Constraint, label: str) -> None:
    """Raise ModelError for a condition that cannot be evaluated before the program is solved."""
    if constraint.when is None or isinstance(constraint.when, Schedule):
        return
    condition = constraint.when(robot.coordinates)
    robot.require_own_symbols(f"condition of constraint {label!r}", condition, constraint.parameters)
    if ca.depends_on(condition, ca.vertcat(robot.u, robot.coordinates.a)):
        raise ModelError(
            f"the condition of constraint {label!r} must not depend on inputs or accelerations, which follow from it: "
            "use time, coordinates, velocities and parameters"
        )


def _distinct(names: list[str]) -> list[str]:
    """Make names distinct by appending a number to each that repeats an earlier one."""
    taken, labels = set(names), list[str]()
    for name in names:
        label, number = name, 2
        while label in labels or (label != name and label in taken):
            label, number = f"{name}{number}", number + 1
        labels.append(label)
    return labels
