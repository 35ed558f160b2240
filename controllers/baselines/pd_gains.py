"""Gains of second-order error equations, from one rate by the tuning rule, or given explicitly."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive, vector
from ..reference import Reference

Array = NDArray[np.float64]

RATE = 10.0
"""Default rate ω [1/s]; the α of :class:`~erugin.constraints.Baumgarte`."""

SPAN = 10.0
"""Time over which inertias are averaged along a reference [s]."""

SAMPLES = 101


@dataclass(frozen=True, eq=False)
class PdGains:
    """K and C of f = −C ė − K e, one pair for each error.

    Attributes:
        stiffness: K, shape (m,).
        damping: C, shape (m,).
        parameters: the rate, or every K and C.
    """

    stiffness: ca.SX
    damping: ca.SX
    parameters: Parameters

    @classmethod
    def read(
        cls,
        name: str,
        errors: tuple[str, ...],
        rate: float | None,
        stiffness: ArrayLike | None,
        damping: ArrayLike | None,
        inertia: Array | None = None,
    ) -> PdGains:
        """Return K = ω² m and C = 2 ω m, both poles at −ω, or the given numbers.

        Args:
            name: prefix of the parameters ``name.rate``, or ``name.stiffness_q1`` and ``name.damping_q1``.
            errors: names of the errors, m of them.
            rate: ω [1/s]; :data:`RATE` if nothing is given.
            stiffness: K in place of a rate, shape (m,).
            damping: C in place of a rate, shape (m,).
            inertia: m of each error, shape (m,), for gains that are forces; 1 if not given.

        Raises:
            ModelError: for a rate beside stiffness and damping, one of those without the other, or a number that is not
                greater than zero.
            ShapeError: for a wrong shape or a number that is not finite.
        """
        if stiffness is None and damping is None:
            own = Parameters.declare(
                {"rate": positive(f"rate of {name!r}", RATE if rate is None else rate)},
                name,
                ranges={"rate": Range.POSITIVE},
            )
            omega = own[f"{name}.rate"]
            weight = ca.SX.ones(len(errors), 1)
            if inertia is not None:
                values = {f"inertia_{e}": float(m) for e, m in zip(errors, inertia, strict=True)}
                masses = Parameters.declare(values, name, ranges=dict.fromkeys(values, Range.POSITIVE))
                own, weight = Parameters.collect([own, masses]), masses.symbols
            return cls(omega**2 * weight, 2 * omega * weight, own)
        if stiffness is None or damping is None or rate is not None:
            raise ModelError(f"gains of {name!r}: give either a rate, or both stiffness and damping")
        chosen: dict[str, float] = {}
        for kind, given in (("stiffness", stiffness), ("damping", damping)):
            numbers = vector(f"{kind} of {name!r}", given, len(errors))
            if not (numbers > 0.0).all():
                raise ModelError(f"{kind} of {name!r} must be greater than zero, one for each error, got {numbers}")
            chosen |= {f"{kind}_{e}": float(k) for e, k in zip(errors, numbers, strict=True)}
        own = Parameters.declare(chosen, name, ranges=dict.fromkeys(chosen, Range.POSITIVE))
        m = len(errors)
        return cls(
            ca.vertcat(*(own.symbols[i] for i in range(m))),
            ca.vertcat(*(own.symbols[m + i] for i in range(m))),
            own,
        )

    def of(self, error: ca.SX, rate: ca.SX) -> ca.SX:
        """Return −C ė − K e, shape (m,).

        Args:
            error: e, shape (m,).
            rate: ė, shape (m,).
        """
        return -self.damping * rate - self.stiffness * error


def mean_inertia(reference: Reference, span: float = SPAN) -> Array:
    """Return the diagonal of M, averaged along a reference, at nominal parameters, shape (nv,).

    Args:
        reference: the reference.
        span: time from t = 0 over which it is averaged [s].

    Raises:
        ModelError: if a number is not greater than zero.
    """
    robot = reference.robot
    own = Parameters.collect([robot.parameters, reference.parameters])
    along = ca.substitute(ca.densify(ca.diag(robot.mass_matrix)), robot.q, reference.q)
    f = ca.Function("inertia", [robot.t, own.symbols], [along])
    times = np.linspace(0.0, positive("span", span), SAMPLES)
    rows = np.array([f.call([float(t), own.values()])[0].full()[:, 0] for t in times])
    mean = (rows[1:] + rows[:-1]).mean(axis=0) / 2
    if not (mean > 0.0).all():
        raise ModelError(
            f"the mean inertias of {robot.name} along the reference are {mean}, but gains in proportion to them "
            "require positive ones: give stiffness and damping"
        )
    return np.asarray(mean, dtype=np.float64)
