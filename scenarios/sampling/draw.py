"""Values of what seeds vary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import room_for
from ...symbolic.errors import ModelError, ParameterError
from .distribution import Distribution
from .philox import shares

Array = NDArray[np.float64]
Seeds = int | Sequence[int] | NDArray[np.integer]


def draw(
    varied: Mapping[str, Distribution], seeds: Seeds, nominal: Callable[[str], float] | None = None
) -> Mapping[str, Array]:
    """One value for each seed of each number that is varied.

    A value depends only on the number's name, its distribution and the seed: not on which other seeds or numbers are
    drawn, nor in which order, nor on the machine.

    Args:
        varied: distributions by name.
        seeds: how many, for 0 … n − 1, or the seeds themselves, whole numbers that are not negative.
        nominal: the value of a name without variation, which relative distributions need, such as
            :meth:`Trial.nominal <erugin.scenarios.comparison.Trial.nominal>`.

    Returns:
        Values by name, shape (n,) each.

    Raises:
        ModelError: for seeds that are none, or what are no distributions by name.
        ParameterError: for a relative distribution without ``nominal``, and what that raises.
    """
    if not isinstance(varied, Mapping):
        raise ModelError(
            f"varied must be distributions by name, such as {{'m1': Scaled(Uniform(0.9, 1.1))}}, got {varied!r}"
        )
    words = seed_numbers(seeds).astype(np.uint64)
    columns: dict[str, Array] = {}
    for name, distribution in varied.items():
        if not isinstance(distribution, Distribution):
            raise ModelError(f"{name!r} is varied by a distribution such as Uniform(0.9, 1.1), got {distribution!r}")
        columns[name] = place(name, distribution, shares(name, words), nominal)
    return columns


def place(name: str, distribution: Distribution, share: Array, nominal: Callable[[str], float] | None = None) -> Array:
    """Values of one number at some shares of its distribution.

    Args:
        name: of the number.
        distribution: of the number.
        share: in (0, 1), any shape.
        nominal: the value of a name without variation, if it is known.

    Raises:
        ParameterError: for a relative distribution without ``nominal``, and what that raises.
    """
    if not (np.isfinite(share).all() and (np.abs(share - 0.5) <= 0.5).all()):
        raise ModelError(f"share must be numbers from 0 to 1, got {share!r}")
    if not distribution.is_relative:
        return distribution.quantile(share)
    if nominal is None:
        raise ParameterError(f"{name!r} is varied about its nominal value by {distribution!r}: pass nominal=")
    return distribution.around(nominal(name), share)


def seed_numbers(seeds: Seeds) -> NDArray[np.int64]:
    """Seeds as numbers, shape (n,).

    Args:
        seeds: how many, for 0 … n − 1, or the seeds themselves.

    Raises:
        ModelError: for none, what is no whole number from 0 to 2⁶³ − 1, or more of them than fit into memory.
    """
    allowed = "seeds are a number of them, at least 1, or whole numbers that are not negative"
    if isinstance(seeds, int | np.integer) and not isinstance(seeds, bool):
        if seeds < 1:
            raise ModelError(f"{allowed}; got {seeds!r}")
        # As numbers here, and as a list of Python's where a study keeps them.
        with room_for(6.0 * float(seeds), f"{seeds:,} seeds", "take fewer"):
            return np.arange(int(seeds), dtype=np.int64)
    try:
        given = np.asarray(seeds)
    except ValueError as error:
        raise ModelError(f"{allowed}; got {seeds!r}") from error
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= 2**63:
        raise ModelError(f"{allowed}; got {seeds!r}")
    return given.astype(np.int64)
