"""Impairments of control: errors of the model, errors of measurement, dead time, sampling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca

from ...controllers.controller import Controller
from ...controllers.wrappers.delay import Delay
from ...controllers.wrappers.noise import MeasurementNoise
from ...controllers.wrappers.sample_and_hold import SampleAndHold
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Range
from ...symbolic.validation import not_negative
from ..sampling.distributions import Choice, Distribution, LogNormal, Scaled, Uniform
from ..setup import Setup
from .run_variables import WHERE, RunVariables


@dataclass(frozen=True, eq=False)
class ImpairedController:
    """A controller at a level of an impairment.

    Attributes:
        controller: the impaired controller, or None.
        randomization: additional distributions of what seeds vary, by name.
    """

    controller: Controller | None
    randomization: Mapping[str, Distribution] = field(default_factory=dict[str, Distribution])


class Impairment(ABC):
    """A condition that makes control harder the higher its level is."""

    meaning: str
    """Meaning of the level, with its unit."""

    @abstractmethod
    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Return a controller at a level; unchanged at zero.

        Args:
            level: level in the unit of ``meaning``.
            setup: setup that the controller drives.
            controller: unimpaired controller, or None.
        """


class ModelErrors(Impairment):
    """Random factors of median 1 on the plant's parameters, in place of the setup's randomization of them."""

    meaning = "spread of the plant's parameters about the model's, standard deviation of ln"

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Randomize masses, lengths, frictions: every positive model parameter on which the plant's motion depends.

        At zero they have the plant's own values, whatever seeds vary otherwise.
        """
        factor = Scaled(LogNormal(1.0, level) if level > 0.0 else Choice((1.0,)))
        return ImpairedController(controller, {f"plant.{name}": factor for name in physical_parameters(setup)})


class MeasurementErrors(Impairment):
    """Smooth errors of the measured coordinates, with matching errors of the velocities."""

    meaning = "root mean square of errors of measured coordinates, in their units"

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Add band-limited errors, the same for all controllers in a run."""
        if level == 0.0 or controller is None:
            return ImpairedController(controller)
        rates = controller.robot.coordinates.are_rates
        measured = MeasurementNoise(controller, q=level, v="derivative" if rates else level, name="measured")
        return ImpairedController(
            measured, {f"law.{key}": Uniform(*ends) for key, ends in measured.random_ranges.items()}
        )


class DeadTime(Impairment):
    """A delay of the law's output."""

    meaning = "dead time of the output [s]"

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Delay the output."""
        return ImpairedController(controller if level == 0.0 or controller is None else Delay(controller, level))


class SamplePeriod(Impairment):
    """Sampling of the law, whose output is held constant between ticks."""

    meaning = "period of the controller [s]"

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Sample and hold the output."""
        return ImpairedController(
            controller if level == 0.0 or controller is None else SampleAndHold(controller, level)
        )


class NamedParameter(Impairment):
    """A parameter or an entry of the start, set to the level in every run."""

    def __init__(self, name: str) -> None:
        """Store the name.

        Args:
            name: name as in ``Setup.randomization``.
        """
        self._name = name
        self.meaning = name

    def at(self, level: float, setup: Setup, controller: Controller | None) -> ImpairedController:
        """Set the number to the level."""
        return ImpairedController(controller, {self._name: Choice((level,))})


IMPAIRMENTS: Mapping[str, Impairment] = {
    "model_error": ModelErrors(),
    "noise": MeasurementErrors(),
    "delay": DeadTime(),
    "period": SamplePeriod(),
}


def find_impairment(name: str, setup: Setup) -> Impairment:
    """Return the impairment of this name, or for the name of a number the one that sets it.

    Args:
        name: one of :data:`IMPAIRMENTS`, or a name as in ``Setup.randomization``.
        setup: setup of the comparison.

    Raises:
        ModelError: for an unknown name.
    """
    if name in IMPAIRMENTS:
        return IMPAIRMENTS[name]
    names = RunVariables(setup.robot, setup.controller).all
    if name not in names:
        raise ModelError(unknown_name("robustness", name, [*IMPAIRMENTS, *names]))
    return NamedParameter(name)


def checked_levels(name: str, impairment: Impairment, levels: object) -> tuple[float, ...]:
    """Return levels in ascending order; raises ModelError for no levels, equal ones, or invalid negative ones.

    Args:
        name: name of the impairment.
        impairment: impairment to which the levels belong.
        levels: levels as given.
    """
    allowed = f"levels of {name!r} must be different numbers, at least one"
    try:
        given = [float(level) for level in levels]  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise ModelError(f"{allowed}; got {levels!r}") from error
    if not given or len(set(given)) < len(given):
        raise ModelError(f"{allowed}; got {levels!r}")
    if not isinstance(impairment, NamedParameter):
        given = [not_negative(f"level of {name!r}", level) for level in given]
    return tuple(sorted(given))


def merge_randomization(
    name: str,
    impairment: Impairment,
    harder: Mapping[str, Distribution],
    randomization: Mapping[str, Distribution],
) -> Mapping[str, Distribution]:
    """Return the distributions under an impairment, whose own ones replace those of the same numbers.

    Args:
        name: name of the impairment.
        impairment: the impairment.
        harder: distributions of the impairment, by name.
        randomization: distributions without the impairment, by name.

    Raises:
        ModelError: if the impairment sets a number that seeds vary under another name, as ``"plant.m1"`` by ``"m1"``.
    """
    same = [each for each in randomization if each not in harder and any(_overlap(each, other) for other in harder)]
    if same and isinstance(impairment, NamedParameter):
        raise ModelError(
            f"robustness {name!r} sets a number that seeds vary as {same[0]!r}: vary it as {name!r}, or not at all"
        )
    return {**{key: each for key, each in randomization.items() if key not in same}, **harder}


def _overlap(first: str, second: str) -> bool:
    """Return True if one name stands for plant and law, and the other for one of them."""
    return any(first == f"{where}.{second}" or second == f"{where}.{first}" for where in WHERE[:2])


def physical_parameters(setup: Setup) -> tuple[str, ...]:
    """Return the plant's positive parameters on which its motion depends and which the controller's model shares.

    Parameters of forces that only the plant has, such as the phases of a disturbance, are not errors of the model.

    Args:
        setup: setup with the plant and its controller.
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
