"""The time-varying linear-quadratic regulator along a motion."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotConvergedError
from ...symbolic.validation import reals
from ..controller import Controller, Tick
from ..linearization.equilibrium import NoEquilibriumError, equilibrium
from ..linearization.linearizer import LinearizedMotion, Linearizer
from ..linearization.nominal_motion import NominalMotion
from ..traits import Trait
from .lqr import BrysonWeights, require_within_effort, solve_lqr, wrapping_angles

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline


Array = NDArray[np.float64]


REST = 1e-6
"""Greatest velocity at which a motion counts as ended at rest [its units]."""
TOLERANCE = 1e-9
"""Relative tolerance of the integration of the Riccati equation."""


class TimeVaryingLqr(Controller):
    """u = ū(t) − K(t) ξ along a nominal motion, K = R⁻¹BᵀS, [AndersonMoore1990]_.

    −dS/dt = AᵀS + SA − SBR⁻¹BᵀS + Q, backwards from S at the end of the motion: the given one, or the cost-to-go of the
    regulator of the last state, if that is an equilibrium that the inputs stabilize. A(t) and B(t) are those of the
    deviations that natural constraints leave free, so closed loops and rolling robots are supported. After the end the
    last state is held with the last gain, and with the inputs of its equilibrium if it is one. Use
    :class:`~erugin.controllers.wrappers.Saturation` for limits.

    Attributes:
        motion: the motion to follow.
        weights: allowed deviations that define Q and R.
        linearization: A(t) and B(t) at the motion's samples.
        cost: S at the samples, shape (N, n, n): ξᵀSξ is the least cost from that time on, that of the end included.
        gain: K at the samples, shape (N, nu, n).
    """

    supports = frozenset(Trait)

    def __init__(
        self,
        robot: Robot,
        motion: NominalMotion,
        *,
        weights: BrysonWeights,
        final: ArrayLike | None = None,
        turns: Sequence[str] = (),
        independent: Sequence[str] | None = None,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> None:
        """Linearize along the motion and integrate the Riccati equation.

        Args:
            robot: the model.
            motion: motion of this robot, with the inputs that drive it.
            weights: allowed deviations of states and inputs, in their units.
            final: S at the end, shape (n, n), symmetric positive semidefinite; that of the regulator about the last
                state if not given.
            turns: names of angles that are compared modulo a whole turn.
            independent: names of the coordinates and velocities that are ξ; the best conditioned at the start if not
                given.
            p: the robot's parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: for a motion of another robot or one that exceeds ``robot.limits``, unknown angles, a bad
                ``final``, or a last state without a stabilizing regulator if ``final`` is not given.
            NotConvergedError: if the Riccati equation could not be integrated to the start.
        """
        self.check_supported(robot)
        if not isinstance(motion, NominalMotion):
            raise ModelError(
                f"motion must be a NominalMotion, with the inputs that drive it, got {type(motion).__name__}; for a "
                "Reference use NominalMotion.of_reference(reference, times)"
            )
        motion.require_of(robot)
        self.robot, self.motion, self.weights = robot, motion, BrysonWeights.require(weights)
        require_within_effort(robot, np.abs(motion.u).max(axis=0), "follow the motion")
        self._after = _final_inputs(robot, motion, p)
        angles = wrapping_angles(robot, turns)
        linearizer = Linearizer(robot, independent=independent)
        self.linearization = linearizer.along(motion, p=p)
        Q, R = weights.of(self.linearization)
        end = self._final(linearizer, p, (Q, R)) if final is None else _checked_final(final, len(Q))
        self.cost = solve_riccati_equation(self.linearization, Q, R, end)
        self.gain = np.asarray(
            np.linalg.solve(R, self.linearization.B.transpose(0, 2, 1) @ self.cost), dtype=np.float64
        )
        self.cost.setflags(write=False)
        self.gain.setflags(write=False)
        flat = self.gain.reshape(len(self.gain), -1)
        self._gain = _spline(motion.t, flat)
        places = [*robot.coordinates.names, *("" for _ in range(robot.coordinates.nv))]
        self._independent = list(self.linearization.independent)
        self._turning = np.array([places[i] in angles for i in self._independent], dtype=np.bool_)
        self.reset()

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the deviations ξ: those of the coordinates and velocities."""
        return self.linearization.states

    def error(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return ξ, shape (n,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).

        Raises:
            ShapeError: for a wrong shape; NotFiniteInputError, which is one, for a number that is not finite.
        """
        time, place, rates, _ = self.arguments(t, q, v, None)
        q_d, v_d, _ = self.motion.at(time)
        return self._difference(place - q_d, rates - v_d)

    def _difference(self, q: Array, v: Array) -> Array:
        xi = np.concatenate([q, v])[self._independent]
        xi[self._turning] = np.arctan2(np.sin(xi[self._turning]), np.cos(xi[self._turning]))
        return xi

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Return u = u_d − K(t) ξ, with all rows independent.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: none.
        """
        within = min(max(t, float(self.motion.t[0])), float(self.motion.t[-1]))
        gain = np.asarray(self._gain(within), dtype=np.float64).reshape(self.gain.shape[1:])
        q_d, v_d, u_d = self.motion.at(t)
        if t > self.motion.t[-1]:
            u_d = self._after
        error, ones = self._difference(q - q_d, v - v_d), np.ones(len(self.rows))
        return Tick(u_d - gain @ error, ones, ones, deviation=error)

    def _final(
        self, linearizer: Linearizer, p: Mapping[str, float] | ArrayLike | None, weights: tuple[Array, Array]
    ) -> Array:
        """Return S of the regulator about the last state."""
        m = self.motion
        line = linearizer.at(float(m.t[-1]), m.q[-1], m.v[-1], m.u[-1], p=p)
        try:
            return solve_lqr(line, weights, self.robot.name)[1]
        except ModelError as error:
            raise ModelError(
                f"{error}. A constant gain cannot hold {self.robot.name} at the end of the motion: give final="
            ) from error


def solve_riccati_equation(line: LinearizedMotion, Q: Array, R: Array, final: Array) -> Array:
    """Integrate the Riccati equation backwards (DOP853) and return S at the samples, shape (N, n, n).

    Args:
        line: A(t) and B(t), interpolated by cubic splines.
        Q: weight of the states, shape (n, n).
        R: weight of the inputs, shape (nu, nu).
        final: S at the last sample, shape (n, n).

    Raises:
        NotConvergedError: if the integrator fails.
    """
    from scipy.integrate import solve_ivp  # a tenth of a second to import

    n = len(Q)
    pull = np.asarray(line.B @ np.linalg.solve(R, line.B.transpose(0, 2, 1)), dtype=np.float64)
    both = _spline(line.t, np.hstack([line.A.reshape(-1, n * n), pull.reshape(-1, n * n)]))

    def backwards(s: float, flat: Array) -> Array:
        values = np.asarray(both(line.t[-1] - s), dtype=np.float64)
        A, G, S = values[: n * n].reshape(n, n), values[n * n :].reshape(n, n), flat.reshape(n, n)
        rate = A.T @ S + S @ A - S @ G @ S + Q
        return ((rate + rate.T) / 2).ravel()

    span = float(line.t[-1] - line.t[0])
    times = np.minimum((line.t[-1] - line.t)[::-1], span)
    scale = max(1.0, float(np.abs(final).max(initial=0.0)))
    found = solve_ivp(
        backwards, (0.0, span), final.ravel(), method="DOP853", t_eval=times, rtol=TOLERANCE, atol=TOLERANCE * scale
    )
    if not found.success or not np.isfinite(found.y).all():
        raise NotConvergedError(f"the Riccati equation could not be integrated to the start: {found.message}")
    S = np.asarray(found.y, dtype=np.float64).T.reshape(-1, n, n)[::-1]
    return np.asarray((S + S.transpose(0, 2, 1)) / 2, dtype=np.float64)


def _spline(times: Array, values: Array) -> CubicSpline:
    from scipy.interpolate import CubicSpline  # a tenth of a second to import

    return CubicSpline(times, values, axis=0)


def _final_inputs(robot: Robot, motion: NominalMotion, p: Mapping[str, float] | ArrayLike | None) -> Array:
    """Return the inputs after the end of a motion: those that hold its last state at rest, or its last inputs."""
    if np.abs(motion.v[-1]).max() < REST:
        with contextlib.suppress(NoEquilibriumError):
            return equilibrium(robot, motion.q[-1], fixed=robot.coordinates.names, p=p).u
    return np.asarray(motion.u[-1], dtype=np.float64)


def _checked_final(final: ArrayLike, n: int) -> Array:
    S = reals("final", final)
    if S.shape != (n, n) or not np.isfinite(S).all():
        raise ModelError(f"final must be finite, of shape ({n}, {n}), got shape {S.shape}")
    size = max(1.0, float(np.abs(S).max()))
    if np.abs(S - S.T).max() > 1e-9 * size or np.linalg.eigvalsh(S)[0] < -1e-9 * size:
        raise ModelError("final must be symmetric without negative eigenvalues")
    return S
