"""The canonical closed loop with the deviations as coordinates that have energies of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from ..constraints.perturbations import Deviation, Energies
from ..symbolic.errors import ModelError
from ..symbolic.ldl import Ldl
from .canonical_program import CanonicalProgram, canonical_program, deviations
from .program import Program


@dataclass(frozen=True, eq=False)
class CanonicalDeviations:
    """q, p and the deviations y, y′ with their momenta x = ∂T_y/∂ẏ, z = ∂T_y/∂y′, [Matukhina]_ eqs. (7)–(14), (17).

    With the Hamiltonian H(y, x, z, q, p, t) of all of them: q̇ = N ∂H/∂p, ẏ = ∂H/∂x, y′ = ∂H/∂z, ẋ = −∂H/∂y − ∂D_y/∂ẏ,
    ż = −∂D_y/∂y′, and ṗ as in :class:`~erugin.controllers.CanonicalProgram`, where A₁ = ÿ and A₂ = dy′/dt are those of
    this motion. In the article (7) prints x = ∂L/∂y. T_y + P_y falls along every motion, by −dE/dt = ẏᵀ∂D_y/∂ẏ +
    y′ᵀ∂D_y/∂y′. Started where y = φ(q, t), y′ = ψ(q, v, t) and x, z belong to them, they stay so.

    Attributes:
        program: the closed loop in q and p.
        y: symbols of the deviations of order 0, shape (m₁,).
        x: symbols of their momenta, shape (m₁,).
        z: symbols of the momenta of the deviations of order 1, shape (m₂,).
        hamiltonian: H(y, x, z, q, p, t), eq. (8) [J].
        energy: T_y + P_y, in y, x and z.
        y_rate: ẏ, shape (m₁,).
        second: y′, the deviations of order 1, in z, shape (m₂,).
        x_rate: ẋ, shape (m₁,).
        z_rate: ż, shape (m₂,).
        momentum_rate: ṗ, shape (nv,).
        start: y, x and z that belong to t, q and p, each an expression in these.
    """

    program: CanonicalProgram
    y: ca.SX
    x: ca.SX
    z: ca.SX
    hamiltonian: ca.SX
    energy: ca.SX
    y_rate: ca.SX
    second: ca.SX
    x_rate: ca.SX
    z_rate: ca.SX
    momentum_rate: ca.SX
    start: tuple[ca.SX, ca.SX, ca.SX]

    @property
    def coordinate_rate(self) -> ca.SX:
        """q̇ = N ∂H/∂p, shape (nq,)."""
        return self.program.coordinate_rate

    @property
    def symbols(self) -> Mapping[str, ca.SX]:
        """Inputs of a :class:`~erugin.symbolic.Kernel`: t, q, momenta, y, x, z and p, the parameters."""
        known = dict(self.program.symbols)
        p = known.pop("p")
        return {**known, "y": self.y, "x": self.x, "z": self.z, "p": p}


def canonical_deviations(program: Program) -> CanonicalDeviations:
    """The closed loop of a program, with its deviations as coordinates of the same system.

    Args:
        program: of constraints of order 0 and 1, each with the perturbation equation
            :class:`~erugin.constraints.Energies`, whose T_y is quadratic in the rates.

    Raises:
        ModelError: for another perturbation equation or another T_y, and as :func:`canonical_program`.
    """
    closed = canonical_program(program)
    form = closed.motion.form
    parts = [
        _part(constraint.perturbation, f"y{i}", deviation, gains)
        for i, (constraint, deviation, gains) in enumerate(deviations(program))
    ]
    holonomic, others = [p for p in parts if p.order == 0], [p for p in parts if p.order == 1]

    def stacked(columns: list[ca.SX]) -> ca.SX:
        return ca.densify(ca.vertcat(ca.SX(0, 1), *columns))

    wanted = stacked([p.highest for p in parts])
    return CanonicalDeviations(
        program=closed,
        y=stacked([p.place for p in holonomic]),
        x=stacked([p.momentum for p in holonomic]),
        z=stacked([p.momentum for p in others]),
        hamiltonian=closed.hamiltonian + sum((p.hamiltonian for p in parts), ca.SX(0)),
        energy=sum((p.energy for p in parts), ca.SX(0)),
        y_rate=stacked([p.rate for p in holonomic]),
        second=stacked([p.rate for p in others]),
        x_rate=stacked([p.momentum_rate for p in holonomic]),
        z_rate=stacked([p.momentum_rate for p in others]),
        momentum_rate=closed.momentum_rate_for(wanted),
        start=(
            form.in_momenta(stacked([p.deviation.value for p in holonomic])),
            form.in_momenta(stacked([p.started for p in holonomic])),
            form.in_momenta(stacked([p.started for p in others])),
        ),
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """One constraint's deviation: place y (empty for order 1), momentum x or z, and what follows from its energies."""

    order: int
    deviation: Deviation
    place: ca.SX
    momentum: ca.SX
    hamiltonian: ca.SX
    energy: ca.SX
    rate: ca.SX
    momentum_rate: ca.SX
    started: ca.SX

    @property
    def highest(self) -> ca.SX:
        """ÿ or dy′/dt: d/dt ∂H/∂x along the motion of the deviation."""
        state = ca.vertcat(self.place, self.momentum)
        moved = ca.vertcat(self.rate if self.order == 0 else ca.SX(0, 1), self.momentum_rate)
        return ca.jtimes(self.rate, state, moved)


def _part(equation: object, name: str, deviation: Deviation, gains: Mapping[str, ca.SX]) -> _Part:
    if not isinstance(equation, Energies):
        raise ModelError(f"deviations are coordinates only if they have energies: give Energies, got {equation}")
    m = deviation.value.numel()
    place = ca.SX.sym(name, m) if equation.order == 0 else ca.SX(0, 1)
    speed, momentum = ca.SX.sym(f"d{name}", m), ca.SX.sym(f"x{name}", m)
    T = ca.SX(equation.kinetic(place, speed, gains))
    P = ca.SX(0) if equation.potential is None else ca.SX(equation.potential(place, speed, gains))
    D = ca.SX(equation.dissipation(place, speed, gains))
    mass, slope = ca.hessian(T, speed)
    if ca.depends_on(mass, speed):
        raise ModelError(f"the kinetic energy of {equation} is not quadratic in the rates: it has no such Hamiltonian")
    zero = ca.SX.zeros(m)
    factor = Ldl.of(ca.densify(mass))
    shift, rest = ca.substitute(slope, speed, zero), ca.substitute(T, speed, zero) - P
    H = ca.dot(momentum - shift, factor.solve(momentum - shift)) / 2 - rest
    rate = ca.densify(ca.gradient(H, momentum))
    pull = ca.gradient(H, place) if equation.order == 0 else zero
    lost = ca.substitute(ca.gradient(D, speed), speed, rate)
    here = (deviation.value, deviation.rate) if equation.order == 0 else (ca.SX(0, 1), deviation.value)
    return _Part(
        order=equation.order,
        deviation=deviation,
        place=place,
        momentum=momentum,
        hamiltonian=H,
        # ẏᵀ∂T/∂ẏ − T + P; that is T + P where T has no terms linear in the rates.
        energy=H,
        rate=rate,
        momentum_rate=ca.densify(-pull - lost),
        started=ca.densify(ca.substitute(slope, ca.vertcat(place, speed), ca.vertcat(*here))),
    )
