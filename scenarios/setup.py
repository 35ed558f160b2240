"""A motion ready to run: plant, controller, start, duration, measures and pictures."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ..controllers.controller import Controller
from ..robots.robot import Robot
from ..simulation.hybrid.phase import Phase
from ..simulation.hybrid.simulate_phases import simulate_phases
from ..simulation.integrators.integrator import Integrator
from ..simulation.metrics import Metric
from ..simulation.phased_trajectory import PhasedTrajectory
from ..simulation.simulator import Simulator
from ..simulation.trajectory import Trajectory
from ..symbolic.errors import ModelError, ParameterError, require_name, unknown_name
from ..symbolic.pickling import Picklable
from ..symbolic.validation import finite, not_negative, positive, real_number, vector
from .sampling.distributions import Distribution

Motion = Trajectory | PhasedTrajectory
Draw = Callable[[Any, Path], None]
"""Draws a motion, a Trajectory or a PhasedTrajectory, into a file."""
MakeController = Callable[["Setup"], Controller]
"""A function that builds a controller for a setup; unlike a controller it can be sent to another process."""


@dataclass(frozen=True)
class Measure(Picklable):
    """A number that describes a whole motion.

    Attributes:
        function: computes the number from a Trajectory or, for a motion in phases, a PhasedTrajectory.
        unit: unit of the number; empty if it has none.
        expected: lowest and highest value expected with the scenario's default settings; None for no expectation.
    """

    function: Callable[[Any], float]
    unit: str = ""
    expected: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Raise ModelError unless the function is callable and the bounds are two numbers in ascending order."""
        if not callable(self.function):
            raise ModelError(f"a measure must be a function of the motion, got {_short(self.function)}")
        if self.expected is None:
            return
        bounds: object = self.expected
        if not isinstance(bounds, tuple | list) or len(bounds) != 2 or not _are_ordered(*bounds):
            raise ModelError(
                f"expected of a measure must be its lowest and its highest value (low, high), got {bounds!r}"
            )


@dataclass(frozen=True)
class MeasuredValue:
    """The value of a measure.

    Attributes:
        name: name of the measure.
        value: the number.
        unit: unit of the number.
        expected: lowest and highest expected value, or None.
    """

    name: str
    value: float
    unit: str
    expected: tuple[float, float] | None

    @property
    def as_expected(self) -> bool:
        """True if the value lies in the expected range, or none is given; NaN lies in no range."""
        return self.expected is None or self.expected[0] <= self.value <= self.expected[1]


