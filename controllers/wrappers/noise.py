"""Noise of measurements and outputs: drawn at each sample, or smooth in time and symbolic."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.signals.band_noise import BandNoise
from ...robots.signals.signal import Signal, SignalExpressions
from ...symbolic.errors import ModelError, require_name
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.validation import vector_argument
from ..controller import Controller, Tick, Values
from ..law import Law
from ..status import Status
from .signal_wrapper import Memory, SignalWrapper
from .wrapper import Wrapper, WrapperMemory, evaluate_inside, law_inside, memory_inside

Array = NDArray[np.float64]


class MeasurementNoise(Wrapper[None]):
    """u = law(t, q + n(t), v + w(t)), where n and w are functions of time with parameters.

    A symbolic law stays symbolic, so that a simulation remains one compiled kernel; equal parameters give all laws the
    same errors. The deviation is that of the true state; the pivots, and which rows are on, are those at the measured
    state.

    Unlike :class:`Noise`, which is drawn at each sample, these errors are smooth functions of time with a fixed band
    that does not depend on the step. Coordinates that are related by constraints, such as those of a quaternion,
    violate them by as much as the errors: use zeros for these.

    Attributes:
        random_ranges: lowest and highest value, by name, of the parameters that are drawn uniformly between them.
    """

    def __init__(
        self,
        controller: Controller,
        *,
        q: float | Sequence[float] | Signal = 0.0,
        v: float | Sequence[float] | Signal | Literal["derivative"] = 0.0,
        band: tuple[float, float] = (1.0, 20.0),
        terms: int = 8,
        seed: int = 0,
        name: str = "noise",
    ) -> None:
        """Add measurement errors to a law.

        Args:
            controller: the controller inside.
            q: n, root mean square of a :class:`~erugin.robots.BandNoise`, a number or shape (nq,) [unit of q]; or any
                other signal of nq components. Its parameters are ``noise.q.phase1`` for a coordinate ``q``, and so on.
            v: w, likewise, independent of n, a number or shape (nv,), with parameters ``noise.rate.q.phase1`` and so
                on; or ``"derivative"`` for w = dn/dt, the velocity from a sensor of positions only, which is about
                2π f times as large.
            band: lowest and highest frequency of both [Hz].
            terms: number of cosines of each component.
            seed: seed of the nominal phases and frequencies; n is a BandNoise with seed 2·seed and w one with
                2·seed + 1.
            name: prefix of the names of the parameters.

        Raises:
            ModelError: if ``controller`` is not a controller, for a wrong size, for ``"derivative"`` where velocities
                are not the rates of coordinates, or if all errors are zero.
            ParameterError: if the law already has parameters of these names.
        """
        super().__init__(controller)
        c = self.robot.coordinates
        if isinstance(v, str):
            if v != "derivative":
                raise ModelError(f"v must be a root mean square, a Signal or 'derivative', got {v!r}")
            if not c.are_rates:
                raise ModelError(
                    f"v='derivative' requires velocities that are the rates of the coordinates, which those of "
                    f"{self.robot.name} are not: give their root mean square"
                )
        require_name("measurement noise", name)
        moving = c.velocity_names
        # Check band, terms and seed even where no noise is built from them.
        BandNoise(0.0, band, terms, seed)
        self._q = _build_signal("q", q, lambda size: BandNoise(size, band, terms, 2 * seed), c.t, name, c.names)
        if isinstance(v, str):
            self._v = SignalExpressions(ca.jtimes(self._q.value, c.t, ca.SX(1)))
        else:
            prefix = f"{name}.rate"
            self._v = _build_signal(
                "v", v, lambda size: BandNoise(size, band, terms, 2 * seed + 1), c.t, prefix, moving
            )
        self._error_parameters = Parameters.collect([self._q.parameters, self._v.parameters])
        if not len(self._error_parameters):
            raise ModelError("MeasurementNoise requires an error: give q= or v= other than zero")
        self.parameters = Parameters.collect([controller.parameters, self._error_parameters])
        self.random_ranges: Mapping[str, tuple[float, float]] = {**self._q.random_ranges, **self._v.random_ranges}
        self.reset()

    @property
    def remembers(self) -> bool:
        """False: the errors are functions of time."""
        return False

    def _at_measured(self, law: Law | None) -> Law | None:
        c = self.robot.coordinates
        new = ca.vertcat(c.q + self._q.value, c.v + self._v.value)
        return None if law is None else law.at(ca.vertcat(c.q, c.v), new, deviation=False)

    @functools.cached_property
    def _law(self) -> Law | None:
        return self._at_measured(self.inner.law)

    @property
    def law(self) -> Law | None:
        """The law as expressions, at the measured state; None if the law inside has none."""
        return self._law

    def sampled_law(self, period: float) -> Law | None:
        """Return the law at the measured state, with its memory; None if the law inside has no expressions.

        Args:
            period: time between samples [s].
        """
        inner = law_inside(self.inner, period)
        law = self._at_measured(inner)
        if law is None or inner is None or law.memory is None:
            return law

        def restore(z: Array) -> WrapperMemory[None]:
            return WrapperMemory(None, inner.restore(z))

        return replace(law, memory=replace(law.memory, restore=restore))

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the law inside at the measured state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: memory of the law inside.
        """
        parts = self.parts(memory)
        measured = self.measured_arguments(t, q, v, p)
        tick = evaluate_inside(self.inner, *measured, parts.inner)

        def after() -> WrapperMemory[None]:
            return WrapperMemory(None, *memory_inside(self.inner, *measured, parts.inner))

        deviation = self.true_deviation(t, q, v, self._inner_parameters(p), parts.inner)
        error = parts.error or tick.error
        return replace(tick, memory=None if memory is None else after, deviation=deviation, error=error)

    def diagnose(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> tuple[Status, str]:
        """Return status and message of the law inside, at the measured state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return self.inner.diagnose(*self.measured_arguments(*self.arguments(t, q, v, p)))

    def measured_arguments(self, t: float, q: Array, v: Array, p: Array) -> tuple[float, Array, Array, Array]:
        """Return t, q + n and v + w, and the parameters of the law inside.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
        """
        of_q, of_v = map(np.atleast_1d, self._errors(t, p[len(self.inner.parameters) :]))
        return t, q + of_q, v + of_v, self._inner_parameters(p)

    @functools.cached_property
    def _errors(self) -> Kernel:
        return Kernel(
            "measured",
            {"t": self.robot.t, "p": self._error_parameters.symbols},
            {"q": self._q.value, "v": self._v.value},
            compiled=False,
        )


def _build_signal(
    word: str,
    given: float | Sequence[float] | Signal,
    noise: Callable[[float | Sequence[float]], Signal],
    t: ca.SX,
    name: str,
    components: tuple[str, ...],
) -> SignalExpressions:
    """Build the signal; zero without parameters for a plain zero."""
    try:
        signal = given if isinstance(given, Signal) else noise(given)
        if not isinstance(given, Signal) and not np.any(given):
            return SignalExpressions(ca.SX.zeros(len(components)))
        return signal.build(t, name, components)
    except ModelError as error:
        raise ModelError(f"{word}= of MeasurementNoise: {error}") from error


class Noise(SignalWrapper):
    """u = law(t, q + σ_q ξ, v + σ_v ξ′) + σ_u ξ″, with ξ normal, drawn at every sample and constant until the next.

    It is white from sample to sample, so that its power spectral density grows with the step: σ² h. The same seed gives
    the same noise in every run, and different noise in each of several nested wrappers.
    """

    def __init__(
        self,
        controller: Controller,
        *,
        q: ArrayLike = 0.0,
        v: ArrayLike = 0.0,
        u: ArrayLike = 0.0,
        seed: int = 0,
    ) -> None:
        """Add noise to a law.

        Args:
            controller: the controller inside.
            q: standard deviations of the measured coordinates, a number or shape (nq,).
            v: standard deviations of the measured velocities, a number or shape (nv,).
            u: standard deviations of the output, a number or shape (n,).
            seed: seed of the noise, an integer not below 0.

        Raises:
            ModelError: for a wrong shape, a negative or infinite deviation, or a seed that is not an integer from 0.
        """
        super().__init__(controller)
        c = self.robot.coordinates
        spreads: list[Array] = []
        for name, value, size in (("q", q, c.nq), ("v", v, c.nv), ("u", u, self.size)):
            what = "a standard deviation each"
            spreads.append(vector_argument(name, value, size, what, infinite=False, sign="nonnegative"))
        self.q, self.v, self.u = spreads
        self.seed, self.random_numbers = require_seed(seed), c.nq + c.nv + self.size
        self.reset()

    def layout(self, capacity: int) -> Mapping[str, int]:
        """Return the sizes of the errors of coordinates, velocities and output."""
        c = self.robot.coordinates
        return {"q": c.nq, "v": c.nv, "u": self.size}

    def draw(self, index: int) -> Array:
        """Return normal numbers, always all of them in a fixed order."""
        return generator(self.seed, self.depth, index).standard_normal(self.random_numbers)

    def record_sample(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX, w: ca.SX) -> Mapping[str, ca.SX]:
        """Return the errors of a sample."""
        first, second = q.numel(), q.numel() + v.numel()
        return {"q": ca.SX(self.q) * w[:first], "v": ca.SX(self.v) * w[first:second], "u": ca.SX(self.u) * w[second:]}

    def measured_state(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the state with its errors."""
        return q + m["q"], v + m["v"]

    def applied_output(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return the output with its error."""
        return command + m["u"]


def generator(seed: int, depth: int, index: int) -> np.random.Generator:
    """Return the random generator of one sample, a function of its index, so that a run can return to it.

    Args:
        seed: seed of the wrapper.
        depth: number of wrappers inside it that draw random numbers.
        index: index of the sample, from 0.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(depth, index)))


def require_seed(seed: int) -> int:
    """Return the seed; raise ModelError unless it is an integer that is not negative.

    Args:
        seed: the seed to check.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(f"seed must be a whole number of at least 0, got {seed!r}")
    return int(seed)
