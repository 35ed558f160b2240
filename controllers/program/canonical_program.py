"""The closed loop of a program in canonical variables, and with deviations as additional coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from ...constraints.constraint import Constraint
from ...constraints.perturbations.energies import Energies
from ...constraints.perturbations.perturbation import Deviation
from ...symbolic.errors import ModelError
from ...symbolic.linear_algebra import Ldl
from ..multipliers.canonical import CanonicalMotion, regular_canonical_form
from ..multipliers.forward_dynamics import SINGULAR, nan_where_singular
from .program import Program


@dataclass(frozen=True, eq=False)
class CanonicalProgram:
    """q̇ = N H_p and ṗ = R + Q − H_q − D_v under R = Θᵀ K⁻¹ (A − B), [Matukhina]_ eqs. (15)–(17).

    K₁₁ … K₂₂ are the blocks of K = Θ H_pp Θᵀ that belong to rows of order 0 and 1; A are the right sides of the
    perturbation equations, A₁ = g and A₂ = h; B are the values of the rows without control, in which the article leaves
    the bracket S = H_pq H_p + H_pp (Q − H_q − D_v) + H_pt undefined:
    B₁ = Φ_q S + (d/dt Φ_q) H_p + d/dt Φ_t and B₂ = Ψ_v S + Ψ_q H_p + Ψ_t. Rows of order 2 form blocks with number 3,
    and natural rows, which the article does not have, are solved for together with the program's.

    All expressions are in t, q, the momenta and the program's parameters.

    Attributes:
        program: the program that is realised.
        motion: H_p, H_pp and S of the robot.
        rows: Θ, shape (m, nv).
        matrix: K, shape (m, m).
        right_side: A, shape (m,).
        uncontrolled: B, shape (m,).
        reach: natural rows and Θ, stacked, shape (k + m, nv).
        natural_right: right side of the natural rows less their value without reactions, shape (k,).
    """

    program: Program
    motion: CanonicalMotion
    rows: ca.SX
    matrix: ca.SX
    right_side: ca.SX
    uncontrolled: ca.SX
    reach: ca.SX
    natural_right: ca.SX

    @property
    def hamiltonian(self) -> ca.SX:
        """H(t, q, p) [J]."""
        return self.motion.form.hamiltonian

    @property
    def momenta(self) -> ca.SX:
        """Symbols of p, shape (nv,)."""
        return self.motion.form.momenta

    @property
    def symbols(self) -> Mapping[str, ca.SX]:
        """Inputs of a :class:`~erugin.symbolic.Kernel`: t, q, momenta and p, the parameters."""
        robot = self.program.robot
        return {"t": robot.t, "q": robot.q, "momenta": self.momenta, "p": self.program.parameters.symbols}

    @property
    def blocks(self) -> Mapping[tuple[int, int], ca.SX]:
        """K₁₁, K₁₂, K₂₁ and K₂₂ by their numbers; empty blocks are omitted."""
        places: dict[int, list[int]] = {}
        for place, order in enumerate(row_orders(self.program)):
            places.setdefault(order + 1, []).append(place)
        return {(i, j): self.matrix[places[i], places[j]] for i in sorted(places) for j in sorted(places)}

    @property
    def multipliers(self) -> ca.SX:
        """λ = K⁻¹ (A − B), shape (m,)."""
        return self.multipliers_for(self.right_side)[0]

    @property
    def force(self) -> ca.SX:
        """R(q, p, t) = Θᵀλ, shape (nv,)."""
        return self.rows.T @ self.multipliers

    @property
    def coordinate_rate(self) -> ca.SX:
        """q̇ = N H_p, eq. (16), shape (nq,)."""
        return self.motion.form.coordinate_rate

    @property
    def momentum_rate(self) -> ca.SX:
        """ṗ = R + Q − H_q − D_v, and the natural reactions, eq. (17), shape (nv,)."""
        return self.momentum_rate_for(self.right_side)

    def multipliers_for(self, right_side: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return λ, shape (m,), and μ, shape (k,), for other right sides of the perturbation equations.

        They are NaN where a row, natural ones included, depends on earlier ones up to 1e-5 of it.

        Args:
            right_side: A, shape (m,), in any symbols.
        """
        k = self.natural_right.numel()
        K = Ldl.of(self.reach @ self.motion.mobility @ self.reach.T)
        found = nan_where_singular(K, K.solve(ca.vertcat(self.natural_right, right_side - self.uncontrolled)), SINGULAR)
        return found[k:, :], found[:k, :]

    def momentum_rate_for(self, right_side: ca.SX) -> ca.SX:
        """Return ṗ for other right sides of the perturbation equations, shape (nv,).

        Args:
            right_side: A, shape (m,), in any symbols.
        """
        lam, mu = self.multipliers_for(right_side)
        return self.motion.momentum_rate + self.reach.T @ ca.vertcat(mu, lam)


