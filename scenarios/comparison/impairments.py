"""What makes control harder: errors of the model, errors of measurement, dead time, a slow clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca

from ...controllers.controller import Controller
from ...controllers.wrappers import Delay, MeasurementNoise, SampleAndHold
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Range
from ...symbolic.validation import not_negative
from ..sampling.distributions import Choice, Distribution, LogNormal, Scaled, Uniform
from ..setup import Setup
from .run_variables import WHERE, RunVariables


@dataclass(frozen=True, eq=False)
class ImpairedController:
    """A controller at some level.

    Attributes:
        controller: what drives the plant then, or None.
        varied: what seeds vary besides, by name.
    """

    controller: Controller | None
    varied: Mapping[str, Distribution] = field(default_factory=dict[str, Distribution])


class Impairment(ABC):
    """Something that makes control harder, the more the higher its level is."""

    meaning: str
    """What the level is, with its unit."""

    @abstractmethod
    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """A controller at some level; at zero, as it is.

        Args:
            level: in the unit that the meaning tells.
            setup: what it drives.
            controller: as it is, or None.
        """


class ModelErrors(Impairment):
    """The plant's parameters are its own times random factors of median 1, in place of what seeds do to them."""

    meaning = "spread of the plant's parameters about the model's, standard deviation of ln"

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Masses, lengths, frictions: every positive parameter of the model that the plant's motion depends on.

        At zero they are the plant's own, whatever seeds vary otherwise.
        """
        factor = Scaled(LogNormal(1.0, level) if level > 0.0 else Choice((1.0,)))
        return ImpairedController(controller, {f"plant.{name}": factor for name in physical(setup)})


class MeasurementErrors(Impairment):
    """The law sees coordinates with smooth errors, and velocities with the rates of these."""

    meaning = "root mean square of errors of measured coordinates, in their units"

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Band-limited errors, the same for all controllers in a run."""
        if level == 0.0 or controller is None:
            return ImpairedController(controller)
        rates = controller.robot.coordinates.are_rates
        measured = MeasurementNoise(controller, q=level, v="derivative" if rates else level, name="measured")
        return ImpairedController(
            measured, {f"law.{key}": Uniform(*ends) for key, ends in measured.random_ranges.items()}
        )


class DeadTime(Impairment):
    """The law's output arrives later."""

    meaning = "dead time of the output [s]"

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Delayed."""
        return ImpairedController(controller if level == 0.0 or controller is None else Delay(controller, level))


class SamplePeriod(Impairment):
    """The law is computed at ticks and held between them."""

    meaning = "period of the controller [s]"

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Sampled and held."""
        return ImpairedController(
            controller if level == 0.0 or controller is None else SampleAndHold(controller, level)
        )


class NamedParameter(Impairment):
    """A number that can be varied, set to the level in every run."""

    def __init__(self, name: str) -> None:
        """Remember the name.

        Args:
            name: as in ``Setup.varied``.
        """
        self._name = name
        self.meaning = name

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """The number at its level."""
        return ImpairedController(controller, {self._name: Choice((level,))})


IMPAIRMENTS: Mapping[str, Impairment] = {
    "model_error": ModelErrors(),
    "noise": MeasurementErrors(),
    "delay": DeadTime(),
    "period": SamplePeriod(),
}


def condition(name: str, setup: Setup) -> Impairment:
    """The condition of this name; that of a number that can be varied sets it.

    Args:
        name: one of :data:`CONDITIONS`, or a name as in ``Setup.varied``.
        setup: what is compared on.

    Raises:
        ModelError: for an unknown name.
    """
    if name in IMPAIRMENTS:
        return IMPAIRMENTS[name]
    names = RunVariables(setup.robot, setup.controller).all
    if name not in names:
        raise ModelError(unknown_name("robustness", name, [*IMPAIRMENTS, *names]))
    return NamedParameter(name)


def checked_levels(name: str, condition: Impairment, levels: object) -> tuple[float, ...]:
    """Levels in ascending order; raises ModelError for none, doubled ones, or negative ones where these mean nothing.

    Args:
        name: of the condition.
        condition: whose levels they are.
        levels: what was given.
    """
    allowed = f"levels of {name!r} are different numbers, at least one"
    try:
        given = [float(level) for level in levels]  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise ModelError(f"{allowed}; got {levels!r}") from error
    if not given or len(set(given)) < len(given):
        raise ModelError(f"{allowed}; got {levels!r}")
    if not isinstance(condition, NamedParameter):
        given = [not_negative(f"level of {name!r}", level) for level in given]
    return tuple(sorted(given))


def in_place(
    name: str, condition: Impairment, harder: Mapping[str, Distribution], varied: Mapping[str, Distribution]
) -> Mapping[str, Distribution]:
    """What seeds vary under a condition, whose own distributions take the place of those of the same numbers.

    Args:
        name: of the condition.
        condition: what makes control harder.
        harder: what it varies, by name.
        varied: what seeds vary otherwise, by name.

    Raises:
        ModelError: if a number is to be set that seeds vary under another name, as ``"plant.m1"`` by ``"m1"``.
    """
    same = [each for each in varied if each not in harder and any(_overlap(each, other) for other in harder)]
    if same and isinstance(condition, NamedParameter):
        raise ModelError(
            f"robustness {name!r} sets a number that seeds vary as {same[0]!r}: vary it as {name!r}, or not at all"
        )
    return {**{each: how for each, how in varied.items() if each not in same}, **harder}


def _overlap(first: str, second: str) -> bool:
    """Whether one name is of plant and law, and the other of one of them."""
    return any(first == f"{where}.{second}" or second == f"{where}.{first}" for where in WHERE[:2])


def physical(setup: Setup) -> tuple[str, ...]:
    """The plant's positive parameters on which its motion depends, and which the controller's model has as well.

    Those of forces that only the plant has, such as the phases of a disturbance, are no errors of the model.

    Args:
        setup: with the plant.
    """
    robot = setup.robot
    model = robot if setup.controller is None else setup.controller.robot
    natural, bias = robot.natural_form
    dynamics = [robot.mass_matrix, robot.bias, robot.input_matrix, natural, bias]
    needed = ca.vertcat(*(ca.vec(ca.densify(each)) for each in dynamics))
    ranges, values = robot.parameters.ranges, {**robot.nominal, **setup.p}
    return tuple(
        name
        for name, symbol in robot.parameters
        if name in model.parameters.names
        and values.get(name, 0.0) > 0.0
        and ranges.get(name) is not Range.SIGN
        and ca.depends_on(needed, symbol)
    )
