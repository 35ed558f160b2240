"""Random numbers as a function of a key and a counter: Philox 4×64 with ten rounds [Salmon2011]_."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

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
