"""The model of a robot: an immutable bundle of expressions over its own symbols."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints.constraint import Constraint
from ..symbolic.arrays import vector
from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError, ShapeError
from ..symbolic.kernel import Kernel
from ..symbolic.ldl import Ldl
from ..symbolic.parameters import Parameters

KEPT = 32
"""Expressions whose kernels a robot keeps between calls of ``evaluate``."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Robot:
    """M(q) a + h(t, q, v) = B(q) u + Aᵀμ, with natural constraints A a = b.

    Attributes:
        name: shown in messages.
        coordinates: t, q, v, a and q̇ = N v.
        parameters: masses, lengths, … with nominal values.
        u: inputs, shape (nu,).
        mass_matrix: M, shape (nv, nv).
        bias: h, everything in the Lagrange operator that holds neither a nor u, shape (nv,).
        input_matrix: B, shape (nv, nu).
        kinetic_energy: T [J].
        potential_energy: V [J].
        points: named places, each of shape (dimension of the space,) [m].
        natural: constraints that the world enforces.
        input_names: name of each input, nu of them.
        input_units: unit of each input, nu of them.
        chain: names of points that a picture of the robot joins by straight lines.
    """

    name: str
    coordinates: Coordinates
    parameters: Parameters
    u: ca.SX
    mass_matrix: ca.SX
    bias: ca.SX
    input_matrix: ca.SX
    kinetic_energy: ca.SX
    potential_energy: ca.SX
    points: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX])
    natural: tuple[Constraint, ...] = ()
    input_names: tuple[str, ...] = ()
    input_units: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the sizes and that no expression uses a symbol that the robot does not have."""
        nv, nu = self.coordinates.nv, self.u.numel()
        shapes = {
            "mass_matrix": (self.mass_matrix.shape, (nv, nv)),
            "bias": (self.bias.shape, (nv, 1)),
            "input_matrix": (self.input_matrix.shape, (nv, nu)),
            "kinetic_energy": (self.kinetic_energy.shape, (1, 1)),
            "potential_energy": (self.potential_energy.shape, (1, 1)),
        }
        for name, (actual, expected) in shapes.items():
            if actual != expected:
                raise ModelError(f"{self.name}: {name} must have shape {expected}, got {actual}")
        if len(self.input_names) != nu or len(self.input_units) != nu:
            raise ModelError(f"{self.name}: {nu} inputs need {nu} names and units, got {self.input_names}")
        object.__setattr__(self, "points", MappingProxyType(dict(self.points)))
        expressions = {name: getattr(self, name) for name in shapes} | {
            f"points[{k!r}]": x for k, x in self.points.items()
        }
        for name, expression in expressions.items():
            self.require_own_symbols(name, expression)
        for constraint in self.natural:
            # Parameters too must be the robot's own: a plant has no other place where they could be varied.
            self.require_own_symbols(f"natural constraint {constraint.name!r}", constraint.residual(self.coordinates))

    @property
    def t(self) -> ca.SX:
        """Time [s]."""
        return self.coordinates.t

    @property
    def q(self) -> ca.SX:
        """Coordinates, shape (nq,)."""
        return self.coordinates.q

    @property
    def v(self) -> ca.SX:
        """Velocities, shape (nv,)."""
        return self.coordinates.v

    @property
    def p(self) -> ca.SX:
        """Parameters, in the order of ``nominal``."""
        return self.parameters.symbols

    @property
    def nominal(self) -> Mapping[str, float]:
        """Nominal parameter values by name, in the order of ``p``."""
        return self.parameters.nominal

    @property
    def acceleration(self) -> ca.SX:
        """a for given t, q, v, u, p, with the natural constraints obeyed, shape (nv,)."""
        return self._driven[0]

    @property
    def reactions(self) -> ca.SX:
        """Multipliers μ of the natural constraints, one per row."""
        return self._driven[1]

    @functools.cached_property
    def natural_form(self) -> tuple[ca.SX, ca.SX]:
        """A, shape (k, nv), and b, shape (k,), of the natural constraints A a = b."""
        forms = [c.acceleration_form(self.coordinates) for c in self.natural]
        nv = self.coordinates.nv
        theta = ca.vertcat(ca.SX(0, nv), *(form.theta for form in forms))
        beta = ca.vertcat(ca.SX(0, 1), *(form.beta for form in forms))
        # Their gains are the world's, not a user's: they are numbers. What else they use are the robot's parameters.
        own = set(self.parameters.names)
        gains = [(s, f.parameters.nominal[n]) for f in forms for n, s in f.parameters if n not in own]
        symbols = ca.vertcat(ca.SX(0, 1), *(symbol for symbol, _ in gains))
        numbers = ca.SX(ca.DM([value for _, value in gains]))
        return ca.substitute(theta, symbols, numbers), ca.substitute(beta, symbols, numbers)

    @functools.cached_property
    def drift(self) -> tuple[ca.SX, ca.SX]:
        """a, shape (nv,), and μ, shape (k,), under no force at all: M a + h = Aᵀμ and A a = b."""
        free = -self.factor.solve(self.bias)
        A, b = self.natural_form
        if A.size1() == 0:
            return free, ca.SX(0, 1)
        mu = self._natural_factor.solve(b - A @ free)
        return free + self._natural_reach @ mu, mu

    def mobility(self, forces: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Part of the motion that is linear in generalized forces: what they add to :attr:`drift`.

        Args:
            forces: one or more generalized forces, shape (nv, k).

        Returns:
            What they add to a, shape (nv, k), and to μ, shape (rows of A, k).
        """
        free = self.factor.solve(forces)
        A, _ = self.natural_form
        if A.size1() == 0:
            return free, ca.SX(0, forces.size2())
        mu = self._natural_factor.solve(-(A @ free))
        return free + self._natural_reach @ mu, mu

    @functools.cached_property
    def factor(self) -> Ldl:
        """Factorized mass matrix."""
        return Ldl.of(self.mass_matrix)

    def evaluate(
        self,
        expression: ca.SX,
        *,
        t: float = 0.0,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        u: ArrayLike | None = None,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Value of any expression in the robot's symbols; for loops build a :class:`~erugin.symbolic.Kernel` instead.

        Args:
            expression: such as ``robot.mass_matrix`` or ``robot.points["tip"]``.
            t: time [s].
            q: coordinates, shape (nq,); may be left out if the expression does not depend on them, as may v and u.
            v: velocities, shape (nv,).
            u: inputs, shape (nu,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Returns:
            An array of shape () for a scalar, (n,) for a column, else (r, c).

        Raises:
            ShapeError: for a missing argument, a wrong shape, or numbers that are not finite.
            ModelError: if the expression uses a symbol that the robot does not have.
        """
        if not isinstance(expression, ca.SX):
            raise ModelError(f"only a CasADi SX expression can be evaluated, got {expression!r}")
        self.require_own_symbols("the expression", expression)
        values: list[NDArray[np.float64]] = []
        for name, symbol, value in (("q", self.q, q), ("v", self.v, v), ("u", self.u, u)):
            if value is None:
                if ca.depends_on(expression, symbol):
                    raise ShapeError(f"the expression depends on {name}: pass {name}=, shape ({symbol.numel()},)")
                values.append(np.zeros(symbol.numel()))
            else:
                values.append(vector(name, value, symbol.numel()))
        time = float(vector("t", [t], 1)[0])
        if p is None and not ca.depends_on(expression, self.p):
            numbers = np.zeros(len(self.parameters))
        else:
            numbers = self.parameters.values(p)
        symbols = {"t": self.t, "q": self.q, "v": self.v, "u": self.u, "p": self.p}
        # An SX can be changed in place, so its elements are the key; the copy keeps their nodes, and hashes, alive.
        entries = ca.vec(ca.densify(expression))
        key = (expression.shape, *(entries[i].element_hash() for i in range(entries.numel())))
        kept = self._evaluated.get(key)
        if kept is None:
            while len(self._evaluated) >= KEPT:
                self._evaluated.pop(next(iter(self._evaluated)))
            kept = ca.SX(expression), Kernel("evaluate", symbols, {"value": expression}, compiled=False)
            self._evaluated[key] = kept
        return kept[1](time, *values, numbers)[0]

    def require_own_symbols(self, what: str, expression: ca.SX, parameters: Parameters | None = None) -> None:
        """Raise ModelError if ``expression`` uses symbols other than the robot's and ``parameters``'.

        Args:
            what: names the expression in the message.
            expression: any shape.
            parameters: further symbols that are allowed.
        """
        c = self.coordinates
        allowed = ca.vertcat(c.t, c.q, c.v, c.a, self.u, self.p, parameters.symbols if parameters else ca.SX(0, 1))
        known = {allowed[i].element_hash() for i in range(allowed.numel())}
        foreign = sorted({s.name() for s in ca.symvar(expression) if s.element_hash() not in known})
        if foreign:
            own = ", ".join(allowed[i].name() for i in range(allowed.numel()))
            raise ModelError(
                f"{what} uses {', '.join(foreign)}, which {self.name} does not have (it has {own}). Symbols of equal "
                "name from another robot are other symbols; parameters must be declared with parameters="
            )

    @functools.cached_property
    def _evaluated(self) -> dict[tuple[object, ...], tuple[ca.SX, Kernel]]:
        return {}

    @functools.cached_property
    def _driven(self) -> tuple[ca.SX, ca.SX]:
        a, mu = self.mobility(self.input_matrix @ self.u)
        return self.drift[0] + a, self.drift[1] + mu

    @functools.cached_property
    def _natural_reach(self) -> ca.SX:
        return self.factor.solve(self.natural_form[0].T)

    @functools.cached_property
    def _natural_factor(self) -> Ldl:
        return Ldl.of(self.natural_form[0] @ self._natural_reach)