def canonical_program(program: Program) -> CanonicalProgram:
    """Build the closed loop of a program and its ideal force in coordinates and momenta.

    Args:
        program: program with independent rows, affine in the accelerations and always on.

    Raises:
        ModelError: for other rows, natural rows that may depend on each other, or a robot without a canonical form or
            with a mass matrix that is singular in every position.
    """
    if not isinstance(program, Program):
        raise ModelError(f"canonical_program requires a Program, got {program!r}")
    robot, c = program.robot, program.robot.coordinates
    for name, affine, switched in zip(program.rows, program.affine, program.switched, strict=True):
        if switched or not affine:
            what = "is on only at times" if switched else "is not affine in the accelerations"
            raise ModelError(
                f"the canonical closed loop requires rows that are always on and affine in a, but {name!r} {what}"
            )
    if robot.redundant != "refused":
        raise ModelError(
            f"{robot.name} has natural rows that may depend on each other: remove the redundant ones by "
            "without_rows(robot, rows)"
        )
    motion = CanonicalMotion.of(regular_canonical_form(program))
    form = motion.form
    right_side, uncontrolled = ca.SX(0, 1), ca.SX(0, 1)
    for constraint, deviation, gains in deviations(program):
        right_side = ca.vertcat(right_side, constraint.perturbation.right_side(deviation, gains))
        highest = c.rate(c.rate(deviation.value)) if constraint.order == 0 else c.rate(deviation.value)
        uncontrolled = ca.vertcat(uncontrolled, deviation.value if constraint.order == 2 else highest)
    A, b = robot.natural_form
    reach = form.in_momenta(ca.vertcat(A, program.theta))
    k = A.size1()
    return CanonicalProgram(
        program=program,
        motion=motion,
        rows=reach[k:, :],
        matrix=reach[k:, :] @ motion.mobility @ reach[k:, :].T,
        right_side=form.in_momenta(ca.densify(right_side)),
        # B are the highest derivatives at the accelerations S.
        uncontrolled=ca.substitute(
            ca.densify(uncontrolled), ca.vertcat(c.v, c.a), ca.vertcat(form.velocity, motion.free)
        ),
        reach=reach,
        natural_right=form.in_momenta(b) - reach[:k, :] @ motion.free,
    )


def row_orders(program: Program) -> list[int]:
    """Return the order of the constraint of each row, m of them.

    Args:
        program: the program.
    """
    c = program.robot.coordinates
    return [k.order for k in program.constraints for _ in range(k.residual(c).numel())]


def deviations(program: Program) -> list[tuple[Constraint, Deviation, Mapping[str, ca.SX]]]:
    """Return each constraint, its deviation (in velocities), and the symbols of its gains.

    Args:
        program: the program.
    """
    c = program.robot.coordinates
    found: list[tuple[Constraint, Deviation, Mapping[str, ca.SX]]] = []
    for (label, _), constraint in zip(program.linearizations, program.constraints, strict=True):
        residual = ca.densify(constraint.residual(c))
        rate = c.rate(residual) if constraint.order == 0 else ca.SX(0, 1)
        gains = {key: program.parameters[f"{label}.{key}"] for key in constraint.perturbation.gains}
        found.append((constraint, Deviation(residual, rate, c.t), gains))
    return found


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
    """Build the closed loop of a program with its deviations as additional coordinates.

    Args:
        program: program with constraints of order 0 and 1, each with the perturbation equation
            :class:`~erugin.constraints.Energies`, whose T_y is quadratic in the rates.

    Raises:
        ModelError: for another perturbation equation or another T_y, and as in :func:`canonical_program`.
    """
    closed = canonical_program(program)
    form = closed.motion.form
    parts = [
        _deviation_part(constraint.perturbation, f"y{i}", deviation, gains)
        for i, (constraint, deviation, gains) in enumerate(deviations(program))
    ]
    holonomic, others = [p for p in parts if p.order == 0], [p for p in parts if p.order == 1]

    def stacked(columns: list[ca.SX]) -> ca.SX:
        return ca.densify(ca.vertcat(ca.SX(0, 1), *columns))

    right_side = stacked([p.highest for p in parts])
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
        momentum_rate=closed.momentum_rate_for(right_side),
        start=(
            form.in_momenta(stacked([p.deviation.value for p in holonomic])),
            form.in_momenta(stacked([p.started for p in holonomic])),
            form.in_momenta(stacked([p.started for p in others])),
        ),
    )


@dataclass(frozen=True, eq=False)
class _DeviationPart:
    """One constraint's deviation: value y (empty for order 1), momentum x or z, and results of its energies."""

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


def _deviation_part(equation: object, name: str, deviation: Deviation, gains: Mapping[str, ca.SX]) -> _DeviationPart:
    if not isinstance(equation, Energies):
        raise ModelError(
            f"canonical_deviations requires the perturbation equation Energies for each constraint, got {equation}"
        )
    m = deviation.value.numel()
    place = ca.SX.sym(name, m) if equation.order == 0 else ca.SX(0, 1)
    speed, momentum = ca.SX.sym(f"d{name}", m), ca.SX.sym(f"x{name}", m)
    T = ca.SX(equation.kinetic(place, speed, gains))
    P = ca.SX(0) if equation.potential is None else ca.SX(equation.potential(place, speed, gains))
    D = ca.SX(equation.dissipation(place, speed, gains))
    mass, slope = ca.hessian(T, speed)
    if ca.depends_on(mass, speed):
        raise ModelError(
            f"the kinetic energy of {equation} is not quadratic in the rates, so its Hamiltonian cannot be formed"
        )
    zero = ca.SX.zeros(m)
    factor = Ldl.of(ca.densify(mass))
    shift, rest = ca.substitute(slope, speed, zero), ca.substitute(T, speed, zero) - P
    H = ca.dot(momentum - shift, factor.solve(momentum - shift)) / 2 - rest
    rate = ca.densify(ca.gradient(H, momentum))
    pull = ca.gradient(H, place) if equation.order == 0 else zero
    lost = ca.substitute(ca.gradient(D, speed), speed, rate)
    here = (deviation.value, deviation.rate) if equation.order == 0 else (ca.SX(0, 1), deviation.value)
    return _DeviationPart(
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
