"""Impairments of the published comparison, the same for all laws: unknown forces, measurement noise, slow hardware."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from erugin.controllers import Controller
from erugin.controllers.robust import DisturbanceObserver
from erugin.controllers.wrappers import Delay, MeasurementNoise, SampleAndHold, Saturation
from erugin.robots.disturbance import disturb
from erugin.robots.signals import BandNoise
from erugin.scenarios import Distribution, Scaled, Uniform
from erugin.scenarios.setup import MakeController, Setup


@dataclass(frozen=True)
class Hardware:
    """Computer and drives between a law and the plant.

    Attributes:
        period: time between samples, in which the input is constant; 0 for a law that is evaluated at all times [s].
        delay: time from a sample to its input [s].
        limits: largest input of each drive; empty for none [N m].
    """

    period: float = 0.0
    delay: float = 0.0
    limits: tuple[float, ...] = ()

    def drive(self, law: Controller) -> Controller:
        """Return the law as the plant receives it.

        Args:
            law: the law.
        """
        law = Saturation(law, self.limits) if self.limits else law
        law = SampleAndHold(law, self.period) if self.period else law
        return Delay(law, self.delay) if self.delay else law


@dataclass(frozen=True)
class Observed:
    """A law with a momentum observer, which is fed with what the plant receives.

    Attributes:
        make: function that builds the law from a setup.
        rate: rate of the observer [1/s].
    """

    make: MakeController
    rate: float

    def through(self, hardware: Hardware, setup: Setup) -> Controller:
        """Build the law as the plant receives it.

        Args:
            hardware: what lies between the law and the plant.
            setup: setup with the model of the plant.
        """
        return DisturbanceObserver(self.make(setup), self.rate, through=hardware.drive)


@dataclass(frozen=True)
class Impaired:
    """A law that is built for the undisturbed setup, sees measurement noise and runs on some hardware.

    Attributes:
        clean: the undisturbed setup, for which the law is built.
        make: function that builds the law from the setup.
        errors: keyword arguments of :class:`MeasurementNoise`.
        hardware: what lies between the law and the plant.
    """

    clean: Setup
    make: MakeController | Observed
    errors: Mapping[str, object]
    hardware: Hardware = Hardware()

    def __call__(self, _: Setup) -> Controller:
        """Build the law; the argument, the disturbed setup, is ignored, because no law knows the disturbances."""
        return MeasurementNoise(self.law, **self.errors)  # type: ignore[arg-type]

    @property
    def law(self) -> Controller:
        """The law without noise."""
        if isinstance(self.make, Observed):
            return self.make.through(self.hardware, self.clean)
        return self.hardware.drive(self.make(self.clean))


def with_disturbances(
    setup: Setup,
    own: MakeController | Observed,
    *,
    force: BandNoise,
    on: str | None,
    errors: Mapping[str, object],
    randomization: Mapping[str, Distribution],
    baselines: Mapping[str, MakeController | Observed],
    hardware: Hardware = Hardware(),
) -> Setup:
    """Return the setup with a disturbed plant and laws that see noise; the models of the laws contain neither.

    Args:
        setup: the undisturbed setup, whose controller produces the motion that other laws follow.
        own: function that builds program control from the setup.
        force: the random force.
        on: name of the point on which it acts; None for a generalized force on each velocity.
        errors: keyword arguments of :class:`MeasurementNoise`.
        randomization: distributions of the values that vary between seeds, besides forces and noise.
        baselines: functions that build the laws to compare with, by name.
        hardware: what lies between every law and the plant.
    """
    plant = disturb(setup.robot, force, on)
    law = Impaired(setup, own, errors, hardware)(setup)
    assert isinstance(law, MeasurementNoise)
    chance: dict[str, Distribution] = {f"plant.{name}": Uniform(*ends) for name, ends in plant.random_ranges.items()}
    chance |= {f"law.{name}": Uniform(*ends) for name, ends in law.random_ranges.items()}
    return dataclasses.replace(
        setup,
        robot=plant.robot,
        controller=law,
        randomization={**randomization, **chance},
        baselines={name: Impaired(setup, make, errors, hardware) for name, make in baselines.items()},
    )


def spread(names: Sequence[str], share: float, *, mean: float = 1.0) -> Mapping[str, Distribution]:
    """Distributions of parameters of the plant that differ from the model's by a random factor.

    Args:
        names: names of the parameters.
        share: largest difference from the mean in either direction, as a share of it.
        mean: mean of the factor.
    """
    factor = Uniform(mean * (1.0 - share), mean * (1.0 + share))
    return {f"plant.{name}": Scaled(factor) for name in names}
