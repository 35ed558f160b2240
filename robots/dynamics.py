"""The left side of the equations of motion: known as expressions, or derived when it is first asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Protocol

import casadi as ca

from ..symbolic.ldl import Ldl
from ..symbolic.pickles import Portable


class Factor(Protocol):
    """A factorized mass matrix, M = L D Lᵀ.

    What is asked of it is often not M⁻¹ F but products F₁ᵀ M⁻¹ F₂: with y = L⁻¹ F they are y₁ᵀ D⁻¹ y₂.
    """

    def forward(self, right: ca.SX) -> ca.SX:
        """L⁻¹ right, for a right side of shape (nv, k)."""
        ...

    def weighted(self, half: ca.SX) -> ca.SX:
        """D⁻¹ y, for y of shape (nv, k)."""
        ...

    def rooted(self, half: ca.SX) -> ca.SX:
        """z with zᵀ z = yᵀ D⁻¹ y, such as D^(−½) y, for y of shape (nv, k)."""
        ...

    def backward(self, half: ca.SX) -> ca.SX:
        """L⁻ᵀ y, for y of shape (nv, k)."""
        ...

    def solve(self, right: ca.SX) -> ca.SX:
        """x with M x = right, for a right side of shape (nv, k)."""
        ...


class Dynamics(Portable):
    """M a + h and the energies.

    A long chain never needs M itself for its accelerations: what is not asked for is not derived.

    Attributes:
        known: the expressions that were given as such, by name.
    """

    def __init__(
        self,
        *,
        mass_matrix: Callable[[], ca.SX],
        bias: Callable[[], ca.SX],
        kinetic_energy: Callable[[], ca.SX],
        potential_energy: Callable[[], ca.SX],
        factor: Callable[[], Factor] | None = None,
        moved: Callable[[ca.SX], ca.SX] | None = None,
        known: Mapping[str, ca.SX] | None = None,
    ) -> None:
        """Keep the recipes.

        Args:
            mass_matrix: derives M, shape (nv, nv).
            bias: derives h, everything in the Lagrange operator that holds neither a nor u, shape (nv,).
            kinetic_energy: derives T [J].
            potential_energy: derives V [J].
            factor: factorizes M; LDLᵀ of the whole matrix if not given.
            moved: derives L⁻¹ (F − h) of a force F where that takes less than h and then L⁻¹.
            known: expressions among these that came from outside and are to be checked, by name.
        """
        self._mass_matrix, self._bias, self._factor = mass_matrix, bias, factor
        self._moved = moved
        self._kinetic_energy, self._potential_energy = kinetic_energy, potential_energy
        self.known: Mapping[str, ca.SX] = known or {}

    @classmethod
    def given(cls, mass_matrix: ca.SX, bias: ca.SX, kinetic_energy: ca.SX, potential_energy: ca.SX) -> Dynamics:
        """Equations of motion that are known as expressions.

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

    def moved(self, force: ca.SX) -> ca.SX:
        """L⁻¹ (F − h), half of the way to the acceleration, shape (nv,).

        Args:
            force: F, all generalized forces but those in h, shape (nv,).
        """
        return self.factor.forward(force - self.bias) if self._moved is None else self._moved(force)
