"""Starts and parameters of episodes: what a seed draws, as in comparisons and studies of the same setup."""

from __future__ import annotations

import functools
from collections.abc import Mapping
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
from ...symbolic.parameters import NO_PARAMETERS

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
class Draws:
    """What episodes begin with.

    Attributes:
        setup: who moves, from where.
        controller: whose parameters are among what varies, or None.
        varied: what seeds vary, by name.
    """

    setup: Setup
    controller: Controller | None
    varied: Mapping[str, Distribution]

    def __post_init__(self) -> None:
        """Refuse a name that there is not, or a number that varies twice, before anything runs."""
        self.starts(np.zeros(1, dtype=np.int64), {})

    @functools.cached_property
    def names(self) -> VariedNames:
        """Names of what can be set or varied."""
        return VariedNames(self.setup.robot, self.controller, self.setup.parameters)

    def nominal(self, name: str) -> float:
        """Value of what can be varied, without variation; of a parameter of both the plant's.

        Args:
            name: as in ``varied``.

        Raises:
            ParameterError: for an unknown name, or one without a value.
        """
        setup, places = self.setup, self.names.places(name)
        if places and places[0].where in ("q0", "v0"):
            start = setup.q0 if places[0].where == "q0" else setup.v0
            return float(np.asarray(start, dtype=np.float64)[places[0].index])
        if places:
            plant = places[0].where == "plant"
            law = NO_PARAMETERS if self.controller is None else self.controller.parameters
            known = {**setup.robot.nominal, **setup.p} if plant else {**law.nominal, **setup.law_p}
            if places[0].name in known:
                return float(known[places[0].name])
        raise ParameterError(f"{name!r} has no nominal value about which it could vary: give absolute values")

    def starts(self, seeds: Seeds, told: Mapping[str, float]) -> Starts:
        """States and parameters, one row for each seed.

        Args:
            seeds: shape (n,).
            told: values by name in place of what is drawn.

        Raises:
            ParameterError: for an unknown name, or a value out of its range.
            BridgeError: for values that are no mapping.
        """
        if not isinstance(told, Mapping):
            raise BridgeError(f"parameters are given by name, such as {{'m1': 2.0}}, got {told!r}")
        n, setup, names = len(seeds), self.setup, self.names
        columns: dict[str, Array] = dict(draw(self.varied, seeds, self.nominal)) if self.varied else {}
        law = NO_PARAMETERS if self.controller is None else self.controller.parameters
        values: dict[str, dict[str, Array | float]] = {
            "plant": dict(setup.p),
            "law": {name: value for name, value in setup.law_p.items() if name in law.names},
        }
        starts = {
            "q0": np.tile(np.asarray(setup.q0, dtype=np.float64), (n, 1)),
            "v0": np.tile(np.asarray(setup.v0, dtype=np.float64), (n, 1)),
        }
        # What is told comes last, and stays.
        for which in (columns, {name: np.full(n, finite(name, value)) for name, value in told.items()}):
            taken: dict[tuple[str, str], str] = {}
            for name, column in which.items():
                for place in names.places(name):
                    other = taken.setdefault((place.where, place.name), name)
                    if other != name:
                        raise ParameterError(f"{other!r} and {name!r} are the same number: give one of them")
                    if place.where in starts:
                        starts[place.where][:, place.index] = column
                    else:
                        values[place.where][place.name] = column
        p = {
            name: np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)) for name, value in values["plant"].items()
        }
        law_p = {
            name: np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)) for name, value in values["law"].items()
        }
        return Starts.of(setup.robot, law, starts["q0"], starts["v0"], p, law_p)
