"""Internal dynamics of a servo-program: zeros, growth of perturbations along a motion, and stability."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, NotFiniteError, caller_stacklevel
from ...symbolic.sampling import sample_parameters
from ...symbolic.validation import positive
from .program_manifold import ProgramManifold

Array = NDArray[np.float64]

EXACT = 1e-12
"""Noise of a balanced matrix, as a share of its norm."""
CLUSTER = 1e-4
"""Largest error of an eigenvalue, as a share of the norm, even of a multiple one."""


def eigenvalues(matrix: Array, noise: float) -> tuple[NDArray[np.complex128], Array]:
    """Return the eigenvalues and a bound on the error of each, both of shape (n,).

    To first order, noise ε in a matrix moves a simple eigenvalue by ε/|yᴴx|, with its normalized left and right
    eigenvectors y and x. A multiple one moves by a root of ε, and its yᴴx is as small; there the bound is a share of
    the norm. The matrix is balanced first: otherwise one stiff spring would hide slow motions [GolubVanLoan2013]_
    section 7.2.

    Args:
        matrix: the matrix, shape (n, n).
        noise: noise of its entries, beyond that of the balanced matrix.
    """
    from scipy import linalg  # a tenth of a second to import

    if not matrix.size:
        return np.zeros(0, dtype=np.complex128), np.zeros(0)
    balanced: Array = np.asarray(linalg.matrix_balance(matrix, permute=False)[0], dtype=np.float64)
    found = linalg.eig(balanced, left=True, right=True)
    values, left, right = (np.asarray(part, dtype=np.complex128) for part in found)
    alike: Array = np.abs((left.conj() * right).sum(axis=0))
    size = float(np.linalg.norm(balanced))
    off = (EXACT * size + noise) / np.maximum(alike, np.finfo(np.float64).tiny)
    return values, np.minimum(off, CLUSTER * size + noise)


SHOWN = 1e-6
"""Parts of a zero below this share of the largest one are not printed."""
DECIDED = 10.0
"""Factor by which a perturbation with a varying rate must grow or decay along a motion to count as unstable or
stable."""
QUARTERS = 4
"""Parts of a motion whose rates of growth are compared."""
STEADY = 0.15
"""Difference of these rates allowed, as a share, for every factor of e of growth; powers of time, t to t⁴, differ by
more."""
LEAST = 0.01
"""Logarithm of the growth below which stability is not decided."""
ALIKE = 0.4
"""Difference allowed between the growth of perturbations and that of the eigenvalue, as a share."""
APART = 0.5
"""Cosine between tangent spaces at two states below which their directions are not compared."""


class InternalDynamicsWarning(UserWarning):
    """Warning that the stability of a servo-program's internal dynamics could not be checked."""


class Stability(Enum):
    """Stability of the internal dynamics."""

    NONE = "none: the outputs are flat"
    STABLE = "stable"
    MARGINAL = "marginal"
    UNSTABLE = "unstable"


@dataclass(frozen=True, eq=False)
class InternalDynamics:
    """The motion that remains free while every row of a program is satisfied.

    Attributes:
        dimension: dimension of its state.
        stability: stability of this motion.
        zeros: eigenvalues of its linearization at a state of rest, the transmission zeros of the linearized robot
            with these outputs, shape (dimension,) [1/s]; empty along a motion.
        exponents: along a motion, mean rates of growth of perturbations, the largest first, shape (dimension,) [1/s];
            empty at rest.
        t: time of the state of rest, or of the start [s].
        q: coordinates at that time, shape (nq,).
        v: velocities at that time, shape (nv,).
        duration: length of the motion [s]; zero at rest.
    """

    dimension: int
    stability: Stability
    zeros: NDArray[np.complex128]
    exponents: Array
    t: float
    q: Array
    v: Array
    duration: float

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.zeros, self.exponents, self.q, self.v):
            array.setflags(write=False)

    @classmethod
    def none(cls, motion: ProgramManifold) -> InternalDynamics:
        """Return the internal dynamics of a flat output, which have dimension 0.

        Args:
            motion: the closed loop.
        """
        nothing = np.zeros(0)
        place = (motion.q.copy(), motion.v.copy())
        return cls(0, Stability.NONE, np.zeros(0, dtype=np.complex128), nothing, 0.0, *place, 0.0)

    def __str__(self) -> str:
        """Return stability and its basis, in one sentence."""
        if self.stability is Stability.NONE:
            return f"Internal dynamics: {self.stability.value}."
        head = f"Internal dynamics of dimension {self.dimension}: {self.stability.value}"
        if self.duration:
            rates = ", ".join(f"{rate:+.4g}" for rate in self.exponents)
            neither = (
                f"; the rate varies, without growth or decay by {DECIDED:g} times: use a longer duration to decide"
            )
            hint = neither if self.stability is Stability.MARGINAL else ""
            return f"{head}, perturbations grow at {rates} 1/s over {self.duration:g} s{hint}."
        zeros = ", ".join(_format_zero(zero, float(np.abs(self.zeros).max())) for zero in self.zeros)
        hint = "" if self.stability is not Stability.MARGINAL else "; the linearization does not decide stability"
        return f"{head}, zeros {zeros} 1/s{hint}."


