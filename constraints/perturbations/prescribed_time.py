"""Perturbation equations that reach zero at a prescribed time, whatever the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import finite
from .lyapunov_check import sampled_lyapunov_function
from .perturbation import Certificate, Deviation, Flow, Perturbation, lyapunov_matrix
from .step_gains import SupportsAmplification, fastest_scale


@dataclass(frozen=True)
class PrescribedTime(Perturbation):
    """ÿ = −2n ẏ/s − n(n+1) y/s² with s = max(T − t, τ); for order 1 ẏ′ = −n y′/s, as in [Song2017]_.

    Until t = T − τ the solutions are y = (T − t)ⁿ (c₁ + c₂(T − t)), for order 1 y′ = y′₀ ((T − t)/T)ⁿ: whatever the
    start, every deviation would be zero at T. The gains grow as 1/(T − t), which no step could follow to the end, so
    that from T − τ on, and after T, they are constant and the equation is linear. At T the fraction ``remainder`` of
    the start remains, of the order of (τ/T)ⁿ. Both ÿ for n ≥ 2 and ẏ′ for n ≥ 1 are bounded by a multiple of their
    values at the start.

    T counts from t = 0, not from the moment at which a constraint is switched on.

    V = ξᵀPξ with ξ = (y, s ẏ) falls along every solution, for order 1 V = y′².

    Attributes:
        time: T [s].
        cap: τ [s], shorter than T; a few steps of the integrator, see :meth:`for_step`.
        power: n.
        order: 0 or 1.

    Raises:
        ModelError: if a number is not positive, or the cap is not shorter than the time.
    """

    time: float = 1.0
    cap: float = 0.01
    power: float = 3.0
    order: int = 0

    def __post_init__(self) -> None:
        """Refuse inconsistent numbers and unstable gains."""
        if self.order not in (0, 1):
            raise ModelError(f"PrescribedTime is for order 0 or 1, got order={self.order!r}")
        self.require_ranges()
        if self.cap >= self.time:
            raise ModelError(
                f"cap must be shorter than the prescribed time, got cap={self.cap!r} and time={self.time!r} s"
            )
        self.stable_eigenvalues()

    @property
    def gains(self) -> Mapping[str, float]:
        """T, τ and n."""
        return {"time": self.time, "cap": self.cap, "power": self.power}

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """ÿ or ẏ′, with the gains of this time."""
        remaining = ca.fmax(gains["time"] - deviation.time, gains["cap"])
        return self._pull(deviation, remaining, gains["power"])

    def linearization(self, gains: Mapping[str, ca.SX]) -> ca.SX:
        """State matrix of one row when the gains are largest: from T − τ on.

        Before, its eigenvalues are these times τ/s, and so nearer to zero.

        Args:
            gains: symbols by name.
        """
        n, remaining = gains["power"], gains["cap"]
        if self.order == 1:
            return ca.densify(-n / remaining)
        last = ca.horzcat(-n * (n + 1) / remaining**2, -2 * n / remaining)
        return ca.densify(ca.vertcat(ca.SX(ca.DM([[0.0, 1.0]])), last))

    def certificate(self) -> Certificate:
        """Eigenvalues, decay rate and P from T − τ on, V of the class, and the prescribed time.

        Raises:
            ModelError: if V rises at a sample.
        """
        eigenvalues = self.stable_eigenvalues()
        flow = Flow.of(self)
        y, rate = flow.deviation.value, flow.deviation.rate
        if self.order == 1:
            V = y**2
            statement = "dV/dt = −2n y′²/s < 0 wherever y′ ≠ 0: proven, for all deviations and times"
        else:
            remaining = ca.fmax(self.time - flow.time, self.cap)
            state = ca.vertcat(y, remaining * rate)
            V = ca.dot(state, ca.DM(self._scaled_lyapunov()) @ state)
            statement = "dV/dt < 0 before and after T − τ, as two negative definite matrices prove, for all deviations"
        function = sampled_lyapunov_function(
            "PrescribedTime", flow, V, radius=1.0, statement=statement, strictly=True, until=2.0 * self.time
        )
        P = lyapunov_matrix(self.state_matrix())
        return Certificate(eigenvalues, float(-eigenvalues.real.max()), P, function, lambda _value, _rate: self.time)

    @property
    def remainder(self) -> NDArray[np.float64]:
        """Matrix that maps the state (y, ẏ), or y′, at t = 0 to that at T, shape (2, 2) or (1, 1)."""
        from scipy.linalg import expm  # Late: it takes as long to import as much of Erugin.

        n, s, T = self.power, self.cap, self.time
        last: NDArray[np.float64] = np.asarray(expm(s * self.state_matrix()), dtype=np.float64)
        if self.order == 1:
            return np.asarray(last * (s / T) ** n, dtype=np.float64)

        def basis(remaining: float) -> NDArray[np.float64]:
            return np.array(
                [[remaining**n, remaining ** (n + 1)], [-n * remaining ** (n - 1), -(n + 1) * remaining**n]]
            )

        return np.asarray(last @ np.linalg.solve(basis(T).T, basis(s).T).T, dtype=np.float64)

    @classmethod
    def for_step(
        cls, step: float, integrator: SupportsAmplification, *, time: float = 1.0, power: float = 3.0, order: int = 0
    ) -> Self:
        """Return the equation with the cap for which the discretised deviation contracts fastest from T − τ on.

        Args:
            step: h [s].
            integrator: integrator with a fixed step, whose ``amplification`` the gains are chosen for.
            time: T [s].
            power: n.
            order: 0 or 1.

        Raises:
            ModelError: if the integrator chooses its own steps, or T is no longer than the cap.
        """
        unit = cls(2.0, 1.0, power, order)
        eigenvalues: list[complex] = unit.stable_eigenvalues().tolist()
        return cls(finite("time", time), 1.0 / fastest_scale(step, integrator, eigenvalues), power, order)

    def _pull(self, deviation: Deviation, remaining: ca.SX, n: ca.SX) -> ca.SX:
        if self.order == 1:
            return -n / remaining * deviation.value
        return -2 * n / remaining * deviation.rate - n * (n + 1) / remaining**2 * deviation.value

    def _scaled_lyapunov(self) -> NDArray[np.float64]:
        """P with FᵀP + PF < 0 for both matrices of s dξ/dt = F ξ: before the cap, where ds/dt = −1, and after it.

        They are F = [[0, 1], [−k, −d]] with k = n(n+1), d = 2n + 1 before and d = 2n after. With P = [[k + (2n+½)e, e],
        [e, 1]] both FᵀP + PF are [[−2ke, ∓e/2], [∓e/2, 2(e−d)]], negative definite if e ≤ n and e ≤ 8kn.
        """
        n = self.power
        k = n * (n + 1.0)
        e = min(n, 8.0 * k * n)
        return np.array([[k + (2.0 * n + 0.5) * e, e], [e, 1.0]])
