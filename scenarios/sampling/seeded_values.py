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
    """Return a pseudorandom number in (0, 1) for each seed, which depends on the name and the seed only.

    It is (k + 1/2)/2⁵² with k the upper 52 bits of the first word of the block whose counter is the seed, under the
    key BLAKE2b-128(name). It is the same whichever other seeds and names are drawn, in any order, on every machine and
    in every version.

    Args:
        name: name of the randomized number.
        seeds: seeds, shape (n,).
    """
    digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
    key = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
    k = block(key, seeds)[0] >> np.uint64(12)
    return (k.astype(np.float64) + 0.5) * 2.0**-52


def block(key: tuple[int, int], counter: Words) -> tuple[Words, Words, Words, Words]:
    """Return the four words of the block of each counter.

    Args:
        key: two words.
        counter: lowest word of each counter, whose other words are zero, shape (n,).
    """
    zero = np.zeros_like(counter)
    x0, x1, x2, x3 = counter, zero, zero, zero
    for i in range(ROUNDS):
        first, second = (np.uint64((key[j] + i * WEYL[j]) % WORD) for j in (0, 1))
        (high0, low0), (high1, low1) = _product(MULTIPLIERS[0], x0), _product(MULTIPLIERS[1], x2)
        x0, x1, x2, x3 = high1 ^ x1 ^ first, low1, high0 ^ x3 ^ second, low0
    return x0, x1, x2, x3


def _product(a: np.uint64, b: Words) -> tuple[Words, Words]:
    """Return upper and lower word of the products, computed from half words."""
    a0, a1, b0, b1 = a & LOW, a >> HALF, b & LOW, b >> HALF
    middle = a1 * b0 + ((a0 * b0) >> HALF)
    carried = a0 * b1 + (middle & LOW)
    return a1 * b1 + (middle >> HALF) + (carried >> HALF), a * b


Array = NDArray[np.float64]
Seeds = int | Sequence[int] | NDArray[np.integer]


def sample(
    distributions: Mapping[str, Distribution], seeds: Seeds, nominal: Callable[[str], float] | None = None
) -> Mapping[str, Array]:
    """Draw one value of each randomized number for each seed.

    A value depends only on the number's name, its distribution and the seed: not on the other seeds or numbers, their
    order, or the machine.

    Args:
        distributions: distributions, by name.
        seeds: number of seeds, for 0 … n − 1, or the seeds themselves, whole numbers that are not negative.
        nominal: function that returns the value of a name without randomization, required by relative distributions,
            such as :meth:`Trial.nominal <erugin.scenarios.Trial.nominal>`.

    Returns:
        Values by name, shape (n,) each.

    Raises:
        ModelError: for invalid seeds, or anything but a mapping of distributions.
        ParameterError: for a relative distribution without ``nominal``, and whatever that raises.
    """
    if not isinstance(distributions, Mapping):
        raise ModelError(
            "distributions must be a mapping by name, such as {'m1': Scaled(Uniform(0.9, 1.1))}, got "
            f"{distributions!r}"
        )
    words = seed_numbers(seeds).astype(np.uint64)
    columns: dict[str, Array] = {}
    for name, distribution in distributions.items():
        if not isinstance(distribution, Distribution):
            raise ModelError(
                f"the distribution of {name!r} must be a Distribution, such as Uniform(0.9, 1.1), got {distribution!r}"
            )
        columns[name] = values_at(name, distribution, shares(name, words), nominal)
    return columns


def values_at(
    name: str, distribution: Distribution, share: Array, nominal: Callable[[str], float] | None = None
) -> Array:
    """Return the values of one number at some shares of its distribution.

    Args:
        name: name of the number.
        distribution: distribution of the number.
        share: shares, in (0, 1), any shape.
        nominal: function that returns the value of a name without randomization, required by relative distributions.

    Raises:
        ParameterError: for a relative distribution without ``nominal``, and whatever that raises.
    """
    if not (np.isfinite(share).all() and (np.abs(share - 0.5) <= 0.5).all()):
        raise ModelError(f"share must contain numbers from 0 to 1, got {share!r}")
    if not distribution.is_relative:
        return distribution.quantile(share)
    if nominal is None:
        raise ParameterError(f"the distribution of {name!r} is relative to its nominal value: pass nominal=")
    return distribution.around(nominal(name), share)


def seed_numbers(seeds: Seeds) -> NDArray[np.int64]:
    """Return the seeds as numbers, shape (n,).

    Args:
        seeds: number of seeds, for 0 … n − 1, or the seeds themselves.

    Raises:
        ModelError: for no seeds, anything but whole numbers from 0 to 2⁶³ − 1, or more seeds than fit into memory.
    """
    allowed = "seeds must be their number, at least 1, or a sequence of whole numbers that are not negative"
    if isinstance(seeds, int | np.integer) and not isinstance(seeds, bool):
        if seeds < 1:
            raise ModelError(f"{allowed}; got {seeds!r}")
        # Memory for this array, and for the list in which a study keeps the seeds.
        with require_memory(6.0 * float(seeds), f"{seeds:,} seeds", "take fewer"):
            return np.arange(int(seeds), dtype=np.int64)
    try:
        given = np.asarray(seeds)
    except ValueError as error:
        raise ModelError(f"{allowed}; got {seeds!r}") from error
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= 2**63:
        raise ModelError(f"{allowed}; got {seeds!r}")
    return given.astype(np.int64)
