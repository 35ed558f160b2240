"""Erugin's structure in its literal form: the velocity for given P, S and f, and P, S and f for a given velocity."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite
from ..curves.curve import Curve
from .field_arguments import require_curves, require_profile
from .guidance import Profile


def literal_form(w: ca.SX, functions: ca.SX, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """P, shape (n,), S, shape (n, n), and f = ∏ f_i for which w = P + S ∇f − ∇f f_t/|∇f|².

    S = (w ∇fᵀ − ∇f wᵀ)/|∇f|² and P = ∇f (∇f·w + f_t)/|∇f|². If df_i/dt = 0 on f_i = 0 for each i, P = 0 wherever f = 0:
    every field with given integral curves is of Erugin's form. Not defined where ∇f = 0.

    Args:
        w: velocity, shape (n,) [m/s].
        functions: the f_i, shape (k,).
        x: position, symbols of shape (n,) [m].
        t: time, a symbol [s].
    """
    f = function_product(functions)
    slope = ca.gradient(f, x)
    square = ca.sumsqr(slope)
    P = slope * (ca.dot(slope, w) + ca.jacobian(f, t)) / square
    return P, (w @ slope.T - slope @ w.T) / square, f


def function_product(functions: ca.SX) -> ca.SX:
    """∏ f_i of a column."""
    return functools.reduce(lambda a, b: a * b, ca.vertsplit(functions), ca.SX(1))


@dataclass(frozen=True, eq=False)
class EruginStructure:
    """ẋ = P + S ∇f − ∇f f_t/|∇f|², f = ∏ f_i; use :func:`erugin_structure` to make one.

    Attributes:
        curves: curves with the functions f_i.
        dimension: n.
        position: symbols of the position, shape (n,) [m].
        time: symbol of the time [s].
        every: the f_i, shape (k,).
        skew: S, shape (n, n).
        source: P, shape (n,).
        parameters: those of the curves.
    """

    curves: tuple[Curve, ...]
    dimension: int
    position: ca.SX
    time: ca.SX
    every: ca.SX
    skew: ca.SX
    source: ca.SX
    parameters: Parameters

    def velocity(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """ẋ, shape (n,) [m/s], in the literal form: unbounded at the critical points of f where f_t ≠ 0.

        Args:
            x: position, shape (n,) [m].
            t: time [s].
        """
        f = function_product(self.every)
        slope = ca.gradient(f, self.position)
        w = self.source + self.skew @ slope - slope * ca.jacobian(f, self.time) / ca.sumsqr(slope)
        return self._at(w, x, t)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The f_i, shape (k,).

        Args:
            x: position, shape (n,) [m].
            t: time [s].
        """
        return self._at(self.every, x, t)

    def _at(self, expression: ca.SX, x: ca.SX, t: ca.SX) -> ca.SX:
        if x.shape != (self.dimension, 1) or t.shape != (1, 1):
            raise ModelError(
                f"x must be a position in {self.dimension} dimensions, t a scalar; got shapes {x.shape} and {t.shape}"
            )
        return ca.substitute(expression, ca.vertcat(self.position, self.time), ca.vertcat(x, t))


