"""A motion ready to run: who moves, from where, for how long, and what is to be seen of it."""

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
from ..simulation import Integrator
from ..simulation.hybrid.phase import Phase
from ..simulation.hybrid.simulate_phases import simulate_phases
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
"""A controller for a setup: what a comparison takes, for it can be sent to another process and built there."""


@dataclass(frozen=True)
class Measure(Picklable):
    """A number that tells of a whole motion.

    Attributes:
        of: the number, from a Trajectory or, where there are phases, a PhasedTrajectory.
        unit: of the number; empty if it has none.
        expected: lowest and highest value that are expected with the scenario's own settings; None for no expectation.
    """

    of: Callable[[Any], float]
    unit: str = ""
    expected: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Refuse what is no function, and bounds that are not two in ascending order."""
        if not callable(self.of):
            raise ModelError(f"a measure is a function of the motion, got {_short(self.of)}")
        if self.expected is None:
            return
        bounds: object = self.expected
        if not isinstance(bounds, tuple | list) or len(bounds) != 2 or not _are_ordered(*bounds):
            raise ModelError(
                f"what is expected of a measure is its lowest and its highest value (low, high), got {bounds!r}"
            )


@dataclass(frozen=True)
class MeasuredValue:
    """A measure's value.

    Attributes:
        name: of the measure.
        value: the number.
        unit: of the number.
        expected: lowest and highest value that are expected, or None.
    """

    name: str
    value: float
    unit: str
    expected: tuple[float, float] | None

    @property
    def as_expected(self) -> bool:
        """Whether the value is expected; True if nothing is. NaN is expected by none."""
        return self.expected is None or self.expected[0] <= self.value <= self.expected[1]


@dataclass(frozen=True, eq=False)
class Setup(Picklable):
    """A motion ready to run.

    Attributes:
        robot: the plant.
        controller: what drives it, or None.
        q0: coordinates at the start, shape (nq,).
        v0: velocities at the start, shape (nv,).
        duration: longest time of the motion [s].
        step: of samples, and of a fixed-step integrator [s].
        integrator: fixed-step RK4 if not given.
        stop: scalar expression; the motion ends at the first sample at which it is positive.
        p: the plant's parameters that are not nominal, by name.
        controller_p: the controller's parameters that are not nominal, by name.
        phases: in place of the controller, one after the other.
        measures: what is told of the motion, by name.
        pictures: file name → what draws it; a plot, the motion and an animation of it if there are none.
        error: what tracking is to make small: distance to the path or the target, a scalar in the plant's symbols t, q,
            v and p, not negative.
        clearance: least distance to what is to be kept clear of, likewise; negative inside.
        settled: error below which the motion counts as settled, in the unit of ``error``.
        unit: of ``error`` and ``clearance``; none is shown if it is empty.
        metrics: what studies reckon besides the standard ones, by name, in the plant's symbols.
        varied: what seeds vary, by name: a parameter of plant and controller (``"m1"``), of one of them
            (``"plant.m1"``, ``"law.m1"``), or an entry of the start (``"q0.q1"``, ``"v0.q1"``).
        rivals: controllers to compare with, by name.

    Raises:
        ModelError: for both a controller and phases; for ``stop``, ``controller_p`` or ``metrics`` beside phases; for
            an argument of another kind, a time that is not positive, or a picture's name that is a path.
        ShapeError: for a start of another shape.
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
    varied: Mapping[str, Distribution] = field(default_factory=dict[str, Distribution])
    rivals: Mapping[str, MakeController] = field(default_factory=dict[str, MakeController])

    def __post_init__(self) -> None:
        """Refuse what contradicts itself, and arguments of another kind."""
        self._check_kinds()
        if self.phases and self.controller is not None:
            raise ModelError("a setup has a controller or phases, each with a controller of its own, not both")
        given = {"stop": self.stop is not None, "controller_p": bool(self.controller_p), "metrics": bool(self.metrics)}
        if self.phases and any(given.values()):
            names = ", ".join(name for name, is_given in given.items() if is_given)
            raise ModelError(
                f"a setup with phases takes no {names}: phases have an end (until=) and values of their own "
                "(controller_p=), "
                "and metrics are reckoned along the run of one controller"
            )

    def _check_kinds(self) -> None:
        kinds = (("robot", self.robot, Robot, "a Robot"), ("controller", self.controller, Controller, "a Controller"))
        for name, value, kind, called in kinds:
            if not isinstance(value, kind) and not (name == "controller" and value is None):
                raise ModelError(f"{name} must be {called}, got {_short(value)}")
        for name, start, length in (("q0", self.q0, self.robot.q.numel()), ("v0", self.v0, self.robot.v.numel())):
            vector(name, start, length)
        positive("duration", self.duration)
        positive("step", self.step)
        not_negative("settled", self.settled)
        for what, names in (("measure", self.measures), ("picture", self.pictures), ("controller", self.rivals)):
            for name in names:
                require_name(f"a {what}", name)
        for name, measure in self.measures.items():
            if not isinstance(measure, Measure):
                raise ModelError(f"measure {name!r} must be a Measure(function, unit, expected), got {_short(measure)}")
        for name, draw in self.pictures.items():
            if not callable(draw):
                raise ModelError(f"picture {name!r} must be a function of the motion and a file, got {_short(draw)}")
            if Path(name).name != name:
                raise ModelError(f"a picture is called by a file's name without a folder, got {name!r}")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters that can be set: the plant's, then the controllers'."""
        laws = [self.controller, *(phase.controller for phase in self.phases)]
        own = [name for law in laws if law is not None for name in law.parameters.names]
        return tuple(dict.fromkeys([*self.robot.parameters.names, *own]))

    @property
    def nominal(self) -> Mapping[str, float]:
        """Values of the parameters with which it runs, by name; those without a nominal value are left out."""
        values: dict[str, float] = {} if self.controller is None else dict(self.controller.parameters.nominal)
        for phase in self.phases:
            values |= {} if phase.controller is None else phase.controller.parameters.nominal
        values |= {**self.robot.nominal, **self.controller_p}
        for phase in self.phases:
            values |= phase.controller_values
        return values | dict(self.p)

    def with_parameters(self, values: Mapping[str, float]) -> Setup:
        """The same motion with some parameters set, of plant and controllers alike where both have them.

        Args:
            values: by name.

        Raises:
            ParameterError: for a name that neither has.
            ModelError: for a value that is no finite number.
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
        """The same motion under another controller, which takes those of ``controller_p`` that it has.

        Args:
            controller: in place of the setup's own; None for a free motion.

        Raises:
            ModelError: for a motion in phases, each of which has its own.
        """
        if self.phases:
            raise ModelError("a motion in phases has a controller for each of them: replace those")
        names = () if controller is None else controller.parameters.names
        controller_p = {name: value for name, value in self.controller_p.items() if name in names}
        return replace(self, controller=controller, controller_p=controller_p)

    @functools.cached_property
    def simulator(self) -> Simulator:
        """Plant and controller, compiled; not for a motion in phases."""
        return Simulator(
            self.robot, self.controller, integrator=self.integrator, stop=self.stop, metrics=self.metrics or None
        )

    def run(self, progress: Callable[[float], None] | None = None) -> Motion:
        """Simulate.

        Args:
            progress: called with the share that is done, in [0, 1].

        Returns:
            A Trajectory, or a PhasedTrajectory where there are phases.

        Raises:
            SimulationError, PhasedSimulationError: if the motion has to stop; what was computed is attached.
            SimulationInterrupted, PhasedSimulationInterrupted: on Ctrl-C, likewise.
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
        """What is told of a motion.

        Args:
            motion: of this setup.

        Raises:
            ModelError: for a measure that gives no single number.
        """
        return tuple(
            MeasuredValue(name, _single(name, measure.of(motion)), measure.unit, measure.expected)
            for name, measure in self.measures.items()
        )


def _are_ordered(low: float, high: float) -> bool:
    return real_number("the lowest value", low) <= real_number("the highest value", high)


def _with_values(phase: Phase, values: Mapping[str, float]) -> Phase:
    names = () if phase.controller is None else phase.controller.parameters.names
    own = {name: x for name, x in values.items() if name in names}
    return replace(phase, controller_p={**phase.controller_values, **own}) if own else phase


def _single(name: str, value: object) -> float:
    """A measure's value as a number."""
    shape = np.shape(np.asarray(value))
    if math.prod(shape) != 1:
        raise ModelError(f"measure {name!r} must give one number, got shape {shape}: take one of them, or the largest")
    try:
        return float(np.asarray(value, dtype=np.float64).reshape(()))
    except (TypeError, ValueError) as error:
        raise ModelError(f"measure {name!r} must give one number, got {_short(value)}") from error


def _short(value: object) -> str:
    """What something is, without the many lines that some things are shown in."""
    text = repr(value)
    return text if len(text) <= 40 and "\n" not in text else f"something of type {type(value).__name__}"
