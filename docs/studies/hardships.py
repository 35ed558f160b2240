"""What makes a comparison hard, the same for all laws: forces that none knows, and errors of measurement."""

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
class Sensed:
    """A law of a setup without hardships, which sees errors.

    Attributes:
        clean: the setup that the law is built for.
        make: builds it; None for the setup's own.
        errors: keyword arguments of :class:`MeasurementNoise`.
    """

    clean: Setup
    make: MakeController | None
    errors: Mapping[str, object]

    def __call__(self, _: Setup) -> Controller:
        """The law; the hard setup is not looked at, for no law knows of the hardships."""
        law = self.clean.controller if self.make is None else self.make(self.clean)
        assert law is not None
        return MeasurementNoise(law, **self.errors)  # type: ignore[arg-type]


def hard(
    setup: Setup,
    *,
    force: BandNoise,
    on: str | None,
    errors: Mapping[str, object],
    randomization: Mapping[str, Distribution],
    baselines: Mapping[str, MakeController],
) -> Setup:
    """The setup with a disturbed plant, and laws that see errors; their models know of neither.

    Args:
        setup: as it is without.
        force: that acts.
        on: the point on which it acts, or None for a force on each velocity.
        errors: keyword arguments of :class:`MeasurementNoise`.
        randomization: what seeds vary besides forces and errors.
        baselines: laws to compare with, by name.
    """
    plant = disturb(setup.robot, force, on)
    own = Sensed(setup, None, errors)(setup)
    assert isinstance(own, MeasurementNoise)
    chance: dict[str, Distribution] = {f"plant.{name}": Uniform(*ends) for name, ends in plant.random_ranges.items()}
    chance |= {f"law.{name}": Uniform(*ends) for name, ends in own.random_ranges.items()}
    return dataclasses.replace(
        setup,
        robot=plant.robot,
        controller=own,
        randomization={**randomization, **chance},
        baselines={name: Sensed(setup, make, errors) for name, make in baselines.items()},
    )


def spread(names: Sequence[str], share: float) -> Mapping[str, Distribution]:
    """Parameters of the plant that differ from the model's by a random factor.

    Args:
        names: of the parameters.
        share: largest relative difference to either side.
    """
    return {f"plant.{name}": Scaled(Uniform(1.0 - share, 1.0 + share)) for name in names}
