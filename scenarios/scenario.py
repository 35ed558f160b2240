"""The abstract scenario: a closed loop with numbers, what is measured of it, and its pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import ArrayLike

from ..controllers.controller import Controller
from ..symbolic.errors import ModelError, ParameterError, unknown_name
from .simulate import Simulator
from .trajectory import Trajectory

Value = float | str


@dataclass(frozen=True)
class Setting:
    """A choice of a scenario other than a parameter of its controller.

    Attributes:
        value: the default; it also fixes the type.
        meaning: what it is, with its unit.
        words: the allowed words, if the value is one.
    """

    value: Value
    meaning: str
    words: tuple[str, ...] = ()

    def parse(self, name: str, text: str) -> Value:
        """The value that a text from the command line stands for.

        Raises:
            ParameterError: if it is not a number, or not one of the words.
        """
        if isinstance(self.value, str):
            if text not in self.words:
                raise ParameterError(f"{name} must be one of {', '.join(self.words)}, got {text!r}")
            return text
        return number(name, text)


@dataclass(frozen=True, eq=False)
class Setup:
    """A closed loop ready to run.

    Attributes:
        simulator: plant, controller and integrator.
        q0: coordinates at the start.
        v0: velocities at the start.
        duration: longest time of the run [s].
        step: of samples and integrator [s].
        parameters: all parameters of the controller by name; the plant takes those that it shares.
    """

    simulator: Simulator
    q0: ArrayLike
    v0: ArrayLike
    duration: float
    step: float
    parameters: Mapping[str, float]

    def run(self, progress: Callable[[float], None] | None = None) -> Trajectory:
        """Simulate; see :meth:`Simulator.run`."""
        own = set(self.simulator.robot.parameters.names)
        plant = {name: value for name, value in self.parameters.items() if name in own}
        return self.simulator.run(
            self.q0, self.v0, self.duration, step=self.step, p=plant, law_p=self.parameters, progress=progress
        )


@dataclass(frozen=True)
class Measure:
    """One line of a scenario's table.

    Attributes:
        name: what is measured.
        text: the value with its unit.
    """

    name: str
    text: str


class Scenario(ABC):
    """A named closed loop with settings, measures and pictures; one file each."""

    name: str
    """How the command line calls it."""

    summary: str
    """One sentence: the phenomenon it shows."""

    settings: Mapping[str, Setting]
    """Choices by name, besides the controller's parameters."""

    @property
    @abstractmethod
    def controller(self) -> Controller:
        """The controller with default settings; its parameters can be set by name."""

    @abstractmethod
    def build(self, settings: Mapping[str, Value], parameters: Mapping[str, float]) -> Setup:
        """The closed loop for complete settings and some parameters set by name."""

    @abstractmethod
    def measure(self, trajectory: Trajectory) -> list[Measure]:
        """The table."""

    @abstractmethod
    def pictures(self) -> Mapping[str, Callable[[Trajectory, Path], None]]:
        """File name → what draws it into a path."""

    def prepare(self, given: Mapping[str, str]) -> Setup:
        """Build from texts as the command line has them.

        Args:
            given: settings and parameters by name.

        Raises:
            ParameterError: for an unknown name, or a text that does not fit.
        """
        known = self.controller.parameters.names
        settings: dict[str, Value] = {name: setting.value for name, setting in self.settings.items()}
        parameters: dict[str, float] = {}
        for name, text in given.items():
            if name in self.settings:
                settings[name] = self.settings[name].parse(name, text)
            elif name in known:
                parameters[name] = number(name, text)
            else:
                raise ParameterError(
                    unknown_name(f"setting or parameter of {self.name}", name, [*self.settings, *known])
                )
        return self.build(settings, parameters)


def number(name: str, text: str) -> float:
    """A text as a float; raises ParameterError if it is none."""
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(f"{name} must be a number, got {text!r}") from error


def find(name: str, scenarios: tuple[Scenario, ...]) -> Scenario:
    """The scenario of this name; raises ModelError with the nearest names if there is none."""
    for scenario in scenarios:
        if scenario.name == name:
            return scenario
    raise ModelError(unknown_name("scenario", name, [s.name for s in scenarios]))
