"""Coordinates of a mechanical system, and the one total-derivative operator that everything uses.

Parts of an expression whose rates are known in closed form are replaced by symbols before it is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from .errors import ModelError, require_name
from .pickling import Picklable
from .validation import format_value

RateOf = Callable[[ca.SX], ca.SX | None]
"""Function from a scalar expression to its total derivative with respect to time; None if that is not known."""


@dataclass(frozen=True, eq=False)
class KnownRateSubstitution:
    """An expression in which the parts with known rates are replaced by symbols.

    Attributes:
        expression: expression with the symbols.
        symbols: one for each part, shape (k,).
        parts: the replaced parts, shape (k,).
        rates: total derivatives of the parts, shape (k,).
    """

    expression: ca.SX
    symbols: ca.SX
    parts: ca.SX
    rates: ca.SX

    @classmethod
    def of(cls, expression: ca.SX, rate_of: RateOf) -> KnownRateSubstitution:
        """Find the outermost parts whose rates are known.

        Args:
            expression: expression of any shape.
            rate_of: function that returns the known rates.
        """
        cutter = _KnownRateWalker(rate_of)
        entries = [cutter.cut(x) for x in expression.nonzeros()]
        result = ca.SX(expression)
        if cutter.found:
            result = ca.SX(expression.sparsity(), ca.vertcat(*entries))
        empty = ca.SX(0, 1)
        columns = zip(*cutter.found, strict=True) if cutter.found else ((), (), ())
        symbols, parts, rates = (ca.vertcat(empty, *column) for column in columns)
        return cls(result, symbols, parts, rates)


class _KnownRateWalker:
    """A walk over the graph of an expression, from its result, that rebuilds everything above the parts."""

    def __init__(self, rate_of: RateOf) -> None:
        self.found: list[tuple[ca.SX, ca.SX, ca.SX]] = []
        self._rate_of = rate_of
        self._made: dict[int, ca.SX] = {}
        # An element's hash is valid only as long as the element lives.
        self._alive: list[ca.SX] = []

    def cut(self, whole: ca.SX) -> ca.SX:
        """Return the scalar ``whole`` with symbols in it."""
        waiting = [whole]
        while waiting:
            element = waiting[-1]
            key = element.element_hash()
            if key in self._made or self._ends(element, key):
                waiting.pop()
                continue
            operands = [element.dep(i) for i in range(element.n_dep())]
            missing = [x for x in operands if x.element_hash() not in self._made]
            if missing:
                waiting += missing
                continue
            self._keep(element, key, self._rebuilt(element, operands))
            waiting.pop()
        return self._made[whole.element_hash()]

    def _ends(self, element: ca.SX, key: int) -> bool:
        """True if nothing below an element has to be examined."""
        if element.is_constant() or element.is_symbolic() or element.n_dep() not in (1, 2):
            self._keep(element, key, element)
            return True
        rate = self._rate_of(element)
        if rate is None:
            return False
        symbol = ca.SX.sym(f"part{len(self.found)}")
        self.found.append((symbol, element, rate))
        self._keep(element, key, symbol)
        return True

    def _rebuilt(self, element: ca.SX, operands: list[ca.SX]) -> ca.SX:
        made = [self._made[x.element_hash()] for x in operands]
        if all(new.element_hash() == old.element_hash() for new, old in zip(made, operands, strict=True)):
            return element
        return ca.SX.unary(element.op(), made[0]) if len(made) == 1 else ca.SX.binary(element.op(), *made)

    def _keep(self, element: ca.SX, key: int, made: ca.SX) -> None:
        self._alive.append(element)
        self._made[key] = made


@dataclass(frozen=True, eq=False)
class Coordinates(Picklable):
    """Symbols of time, coordinates, velocities and accelerations, tied by q̇ = N(q) v and v̇ = a.

    Attributes:
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        a: accelerations, shape (nv,).
        N: kinematic matrix of q̇ = N v, shape (nq, nv); the identity unless the velocities are quasi-velocities.
        names: name of each coordinate, nq of them.
        units: unit of each coordinate, nq of them.
        rate_of: further known rates of expressions, such as those of points of a body; None for no others.
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
        """Build coordinates with N = I, named after the symbols in q.

        Args:
            q: symbols of the coordinates, shape (n,).
            v: symbols of their rates, shape (n,).
            t: symbol of time; a new one if not given.
            units: unit of each coordinate; empty strings if not given.

        Raises:
            ModelError: if q or v does not consist of symbols.
        """
        for name, given in (("q", q), ("v", v)):
            # An entry that is structurally zero is no symbol, though CasADi would take it for an input.
            if not (given.is_valid_input() and given.is_dense()):
                raise ModelError(f"{name} must consist of symbols, got {format_value(given)}")
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
        """True if the velocities are the rates of the coordinates, v = q̇ and N = I."""
        return self.nq == self.nv and ca.sparsify(self.N).is_eye()

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Name of each velocity: that of its coordinate where v = q̇, else that of its symbol."""
        return self.names if self.are_rates else tuple(self.v[i].name() for i in range(self.nv))

    def rate(self, expression: ca.SX) -> ca.SX:
        """Total derivative with respect to time of an expression in (t, q, v).

        de/dt = e_q N v + e_v a + e_t, as one directional derivative, so that the terms quadratic in the velocities
        (J̇q̇, which by hand is easily mistaken for J(q̇)q̇) come out of the same operator as the rest.
        """
        state = ca.vertcat(self.q, self.v, self.t)
        return ca.jtimes(expression, state, ca.vertcat(self.N @ self.v, self.a, ca.SX(1)))

    def compact_rate(self, expression: ca.SX) -> ca.SX:
        """Same as :meth:`rate` with fewer operations: parts with a known rate are not differentiated.

        Args:
            expression: expression in t, q and v, of any shape.
        """
        if self.rate_of is None:
            return self.rate(expression)
        cut = KnownRateSubstitution.of(expression, self.rate_of)
        if not cut.symbols.numel():
            return self.rate(expression)
        rates = ca.SX.sym("rates", cut.symbols.numel())
        # All at once: an expression that depends on time both through parts and otherwise is differentiated once.
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
