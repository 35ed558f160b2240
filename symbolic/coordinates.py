"""Coordinates of a mechanical system and the one total-derivative operator that everything uses."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from .arrays import shown
from .errors import ModelError, require_name
from .known_rates import Cut, RateOf
from .pickles import Portable


@dataclass(frozen=True, eq=False)
class Coordinates(Portable):
    """Symbols of time, coordinates, velocities and accelerations, tied by q̇ = N(q) v and v̇ = a.

    Attributes:
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        a: accelerations, shape (nv,).
        N: kinematic matrix of q̇ = N v, shape (nq, nv); the identity unless the velocities are quasi-velocities.
        names: name of each coordinate, nq of them.
        units: unit of each coordinate, nq of them.
        rate_of: rates of expressions that are known otherwise, such as those of points of a body; None for no others.
    """

    t: ca.SX
    q: ca.SX
    v: ca.SX
    a: ca.SX
    N: ca.SX
    names: tuple[str, ...]
    units: tuple[str, ...]
    rate_of: RateOf | None = None

    def __post_init__(self) -> None:
        """Check that the sizes fit."""
        nq, nv = self.nq, self.nv
        if self.a.shape != (nv, 1) or self.N.shape != (nq, nv):
            raise ModelError(
                f"q has {nq} and v has {nv} entries, so a must have shape ({nv},) and N ({nq}, {nv}); "
                f"got {self.a.shape} and {self.N.shape}"
            )
        if len(self.names) != nq or len(self.units) != nq:
            raise ModelError(f"{nq} coordinates need {nq} names and units, got {self.names} and {self.units}")
        for name in self.names:
            require_name("a coordinate", name)

    @classmethod
    def of(
        cls,
        q: ca.SX,
        v: ca.SX,
        *,
        t: ca.SX | None = None,
        units: tuple[str, ...] | None = None,
    ) -> Coordinates:
        """Coordinates with N = I, named after the symbols in q.

        Args:
            q: symbols of the coordinates, shape (n,).
            v: symbols of their rates, shape (n,).
            t: symbol of time; a new one if not given.
            units: unit of each coordinate; empty strings if not given.

        Raises:
            ModelError: if q does not consist of symbols.
        """
        if not q.is_valid_input():
            raise ModelError(f"q must consist of symbols, got {shown(q)}")
        names = tuple(q[i].name() for i in range(q.numel()))
        a = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"a_{name}") for name in names))
        time = ca.SX.sym("t") if t is None else t
        return cls(time, q, v, a, ca.SX.eye(q.numel()), names, ("",) * len(names) if units is None else tuple(units))

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.q.numel()

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.v.numel()

    @property
    def are_rates(self) -> bool:
        """Whether the velocities are the rates of the coordinates, v = q̇ and N = I."""
        return self.nq == self.nv and ca.sparsify(self.N).is_eye()

    def rate(self, expression: ca.SX) -> ca.SX:
        """Total derivative with respect to time of an expression in (t, q, v).

        de/dt = e_q N v + e_v a + e_t, as one directional derivative, so that the terms quadratic in the velocities
        (where J(q̇)q̇ is easily written for J̇q̇ by hand) come out of the same operator as the rest.
        """
        state = ca.vertcat(self.q, self.v, self.t)
        return ca.jtimes(expression, state, ca.vertcat(self.N @ self.v, self.a, ca.SX(1)))

    def short_rate(self, expression: ca.SX) -> ca.SX:
        """The same as :meth:`rate` with fewer operations: parts with a known rate are not differentiated.

        Args:
            expression: in t, q and v, any shape.
        """
        if self.rate_of is None:
            return self.rate(expression)
        cut = Cut.of(expression, self.rate_of)
        if not cut.symbols.numel():
            return self.rate(expression)
        rates = ca.SX.sym("rates", cut.symbols.numel())
        # All at once: what depends on time both through parts and otherwise is differentiated once.
        state = ca.vertcat(self.q, self.v, self.t, cut.symbols)
        found = ca.jtimes(cut.expression, state, ca.vertcat(self.N @ self.v, self.a, ca.SX(1), rates))
        return ca.substitute(found, ca.vertcat(cut.symbols, rates), ca.vertcat(cut.parts, cut.rates))

    def affine_in_acceleration(self, expression: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Split ``expression`` = Θ a + c into Θ, shape (m, nv), and c, shape (m,).

        Raises:
            ModelError: if the expression is not affine in a.
        """
        theta = ca.jacobian(expression, self.a)
        if ca.depends_on(theta, self.a):
            raise ModelError("the expression is not affine in the accelerations")
        return theta, ca.substitute(expression, self.a, ca.SX.zeros(self.nv))