def _format_zero(zero: complex, largest: float) -> str:
    """Format a zero, without parts that are rounding."""
    tiny = SHOWN * largest
    real = "" if abs(zero.real) <= tiny and abs(zero.imag) > tiny else f"{zero.real:+.4g}"
    imaginary = f"{zero.imag:+.4g}i" if abs(zero.imag) > tiny else ""
    return f"{real}{imaginary}" if abs(zero) > tiny else "0"


def internal_dynamics_at_rest(motion: ProgramManifold, t: float, x: Array, p: Array) -> InternalDynamics:
    """Return the zeros at a state of rest on the program.

    On the program F is tangent to the set of states that satisfy it, so ∂F/∂x maps the tangent space Z into itself: the
    zeros are the eigenvalues of Zᵀ ∂F/∂x Z, without the infinite ones of a pencil.

    Args:
        motion: the closed loop.
        t: time [s].
        x: the state.
        p: parameters.
    """
    Z, slope = motion.tangent(t, x, p), motion.field(t, x, p)[1]
    # The projection sums entries of all sizes, and the result may be small relative to them.
    noise = 4 * np.finfo(np.float64).eps * float(np.abs(slope).max(initial=0.0))
    zeros, margin = eigenvalues(Z.T @ slope @ Z, noise)
    zeros[np.abs(zeros) <= margin] = 0.0
    real: Array = np.asarray(np.real(zeros), dtype=np.float64)
    grows, decays = bool((real > margin).any()), bool((real < -margin).all())
    kind = Stability.UNSTABLE if grows else Stability.STABLE if decays else Stability.MARGINAL
    zeros = zeros[np.lexsort((np.imag(zeros), -real))]
    nq = motion.robot.coordinates.nq
    return InternalDynamics(
        dimension=Z.shape[1],
        stability=kind if Z.shape[1] else Stability.NONE,
        zeros=zeros,
        exponents=np.zeros(0),
        t=t,
        q=x[:nq].copy(),
        v=x[nq:].copy(),
        duration=0.0,
    )


