"""Values of expressions at random points: a property that holds at all of them holds almost everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .kernel import Kernel
from .parameters import Parameters, Range

Array = NDArray[np.float64]

SAMPLES = 3
SEED = 1952


def sample_values(
    expressions: Mapping[str, ca.SX], states: Mapping[str, ca.SX], parameters: Parameters
) -> Iterator[list[Array]]:
    """Yield the values of all expressions, as matrices, at a few random points, the same at every call.

    Args:
        expressions: expressions by name.
        states: symbols that get random values between 0.3 and 1.3, by name.
        parameters: parameters at their nominal values; at any allowed number if they have none.
    """
    kernel = Kernel("samples", {**states, "p": parameters.symbols}, expressions, compiled=False)
    rng = np.random.default_rng(SEED)
    p = sample_parameters(parameters, rng)
    for _ in range(SAMPLES):
        values = kernel(*(rng.uniform(0.3, 1.3, symbol.numel()) for symbol in states.values()), p)
        yield [value.reshape(shape) for value, shape in zip(values, kernel.outputs.values(), strict=True)]


def sample_parameters(parameters: Parameters, rng: np.random.Generator) -> Array:
    """Nominal values, shape (n,); any allowed number for a parameter that has none.

    Args:
        parameters: the parameters.
        rng: generator of the other numbers.
    """
    given, ranges = parameters.nominal, parameters.ranges
    return np.array(
        [
            given[name] if name in given else 1.0 if ranges.get(name) is Range.SIGN else rng.uniform(0.5, 1.5)
            for name in parameters.names
        ]
    )
