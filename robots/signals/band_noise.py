"""Band-limited noise, as a sum of cosines whose phases and frequencies are parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite
from .signal import Signal, SignalExpressions, parameter_name, per_component, sizes


@dataclass(frozen=True, eq=False)
class BandNoise(Signal):
    """f(t) = A √(2/n) Σ cos(2π f_j t + φ_j), j = 1…n, with separate phases and frequencies for each component.

    Each f_j is uniformly distributed over one of n equal parts of the band, and φ_j over a full turn. Then f has mean
    zero and root mean square A at any instant over all draws, and over a long time in each draw; its power spectral
    density is constant over the band, A²/(high − low) per Hz. It approaches a normal distribution as n grows: the
    kurtosis is 3 − 3/(2n), the largest value A √(2n). Two draws differ in parameters only.

    Attributes:
        amplitude: A, root mean square, a number for all components or one for each; parameters ``name.amplitude``, or
            ``name.x.amplitude`` and so on.
        band: lowest and highest frequency [Hz]; the highest must be well below 1/(10 · step) to be integrated.
        terms: n, number of cosines of each component.
        seed: seed of the nominal phases ``name.x.phase1``, … and frequencies ``name.x.frequency1``, …; studies draw
            others within the same bounds. Two noises with the same seed have the same nominal phases, whatever their
            names: use different seeds.

    Raises:
        ModelError: for a negative amplitude, an invalid band, or less than one term.
    """

    amplitude: float | Sequence[float]
    band: tuple[float, float]
    terms: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if (sizes("amplitude", self.amplitude) < 0.0).any():
            raise ModelError(f"amplitude, a root mean square, must not be negative, got {self.amplitude!r}")
        try:
            low, high = self.band
        except (TypeError, ValueError) as error:
            raise ModelError(f"band must be (lowest, highest) frequency in Hz, got {self.band!r}") from error
        object.__setattr__(self, "band", (finite("band[0]", low), finite("band[1]", high)))
        if not 0.0 <= self.band[0] < self.band[1]:
            raise ModelError(f"band must be (lowest, highest) with 0 <= lowest < highest in Hz, got {self.band!r}")
        for name, value, least in (("terms", self.terms, 1), ("seed", self.seed, 0)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ModelError(f"{name} must be an integer of at least {least}, got {value!r}")

    def build(self, t: ca.SX, name: str, components: tuple[str, ...]) -> SignalExpressions:
        """Build the noise of all components."""
        sized, amplitude = per_component("amplitude", "", sizes("amplitude", self.amplitude), name, components)
        sized = Parameters(sized.names, sized.symbols, sized.nominal, dict.fromkeys(sized.names, Range.NOT_NEGATIVE))
        low, high = self.band
        width = (high - low) / self.terms
        parts, values, ranges = [sized], list[ca.SX](), dict[str, tuple[float, float]]()
        for k, word in enumerate(components):
            shares = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(k,))).random((2, self.terms))
            phases = [parameter_name(name, word, f"phase{j}") for j in range(1, self.terms + 1)]
            rates = [parameter_name(name, word, f"frequency{j}") for j in range(1, self.terms + 1)]
            bounds = dict.fromkeys(phases, (0.0, 2.0 * math.pi))
            bounds |= {rate: (low + j * width, low + (j + 1) * width) for j, rate in enumerate(rates)}
            nominal = {key: a + (b - a) * x for (key, (a, b)), x in zip(bounds.items(), shares.flat, strict=True)}
            own = Parameters.declare(nominal, ranges=dict.fromkeys(rates, Range.NOT_NEGATIVE))
            angles = 2.0 * math.pi * own.symbols[self.terms :] * t + own.symbols[: self.terms]
            values.append(amplitude[k] * (math.sqrt(2.0 / self.terms) * ca.sum1(ca.cos(angles))))
            parts.append(own)
            ranges |= bounds
        return SignalExpressions(ca.vertcat(*values), Parameters.collect(parts), ranges)
