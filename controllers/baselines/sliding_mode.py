"""Sliding-mode control with a boundary layer and a gain from given bounds on the plant."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.perturbations.sliding import saturation
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive, vector
from ..control_allocation import LeastEffortAllocation
from ..controller import SymbolicController
from ..law import Law
from ..reference import Reference, require_reference
from ..regressor import Regressor, reference_force
from ..traits import Trait
from .pd_gains import RATE

Array = NDArray[np.float64]


class SlidingMode(SymbolicController):
    """B u = M a_r + C v_r + (h − C v) − k(t, q, v) sat(s/φ), [SlotineLi1991]_ section 9.1.

    e, s, v_r and a_r are those of :class:`SlotineLi`. With Y π = M a_r + C v_r + (h − C v), parameters known up to
    ±Δπ_j and unknown forces up to ±D_i the gain of joint i is

        k_i = Σ_j |Y_ij| Δπ_j + D_i + η m_i,    m_i = Σ_j |M_ij|,

    which exceeds the uncertainty by η m_i: V = ½ sᵀMs obeys dV/dt ≤ −η Σ m_i |s_i| while every |s_i| ≥ φ. If the
    model's M is the plant's, √(2V) then decreases at least at the rate η √(min m_i). For one joint of constant inertia
    that is d|s|/dt ≤ −η: the layer is reached by t = (|s₀| − φ)/η and not left again, and ultimately |e| ≤ φ/ω. For
    more joints V decreases as long as Σ m_i |s_i| > φ Σ k_i/(4η).

    By the tuning rule φ = η/ω: within the layer a joint of a known plant has the pole −η/φ = −ω twice. Uncertainty
    makes the gain larger and that pole faster, k_i/(φ m_i).

    Attributes:
        reference: q_d(t).
        uncertain: Δπ_j by name.
        disturbance: D, shape (nv,).
    """

    supports = frozenset({Trait.OVERACTUATED})

    def __init__(
        self,
        robot: Robot,
        reference: Reference,
        *,
        rate: float | None = None,
        reach: float = 5.0,
        layer: float | None = None,
        uncertain: Mapping[str, float] | None = None,
        disturbance: ArrayLike | None = None,
        products: bool = False,
        name: str = "sliding_mode",
    ) -> None:
        """Build the law.

        Args:
            robot: the model.
            reference: motion of its coordinates to follow.
            rate: ω [1/s]; 10 if not given.
            reach: η, excess of the gain, as an acceleration [rad/s² or m/s²].
            layer: φ [rad/s or m/s]; η/ω if not given.
            uncertain: Δπ, largest deviation of the robot's parameters from the model's, by name, in their units; they
                must enter the forces linearly. No uncertainty if not given.
            disturbance: D, largest unknown force on each velocity, shape (nv,) [N m or N]; zero if not given.
            products: True to bound products such as m·c² where parameters enter as such, from Δπ at nominal values.
            name: prefix of the gains' parameters, ``name.rate``, ``name.reach`` and ``name.layer``.

        Raises:
            ModelError: for a robot that the law does not support, the reference of another robot, a number out of its
                range, or a parameter that does not enter linearly (named).
            ShapeError: for a disturbance of a wrong shape.
            ParameterError: for an unknown parameter.
        """
        self.check_supported(robot)
        require_reference(reference, robot)
        self.robot, self.reference = robot, reference
        omega, eta = positive("rate", RATE if rate is None else rate), positive("reach", reach)
        gains = {"rate": omega, "reach": eta, "layer": eta / omega if layer is None else positive("layer", layer)}
        self._gains = Parameters.declare(gains, name, ranges=dict.fromkeys(gains, Range.POSITIVE))
        n = robot.coordinates.nv
        self.disturbance = np.zeros(n) if disturbance is None else vector("disturbance", disturbance, n)
        if (self.disturbance < 0.0).any():
            raise ModelError(
                f"disturbance must be the largest modulus of each force, not negative, got {self.disturbance}"
            )
        self.disturbance.setflags(write=False)
        if not isinstance(uncertain, Mapping | None):
            raise ModelError(
                f"uncertain must map the name of each parameter to Δπ, such as {{'m2': 0.3}}, got {uncertain!r}"
            )
        self.uncertain = {key: positive(f"uncertain[{key!r}]", value) for key, value in (uncertain or {}).items()}
        self._products = products
        self.parameters = Parameters.collect([robot.parameters, reference.parameters, self._gains])
        # Built now, so that a parameter that does not enter linearly raises here and not at the first tick.
        self._unknown = self._uncertainty()

    def build_law(self) -> Law:
        """Build the law with the errors e."""
        robot, (_, eta, layer) = self.robot, (self._gains.symbols[i] for i in range(3))
        velocity, acceleration = self._motion()
        s = robot.v - velocity
        gain = self._unknown + ca.SX(ca.DM(self.disturbance)) + eta * ca.sum2(ca.fabs(robot.mass_matrix))
        force = reference_force(robot, velocity, acceleration) - gain * saturation(s / layer)
        e = robot.q - self.reference.q
        return LeastEffortAllocation.of(robot).law(force, e, robot.coordinates.names)

    def _motion(self) -> tuple[ca.SX, ca.SX]:
        robot, desired, omega = self.robot, self.reference, self._gains.symbols[0]
        e, rate = robot.q - desired.q, robot.v - desired.v
        return desired.v - omega * e, desired.a - omega * rate

    def _uncertainty(self) -> ca.SX:
        """Return Σ_j |Y_ij| Δπ_j, shape (nv,)."""
        robot = self.robot
        if not self.uncertain:
            return ca.SX.zeros(robot.coordinates.nv)
        found = Regressor.of(robot, self.uncertain, *self._motion(), products=self._products)
        around = {
            name: (robot.nominal[name] - width, robot.nominal[name] + width) for name, width in self.uncertain.items()
        }
        values = {name: robot.nominal[name] for name in self.uncertain}
        widths = [
            max(high - product.value(values), product.value(values) - low)
            for product in found.products
            for low, high in (product.bounds(around),)
        ]
        return ca.fabs(found.matrix) @ ca.SX(ca.DM(widths))
