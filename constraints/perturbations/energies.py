"""The perturbation equation that follows from energies of the deviations, quadratic or given as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.linear_algebra import Ldl
from ...symbolic.parameters import Range
from ...symbolic.validation import positive
from .coefficients import (
    MatrixEntries,
    call_user_function,
    gain_matrix,
    matrix_gain_ranges,
    matrix_gains,
    square_matrix,
)
from .lyapunov_check import sampled_lyapunov_function, states_in_ball
from .perturbation import Certificate, Deviation, Flow, Perturbation, lyapunov_matrix
from .step_gains import SupportsAmplification, fastest_pair, fastest_rate, require_share


@dataclass(frozen=True)
class QuadraticEnergy:
    """½ xᵀ A x with a symmetric matrix of gains, x = ẏ or x = y.

    Attributes:
        name: name of the matrix, prefix of its gains.
        rows: m.
        of_rate: True if x is ẏ.
    """

    name: str
    rows: int
    of_rate: bool

    def __call__(self, y: ca.SX, rate: ca.SX, gains: Mapping[str, ca.SX]) -> ca.SX:
        """Energy of a deviation.

        Args:
            y: shape (m,).
            rate: ẏ or y′, shape (m,).
            gains: entries by name.
        """
        x = rate if self.of_rate else y
        return ca.dot(x, gain_matrix(self.name, self.rows, gains, symmetric=True) @ x) / 2


def quadratic_gains(given: Mapping[str, MatrixEntries]) -> tuple[int, dict[str, float], dict[str, Range]]:
    """Number of rows, gains and their ranges for symmetric matrices of one size.

    Args:
        given: matrices by name.

    Raises:
        ModelError: if one is not square, symmetric and finite, or they differ in size.
    """
    matrices = {name: square_matrix(name, matrix, symmetric=True) for name, matrix in given.items()}
    sizes = {name: len(rows) for name, rows in matrices.items()}
    if len(set(sizes.values())) > 1:
        listing = ", ".join(f"{name} has {size} rows" for name, size in sizes.items())
        raise ModelError(f"the matrices of quadratic energies must have the same size, but {listing}")
    values: dict[str, float] = {}
    limits: dict[str, Range] = {}
    for name, rows in matrices.items():
        values |= matrix_gains(name, rows, symmetric=True)
        limits |= matrix_gain_ranges(name, rows, symmetric=True)
    return next(iter(sizes.values())), values, limits


def scaled_identity(value: float, rows: int) -> NDArray[np.float64]:
    """Return ``value`` times the unit matrix of ``rows`` rows; raise ModelError for less than one row."""
    if rows < 1:
        raise ModelError(f"a constraint must have at least one row, got rows={rows!r}")
    return value * np.eye(rows)


Energy: TypeAlias = Callable[[ca.SX, ca.SX, Mapping[str, ca.SX]], ca.SX]
"""y and ẏ, shape (m,), and the gains by name → a scalar. For order 1 y is empty and y′ is the second argument."""


@dataclass(frozen=True)
class Energies(Perturbation):
    """Deviations as extra coordinates with their own energies, [Matukhina]_ (2)–(14).

    With L_y = T_y − P_y the equation of order 0 is d/dt ∂L_y/∂ẏ − ∂L_y/∂y + ∂D_y/∂ẏ = 0, solved for ÿ; that of order
    1, for deviations y′ that have no position, is d/dt ∂T_y/∂y′ + ∂D_y/∂y′ = 0, eq. (14) with z = ∂L/∂y′. In the
    article (7) x = ∂L/∂ẏ is printed with ∂L/∂y.

    The energy V = ẏᵀ∂T_y/∂ẏ − T_y + P_y, which is T_y + P_y if T_y is quadratic in ẏ, obeys dV/dt = −ẏᵀ∂D_y/∂ẏ
    identically, whence stability: V is positive and dV/dt is nowhere positive, both checked at samples; and the
    linearization at zero, whose eigenvalues must have negative real parts, makes it asymptotic and local.

    Energies here depend on deviations alone; the article also lets them depend on q, q̇ and t.

    Attributes:
        kinetic: T_y as a function of y, ẏ and the gains.
        potential: P_y, likewise; None for order 1.
        dissipation: D_y, likewise.
        values: nominal gains by name.
        rows: m.
        radius: radius of the ball of (y, ẏ) in which V and the mass are checked, in the unit of the deviations.
        limits: range of each gain; positive if not given.
        order: 0 with a potential energy, 1 without.

    Raises:
        ModelError: if an energy is not such an expression, the mass ∂²T_y/∂ẏ² is not positive definite, V is not
            positive or rises at a sample, or an eigenvalue of the linearization has no negative real part.
    """

    kinetic: Energy
    potential: Energy | None
    dissipation: Energy
    values: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)
    rows: int = 1
    radius: float = 1.0
    limits: Mapping[str, Range] = field(default_factory=dict[str, Range], hash=False)
    order: int = field(init=False)

    def __post_init__(self) -> None:
        """Refuse energies that do not prove stability."""
        for name in ("values", "limits"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        object.__setattr__(self, "order", 1 if self.potential is None else 0)
        if self.rows < 1:
            raise ModelError(f"Energies must have at least one row, got rows={self.rows!r}")
        if unknown := sorted(set(self.limits) - set(self.values)):
            raise ModelError(
                f"limits= of Energies has {', '.join(unknown)}, but the gains are {', '.join(self.values)}"
            )
        self.require_ranges()
        positive("radius", self.radius)
        flow = Flow.of(self)
        known = {flow.state[i].element_hash() for i in range(flow.state.numel())}
        if foreign := sorted({s.name() for s in ca.symvar(flow.derivative) if s.element_hash() not in known}):
            raise ModelError(f"the energies use {', '.join(foreign)}, which are neither deviations nor gains")
        self._require_mass()
        sampled_lyapunov_function("Energies", flow, self._energy(flow), radius=self.radius, statement="")
        self.stable_eigenvalues()

    @classmethod
    def quadratic(cls, mass: MatrixEntries, stiffness: MatrixEntries | None, damping: MatrixEntries) -> Self:
        """2T_y = ẏᵀ mass ẏ, 2P_y = yᵀ stiffness y, 2D_y = ẏᵀ damping ẏ with symmetric matrices, or numbers for one row.

        Every entry is a gain, ``mass_0_1`` in a matrix, ``mass`` for one row.

        Args:
            mass: shape (m, m), positive definite.
            stiffness: shape (m, m), positive definite; None for order 1.
            damping: shape (m, m), such that no motion is undamped.

        Raises:
            ModelError: if the matrices are not symmetric or differ in size, and as the class itself.
        """
        given = {"mass": mass, "damping": damping} | ({} if stiffness is None else {"stiffness": stiffness})
        rows, values, limits = quadratic_gains(given)
        return cls(
            QuadraticEnergy("mass", rows, of_rate=True),
            None if stiffness is None else QuadraticEnergy("stiffness", rows, of_rate=False),
            QuadraticEnergy("damping", rows, of_rate=True),
            values,
            rows,
            limits=limits,
        )

    def __str__(self) -> str:
        """Order, rows and gains, for messages."""
        listing = "".join(f", {name}={value!r}" for name, value in self.values.items())
        return f"Energies(order={self.order}, rows={self.rows}{listing})"

    @property
    def gains(self) -> Mapping[str, float]:
        """The given gains."""
        return self.values

    @property
    def ranges(self) -> Mapping[str, Range]:
        """The given ranges, positive otherwise."""
        return dict.fromkeys(self.values, Range.POSITIVE) | dict(self.limits)

    @property
    def required_rows(self) -> int:
        """m."""
        return self.rows

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """ÿ = (∂²T/∂ẏ²)⁻¹ (∂L/∂y − ∂²T/∂ẏ∂y ẏ − ∂D/∂ẏ), or ẏ′ = −(∂²T/∂y′²)⁻¹ ∂D/∂y′."""
        self.require_rows(deviation)
        y, rate = self._split(deviation)
        # Derivatives are taken with respect to new symbols, because the deviation is an expression of the motion.
        value, speed = ca.SX.sym("y", y.numel()), ca.SX.sym("dy", rate.numel())
        T = call_user_function("kinetic", self.kinetic, value, speed, gains, 1)
        D = call_user_function("dissipation", self.dissipation, value, speed, gains, 1)
        mass, momentum = ca.hessian(T, speed)
        force = -ca.gradient(D, speed)
        if self.potential is not None:
            P = call_user_function("potential", self.potential, value, speed, gains, 1)
            if ca.depends_on(P, speed):
                raise ModelError("potential depends on ẏ, which it must not; move the part that does to kinetic")
            force += ca.gradient(T - P, value) - ca.jacobian(momentum, value) @ speed
        highest = Ldl.of(ca.densify(mass)).solve(ca.densify(force))
        return ca.substitute(highest, ca.vertcat(value, speed), ca.vertcat(y, rate))

    def certificate(self) -> Certificate:
        """Eigenvalues and P of the linearization, and the energy as Lyapunov function.

        Raises:
            ModelError: if the equation is not asymptotically stable.
        """
        flow = Flow.of(self)
        statement = "dV/dt = −ẏᵀ∂D_y/∂ẏ identically; that it is nowhere positive was checked at the samples"
        function = sampled_lyapunov_function(
            "Energies", flow, self._energy(flow), radius=self.radius, statement=statement
        )
        eigenvalues = self.stable_eigenvalues()
        P = lyapunov_matrix(self.state_matrix())
        return Certificate(eigenvalues, float(-eigenvalues.real.max()), P, function)

    @classmethod
    def for_step(
        cls, step: float, integrator: SupportsAmplification, *, rows: int = 1, order: int = 0, share: float = 1.0
    ) -> Self:
        """Return quadratic energies of unit mass with the gains of Baumgarte or of FirstOrder for this step.

        Args:
            step: h [s].
            integrator: integrator with a fixed step, whose ``amplification`` the gains are chosen for.
            rows: m.
            order: 0 or 1.
            share: eigenvalues are multiplied by this, in (0, 1].

        Raises:
            ModelError: if the integrator chooses its own steps, or a number is out of range.
        """
        if order == 1:
            rate = require_share(share) * fastest_rate(step, integrator)
            return cls.quadratic(scaled_identity(1.0, rows), None, scaled_identity(rate, rows))
        if order != 0:
            raise ModelError(f"Energies must have order 0 or 1, got order={order!r}")
        value = require_share(share) * fastest_pair(step, integrator)
        stiffness, damping = scaled_identity(abs(value) ** 2, rows), scaled_identity(-2.0 * value.real, rows)
        return cls.quadratic(scaled_identity(1.0, rows), stiffness, damping)

    def _split(self, deviation: Deviation) -> tuple[ca.SX, ca.SX]:
        if self.order == 1:
            return ca.SX(0, 1), deviation.value
        return deviation.value, deviation.rate

    def _energy(self, flow: Flow) -> ca.SX:
        numbers = {name: ca.SX(value) for name, value in self.values.items()}
        y, rate = self._split(flow.deviation)
        T = self.kinetic(y, rate, numbers)
        V = ca.dot(ca.gradient(T, rate), rate) - T
        return V if self.potential is None else V + self.potential(y, rate, numbers)

    def _require_mass(self) -> None:
        flow = Flow.of(self)
        y, rate = self._split(flow.deviation)
        numbers = {name: ca.SX(value) for name, value in self.values.items()}
        mass = ca.densify(ca.hessian(call_user_function("kinetic", self.kinetic, y, rate, numbers, 1), rate)[0])
        states = np.zeros((flow.state.numel(), 1))
        if not mass.is_constant():
            states = np.hstack([states, states_in_ball(len(states), self.radius)[0]])
        # CasADi maps a function over the columns of its argument, side by side.
        columns = np.array(ca.Function("mass", [flow.state], [mass]).call([states])[0].full())
        eigenvalues = np.linalg.eigvalsh(columns.reshape(self.rows, -1, self.rows).transpose(1, 0, 2))
        bad = np.flatnonzero(~(eigenvalues > 0.0).all(axis=1))
        if bad.size:
            i = int(bad[0])
            where = "at zero" if i == 0 else f"at x = {np.array2string(states[:, i], precision=4)}"
            raise ModelError(
                f"the mass ∂²T_y/∂ẏ² of Energies must be positive definite {where}, but its eigenvalues are "
                f"{np.array2string(eigenvalues[i], precision=6)}; choose another kinetic energy or a smaller radius "
                f"than {self.radius:g}"
            )