def internal_dynamics_along(
    motion: ProgramManifold, t: float, x: Array, p: Array, duration: float, step: float
) -> InternalDynamics:
    """Return the growth of perturbations that stay on the program, along its motion.

    ẋ = F and Ż = ∂F/∂x Z are integrated together (RK4), Z = Q R is orthonormalized again after each step, and the
    exponents are the means of log |R_ii| / h, as for Lyapunov exponents [Benettin1980]_. If the largest eigenvalue of
    the transition matrix of perturbations grows at the same rate in all quarters of the motion, its sign decides, as at
    rest; otherwise only a growth or decay by ten times does.

    Args:
        motion: the closed loop.
        t: time at the start [s].
        x: state at the start, on the program.
        p: parameters.
        duration: length of the motion [s].
        step: step h [s].

    Raises:
        NotFiniteError: if the motion diverges.
    """
    count = QUARTERS * max(1, round(positive("duration", duration) / positive("step", step) / QUARTERS))
    h, Z, start = duration / count, motion.tangent(t, x, p), x
    grown = np.zeros(Z.shape[1])
    # Transition matrix of perturbations up to the end of each quarter, with the logarithm of its size separately.
    passed, size, quarters = np.eye(Z.shape[1]), 0.0, list[tuple[Array, float]]()
    first = Z

    def rate(t: float, x: Array, Z: Array) -> tuple[Array, Array]:
        F, slope = motion.field(t, x, p)
        return F, slope @ Z

    for i in range(count):
        s = t + i * h
        k1, K1 = rate(s, x, Z)
        k2, K2 = rate(s + h / 2, x + h / 2 * k1, Z + h / 2 * K1)
        k3, K3 = rate(s + h / 2, x + h / 2 * k2, Z + h / 2 * K2)
        k4, K4 = rate(s + h, x + h * k3, Z + h * K3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        Z = Z + h / 6 * (K1 + 2 * K2 + 2 * K3 + K4)
        if not (np.isfinite(x).all() and np.isfinite(Z).all()):
            raise NotFiniteError(
                f"the motion on the program is not finite at t = {s + h:g} s: it diverges, or reaches a singular state"
            )
        Z, R = np.linalg.qr(Z)
        grown += np.log(np.abs(np.diag(R)))
        passed = R @ passed
        length = float(np.linalg.norm(passed)) or 1.0
        passed, size = passed / length, size + float(np.log(length))
        if (i + 1) * QUARTERS % count == 0:
            quarters.append((_transported(first, Z) @ passed, size))
    nq = motion.robot.coordinates.nq
    return InternalDynamics(
        dimension=Z.shape[1],
        stability=_stability_along(quarters, float(grown.max())) if Z.shape[1] else Stability.NONE,
        zeros=np.zeros(0, dtype=np.complex128),
        exponents=-np.sort(-grown / duration),
        t=t,
        q=start[:nq].copy(),
        v=start[nq:].copy(),
        duration=duration,
    )


def _transported(first: Array, last: Array) -> Array:
    """Return the smallest rotation between the bases of two tangent spaces; NaN if the spaces are far apart.

    Args:
        first: orthonormal directions of one space, shape (n, d).
        last: orthonormal directions of the other, shape (n, d).
    """
    left, values, right = np.linalg.svd(first.T @ last)
    return left @ right if values.min(initial=1.0) > APART else np.full(left.shape, np.nan)


def _stability_along(quarters: list[tuple[Array, float]], most: float) -> Stability:
    """Return the stability along a motion.

    Args:
        quarters: transition matrix of perturbations up to the end of each quarter, on the tangent space at the start,
            and the logarithm of its factor.
        most: logarithm of the largest growth.
    """
    steady = all(np.isfinite(passed).all() for passed, _ in quarters)
    if steady:
        with np.errstate(divide="ignore"):
            grown = [size + float(np.log(np.abs(np.linalg.eigvals(passed)).max())) for passed, size in quarters]
        parts, total = np.diff([0.0, *grown]), grown[-1]
        allowed = min(STEADY * abs(total), 0.5) * abs(total) / QUARTERS
        # A shearing rotation may grow or decay at first independently of its eigenvalues.
        alike = abs(total) > LEAST and abs(most - total) <= ALIKE * abs(total)
        if np.isfinite(parts).all() and alike and float(np.ptp(parts)) <= allowed:
            return Stability.UNSTABLE if total > 0.0 else Stability.STABLE
    margin = float(np.log(DECIDED))
    return Stability.UNSTABLE if most > margin else Stability.STABLE if most < -margin else Stability.MARGINAL


def check_internal_dynamics_at_rest(
    motion: ProgramManifold, dimension: int | None, allowed: bool
) -> InternalDynamics | None:
    """Check the internal dynamics at rest near the state of a law; return None if no rest is found there.

    Args:
        motion: the closed loop.
        dimension: dimension of the internal dynamics; None if it is not known.
        allowed: True to accept internal dynamics that are unstable or cannot be checked.

    Raises:
        ModelError: if they are unstable and that is not allowed.
    """
    if dimension == 0:
        return InternalDynamics.none(motion)
    name, p = motion.robot.name, sample_parameters(motion.parameters, np.random.default_rng(0))
    x = motion.rest(0.0, np.concatenate([motion.q, np.zeros(motion.v.size)]), p)
    found = None if x is None else internal_dynamics_at_rest(motion, 0.0, x, p)
    if found is None and not allowed:
        warnings.warn(
            f"the program of {name} has internal dynamics of dimension {dimension}, whose stability "
            "could not be checked because no state of rest was found on it at t = 0: check "
            "internal_dynamics(controller, q, v, duration=…), then pass allow_unstable_internal=True",
            InternalDynamicsWarning,
            stacklevel=caller_stacklevel(),
        )
    if found is not None and found.stability is Stability.UNSTABLE and not allowed:
        raise ModelError(
            f"{found} Every row would be satisfied while the rest of {name} and its inputs grow without bound. Choose "
            "other outputs, find a bounded motion by stable_inversion, or pass allow_unstable_internal=True"
        )
    return found
