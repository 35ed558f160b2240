"""Starts and parameters of episodes: what a seed draws, as in comparisons and studies of the same setup."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.comparison.varied_names import VariedNames
from ...scenarios.sampling import Distribution, draw
from ...scenarios.sampling.philox import block
from ...scenarios.setup import Setup
from ...scenarios.starts import Starts
from ...symbolic.arrays import finite
from ...symbolic.errors import BridgeError, ParameterError
from ...symbolic.parameters import NO_PARAMETERS, Parameters

Array = NDArray[np.float64]
Seeds = NDArray[np.int64]
KEYS = ((0x9C6D3B5E21F7A8D1, 0x4E1F0C97B2A65D83), (0xD35A9E7714C20B6F, 0x6B8F52E1A90D7C34))
"""Of the two blocks that make a seed of a seed and a number; any would do."""


def later_seeds(seeds: Seeds, episode: NDArray[np.int64]) -> Seeds:
    """Seeds of later episodes, which depend on nothing but the first seed and the number of the episode.

    Args:
        seeds: of the first episode of each lane, shape (n,).
        episode: number of the episode from 0 on, shape (n,); the first has the seed itself.
    """
    mixed = block(KEYS[0], seeds.astype(np.uint64))[0] ^ episode.astype(np.uint64)
    drawn = (block(KEYS[1], mixed)[0] >> np.uint64(1)).astype(np.int64)
    return np.where(episode == 0, seeds, drawn)


@dataclass(frozen=True, eq=False)
class Driven:
    """A plant under a controller, and what a setup says of the controller's parameters.

    Attributes:
        plant: whose parameters are among what varies.
        controller: whose parameters are, too; or None.
        values: parameters of the controller that are not nominal, by name.
        places: names of those of both that say where contacts stand, which the motion finds.
    """

    plant: Robot
    controller: Controller | None
    values: Mapping[str, float]
    places: tuple[str, ...] = ()

    @property
    def parameters(self) -> Parameters:
        """The controller's."""
        return NO_PARAMETERS if self.controller is None else self.controller.parameters

    @property
    def size(self) -> int:
        """Number of parameters of both."""
        return len(self.plant.parameters) + len(self.parameters)


@dataclass(frozen=True, eq=False)
class Draws:
    """What episodes begin with.

    Attributes:
        setup: who moves, from where.
        varied: what seeds vary, by name.
    """

    setup: Setup
    varied: Mapping[str, Distribution]

    def __post_init__(self) -> None:
        """Refuse a name that there is not, or a number that varies twice, before anything runs."""
        self.starts(np.zeros(1, dtype=np.int64), {})

    @functools.cached_property
    def driven(self) -> tuple[Driven, ...]:
        """The plants and laws of the phases and, last, the setup's own."""
        setup = self.setup
        phases = [Driven(x.plant(setup.robot), x.controller, x.law_values, x.places) for x in setup.phases]
        return (*phases, Driven(setup.robot, setup.controller, setup.law_p))

    @property
    def size(self) -> int:
        """Number of all parameters of these."""
        return sum(each.size for each in self.driven)

    def plant(self, numbers: Array) -> Array:
        """Parameters of the setup's plant among those of an episode.

        Args:
            numbers: of all, shape (size,).
        """
        last = numbers[self.size - self.driven[-1].size :]
        return last[: len(self.setup.robot.parameters)]

    def phase(self, k: int, numbers: Array) -> tuple[dict[str, float], dict[str, float]]:
        """Parameters of a phase's plant and of its law by name, without the places of contacts.

        Args:
            k: which phase.
            numbers: of all, shape (size,).
        """
        one, first = self.driven[k], sum(each.size for each in self.driven[:k])
        names, split = (*one.plant.parameters.names, *one.parameters.names), len(one.plant.parameters)
        known = list(zip(names, numbers[first : first + one.size].tolist(), strict=True))
        plant, law = (
            {name: x for name, x in part if name not in one.places} for part in (known[:split], known[split:])
        )
        return plant, law

    @functools.cached_property
    def names(self) -> tuple[VariedNames, ...]:
        """Names of what can be set or varied, as seen from each of these."""
        known = self.setup.parameters
        return tuple(VariedNames(self.setup.robot, each.controller, known) for each in self.driven)

    def nominal(self, name: str) -> float:
        """Value of what can be varied, without variation; of a parameter of both the plant's.

        Args:
            name: as in ``varied``.

        Raises:
            ParameterError: for an unknown name, or one without a value.
        """
        setup = self.setup
        for law, names in zip(self.driven, self.names, strict=True):
            places = names.places(name)
            if places and places[0].where in ("q0", "v0"):
                start = setup.q0 if places[0].where == "q0" else setup.v0
                return float(np.asarray(start, dtype=np.float64)[places[0].index])
            if places:
                plant = places[0].where == "plant"
                known = {**setup.robot.nominal, **setup.p} if plant else {**law.parameters.nominal, **law.values}
                if places[0].name in known:
                    return float(known[places[0].name])
        raise ParameterError(f"{name!r} has no nominal value about which it could vary: give absolute values")

    def starts(self, seeds: Seeds, told: Mapping[str, float]) -> Starts:
        """States and parameters, one row for each seed: of plant and law of each phase, then the setup's own.

        Args:
            seeds: shape (n,).
            told: values by name in place of what is drawn.

        Raises:
            ParameterError: for an unknown name, or a value out of its range.
            BridgeError: for values that are no mapping.
        """
        if not isinstance(told, Mapping):
            raise BridgeError(f"parameters are given by name, such as {{'m1': 2.0}}, got {told!r}")
        n = len(seeds)
        columns: dict[str, Array] = dict(draw(self.varied, seeds, self.nominal)) if self.varied else {}
        # What is told comes last, and stays.
        given = columns, {name: np.full(n, finite(name, value)) for name, value in told.items()}
        starts = [self._one(each, names, n, given) for each, names in zip(self.driven, self.names, strict=True)]
        return Starts(starts[0].x, np.concatenate([each.numbers for each in starts], axis=1), starts[0].batch)

    def _one(self, driven: Driven, names: VariedNames, n: int, given: Sequence[Mapping[str, Array]]) -> Starts:
        """Starts for one of the plants and its law."""
        setup, own = self.setup, {"plant": driven.plant.parameters, "law": driven.parameters}
        values: dict[str, dict[str, Array | float]] = {"plant": dict(setup.p), "law": dict(driven.values)}
        for where, parameters in own.items():
            values[where] |= {name: 0.0 for name in driven.places if name in parameters.names}
        starts = {
            "q0": np.tile(np.asarray(setup.q0, dtype=np.float64), (n, 1)),
            "v0": np.tile(np.asarray(setup.v0, dtype=np.float64), (n, 1)),
        }
        for which in given:
            taken: dict[tuple[str, str], str] = {}
            for name, column in which.items():
                for place in names.places(name):
                    other = taken.setdefault((place.where, place.name), name)
                    if other != name:
                        raise ParameterError(f"{other!r} and {name!r} are the same number: give one of them")
                    if place.name in driven.places:
                        raise ParameterError(
                            f"{name!r} says where a contact stands, which the motion finds: leave it out"
                        )
                    if place.where in starts:
                        starts[place.where][:, place.index] = column
                    elif place.name in own[place.where].names:
                        values[place.where][place.name] = column
        p, law_p = (
            {name: np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)) for name, value in values[where].items()}
            for where in own
        )
        return Starts.of(driven.plant, driven.parameters, starts["q0"], starts["v0"], p, law_p)