def erugin_structure(
    curves: Iterable[Curve],
    *,
    skew: Profile,
    source: Profile | None = None,
    rates: Mapping[str, float] | None = None,
    parameters: Parameters = NO_PARAMETERS,
) -> EruginStructure:
    """Build Erugin's structure [Erugin1952]_, Matukhina eq. (1), in n dimensions, in its literal form.

    ẋ = P + S ∇f − ∇f f_t/|∇f|² with f = ∏ f_i and any skew S has df/dt = ∇f·P. With P = 0 f is constant; with P = 0
    wherever f = 0 every f_i = 0 is an integral curve: there ∇f = g ∇f_i and f_t = g ∂f_i/∂t with g = ∏_{j≠i} f_j, so
    df_i/dt = ∇f_i·(S ∇f_i) g − ∂f_i/∂t + ∂f_i/∂t = 0. The sign of ∇f·P decides whether a curve attracts or repels.

    The literal form vanishes or is unbounded where ∇f = 0, and its speed along a curve is |S∇f|: :class:`EruginField`
    is the form that is bounded.

    Args:
        curves: curves with the functions f_i; one function each if Q∇f is to turn about it.
        skew: S(x, t), shape (n, n), skew-symmetric; in the plane S = Q [[0, −1], [1, 0]] follows f at Q|∇f|, along ∇f
            turned by +90° where Q > 0.
        source: P(x, t), shape (n,); P = 0 on the curves is not checked. Not together with ``rates``.
        rates: κ_i by name of the curve [1/s]: P = −κ f ∇f/|∇f|² with κ = Σ κ_i g_i²/Σ g_i², so that df/dt = −κf, and
            κ = κ_i on f_i = 0. Positive attracts, negative repels: f_i g_i decays, or grows, at that rate next to the
            curve. 0 for those not named.
        parameters: further symbols that S and P use.

    Raises:
        ModelError: if there are no curves, dimensions differ, S is not skew, or both P and rates are given.
    """
    found = require_curves("curves", curves)
    if not found:
        raise ModelError("the structure needs at least one curve")
    n = found[0].dimension
    for curve in found:
        if curve.dimension != n:
            raise ModelError(f"{curve.name!r} has dimension {curve.dimension}, {found[0].name!r} has {n}")
    if source is not None and rates is not None:
        raise ModelError("source= is P itself and rates= builds a P: give only one of them")
    x, t = ca.SX.sym("x", n), ca.SX.sym("t")
    owned = Parameters.collect([*(curve.parameters for curve in found), parameters])
    known = ca.vertcat(x, t, owned.symbols)
    given = skew(x, t)
    S = ca.SX(given) if isinstance(given, ca.DM) else given
    if not isinstance(S, ca.SX) or S.shape != (n, n):
        raise ModelError(f"skew= must return an expression of shape ({n}, {n}), got {S!r}")
    defect = ca.simplify(S + S.T)
    if not (defect.is_zero() or _vanishes(defect, x, t, owned.symbols)):
        raise ModelError(f"S must be skew-symmetric, but S + Sᵀ = {defect}")
    blocks = [ca.densify(curve.functions(x, t)) for curve in found]
    every = ca.vertcat(*blocks)
    P = require_profile("source", source, x, t, known, n)
    if P is None:
        P = _attracting(found, blocks, rates or {}, x)
    return EruginStructure(found, n, x, t, every, S, P, owned)


def _vanishes(expression: ca.SX, x: ca.SX, t: ca.SX, p: ca.SX) -> bool:
    """True if an expression is zero, to rounding, at several values of its symbols."""
    kernel = Kernel("defect", {"x": x, "t": t, "p": p}, {"defect": expression}, compiled=False)
    positions = ((0.3 + 0.37 * i * np.arange(1, x.numel() + 1), 0.7 * i, 0.2 + 0.3 * i) for i in range(4))
    return all(
        np.abs(kernel(position, time, np.full(p.numel(), value))[0]).max() < 1e-12
        for position, time, value in positions
    )


def _attracting(curves: tuple[Curve, ...], blocks: list[ca.SX], rates: Mapping[str, float], x: ca.SX) -> ca.SX:
    """P = −κ f ∇f/|∇f|², κ weighted by g_i²; zero without rates."""
    names = [curve.name for curve in curves]
    for key in rates:
        if key not in names:
            raise ModelError(unknown_name("curve", key, names))
    if not rates:
        return ca.SX.zeros(x.numel())
    each = [ca.sumsqr(block) for block in blocks]
    others = [
        function_product(ca.vertcat(ca.SX(1), *(each[j] for j in range(len(each)) if j != i))) for i in range(len(each))
    ]
    total = functools.reduce(lambda a, b: a + b, others)
    kappa = functools.reduce(
        lambda a, b: a + b,
        (finite(f"rate of {name!r}", rates.get(name, 0.0)) * g / total for name, g in zip(names, others, strict=True)),
    )
    f = function_product(ca.vertcat(*blocks))
    slope = ca.gradient(f, x)
    return -kappa * f * slope / ca.sumsqr(slope)
