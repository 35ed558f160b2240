"""Starts and parameters of episodes: what a seed draws, as in comparisons and studies of the same setup."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
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
class LawValues:
    """A controller, and what a setup says of its parameters.

    Attributes:
        controller: whose parameters are among what varies, or None.
        values: parameters that are not nominal, by name.
        places: names of those that say where contacts stand, which the motion finds.
    """

    controller: Controller | None
    values: Mapping[str, float]
    places: tuple[str, ...] = ()

    @classmethod
    def of(cls, setup: Setup) -> tuple[LawValues, ...]:
        """Those of the phases of a setup, or the only one.

        Args:
            setup: who moves.
        """
        found = tuple(cls(phase.controller, phase.law_values, phase.places) for phase in setup.phases)
        return found or (cls(setup.controller, setup.law_p),)

    @property
    def parameters(self) -> Parameters:
        """The controller's."""
        return NO_PARAMETERS if self.controller is None else self.controller.parameters


@dataclass(frozen=True, eq=False)
class Draws:
    """What episodes begin with.

    Attributes:
        setup: who moves, from where.
        laws: of the setup, one for each of its phases, or the only one.
        varied: what seeds vary, by name.
    """

    setup: Setup
    laws: tuple[LawValues, ...]
    varied: Mapping[str, Distribution]

    def __post_init__(self) -> None:
        """Refuse a name that there is not, or a number that varies twice, before anything runs."""
        self.starts(np.zeros(1, dtype=np.int64), {})

    @property
    def size(self) -> int:
        """Number of parameters of the plant and of the laws."""
        return len(self.setup.robot.parameters) + sum(len(law.parameters) for law in self.laws)

    @functools.cached_property
    def names(self) -> tuple[VariedNames, ...]:
        """Names of what can be set or varied, as seen from each law."""
        known = self.setup.parameters
        return tuple(VariedNames(self.setup.robot, law.controller, known) for law in self.laws)

    def nominal(self, name: str) -> float:
        """Value of what can be varied, without variation; of a parameter of both the plant's.

        Args:
            name: as in ``varied``.

        Raises:
            ParameterError: for an unknown name, or one without a value.
        """
        setup = self.setup
        for law, names in zip(self.laws, self.names, strict=True):
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
        """States and parameters, one row for each seed: of the plant, then of the laws in their order.

        Args:
            seeds: shape (n,).
            told: values by name in place of what is drawn.

        Raises:
            ParameterError: for an unknown name, or a value out of its range.
            BridgeError: for values that are no mapping.
        """
        if not isinstance(told, Mapping):
            raise BridgeError(f"parameters are given by name, such as {{'m1': 2.0}}, got {told!r}")
        n, setup = len(seeds), self.setup
        columns: dict[str, Array] = dict(draw(self.varied, seeds, self.nominal)) if self.varied else {}
        # What is told comes last, and stays.
        given = columns, {name: np.full(n, finite(name, value)) for name, value in told.items()}
        starts = [self._one(law, names, n, given) for law, names in zip(self.laws, self.names, strict=True)]
        plant = len(setup.robot.parameters)
        numbers = [starts[0].numbers, *(other.numbers[:, plant:] for other in starts[1:])]
        return Starts(starts[0].x, np.concatenate(numbers, axis=1), starts[0].batch)

    def _one(self, law: LawValues, names: VariedNames, n: int, given: Sequence[Mapping[str, Array]]) -> Starts:
        """Starts for one of the laws."""
        setup, own = self.setup, law.parameters.names
        values: dict[str, dict[str, Array | float]] = {
            "plant": dict(setup.p),
            "law": {key: x for key, x in {**law.values, **dict.fromkeys(law.places, 0.0)}.items() if key in own},
        }
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
                    if place.name in law.places:
                        raise ParameterError(
                            f"{name!r} says where a contact stands, which the motion finds: leave it out"
                        )
                    if place.where in starts:
                        starts[place.where][:, place.index] = column
                    else:
                        values[place.where][place.name] = column
        p, law_p = (
            {name: np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)) for name, value in values[where].items()}
            for where in ("plant", "law")
        )
        return Starts.of(setup.robot, law.parameters, starts["q0"], starts["v0"], p, law_p)
