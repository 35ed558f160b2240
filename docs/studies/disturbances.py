"""Disturbances of the published comparison, the same for all laws: unknown forces and measurement noise."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from erugin.controllers import Controller
from erugin.controllers.wrappers import MeasurementNoise
from erugin.robots.disturbance import disturb
from erugin.robots.signals import BandNoise
from erugin.scenarios import Distribution, Scaled, Uniform
from erugin.scenarios.setup import MakeController, Setup


@dataclass(frozen=True)
class WithNoise:
    """A law that is built for the undisturbed setup and sees measurement noise.

    Attributes:
        clean: the undisturbed setup, for which the law is built.
        make: function that builds the law from the setup; None for the setup's own law.
        errors: keyword arguments of :class:`MeasurementNoise`.
    """

    clean: Setup
    make: MakeController | None
    errors: Mapping[str, object]

    def __call__(self, _: Setup) -> Controller:
        """Build the law; the argument, the disturbed setup, is ignored, because no law knows the disturbances."""
        law = self.clean.controller if self.make is None else self.make(self.clean)
        assert law is not None
        return MeasurementNoise(law, **self.errors)  # type: ignore[arg-type]


def with_disturbances(
    setup: Setup,
    *,
    force: BandNoise,
    on: str | None,
    errors: Mapping[str, object],
    randomization: Mapping[str, Distribution],
    baselines: Mapping[str, MakeController],
) -> Setup:
    """Return the setup with a disturbed plant and laws that see noise; the models of the laws contain neither.

    Args:
        setup: the undisturbed setup.
        force: the random force.
        on: name of the point on which it acts; None for a generalized force on each velocity.
        errors: keyword arguments of :class:`MeasurementNoise`.
        randomization: distributions of the values that vary between seeds, besides forces and noise.
        baselines: functions that build the laws to compare with, by name.
    """
    plant = disturb(setup.robot, force, on)
    own = WithNoise(setup, None, errors)(setup)
    assert isinstance(own, MeasurementNoise)
    chance: dict[str, Distribution] = {f"plant.{name}": Uniform(*ends) for name, ends in plant.random_ranges.items()}
    chance |= {f"law.{name}": Uniform(*ends) for name, ends in own.random_ranges.items()}
    return dataclasses.replace(
        setup,
        robot=plant.robot,
        controller=own,
        randomization={**randomization, **chance},
        baselines={name: WithNoise(setup, make, errors) for name, make in baselines.items()},
    )


def spread(names: Sequence[str], share: float) -> Mapping[str, Distribution]:
    """Distributions of parameters of the plant that differ from the model's by a random factor.

    Args:
        names: names of the parameters.
        share: largest relative difference in either direction.
    """
    return {f"plant.{name}": Scaled(Uniform(1.0 - share, 1.0 + share)) for name in names}
