"""The left side of the equations of motion, M a + h, with the energies and the Coriolis matrix.

Expressions are given, or derived on first use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Protocol

import casadi as ca

from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError
from ..symbolic.linear_algebra import Ldl
from ..symbolic.pickling import Picklable


def coriolis_matrix(mass_matrix: ca.SX, bias: ca.SX, c: Coordinates) -> ca.SX:
    """Return C with C v the terms of h quadratic in the velocities, and Ṁ − 2 C skew-symmetric, shape (nv, nv).

    The quadratic terms do no work beyond ½ vᵀ Ṁ v, so that g = 2 C v − Ṁ v has vᵀ g = 0, and J = ∂g/∂v satisfies
    J v = 2 g and Jᵀ v = −g. Therefore C = ½ (Ṁ + (J − Jᵀ)/3). For v = q̇ these are Christoffel's symbols times v; it
    also holds for quasi-velocities, including those of nonholonomic systems.

    Args:
        mass_matrix: M, not an explicit function of time.
        bias: the vector h, shape (nv,); terms that are not quadratic in v are ignored.
        c: the coordinates.

    Raises:
        ModelError: if M depends on time explicitly: no C has both properties then.
    """
    if ca.depends_on(mass_matrix, c.t):
        raise ModelError("the mass matrix depends on time explicitly: there is no C with Ṁ − 2C skew-symmetric")
    scale = ca.SX.sym("scale")
    scaled = ca.substitute(bias, c.v, scale * c.v)
    quadratic = ca.substitute(ca.jacobian(ca.jacobian(scaled, scale), scale), scale, ca.SX(0)) / 2
    rate = ca.reshape(c.rate(ca.vec(mass_matrix)), c.nv, c.nv)
    slope = ca.jacobian(2 * quadratic - rate @ c.v, c.v)
    return ca.densify((rate + (slope - slope.T) / 3) / 2)


class Factor(Protocol):
    """A factorized mass matrix, M = L D Lᵀ.

    Often products F₁ᵀ M⁻¹ F₂ are needed rather than M⁻¹ F: with y = L⁻¹ F they are y₁ᵀ D⁻¹ y₂.
    """

    def forward(self, right: ca.SX) -> ca.SX:
        """Return L⁻¹ right, for a right side of shape (nv, k)."""
        ...

    def weighted(self, half: ca.SX) -> ca.SX:
        """Return D⁻¹ y, for y of shape (nv, k)."""
        ...

    def rooted(self, half: ca.SX) -> ca.SX:
        """Return z with zᵀ z = yᵀ D⁻¹ y, such as D^(−½) y, for y of shape (nv, k)."""
        ...

    def backward(self, half: ca.SX) -> ca.SX:
        """Return L⁻ᵀ y, for y of shape (nv, k)."""
        ...

    def solve(self, right: ca.SX) -> ca.SX:
        """Return x with M x = right, for a right side of shape (nv, k)."""
        ...


class Dynamics(Picklable):
    """M a + h and the energies.

    Each expression is derived on first use: the accelerations of a long chain never need M itself.

    Attributes:
        known: the expressions that were given explicitly, by name.
    """

    def __init__(
        self,
        *,
        mass_matrix: Callable[[], ca.SX],
        bias: Callable[[], ca.SX],
        kinetic_energy: Callable[[], ca.SX],
        potential_energy: Callable[[], ca.SX],
        factor: Callable[[], Factor] | None = None,
        half_acceleration: Callable[[ca.SX], ca.SX] | None = None,
        known: Mapping[str, ca.SX] | None = None,
    ) -> None:
        """Store the functions that derive the expressions.

        Args:
            mass_matrix: derives M, shape (nv, nv).
            bias: derives h, all terms of the Lagrange operator without a and u, shape (nv,).
            kinetic_energy: derives T [J].
            potential_energy: derives V [J].
            factor: factorizes M; LDLᵀ of the whole matrix if not given.
            half_acceleration: derives L⁻¹ (F − h) for a force F where that takes fewer operations than h and then L⁻¹.
            known: expressions among these that were given by the caller and must be checked, by name.
        """
        self._mass_matrix, self._bias, self._factor = mass_matrix, bias, factor
        self._half_acceleration = half_acceleration
        self._kinetic_energy, self._potential_energy = kinetic_energy, potential_energy
        self.known: Mapping[str, ca.SX] = known or {}

    @classmethod
    def given(cls, mass_matrix: ca.SX, bias: ca.SX, kinetic_energy: ca.SX, potential_energy: ca.SX) -> Dynamics:
        """Build the equations of motion from given expressions.

        Args:
            mass_matrix: M, shape (nv, nv).
            bias: h, shape (nv,).
            kinetic_energy: T [J].
            potential_energy: V [J].
        """
        return cls(
            mass_matrix=lambda: mass_matrix,
            bias=lambda: bias,
            kinetic_energy=lambda: kinetic_energy,
            potential_energy=lambda: potential_energy,
            known={
                "mass_matrix": mass_matrix,
                "bias": bias,
                "kinetic_energy": kinetic_energy,
                "potential_energy": potential_energy,
            },
        )

    @functools.cached_property
    def mass_matrix(self) -> ca.SX:
        """M, shape (nv, nv)."""
        return ca.densify(self._mass_matrix())

    @functools.cached_property
    def bias(self) -> ca.SX:
        """The vector h, shape (nv,)."""
        return ca.densify(self._bias())

    @functools.cached_property
    def kinetic_energy(self) -> ca.SX:
        """T [J]."""
        return self._kinetic_energy()

    @functools.cached_property
    def potential_energy(self) -> ca.SX:
        """V [J]."""
        return self._potential_energy()

    @functools.cached_property
    def factor(self) -> Factor:
        """Factorized M."""
        return Ldl.of(self.mass_matrix) if self._factor is None else self._factor()

    def half_acceleration(self, force: ca.SX) -> ca.SX:
        """Return L⁻¹ (F − h), the forward half of the solution for the acceleration, shape (nv,).

        Args:
            force: F, all generalized forces except those in h, shape (nv,).
        """
        return (
            self.factor.forward(force - self.bias)
            if self._half_acceleration is None
            else self._half_acceleration(force)
        )

    def with_force(self, force: ca.SX) -> Dynamics:
        """Return the same equations under one more force, which is subtracted from h.

        Args:
            force: generalized force, a function of anything but the accelerations, shape (nv,).
        """
        return Dynamics(
            mass_matrix=lambda: self.mass_matrix,
            bias=lambda: self.bias - force,
            kinetic_energy=lambda: self.kinetic_energy,
            potential_energy=lambda: self.potential_energy,
            factor=lambda: self.factor,
            half_acceleration=lambda other: self.half_acceleration(other + force),
        )
