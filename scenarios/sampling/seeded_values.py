"""Values of randomized numbers as a function of name and seed: Philox 4×64 with ten rounds [Salmon2011]_."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, ParameterError
from ...symbolic.validation import require_memory
from .distributions import Distribution

Words = NDArray[np.uint64]
MULTIPLIERS = (np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157))
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
ROUNDS = 10
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
WORD = 2**64


def shares(name: str, seeds: Words) -> NDArray[np.float64]:
    """A number in (0, 1) for each seed, as if drawn at random, that depends on nothing but the name and the seed.

    It is (k + 1/2)/2⁵² with k the upper 52 bits of the first word of the block whose counter is the seed, under the
    key BLAKE2b-128(name). So it is the same whichever other seeds and names are drawn, in whatever order, on every
    machine and in every version.

    Args:
        name: of what is varied.
        seeds: shape (n,).
    """
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    key = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
    k = block(key, seeds)[0] >> np.uint64(12)
    return (k.astype(np.float64) + 0.5) * 2.0**-52


def block(key: tuple[int, int], counter: Words) -> tuple[Words, Words, Words, Words]:
    """The four words that a key makes of each counter.

    Args:
        key: two words.
        counter: lowest word of the counter, whose others are zero, shape (n,).
    """
    zero = np.zeros_like(counter)
    x0, x1, x2, x3 = counter, zero, zero, zero
    for i in range(ROUNDS):
        first, second = (np.uint64((key[j] + i * WEYL[j]) % WORD) for j in (0, 1))
        (high0, low0), (high1, low1) = _product(MULTIPLIERS[0], x0), _product(MULTIPLIERS[1], x2)
        x0, x1, x2, x3 = high1 ^ x1 ^ first, low1, high0 ^ x3 ^ second, low0
    return x0, x1, x2, x3


def _product(a: np.uint64, b: Words) -> tuple[Words, Words]:
    """Upper and lower word of the products, from those of half words."""
    a0, a1, b0, b1 = a & LOW, a >> HALF, b & LOW, b >> HALF
    middle = a1 * b0 + ((a0 * b0) >> HALF)
    carried = a0 * b1 + (middle & LOW)
    return a1 * b1 + (middle >> HALF) + (carried >> HALF), a * b


Array = NDArray[np.float64]
Seeds = int | Sequence[int] | NDArray[np.integer]


def sample(
    varied: Mapping[str, Distribution], seeds: Seeds, nominal: Callable[[str], float] | None = None
) -> Mapping[str, Array]:
    """One value for each seed of each number that is varied.

    A value depends only on the number's name, its distribution and the seed: not on which other seeds or numbers are
    drawn, nor in which order, nor on the machine.

    Args:
        varied: distributions by name.
        seeds: how many, for 0 … n − 1, or the seeds themselves, whole numbers that are not negative.
        nominal: the value of a name without variation, which relative distributions need, such as
            :meth:`Trial.nominal <erugin.scenarios.Trial.nominal>`.

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
        columns[name] = values_at(name, distribution, shares(name, words), nominal)
    return columns


def values_at(
    name: str, distribution: Distribution, share: Array, nominal: Callable[[str], float] | None = None
) -> Array:
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
        with require_memory(6.0 * float(seeds), f"{seeds:,} seeds", "take fewer"):
            return np.arange(int(seeds), dtype=np.int64)
    try:
        given = np.asarray(seeds)
    except ValueError as error:
        raise ModelError(f"{allowed}; got {seeds!r}") from error
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= 2**63:
        raise ModelError(f"{allowed}; got {seeds!r}")
    return given.astype(np.int64)
