"""Erugin's vector field: a velocity at every place that has given curves, moving or not, as integral curves."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import casadi as ca

from ..symbolic.arrays import positive
from ..symbolic.errors import ModelError
from ..symbolic.ldl import Ldl
from ..symbolic.parameters import Parameters, Range
from .curves import Curve
from .curves.normals import tangent_of

FLOOR = 1e-24


class EruginField:
    """A field ẋ = w(x, t) that follows a path, and of which no trajectory crosses an obstacle's boundary.

    Erugin's structure [Erugin1952]_, Matukhina eq. (1), in n dimensions, is

        ẋ = P(x, t) + S(x, t) ∇f − ∇f f_t / |∇f|²,   f = ∏ f_i,   S skew,   P = 0 wherever any f_i = 0,

    and gives df_i/dt = 0 on f_i = 0. Here the f_i are the functions of the *program curve* and of the obstacles O_j.
    Taken literally the structure is unbounded at the critical points of f, of which there always is one between two
    curves; the freedom of P is used to leave them out:

    1. The obstacles are joined by R-functions [Rvachev1982]_, O = O₁ ∧ O₂ ∧ … with a ∧ b = a + b − √(a² + b²): O = 0
       exactly on the outer boundary of their union.
    2. The program curve F = 0 is the path, led around the obstacles inflated by the margin δ:
       σF₁ = −ε ln(e^(−σφ₁/ε) + e^(−(O − δ)/ε)), on the side of φ₁ with the sign σ. F₁ → φ₁ exponentially away from
       obstacles, and O ≥ δ on F = 0.
    3. On it, w₀ = c cos ϑ τ − J⁺(F_t + c sin ϑ), J = ∂F/∂x, τ the unit tangent, tan ϑ = κF/c: dF/dt = −c sin ϑ, so
       F decays at the rate κ near the curve, at the speed c far from it.
    4. Near obstacles, w = w₀ − m(O) ∇O (∇O·w₀ + O_t)/|∇O|² with m = 1 at O = 0 and m = 0 for O ≥ δ:
       dO/dt = (1 − m)(∇O·w₀ + O_t) = 0 at O = 0. Inside, O grows at the rate κ.

    What a curve itself moves at is followed up to the speed ``limit``. A faster one is not: so the field stays bounded
    where an obstacle drifts onto the path from the side on which it is to be passed, and the program curve changes its
    topology (F = 0, ∇F = 0, F_t ≠ 0: no bounded field can keep F = 0 there), and where two obstacles close a gap.

    :meth:`structure` returns P, S and f of the literal form, equal to this field; P vanishes on every curve.

    Attributes:
        path: the path.
        obstacles: the obstacles' boundaries.
        dimension: n.
        parameters: those of the curves, then ``name.speed`` c [m/s], ``name.attraction`` κ [1/s] and, with obstacles,
            ``name.side`` σ, ``name.margin`` δ [m], ``name.rounding`` ε [m], ``name.limit`` [m/s].
    """

    def __init__(
        self,
        path: Curve,
        obstacles: Iterable[Curve] = (),
        *,
        speed: float,
        attraction: float = 2.0,
        margin: float | None = None,
        rounding: float | None = None,
        limit: float | None = None,
        side: int = 1,
        name: str = "field",
    ) -> None:
        """Build the field.

        Args:
            path: curve to be followed, n − 1 functions.
            obstacles: boundaries to be kept outside of, one function each, positive outside.
            speed: cruise speed c along the path [m/s].
            attraction: rate κ at which distances to the path decay near it [1/s].
            margin: clearance δ kept from obstacles [m]; required with obstacles.
            rounding: length ε over which the path is rounded into the detour [m]; half the margin if not given. The
                path is left by ε e^(−d/ε) at a distance d from the inflated obstacle.
            limit: largest normal speed at which moving curves are followed [m/s]; four times the cruise speed if not
                given. Obstacles must be slower.
            side: +1 to pass obstacles on the side where the path's first function is positive, −1 on the other. In the
                plane, +1 is the right-hand side in the direction of travel.
            name: prefix of its parameters.

        Raises:
            ModelError: for dimensions that do not fit, a missing margin, or a number out of its range.
        """
        if not isinstance(obstacles, Iterable):
            raise ModelError(f"obstacles must be a list of curves, got {obstacles!r}")
        self.path = path
        self.obstacles = tuple(obstacles)
        for curve in (path, *self.obstacles):
            if not isinstance(curve, Curve):
                raise ModelError(f"a field is made of curves, got {curve!r}")
        self.name = name
        self.dimension = path.dimension
        for curve in self.obstacles:
            if curve.dimension != path.dimension:
                raise ModelError(f"{curve.name!r} has dimension {curve.dimension}, the path has {path.dimension}")
            k = curve.functions(self._place, self._time).numel()
            if k != 1:
                raise ModelError(f"the boundary of an obstacle is one function, but {curve.name!r} has {k}")
        if side not in (1, -1):
            raise ModelError(f"side must be +1 or -1, got {side!r}")
        values = {"speed": positive("speed", speed), "attraction": positive("attraction", attraction)}
        if self.obstacles:
            if margin is None:
                raise ModelError("margin= is required with obstacles: the clearance to keep from them [m]")
            gap = positive("margin", margin)
            values |= {
                "side": float(side),
                "margin": gap,
                "rounding": positive("rounding", gap / 2 if rounding is None else rounding),
                "limit": positive("limit", 4 * speed if limit is None else limit),
            }
        ranges = {key: Range.SIGN if key == "side" else Range.POSITIVE for key in values}
        self._own = Parameters.declare(values, name, ranges=ranges)
        self.parameters = Parameters.collect([path.parameters, *(o.parameters for o in self.obstacles), self._own])
        k = path.functions(self._place, self._time).numel()
        if k != self.dimension - 1:
            raise ModelError(f"a path in {self.dimension} dimensions needs {self.dimension - 1} functions, it has {k}")

    def velocity(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The field w, shape (n,) [m/s].

        Args:
            x: place, shape (n,) [m].
            t: time [s].

        Raises:
            ModelError: if x is not a place in the field's space, or t not a scalar.
        """
        return self._at(self._velocity, x, t)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The f_i: n − 1 functions F of the program curve, then one per obstacle, positive outside [m].

        Args:
            x: place, shape (n,) [m].
            t: time [s].
        """
        return self._at(ca.vertcat(self._program[0], self._union[1]), x, t)

    def structure(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """The literal form of Matukhina's eq. (1): P, shape (n,), S, shape (n, n), and f = ∏ f_i.

        S = (w ∇fᵀ − ∇f wᵀ)/|∇f|² and P = ∇f (∇f·w + f_t)/|∇f|², hence P = 0 wherever f = 0. Not defined where ∇f = 0.

        Args:
            x: place, shape (n,) [m].
            t: time [s].
        """
        y, s = self._place, self._time
        f = ca.SX(1)
        for value in ca.vertsplit(ca.vertcat(self._program[0], self._union[1])):
            f = f * value
        slope = ca.gradient(f, y)
        square = ca.sumsqr(slope)
        w = self._velocity
        S = (w @ slope.T - slope @ w.T) / square
        P = slope * (ca.dot(slope, w) + ca.jacobian(f, s)) / square
        return self._at(P, x, t), self._at(S, x, t), self._at(f, x, t)

    @functools.cached_property
    def _place(self) -> ca.SX:
        return ca.SX.sym("x", self.dimension)

    @functools.cached_property
    def _time(self) -> ca.SX:
        return ca.SX.sym("t")

    @functools.cached_property
    def _union(self) -> tuple[ca.SX, ca.SX]:
        """The union O, positive outside (empty without obstacles), and each O_j, at the field's own symbols."""
        each = ca.vertcat(ca.SX(0, 1), *(o.functions(self._place, self._time) for o in self.obstacles))
        if each.numel() == 0:
            return each, each
        union = each[0]
        for value in ca.vertsplit(each)[1:]:
            union = union + value - ca.sqrt(union**2 + value**2)
        return union, each

    def _merge(self, path: ca.SX) -> ca.SX:
        """Functions F of the program curve from the path's functions φ."""
        if not self.obstacles:
            return path
        side, margin, rounding = (self._gain(key) for key in ("side", "margin", "rounding"))
        a, b = side * path[0], self._union[0] - margin
        least = ca.fmin(a, b)
        merged = least - rounding * ca.log(ca.exp((least - a) / rounding) + ca.exp((least - b) / rounding))
        return ca.vertcat(side * merged, *ca.vertsplit(path)[1:])

    @functools.cached_property
    def _program(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """F, ∂F/∂x and ∂F/∂t, by the chain rule over the path's own functions and their Jacobian."""
        y, s = self._place, self._time
        path = ca.densify(self.path.functions(y, s))
        phi = ca.SX.sym("phi", path.numel())
        merged = self._merge(phi)
        by_path = ca.jacobian(merged, phi)
        slope = by_path @ self.path.jacobian(y, s) + ca.jacobian(merged, y)
        rate = by_path @ ca.jacobian(path, s) + ca.jacobian(merged, s)
        return tuple(ca.substitute(ca.densify(e), phi, path) for e in (merged, slope, rate))  # type: ignore[return-value]

    @functools.cached_property
    def _velocity(self) -> ca.SX:
        y, s = self._place, self._time
        program, J, drift = self._program
        speed, rate = self._gain("speed"), self._gain("attraction")
        tangent = tangent_of(J)
        size = ca.sumsqr(program)
        # Vanishes on the curve, where the structure must be exact, and bounds the field at the critical points of F.
        length = speed / rate
        softening = 0.05 * size / (size + length**2)
        course = ca.sqrt(1 + rate**2 * size / speed**2)
        approach = drift + rate * program / course
        # The floor is far below rounding wherever a curve is regular, and keeps 0/0 out where it is not.
        gram = J @ J.T + (softening + FLOOR) * ca.SX.eye(program.numel())
        normal = self._bounded(J.T @ Ldl.of(gram).solve(approach))
        w = speed / course * tangent / ca.sqrt(ca.sumsqr(tangent) + softening + FLOOR) - normal
        if not self.obstacles:
            return w
        union, margin = self._union[0], self._gain("margin")
        slope = ca.gradient(union, y)
        square = ca.sumsqr(slope) + 0.05 * union**2 / (union**2 + margin**2) + FLOOR
        shield = ca.fmax(1 - (ca.fmax(union, 0) / margin) ** 2, 0) ** 4
        out = rate * ca.fmax(-union, 0)
        return w - self._bounded(slope * (shield * (ca.dot(slope, w) + ca.jacobian(union, s)) - out) / square)

    def _bounded(self, velocity: ca.SX) -> ca.SX:
        """The velocity itself up to the speed limit, its direction beyond; smooth where it is zero."""
        if not self.obstacles:
            return velocity
        return velocity / ca.sqrt(ca.fmax(1, ca.sumsqr(velocity) / self._gain("limit") ** 2))

    def _gain(self, key: str) -> ca.SX:
        return self._own[f"{self.name}.{key}"]

    def _at(self, expression: ca.SX, x: ca.SX, t: ca.SX) -> ca.SX:
        if x.shape != (self.dimension, 1):
            raise ModelError(f"the field lives in {self.dimension} dimensions, the place has shape {x.shape}")
        if t.shape != (1, 1):
            raise ModelError(f"the time must be a scalar, got shape {t.shape}")
        return ca.substitute(expression, ca.vertcat(self._place, self._time), ca.vertcat(x, t))