@dataclass(frozen=True, eq=False)
class Setup(Picklable):
    """A motion ready to run.

    Attributes:
        robot: the plant.
        controller: the controller that drives the plant, or None for a free motion.
        q0: initial coordinates, shape (nq,).
        v0: initial velocities, shape (nv,).
        duration: longest time of the motion [s].
        step: time between samples, and step of a fixed-step integrator [s].
        integrator: integrator of the motion; fixed-step RK4 if not given.
        stop: scalar expression; the motion ends at the first sample at which it is positive.
        p: values of the plant's parameters that differ from the nominal ones, by name.
        controller_p: values of the controller's parameters that differ from the nominal ones, by name.
        phases: phases of the motion, in order; they replace the controller.
        measures: numbers that describe the motion, by name.
        pictures: functions that draw the motion, by file name; a plot, a picture and an animation if empty.
        error: tracking error: distance to the path or the target, a scalar in the plant's symbols t, q, v and p, not
            negative.
        clearance: least distance to the obstacles, a scalar in the same symbols; negative inside an obstacle.
        settled: error below which the motion counts as settled, in the unit of ``error``.
        unit: unit of ``error`` and ``clearance``; none is shown if it is empty.
        metrics: metrics that studies compute besides the standard ones, by name, in the plant's symbols.
        randomization: distributions of what seeds vary, by name: a parameter of plant and controller (``"m1"``), of one
            of them (``"plant.m1"``, ``"law.m1"``), or an entry of the start (``"q0.q1"``, ``"v0.q1"``).
        baselines: functions that build the controllers to compare with, by name.

    Raises:
        ModelError: for both a controller and phases; for ``stop``, ``controller_p`` or ``metrics`` together with
            phases; for an argument of the wrong type, a time that is not positive, or a picture's name that is a path.
        ShapeError: for a start of the wrong shape.
    """

    robot: Robot = field(repr=False)
    controller: Controller | None = field(repr=False)
    q0: ArrayLike
    v0: ArrayLike
    duration: float
    step: float
    integrator: Integrator | None = None
    stop: ca.SX | None = None
    p: Mapping[str, float] = field(default_factory=dict[str, float])
    controller_p: Mapping[str, float] = field(default_factory=dict[str, float])
    phases: tuple[Phase, ...] = ()
    measures: Mapping[str, Measure] = field(default_factory=dict[str, Measure])
    pictures: Mapping[str, Draw] = field(default_factory=dict[str, Draw])
    error: ca.SX | None = None
    clearance: ca.SX | None = None
    settled: float = 1e-3
    unit: str = ""
    metrics: Mapping[str, Metric] = field(default_factory=dict[str, Metric])
    randomization: Mapping[str, Distribution] = field(default_factory=dict[str, Distribution])
    baselines: Mapping[str, MakeController] = field(default_factory=dict[str, MakeController])

    def __post_init__(self) -> None:
        """Raise ModelError for contradictory arguments and arguments of the wrong type."""
        object.__setattr__(self, "phases", tuple(self.phases))
        self._check_types()
        if self.phases and self.controller is not None:
            raise ModelError("a setup has either a controller or phases, each with its own controller, not both")
        given = {"stop": self.stop is not None, "controller_p": bool(self.controller_p), "metrics": bool(self.metrics)}
        if self.phases and any(given.values()):
            names = ", ".join(name for name, is_given in given.items() if is_given)
            raise ModelError(
                f"a setup with phases accepts no {names}: each Phase has its own end (until=) and values "
                "(controller_p=), and metrics require a single controller"
            )

    def _check_types(self) -> None:
        types = (("robot", self.robot, Robot, "a Robot"), ("controller", self.controller, Controller, "a Controller"))
        for name, value, expected, described in types:
            if not isinstance(value, expected) and not (name == "controller" and value is None):
                raise ModelError(f"{name} must be {described}, got {_short(value)}")
        for name, start, length in (("q0", self.q0, self.robot.q.numel()), ("v0", self.v0, self.robot.v.numel())):
            vector(name, start, length)
        positive("duration", self.duration)
        positive("step", self.step)
        not_negative("settled", self.settled)
        named = (("a measure", self.measures), ("a picture", self.pictures), ("a controller", self.baselines))
        for owner, names in named:
            for name in names:
                require_name(owner, name)
        for values in (self.p, self.controller_p):
            for parameter, number in values.items():
                finite(f"parameter {parameter!r}", number)
        for phase in self.phases:
            if not isinstance(phase, Phase):
                raise ModelError(f"phases must hold a Phase each, got {_short(phase)}")
        for name, measure in self.measures.items():
            if not isinstance(measure, Measure):
                raise ModelError(f"measure {name!r} must be a Measure(function, unit, expected), got {_short(measure)}")
        for name, draw in self.pictures.items():
            if not callable(draw):
                raise ModelError(f"picture {name!r} must be a function of the motion and a file, got {_short(draw)}")
            if Path(name).name != name:
                raise ModelError(f"the name of a picture must be a file name without a folder, got {name!r}")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters: the plant's, then the controllers'."""
        laws = [self.controller, *(phase.controller for phase in self.phases)]
        own = [name for law in laws if law is not None for name in law.parameters.names]
        return tuple(dict.fromkeys([*self.robot.parameters.names, *own]))

    @property
    def nominal(self) -> Mapping[str, float]:
        """Values of the parameters used by :meth:`run`, by name; those without a value are left out."""
        values: dict[str, float] = {} if self.controller is None else dict(self.controller.parameters.nominal)
        for phase in self.phases:
            values |= {} if phase.controller is None else phase.controller.parameters.nominal
        values |= {**self.robot.nominal, **self.controller_p}
        for phase in self.phases:
            values |= phase.controller_values
        return values | dict(self.p)

    def with_parameters(self, values: Mapping[str, float]) -> Setup:
        """Return the setup with some parameters set, in the plant and the controllers alike where both have them.

        Args:
            values: values of parameters, by name.

        Raises:
            ParameterError: for an unknown parameter.
            ModelError: for a value that is not a finite number.
        """
        for name, value in values.items():
            if name not in self.parameters:
                raise ParameterError(unknown_name("parameter", name, self.parameters))
            finite(f"parameter {name!r}", value)
        own = () if self.controller is None else self.controller.parameters.names
        return replace(
            self,
            p={**self.p, **{name: x for name, x in values.items() if name in self.robot.parameters.names}},
            controller_p={**self.controller_p, **{name: x for name, x in values.items() if name in own}},
            phases=tuple(_with_values(phase, values) for phase in self.phases),
        )

    def driven_by(self, controller: Controller | None) -> Setup:
        """Return the setup with another controller, which keeps those values of ``controller_p`` that it has.

        Args:
            controller: replaces the setup's own controller; None for a free motion.

        Raises:
            ModelError: for a motion in phases, each of which has its own controller.
        """
        if self.phases:
            raise ModelError("a motion in phases has a controller for each phase: replace the phases")
        names = () if controller is None else controller.parameters.names
        controller_p = {name: value for name, value in self.controller_p.items() if name in names}
        return replace(self, controller=controller, controller_p=controller_p)

    @functools.cached_property
    def simulator(self) -> Simulator:
        """Compiled simulator of plant and controller; not for a motion in phases."""
        return Simulator(
            self.robot, self.controller, integrator=self.integrator, stop=self.stop, metrics=self.metrics or None
        )

    def run(self, progress: Callable[[float], None] | None = None) -> Motion:
        """Simulate the motion.

        Args:
            progress: called with the completed share, in [0, 1].

        Returns:
            A Trajectory, or a PhasedTrajectory if the setup has phases.

        Raises:
            SimulationError, PhasedSimulationError: if the motion has to stop; the samples so far are attached.
            SimulationInterrupted, PhasedSimulationInterrupted: on Ctrl-C; the samples so far are attached.
        """
        if self.phases:
            return simulate_phases(
                *(self.robot, self.phases, self.q0, self.v0, self.duration),
                step=self.step,
                integrator=self.integrator,
                p=self.p,
            )
        return self.simulator.run(
            self.q0, self.v0, self.duration, step=self.step, p=self.p, controller_p=self.controller_p, progress=progress
        )

    def measure(self, motion: Motion) -> tuple[MeasuredValue, ...]:
        """Evaluate all measures of a motion.

        Args:
            motion: a motion of this setup.

        Raises:
            ModelError: for a measure that does not return a single number.
        """
        return tuple(
            MeasuredValue(name, _single(name, measure.function(motion)), measure.unit, measure.expected)
            for name, measure in self.measures.items()
        )


def _are_ordered(low: float, high: float) -> bool:
    return real_number("the lowest value", low) <= real_number("the highest value", high)


def _with_values(phase: Phase, values: Mapping[str, float]) -> Phase:
    names = () if phase.controller is None else phase.controller.parameters.names
    own = {name: x for name, x in values.items() if name in names}
    return replace(phase, controller_p={**phase.controller_values, **own}) if own else phase


def _single(name: str, value: object) -> float:
    """Return the value of a measure as a float."""
    shape = np.shape(np.asarray(value))
    if math.prod(shape) != 1:
        raise ModelError(
            f"measure {name!r} must return one number, got an array of shape {shape}: return one entry, or the largest"
        )
    try:
        return float(np.asarray(value, dtype=np.float64).reshape(()))
    except (TypeError, ValueError) as error:
        raise ModelError(f"measure {name!r} must return one number, got {_short(value)}") from error


def _short(value: object) -> str:
    """Return the repr of a value, or its type if the repr is long."""
    text = repr(value)
    return text if len(text) <= 40 and "\n" not in text else f"an object of type {type(value).__name__}"
