"""Constraints of orders 0, 1 and 2, when they are active, and their acceleration form Θ a = β."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError, require_name
from ..symbolic.parameters import Parameters
from ..symbolic.pickling import Picklable
from ..symbolic.validation import finite
from .perturbations.perturbation import Deviation, Perturbation

if TYPE_CHECKING:
    from .field.erugin_field import EruginField


@dataclass(frozen=True)
class Schedule:
    """Time intervals, each of which includes its start and excludes its end.

    In a program its times become parameters ``constraint.on1``, ``constraint.off1``, ``constraint.on2``, …, so that a
    study may shift them; an interval that is shifted to end before it starts is empty.

    Attributes:
        intervals: pairs (start, end) in ascending order, without overlap [s]; the last end may be infinite.

    Raises:
        ModelError: if there is no interval, one is empty, or they are out of order.
    """

    intervals: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        """Check the times."""
        try:
            pairs = tuple((start, end) for start, end in self.intervals)
        except (TypeError, ValueError) as error:
            raise ModelError(f"a schedule is made of pairs (start, end), got {self.intervals!r}") from error
        if not pairs:
            raise ModelError("a schedule needs at least one interval (start, end), got none")
        before = -math.inf
        for i, (start, end) in enumerate(pairs):
            finite(f"start of interval {i + 1}", start)
            if end != math.inf:
                finite(f"end of interval {i + 1}", end)
            if not start < end:
                raise ModelError(f"interval {i + 1} of a schedule must end after it starts, got ({start}, {end})")
            if start < before:
                raise ModelError(f"intervals must follow each other: one ends at {before}, the next starts at {start}")
            before = end
        object.__setattr__(self, "intervals", tuple((float(start), float(end)) for start, end in pairs))

    @property
    def times(self) -> Mapping[str, float]:
        """Nominal times by name [s]; an infinite end is left out."""
        named: dict[str, float] = {}
        for i, (start, end) in enumerate(self.intervals, 1):
            named[f"on{i}"] = start
            if end != math.inf:
                named[f"off{i}"] = end
        return named

    def condition(self, t: ca.SX, times: Mapping[str, ca.SX]) -> ca.SX:
        """Return an expression that is 1 inside the intervals and 0 outside.

        Args:
            t: time [s].
            times: symbols of :attr:`times` by name.
        """
        on = ca.SX(0)
        for i in range(1, len(self.intervals) + 1):
            inside = t >= times[f"on{i}"]
            if f"off{i}" in times:
                inside = ca.logic_and(inside, t < times[f"off{i}"])
            on = ca.logic_or(on, inside)
        return on


@dataclass(frozen=True, eq=False)
class AccelerationForm:
    """A constraint on given coordinates, as Θ a = β.

    Attributes:
        theta: Θ, shape (m, nv).
        beta: β with the perturbation equation in it, shape (m,).
        deviation: y, y′ or z, shape (m,); for order 2 an expression in the accelerations too.
        parameters: the constraint's own parameters, then its gains.
        rows: name of each row, m of them.
        linearization: state matrix of the perturbation equation at zero, an expression in its gains.
        is_affine: False if Θ and β depend on the accelerations; they are then the linearization about them.
        active: 1 where the constraint is on, 0 where it is off, NaN where its condition is NaN; the constant 1 for a
            constraint without a condition.
    """

    theta: ca.SX
    beta: ca.SX
    deviation: ca.SX
    parameters: Parameters
    rows: tuple[str, ...]
    linearization: ca.SX
    is_affine: bool
    active: ca.SX


@dataclass(frozen=True, eq=False)
class Constraint(Picklable):
    """A relation that the motion must satisfy, natural or program, not yet bound to the coordinates of a robot.

    Attributes:
        order: 0 for φ(q, t), 1 for ψ(q, v, t), 2 for χ(q, v, a, t).
        residual: function of a robot's coordinates that returns the expression that must vanish, shape (m,).
        perturbation: equation that the residual is made to obey.
        parameters: symbols, other than the robot's, that the residual uses.
        name: prefix of its rows and gains in messages and parameter names.
        when: condition under which it is on: a function of a robot's coordinates that returns a scalar expression,
            positive where it is on, or a schedule; always on if not given.
        clearances: function of a robot's coordinates that returns the distances that must be positive at the start of
            a motion [m], by name of the obstacle; none if not given.
        followed: the field that a point follows, and the point, shape (n,); None for any other constraint.
    """

    order: int
    residual: Callable[[Coordinates], ca.SX]
    perturbation: Perturbation
    parameters: Parameters
    name: str
    when: Callable[[Coordinates], ca.SX] | Schedule | None = None
    clearances: Callable[[Coordinates], Mapping[str, ca.SX]] | None = None
    followed: tuple[EruginField, ca.SX] | None = None

    def __post_init__(self) -> None:
        """Check the name, and that the perturbation equation fits the order."""
        require_name("a constraint", self.name)
        if not isinstance(self.perturbation, Perturbation):
            raise ModelError(
                f"constraint {self.name!r}: perturbation must be a Perturbation, got {self.perturbation!r}"
            )
        if self.perturbation.order != self.order:
            raise ModelError(
                f"constraint {self.name!r} has order {self.order}, but {self.perturbation} is an equation for order "
                f"{self.perturbation.order}"
            )

    def switched(self, when: ca.SX | Schedule) -> Constraint:
        """Return the same constraint with a condition under which it is on.

        A row that is off requires no force, and its deviation is still evaluated. Switching on does not change the
        velocities: their deviation decays by the perturbation equation, or is removed at once by
        :func:`~erugin.controllers.consistent_velocity`. A fixed step across a switch is of first order;
        :func:`~erugin.simulation.simulate_phases` locates switches instead.

        Args:
            when: a scalar expression in the robot's t, q, v and p and the constraint's parameters, positive where the
                constraint is on; or a :class:`~erugin.constraints.Schedule`.

        Raises:
            ModelError: if ``when`` is neither.
        """
        if isinstance(when, Schedule):
            return dataclasses.replace(self, when=when)
        if not isinstance(when, ca.SX) or when.shape != (1, 1):
            raise ModelError(
                f"constraint {self.name!r}: when must be a scalar CasADi SX expression, positive where it is on, or a "
                f"Schedule, got {when!r}"
            )
        expression = when

        def condition(coordinates: Coordinates) -> ca.SX:
            return expression

        return dataclasses.replace(self, when=condition)

    def condition(self, coordinates: Coordinates, times: Mapping[str, ca.SX]) -> ca.SX | None:
        """Return the scalar that is positive where the constraint is on, or None if it is always on.

        Args:
            coordinates: coordinates of the robot that it is imposed on.
            times: symbols of its schedule's times by name, if it has a schedule.
        """
        if self.when is None:
            return None
        if isinstance(self.when, Schedule):
            return self.when.condition(coordinates.t, times)
        return self.when(coordinates)

    def acceleration_form(self, coordinates: Coordinates, name: str | None = None) -> AccelerationForm:
        """Bring the constraint to Θ a = β by total derivatives.

        Order 0: φ_q N a + … = g(y, ẏ); order 1: ψ_v a + ψ_q N v + ψ_t = h(y′); order 2: χ_a a + χ₀ = z, and where χ
        is not affine in a, its linearization χ_a(â) a = χ_a(â) â − χ(â) + z about â = ``coordinates.a``.

        Args:
            coordinates: coordinates of the robot that it is imposed on.
            name: label used instead of the constraint's own name, to distinguish two of the same kind.

        Raises:
            ModelError: if the expression is of another order than declared.
        """
        label = self.name if name is None else name
        residual = ca.densify(self.residual(coordinates))
        self._check(residual, coordinates, label)
        gains = Parameters.declare(self.perturbation.gains, label, ranges=self.perturbation.ranges)
        symbols = {key: gains[f"{label}.{key}"] for key in self.perturbation.gains}
        rate = ca.SX(0, 1)
        highest = residual
        if self.order == 0:
            rate = coordinates.compact_rate(residual)
            highest = coordinates.compact_rate(rate)
        elif self.order == 1:
            highest = coordinates.compact_rate(residual)
        theta = ca.jacobian(highest, coordinates.a)
        is_affine = not ca.depends_on(theta, coordinates.a)
        about = ca.SX.zeros(coordinates.nv) if is_affine else coordinates.a
        rest = ca.substitute(highest, coordinates.a, about) - theta @ about
        beta = self.perturbation.right_side(Deviation(residual, rate, coordinates.t), symbols) - rest
        schedule = Parameters.declare(self.when.times if isinstance(self.when, Schedule) else {}, label)
        condition = self.condition(coordinates, {name.removeprefix(f"{label}."): symbol for name, symbol in schedule})
        return AccelerationForm(
            theta=ca.densify(theta),
            beta=ca.densify(beta),
            deviation=residual,
            parameters=Parameters.collect([self.parameters, gains, schedule]),
            rows=row_names(label, residual.numel()),
            is_affine=is_affine,
            active=ca.SX(1) if condition is None else _activity(condition),
            linearization=self.perturbation.linearization(symbols),
        )

    def _check(self, residual: ca.SX, coordinates: Coordinates, label: str) -> None:
        if residual.size2() != 1 or residual.numel() == 0:
            raise ModelError(f"constraint {label!r} must be a column of expressions, got shape {residual.shape}")
        for row, name in zip(ca.vertsplit(residual), row_names(label, residual.numel()), strict=True):
            symbols = (coordinates.q, coordinates.v, coordinates.a)
            found = [order for order, symbol in enumerate(symbols) if ca.depends_on(row, symbol)]
            actual = found[-1] if found else -1
            if actual > self.order:
                raise ModelError(
                    f"constraint {name!r} has order {self.order} but depends on {HIGHEST[actual]}; "
                    f"use {MAKERS[actual]}(...)"
                )
            if actual < self.order:
                advice = (
                    f"use {MAKERS[actual]}(...)"
                    if found
                    else f"it depends on none of q, v and a: {textwrap.shorten(str(row), 80)}"
                )
                raise ModelError(
                    f"constraint {name!r} has order {self.order} but does not depend on {HIGHEST[self.order]}; {advice}"
                )


HIGHEST = ("coordinates", "velocities", "accelerations")
MAKERS = ("holonomic", "nonholonomic", "second_order")


def row_names(label: str, count: int) -> tuple[str, ...]:
    """Names of a constraint's rows: its own name for a single row, numbered otherwise."""
    return (label,) if count == 1 else tuple(f"{label}[{i}]" for i in range(count))


def _activity(condition: ca.SX) -> ca.SX:
    """Return 1 where the condition is positive, 0 where it is not, and NaN where it is NaN."""
    return ca.if_else(condition > 0, 1, ca.if_else(condition <= 0, 0, float("nan")))
